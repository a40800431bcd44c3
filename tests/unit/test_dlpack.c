/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/dlpack.h"
#include "support/dlpack_tensor.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define ALL     RLO_AVAILABLE_ALL
#define UNKNOWN RLO_AVAILABLE_UNKNOWN

#define F32 \
  { kDLFloat, 32, 1 }
#define BOOL \
  { 6, 8, 1 }
#define S4 \
  { kDLInt, 4, 1 }
#define F6 \
  { 15, 6, 1 }

static const struct {
  DLDataType dtype;
  uint64_t flags;
  int rank;
  int64_t dims[3], strides[3];
  bool has_strides;
  uint64_t byte_offset;
  int64_t available;
  const char *shape;
  int64_t offset_bytes;
} views[] = {
    {F32, 0, 0, {0}, {0}, false, 0, UNKNOWN, "f32[]", 0},
    {F32, 0, 2, {2, 3}, {0}, false, 0, UNKNOWN, "f32[2,3]{1,0}", 0},
    {F32, 0, 2, {2, 3}, {3, 1}, true, 12, UNKNOWN, "f32[2,3]{1,0}", 12},
    {F32, 0, 2, {2, 3}, {1, 2}, true, 0, UNKNOWN, "f32[2,3]{0,1}", 0},
    {F32, 0, 2, {2, 3}, {8, 1}, true, 4, 68, "f32[2,3]{1,0:pad(2,8)fill(unknown)}", 4},
    {F32, 0, 2, {2, 3}, {8, 1}, true, 4, 67, "f32[2,3]{:strides(8,1)}", 4},
    {F32, 0, 2, {2, 3}, {0, 1}, true, 0, ALL, "f32[2,3]{:strides(0,1)}", 0},
    {F32, 0, 1, {5}, {-2}, true, 0, UNKNOWN, "f32[5]{:strides(-2)offset(8)}", -32},
    {F32, 0, 1, {5}, {-2}, true, 40, UNKNOWN, "f32[5]{:strides(-2)offset(8)}", 8},
    {F32, 0, 2, {0, 3}, {7, -7}, true, 0, UNKNOWN, "f32[0,3]{1,0}", 0},
    {F32, 0, 2, {0, 3}, {0}, false, 0, 0, "f32[0,3]{1,0}", 0},
    {BOOL, 0, 1, {3}, {0}, false, 0, UNKNOWN, "pred[3]{0}", 0},
    {{kDLUInt, 8, 1}, 0, 1, {3}, {0}, false, 0, UNKNOWN, "u8[3]{0}", 0},
    {{kDLInt, 64, 1}, 0, 1, {3}, {0}, false, 0, UNKNOWN, "s64[3]{0}", 0},
    {{kDLBfloat, 16, 1}, 0, 1, {3}, {0}, false, 0, UNKNOWN, "bf16[3]{0}", 0},
    {{kDLComplex, 128, 1}, 0, 1, {3}, {0}, false, 0, UNKNOWN, "c128[3]{0}", 0},
    {{10, 8, 1}, 0, 1, {3}, {0}, false, 0, UNKNOWN, "f8e4m3fn[3]{0}", 0},
    /* Less than a byte: packed unless said otherwise. */
    {S4, 0, 1, {6}, {0}, false, 0, 3, "s4[6]{0:E(4)}", 0},
    {S4, RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED, 1, {6}, {0}, false, 0, 6, "s4[6]{0}", 0},
    {S4, 0, 1, {3}, {-1}, true, 1, UNKNOWN, "s4[3]{:E(4)strides(-1)offset(2)}", 0},
    {F6, 0, 1, {4}, {0}, false, 0, 3, "f6e2m3fn[4]{0:E(6)}", 0},
};

RLO_TABLE_TEST(test_dlpack__views_tensors, views) {
  int64_t dims[3];
  int64_t strides[3];
  memcpy(dims, views[_i].dims, sizeof dims);
  memcpy(strides, views[_i].strides, sizeof strides);
  DLTensor tensor = test_dlpack_tensor(views[_i].dtype, views[_i].rank > 0 ? dims : NULL,
                                       views[_i].has_strides ? strides : NULL, views[_i].rank);
  tensor.byte_offset = views[_i].byte_offset;
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, views[_i].flags, views[_i].available, &view),
                   RLO_OK);
  rlo_shape expected = test_shape_of(views[_i].shape);
  ck_assert_msg(rlo_shape_equal(&view.shape, &expected), "%s", test_text_of(&view.shape));
  ck_assert_int_eq(view.offset_bytes, views[_i].offset_bytes);
  ck_assert_int_eq(view.device, RLO_DLPACK_CPU);
  ck_assert_ptr_eq(view.data, test_dlpack_memory);
  ck_assert(!view.is_read_only);
}

/* Pinned by CUDA and by ROCm, managed by CUDA: the host reads it where it is. */
RLO_TEST(test_dlpack__takes_memory_of_other_drivers_for_the_hosts) {
  static const int devices[] = {3, 11, 13};
  int64_t dims[] = {2, 3};
  int64_t strides[] = {-3, 1};
  for (size_t n = 0; n < sizeof devices / sizeof devices[0]; ++n) {
    DLTensor tensor = test_dlpack_tensor((DLDataType){kDLFloat, 32, 1}, dims, strides, 2);
    memcpy(&tensor.device.device_type, &devices[n], sizeof devices[n]);
    tensor.device.device_id = 1;
    rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
    expect_ok(rlo_dlpack_view_tensor(&tensor, 0, RLO_AVAILABLE_UNKNOWN, &view));
    ck_assert_int_eq(view.device, RLO_DLPACK_CPU);
    ck_assert_int_eq(view.device_id, 0);
    ck_assert_int_eq(view.offset_bytes, -12);
    ck_assert_ptr_eq(view.data, test_dlpack_memory);
  }
}

