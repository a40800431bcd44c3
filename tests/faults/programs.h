/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FAULTS_PROGRAMS_H
#define RLO_TESTS_FAULTS_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/opencl.h"

typedef enum fault_place {
  /** The test opens a context before, and closes it at the end. */
  FAULT_IN_SHARED_CONTEXT,
  /** The program opens one. */
  FAULT_IN_OWN_CONTEXT,
  FAULT_ON_HOST
} fault_place;

/**
 * Programs that use the library from the first call to the last, each another
 * part of it, for tests that fail OpenCL calls and allocations below them.
 */
typedef struct fault_program {
  const char *name;
  /**
   * Runs, and releases all that it has made, whatever fails.
   * @param context   the shared one; else NULL.
   * @param out_is_right  of a run without failure: the bytes are as expected.
   */
  rlo_status (*run)(rlo_context *context, bool *out_is_right);
  fault_place where;
  /** The least that each run does: all of its kernels, fills and copies, and
   *  about three quarters of the other calls with PoCL. The driver's threads
   *  decide whether an event has yet to be asked for, and only one round of a
   *  measurement is sure. A fault of a call that is not sure may not come to
   *  pass. */
  int32_t least_allocations, least_calls, least_commands;
} fault_program;

enum { FAULT_NUM_PROGRAMS = 11, FAULT_NUM_HOST_PROGRAMS = 10 };

extern const fault_program fault_programs[FAULT_NUM_PROGRAMS];
extern const fault_program fault_host_programs[FAULT_NUM_HOST_PROGRAMS];

/* Programs that run on the host if the context is NULL. */
rlo_status fault_run_chain(rlo_context *context, bool *out_is_right);
rlo_status fault_run_fused(rlo_context *context, bool *out_is_right);
rlo_status fault_run_gather(rlo_context *context, bool *out_is_right);
rlo_status fault_run_gradient(rlo_context *context, bool *out_is_right);
rlo_status fault_run_service(rlo_context *context, bool *out_is_right);

#endif
