/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_suite.h"

#include <stdio.h>
#include <stdlib.h>

test_device device;

void open_device(void) {
  device = test_device_open();
}

void expect_programs_within(int64_t max) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  ck_assert_int_eq(rlo_context_get_stats(device.context, &stats), RLO_OK);
  if (getenv("RELAYOUT_TEST_ALL") == NULL) {
    ck_assert_int_le(stats.programs_built, max);
  }
}

void close_device(void) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  ck_assert_int_eq(rlo_context_get_stats(device.context, &stats), RLO_OK);
  printf("%lld programs built, %lld kernels, %lld launches\n",
         (long long)stats.programs_built,
         (long long)stats.kernels_created,
         (long long)stats.launches);
  test_device_close(&device);
}
