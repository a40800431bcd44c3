/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/family.h"
#include "support/device_arena.h"
#include "support/device_table.h"
#include "support/random_shape.h"

static test_device device;

static void open_device(void) {
  device = test_device_open();
}

static void close_device(void) {
  rlo_context_stats stats;
  rlo_context_get_stats(device.context, &stats);
  printf("%lld programs built, %lld kernels, %lld launches\n",
         (long long)stats.programs_built,
         (long long)stats.kernels_created,
         (long long)stats.launches);
  test_device_close(&device);
}

/* Whether a family bakes the problem, or much of it, into its program, which
 * then has to be compiled for nearly each case. */
static bool is_baked(const char *family) {
  return strcmp(family, "gather") == 0 || strcmp(family, "packed") == 0;
}

/* Random layouts, by a family drawn from those that take them. */
START_TEST(test_device_random__random_pairs_are_exact)
{
  const int32_t cases = test_case_count(550, 120, 60);
  const int32_t max_baked = cases / 8;

  test_random random = test_random_begin("test_device_random");
  int32_t num_ran = 0;
  int32_t num_baked = 0;
  for (int32_t i = 0; num_ran < cases && i < 4 * cases; ++i) {
    uint64_t case_seed = random.state;
    int32_t width = (int32_t)test_random_in(&random, 0, 4);
    int32_t rank = (int32_t)test_random_in(&random, 0, 6);
    rlo_dtype dtype = RLO_DTYPE_INVALID;
    ck_assert_int_eq(rlo_dtype_from_name(test_dtypes[width], &dtype), RLO_OK);
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, dtype, rank, 20000, &src, &dst, permutation);
    int64_t element_bytes = (int64_t)1 << width;
    test_case c = {
        .src = &src,
        .dst = &dst,
        .permutation = permutation,
        .src_shift_bytes = element_bytes * test_random_in(&random, 0, 70),
        .dst_shift_bytes = element_bytes * test_random_in(&random, 0, 70)};
    if (test_random_once_in(&random, 2)) {
      c.src_shift_bytes = 0;
      c.dst_shift_bytes = 0;
    }
    /* Only so many of those that are compiled one by one. */
    rlo_plan_info info;
    const rlo__family *forced = NULL;
    int32_t first = (int32_t)test_random_in(&random, 0, rlo__num_families - 1);
    test_outcome outcome = TEST_REFUSED;
    for (int32_t f = 0; outcome == TEST_REFUSED && f < rlo__num_families; ++f) {
      forced = rlo__families[(first + f) % rlo__num_families];
      if (is_baked(forced->name) && num_baked == max_baked) {
        continue;
      }
      c.family = forced->name;
      c.device_class = forced->device_class;
      outcome = test_device_run(&device, &c, &info);
      num_baked += is_baked(forced->name) && outcome == TEST_RAN;
    }
    ck_assert_msg(outcome != TEST_FAILED,
                  "case %d: RELAYOUT_TEST_SEED=%llu makes it the first",
                  (int)i,
                  (unsigned long long)case_seed);
    num_ran += outcome == TEST_RAN;
  }
  printf(
      "%d random cases ran, %d of them baked\n", (int)num_ran, (int)num_baked);
  ck_assert_int_eq(num_ran, cases); /* and most were not refused */
}

END_TEST

int main(void) {
  Suite *suite = suite_create("device_random");
  TCase *tcase = tcase_create("device");
  tcase_set_timeout(tcase, 600);
  tcase_add_unchecked_fixture(tcase, open_device, close_device);
  tcase_add_test(tcase, test_device_random__random_pairs_are_exact);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failures = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
