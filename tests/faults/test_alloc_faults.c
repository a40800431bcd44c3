/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every allocation of ours fails in turn, once or from then on, in the programs
 * whose OpenCL calls fail and in those of the host: see fault_run.h.
 */
#include "fault_run.h"
#include "support/suite.h"

RLO_TIMEOUT(600);
RLO_FIXTURE(fault_home_make, fault_home_remove);

static const cl_int no_code = 0;

/* A run on a device takes milliseconds, one on the host microseconds. */
enum { MANY_ON_DEVICE = 8, MANY_ON_HOST = 40 };

RLO_LOOP_TEST(test_alloc_faults__one_on_a_device, 0, FAULT_NUM_PROGRAMS) {
  fault_try_all(&fault_programs[_i], FAULT_MEMORY_ONCE, &no_code, 1, MANY_ON_DEVICE);
}

RLO_LOOP_TEST(test_alloc_faults__all_on_a_device, 0, FAULT_NUM_PROGRAMS) {
  fault_try_all(&fault_programs[_i], FAULT_MEMORY_FROM_THEN_ON, &no_code, 1, MANY_ON_DEVICE);
}

RLO_LOOP_TEST(test_alloc_faults__one_on_the_host, 0, FAULT_NUM_HOST_PROGRAMS) {
  fault_try_all(&fault_host_programs[_i], FAULT_MEMORY_ONCE, &no_code, 1, MANY_ON_HOST);
}

RLO_LOOP_TEST(test_alloc_faults__all_on_the_host, 0, FAULT_NUM_HOST_PROGRAMS) {
  fault_try_all(&fault_host_programs[_i], FAULT_MEMORY_FROM_THEN_ON, &no_code, 1, MANY_ON_HOST);
}

RLO_TEST(test_alloc_faults__one_case) {
  fault_try_wanted(fault_host_programs, FAULT_NUM_HOST_PROGRAMS);
}
