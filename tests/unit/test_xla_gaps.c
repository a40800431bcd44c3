/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cases that XLA's shape tools get wrong, ignore or die of, and the answers of
 * this library: one test for each, by number and name. The facts about XLA are
 * of 2026-08.
 *
 * Parts of these claims belong to other suites, and are not repeated here:
 *    7  the tile `*` in a proto message and back: with the proto reader
 *   14  the option inside tuples: with shape trees
 *   20, 21  speed, and the same moves on devices: the device suites; here the
 *       host's answer, to which they are compared
 *   23  a copy of whole runs on a device: the planner's suite
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/relayout.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_tree.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

static void expect_parse_error(const char *text, rlo_status status) {
  rlo_shape shape;
  rlo_status found = rlo_shape_parse(text, strlen(text), &shape);
  ck_assert_msg(found == status, "%s is %s: %s", text, rlo_status_name(found),
                rlo_error_last()->message);
  ck_assert_int_gt((int)strlen(rlo_error_last()->message), 0);
}

static int64_t slot_in(const char *text, const int64_t *index) {
  rlo_shape shape = test_shape_of(text);
  return test_slot_of(&shape, index);
}

static int64_t slots_in(const char *text) {
  rlo_shape shape = test_shape_of(text);
  return test_slots_of(&shape);
}

static bool is_transpose_bitcast(const char *src_text, const char *dst_text,
                                 const int32_t *permutation) {
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  bool answer;
  expect_ok(rlo_shape_transpose_is_bitcast(&src, &dst, permutation, 0, &answer));
  return answer;
}

static bool is_reshape_bitcast(const char *src_text, const char *dst_text) {
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  bool answer;
  expect_ok(rlo_shape_reshape_is_bitcast(&src, &dst, 0, &answer));
  return answer;
}

/* Element `slot` of packed elements of at most 64 bits. */
static uint64_t load(const uint8_t *bytes, int64_t slot, int64_t bits) {
  uint64_t value = 0;
  for (int64_t b = 0; b < bits && b < 64; ++b) {
    int64_t bit = slot * bits + b;
    value |= (uint64_t)(bytes[bit / 8] >> (bit % 8) & 1) << b;
  }
  return value;
}

/* Relayout pseudo-random bytes on the host, and look every element up. */
static void expect_moved(const char *src_text, const char *dst_text, const int32_t *permutation) {
  static rlo_problem problem;
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  uint8_t *from = calloc(1, (size_t)problem.src_bytes + 1);
  uint8_t *to = calloc(1, (size_t)problem.dst_bytes + 1);
  ck_assert(from != NULL && to != NULL);
  uint32_t state = 1;
  for (int64_t b = 0; b < problem.src_bytes; ++b) {
    state = state * 1664525u + 1013904223u;
    from[b] = (uint8_t)(state >> 24);
  }
  expect_ok(rlo_problem_run_host(&problem, from, to));
  int64_t bits = rlo_shape_element_size_bits(&src);
  int64_t index[RLO_MAX_RANK] = {0};
  do {
    int64_t src_index[RLO_MAX_RANK] = {0};
    for (int32_t k = 0; k < dst.rank; ++k) {
      src_index[permutation == NULL ? k : permutation[k]] = index[k];
    }
    int64_t src_slot;
    int64_t dst_slot;
    expect_ok(rlo_index_to_linear(&src, src_index, &src_slot));
    expect_ok(rlo_index_to_linear(&dst, index, &dst_slot));
    ck_assert_uint_eq(load(from, src_slot, bits), load(to, dst_slot, bits));
  } while (rlo_index_bump(&dst, index));
  free(from);
  free(to);
}

/* IndexUtil ignores tiles. */
RLO_TEST(test_xla_gaps__01_index_honours_tiles) {
  static const int64_t index[] = {3, 5};
  ck_assert_int_eq(slot_in("f32[32,256]{1,0:T(8,128)}", index), 389);
  ck_assert_int_eq(slot_in("f32[32,256]{1,0}", index), 773);
  rlo_shape shape = test_shape_of("f32[32,256]{1,0:T(8,128)}");
  int64_t found[2];
  bool is_element;
  expect_ok(rlo_index_from_linear(&shape, 389, found, &is_element));
  ck_assert(is_element && found[0] == 3 && found[1] == 5);
}

