/* SPDX-License-Identifier: Apache-2.0 */

/* Finds permutations, layouts and decompositions that are bitcasts. A few
 * elements give a candidate; the comparison of address maps verifies it. */

#include <string.h>

#include "base/status.h"
#include "desc/address.h"
#include "desc/strides.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"

/* The size of a dimension and, if the array has elements, the distances from
 * the first element to the second, middle and last one along it. */
typedef struct profile {
  int64_t size;
  int64_t distances[3];
} profile;

static rlo_status profile_dims(const rlo_shape *shape, profile out[RLO_MAX_RANK]) {
  rlo_shape_extent extent;
  rlo_address_map address;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_TRY(rlo__address_make(shape, &address));
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t origin = rlo__address_slot(&address, index);
  for (int32_t k = 0; k < shape->rank; ++k) {
    int64_t size = shape->dims[k];
    const int64_t places[] = {1, size / 2, size - 1};
    out[k] = (profile){size, {0}};
    for (int p = 0; size > 1 && extent.elements > 0 && p < 3; ++p) {
      index[k] = places[p];
      out[k].distances[p] = rlo__address_slot(&address, index) - origin;
    }
    index[k] = 0;
  }
  return RLO_OK;
}

/* Matches each dimension of dst with one of src that looks alike, preferably
 * that of the same index. Dimensions that look alike and differ occur only
 * where elements share slots, and then any choice is right. */
static bool match_dims(const profile *src, const profile *dst, int32_t rank,
                       int32_t *out_permutation) {
  bool is_used[RLO_MAX_RANK] = {false};
  for (int32_t k = 0; k < rank; ++k) {
    int32_t found = -1;
    for (int32_t n = -1; found < 0 && n < rank; ++n) {
      /* The same index first, except for size 1: these keep their order. */
      int32_t j = n < 0 ? k : n;
      if ((n >= 0 || dst[k].size > 1) && !is_used[j] &&
          memcmp(&src[j], &dst[k], sizeof dst[k]) == 0) {
        found = j;
      }
    }
    if (found < 0) {
      return false;
    }
    is_used[found] = true;
    out_permutation[k] = found;
  }
  return true;
}

rlo_status rlo_shape_deduce_transpose_for_bitcast(const rlo_shape *src, const rlo_shape *dst,
                                                  uint32_t flags, bool *out_is_found,
                                                  int32_t *out_permutation) {
  RLO_REQUIRE(src, dst, out_is_found);
  RLO_REQUIRE_LIST(out_permutation, src->rank);
  profile of_src[RLO_MAX_RANK];
  profile of_dst[RLO_MAX_RANK];
  RLO_TRY(profile_dims(src, of_src));
  RLO_TRY(profile_dims(dst, of_dst));
  int32_t permutation[RLO_MAX_RANK] = {0};
  bool is_found = src->rank == dst->rank && match_dims(of_src, of_dst, src->rank, permutation);
  if (is_found) {
    RLO_TRY(rlo_shape_transpose_is_bitcast(src, dst, permutation, flags, &is_found));
  }
  if (is_found && src->rank > 0) {
    memcpy(out_permutation, permutation, (size_t)src->rank * sizeof permutation[0]);
  }
  *out_is_found = is_found;
  return RLO_OK;
}

rlo_status rlo_shape_is_reshape_or_transpose_bitcast(const rlo_shape *src, const rlo_shape *dst,
                                                     uint32_t flags, bool *out_is_bitcast) {
  RLO_REQUIRE(src, dst, out_is_bitcast);
  int32_t permutation[RLO_MAX_RANK];
  bool is_bitcast = false;
  RLO_TRY(rlo_shape_reshape_is_bitcast(src, dst, flags, &is_bitcast));
  if (!is_bitcast) {
    RLO_TRY(rlo_shape_deduce_transpose_for_bitcast(src, dst, flags, &is_bitcast, permutation));
  }
  *out_is_bitcast = is_bitcast;
  return RLO_OK;
}

