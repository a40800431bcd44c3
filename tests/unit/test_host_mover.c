/* SPDX-License-Identifier: Apache-2.0 */
#include "host/mover.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "relayout/ops.h"
#include "support/device_table.h"
#include "support/host_moves.h"
#include "support/random_problem.h"
#include "support/shape_of.h"
#include "support/short_memory.h"
#include "support/suite.h"

static rlo_problem problem;

static const int64_t vector_bytes[] = {64, 1, 32, 16};

enum { NUM_VECTORS = sizeof vector_bytes / sizeof vector_bytes[0] };

RLO_TIMEOUT(100);

/** The problem of a pair, of a type as test_dtypes and others. */
static void lower(const test_pair *pair, const char *dtype) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(pair, dtype, &src, &dst, permutation);
  ck_assert_msg(rlo_relayout_lower(&src, &dst, permutation, &problem) == RLO_OK, "%s to %s: %s",
                pair->src, pair->dst, rlo_error_last()->message);
}

/** Runs the problem with each set of instructions, through the caches and past
 *  them, in other shares and at another alignment each time; or in one of these
 *  ways, and in the usual one. */
static void expect_ways(int number, bool is_all, const char *words) {
  for (int way = 0; way < 2 * NUM_VECTORS; ++way) {
    if (!is_all && way != 0 && way != 1 + number % (2 * NUM_VECTORS - 1)) {
      continue;
    }
    char text[256];
    int turn = number + way;
    test_host_move move = {.problem = &problem,
                           .past_caches_bytes = way % 2 == 0 ? 1 : INT64_MAX,
                           .vector_bytes = vector_bytes[way / 2],
                           .num_shares = 1 + turn % 3,
                           .is_at_end = number % 2 == 0,
                           .src_shift = turn % 5 * 7,
                           .dst_shift = turn % 3 == 0 ? 0 : turn % 7 * 12 + turn % 2};
    snprintf(text, sizeof text, "%s, vectors of %d, %s, %d shares, shifts %d and %d", words,
             (int)move.vector_bytes, way % 2 == 0 ? "past caches" : "through caches",
             (int)move.num_shares, (int)move.src_shift, (int)move.dst_shift);
    test_host_expect(&move, text);
  }
}

static void expect_pair(const test_pair *pair, const char *dtype, int number) {
  char words[160];
  lower(pair, dtype);
  snprintf(words, sizeof words, "%s of %s to %s (%s)", dtype, pair->src, pair->dst,
           pair->permutation);
  expect_ways(number, pair->is_small, words);
}

RLO_LOOP_TEST(test_host_mover__moves_the_pairs_of_the_kernels, 0, 5) {
  for (int32_t p = 0; p < test_num_pairs; ++p) {
    expect_pair(&test_pairs[p], test_dtypes[_i], p + _i);
  }
}

/* Pairs that stress the mover's own code: sides of several axes, cells of odd
 * lengths, a few streams, tiles whose columns touch, long cells. */