/* LayoutUtil::LinearIndex: the top tile only, and none at all for rank 1. */
RLO_TEST(test_xla_gaps__02_linear_index_takes_all_tiles) {
  ck_assert_int_eq(slot_in("bf16[2048]{0:T(1024)(128)(2,1)}", (int64_t[]){128}), 1);
  ck_assert_int_eq(slot_in("f32[8]{0:T(2,2)}", (int64_t[]){5}), 9);
  ck_assert_int_eq(slot_in("f32[32,256]{1,0:T(8,128)(2,1)}", (int64_t[]){3, 5}), 267);
}

/* LinearIndexForNestedTiling divides by the marker of `*`. */
RLO_TEST(test_xla_gaps__03_combined_dimensions) {
  static const char text[] = "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}";
  static const char equal[] = "f32[112,110]{1,0:T(2,3)}";
  int64_t index[] = {1, 2, 3, 4, 5};
  ck_assert_int_eq(slot_in(text, index), 8307);
  ck_assert_int_eq(slot_in(equal, (int64_t[]){(1 * 7 + 2) * 8 + 3, 4 * 10 + 5}), 8307);
  ck_assert(is_reshape_bitcast(text, equal));
}

/* ArraySize: the top tile only, wrong where a later tile pads, and with `*`. */
RLO_TEST(test_xla_gaps__04_array_size_takes_all_tiles) {
  ck_assert_int_eq(slots_in("f32[6]{0:T(4)(3)}"), 2 * 2 * 3);
  ck_assert_int_eq(slots_in("bf16[4,2]{1,0:T(8,128)(2,1)}"), 1024);
  ck_assert_int_eq(slots_in("f32[2,3,4]{2,1,0:T(*,4,4)}"), 8 * 4);
  ck_assert_int_eq(slots_in("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"), 12432);
}

/* ArraySize ignores the tail alignment of a layout without tiles. */
RLO_TEST(test_xla_gaps__05_tail_alignment_without_tiles) {
  ck_assert_int_eq(slots_in("f32[3,5]{1,0:L(100)}"), 100);
  ck_assert_int_eq(slots_in("f32[3,5]{1,0:T(2,2)L(100)}"), 100);
}

/* ByteSizeOf and ByteStrides ignore tiles and tail. */
RLO_TEST(test_xla_gaps__06_sizes_and_strides_honour_tiles) {
  rlo_shape shape = test_shape_of("f32[20,300]{1,0:T(8,128)L(65536)}");
  int64_t bytes;
  int64_t strides[2];
  bool is_strided;
  expect_ok(rlo_shape_array_size(&shape, &bytes));
  ck_assert_int_eq(bytes, 4 * 65536);
  expect_ok(rlo_shape_array_data_size(&shape, &bytes));
  ck_assert_int_eq(bytes, 4 * (2 * 3072 + 2 * 1024 + 3 * 128 + 44));
  expect_ok(rlo_shape_byte_strides(&shape, &is_strided, strides));
  ck_assert(!is_strided);
}

/* `*` is -1 in XLA's documentation and INT64_MIN in its code. */
RLO_TEST(test_xla_gaps__07_combine_marker_round_trips) {
  rlo_shape shape = test_shape_of("f32[12,34,56]{0,1,2:T(2, * , 128)}");
  ck_assert(shape.layout.tiles[0].dims[1] == RLO_TILE_COMBINE);
  char text[256];
  rlo_shape_format(&shape, text, sizeof text);
  rlo_shape again = test_shape_of(text);
  ck_assert(rlo_shape_equal(&shape, &again));
  rlo_layout layout = rlo_layout_row_major(2);
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){-1, 128}, 2), RLO_INVALID_ARGUMENT);
}

