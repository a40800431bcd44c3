/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "oclgrind/watched.h"
#include "support/device_arena.h"
#include "support/device_table.h"
#include "support/suite.h"

/*
 * Runs cases in the simulator, which sees every access of every work-item: each
 * small pair of the table by every family of both classes that takes it, in one
 * of the five widths (in two with RELAYOUT_TEST_ALL), beside and at the
 * device's alignment. Results are compared here as on any device; the
 * simulator's log is judged by the script. Each variant of a kernel runs in
 * oclgrind_variants.
 *
 * runs_uninitialized has what the simulator can watch for values that nobody
 * wrote, in one width for each pair, for it is slow. Plain runs have all that
 * is left.
 */

static test_device device;
static bool is_for_uninitialized;

static int64_t runs[64];
static int64_t runs_of_width[5];

/*
 * A run belongs to one of the two tests' sets, never to both: the watched ones
 * are judged for bounds and races as well, so that nothing is left to find for
 * a second, unwatched run of the same.
 */
static bool is_mine(const rlo__family *family, bool is_first_width, bool is_beside) {
  /* The plain runs have one of those that are watched in both places. */
  bool is_watched = is_first_width && oclgrind_can_watch(family, !is_beside) &&
                    is_beside != oclgrind_can_watch(family, true);
  return is_watched == is_for_uninitialized;
}

static void run_pair(int32_t pair_number, int32_t width, bool is_first_width) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(&test_pairs[pair_number], test_dtypes[width], &src, &dst, permutation);
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    for (int32_t beside = 0; beside < 2; ++beside) {
      if (!is_mine(rlo__families[f], is_first_width, beside != 0)) {
        continue;
      }
      int64_t shift_bytes = (int64_t)beside << width;
      test_case c = {.src = &src,
                     .dst = &dst,
                     .permutation = permutation,
                     .family = rlo__families[f]->name,
                     .device_class = rlo__families[f]->device_class,
                     .src_shift_bytes = shift_bytes,
                     .dst_shift_bytes = 3 * shift_bytes};
      test_outcome outcome = test_device_run(&device, &c, NULL);
      ck_assert_int_ne(outcome, TEST_FAILED);
      runs[f] += outcome == TEST_RAN;
      runs_of_width[width] += outcome == TEST_RAN;
    }
  }
}

static void run_subset(void) {
  device = test_device_open();
  memset(runs, 0, sizeof runs);
  memset(runs_of_width, 0, sizeof runs_of_width);
  for (int32_t p = 0; p < test_num_pairs; ++p) {
    if (test_pairs[p].is_small) {
      run_pair(p, p % 5, true);
      if (test_case_count(2, 1, 1) > 1) {
        run_pair(p, (p + 1 + p / 5 % 4) % 5, false);
      }
    }
  }
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    printf("%s %s: %lld runs\n",
           rlo__families[f]->device_class == RLO_DEVICE_CLASS_CPU ? "cpu" : "gpu",
           rlo__families[f]->name, (long long)runs[f]);
    bool is_other = (rlo__families[f]->traits & (RLO__FAMILY_COMPUTES | RLO__FAMILY_BITS)) != 0;
    bool is_watched = oclgrind_can_watch(rlo__families[f], false);
    if ((is_watched || !is_for_uninitialized) && !is_other) {
      ck_assert_int_ge(runs[f], 5);
    }
  }
  for (int32_t width = 0; width < 5; ++width) {
    ck_assert_int_ge(runs_of_width[width], 20);
  }
  test_device_close(&device);
}

RLO_TIMEOUT(1200);

RLO_TEST(oclgrind_subset__runs) {
  is_for_uninitialized = false;
  run_subset();
}

RLO_TEST(oclgrind_subset__runs_uninitialized) {
  is_for_uninitialized = true;
  run_subset();
}
