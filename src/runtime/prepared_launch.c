/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/prepared_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

/* ---------------------------------------------------------------- arguments */

/* Places of the arrays of a prepared launch in its one piece of memory: the
 * most aligned first. */
typedef struct array_places {
  size_t numbers, defines, arguments, constants, total;
} array_places;

/* Numbers that are compiled in. */
static size_t count_numbers(const rlo__launch *launch) {
  size_t count = 0;
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    count += (size_t)launch->defines[d].count;
  }
  return count;
}

static array_places place_arrays(const rlo__launch *launch) {
  array_places at = {0};
  at.defines = count_numbers(launch) * sizeof(int64_t);
  at.arguments = at.defines + (size_t)launch->num_defines * sizeof(rlo__define);
  at.constants = at.arguments +
                 (size_t)launch->num_arguments * sizeof(rlo__prepared_argument);
  at.total = at.constants;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    if (rlo__argument_lanes(launch->arguments[i].kind) > 0) {
      at.total += (size_t)rlo__argument_bytes(launch->arguments[i].kind);
    }
  }
  return at;
}

static void read_defines(const rlo__launch *launch,
                         rlo__define *defines,
                         int64_t *numbers) {
  int32_t count = 0;
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    const rlo__define *from = &launch->defines[d];
    defines[d] = (rlo__define){from->name, count, from->count};
    memcpy(&numbers[count],
           &launch->numbers[from->first],
           (size_t)from->count * sizeof numbers[0]);
    count += from->count;
  }
}

/* The value of a constant argument, lane after lane. */
static void read_lanes(const rlo__launch *launch,
                       const rlo__argument *from,
                       const rlo__prepared_argument *to,
                       uint8_t *out_value) {
  const int64_t *numbers = &launch->numbers[from->first];
  const int32_t num_lanes = rlo__argument_lanes(from->kind);
  if (to->num_bytes == (uint32_t)num_lanes * sizeof(cl_long)) {
    memcpy(out_value, numbers, to->num_bytes);
    return;
  }
  for (int32_t lane = 0; lane < num_lanes; ++lane) {
    const cl_int narrow = (cl_int)numbers[lane];
    memcpy(out_value + (size_t)lane * sizeof narrow, &narrow, sizeof narrow);
  }
}

static void read_arguments(const rlo__launch *launch,
                           rlo__prepared_launch *prepared) {
  uint32_t num_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    const rlo__argument *from = &launch->arguments[i];
    rlo__prepared_argument *to = &prepared->arguments[i];
    *to = (rlo__prepared_argument){.kind = from->kind};
    if (rlo__argument_lanes(from->kind) > 0) {
      to->first_byte = num_bytes;
      to->num_bytes = (uint32_t)rlo__argument_bytes(from->kind);
      read_lanes(launch, from, to, prepared->constants + to->first_byte);
      num_bytes += to->num_bytes;
    }
  }
}

/* Copies what a launch points to into memory of the prepared launch. */
static rlo_status read_arrays(const rlo__launch *launch,
                              rlo__prepared_launch *prepared) {
  const array_places at = place_arrays(launch);
  char *memory = rlo__alloc_unset(at.total);
  if (memory == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  int64_t *numbers = (int64_t *)(void *)memory;
  rlo__define *defines = (rlo__define *)(void *)(memory + at.defines);
  prepared->memory = memory;
  prepared->arguments =
      (rlo__prepared_argument *)(void *)(memory + at.arguments);
  prepared->constants = (uint8_t *)memory + at.constants;
  prepared->num_arguments = launch->num_arguments;
  prepared->parts = (rlo__program_parts){.kernel_file = launch->kernel_file,
                                         .defines = defines,
                                         .num_defines = launch->num_defines,
                                         .numbers = numbers};
  read_defines(launch, defines, numbers);
  read_arguments(launch, prepared);
  return RLO_OK;
}

/** Sets one kernel argument. */
static cl_int set_argument(const rlo__prepared_launch *prepared,
                           int32_t index,
                           const rlo__launch_target *target,
                           cl_kernel kernel) {
  const rlo__prepared_argument *argument = &prepared->arguments[index];
  const void *value = NULL;
  size_t value_bytes = 0;
  cl_ulong offset = 0;
  switch (argument->kind) {
    case RLO__ARGUMENT_SRC:
      value = &target->src;
      value_bytes = sizeof target->src;
      break;
    case RLO__ARGUMENT_DST:
      value = &target->dst;
      value_bytes = sizeof target->dst;
      break;
    case RLO__ARGUMENT_SRC_OFFSET:
      /* The base may be negative while the sum is not. Neither wraps: both are
       * checked against the size of an existing buffer. */
      offset = (cl_ulong)target->src_offset_bytes +
               (cl_ulong)prepared->src_base_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    case RLO__ARGUMENT_DST_OFFSET:
      offset = (cl_ulong)target->dst_offset_bytes +
               (cl_ulong)prepared->dst_base_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    case RLO__ARGUMENT_INDEX:
      value = &target->indices;
      value_bytes = sizeof target->indices;
      break;
    case RLO__ARGUMENT_INDEX_OFFSET:
      offset = (cl_ulong)target->index_offset_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    default:
      value = prepared->constants + argument->first_byte;
      value_bytes = argument->num_bytes;
      break;
  }
  return clSetKernelArg(kernel, (cl_uint)index, value_bytes, value);
}

static rlo_status set_arguments(const rlo__prepared_launch *prepared,
                                const rlo__launch_target *target,
                                rlo__pooled_kernel *kernel) {
  /* A kernel that ran this launch last still has its constants. */
  bool has_constants = kernel->arguments_of == prepared->id;
  kernel->arguments_of = 0;
  for (int32_t i = 0; i < prepared->num_arguments; ++i) {
    if (has_constants && prepared->arguments[i].num_bytes > 0) {
      continue;
    }
    cl_int code = set_argument(prepared, i, target, kernel->kernel);
    if (code != CL_SUCCESS) {
      return rlo__status_prefix(rlo__cl_error_check("clSetKernelArg", code),
                                "argument %d of kernel %s: ",
                                (int)i,
                                prepared->parts.kernel_file);
    }
  }
  kernel->arguments_of = prepared->id;
  return RLO_OK;
}

/* ------------------------------------------------------------------- limits */

static int64_t group_items(const rlo__prepared_launch *prepared) {
  int64_t items = 1;
  for (cl_uint d = 0; d < prepared->work_dim; ++d) {
    items *= (int64_t)prepared->local_size[d];
  }
  return items;
}

static rlo_status check_limits(const rlo_context *context,
                               const rlo__launch *launch,
                               const rlo__prepared_launch *prepared) {
  const rlo_device_info *info = &context->device_info;
  const char *name = prepared->parts.kernel_file;
  for (cl_uint d = 0; d < prepared->work_dim; ++d) {
    if (prepared->local_size[d] == 0 || prepared->global_size[d] == 0 ||
        prepared->global_size[d] % prepared->local_size[d] != 0) {
      return RLO_FAIL(
          RLO_INTERNAL,
          "kernel %s: a global size of %zu is not a multiple of the "
          "group's %zu",
          name,
          prepared->global_size[d],
          prepared->local_size[d]);
    }
    if (prepared->local_size[d] > context->max_work_item_sizes[d]) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants groups of %zu work-items in dimension "
                      "%u; %s allows %zu",
                      name,
                      prepared->local_size[d],
                      (unsigned)d,
                      context->device_name,
                      context->max_work_item_sizes[d]);
    }
    if (info->address_bits < 64 &&
        prepared->global_size[d] >> info->address_bits != 0) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants %zu work-items in dimension %u; %s "
                      "counts in %d bits",
                      name,
                      prepared->global_size[d],
                      (unsigned)d,
                      context->device_name,
                      (int)info->address_bits);
    }
  }
  if (group_items(prepared) > info->max_work_group_items) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; %s allows %lld",
                    name,
                    (long long)group_items(prepared),
                    context->device_name,
                    (long long)info->max_work_group_items);
  }
  int64_t argument_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    argument_bytes += rlo__argument_bytes(launch->arguments[i].kind);
  }
  if (argument_bytes > info->max_parameter_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s has %lld bytes of arguments; %s allows %lld",
                    name,
                    (long long)argument_bytes,
                    context->device_name,
                    (long long)info->max_parameter_bytes);
  }
  return RLO_OK;
}

