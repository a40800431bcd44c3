/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/family.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"

/* Problems that compute, on the device and on the host: equal in every bit. */

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(600);

static rlo_problem problem;

/* Types that devices compute with; one more of them cannot be written. */
static const rlo_dtype types[] = {RLO_DTYPE_PRED,     RLO_DTYPE_S4,         RLO_DTYPE_U4,
                                  RLO_DTYPE_S8,       RLO_DTYPE_U8,         RLO_DTYPE_S16,
                                  RLO_DTYPE_U16,      RLO_DTYPE_S32,        RLO_DTYPE_U32,
                                  RLO_DTYPE_S64,      RLO_DTYPE_U64,        RLO_DTYPE_F16,
                                  RLO_DTYPE_BF16,     RLO_DTYPE_F32,        RLO_DTYPE_F64,
                                  RLO_DTYPE_F8E5M2,   RLO_DTYPE_F8E4M3,     RLO_DTYPE_F8E3M4,
                                  RLO_DTYPE_F8E4M3FN, RLO_DTYPE_F8E5M2FNUZ, RLO_DTYPE_F8E4M3B11FNUZ,
                                  RLO_DTYPE_F6E3M2FN, RLO_DTYPE_F6E2M3FN,   RLO_DTYPE_F4E2M1FN,
                                  RLO_DTYPE_C64,      RLO_DTYPE_C128,       RLO_DTYPE_F8E8M0FNU};

enum {
  NUM_TYPES = (int)(sizeof types / sizeof types[0]),
  NUM_DST_TYPES = NUM_TYPES - 1,
  /** Every pattern of 16 bits. */
  NUM_VALUES = 65536
};

static bool is_complex(rlo_dtype dtype) {
  return rlo_dtype_is_complex(dtype);
}

/* The bits of a double near an edge: powers of two, what lies in the middle of
 * two of them in a smaller format, and their neighbours. */
static uint64_t edge_of_double(test_random *random) {
  int64_t exponent = test_random_in(random, -1080, 1030);
  if (test_random_once_in(random, 2)) {
    exponent = test_random_in(random, -160, 140);
  }
  int64_t field = exponent + 1023;
  field = field < 0 ? 0 : field > 2047 ? 2047 : field;
  uint64_t mantissa =
      test_random_bits(random) & ~((UINT64_C(1) << test_random_in(random, 0, 52)) - 1);
  mantissa &= (UINT64_C(1) << 52) - 1;
  uint64_t bits = (uint64_t)field << 52 | mantissa;
  bits += (uint64_t)test_random_in(random, -1, 1);
  return bits ^ (test_random_bits(random) & UINT64_C(1) << 63);
}

static uint64_t edge_of_float(test_random *random) {
  uint64_t field = (uint64_t)test_random_in(random, 0, 255);
  uint64_t mantissa =
      test_random_bits(random) & ~((UINT64_C(1) << test_random_in(random, 0, 23)) - 1);
  uint64_t bits = field << 23 | (mantissa & 0x7fffff);
  bits += (uint64_t)test_random_in(random, -1, 1);
  return (bits ^ (test_random_bits(random) & 0x80000000u)) & 0xffffffffu;
}

/* Few leading bits, such as those of a number in the middle of two of a smaller
 * format, and its neighbours. */
static uint64_t edge_of_integer(test_random *random) {
  int64_t first = test_random_in(random, 0, 63);
  int64_t last = test_random_in(random, first < 12 ? 0 : first - 12, first);
  uint64_t bits = UINT64_C(1) << first;
  bits |= test_random_bits(random) & (bits - (UINT64_C(1) << last));
  bits += (uint64_t)test_random_in(random, -2, 2);
  return test_random_once_in(random, 2) ? bits : 0 - bits;
}

/* One value of a type of 32 or 64 bits. */
static uint64_t edge(test_random *random, rlo_dtype dtype) {
  if (test_random_once_in(random, 4)) {
    return test_random_bits(random);
  }
  if (rlo_dtype_is_integral(dtype)) {
    return edge_of_integer(random);
  }
  return rlo_dtype_value_bits(dtype) == 64 && !is_complex(dtype) ? edge_of_double(random)
                                                                 : edge_of_float(random);
}

