/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/dlpack.h"
#include "relayout/index.h"
#include "relayout/text.h"
#include "support/random_shape.h"

/* DLPack's own header where it is there, else what it says. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLOpenCL = 4 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLDevice;

typedef enum { kDLInt, kDLUInt, kDLFloat, kDLBfloat = 4, kDLComplex } DLCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

#ifndef DLPACK_MAJOR_VERSION
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

#define ALL     RLO_AVAILABLE_ALL
#define UNKNOWN RLO_AVAILABLE_UNKNOWN

static unsigned char memory[4096];

static DLTensor make_tensor(DLDataType dtype,
                            int64_t *dims,
                            int64_t *strides,
                            int rank) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = memory;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = rank;
  tensor.dtype = dtype;
  tensor.shape = dims;
  tensor.strides = strides;
  return tensor;
}

/* ------------------------------------------------------------------ views */

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
    {F32,
     0,
     2,
     {2, 3},
     {8, 1},
     true,
     4,
     68,
     "f32[2,3]{1,0:pad(2,8)fill(unknown)}",
     4},
    {F32, 0, 2, {2, 3}, {8, 1}, true, 4, 67, "f32[2,3]{:strides(8,1)}", 4},
    {F32, 0, 2, {2, 3}, {0, 1}, true, 0, ALL, "f32[2,3]{:strides(0,1)}", 0},
    {F32,
     0,
     1,
     {5},
     {-2},
     true,
     0,
     UNKNOWN,
     "f32[5]{:strides(-2)offset(8)}",
     -32},
    {F32,
     0,
     1,
     {5},
     {-2},
     true,
     40,
     UNKNOWN,
     "f32[5]{:strides(-2)offset(8)}",
     8},
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
    {S4,
     RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED,
     1,
     {6},
     {0},
     false,
     0,
     6,
     "s4[6]{0}",
     0},
    {S4,
     0,
     1,
     {3},
     {-1},
     true,
     1,
     UNKNOWN,
     "s4[3]{:E(4)strides(-1)offset(2)}",
     0},
    {F6, 0, 1, {4}, {0}, false, 0, 3, "f6e2m3fn[4]{0:E(6)}", 0},
};

START_TEST(test_dlpack__views_tensors)
{
  int64_t dims[3];
  int64_t strides[3];
  memcpy(dims, views[_i].dims, sizeof dims);
  memcpy(strides, views[_i].strides, sizeof strides);
  DLTensor tensor = make_tensor(views[_i].dtype,
                                views[_i].rank > 0 ? dims : NULL,
                                views[_i].has_strides ? strides : NULL,
                                views[_i].rank);
  tensor.byte_offset = views[_i].byte_offset;
  rlo_dlpack_view view;
  ck_assert_int_eq(rlo_dlpack_view_tensor(
                       &tensor, views[_i].flags, views[_i].available, &view),
                   RLO_OK);
  rlo_shape expected;
  ck_assert_int_eq(
      rlo_shape_parse(views[_i].shape, strlen(views[_i].shape), &expected),
      RLO_OK);
  char text[256];
  rlo_shape_format(&view.shape, text, sizeof text);
  ck_assert_msg(rlo_shape_equal(&view.shape, &expected), "%s", text);
  ck_assert_int_eq(view.offset_bytes, views[_i].offset_bytes);
  ck_assert_int_eq(view.device, RLO_DLPACK_CPU);
  ck_assert_ptr_eq(view.data, memory);
  ck_assert(!view.is_read_only);
}

END_TEST

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

START_TEST(test_dlpack__refuses_tensors)
{
  int64_t dims[] = {2, 3};
  int64_t strides[] = {3, 1};
  DLTensor tensor = make_tensor((DLDataType)F32, dims, strides, 2);
  int64_t available = UNKNOWN;
  rlo_dlpack_view view;
  memset(&view, 0x5a, sizeof view);
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, available, &view),
                   RLO_OK);
  const rlo_dlpack_view before = view;
  break_tensor(_i, &tensor, &available);
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, available, &view),
                   fault_statuses[_i]);
  ck_assert_mem_eq(&view, &before, sizeof view);
}

END_TEST

