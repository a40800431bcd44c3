/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/layout.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "relayout/permutation.h"
#include "relayout/shape.h"

static rlo_layout make_layout(int32_t rank, bool is_row_major) {
  rlo_layout layout = {0};
  const int32_t count = (int32_t)rlo__min(rank, RLO_MAX_RANK);
  for (int32_t i = 0; i < count; ++i) {
    layout.minor_to_major[i] = is_row_major ? count - 1 - i : i;
  }
  return layout;
}

rlo_layout rlo_layout_row_major(int32_t rank) {
  return make_layout(rank, true);
}

rlo_layout rlo_layout_column_major(int32_t rank) {
  return make_layout(rank, false);
}

static rlo_status check_minor_to_major(const int32_t *minor_to_major, int32_t rank) {
  return rlo__status_prefix(rlo_permutation_validate(minor_to_major, rank), "minor_to_major: ");
}

rlo_status rlo_layout_from_minor_to_major(const int32_t *minor_to_major, int32_t rank,
                                          rlo_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  RLO_REQUIRE_LIST(minor_to_major, rank);
  RLO_TRY(rlo__rank_check(rank));
  RLO_TRY(check_minor_to_major(minor_to_major, rank));
  memset(out_layout, 0, sizeof *out_layout);
  if (rank > 0) {
    memcpy(out_layout->minor_to_major, minor_to_major, (size_t)rank * sizeof minor_to_major[0]);
  }
  return RLO_OK;
}

static rlo_status check_tile(const int64_t *dims, int32_t rank) {
  RLO_FAIL_IF(rank < 1, RLO_INVALID_ARGUMENT, "a tile needs at least 1 dimension");
  RLO_FAIL_IF(rank > RLO_MAX_TILE_RANK, RLO_UNSUPPORTED,
              "a tile of %d dimensions is beyond the limit of %d", rank, RLO_MAX_TILE_RANK);
  for (int32_t k = 0; k < rank; ++k) {
    RLO_FAIL_IF(dims[k] < 1 && dims[k] != RLO_TILE_COMBINE, RLO_INVALID_ARGUMENT,
                "tile dimension %d of size %lld is below 1", k, (long long)dims[k]);
  }
  RLO_FAIL_IF(dims[rank - 1] == RLO_TILE_COMBINE, RLO_INVALID_ARGUMENT,
              "tile dimension %d, the last, cannot be '*'", rank - 1);
  return RLO_OK;
}

rlo_status rlo_layout_add_tile(rlo_layout *layout, const int64_t *dims, int32_t rank) {
  RLO_REQUIRE(layout);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_TRY(check_tile(dims, rank));
  RLO_FAIL_IF(layout->num_tiles < 0 || layout->num_tiles >= RLO_MAX_TILES, RLO_UNSUPPORTED,
              "more than %d tiles in one layout", RLO_MAX_TILES);
  rlo_tile *tile = &layout->tiles[layout->num_tiles++];
  memset(tile, 0, sizeof *tile);
  tile->rank = rank;
  memcpy(tile->dims, dims, (size_t)rank * sizeof dims[0]);
  return RLO_OK;
}

rlo_status rlo_layout_make_tiled(int32_t rank, const int64_t *tile, int32_t tile_rank,
                                 rlo_layout *out_layout) {
  RLO_REQUIRE(tile, out_layout);
  RLO_TRY(rlo__rank_check(rank));
  rlo_layout layout = rlo_layout_row_major(rank);
  RLO_TRY(rlo_layout_add_tile(&layout, tile, tile_rank));
  *out_layout = layout;
  return RLO_OK;
}

