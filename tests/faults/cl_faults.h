/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FAULTS_CL_FAULTS_H
#define RLO_TESTS_FAULTS_CL_FAULTS_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Failing OpenCL calls. A program that is linked with cl_faults.c calls its
 * functions in place of the loader's: they count, fail what they were asked to,
 * and pass everything else on. Calls within the driver are not counted.
 *
 * A command that ends with a negative status is one that is not run, in whose
 * place a marker is enqueued: its event says that it failed, and so do the
 * events of commands that wait for it.
 */
typedef enum cl_fault_kind {
  /** Nothing fails; calls are counted. */
  CL_FAULT_NONE = 0,
  /** One call returns a code. */
  CL_FAULT_ONCE,
  /** That call and all that follow, but those that release. */
  CL_FAULT_FROM_THEN_ON,
  /** A kernel, a fill or a copy is accepted and fails later. Only these are
   *  counted. */
  CL_FAULT_EVENT
} cl_fault_kind;

typedef struct cl_fault {
  cl_fault_kind kind;
  /** The number of the call, from 0. */
  int32_t call;
  cl_int code;
} cl_fault;

/** Counts from 0 again. Objects that live are not forgotten. */
void cl_faults_begin(const cl_fault *fault);

/** Nothing fails any more. @return the number of calls, or of commands for
 *  CL_FAULT_EVENT, since cl_faults_begin. */
int32_t cl_faults_end(void);

/** The function of the call that failed first, or "". */
const char *cl_faults_function(void);

/** While suspended, calls are neither counted nor failed: the test's own.
 *  Counts its pairs. Of the calling thread. */
void cl_faults_suspend(void);
void cl_faults_resume(void);

/** Kernels run at most so many work-items in a group from now on, whatever the
 *  driver says; 0: as many as it says. */
void cl_faults_limit_groups(size_t items);

/** Devices align their memory to so many bits from now on, whatever the driver
 *  says; 0: to as many as it says. */
void cl_faults_align_memory(cl_uint bits);

/** References that are held: created and retained, not yet released. A release
 *  that failed counts. */
int64_t cl_faults_live(void);

#endif
