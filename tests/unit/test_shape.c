/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "relayout/ops.h"
#include "relayout/shape.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

static rlo_shape make(rlo_dtype dtype, const int64_t *dims, int32_t rank) {
  rlo_shape shape = test_shape_make(dtype, dims, rank);
  return shape;
}

static rlo_shape make_with(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                           const rlo_layout *layout) {
  rlo_shape shape;
  expect_ok(rlo_shape_make_with_layout(dtype, dims, rank, layout, &shape));
  return shape;
}

static rlo_shape_extent measure(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent;
}

/* XLA's ElementsIn and ByteSizeOf. */
static const struct {
  rlo_dtype dtype;
  int64_t dims[3];
  int32_t rank;
  int64_t elements, bytes;
} sizes[] = {
    {RLO_DTYPE_F32, {0}, 0, 1, 4},
    {RLO_DTYPE_F32, {0}, 1, 0, 0},
    {RLO_DTYPE_F32, {3, 0, 5}, 3, 0, 0},
    {RLO_DTYPE_F32, {1, 3, 5}, 3, 15, 60},
    {RLO_DTYPE_F32, {13, 17}, 2, 221, 884},
    {RLO_DTYPE_F32, {10, 20}, 2, 200, 800},
    {RLO_DTYPE_F64, {10, 20}, 2, 200, 1600},
    {RLO_DTYPE_C64, {10, 20}, 2, 200, 1600},
    {RLO_DTYPE_C128, {10, 20}, 2, 200, 3200},
    {RLO_DTYPE_S4, {10, 20}, 2, 200, 200},
    {RLO_DTYPE_PRED, {7}, 1, 7, 7},
};

RLO_TABLE_TEST(test_shape__counts_elements_and_bytes, sizes) {
  rlo_shape shape = make(sizes[_i].dtype, sizes[_i].dims, sizes[_i].rank);
  rlo_shape_extent extent = measure(&shape);

  ck_assert_int_eq(extent.elements, sizes[_i].elements);
  ck_assert_int_eq(extent.slots, sizes[_i].elements);
  ck_assert_int_eq(extent.bytes, sizes[_i].bytes);
  ck_assert_int_eq(extent.physical_bytes, sizes[_i].bytes);
  ck_assert_int_eq(extent.element_bits, rlo_dtype_storage_bits(sizes[_i].dtype));
}

RLO_TEST(test_shape__packs_small_elements) {
  /* XLA: s4[64,128]E4 takes 4096 bytes. */
  static const int64_t dims[] = {64, 128};
  static const int64_t odd[] = {3};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.element_size_bits = 4;
  rlo_shape shape = make_with(RLO_DTYPE_S4, dims, 2, &layout);
  ck_assert_int_eq(measure(&shape).physical_bytes, 4096);
  layout = rlo_layout_row_major(1);
  layout.element_size_bits = 4;
  shape = make_with(RLO_DTYPE_S4, odd, 1, &layout);
  ck_assert_int_eq(measure(&shape).bytes, 2);
}

RLO_TEST(test_shape__packs_tiled_small_elements) {
  /* XLA: s4[9216,6144]T(64,128)(8,1)E4 takes 28311552 bytes. */
  static const int64_t dims[] = {9216, 6144};
  static const int64_t outer[] = {64, 128};
  static const int64_t inner[] = {8, 1};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.element_size_bits = 4;
  expect_ok(rlo_layout_add_tile(&layout, outer, 2));
  expect_ok(rlo_layout_add_tile(&layout, inner, 2));
  rlo_shape shape = make_with(RLO_DTYPE_S4, dims, 2, &layout);
  rlo_shape_extent extent = measure(&shape);
  ck_assert_int_eq(extent.physical_bytes, 28311552);
  ck_assert_int_eq(extent.bytes, 28311552);

  static const int64_t none[] = {9216, 0};
  shape = make_with(RLO_DTYPE_S4, none, 2, &layout);
  ck_assert_int_eq(measure(&shape).physical_bytes, 0);
}

RLO_TEST(test_shape__counts_padding) {
  /* XLA 2017: F32[10,20] padded to {15,21} takes 1260 bytes. */
  static const int64_t dims[] = {10, 20};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.has_padded_dimensions = true;
  layout.padded_dimensions[0] = 15;
  layout.padded_dimensions[1] = 21;
  rlo_shape shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  rlo_shape_extent extent = measure(&shape);
  ck_assert_int_eq(extent.elements, 200);
  ck_assert_int_eq(extent.slots, 315);
  ck_assert_int_eq(extent.bytes, 800);
  ck_assert_int_eq(extent.physical_bytes, 1260);
}