rlo_status rlo_layout_pad_to(rlo_layout *layout, const int64_t *dims, int32_t rank,
                             const int64_t *multiples) {
  RLO_REQUIRE(layout);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_REQUIRE_LIST(multiples, rank);
  RLO_TRY(rlo__dims_check(dims, rank));
  rlo_layout padded = *layout;
  padded.has_padded_dimensions = true;
  for (int32_t k = 0; k < rank; ++k) {
    RLO_FAIL_IF(layout->kind != RLO_LAYOUT_DENSE || multiples[k] < 1, RLO_INVALID_ARGUMENT,
                "dimension %d of a %s layout, to a multiple of %lld; the layout is dense and the "
                "multiple at least 1",
                k, layout->kind == RLO_LAYOUT_DENSE ? "dense" : "strided", (long long)multiples[k]);
    if (!rlo__round_up(dims[k], multiples[k], &padded.padded_dimensions[k])) {
      return rlo__fail_overflow("a padded dimension");
    }
  }
  *layout = padded;
  return RLO_OK;
}

int64_t rlo__layout_element_bits(const rlo_layout *layout, rlo_dtype dtype) {
  return layout->element_size_bits != 0 ? layout->element_size_bits : rlo_dtype_storage_bits(dtype);
}

rlo_status rlo__layout_fill_bits(const rlo_layout *layout, rlo_dtype dtype, uint8_t out_bits[16],
                                 bool *out_known) {
  static const rlo_dtype_constant constants[] = {
      [RLO_FILL_ZERO] = RLO_DTYPE_ZERO,
      [RLO_FILL_ONE] = RLO_DTYPE_ONE,
      [RLO_FILL_LOWEST] = RLO_DTYPE_LOWEST,
      [RLO_FILL_HIGHEST] = RLO_DTYPE_HIGHEST,
  };
  const rlo_fill fill = layout->fill;
  RLO_FAIL_IF((int)fill < RLO_FILL_INVALID || (int)fill > RLO_FILL_BITS, RLO_INVALID_ARGUMENT,
              "%d is not a fill", (int)fill);
  const bool is_known = fill != RLO_FILL_INVALID && fill != RLO_FILL_UNKNOWN;
  memset(out_bits, 0, 16);
  if (fill == RLO_FILL_BITS) {
    memcpy(out_bits, layout->fill_bits, 16);
  } else if (is_known) {
    RLO_TRY(
        rlo__status_prefix(rlo_dtype_constant_bits(dtype, constants[fill], out_bits), "fill: "));
  }
  *out_known = is_known;
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
  for (int64_t bit = element_bits; bit < RLO__MAX_ELEMENT_BITS; ++bit) {
    RLO_FAIL_IF((bits[bit / 8] >> (bit % 8) & 1) != 0, RLO_INVALID_ARGUMENT,
                "bit %lld of the fill lies beyond the %lld bits of an element", (long long)bit,
                (long long)element_bits);
  }
  return RLO_OK;
}

static rlo_status check_element_size(const rlo_layout *layout, rlo_dtype dtype) {
  int64_t bits = layout->element_size_bits;
  if (bits == 0) {
    return RLO_OK;
  }
  RLO_FAIL_IF(bits < rlo_dtype_value_bits(dtype), RLO_INVALID_ARGUMENT,
              "an element size of %lld bits cannot hold the %d bits of %s", (long long)bits,
              rlo_dtype_value_bits(dtype), rlo_dtype_name(dtype));
  RLO_FAIL_IF(bits > RLO__MAX_ELEMENT_BITS, RLO_UNSUPPORTED,
              "an element size of %lld bits is beyond the limit of %d", (long long)bits,
              RLO__MAX_ELEMENT_BITS);
  return RLO_OK;
}

