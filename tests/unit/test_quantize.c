/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"
#include "relayout/quantize.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Quantising relayouts against a model of a few lines of C: by the whole array, by
 * channels and by blocks, each pair of types, from any layout to any layout. */

static const rlo_dtype reals[] = {RLO_DTYPE_F32, RLO_DTYPE_F16, RLO_DTYPE_BF16, RLO_DTYPE_F64};
static const rlo_dtype codes[] = {RLO_DTYPE_S8,       RLO_DTYPE_U8,     RLO_DTYPE_S4,
                                  RLO_DTYPE_U4,       RLO_DTYPE_S16,    RLO_DTYPE_S32,
                                  RLO_DTYPE_F8E4M3FN, RLO_DTYPE_F8E5M2, RLO_DTYPE_F8E4M3FNUZ};

enum { NUM_REALS = 4, NUM_CODES = 9, MAX_COUNT = 4000, ROOM = 1 << 20 };

static rlo_problem problem;
/* Row-major, as the result has the elements. */
static double values[MAX_COUNT];
static double wanted[MAX_COUNT];
static double numbers[2 * MAX_COUNT];

/** Relays memory out with its values, in another type. */
static void convert(const rlo_shape *src, const rlo_shape *dst, const int32_t *permutation,
                    const void *x, void *y) {
  expect_ok(rlo_relayout_combine(src, dst, permutation, NULL, &problem));
  expect_ok(rlo_run_host(&problem, x, NULL, y, 1));
}

static double rounded(double x, bool is_f64) {
  return is_f64 ? x : (double)(float)x;
}

/** The limits of an integer type, or of finite numbers; 0 for others. */
static double most_of(rlo_dtype code) {
  switch (code) {
    case RLO_DTYPE_F8E4M3FN:
      return 448;
    case RLO_DTYPE_F8E5M2:
      return 57344;
    case RLO_DTYPE_F8E4M3FNUZ:
      return 240;
    default:
      return ldexp(1.0, rlo_dtype_value_bits(code) - (int)rlo_dtype_is_signed(code)) - 1;
  }
}

static double least_of(rlo_dtype code) {
  const double most = most_of(code);
  return rlo_dtype_is_floating(code) ? -most : rlo_dtype_is_signed(code) ? -most - 1 : 0;
}

static double quantized(double x, double scale, double zero, rlo_dtype code, bool is_f64) {
  double q = rounded(x / scale, is_f64);
  if (!rlo_dtype_is_floating(code)) {
    q = isnan(q) ? 0 : rounded(nearbyint(q) + rounded(zero, is_f64), is_f64);
  }
  return q < least_of(code) ? least_of(code) : q > most_of(code) ? most_of(code) : q;
}

static double dequantized(double q, double scale, double zero, bool is_f64) {
  const double shifted = rounded(q, is_f64) - rounded(zero, is_f64);
  return rounded(rounded(shifted, is_f64) * scale, is_f64);
}

/** A case: what is drawn. */
typedef struct sample {
  bool is_back;
  rlo_dtype real, code;
  rlo_shape src, dst, plain, scales;
  int32_t permutation[RLO_MAX_RANK];
  int64_t count, num_scales;
  rlo_quantization q;
} sample;

static int64_t count_of(const rlo_shape *shape) {
  int64_t count = 1;
  for (int32_t k = 0; k < shape->rank; ++k) {
    count *= shape->dims[k];
  }
  return count;
}

/** Sizes that divide each dimension. */
static void draw_scales(test_random *random, sample *s) {
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < s->dst.rank; ++k) {
    const int64_t size = s->dst.dims[k];
    do {
      dims[k] = test_random_once_in(random, 3) ? size : test_random_in(random, 1, size);
    } while (size % dims[k] != 0);
  }
  s->scales = test_shape_make(RLO_DTYPE_F32, dims, s->dst.rank);
  s->q.scales = &s->scales;
  s->num_scales = count_of(&s->scales);
  s->q.has_zero_points = !rlo_dtype_is_floating(s->code) && test_random_once_in(random, 2);
}

static double draw_scale(test_random *random, bool is_f64) {
  static const double some[] = {0.0, 1.0, 0.5, 0.1, 2.0 / 127, -3.0, 1e-40, 7e30};
  return rounded(some[test_random_in(random, test_random_once_in(random, 4) ? 0 : 1, 7)], is_f64);
}

