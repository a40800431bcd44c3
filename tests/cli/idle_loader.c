/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL loader whose kernels do nothing and succeed. All else is the system's
 * loader, which this is linked with.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint num_events, const cl_event *events, cl_event *out_event) {
  (void)kernel;
  (void)dims;
  (void)offset;
  (void)global;
  (void)local;
  return clEnqueueMarkerWithWaitList(queue, num_events, events, out_event);
}