rlo_status rlo__prepared_launch_check(const rlo_context *context,
                                      const rlo__prepared_launch *prepared,
                                      const rlo__program *program,
                                      int64_t *out_max_group_items) {
  if (group_items(prepared) > program->max_work_group_items) {
    *out_max_group_items = program->max_work_group_items;
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; compiled for "
                    "%s it can run %lld",
                    prepared->parts.kernel_file,
                    (long long)group_items(prepared),
                    context->device_name,
                    (long long)program->max_work_group_items);
  }
  if (program->local_memory_bytes > context->device_info.local_memory_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants %lld bytes of local memory; %s has %lld",
                    prepared->parts.kernel_file,
                    (long long)program->local_memory_bytes,
                    context->device_name,
                    (long long)context->device_info.local_memory_bytes);
  }
  return RLO_OK;
}

/* ----------------------------------------------------- lifecycle and enqueue
 */

rlo_status rlo__prepared_launch_init(rlo_context *context,
                                     const rlo__launch *launch,
                                     rlo__prepared_launch *prepared) {
  RLO_TRY(read_arrays(launch, prepared));
  prepared->id = (uint64_t)atomic_fetch_add_explicit(
                     &context->last_launch_id, 1, memory_order_relaxed) +
                 1;
  prepared->src_base_bytes = launch->src_base_bytes;
  prepared->dst_base_bytes = launch->dst_base_bytes;
  prepared->work_dim = (cl_uint)launch->work_dim;
  memcpy(
      prepared->global_size, launch->global_size, sizeof prepared->global_size);
  memcpy(prepared->local_size, launch->local_size, sizeof prepared->local_size);
  return check_limits(context, launch, prepared);
}

void rlo__prepared_launch_deinit(rlo__prepared_launch *prepared) {
  rlo__free(prepared->memory);
}

rlo_status rlo__prepared_launch_enqueue(rlo_context *context,
                                        const rlo__prepared_launch *prepared,
                                        rlo__program *program,
                                        const rlo__launch_target *target) {
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__program_take_kernel(program, &kernel));
  rlo_status status = set_arguments(prepared, target, kernel);
  if (status == RLO_OK) {
    /* A local variable, because a driver that fails may write to it. */
    cl_event event = NULL;
    const bool is_wanted =
        target->out_event != NULL || rlo__command_log_is_open();
    status = RLO_CL(clEnqueueNDRangeKernel,
                    target->queue,
                    kernel->kernel,
                    prepared->work_dim,
                    NULL,
                    prepared->global_size,
                    prepared->local_size,
                    target->num_wait,
                    target->wait_list,
                    is_wanted ? &event : NULL);
    if (status == RLO_OK && is_wanted) {
      rlo__command_log_add(event);
      if (target->out_event != NULL) {
        *target->out_event = event;
      } else {
        clReleaseEvent(event);
      }
    }
  }
  rlo__program_give_kernel(program, kernel);
  if (status == RLO_OK) {
    atomic_fetch_add_explicit(&context->launches, 1, memory_order_relaxed);
  }
  return status;
}
