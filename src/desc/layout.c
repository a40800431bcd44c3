/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/layout.h"

#include <string.h>

#include "base/status.h"
#include "relayout/permutation.h"

static int32_t clamp_rank(int32_t rank) {
  if (rank < 0) {
    return 0;
  }
  return rank > RLO_MAX_RANK ? RLO_MAX_RANK : rank;
}

rlo_layout rlo_layout_row_major(int32_t rank) {
  rlo_layout layout;
  memset(&layout, 0, sizeof layout);
  int32_t count = clamp_rank(rank);
  for (int32_t i = 0; i < count; ++i) {
    layout.minor_to_major[i] = count - 1 - i;
  }
  return layout;
}

rlo_layout rlo_layout_column_major(int32_t rank) {
  rlo_layout layout;
  memset(&layout, 0, sizeof layout);
  int32_t count = clamp_rank(rank);
  for (int32_t i = 0; i < count; ++i) {
    layout.minor_to_major[i] = i;
  }
  return layout;
}

static rlo_status check_rank(int32_t rank) {
  if (rank < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "rank %d is negative", rank);
  }
  if (rank > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "rank %d is beyond the limit of %d",
                    rank,
                    RLO_MAX_RANK);
  }
  return RLO_OK;
}

static rlo_status check_minor_to_major(const int32_t *minor_to_major,
                                       int32_t rank) {
  rlo_status status = rlo_permutation_validate(minor_to_major, rank);
  if (status != RLO_OK) {
    return rlo__status_prefix(status, "minor_to_major: ");
  }
  return RLO_OK;
}

rlo_status rlo_layout_from_minor_to_major(const int32_t *minor_to_major,
                                          int32_t rank,
                                          rlo_layout *out_layout) {
  RLO_TRY(check_rank(rank));
  RLO_TRY(check_minor_to_major(minor_to_major, rank));
  memset(out_layout, 0, sizeof *out_layout);
  if (rank > 0) {
    memcpy(out_layout->minor_to_major,
           minor_to_major,
           (size_t)rank * sizeof minor_to_major[0]);
  }
  return RLO_OK;
}

rlo_status rlo__tile_validate(const int64_t *dims, int32_t rank) {
  if (rank < 1 || dims == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "a tile needs at least 1 dimension");
  }
  if (rank > RLO_MAX_TILE_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a tile of %d dimensions is beyond the limit of %d",
                    rank,
                    RLO_MAX_TILE_RANK);
  }
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] < 1 && dims[k] != RLO_TILE_COMBINE) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "tile dimension %d of size %lld is below 1",
                      k,
                      (long long)dims[k]);
    }
  }
  if (dims[rank - 1] == RLO_TILE_COMBINE) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "tile dimension %d, the last, cannot be '*'",
                    rank - 1);
  }
  return RLO_OK;
}

rlo_status rlo_layout_add_tile(rlo_layout *layout,
                               const int64_t *dims,
                               int32_t rank) {
  RLO_TRY(rlo__tile_validate(dims, rank));
  if (layout->num_tiles < 0 || layout->num_tiles >= RLO_MAX_TILES) {
    return RLO_FAIL(
        RLO_UNSUPPORTED, "more than %d tiles in one layout", RLO_MAX_TILES);
  }
  rlo_tile *tile = &layout->tiles[layout->num_tiles++];
  memset(tile, 0, sizeof *tile);
  tile->rank = rank;
  memcpy(tile->dims, dims, (size_t)rank * sizeof dims[0]);
  return RLO_OK;
}

int64_t rlo__layout_element_bits(const rlo_layout *layout, rlo_dtype dtype) {
  return layout->element_size_bits != 0 ? layout->element_size_bits
                                        : rlo_dtype_storage_bits(dtype);
}

