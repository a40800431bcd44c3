/* SPDX-License-Identifier: Apache-2.0 */

/* Finds permutations, layouts and decompositions that are bitcasts. A few
 * elements give a candidate; the comparison of address maps verifies it. */

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "desc/strides.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"

/* The slot of the element with coordinate i in dimension k and 0 elsewhere. */
static int64_t slot_along(const rlo_address_map *address,
                          int32_t k,
                          int64_t i) {
  int64_t index[RLO_MAX_RANK] = {0};
  index[k] = i;
  return rlo__address_slot(address, index);
}

/* Returns whether dimension j of src may be dimension k of dst: the same size,
 * and the same distances from the first element to the second, middle and last
 * one. Without elements, only the sizes must match. */
static bool looks_alike(const rlo_shape *src,
                        const rlo_address_map *src_address,
                        int32_t j,
                        const rlo_shape *dst,
                        const rlo_address_map *dst_address,
                        int32_t k) {
  int64_t size = dst->dims[k];
  if (src->dims[j] != size) {
    return false;
  }
  if (size <= 1 || rlo_shape_is_zero_element_array(dst)) {
    return true;
  }
  const int64_t places[] = {1, size / 2, size - 1};
  for (size_t p = 0; p < sizeof places / sizeof places[0]; ++p) {
    if (slot_along(src_address, j, places[p]) - slot_along(src_address, j, 0) !=
        slot_along(dst_address, k, places[p]) - slot_along(dst_address, k, 0)) {
      return false;
    }
  }
  return true;
}

/* Matches each dimension of dst with one of src that looks alike, preferably
 * that of the same index. Dimensions that look alike and differ occur only
 * where elements share slots, and then any choice is right. */
static rlo_status match_dims(const rlo_shape *src,
                             const rlo_shape *dst,
                             bool *out_is_found,
                             int32_t *out_permutation) {
  rlo_address_map src_address;
  rlo_address_map dst_address;
  RLO_TRY(rlo__address_make(src, &src_address));
  RLO_TRY(rlo__address_make(dst, &dst_address));
  bool is_used[RLO_MAX_RANK] = {false};
  for (int32_t k = 0; k < dst->rank; ++k) {
    int32_t found = -1;
    for (int32_t n = -1; found < 0 && n < src->rank; ++n) {
      /* The same index first, except for size 1: these keep their order. */
      int32_t j = n < 0 ? k : n;
      if ((n >= 0 || dst->dims[k] > 1) && !is_used[j] &&
          looks_alike(src, &src_address, j, dst, &dst_address, k)) {
        found = j;
      }
    }
    if (found < 0) {
      *out_is_found = false;
      return RLO_OK;
    }
    is_used[found] = true;
    out_permutation[k] = found;
  }
  *out_is_found = true;
  return RLO_OK;
}

rlo_status rlo_shape_deduce_transpose_for_bitcast(const rlo_shape *src,
                                                  const rlo_shape *dst,
                                                  uint32_t flags,
                                                  bool *out_is_found,
                                                  int32_t *out_permutation) {
  RLO_REQUIRE(src, dst, out_is_found);
  RLO_REQUIRE_LIST(out_permutation, src->rank);
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(rlo_shape_validate(dst));
  int32_t permutation[RLO_MAX_RANK] = {0};
  bool is_found = src->rank == dst->rank;
  if (is_found) {
    RLO_TRY(match_dims(src, dst, &is_found, permutation));
  }
  if (is_found) {
    RLO_TRY(rlo_shape_transpose_is_bitcast(
        src, dst, permutation, flags, &is_found));
  }
  if (is_found && src->rank > 0) {
    memcpy(out_permutation,
           permutation,
           (size_t)src->rank * sizeof permutation[0]);
  }
  *out_is_found = is_found;
  return RLO_OK;
}

rlo_status rlo_shape_is_reshape_or_transpose_bitcast(const rlo_shape *src,
                                                     const rlo_shape *dst,
                                                     uint32_t flags,
                                                     bool *out_is_bitcast) {
  RLO_REQUIRE(src, dst, out_is_bitcast);
  int32_t permutation[RLO_MAX_RANK];
  bool is_bitcast = false;
  RLO_TRY(rlo_shape_reshape_is_bitcast(src, dst, flags, &is_bitcast));
  if (!is_bitcast) {
    RLO_TRY(rlo_shape_deduce_transpose_for_bitcast(
        src, dst, flags, &is_bitcast, permutation));
  }
  *out_is_bitcast = is_bitcast;
  return RLO_OK;
}

static rlo_status decompose_to_trt(const rlo_shape *src,
                                   const rlo_shape *dst,
                                   uint32_t flags,
                                   rlo_bitcast_decomposition *d) {
  int32_t order[RLO_MAX_RANK];
  bool is_bitcast = false;
  rlo__layout_physical_order(&src->layout, src->rank, d->transpose1);
  rlo__layout_physical_order(&dst->layout, dst->rank, order);
  RLO_TRY(rlo_shape_permute_dims(src, d->transpose1, &d->transpose1_shape));
  RLO_TRY(rlo_shape_permute_dims(dst, order, &d->reshape_shape));
  rlo_permutation_inverse(order, dst->rank, d->transpose2);
  RLO_TRY(rlo_shape_reshape_is_bitcast(
      &d->transpose1_shape, &d->reshape_shape, flags, &is_bitcast));
  d->kind = is_bitcast ? RLO_BITCAST_KIND_TRT : RLO_BITCAST_KIND_NONE;
  return RLO_OK;
}