static double draw_zero_point(test_random *random, rlo_dtype code) {
  const double least = rlo_dtype_is_floating(code) ? 0 : least_of(code);
  const double most = rlo_dtype_is_floating(code) ? 0 : most_of(code);
  return test_random_once_in(random, 4)   ? least
         : test_random_once_in(random, 4) ? most
                                          : floor(least + (most - least) / 3);
}

/** Ties, neighbours of ties, what saturates, and what is no number. */
static double draw_value(test_random *random, double scale) {
  static const double some[] = {
      (double)INFINITY, -(double)INFINITY, (double)NAN, 0.0, -0.0, 1e30, -1e30, 65504};
  const double whole = (double)test_random_in(random, -400, 400);
  const int64_t kind = test_random_in(random, 0, 9);
  return kind == 0   ? some[test_random_in(random, 0, 7)]
         : kind < 6  ? (whole + 0.5) * scale
         : kind == 6 ? (double)nextafterf((float)((whole + 0.5) * scale), 0)
                     : whole / 7;
}

/** The place of an element's scale. */
static int64_t block_of(const sample *s, int64_t element) {
  int64_t place = 0;
  int64_t stride = 1;
  for (int32_t k = s->dst.rank - 1; k >= 0 && s->q.scales != NULL; --k) {
    const int64_t block = s->dst.dims[k] / s->scales.dims[k];
    place += element % s->dst.dims[k] / block * stride;
    stride *= s->scales.dims[k];
    element /= s->dst.dims[k];
  }
  return place;
}

/** The numbers that steps take, and the values, as the source's type has them. */
static void draw_numbers(test_random *random, sample *s, uint8_t *x) {
  const bool is_f64 = s->real == RLO_DTYPE_F64;
  const rlo_shape f64 = test_shape_make(RLO_DTYPE_F64, s->plain.dims, s->plain.rank);
  rlo_shape turned = f64;
  for (int64_t n = 0; n < s->num_scales; ++n) {
    numbers[n] = draw_scale(random, is_f64);
    numbers[s->num_scales + n] = draw_zero_point(random, s->code);
  }
  for (int64_t n = 0; n < s->count; ++n) {
    values[n] = s->is_back ? (double)test_random_in(random, -140, 270)
                           : draw_value(random, numbers[block_of(s, n)]);
  }
  s->q.scale = numbers[0];
  s->q.zero_point = s->q.scales != NULL ? 0 : numbers[1];
  for (int32_t k = 0; k < s->src.rank; ++k) {
    turned.dims[s->permutation[k]] = f64.dims[k];
  }
  turned = test_shape_make(RLO_DTYPE_F64, turned.dims, turned.rank);
  double *before = calloc((size_t)s->count + 1, sizeof *before);
  int32_t inverse[RLO_MAX_RANK];
  for (int32_t k = 0; k < s->src.rank; ++k) {
    inverse[s->permutation[k]] = k;
  }
  convert(&f64, &turned, inverse, values, before);
  convert(&turned, &s->src, NULL, before, x);
  convert(&s->src, &f64, s->permutation, x, values);
  free(before);
}

static void compute_wanted(const sample *s, uint8_t *y) {
  const bool is_f64 = s->real == RLO_DTYPE_F64;
  const rlo_dtype to = s->dst.dtype;
  const rlo_shape f64 = test_shape_make(RLO_DTYPE_F64, s->plain.dims, s->plain.rank);
  for (int64_t n = 0; n < s->count; ++n) {
    const int64_t place = block_of(s, n);
    const bool has_zero = s->q.scales == NULL || s->q.has_zero_points;
    const double zero = has_zero ? numbers[s->num_scales + place] : 0;
    wanted[n] = s->is_back ? dequantized(values[n], numbers[place], zero, is_f64)
                           : quantized(values[n], numbers[place], zero, to, is_f64);
  }
  uint8_t *plain = calloc((size_t)s->count + 1, 8);
  convert(&f64, &s->plain, NULL, wanted, plain);
  convert(&s->plain, &s->dst, NULL, plain, y);
  free(plain);
}

