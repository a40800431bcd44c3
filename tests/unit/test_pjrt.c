/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/text.h"
#include "relayout/xla/pjrt.h"
#include "support/random_shape.h"
#include "support/suite.h"

#define ALL     RLO_AVAILABLE_ALL
#define UNKNOWN RLO_AVAILABLE_UNKNOWN

static rlo_pjrt_layout tiled(const int64_t *minor_to_major, size_t rank, const int64_t *tile_dims,
                             const size_t *tile_dim_sizes, size_t num_tiles) {
  rlo_pjrt_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.struct_size = sizeof layout;
  layout.type = RLO_PJRT_LAYOUT_TILED;
  layout.form.tiled.struct_size = sizeof layout.form.tiled;
  layout.form.tiled.minor_to_major = minor_to_major;
  layout.form.tiled.minor_to_major_size = rank;
  layout.form.tiled.tile_dims = tile_dims;
  layout.form.tiled.tile_dim_sizes = tile_dim_sizes;
  layout.form.tiled.num_tiles = num_tiles;
  return layout;
}

static rlo_pjrt_layout strided(const int64_t *byte_strides, size_t rank) {
  rlo_pjrt_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.struct_size = sizeof layout;
  layout.type = RLO_PJRT_LAYOUT_STRIDES;
  layout.form.strides.struct_size = sizeof layout.form.strides;
  layout.form.strides.byte_strides = byte_strides;
  layout.form.strides.num_byte_strides = rank;
  return layout;
}

static void expect_shape(const rlo_pjrt_view *view, const char *expected) {
  char text[256];
  rlo_shape_format(&view->shape, text, sizeof text);
  ck_assert_str_eq(text, expected);
}

/* The interface is one of memory: 64-bit PJRT has its members there. */
RLO_TEST(test_pjrt__lies_in_memory_as_theirs) {
  if (sizeof(void *) != 8) {
    return;
  }
  ck_assert_uint_eq(sizeof(rlo_pjrt_tiled), 56);
  ck_assert_uint_eq(offsetof(rlo_pjrt_tiled, minor_to_major), 16);
  ck_assert_uint_eq(offsetof(rlo_pjrt_tiled, tile_dims), 32);
  ck_assert_uint_eq(offsetof(rlo_pjrt_tiled, num_tiles), 48);
  ck_assert_uint_eq(sizeof(rlo_pjrt_strides), 32);
  ck_assert_uint_eq(offsetof(rlo_pjrt_strides, byte_strides), 16);
  ck_assert_uint_eq(sizeof(rlo_pjrt_layout), 80);
  ck_assert_uint_eq(offsetof(rlo_pjrt_layout, form), 16);
  ck_assert_uint_eq(offsetof(rlo_pjrt_layout, type), 72);
}

RLO_TEST(test_pjrt__reads_tiles) {
  const int64_t minor_to_major[] = {2, 0, 1};
  const int64_t dims[] = {4, 300, 20};
  const int64_t tile_dims[] = {-1, 8, 128, INT64_MIN, 2, 1};
  const size_t sizes[] = {3, 3};
  rlo_pjrt_layout layout = tiled(minor_to_major, 3, tile_dims, sizes, 2);
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  ck_assert_int_eq(rlo_shape_from_pjrt(RLO_DTYPE_BF16, dims, 3, &layout, UNKNOWN, &view), RLO_OK);
  expect_shape(&view, "bf16[4,300,20]{2,0,1:T(*,8,128)(*,2,1)}");
  ck_assert_int_eq(view.offset_bytes, 0);
}

