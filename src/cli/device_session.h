/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DEVICE_SESSION_H
#define RLO_CLI_DEVICE_SESSION_H

#include <stdbool.h>

#include "relayout/opencl.h"

#include "wisdom_file.h"

/**
 * A device with one in-order queue, for work that is done step after step.
 * Functions return RLO__EXIT_OK or print why not.
 */
typedef struct rlo__device_session {
  rlo_context *context;
  cl_command_queue queue;
  char device_name[128];
  /** What the command's file of wisdom held. */
  rlo__wisdom_known wisdom;
} rlo__device_session;

/** Open a device by its number in `relayout devices`; -1: the default. It plans
 *  with the wisdom of the command's file. Deinit must follow in any case. */
int rlo__device_session_init(int32_t device_number,
                             rlo__device_session *out_session);
void rlo__device_session_deinit(rlo__device_session *session);

/** A buffer of max(bytes, 1) bytes; give it back with rlo_buffer_release. */
int rlo__device_session_create_buffer(rlo__device_session *session,
                                      size_t bytes,
                                      cl_mem *out_buffer);

/** Write zeros into the first `bytes` of a buffer. */
int rlo__device_session_clear(rlo__device_session *session,
                              cl_mem buffer,
                              size_t bytes);

/** Copy to and from the beginning of a buffer, and wait. */
int rlo__device_session_upload(rlo__device_session *session,
                               cl_mem buffer,
                               const void *data,
                               size_t bytes);
int rlo__device_session_download(rlo__device_session *session,
                                 cl_mem buffer,
                                 void *data,
                                 size_t bytes);

/** Run a plan from the beginning of one buffer to that of another and wait.
 *  @param out_seconds  from enqueueing to completion as the host's clock has
 *                      it. */
int rlo__device_session_run(rlo__device_session *session,
                            rlo_plan *plan,
                            cl_mem src,
                            cl_mem dst,
                            double *out_seconds);

#endif
