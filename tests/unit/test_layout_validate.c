/* SPDX-License-Identifier: Apache-2.0 */

/* rlo_layout_validate refuses layouts with these sentences. */

#include <string.h>

#include "relayout/layout.h"
#include "relayout/text.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const int64_t two_by_three[] = {2, 3};

/* The status of a layout for f32[2,3], and the sentence that goes with it. */
static void expect_refused(const rlo_layout *layout, rlo_status status, const char *message) {
  ck_assert_int_eq(rlo_layout_validate(layout, two_by_three, 2, RLO_DTYPE_F32), status);
  ck_assert_str_eq(rlo_error_last()->message, message);
}

static void expect_accepted(const rlo_layout *layout) {
  ck_assert_int_eq(rlo_layout_validate(layout, two_by_three, 2, RLO_DTYPE_F32), RLO_OK);
}

RLO_TEST(test_layout__validates_the_array_itself) {
  static const int64_t negative[] = {2, -3};
  rlo_layout layout = rlo_layout_row_major(2);

  expect_accepted(&layout);
  ck_assert_int_eq(rlo_layout_validate(&layout, negative, 2, RLO_DTYPE_F32), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, "dimension 1 of size -3 is negative");
  ck_assert_int_eq(rlo_layout_validate(&layout, NULL, 2, RLO_DTYPE_F32), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_validate(&layout, negative, 33, RLO_DTYPE_F32), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_layout_validate(&layout, negative, -1, RLO_DTYPE_F32), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_INVALID),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_validate(&layout, NULL, 0, RLO_DTYPE_F32), RLO_OK);
}

RLO_TEST(test_layout__validates_minor_to_major) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.minor_to_major[0] = 2;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "minor_to_major: permutation[0]=2 is out of range for rank 2");
}

RLO_TEST(test_layout__validates_padding) {
  static const int64_t empty[] = {0, 3};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.has_padded_dimensions = true;
  layout.padded_dimensions[0] = 2;
  layout.padded_dimensions[1] = 3;
  expect_accepted(&layout);
  layout.padded_dimensions[0] = 14;
  expect_accepted(&layout);
  layout.padded_dimensions[1] = 2;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "padded_dimensions[1]=2 is below dimension 1 of size 3");
  layout.padded_dimensions[1] = 3;
  layout.padded_dimensions[0] = -1;
  ck_assert_int_eq(rlo_layout_validate(&layout, empty, 2, RLO_DTYPE_F32), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_layout__validates_tiles) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.num_tiles = 2;
  layout.tiles[0].rank = 1;
  layout.tiles[0].dims[0] = 4;
  layout.tiles[1].rank = 2;
  layout.tiles[1].dims[0] = 2;
  layout.tiles[1].dims[1] = 0;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "tile 1: tile dimension 1 of size 0 is below 1");
  layout.tiles[1].dims[1] = RLO_TILE_COMBINE;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "tile 1: tile dimension 1, the last, cannot be '*'");
  layout.tiles[1].dims[0] = RLO_TILE_COMBINE;
  layout.tiles[1].dims[1] = 2;
  expect_accepted(&layout);
  layout.tiles[1].rank = 0;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "tile 1: a tile needs at least 1 dimension");
  layout.tiles[1].rank = RLO_MAX_TILE_RANK + 1;
  expect_refused(&layout, RLO_UNSUPPORTED,
                 "tile 1: a tile of 33 dimensions is beyond the limit of 32");
  layout.num_tiles = RLO_MAX_TILES + 1;
  expect_refused(&layout, RLO_UNSUPPORTED, "9 tiles are beyond the limit of 8");
  layout.num_tiles = -1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a layout cannot have -1 tiles");
}

RLO_TEST(test_layout__tiles_may_outrank_the_array) {
  /* XLA: f32[8]T(2,2), f32[8,8]T(2,2)(2,2,2,2,2) and u32[]T(128) are valid. */
  static const int64_t dims[] = {8, 8};
  static const int64_t twos[] = {2, 2, 2, 2, 2};
  static const int64_t scalar_tile[] = {128};

  for (int32_t rank = 0; rank <= 2; ++rank) {
    rlo_layout layout = rlo_layout_row_major(rank);
    ck_assert_int_eq(rlo_layout_add_tile(&layout, twos, 2), RLO_OK);
    ck_assert_int_eq(rlo_layout_add_tile(&layout, twos, 5), RLO_OK);
    ck_assert_int_eq(rlo_layout_add_tile(&layout, scalar_tile, 1), RLO_OK);
    ck_assert_int_eq(rlo_layout_validate(&layout, dims, rank, RLO_DTYPE_U32), RLO_OK);
  }
}

RLO_TEST(test_layout__validates_tail_alignment) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.tail_alignment_elems = 1024;
  expect_accepted(&layout);
  layout.tail_alignment_elems = -1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a tail alignment of -1 elements is negative");
}

