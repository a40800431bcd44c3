/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "case.h"
#include "plain.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"
#include "verify.h"

/** A padded transpose: 3 of 8 columns and 1 of 4 rows are fill. */
static const bench_case_spec padded = {.name = "padded",
                                       .dtype = "u16",
                                       .dims = "5,3",
                                       .permutation = "1,0",
                                       .dst_layout = "{1,0:fill(one)}",
                                       .dst_pad = {4, 8}};

static uint8_t src[1024];
static uint8_t dst[1024 + BENCH_GUARD_BYTES];
static bench_case_list list;
static rlo_problem *problem;

static void setup(void) {
  list = (bench_case_list){.size_factor = 1.0};
  ck_assert(bench_case_add(&list, &padded));
  problem = calloc(1, sizeof *problem);
  ck_assert_ptr_nonnull(problem);
  expect_ok(rlo_relayout_lower(&list.items[0].src, &list.items[0].dst, list.items[0].permutation,
                               problem));
  ck_assert_int_eq(problem->dst_bytes, 4 * 8 * 2);
  for (size_t i = 0; i < sizeof src; ++i) {
    src[i] = (uint8_t)(i * 7 + 1);
  }
  memset(dst, BENCH_SENTINEL, sizeof dst);
  expect_ok(rlo_problem_run_host(problem, src, dst));
}

static void teardown(void) {
  free(problem);
  bench_case_list_deinit(&list);
}

RLO_FIXTURE(setup, teardown);

static bool is_right(void) {
  char reason[256];
  return bench_verify(&list.items[0], problem, src, dst, reason);
}

/* Extents stay as odd, and as aligned, as they are. */
RLO_TEST(test_bench_case__grows_by_the_largest_extent) {
  static const struct {
    const char *dims;
    double factor;
    const char *grown;
  } table[] = {{"7225,7225", 2, "14441,7225"},        {"7264,7264", 8, "58112,7264"},
               {"1048576,4,4", 4, "4194304,4,4"},     {"448,224,224,3", 1, "448,224,224,3"},
               {"448,224,224,3", 2, "896,224,224,3"}, {"5,3", 8, "5,3"}};

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    bench_numbers dims;
    char text[64];
    ck_assert(bench_numbers_parse(table[n].dims, &dims));
    bench_dims_scale(&dims, table[n].factor);
    bench_numbers_print(&dims, text, sizeof text);
    ck_assert_str_eq(text, table[n].grown);
  }
}

RLO_TEST(test_bench_case__arrays_of_a_gpu_are_beyond_its_cache) {
  ck_assert_double_eq(bench_size_factor_beyond(0), 1);
  ck_assert_double_eq(bench_size_factor_beyond(INT64_C(50) << 20), 1);
  ck_assert_double_eq(bench_size_factor_beyond(INT64_C(60) << 20), 2);
  ck_assert_double_eq(bench_size_factor_beyond(INT64_C(256) << 20), 8);
  ck_assert_double_eq(bench_size_factor_beyond(INT64_C(4) << 30), 8);
}

RLO_TEST(test_bench_verify__takes_what_is_right) {
  ck_assert(is_right());
}

RLO_TEST(test_bench_verify__refuses_any_wrong_byte) {
  for (int64_t i = 0; i < problem->dst_bytes; ++i) {
    dst[i] ^= 0x10;
    ck_assert_msg(!is_right(), "byte %lld was not looked at", (long long)i);
    dst[i] ^= 0x10;
  }
}

RLO_TEST(test_bench_verify__refuses_a_byte_behind_the_end) {
  dst[problem->dst_bytes] = 0;
  ck_assert(!is_right());
  dst[problem->dst_bytes] = BENCH_SENTINEL;
  dst[problem->dst_bytes + BENCH_GUARD_BYTES - 1] = 0;
  ck_assert(!is_right());
}

/** Two arrays side by side. */
static rlo_status side_by_side(const rlo_shape *operand, rlo_chain **out_chain) {
  expect_ok(rlo_chain_create(operand, out_chain));
  rlo_chain *other = test_chain_of(operand);
  const rlo_chain *others[] = {other};
  rlo_status status = rlo_chain_concatenate(*out_chain, others, 1, 1);
  rlo_chain_release(other);
  return status;
}