static bool draw(test_random *random, sample *s) {
  const rlo_dtype from = s->is_back ? s->code : s->real;
  const rlo_dtype to = s->is_back ? s->real : s->code;
  const int32_t rank = (int32_t)test_random_in(random, 1, 4);
  test_random_pair(random, RLO_DTYPE_U8, rank, MAX_COUNT / 8, &s->src, &s->dst, s->permutation);
  s->src.dtype = from;
  s->dst.dtype = to;
  s->count = count_of(&s->dst);
  s->plain = test_shape_make(to, s->dst.dims, rank);
  s->q = (rlo_quantization)RLO_QUANTIZATION_INIT;
  s->num_scales = 1;
  /* Elements without a slot of their own cannot be set one by one. */
  if (s->count == 0 || s->count > MAX_COUNT || rlo_shape_validate(&s->src) != RLO_OK ||
      rlo_shape_validate(&s->dst) != RLO_OK ||
      rlo_relayout_combine(&s->plain, &s->dst, NULL, NULL, &problem) != RLO_OK ||
      problem.dst_bytes > ROOM) {
    return false;
  }
  rlo_shape like = test_shape_make(from, s->src.dims, rank);
  if (rlo_relayout_combine(&like, &s->src, NULL, NULL, &problem) != RLO_OK ||
      problem.dst_bytes > ROOM) {
    return false;
  }
  if (!test_random_once_in(random, 3)) {
    draw_scales(random, s);
  }
  return true;
}

static void expect_as_wanted(test_random *random, sample *s) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  uint8_t *x = calloc(4, ROOM);
  uint8_t *y = x + ROOM;
  uint8_t *by_model = y + ROOM;
  uint8_t *by_reference = by_model + ROOM;
  float narrow[2 * MAX_COUNT];
  draw_numbers(random, s, x);
  for (int64_t n = 0; n < 2 * s->num_scales; ++n) {
    narrow[n] = (float)numbers[n];
  }
  compute_wanted(s, by_model);
  expect_ok(s->is_back ? rlo_combine_options_dequantize(&options, &s->q)
                       : rlo_combine_options_quantize(&options, s->code, &s->q));
  rlo_status status = rlo_relayout_combine(&s->src, &s->dst, s->permutation, &options, &problem);
  if (status == RLO_OK) {
    const void *lists = s->real == RLO_DTYPE_F64 ? (void *)numbers : (void *)narrow;
    expect_ok(rlo_run_host(&problem, x, lists, y, (int32_t)test_random_in(random, 1, 3)));
    expect_ok(rlo_problem_run_host_indexed(&problem, x, lists, by_reference));
    ck_assert_mem_eq(by_reference, by_model, (size_t)problem.dst_bytes);
    ck_assert_mem_eq(y, by_model, (size_t)problem.dst_bytes);
  } else {
    ck_assert_int_eq(status, RLO_UNSUPPORTED); /* too many quotients */
  }
  free(x);
}

RLO_LOOP_TEST(test_quantize__pairs_of_types_and_layouts, 0, 2 * NUM_CODES) {
  test_random random = test_random_begin("test_quantize");
  int32_t runs = 0;
  for (int32_t r = 0; r < NUM_REALS; ++r) {
    for (int32_t n = 0; n < 12; ++n) {
      sample s = {.is_back = _i % 2 != 0, .real = reals[r], .code = codes[_i / 2]};
      if (draw(&random, &s)) {
        expect_as_wanted(&random, &s);
        ++runs;
      }
    }
  }
  ck_assert_int_gt(runs, 10);
}

/* Rows of several chunks of the host's conversions: operands of a row, of each value, of
 * blocks that begin and end within vectors, and of columns in turned arrays. */
RLO_LOOP_TEST(test_quantize__long_rows, 0, 4) {
  static const char *const pairs[][2] = {
      {"f32", "s8"}, {"bf16", "u8"}, {"s8", "f32"}, {"u8", "bf16"}};
  static const char *const scales[] = {"f32[70,1]", "f32[1,1500]", "f32[70,15]", "f32[7,1500]",
                                       "f32[70,1500]"};
  static float lists[2 * 70 * 1500 + 1];
  static uint8_t x[4 * 70 * 1500], y[4 * 70 * 1500 + 3], by_reference[4 * 70 * 1500];
  test_random random = test_random_begin("test_quantize__long_rows");
  for (size_t n = 0; n < sizeof lists / sizeof lists[0]; ++n) {
    lists[n] = (float)test_random_in(&random, -100, 100) / 64.0F;
  }
  for (size_t n = 0; n < sizeof x; ++n) {
    x[n] = (uint8_t)(n % 4 == 3 ? 0x41 : test_random_in(&random, 0, 255));
  }
  for (int32_t way = 0; way < 4; ++way) {
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; ++n) {
      char src_text[32];
      char dst_text[32];
      snprintf(src_text, sizeof src_text, "%s[70,1500]", pairs[_i][0]);
      snprintf(dst_text, sizeof dst_text, "%s[70,1500]%s", pairs[_i][1], way % 2 ? "{0,1}" : "");
      const rlo_shape src = test_shape_of(src_text);
      const rlo_shape dst = test_shape_of(dst_text);
      const rlo_shape by = test_shape_of(scales[n]);
      rlo_quantization q = RLO_QUANTIZATION_INIT;
      q.scales = &by;
      q.has_zero_points = true;
      rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
      expect_ok(_i < 2 ? rlo_combine_options_quantize(&options, dst.dtype, &q)
                       : rlo_combine_options_dequantize(&options, &q));
      expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
      rlo__thresholds.host_past_caches_bytes = way < 2 ? 1 : INT64_MAX;
      /* At no multiple of 4 bytes. */
      const void *list = (const uint8_t *)lists + 1;
      expect_ok(rlo_run_host(&problem, x, list, y + 3, 2));
      expect_ok(rlo_problem_run_host_indexed(&problem, x, list, by_reference));
      ck_assert_mem_eq(y + 3, by_reference, (size_t)problem.dst_bytes);
    }
  }
}

