/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/dlpack.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "desc/dtype.h"
#include "desc/layout.h"
#include "desc/strides.h"
#include "relayout/xla/layout_util.h"

/*
 * DLPack's structs as they lie in memory, so that every version of them can be
 * read without any version of its header: the one of Debian 12 is 0.6, which
 * knows neither bool nor the versioned struct. The members of the first are
 * the same in all versions since 0.2.
 */
typedef struct rlo__dl_tensor {
  /** Pointer, or cl_mem. */
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t *shape;
  /** Counted in elements; NULL: row-major (allowed before 1.2). */
  int64_t *strides;
  uint64_t byte_offset;
} rlo__dl_tensor;

struct DLManagedTensor {
  rlo__dl_tensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
};

/** All but dl_tensor stays as it is in every major version. */
struct DLManagedTensorVersioned {
  uint32_t version_major;
  uint32_t version_minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  rlo__dl_tensor dl_tensor;
};

enum { MAJOR = 1, MINOR = 1 };

/** DLPack's devices whose memory the host reaches by its address: pinned by CUDA
 *  and by ROCm, and managed by CUDA. */
enum { CUDA_HOST = 3, ROCM_HOST = 11, CUDA_MANAGED = 13 };

/* ------------------------------------------------------------ both directions
 */

/* `status` is that of a device that cannot be reached. */
static rlo_status check_device(int32_t device, rlo_status status) {
  RLO_FAIL_IF(device != RLO_DLPACK_CPU && device != RLO_DLPACK_OPENCL, status,
              "DLPack's device %d cannot be reached; %d (CPU) and %d (OpenCL) can", device,
              RLO_DLPACK_CPU, RLO_DLPACK_OPENCL);
  return RLO_OK;
}

static rlo_status check_data(const void *data, const rlo_shape *shape) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_FAIL_IF(data == NULL && extent.elements > 0, RLO_INVALID_ARGUMENT,
              "the data of %" PRId64 " elements are NULL", extent.elements);
  return RLO_OK;
}

/* *offset_bytes += elems * bits / 8: from the first element to slot 0, or back.
 * Either fits on its own. */
static rlo_status add_elements(int64_t elems, int64_t bits, int32_t device, int64_t *offset_bytes) {
  int64_t total_bits;
  int64_t sum;
  RLO_FAIL_IF(!rlo__mul(elems, bits, &total_bits) || !rlo__add(*offset_bytes, total_bits / 8, &sum),
              RLO_OVERFLOW,
              "%" PRId64 " elements of %" PRId64 " bits from byte %" PRId64
              " on do not fit 64 bits",
              elems, bits, *offset_bytes);
  RLO_FAIL_IF(total_bits % 8 != 0, RLO_UNSUPPORTED,
              "slot 0 and the first element of %" PRId64 " bits are %" PRId64
              " bits apart, which is no whole byte",
              bits, rlo__abs(total_bits));
  RLO_FAIL_IF(sum < 0 && device == RLO_DLPACK_OPENCL, RLO_OUT_OF_RANGE,
              "the array begins %" PRId64 " bytes before the beginning of the cl_mem", -sum);
  *offset_bytes = sum;
  return RLO_OK;
}

/* ------------------------------------------------------------------- import */

struct rlo_dlpack_import {
  rlo_dlpack_view view;
  /* One of the two. */
  struct DLManagedTensor *managed;
  struct DLManagedTensorVersioned *versioned;
};

