/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FAULTS_FAULT_RUN_H
#define RLO_TESTS_FAULTS_FAULT_RUN_H

#include "cl_faults.h"
#include "programs.h"

/**
 * Runs a program with one fault below it: an OpenCL call, or an allocation of
 * ours. The program either says so, with a sentence, or its result is right; it
 * leaves no OpenCL reference, no allocation and no byte of a context's budget,
 * and runs without a fault afterwards.
 *
 * RELAYOUT_TEST_ALL=1 tries every call with every code,
 * RELAYOUT_TEST_FAULT="NAME KIND CALL CODE" one case. Without, a program of
 * many calls, which repeats them, is tried with some of them.
 */
typedef enum fault_kind {
  FAULT_NONE = CL_FAULT_NONE,
  FAULT_ONCE = CL_FAULT_ONCE,
  FAULT_FROM_THEN_ON = CL_FAULT_FROM_THEN_ON,
  FAULT_EVENT = CL_FAULT_EVENT,
  /** rlo__alloc_set_fault. */
  FAULT_MEMORY_ONCE,
  FAULT_MEMORY_FROM_THEN_ON
} fault_kind;

typedef struct fault_case {
  fault_kind kind;
  /** The number of the call or allocation, from 0; -1: none fails. */
  int32_t call;
  /** The code of an OpenCL call. */
  cl_int code;
} fault_case;

/** A fixture: a cache directory of the test's own. */
void fault_home_make(void);
void fault_home_remove(void);

/** Opens the context of a program that shares one. */
void fault_context_open(const fault_program *program);

/** Fails the test unless nothing is left. */
void fault_context_close(void);

/** Runs with a fault, and prints what is not as it should be. @return whether
 *  all is. */
bool fault_try(const fault_program *program, const fault_case *fault, int32_t *out_calls);

/** Fails a program's calls in turn, by default about `most_calls` of them with
 *  the first code. */
void fault_try_all(const fault_program *program, fault_kind kind, const cl_int *codes,
                   int32_t num_codes, int32_t most_calls);

/** The case of RELAYOUT_TEST_FAULT, if there is one. */
void fault_try_wanted(const fault_program *programs, int32_t num_programs);

#endif
