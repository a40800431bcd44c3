/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_NPY_H
#define RELAYOUT_NPY_H

#include "relayout/shape.h"
#include "relayout/strides.h"

RLO_BEGIN_DECLS

/** Longest .npy header that is read, in bytes. */
#define RLO_NPY_MAX_HEADER_BYTES 65536

/** The contents of the header of an .npy file. Begin with
 *  RLO_NPY_HEADER_INIT. */
typedef struct rlo_npy_header {
  /** sizeof(rlo_npy_header). */
  size_t struct_size;
  /** Row-major, or column-major where the file has fortran_order. */
  rlo_shape shape;
  /** Where the data begin, from the start of the file. */
  int64_t data_offset_bytes;
  /** True if the elements are stored in the byte order that is not the
   *  host's; their bytes need swapping before use. */
  bool is_byte_swapped;
  /** True if the elements have none of our types, so that only their bytes can
   *  be moved. The shape is then that of unsigned integers as wide: u8, u16, u32
   *  or u64. Elements of another width are the last dimension, of bytes, or of
   *  the characters, u32, of a text. NumPy so writes text, times, records, and
   *  most types that ml_dtypes adds, such as bfloat16 and int4: as V2 and V1. */
  bool is_type_unknown;
  /** The type as the file spells it, "<f4", cut to the room; that of a record
   *  of 12 bytes is "|V12". Terminated. */
  char type_name[32];
} rlo_npy_header;

#define RLO_NPY_HEADER_INIT \
  { .struct_size = sizeof(rlo_npy_header) }

/**
 * Parse the first bytes of an .npy file, versions 1 to 3.
 *
 * Types of a fixed size: b1, i1..i8, u1..u8, f1 (f8e5m2) f2 f4 f8, c8 c16, with
 * or without a byte order, by NumPy's letters ("d") or names ("float64"); and
 * others, for which is_type_unknown is set: S, U, M8, m8, V and records.
 * @param bytes     the beginning of the file, `size_bytes` of it.
 * @param file_bytes  size of the whole file, to check the header against; -1
 *                  if it is not known.
 * @return RLO_OK; RLO_PARSE for what is not .npy or an unknown header;
 *         RLO_DATA_LOSS if it is truncated or the data are not as long as the
 *         header gives, neither less nor more; RLO_UNSUPPORTED for objects,
 *         for other types and beyond RLO_MAX_RANK or
 *         RLO_NPY_MAX_HEADER_BYTES; RLO_OVERFLOW for a size beyond int64;
 *         RLO_INVALID_ARGUMENT if file_bytes is below size_bytes, or for a
 *         struct_size that this library does not know. On failure *out_header
 *         is untouched.
 */
RLO_API RLO_NODISCARD rlo_status rlo_npy_parse(const void *bytes, size_t size_bytes,
                                               int64_t file_bytes, rlo_npy_header *out_header);

/**
 * Write the header for a dense unpadded row- or column-major array into
 * buffer: version 1 where it fits, little-endian, data aligned to 64 bytes.
 *
 * A type NumPy does not know (bf16, f8...) is written as the unsigned integer
 * of its width; sub-byte packed shapes are refused.
 * @param out_bytes  the header's length, also when capacity is too small
 *                   (RLO_OUT_OF_RANGE, nothing written).
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for another layout.
 */
RLO_API RLO_NODISCARD rlo_status rlo_npy_format(const rlo_shape *shape, void *buffer,
                                                size_t capacity, size_t *out_bytes);

/** The view that NumPy's description of an array in memory gives. Begin with
 *  RLO_NUMPY_VIEW_INIT. */
typedef struct rlo_numpy_view {
  /** sizeof(rlo_numpy_view). */
  size_t struct_size;
  rlo_shape shape;
  /** Where slot 0 of the shape lies from the element 0,...,0 (the address that
   *  NumPy gives): 0, or below it where strides are negative. */
  int64_t offset_bytes;
  /** The same as in rlo_npy_header. */
  bool is_byte_swapped;
} rlo_numpy_view;

#define RLO_NUMPY_VIEW_INIT \
  { .struct_size = sizeof(rlo_numpy_view) }

/**
 * Describes an array by NumPy's attributes: `a.dtype.str`, `a.shape` and
 * `a.strides`.
 *
 * @param type           "<f4", "|b1"; terminated. The types of rlo_npy_parse that are
 *                       ours.
 * @param dims           `rank` sizes, borrowed; NULL only for rank 0.
 * @param strides_bytes  `rank` strides, borrowed; NULL: row-major.
 * @param available_bytes  what may be counted as part of the array, from the
 *                       element 0,...,0 on: only with that, rows with a pitch
 *                       are a padded layout, see rlo_layout_from_strides;
 *                       RLO_AVAILABLE_UNKNOWN and RLO_AVAILABLE_ALL as there.
 * @return RLO_OK; RLO_PARSE for what is no type; RLO_UNSUPPORTED for a type we
 *         do not have, beyond RLO_MAX_RANK, or for a stride that is no whole
 *         number of elements; RLO_INVALID_ARGUMENT for a NULL type, a
 *         negative dimension or a struct_size that this library does not know;
 *         RLO_OVERFLOW; RLO_OUT_OF_RANGE if an element lies beyond
 *         available_bytes. On failure *out_view is untouched.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_from_numpy(const char *type, const int64_t *dims,
                                                      const int64_t *strides_bytes, int32_t rank,
                                                      int64_t available_bytes,
                                                      rlo_numpy_view *out_view);

RLO_END_DECLS

#endif
