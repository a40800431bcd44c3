/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/xla/layout_util.h"
#include "support/device_table.h"
#include "support/expect.h"
#include "support/permutation.h"
#include "support/random.h"
#include "support/shape_of.h"

/*
 * The small cases: every transpose of rank 0 to 4 with dimensions 0 to 3, 6,565
 * of them, in five widths. Of these a seeded sample runs.
 */
enum {
  MAX_SMALL_RANK = 4,
  MAX_SMALL_DIM = 3,
  NUM_SMALL_CASES = 6565,
  /* One in so many of all cases in all widths: more than 2,000. */
  ONE_IN = TEST_IS_SANITIZED ? 100 : 13,
  /* Gathers are compiled one by one. */
  MAX_SPECIALIZED = TEST_IS_SANITIZED ? 5 : 60
};

/** Count up the dimensions; false after the last. */
static bool next_dims(int64_t *dims, int32_t rank) {
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (dims[k] < MAX_SMALL_DIM) {
      ++dims[k];
      return true;
    }
    dims[k] = 0;
  }
  return false;
}

/* The planner's choice comes first, unless it is a gather; then any family that
 * takes the case. */
static const char *const families[] = {NULL, "tile", "skinny", "rows", "copy"};

enum { NUM_FAMILIES = sizeof families / sizeof families[0] };

typedef struct sample {
  test_random random;
  int64_t num_cases, num_ran, num_specialized;
} sample;

static test_outcome run_one(const test_case *c, bool may_specialize) {
  /* Only the planner knows if it would bake. */
  static rlo_problem problem;
  expect_ok(rlo_relayout_lower(c->src, c->dst, c->permutation, &problem));
  rlo_plan *plan = NULL;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->family;
  options.device_class = c->device_class;
  if (rlo_plan_create(device.context, &problem, &options, &plan) != RLO_OK) {
    return TEST_REFUSED;
  }
  rlo_plan_info info = test_plan_info_of(plan);
  bool is_specialized = strcmp(info.family, "gather") == 0;
  rlo_plan_release(plan);
  return is_specialized && !may_specialize ? TEST_REFUSED : test_device_run(&device, c, NULL);
}

static bool goes_on(test_outcome outcome) {
  return outcome == TEST_REFUSED || outcome == TEST_LEFT;
}

/* By the first family whose turn it is. */
static test_outcome run_first(test_case *c) {
  test_outcome outcome = TEST_REFUSED;
  for (int32_t f = 0; goes_on(outcome) && f < NUM_FAMILIES; ++f) {
    c->family = families[f];
    outcome = run_one(c, false);
  }
  return outcome;
}

static void run_case(sample *s, const int64_t *dims, int32_t rank, const int32_t *permutation,
                     int32_t width) {
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  expect_ok(rlo_dtype_from_name(test_dtypes[width], &dtype));
  rlo_shape src = test_shape_make(dtype, dims, rank);
  int64_t dst_dims[RLO_MAX_RANK];
  rlo_permutation_apply(permutation, rank, dims, dst_dims);
  rlo_shape dst = test_shape_make(dtype, dst_dims, rank);
  int64_t element_bytes = (int64_t)1 << width;
  test_case c = {.src = &src,
                 .dst = &dst,
                 .permutation = permutation,
                 .src_shift_bytes = element_bytes * test_random_in(&s->random, 0, 3),
                 .dst_shift_bytes = element_bytes * test_random_in(&s->random, 0, 3)};
  bool is_gathered = test_random_once_in(&s->random, 30);
  bool is_gpu = test_random_once_in(&s->random, 2);
  test_outcome outcome = TEST_REFUSED;
  if (is_gathered && s->num_specialized < MAX_SPECIALIZED) {
    c.family = "gather";
    outcome = run_one(&c, true);
    s->num_specialized += outcome == TEST_RAN;
  }
  if (is_gpu && goes_on(outcome)) {
    c.device_class = RLO_DEVICE_CLASS_GPU;
    outcome = run_first(&c);
  }
  if (goes_on(outcome)) {
    c.device_class = RLO_DEVICE_CLASS_AUTO;
    outcome = run_first(&c);
  }
  ck_assert_int_ne(outcome, TEST_FAILED);
  s->num_ran += outcome == TEST_RAN;
}

void bytes_sample(void) {
  sample s = {.random = test_random_begin("test_device_bytes")};
  for (int32_t rank = 0; rank <= MAX_SMALL_RANK; ++rank) {
    int64_t dims[MAX_SMALL_RANK] = {0};
    do {
      int32_t permutation[MAX_SMALL_RANK];
      test_first_permutation(rank, permutation);
      do {
        ++s.num_cases;
        for (int32_t width = 0; width < 5; ++width) {
          if (test_random_once_in(&s.random, ONE_IN)) {
            run_case(&s, dims, rank, permutation, width);
          }
        }
      } while (test_next_permutation(rank, permutation));
    } while (next_dims(dims, rank));
  }
  ck_assert_int_eq(s.num_cases, NUM_SMALL_CASES);
  if (bytes_is_all()) {
    printf("%lld cases ran, %lld of them gathers\n", (long long)s.num_ran,
           (long long)s.num_specialized);
    ck_assert_int_ge(s.num_ran, TEST_IS_SANITIZED ? 250 : 2000);
  }
}
