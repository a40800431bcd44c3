/* SPDX-License-Identifier: Apache-2.0 */

/* Tensors that are taken over and lent: who deletes what, and when. */

#include <string.h>

#include "base/alloc.h"
#include "relayout/dlpack.h"
#include "relayout/index.h"
#include "support/dlpack_tensor.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define UNKNOWN RLO_AVAILABLE_UNKNOWN

static const DLDataType f32_type = {kDLFloat, 32, 1};
static const DLDataType bool_type = {6, 8, 1};

/* ----------------------------------------------------------------- imports */

static int deleted_count;

static void count_deletion(DLManagedTensor *self) {
  (void)self;
  ++deleted_count;
}

static void count_versioned_deletion(struct DLManagedTensorVersioned *self) {
  (void)self;
  ++deleted_count;
}

RLO_TEST(test_dlpack__import_calls_the_deleter_once) {
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {.dl_tensor = test_dlpack_tensor(f32_type, dims, NULL, 2),
                             .deleter = count_deletion};
  managed.dl_tensor.device.device_type = kDLOpenCL;
  managed.dl_tensor.device.device_id = 3;
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  expect_ok(rlo_dlpack_import_create(&managed, UNKNOWN, &import));
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

RLO_TEST(test_dlpack__import_goes_without_a_deleter) {
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {.dl_tensor = test_dlpack_tensor(f32_type, dims, NULL, 2)};
  rlo_dlpack_import *import = NULL;
  expect_ok(rlo_dlpack_import_create(&managed, UNKNOWN, &import));
  rlo_dlpack_import_release(import);
}

RLO_TEST(test_dlpack__failed_import_leaves_the_tensor_alone) {
  int64_t dims[] = {2, 3};
  DLManagedTensor managed = {.dl_tensor = test_dlpack_tensor(f32_type, dims, NULL, 2),
                             .deleter = count_deletion};
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_ptr_null(import);
  managed.dl_tensor.dtype.lanes = 2;
  ck_assert_int_eq(rlo_dlpack_import_create(&managed, UNKNOWN, &import), RLO_UNSUPPORTED);
  ck_assert_ptr_null(import);
  ck_assert_int_eq(rlo_dlpack_import_create(NULL, UNKNOWN, &import), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted_count, 0);
}

RLO_TEST(test_dlpack__import_reads_the_versioned_struct) {
  int64_t dims[] = {2, 3};
  struct DLManagedTensorVersioned managed = {
      .version = {1, 9},
      .deleter = count_versioned_deletion,
      .flags = RLO_DLPACK_FLAG_READ_ONLY | UINT64_C(1) << 40,
      .dl_tensor = test_dlpack_tensor(bool_type, dims, NULL, 2)};
  deleted_count = 0;
  rlo_dlpack_import *import = NULL;
  expect_ok(rlo_dlpack_import_create_versioned(&managed, UNKNOWN, &import));
  ck_assert(rlo_dlpack_import_view(import)->is_read_only);
  ck_assert_int_eq(rlo_dlpack_import_view(import)->shape.dtype, RLO_DTYPE_PRED);
  rlo_dlpack_import_release(import);
  ck_assert_int_eq(deleted_count, 1);
  /* Nothing but the deleter of another major version may be looked at. */
  managed.version.major = 2;
  memset(&managed.dl_tensor, 0xff, sizeof managed.dl_tensor);
  ck_assert_int_eq(rlo_dlpack_import_create_versioned(&managed, UNKNOWN, &import), RLO_UNSUPPORTED);
  ck_assert_ptr_null(import);
  ck_assert_int_eq(rlo_dlpack_import_create_versioned(NULL, UNKNOWN, &import),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted_count, 1);
}

RLO_TEST(test_dlpack__import_goes_without_a_versioned_deleter) {
  int64_t dims[] = {2, 3};
  struct DLManagedTensorVersioned managed = {
      .version = {1, 0}, .dl_tensor = test_dlpack_tensor(f32_type, dims, NULL, 2)};
  int64_t live_count = rlo__alloc_live_count();
  rlo_dlpack_import *import = NULL;
  expect_ok(rlo_dlpack_import_create_versioned(&managed, UNKNOWN, &import));
  rlo_dlpack_import_release(import);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

/* ----------------------------------------------------------------- exports */

static rlo_dlpack_view view_of(const char *text) {
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  view.shape = test_shape_of(text);
  view.device = RLO_DLPACK_CPU;
  view.data = test_dlpack_memory;
  return view;
}

static void *destroyed;

static void note_destroyed(void *payload) {
  ck_assert_ptr_null(destroyed);
  destroyed = payload;
}

RLO_TEST(test_dlpack__export_fills_the_tensor) {
  rlo_dlpack_view view = view_of("bf16[2,3]{0,1:pad(5,4)fill(zero)}");
  view.device = RLO_DLPACK_OPENCL;
  view.device_id = 2;
  view.offset_bytes = 20;
  DLManagedTensor *managed = NULL;
  destroyed = NULL;
  int token;
  expect_ok(rlo_dlpack_export(&view, note_destroyed, &token, &managed));
  const DLTensor *tensor = &managed->dl_tensor;
  ck_assert_ptr_eq(tensor->data, test_dlpack_memory);
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

RLO_TEST(test_dlpack__export_moves_the_data_before_an_offset_below_0) {
  rlo_dlpack_view view = view_of("u8[4]");
  view.data = test_dlpack_memory + 10;
  view.offset_bytes = -6;
  DLManagedTensor *managed = NULL;
  expect_ok(rlo_dlpack_export(&view, NULL, NULL, &managed));
  ck_assert_ptr_eq(managed->dl_tensor.data, test_dlpack_memory + 4);
  ck_assert_uint_eq(managed->dl_tensor.byte_offset, 0);
  managed->deleter(managed);
  view.device = RLO_DLPACK_OPENCL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_OUT_OF_RANGE);
  ck_assert_ptr_null(managed);
}

static const struct {
  const char *shape;
  int64_t offset_bytes;
  rlo_status status;
} far_offsets[] = {
    {"u8[4]{:strides(1)offset(1)}", INT64_MAX - 1, RLO_OK},
    {"u8[4]{:strides(1)offset(2)}", INT64_MAX - 1, RLO_OVERFLOW},
};

RLO_TABLE_TEST(test_dlpack__export_refuses_offsets_that_do_not_fit, far_offsets) {
  rlo_dlpack_view view = view_of(far_offsets[_i].shape);
  view.offset_bytes = far_offsets[_i].offset_bytes;
  DLManagedTensor *managed = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), far_offsets[_i].status);
  if (far_offsets[_i].status == RLO_OK) {
    ck_assert_uint_eq(managed->dl_tensor.byte_offset,
                      (uint64_t)view.offset_bytes + (uint64_t)view.shape.layout.offset_elems);
    managed->deleter(managed);
  } else {
    ck_assert_ptr_null(managed);
  }
}

