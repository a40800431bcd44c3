/* SPDX-License-Identifier: Apache-2.0 */

/* Relayouts between shapes of different element sizes. */

#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/ops.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/host_moves.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static rlo_problem problem;

enum { MAX_BYTES = 24 };

/* Bytes of both sides, as hexadecimal digits; the destination begins as 0xee.
 */
static const struct {
  const char *src, *dst;
  const char *from, *to;
} cases[] = {
    /* -8, -1, 1, 7. */
    {"s4[4]{0:E(4)}", "s4[4]", "f871", "080f0107"},
    {"s4[4]", "s4[4]{0:E(4)}", "080f0107", "f871"},
    /* Bits above the value have no effect. */
    {"s4[4]", "s4[4]{0:E(4)}", "f8ff3107", "f871"},
    {"s4[4]", "s4[4]{0:E(16)}", "f8ff3107", "08000f0001000700"},
    {"u4[3]{0:E(4)}", "u4[3]{0:E(8)}", "21e3", "010203"},
    {"u4[3]", "u4[3]{0:E(4)}", "010203", "21e3"},
    {"u2[5]{0:E(2)}", "u2[5]", "e403", "0001020303"},
    {"s2[5]", "s2[5]{0:E(2)}", "0001020303", "e4ef"},
    {"u1[9]{0:E(1)}", "u1[9]", "0501", "010001000000000001"},
    {"u1[9]", "u1[9]{0:E(1)}", "010001000000000001", "05ef"},
    {"s1[3]{0:E(1)}", "s1[3]{0:E(2)}", "05", "d1"},
    {"f4e2m1fn[2]{0:E(4)}", "f4e2m1fn[2]", "8f", "0f08"},
    {"f6e2m3fn[3]", "f6e2m3fn[3]{0:E(6)}", "3f2001", "3f18ec"},
    {"f6e3m2fn[2]{0:E(6)}", "f6e3m2fn[2]{0:E(12)}", "ff0f", "3ff003"},
    /* A pred is true for every byte but 0. */
    {"pred[4]", "pred[4]{0:E(1)}", "010080ff", "ed"},
    {"pred[4]{0:E(1)}", "pred[4]{0:E(16)}", "0e", "0000010001000100"},
    /* Bits of NaN survive, and a type without a zero is moved too. */
    {"f32[2]{0:E(64)}", "f32[2]", "010080ff1122334445a3c1ff00000000", "010080ff45a3c1ff"},
    {"bf16[2]", "bf16[2]{0:E(24)}", "81ff7f7f", "81ff007f7f00"},
    {"f8e8m0fnu[2]", "f8e8m0fnu[2]{0:E(16)}", "00ff", "0000ff00"},
    {"c64[1]", "c64[1]{0:E(128)}", "0100c07f020080ff", "0100c07f020080ff0000000000000000"},
    {"u64[1]{0:E(128)}", "u64[1]", "0102030405060708ffffffffffffffff", "0102030405060708"},
    /* Layouts of either side, and their fills. */
    {"s4[2,3]{1,0:E(4)}", "s4[2,3]{0,1}", "214365", "010402050306"},
    {"s4[2,3]{0,1}", "s4[2,3]{1,0:E(4)}", "010402050306", "214365"},
    {"s4[3]", "s4[3]{0:T(4)E(4)fill(lowest)}", "010203", "2183"},
    {"s4[3]{0:E(4)}", "s4[3]{0:pad(5)fill(one)}", "21e3", "0102030101"},
    {"u2[3]{0:T(2)E(2)}", "u2[3]{:E(4)strides(2)}", "39", "e1e2e3"},
    {"u4[3]{0:T(2)E(4)}", "u4[3]{0:T(2)}", "2103", "010203ee"},
    {"u4[0]{0:E(4)}", "u4[0]", "", ""},
};

static size_t parse_hex(const char *text, uint8_t *out) {
  size_t count = strlen(text) / 2;
  for (size_t b = 0; b < count; ++b) {
    const char digits[3] = {text[2 * b], text[2 * b + 1], '\0'};
    out[b] = (uint8_t)strtoul(digits, NULL, 16);
  }
  return count;
}

RLO_TABLE_TEST(test_repack__moves_the_bits_of_values, cases) {
  rlo_shape src = test_shape_of(cases[_i].src);
  rlo_shape dst = test_shape_of(cases[_i].dst);
  uint8_t from[MAX_BYTES];
  uint8_t to[MAX_BYTES];
  uint8_t got[MAX_BYTES + 1];
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
  size_t src_bytes = parse_hex(cases[_i].from, from);
  size_t dst_bytes = parse_hex(cases[_i].to, to);
  ck_assert_int_eq(problem.src_bytes, (int64_t)src_bytes);
  ck_assert_int_eq(problem.dst_bytes, (int64_t)dst_bytes);
  memset(got, 0xee, sizeof got);
  expect_ok(rlo_problem_run_host(&problem, from, got));
  for (size_t b = 0; b < dst_bytes; ++b) {
    ck_assert_msg(got[b] == to[b], "%s to %s: byte %zu is %02x, not %02x", cases[_i].src,
                  cases[_i].dst, b, got[b], to[b]);
  }
  ck_assert_uint_eq(got[dst_bytes], 0xee);
}