/* T(-1,..) and L(0) end XLA's process. */
RLO_TEST(test_xla_gaps__08_bad_tiles_are_errors) {
  expect_parse_error("f32[2,3]{1,0:T(-1,128)}", RLO_PARSE);
  expect_parse_error("f32[2,3]{1,0:T(0,128)}", RLO_PARSE);
  expect_parse_error("f32[2,3]{1,0:T(2,*)}", RLO_INVALID_ARGUMENT);
  expect_parse_error("f32[2,3]{1,0:L(0)}", RLO_PARSE);
}

/* The parser accepts orders that are no permutation. */
RLO_TEST(test_xla_gaps__09_orders_are_permutations) {
  expect_parse_error("f32[2,3]{0,0}", RLO_INVALID_ARGUMENT);
  expect_parse_error("f32[2,3]{1,2}", RLO_INVALID_ARGUMENT);
  expect_parse_error("f32[0,0]{1,1}", RLO_INVALID_ARGUMENT);
}

/* IndexInBounds accepts negative coordinates. */
RLO_TEST(test_xla_gaps__10_bounds_have_two_ends) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  int64_t slot;
  ck_assert(rlo_index_in_bounds(&shape, (int64_t[]){1, 2}));
  ck_assert(!rlo_index_in_bounds(&shape, (int64_t[]){1, 3}));
  ck_assert(!rlo_index_in_bounds(&shape, (int64_t[]){-1, 2}));
  ck_assert_int_eq(rlo_index_to_linear(&shape, (int64_t[]){-1, 2}, &slot), RLO_OUT_OF_RANGE);
}

/* GetDimensionNumber has no upper bound. */
RLO_TEST(test_xla_gaps__11_dimension_numbers_have_two_ends) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  int64_t size;
  expect_ok(rlo_shape_dimension(&shape, 1, &size));
  ck_assert_int_eq(rlo_shape_dimension(&shape, 2, &size), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_dimension(&shape, -3, &size), RLO_OUT_OF_RANGE);
}

/* The comment of CompareIndices says the opposite of its code. */
RLO_TEST(test_xla_gaps__12_comparison_has_the_sign_it_says) {
  ck_assert_int_eq(rlo_index_compare((int64_t[]){0, 1}, (int64_t[]){1, 0}, 2), -1);
  ck_assert_int_eq(rlo_index_compare((int64_t[]){1, 0}, (int64_t[]){0, 1}, 2), 1);
}

/* Equal ignores the metadata prefix; memory spaces are cut to 8 bits. */
RLO_TEST(test_xla_gaps__13_equality_and_hash_take_everything) {
  rlo_shape a = test_shape_of("f32[2,3]{1,0:S(1)}");
  rlo_shape b = test_shape_of("f32[2,3]{1,0:S(257)}");
  ck_assert(!rlo_shape_equal(&a, &b));
  ck_assert(rlo_shape_hash(&a) != rlo_shape_hash(&b));
  b = a;
  b.layout.metadata_prefix_bytes = 1024;
  ck_assert(!rlo_shape_equal(&a, &b));
  ck_assert(rlo_shape_hash(&a) != rlo_shape_hash(&b));
}

/* LayoutsInShapesEqual drops its option on the way. */
RLO_TEST(test_xla_gaps__14_layouts_are_compared_as_asked) {
  rlo_shape a = test_shape_of("f32[2,3]{1,0:T(2,2)E(64)}");
  rlo_shape b = test_shape_of("s8[4,5]{1,0}");
  ck_assert(!rlo_layout_equal(&a.layout, &b.layout, 2));
  ck_assert(!rlo_layout_equal_with(&a.layout, &b.layout, 2, RLO_EQUAL_IGNORE_TILES));
  ck_assert(rlo_layout_equal_with(&a.layout, &b.layout, 2,
                                  RLO_EQUAL_IGNORE_TILES | RLO_EQUAL_IGNORE_ELEMENT_SIZE));
}

/* TransposeIsBitcast compares orders alone: wrong in both directions. */
RLO_TEST(test_xla_gaps__15_transpose_bitcasts_are_exact) {
  static const int32_t swap[] = {1, 0};
  ck_assert(is_transpose_bitcast("f32[1,5]{1,0}", "f32[5,1]{1,0}", swap));
  ck_assert(!is_transpose_bitcast("f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1}", swap));
  ck_assert(!is_transpose_bitcast("f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(128,8)}", swap));
  ck_assert(!is_transpose_bitcast("s4[4,6]{1,0:E(4)}", "s4[6,4]{0,1}", swap));
}

