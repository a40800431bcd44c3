/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/source_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

static rlo_status set_arguments(cl_kernel kernel,
                                const rlo__source_launch *launch) {
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    const rlo__source_value *a = &launch->arguments[n];
    const cl_mem buffer = a->memory != NULL ? a->memory->buffer : NULL;
    rlo_status status = RLO_CL(clSetKernelArg,
                               kernel,
                               (cl_uint)n,
                               a->is_memory ? sizeof buffer : a->bytes,
                               a->is_memory ? (const void *)&buffer : a->value);
    if (status != RLO_OK) {
      return rlo__status_prefix(
          status, "argument %d of kernel '%s': ", n, launch->function);
    }
  }
  return RLO_OK;
}

/** Collects the events that commands on the arguments must wait for. */
static cl_uint collect_waits(const rlo__source_launch *launch,
                             cl_event *out_events) {
  cl_uint count = 0;
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    cl_event gate = rlo__device_memory_gate(launch->arguments[n].memory);
    if (gate != NULL) {
      out_events[count++] = gate;
    }
  }
  return count;
}

static rlo_status enqueue(rlo__device_queue *queue,
                          const rlo__source_launch *launch,
                          cl_kernel kernel,
                          cl_event *events,
                          cl_event *out_event) {
  RLO_TRY(set_arguments(kernel, launch));
  cl_uint num_waits = collect_waits(launch, events);
  RLO_TRY(RLO_CL(clEnqueueNDRangeKernel,
                 rlo__device_queue_cl_queue(queue),
                 kernel,
                 launch->work_dim,
                 NULL,
                 launch->global_size,
                 launch->local_size[0] != 0 ? launch->local_size : NULL,
                 num_waits,
                 num_waits > 0 ? events : NULL,
                 out_event));
  rlo__command_log_add(*out_event);
  atomic_fetch_add_explicit(
      &rlo__device_queue_context(queue)->launches, 1, memory_order_relaxed);
  return RLO_OK;
}

rlo_status rlo__source_launch_enqueue(rlo__device_queue *queue,
                                      const rlo__source_launch *launch,
                                      rlo__device_memory *const *outputs,
                                      int32_t count) {
  rlo_context *context = rlo__device_queue_context(queue);
  RLO_TRY(rlo__context_check_process(context));
  rlo__program_spec spec = {.source = launch->source,
                            .source_bytes = strlen(launch->source)};
  size_t name_length = strlen(launch->function);
  if (name_length >= sizeof spec.kernel_name) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT,
        "the kernel function's name has %zu characters; the limit is "
        "%zu",
        name_length,
        sizeof spec.kernel_name - 1);
  }
  memcpy(spec.kernel_name, launch->function, name_length + 1);
  rlo__program *program = NULL;
  rlo__pooled_kernel *kernel = NULL;
  cl_event event = NULL;
  rlo_status status = RLO_OUT_OF_MEMORY;
  cl_event *events =
      rlo__alloc_array((size_t)launch->num_arguments + 1, sizeof(cl_event));
  spec.options = rlo__alloc_string(launch->options);
  if (events == NULL || spec.options == NULL) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__program_cache_get(
      context->programs, &spec, RLO__BUILD_FOREGROUND, &program));
  RLO_TRY_GOTO(rlo__kernel_pool_take(&program->kernels, &kernel));
  /* The kernel holds the constants of no prepared launch from here on. */
  kernel->arguments_of = 0;
  RLO_TRY_GOTO(enqueue(queue, launch, kernel->kernel, events, &event));
  for (int32_t n = 0; n < count; ++n) {
    if (outputs[n] != NULL) {
      clRetainEvent(event);
      rlo__device_memory_set_ready(outputs[n], event);
    }
  }
  clReleaseEvent(event);
fail:
  if (kernel != NULL) {
    rlo__kernel_pool_return(&program->kernels, kernel);
  }
  rlo__program_cache_put(context->programs, program);
  rlo__free(spec.options);
  rlo__free(events);
  return status;
}