rlo_status rlo__layout_fill_bits(const rlo_layout *layout,
                                 rlo_dtype dtype,
                                 uint8_t out_bits[16],
                                 bool *out_known) {
  rlo_dtype_constant constant = RLO_DTYPE_ZERO;
  switch (layout->fill) {
    case RLO_FILL_INVALID:
    case RLO_FILL_UNKNOWN:
      memset(out_bits, 0, 16);
      *out_known = false;
      return RLO_OK;
    case RLO_FILL_BITS:
      memcpy(out_bits, layout->fill_bits, 16);
      *out_known = true;
      return RLO_OK;
    case RLO_FILL_ZERO:
      constant = RLO_DTYPE_ZERO;
      break;
    case RLO_FILL_ONE:
      constant = RLO_DTYPE_ONE;
      break;
    case RLO_FILL_LOWEST:
      constant = RLO_DTYPE_LOWEST;
      break;
    case RLO_FILL_HIGHEST:
      constant = RLO_DTYPE_HIGHEST;
      break;
    default:
      return RLO_FAIL(
          RLO_INVALID_ARGUMENT, "%d is not a fill", (int)layout->fill);
  }
  rlo_status status = rlo_dtype_constant_bits(dtype, constant, out_bits);
  if (status != RLO_OK) {
    return rlo__status_prefix(status, "fill: ");
  }
  *out_known = true;
  return RLO_OK;
}

static rlo_status check_fill(const rlo_layout *layout, rlo_dtype dtype) {
  uint8_t bits[16];
  bool is_known;
  RLO_TRY(rlo__layout_fill_bits(layout, dtype, bits, &is_known));
  if (layout->fill != RLO_FILL_BITS) {
    return RLO_OK;
  }
  int64_t element_bits = rlo__layout_element_bits(layout, dtype);
  for (int64_t bit = element_bits; bit < RLO_MAX_ELEMENT_BITS; ++bit) {
    if ((bits[bit / 8] >> (bit % 8) & 1) != 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "bit %lld of the fill lies beyond the %lld bits of an "
                      "element",
                      (long long)bit,
                      (long long)element_bits);
    }
  }
  return RLO_OK;
}

static rlo_status check_element_size(const rlo_layout *layout,
                                     rlo_dtype dtype) {
  int64_t bits = layout->element_size_bits;
  if (bits == 0) {
    return RLO_OK;
  }
  if (bits < rlo_dtype_value_bits(dtype)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "an element size of %lld bits cannot hold the %d bits of "
                    "%s",
                    (long long)bits,
                    rlo_dtype_value_bits(dtype),
                    rlo_dtype_name(dtype));
  }
  if (bits > RLO_MAX_ELEMENT_BITS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an element size of %lld bits is beyond the limit of %d",
                    (long long)bits,
                    RLO_MAX_ELEMENT_BITS);
  }
  return RLO_OK;
}

static rlo_status check_dense(const rlo_layout *layout,
                              const int64_t *dims,
                              int32_t rank,
                              rlo_dtype dtype) {
  RLO_TRY(check_minor_to_major(layout->minor_to_major, rank));
  for (int32_t k = 0; layout->has_padded_dimensions && k < rank; ++k) {
    if (layout->padded_dimensions[k] < dims[k]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "padded_dimensions[%d]=%lld is below dimension %d of "
                      "size %lld",
                      k,
                      (long long)layout->padded_dimensions[k],
                      k,
                      (long long)dims[k]);
    }
  }
  if (layout->num_tiles < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a layout cannot have %d tiles",
                    layout->num_tiles);
  }
  if (layout->num_tiles > RLO_MAX_TILES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%d tiles are beyond the limit of %d",
                    layout->num_tiles,
                    RLO_MAX_TILES);
  }
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    const rlo_tile *tile = &layout->tiles[t];
    rlo_status status = rlo__tile_validate(tile->dims, tile->rank);
    if (status != RLO_OK) {
      return rlo__status_prefix(status, "tile %d: ", t);
    }
  }
  if (layout->tail_alignment_elems < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a tail alignment of %lld elements is negative",
                    (long long)layout->tail_alignment_elems);
  }
  return check_fill(layout, dtype);
}