RLO_TEST(test_dlpack__export_needs_data_for_elements_only) {
  rlo_dlpack_view view = view_of("f32[2,0]");
  view.data = NULL;
  DLManagedTensor *managed = NULL;
  expect_ok(rlo_dlpack_export(&view, NULL, NULL, &managed));
  ck_assert_ptr_null(managed->dl_tensor.data);
  managed->deleter(managed);
  managed = NULL;
  view.shape = test_shape_of("f32[2,1]");
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(managed);
}

RLO_TEST(test_dlpack__export_says_what_only_the_versioned_struct_can) {
  rlo_dlpack_view view = view_of("u4[5]");
  view.is_read_only = true;
  struct DLManagedTensorVersioned *versioned = NULL;
  int64_t live_count = rlo__alloc_live_count();
  expect_ok(rlo_dlpack_export_versioned(&view, NULL, NULL, &versioned));
  ck_assert_uint_eq(versioned->version.major, 1);
  ck_assert_uint_eq(versioned->flags,
                    RLO_DLPACK_FLAG_READ_ONLY | RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED);
  ck_assert_int_eq(versioned->dl_tensor.dtype.bits, 4);
  versioned->deleter(versioned);
  DLManagedTensor *managed = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_UNSUPPORTED);
  view.is_read_only = false;
  ck_assert_int_eq(rlo_dlpack_export(&view, NULL, NULL, &managed), RLO_UNSUPPORTED);
  ck_assert_ptr_null(managed);
  view.shape.layout.element_size_bits = 4;
  expect_ok(rlo_dlpack_export(&view, NULL, NULL, &managed));
  managed->deleter(managed);
  expect_ok(rlo_dlpack_export_versioned(&view, NULL, NULL, &versioned));
  ck_assert_uint_eq(versioned->flags, 0);
  versioned->deleter(versioned);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

