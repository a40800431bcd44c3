/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/opencl.h"
#include "relayout/ops.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "subprocess.h"

typedef enum required_type { REQUIRED_CPU = 1, REQUIRED_GPU = 2 } required_type;

typedef struct devices_request {
  rlo__common_options common;
  bool is_limit;
  /* 0: not given. */
  required_type required;
  int64_t bytes;
  int64_t rounds;
} devices_request;

static const char *type_name(cl_device_type type) {
  return (type & CL_DEVICE_TYPE_GPU) != 0           ? "GPU"
         : (type & CL_DEVICE_TYPE_CPU) != 0         ? "CPU"
         : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator"
                                                    : "custom";
}

static void add_device(rlo__report *r, const rlo_device_entry *entry, const rlo_device_info *info) {
  const char *type = type_name(entry->type);
  const char *class_name = rlo__device_class_names[info->device_class];
  rlo__report_line(r, "", "%s%d  %s (%s)", entry->is_default ? "* " : "  ", entry->device_number,
                   entry->device_name, type);
  rlo__report_line(r, "     platform", "%s", entry->platform_name);
  rlo__report_line(r, "     version", "%s, driver %s", entry->device_version,
                   entry->driver_version);
  rlo__report_line(r, "     kernels", "%s class%s%s%s%s%s", class_name,
                   info->has_nontemporal_store ? ", non-temporal stores" : "",
                   info->has_builtin_prefetch ? ", prefetch" : "",
                   info->has_vector_shuffle ? ", shuffles" : "", info->has_f64 ? ", f64" : "",
                   info->has_f32_denormals ? "" : ", no denormals");
  rlo__report_line(r, "     limits",
                   "%d compute units, work-groups of %" PRId64 " items, %" PRId64
                   " bytes of local memory",
                   info->compute_units, info->max_work_group_items, info->local_memory_bytes);
  rlo__report_line(r, "     memory", "%s, buffers up to %s, aligned to %" PRId64 " bytes",
                   rlo__bytes_text(info->global_memory_bytes),
                   rlo__bytes_text(info->max_allocation_bytes), info->base_alignment_bytes);
  RLO__REPORT_OBJECT(
      r, NULL, RLO__INT("device", NULL, entry->device_number),
      RLO__STRING("name", NULL, entry->device_name), RLO__STRING("type", NULL, type),
      RLO__INT("platform", NULL, entry->platform_number),
      RLO__STRING("platform_name", NULL, entry->platform_name),
      RLO__STRING("device_version", NULL, entry->device_version),
      RLO__STRING("driver_version", NULL, entry->driver_version),
      RLO__BOOL("is_default", entry->is_default),
      RLO__STRING("reason", "     choice", entry->reason), RLO__STRING("class", NULL, class_name),
      RLO__INT("compute_units", NULL, info->compute_units),
      RLO__INT("max_work_group_items", NULL, info->max_work_group_items),
      RLO__INT("local_memory_bytes", NULL, info->local_memory_bytes),
      RLO__INT("global_memory_bytes", NULL, info->global_memory_bytes),
      RLO__INT("max_allocation_bytes", NULL, info->max_allocation_bytes),
      RLO__INT("base_alignment_bytes", NULL, info->base_alignment_bytes),
      RLO__INT("cache_line_bytes", NULL, info->cache_line_bytes),
      RLO__INT("max_parameter_bytes", NULL, info->max_parameter_bytes),
      RLO__INT("address_bits", NULL, info->address_bits),
      RLO__BOOL("has_nontemporal_store", info->has_nontemporal_store),
      RLO__BOOL("has_builtin_prefetch", info->has_builtin_prefetch),
      RLO__BOOL("has_vector_shuffle", info->has_vector_shuffle),
      RLO__BOOL("has_f64", info->has_f64), RLO__BOOL("has_f32_denormals", info->has_f32_denormals),
      RLO__BOOL("has_large_buffer_option", info->has_large_buffer_option),
      RLO__BOOL("is_cpu_class_only", info->is_cpu_class_only),
      RLO__INT("near_cache_bytes", NULL, info->near_cache_bytes));
}