/* ReshapeIsBitcast ignores tiles and element sizes. */
RLO_TEST(test_xla_gaps__16_reshape_bitcasts_are_exact) {
  ck_assert(!is_reshape_bitcast("f32[16,256]{1,0:T(8,128)}", "f32[4096]"));
  ck_assert(is_reshape_bitcast("f32[16,128]{1,0:T(8,128)}", "f32[2048]"));
  ck_assert(!is_reshape_bitcast("s4[8]{0:E(4)}", "s4[2,4]"));
  ck_assert(is_reshape_bitcast("s4[8]{0:E(4)}", "s4[2,4]{1,0:E(4)}"));
}

/* ShapeUtil::MoveDimToMajor drops tiles and memory space. */
RLO_TEST(test_xla_gaps__17_moving_a_dimension_keeps_the_rest) {
  rlo_shape shape = test_shape_of("f32[4,5,6]{2,1,0:T(8,128)E(64)S(5)}");
  rlo_shape expected = test_shape_of("f32[4,5,6]{1,0,2:T(8,128)E(64)S(5)}");
  expect_ok(rlo_shape_move_dim_to_major(&shape, 2, &shape));
  ck_assert(rlo_shape_equal(&shape, &expected));
}

/* DeleteDimension leaves tiles that are for dimensions no longer there. */
RLO_TEST(test_xla_gaps__18_deleting_a_dimension_adapts_tiles) {
  rlo_shape shape = test_shape_of("f32[4,1,300]{2,1,0:T(8,128)}");
  rlo_shape stale = test_shape_of("f32[4,300]{1,0:T(8,128)}");
  rlo_shape result;
  bool is_bitcast;
  expect_ok(rlo_shape_drop_degenerate_dims(&shape, &result));
  expect_ok(rlo_shape_reshape_is_bitcast(&shape, &result, 0, &is_bitcast));
  ck_assert(is_bitcast);
  expect_ok(rlo_shape_reshape_is_bitcast(&shape, &stale, 0, &is_bitcast));
  ck_assert(!is_bitcast);
}

/* DecomposeBitcast refuses different element sizes. */
RLO_TEST(test_xla_gaps__19_bitcasts_between_element_sizes) {
  rlo_shape src = test_shape_of("s4[4,2,3]{1,0,2:E(4)}");
  rlo_shape dst = test_shape_of("s8[4,3]{0,1}");
  rlo_bitcast_decomposition d;
  expect_ok(rlo_bitcast_decompose(&src, &dst, 0, &d));
  ck_assert_int_eq(d.kind, RLO_BITCAST_KIND_TRT);
  rlo_shape middle = test_shape_of("s8[3,4]");
  ck_assert(rlo_shape_equal(&d.reshape_shape, &middle));
}

/* TransposePlan: a tile on one side only, one level, few element sizes, and
 * none for rank 1. */
RLO_TEST(test_xla_gaps__20_transposes_between_any_layouts) {
  static const int32_t swap[] = {1, 0};
  expect_moved("f32[20,30]{1,0:T(8,16)}", "f32[30,20]{1,0:T(4,4)}", swap);
  expect_moved("bf16[20,30]{1,0:T(8,16)(2,1)}", "bf16[30,20]{1,0:T(16,8)(4,1)}", swap);
  expect_moved("f32[50]{0:T(8)(2,2)}", "f32[50]{0:T(3)}", NULL);
  expect_moved("u8[5,7]{1,0:E(24)}", "u8[7,5]{1,0:E(24)}", swap);
  expect_moved("u32[5,7]{1,0:E(48)}", "u32[7,5]{1,0:E(48)}", swap);
  expect_moved("c64[5,7]{1,0:E(96)}", "c64[7,5]{1,0:E(96)}", swap);
  /* Elements of 24 bytes are rows of bytes that stay together. */
  expect_moved("u8[5,7,24]", "u8[7,5,24]", (int32_t[]){1, 0, 2});
}