/* `count` values: every pattern where there are that many or fewer. */
static void fill_with_values(test_random *random, rlo_dtype dtype, int64_t count, uint8_t *memory) {
  int64_t bytes = rlo_dtype_storage_bits(dtype) / 8;
  int64_t part_bytes = is_complex(dtype) ? bytes / 2 : bytes;
  rlo_dtype part = is_complex(dtype) ? rlo_dtype_complex_component(dtype) : dtype;
  for (int64_t k = 0; k < count * bytes / part_bytes; ++k) {
    uint64_t bits = part_bytes <= 2 ? (uint64_t)k : edge(random, part);
    memcpy(memory + k * part_bytes, &bits, (size_t)part_bytes);
  }
}

/* Moderate numbers, whose sums have something to round; integers of any size,
 * half of them near an edge. */
static void fill_with_numbers(test_random *random, rlo_dtype dtype, int64_t bytes,
                              uint8_t *memory) {
  rlo_dtype part = is_complex(dtype) ? rlo_dtype_complex_component(dtype) : dtype;
  int64_t part_bytes = rlo_dtype_storage_bits(part) / 8;
  for (int64_t k = 0; k < bytes / part_bytes; ++k) {
    uint64_t bits = test_random_bits(random);
    if (part == RLO_DTYPE_F32) {
      bits = (bits & 0x807fffffu) | (uint64_t)test_random_in(random, 115, 137) << 23;
    } else if (part == RLO_DTYPE_F64) {
      bits = (bits & UINT64_C(0x800fffffffffffff)) | (uint64_t)test_random_in(random, 1010, 1035)
                                                         << 52;
    } else if (part_bytes >= 4 && test_random_once_in(random, 2)) {
      bits = edge_of_integer(random);
    }
    memcpy(memory + k * part_bytes, &bits, (size_t)part_bytes);
  }
}

static test_outcome run(const char *words, const void *src, const void *dst, const char *family,
                        rlo_device_class device_class, int64_t shift) {
  test_case c = {.family = family,
                 .device_class = device_class,
                 .src_shift_bytes = shift * (problem.unit_bits / 8),
                 .dst_shift_bytes = shift * (rlo_problem_dst_unit_bits(&problem) / 8),
                 .src_content = src,
                 .dst_content = dst};
  return test_device_run_problem(&device, &problem, &c, words, NULL);
}

/* All pairs with these are tried, of the others one in three. */
static bool is_common(rlo_dtype dtype) {
  return dtype == RLO_DTYPE_F16 || dtype == RLO_DTYPE_BF16 || dtype == RLO_DTYPE_F32 ||
         dtype == RLO_DTYPE_S32;
}

/* Integers that f32 does not hold, to a type of fewer bits than it and of its
 * range: rounded by way of f32, they would be rounded twice. */
static bool is_rounded_once(rlo_dtype from, rlo_dtype to) {
  return from == RLO_DTYPE_S32 && to == RLO_DTYPE_BF16;
}

/* Type to type, with all patterns or the edges of larger types. */
RLO_LOOP_TEST(test_device_compute__conversions_are_exact, 0, NUM_TYPES) {
  test_random random = test_random_begin("test_device_compute");
  rlo_dtype from = types[_i];
  int64_t dim = NUM_VALUES;
  rlo_shape src = test_shape_make(from, &dim, 1);
  uint8_t *values = malloc(NUM_VALUES * 16);
  ck_assert_ptr_nonnull(values);
  fill_with_values(&random, from, NUM_VALUES, values);
  int failures = 0;
  for (int t = 0; t < NUM_DST_TYPES; ++t) {
    if (is_complex(from) != is_complex(types[t]) ||
        (!is_common(from) && !is_common(types[t]) && (t + _i) % 3 != 0) ||
        ((t + _i) % test_case_count(1, 6, 6) != 0 && !is_rounded_once(from, types[t]))) {
      continue;
    }
    rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
    char words[64];
    snprintf(words, sizeof words, "%s to %s", rlo_dtype_name(from), rlo_dtype_name(types[t]));
    rlo_shape dst = test_shape_make(types[t], &dim, 1);
    expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
    /* Every second one, which changes nothing but the time it takes. */
    test_device_optimise((t + _i) / 6 % 2 == 0);
    failures += run(words, values, NULL, "compute", RLO_DEVICE_CLASS_CPU, 0) == TEST_FAILED;
  }
  test_device_optimise(true);
  free(values);
  ck_assert_int_eq(failures, 0);
}

