/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/bitcast.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "relayout/xla/layout_util.h"
#include "xla/address_compare.h"

typedef struct side {
  const rlo_shape *shape;
  rlo_address_map address;
  rlo_shape_extent extent;
} side;

static bool has_flag(uint32_t flags, uint32_t flag) {
  return (flags & flag) != 0;
}

static rlo_status prepare(const rlo_shape *shape, side *out) {
  out->shape = shape;
  RLO_TRY(rlo_shape_measure(shape, &out->extent));
  return rlo__address_make(shape, &out->address);
}

static bool is_all_zero(const uint8_t bits[16]) {
  static const uint8_t zeros[16] = {0};
  return memcmp(bits, zeros, sizeof zeros) == 0;
}

/* Finds out whether src's memory is large enough for dst, and its slots without
 * element hold the fill of dst. Elements have the same positions in both, so
 * that dst's slots without element are among src's. */
static rlo_status padding_agrees(const side *src, const side *dst, uint32_t flags,
                                 bool *out_agrees) {
  *out_agrees = has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE)
                    ? dst->extent.slots <= src->extent.slots
                    : dst->extent.physical_bytes <= src->extent.physical_bytes;
  if (!*out_agrees || dst->shape->layout.kind != RLO_LAYOUT_DENSE ||
      dst->extent.slots == dst->extent.elements) {
    return RLO_OK;
  }
  uint8_t wanted[16];
  uint8_t found[16];
  bool is_wanted;
  bool is_known = false;
  RLO_TRY(rlo_shape_fill_bits(dst->shape, wanted, &is_wanted));
  if (!is_wanted) {
    return RLO_OK;
  }
  if (src->shape->layout.kind == RLO_LAYOUT_DENSE) {
    RLO_TRY(rlo_shape_fill_bits(src->shape, found, &is_known));
  }
  *out_agrees = is_known && memcmp(wanted, found, sizeof wanted) == 0 &&
                (is_all_zero(wanted) || src->extent.element_bits == dst->extent.element_bits);
  return RLO_OK;
}

static bool dtypes_agree(const side *src, const side *dst, uint32_t flags) {
  return src->shape->dtype == dst->shape->dtype ||
         has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE | RLO_BITCAST_REINTERPRET);
}

/* dst's elements in row-major order are src's with permuted dimensions. */
static rlo_status compare_transpose(const side *src, const side *dst, const int32_t *permutation,
                                    uint32_t flags, bool *out_agree) {
  int32_t rank = dst->shape->rank;
  *out_agree = dtypes_agree(src, dst, flags) && src->shape->rank == rank;
  for (int32_t k = 0; *out_agree && k < rank; ++k) {
    *out_agree = dst->shape->dims[k] == src->shape->dims[permutation[k]];
  }
  if (!*out_agree || dst->extent.elements == 0) {
    return RLO_OK;
  }
  if (!has_flag(flags, RLO_BITCAST_IGNORE_ELEMENT_TYPE) &&
      src->extent.element_bits != dst->extent.element_bits) {
    *out_agree = false;
    return RLO_OK;
  }
  rlo__unit_order from = {&src->address, permutation, 1};
  rlo__unit_order to = {&dst->address, NULL, 1};
  return rlo__address_maps_agree(&from, &to, out_agree);
}

static rlo_status compare_reshape(const side *src, const side *dst, uint32_t flags,
                                  bool *out_agree) {
  int64_t src_bits = src->extent.element_bits;
  int64_t dst_bits = dst->extent.element_bits;
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
  rlo__unit_order from = {&src->address, NULL, src_bits / unit_bits};
  rlo__unit_order to = {&dst->address, NULL, dst_bits / unit_bits};
  /* The products fit: so do the bits of all elements. */
  int64_t units = dst->extent.elements * to.ratio;
  *out_agree = units == src->extent.elements * from.ratio;
  return *out_agree && units > 0 ? rlo__address_maps_agree(&from, &to, out_agree) : RLO_OK;
}

/* A transpose if a permutation is given, else a reshape. */
static rlo_status compare(const rlo_shape *src_shape, const rlo_shape *dst_shape,
                          const int32_t *permutation, uint32_t flags, bool *out_agree) {
  side src;
  side dst;
  bool agree = false;
  RLO_TRY(prepare(src_shape, &src));
  RLO_TRY(prepare(dst_shape, &dst));
  RLO_TRY(permutation != NULL ? compare_transpose(&src, &dst, permutation, flags, &agree)
                              : compare_reshape(&src, &dst, flags, &agree));
  if (agree && !has_flag(flags, RLO_BITCAST_IGNORE_PADDING)) {
    RLO_TRY(padding_agrees(&src, &dst, flags, &agree));
  }
  *out_agree = agree;
  return RLO_OK;
}

rlo_status rlo_shape_transpose_is_bitcast(const rlo_shape *src, const rlo_shape *dst,
                                          const int32_t *permutation, uint32_t flags,
                                          bool *out_is_bitcast) {
  RLO_REQUIRE(src, dst, out_is_bitcast);
  RLO_REQUIRE_LIST(permutation, src->rank);
  int32_t from[RLO_MAX_RANK] = {0};
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(rlo_permutation_normalize(permutation, src->rank, from));
  return compare(src, dst, from, flags, out_is_bitcast);
}

rlo_status rlo_shape_reshape_is_bitcast(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                                        bool *out_is_bitcast) {
  RLO_REQUIRE(src, dst, out_is_bitcast);
  return compare(src, dst, NULL, flags, out_is_bitcast);
}

rlo_status rlo_shape_is_same_bytes(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                                   bool *out_is_same) {
  RLO_REQUIRE(src, dst, out_is_same);
  int32_t identity[RLO_MAX_RANK] = {0};
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    identity[k] = k;
  }
  return compare(src, dst, identity, flags, out_is_same);
}

/* Tiles change nothing if the shape without them has the same bytes and the
 * same slots. */
rlo_status rlo_shape_is_untiled(const rlo_shape *shape, bool *out_is_untiled) {
  RLO_REQUIRE(shape, out_is_untiled);
  RLO_TRY(rlo_shape_validate(shape));
  rlo_shape plain = *shape;
  plain.layout.num_tiles = 0;
  rlo_shape_extent extent;
  rlo_shape_extent plain_extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_TRY(rlo_shape_measure(&plain, &plain_extent));
  bool is_same = false;
  RLO_TRY(rlo_shape_is_same_bytes(shape, &plain, RLO_BITCAST_IGNORE_PADDING, &is_same));
  *out_is_untiled = is_same && extent.slots == plain_extent.slots;
  return RLO_OK;
}
