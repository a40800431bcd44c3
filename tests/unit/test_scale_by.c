/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/piece.h"
#include "relayout/chain.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Values scaled by an operand that follows a dimension. */

static rlo_problem problem;
static rlo_problem other;

static rlo_combine_options along(int32_t dim) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.num_steps = 1;
  options.steps[0] = (rlo_element_step){RLO_ELEMENT_SCALE_BY, {0.0}};
  options.operand_dim = dim;
  return options;
}

static void lower(const char *from, const char *to, int32_t dim) {
  rlo_shape src = test_shape_of(from);
  rlo_shape dst = test_shape_of(to);
  rlo_combine_options options = along(dim);
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
}

RLO_TEST(test_scale_by__columns_of_a_transposed_array) {
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const float s[3] = {10, 100, 1000};
  float y[6] = {0};
  lower("f32[2,3]", "f32[2,3]{0,1}", 1);
  expect_ok(rlo_problem_run_host_indexed(&problem, x, s, y));
  ck_assert_mem_eq(y, ((float[]){10, 40, 200, 500, 3000, 6000}), sizeof y);
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  char text[512];
  rlo_problem_format(&problem, text, sizeof text);
  ck_assert_str_eq(text,
                   "unit 32 bits, box a0:3 x a1:2\n"
                   "q0  = a0, the operand's place, of 32 bits\n"
                   "src = a0 + 3*a1\n"
                   "dst = 2*a0 + a1\n"
                   "cell = f32(1 * src, scaled by an operand), src of f32, dst unit 32 "
                   "bits\n");
}

/* The steps before it and after it round on their own; integers wrap. */
RLO_TEST(test_scale_by__integers_between_other_steps) {
  const int32_t x[4] = {1, 2, 3, INT32_MAX};
  const int64_t s[4] = {3, -3, 100, 2};
  int32_t y[4] = {7, 7, 7, 7};
  rlo_shape shape = test_shape_of("s32[4]");
  rlo_combine_options options = along(0);
  options.alpha = 2.0;
  options.beta = 1.0;
  options.num_steps = 2;
  options.steps[1] = (rlo_element_step){RLO_ELEMENT_CLAMP, {-10.0, 0x1p40}};
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host_indexed(&problem, x, s, y));
  ck_assert_mem_eq(y, ((int32_t[]){13, -3, 607, 3}), sizeof y);
}

