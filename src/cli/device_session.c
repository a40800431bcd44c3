/* SPDX-License-Identifier: Apache-2.0 */
#include "device_session.h"

#include <stdio.h>
#include <time.h>

#include "cache_dir.h"
#include "message.h"

static int fail_cl(const char *call, cl_int code) {
  return rlo__fail("%s failed with OpenCL error %d", call, (int)code);
}

int rlo__device_session_init(int32_t device_number,
                             rlo__device_session *out_session) {
  *out_session = (rlo__device_session){0};
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = rlo__cache_dir();
  if (rlo_context_create_default(
          device_number, &options, &out_session->context) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo__wisdom_file_load(out_session->context, &out_session->wisdom);
  cl_device_id device = rlo_context_cl_device(out_session->context);
  cl_int error = CL_SUCCESS;
  out_session->queue = clCreateCommandQueue(
      rlo_context_cl_context(out_session->context), device, 0, &error);
  if (error != CL_SUCCESS) {
    out_session->queue = NULL;
    return fail_cl("clCreateCommandQueue", error);
  }
  if (clGetDeviceInfo(device,
                      CL_DEVICE_NAME,
                      sizeof(out_session->device_name),
                      out_session->device_name,
                      NULL) != CL_SUCCESS) {
    /* A name that is too long; it is for people only. */
    snprintf(out_session->device_name,
             sizeof(out_session->device_name),
             "%s",
             "device with a long name");
  }
  return RLO__EXIT_OK;
}

void rlo__device_session_deinit(rlo__device_session *session) {
  if (session->queue != NULL) {
    clReleaseCommandQueue(session->queue);
  }
  rlo_context_release(session->context);
  *session = (rlo__device_session){0};
}

int rlo__device_session_create_buffer(rlo__device_session *session,
                                      size_t bytes,
                                      cl_mem *out_buffer) {
  *out_buffer = NULL;
  if (rlo_buffer_create(session->context,
                        bytes == 0 ? 1 : (int64_t)bytes,
                        out_buffer) != RLO_OK) {
    return rlo__fail_last();
  }
  return RLO__EXIT_OK;
}

int rlo__device_session_clear(rlo__device_session *session,
                              cl_mem buffer,
                              size_t bytes) {
  if (bytes == 0) {
    return RLO__EXIT_OK;
  }
  const cl_uchar zero = 0;
  cl_int error = clEnqueueFillBuffer(
      session->queue, buffer, &zero, sizeof(zero), 0, bytes, 0, NULL, NULL);
  return error == CL_SUCCESS ? RLO__EXIT_OK
                             : fail_cl("clEnqueueFillBuffer", error);
}

int rlo__device_session_upload(rlo__device_session *session,
                               cl_mem buffer,
                               const void *data,
                               size_t bytes) {
  if (bytes == 0) {
    return RLO__EXIT_OK;
  }
  cl_int error = clEnqueueWriteBuffer(
      session->queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
  return error == CL_SUCCESS ? RLO__EXIT_OK
                             : fail_cl("clEnqueueWriteBuffer", error);
}

int rlo__device_session_download(rlo__device_session *session,
                                 cl_mem buffer,
                                 void *data,
                                 size_t bytes) {
  if (bytes == 0) {
    return RLO__EXIT_OK;
  }
  cl_int error = clEnqueueReadBuffer(
      session->queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
  return error == CL_SUCCESS ? RLO__EXIT_OK
                             : fail_cl("clEnqueueReadBuffer", error);
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int rlo__device_session_run(rlo__device_session *session,
                            rlo_plan *plan,
                            cl_mem src,
                            cl_mem dst,
                            double *out_seconds) {
  double begin = now_seconds();
  if (rlo_enqueue(plan, session->queue, src, 0, dst, 0, 0, NULL, NULL) !=
      RLO_OK) {
    return rlo__fail_last();
  }
  cl_int error = clFinish(session->queue);
  if (error != CL_SUCCESS) {
    return fail_cl("clFinish", error);
  }
  *out_seconds = now_seconds() - begin;
  return RLO__EXIT_OK;
}
