/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_DLPACK_H
#define RELAYOUT_DLPACK_H

#include "relayout/shape.h"
#include "relayout/strides.h"

/*
 * Arrays that come from and go to other frameworks through DLPack, of which
 * this header needs nothing: its two managed structs are named by their tags
 * only. With <dlpack/dlpack.h> of any version beside it, pointers to them fit
 * without a cast; without it, they are passed on from where they came, such as
 * a PyCapsule. A plain DLTensor has no tag and is taken as void *. The layout
 * of these structs in memory (DLPack 0.2 to 1.x) is what counts: nothing of
 * DLPack is in the interface of the library.
 */

struct DLManagedTensor;
struct DLManagedTensorVersioned;

RLO_BEGIN_DECLS

/** Devices that can be reached here, by DLPack's numbers. */
typedef enum rlo_dlpack_device {
  /** `data` points to memory of the host. So is described what CUDA or ROCm has
   *  pinned and what CUDA manages (kDLCUDAHost, kDLROCMHost, kDLCUDAManaged). */
  RLO_DLPACK_CPU = 1,
  /** `data` is a cl_mem. */
  RLO_DLPACK_OPENCL = 4
} rlo_dlpack_device;

/** Where the elements of an array are, and what they are. Begin with
 *  RLO_DLPACK_VIEW_INIT. */
typedef struct rlo_dlpack_view {
  /** sizeof(rlo_dlpack_view). */
  size_t struct_size;
  rlo_shape shape;
  rlo_dlpack_device device;
  /** DLPack's device_id, carried; 0 for memory that CUDA or ROCm pinned or
   *  manages. */
  int32_t device_id;
  /** Pointer or cl_mem, borrowed; NULL only without elements. */
  void *data;
  /** Where slot 0 of the shape lies from `data`, in bytes. Below 0 only on
   *  RLO_DLPACK_CPU, where strides are negative. */
  int64_t offset_bytes;
  /** The elements may not be written to. */
  bool is_read_only;
} rlo_dlpack_view;

#define RLO_DLPACK_VIEW_INIT \
  { .struct_size = sizeof(rlo_dlpack_view) }

/* ------------------------------------------------------------------ import */

/** DLPack's flags that are understood: bits of DLManagedTensorVersioned.flags.
 */
enum {
  RLO_DLPACK_FLAG_READ_ONLY = 1 << 0,
  RLO_DLPACK_FLAG_IS_COPIED = 1 << 1,
  /** Elements of less than a byte take a byte each; else they are packed. */
  RLO_DLPACK_FLAG_IS_SUBBYTE_TYPE_PADDED = 1 << 2
};

/**
 * Describe a DLTensor without taking anything over.
 *
 * Strides are recognised as by rlo_layout_from_strides: most arrays come out
 * dense. The element types are those both sides have, with one lane; a bool is
 * pred.
 * @param dl_tensor        a DLTensor, borrowed for the call. Not NULL.
 * @param flags            RLO_DLPACK_FLAG_* bits; 0 for an unversioned tensor.
 *                         Others are passed over.
 * @param available_bytes  bytes that may be counted as part of the array, from
 *                         `data` on: the size of the cl_mem, say.
 *                         RLO_AVAILABLE_UNKNOWN and RLO_AVAILABLE_ALL as in
 *                         strides.h.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for NULL where there must be something,
 *         for a struct_size that this library does not know, and for negative
 *         dimensions; RLO_UNSUPPORTED for another device, a
 *         type we do not have, several lanes, beyond RLO_MAX_RANK, and packed
 *         elements whose slot 0 is not at a whole byte; RLO_OVERFLOW where
 *         sizes leave int64; RLO_OUT_OF_RANGE for an element beyond
 *         available_bytes or before the beginning of a cl_mem. On failure
 *         *out_view is untouched.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_dlpack_view_tensor(const void *dl_tensor, uint64_t flags,
                                                        int64_t available_bytes,
                                                        rlo_dlpack_view *out_view);

/** A tensor taken over from another framework. */
typedef struct rlo_dlpack_import rlo_dlpack_import;

/**
 * Take over a managed tensor: it belongs to the result, whose release calls its
 * deleter (if it has one) once. On failure it still is the caller's, and its
 * deleter has not been called.
 *
 * @param managed          not NULL.
 * @param available_bytes  as rlo_dlpack_view_tensor.
 * @param out_import       released by rlo_dlpack_import_release; NULL on
 * failure.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_dlpack_view_tensor returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_dlpack_import_create(struct DLManagedTensor *managed,
                                                          int64_t available_bytes,
                                                          rlo_dlpack_import **out_import);

/** Like rlo_dlpack_import_create, for the struct of DLPack 1.x.
 *  @return RLO_UNSUPPORTED also for a major version that is not 1, of which
 *          only the deleter may be used: the caller calls it. */
RLO_API RLO_NODISCARD rlo_status
rlo_dlpack_import_create_versioned(struct DLManagedTensorVersioned *managed,
                                   int64_t available_bytes, rlo_dlpack_import **out_import);

/** The array, borrowed until the release. Threads: safe. */
RLO_API const rlo_dlpack_view *rlo_dlpack_import_view(const rlo_dlpack_import *import);

/** Give the tensor back to where it came from; device work that uses its
 *  memory must be over. NULL is legal. */
RLO_API void rlo_dlpack_import_release(rlo_dlpack_import *import);

/* ------------------------------------------------------------------ export */

/** Called once when a consumer deletes an exported tensor, on its thread. */
typedef void (*rlo_dlpack_destroy_fn)(void *payload);

/**
 * Lend an array out as a managed tensor, with strides.
 *
 * The result is its consumer's, who calls its deleter once; that calls
 * `destroy` and frees the struct. On failure `destroy` is not called.
 * Unversioned tensors cannot say is_read_only (refused) nor that elements of
 * less than a byte take whole bytes.
 * @param view     what to lend, copied; shape.layout must have strides
 *                 (rlo_shape_to_strides), and its padding is not shown.
 * @param destroy  may be NULL.
 * @param payload  for destroy, borrowed until then.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED for tiles, for a type
 *         DLPack lacks, for an element size that is neither the type's own nor
 *         packed, and for what an unversioned tensor cannot say;
 *         RLO_INVALID_ARGUMENT for NULL data of an array with elements, an
 *         unknown device, or an unknown struct_size; RLO_OUT_OF_RANGE for a
 *         position before the beginning of a cl_mem; RLO_OVERFLOW; or what
 *         rlo_shape_validate returns. On failure *out_managed is NULL.
 */
RLO_API RLO_NODISCARD rlo_status rlo_dlpack_export(const rlo_dlpack_view *view,
                                                   rlo_dlpack_destroy_fn destroy, void *payload,
                                                   struct DLManagedTensor **out_managed);

/** Like rlo_dlpack_export, for the struct of DLPack 1.1. */
RLO_API RLO_NODISCARD rlo_status
rlo_dlpack_export_versioned(const rlo_dlpack_view *view, rlo_dlpack_destroy_fn destroy,
                            void *payload, struct DLManagedTensorVersioned **out_managed);

RLO_END_DECLS

#endif