static const test_pair own_pairs[] = {
    {"?[3,20,31,3]", "?[3,3,20,31]", "0,3,1,2", true},
    {"?[3,3,20,31]", "?[3,20,31,3]", "0,2,3,1", true},
    {"?[2,5001,3]", "?[2,3,5001]{:strides(15360,5120,1)}", "0,2,1", false},
    {"?[3,200,90]", "?[90,3,200]{:strides(1024,320,1)}", "2,0,1", false},
    {"?[5,70,64]", "?[64,5,70]", "2,0,1", false},
    {"?[5,70,64]", "?[64,70,5]", "2,1,0", false},
    {"?[2,3000]", "?[3000,2]", "1,0", true},
    {"?[3000,7]", "?[7,3000]", "1,0", false},
    {"?[9,3000]", "?[3000,9]", "1,0", false},
    {"?[8,3000]", "?[3000,8]", "1,0", false},
    {"?[12,9,40,5]", "?[40,9,12,5]", "2,1,0,3", false},
    {"?[300,4,4]", "?[300,4,4]", "0,2,1", true},
    {"?[131,3,5]", "?[131,5,3]", "0,2,1", false},
    {"?[75,7,9]", "?[75,9,7]", "0,2,1", false},
    {"?[90,2,3,4]", "?[90,4,2,3]", "0,3,1,2", false},
    {"?[9,20,4,2]", "?[20,9,2,4]", "1,0,3,2", true},
    {"?[9,20,16]", "?[9,20,16]{:strides(384,16,1)}", "0,1,2", true},
    {"?[211,6]{:strides(6,-1)offset(5)}", "?[211,6]", "", true},
    {"?[99,4,6]{:strides(25,1,4)}", "?[99,4,6]{:strides(26,6,1)}", "", true},
    {"?[40,3,17,11]", "?[17,3,40,11]", "2,1,0,3", false},
    {"?[4,5,1000]", "?[5,4,1000]", "1,0,2", false},
    {"?[3,2,8240]", "?[2,3,8240]", "1,0,2", false},
    {"?[6,5,64]", "?[5,6,64]{:strides(512,80,1)}", "1,0,2", true},
    {"?[6,5,64]", "?[5,6,64]{:strides(1024,128,1)}", "1,0,2", true},
    {"?[6,8,300,2]", "?[300,8,6,2]", "2,1,0,3", false},
    {"?[17,80]{:strides(160,2)}", "?[80,17]", "1,0", true},
    {"?[17,80]", "?[80,17]{:strides(34,2)}", "1,0", true},
    {"?[17,80]{:strides(1,-17)offset(1343)}", "?[17,80]", "", true},
    {"?[50,90]{:strides(1,0)}", "?[50,90]", "", true},
    {"?[50,90]{:strides(0,1)}", "?[90,50]{:strides(57,1)}", "1,0", true},
    {"?[300,70]", "?[300,70]{0,1:pad(320,80)fill(one)}", "", false},
    {"?[300,70]{0,1:pad(320,80)}", "?[300,70]", "", false},
    {"?[37,200]", "?[37,200]{1,0:T(8,128)(2,1)fill(one)}", "", true},
    {"?[200,37]", "?[200,37]{0,1:T(8,128)fill(zero)}", "", true},
    {"?[100,70,30]", "?[100,70,30]{0,1,2:T(4,8,16)fill(one)}", "", false},
    {"?[1]", "?[1]{0:pad(70000)fill(one)}", "", true},
    {"?[601,531]", "?[531,601]", "1,0", false},
    {"?[5,301,603]", "?[301,5,603]{:strides(3045,607,1)}", "1,0,2", false},
    {"?[601,131]", "?[131,601]{1,0:T(8,128)fill(zero)}", "1,0", false},
};

enum { NUM_OWN_PAIRS = sizeof own_pairs / sizeof own_pairs[0] };

RLO_LOOP_TEST(test_host_mover__moves_its_own_pairs, 0, 5) {
  for (int32_t p = 0; p < NUM_OWN_PAIRS; ++p) {
    expect_pair(&own_pairs[p], test_dtypes[_i], p + _i);
  }
}

/** Packs the elements of a shape. */
static void pack(rlo_shape *shape, int64_t bits) {
  const rlo_shape whole = *shape;
  rlo_layout layout = whole.layout;
  layout.element_size_bits = bits;
  ck_assert_int_eq(rlo_shape_make_with_layout(whole.dtype, whole.dims, whole.rank, &layout, shape),
                   RLO_OK);
}

RLO_LOOP_TEST(test_host_mover__moves_units_of_less_than_a_byte, 0, 3) {
  static const char *const types[] = {"u1", "u2", "u4"};
  for (int32_t p = 0; p < test_num_pairs + NUM_OWN_PAIRS; ++p) {
    const test_pair *pair = p < NUM_OWN_PAIRS ? &own_pairs[p] : &test_pairs[p - NUM_OWN_PAIRS];
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    if ((p >= NUM_OWN_PAIRS && !pair->is_small) || strstr(pair->dst, "(one") != NULL) {
      continue;
    }
    test_pair_shapes(pair, types[_i], &src, &dst, permutation);
    pack(&src, 1 << _i);
    pack(&dst, 1 << _i);
    ck_assert_int_eq(rlo_relayout_lower(&src, &dst, permutation, &problem), RLO_OK);
    ck_assert_int_lt(problem.unit_bits, 8);
    memset(problem.fill, 0xff, sizeof problem.fill);
    expect_ways(p, false, pair->src);
  }
}

