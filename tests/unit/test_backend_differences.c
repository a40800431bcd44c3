/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table "What differs" in docs/engine.md that are about
 * built-in kernels. What a device refuses the planner refuses, so that none is
 * needed; test_device_compute runs what it takes. */
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"
#include "support/suite.h"

static test_plan plan;

static void begin(void) {
  memset(&plan, 0, sizeof plan);
  plan.device = test_plan_cpu();
}

RLO_FIXTURE(begin, NULL);

/* Numbers that are computed; `why` is NULL for what a device computes too. */
static const struct {
  const char *src;
  const char *dst;
  double alpha;
  const char *why;
} numbers[] = {
    {"c64[9]{0}", "f32[9]{0}", 2.0, NULL},
    {"c128[9]{0}", "s32[9]{0}", 1.0, NULL},
    {"f32[9]{0}", "c64[9]{0:T(4)fill(zero)}", 1.0, NULL},
    {"c64[9]{0}", "pred[9]{0}", 1.0,
     "c64 to pred, which asks for both parts at once: devices compute complex "
     "numbers part by part; the host reference runs it"},
    {"f32[9]{0}", "c64[9]{0}", 2.0,
     "f32 to c64, scaled, added or summed: devices compute complex numbers "
     "part "
     "by part; the host reference runs it"},
    {"f32[9]{0}", "c64[9]{0:T(4)fill(one)}", 1.0,
     "f32 to c64, with a fill other than 0: devices compute complex numbers "
     "part by part; the host reference runs it"},
    {"c64[9]{0}", "c128[9]{0:T(4)fill(one)}", 1.0,
     "a fill of two different parts; devices compute complex numbers part by "
     "part; the host reference runs it"},
    {"f32[9]{0:E(64)}", "c64[9]{0}", 1.0, NULL},
    {"c64[9]{0}", "f32[9]{0:E(64)}", 1.0, NULL},
    {"c64[9]{0:E(128)}", "c128[9]{0}", 1.0,
     "c64 in elements of 128 bits to c128 in 128; devices compute complex "
     "numbers of their own size; the host reference runs it"},
    {"s4[9]{0:E(4)}", "s32[9]{0}", 1.0,
     "the problem computes with units of 4 bits; devices compute with 8, 16, "
     "32, 64 and 128; the host reference runs it"},
    {"s4[9]{0:E(4)}", "s4[9]{0}", 1.0,
     "the problem computes with units of 4 bits; devices compute with 8, 16, "
     "32, 64 and 128; the host reference runs it"},
    {"s32[9]{0:E(64)}", "s32[9]{0}", 1.0, NULL},
    {"f32[9]{0:E(64)}", "f32[9]{0}", 1.0,
     "f32 in elements of 64 bits cannot move to elements of 32: devices would "
     "not keep the bits of a NaN; the host reference runs it"},
};

RLO_TABLE_TEST(test_backend_differences__numbers, numbers) {
  const rlo_shape src = test_shape_of(numbers[_i].src);
  const rlo_shape dst = test_shape_of(numbers[_i].dst);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = numbers[_i].alpha;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &plan.problem));
  static uint8_t from[256];
  static uint8_t to[256];
  expect_ok(rlo_problem_run_host(&plan.problem, from, to));
  rlo_status status = test_plan_try(&plan, NULL, 0, 0);
  if (numbers[_i].why == NULL) {
    expect_ok(status);
  } else {
    expect_refusal(status, RLO_UNSUPPORTED, numbers[_i].why);
  }
}

/* On both backends. */
RLO_TEST(test_backend_differences__1024_parts_at_most) {
  enum { MOST = RLO_CHAIN_MAX_PARTS };

  const rlo_shape shape = test_shape_of("s32[1]");
  const rlo_chain *others[MOST];
  rlo_chain *one = NULL;
  rlo_chain *chain = NULL;
  expect_ok(rlo_chain_create(&shape, &one));
  expect_ok(rlo_chain_clone(one, &chain));
  for (int n = 0; n < MOST; ++n) {
    others[n] = one;
  }
  expect_refusal(rlo_chain_concatenate(chain, others, MOST, 0), RLO_UNSUPPORTED,
                 "the chain would have 1025 parts; the limit is 1024");
  expect_ok(rlo_chain_concatenate(chain, others, MOST - 1, 0));
  ck_assert_int_eq(rlo_chain_shape(chain)->dims[0], 1024);
  rlo_chain_release(chain);
  rlo_chain_release(one);
}

/* 2048 + 1 is a tie, which goes to the even 2048; 2050 is what one rounding of
 * the sum of all three would give. */
RLO_TEST(test_backend_differences__add_n_rounds_each_time) {
  const rlo_shape shape = test_shape_of("f16[1]");
  const rlo_shape *const srcs[] = {&shape, &shape, &shape};
  const uint16_t large = 0x6800;
  const uint16_t one = 0x3c00;
  const void *operands[] = {&large, &one, &one};
  uint16_t sum = 0;
  rlo_problem_list *problems = NULL;
  expect_ok(rlo_add_n_lower(srcs, 3, &shape, &problems));
  expect_ok(rlo_problem_list_run_host(problems, operands, &sum));
  ck_assert_uint_eq(sum, large);
  /* A device runs the same problems, one after the other. */
  ck_assert_int_eq(rlo_problem_list_count(problems), 3);
  for (int32_t n = 0; n < 3; ++n) {
    plan.problem = *rlo_problem_list_get(problems, n);
    test_plan_run(&plan);
  }
  rlo_problem_list_release(problems);
}