START_TEST(test_dlpack__takes_an_empty_tensor_without_data)
{
  int64_t dims[] = {2, 0};
  DLTensor tensor = make_tensor((DLDataType)F32, dims, NULL, 2);
  tensor.data = NULL;
  rlo_dlpack_view view;
  ck_assert_int_eq(rlo_dlpack_view_tensor(&tensor, 0, UNKNOWN, &view), RLO_OK);
  ck_assert_ptr_null(view.data);
  ck_assert_int_eq(rlo_dlpack_view_tensor(NULL, 0, UNKNOWN, &view),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

/* ----------------------------------------------------------------- imports */

static int deleted_count;

static void count_deletion(DLManagedTensor *self) {
  (void)self;
  ++deleted_count;
}

static void count_versioned_deletion(DLManagedTensorVersioned *self) {
  (void)self;
  ++deleted_count;
}

START_TEST(test_dlpack__import_calls_the_deleter_once)
{
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {
      .dl_tensor = make_tensor((DLDataType)F32, dims, NULL, 2),
      .deleter = count_deletion};
  managed.dl_tensor.device.device_type = kDLOpenCL;
  managed.dl_tensor.device.device_id = 3;
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import),
                   RLO_OK);
  const rlo_dlpack_view *view = rlo_dlpack_import_view(import);
  ck_assert_int_eq(view->device, RLO_DLPACK_OPENCL);
  ck_assert_int_eq(view->device_id, 3);
  ck_assert_int_eq(view->shape.rank, 2);
  ck_assert_int_eq(deleted_count, 0);
  rlo_dlpack_import_release(import);
  ck_assert_int_eq(deleted_count, 1);
  rlo_dlpack_import_release(NULL);
  ck_assert_int_eq(deleted_count, 1);
}

END_TEST

START_TEST(test_dlpack__import_goes_without_a_deleter)
{
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {.dl_tensor =
                                 make_tensor((DLDataType)F32, dims, NULL, 2)};
  rlo_dlpack_import *import = NULL;
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import),
                   RLO_OK);
  rlo_dlpack_import_release(import);
}

END_TEST

START_TEST(test_dlpack__failed_import_leaves_the_tensor_alone)
{
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {
      .dl_tensor = make_tensor((DLDataType)F32, dims, NULL, 2),
      .deleter = count_deletion};
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_ptr_null(import);
  managed.dl_tensor.dtype.lanes = 2;
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import),
                   RLO_UNSUPPORTED);
  ck_assert_ptr_null(import);
  ck_assert_int_eq(rlo_dlpack_import_create(NULL, UNKNOWN, &import),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted_count, 0);
}

END_TEST

START_TEST(test_dlpack__import_reads_the_versioned_struct)
{
  int64_t dims[] = {2, 3};
  DLManagedTensorVersioned managed = {
      .version = {1, 9},
      .deleter = count_versioned_deletion,
      .flags = RLO_DLPACK_FLAG_READ_ONLY | UINT64_C(1) << 40,
      .dl_tensor = make_tensor((DLDataType)BOOL, dims, NULL, 2)};
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  ck_assert_int_eq(
      rlo_dlpack_import_create_versioned(&managed, UNKNOWN, &import), RLO_OK);
  ck_assert(rlo_dlpack_import_view(import)->is_read_only);
  ck_assert_int_eq(rlo_dlpack_import_view(import)->shape.dtype, RLO_DTYPE_PRED);
  rlo_dlpack_import_release(import);
  ck_assert_int_eq(deleted_count, 1);
  /* Nothing but the deleter of another major version may be looked at. */
  managed.version.major = 2;
  memset(&managed.dl_tensor, 0xff, sizeof managed.dl_tensor);
  ck_assert_int_eq(
      rlo_dlpack_import_create_versioned(&managed, UNKNOWN, &import),
      RLO_UNSUPPORTED);
  ck_assert_ptr_null(import);
  ck_assert_int_eq(rlo_dlpack_import_create_versioned(NULL, UNKNOWN, &import),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted_count, 1);
}

END_TEST

/* ----------------------------------------------------------------- exports */

static rlo_dlpack_view view_of(const char *text) {
  rlo_dlpack_view view;
  memset(&view, 0, sizeof view);
  ck_assert_int_eq(rlo_shape_parse(text, strlen(text), &view.shape), RLO_OK);
  view.device = RLO_DLPACK_CPU;
  view.data = memory;
  return view;
}

