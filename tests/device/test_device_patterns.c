/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "host/mover.h"
#include "relayout/index.h"
#include "relayout/ops.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/shape_of.h"

/*
 * Every pattern of 8 and of 16 bits, and of larger numbers each kind of NaN,
 * infinity, denormal and zero, through each operation that moves elements: to
 * the same bits at the place that a formula of this file names, by the
 * reference, the host's mover and the device.
 */

static void begin_file(void) {
  open_device();
  /* Nearly each case is a program. */
  test_device_optimise(false);
}

static void end_file(void) {
  test_device_optimise(true);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(600);

enum {
  /** The source's sizes; each half of it has every pattern. */
  ROWS = 512,
  COLUMNS = 256,
  NUM_ELEMENTS = ROWS * COLUMNS,
  MAX_BYTES = 8
};

/* ------------------------------------------------------------------ patterns
 */

/* Bits of a number: sign, exponent and mantissa at or beside their ends. */
static uint64_t number_of_class(int64_t n, int32_t bits, int32_t mantissa_bits) {
  const uint64_t mantissa_mask = (UINT64_C(1) << mantissa_bits) - 1;
  const uint64_t quiet = UINT64_C(1) << (mantissa_bits - 1);
  const uint64_t mantissas[] = {
      0, 1, 2, quiet - 1, quiet, quiet + 1, mantissa_mask - 1, mantissa_mask};
  const uint64_t exponent_mask = (UINT64_C(1) << (bits - 1 - mantissa_bits)) - 1;
  const uint64_t exponents[] = {0,
                                1,
                                2,
                                exponent_mask / 2,
                                exponent_mask / 2 + 1,
                                exponent_mask - 2,
                                exponent_mask - 1,
                                exponent_mask};
  return (uint64_t)(n / 64 % 2) << (bits - 1) | exponents[n / 8 % 8] << mantissa_bits |
         mantissas[n % 8];
}

enum { NUM_NUMBERS = 128 };

static uint64_t pattern_of_8_bits(int64_t n) {
  return (uint64_t)n % 256;
}

static uint64_t pattern_of_16_bits(int64_t n) {
  return (uint64_t)n % 65536;
}

static uint64_t pattern_of_f32(int64_t n) {
  return number_of_class(n, 32, 23);
}

static uint64_t pattern_of_f64(int64_t n) {
  return number_of_class(n, 64, 52);
}

/* Each number beside each. */
static uint64_t pattern_of_c64(int64_t n) {
  return number_of_class(n, 32, 23) | number_of_class(n / NUM_NUMBERS, 32, 23) << 32;
}

static const struct {
  const char *name;
  int32_t bytes;
  /** The bits of element n. */
  uint64_t (*pattern)(int64_t n);
  int64_t num_patterns;
} types[] = {{"f16", 2, pattern_of_16_bits, 65536},
             {"f8e5m2", 1, pattern_of_8_bits, 256},
             {"f32", 4, pattern_of_f32, NUM_NUMBERS},
             {"f64", 8, pattern_of_f64, NUM_NUMBERS},
             {"c64", 8, pattern_of_c64, NUM_NUMBERS *NUM_NUMBERS}};

enum { NUM_TYPES = (int)(sizeof types / sizeof types[0]) };

/* ---------------------------------------------------------------- operations
 */

/* The fill of pads: a NaN with a payload, of one or two bytes. */
static const uint8_t fill[MAX_BYTES] = {0x7f, 0x7e, 0x81, 0xff, 1, 0, 0xf4, 0x7f};

static int64_t at(int64_t row, int64_t column) {
  return row * COLUMNS + column;
}

static rlo_status nothing(rlo_chain *chain) {
  (void)chain;
  return RLO_OK;
}

static int64_t at_same(const int64_t *i) {
  return at(i[0], i[1]);
}

static rlo_status transpose(rlo_chain *chain) {
  return rlo_chain_transpose(chain, (const int32_t[]){1, 0});
}

static int64_t at_transposed(const int64_t *i) {
  return at(i[1], i[0]);
}

static rlo_status reshape(rlo_chain *chain) {
  return rlo_chain_reshape(chain, (const int64_t[]){128, 1024}, 2);
}

static int64_t at_reshaped(const int64_t *i) {
  return i[0] * 1024 + i[1];
}

static rlo_status slice(rlo_chain *chain) {
  const int64_t begin[] = {100, 0};
  const int64_t end[] = {356, COLUMNS};
  return rlo_chain_slice(chain, begin, end, (const int64_t[]){1, 1});
}

static int64_t at_sliced(const int64_t *i) {
  return at(100 + i[0], i[1]);
}

static rlo_status pad(rlo_chain *chain) {
  const int64_t low[] = {1, 3};
  const int64_t high[] = {2, 0};
  const int64_t interior[] = {0, 1};
  return rlo_chain_pad(chain, low, high, interior, fill);
}

static int64_t at_padded(const int64_t *i) {
  bool is_fill = i[0] < 1 || i[0] > ROWS || i[1] < 3 || (i[1] - 3) % 2 == 1;
  return is_fill ? -1 : at(i[0] - 1, (i[1] - 3) / 2);
}

static rlo_status reverse(rlo_chain *chain) {
  return rlo_chain_reverse(chain, (const int32_t[]){0, 1}, 2);
}

static int64_t at_reversed(const int64_t *i) {
  return at(ROWS - 1 - i[0], COLUMNS - 1 - i[1]);
}

static rlo_status roll(rlo_chain *chain) {
  return rlo_chain_roll(chain, (const int64_t[]){5, 7}, (const int32_t[]){0, 1}, 2);
}

static int64_t at_rolled(const int64_t *i) {
  return at((i[0] + ROWS - 5) % ROWS, (i[1] + COLUMNS - 7) % COLUMNS);
}

static rlo_status broadcast(rlo_chain *chain) {
  return rlo_chain_broadcast_in_dim(chain, (const int64_t[]){ROWS, 2, COLUMNS}, 3,
                                    (const int32_t[]){0, 2});
}

static int64_t at_broadcast(const int64_t *i) {
  return at(i[0], i[2]);
}

static rlo_status tile(rlo_chain *chain) {
  return rlo_chain_tile(chain, (const int64_t[]){1, 2});
}

static int64_t at_tiled(const int64_t *i) {
  return at(i[0], i[1] % COLUMNS);
}

static rlo_status repeat(rlo_chain *chain) {
  return rlo_chain_repeat(chain, (const int64_t[]){1, 2});
}

static int64_t at_repeated(const int64_t *i) {
  return at(i[0], i[1] / 2);
}

/* Another chain from the same source, for operations of two operands. */
static rlo_chain *other_operand(const rlo_chain *chain) {
  rlo_chain *other = test_chain_of(rlo_chain_shape(chain));
  return other;
}

static rlo_status concatenate(rlo_chain *chain) {
  rlo_chain *other = other_operand(chain);
  rlo_status status = rlo_chain_concatenate(chain, (const rlo_chain *const[]){other}, 1, 1);
  rlo_chain_release(other);
  return status;
}

static rlo_status stack(rlo_chain *chain) {
  rlo_chain *other = other_operand(chain);
  rlo_status status = rlo_chain_stack(chain, (const rlo_chain *const[]){other}, 1, -1);
  rlo_chain_release(other);
  return status;
}

static rlo_status split(rlo_chain *chain) {
  return rlo_chain_split(chain, (const int64_t[]){100, 256, 156}, 3, 0, 1);
}

static rlo_status unstack(rlo_chain *chain) {
  expect_ok(rlo_chain_reshape(chain, (const int64_t[]){2, 256, COLUMNS}, 3));
  return rlo_chain_unstack(chain, 0, 1);
}

static int64_t at_unstacked(const int64_t *i) {
  return at(256 + i[0], i[1]);
}

static rlo_status mirror_pad(rlo_chain *chain) {
  const int64_t low[] = {3, 2};
  const int64_t high[] = {1, 5};
  return rlo_chain_mirror_pad(chain, low, high, RLO_MIRROR_REFLECT);
}

static int64_t mirror(int64_t i, int64_t size) {
  i = i < 0 ? -i : i;
  return i < size ? i : 2 * (size - 1) - i;
}

static int64_t at_mirrored(const int64_t *i) {
  return at(mirror(i[0] - 3, ROWS), mirror(i[1] - 2, COLUMNS));
}

/* Two images of 256 by 256, or of 128 by 128 with four channels. */
static int64_t at_image(int64_t n, int64_t y, int64_t x) {
  return (n * 256 + y) * 256 + x;
}

static rlo_status space_to_depth(rlo_chain *chain) {
  expect_ok(rlo_chain_reshape(chain, (const int64_t[]){2, 256, 256, 1}, 4));
  return rlo_chain_space_to_depth(chain, 2, 3);
}

static int64_t at_space_to_depth(const int64_t *i) {
  return at_image(i[0], 2 * i[1] + i[3] / 2, 2 * i[2] + i[3] % 2);
}

static rlo_status depth_to_space(rlo_chain *chain) {
  expect_ok(rlo_chain_reshape(chain, (const int64_t[]){2, 128, 128, 4}, 4));
  return rlo_chain_depth_to_space(chain, 2, 3);
}

static int64_t at_depth_to_space(const int64_t *i) {
  return ((i[0] * 128 + i[1] / 2) * 128 + i[2] / 2) * 4 + i[1] % 2 * 2 + i[2] % 2;
}

static const int64_t twos[] = {2, 2};
static const int64_t zeros[] = {0, 0};

static rlo_status space_to_batch(rlo_chain *chain) {
  expect_ok(rlo_chain_reshape(chain, (const int64_t[]){2, 256, 256}, 3));
  return rlo_chain_space_to_batch(chain, twos, zeros, zeros, 2);
}

static int64_t at_space_to_batch(const int64_t *i) {
  int64_t block = i[0] / 2;
  return at_image(i[0] % 2, 2 * i[1] + block / 2, 2 * i[2] + block % 2);
}

static rlo_status batch_to_space(rlo_chain *chain) {
  expect_ok(rlo_chain_reshape(chain, (const int64_t[]){8, 128, 128}, 3));
  return rlo_chain_batch_to_space(chain, twos, zeros, zeros, 2);
}

static int64_t at_batch_to_space(const int64_t *i) {
  int64_t batch = (i[1] % 2 * 2 + i[2] % 2) * 2 + i[0];
  return (batch * 128 + i[1] / 2) * 128 + i[2] / 2;
}

/* Every row, in another order. */
static int32_t indices[ROWS];

static rlo_status gather(rlo_chain *chain) {
  const int64_t count = ROWS;
  rlo_shape shape = test_shape_make(RLO_DTYPE_S32, &count, 1);
  for (int32_t n = 0; n < ROWS; ++n) {
    indices[n] = n * 77 % ROWS;
  }
  return rlo_chain_gather(chain, &shape, 0, 0);
}

static int64_t at_gathered(const int64_t *i) {
  return at(indices[i[0]], i[1]);
}

static const struct {
  const char *name;
  rlo_status (*append)(rlo_chain *chain);
  /** Where the element at an index of the result is from; -1: the fill. */
  int64_t (*source)(const int64_t *index);
  /** The layout of the result; NULL: row-major. */
  const char *layout;
} operations[] = {
    {"copy", nothing, at_same, NULL},
    {"columns", nothing, at_same, "{0,1}"},
    {"tiles", nothing, at_same, "{1,0:T(8,128)(2,1)}"},
    {"tiles that overhang", nothing, at_same, "{0,1:T(48,10)}"},
    {"transpose", transpose, at_transposed, NULL},
    {"reshape", reshape, at_reshaped, "{0,1}"},
    {"slice", slice, at_sliced, NULL},
    {"pad", pad, at_padded, NULL},
    {"reverse", reverse, at_reversed, NULL},
    {"roll", roll, at_rolled, NULL},
    {"broadcast", broadcast, at_broadcast, NULL},
    {"tile", tile, at_tiled, NULL},
    {"repeat", repeat, at_repeated, NULL},
    {"concatenate", concatenate, at_tiled, NULL},
    {"stack", stack, at_same, NULL},
    {"split", split, at_sliced, "{0,1}"},
    {"unstack", unstack, at_unstacked, NULL},
    {"mirror_pad", mirror_pad, at_mirrored, NULL},
    {"space_to_depth", space_to_depth, at_space_to_depth, NULL},
    {"depth_to_space", depth_to_space, at_depth_to_space, NULL},
    {"space_to_batch", space_to_batch, at_space_to_batch, NULL},
    {"batch_to_space", batch_to_space, at_batch_to_space, NULL},
    {"gather", gather, at_gathered, NULL},
};

enum { NUM_OPERATIONS = (int)(sizeof operations / sizeof operations[0]) };

/* -------------------------------------------------------------------- a case
 */

static uint8_t source[NUM_ELEMENTS * MAX_BYTES];

/** An operation on elements of a type. */
typedef struct pattern_case {
  int32_t type, operation;
  rlo_problem_list *problems;
  rlo_shape dst;
  char words[64];
} pattern_case;

static void begin_case(int32_t type, int32_t operation, pattern_case *out) {
  out->type = type;
  out->operation = operation;
  (void)snprintf(out->words, sizeof out->words, "%s of %s", operations[operation].name,
                 types[type].name);
  for (int64_t n = 0; n < NUM_ELEMENTS; ++n) {
    uint64_t bits = types[type].pattern(n);
    memcpy(source + n * types[type].bytes, &bits, (size_t)types[type].bytes);
  }
  char text[128];
  (void)snprintf(text, sizeof text, "%s[%d,%d]", types[type].name, ROWS, COLUMNS);
  rlo_shape shape = test_shape_of(text);
  rlo_chain *chain = test_chain_of(&shape);
  expect_ok(operations[operation].append(chain));
  out->dst = *rlo_chain_shape(chain);
  const char *layout = operations[operation].layout;
  if (layout != NULL) {
    (void)snprintf(text, sizeof text, "%s[%d,%d]%s", types[type].name, (int)out->dst.dims[0],
                   (int)out->dst.dims[1], layout);
    out->dst = test_shape_of(text);
  }
  expect_ok(rlo_chain_lower(chain, &out->dst, &out->problems));
  rlo_chain_release(chain);
}

static void end_case(pattern_case *c) {
  rlo_problem_list_release(c->problems);
}

/* Each element of the result is the source's that the formula names, and all
 * patterns are among them. */
static void expect_patterns(const pattern_case *c, const uint8_t *result) {
  static bool is_seen[65536];
  const int32_t bytes = types[c->type].bytes;
  int64_t index[RLO_MAX_RANK] = {0};
  const bool is_row_major = operations[c->operation].layout == NULL;
  int64_t num_seen = 0;
  int64_t num_elements = 1;
  for (int32_t k = 0; k < c->dst.rank; ++k) {
    num_elements *= c->dst.dims[k];
  }
  memset(is_seen, 0, sizeof is_seen);
  for (int64_t n = 0; n < num_elements; ++n) {
    int64_t rest = n;
    for (int32_t k = c->dst.rank - 1; k >= 0; --k) {
      index[k] = rest % c->dst.dims[k];
      rest /= c->dst.dims[k];
    }
    const int64_t from = operations[c->operation].source(index);
    const uint8_t *expected = from < 0 ? fill : source + from * bytes;
    int64_t slot = n;
    if (!is_row_major && rlo_index_to_linear(&c->dst, index, &slot) != RLO_OK) {
      ck_abort_msg("%s", rlo_error_last()->message);
    }
    /* Check writes to a file for each assertion, one that holds too. */
    if (memcmp(result + slot * bytes, expected, (size_t)bytes) != 0) {
      ck_abort_msg("%s: element %d is wrong", c->words, (int)n);
    }
    if (from >= 0 && !is_seen[from % types[c->type].num_patterns]) {
      is_seen[from % types[c->type].num_patterns] = true;
      ++num_seen;
    }
  }
  ck_assert_int_eq(num_seen, types[c->type].num_patterns);
}

static uint8_t *new_result(const pattern_case *c) {
  const int64_t bytes = rlo_problem_list_get(c->problems, 0)->dst_bytes;
  uint8_t *result = malloc((size_t)bytes);
  ck_assert_ptr_nonnull(result);
  memset(result, 0x5a, (size_t)bytes);
  return result;
}

/* --------------------------------------------------------------------- tests
 */

RLO_LOOP_TEST(test_device_patterns__pass_the_host, 0, NUM_TYPES) {
  for (int32_t n = 0; n < NUM_OPERATIONS; ++n) {
    pattern_case c;
    begin_case(_i, n, &c);
    uint8_t *by_reference = new_result(&c);
    uint8_t *by_mover = new_result(&c);
    for (int32_t k = 0; k < rlo_problem_list_count(c.problems); ++k) {
      const rlo_problem *problem = rlo_problem_list_get(c.problems, k);
      expect_ok(rlo_problem_run_host_indexed(problem, source, indices, by_reference));
      rlo__host_mover *mover = NULL;
      expect_ok(rlo__host_mover_create(problem, &mover));
      expect_ok(rlo__host_mover_run(mover, source, indices, by_mover, 1));
      rlo__host_mover_release(mover);
    }
    expect_patterns(&c, by_reference);
    ck_assert_msg(
        memcmp(by_mover, by_reference, (size_t)rlo_problem_list_get(c.problems, 0)->dst_bytes) == 0,
        "%s: the mover's bytes differ", c.words);
    free(by_mover);
    free(by_reference);
    end_case(&c);
  }
}

/* By default all operations on 16 bits, and of the others a few: programs are
 * of units, not of types. The device's bytes are the reference's. */
RLO_LOOP_TEST(test_device_patterns__pass_the_device, 0, NUM_TYPES) {
  const int32_t stride = test_case_count(1, _i == 0 ? 1 : 4, 12);
  for (int32_t n = 0; n < NUM_OPERATIONS; n += stride) {
    pattern_case c;
    begin_case(_i, n, &c);
    for (int32_t k = 0; k < rlo_problem_list_count(c.problems); ++k) {
      const test_case run = {
          .device_class = (n + k + _i) % 2 == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU,
          .src_content = source,
          .indices = indices};
      ck_assert_int_eq(test_device_run_problem(&device, rlo_problem_list_get(c.problems, k), &run,
                                               c.words, NULL),
                       TEST_RAN);
    }
    end_case(&c);
  }
}

RLO_TEST(test_device_patterns__need_few_programs) {
  expect_programs_within(60);
}
