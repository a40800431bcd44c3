/* SPDX-License-Identifier: Apache-2.0 */

/* A problem as a value: what makes two of them different, its text, and what is
 * no problem. */

#include <string.h>

#include "ir/validate.h"
#include "relayout/problem.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_problem other;

/* One of each part: a quotient and a load, guards of both kinds, arithmetic. */
static void make_rich(void) {
  const int64_t extents[] = {3, 4};
  const int64_t src[] = {-5, 1};
  const int64_t dst[] = {4, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
  problem.num_terms = 2;
  problem.terms[0].kind = RLO_TERM_QUOTIENT;
  problem.terms[0].form.axis[0] = 2;
  problem.terms[0].form.base = -7;
  problem.terms[0].divisor = 3;
  problem.terms[1].kind = RLO_TERM_LOAD;
  problem.terms[1].form.axis[1] = 1;
  problem.terms[1].limit = 9;
  problem.index_bits = 32;
  problem.index_bytes = 16;
  problem.src.base = 10;
  problem.src.term[0] = -1;
  problem.src.term[1] = -8;
  problem.num_guards = 2;
  problem.guards[0].kind = RLO_GUARD_PAD;
  problem.guards[0].form.axis[0] = -1;
  problem.guards[0].form.base = 2;
  problem.guards[0].limit = 5;
  problem.guards[1].kind = RLO_GUARD_SKIP;
  problem.guards[1].form.term[1] = 1;
  problem.guards[1].limit = 9;
  problem.fill[3] = 0x3f;
  problem.update = RLO_UPDATE_COMBINE;
  problem.arithmetic =
      (rlo_arithmetic){.src_type = RLO_DTYPE_F32,
                       .dst_type = RLO_DTYPE_F32,
                       .dst_unit_bits = 32,
                       .num_steps = 2,
                       .steps = {{RLO_ELEMENT_SCALE, {2.0}}, {RLO_ELEMENT_ACCUMULATE, {-0.5}}}};
}

/* Copies of the rich problem, each with one part that counts changed. */
static rlo_problem changed[30];

static void make_changed(void) {
  for (size_t n = 0; n < sizeof changed / sizeof changed[0]; ++n) {
    changed[n] = problem;
  }
  rlo_problem *p = changed;
  p++->unit_bits = 64;
  p++->num_axes = 1;
  p++->num_terms = 1;
  p++->num_guards = 1;
  p++->update = RLO_UPDATE_STORE;
  p++->extents[1] = 5;
  p++->src.base = 11;
  p++->dst.axis[0] = 5;
  p++->src.term[1] = -9;
  p++->terms[0].divisor = 4;
  p++->terms[1].limit = 8;
  p++->terms[0].form.axis[0] = 1;
  p++->terms[0].kind = RLO_TERM_LOAD;
  p++->index_bits = 64;
  p++->index_bytes = 17;
  p++->guards[1].kind = RLO_GUARD_PAD;
  p++->guards[1].limit = 8;
  p++->guards[0].form.base = 1;
  p++->guards[1].form.term[0] = 1;
  p++->fill[0] = 1;
  p++->arithmetic.src_type = RLO_DTYPE_S32;
  p++->arithmetic.dst_type = RLO_DTYPE_S32;
  p++->arithmetic.compute_type = RLO_DTYPE_F64;
  p++->arithmetic.dst_unit_bits = 64;
  p++->arithmetic.steps[0].numbers[0] = -2.0;
  p++->arithmetic.steps[1].numbers[0] = 0.5;
  p++->arithmetic.steps[1].numbers[1] = 0.5;
  p++->arithmetic.num_steps = 1;
  p++->arithmetic.steps[0].op = RLO_ELEMENT_ACCUMULATE;
  p++->arithmetic.is_sequential = true;
  ck_assert_ptr_eq(p, changed + sizeof changed / sizeof changed[0]);
}

RLO_TABLE_TEST(test_problem__is_different_by_every_part, changed) {
  make_rich();
  other = problem;
  ck_assert(rlo_problem_equal(&problem, &other));
  ck_assert_uint_eq(rlo_problem_hash(&problem), rlo_problem_hash(&other));
  make_changed();
  const rlo_problem *with = &changed[_i];
  ck_assert(!rlo_problem_equal(&problem, with));
  ck_assert(!rlo_problem_equal(with, &problem));
  ck_assert(rlo_problem_hash(&problem) != rlo_problem_hash(with));
}

RLO_TEST(test_problem__is_the_same_whatever_is_not_counted) {
  make_rich();
  other = problem;
  problem.extents[2] = 9;
  problem.terms[0].limit = 1;
  problem.terms[1].divisor = 2;
  problem.terms[2].divisor = 2;
  problem.guards[2].limit = 3;
  ck_assert(rlo_problem_equal(&problem, &other));
  ck_assert_uint_eq(rlo_problem_hash(&problem), rlo_problem_hash(&other));
  problem.num_terms = other.num_terms = 0;
  problem.num_guards = other.num_guards = 0;
  problem.update = other.update = RLO_UPDATE_STORE;
  problem.index_bits = 64;
  problem.fill[1] = 1;
  problem.arithmetic.steps[0].numbers[0] = 3.0;
  ck_assert(rlo_problem_equal(&problem, &other));
  ck_assert_uint_eq(rlo_problem_hash(&problem), rlo_problem_hash(&other));
}

RLO_TEST(test_problem__is_told_as_text) {
  static const char expected[] =
      "unit 32 bits, box a0:3 x a1:4\n"
      "q0  = floor((2*a0 - 7) / 3)\n"
      "q1  = indices[a1] of 32 bits; -1 unless 0 <= it < 9\n"
      "src = -5*a0 + a1 - q0 - 8*q1 + 10\n"
      "dst = 4*a0 + a1\n"
      "cell = f32(2 * src + -0.5 * cell), src of f32, dst unit 32 bits\n"
      "pad unless 0 <= -a0 + 2 < 5\n"
      "skip unless 0 <= q1 < 9\n"
      "fill 0x3f000000\n";
  char text[1024];
  make_rich();
  ck_assert_uint_eq(rlo_problem_format(&problem, text, sizeof text), sizeof expected - 1);
  ck_assert_str_eq(text, expected);
  test_plan_make(8, 0, NULL, NULL, NULL, &problem);
  problem.src.base = -3;
  problem.update = RLO_UPDATE_COMBINE;
  problem.arithmetic = (rlo_arithmetic){.src_type = RLO_DTYPE_U8,
                                        .dst_type = RLO_DTYPE_F16,
                                        .compute_type = RLO_DTYPE_F64,
                                        .dst_unit_bits = 16,
                                        .is_sequential = true};
  rlo_problem_format(&problem, text, sizeof text);
  ck_assert_str_eq(text,
                   "unit 8 bits, box of one point\n"
                   "src = -3\n"
                   "dst = 0\n"
                   "cell = f16(1 * src), src of u8, dst unit 16 bits, in f64, "
                   "one point after the other\n");
}

static void expect_broken(const char *message) {
  ck_assert_msg(rlo__arithmetic_validate(&problem) == RLO_INVALID_ARGUMENT, "taken: %s", message);
  ck_assert_str_eq(rlo_error_last()->message, message);
  make_rich();
}

RLO_TEST(test_problem__refuses_broken_arithmetic) {
  make_rich();
  expect_ok(rlo__arithmetic_validate(&problem));
  problem.arithmetic.src_type = (rlo_dtype)2000;
  expect_broken("the source type 2000 is not an element type");
  problem.unit_bits = 16;
  expect_broken("a source unit of 16 bits for values of type f32; the limits are 32 and 128");
  problem.arithmetic.dst_unit_bits = 256;
  expect_broken("a destination unit of 256 bits for values of type f32; the limits are 32 and 128");
  problem.arithmetic.compute_type = RLO_DTYPE_F16;
  expect_broken("f32 values become f32 by computing in f16; f64, for floats, is the only choice");
  problem.dst.term[0] = 1;
  expect_broken(
      "the destination's position has the coefficient 1 of term 0; only sequential problems may "
      "have one");
  problem.dst.axis[0] = 0;
  expect_broken("guard 0 pads along axis 0, which is summed; a fill has no part in a sum");
  problem.arithmetic.num_steps = 5;
  expect_broken("5 element-wise steps; the limit is 4");
  problem.arithmetic.steps[1].op = (rlo_element_op)77;
  expect_broken("step 1 has the operation 77, which is unknown");
  problem.arithmetic.steps[1].op = RLO_ELEMENT_SCALE;
  expect_broken("the value is scaled by step 0 and by step 1; a list has an operation once");
}

RLO_TEST(test_problem__takes_arithmetic_at_the_edge_of_its_rules) {
  make_rich();
  problem.arithmetic.compute_type = RLO_DTYPE_F64;
  problem.dst.term[0] = 1;
  problem.arithmetic.is_sequential = true;
  expect_ok(rlo__arithmetic_validate(&problem));
  /* A skipped point along a sum; a guard along an axis of one point. */
  make_rich();
  problem.dst.axis[0] = 0;
  problem.guards[0].kind = RLO_GUARD_SKIP;
  expect_ok(rlo__arithmetic_validate(&problem));
  problem.guards[0].kind = RLO_GUARD_PAD;
  problem.extents[0] = 1;
  expect_ok(rlo__arithmetic_validate(&problem));
}

RLO_TEST(test_problem__indices_have_32_or_64_bits) {
  float src[64] = {0};
  float dst[64] = {0};
  int32_t indices[4] = {0};
  make_rich();
  problem.index_bits = 16;
  expect_refusal(rlo_problem_run_host_indexed(&problem, src, indices, dst), RLO_INVALID_ARGUMENT,
                 "indices of 16 bits; they have 32 or 64");
}