/* Real numbers of complex ones, and back. A device takes the parts one by one;
 * a pred asks for both. And fills and skipped cells in tiles of GPUs. */
static const struct {
  const char *src;
  const char *dst;
  double alpha;
  test_outcome outcome;
  bool is_gpu_tile;
} pairs[] = {
    {"c64[20,9]{1,0}", "f32[20,9]{0,1:T(4,8)}", 2.0, TEST_RAN, false},
    {"f32[20,9]{1,0}", "c64[20,9]{0,1:T(4,8)fill(zero)}", 1, TEST_RAN, false},
    {"f32[9]{0}", "c64[9]{0}", 2.0, TEST_REFUSED, false},
    {"f32[9]{0}", "c64[9]{0:T(4)fill(one)}", 1.0, TEST_REFUSED, false},
    {"c64[9]{0}", "pred[9]{0}", 1.0, TEST_REFUSED, false},
    {"f32[99,70]{1,0}", "f16[99,70]{0,1:pad(100,72)fill(one)}", 1.0, TEST_RAN, true},
    {"f32[20,300]{1,0}", "bf16[20,300]{1,0:T(8,128)fill(one)}", 2.0, TEST_RAN, true},
    {"f32[20,300]{1,0:T(8,128)}", "bf16[20,300]{0,1}", 1.0, TEST_RAN, true},
};

RLO_TABLE_TEST(test_device_compute__pairs_of_layouts_are_exact, pairs) {
  test_random random = test_random_begin("test_device_compute");
  const rlo_shape src = test_shape_of(pairs[_i].src);
  const rlo_shape dst = test_shape_of(pairs[_i].dst);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = pairs[_i].alpha;
  expect_ok(rlo_relayout_combine(&src, &dst, NULL, &options, &problem));
  uint8_t *values = malloc((size_t)problem.src_bytes + 16);
  uint8_t *before = calloc(1, (size_t)problem.dst_bytes + 16);
  ck_assert(values != NULL && before != NULL);
  fill_with_numbers(&random, src.dtype, problem.src_bytes, values);
  bool is_tile = pairs[_i].is_gpu_tile;
  test_device_optimise(false);
  test_outcome outcome = run(pairs[_i].dst, values, before, is_tile ? "compute_tile" : "compute",
                             is_tile ? RLO_DEVICE_CLASS_GPU : RLO_DEVICE_CLASS_AUTO, 0);
  test_device_optimise(true);
  free(values);
  free(before);
  ck_assert_int_eq(outcome, pairs[_i].outcome);
}

static double random_factor(test_random *random, bool is_whole) {
  static const double factors[] = {1.0, 0.0, -1.0, 2.0, 0.3, -1.7e-3, 5.5};
  double factor = factors[test_random_in(random, 0, 6)];
  return is_whole ? (double)(int64_t)factor : factor;
}

static bool is_whole(rlo_dtype dtype) {
  return rlo_dtype_is_integral(dtype) || dtype == RLO_DTYPE_PRED;
}

/* Drawn until the second is complex only if the first is, and no pred then;
 * each with a zero, for fills. */
static void random_types(test_random *random, rlo_dtype *src, rlo_dtype *dst) {
  do {
    *src = types[test_random_in(random, 0, NUM_DST_TYPES - 1)];
    *dst =
        test_random_once_in(random, 3) ? *src : types[test_random_in(random, 0, NUM_DST_TYPES - 1)];
  } while (is_complex(*src) ? *dst == RLO_DTYPE_PRED : is_complex(*dst));
}