static void *destroyed;

static void note_destroyed(void *payload) {
  ck_assert_ptr_null(destroyed);
  destroyed = payload;
}

START_TEST(test_dlpack__export_fills_the_tensor)
{
  rlo_dlpack_view view = view_of("bf16[2,3]{0,1:pad(5,4)fill(zero)}");
  view.device = RLO_DLPACK_OPENCL;
  view.device_id = 2;
  view.offset_bytes = 20;
  DLManagedTensor *managed = NULL;
  destroyed = NULL;
  int token;
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, &token, &managed),
                   RLO_OK);
  const DLTensor *tensor = &managed->dl_tensor;
  ck_assert_ptr_eq(tensor->data, memory);
  ck_assert_int_eq(tensor->device.device_type, kDLOpenCL);
  ck_assert_int_eq(tensor->device.device_id, 2);
  ck_assert_int_eq(tensor->ndim, 2);
  ck_assert_int_eq(tensor->dtype.code, kDLBfloat);
  ck_assert_int_eq(tensor->dtype.bits, 16);
  ck_assert_int_eq(tensor->dtype.lanes, 1);
  ck_assert_int_eq(tensor->shape[0], 2);
  ck_assert_int_eq(tensor->shape[1], 3);
  ck_assert_int_eq(tensor->strides[0], 1);
  ck_assert_int_eq(tensor->strides[1], 5);
  ck_assert_uint_eq(tensor->byte_offset, 20);
  ck_assert_ptr_null(destroyed);
  managed->deleter(managed);
  ck_assert_ptr_eq(destroyed, &token);
}

END_TEST

START_TEST(test_dlpack__export_moves_the_data_before_an_offset_below_0)
{
  rlo_dlpack_view view = view_of("u8[4]");
  view.data = memory + 10;
  view.offset_bytes = -6;
  DLManagedTensor *managed = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_OK);
  ck_assert_ptr_eq(managed->dl_tensor.data, memory + 4);
  ck_assert_uint_eq(managed->dl_tensor.byte_offset, 0);
  managed->deleter(managed);
  view.device = RLO_DLPACK_OPENCL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed),
                   RLO_OUT_OF_RANGE);
  ck_assert_ptr_null(managed);
}

END_TEST

START_TEST(test_dlpack__export_says_what_only_the_versioned_struct_can)
{
  rlo_dlpack_view view = view_of("u4[5]");
  view.is_read_only = true;
  DLManagedTensorVersioned *versioned = NULL;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(rlo_dlpack_export_versioned(&view, NULL, NULL, &versioned),
                   RLO_OK);
  ck_assert_uint_eq(versioned->version.major, 1);
  ck_assert_uint_eq(
      versioned->flags,
      RLO_DLPACK_FLAG_READ_ONLY | RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED);
  ck_assert_int_eq(versioned->dl_tensor.dtype.bits, 4);
  versioned->deleter(versioned);
  DLManagedTensor *managed = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed),
                   RLO_UNSUPPORTED);
  view.is_read_only = false;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed),
                   RLO_UNSUPPORTED);
  ck_assert_ptr_null(managed);
  view.shape.layout.element_size_bits = 4;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_OK);
  managed->deleter(managed);
  ck_assert_int_eq(rlo_dlpack_export_versioned(&view, NULL, NULL, &versioned),
                   RLO_OK);
  ck_assert_uint_eq(versioned->flags, 0);
  versioned->deleter(versioned);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

END_TEST

static const struct {
  const char *shape;
  rlo_status status;
} not_lent[] = {
    {"f32[3,5]{1,0:T(2,2)}", RLO_UNSUPPORTED},
    {"f32[3]{0:E(64)}", RLO_UNSUPPORTED},
    {"pred[3]{0:E(1)}", RLO_UNSUPPORTED},
    {"s4[3]{:E(4)strides(1)offset(1)}", RLO_UNSUPPORTED},
};

