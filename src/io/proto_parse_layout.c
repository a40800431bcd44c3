/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>

#include "base/status.h"
#include "io/proto_layout.h"

rlo_status rlo__proto_check_count(const char *what, size_t count, size_t most) {
  if (count > most) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%zu %s are beyond the limit of %zu",
                    count,
                    what,
                    most);
  }
  return RLO_OK;
}

rlo_status rlo__proto_read_tile(const rlo__tile_message *message,
                                rlo_layout *layout) {
  int64_t dims[RLO_MAX_TILE_RANK];
  RLO_TRY(rlo__proto_check_count(
      "dimensions of a tile", message->n_dimensions, RLO_MAX_TILE_RANK));
  for (size_t k = 0; k < message->n_dimensions; ++k) {
    int64_t dim = message->dimensions[k];
    dims[k] = dim == -1 ? RLO_TILE_COMBINE : dim;
  }
  return rlo_layout_add_tile(layout, dims, (int32_t)message->n_dimensions);
}

static rlo_status read_split(const rlo__split_message *message,
                             rlo_layout *layout) {
  RLO_TRY(rlo__proto_check_count(
      "cut points", message->n_split_indices, RLO_MAX_SPLIT_INDICES));
  if (message->dimension < 0 || message->dimension >= RLO_MAX_RANK) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a split of dimension %" PRId64
                    " is not within the limit of %d dimensions",
                    message->dimension,
                    RLO_MAX_RANK);
  }
  return rlo_layout_add_split(layout,
                              (int32_t)message->dimension,
                              message->split_indices,
                              (int32_t)message->n_split_indices);
}

static rlo_status read_padding(const rlo__layout_message *message,
                               rlo_layout *layout) {
  if (message->n_padded_dimensions > 0 &&
      message->n_padded_dimensions != message->n_minor_to_major) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%zu padded_dimensions do not go with %zu entries of "
                    "minor_to_major",
                    message->n_padded_dimensions,
                    message->n_minor_to_major);
  }
  for (size_t k = 0; k < message->n_padded_dimensions; ++k) {
    layout->has_padded_dimensions = true;
    layout->padded_dimensions[k] = message->padded_dimensions[k];
  }
  int padding_value = (int)message->padding_value;
  if (padding_value < RLO_FILL_INVALID || padding_value > RLO_FILL_UNKNOWN) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%d is not a padding_value", padding_value);
  }
  layout->fill = (rlo_fill)padding_value;
  return RLO_OK;
}

/* What says that an array is sparse. */
static rlo_status check_dense(const rlo__layout_message *message) {
  enum { MOST_DIM_LEVEL_TYPE = 3 };

  int format = (int)message->format;
  if (format < 0 || format > RELAYOUT_WIRE__FORMAT__SPARSE_FORMAT) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "%d is not a format", format);
  }
  bool is_sparse = format == RELAYOUT_WIRE__FORMAT__SPARSE_FORMAT;
  for (size_t k = 0; k < message->n_dim_level_types; ++k) {
    int32_t level = message->dim_level_types[k];
    if (level < 0 || level > MOST_DIM_LEVEL_TYPE) {
      return RLO_FAIL(
          RLO_INVALID_ARGUMENT, "%" PRId32 " is not a dim_level_type", level);
    }
    is_sparse = is_sparse || level != 0;
  }
  if (is_sparse) {
    return RLO_FAIL(RLO_UNSUPPORTED, "sparse layouts are not supported");
  }
  if (message->physical_shape != NULL) {
    return RLO_FAIL(
        RLO_UNSUPPORTED,
        "only sparse layouts have a physical_shape, and they are not "
        "supported");
  }
  if (message->index_primitive_type != 0 ||
      message->pointer_primitive_type != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "only sparse layouts have an index_primitive_type (%" PRId32
                    ") or a pointer_primitive_type (%" PRId32 ")",
                    message->index_primitive_type,
                    message->pointer_primitive_type);
  }
  return RLO_OK;
}

rlo_status rlo__proto_read_layout(const rlo__layout_message *message,
                                  rlo_layout *out_layout) {
  RLO_TRY(check_dense(message));
  RLO_TRY(rlo__proto_check_count(
      "entries of minor_to_major", message->n_minor_to_major, RLO_MAX_RANK));
  RLO_TRY(rlo__proto_check_count("tiles", message->n_tiles, RLO_MAX_TILES));
  RLO_TRY(
      rlo__proto_check_count("splits", message->n_split_configs, RLO_MAX_RANK));
  int32_t rank = (int32_t)message->n_minor_to_major;
  int32_t minor_to_major[RLO_MAX_RANK];
  for (int32_t i = 0; i < rank; ++i) {
    int64_t entry = message->minor_to_major[i];
    /* Out of range is out of range; it must only fit. */
    minor_to_major[i] = entry < 0 || entry > rank ? -1 : (int32_t)entry;
  }
  rlo_layout layout;
  RLO_TRY(rlo_layout_from_minor_to_major(minor_to_major, rank, &layout));
  RLO_TRY(read_padding(message, &layout));
  for (size_t t = 0; t < message->n_tiles; ++t) {
    RLO_TRY(rlo__proto_read_tile(message->tiles[t], &layout));
  }
  for (size_t s = 0; s < message->n_split_configs; ++s) {
    RLO_TRY(read_split(message->split_configs[s], &layout));
  }
  layout.tail_alignment_elems = message->tail_padding_alignment_in_elements;
  layout.element_size_bits = message->element_size_in_bits;
  layout.memory_space = message->memory_space;
  layout.metadata_prefix_bytes = message->dynamic_shape_metadata_prefix_bytes;
  *out_layout = layout;
  return RLO_OK;
}
