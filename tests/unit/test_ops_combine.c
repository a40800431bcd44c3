/* SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/suite.h"

/* Operations that compute: shapes, refusals, and small results by hand. The
 * numbers themselves are held against fractions in tests/model. */

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define ENTRIES(...) ((const int32_t[]){__VA_ARGS__})

static rlo_chain *chain;
static rlo_problem_list *problems;
static rlo_problem problem;

static void setup(void) {
  chain = NULL;
  problems = NULL;
}

static void teardown(void) {
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

RLO_FIXTURE(setup, teardown);

static rlo_shape shape_of(rlo_dtype dtype, const int64_t *dims, int32_t rank) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(dtype, dims, rank, &shape));
  return shape;
}

static void begin(rlo_dtype dtype, const int64_t *dims, int32_t rank) {
  rlo_shape shape = shape_of(dtype, dims, rank);
  expect_ok(rlo_chain_create(&shape, &chain));
}

static void run(const void *x, void *y) {
  const void *operands[1] = {x};
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  expect_ok(rlo_problem_list_run_host(problems, operands, y));
}

RLO_TEST(test_ops_combine__sum_of_rows_and_columns) {
  const int32_t x[6] = {1, 2, 3, 10, 20, 30};
  int32_t y[3] = {-1, -1, -1};
  begin(RLO_DTYPE_S32, DIMS(2, 3), 2);
  expect_ok(rlo_chain_sum(chain, ENTRIES(0), 1, false));
  ck_assert_int_eq(rlo_chain_shape(chain)->rank, 1);
  ck_assert_int_eq(rlo_chain_shape(chain)->dims[0], 3);
  run(x, y);
  ck_assert_mem_eq(y, ((int32_t[]){11, 22, 33}), sizeof y);
}

RLO_TEST(test_ops_combine__a_sum_between_movements) {
  const int32_t x[6] = {1, 2, 3, 10, 20, 30};
  int32_t y[4] = {-1, -1, -1, -1};
  begin(RLO_DTYPE_S32, DIMS(2, 3), 2);
  expect_ok(rlo_chain_slice(chain, DIMS(0, 1), DIMS(2, 3), NULL));
  expect_ok(rlo_chain_sum(chain, ENTRIES(1), 1, true));
  ck_assert_int_eq(rlo_chain_shape(chain)->rank, 2);
  ck_assert_int_eq(rlo_chain_shape(chain)->dims[1], 1);
  expect_ok(rlo_chain_reverse(chain, ENTRIES(0), 1));
  const int32_t seven = 7;
  expect_ok(rlo_chain_pad(chain, DIMS(1, 0), DIMS(1, 0), NULL, &seven));
  run(x, y);
  ck_assert_mem_eq(y, ((int32_t[]){7, 50, 5, 7}), sizeof y);
}

RLO_TEST(test_ops_combine__the_sum_of_nothing_is_zero) {
  float y[3] = {-1.0f, -1.0f, -1.0f};
  begin(RLO_DTYPE_F32, DIMS(0, 3), 2);
  expect_ok(rlo_chain_sum(chain, ENTRIES(0), 1, false));
  run(NULL, y);
  ck_assert_mem_eq(y, ((float[]){0.0f, 0.0f, 0.0f}), sizeof y);
}

/* 1 + 2^-11 is no f16; a thousand of them are 1000.48828125 in f32, which is
 * 1000.5 in f16. */
RLO_TEST(test_ops_combine__small_floats_add_up_in_f32) {
  uint16_t x[2000];
  uint16_t y = 0;
  for (int k = 0; k < 2000; k += 2) {
    x[k] = 0x3c00;
    x[k + 1] = 0x1000; /* 2^-11 */
  }
  begin(RLO_DTYPE_F16, DIMS(2000), 1);
  expect_ok(rlo_chain_sum(chain, ENTRIES(0), 1, false));
  run(x, &y);
  ck_assert_uint_eq(y, 0x63d1); /* 1000.5 */
}

