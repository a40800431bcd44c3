/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "desc/dtype.h"
#include "desc/layout.h"
#include "io/dlpack_abi.h"
#include "relayout/dlpack.h"

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

static rlo_status set_type(const rlo_shape *shape,
                           rlo__dl_tensor *tensor,
                           bool *out_is_padded) {
  const rlo__dtype_info *info = rlo__dtype_info_of(shape->dtype);
  int64_t bits = rlo__layout_element_bits(&shape->layout, shape->dtype);
  *out_is_padded = bits != info->dlpack_bits;
  if (*out_is_padded && bits != rlo_dtype_storage_bits(shape->dtype)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "DLPack has no elements of %s in %" PRId64 " bits",
                    info->name,
                    bits);
  }
  tensor->type_code = info->dlpack_code;
  tensor->type_bits = info->dlpack_bits;
  tensor->type_lanes = 1;
  return RLO_OK;
}

/* Where the first element lies from view->data; its shape has been measured. */
static rlo_status find_offset(const rlo_dlpack_view *view,
                              int64_t offset_elems,
                              int64_t *out_bytes) {
  int64_t bits =
      rlo__layout_element_bits(&view->shape.layout, view->shape.dtype);
  /* It fits: the shape has as many bits. */
  int64_t offset_bits = offset_elems * bits;
  int64_t offset_bytes;
  if (!rlo__add(view->offset_bytes, offset_bits / 8, &offset_bytes)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "element %" PRId64 " at byte %" PRId64
                    " does not fit 64 bits",
                    offset_elems,
                    view->offset_bytes);
  }
  if (offset_bits % 8 != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the first element begins %" PRId64
                    " bits in, and DLPack counts bytes",
                    offset_bits);
  }
  if (offset_bytes < 0 && view->device == RLO_DLPACK_OPENCL) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the first element lies %" PRId64
                    " bytes before the beginning of the cl_mem",
                    -offset_bytes);
  }
  *out_bytes = offset_bytes;
  return RLO_OK;
}

static rlo_status check_view(const rlo_dlpack_view *view) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(&view->shape, &extent));
  if (view->device != RLO_DLPACK_CPU && view->device != RLO_DLPACK_OPENCL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d is neither RLO_DLPACK_CPU nor RLO_DLPACK_OPENCL",
                    (int)view->device);
  }
  if (view->data == NULL && extent.elements > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the data of %" PRId64 " elements are NULL",
                    extent.elements);
  }
  return RLO_OK;
}

static rlo_status fill_tensor(const rlo_dlpack_view *view,
                              exported_tensor *exported,
                              rlo__dl_tensor *tensor,
                              bool *out_is_padded) {
  const rlo_shape *shape = &view->shape;
  RLO_TRY(check_view(view));
  RLO_TRY(set_type(shape, tensor, out_is_padded));
  int64_t offset_elems = 0;
  int64_t offset_bytes = 0;
  RLO_TRY(rlo_shape_to_strides(shape, exported->strides, &offset_elems));
  RLO_TRY(find_offset(view, offset_elems, &offset_bytes));
  memcpy(exported->dims,
         shape->dims,
         (size_t)shape->rank * sizeof exported->dims[0]);
  tensor->data = view->data;
  if (offset_bytes < 0) {
    /* Their offset has no sign. */
    tensor->data = (unsigned char *)view->data + offset_bytes;
    offset_bytes = 0;
  }
  tensor->byte_offset = (uint64_t)offset_bytes;
  tensor->device_type = (int32_t)view->device;
  tensor->device_id = view->device_id;
  tensor->ndim = shape->rank;
  tensor->shape = exported->dims;
  tensor->strides = exported->strides;
  return RLO_OK;
}

/* On failure nothing is left, and destroy has not been called. */
static rlo_status export_view(const rlo_dlpack_view *view,
                              rlo_dlpack_destroy_fn destroy,
                              void *payload,
                              bool *out_is_padded,
                              exported_tensor **out_exported) {
  exported_tensor *exported = rlo__alloc(sizeof *exported);
  if (exported == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status =
      fill_tensor(view, exported, &exported->managed.dl_tensor, out_is_padded);
  if (status != RLO_OK) {
    rlo__free(exported);
    return status;
  }
  exported->versioned.dl_tensor = exported->managed.dl_tensor;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = delete_managed;
  exported->versioned.manager_ctx = exported;
  exported->versioned.deleter = delete_versioned;
  exported->destroy = destroy;
  exported->payload = payload;
  *out_exported = exported;
  return RLO_OK;
}

static rlo_status read_view(const rlo_dlpack_view *view, rlo_dlpack_view *out) {
  return rlo__options_read(
      "DLPack view", "RLO_DLPACK_VIEW_INIT", view, out, sizeof *out);
}

rlo_status rlo_dlpack_export(const rlo_dlpack_view *view,
                             rlo_dlpack_destroy_fn destroy,
                             void *payload,
                             struct DLManagedTensor **out_managed) {
  RLO_REQUIRE(out_managed);
  *out_managed = NULL;
  RLO_REQUIRE(view);
  rlo_dlpack_view known = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(read_view(view, &known));
  if (known.is_read_only) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an unversioned DLPack tensor cannot say that it may not "
                    "be written to");
  }
  bool is_padded = false;
  exported_tensor *exported = NULL;
  RLO_TRY(export_view(&known, destroy, payload, &is_padded, &exported));
  if (is_padded) {
    rlo__free(exported);
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an unversioned DLPack tensor cannot say that elements of "
                    "%s take whole bytes",
                    rlo_dtype_name(known.shape.dtype));
  }
  *out_managed = &exported->managed;
  return RLO_OK;
}

rlo_status rlo_dlpack_export_versioned(
    const rlo_dlpack_view *view,
    rlo_dlpack_destroy_fn destroy,
    void *payload,
    struct DLManagedTensorVersioned **out_managed) {
  enum { MAJOR = 1, MINOR = 1 };

  RLO_REQUIRE(out_managed);
  *out_managed = NULL;
  RLO_REQUIRE(view);
  rlo_dlpack_view known = RLO_DLPACK_VIEW_INIT;
  RLO_TRY(read_view(view, &known));
  bool is_padded = false;
  exported_tensor *exported = NULL;
  RLO_TRY(export_view(&known, destroy, payload, &is_padded, &exported));
  exported->versioned.version_major = MAJOR;
  exported->versioned.version_minor = MINOR;
  if (known.is_read_only) {
    exported->versioned.flags |= RLO_DLPACK_FLAG_READ_ONLY;
  }
  if (is_padded) {
    exported->versioned.flags |= RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED;
  }
  *out_managed = &exported->versioned;
  return RLO_OK;
}