/* A chain keeps the rule, its fills too. */
RLO_TEST(test_repack__holds_for_chains) {
  rlo_shape src = test_shape_of("s4[3]{0:E(4)}");
  rlo_shape dst = test_shape_of("s4[5]{0:T(6)fill(one)}");
  const uint8_t from[] = {0x21, 0x03};
  const uint8_t nine = 0xf;
  const uint8_t wanted[] = {0xf, 1, 2, 3, 0xf, 1};
  uint8_t got[6];
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(rlo_chain_create(&src, &chain));
  expect_ok(rlo_chain_pad(chain, (int64_t[]){1}, (int64_t[]){1}, NULL, &nine));
  expect_ok(rlo_chain_lower(chain, &dst, &list));
  const void *operands[] = {from};
  memset(got, 0xee, sizeof got);
  expect_ok(rlo_problem_list_run_host(list, operands, got));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}

/* The adjoint of packing is unpacking. */
RLO_TEST(test_repack__has_an_adjoint) {
  rlo_shape src = test_shape_of("s4[3]");
  rlo_shape dst = test_shape_of("s4[3]{0:E(4)}");
  const uint8_t dy[] = {0xf1, 0x02};
  const uint8_t wanted[] = {1, 0xf, 2};
  uint8_t dx[3] = {0};
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
  expect_ok(rlo_problem_adjoint(&problem, RLO_DTYPE_INVALID, &problem));
  expect_ok(rlo_problem_run_host(&problem, dy, dx));
  ck_assert_mem_eq(dx, wanted, sizeof wanted);
}

static uint64_t load(const uint8_t *bytes, int64_t slot, int64_t bits) {
  uint64_t value = 0;
  for (int64_t b = 0; b < bits && b < 64; ++b) {
    int64_t bit = slot * bits + b;
    value |= (uint64_t)(bytes[bit / 8] >> (bit % 8) & 1) << b;
  }
  return value;
}

/* Each element against its definition. */
static void expect_elements(const rlo_shape *src, const rlo_shape *dst, const int32_t *permutation,
                            const uint8_t *from, const uint8_t *to) {
  int64_t src_bits = rlo_shape_element_size_bits(src);
  int64_t dst_bits = rlo_shape_element_size_bits(dst);
  uint64_t mask = (UINT64_C(1) << rlo_dtype_value_bits(src->dtype)) - UINT64_C(1);
  int64_t index[RLO_MAX_RANK] = {0};
  if (rlo_shape_is_zero_element_array(dst)) {
    return;
  }
  do {
    int64_t src_index[RLO_MAX_RANK] = {0};
    for (int32_t k = 0; k < dst->rank; ++k) {
      src_index[permutation[k]] = index[k];
    }
    uint64_t value = load(from, test_slot_of(src, src_index), src_bits) & mask;
    ck_assert_msg(load(to, test_slot_of(dst, index), dst_bits) == value, "%s to %s",
                  test_text_of(src), test_text_of(dst));
  } while (rlo_index_bump(dst, index));
}

/* Also as threads run it: no two shares write one byte. */
RLO_TEST(test_repack__agrees_with_its_definition) {
  enum { RUNS = 300 };

  static const rlo_dtype dtypes[] = {RLO_DTYPE_U1,       RLO_DTYPE_U2, RLO_DTYPE_S2,
                                     RLO_DTYPE_S4,       RLO_DTYPE_U4, RLO_DTYPE_F4E2M1FN,
                                     RLO_DTYPE_F6E3M2FN, RLO_DTYPE_S8, RLO_DTYPE_BF16};

  enum { NUM_DTYPES = sizeof dtypes / sizeof dtypes[0] };

  static const int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

  enum { NUM_SIZES = sizeof sizes / sizeof sizes[0] };

  test_random random = test_random_begin("repack");
  int repacked = 0;
  for (int run = 0; run < RUNS; ++run) {
    rlo_dtype dtype = dtypes[test_random_in(&random, 0, NUM_DTYPES - 1)];
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    int32_t rank = (int32_t)test_random_in(&random, 0, 3);
    test_random_pair(&random, dtype, rank, 60, &src, &dst, permutation);
    src.layout.element_size_bits = sizes[test_random_in(&random, 0, NUM_SIZES - 1)];
    dst.layout.element_size_bits = sizes[test_random_in(&random, 0, NUM_SIZES - 1)];
    if (rlo_shape_validate(&src) != RLO_OK || rlo_shape_validate(&dst) != RLO_OK) {
      continue;
    }
    expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
    uint8_t *from = malloc((size_t)problem.src_bytes + 1);
    uint8_t *to = calloc((size_t)problem.dst_bytes + 1, 1);
    ck_assert(from != NULL && to != NULL);
    for (int64_t b = 0; b < problem.src_bytes; ++b) {
      from[b] = (uint8_t)test_random_in(&random, 0, 255);
    }
    expect_ok(rlo_problem_run_host(&problem, from, to));
    if (problem.unit_bits != rlo_problem_dst_unit_bits(&problem)) {
      expect_elements(&src, &dst, permutation, from, to);
      const test_host_move move = {.problem = &problem, .num_shares = 3};
      test_host_expect(&move, test_text_of(&dst));
      ++repacked;
    }
    free(to);
    free(from);
  }
  ck_assert_int_gt(repacked, RUNS / 4);
}
