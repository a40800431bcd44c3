/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/xla/layout_util.h"
#include "support/suite.h"

static rlo_layout with_order(const int32_t *minor_to_major, int32_t rank) {
  rlo_layout layout;
  ck_assert_int_eq(rlo_layout_from_minor_to_major(minor_to_major, rank, &layout), RLO_OK);
  return layout;
}

static void expect_order(const rlo_layout *layout, const int32_t *minor_to_major, int32_t rank) {
  for (int32_t i = 0; i < rank; ++i) {
    ck_assert_int_eq(layout->minor_to_major[i], minor_to_major[i]);
  }
}

RLO_TEST(test_layout_edit__takes_major_to_minor) {
  rlo_layout layout;
  ck_assert_int_eq(rlo_layout_from_major_to_minor((int32_t[]){0, 2, 1}, 3, &layout), RLO_OK);
  expect_order(&layout, (int32_t[]){1, 2, 0}, 3);
  ck_assert_int_eq(rlo_layout_from_major_to_minor(NULL, 0, &layout), RLO_OK);
  ck_assert_int_eq(rlo_layout_from_major_to_minor(NULL, 2, &layout), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_from_major_to_minor((int32_t[]){0, 0}, 2, &layout),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_from_major_to_minor((int32_t[]){0}, RLO_MAX_RANK + 1, &layout),
                   RLO_UNSUPPORTED);
}

RLO_TEST(test_layout_edit__knows_monotonic_orders) {
  rlo_layout rows = rlo_layout_row_major(3);
  rlo_layout columns = rlo_layout_column_major(3);
  rlo_layout other = with_order((int32_t[]){1, 2, 0}, 3);
  ck_assert(rlo_layout_is_monotonic_dim0_major(&rows, 3));
  ck_assert(!rlo_layout_is_monotonic_dim0_minor(&rows, 3));
  ck_assert(!rlo_layout_is_monotonic_dim0_major(&columns, 3));
  ck_assert(rlo_layout_is_monotonic_dim0_minor(&columns, 3));
  ck_assert(!rlo_layout_is_monotonic_dim0_major(&other, 3));
  ck_assert(!rlo_layout_is_monotonic_dim0_minor(&other, 3));
  /* Unlike rlo_layout_is_row_major, tiles and padding do not count. */
  rows.has_padded_dimensions = true;
  ck_assert(rlo_layout_is_monotonic_dim0_major(&rows, 3));
  ck_assert(rlo_layout_is_monotonic_dim0_major(&other, 1) == (other.minor_to_major[0] == 0));
  rows.kind = RLO_LAYOUT_STRIDED;
  ck_assert(!rlo_layout_is_monotonic_dim0_major(&rows, 3));
  ck_assert(!rlo_layout_is_monotonic_dim0_minor(&rows, 0));
}

RLO_TEST(test_layout_edit__numbers_physical_places) {
  rlo_layout layout = with_order((int32_t[]){2, 0, 3, 1}, 4);
  int32_t physical[4];
  ck_assert_int_eq(rlo_layout_minor(&layout, 4, 0), 2);
  ck_assert_int_eq(rlo_layout_minor(&layout, 4, 3), 1);
  ck_assert_int_eq(rlo_layout_major(&layout, 4, 0), 1);
  ck_assert_int_eq(rlo_layout_major(&layout, 4, 3), 2);
  ck_assert_int_eq(rlo_layout_minor(&layout, 4, 4), -1);
  ck_assert_int_eq(rlo_layout_minor(&layout, 4, -1), -1);
  ck_assert_int_eq(rlo_layout_major(&layout, 4, 4), -1);
  ck_assert_int_eq(rlo_layout_logical_to_physical(&layout, 4, physical), RLO_OK);
  for (int32_t k = 0; k < 4; ++k) {
    ck_assert_int_eq(rlo_layout_major(&layout, 4, physical[k]), k);
  }
  layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_layout_minor(&layout, 4, 0), -1);
  ck_assert_int_eq(rlo_layout_logical_to_physical(&layout, 4, physical), RLO_UNSUPPORTED);
}

RLO_TEST(test_layout_edit__finds_consecutive_dims) {
  rlo_layout layout = with_order((int32_t[]){2, 0, 3, 1}, 4);
  ck_assert(rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){3, 0}, 2));
  ck_assert(rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){0, 3, 2}, 3));
  ck_assert(!rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){2, 3}, 2));
  ck_assert(rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){1}, 1));
  ck_assert(rlo_layout_are_dims_consecutive(&layout, 4, NULL, 0));
  ck_assert(!rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){4}, 1));
  layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert(!rlo_layout_are_dims_consecutive(&layout, 4, (int32_t[]){1}, 1));
}