RLO_TEST(test_ops_combine__sums_refuse) {
  begin(RLO_DTYPE_PRED, DIMS(4), 1);
  expect_refusal(rlo_chain_sum(chain, ENTRIES(0), 1, false), RLO_UNSUPPORTED,
                 "sum: values of type pred are not added up");
  rlo_chain_release(chain);
  begin(RLO_DTYPE_S4, DIMS(4), 1);
  expect_refusal(rlo_chain_sum(chain, ENTRIES(0), 1, false), RLO_UNSUPPORTED,
                 "sum: values of type s4 are not added up");
  rlo_chain_release(chain);
  begin(RLO_DTYPE_F32, DIMS(4, 4), 2);
  expect_refusal(rlo_chain_sum(chain, ENTRIES(1, 1), 2, false), RLO_INVALID_ARGUMENT,
                 "sum: dimensions 1 and 1 are one and the same of an array "
                 "of rank 2");
  expect_refusal(rlo_chain_sum(chain, ENTRIES(2), 1, false), RLO_OUT_OF_RANGE,
                 "sum: dimension 2 of an array of rank 2; -2 to 1 are "
                 "possible");
  expect_ok(rlo_chain_pad(chain, DIMS(1, 1), DIMS(0, 0), NULL, NULL));
  expect_refusal(rlo_chain_sum(chain, ENTRIES(0), 1, false), RLO_UNSUPPORTED,
                 "sum: the chain pads; a fill has no part in a sum");
}

RLO_TEST(test_ops_combine__conversions_convert_fills) {
  const float x[2] = {1.5f, -2.0f};
  uint16_t y[3] = {0};
  const float half = 0.5f;
  begin(RLO_DTYPE_F32, DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, &half));
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_BF16));
  ck_assert_int_eq(rlo_chain_shape(chain)->dtype, RLO_DTYPE_BF16);
  run(x, y);
  ck_assert_mem_eq(y, ((uint16_t[]){0x3f00, 0x3fc0, 0xc000}), sizeof y);
}

RLO_TEST(test_ops_combine__a_chain_rounds_once) {
  begin(RLO_DTYPE_F32, DIMS(2), 1);
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_BF16));
  expect_refusal(rlo_chain_convert(chain, RLO_DTYPE_F32), RLO_UNSUPPORTED,
                 "convert: the chain has converted f32 to bf16, which rounds; "
                 "a chain rounds once, at its end");
  expect_refusal(rlo_chain_sum(chain, ENTRIES(0), 1, false), RLO_UNSUPPORTED,
                 "sum: the chain has converted f32 to bf16, which rounds; a "
                 "chain rounds once, at its end");
  expect_refusal(rlo_chain_convert(chain, RLO_DTYPE_F8E8M0FNU), RLO_UNSUPPORTED,
                 "convert: no other type is converted to f8e8m0fnu, which has "
                 "no zero");
  rlo_chain_release(chain);
  begin(RLO_DTYPE_F16, DIMS(2), 1);
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_F32));
  expect_ok(rlo_chain_sum(chain, ENTRIES(0), 1, false));
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_F64));
}

RLO_TEST(test_ops_combine__a_type_without_zero_becomes_itself) {
  const uint8_t x[3] = {0, 127, 255};
  uint8_t y[3] = {1, 1, 1};
  begin(RLO_DTYPE_F8E8M0FNU, DIMS(3), 1);
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_F8E8M0FNU));
  run(x, y);
  ck_assert_mem_eq(y, x, sizeof x);
}

