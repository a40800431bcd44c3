/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>
#include <string.h>

#include "plan/family.h"
#include "support/device_table.h"

/* True if a family bakes the problem into its program, which then has to be
 * compiled for each case. */
static bool is_specialized(const char *family) {
  return strcmp(family, "gather") == 0;
}

/* True if a family compiles more in than most: short extents. */
static bool has_many_programs(const rlo__family *family) {
  return family->device_class == RLO_DEVICE_CLASS_GPU || strcmp(family->name, "packed") == 0;
}

/* Offsets, in elements, of source and destination in turn. */
static const int64_t shifts[][2] = {{0, 0}, {1, 0}, {0, 3}, {5, 1}, {0, 64}};

enum { NUM_SHIFTS = sizeof shifts / sizeof shifts[0] };

/* How often each row of the families' table ran, over all cases. */
static int64_t runs[64];

/* Every family of both classes on one pair in one width. */
static void run_pair(int32_t pair_number, int32_t width) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(&test_pairs[pair_number], test_dtypes[width], &src, &dst, permutation);
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    const rlo__family *family = rlo__families[f];
    bool is_gpu = family->device_class == RLO_DEVICE_CLASS_GPU;
    /* Each pair is gathered in one width, by one class, at one shift. Where all
     * cases run, the families that have more compiled in see it in two widths.
     */
    if (is_specialized(family->name)
            ? pair_number % 5 != width || (pair_number / 5 % 2 == 0) == is_gpu
            : bytes_is_all() && has_many_programs(family) && (pair_number + width) % 5 >= 2) {
      continue;
    }
    for (int32_t s = 0; s < NUM_SHIFTS; ++s) {
      bool has_one_shift =
          is_specialized(family->name) || (!bytes_is_all() && !test_pairs[pair_number].is_small);
      if (has_one_shift && s != (pair_number + width) % NUM_SHIFTS) {
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

void bytes_relayout(void) {
  memset(runs, 0, sizeof runs);
  const int32_t one_in = TEST_IS_SANITIZED ? 7 : 1;
  for (int32_t width = 0; width < 5; ++width) {
    for (int32_t p = width % one_in; p < test_num_pairs; p += one_in) {
      run_pair(p, width);
    }
  }
  for (int32_t f = 0; bytes_is_all() && f < rlo__num_families; ++f) {
    printf("%s %s: %lld cases\n",
           rlo__families[f]->device_class == RLO_DEVICE_CLASS_CPU ? "cpu" : "gpu",
           rlo__families[f]->name, (long long)runs[f]);
    /* Nothing here computes, or has units of less than a byte. */
    if ((rlo__families[f]->traits & (RLO__FAMILY_COMPUTES | RLO__FAMILY_BITS)) == 0) {
      ck_assert_int_ge(runs[f], TEST_IS_SANITIZED ? 1 : 30);
    }
  }
}
