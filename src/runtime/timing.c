/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/timing.h"

#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/threshold.h"
#include "runtime/cl_error.h"

static rlo_status create_buffer(const rlo__timing *timing,
                                int64_t bytes,
                                cl_mem *out_buffer) {
  /* One byte long, so that it divides any size. */
  const cl_uchar pattern = 0x5a;
  const int64_t most_bytes = rlo__thresholds.runtime_fill_bytes;
  RLO_TRY(rlo_buffer_create(timing->context, rlo__max(bytes, 1), out_buffer));
  for (int64_t at = 0; at < bytes; at += most_bytes) {
    RLO_TRY(RLO_CL(clEnqueueFillBuffer,
                   timing->queue,
                   *out_buffer,
                   &pattern,
                   sizeof pattern,
                   (size_t)at,
                   (size_t)rlo__min(bytes - at, most_bytes),
                   0,
                   NULL,
                   NULL));
  }
  return RLO_CL(clFinish, timing->queue);
}

rlo_status rlo__timing_init(rlo_context *context,
                            int64_t src_bytes,
                            int64_t dst_bytes,
                            rlo__timing *timing) {
  cl_int code = CL_SUCCESS;
  timing->context = context;
  cl_command_queue queue = clCreateCommandQueue(context->cl_context,
                                                context->cl_device,
                                                CL_QUEUE_PROFILING_ENABLE,
                                                &code);
  RLO_TRY(rlo__cl_error_check("clCreateCommandQueue", code));
  timing->queue = queue;
  RLO_TRY(create_buffer(timing, src_bytes, &timing->src));
  return create_buffer(timing, dst_bytes, &timing->dst);
}

void rlo__timing_deinit(rlo__timing *timing) {
  if (timing->queue != NULL) {
    clFinish(timing->queue);
    clReleaseCommandQueue(timing->queue);
  }
  rlo_buffer_release(timing->context, timing->src);
  rlo_buffer_release(timing->context, timing->dst);
}

double rlo__timing_choose(double host_nanos, double device_nanos) {
  /* A launch and a wait take some 10 to 100 us beside a kernel of 1 us. */
  const double most_ratio = 1e4;
  /* The two clocks need not run equally fast. */
  const double tolerance = 1.1;
  bool is_believed = device_nanos * most_ratio >= host_nanos &&
                     device_nanos <= host_nanos * tolerance;
  return is_believed ? device_nanos : host_nanos;
}

rlo_status rlo__timing_wait(cl_event event, double begun, double *out_nanos) {
  rlo_status status = RLO_CL(clWaitForEvents, 1, &event);
  *out_nanos = (rlo__clock_seconds() - begun) * 1e9;
  cl_ulong device_start = 0;
  cl_ulong device_end = 0;
  if (clGetEventProfilingInfo(event,
                              CL_PROFILING_COMMAND_START,
                              sizeof device_start,
                              &device_start,
                              NULL) == CL_SUCCESS &&
      clGetEventProfilingInfo(event,
                              CL_PROFILING_COMMAND_END,
                              sizeof device_end,
                              &device_end,
                              NULL) == CL_SUCCESS &&
      device_end > device_start) {
    *out_nanos =
        rlo__timing_choose(*out_nanos, (double)(device_end - device_start));
  }
  clReleaseEvent(event);
  return status;
}

void rlo__copy_problem_init(int64_t bytes, rlo_problem *out_problem) {
  memset(out_problem, 0, sizeof *out_problem);
  out_problem->unit_bits = 8;
  out_problem->num_axes = 1;
  out_problem->extents[0] = bytes;
  out_problem->src.axis[0] = 1;
  out_problem->dst.axis[0] = 1;
  out_problem->src_bytes = bytes;
  out_problem->dst_bytes = bytes;
  out_problem->read_bytes = bytes;
  out_problem->written_bytes = bytes;
}