static rlo_status find_dtype(const rlo__dl_tensor *tensor, rlo_dtype *out_dtype) {
  RLO_FAIL_IF(tensor->type_lanes != 1, RLO_UNSUPPORTED,
              "elements of %d lanes are not supported; make the lanes a dimension",
              tensor->type_lanes);
  for (int number = 1; number < rlo__dtype_end; ++number) {
    const rlo__dtype_info *info = rlo__dtype_info_of((rlo_dtype)number);
    if (info != NULL && info->dlpack_code == tensor->type_code &&
        info->dlpack_bits == tensor->type_bits) {
      *out_dtype = (rlo_dtype)number;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_UNSUPPORTED, "DLPack's type with code %d and %d bits is not supported",
                  tensor->type_code, tensor->type_bits);
}

static rlo_status find_layout(const rlo__dl_tensor *tensor, rlo_dtype dtype, uint64_t flags,
                              int64_t available_bytes, rlo_dlpack_view *view) {
  RLO_FAIL_IF(tensor->byte_offset > INT64_MAX, RLO_OVERFLOW,
              "the byte offset %" PRIu64 " does not fit 63 bits", tensor->byte_offset);
  view->offset_bytes = (int64_t)tensor->byte_offset;
  if (available_bytes >= 0 && available_bytes != RLO_AVAILABLE_ALL) {
    RLO_FAIL_IF(view->offset_bytes > available_bytes, RLO_OUT_OF_RANGE,
                "the byte offset %" PRId64 " lies beyond the %" PRId64 " available bytes",
                view->offset_bytes, available_bytes);
    available_bytes -= view->offset_bytes;
  }
  int64_t bits = rlo_dtype_storage_bits(dtype);
  const bool is_packed =
      (flags & RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED) == 0 && tensor->type_bits < bits;
  if (is_packed) {
    bits = tensor->type_bits;
  }
  rlo_layout layout;
  int64_t lowest_elems = 0;
  RLO_TRY(rlo_layout_from_strides(tensor->shape, tensor->strides, tensor->ndim,
                                  rlo__available_elems(available_bytes, bits), &layout,
                                  &lowest_elems));
  layout.element_size_bits = is_packed ? bits : 0;
  RLO_TRY(rlo_shape_make_with_layout(dtype, tensor->shape, tensor->ndim, &layout, &view->shape));
  return add_elements(lowest_elems, bits, tensor->device_type, &view->offset_bytes);
}

rlo_status rlo_dlpack_view_tensor(const void *dl_tensor, uint64_t flags, int64_t available_bytes,
                                  rlo_dlpack_view *out_view) {
  RLO_REQUIRE(dl_tensor, out_view);
  /* Their struct, read as ours: a copy offends no rule of aliasing. */
  rlo__dl_tensor tensor;
  memcpy(&tensor, dl_tensor, sizeof tensor);
  if (tensor.device_type == CUDA_HOST || tensor.device_type == ROCM_HOST ||
      tensor.device_type == CUDA_MANAGED) {
    tensor.device_type = RLO_DLPACK_CPU;
    tensor.device_id = 0;
  }
  RLO_TRY(check_device(tensor.device_type, RLO_UNSUPPORTED));
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(find_dtype(&tensor, &dtype));
  rlo_dlpack_view view = {
      .struct_size = sizeof view,
      .device = (rlo_dlpack_device)tensor.device_type,
      .device_id = tensor.device_id,
      .data = tensor.data,
      .is_read_only = (flags & RLO_DLPACK_FLAG_READ_ONLY) != 0,
  };
  RLO_TRY(find_layout(&tensor, dtype, flags, available_bytes, &view));
  RLO_TRY(check_data(tensor.data, &view.shape));
  return rlo__report_write("DLPack view", "RLO_DLPACK_VIEW_INIT", &view, out_view, sizeof view);
}

static rlo_status take(const rlo__dl_tensor *tensor, uint64_t flags, int64_t available_bytes,
                       rlo_dlpack_import **out_import) {
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(rlo_dlpack_view_tensor(tensor, flags, available_bytes, &view));
  *out_import = rlo__alloc(sizeof **out_import);
  RLO_TRY_MEMORY(*out_import);
  (*out_import)->view = view;
  return RLO_OK;
}

rlo_status rlo_dlpack_import_create(struct DLManagedTensor *managed, int64_t available_bytes,
                                    rlo_dlpack_import **out_import) {
  RLO_REQUIRE(out_import);
  *out_import = NULL;
  RLO_REQUIRE(managed);
  RLO_TRY(take(&managed->dl_tensor, 0, available_bytes, out_import));
  (*out_import)->managed = managed;
  return RLO_OK;
}

rlo_status rlo_dlpack_import_create_versioned(struct DLManagedTensorVersioned *managed,
                                              int64_t available_bytes,
                                              rlo_dlpack_import **out_import) {
  RLO_REQUIRE(out_import);
  *out_import = NULL;
  RLO_REQUIRE(managed);
  RLO_FAIL_IF(managed->version_major != MAJOR, RLO_UNSUPPORTED,
              "version %" PRIu32 ".%" PRIu32 " of DLPack is unknown; %d.x is read",
              managed->version_major, managed->version_minor, MAJOR);
  RLO_TRY(take(&managed->dl_tensor, managed->flags, available_bytes, out_import));
  (*out_import)->versioned = managed;
  return RLO_OK;
}

const rlo_dlpack_view *rlo_dlpack_import_view(const rlo_dlpack_import *import) {
  RLO_REQUIRE_OR(NULL, import);
  return &import->view;
}

void rlo_dlpack_import_release(rlo_dlpack_import *import) {
  if (import == NULL) {
    return;
  }
  if (import->managed != NULL && import->managed->deleter != NULL) {
    import->managed->deleter(import->managed);
  }
  if (import->versioned != NULL && import->versioned->deleter != NULL) {
    import->versioned->deleter(import->versioned);
  }
  rlo__free(import);
}

/* ------------------------------------------------------------------- export */

/* The tensor that a consumer gets, and the data for its deleter. */
typedef struct exported_tensor {
  struct DLManagedTensor managed;
  struct DLManagedTensorVersioned versioned;
  rlo_dlpack_destroy_fn destroy;
  void *payload;
  int64_t dims[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
} exported_tensor;

static void destroy_exported(exported_tensor *exported) {
  if (exported->destroy != NULL) {
    exported->destroy(exported->payload);
  }
  rlo__free(exported);
}

static void delete_managed(struct DLManagedTensor *self) {
  destroy_exported(self->manager_ctx);
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
  destroy_exported(self->manager_ctx);
}

/* Refuses what cannot be said of an array. `is_padded`: its elements take more
 * bits than DLPack's. */
static rlo_status check_view(const rlo_dlpack_view *view, bool is_versioned, bool is_padded) {
  const rlo_shape *shape = &view->shape;
  const int64_t bits = rlo__layout_element_bits(&shape->layout, shape->dtype);
  RLO_FAIL_IF(is_padded && bits != rlo_dtype_storage_bits(shape->dtype), RLO_UNSUPPORTED,
              "DLPack has no elements of %s in %" PRId64 " bits", rlo_dtype_name(shape->dtype),
              bits);
  RLO_FAIL_IF(view->is_read_only && !is_versioned, RLO_UNSUPPORTED,
              "an unversioned DLPack tensor cannot say that it may not be written to");
  RLO_FAIL_IF(is_padded && !is_versioned, RLO_UNSUPPORTED,
              "an unversioned DLPack tensor cannot say that elements of %s take whole bytes",
              rlo_dtype_name(shape->dtype));
  return RLO_OK;
}

static rlo_status fill_tensor(const rlo_dlpack_view *view, bool is_versioned,
                              exported_tensor *exported) {
  const rlo_shape *shape = &view->shape;
  RLO_TRY(check_data(view->data, shape));
  RLO_TRY(check_device((int32_t)view->device, RLO_INVALID_ARGUMENT));
  const rlo__dtype_info *info = rlo__dtype_info_of(shape->dtype);
  const int64_t bits = rlo__layout_element_bits(&shape->layout, shape->dtype);
  const bool is_padded = bits != info->dlpack_bits;
  RLO_TRY(check_view(view, is_versioned, is_padded));
  int64_t offset_elems = 0;
  int64_t offset_bytes = view->offset_bytes;
  RLO_TRY(rlo_shape_to_strides(shape, exported->strides, &offset_elems));
  RLO_TRY(add_elements(offset_elems, bits, (int32_t)view->device, &offset_bytes));
  memcpy(exported->dims, shape->dims, (size_t)shape->rank * sizeof exported->dims[0]);
  const rlo__dl_tensor tensor = {
      /* Their offset has no sign. */
      .data = offset_bytes < 0 ? (unsigned char *)view->data + offset_bytes : view->data,
      .byte_offset = (uint64_t)rlo__max(offset_bytes, 0),
      .device_type = (int32_t)view->device,
      .device_id = view->device_id,
      .ndim = shape->rank,
      .type_code = info->dlpack_code,
      .type_bits = info->dlpack_bits,
      .type_lanes = 1,
      .shape = exported->dims,
      .strides = exported->strides,
  };
  exported->managed = (struct DLManagedTensor){tensor, exported, delete_managed};
  exported->versioned = (struct DLManagedTensorVersioned){
      .version_major = MAJOR,
      .version_minor = MINOR,
      .manager_ctx = exported,
      .deleter = delete_versioned,
      .flags = (view->is_read_only ? RLO_DLPACK_FLAG_READ_ONLY : 0) |
               (is_padded ? RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED : 0),
      .dl_tensor = tensor,
  };
  return RLO_OK;
}

/* On failure nothing is left, and destroy has not been called. */
static rlo_status export_view(const rlo_dlpack_view *view, bool is_versioned,
                              rlo_dlpack_destroy_fn destroy, void *payload,
                              exported_tensor **out_exported) {
  RLO_REQUIRE(view);
  rlo_dlpack_view known = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(rlo__options_read("DLPack view", "RLO_DLPACK_VIEW_INIT", view, &known, sizeof known));
  exported_tensor *exported = rlo__alloc(sizeof *exported);
  RLO_TRY_MEMORY(exported);
  rlo_status status = fill_tensor(&known, is_versioned, exported);
  if (status != RLO_OK) {
    rlo__free(exported);
    return status;
  }
  exported->destroy = destroy;
  exported->payload = payload;
  *out_exported = exported;
  return RLO_OK;
}

rlo_status rlo_dlpack_export(const rlo_dlpack_view *view, rlo_dlpack_destroy_fn destroy,
                             void *payload, struct DLManagedTensor **out_managed) {
  RLO_REQUIRE(out_managed);
  *out_managed = NULL;
  exported_tensor *exported = NULL;
  RLO_TRY(export_view(view, false, destroy, payload, &exported));
  *out_managed = &exported->managed;
  return RLO_OK;
}

rlo_status rlo_dlpack_export_versioned(const rlo_dlpack_view *view, rlo_dlpack_destroy_fn destroy,
                                       void *payload,
                                       struct DLManagedTensorVersioned **out_managed) {
  RLO_REQUIRE(out_managed);
  *out_managed = NULL;
  exported_tensor *exported = NULL;
  RLO_TRY(export_view(view, true, destroy, payload, &exported));
  *out_managed = &exported->versioned;
  return RLO_OK;
}
