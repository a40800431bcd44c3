/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/prepared_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

/* ----------------------------------------------------------------- arguments
 */

static rlo_status read_arguments(const rlo__launch *launch,
                                 rlo__prepared_launch *prepared) {
  size_t total_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    const rlo__argument *from = &launch->arguments[i];
    rlo__prepared_argument *to = &prepared->arguments[i];
    to->kind = from->kind;
    if (rlo__argument_lanes(from->kind) > 0) {
      to->num_bytes = (uint32_t)rlo__argument_bytes(from->kind);
      to->first_byte = (uint32_t)total_bytes;
      total_bytes += to->num_bytes;
    }
  }
  prepared->num_arguments = launch->num_arguments;
  prepared->constants = rlo__alloc(total_bytes);
  if (prepared->constants == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    rlo__prepared_argument *to = &prepared->arguments[i];
    const int64_t *numbers = &launch->numbers[launch->arguments[i].first];
    const int32_t num_lanes = rlo__argument_lanes(to->kind);
    for (int32_t lane = 0; lane < num_lanes; ++lane) {
      const cl_int narrow = (cl_int)numbers[lane];
      const cl_long wide = numbers[lane];
      const size_t lane_bytes = to->num_bytes / (size_t)num_lanes;
      memcpy(prepared->constants + to->first_byte + (size_t)lane * lane_bytes,
             lane_bytes == sizeof narrow ? (const void *)&narrow
                                         : (const void *)&wide,
             lane_bytes);
    }
  }
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
                                prepared->spec.kernel_name);
    }
  }
  kernel->arguments_of = prepared->id;
  return RLO_OK;
}

/* -------------------------------------------------------------------- limits
 */

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
  const char *name = prepared->spec.kernel_name;
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

static rlo_status check_compiled_limits(const rlo_context *context,
                                        const rlo__prepared_launch *prepared,
                                        const rlo__program *program) {
  if (group_items(prepared) > program->max_work_group_items) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; compiled for "
                    "%s it can run %lld",
                    prepared->spec.kernel_name,
                    (long long)group_items(prepared),
                    context->device_name,
                    (long long)program->max_work_group_items);
  }
  if (program->local_memory_bytes > context->device_info.local_memory_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants %lld bytes of local memory; %s has %lld",
                    prepared->spec.kernel_name,
                    (long long)program->local_memory_bytes,
                    context->device_name,
                    (long long)context->device_info.local_memory_bytes);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ lifecycle
 */

rlo_status rlo__prepared_launch_init(rlo_context *context,
                                     const rlo__launch *launch,
                                     rlo__prepared_launch *prepared) {
  atomic_init(&prepared->program, NULL);
  RLO_TRY(rlo__codegen_program(launch, &prepared->spec));
  RLO_TRY(read_arguments(launch, prepared));
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

void rlo__prepared_launch_deinit(rlo_context *context,
                                 rlo__prepared_launch *prepared) {
  rlo__program_cache_put(
      context->programs,
      atomic_load_explicit(&prepared->program, memory_order_acquire));
  rlo__codegen_deinit(&prepared->spec);
  rlo__free(prepared->constants);
}

rlo_status rlo__prepared_launch_build(rlo_context *context,
                                      rlo__prepared_launch *prepared,
                                      rlo__build_priority priority) {
  if (atomic_load_explicit(&prepared->program, memory_order_acquire) != NULL) {
    return RLO_OK;
  }
  rlo__program *program = NULL;
  RLO_TRY(rlo__program_cache_get(
      context->programs, &prepared->spec, priority, &program));
  rlo_status status = check_compiled_limits(context, prepared, program);
  if (status != RLO_OK) {
    rlo__program_cache_put(context->programs, program);
    return status;
  }
  rlo__program *none = NULL;
  if (!atomic_compare_exchange_strong_explicit(&prepared->program,
                                               &none,
                                               program,
                                               memory_order_acq_rel,
                                               memory_order_acquire)) {
    /* Another thread stored the same program first. */
    rlo__program_cache_put(context->programs, program);
  }
  return RLO_OK;
}

/* Takes over the event. */
static void give_event(const rlo__launch_target *target, cl_event event) {
  if (target->out_event != NULL) {
    *target->out_event = event;
  } else {
    clReleaseEvent(event);
  }
}

rlo_status rlo__prepared_launch_enqueue(rlo_context *context,
                                        rlo__prepared_launch *prepared,
                                        const rlo__launch_target *target) {
  rlo__program *program =
      atomic_load_explicit(&prepared->program, memory_order_acquire);
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__kernel_pool_take(&program->kernels, &kernel));
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
      give_event(target, event);
    }
  }
  rlo__kernel_pool_return(&program->kernels, kernel);
  if (status == RLO_OK) {
    atomic_fetch_add_explicit(&context->launches, 1, memory_order_relaxed);
  }
  return status;
}