RLO_TEST(test_quantize__ties_go_to_the_even_number_before_the_zero_point) {
  const float x[8] = {0.25F, 0.75F, 1.25F, -0.25F, -0.75F, 1000.0F, -INFINITY, NAN};
  int8_t y[8] = {0};
  rlo_shape src = test_shape_of("f32[8]");
  rlo_shape dst = test_shape_of("s8[8]");
  rlo_quantization q = RLO_QUANTIZATION_INIT;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  q.scale = 0.5;
  q.zero_point = 1;
  expect_ok(rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &q));
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_run_host(&problem, x, NULL, y, 1));
  ck_assert_mem_eq(y, ((int8_t[]){1, 3, 3, 1, -1, 127, -128, 0}), sizeof y);
}

/* By blocks of 2 along the rows, into columns; bias and clamp are steps beside it. */
RLO_TEST(test_quantize__blocks_with_a_bias_and_a_clamp) {
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const float scales[4] = {1, 2, 4, 0.25F};
  uint8_t y[8] = {0};
  rlo_shape src = test_shape_of("f32[2,4]");
  rlo_shape dst = test_shape_of("u8[2,4]{0,1}");
  rlo_shape blocks = test_shape_of("f32[2,2]");
  rlo_quantization q = RLO_QUANTIZATION_INIT;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  q.scales = &blocks;
  options.steps[options.num_steps++] = (rlo_element_step){RLO_ELEMENT_ADD, {1.0}};
  options.steps[options.num_steps++] = (rlo_element_step){RLO_ELEMENT_CLAMP, {2.0, 8.0}};
  expect_ok(rlo_combine_options_quantize(&options, RLO_DTYPE_U8, &q));
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  expect_ok(rlo_run_host(&problem, x, scales, y, 1));
  ck_assert_mem_eq(y, ((uint8_t[]){2, 2, 3, 2, 2, 32, 2, 32}), sizeof y);
}

/* Two blocks of GGUF's q8_0: an f16 scale, then 32 codes, dequantized in place. */
RLO_TEST(test_quantize__structs_are_views_of_planes) {
  uint8_t blocks[2][34];
  uint8_t rebuilt[2][34] = {{0}};
  uint8_t planes[2][34];
  float scales[2];
  float y[64];
  static const uint8_t halves[2][2] = {{0x00, 0x38}, {0x00, 0xc0}}; /* 0.5 and -2 */
  for (int n = 0; n < 68; ++n) {
    blocks[n / 34][n % 34] = n % 34 < 2 ? halves[n / 34][n % 34] : (uint8_t)(n * 37);
  }
  const rlo_shape halves_in = test_shape_of("f16[2,1]{:strides(17,1)}");
  const rlo_shape codes_in = test_shape_of("s8[2,32]{:strides(34,1)offset(2)}");
  const rlo_shape one_each = test_shape_of("f32[2,1]");
  const rlo_shape result = test_shape_of("f32[2,32]");
  rlo_quantization q = RLO_QUANTIZATION_INIT;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  q.scales = &one_each;
  convert(&halves_in, &one_each, NULL, blocks, scales);
  expect_ok(rlo_combine_options_dequantize(&options, &q));
  expect_ok(rlo_relayout_combine(&codes_in, &result, NULL, &options, &problem));
  expect_ok(rlo_run_host(&problem, blocks, scales, y, 1));
  for (int n = 0; n < 64; ++n) {
    const float code = (float)(int8_t)blocks[n / 32][2 + n % 32];
    ck_assert(y[n] == (n < 32 ? 0.5F : -2.0F) * code);
  }
  /* Planes, without a look at values, and back. */
  const rlo_shape halves_plane = test_shape_of("f16[2,1]");
  const rlo_shape codes_plane = test_shape_of("s8[2,32]");
  convert(&halves_in, &halves_plane, NULL, blocks, planes);
  convert(&halves_plane, &halves_in, NULL, planes, rebuilt);
  convert(&codes_in, &codes_plane, NULL, blocks, planes);
  ck_assert_mem_eq(planes, blocks[0] + 2, 32);
  convert(&codes_plane, &codes_in, NULL, planes, rebuilt);
  ck_assert_mem_eq(rebuilt, blocks, sizeof blocks);
}