static rlo_status decompose_to_trt(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                                   rlo_bitcast_decomposition *d) {
  int32_t order[RLO_MAX_RANK];
  bool is_bitcast = false;
  rlo__layout_physical_order(&src->layout, src->rank, d->transpose1);
  rlo__layout_physical_order(&dst->layout, dst->rank, order);
  RLO_TRY(rlo_shape_permute_dims(src, d->transpose1, &d->transpose1_shape));
  RLO_TRY(rlo_shape_permute_dims(dst, order, &d->reshape_shape));
  rlo_permutation_inverse(order, dst->rank, d->transpose2);
  RLO_TRY(
      rlo_shape_reshape_is_bitcast(&d->transpose1_shape, &d->reshape_shape, flags, &is_bitcast));
  d->kind = is_bitcast ? RLO_BITCAST_KIND_TRT : RLO_BITCAST_KIND_NONE;
  return RLO_OK;
}

static rlo_status decompose(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                            rlo_bitcast_decomposition *d) {
  bool is_bitcast = false;
  RLO_TRY(rlo_shape_reshape_is_bitcast(src, dst, flags, &is_bitcast));
  if (is_bitcast) {
    d->kind = RLO_BITCAST_KIND_RESHAPE;
    return RLO_OK;
  }
  RLO_TRY(rlo_shape_deduce_transpose_for_bitcast(src, dst, flags, &is_bitcast, d->transpose1));
  if (is_bitcast) {
    d->kind = RLO_BITCAST_KIND_TRANSPOSE;
    return RLO_OK;
  }
  return decompose_to_trt(src, dst, flags, d);
}

rlo_status rlo_bitcast_decompose(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                                 rlo_bitcast_decomposition *out_decomposition) {
  RLO_REQUIRE(src, dst, out_decomposition);
  rlo_bitcast_decomposition d = {0};
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
static rlo_status read_strides(const rlo_shape *src, const int64_t *dims, int32_t rank,
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
    layout->strides_elems[k] = rlo__address_slot(&address, index) - layout->offset_elems;
    element *= dims[k]; /* at most the number of elements of src */
  }
  return RLO_OK;
}

/* Orders a dense layout as these strides are; dimensions of size 1 are the most
 * major ones. */
static void order_as(const rlo_layout *strided, const int64_t *dims, int32_t rank,
                     rlo_layout *dense) {
  rlo_layout widths = *strided;
  int32_t order[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    widths.strides_elems[k] = dims[k] == 1 ? INT64_MAX : strided->strides_elems[k];
  }
  rlo__layout_physical_order(&widths, rank, order);
  for (int32_t p = 0; p < rank; ++p) {
    dense->minor_to_major[rank - 1 - p] = order[p];
  }
}

/* Wrong strides may reach beyond 64 bits or below slot 0: no view then. */
static rlo_status is_view(const rlo_shape *src, const rlo_shape *shape, bool *out_answer) {
  *out_answer = false;
  return rlo_shape_validate(shape) != RLO_OK
             ? RLO_OK
             : rlo_shape_reshape_is_bitcast(src, shape, 0, out_answer);
}

rlo_status rlo_shape_align_layout(const rlo_shape *src, const int64_t *dims, int32_t rank,
                                  bool *out_is_found, rlo_shape *out_shape) {
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
  RLO_FAIL_IF(extent.elements != src_extent.elements, RLO_INVALID_ARGUMENT,
              "the dimensions make %lld elements, the source has %lld", (long long)extent.elements,
              (long long)src_extent.elements);
  bool is_found = true;
  if (extent.elements > 0) {
    layout.kind = RLO_LAYOUT_STRIDED;
    RLO_TRY(read_strides(src, dims, rank, &layout));
    order_as(&layout, dims, rank, &shape.layout);
    RLO_TRY(is_view(src, &shape, &is_found));
    if (!is_found) {
      shape.layout = layout;
      RLO_TRY(is_view(src, &shape, &is_found));
    }
  }
  if (is_found) {
    *out_shape = shape;
  }
  *out_is_found = is_found;
  return RLO_OK;
}
