/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "relayout/ops.h"
#include "relayout/shape.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

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

static const struct {
  const char *text;
  rlo_shape_extent extent;
} extents[] = {
    /* XLA's ElementsIn and ByteSizeOf. */
    {"f32[]", {1, 1, 32, 4, 4}},
    {"f32[0]", {0, 0, 32, 0, 0}},
    {"f32[3,0,5]", {0, 0, 32, 0, 0}},
    {"f32[1,3,5]", {15, 15, 32, 60, 60}},
    {"f32[13,17]", {221, 221, 32, 884, 884}},
    {"f32[10,20]", {200, 200, 32, 800, 800}},
    {"f64[10,20]", {200, 200, 64, 1600, 1600}},
    {"c64[10,20]", {200, 200, 64, 1600, 1600}},
    {"c128[10,20]", {200, 200, 128, 3200, 3200}},
    {"s4[10,20]", {200, 200, 8, 200, 200}},
    {"pred[7]", {7, 7, 8, 7, 7}},
    /* XLA: s4[64,128]E4 takes 4096 bytes, s4[9216,6144]T(64,128)(8,1)E4 28311552. */
    {"s4[64,128]{1,0:E(4)}", {8192, 8192, 4, 4096, 4096}},
    {"s4[3]{0:E(4)}", {3, 3, 4, 2, 2}},
    {"s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", {56623104, 56623104, 4, 28311552, 28311552}},
    {"s4[9216,0]{1,0:T(64,128)(8,1)E(4)}", {0, 0, 4, 0, 0}},
    /* XLA 2017: F32[10,20] padded to {15,21} takes 1260 bytes. */
    {"f32[10,20]{1,0:pad(15,21)}", {200, 315, 32, 800, 1260}},
    {"f32[3,5]{1,0:L(100)}", {15, 100, 32, 60, 400}},
    {"f32[0,5]{1,0:L(100)}", {0, 0, 32, 0, 0}},
    {"f32[2,3]{:strides(8,1)offset(3)}", {6, 3 + 8 + 2 + 1, 32, 24, 56}},
    {"f32[2,3]{:strides(8,-1)offset(3)}", {6, 3 + 8 + 1, 32, 24, 48}},
    {"f32[2,0]{:strides(8,1)offset(3)}", {0, 0, 32, 0, 0}},
    {"f32[]{:strides()offset(1)}", {1, 2, 32, 4, 8}},
};

RLO_TABLE_TEST(test_shape__measures, extents) {
  const rlo_shape_extent *expected = &extents[_i].extent;
  rlo_shape shape = test_shape_of(extents[_i].text);
  rlo_shape_extent extent = measure(&shape);
  ck_assert_int_eq(extent.elements, expected->elements);
  ck_assert_int_eq(extent.slots, expected->slots);
  ck_assert_int_eq(extent.element_bits, expected->element_bits);
  ck_assert_int_eq(extent.bytes, expected->bytes);
  ck_assert_int_eq(extent.physical_bytes, expected->physical_bytes);
}

RLO_TEST(test_shape__refuses_a_view_of_what_is_before_its_memory) {
  rlo_shape shape = test_shape_of("f32[2,3]{:strides(8,-1)offset(3)}");
  rlo_layout layout = shape.layout;
  layout.offset_elems = 1;
  ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_F32, shape.dims, 2, &layout, &shape),
                   RLO_OUT_OF_RANGE);
}

RLO_TEST(test_shape__refuses_sizes_beyond_64_bits) {
  static const int64_t wide[] = {INT64_C(1) << 31, INT64_C(1) << 31};
  static const int64_t wider[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  static const int64_t empty[] = {INT64_MAX, 0, INT64_MAX};
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, NULL, 0);
  rlo_shape before = shape;

  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, wide, 2, &shape), RLO_OVERFLOW);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_U8, wider, 2, &shape), RLO_OVERFLOW);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
  shape = test_shape_make(RLO_DTYPE_F32, empty, 3);
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
  rlo_shape plain = test_shape_make(RLO_DTYPE_S4, dims, 1);

  layout.element_size_bits = 8;
  rlo_shape spelled = make_with(RLO_DTYPE_S4, dims, 1, &layout);
  ck_assert_int_eq(spelled.layout.element_size_bits, 0);
  ck_assert(rlo_shape_equal(&plain, &spelled));
  layout.element_size_bits = 4;
  rlo_shape packed = make_with(RLO_DTYPE_S4, dims, 1, &layout);
  ck_assert(!rlo_shape_equal(&plain, &packed));
  ck_assert(rlo_shape_compatible(&plain, &packed));
}

static const struct {
  const char *text;
  int32_t count;
  int64_t dims[4];
} physical[] = {
    {"f32[3,5]", 2, {3, 5}},
    {"f32[3,5]{0,1:pad(4,7)}", 2, {7, 4}},
    {"f32[3,5]{0,1:T(2,2)L(1000)pad(4,7)}", 4, {4, 2, 2, 2}},
    {"f32[8]{0:T(2,2)}", 4, {1, 4, 2, 2}},
    {"f32[]", 0, {0}},
};

RLO_TABLE_TEST(test_shape__gives_physical_dims, physical) {
  rlo_shape shape = test_shape_of(physical[_i].text);
  int64_t dims[64];
  int32_t count;
  expect_ok(rlo_shape_physical_dims(&shape, dims, 64, &count));
  ck_assert_int_eq(count, physical[_i].count);
  for (int32_t p = 0; p < count; ++p) {
    ck_assert_int_eq(dims[p], physical[_i].dims[p]);
  }
}

RLO_TEST(test_shape__physical_dims_need_room) {
  static const int64_t dims[] = {3, 5};
  rlo_shape shape = test_shape_make(RLO_DTYPE_F32, dims, 2);
  int64_t out[1] = {77};
  int32_t count = 0;

  ck_assert_int_eq(rlo_shape_physical_dims(&shape, out, 1, &count), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(out[0], 77);

  shape.layout.kind = RLO_LAYOUT_STRIDED;
  ck_assert_int_eq(rlo_shape_physical_dims(&shape, out, 1, &count), RLO_UNSUPPORTED);
}

RLO_TEST(test_shape__compatible_ignores_layouts) {
  rlo_shape a = test_shape_of("f32[3,2]");
  rlo_shape b = test_shape_of("f32[3,2]{0,1}");
  rlo_shape c = test_shape_of("s32[3,2]");
  rlo_shape d = test_shape_of("f32[3,3]");
  rlo_shape e = test_shape_of("f32[3]");

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

  rlo_shape shape = test_shape_make(RLO_DTYPE_F32, NULL, 0);

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