RLO_TEST(test_pjrt__reads_strides) {
  const int64_t dims[] = {3, 4};
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  rlo_pjrt_layout layout = strided((const int64_t[]){4, 12}, 2);
  ck_assert_int_eq(rlo_shape_from_pjrt(RLO_DTYPE_F32, dims, 2, &layout, UNKNOWN, &view), RLO_OK);
  expect_shape(&view, "f32[3,4]{0,1}");
  layout = strided((const int64_t[]){32, 4}, 2);
  ck_assert_int_eq(rlo_shape_from_pjrt(RLO_DTYPE_F32, dims, 2, &layout, 96, &view), RLO_OK);
  expect_shape(&view, "f32[3,4]{1,0:pad(3,8)fill(unknown)}");
  layout = strided((const int64_t[]){-16, 4}, 2);
  ck_assert_int_eq(rlo_shape_from_pjrt(RLO_DTYPE_F32, dims, 2, &layout, ALL, &view), RLO_OK);
  expect_shape(&view, "f32[3,4]{:strides(-4,1)offset(8)}");
  ck_assert_int_eq(view.offset_bytes, -32);
}

RLO_TEST(test_pjrt__null_is_row_major) {
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  ck_assert_int_eq(
      rlo_shape_from_pjrt(RLO_DTYPE_F32, (const int64_t[]){3, 4}, 2, NULL, UNKNOWN, &view), RLO_OK);
  expect_shape(&view, "f32[3,4]{1,0}");
  rlo_pjrt_layout layout = tiled(NULL, 0, NULL, NULL, 0);
  ck_assert_int_eq(rlo_shape_from_pjrt(RLO_DTYPE_F32, NULL, 0, &layout, UNKNOWN, &view), RLO_OK);
  expect_shape(&view, "f32[]");
}

/* Each breaks one thing of a good layout. */
enum {
  STRUCT_SMALL,
  TILED_SMALL,
  STRIDES_SMALL,
  TYPE,
  DTYPE,
  RANK_NEGATIVE,
  RANK_LARGE,
  ORDER_SHORT,
  ORDER_NULL,
  ORDER_TWICE,
  ORDER_WRAPS,
  ORDER_NEGATIVE,
  TILE_ZERO,
  TILE_NEGATIVE,
  TILE_EMPTY,
  TILE_LONG,
  TILE_ENDS_IN_STAR,
  TILES_MANY,
  TILES_NULL,
  TILE_SIZES_NULL,
  STRIDES_NULL,
  STRIDES_COUNT,
  STRIDES_ODD,
  STRIDES_LARGE,
  NUM_FAULTS
};

static const rlo_status fault_statuses[NUM_FAULTS] = {
    [STRUCT_SMALL] = RLO_INVALID_ARGUMENT,
    [TILED_SMALL] = RLO_INVALID_ARGUMENT,
    [STRIDES_SMALL] = RLO_INVALID_ARGUMENT,
    [TYPE] = RLO_INVALID_ARGUMENT,
    [DTYPE] = RLO_INVALID_ARGUMENT,
    [RANK_NEGATIVE] = RLO_INVALID_ARGUMENT,
    [RANK_LARGE] = RLO_UNSUPPORTED,
    [ORDER_SHORT] = RLO_INVALID_ARGUMENT,
    [ORDER_NULL] = RLO_INVALID_ARGUMENT,
    [ORDER_TWICE] = RLO_INVALID_ARGUMENT,
    [ORDER_WRAPS] = RLO_INVALID_ARGUMENT,
    [ORDER_NEGATIVE] = RLO_INVALID_ARGUMENT,
    [TILE_ZERO] = RLO_INVALID_ARGUMENT,
    [TILE_NEGATIVE] = RLO_INVALID_ARGUMENT,
    [TILE_EMPTY] = RLO_INVALID_ARGUMENT,
    [TILE_LONG] = RLO_UNSUPPORTED,
    [TILE_ENDS_IN_STAR] = RLO_INVALID_ARGUMENT,
    [TILES_MANY] = RLO_UNSUPPORTED,
    [TILES_NULL] = RLO_INVALID_ARGUMENT,
    [TILE_SIZES_NULL] = RLO_INVALID_ARGUMENT,
    [STRIDES_NULL] = RLO_INVALID_ARGUMENT,
    [STRIDES_COUNT] = RLO_INVALID_ARGUMENT,
    [STRIDES_ODD] = RLO_UNSUPPORTED,
    [STRIDES_LARGE] = RLO_OVERFLOW,
};