RLO_TEST(test_layout__validates_element_size) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.element_size_bits = 32;
  expect_accepted(&layout);
  layout.element_size_bits = 42;
  expect_accepted(&layout);
  layout.element_size_bits = 128;
  expect_accepted(&layout);
  layout.element_size_bits = 129;
  expect_refused(&layout, RLO_UNSUPPORTED,
                 "an element size of 129 bits is beyond the limit of 128");
  layout.element_size_bits = 31;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "an element size of 31 bits cannot hold the 32 bits of f32");
  layout.element_size_bits = -1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "an element size of -1 bits cannot hold the 32 bits of f32");
  layout.element_size_bits = 4;
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_S4), RLO_OK);
}

RLO_TEST(test_layout__validates_fill) {
  rlo_layout layout = rlo_layout_row_major(2);

  for (int fill = RLO_FILL_INVALID; fill <= RLO_FILL_BITS; ++fill) {
    layout.fill = (rlo_fill)fill;
    expect_accepted(&layout);
  }
  layout.fill = (rlo_fill)7;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "7 is not a fill");

  layout.fill = RLO_FILL_LOWEST;
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_C64), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message, "fill: c64 has no lowest value");
  layout.fill = RLO_FILL_ZERO;
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_F8E8M0FNU),
                   RLO_UNSUPPORTED);
}

RLO_TEST(test_layout__fill_bits_stay_inside_the_element) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.fill = RLO_FILL_BITS;
  memset(layout.fill_bits, 0xff, 4);
  expect_accepted(&layout);
  layout.fill_bits[4] = 0x10;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "bit 36 of the fill lies beyond the 32 bits of an element");
  layout.element_size_bits = 37;
  expect_accepted(&layout);
  layout.element_size_bits = 36;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "bit 36 of the fill lies beyond the 36 bits of an element");
  memset(layout.fill_bits, 0xff, 16);
  layout.element_size_bits = 0;
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_C128), RLO_OK);
}

RLO_TEST(test_layout__validates_strided) {
  rlo_layout layout = test_shape_of("f32[2,3]{:strides(8,1)offset(3)}").layout;

  expect_accepted(&layout);
  layout.strides_elems[0] = 0;
  layout.strides_elems[1] = -1;
  layout.element_size_bits = 64;
  layout.memory_space = 5;
  layout.tail_alignment_elems = 1;
  expect_accepted(&layout);

  layout.has_padded_dimensions = true;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a strided layout cannot have padded dimensions");
  layout.has_padded_dimensions = false;
  layout.num_tiles = 1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a strided layout cannot have tiles");
  layout.num_tiles = 0;
  layout.tail_alignment_elems = 2;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a strided layout cannot have a tail alignment");
  layout.tail_alignment_elems = 0;
  layout.fill = RLO_FILL_ZERO;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a strided layout cannot have a fill");
  layout.fill = RLO_FILL_INVALID;
  layout.kind = (rlo_layout_kind)2;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "2 is not a kind of layout");
}

static const struct {
  int32_t dimension;
  int64_t indices[3];
  int32_t count;
  const char *message;
} bad_splits[] = {
    {-1, {1}, 1, "split of dimension -1: it is negative"},
    {2, {1}, 1, "split of dimension 2: the rank is 2"},
    {0, {1}, 0, "split of dimension 0: it needs at least 1 cut point"},
    {0,
     {0},
     1,
     "split of dimension 0: cut point 0 is not above 0; they must be above 0 "
     "and strictly increasing"},
    {1,
     {1, 1},
     2,
     "split of dimension 1: cut point 1 is not above 1; they must be above 0 "
     "and strictly increasing"},
    {0,
     {INT64_MAX, 8},
     2,
     "split of dimension 0: cut point 8 is not above 9223372036854775807; "
     "they must be above 0 and strictly increasing"},
    {1, {1, 3}, 2, "split of dimension 1: cut point 3 is not below its size 3"},
};

/* Written by hand, because rlo_layout_add_split refuses most of them. */
RLO_TABLE_TEST(test_layout__validates_splits, bad_splits) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.num_split_configs = 1;
  layout.split_configs[0].dimension = bad_splits[_i].dimension;
  layout.split_configs[0].num_indices = bad_splits[_i].count;
  memcpy(layout.split_configs[0].indices, bad_splits[_i].indices, sizeof bad_splits[_i].indices);
  expect_refused(&layout, RLO_INVALID_ARGUMENT, bad_splits[_i].message);
}