static const struct {
  int32_t order[4];
  int32_t rank;
  int32_t dim;
  bool to_major;
  int32_t result[4];
} moves[] = {
    {{2, 1, 0}, 3, 0, true, {2, 1, 0}},
    {{2, 1, 0}, 3, 1, true, {2, 0, 1}},
    {{2, 0, 3, 1}, 4, 2, false, {2, 0, 3, 1}},
    {{2, 0, 3, 1}, 4, 3, false, {3, 2, 0, 1}},
};

RLO_TABLE_TEST(test_layout_edit__moves_dims, moves) {
  rlo_layout layout = with_order(moves[_i].order, moves[_i].rank);
  layout.memory_space = 5;
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){8, 128}, 2), RLO_OK);
  ck_assert_int_eq(moves[_i].to_major
                       ? rlo_layout_move_dim_to_major(&layout, moves[_i].rank, moves[_i].dim)
                       : rlo_layout_move_dim_to_minor(&layout, moves[_i].rank, moves[_i].dim),
                   RLO_OK);
  expect_order(&layout, moves[_i].result, moves[_i].rank);
  ck_assert_int_eq(layout.num_tiles, 1);
  ck_assert_int_eq(layout.memory_space, 5);
}

RLO_TEST(test_layout_edit__splits_move_with_their_dim) {
  rlo_layout layout = rlo_layout_row_major(3);
  ck_assert_int_eq(rlo_layout_add_split(&layout, 0, (int64_t[]){1}, 1), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_split(&layout, 2, (int64_t[]){2}, 1), RLO_OK);
  ck_assert_int_eq(rlo_layout_move_dim_to_major(&layout, 3, 2), RLO_OK);
  ck_assert_int_eq(rlo_layout_split_config(&layout, 0)->indices[0], 2);
  ck_assert_int_eq(rlo_layout_split_config(&layout, 1)->indices[0], 1);
  ck_assert_ptr_null(rlo_layout_split_config(&layout, 2));
}

RLO_TEST(test_layout_edit__moves_only_what_is_there) {
  rlo_layout layout = rlo_layout_row_major(2);
  ck_assert_int_eq(rlo_layout_move_dim_to_major(&layout, 2, 2), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_layout_move_dim_to_minor(&layout, 2, -3), RLO_OUT_OF_RANGE);
  layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_layout_move_dim_to_minor(&layout, 2, 0), RLO_UNSUPPORTED);
}

/* XLA: {2,0,1} without dim 0, SC(0:10)(1:20)(2:30) -> {1,0}, SC(0:10)(1:30). */
RLO_TEST(test_layout_edit__deletes_a_dim) {
  rlo_layout layout = with_order((int32_t[]){2, 0, 1}, 3);
  for (int32_t p = 0; p < 3; ++p) {
    int64_t cut = 10 * (p + 1);
    ck_assert_int_eq(rlo_layout_add_split(&layout, p, &cut, 1), RLO_OK);
  }
  rlo_layout result;
  ck_assert_int_eq(rlo_layout_delete_dim(&layout, 3, 0, &result), RLO_OK);
  expect_order(&result, (int32_t[]){1, 0}, 2);
  ck_assert_int_eq(result.num_split_configs, 2);
  ck_assert_int_eq(rlo_layout_split_config(&result, 0)->indices[0], 10);
  ck_assert_int_eq(rlo_layout_split_config(&result, 1)->indices[0], 30);
  ck_assert_int_eq(rlo_layout_delete_dim(&layout, 3, 3, &result), RLO_OUT_OF_RANGE);
}

/* Entries of tiles go with the dimension they were for, in every tile. */
RLO_TEST(test_layout_edit__deletes_from_tiles) {
  rlo_layout layout = rlo_layout_row_major(3);
  rlo_layout result;
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){4, 8, 128}, 3), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){2, 1}, 2), RLO_OK);
  ck_assert_int_eq(rlo_layout_delete_dim(&layout, 3, 1, &result), RLO_OK);
  ck_assert_int_eq(result.num_tiles, 2);
  ck_assert_int_eq(result.tiles[0].rank, 2);
  ck_assert_int_eq(result.tiles[0].dims[0], 4);
  ck_assert_int_eq(result.tiles[0].dims[1], 128);
  ck_assert_int_eq(result.tiles[1].rank, 1);
  ck_assert_int_eq(result.tiles[1].dims[0], 1);
  ck_assert_int_eq(rlo_layout_delete_dim(&layout, 3, 0, &result), RLO_OK);
  ck_assert_int_eq(result.tiles[0].rank, 2);
  ck_assert_int_eq(result.tiles[0].dims[0], 8);
  ck_assert_int_eq(result.tiles[1].rank, 2);

  /* A combined dimension is what is left of it. */
  rlo_layout combined = rlo_layout_row_major(3);
  ck_assert_int_eq(rlo_layout_add_tile(&combined, (int64_t[]){RLO_TILE_COMBINE, 4, 128}, 3),
                   RLO_OK);
  for (int32_t dim = 0; dim < 2; ++dim) {
    ck_assert_int_eq(rlo_layout_delete_dim(&combined, 3, dim, &result), RLO_OK);
    ck_assert_int_eq(result.tiles[0].rank, 2);
    ck_assert_int_eq(result.tiles[0].dims[0], 4);
    ck_assert_int_eq(result.tiles[0].dims[1], 128);
  }
}

