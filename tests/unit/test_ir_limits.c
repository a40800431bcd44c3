/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ir/index_rule.h"
#include "ir/lower.h"
#include "ir/rewrite.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Problems at the limits of their lists and of 64 bits. What has elements is
 * far from the second, but a problem may be made by hand. */

static rlo_problem problem;

/* An axis along which both sides advance by 1 unit. */
static void setup(void) {
  memset(&problem, 0, sizeof problem);
  problem.unit_bits = 8;
  problem.num_axes = 1;
  problem.extents[0] = 10;
  problem.src.axis[0] = 1;
  problem.dst.axis[0] = 1;
  problem.src_bytes = problem.dst_bytes = 10;
}

RLO_FIXTURE(setup, NULL);

static void add_guard(int64_t base, int64_t limit) {
  rlo_guard *guard = &problem.guards[problem.num_guards++];
  memset(guard, 0, sizeof *guard);
  guard->kind = RLO_GUARD_SKIP;
  guard->form.base = base;
  guard->form.axis[0] = 1;
  guard->limit = limit;
}

static void add_quotient(int64_t base, int64_t divisor) {
  rlo_term *term = &problem.terms[problem.num_terms++];
  memset(term, 0, sizeof *term);
  term->kind = RLO_TERM_QUOTIENT;
  term->form.base = base;
  term->form.axis[0] = 1;
  term->divisor = divisor;
}

static void expect_not_canonical(rlo_status status, const char *message) {
  rlo_problem before = problem;
  expect_refusal(rlo_problem_canonicalize(&problem, 0, NULL, NULL), status, message);
  ck_assert_mem_eq(&problem, &before, sizeof problem);
}

/* ---------------------------------------------------------------- rewrites */

RLO_TEST(test_ir_limits__a_split_needs_an_axis_and_a_guard) {
  problem.num_axes = RLO_MAX_AXES;
  expect_refusal(rlo__rewrite_split(&problem, 0, 2), RLO_UNSUPPORTED,
                 "splitting at the tiles needs more than 48 axes");
  setup();
  problem.num_guards = RLO_MAX_GUARDS;
  expect_refusal(rlo__rewrite_split(&problem, 0, 3), RLO_UNSUPPORTED,
                 "splitting at the tiles needs more than 48 guards");
  setup();
  problem.num_guards = RLO_MAX_GUARDS;
  expect_ok(rlo__rewrite_split(&problem, 0, 5));
  ck_assert_int_eq(problem.extents[0], 2);
  ck_assert_int_eq(problem.extents[1], 5);
}

RLO_TEST(test_ir_limits__a_split_keeps_strides_within_64_bits) {
  problem.src.axis[0] = INT64_MAX / 2;
  expect_refusal(rlo__rewrite_split(&problem, 0, 5), RLO_OVERFLOW,
                 "an axis of stride 4611686018427387903 split at 5 exceeds 64 "
                 "bits");
}

RLO_TEST(test_ir_limits__parts_of_units_need_an_axis) {
  problem.unit_bits = 16;
  problem.num_axes = RLO_MAX_AXES;
  expect_refusal(rlo__narrow(&problem, 8), RLO_UNSUPPORTED,
                 "parts of units need more than 48 axes");
  static int64_t *const coefficients[] = {&problem.src.base, &problem.src.axis[0],
                                          &problem.dst.base};
  for (size_t n = 0; n < sizeof coefficients / sizeof coefficients[0]; ++n) {
    setup();
    problem.unit_bits = 16;
    *coefficients[n] = INT64_MAX;
    expect_refusal(rlo__narrow(&problem, 8), RLO_OVERFLOW,
                   "a position, counted in parts of 8 bits, exceeds 64 bits");
  }
}

/* ---------------------------------------------------------- canonical form */

RLO_TEST(test_ir_limits__reversed_axes_stay_within_64_bits) {
  problem.dst.base = 9;
  problem.dst.axis[0] = -1;
  problem.src.base = INT64_MAX - 8;
  expect_not_canonical(RLO_OVERFLOW, "a reversed axis exceeds 64 bits");
  problem.src.base = 0;
  problem.src.axis[0] = INT64_MIN;
  problem.extents[0] = 2;
  expect_not_canonical(RLO_OVERFLOW, "a reversed axis exceeds 64 bits");
}

RLO_TEST(test_ir_limits__guards_stay_within_64_bits) {
  static const char message[] = "a guard of the problem exceeds 64 bits";
  add_guard(0, 5);
  problem.guards[0].form.axis[0] = INT64_MAX;
  expect_not_canonical(RLO_OVERFLOW, message);
  problem.guards[0].form.axis[0] = 1;
  /* A guard that cuts the beginning of an axis moves the base of the form. */
  problem.guards[0].form.base = -5;
  problem.guards[0].limit = 10;
  problem.src.base = INT64_MAX - 4;
  expect_not_canonical(RLO_OVERFLOW, message);
  problem.src.base = INT64_MAX - 9;
  expect_ok(rlo_problem_canonicalize(&problem, 8, NULL, NULL));
  ck_assert_int_eq(problem.extents[0], 5);
  ck_assert_int_eq(problem.src.base, INT64_MAX - 4);
  /* A guard that bounds below only is negated. */
  setup();
  problem.num_axes = 2;
  problem.extents[0] = problem.extents[1] = 2;
  problem.dst.axis[1] = 2;
  add_guard(0, 2);
  problem.guards[0].form.axis[1] = INT64_MIN;
  expect_not_canonical(RLO_OVERFLOW, message);
}

RLO_TEST(test_ir_limits__terms_of_guards_stay_within_64_bits) {
  add_quotient(INT64_MAX, 2);
  add_guard(0, 5);
  problem.src.term[0] = 1;
  problem.guards[0].form.term[0] = 1;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_OVERFLOW);
}

