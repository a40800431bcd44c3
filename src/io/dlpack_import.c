/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "desc/dtype.h"
#include "desc/layout.h"
#include "desc/strides.h"
#include "io/dlpack_abi.h"
#include "relayout/dlpack.h"

struct rlo_dlpack_import {
  rlo_dlpack_view view;
  /* One of the two. */
  struct DLManagedTensor *managed;
  struct DLManagedTensorVersioned *versioned;
};

enum { NEWEST_DTYPE = RLO_DTYPE_F6E2M3FN };

static rlo_status find_dtype(const rlo__dl_tensor *tensor,
                             rlo_dtype *out_dtype) {
  if (tensor->type_lanes != 1) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "elements of %d lanes are not supported; make the lanes "
                    "a dimension",
                    tensor->type_lanes);
  }
  for (int number = 1; number <= NEWEST_DTYPE; ++number) {
    const rlo__dtype_info *info = rlo__dtype_info_of((rlo_dtype)number);
    if (info != NULL && info->dlpack_code == tensor->type_code &&
        info->dlpack_bits == tensor->type_bits) {
      *out_dtype = (rlo_dtype)number;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "DLPack's type with code %d and %d bits is not supported",
                  tensor->type_code,
                  tensor->type_bits);
}

static rlo_status check_device(const rlo__dl_tensor *tensor) {
  if (tensor->device_type != RLO_DLPACK_CPU &&
      tensor->device_type != RLO_DLPACK_OPENCL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "DLPack's device %d cannot be reached; %d (CPU) and %d "
                    "(OpenCL) can",
                    tensor->device_type,
                    RLO_DLPACK_CPU,
                    RLO_DLPACK_OPENCL);
  }
  return RLO_OK;
}

static rlo_status check_pointers(const rlo__dl_tensor *tensor,
                                 const rlo_shape *shape) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  if (tensor->data == NULL && extent.elements > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the data of %" PRId64 " elements are NULL",
                    extent.elements);
  }
  return RLO_OK;
}

/* A number of elements in bytes, if it is a whole one. */
static rlo_status bytes_of(int64_t elems, int64_t bits, int64_t *out_bytes) {
  int64_t total_bits;
  if (!rlo__mul(elems, bits, &total_bits)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "the position %" PRId64 " of elements of %" PRId64
                    " bits does not fit 64 bits",
                    elems,
                    bits);
  }
  if (total_bits % 8 != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "packed elements of %" PRId64 " bits begin %" PRId64
                    " bits before the data, which is no whole byte",
                    bits,
                    -total_bits);
  }
  *out_bytes = total_bits / 8;
  return RLO_OK;
}

/* Elements from the first one on that are available. */
static rlo_status find_available(int64_t available_bytes,
                                 int64_t offset_bytes,
                                 int64_t bits,
                                 int64_t *out_elems) {
  if (available_bytes < 0 || available_bytes == RLO_AVAILABLE_ALL) {
    *out_elems = available_bytes;
    return RLO_OK;
  }
  if (offset_bytes > available_bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the byte offset %" PRId64 " lies beyond the %" PRId64
                    " available bytes",
                    offset_bytes,
                    available_bytes);
  }
  int64_t bytes = available_bytes - offset_bytes;
  /* bytes * 8 / bits, where the product may not fit. */
  if (!rlo__mul_add(bytes % bits * 8 / bits, bytes / bits, 8, out_elems)) {
    *out_elems = RLO_AVAILABLE_ALL;
  }
  return RLO_OK;
}