RLO_TEST(test_ops_combine__a_complex_number_is_true_by_either_part) {
  const float x[6][2] = {{0.0f, 0.0f},   {1.0f, 0.0f}, {0.0f, 2.0f},
                         {-0.0f, -0.0f}, {0.0f, NAN},  {0.0f, 1e-45f}};
  uint8_t y[6] = {9, 9, 9, 9, 9, 9};
  begin(RLO_DTYPE_C64, DIMS(6), 1);
  expect_ok(rlo_chain_convert(chain, RLO_DTYPE_PRED));
  run(x, y);
  ck_assert_mem_eq(y, ((uint8_t[]){0, 1, 1, 0, 1, 1}), sizeof y);
  /* Also where more is computed than the conversion. */
  rlo_shape src = shape_of(RLO_DTYPE_C64, DIMS(6), 1);
  rlo_shape dst = shape_of(RLO_DTYPE_PRED, DIMS(6), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = -2.0;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_mem_eq(y, ((uint8_t[]){0, 1, 1, 0, 1, 1}), sizeof y);
  options.beta = 1.0;
  y[0] = 1;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_mem_eq(y, ((uint8_t[]){1, 1, 1, 0, 1, 1}), sizeof y);
}

RLO_TEST(test_ops_combine__what_computes_nothing_moves_bits) {
  rlo_shape src = shape_of(RLO_DTYPE_F32, DIMS(3), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  expect_ok(rlo_relayout_combine(&src, &src, NULL, &options, &problem));
  ck_assert_int_eq(problem.update, RLO_UPDATE_STORE);
  options.beta = 1.0;
  expect_ok(rlo_relayout_combine(&src, &src, NULL, &options, &problem));
  ck_assert_int_eq(problem.update, RLO_UPDATE_COMBINE);
  ck_assert_int_eq(problem.read_bytes, 24);
}

RLO_TEST(test_ops_combine__alpha_and_beta) {
  const float x[3] = {1.0f, 2.0f, NAN};
  double y[3] = {10.0, (double)NAN, 30.0};
  rlo_shape src = shape_of(RLO_DTYPE_F32, DIMS(3), 1);
  rlo_shape dst = shape_of(RLO_DTYPE_F64, DIMS(3), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 0.5;
  options.beta = -1.0;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_double_eq(y[0], -9.5);
  ck_assert_double_nan(y[1]);
  ck_assert_double_nan(y[2]);
  /* With a beta of 0 the destination is not read. */
  options.beta = 0.0;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_double_eq(y[1], 1.0);
}

RLO_TEST(test_ops_combine__options_of_an_older_header) {
  const float x[3] = {1.0f, 2.0f, 3.0f};
  float y[3] = {10.0f, 20.0f, 30.0f};
  rlo_shape shape = shape_of(RLO_DTYPE_F32, DIMS(3), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.struct_size = offsetof(rlo_combine_options, beta);
  options.alpha = 0.5;
  /* These are not read. */
  options.beta = (double)NAN;
  options.compute_type = (rlo_dtype)77;
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert(y[0] == 0.5f && y[1] == 1.0f && y[2] == 1.5f);
  options.struct_size = sizeof options + 8;
  ck_assert_int_eq(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_ops_combine__steps_run_in_their_order) {
  const float x[2] = {1.0f, 2.0f};
  float y[2] = {10.0f, 20.0f};
  rlo_shape shape = shape_of(RLO_DTYPE_F32, DIMS(2), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.num_steps = 2;
  options.steps[0] = (rlo_element_step){RLO_ELEMENT_ACCUMULATE, {3.0}};
  options.steps[1] = (rlo_element_step){RLO_ELEMENT_SCALE, {2.0}};
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert(y[0] == 62.0f && y[1] == 124.0f);
  options.alpha = 2.0;
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                 RLO_INVALID_ARGUMENT,
                 "the value is scaled by step 0 and by step 2; a list has an "
                 "operation once");
  options.num_steps = 4;
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                 RLO_INVALID_ARGUMENT,
                 "4 element-wise steps beside alpha and beta; the limit is 3");
}

static void lower_clamp(rlo_dtype src, rlo_dtype dst, double low, double high) {
  rlo_shape from = shape_of(src, DIMS(6), 1);
  rlo_shape to = shape_of(dst, DIMS(6), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.num_steps = 1;
  options.steps[0] = (rlo_element_step){RLO_ELEMENT_CLAMP, {low, high}};
  expect_ok(rlo_relayout_combine(&from, &to, NULL, &options, &problem));
}

RLO_TEST(test_ops_combine__clamps_floats) {
  const float x[6] = {-1.0f, 0.5f, 7.0f, -INFINITY, NAN, -0.0f};
  float y[6] = {0};
  lower_clamp(RLO_DTYPE_F32, RLO_DTYPE_F32, 0.0, 6.0);
  expect_ok(rlo_problem_run_host(&problem, x, y));
  const uint32_t wanted[6] = {0, 0x3f000000, 0x40c00000, 0, 0x7fc00000, 0x80000000};
  ck_assert_mem_eq(y, wanted, sizeof wanted);
  lower_clamp(RLO_DTYPE_F32, RLO_DTYPE_F32, -(double)INFINITY, 6.0);
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert(y[0] == -1.0f && y[2] == 6.0f && isinf(y[3]));
  char text[512];
  rlo_problem_format(&problem, text, sizeof text);
  ck_assert_ptr_nonnull(strstr(text, "cell = f32(1 * src, clamped -inf 6), "));
}

/* The bounds hold before the conversion, which then wraps nothing. */
RLO_TEST(test_ops_combine__clamps_integers) {
  const int64_t x[6] = {-300, -1, 0, 299, INT64_MIN, INT64_MAX};
  int8_t y[6] = {0};
  lower_clamp(RLO_DTYPE_S64, RLO_DTYPE_S8, -128.0, 127.0);
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_mem_eq(y, ((int8_t[]){-128, -1, 0, 127, -128, 127}), 6);
  lower_clamp(RLO_DTYPE_S64, RLO_DTYPE_S8, 0.0, (double)INFINITY);
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_mem_eq(y, ((int8_t[]){0, 0, 0, 43, 0, -1}), 6);
}

RLO_TEST(test_ops_combine__refuses_clamps) {
  static const struct {
    rlo_dtype src, dst;
    double low, high;
    rlo_status status;
    const char *message;
  } cases[] = {
      {RLO_DTYPE_F32, RLO_DTYPE_F32, 2, 1, RLO_INVALID_ARGUMENT,
       "a value is clamped to [2, 1], which is empty"},
      {RLO_DTYPE_F32, RLO_DTYPE_F32, (double)NAN, 1, RLO_INVALID_ARGUMENT,
       "low is NaN; a factor must be finite"},
      {RLO_DTYPE_S32, RLO_DTYPE_S32, 0, 0.5, RLO_INVALID_ARGUMENT,
       "high is 0.5; between integers it must be a whole number of at most 63 "
       "bits"},
      {RLO_DTYPE_C64, RLO_DTYPE_C64, 0, 1, RLO_UNSUPPORTED,
       "numbers of type c64 are not clamped; integers compare as signed "
       "numbers of 64 bits, complex numbers not at all"},
      {RLO_DTYPE_U8, RLO_DTYPE_U64, 0, 1, RLO_UNSUPPORTED,
       "numbers of type u64 are not clamped; integers compare as signed "
       "numbers of 64 bits, complex numbers not at all"},
  };

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    rlo_shape from = shape_of(cases[n].src, DIMS(6), 1);
    rlo_shape to = shape_of(cases[n].dst, DIMS(6), 1);
    rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
    options.num_steps = 1;
    options.steps[0] = (rlo_element_step){RLO_ELEMENT_CLAMP, {cases[n].low, cases[n].high}};
    expect_refusal(rlo_relayout_combine(&from, &to, NULL, &options, &problem), cases[n].status,
                   cases[n].message);
  }
}

RLO_TEST(test_ops_combine__a_clamp_has_no_adjoint) {
  static rlo_problem adjoint;
  bool reads_once = false;
  lower_clamp(RLO_DTYPE_F32, RLO_DTYPE_F32, 0.0, 6.0);
  expect_refusal(rlo_problem_adjoint(&problem, RLO_DTYPE_F32, &adjoint), RLO_UNSUPPORTED,
                 "values are clamped, and the adjoint of that depends on them");
  expect_ok(rlo_problem_reads_once(&problem, &reads_once));
  ck_assert(reads_once);
}

RLO_TEST(test_ops_combine__factors_of_integers_are_whole) {
  rlo_shape shape = shape_of(RLO_DTYPE_S32, DIMS(3), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 0.5;
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                 RLO_INVALID_ARGUMENT,
                 "alpha is 0.5; between integers it must be a whole number of "
                 "at most 63 bits");
  options.alpha = (double)INFINITY;
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                 RLO_INVALID_ARGUMENT, "alpha is infinity; a factor must be finite");
  options.alpha = 3.0;
  options.compute_type = RLO_DTYPE_F64;
  expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                 RLO_INVALID_ARGUMENT,
                 "s32 values become s32 by computing in f64; f64, for floats, "
                 "is the only choice");
  options.struct_size = 1;
  ck_assert_int_eq(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_ops_combine__factors_are_finite) {
  const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  const char *const names[] = {"NaN", "infinity", "-infinity"};
  rlo_shape shape = shape_of(RLO_DTYPE_F32, DIMS(2), 1);
  rlo_shape wide = shape_of(RLO_DTYPE_F64, DIMS(2), 1);
  const float x[2] = {1.0f, 2.0f};
  float y[2] = {0.0f, 0.0f};
  begin(RLO_DTYPE_F32, DIMS(2), 1);
  for (int32_t n = 0; n < 6; ++n) {
    rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
    char why[64];
    *(n < 3 ? &options.alpha : &options.beta) = bad[n % 3];
    snprintf(why, sizeof why, "%s is %s; a factor must be finite", n < 3 ? "alpha" : "beta",
             names[n % 3]);
    expect_refusal(rlo_relayout_combine(&shape, &shape, NULL, &options, &problem),
                   RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_relayout_combine(&shape, &wide, NULL, &options, &problem),
                   RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_chain_combine(chain, NULL, &options, &problems), RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_chain_combine(chain, &wide, &options, &problems), RLO_INVALID_ARGUMENT, why);
    /* A problem of the caller's own. */
    rlo_combine_options doubled = RLO_COMBINE_OPTIONS_INIT;
    doubled.alpha = 2.0;
    expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &doubled, &problem));
    rlo_problem sound = problem;
    problem.arithmetic.num_steps = 2;
    problem.arithmetic.steps[1].op = RLO_ELEMENT_ACCUMULATE;
    problem.arithmetic.steps[n < 3 ? 0 : 1].numbers[0] = bad[n % 3];
    bool reads_once = false;
    rlo_problem adjoint;
    ck_assert(!rlo_problem_equal(&problem, &sound));
    expect_refusal(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_problem_run_host(&problem, x, y), RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_problem_run_host_indexed(&problem, x, NULL, y), RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_problem_reads_once(&problem, &reads_once), RLO_INVALID_ARGUMENT, why);
    expect_refusal(rlo_problem_adjoint(&problem, RLO_DTYPE_F32, &adjoint), RLO_INVALID_ARGUMENT,
                   why);
  }
}

/* A wrong factor is reported before a chain that cannot be scaled. */
RLO_TEST(test_ops_combine__factors_are_checked_first) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = (double)NAN;
  begin(RLO_DTYPE_F32, DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, NULL));
  expect_refusal(rlo_chain_combine(chain, NULL, &options, &problems), RLO_INVALID_ARGUMENT,
                 "alpha is NaN; a factor must be finite");
}