/* Each breaks one thing of a good tensor, f32[2,3]. */
enum {
  DEVICE,
  LANES,
  NO_LANES,
  CODE,
  BITS,
  RANK_NEGATIVE,
  RANK_LARGE,
  NO_DIMS,
  DIM_NEGATIVE,
  DIMS_WRAP,
  NO_DATA,
  OFFSET_LARGE,
  OFFSET_BEYOND,
  ELEMENT_BEYOND,
  STRIDE_LARGE,
  BEFORE_CL_MEM,
  HALF_BYTE,
  AVAILABLE_NEGATIVE,
  NUM_FAULTS
};

static const rlo_status fault_statuses[NUM_FAULTS] = {
    [DEVICE] = RLO_UNSUPPORTED,
    [LANES] = RLO_UNSUPPORTED,
    [NO_LANES] = RLO_UNSUPPORTED,
    [CODE] = RLO_UNSUPPORTED,
    [BITS] = RLO_UNSUPPORTED,
    [RANK_NEGATIVE] = RLO_INVALID_ARGUMENT,
    [RANK_LARGE] = RLO_UNSUPPORTED,
    [NO_DIMS] = RLO_INVALID_ARGUMENT,
    [DIM_NEGATIVE] = RLO_INVALID_ARGUMENT,
    [DIMS_WRAP] = RLO_OVERFLOW,
    [NO_DATA] = RLO_INVALID_ARGUMENT,
    [OFFSET_LARGE] = RLO_OVERFLOW,
    [OFFSET_BEYOND] = RLO_OUT_OF_RANGE,
    [ELEMENT_BEYOND] = RLO_OUT_OF_RANGE,
    [STRIDE_LARGE] = RLO_OVERFLOW,
    [BEFORE_CL_MEM] = RLO_OUT_OF_RANGE,
    [HALF_BYTE] = RLO_UNSUPPORTED,
    [AVAILABLE_NEGATIVE] = RLO_INVALID_ARGUMENT,
};

static void break_tensor(int fault, DLTensor *tensor, int64_t *available) {
  switch (fault) {
    case DEVICE:
      tensor->device.device_type = kDLCUDA;
      break;
    case LANES:
      tensor->dtype.lanes = 4;
      break;
    case NO_LANES:
      tensor->dtype.lanes = 0;
      break;
    case CODE:
      tensor->dtype.code = 200;
      break;
    case BITS:
      tensor->dtype.bits = 31;
      break;
    case RANK_NEGATIVE:
      tensor->ndim = -1;
      break;
    case RANK_LARGE:
      tensor->ndim = 1 << 30;
      break;
    case NO_DIMS:
      tensor->shape = NULL;
      break;
    case DIM_NEGATIVE:
      tensor->shape[1] = -3;
      break;
    case DIMS_WRAP:
      tensor->shape[0] = tensor->shape[1] = INT64_C(1) << 32;
      tensor->strides = NULL;
      break;
    case NO_DATA:
      tensor->data = NULL;
      break;
    case OFFSET_LARGE:
      tensor->byte_offset = UINT64_MAX;
      break;
    case OFFSET_BEYOND:
      tensor->byte_offset = 25;
      *available = 24;
      break;
    case ELEMENT_BEYOND:
      *available = 23;
      break;
    case STRIDE_LARGE:
      tensor->strides[0] = INT64_MIN;
      break;
    case BEFORE_CL_MEM:
      tensor->device.device_type = kDLOpenCL;
      tensor->byte_offset = 8;
      tensor->strides[0] = -3;
      break;
    case HALF_BYTE:
      tensor->dtype = (DLDataType)S4;
      tensor->strides[0] = -3;
      break;
    default:
      *available = -7;
      break;
  }
}

RLO_LOOP_TEST(test_dlpack__refuses_tensors, 0, NUM_FAULTS) {
  int64_t dims[] = {2, 3};
  int64_t strides[] = {3, 1};
  DLTensor tensor = test_dlpack_tensor((DLDataType)F32, dims, strides, 2);
  int64_t available = UNKNOWN;
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  memset(&view, 0x5a, sizeof view);
  view.struct_size = sizeof view;
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, available, &view), RLO_OK);
  const rlo_dlpack_view before = view;
  break_tensor(_i, &tensor, &available);
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, available, &view), fault_statuses[_i]);
  ck_assert_mem_eq(&view, &before, sizeof view);
}

RLO_TEST(test_dlpack__takes_an_empty_tensor_without_data) {
  int64_t dims[] = {2, 0};
  DLTensor tensor = test_dlpack_tensor((DLDataType)F32, dims, NULL, 2);
  tensor.data = NULL;
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, UNKNOWN, &view), RLO_OK);
  ck_assert_ptr_null(view.data);
  ck_assert_int_eq(rlo_dlpack_view_tensor(NULL, 0, UNKNOWN, &view), RLO_INVALID_ARGUMENT);
}
