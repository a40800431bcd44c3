/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "plan/family.h"
#include "support/device_suite.h"
#include "support/device_table.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(600);

/* Whether a family bakes the problem into its program, which then has to be
 * compiled for each case. */
static bool is_specialized(const char *family) {
  return strcmp(family, "gather") == 0;
}

/* Whether a family compiles more in than most: short extents. */
static bool has_many_programs(const rlo__family *family) {
  return family->device_class == RLO_DEVICE_CLASS_GPU ||
         strcmp(family->name, "packed") == 0;
}

/* Offsets, in elements, of source and destination in turn. */
static const int64_t shifts[][2] = {{0, 0}, {1, 0}, {0, 3}, {5, 1}, {0, 64}};

enum { NUM_SHIFTS = sizeof shifts / sizeof shifts[0] };

/* How often each row of the families' table ran, over all cases. */
static int64_t runs[64];

/** Every family of both classes on one pair in one width. */
static void run_pair(int32_t pair_number, int32_t width) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(
      &test_pairs[pair_number], test_dtypes[width], &src, &dst, permutation);
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    const rlo__family *family = rlo__families[f];
    bool is_gpu = family->device_class == RLO_DEVICE_CLASS_GPU;
    /* Compiling is what takes the time: each pair is gathered in one width, by
     * one class, at one shift, and the families that have more compiled in see
     * it in two widths. */
    if (is_specialized(family->name)
            ? pair_number % 5 != width || (pair_number / 5 % 2 == 0) == is_gpu
            : has_many_programs(family) && (pair_number + width) % 5 >= 2) {
      continue;
    }
    for (int32_t s = 0; s < NUM_SHIFTS; ++s) {
      if (is_specialized(family->name) && s != pair_number % NUM_SHIFTS) {
        continue;
      }
      int64_t element_bytes = (int64_t)1 << width;
      test_case c = {.src = &src,
                     .dst = &dst,
                     .permutation = permutation,
                     .family = family->name,
                     .device_class = family->device_class,
                     .src_shift_bytes = shifts[s][0] * element_bytes,
                     .dst_shift_bytes = shifts[s][1] * element_bytes};
      test_outcome outcome = test_device_run(&device, &c, NULL);
      ck_assert_int_ne(outcome, TEST_FAILED);
      runs[f] += outcome == TEST_RAN;
    }
  }
}

RLO_LOOP_TEST(test_device_relayout__every_family_moves_every_pair, 0, 5) {
  const int32_t one_in = test_case_count(1, 3, 7);
  for (int32_t p = _i % one_in; p < test_num_pairs; p += one_in) {
    run_pair(p, _i);
  }
}

/* Empty problems run under any name, but there are few of them. */
RLO_TEST(test_device_relayout__every_family_has_run) {
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    printf(
        "%s %s: %lld cases\n",
        rlo__families[f]->device_class == RLO_DEVICE_CLASS_CPU ? "cpu" : "gpu",
        rlo__families[f]->name,
        (long long)runs[f]);
    if ((rlo__families[f]->traits & RLO__FAMILY_COMPUTES) != 0) {
      continue; /* nothing here computes: test_device_compute */
    }
    ck_assert_int_ge(runs[f], test_case_count(30, 10, 1));
  }
}