/* Checks the cut points alone, not the dimension. */
static rlo_status check_split(int32_t dimension, const int64_t *indices, int32_t count) {
  RLO_FAIL_IF(dimension < 0, RLO_INVALID_ARGUMENT, "split of dimension %d: it is negative",
              dimension);
  RLO_FAIL_IF(count > RLO_MAX_SPLIT_INDICES, RLO_UNSUPPORTED,
              "split of dimension %d: %d cut points are beyond the limit of %d", dimension, count,
              RLO_MAX_SPLIT_INDICES);
  RLO_FAIL_IF(count < 1, RLO_INVALID_ARGUMENT,
              "split of dimension %d: it needs at least 1 cut point", dimension);
  for (int32_t i = 0; i < count; ++i) {
    int64_t before = i == 0 ? 0 : indices[i - 1];
    RLO_FAIL_IF(indices[i] <= before, RLO_INVALID_ARGUMENT,
                "split of dimension %d: cut point %lld is not above %lld; they must be above 0 and "
                "strictly increasing",
                dimension, (long long)indices[i], (long long)before);
  }
  return RLO_OK;
}

static rlo_status check_split_is_new(const rlo_layout *layout, int32_t count, int32_t dimension) {
  for (int32_t s = 0; s < count; ++s) {
    RLO_FAIL_IF(layout->split_configs[s].dimension == dimension, RLO_INVALID_ARGUMENT,
                "dimension %d is split twice", dimension);
  }
  return RLO_OK;
}

rlo_status rlo_layout_add_split(rlo_layout *layout, int32_t dimension, const int64_t *indices,
                                int32_t count) {
  RLO_REQUIRE(layout);
  RLO_REQUIRE_LIST(indices, count);
  RLO_TRY(check_split(dimension, indices, count));
  RLO_FAIL_IF(layout->num_split_configs < 0 || layout->num_split_configs >= RLO_MAX_RANK,
              RLO_UNSUPPORTED, "more than %d splits in one layout", RLO_MAX_RANK);
  RLO_TRY(check_split_is_new(layout, layout->num_split_configs, dimension));
  rlo_split_config *split = &layout->split_configs[layout->num_split_configs++];
  memset(split, 0, sizeof *split);
  split->dimension = dimension;
  split->num_indices = count;
  memcpy(split->indices, indices, (size_t)count * sizeof indices[0]);
  return RLO_OK;
}

static rlo_status check_splits(const rlo_layout *layout, const int64_t *dims, int32_t rank) {
  RLO_FAIL_IF(layout->num_split_configs < 0 || layout->num_split_configs > RLO_MAX_RANK,
              RLO_INVALID_ARGUMENT, "a layout cannot have %d splits", layout->num_split_configs);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    RLO_TRY(check_split(split->dimension, split->indices, split->num_indices));
    RLO_FAIL_IF(split->dimension >= rank, RLO_INVALID_ARGUMENT,
                "split of dimension %d: the rank is %d", split->dimension, rank);
    RLO_TRY(check_split_is_new(layout, s, split->dimension));
    int64_t size = dims[layout->minor_to_major[rank - 1 - split->dimension]];
    RLO_FAIL_IF(split->indices[split->num_indices - 1] >= size, RLO_INVALID_ARGUMENT,
                "split of dimension %d: cut point %lld is not below its size %lld",
                split->dimension, (long long)split->indices[split->num_indices - 1],
                (long long)size);
  }
  return RLO_OK;
}

/* Checks fields without a meaning here, and those of sparse layouts. */
static rlo_status check_carried(const rlo_layout *layout) {
  RLO_FAIL_IF(layout->metadata_prefix_bytes < 0, RLO_INVALID_ARGUMENT,
              "a metadata prefix of %lld bytes is negative",
              (long long)layout->metadata_prefix_bytes);
  RLO_FAIL_IF(
      layout->index_dtype != RLO_DTYPE_INVALID || layout->pointer_dtype != RLO_DTYPE_INVALID,
      RLO_INVALID_ARGUMENT,
      "only sparse arrays have an index or a pointer type, and they are not supported");
  return RLO_OK;
}