START_TEST(test_dlpack__export_refuses)
{
  rlo_dlpack_view view = view_of(not_lent[_i].shape);
  int64_t live_count = rlo__alloc_live_count();
  destroyed = NULL;
  int token;
  DLManagedTensorVersioned *versioned = NULL;
  ck_assert_int_eq(
      rlo_dlpack_export_versioned(&view, note_destroyed, &token, &versioned),
      not_lent[_i].status);
  ck_assert_ptr_null(versioned);
  ck_assert_ptr_null(destroyed);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

END_TEST

START_TEST(test_dlpack__export_refuses_no_data_no_device_no_memory)
{
  rlo_dlpack_view view = view_of("f32[3]");
  DLManagedTensor *managed = NULL;
  destroyed = NULL;
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, memory, &managed),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  view.data = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, memory, &managed),
                   RLO_INVALID_ARGUMENT);
  view.data = memory;
  view.device = (rlo_dlpack_device)2;
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, memory, &managed),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(managed);
  ck_assert_ptr_null(destroyed);
}

END_TEST

/* What is lent and taken back has its elements where they were. */
START_TEST(test_dlpack__round_trips)
{
  static const rlo_dtype dtypes[] = {
      RLO_DTYPE_PRED, RLO_DTYPE_U4, RLO_DTYPE_BF16, RLO_DTYPE_C128};
  test_random random = test_random_begin("dlpack");
  for (int32_t round = 0; round < 500; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[4];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 4);
    }
    rlo_dlpack_view view = view_of("u8[]");
    view.shape = test_random_shape(&random,
                                   dtypes[round % 4],
                                   dims,
                                   rank,
                                   TEST_PAD | TEST_STRIDED | TEST_BROADCAST);
    view.offset_bytes = 16 * test_random_in(&random, 0, 5);
    DLManagedTensorVersioned *managed = NULL;
    ck_assert_int_eq(rlo_dlpack_export_versioned(&view, NULL, NULL, &managed),
                     RLO_OK);
    rlo_dlpack_import *import = NULL;
    ck_assert_int_eq(rlo_dlpack_import_create_versioned(managed, ALL, &import),
                     RLO_OK);
    const rlo_dlpack_view *back = rlo_dlpack_import_view(import);
    ck_assert(rlo_shape_compatible(&back->shape, &view.shape));
    int64_t bytes = rlo_dtype_storage_bits(view.shape.dtype) / 8;
    int64_t index[RLO_MAX_RANK] = {0};
    do {
      int64_t slot;
      int64_t back_slot;
      ck_assert_int_eq(rlo_index_to_linear(&view.shape, index, &slot), RLO_OK);
      ck_assert_int_eq(rlo_index_to_linear(&back->shape, index, &back_slot),
                       RLO_OK);
      ck_assert_int_eq(view.offset_bytes + slot * bytes,
                       back->offset_bytes + back_slot * bytes);
    } while (rlo_index_bump(&view.shape, index));
    rlo_dlpack_import_release(import);
  }
}

END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void) {
  Suite *suite = suite_create("dlpack");
  TCase *tcase = tcase_create("dlpack");
  tcase_add_loop_test(tcase, test_dlpack__views_tensors, 0, COUNT(views));
  tcase_add_loop_test(tcase, test_dlpack__refuses_tensors, 0, NUM_FAULTS);
  tcase_add_test(tcase, test_dlpack__takes_an_empty_tensor_without_data);
  tcase_add_test(tcase, test_dlpack__import_calls_the_deleter_once);
  tcase_add_test(tcase, test_dlpack__import_goes_without_a_deleter);
  tcase_add_test(tcase, test_dlpack__failed_import_leaves_the_tensor_alone);
  tcase_add_test(tcase, test_dlpack__import_reads_the_versioned_struct);
  tcase_add_test(tcase, test_dlpack__export_fills_the_tensor);
  tcase_add_test(tcase,
                 test_dlpack__export_moves_the_data_before_an_offset_below_0);
  tcase_add_test(tcase,
                 test_dlpack__export_says_what_only_the_versioned_struct_can);
  tcase_add_loop_test(tcase, test_dlpack__export_refuses, 0, COUNT(not_lent));
  tcase_add_test(tcase,
                 test_dlpack__export_refuses_no_data_no_device_no_memory);
  tcase_add_test(tcase, test_dlpack__round_trips);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