RLO_LOOP_TEST(test_pjrt__refuses, 0, NUM_FAULTS) {
  const int64_t dims[] = {3, 4};
  int64_t order[] = {1, 0};
  int64_t tile_dims[10] = {2, 2, 1, 1, 1, 1, 1, 1, 1, 1};
  size_t sizes[9] = {2, 1, 1, 1, 1, 1, 1, 1, 1};
  int64_t byte_strides[] = {16, 4};
  rlo_pjrt_layout layout = tiled(order, 2, tile_dims, sizes, 1);
  rlo_pjrt_layout strides = strided(byte_strides, 2);
  rlo_dtype dtype = RLO_DTYPE_F32;
  int32_t rank = 2;
  rlo_pjrt_view view;
  memset(&view, 0x5a, sizeof view);
  view.struct_size = sizeof view;
  ck_assert_int_eq(rlo_shape_from_pjrt(dtype, dims, rank, &strides, UNKNOWN, &view), RLO_OK);
  ck_assert_int_eq(rlo_shape_from_pjrt(dtype, dims, rank, &layout, UNKNOWN, &view), RLO_OK);
  const rlo_pjrt_view before = view;
  switch (_i) {
    case STRUCT_SMALL:
      layout.struct_size = offsetof(rlo_pjrt_layout, type);
      break;
    case TILED_SMALL:
      layout.form.tiled.struct_size = offsetof(rlo_pjrt_tiled, num_tiles);
      break;
    case STRIDES_SMALL:
      strides.form.strides.struct_size = 0;
      break;
    case TYPE:
      layout.type = (rlo_pjrt_layout_type)2;
      break;
    case DTYPE:
      dtype = (rlo_dtype)2000;
      break;
    case RANK_NEGATIVE:
      rank = -1;
      break;
    case RANK_LARGE:
      rank = 33;
      break;
    case ORDER_SHORT:
      layout.form.tiled.minor_to_major_size = 1;
      break;
    case ORDER_NULL:
      layout.form.tiled.minor_to_major = NULL;
      break;
    case ORDER_TWICE:
      order[0] = 0;
      break;
    case ORDER_WRAPS:
      order[0] = (INT64_C(1) << 32) + 1;
      break;
    case ORDER_NEGATIVE:
      /* It is 1 as an unsigned index. */
      order[0] = INT64_MIN + 1;
      break;
    case TILE_ZERO:
      tile_dims[0] = 0;
      break;
    case TILE_NEGATIVE:
      tile_dims[0] = -2;
      break;
    case TILE_EMPTY:
      sizes[0] = 0;
      break;
    case TILE_LONG:
      sizes[0] = SIZE_MAX;
      break;
    case TILE_ENDS_IN_STAR:
      tile_dims[1] = -1;
      break;
    case TILES_MANY:
      layout.form.tiled.num_tiles = 9;
      break;
    case TILES_NULL:
      layout.form.tiled.tile_dims = NULL;
      break;
    case TILE_SIZES_NULL:
      layout.form.tiled.tile_dim_sizes = NULL;
      break;
    case STRIDES_NULL:
      strides.form.strides.byte_strides = NULL;
      break;
    case STRIDES_COUNT:
      strides.form.strides.num_byte_strides = 3;
      break;
    case STRIDES_ODD:
      byte_strides[1] = 5;
      break;
    default:
      byte_strides[0] = INT64_MIN;
      break;
  }
  bool is_strided = _i == STRIDES_SMALL || _i >= STRIDES_NULL;
  ck_assert_int_eq(
      rlo_shape_from_pjrt(dtype, dims, rank, is_strided ? &strides : &layout, UNKNOWN, &view),
      fault_statuses[_i]);
  ck_assert_mem_eq(&view, &before, sizeof view);
}