static rlo_combine_options random_options(test_random *random, rlo_dtype src, rlo_dtype dst,
                                          int32_t rank) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  bool whole = is_whole(src) && is_whole(dst);
  if (!test_random_once_in(random, 3)) {
    options.alpha = random_factor(random, whole);
    options.beta = random_factor(random, whole);
  }
  if (!whole && test_random_once_in(random, 8)) {
    options.compute_type = RLO_DTYPE_F64;
  }
  if (test_random_once_in(random, 4) && !is_complex(src) && !is_complex(dst) &&
      !(whole && (src == RLO_DTYPE_U64 || dst == RLO_DTYPE_U64))) {
    const double low = random_factor(random, whole);
    options.num_steps = 1;
    options.steps[0] = (rlo_element_step){
        RLO_ELEMENT_CLAMP, {test_random_once_in(random, 4) ? (double)-INFINITY : low, low + 6.0}};
  }
  if (rank > 0 && test_random_once_in(random, 4)) {
    options.steps[options.num_steps++] = (rlo_element_step){RLO_ELEMENT_SCALE_BY, {0.0}};
    options.operand_dim = (int32_t)test_random_in(random, 0, rank - 1);
  }
  return options;
}

/* Now and then steps of a quantization, with operands of blocks of the destination. */
static void draw_quantization(test_random *random, const rlo_shape *dst, rlo_shape *operands,
                              rlo_combine_options *options) {
  static const rlo_element_op ops[] = {RLO_ELEMENT_DIVIDE_BY, RLO_ELEMENT_ROUND, RLO_ELEMENT_ADD_BY,
                                       RLO_ELEMENT_DIVIDE, RLO_ELEMENT_ADD};
  if (!test_random_once_in(random, 3)) {
    return;
  }
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < dst->rank; ++k) {
    do {
      dims[k] = test_random_in(random, 1, dst->dims[k]);
    } while (dims[k] > 0 && dst->dims[k] % dims[k] != 0);
  }
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, dst->rank, operands));
  *options = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  options->operand = operands;
  const int32_t first = (int32_t)test_random_in(random, 0, 4);
  options->num_steps = (int32_t)test_random_in(random, 1, 3);
  for (int32_t n = 0; n < options->num_steps; ++n) {
    options->steps[n] = (rlo_element_step){ops[(first + n) % 5], {random_factor(random, false)}};
  }
}

/* By every family that takes it, drawn; at least one does. */
static test_outcome run_somehow(test_random *random, const char *words) {
  bool is_moderate = test_random_once_in(random, 2);
  size_t src_bytes = (size_t)problem.src_bytes;
  size_t dst_bytes = (size_t)problem.dst_bytes;
  /* Zeroed: what is left behind whole elements is compared, too. */
  uint8_t *src = calloc(1, src_bytes + dst_bytes + 64);
  ck_assert_ptr_nonnull(src);
  uint8_t *dst = src + src_bytes;
  bool computes = problem.update == RLO_UPDATE_COMBINE;
  rlo_dtype from = computes ? problem.arithmetic.src_type : RLO_DTYPE_U8;
  rlo_dtype to = computes ? problem.arithmetic.dst_type : RLO_DTYPE_U8;
  if (is_moderate) {
    fill_with_numbers(random, from, problem.src_bytes, src);
    fill_with_numbers(random, to, problem.dst_bytes, dst);
  } else {
    fill_with_values(random, from, problem.src_bytes * 8 / problem.unit_bits, src);
    fill_with_values(random, to, problem.dst_bytes * 8 / rlo_problem_dst_unit_bits(&problem), dst);
  }
  int32_t first = (int32_t)test_random_in(random, 0, rlo__num_families - 1);
  int64_t shift = test_random_once_in(random, 2) ? 0 : test_random_in(random, 0, 70);
  test_outcome outcome = TEST_REFUSED;
  for (int32_t f = 0; outcome == TEST_REFUSED && f < rlo__num_families; ++f) {
    const rlo__family *forced = rlo__families[(first + f) % rlo__num_families];
    outcome = run(words, src, dst, forced->name, forced->device_class, shift);
  }
  free(src);
  return outcome;
}

