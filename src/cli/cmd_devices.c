/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/opencl.h"

#include "command.h"
#include "display.h"
#include "json.h"
#include "message.h"
#include "options.h"
#include "subprocess.h"

static const char *type_name(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) {
    return "GPU";
  }
  if ((type & CL_DEVICE_TYPE_CPU) != 0) {
    return "CPU";
  }
  return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator" : "custom";
}

static void print_text(const rlo_device_entry *entry,
                       const rlo_device_info *info) {
  rlo__bytes_text memory;
  rlo__bytes_text allocation;
  printf("%s%d  %s (%s)\n",
         entry->is_default ? "* " : "  ",
         entry->device_number,
         entry->device_name,
         type_name(entry->type));
  printf("     platform    %s\n", entry->platform_name);
  printf("     version     %s, driver %s\n",
         entry->device_version,
         entry->driver_version);
  printf("     kernels     %s class%s%s%s%s%s\n",
         rlo__device_class_name(info->device_class),
         info->has_nontemporal_store ? ", non-temporal stores" : "",
         info->has_builtin_prefetch ? ", prefetch" : "",
         info->has_vector_shuffle ? ", shuffles" : "",
         info->has_f64 ? ", f64" : "",
         info->has_f32_denormals ? "" : ", no denormals");
  printf("     limits      %d compute units, work-groups of %" PRId64
         " items, %" PRId64 " bytes of local memory\n",
         info->compute_units,
         info->max_work_group_items,
         info->local_memory_bytes);
  printf("     memory      %s, buffers up to %s, aligned to %" PRId64
         " bytes\n",
         rlo__bytes_text_make(info->global_memory_bytes, &memory),
         rlo__bytes_text_make(info->max_allocation_bytes, &allocation),
         info->base_alignment_bytes);
  printf("     choice      %s\n", entry->reason);
}

static void write_json(rlo__json *json,
                       const rlo_device_entry *entry,
                       const rlo_device_info *info) {
  rlo__json_begin_object(json, NULL);
  rlo__json_int(json, "device", entry->device_number);
  rlo__json_string(json, "name", entry->device_name);
  rlo__json_string(json, "type", type_name(entry->type));
  rlo__json_int(json, "platform", entry->platform_number);
  rlo__json_string(json, "platform_name", entry->platform_name);
  rlo__json_string(json, "device_version", entry->device_version);
  rlo__json_string(json, "driver_version", entry->driver_version);
  rlo__json_bool(json, "is_default", entry->is_default);
  rlo__json_string(json, "reason", entry->reason);
  rlo__json_string(json, "class", rlo__device_class_name(info->device_class));
  rlo__json_int(json, "compute_units", info->compute_units);
  rlo__json_int(json, "max_work_group_items", info->max_work_group_items);
  rlo__json_int(json, "local_memory_bytes", info->local_memory_bytes);
  rlo__json_int(json, "global_memory_bytes", info->global_memory_bytes);
  rlo__json_int(json, "max_allocation_bytes", info->max_allocation_bytes);
  rlo__json_int(json, "base_alignment_bytes", info->base_alignment_bytes);
  rlo__json_int(json, "cache_line_bytes", info->cache_line_bytes);
  rlo__json_int(json, "max_parameter_bytes", info->max_parameter_bytes);
  rlo__json_int(json, "address_bits", info->address_bits);
  rlo__json_bool(json, "has_nontemporal_store", info->has_nontemporal_store);
  rlo__json_bool(json, "has_builtin_prefetch", info->has_builtin_prefetch);
  rlo__json_bool(json, "has_vector_shuffle", info->has_vector_shuffle);
  rlo__json_bool(json, "has_f64", info->has_f64);
  rlo__json_bool(json, "has_f32_denormals", info->has_f32_denormals);
  rlo__json_bool(
      json, "has_large_buffer_option", info->has_large_buffer_option);
  rlo__json_bool(json, "is_cpu_class_only", info->is_cpu_class_only);
  rlo__json_int(json, "near_cache_bytes", info->near_cache_bytes);
  rlo__json_end_object(json);
}

static void print_all(const rlo_device_entry *entries,
                      const rlo_device_info *infos,
                      int32_t count,
                      bool is_json) {
  if (!is_json) {
    for (int32_t i = 0; i < count; ++i) {
      print_text(&entries[i], &infos[i]);
    }
    return;
  }
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_begin_array(&json, "devices");
  for (int32_t i = 0; i < count; ++i) {
    write_json(&json, &entries[i], &infos[i]);
  }
  rlo__json_end_array(&json);
  rlo__json_end_object(&json);
}

/* Reads up to `capacity` devices with their numbers. */
static int read_devices(rlo_device_entry *entries,
                        rlo_device_info *infos,
                        int32_t capacity,
                        int32_t *out_count) {
  if (rlo_device_list(entries, sizeof(*entries), capacity, out_count) !=
      RLO_OK) {
    return rlo__fail_last();
  }
  *out_count = *out_count < capacity ? *out_count : capacity;
  for (int32_t i = 0; i < *out_count; ++i) {
    infos[i] = (rlo_device_info)RLO_DEVICE_INFO_INIT;
    if (rlo_device_query(entries[i].device, &infos[i]) != RLO_OK) {
      return rlo__fail_last();
    }
  }
  return RLO__EXIT_OK;
}

static int list_devices(void *payload) {
  const bool *is_json = payload;
  int32_t count = 0;
  if (rlo_device_list(NULL, 0, 0, &count) != RLO_OK) {
    return rlo__fail_last();
  }
  int32_t capacity = count;
  rlo_device_entry *entries = calloc((size_t)capacity + 1, sizeof(*entries));
  rlo_device_info *infos = calloc((size_t)capacity + 1, sizeof(*infos));
  int code;
  if (entries == NULL || infos == NULL) {
    code = rlo__fail("cannot get memory for %d devices", capacity);
  } else {
    code = read_devices(entries, infos, capacity, &count);
    if (code == RLO__EXIT_OK) {
      print_all(entries, infos, count, *is_json);
    }
  }
  free(infos);
  free(entries);
  return code;
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  rlo__common_options common;
  int code = rlo__options_take(&rlo__cmd_devices, argc, argv, NULL, &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(argc, argv, 0, "no operands", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  return rlo__subprocess_run(common.is_isolated, list_devices, &common.is_json);
}

const rlo__command rlo__cmd_devices = {
    .name = "devices",
    .summary = "list the OpenCL devices and which one is the default",
    .help =
        "Usage: relayout devices [--json] [--no-isolate]\n"
        "\n"
        "Lists the devices of every OpenCL platform with the numbers that\n"
        "--device takes, and the limits that matter here. The default device\n"
        "is marked with a star. Numbers depend on the drivers installed; "
        "scripts\n"
        "had better name a device: --device pocl\n"
        "\n"
        "  --json        print one object\n"
        "  --no-isolate  use the OpenCL driver in this process\n",
    .options = options,
    .run = run,
};
