/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/layout.h"
#include "relayout/text.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TEST(test_layout__row_major_is_descending) {
  rlo_layout layout = rlo_layout_row_major(3);
  static const int32_t expected[] = {2, 1, 0};

  ck_assert_int_eq(layout.kind, RLO_LAYOUT_DENSE);
  ck_assert_mem_eq(layout.minor_to_major, expected, sizeof expected);
  ck_assert(rlo_layout_is_row_major(&layout, 3));
  ck_assert(!rlo_layout_is_column_major(&layout, 3));
}

RLO_TEST(test_layout__column_major_is_ascending) {
  rlo_layout layout = rlo_layout_column_major(3);
  static const int32_t expected[] = {0, 1, 2};

  ck_assert_mem_eq(layout.minor_to_major, expected, sizeof expected);
  ck_assert(rlo_layout_is_column_major(&layout, 3));
  ck_assert(!rlo_layout_is_row_major(&layout, 3));
}

RLO_TEST(test_layout__rank_one_and_below_is_both) {
  for (int32_t rank = 0; rank <= 1; ++rank) {
    rlo_layout layout = rlo_layout_row_major(rank);
    ck_assert(rlo_layout_is_row_major(&layout, rank));
    ck_assert(rlo_layout_is_column_major(&layout, rank));
  }
}

RLO_TEST(test_layout__clamps_a_rank_outside) {
  rlo_layout none = rlo_layout_row_major(0);
  rlo_layout below = rlo_layout_row_major(-5);
  rlo_layout most = rlo_layout_column_major(RLO_MAX_RANK);
  rlo_layout above = rlo_layout_column_major(1000);

  ck_assert(rlo_layout_equal(&none, &below, 0));
  ck_assert(rlo_layout_equal(&most, &above, RLO_MAX_RANK));
  ck_assert(rlo_layout_is_column_major(&above, RLO_MAX_RANK));
}

RLO_TEST(test_layout__padding_tiles_and_tail_are_not_plain) {
  static const int64_t tile[] = {2};
  rlo_layout layouts[4];

  for (int i = 0; i < 4; ++i) {
    layouts[i] = rlo_layout_row_major(1);
  }
  layouts[0].has_padded_dimensions = true;
  layouts[0].padded_dimensions[0] = 8;
  ck_assert_int_eq(rlo_layout_add_tile(&layouts[1], tile, 1), RLO_OK);
  layouts[2].tail_alignment_elems = 2;
  layouts[3].kind = RLO_LAYOUT_STRIDED;
  layouts[3].strides_elems[0] = 1;
  for (int i = 0; i < 4; ++i) {
    ck_assert(!rlo_layout_is_row_major(&layouts[i], 1));
    ck_assert(!rlo_layout_is_column_major(&layouts[i], 1));
  }
  layouts[2].tail_alignment_elems = 1;
  ck_assert(rlo_layout_is_row_major(&layouts[2], 1));
}

RLO_TEST(test_layout__takes_a_minor_to_major) {
  static const int32_t order[] = {1, 2, 0};
  rlo_layout layout;
  rlo_layout scalar;

  ck_assert_int_eq(rlo_layout_from_minor_to_major(order, 3, &layout), RLO_OK);
  ck_assert_mem_eq(layout.minor_to_major, order, sizeof order);
  ck_assert(!rlo_layout_is_row_major(&layout, 3));
  ck_assert(!rlo_layout_is_column_major(&layout, 3));
  ck_assert_int_eq(rlo_layout_from_minor_to_major(NULL, 0, &scalar), RLO_OK);
}