/* Units that no element type has. */
RLO_TEST(test_host_mover__moves_units_of_any_width) {
  for (int32_t bits = 1; bits <= RLO_MAX_UNIT_BITS; bits += bits < 8 ? 1 : 8) {
    for (int number = 0; number < 4; ++number) {
      char words[64];
      memset(&problem, 0, sizeof problem);
      problem.unit_bits = bits;
      problem.num_axes = 3;
      memcpy(problem.extents, (int64_t[]){4, 24, 33}, 3 * sizeof(int64_t));
      memcpy(problem.dst.axis,
             number % 2 == 0 ? (int64_t[]){24 * 33, 33, 1} : (int64_t[]){32 * 34, 34, 1},
             3 * sizeof(int64_t));
      memcpy(problem.src.axis,
             number < 2 ? (int64_t[]){24 * 33, 1, 24} : (int64_t[]){33, 4 * 33, 1},
             3 * sizeof(int64_t));
      problem.src_bytes = (4 * 24 * 33 * bits + 7) / 8;
      problem.dst_bytes = (4 * 32 * 34 * bits + 7) / 8;
      snprintf(words, sizeof words, "number %d of %d bits", number, (int)bits);
      expect_ways(number + bits, true, words);
    }
  }
}

/* Axes that interleave in elements of 4 bits: 3 * i + 2 * j. Points of i that begin
 * at whole bytes have neighbours in the bytes that the points before them wrote. */
RLO_TEST(test_host_mover__shares_of_interleaved_axes_share_no_byte) {
  memset(&problem, 0, sizeof problem);
  problem.unit_bits = 4;
  problem.num_axes = 2;
  memcpy(problem.extents, (int64_t[]){4, 3}, 2 * sizeof(int64_t));
  memcpy(problem.src.axis, (int64_t[]){3, 1}, 2 * sizeof(int64_t));
  memcpy(problem.dst.axis, (int64_t[]){3, 2}, 2 * sizeof(int64_t));
  problem.src_bytes = 6;
  problem.dst_bytes = 7;
  const test_host_move move = {.problem = &problem, .num_shares = 2};
  test_host_expect(&move, "interleaved");
}

RLO_TEST(test_host_mover__shares_are_about_equal) {
  enum { BYTES = 300 * 400, SHARES = 4 };

  static uint8_t src[BYTES];
  static uint8_t dst[BYTES];
  test_pair pair = {"?[300,400]", "?[400,300]", "1,0", true};
  rlo__host_mover *mover;
  lower(&pair, "u8");
  ck_assert_int_eq(rlo__host_mover_create(&problem, &mover), RLO_OK);
  memset(src, 1, sizeof src);
  for (int32_t share = 0; share < SHARES; ++share) {
    memset(dst, 0, sizeof dst);
    ck_assert_int_eq(rlo__host_mover_run_share(mover, src, NULL, dst, share, SHARES), RLO_OK);
    int written = 0;
    for (int k = 0; k < BYTES; ++k) {
      written += dst[k];
    }
    ck_assert_int_gt(written, BYTES / SHARES / 2);
  }
  rlo__host_mover_release(mover);
}

/* ---------------------------------------------------------------- conversions */

/** Lowers a conversion between the shapes of a pair; false if there is none. */
static bool lower_conversion(const test_pair *pair, rlo_dtype from, rlo_dtype to) {
  rlo_shape src;
  rlo_shape dst;
  rlo_shape unused;
  int32_t permutation[RLO_MAX_RANK];
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  test_pair_shapes(pair, rlo_dtype_name(from), &src, &unused, permutation);
  test_pair_shapes(pair, rlo_dtype_name(to), &unused, &dst, permutation);
  return rlo_relayout_combine(&src, &dst, permutation, &options, &problem) == RLO_OK;
}

/** Tells if shapes of the type may be filled, with ones and zeros. */
static bool has_one(rlo_dtype type) {
  uint8_t bits[16];
  return rlo_dtype_constant_bits(type, RLO_DTYPE_ONE, bits) == RLO_OK &&
         rlo_dtype_constant_bits(type, RLO_DTYPE_ZERO, bits) == RLO_OK;
}

/* All types from each type, each by another pair. */
RLO_LOOP_TEST(test_host_mover__converts_its_own_pairs, 1, RLO_DTYPE_F6E2M3FN + 1) {
  const rlo_dtype from = (rlo_dtype)_i;
  for (int to = 1; rlo_dtype_is_valid(from) && to < rlo__dtype_end; ++to) {
    const test_pair *pair = &own_pairs[(3 * _i + to) % NUM_OWN_PAIRS];
    const bool is_filled = strstr(pair->dst, "fill(") != NULL;
    if (!pair->is_small || !rlo_dtype_is_valid((rlo_dtype)to) ||
        (is_filled && !(has_one(from) && has_one((rlo_dtype)to))) ||
        !lower_conversion(pair, from, (rlo_dtype)to)) {
      continue;
    }
    char words[160];
    snprintf(words, sizeof words, "%s to %s of %s to %s", rlo_dtype_name(from),
             rlo_dtype_name((rlo_dtype)to), pair->src, pair->dst);
    expect_ways(_i + to, false, words);
  }
}