RLO_TEST(test_device_compute__random_layouts_are_exact) {
  const int32_t cases = test_case_count(40, 20, 10);
  test_device_optimise(false);

  test_random random = test_random_begin("test_device_compute");
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    rlo_dtype from;
    rlo_dtype to;
    random_types(&random, &from, &to);
    rlo_shape src;
    rlo_shape dst;
    rlo_shape unused;
    int32_t permutation[RLO_MAX_RANK];
    int32_t rank = (int32_t)test_random_in(&random, 0, 5);
    test_random_pair(&random, from, rank, 6000, &src, &unused, permutation);
    dst = test_random_shape(&random, to, unused.dims, rank, TEST_ALL);
    rlo_combine_options options = random_options(&random, from, to, rank);
    rlo_shape operands;
    draw_quantization(&random, &dst, &operands, &options);
    rlo_status status = rlo_relayout_combine(&src, &dst, permutation, &options, &problem);
    if (status == RLO_UNSUPPORTED || status == RLO_INVALID_ARGUMENT) {
      continue; /* too many axes; strides that collide */
    }
    expect_ok(status);
    char words[96];
    snprintf(words, sizeof words, "%s to %s, alpha %g, beta %g, %d steps", rlo_dtype_name(from),
             rlo_dtype_name(to), options.alpha, options.beta, (int)options.num_steps);
    ck_assert_msg(run_somehow(&random, words) != TEST_FAILED,
                  "case %d: RELAYOUT_TEST_SEED=%llu makes it the first", (int)i,
                  (unsigned long long)case_seed);
  }
}

static bool is_addable(rlo_dtype dtype) {
  return dtype != RLO_DTYPE_PRED && !(rlo_dtype_is_integral(dtype) && rlo_dtype_is_sub_byte(dtype));
}

RLO_TEST(test_device_compute__random_sums_are_exact) {
  const int32_t cases = test_case_count(40, 20, 10);
  test_device_optimise(false);

  static const int64_t sizes[] = {1, 2, 3, 7, 16, 17, 40, 300, 1100, 2500};
  test_random random = test_random_begin("test_device_compute");
  int32_t num_ran = 0;
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    rlo_dtype from;
    rlo_dtype to;
    do {
      random_types(&random, &from, &to);
    } while (!is_addable(from));
    int32_t rank = (int32_t)test_random_in(&random, 1, 4);
    int64_t dims[4];
    int64_t elements = 1;
    for (int32_t k = 0; k < rank; ++k) {
      do {
        dims[k] = sizes[test_random_in(&random, 0, 9)];
      } while (elements * dims[k] > 50000);
      elements *= dims[k];
    }
    rlo_shape src = test_random_shape(&random, from, dims, rank, TEST_ALL);
    int32_t summed[4];
    int32_t count = 0;
    for (int32_t k = 0; k < rank; ++k) {
      if (test_random_once_in(&random, 2)) {
        summed[count++] = k;
      }
    }
    rlo_problem_list *problems = NULL;
    rlo_chain *chain = test_chain_of(&src);
    expect_ok(rlo_chain_sum(chain, summed, count, test_random_once_in(&random, 2)));
    const rlo_shape *result = rlo_chain_shape(chain);
    rlo_shape dst = test_random_shape(&random, to, result->dims, result->rank, TEST_ALL);
    rlo_combine_options options = random_options(&random, from, to, result->rank);
    rlo_status status = rlo_chain_combine(chain, &dst, &options, &problems);
    if (status == RLO_OK && rlo_problem_list_count(problems) == 1) {
      problem = *rlo_problem_list_get(problems, 0);
      char words[96];
      snprintf(words, sizeof words, "%s to %s, summed over %d of %d dimensions",
               rlo_dtype_name(from), rlo_dtype_name(to), (int)count, (int)rank);
      test_outcome outcome = run_somehow(&random, words);
      num_ran += outcome == TEST_RAN;
      ck_assert_msg(outcome != TEST_FAILED, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first",
                    (int)i, (unsigned long long)case_seed);
    }
    rlo_problem_list_release(problems);
    rlo_chain_release(chain);
  }
  printf("%d of %d sums ran\n", (int)num_ran, (int)cases);
  ck_assert_int_gt(num_ran, cases / 2);
}

/* The families of the CPU class for planes, rows and sums, forced: ragged and
 * whole tiles, with and without what was there. */