/* q4_0: 18 bytes, of which each low half is in the first half of the block. */
RLO_TEST(test_quantize__halves_of_bytes_are_elements) {
  uint8_t blocks[3][18];
  uint8_t rebuilt[3][18];
  uint8_t nibbles[96];
  for (int n = 0; n < 54; ++n) {
    blocks[n / 18][n % 18] = (uint8_t)(n * 91 + 5);
  }
  const rlo_shape in = test_shape_of("u4[3,2,16]{:E(4)strides(36,1,2)offset(4)}");
  const rlo_shape plane = test_shape_of("u4[3,2,16]");
  convert(&in, &plane, NULL, blocks, nibbles);
  for (int n = 0; n < 96; ++n) {
    ck_assert_int_eq(nibbles[n], blocks[n / 32][2 + n % 16] >> (n % 32 < 16 ? 0 : 4) & 15);
  }
  memcpy(rebuilt, blocks, sizeof blocks);
  for (int n = 0; n < 54; ++n) {
    rebuilt[n / 18][n % 18] = n % 18 < 2 ? blocks[n / 18][n % 18] : 0xff;
  }
  convert(&plane, &in, NULL, nibbles, rebuilt);
  ck_assert_mem_eq(rebuilt, blocks, sizeof blocks);
}

RLO_TEST(test_quantize__refusals) {
  rlo_shape src = test_shape_of("f32[6,4]");
  rlo_shape dst = test_shape_of("s8[6,4]");
  rlo_shape scales = test_shape_of("f32[4,1]");
  rlo_quantization q = RLO_QUANTIZATION_INIT;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  expect_refusal(rlo_combine_options_quantize(&options, RLO_DTYPE_F16, &q), RLO_UNSUPPORTED,
                 "nothing is quantized to f16; it takes an integer, or a float of at most 8 bits "
                 "that has a zero");
  q.zero_point = 128;
  expect_refusal(rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &q), RLO_INVALID_ARGUMENT,
                 "a zero point of 128 for s8; it is an integer from -128 to 127");
  q.zero_point = 0;
  q.scale = (double)INFINITY;
  expect_refusal_with(rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &q),
                      RLO_INVALID_ARGUMENT, "scale");
  q.scales = &scales;
  expect_ok(rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &q));
  expect_refusal(rlo_relayout_combine(&src, &dst, NULL, &options, &problem), RLO_INVALID_ARGUMENT,
                 "dimension 0 has 4 operands, which does not divide the destination's 6");
  scales.rank = 1;
  expect_refusal(rlo_relayout_combine(&src, &dst, NULL, &options, &problem), RLO_INVALID_ARGUMENT,
                 "operands of rank 1 for a destination of rank 2");
  q.has_zero_points = true;
  expect_refusal(rlo_combine_options_quantize(&options, RLO_DTYPE_F8E5M2, &q), RLO_INVALID_ARGUMENT,
                 "values of type f8e5m2 have no zero points");
  expect_refusal_with(rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &q),
                      RLO_INVALID_ARGUMENT, "more are appended; the limit is 4");
  ck_assert_int_eq(options.num_steps, 2);
  expect_refusal_with(rlo_relayout_combine(&dst, &dst, NULL, &options, &problem),
                      RLO_INVALID_ARGUMENT, "rank 1");
  options.operand = &src;
  expect_refusal(rlo_relayout_combine(&dst, &dst, NULL, &options, &problem), RLO_UNSUPPORTED,
                 "numbers of type s8 are not divided by an operand; real floats are");
}