/* Nothing is printed unless all devices tell their limits. */
static rlo_status query_devices(rlo_device_entry *entries, rlo_device_info *infos, int32_t *count) {
  const int32_t capacity = *count;
  RLO_TRY(rlo_device_list(entries, sizeof(*entries), capacity, count));
  *count = (int32_t)rlo__min(*count, capacity);
  for (int32_t i = 0; i < *count; ++i) {
    infos[i] = (rlo_device_info)RLO_DEVICE_INFO_INIT;
    RLO_TRY(rlo_device_query(entries[i].device, &infos[i]));
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- required */

enum { ROWS = 63, COLUMNS = 65, ELEMENTS = ROWS * COLUMNS };

/* Turns a matrix by a kernel. */
static int turn_matrix(const rlo__session *session, uint32_t *src, uint32_t *dst) {
  /* Static: a problem is too large for the stack. */
  static rlo_problem problem;
  rlo_shape rows;
  rlo_shape columns;
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  RLO__EXIT_TRY(rlo__shape_operand_parse("u32[63,65]", &rows));
  RLO__EXIT_TRY(rlo__shape_operand_parse("u32[63,65]{0,1}", &columns));
  RLO__EXIT_TRY(rlo__check(rlo_relayout_lower(&rows, &columns, NULL, &problem)));
  RLO__EXIT_TRY(rlo__session_move(session, &problem, src, dst));
  RLO__EXIT_TRY(rlo__check(rlo_context_get_stats(session->context, &stats)));
  return stats.launches > 0 ? RLO__EXIT_OK : rlo__fail("%s ran no kernel", session->device_name);
}

static int try_session(const rlo__session *session) {
  static uint32_t src[ELEMENTS];
  static uint32_t dst[ELEMENTS];
  int num_wrong = 0;
  memset(dst, 0, sizeof(dst));
  for (uint32_t n = 0; n < ELEMENTS; ++n) {
    src[n] = (n + 1) * UINT32_C(0x9e3779b1);
  }
  RLO__EXIT_TRY(turn_matrix(session, src, dst));
  for (int n = 0; n < ELEMENTS; ++n) {
    num_wrong += dst[n] != src[n % ROWS * COLUMNS + n / ROWS];
  }
  return num_wrong == 0 ? RLO__EXIT_OK
                        : rlo__fail("%s: of %d elements that a kernel moved %d are wrong",
                                    session->device_name, (int)ELEMENTS, num_wrong);
}

static int try_device(const rlo_device_entry *entry) {
  rlo__session session;
  RLO__EXIT_TRY(rlo__session_init(&(rlo__device_ref){.index = entry->device_number}, &session));
  const int code = try_session(&session);
  rlo_context_release(session.context);
  return code;
}

/* Tries each device of the type that is required, of which there has to be one. */
static int try_required(rlo__report *r, required_type required, const rlo_device_entry *entries,
                        int32_t count) {
  const cl_device_type type = required == REQUIRED_GPU ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU;
  int32_t num_tried = 0;
  for (int32_t n = 0; n < count; ++n) {
    if ((entries[n].type & type) != 0) {
      RLO__EXIT_TRY(try_device(&entries[n]));
      rlo__report_line(r, "", "a kernel ran on device %d, and each byte that it moved is right",
                       (int)entries[n].device_number);
      ++num_tried;
    }
  }
  return num_tried > 0 ? RLO__EXIT_OK
                       : rlo__fail("there is no %s among the %d device%s", type_name(type),
                                   (int)count, count == 1 ? "" : "s");
}

/* -------------------------------------------------------------------- list */

static int report_devices(const devices_request *request, const rlo_device_entry *entries,
                          const rlo_device_info *infos, int32_t count) {
  rlo__report r;
  int code = RLO__EXIT_OK;
  rlo__report_begin(&r, request->common.is_json, 16);
  rlo__report_open(&r, "devices", '[');
  for (int32_t i = 0; i < count; ++i) {
    add_device(&r, &entries[i], &infos[i]);
  }
  if (request->required != 0) {
    code = try_required(&r, request->required, entries, count);
  }
  rlo__report_end(&r);
  return code;
}

static int list_devices(void *payload) {
  const devices_request *request = payload;
  int32_t count = 0;
  RLO__EXIT_TRY(rlo__check(rlo_device_list(NULL, 0, 0, &count)));
  rlo_device_entry *entries = rlo__alloc_array((size_t)count, sizeof(*entries));
  rlo_device_info *infos = rlo__alloc_array((size_t)count, sizeof(*infos));
  const rlo_status status =
      entries == NULL || infos == NULL ? RLO_OUT_OF_MEMORY : query_devices(entries, infos, &count);
  const int code =
      status == RLO_OK ? report_devices(request, entries, infos, count) : rlo__check(status);
  rlo__free(infos);
  rlo__free(entries);
  return code;
}

/* -------------------------------------------------------------- copy limit */

static void print_limit(const devices_request *request, const char *device_name, double gb_per_s) {
  rlo__report r;
  rlo__report_begin(&r, request->common.is_json, 0);
  rlo__report_line(&r, "", "%.2f GB/s  copying %s on %s (read + written, median of %" PRId64 ")",
                   gb_per_s, rlo__bytes_text(request->bytes), device_name, request->rounds);
  RLO__REPORT(&r, RLO__STRING("device", NULL, device_name), RLO__INT("bytes", NULL, request->bytes),
              RLO__INT("rounds", NULL, request->rounds), RLO__REAL("gb_per_s", gb_per_s));
  rlo__report_end(&r);
}

static int measure_limit(void *payload, rlo__session *session) {
  const devices_request *request = payload;
  double gb_per_s = 0;
  RLO__EXIT_TRY(rlo__check(
      rlo_copy_limit(session->context, request->bytes, (int32_t)request->rounds, &gb_per_s)));
  print_limit(request, session->device_name, gb_per_s);
  return RLO__EXIT_OK;
}

/* ------------------------------------------------------------ command line */

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    /* The numbers of required_type. */
    RLO__OPTION_OF("require", devices_request, required, "cpu", "gpu"),
    RLO__OPTION("copy-limit", FLAG, devices_request, is_limit),
    RLO__OPTION_COMMON("device", DEVICE),
    RLO__OPTION_WITHIN("bytes", devices_request, bytes, 4096, INT64_MAX),
    RLO__OPTION_WITHIN("rounds", devices_request, rounds, 1, 1000000),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int run(int argc, char **argv) {
  devices_request request = {.is_limit = false};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_devices, argc, argv, &request, &request.common));
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, 0, "no operands"));
  RLO__USAGE_IF(!request.is_limit &&
                    (request.common.is_device_given || request.bytes > 0 || request.rounds > 0),
                argv[0], "--device, --bytes and --rounds require --copy-limit");
  RLO__USAGE_IF(request.is_limit && request.required != 0, argv[0],
                "--copy-limit excludes --require");
  request.bytes = request.bytes == 0 ? (int64_t)64 << 20 : request.bytes;
  request.rounds = request.rounds == 0 ? 11 : request.rounds;
  return request.is_limit ? rlo__session_run(&request.common, NULL, measure_limit, &request)
                          : rlo__subprocess_run(request.common.is_isolated, list_devices, &request);
}