static rlo_status check_dense(const rlo_layout *layout, const int64_t *dims, int32_t rank,
                              rlo_dtype dtype) {
  RLO_TRY(check_minor_to_major(layout->minor_to_major, rank));
  for (int32_t k = 0; layout->has_padded_dimensions && k < rank; ++k) {
    RLO_FAIL_IF(layout->padded_dimensions[k] < dims[k], RLO_INVALID_ARGUMENT,
                "padded_dimensions[%d]=%lld is below dimension %d of size %lld", k,
                (long long)layout->padded_dimensions[k], k, (long long)dims[k]);
  }
  RLO_FAIL_IF(layout->num_tiles < 0, RLO_INVALID_ARGUMENT, "a layout cannot have %d tiles",
              layout->num_tiles);
  RLO_FAIL_IF(layout->num_tiles > RLO_MAX_TILES, RLO_UNSUPPORTED,
              "%d tiles are beyond the limit of %d", layout->num_tiles, RLO_MAX_TILES);
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    const rlo_tile *tile = &layout->tiles[t];
    RLO_TRY(rlo__status_prefix(check_tile(tile->dims, tile->rank), "tile %d: ", t));
  }
  RLO_FAIL_IF(layout->tail_alignment_elems < 0, RLO_INVALID_ARGUMENT,
              "a tail alignment of %lld elements is negative",
              (long long)layout->tail_alignment_elems);
  RLO_TRY(check_splits(layout, dims, rank));
  return check_fill(layout, dtype);
}

static bool has_tail_alignment(const rlo_layout *layout) {
  return layout->tail_alignment_elems != 0 && layout->tail_alignment_elems != 1;
}

/* Rejects fields that a strided layout would ignore. */
static rlo_status check_strided(const rlo_layout *layout) {
  const char *unsupported = layout->has_padded_dimensions      ? "padded dimensions"
                            : layout->num_tiles != 0           ? "tiles"
                            : has_tail_alignment(layout)       ? "a tail alignment"
                            : layout->fill != RLO_FILL_INVALID ? "a fill"
                            : layout->num_split_configs != 0   ? "splits"
                                                               : NULL;
  RLO_FAIL_IF(unsupported != NULL, RLO_INVALID_ARGUMENT, "a strided layout cannot have %s",
              unsupported);
  return RLO_OK;
}

rlo_status rlo_layout_validate(const rlo_layout *layout, const int64_t *dims, int32_t rank,
                               rlo_dtype dtype) {
  RLO_REQUIRE(layout);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_TRY(rlo__rank_check(rank));
  RLO_FAIL_IF(!rlo_dtype_is_valid(dtype), RLO_INVALID_ARGUMENT, "%d is not an element type",
              (int)dtype);
  for (int32_t k = 0; k < rank; ++k) {
    RLO_FAIL_IF(dims[k] == RLO_DIM_UNBOUNDED, RLO_UNSUPPORTED,
                "dimension %d has no bound; only a bounded array has sizes and positions", k);
  }
  RLO_TRY(rlo__dims_check(dims, rank));
  RLO_TRY(check_element_size(layout, dtype));
  RLO_TRY(check_carried(layout));
  switch (layout->kind) {
    case RLO_LAYOUT_DENSE:
      return check_dense(layout, dims, rank, dtype);
    case RLO_LAYOUT_STRIDED:
      return check_strided(layout);
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "%d is not a kind of layout", (int)layout->kind);
  }
}

static bool is_plain(const rlo_layout *layout) {
  return layout->kind == RLO_LAYOUT_DENSE && !layout->has_padded_dimensions &&
         layout->num_tiles == 0 && !has_tail_alignment(layout);
}

bool rlo_layout_is_row_major(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(false, layout);
  for (int32_t i = 0; i < rank; ++i) {
    if (layout->minor_to_major[i] != rank - 1 - i) {
      return false;
    }
  }
  return is_plain(layout);
}

bool rlo_layout_is_column_major(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(false, layout);
  return is_plain(layout) && rlo_permutation_is_identity(layout->minor_to_major, rank);
}