RLO_TEST(test_ops_combine__pads_are_not_scaled) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 2.0;
  begin(RLO_DTYPE_F32, DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, NULL));
  expect_refusal(rlo_chain_combine(chain, NULL, &options, &problems), RLO_UNSUPPORTED,
                 "the chain pads; its fill is neither scaled nor added nor "
                 "converted to the destination's f32");
}

/* Padding of the destination's layout is its own affair. */
RLO_TEST(test_ops_combine__layout_padding_takes_its_fill) {
  const float x[3] = {1.0f, 2.0f, 3.0f};
  float y[5] = {10.0f, 10.0f, 10.0f, 10.0f, 10.0f};
  rlo_shape src = shape_of(RLO_DTYPE_F32, DIMS(3), 1);
  rlo_shape dst = src;
  dst.layout.has_padded_dimensions = true;
  dst.layout.padded_dimensions[0] = 5;
  dst.layout.fill = RLO_FILL_ONE;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 2.0;
  options.beta = 1.0;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, x, y));
  ck_assert_mem_eq(y, ((float[]){12.0f, 14.0f, 16.0f, 1.0f, 1.0f}), sizeof y);
}

RLO_TEST(test_ops_combine__add_n) {
  const uint8_t a[2] = {200, 1};
  const int8_t b[2] = {100, -3};
  const float c[2] = {1.75f, 300.0f};
  const void *operands[3] = {a, b, c};
  rlo_shape shapes[3] = {shape_of(RLO_DTYPE_U8, DIMS(2), 1), shape_of(RLO_DTYPE_S8, DIMS(2), 1),
                         shape_of(RLO_DTYPE_F32, DIMS(2), 1)};
  const rlo_shape *srcs[3] = {&shapes[0], &shapes[1], &shapes[2]};
  rlo_shape dst = shape_of(RLO_DTYPE_F32, DIMS(2), 1);
  float y[2] = {NAN, NAN};
  expect_ok(rlo_add_n_lower(srcs, 3, &dst, &problems));
  ck_assert_int_eq(rlo_problem_list_count(problems), 3);
  ck_assert_int_eq(rlo_problem_list_operand(problems, 2), 2);
  expect_ok(rlo_problem_list_run_host(problems, operands, y));
  ck_assert_mem_eq(y, ((float[]){301.75f, 298.0f}), sizeof y);
  rlo_problem_list_release(problems);
  ck_assert_int_eq(rlo_add_n_lower(srcs, 0, &dst, &problems), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(problems);
  dst = shape_of(RLO_DTYPE_PRED, DIMS(2), 1);
  expect_refusal(rlo_add_n_lower(srcs, 2, &dst, &problems), RLO_UNSUPPORTED,
                 "add_n: values of type pred are not added up");
}

/* <dy, S x> = <S^T dy, x>: the adjoint of a sum hands dy to all of its terms.
 */
RLO_TEST(test_ops_combine__the_adjoint_of_a_sum_broadcasts) {
  static rlo_problem adjoint;
  begin(RLO_DTYPE_F32, DIMS(2, 3), 2);
  expect_ok(rlo_chain_sum(chain, ENTRIES(1), 1, false));
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, 0), RLO_DTYPE_F32, &adjoint));
  ck_assert(!adjoint.arithmetic.is_sequential);
  const float dy[2] = {1.0f, 2.0f};
  float dx[6] = {0};
  expect_ok(rlo_problem_run_host(&adjoint, dy, dx));
  ck_assert_mem_eq(dx, ((float[]){1.0f, 1.0f, 1.0f, 2.0f, 2.0f, 2.0f}), sizeof dx);
}