/** The low bits of a value replaced by those of a tie, or of what is next to one. */
static uint64_t near_tie(test_random *random, uint64_t bits, int32_t width) {
  const int64_t low = test_random_in(random, 0, width - 1);
  const uint64_t tie = low == 0 ? 0 : UINT64_C(1) << (low - 1);
  const uint64_t cut = bits >> low << low;
  return cut + (test_random_once_in(random, 2) ? tie : 0) + (uint64_t)test_random_in(random, -1, 1);
}

/** Draws values of a type: all of 16 bits, and of wider ones those at the roundings to
 *  another type and anywhere. */
static void draw_values(test_random *random, rlo_dtype type, rlo_dtype other, int count,
                        uint8_t *out) {
  const int32_t bits = rlo_dtype_storage_bits(type);
  for (int n = 0; n < count; ++n) {
    uint64_t words[2] = {test_random_bits(random), 0};
    if (bits <= 16) {
      words[0] = (uint64_t)n;
    } else if (n % 2 == 0 && rlo_dtype_storage_bits(other) < 128) {
      uint8_t unit[16] = {0};
      memcpy(unit, words, (size_t)rlo_dtype_storage_bits(other) / 8);
      rlo__arithmetic_convert(other, type, unit, unit);
      memcpy(words, unit, 8);
    }
    words[0] = bits <= 16 ? words[0] : near_tie(random, words[0], bits < 64 ? bits : 64);
    memcpy(out + (size_t)n * (size_t)bits / 8, words, (size_t)bits / 8);
  }
}

/** Runs the problem in another floating-point mode than C's default. */
static void run_rounding_upward(int64_t vectors, const uint8_t *src, uint8_t *dst) {
  rlo__host_mover *mover;
  rlo__thresholds.host_vector_bytes = vectors;
  ck_assert_int_eq(rlo__host_mover_create(&problem, &mover), RLO_OK);
  ck_assert_int_eq(fesetround(FE_UPWARD), 0);
  const rlo_status status = rlo__host_mover_run(mover, src, NULL, dst, 1);
  ck_assert_int_eq(fegetround(), FE_UPWARD);
  fesetround(FE_TONEAREST);
  ck_assert_int_eq(status, RLO_OK);
  rlo__host_mover_release(mover);
}

static void expect_values(rlo_dtype from, rlo_dtype to, int count, const uint8_t *src) {
  static uint8_t dst[65536 * 16];
  const size_t in_bytes = (size_t)rlo_dtype_storage_bits(from) / 8;
  const size_t out_bytes = (size_t)rlo_dtype_storage_bits(to) / 8;
  /* The rows for AVX-512, in portable C and for AVX2. */
  for (int way = 0; way < 3; ++way) {
    run_rounding_upward(vector_bytes[way], src, dst);
    for (int n = 0; n < count; ++n) {
      uint8_t in[16] = {0};
      uint8_t wanted[16];
      memcpy(in, src + (size_t)n * in_bytes, in_bytes);
      rlo__arithmetic_convert(from, to, in, wanted);
      if (memcmp(dst + (size_t)n * out_bytes, wanted, out_bytes) != 0) {
        uint64_t bits[3] = {0};
        memcpy(&bits[0], in, 8);
        memcpy(&bits[1], dst + (size_t)n * out_bytes, out_bytes < 8 ? out_bytes : 8);
        memcpy(&bits[2], wanted, 8);
        ck_abort_msg("%s 0x%llx to %s: 0x%llx, and should be 0x%llx", rlo_dtype_name(from),
                     (unsigned long long)bits[0], rlo_dtype_name(to), (unsigned long long)bits[1],
                     (unsigned long long)bits[2]);
      }
    }
  }
}