RLO_TEST(test_bench_verify__looks_at_each_operand_of_a_chain) {
  enum { ROWS = 4, COLUMNS = 3 };

  const bench_case_spec spec = {
      .name = "chain", .dtype = "u8", .dims = "4,3", .chain = side_by_side};
  char reason[256];
  bench_case_list chains = {.size_factor = 1.0};
  ck_assert(bench_case_add(&chains, &spec));
  const bench_case *item = &chains.items[0];
  ck_assert_int_eq(item->num_operands, 2);
  ck_assert_int_eq(item->dst.dims[1], 2 * COLUMNS);
  rlo_problem *problems = calloc(2, sizeof *problems);
  ck_assert_ptr_nonnull(problems);
  ck_assert(bench_case_lower(item, problems));
  for (int32_t i = 0; i < ROWS; ++i) {
    for (int32_t n = 0; n < 2; ++n) {
      memcpy(dst + (2 * i + n) * COLUMNS, src + (n * ROWS + i) * COLUMNS, COLUMNS);
    }
  }
  memset(dst + (ptrdiff_t)2 * ROWS * COLUMNS, BENCH_SENTINEL, BENCH_GUARD_BYTES);
  ck_assert_msg(bench_verify(item, problems, src, dst, reason), "%s", reason);
  for (int32_t i = 0; i < 2 * ROWS * COLUMNS; ++i) {
    dst[i] ^= 0x10;
    ck_assert_msg(!bench_verify(item, problems, src, dst, reason), "byte %d was not looked at",
                  (int)i);
    dst[i] ^= 0x10;
  }
  free(problems);
  bench_case_list_deinit(&chains);
}

RLO_TEST(test_bench_case__scales_and_keeps_what_is_odd) {
  bench_numbers dims = {.count = 2, .values = {7225, 8192}};
  bench_dims_scale(&dims, 1.0 / 64);
  ck_assert_int_le(dims.values[0] * dims.values[1], 7225 * 8192 / 64);
  ck_assert_int_eq(dims.values[0] % 16, 7225 % 16);
  ck_assert_int_eq(dims.values[1] & (dims.values[1] - 1), 0);
}

static bench_plain reduce(const char *dims, const char *permutation, const char *src_layout) {
  bench_case_list one = {.size_factor = 1.0};
  const bench_case_spec spec = {.name = "plain",
                                .dtype = "f32",
                                .dims = dims,
                                .permutation = permutation,
                                .src_layout = src_layout};
  bench_plain plain = {0};
  ck_assert(bench_case_add(&one, &spec));
  ck_assert(bench_plain_from_case(&one.items[0], &plain));
  bench_case_list_deinit(&one);
  return plain;
}

RLO_TEST(test_bench_plain__merges_neighbours) {
  bench_plain plain = reduce("2,3,4,5", "0,2,3,1", NULL);
  ck_assert_int_eq(plain.rank, 3);
  ck_assert_int_eq(plain.dims[0], 2);
  ck_assert_int_eq(plain.dims[1], 3);
  ck_assert_int_eq(plain.dims[2], 20);
  ck_assert_int_eq(plain.permutation[0], 0);
  ck_assert_int_eq(plain.permutation[1], 2);
  ck_assert_int_eq(plain.permutation[2], 1);
}

RLO_TEST(test_bench_plain__drops_ones) {
  bench_plain plain = reduce("6,1,7,1", "3,2,1,0", NULL);
  ck_assert_int_eq(plain.rank, 2);
  ck_assert_int_eq(plain.dims[0], 6);
  ck_assert_int_eq(plain.dims[1], 7);
  ck_assert_int_eq(plain.permutation[0], 1);
}

RLO_TEST(test_bench_plain__sees_the_order_of_memory) {
  bench_plain plain = reduce("6,7", "1,0", "{0,1}");
  ck_assert_int_eq(plain.rank, 1);
  ck_assert_int_eq(plain.dims[0], 42);
}

RLO_TEST(test_bench_plain__refuses_padding) {
  bench_plain plain;
  ck_assert(!bench_plain_from_case(&list.items[0], &plain));
}
