/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/stopwatch.h"

#include <string.h>

#include "base/status.h"
#include "runtime/cl_error.h"

enum {
  /** Larger fills hang some drivers. */
  MAX_FILL_BYTES = 1 << 30
};

void rlo__stopwatch_start(rlo__stopwatch *watch) {
  clock_gettime(CLOCK_MONOTONIC, &watch->start);
}

double rlo__stopwatch_seconds(const rlo__stopwatch *watch) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - watch->start.tv_sec) +
         (double)(now.tv_nsec - watch->start.tv_nsec) * 1e-9;
}

rlo_status rlo__stopwatch_stop(const rlo__stopwatch *watch,
                               cl_event event,
                               double *out_nanos) {
  rlo_status status = RLO_CL(clWaitForEvents, 1, &event);
  *out_nanos = rlo__stopwatch_seconds(watch) * 1e9;
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
    *out_nanos = (double)(device_end - device_start);
  }
  clReleaseEvent(event);
  return status;
}

void rlo__copy_problem(int64_t bytes, rlo_problem *out_problem) {
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

rlo_status rlo__touch_buffer(cl_command_queue queue,
                             cl_mem buffer,
                             int64_t bytes) {
  /* One byte long, so that any size will do. */
  const cl_uchar pattern = 0x5a;
  for (int64_t at = 0; at < bytes; at += MAX_FILL_BYTES) {
    int64_t rest = bytes - at;
    RLO_TRY(RLO_CL(clEnqueueFillBuffer,
                   queue,
                   buffer,
                   &pattern,
                   sizeof pattern,
                   (size_t)at,
                   (size_t)(rest < MAX_FILL_BYTES ? rest : MAX_FILL_BYTES),
                   0,
                   NULL,
                   NULL));
  }
  return RLO_CL(clFinish, queue);
}