RLO_TEST(test_ops_combine__the_text_tells_what_is_computed) {
  char text[512];
  rlo_shape src = shape_of(RLO_DTYPE_F32, DIMS(3), 1);
  rlo_shape dst = shape_of(RLO_DTYPE_BF16, DIMS(3), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 2.0;
  options.beta = 0.5;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  rlo_problem_format(&problem, text, sizeof text);
  ck_assert_ptr_nonnull(
      strstr(text, "cell = bf16(2 * src + 0.5 * cell), src of f32, dst unit 16 bits"));
}

/* ------------------------------------------- the caller's floating-point mode */

enum { NUM_VALUES = 3000 };

/** What a thread may have set: how it rounds, and flags of MXCSR. */
static const struct {
  int rounding;
  uint32_t flags;
} modes[] = {
    {FE_UPWARD, 0},         {FE_DOWNWARD, 0},
    {FE_TOWARDZERO, 0},     {FE_TONEAREST, 0x8000}, /* denormal results become 0 */
    {FE_TONEAREST, 0x0040},                         /* denormal operands are 0 */
};

static uint32_t exchange_flags(uint32_t flags) {
#if defined __x86_64__
  const uint32_t before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr((before & ~UINT32_C(0x8040)) | flags);
  return before & UINT32_C(0x8040);
#else
  (void)flags;
  return 0;
#endif
}

/** Numbers near the least normal one, of both signs. */
static void fill_with_tiny(float x[NUM_VALUES]) {
  for (uint32_t n = 0; n < NUM_VALUES; ++n) {
    const uint32_t bits = n % 2 << 31 | (0x00700000 + n * 2654435761 % 0x00200000);
    memcpy(&x[n], &bits, sizeof bits);
  }
}

typedef struct computed {
  float total;
  float scaled[NUM_VALUES];
  double kept;
} computed;

static void compute_all(const float *x, computed *out) {
  begin(RLO_DTYPE_F32, DIMS(NUM_VALUES), 1);
  expect_ok(rlo_chain_sum(chain, ENTRIES(0), 1, false));
  run(x, &out->total);
  teardown();
  setup();
  rlo_shape vector = shape_of(RLO_DTYPE_F32, DIMS(NUM_VALUES), 1);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = 0.1;
  options.beta = 1.0;
  memcpy(out->scaled, x, sizeof out->scaled);
  expect_ok(rlo_relayout_combine(&vector, &vector, NULL, &options, &problem));
  expect_ok(rlo_run_host(&problem, x, NULL, out->scaled, 3));
  /* A factor that is denormal is no 0. */
  const double zero = 0.0;
  rlo_shape scalar = shape_of(RLO_DTYPE_F64, NULL, 0);
  options = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  options.beta = 0x1p-1060;
  out->kept = 0x1p1000;
  expect_ok(rlo_relayout_combine(&scalar, &scalar, NULL, &options, &problem));
  expect_ok(rlo_problem_run_host(&problem, &zero, &out->kept));
}

RLO_TABLE_TEST(test_ops_combine__the_mode_of_the_caller_changes_nothing, modes) {
  static float x[NUM_VALUES];
  static computed wanted;
  static computed got;
  fill_with_tiny(x);
  compute_all(x, &wanted);
  ck_assert(wanted.kept >= 0x1p-60 && wanted.kept <= 0x1p-60);
  ck_assert_int_eq(fesetround(modes[_i].rounding), 0);
  exchange_flags(modes[_i].flags);
  compute_all(x, &got);
  /* The caller finds all as it was. */
  const int rounding = fegetround();
  const uint32_t flags = exchange_flags(0);
  fesetround(FE_TONEAREST);
  ck_assert_int_eq(rounding, modes[_i].rounding);
#if defined __x86_64__
  ck_assert_uint_eq(flags, modes[_i].flags);
#endif
  (void)flags;
  ck_assert_mem_eq(&got, &wanted, sizeof got);
}