static rlo_status decompose(const rlo_shape *src,
                            const rlo_shape *dst,
                            uint32_t flags,
                            rlo_bitcast_decomposition *d) {
  bool is_bitcast = false;
  RLO_TRY(rlo_shape_reshape_is_bitcast(src, dst, flags, &is_bitcast));
  if (is_bitcast) {
    d->kind = RLO_BITCAST_KIND_RESHAPE;
    return RLO_OK;
  }
  RLO_TRY(rlo_shape_deduce_transpose_for_bitcast(
      src, dst, flags, &is_bitcast, d->transpose1));
  if (is_bitcast) {
    d->kind = RLO_BITCAST_KIND_TRANSPOSE;
    return RLO_OK;
  }
  return decompose_to_trt(src, dst, flags, d);
}

rlo_status rlo_bitcast_decompose(const rlo_shape *src,
                                 const rlo_shape *dst,
                                 uint32_t flags,
                                 rlo_bitcast_decomposition *out_decomposition) {
  RLO_REQUIRE(src, dst, out_decomposition);
  rlo_bitcast_decomposition d;
  memset(&d, 0, sizeof d);
  rlo_shape_extent src_extent;
  rlo_shape_extent dst_extent;
  RLO_TRY(rlo_shape_measure(src, &src_extent));
  RLO_TRY(rlo_shape_measure(dst, &dst_extent));
  if (src_extent.elements > 0 && dst_extent.elements > 0) {
    /* Element types are ignored; element sizes are compared as bits. */
    flags = (flags & RLO_BITCAST_IGNORE_PADDING) | RLO_BITCAST_REINTERPRET;
    RLO_TRY(decompose(src, dst, flags, &d));
  }
  if (d.kind == RLO_BITCAST_KIND_NONE) {
    memset(&d, 0, sizeof d);
  }
  *out_decomposition = d;
  return RLO_OK;
}

/* Finds the strides for which element n, in row-major order, has the position
 * that it has in src, from the elements with index 1 in one dimension and 0 in
 * the others. */
static rlo_status read_strides(const rlo_shape *src,
                               const int64_t *dims,
                               int32_t rank,
                               rlo_layout *layout) {
  rlo_address_map address;
  RLO_TRY(rlo__address_make(src, &address));
  int64_t zero[RLO_MAX_RANK] = {0};
  layout->offset_elems = rlo__address_slot(&address, zero);
  int64_t element = 1;
  for (int32_t k = rank - 1; k >= 0; --k) {
    int64_t index[RLO_MAX_RANK];
    int64_t rest = element;
    layout->strides_elems[k] = 0;
    if (dims[k] == 1) {
      continue;
    }
    for (int32_t j = src->rank - 1; j >= 0; --j) {
      index[j] = rest % src->dims[j];
      rest /= src->dims[j];
    }
    layout->strides_elems[k] =
        rlo__address_slot(&address, index) - layout->offset_elems;
    element *= dims[k]; /* at most the number of elements of src */
  }
  return RLO_OK;
}

/* Finds the dense layout with these strides, if they leave no gaps. */
static bool make_dense(const rlo_layout *strided,
                       const int64_t *dims,
                       int32_t rank,
                       rlo_layout *out_layout) {
  int32_t count = 0;
  int64_t stride = 1;
  bool is_placed[RLO_MAX_RANK] = {false};
  *out_layout = rlo_layout_row_major(rank);
  out_layout->element_size_bits = strided->element_size_bits;
  out_layout->memory_space = strided->memory_space;
  for (int32_t round = 0; round < rank; ++round) {
    for (int32_t k = rank - 1; k >= 0; --k) {
      if (!is_placed[k] && dims[k] != 1 &&
          strided->strides_elems[k] == stride) {
        is_placed[k] = true;
        out_layout->minor_to_major[count++] = k;
        stride *= dims[k];
      }
    }
  }
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (dims[k] == 1) {
      out_layout->minor_to_major[count++] = k;
    }
  }
  return count == rank && strided->offset_elems == 0;
}

rlo_status rlo_shape_align_layout(const rlo_shape *src,
                                  const int64_t *dims,
                                  int32_t rank,
                                  bool *out_is_found,
                                  rlo_shape *out_shape) {
  RLO_REQUIRE(src, out_is_found, out_shape);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_shape_extent src_extent;
  rlo_shape_extent extent;
  rlo_shape shape;
  RLO_TRY(rlo_shape_measure(src, &src_extent));
  rlo_layout layout = rlo_layout_row_major(rank);
  layout.element_size_bits = src->layout.element_size_bits;
  layout.memory_space = src->layout.memory_space;
  RLO_TRY(rlo_shape_make_with_layout(src->dtype, dims, rank, &layout, &shape));
  RLO_TRY(rlo_shape_measure(&shape, &extent));
  if (extent.elements != src_extent.elements) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the dimensions make %lld elements, the source has %lld",
                    (long long)extent.elements,
                    (long long)src_extent.elements);
  }
  bool is_found = true;
  if (extent.elements > 0) {
    rlo_layout dense;
    layout.kind = RLO_LAYOUT_STRIDED;
    RLO_TRY(read_strides(src, dims, rank, &layout));
    bool is_dense = make_dense(&layout, dims, rank, &dense);
    shape.layout = is_dense ? dense : layout;
    /* Wrong strides may reach beyond 64 bits or below slot 0: no view then. */
    rlo_status status = rlo_shape_reshape_is_bitcast(src, &shape, 0, &is_found);
    if (status == RLO_OUT_OF_RANGE ||
        (status == RLO_OVERFLOW && rlo_shape_validate(&shape) != RLO_OK)) {
      is_found = false;
    } else if (status != RLO_OK) {
      return status;
    }
  }
  if (is_found) {
    *out_shape = shape;
  }
  *out_is_found = is_found;
  return RLO_OK;
}
