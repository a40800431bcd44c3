/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "plan/family.h"
#include "relayout/ops.h"
#include "support/device_suite.h"
#include "support/device_table.h"
#include "support/expect.h"
#include "support/random_indexed.h"
#include "support/shape_of.h"

/* Gathers on a device, held against the host byte by byte. */

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(600);

static rlo_problem_list *lower_gather(const test_indexed *x) {
  rlo_problem_list *problems;
  rlo_chain *chain = test_chain_of(&x->array);
  ck_assert_msg(rlo_chain_gather(chain, &x->indices, x->dim, x->batch_dims) == RLO_OK &&
                    rlo_chain_lower(chain, &x->rows, &problems) == RLO_OK,
                "%s: %s", x->words, rlo_error_last()->message);
  rlo_chain_release(chain);
  return problems;
}

typedef struct counts {
  int64_t ran[64];
  int64_t problems, loading;
} counts;

/* Each problem of a gather by one of the families that take it. */
static bool run_gather(test_random *random, const test_indexed *x, int64_t element_bytes,
                       counts *c) {
  rlo_problem_list *problems = lower_gather(x);
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    const rlo_problem *problem = rlo_problem_list_get(problems, n);
    c->problems += 1;
    c->loading += rlo_problem_loads(problem);
    test_case tried = {
        .indices = x->index_memory,
        .index_shift_bytes = test_random_in(random, 0, 3) * (problem->index_bits / 8),
        .src_shift_bytes = element_bytes * test_random_in(random, 0, 5),
        .dst_shift_bytes = element_bytes * test_random_in(random, 0, 5)};
    if (test_random_once_in(random, 2)) {
      tried.src_shift_bytes = 0;
      tried.dst_shift_bytes = 0;
    }
    int32_t first = (int32_t)test_random_in(random, 0, rlo__num_families - 1);
    test_outcome outcome = TEST_REFUSED;
    for (int32_t f = 0; outcome == TEST_REFUSED && f < rlo__num_families; ++f) {
      int32_t number = (first + rlo__num_families - f) % rlo__num_families;
      tried.family = rlo__families[number]->name;
      tried.device_class = rlo__families[number]->device_class;
      outcome = test_device_run_problem(&device, problem, &tried, x->words, NULL);
      c->ran[number] += outcome == TEST_RAN;
    }
    if (outcome != TEST_RAN) {
      return false;
    }
  }
  rlo_problem_list_release(problems);
  return true;
}

RLO_TEST(test_device_indexed__random_gathers_are_exact) {
  const int32_t cases = test_is_short() ? 20 : test_case_count(120, 70, 20);
  /* Nearly each case is a program. */
  test_device_optimise(false);
  test_random random = test_random_begin("test_device_indexed");
  counts c = {{0}, 0, 0};
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    int32_t width = (int32_t)test_random_in(&random, 0, 4);
    rlo_dtype dtype = RLO_DTYPE_INVALID;
    expect_ok(rlo_dtype_from_name(test_dtypes[width], &dtype));
    test_indexed x;
    test_random_indexed(&random, dtype, test_is_short() ? 200 : 4000, false, &x);
    ck_assert_msg(run_gather(&random, &x, (int64_t)1 << width, &c),
                  "case %d: RELAYOUT_TEST_SEED=%llu makes it the first", (int)i,
                  (unsigned long long)case_seed);
    free(x.index_memory);
  }
  printf("%d gathers, %lld problems, %lld load\n", (int)cases, (long long)c.problems,
         (long long)c.loading);
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    uint32_t traits = rlo__families[f]->traits;
    if ((traits & (RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES | RLO__FAMILY_BITS)) ==
        RLO__FAMILY_LOADS) {
      printf("%s: %lld\n", rlo__families[f]->name, (long long)c.ran[f]);
      ck_assert_int_ge(c.ran[f], cases / 20);
    }
  }
  ck_assert_int_gt(c.loading, cases / 2);
}