typedef struct forced_case {
  const char *family;
  rlo_dtype from, to;
  int64_t dims[3];
  bool is_turned;
  /** A dimension, or -1. */
  int32_t summed;
  double beta;
} forced_case;

// clang-format off
static const forced_case forced_cases[] = {
    {"compute_tile", RLO_DTYPE_F32, RLO_DTYPE_BF16,
     {1, 200, 131}, true, -1, 0.0},
    {"compute_tile", RLO_DTYPE_F32, RLO_DTYPE_F32,
     {2, 129, 64}, true, -1, -0.5},
    {"compute_tile", RLO_DTYPE_F64, RLO_DTYPE_F16, {3, 16, 16}, true, -1, 1.0},
    {"compute_tile", RLO_DTYPE_S32, RLO_DTYPE_U8, {1, 9, 300}, true, -1, 3.0},
    {"compute_tile", RLO_DTYPE_S64, RLO_DTYPE_BF16,
     {1, 260, 90}, true, -1, 0.0},
    {"compute_tile", RLO_DTYPE_U8, RLO_DTYPE_F64, {1, 90, 520}, true, -1, 0.0},
    {"compute_rows", RLO_DTYPE_F32, RLO_DTYPE_BF16,
     {1, 300, 1000}, false, -1, 0.0},
    {"compute_rows", RLO_DTYPE_BF16, RLO_DTYPE_F32,
     {1, 1, 600001}, false, -1, 0.0},
    {"compute_rows", RLO_DTYPE_F32, RLO_DTYPE_F32,
     {1, 70, 333}, false, -1, 1.0},
    {"compute_rows", RLO_DTYPE_F64, RLO_DTYPE_S64, {1, 7, 500}, false, -1, 0.0},
    {"compute_sum", RLO_DTYPE_F32, RLO_DTYPE_F32,
     {1, 1500, 300}, false, 1, 0.0},
    /* Four blocks in turns, two, and what is left. */
    {"compute_sum", RLO_DTYPE_F32, RLO_DTYPE_F32,
     {1, 5127, 33}, false, 1, 0.0},
    {"compute_sum", RLO_DTYPE_F32, RLO_DTYPE_F32,
     {1, 5127, 300}, false, 1, 0.0},
    {"compute_sum", RLO_DTYPE_F32, RLO_DTYPE_F32, {1, 37, 2500}, false, 2, 0.5},
    {"compute_sum", RLO_DTYPE_BF16, RLO_DTYPE_BF16,
     {5, 30, 700}, false, 0, 1.0},
    {"compute_sum", RLO_DTYPE_S16, RLO_DTYPE_S64, {2, 50, 70}, false, 2, 0.0},
};

// clang-format on

static void run_forced(forced_case c, rlo_device_class device_class) {
  for (int k = 0; test_is_short() && k < 3; ++k) {
    c.dims[k] = c.dims[k] > 36 ? 19 + c.dims[k] % 17 : c.dims[k];
  }
  test_random random = test_random_begin("test_device_compute");
  rlo_problem_list *problems = NULL;
  rlo_shape src = test_shape_make(c.from, c.dims, 3);
  rlo_chain *chain = test_chain_of(&src);
  if (c.is_turned) {
    expect_ok(rlo_chain_transpose(chain, (const int32_t[]){0, 2, 1}));
  }
  if (c.summed >= 0) {
    expect_ok(rlo_chain_sum(chain, &c.summed, 1, true));
  }
  rlo_shape dst = test_shape_make(c.to, rlo_chain_shape(chain)->dims, 3);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.beta = c.beta;
  expect_ok(rlo_chain_combine(chain, &dst, &options, &problems));
  problem = *rlo_problem_list_get(problems, 0);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  uint8_t *x = malloc((size_t)(problem.src_bytes + problem.dst_bytes));
  ck_assert_ptr_nonnull(x);
  uint8_t *y = x + problem.src_bytes;
  fill_with_numbers(&random, c.from, problem.src_bytes, x);
  fill_with_numbers(&random, c.to, problem.dst_bytes, y);
  for (int64_t shift = 0; shift <= 3; shift += 3) {
    ck_assert_int_eq(run(c.family, x, y, c.family, device_class, shift), TEST_RAN);
  }
  free(x);
}

