/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/bitcast.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "relayout/layout_util.h"
#include "shape_util/quasi.h"

/* What a comparison needs at hand; too large for a small stack. */
typedef struct workspace {
  rlo_address_map src_address, dst_address;
  rlo_shape_extent src_extent, dst_extent;
  rlo__quasi_space space;
  rlo__quasi index[RLO_MAX_RANK];
  rlo__quasi src_position, dst_position;
} workspace;

static bool has_flag(uint32_t flags, uint32_t flag) {
  return (flags & flag) != 0;
}

/* The index of element number `number`, a form with values below the product of
 * `dims`, in logical row-major order. */
static rlo_status delinearize(rlo__quasi_space *space,
                              const rlo__quasi *number,
                              const int64_t *dims,
                              int32_t rank,
                              rlo__quasi *out_index) {
  rlo__quasi rest = *number;
  for (int32_t k = rank - 1; k >= 0; --k) {
    rlo__quasi high;
    RLO_TRY(rlo__quasi_floor_div(space, &rest, dims[k], &high));
    out_index[k] = rest;
    RLO_TRY(rlo__quasi_add(&out_index[k], -dims[k], &high));
    rest = high;
  }
  return RLO_OK;
}

static rlo_status prepare(const rlo_shape *src,
                          const rlo_shape *dst,
                          workspace *w) {
  RLO_TRY(rlo_shape_measure(src, &w->src_extent));
  RLO_TRY(rlo_shape_measure(dst, &w->dst_extent));
  RLO_TRY(rlo__address_make(src, &w->src_address));
  return rlo__address_make(dst, &w->dst_address);
}

static bool is_all_zero(const uint8_t bits[16]) {
  static const uint8_t zeros[16] = {0};
  return memcmp(bits, zeros, sizeof zeros) == 0;
}

/* Whether src's memory is large enough for dst, and its slots without element
 * hold what dst says of its own. Elements lie at the same places, so dst's
 * slots without element are some of src's. */
static rlo_status padding_agrees(const rlo_shape *src,
                                 const rlo_shape *dst,
                                 uint32_t flags,
                                 const workspace *w,
                                 bool *out_agrees) {
  *out_agrees =
      has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE)
          ? w->dst_extent.slots <= w->src_extent.slots
          : w->dst_extent.physical_bytes <= w->src_extent.physical_bytes;
  if (!*out_agrees || dst->layout.kind != RLO_LAYOUT_DENSE ||
      w->dst_extent.slots == w->dst_extent.elements) {
    return RLO_OK;
  }
  uint8_t wanted[16];
  uint8_t found[16];
  bool is_wanted;
  bool is_known = false;
  RLO_TRY(rlo_shape_fill_bits(dst, wanted, &is_wanted));
  if (!is_wanted) {
    return RLO_OK;
  }
  if (src->layout.kind == RLO_LAYOUT_DENSE) {
    RLO_TRY(rlo_shape_fill_bits(src, found, &is_known));
  }
  *out_agrees = is_known && memcmp(wanted, found, sizeof wanted) == 0 &&
                (is_all_zero(wanted) ||
                 w->src_extent.element_bits == w->dst_extent.element_bits);
  return RLO_OK;
}

static rlo_status positions_agree(workspace *w, bool *out_agree) {
  RLO_TRY(rlo__quasi_add(&w->dst_position, -1, &w->src_position));
  return rlo__quasi_is_zero(&w->space, &w->dst_position, out_agree);
}

static bool dtypes_agree(const rlo_shape *src,
                         const rlo_shape *dst,
                         uint32_t flags) {
  return src->dtype == dst->dtype ||
         has_flag(flags,
                  RLO_BITCAST_IGNORE_ELEMENT_TYPE | RLO_BITCAST_REINTERPRET);
}

/* Same index on both sides but for the order of its coordinates. */
static rlo_status compare_transpose(const rlo_shape *src,
                                    const rlo_shape *dst,
                                    const int32_t *permutation,
                                    uint32_t flags,
                                    workspace *w,
                                    bool *out_agree) {
  *out_agree = dtypes_agree(src, dst, flags) && src->rank == dst->rank;
  for (int32_t k = 0; *out_agree && k < dst->rank; ++k) {
    *out_agree = dst->dims[k] == src->dims[permutation[k]];
  }
  if (!*out_agree || w->dst_extent.elements == 0) {
    return RLO_OK;
  }
  if (!has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE) &&
      w->src_extent.element_bits != w->dst_extent.element_bits) {
    *out_agree = false;
    return RLO_OK;
  }
  w->space.num_vars = dst->rank;
  for (int32_t k = 0; k < dst->rank; ++k) {
    w->space.extents[k] = dst->dims[k];
    w->index[k] = rlo__quasi_var(k);
  }
  RLO_TRY(
      rlo__quasi_slot(&w->space, &w->dst_address, w->index, &w->dst_position));
  for (int32_t k = 0; k < dst->rank; ++k) {
    w->index[permutation[k]] = rlo__quasi_var(k);
  }
  RLO_TRY(
      rlo__quasi_slot(&w->space, &w->src_address, w->index, &w->src_position));
  return positions_agree(w, out_agree);
}