RLO_TEST(test_shape__rounds_up_the_tail) {
  static const int64_t dims[] = {3, 5};
  rlo_layout layout = rlo_layout_row_major(2);

  layout.tail_alignment_elems = 100;
  rlo_shape shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  ck_assert_int_eq(measure(&shape).slots, 100);

  static const int64_t none[] = {0, 5};
  shape = make_with(RLO_DTYPE_F32, none, 2, &layout);
  ck_assert_int_eq(measure(&shape).slots, 0);
}

RLO_TEST(test_shape__measures_views) {
  static const int64_t dims[] = {2, 3};
  static const int64_t none[] = {2, 0};
  rlo_layout layout = rlo_layout_row_major(0);

  layout.kind = RLO_LAYOUT_STRIDED;
  layout.strides_elems[0] = 8;
  layout.strides_elems[1] = 1;
  layout.offset_elems = 3;
  rlo_shape shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  rlo_shape_extent extent = measure(&shape);
  ck_assert_int_eq(extent.elements, 6);
  ck_assert_int_eq(extent.slots, 3 + 8 + 2 + 1);
  ck_assert_int_eq(extent.physical_bytes, 56);

  shape = make_with(RLO_DTYPE_F32, none, 2, &layout);
  ck_assert_int_eq(measure(&shape).slots, 0);

  layout.strides_elems[1] = -1;
  shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  ck_assert_int_eq(measure(&shape).slots, 3 + 8 + 1);
  layout.offset_elems = 1;
  rlo_status status = rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &layout, &shape);
  ck_assert_int_eq(status, RLO_OUT_OF_RANGE);

  shape = make_with(RLO_DTYPE_F32, NULL, 0, &layout);
  ck_assert_int_eq(measure(&shape).slots, 2);
}

RLO_TEST(test_shape__refuses_sizes_beyond_64_bits) {
  static const int64_t wide[] = {INT64_C(1) << 31, INT64_C(1) << 31};
  static const int64_t wider[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  static const int64_t empty[] = {INT64_MAX, 0, INT64_MAX};
  rlo_shape shape = make(RLO_DTYPE_U8, NULL, 0);
  rlo_shape before = shape;

  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, wide, 2, &shape), RLO_OVERFLOW);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_U8, wider, 2, &shape), RLO_OVERFLOW);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
  shape = make(RLO_DTYPE_F32, empty, 3);
  ck_assert_int_eq(measure(&shape).elements, 0);

  rlo_layout layout = rlo_layout_row_major(1);
  layout.tail_alignment_elems = INT64_MAX;
  static const int64_t one[] = {1};
  ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_U8, one, 1, &layout, &shape), RLO_OVERFLOW);

  /* A broadcast view has few slots, but too many elements. */
  layout = rlo_layout_row_major(0);
  layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_U8, wider, 2, &layout, &shape),
                   RLO_OVERFLOW);
}

RLO_TEST(test_shape__refuses_what_is_no_array) {
  static const int64_t negative[] = {2, -1};
  int64_t many[RLO_MAX_RANK + 1] = {0};
  rlo_shape shape;

  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_INVALID, NULL, 0, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make((rlo_dtype)13, NULL, 0, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make((rlo_dtype)2000, NULL, 0, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, negative, 2, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, NULL, 2, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, negative, -1, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, many, RLO_MAX_RANK + 1, &shape), RLO_UNSUPPORTED);
}

RLO_TEST(test_shape__refuses_a_duplicate_even_when_empty) {
  static const int64_t none[] = {0, 0};
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_shape shape;

  layout.minor_to_major[0] = 0;
  ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_F32, none, 2, &layout, &shape),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_shape__element_size_of_the_type_is_the_default) {
  static const int64_t dims[] = {4};
  rlo_layout layout = rlo_layout_row_major(1);
  rlo_shape plain = make(RLO_DTYPE_S4, dims, 1);

  layout.element_size_bits = 8;
  rlo_shape spelled = make_with(RLO_DTYPE_S4, dims, 1, &layout);
  ck_assert_int_eq(spelled.layout.element_size_bits, 0);
  ck_assert(rlo_shape_equal(&plain, &spelled));
  layout.element_size_bits = 4;
  rlo_shape packed = make_with(RLO_DTYPE_S4, dims, 1, &layout);
  ck_assert(!rlo_shape_equal(&plain, &packed));
  ck_assert(rlo_shape_compatible(&plain, &packed));
}