RLO_LOOP_TEST(test_host_mover__converts_as_the_reference, 1, RLO_DTYPE_F6E2M3FN + 1) {
  static uint8_t src[65536 * 16];
  const rlo_dtype from = (rlo_dtype)_i;
  const int32_t bits = rlo_dtype_storage_bits(from);
  const int count = bits <= 16 ? 1 << bits : 3000;
  test_random random = test_random_begin("test_host_mover__values");
  for (int to = 1; rlo_dtype_is_valid(from) && to < rlo__dtype_end; ++to) {
    char shape[32];
    snprintf(shape, sizeof shape, "?[%d]", count);
    const test_pair pair = {shape, shape, "", false};
    if (to != _i && rlo_dtype_is_valid((rlo_dtype)to) &&
        lower_conversion(&pair, from, (rlo_dtype)to)) {
      draw_values(&random, from, (rlo_dtype)to, count, src);
      expect_values(from, (rlo_dtype)to, count, src);
    }
  }
}

/* From here on: random problems. */

static int run_random(test_problem_kind kind, int count) {
  static test_problem drawn;
  test_random random = test_random_begin("test_host_mover__random");
  random.state += (uint64_t)kind;
  int run = 0;
  for (int n = 0; n < count; ++n) {
    uint64_t seed = random.state;
    if (!test_random_problem(&random, kind, &drawn)) {
      continue;
    }
    char words[128];
    snprintf(words, sizeof words, "problem %d of kind %d, random state %llu", n, (int)kind,
             (unsigned long long)seed);
    problem = drawn.problem;
    test_host_move move = {.problem = &drawn.problem,
                           .indices = rlo_problem_loads(&problem) ? &drawn.indices : NULL,
                           .past_caches_bytes = n % 2 == 0 ? 1 : INT64_MAX,
                           .vector_bytes = vector_bytes[n / 2 % NUM_VECTORS],
                           .num_shares = 1 + n % 3,
                           .is_at_end = n / 2 % 2 == 0,
                           .src_shift = n % 4,
                           .dst_shift = n % 5 == 0 ? 0 : n % 17};
    test_host_expect(&move, words);
    ++run;
  }
  return run;
}

RLO_LOOP_TEST(test_host_mover__moves_random_problems, 0, TEST_PROBLEM_NUM_KINDS) {
  ck_assert_int_gt(run_random((test_problem_kind)_i, 800), 250);
}

/* ------------------------------------------------------------------- misuse */

RLO_TEST(test_host_mover__finds_positions_beyond_the_memory) {
  for (int number = 0; number < 4; ++number) {
    test_pair pair = {"?[60,61]", "?[60,61]{0,1:pad(64,72)fill(one)}", "", true};
    lower(&pair, "f32");
    if (number % 2 == 0) {
      problem.src_bytes -= 1;
    } else {
      problem.dst_bytes -= 4;
    }
    test_host_move move = {.problem = &problem, .num_shares = 1 + number, .dst_shift = 3};
    test_host_expect(&move, "a memory too small");
  }
}

RLO_TEST(test_host_mover__refuses_shares_that_do_not_exist) {
  test_pair pair = {"?[3,4]", "?[4,3]", "1,0", true};
  uint8_t src[12];
  uint8_t dst[12];
  rlo__host_mover *mover;
  lower(&pair, "u8");
  ck_assert_int_eq(rlo__host_mover_create(&problem, &mover), RLO_OK);
  memset(src, 1, sizeof src);
  ck_assert_int_eq(rlo__host_mover_run_share(mover, src, NULL, dst, 2, 2), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo__host_mover_run_share(mover, src, NULL, dst, -1, 2), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo__host_mover_run(mover, src, NULL, dst, 0), RLO_OK);
  rlo__host_mover_release(mover);
}

RLO_TEST(test_host_mover__refuses_what_is_no_problem) {
  rlo__host_mover *mover = NULL;
  memset(&problem, 0, sizeof problem);
  problem.unit_bits = 129;
  ck_assert_int_eq(rlo__host_mover_create(&problem, &mover), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(mover);
}

RLO_TEST(test_host_mover__survives_a_lack_of_memory) {
  test_pair pair = {"?[60,61]", "?[60,61]{1,0:T(8,8)fill(one)}", "", true};
  lower(&pair, "f32");
  uint8_t *src = calloc(1, (size_t)problem.src_bytes);
  uint8_t *dst = calloc(1, (size_t)problem.dst_bytes);
  int64_t live = rlo__alloc_live_count();
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    rlo__host_mover *mover = NULL;
    run.status = rlo__host_mover_create(&problem, &mover);
    if (run.status == RLO_OK) {
      run.status = rlo__host_mover_run(mover, src, NULL, dst, 2);
    }
    rlo__host_mover_release(mover);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live);
  free(src);
  free(dst);
}