/* The position, in units of which an element has `ratio`, of unit x_0. */
static rlo_status position_of_unit(workspace *w,
                                   const rlo_shape *shape,
                                   const rlo_address_map *address,
                                   int64_t ratio,
                                   rlo__quasi *out_position) {
  rlo__quasi unit = rlo__quasi_var(0);
  rlo__quasi element;
  rlo__quasi slot;
  RLO_TRY(rlo__quasi_floor_div(&w->space, &unit, ratio, &element));
  RLO_TRY(delinearize(&w->space, &element, shape->dims, shape->rank, w->index));
  RLO_TRY(rlo__quasi_slot(&w->space, address, w->index, &slot));
  *out_position = unit;
  RLO_TRY(rlo__quasi_add(out_position, -ratio, &element));
  return rlo__quasi_add(out_position, ratio, &slot);
}

static rlo_status compare_reshape(const rlo_shape *src,
                                  const rlo_shape *dst,
                                  uint32_t flags,
                                  workspace *w,
                                  bool *out_agree) {
  int64_t src_bits = w->src_extent.element_bits;
  int64_t dst_bits = w->dst_extent.element_bits;
  if (has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE)) {
    src_bits = dst_bits = 1;
  }
  if (!dtypes_agree(src, dst, flags) ||
      (src_bits != dst_bits && !has_flag(flags, RLO_BITCAST_REINTERPRET))) {
    *out_agree = false;
    return RLO_OK;
  }
  int64_t unit_bits = rlo__gcd(src_bits, dst_bits);
  assert(unit_bits > 0);
  int64_t src_ratio = src_bits / unit_bits;
  int64_t dst_ratio = dst_bits / unit_bits;
  /* Both fit: the bits of all elements do. */
  int64_t units = w->dst_extent.elements * dst_ratio;
  *out_agree = units == w->src_extent.elements * src_ratio;
  if (!*out_agree || units == 0) {
    return RLO_OK;
  }
  w->space.num_vars = 1;
  w->space.extents[0] = units;
  RLO_TRY(
      position_of_unit(w, src, &w->src_address, src_ratio, &w->src_position));
  RLO_TRY(
      position_of_unit(w, dst, &w->dst_address, dst_ratio, &w->dst_position));
  return positions_agree(w, out_agree);
}

/* A transpose if a permutation is given, else a reshape. */
static rlo_status compare(const rlo_shape *src,
                          const rlo_shape *dst,
                          const int32_t *permutation,
                          uint32_t flags,
                          workspace *w,
                          bool *out_agree) {
  RLO_TRY(prepare(src, dst, w));
  RLO_TRY(permutation != NULL
              ? compare_transpose(src, dst, permutation, flags, w, out_agree)
              : compare_reshape(src, dst, flags, w, out_agree));
  return *out_agree && !has_flag(flags, RLO_BITCAST_IGNORE_PADDING)
             ? padding_agrees(src, dst, flags, w, out_agree)
             : RLO_OK;
}

static rlo_status compare_shapes(const rlo_shape *src,
                                 const rlo_shape *dst,
                                 const int32_t *permutation,
                                 uint32_t flags,
                                 bool *out_agree) {
  workspace *w = rlo__alloc(sizeof *w);
  if (w == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool is_equal = false;
  rlo_status status = compare(src, dst, permutation, flags, w, &is_equal);
  rlo__free(w);
  if (status == RLO_OK) {
    *out_agree = is_equal;
  }
  return status;
}

rlo_status rlo_shape_transpose_is_bitcast(const rlo_shape *src,
                                          const rlo_shape *dst,
                                          const int32_t *permutation,
                                          uint32_t flags,
                                          bool *out_is_bitcast) {
  static const int32_t scalar[1] = {0};
  RLO_TRY(rlo_permutation_validate(permutation, src->rank));
  return compare_shapes(
      src, dst, src->rank == 0 ? scalar : permutation, flags, out_is_bitcast);
}

rlo_status rlo_shape_reshape_is_bitcast(const rlo_shape *src,
                                        const rlo_shape *dst,
                                        uint32_t flags,
                                        bool *out_is_bitcast) {
  return compare_shapes(src, dst, NULL, flags, out_is_bitcast);
}

rlo_status rlo_shape_is_same_bytes(const rlo_shape *src,
                                   const rlo_shape *dst,
                                   uint32_t flags,
                                   bool *out_is_same) {
  int32_t identity[RLO_MAX_RANK];
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    identity[k] = k;
  }
  return compare_shapes(src, dst, identity, flags, out_is_same);
}

/* The shape without its tiles has the same bytes, in both directions. */
rlo_status rlo_shape_is_untiled(const rlo_shape *shape, bool *out_is_untiled) {
  RLO_TRY(rlo_shape_validate(shape));
  rlo_shape plain = *shape;
  plain.layout.num_tiles = 0;
  rlo_shape_extent extent;
  rlo_shape_extent plain_extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_TRY(rlo_shape_measure(&plain, &plain_extent));
  bool is_same = false;
  RLO_TRY(rlo_shape_is_same_bytes(
      shape, &plain, RLO_BITCAST_IGNORE_PADDING, &is_same));
  *out_is_untiled = is_same && extent.slots == plain_extent.slots;
  return RLO_OK;
}
