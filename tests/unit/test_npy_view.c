/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/npy.h"
#include "relayout/text.h"
#include "support/suite.h"

#define ALL     RLO_AVAILABLE_ALL
#define UNKNOWN RLO_AVAILABLE_UNKNOWN

/* Arrays as NumPy describes them, and their shapes. */
static const struct {
  const char *type;
  int32_t rank;
  int64_t dims[3], strides[3];
  int64_t available;
  const char *shape;
  int64_t offset_bytes;
} views[] = {
    {"<f4", 2, {3, 4}, {16, 4}, UNKNOWN, "f32[3,4]{1,0}", 0},
    {"<f4", 2, {3, 4}, {4, 12}, UNKNOWN, "f32[3,4]{0,1}", 0},
    {"|b1", 1, {5}, {1}, UNKNOWN, "pred[5]{0}", 0},
    {"<c16", 0, {0}, {0}, UNKNOWN, "c128[]", 0},
    {"=i8", 1, {5}, {8}, UNKNOWN, "s64[5]{0}", 0},
    {"float64", 1, {5}, {8}, UNKNOWN, "f64[5]{0}", 0},
    {"<f4", 2, {3, 4}, {32, 4}, 96, "f32[3,4]{1,0:pad(3,8)fill(unknown)}", 0},
    {"<f4", 2, {3, 4}, {32, 4}, ALL, "f32[3,4]{1,0:pad(3,8)fill(unknown)}", 0},
    {"<f4", 2, {3, 4}, {32, 4}, 95, "f32[3,4]{:strides(8,1)}", 0},
    {"<f4", 2, {3, 4}, {32, 4}, UNKNOWN, "f32[3,4]{:strides(8,1)}", 0},
    /* a[::-1] */
    {"<u2", 1, {5}, {-2}, UNKNOWN, "u16[5]{:strides(-1)offset(4)}", -8},
    /* np.broadcast_to */
    {"<f8", 2, {3, 4}, {0, 8}, UNKNOWN, "f64[3,4]{:strides(0,1)}", 0},
    /* A stride of a size of 1 may be anything, odd ones included. */
    {"<f4", 2, {1, 4}, {7, 4}, UNKNOWN, "f32[1,4]{1,0}", 0},
    {"<f4", 2, {0, 4}, {7, 3}, UNKNOWN, "f32[0,4]{1,0}", 0},
};

RLO_TABLE_TEST(test_npy_view__describes, views) {
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  ck_assert_int_eq(rlo_shape_from_numpy(views[_i].type, views[_i].dims, views[_i].strides,
                                        views[_i].rank, views[_i].available, &view),
                   RLO_OK);
  char text[256];
  rlo_shape_format(&view.shape, text, sizeof text);
  ck_assert_str_eq(text, views[_i].shape);
  ck_assert_int_eq(view.offset_bytes, views[_i].offset_bytes);
  ck_assert(!view.is_byte_swapped);
}

RLO_TEST(test_npy_view__knows_the_other_byte_order) {
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  ck_assert_int_eq(rlo_shape_from_numpy(">i4", (int64_t[]){3}, NULL, 1, UNKNOWN, &view), RLO_OK);
  ck_assert_int_eq(view.shape.dtype, RLO_DTYPE_S32);
  ck_assert(rlo_layout_is_row_major(&view.shape.layout, 1));
  ck_assert(view.is_byte_swapped);
  ck_assert_int_eq(rlo_shape_from_numpy(">i1", (int64_t[]){3}, NULL, 1, UNKNOWN, &view), RLO_OK);
  ck_assert(!view.is_byte_swapped);
}

static const struct {
  const char *type;
  int32_t rank;
  int64_t dims[2], strides[2];
  int64_t available;
  rlo_status status;
} refused[] = {
    {NULL, 1, {3}, {4}, UNKNOWN, RLO_INVALID_ARGUMENT},
    {"", 1, {3}, {4}, UNKNOWN, RLO_PARSE},
    {"<", 1, {3}, {4}, UNKNOWN, RLO_PARSE},
    {"<f4 ", 1, {3}, {4}, UNKNOWN, RLO_PARSE},
    {"|f16", 1, {3}, {16}, UNKNOWN, RLO_UNSUPPORTED},
    {"<ixy", 1, {3}, {4}, UNKNOWN, RLO_PARSE},
    {"<f99999999999", 1, {3}, {4}, UNKNOWN, RLO_PARSE},
    {"<f16", 1, {3}, {16}, UNKNOWN, RLO_UNSUPPORTED},
    {"|O", 1, {3}, {8}, UNKNOWN, RLO_UNSUPPORTED},
    {"<V2", 1, {3}, {2}, UNKNOWN, RLO_UNSUPPORTED},
    {"<M8[ns]", 1, {3}, {8}, UNKNOWN, RLO_UNSUPPORTED},
    {"<f4", 1, {3}, {6}, UNKNOWN, RLO_UNSUPPORTED},
    {"<f4", 1, {3}, {4}, 11, RLO_OUT_OF_RANGE},
    {"<f4", 1, {3}, {4}, -3, RLO_INVALID_ARGUMENT},
    {"<f4", 1, {-3}, {4}, UNKNOWN, RLO_INVALID_ARGUMENT},
    {"<f4", 33, {3}, {4}, UNKNOWN, RLO_UNSUPPORTED},
    {"<f4", -1, {3}, {4}, UNKNOWN, RLO_INVALID_ARGUMENT},
    {"<f8", 1, {INT64_MAX / 4}, {8}, UNKNOWN, RLO_OVERFLOW},
    {"|i1", 1, {3}, {INT64_MIN}, UNKNOWN, RLO_OVERFLOW},
    {"<f8", 1, {3}, {INT64_MIN}, UNKNOWN, RLO_OVERFLOW},
};

RLO_TABLE_TEST(test_npy_view__refuses, refused) {
  rlo_numpy_view view;
  memset(&view, 0x5a, sizeof view);
  view.struct_size = sizeof view;
  const rlo_numpy_view before = view;
  ck_assert_int_eq(rlo_shape_from_numpy(refused[_i].type, refused[_i].dims, refused[_i].strides,
                                        refused[_i].rank, refused[_i].available, &view),
                   refused[_i].status);
  ck_assert_mem_eq(&view, &before, sizeof view);
}