static rlo_status find_layout(const rlo__dl_tensor *tensor,
                              rlo_dtype dtype,
                              uint64_t flags,
                              int64_t available_bytes,
                              rlo_dlpack_view *view) {
  if (tensor->byte_offset > INT64_MAX) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "the byte offset %" PRIu64 " does not fit 63 bits",
                    tensor->byte_offset);
  }
  int64_t offset_bytes = (int64_t)tensor->byte_offset;
  int64_t bits = rlo_dtype_storage_bits(dtype);
  int64_t packed_bits = 0;
  if ((flags & RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED) == 0 &&
      tensor->type_bits < bits) {
    packed_bits = bits = tensor->type_bits;
  }
  int64_t available_elems = 0;
  RLO_TRY(
      find_available(available_bytes, offset_bytes, bits, &available_elems));
  rlo_layout layout;
  int64_t lowest_elems = 0;
  RLO_TRY(rlo_layout_from_strides(tensor->shape,
                                  tensor->strides,
                                  tensor->ndim,
                                  available_elems,
                                  &layout,
                                  &lowest_elems));
  layout.element_size_bits = packed_bits;
  RLO_TRY(rlo_shape_make_with_layout(
      dtype, tensor->shape, tensor->ndim, &layout, &view->shape));
  int64_t lowest_bytes = 0;
  RLO_TRY(bytes_of(lowest_elems, bits, &lowest_bytes));
  /* The two have opposite signs, so the sum fits. */
  view->offset_bytes = offset_bytes + lowest_bytes;
  if (view->offset_bytes < 0 && tensor->device_type == RLO_DLPACK_OPENCL) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "strides reach %" PRId64
                    " bytes before the beginning of the cl_mem",
                    -view->offset_bytes);
  }
  return RLO_OK;
}

rlo_status rlo_dlpack_view_tensor(const void *dl_tensor,
                                  uint64_t flags,
                                  int64_t available_bytes,
                                  rlo_dlpack_view *out_view) {
  RLO_REQUIRE(dl_tensor, out_view);
  /* Their struct, read as ours: a copy offends no rule of aliasing. */
  rlo__dl_tensor tensor;
  memcpy(&tensor, dl_tensor, sizeof tensor);
  RLO_TRY(check_device(&tensor));
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(find_dtype(&tensor, &dtype));
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(find_layout(&tensor, dtype, flags, available_bytes, &view));
  RLO_TRY(check_pointers(&tensor, &view.shape));
  view.device = (rlo_dlpack_device)tensor.device_type;
  view.device_id = tensor.device_id;
  view.data = tensor.data;
  view.is_read_only = (flags & RLO_DLPACK_FLAG_READ_ONLY) != 0;
  return rlo__report_write(
      "DLPack view", "RLO_DLPACK_VIEW_INIT", &view, out_view, sizeof view);
}

static rlo_status create(const rlo_dlpack_view *view,
                         rlo_dlpack_import **out_import) {
  rlo_dlpack_import *import = rlo__alloc(sizeof *import);
  if (import == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  import->view = *view;
  *out_import = import;
  return RLO_OK;
}

rlo_status rlo_dlpack_import_create(struct DLManagedTensor *managed,
                                    int64_t available_bytes,
                                    rlo_dlpack_import **out_import) {
  RLO_REQUIRE(out_import);
  *out_import = NULL;
  RLO_REQUIRE(managed);
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(
      rlo_dlpack_view_tensor(&managed->dl_tensor, 0, available_bytes, &view));
  RLO_TRY(create(&view, out_import));
  (*out_import)->managed = managed;
  return RLO_OK;
}

rlo_status rlo_dlpack_import_create_versioned(
    struct DLManagedTensorVersioned *managed,
    int64_t available_bytes,
    rlo_dlpack_import **out_import) {
  RLO_REQUIRE(out_import);
  *out_import = NULL;
  RLO_REQUIRE(managed);
  if (managed->version_major != 1) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "version %" PRIu32 ".%" PRIu32
                    " of DLPack is unknown; 1.x is read",
                    managed->version_major,
                    managed->version_minor);
  }
  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(rlo_dlpack_view_tensor(
      &managed->dl_tensor, managed->flags, available_bytes, &view));
  RLO_TRY(create(&view, out_import));
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
