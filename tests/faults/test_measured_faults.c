/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A measurement has no result if one of its commands fails.
 */
#include <string.h>

#include "cl_faults.h"
#include "support/device_suite.h"
#include "support/expect.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(300);

enum { ROUNDS = 3 };

/* Measures with one fault. @return whether there was such a call. */
static bool try_fault(const cl_fault *fault, int *num_commands) {
  double rate = -1.0;
  /* A copy that is planned anew makes the same calls each time. */
  rlo_context_clear_wisdom(device.context);
  cl_faults_begin(fault);
  rlo_status status = rlo_copy_limit(device.context, 4096, ROUNDS, &rate);
  if (cl_faults_end() <= fault->call) {
    expect_ok(status);
    return false;
  }
  /* A fill that fails leaves other numbers to copy. */
  if (strcmp(cl_faults_function(), "clEnqueueNDRangeKernel") == 0) {
    ck_assert_msg(status != RLO_OK, "%s, call %d", cl_faults_function(), (int)fault->call);
    ck_assert(rate < 0.0);
    ++*num_commands;
  }
  return true;
}

RLO_TEST(test_measured_faults__every_copy_counts) {
  static const cl_fault_kind kinds[] = {CL_FAULT_ONCE, CL_FAULT_EVENT};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    int num_commands = 0;
    cl_fault fault = {kinds[k], 0, CL_OUT_OF_RESOURCES};
    while (try_fault(&fault, &num_commands)) {
      ++fault.call;
    }
    /* One to warm up. */
    ck_assert_int_ge(num_commands, ROUNDS + 1);
  }
}