RLO_TEST(test_layout_edit__clears_tiles) {
  rlo_layout layout = rlo_layout_row_major(2);
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){8, 128}, 2), RLO_OK);
  rlo_layout_clear_tiles(&layout);
  ck_assert(rlo_layout_is_row_major(&layout, 2));
}

/* XLA 2017: [2,3,4] padded to {2,3,4} is not, to {2,14,42} is. */
RLO_TEST(test_layout_edit__knows_padding) {
  static const int64_t dims[] = {2, 3, 4};
  rlo_layout layout = rlo_layout_row_major(3);
  ck_assert(!rlo_layout_is_padded(&layout, dims, 3));
  ck_assert_int_eq(rlo_layout_padded_dimension(&layout, dims, 1), 3);
  layout.has_padded_dimensions = true;
  memcpy(layout.padded_dimensions, dims, sizeof dims);
  ck_assert(!rlo_layout_is_padded(&layout, dims, 3));
  layout.padded_dimensions[1] = 14;
  layout.padded_dimensions[2] = 42;
  ck_assert(rlo_layout_is_padded(&layout, dims, 3));
  ck_assert_int_eq(rlo_layout_padded_dimension(&layout, dims, 1), 14);
  ck_assert(!rlo_layout_has_custom_element_size(&layout));
  layout.element_size_bits = 4;
  ck_assert(rlo_layout_has_custom_element_size(&layout));
}

/* XLA: [150,200,100]{0,1,2:SC(0:30)(1:40,130)} has pieces of at most 150, 90
 * and 70. */
RLO_TEST(test_layout_edit__finds_the_largest_pieces) {
  static const int64_t dims[] = {150, 200, 100};
  rlo_layout layout = rlo_layout_column_major(3);
  int64_t elems;
  ck_assert_int_eq(rlo_layout_add_split(&layout, 0, (int64_t[]){30}, 1), RLO_OK);
  ck_assert_int_eq(rlo_layout_add_split(&layout, 1, (int64_t[]){40, 130}, 2), RLO_OK);
  ck_assert_int_eq(rlo_layout_validate(&layout, dims, 3, RLO_DTYPE_F32), RLO_OK);
  ck_assert_int_eq(rlo_layout_max_split_size(&layout, dims, 3, 0), 150);
  ck_assert_int_eq(rlo_layout_max_split_size(&layout, dims, 3, 1), 90);
  ck_assert_int_eq(rlo_layout_max_split_size(&layout, dims, 3, 2), 70);
  ck_assert_int_eq(rlo_layout_max_split_size(&layout, dims, 2, 2), 0);
  ck_assert_int_eq(rlo_layout_max_split_size(&layout, dims, 2, -3), 0);
  ck_assert_int_eq(rlo_layout_max_elements_per_split(&layout, dims, 3, &elems), RLO_OK);
  ck_assert_int_eq(elems, 945000);
  ck_assert_int_eq(rlo_layout_max_elements_per_split(&layout, (int64_t[]){150, 0, 100}, 3, &elems),
                   RLO_OK);
  ck_assert_int_eq(elems, 0);
  static const int64_t huge[] = {INT64_MAX, INT64_MAX};
  rlo_layout plain = rlo_layout_row_major(2);
  ck_assert_int_eq(rlo_layout_max_elements_per_split(&plain, huge, 2, &elems), RLO_OVERFLOW);
}

static const struct {
  int64_t strides[4];
  bool is_major_to_minor;
} byte_strides[] = {
    {{3960, 440, 44, 4}, true},
    {{1880, 440, 44, 4}, false},
    {{1880, 220, 22, 2}, false},
};

RLO_TABLE_TEST(test_layout_edit__knows_major_to_minor_strides, byte_strides) {
  static const int64_t dims[] = {8, 9, 10, 11};
  ck_assert(!rlo_byte_strides_is_major_to_minor(NULL, dims, 4, RLO_DTYPE_F32));
  ck_assert(!rlo_byte_strides_is_major_to_minor(dims, NULL, 4, RLO_DTYPE_F32));
  ck_assert_int_eq(
      rlo_byte_strides_is_major_to_minor(byte_strides[_i].strides, dims, 4, RLO_DTYPE_F32),
      byte_strides[_i].is_major_to_minor);
}