RLO_TEST(test_layout__refuses_what_is_no_permutation) {
  static const int32_t twice[] = {1, 1};
  int32_t many[RLO_MAX_RANK + 1];
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_layout before = layout;

  for (int32_t i = 0; i <= RLO_MAX_RANK; ++i) {
    many[i] = i;
  }
  ck_assert_int_eq(rlo_layout_from_minor_to_major(twice, 2, &layout), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "minor_to_major: permutation[1]=1 repeats permutation[0]");
  ck_assert_int_eq(rlo_layout_from_minor_to_major(many, RLO_MAX_RANK + 1, &layout),
                   RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message, "rank 33 is beyond the limit of 32");
  ck_assert_int_eq(rlo_layout_from_minor_to_major(many, -1, &layout), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_from_minor_to_major(NULL, 2, &layout), RLO_INVALID_ARGUMENT);
  ck_assert_mem_eq(&layout, &before, sizeof layout);
}

RLO_TEST(test_layout__appends_tiles_in_order) {
  static const int64_t first[] = {8, 128};
  static const int64_t second[] = {RLO_TILE_COMBINE, RLO_TILE_COMBINE, 2};
  rlo_layout layout = rlo_layout_row_major(2);

  ck_assert_int_eq(rlo_layout_add_tile(&layout, first, 2), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_tile(&layout, second, 3), RLO_OK);
  ck_assert_int_eq(layout.num_tiles, 2);
  ck_assert_int_eq(layout.tiles[0].rank, 2);
  ck_assert_mem_eq(layout.tiles[0].dims, first, sizeof first);
  ck_assert_int_eq(layout.tiles[1].rank, 3);
  ck_assert_mem_eq(layout.tiles[1].dims, second, sizeof second);
}

static const struct {
  int64_t dims[3];
  int32_t rank;
  const char *message;
} bad_tiles[] = {
    {{0}, 0, "a tile needs at least 1 dimension"},
    {{0}, -1, "a tile needs at least 1 dimension"},
    {{2, 0}, 2, "tile dimension 1 of size 0 is below 1"},
    {{2, -2}, 2, "tile dimension 1 of size -2 is below 1"},
    {{-1, 128}, 2, "tile dimension 0 of size -1 is below 1"},
    {{2, RLO_TILE_COMBINE}, 2, "tile dimension 1, the last, cannot be '*'"},
};

RLO_TABLE_TEST(test_layout__refuses_a_bad_tile, bad_tiles) {
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_layout before = layout;

  ck_assert_int_eq(rlo_layout_add_tile(&layout, bad_tiles[_i].dims, bad_tiles[_i].rank),
                   RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, bad_tiles[_i].message);
  ck_assert_mem_eq(&layout, &before, sizeof layout);
}

RLO_TEST(test_layout__makes_tiles_and_pads_to_multiples) {
  const int64_t dims[] = {20, 300};
  rlo_layout layout;
  rlo_layout before;
  rlo_shape shape;
  char text[128];
  expect_ok(rlo_layout_make_tiled(2, (int64_t[]){8, 128}, 2, &layout));
  expect_ok(rlo_layout_pad_to(&layout, dims, 2, (int64_t[]){1, 256}));
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &layout, &shape));
  rlo_shape_format(&shape, text, sizeof text);
  ck_assert_str_eq(text, "f32[20,300]{1,0:T(8,128)pad(20,512)}");
  before = layout;
  expect_refusal(rlo_layout_pad_to(&layout, dims, 2, (int64_t[]){1, 0}), RLO_INVALID_ARGUMENT,
                 "dimension 1 of a dense layout, to a multiple of 0; the layout is dense and the "
                 "multiple at least 1");
  ck_assert_int_eq(rlo_layout_pad_to(&layout, (int64_t[]){1, -1}, 2, dims), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_pad_to(&layout, dims, 2, (int64_t[]){1, INT64_MAX}), RLO_OK);
  ck_assert_int_eq(rlo_layout_pad_to(&layout, (int64_t[]){INT64_MAX, 1}, 2, (int64_t[]){2, 1}),
                   RLO_OVERFLOW);
  layout = before;
  layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_layout_pad_to(&layout, dims, 2, dims), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_make_tiled(2, (int64_t[]){0}, 1, &before), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_make_tiled(33, dims, 2, &before), RLO_UNSUPPORTED);
  ck_assert_int_eq(before.num_tiles, 1);
}

