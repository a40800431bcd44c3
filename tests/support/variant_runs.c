/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variant_runs.h"

#include <check.h>
#include <stdio.h>

enum { MAX_CASES = 600 };

void test_variant_run(const test_device *device, const test_variant_case *c) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(c->pair, test_dtypes[c->width], &src, &dst, permutation);
  int64_t element_bytes = (int64_t)1 << c->width;
  const test_case run = {.src = &src,
                         .dst = &dst,
                         .permutation = permutation,
                         .family = c->family->name,
                         .device_class = c->family->device_class,
                         .schedule = c->schedule->name,
                         .src_shift_bytes = c->is_aligned ? 0 : element_bytes,
                         .dst_shift_bytes = c->is_aligned ? 0 : 3 * element_bytes};
  ck_assert_int_eq(test_device_run(device, &run, NULL), TEST_RAN);
}

void test_variants_run(const test_device *device, const test_cover *cover, int32_t min_variants,
                       int32_t stride) {
  static test_variant_case cases[MAX_CASES];
  static test_variant_set sets[MAX_CASES];
  test_variant_set reached;
  test_variant_set ran = {{0}};
  int32_t count = test_variants_cover(rlo_context_device_info(device->context), cover, cases, sets,
                                      MAX_CASES, &reached);
  test_variant_set optimised = {{0}};
  int32_t num_optimised = 0;
  for (int32_t n = 0; n < count; n += stride) {
    if (cover->optimises_few) {
      test_variant_set set = sets[n];
      test_variant_set_merge(&set, 2);
      bool is_new = test_variant_set_count_new(&set, &optimised) > 0;
      test_variant_set_add(&optimised, &set);
      test_device_optimise(is_new);
      num_optimised += is_new;
    }
    test_variant_run(device, &cases[n]);
    test_variant_set_add(&ran, &sets[n]);
  }
  int32_t num_reached = 0;
  for (int32_t n = 0; n < test_variants_count(); ++n) {
    bool is_reached = test_variant_set_has(&reached, n);
    num_reached += is_reached;
    if (cover->filter == NULL && !is_reached) {
      printf("not for this device: %s\n", test_variant_name(n));
    }
  }
  printf("%d cases for %d variants, %d optimised\n", (int)count, (int)num_reached,
         (int)num_optimised);
  ck_assert_int_ge(num_reached, min_variants);
  if (stride == 1) {
    ck_assert_int_eq(test_variant_set_count_new(&reached, &ran), 0);
  }
}