RLO_TEST(test_ir_limits__aligned_axes_stay_within_64_bits) {
  add_quotient(1, 2);
  problem.src.term[0] = 1;
  problem.src.axis[0] = 0;
  problem.extents[0] = INT64_MAX;
  expect_not_canonical(RLO_OVERFLOW, "an aligned axis exceeds 64 bits");
}

/* Where there is no room to split, a quotient stays. */
RLO_TEST(test_ir_limits__quotients_stay_that_cannot_be_split) {
  problem.num_axes = RLO_MAX_AXES;
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    problem.extents[a] = a == 0 ? 5 : 2;
    problem.src.axis[a] = a + 2;
    problem.dst.axis[a] = INT64_C(1) << (RLO_MAX_AXES - 1 - a);
  }
  add_quotient(0, 2);
  problem.src.term[0] = 100;
  expect_ok(rlo_problem_canonicalize(&problem, 8, NULL, NULL));
  ck_assert_int_eq(problem.num_axes, RLO_MAX_AXES);
  ck_assert_int_eq(problem.num_terms, 1);
  setup();
  for (int32_t g = 0; g < RLO_MAX_GUARDS; ++g) {
    add_guard(0, 9);
    problem.guards[g].kind = RLO_GUARD_PAD;
    problem.guards[g].form.axis[0] = g + 1;
  }
  add_quotient(1, 2);
  problem.src.term[0] = 100;
  expect_ok(rlo_problem_canonicalize(&problem, 8, NULL, NULL));
}

/* ---------------------------------------------------------------- lowering */

RLO_TEST(test_ir_limits__a_destination_has_so_many_axes_at_most) {
  int64_t threes[25];
  int64_t twos[25];
  rlo_layout layout = rlo_layout_row_major(25);
  rlo_shape dst;
  for (int k = 0; k < 25; ++k) {
    threes[k] = 3;
    twos[k] = 2;
  }
  rlo_shape src = test_shape_make(RLO_DTYPE_U8, threes, 25);
  expect_ok(rlo_layout_add_tile(&layout, twos, 25));
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_U8, threes, 25, &layout, &dst));
  expect_refusal(rlo_relayout_lower(&src, &dst, NULL, &problem), RLO_UNSUPPORTED,
                 "the destination has more than 48 physical dimensions of "
                 "extent above 1");
  /* A source has a quotient for each dimension. */
  expect_refusal(rlo_relayout_lower(&dst, &src, NULL, &problem), RLO_UNSUPPORTED,
                 "the tiles of source and destination need more than 16 quotients");
}

RLO_TEST(test_ir_limits__a_problem_has_so_many_loads_at_most) {
  rlo_form form = {0};
  rlo_form loaded;
  for (int32_t n = 0; n < RLO_MAX_TERMS; ++n) {
    expect_ok(rlo__lower_load_at(&problem, &form, 10, &loaded));
  }
  expect_refusal(rlo__lower_load_at(&problem, &form, 10, &loaded), RLO_UNSUPPORTED,
                 "the loads and the tiles need more than 16 terms");
}

/* ------------------------------------------------------------ index rules */

static rlo__guard_list guards;
static rlo_form indices[RLO_MAX_RANK + 1];

static rlo_status step_back(const rlo__index_rule *rule) {
  static rlo__index_step step;
  memset(&step, 0, sizeof step);
  step.rank = step.result_rank = 1;
  step.dims[0] = step.result_dims[0] = 10;
  step.rules[0] = *rule;
  memset(&guards, 0, sizeof guards);
  memset(indices, 0, sizeof indices);
  indices[0].axis[0] = 1;
  return rlo__index_step_back(&step, &problem, indices, &guards);
}

RLO_TEST(test_ir_limits__indices_of_a_chain_stay_within_64_bits) {
  static const char message[] = "an index of the chain exceeds 64 bits";
  rlo__index_rule rule = rlo__index_rule_keep(0);
  rule.is_bounded = true;
  rule.count = 10;
  rule.first = INT64_MIN;
  expect_refusal(step_back(&rule), RLO_OVERFLOW, message);
  rule.first = INT64_MIN + 5;
  rule.base = 1;
  expect_refusal(step_back(&rule), RLO_OVERFLOW, message);
  rule.first = 0;
  rule.coef = INT64_MAX;
  expect_refusal(step_back(&rule), RLO_OVERFLOW, message);
}

RLO_TEST(test_ir_limits__a_chain_has_so_many_axes_and_guards_at_most) {
  rlo__index_rule rule = rlo__index_rule_keep(0);
  rule.part = RLO__INDEX_SUMMED;
  rule.count = 3;
  problem.num_axes = RLO_MAX_AXES;
  expect_refusal(step_back(&rule), RLO_UNSUPPORTED,
                 "the chain needs more than 48 axes, those of its sums among "
                 "them");
  setup();
  rlo_form form = {.axis = {1}};
  memset(&guards, 0, sizeof guards);
  for (int32_t g = 0; g < RLO_MAX_GUARDS; ++g) {
    expect_ok(rlo__guard_list_add(&guards, &problem, &form, 5));
  }
  expect_refusal(rlo__guard_list_add(&guards, &problem, &form, 5), RLO_UNSUPPORTED,
                 "the chain needs more than 48 guards");
  /* A guard that always holds, and one that never does, need no place. */
  expect_ok(rlo__guard_list_add(&guards, &problem, &form, 10));
  ck_assert(!guards.never_holds);
  expect_ok(rlo__guard_list_add(&guards, &problem, &form, 0));
  ck_assert(guards.never_holds);
}