RLO_TABLE_TEST(test_device_compute__families_are_exact, forced_cases) {
  /* Every second one: others have the same constants. */
  test_device_optimise(_i % 2 == 0);
  if (!test_device_is_gpu(&device)) {
    run_forced(forced_cases[_i], RLO_DEVICE_CLASS_CPU);
  }
}

/* Those of the GPU class, for a device of many compute units, or small groups.
 * Sums: several blocks at a time and several passes, few terms, few cells.
 * Tiles: whole and cut ones, what is left of rows; wide and narrow units. */
// clang-format off
static const struct {
  int64_t work_group_items;
  forced_case c;
} gpu_cases[] = {
    {1024, {"compute_sum", RLO_DTYPE_F32, RLO_DTYPE_F32, {1, 3, 40001}, false,
            2, 0.5}},
    {100, {"compute_sum", RLO_DTYPE_BF16, RLO_DTYPE_BF16, {5, 30, 700}, false,
           0, 1.0}},
    {1024, {"compute_sum", RLO_DTYPE_F64, RLO_DTYPE_F64, {1, 5000, 6}, false, 1,
            0.0}},
    {1, {"compute_sum", RLO_DTYPE_S16, RLO_DTYPE_S64, {2, 50, 70}, false, 2,
         0.0}},
    {1024, {"compute_tile", RLO_DTYPE_F32, RLO_DTYPE_F32, {1, 132, 200}, true,
            -1, -0.5}},
    {100, {"compute_tile", RLO_DTYPE_U8, RLO_DTYPE_F64, {1, 90, 260}, true, -1,
           0.0}},
    {1024, {"compute_tile", RLO_DTYPE_F32, RLO_DTYPE_BF16, {1, 7, 1001}, false,
            -1, 0.0}},
    {1, {"compute_tile", RLO_DTYPE_F64, RLO_DTYPE_S16, {1, 5, 71}, false, -1,
         3.0}},
};

// clang-format on

RLO_TABLE_TEST(test_device_compute__gpu_families_are_exact, gpu_cases) {
  rlo_device_info *info = &device.context->device_info;
  const rlo_device_info own = *info;
  info->compute_units = 132;
  info->max_work_group_items = rlo__min(info->max_work_group_items, gpu_cases[_i].work_group_items);
  test_device_optimise(false);
  run_forced(gpu_cases[_i].c, RLO_DEVICE_CLASS_GPU);
  *info = own;
}

/* A sum some of whose points a guard skips: the adjoint of a slice of what was
 * read several times. */
RLO_TEST(test_device_compute__skips_points_of_a_sum) {
  test_random random = test_random_begin("test_device_compute");
  rlo_problem_list *problems = NULL;
  rlo_shape src = test_shape_make(RLO_DTYPE_F32, (int64_t[]){4, 5}, 2);
  rlo_chain *chain = test_chain_of(&src);
  expect_ok(rlo_chain_tile(chain, (int64_t[]){3, 3}));
  expect_ok(rlo_chain_reshape(chain, (int64_t[]){180}, 1));
  expect_ok(rlo_chain_slice(chain, (int64_t[]){0}, (int64_t[]){100}, NULL));
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, 0), RLO_DTYPE_F32, &problem));
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  ck_assert(rlo_problem_is_sum(&problem));
  int32_t num_skips = 0;
  for (int32_t g = 0; g < problem.num_guards; ++g) {
    num_skips += problem.guards[g].kind == RLO_GUARD_SKIP;
  }
  ck_assert_int_gt(num_skips, 0);
  float dy[100];
  float dx[20];
  fill_with_numbers(&random, RLO_DTYPE_F32, sizeof dy, (uint8_t *)dy);
  fill_with_numbers(&random, RLO_DTYPE_F32, sizeof dx, (uint8_t *)dx);
  ck_assert_int_eq(run("adjoint of a slice", dy, dx, "compute", RLO_DEVICE_CLASS_AUTO, 0),
                   TEST_RAN);
}
