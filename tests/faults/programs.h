/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FAULTS_PROGRAMS_H
#define RLO_TESTS_FAULTS_PROGRAMS_H

#include <stdbool.h>

#include "relayout/opencl.h"

/**
 * Programs that use the library from the first call to the last, each another
 * part of it, for tests that fail OpenCL calls below them.
 */
typedef struct fault_program {
  const char *name;
  /**
   * Runs, and releases all that it has made, whatever fails.
   * @param context   open before; NULL for programs that open one.
   * @param out_is_right  of a run without failure: the bytes are as expected.
   */
  rlo_status (*run)(rlo_context *context, bool *out_is_right);
  /** Makes a context of its own: `context` is NULL. */
  bool opens_context;
} fault_program;

extern const fault_program fault_programs[];
extern const int fault_num_programs;

#endif