RLO_TEST(test_layout__limits_tiles) {
  int64_t ones[RLO_MAX_TILE_RANK + 1];
  rlo_layout layout = rlo_layout_row_major(2);

  for (int32_t i = 0; i <= RLO_MAX_TILE_RANK; ++i) {
    ones[i] = 1;
  }
  ck_assert_int_eq(rlo_layout_add_tile(&layout, ones, RLO_MAX_TILE_RANK + 1), RLO_UNSUPPORTED);
  for (int32_t t = 0; t < RLO_MAX_TILES; ++t) {
    ck_assert_int_eq(rlo_layout_add_tile(&layout, ones, 1), RLO_OK);
  }
  ck_assert_int_eq(rlo_layout_add_tile(&layout, ones, 1), RLO_UNSUPPORTED);
  ck_assert_int_eq(layout.num_tiles, RLO_MAX_TILES);
}

/* Change one field of a layout of rank 2 that has everything. */
static void change(rlo_layout *layout, int field) {
  switch (field) {
    case 0:
      layout->minor_to_major[0] = 0;
      layout->minor_to_major[1] = 1;
      break;
    case 1:
      layout->has_padded_dimensions = false;
      break;
    case 2:
      layout->padded_dimensions[1] = 6;
      break;
    case 3:
      layout->fill = RLO_FILL_ONE;
      break;
    case 4:
      layout->fill_bits[0] = 1;
      break;
    case 5:
      layout->num_tiles = 1;
      break;
    case 6:
      layout->tiles[0].rank = 1;
      break;
    case 7:
      layout->tiles[1].dims[0] = 3;
      break;
    case 8:
      layout->tail_alignment_elems = 8;
      break;
    case 9:
      layout->element_size_bits = 64;
      break;
    case 10:
      layout->memory_space = 1;
      break;
    case 11:
      layout->kind = RLO_LAYOUT_STRIDED;
      break;
    default:
      ck_abort_msg("no field %d", field);
  }
}

RLO_LOOP_TEST(test_layout__each_field_makes_unequal, 0, 12) {
  static const int64_t tile[] = {2, 2};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.has_padded_dimensions = true;
  layout.padded_dimensions[0] = 3;
  layout.padded_dimensions[1] = 5;
  layout.fill = RLO_FILL_BITS;
  layout.tail_alignment_elems = 4;
  ck_assert_int_eq(rlo_layout_add_tile(&layout, tile, 2), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_tile(&layout, tile, 2), RLO_OK);
  rlo_layout other = layout;
  ck_assert(rlo_layout_equal(&layout, &other, 2));
  change(&other, _i);
  ck_assert(!rlo_layout_equal(&layout, &other, 2));
  ck_assert(!rlo_layout_equal(&other, &layout, 2));
}

RLO_TEST(test_layout__ignores_what_says_nothing) {
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_layout other = layout;

  other.minor_to_major[2] = 9;
  other.padded_dimensions[0] = 9;
  other.fill_bits[0] = 9;
  other.tiles[0].rank = 9;
  other.strides_elems[0] = 9;
  other.offset_elems = 9;
  other.tail_alignment_elems = 1;
  ck_assert(rlo_layout_equal(&layout, &other, 2));

  rlo_layout strided = test_shape_of("f32[2,3]{:strides(8,1)offset(3)}").layout;
  other = strided;
  other.minor_to_major[0] = 9;
  other.strides_elems[2] = 9;
  ck_assert(rlo_layout_equal(&strided, &other, 2));
  other.strides_elems[1] = 2;
  ck_assert(!rlo_layout_equal(&strided, &other, 2));
  other = strided;
  other.offset_elems = 4;
  ck_assert(!rlo_layout_equal(&strided, &other, 2));
}
