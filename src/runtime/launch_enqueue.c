/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch_enqueue.h"

#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

/* ------------------------------------------------------------------- limits */

static int64_t group_items(const rlo__launch *launch) {
  int64_t items = 1;
  for (int32_t d = 0; d < launch->work_dim; ++d) {
    items *= (int64_t)launch->local_size[d];
  }
  return items;
}

rlo_status rlo__launch_check(const rlo_context *context,
                             const rlo__launch *launch) {
  const rlo_device_info *info = &context->device_info;
  const char *name = launch->kernel_file;
  for (int32_t d = 0; d < launch->work_dim; ++d) {
    if (launch->local_size[d] == 0 || launch->global_size[d] == 0 ||
        launch->global_size[d] % launch->local_size[d] != 0) {
      return RLO_FAIL(
          RLO_INTERNAL,
          "kernel %s: a global size of %zu is not a multiple of the "
          "group's %zu",
          name,
          launch->global_size[d],
          launch->local_size[d]);
    }
    if (launch->local_size[d] > context->max_work_item_sizes[d]) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants groups of %zu work-items in dimension "
                      "%d; %s allows %zu",
                      name,
                      launch->local_size[d],
                      (int)d,
                      context->device_name,
                      context->max_work_item_sizes[d]);
    }
    if (info->address_bits < 64 &&
        launch->global_size[d] >> info->address_bits != 0) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants %zu work-items in dimension %d; %s "
                      "counts in %d bits",
                      name,
                      launch->global_size[d],
                      (int)d,
                      context->device_name,
                      (int)info->address_bits);
    }
  }
  if (group_items(launch) > info->max_work_group_items) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; %s allows %lld",
                    name,
                    (long long)group_items(launch),
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

rlo_status rlo__launch_check_program(const rlo_context *context,
                                     const rlo__launch *launch,
                                     const rlo__program *program,
                                     int64_t *out_max_group_items) {
  if (group_items(launch) > program->max_work_group_items) {
    *out_max_group_items = program->max_work_group_items;
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; compiled for "
                    "%s it can run %lld",
                    launch->kernel_file,
                    (long long)group_items(launch),
                    context->device_name,
                    (long long)program->max_work_group_items);
  }
  if (program->local_memory_bytes > context->device_info.local_memory_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants %lld bytes of local memory; %s has %lld",
                    launch->kernel_file,
                    (long long)program->local_memory_bytes,
                    context->device_name,
                    (long long)context->device_info.local_memory_bytes);
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- arguments */

static cl_int set_constant(const rlo__launch *launch,
                           int32_t index,
                           cl_kernel kernel) {
  const rlo__argument *argument = &launch->arguments[index];
  const int64_t *numbers = &launch->numbers[argument->first];
  const size_t bytes = (size_t)rlo__argument_bytes(argument->kind);
  cl_int narrow[16];
  if (argument->kind != RLO__ARGUMENT_INT &&
      argument->kind != RLO__ARGUMENT_INT16) {
    return clSetKernelArg(kernel, (cl_uint)index, bytes, numbers);
  }
  for (size_t lane = 0; lane < bytes / sizeof narrow[0]; ++lane) {
    narrow[lane] = (cl_int)numbers[lane];
  }
  return clSetKernelArg(kernel, (cl_uint)index, bytes, narrow);
}

/** Sets one kernel argument. */
static cl_int set_argument(const rlo__launch *launch,
                           int32_t index,
                           const rlo__launch_target *target,
                           cl_kernel kernel) {
  const cl_mem *memory = NULL;
  cl_ulong offset = 0;
  switch (launch->arguments[index].kind) {
    case RLO__ARGUMENT_SRC:
      memory = &target->src;
      break;
    case RLO__ARGUMENT_DST:
      memory = &target->dst;
      break;
    case RLO__ARGUMENT_INDEX:
      memory = &target->indices;
      break;
    case RLO__ARGUMENT_SRC_OFFSET:
      /* The base may be negative while the sum is not. Neither wraps: both are
       * checked against the size of an existing buffer. */
      offset =
          (cl_ulong)target->src_offset_bytes + (cl_ulong)launch->src_base_bytes;
      break;
    case RLO__ARGUMENT_DST_OFFSET:
      offset =
          (cl_ulong)target->dst_offset_bytes + (cl_ulong)launch->dst_base_bytes;
      break;
    case RLO__ARGUMENT_INDEX_OFFSET:
      offset = (cl_ulong)target->index_offset_bytes;
      break;
    default:
      return set_constant(launch, index, kernel);
  }
  return memory != NULL
             ? clSetKernelArg(kernel, (cl_uint)index, sizeof *memory, memory)
             : clSetKernelArg(kernel, (cl_uint)index, sizeof offset, &offset);
}

static rlo_status set_arguments(const rlo__launch *launch,
                                uint64_t id,
                                const rlo__launch_target *target,
                                rlo__pooled_kernel *kernel) {
  /* A kernel that ran this launch last still has its constants. */
  bool has_constants = kernel->arguments_of == id;
  kernel->arguments_of = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    if (has_constants && launch->arguments[i].kind >= RLO__ARGUMENT_INT) {
      continue;
    }
    cl_int code = set_argument(launch, i, target, kernel->kernel);
    if (code != CL_SUCCESS) {
      return rlo__status_prefix(rlo__cl_error_check("clSetKernelArg", code),
                                "argument %d of kernel %s: ",
                                (int)i,
                                launch->kernel_file);
    }
  }
  kernel->arguments_of = id;
  return RLO_OK;
}

rlo_status rlo__launch_enqueue(rlo_context *context,
                               const rlo__launch *launch,
                               uint64_t id,
                               rlo__program *program,
                               const rlo__launch_target *target) {
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__program_take_kernel(program, &kernel));
  rlo_status status = set_arguments(launch, id, target, kernel);
  if (status == RLO_OK) {
    /* A local variable, because a driver that fails may write to it. */
    cl_event event = NULL;
    const bool is_wanted =
        target->out_event != NULL || rlo__command_log_is_open();
    status = RLO_CL(clEnqueueNDRangeKernel,
                    target->queue,
                    kernel->kernel,
                    (cl_uint)launch->work_dim,
                    NULL,
                    launch->global_size,
                    launch->local_size,
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