/* The GPU path takes no tiles, and few transposes of 4-bit elements. */
RLO_TEST(test_xla_gaps__21_packed_elements_and_tiles) {
  static const int32_t swap[] = {1, 0};
  expect_moved("s4[13,9]{1,0:E(4)}", "s4[9,13]{1,0:E(4)}", swap);
  expect_moved("u2[13,9]{1,0:E(2)}", "u2[9,13]{1,0:E(2)}", swap);
  expect_moved("s4[13,9]{1,0:E(4)}", "s4[9,13]{1,0:T(8,4)E(4)}", swap);
  expect_moved("u1[13,9]{1,0:T(4,8)E(1)}", "u1[9,13]{0,1:T(2,2)E(1)}", swap);
}

/* Padding is never written: no policy, none of PaddingValue. */
RLO_TEST(test_xla_gaps__22_padding_is_filled) {
  static rlo_problem problem;
  rlo_shape src = test_shape_of("u8[2,3]");
  rlo_shape dst = test_shape_of("u8[2,3]{0,1:pad(3,5)fill(zero)}");
  static const char expected[] = "ad0be0cf0000000";
  char out[16];
  memset(out, '#', sizeof out);
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
  expect_ok(rlo_problem_run_host(&problem, "abcdef", out));
  for (int i = 0; i < 15; ++i) {
    ck_assert_int_eq(out[i], expected[i] == '0' ? 0 : expected[i]);
  }
  ck_assert_int_eq(out[15], '#');
  static const char *const fills[] = {"one", "lowest", "highest", "0xab"};
  static const uint8_t values[] = {1, 0, 0xff, 0xab};
  for (int f = 0; f < 4; ++f) {
    char text[64];
    snprintf(text, sizeof text, "u8[2,3]{1,0:pad(2,4)fill(%s)}", fills[f]);
    dst = test_shape_of(text);
    expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
    expect_ok(rlo_problem_run_host(&problem, "abcdef", out));
    ck_assert_uint_eq((uint8_t)out[3], values[f]);
    ck_assert_uint_eq((uint8_t)out[7], values[f]);
  }
  /* And left alone where nothing is said. */
  memset(out, '#', sizeof out);
  dst = test_shape_of("u8[2,3]{1,0:pad(2,4)}");
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
  expect_ok(rlo_problem_run_host(&problem, "abcdef", out));
  ck_assert_mem_eq(out, "abc#def#", 8);
}

/* Literal::Relayout moves one element at a time. */
RLO_TEST(test_xla_gaps__23_relayouts_are_of_whole_runs) {
  static rlo_problem problem;
  rlo_shape src = test_shape_of("f32[16,8,32]{2,1,0:T(8,32)}");
  rlo_shape dst = test_shape_of("f32[16,8,32]{2,1,0}");
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
  expect_ok(rlo_problem_canonicalize(&problem, 128, NULL, NULL));
  ck_assert_int_eq(problem.num_axes, 1);
  ck_assert_int_eq(problem.unit_bits, 128);
  ck_assert_int_eq(problem.extents[0], 16 * 8 * 32 / 4);
  ck_assert_int_eq(problem.src.axis[0], 1);
  ck_assert_int_eq(problem.dst.axis[0], 1);
}

/* Nothing says how large a padded array will be: 1 GiB becomes 32. */
RLO_TEST(test_xla_gaps__24_padded_sizes_are_foretold) {
  rlo_shape shape = test_shape_of("s32[8388608,8,4]{2,1,0:T(8,128)}");
  rlo_shape_extent extent;
  int64_t dims[8];
  int32_t count;
  expect_ok(rlo_shape_measure(&shape, &extent));
  ck_assert_int_eq(extent.bytes, INT64_C(1) << 30);
  ck_assert_int_eq(extent.physical_bytes, INT64_C(1) << 35);
  expect_ok(rlo_shape_physical_dims(&shape, dims, 8, &count));
  ck_assert_int_eq(count, 5);
  ck_assert_int_eq(dims[4], 128);
}