static void expect_physical_dims(const rlo_shape *shape, const int64_t *expected, int32_t count) {
  int64_t dims[64];
  int32_t found;

  expect_ok(rlo_shape_physical_dims(shape, dims, 64, &found));
  ck_assert_int_eq(found, count);
  for (int32_t p = 0; p < count; ++p) {
    ck_assert_int_eq(dims[p], expected[p]);
  }
}

RLO_TEST(test_shape__gives_physical_dims) {
  static const int64_t dims[] = {3, 5};
  static const int64_t tile[] = {2, 2};
  rlo_layout layout = rlo_layout_row_major(2);

  rlo_shape shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  expect_physical_dims(&shape, dims, 2);

  layout = rlo_layout_column_major(2);
  layout.has_padded_dimensions = true;
  layout.padded_dimensions[0] = 4;
  layout.padded_dimensions[1] = 7;
  shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  static const int64_t padded[] = {7, 4};
  expect_physical_dims(&shape, padded, 2);

  expect_ok(rlo_layout_add_tile(&layout, tile, 2));
  layout.tail_alignment_elems = 1000;
  shape = make_with(RLO_DTYPE_F32, dims, 2, &layout);
  static const int64_t tiled[] = {4, 2, 2, 2};
  expect_physical_dims(&shape, tiled, 4);

  static const int64_t one_dim[] = {8};
  layout = rlo_layout_row_major(1);
  expect_ok(rlo_layout_add_tile(&layout, tile, 2));
  shape = make_with(RLO_DTYPE_F32, one_dim, 1, &layout);
  static const int64_t extended[] = {1, 4, 2, 2};
  expect_physical_dims(&shape, extended, 4);

  shape = make(RLO_DTYPE_F32, NULL, 0);
  expect_physical_dims(&shape, NULL, 0);
}

RLO_TEST(test_shape__physical_dims_need_room) {
  static const int64_t dims[] = {3, 5};
  rlo_shape shape = make(RLO_DTYPE_F32, dims, 2);
  int64_t out[1] = {77};
  int32_t count = 0;

  ck_assert_int_eq(rlo_shape_physical_dims(&shape, out, 1, &count), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(out[0], 77);

  shape.layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_shape_physical_dims(&shape, out, 1, &count), RLO_UNSUPPORTED);
}

RLO_TEST(test_shape__compatible_ignores_layouts) {
  static const int64_t dims[] = {3, 2};
  static const int64_t others[] = {3, 3};
  rlo_layout columns = rlo_layout_column_major(2);
  rlo_shape a = make(RLO_DTYPE_F32, dims, 2);
  rlo_shape b = make_with(RLO_DTYPE_F32, dims, 2, &columns);
  rlo_shape c = make(RLO_DTYPE_S32, dims, 2);
  rlo_shape d = make(RLO_DTYPE_F32, others, 2);
  rlo_shape e = make(RLO_DTYPE_F32, dims, 1);

  ck_assert(rlo_shape_compatible(&a, &b));
  ck_assert(!rlo_shape_equal(&a, &b));
  ck_assert(rlo_shape_equal(&a, &a));
  ck_assert(!rlo_shape_compatible(&a, &c));
  ck_assert(!rlo_shape_compatible(&a, &d));
  ck_assert(!rlo_shape_compatible(&a, &e));
  a.dims[2] = 9;
  b = a;
  b.dims[2] = 8;
  ck_assert(rlo_shape_equal(&a, &b));
}