/* A view has nothing but strides: what would be ignored is refused. */
static rlo_status check_strided(const rlo_layout *layout) {
  const char *stranger = NULL;
  if (layout->has_padded_dimensions) {
    stranger = "padded dimensions";
  } else if (layout->num_tiles != 0) {
    stranger = "tiles";
  } else if (layout->tail_alignment_elems != 0 &&
             layout->tail_alignment_elems != 1) {
    stranger = "a tail alignment";
  } else if (layout->fill != RLO_FILL_INVALID) {
    stranger = "a fill";
  }
  if (stranger != NULL) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "a strided layout cannot have %s", stranger);
  }
  return RLO_OK;
}

rlo_status rlo_layout_validate(const rlo_layout *layout,
                               const int64_t *dims,
                               int32_t rank,
                               rlo_dtype dtype) {
  RLO_TRY(check_rank(rank));
  if (!rlo_dtype_is_valid(dtype)) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%d is not an element type", (int)dtype);
  }
  if (rank > 0 && dims == NULL) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "the dimensions of rank %d are NULL", rank);
  }
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] < 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "dimension %d of size %lld is negative",
                      k,
                      (long long)dims[k]);
    }
  }
  RLO_TRY(check_element_size(layout, dtype));
  switch (layout->kind) {
    case RLO_LAYOUT_DENSE:
      return check_dense(layout, dims, rank, dtype);
    case RLO_LAYOUT_STRIDED:
      return check_strided(layout);
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%d is not a kind of layout",
                      (int)layout->kind);
  }
}

static bool has_tail_alignment(const rlo_layout *layout) {
  return layout->tail_alignment_elems != 0 && layout->tail_alignment_elems != 1;
}

static bool dims_equal(const int64_t *a, const int64_t *b, int32_t count) {
  return count <= 0 || memcmp(a, b, (size_t)count * sizeof a[0]) == 0;
}

static bool dense_equal(const rlo_layout *a,
                        const rlo_layout *b,
                        int32_t rank) {
  for (int32_t i = 0; i < rank; ++i) {
    if (a->minor_to_major[i] != b->minor_to_major[i]) {
      return false;
    }
  }
  if (a->has_padded_dimensions != b->has_padded_dimensions ||
      (a->has_padded_dimensions &&
       !dims_equal(a->padded_dimensions, b->padded_dimensions, rank))) {
    return false;
  }
  if (a->fill != b->fill ||
      (a->fill == RLO_FILL_BITS &&
       memcmp(a->fill_bits, b->fill_bits, sizeof a->fill_bits) != 0)) {
    return false;
  }
  if (a->num_tiles != b->num_tiles) {
    return false;
  }
  for (int32_t t = 0; t < a->num_tiles; ++t) {
    if (a->tiles[t].rank != b->tiles[t].rank ||
        !dims_equal(a->tiles[t].dims, b->tiles[t].dims, a->tiles[t].rank)) {
      return false;
    }
  }
  return has_tail_alignment(a) == has_tail_alignment(b) &&
         (!has_tail_alignment(a) ||
          a->tail_alignment_elems == b->tail_alignment_elems);
}

bool rlo_layout_equal(const rlo_layout *a, const rlo_layout *b, int32_t rank) {
  if (a->kind != b->kind || a->element_size_bits != b->element_size_bits ||
      a->memory_space != b->memory_space) {
    return false;
  }
  if (a->kind == RLO_LAYOUT_STRIDED) {
    return a->offset_elems == b->offset_elems &&
           dims_equal(a->strides_elems, b->strides_elems, rank);
  }
  return dense_equal(a, b, rank);
}

static bool is_plain(const rlo_layout *layout) {
  return layout->kind == RLO_LAYOUT_DENSE && !layout->has_padded_dimensions &&
         layout->num_tiles == 0 && !has_tail_alignment(layout);
}

bool rlo_layout_is_row_major(const rlo_layout *layout, int32_t rank) {
  for (int32_t i = 0; i < rank; ++i) {
    if (layout->minor_to_major[i] != rank - 1 - i) {
      return false;
    }
  }
  return is_plain(layout);
}

bool rlo_layout_is_column_major(const rlo_layout *layout, int32_t rank) {
  return is_plain(layout) &&
         rlo_permutation_is_identity(layout->minor_to_major, rank);
}