/* Sums are scaled once. */
RLO_TEST(test_scale_by__sums) {
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const float s[3] = {10, 100, 1000};
  float y[3] = {0};
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_problem_list *problems = NULL;
  rlo_combine_options options = along(0);
  const int32_t dims[] = {0};
  rlo_chain *chain = test_chain_of(&shape);
  expect_ok(rlo_chain_sum(chain, dims, 1, false));
  expect_ok(rlo_chain_combine(chain, NULL, &options, &problems));
  ck_assert_int_eq(rlo_problem_list_indices(problems, 0), -1);
  expect_ok(rlo_run_host(rlo_problem_list_get(problems, 0), x, s, y, 1));
  ck_assert_mem_eq(y, ((float[]){50, 700, 9000}), sizeof y);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

/** Runs the problem in pieces along one axis. */
static void run_cut(test_random *random, int32_t axis, const void *x, const void *s, void *y) {
  const int64_t extent = problem.extents[axis];
  const int64_t middle = test_random_in(random, 0, extent);
  expect_ok(rlo__problem_restrict(&problem, axis, middle, extent, &other));
  expect_ok(rlo_problem_run_host_indexed(&other, x, s, y));
  expect_ok(rlo__problem_restrict(&problem, axis, 0, middle, &other));
  expect_ok(rlo_problem_run_host_indexed(&other, x, s, y));
}

/* By hand: the elements in row-major order, times the operand, and back. */
static void expect_scaled(test_random *random, const rlo_shape *src, const rlo_shape *dst,
                          const int32_t *permutation, int32_t dim) {
  rlo_shape plain = test_shape_make(RLO_DTYPE_F32, dst->dims, dst->rank);
  rlo_combine_options options = along(dim);
  rlo_status status = rlo_relayout_combine(src, dst, permutation, &options, &problem);
  if (status != RLO_OK) {
    ck_assert(status == RLO_UNSUPPORTED || status == RLO_INVALID_ARGUMENT);
    return; /* too many axes; strides that collide */
  }
  int64_t count = 1;
  int64_t inner = 1;
  for (int32_t k = 0; k < dst->rank; ++k) {
    count *= dst->dims[k];
    inner *= k > dim ? dst->dims[k] : 1;
  }
  float *x = calloc(1, (size_t)problem.src_bytes + 4);
  float *row_major = calloc((size_t)count + 1, sizeof *row_major);
  float *s = calloc((size_t)dst->dims[dim] + 1, sizeof *s);
  uint8_t *wanted = calloc(2, (size_t)problem.dst_bytes + 1);
  uint8_t *y = wanted + problem.dst_bytes;
  for (int64_t n = 0; n < problem.src_bytes / 4; ++n) {
    x[n] = (float)test_random_in(random, -100000, 100000) / 7.0f;
  }
  for (int64_t c = 0; c < dst->dims[dim]; ++c) {
    s[c] = (float)test_random_in(random, -100000, 100000) / 9.0f;
  }
  expect_ok(rlo_relayout_lower(src, &plain, permutation, &other));
  expect_ok(rlo_problem_run_host(&other, x, row_major));
  for (int64_t n = 0; n < count; ++n) {
    row_major[n] = s[n / inner % dst->dims[dim]] * row_major[n];
  }
  expect_ok(rlo_relayout_lower(&plain, dst, NULL, &other));
  expect_ok(rlo_problem_run_host(&other, row_major, wanted));
  expect_ok(rlo_run_host(&problem, x, s, y, 3));
  ck_assert_mem_eq(y, wanted, (size_t)problem.dst_bytes);
  memset(y, 0, (size_t)problem.dst_bytes);
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  if (rlo_problem_is_empty(&problem) || problem.num_axes == 0) {
    expect_ok(rlo_problem_run_host_indexed(&problem, x, s, y));
  } else {
    int64_t axis = test_random_in(random, 0, problem.num_axes - 1);
    run_cut(random, (int32_t)axis, x, s, y);
  }
  ck_assert_mem_eq(y, wanted, (size_t)problem.dst_bytes);
  free(x);
  free(row_major);
  free(s);
  free(wanted);
}

RLO_TEST(test_scale_by__random_layouts) {
  test_random random = test_random_begin("test_scale_by");
  for (int32_t n = 0; n < 300; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    int32_t rank = (int32_t)test_random_in(&random, 1, 5);
    test_random_pair(&random, RLO_DTYPE_F32, rank, 3000, &src, &dst, permutation);
    int64_t dim = test_random_in(&random, 0, rank - 1);
    expect_scaled(&random, &src, &dst, permutation, (int32_t)dim);
  }
}

RLO_TEST(test_scale_by__the_adjoint_scales_again) {
  const float dy[6] = {1, 2, 3, 4, 5, 6};
  const float s[3] = {10, 100, 1000};
  float dx[6] = {0};
  lower("f32[2,3]", "f32[2,3]{0,1}", 1);
  expect_ok(rlo_problem_adjoint(&problem, RLO_DTYPE_F32, &other));
  expect_ok(rlo_problem_run_host_indexed(&other, dy, s, dx));
  ck_assert_mem_eq(dx, ((float[]){10, 300, 5000, 20, 400, 6000}), sizeof dx);
  /* The adjoint sums over an axis along which the source is broadcast. */
  lower("f32[2,3]", "f32[2,3]", 1);
  problem.src.axis[1] = 0;
  expect_refusal(rlo_problem_adjoint(&problem, RLO_DTYPE_F32, &other), RLO_UNSUPPORTED,
                 "the operand follows axis 1, which is summed; steps come after "
                 "the sum");
}

RLO_TEST(test_scale_by__problems_differ_by_the_operand) {
  lower("f32[3,3]", "f32[3,3]", 0);
  other = problem;
  ck_assert(rlo_problem_equal(&problem, &other));
  lower("f32[3,3]", "f32[3,3]", 1);
  ck_assert(!rlo_problem_equal(&problem, &other));
  ck_assert(rlo_problem_hash(&problem) != rlo_problem_hash(&other));
  /* Rows and columns do not become one axis. */
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  ck_assert_int_eq(problem.num_axes, 2);
  ck_assert(rlo_problem_loads(&problem));
  /* A term that no step uses is dropped. */
  problem.arithmetic.num_steps = 0;
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  ck_assert_int_eq(problem.num_axes, 1);
  ck_assert_int_eq(problem.num_terms, 0);
}

RLO_TEST(test_scale_by__refusals) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_combine_options options = along(2);
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem), RLO_OUT_OF_RANGE,
                 "an operand along dimension 2 of a destination of rank 2");
  lower("f32[2,3]", "f32[2,3]", 1);
  other = problem;
  other.index_bits = 64;
  expect_refusal(rlo_problem_canonicalize(&other, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "an operand of 64 bits; the value is computed in f32");
  other = problem;
  other.terms[0].divisor = 2;
  expect_refusal(rlo_problem_canonicalize(&other, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "term 0, the place of an operand, has the divisor 2, not 1");
  other = problem;
  other.num_terms = 0;
  const char *why =
      "the value is scaled by an operand; the problem needs one term with its "
      "place, and none that loads indices, because there is one third memory";
  expect_refusal(rlo_problem_canonicalize(&other, 0, NULL, NULL), RLO_INVALID_ARGUMENT, why);
  other = problem;
  other.terms[other.num_terms++] = (rlo_term){.kind = RLO_TERM_LOAD, .limit = 2};
  expect_refusal(rlo_problem_canonicalize(&other, 0, NULL, NULL), RLO_INVALID_ARGUMENT, why);
  const float x[6] = {0};
  float y[6];
  problem.index_bytes = 8;
  expect_refusal(rlo_problem_run_host_indexed(&problem, x, x, y), RLO_OUT_OF_RANGE,
                 "operand position 2 of 32 bits lies outside its 8 bytes");
  expect_refusal(rlo_problem_run_host(&problem, x, y), RLO_INVALID_ARGUMENT,
                 "a step of the problem takes an operand; "
                 "rlo_problem_run_host_indexed takes it");
}