RLO_TEST(test_shape__knows_the_fill) {
  static const uint8_t none[16] = {0};
  static const uint8_t one[16] = {0, 0, 0x80, 0x3f};
  static const uint8_t lowest[16] = {0, 0, 0x80, 0xff};
  static const uint8_t highest[16] = {0, 0, 0x80, 0x7f};
  static const uint8_t bits[16] = {1, 2, 3, 4};

  static const struct {
    rlo_fill fill;
    bool is_known;
    const uint8_t *bits;
  } rows[] = {
      {RLO_FILL_INVALID, false, none},   {RLO_FILL_ZERO, true, none},
      {RLO_FILL_ONE, true, one},         {RLO_FILL_LOWEST, true, lowest},
      {RLO_FILL_HIGHEST, true, highest}, {RLO_FILL_UNKNOWN, false, none},
      {RLO_FILL_BITS, true, bits},
  };

  rlo_shape shape = make(RLO_DTYPE_F32, NULL, 0);

  memcpy(shape.layout.fill_bits, bits, sizeof bits);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    uint8_t out[16];
    bool is_known = !rows[i].is_known;
    memset(out, 0xaa, sizeof out);
    shape.layout.fill = rows[i].fill;
    expect_ok(rlo_shape_fill_bits(&shape, out, &is_known));
    ck_assert_int_eq(is_known, rows[i].is_known);
    ck_assert_mem_eq(out, rows[i].bits, 16);
  }

  shape.dtype = RLO_DTYPE_C64;
  shape.layout.fill = RLO_FILL_HIGHEST;
  uint8_t out[16];
  bool is_known;
  ck_assert_int_eq(rlo_shape_fill_bits(&shape, out, &is_known), RLO_UNSUPPORTED);
}

RLO_TEST(test_shape__bounded_dynamic_dimensions_have_the_sizes_of_the_bounds) {
  static const int64_t dims[] = {23, 44, 55};
  static const bool is_dynamic[] = {true, false, true};
  rlo_shape shape;

  expect_ok(rlo_shape_make_dynamic(RLO_DTYPE_F32, dims, is_dynamic, 3, &shape));
  ck_assert(shape.is_dynamic[0] && !shape.is_dynamic[1] && shape.is_dynamic[2]);
  ck_assert(!rlo_shape_is_unbounded(&shape));
  expect_ok(rlo_shape_validate(&shape));
  ck_assert_int_eq(measure(&shape).bytes, 23 * 44 * 55 * 4);
}

RLO_TEST(test_shape__unbounded_dimensions_have_no_sizes) {
  static const int64_t dims[] = {RLO_DIM_UNBOUNDED, 784};
  static const bool none[] = {false, false};
  rlo_shape shape;
  rlo_shape_extent extent;

  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_shape_make_dynamic(RLO_DTYPE_F32, dims, none, 2, &shape),
                   RLO_INVALID_ARGUMENT);
  expect_ok(rlo_shape_make_dynamic(RLO_DTYPE_F32, dims, NULL, 2, &shape));
  ck_assert(rlo_shape_is_unbounded(&shape));
  ck_assert(shape.is_dynamic[0] && !shape.is_dynamic[1]);
  expect_ok(rlo_shape_validate_unbounded(&shape));
  expect_refusal(rlo_shape_measure(&shape, &extent), RLO_UNSUPPORTED,
                 "dimension 0 has no bound; only a bounded array has sizes "
                 "and positions");
  rlo_shape static_shape = shape;
  static_shape.is_dynamic[0] = false;
  ck_assert(!rlo_shape_equal(&shape, &static_shape));
  shape.layout.has_padded_dimensions = true;
  shape.layout.padded_dimensions[1] = 784;
  ck_assert_int_eq(rlo_shape_validate_unbounded(&shape), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_shape__on_the_heap) {
  rlo_shape *shape = NULL;
  rlo_problem *problem = NULL;
  int64_t live_count = rlo__alloc_live_count();
  expect_ok(rlo_shape_create(&shape));
  expect_ok(rlo_problem_create(&problem));
  ck_assert_int_eq(rlo_shape_validate(shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_problem_src_bytes(problem), 0);
  *shape = test_shape_of("f32[2,3]");
  expect_ok(rlo_relayout_lower(shape, shape, NULL, problem));
  ck_assert_int_eq(rlo_problem_src_bytes(problem), 24);
  ck_assert_int_eq(rlo_problem_dst_bytes(problem), 24);
  ck_assert_int_eq(rlo_problem_index_bytes(problem), 0);
  rlo_shape_release(shape);
  rlo_problem_release(problem);
  rlo__alloc_set_fault(1, true);
  rlo_status shape_status = rlo_shape_create(&shape);
  rlo_status problem_status = rlo_problem_create(&problem);
  rlo__alloc_set_fault(0, false);
  ck_assert_int_eq(shape_status, RLO_OUT_OF_MEMORY);
  ck_assert_int_eq(problem_status, RLO_OUT_OF_MEMORY);
  ck_assert(shape == NULL && problem == NULL);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}