static const struct {
  const char *shape;
  rlo_pjrt_layout_type type;
  rlo_status status;
} not_written[] = {
    {"f32[3,5]{1,0:pad(4,8)fill(zero)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0:T(2,2)L(64)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"s4[3,5]{1,0:E(4)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0:SC(0:2)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0:M(8)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0:S(5)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{:strides(5,1)}", RLO_PJRT_LAYOUT_TILED, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0:T(2,2)}", RLO_PJRT_LAYOUT_STRIDES, RLO_UNSUPPORTED},
    {"f32[3,5]{1,0}", (rlo_pjrt_layout_type)2, RLO_INVALID_ARGUMENT},
};

RLO_TABLE_TEST(test_pjrt__does_not_write_what_it_cannot_say, not_written) {
  rlo_status expected = not_written[_i].status;
  rlo_shape shape;
  ck_assert_int_eq(rlo_shape_parse(not_written[_i].shape, strlen(not_written[_i].shape), &shape),
                   RLO_OK);
  rlo_pjrt_export out;
  memset(&out, 0x5a, sizeof out);
  out.struct_size = sizeof out;
  const rlo_pjrt_export before = out;
  ck_assert_int_eq(rlo_shape_to_pjrt(&shape, not_written[_i].type, &out), expected);
  ck_assert_mem_eq(&out, &before, sizeof out);
}

/* Whatever is written means the same when it is read. */
static void expect_round_trip(const rlo_shape *shape, rlo_pjrt_layout_type type, int32_t *count) {
  rlo_pjrt_export out = RLO_PJRT_EXPORT_INIT;
  rlo_status status = rlo_shape_to_pjrt(shape, type, &out);
  if (status != RLO_OK) {
    ck_assert_int_eq(status, RLO_UNSUPPORTED);
    return;
  }
  ++*count;
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  ck_assert_int_eq(
      rlo_shape_from_pjrt(shape->dtype, shape->dims, shape->rank, &out.layout, ALL, &view), RLO_OK);
  int64_t offset_elems =
      (out.offset_bytes + view.offset_bytes) / (rlo_dtype_storage_bits(shape->dtype) / 8);
  int64_t index[RLO_MAX_RANK] = {0};
  do {
    int64_t slot;
    int64_t read_slot;
    ck_assert_int_eq(rlo_index_to_linear(shape, index, &slot), RLO_OK);
    ck_assert_int_eq(rlo_index_to_linear(&view.shape, index, &read_slot), RLO_OK);
    ck_assert_int_eq(slot, offset_elems + read_slot);
  } while (rlo_index_bump(shape, index));
  if (type == RLO_PJRT_LAYOUT_TILED) {
    rlo_shape_extent extent;
    rlo_shape_extent read_extent;
    ck_assert_int_eq(rlo_shape_measure(shape, &extent), RLO_OK);
    ck_assert_int_eq(rlo_shape_measure(&view.shape, &read_extent), RLO_OK);
    ck_assert_int_eq(extent.slots, read_extent.slots);
  }
}

RLO_TEST(test_pjrt__round_trips) {
  test_random random = test_random_begin("pjrt");
  int32_t tiled_count = 0;
  int32_t strided_count = 0;
  for (int32_t round = 0; round < 2000; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[4];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 4);
    }
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_S16, dims, rank, TEST_ALL | TEST_BROADCAST);
    if (shape.layout.kind == RLO_LAYOUT_DENSE) {
      shape.layout.fill = RLO_FILL_UNKNOWN;
    }
    if (shape.layout.num_tiles == RLO_MAX_TILES) {
      --shape.layout.num_tiles;
    }
    expect_round_trip(&shape, RLO_PJRT_LAYOUT_TILED, &tiled_count);
    expect_round_trip(&shape, RLO_PJRT_LAYOUT_STRIDES, &strided_count);
  }
  ck_assert_int_gt(tiled_count, 500);
  ck_assert_int_gt(strided_count, 500);
}