RLO_TEST(test_layout__splits_are_of_physical_dimensions) {
  static const int64_t cuts[] = {1, 2};
  rlo_layout layout = rlo_layout_row_major(2);

  ck_assert_int_eq(rlo_layout_add_split(&layout, 0, cuts, 1), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_split(&layout, 1, cuts, 2), RLO_OK);
  expect_accepted(&layout);
  ck_assert_int_eq(rlo_layout_add_split(&layout, 1, cuts, 1), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, "dimension 1 is split twice");
  ck_assert_int_eq(layout.num_split_configs, 2);
  layout.split_configs[1].dimension = 0;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "dimension 0 is split twice");

  /* In column-major order physical dimension 1 is the one of size 2. */
  rlo_layout columns = rlo_layout_column_major(2);
  ck_assert_int_eq(rlo_layout_add_split(&columns, 1, cuts, 2), RLO_OK);
  expect_refused(&columns, RLO_INVALID_ARGUMENT,
                 "split of dimension 1: cut point 2 is not below its size 2");
  int64_t many[RLO_MAX_SPLIT_INDICES + 1];
  for (int i = 0; i <= RLO_MAX_SPLIT_INDICES; ++i) {
    many[i] = i + 1;
  }
  ck_assert_int_eq(rlo_layout_add_split(&columns, 0, many, RLO_MAX_SPLIT_INDICES + 1),
                   RLO_UNSUPPORTED);
  rlo_layout strided = test_shape_of("f32[2,3]{:strides(8,1)offset(3)}").layout;
  strided.num_split_configs = 1;
  expect_refused(&strided, RLO_INVALID_ARGUMENT, "a strided layout cannot have splits");
}

RLO_TEST(test_layout__validates_what_it_carries) {
  rlo_layout layout = rlo_layout_row_major(2);

  layout.metadata_prefix_bytes = 123;
  layout.memory_space = INT64_MAX;
  expect_accepted(&layout);
  layout.metadata_prefix_bytes = -1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a metadata prefix of -1 bytes is negative");
  layout.metadata_prefix_bytes = 0;
  layout.index_dtype = RLO_DTYPE_U32;
  expect_refused(&layout, RLO_INVALID_ARGUMENT,
                 "only sparse arrays have an index or a pointer type, and they "
                 "are not supported");
  layout.index_dtype = RLO_DTYPE_INVALID;
  layout.pointer_dtype = RLO_DTYPE_U16;
  ck_assert_int_eq(rlo_layout_validate(&layout, two_by_three, 2, RLO_DTYPE_F32),
                   RLO_INVALID_ARGUMENT);
}

/* ----------------------------------------------------------- address maps */

static void expect_no_map(const char *text, rlo_status status, const char *message) {
  rlo_shape shape;
  rlo_status got = rlo_shape_parse(text, strlen(text), &shape);
  ck_assert_msg(got == status, "%s: %d", text, (int)got);
  ck_assert_msg(strstr(rlo_error_last()->message, message) != NULL, "%s",
                rlo_error_last()->message);
}

#define MOST  "9223372036854775807"
#define ONES  "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
#define STARS "*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,1"

RLO_TEST(test_layout__tiles_make_so_many_dimensions_at_most) {
  static const char words[] = "the layout's tiles make more than 64 physical dimensions";
  expect_no_map("u8[]{:T(" ONES ")(1)}", RLO_UNSUPPORTED, words);
  expect_no_map("u8[]{:T(" STARS ")(" STARS ")(" STARS ")(" STARS ")(" STARS ")}", RLO_UNSUPPORTED,
                words);
}

RLO_TEST(test_layout__positions_stay_within_64_bits) {
  expect_no_map("u8[0," MOST "," MOST "]{2,1,0:T(*,1)}", RLO_OVERFLOW,
                "combined dimensions " MOST " x " MOST " do not fit 64 bits");
  expect_no_map("u8[" MOST "]{0:L(2)}", RLO_OVERFLOW,
                MOST " slots rounded up to a multiple of 2 do not fit 64 bits");
  expect_no_map("u8[3]{:strides(-" MOST ")}", RLO_OVERFLOW,
                "the strided layout reaches beyond 64-bit positions");
  expect_no_map("u8[2]{:strides(" MOST ")}", RLO_OVERFLOW,
                "the strided layout reaches beyond 64-bit positions");
  expect_no_map("u8[3]{:strides(" MOST ")}", RLO_OVERFLOW,
                "the strided layout reaches beyond 64-bit positions");
  expect_no_map("u8[3,3]{:strides(-" MOST ",-1)}", RLO_OVERFLOW,
                "the strided layout reaches beyond 64-bit positions");
}

RLO_TEST(test_layout__has_no_number_of_splits_below_0) {
  rlo_layout layout = rlo_layout_row_major(2);
  layout.num_split_configs = -1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a layout cannot have -1 splits");
  layout.num_split_configs = RLO_MAX_RANK + 1;
  expect_refused(&layout, RLO_INVALID_ARGUMENT, "a layout cannot have 33 splits");
}