const rlo__command rlo__cmd_devices = {
    .name = "devices",
    .summary = "list the OpenCL devices, or measure how fast one copies",
    .help =
        "Usage: relayout devices [--require cpu|gpu] [--json] [--no-isolate]\n"
        "       relayout devices --copy-limit [OPTION...]\n"
        "\n"
        "Lists the devices of every OpenCL platform with the numbers that\n"
        "--device takes, and the limits that matter here. The default device\n"
        "is marked with a star. Numbers depend on the drivers installed; scripts\n"
        "had better name a device: --device pocl\n"
        "\n"
        "  --require cpu|gpu\n"
        "                fail unless there is a device of this type, a kernel ran on\n"
        "                each, and each byte that it moved is right\n"
        "  --copy-limit  time the plain copy between two buffers of a device: no\n"
        "                relayout can be faster. GB/s are decimal and count the\n"
        "                bytes read and the bytes written\n"
        "  --device D    a device, by its number or a part of its name; the default\n"
        "                device without it\n"
        "  --bytes N     size of each buffer (67108864)\n"
        "  --rounds N    copies timed, of which the median counts (11)\n"
        "  --json        print one object; of a copy limit with the keys device,\n"
        "                bytes, rounds and gb_per_s\n"
        "  --no-isolate  use the OpenCL driver in this process\n",
    .options = options,
    .run = run,
};