static const struct {
  const char *shape;
  rlo_status status;
} not_lent[] = {
    {"f32[3,5]{1,0:T(2,2)}", RLO_UNSUPPORTED},
    {"f32[3]{0:E(64)}", RLO_UNSUPPORTED},
    {"pred[3]{0:E(1)}", RLO_UNSUPPORTED},
    {"s4[3]{:E(4)strides(1)offset(1)}", RLO_UNSUPPORTED},
};

RLO_TABLE_TEST(test_dlpack__export_refuses, not_lent) {
  rlo_dlpack_view view = view_of(not_lent[_i].shape);
  int64_t live_count = rlo__alloc_live_count();
  destroyed = NULL;
  int token;
  struct DLManagedTensorVersioned *versioned = NULL;
  ck_assert_int_eq(rlo_dlpack_export_versioned(&view, note_destroyed, &token, &versioned),
                   not_lent[_i].status);
  ck_assert_ptr_null(versioned);
  ck_assert_ptr_null(destroyed);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

RLO_TEST(test_dlpack__export_refuses_no_data_no_device_no_memory) {
  rlo_dlpack_view view = view_of("f32[3]");
  DLManagedTensor *managed = NULL;
  destroyed = NULL;
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, test_dlpack_memory, &managed),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  view.data = NULL;
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, test_dlpack_memory, &managed),
                   RLO_INVALID_ARGUMENT);
  view.data = test_dlpack_memory;
  view.device = (rlo_dlpack_device)2;
  ck_assert_int_eq(rlo_dlpack_export(&view, note_destroyed, test_dlpack_memory, &managed),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(managed);
  ck_assert_ptr_null(destroyed);
}

/* Elements of a tensor that is exported and imported keep their places. */
RLO_TEST(test_dlpack__round_trips) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_PRED, RLO_DTYPE_U4, RLO_DTYPE_BF16, RLO_DTYPE_C128};
  test_random random = test_random_begin("dlpack");
  for (int32_t round = 0; round < 500; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[4];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 4);
    }
    rlo_dlpack_view view = view_of("u8[]");
    view.shape = test_random_shape(&random, dtypes[round % 4], dims, rank,
                                   TEST_PAD | TEST_STRIDED | TEST_BROADCAST);
    view.offset_bytes = 16 * test_random_in(&random, 0, 5);
    struct DLManagedTensorVersioned *managed = NULL;
    expect_ok(rlo_dlpack_export_versioned(&view, NULL, NULL, &managed));
    rlo_dlpack_import *import = NULL;
    expect_ok(rlo_dlpack_import_create_versioned(managed, RLO_AVAILABLE_ALL, &import));
    const rlo_dlpack_view *back = rlo_dlpack_import_view(import);
    ck_assert(rlo_shape_compatible(&back->shape, &view.shape));
    int64_t bytes = rlo_dtype_storage_bits(view.shape.dtype) / 8;
    int64_t index[RLO_MAX_RANK] = {0};
    do {
      int64_t slot;
      int64_t back_slot;
      expect_ok(rlo_index_to_linear(&view.shape, index, &slot));
      expect_ok(rlo_index_to_linear(&back->shape, index, &back_slot));
      ck_assert_int_eq(view.offset_bytes + slot * bytes, back->offset_bytes + back_slot * bytes);
    } while (rlo_index_bump(&view.shape, index));
    rlo_dlpack_import_release(import);
  }
}
