/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>

#include "plan/family.h"
#include "support/device_table.h"
#include "support/expect.h"
#include "support/random_shape.h"

/* Random layouts: where all cases run, each by the first of the families that
 * takes it, beginning at a drawn one; else each by all families. */
void bytes_random(void) {
  const int32_t cases = TEST_IS_SANITIZED ? 60 : bytes_is_all() ? 550 : 200;

  test_random random = test_random_begin("test_device_bytes");
  int32_t num_ran = 0;
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    int32_t width = (int32_t)test_random_in(&random, 0, 4);
    int32_t rank = (int32_t)test_random_in(&random, 0, 6);
    rlo_dtype dtype = RLO_DTYPE_INVALID;
    expect_ok(rlo_dtype_from_name(test_dtypes[width], &dtype));
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, dtype, rank, 20000, &src, &dst, permutation);
    int64_t element_bytes = (int64_t)1 << width;
    test_case c = {.src = &src,
                   .dst = &dst,
                   .permutation = permutation,
                   .src_shift_bytes = element_bytes * test_random_in(&random, 0, 70),
                   .dst_shift_bytes = element_bytes * test_random_in(&random, 0, 70)};
    if (test_random_once_in(&random, 2)) {
      c.src_shift_bytes = 0;
      c.dst_shift_bytes = 0;
    }
    int32_t first = (int32_t)test_random_in(&random, 0, rlo__num_families - 1);
    bool has_run = false;
    for (int32_t f = 0; f < rlo__num_families; ++f) {
      if (bytes_is_all() && has_run) {
        break;
      }
      const rlo__family *forced = rlo__families[(first + f) % rlo__num_families];
      c.family = forced->name;
      c.device_class = forced->device_class;
      test_outcome outcome = test_device_run(&device, &c, NULL);
      ck_assert_msg(outcome != TEST_FAILED, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first",
                    (int)i, (unsigned long long)case_seed);
      has_run = has_run || outcome == TEST_RAN;
    }
    num_ran += has_run;
  }
  if (bytes_is_all()) {
    printf("%d random cases ran\n", (int)num_ran);
    ck_assert_int_ge(num_ran, cases * 9 / 10); /* few are refused by all */
  }
}
