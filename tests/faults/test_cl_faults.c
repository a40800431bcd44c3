/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every OpenCL call fails in turn, once or from then on, and every command is
 * accepted and fails later: see fault_run.h.
 */
#include "fault_run.h"
#include "support/suite.h"

RLO_TIMEOUT(600);
RLO_FIXTURE(fault_home_make, fault_home_remove);

static const cl_int codes[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY,
                               CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_DEVICE_NOT_AVAILABLE,
                               CL_INVALID_VALUE};

enum { NUM_CODES = sizeof codes / sizeof codes[0], MANY_CALLS = 48 };

static void try_all(int number, fault_kind kind) {
  fault_try_all(&fault_programs[number], kind, codes, NUM_CODES, MANY_CALLS);
}

RLO_LOOP_TEST(test_cl_faults__a_call_fails_once, 0, FAULT_NUM_PROGRAMS) {
  try_all(_i, FAULT_ONCE);
}

RLO_LOOP_TEST(test_cl_faults__calls_fail_from_then_on, 0, FAULT_NUM_PROGRAMS) {
  try_all(_i, FAULT_FROM_THEN_ON);
}

RLO_LOOP_TEST(test_cl_faults__a_command_fails_later, 0, FAULT_NUM_PROGRAMS) {
  try_all(_i, FAULT_EVENT);
}

RLO_TEST(test_cl_faults__one_case) {
  fault_try_wanted(fault_programs, FAULT_NUM_PROGRAMS);
}
