/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"

test_device device;
cl_command_queue unordered;

void open_device(void) {
  device = test_device_open();
}

void open_device_unordered(void) {
  open_device();
  unordered =
      test_device_make_queue(&device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

bool arena_is_right(test_arena *a, bool is_scratch) {
  char details[256];
  test_device_read(device.queue, a->buffer, 0, a->bytes, a->after);
  if (is_scratch) {
    memcpy(
        a->expected + a->begin, a->after + a->begin, (size_t)a->tensor_bytes);
  }
  if (test_arena_is_as_expected(a, details, sizeof details)) {
    return true;
  }
  printf("%s\n", details);
  return false;
}

void expect_programs_within(int64_t max) {
  rlo_context_stats stats = test_context_stats(device.context);
  if (getenv("RELAYOUT_TEST_ALL") == NULL) {
    ck_assert_int_le(stats.programs_built, max);
  }
}

void close_device(void) {
  rlo_context_stats stats = test_context_stats(device.context);
  printf("%lld programs built, %lld kernels, %lld launches\n",
         (long long)stats.programs_built,
         (long long)stats.kernels_created,
         (long long)stats.launches);
  if (unordered != NULL) {
    clReleaseCommandQueue(unordered);
    unordered = NULL;
  }
  test_device_close(&device);
}
