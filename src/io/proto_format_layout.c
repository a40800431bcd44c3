/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "io/proto_layout.h"

void rlo__proto_take_unknown(ProtobufCMessage *message,
                             const ProtobufCMessage *origin) {
  if (origin != NULL) {
    message->n_unknown_fields = origin->n_unknown_fields;
    message->unknown_fields = origin->unknown_fields;
  }
}

/* Numbers in the writer's memory. */
static rlo_status copy_numbers(rlo__proto_writer *writer,
                               const int64_t *numbers,
                               int32_t count,
                               int64_t **out_numbers,
                               size_t *out_count) {
  if (count == 0) {
    return RLO_OK;
  }
  int64_t *copy =
      rlo__proto_arena_take(&writer->arena, (size_t)count, sizeof copy[0]);
  if (copy == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(copy, numbers, (size_t)count * sizeof copy[0]);
  *out_numbers = copy;
  *out_count = (size_t)count;
  return RLO_OK;
}

rlo_status rlo__proto_write_tile(rlo__proto_writer *writer,
                                 const rlo_tile *tile,
                                 const rlo__tile_message *origin,
                                 rlo__tile_message **out_message) {
  rlo__tile_message *message =
      rlo__proto_arena_take(&writer->arena, 1, sizeof *message);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  relayout_wire__tile_proto__init(message);
  rlo__proto_take_unknown(&message->base,
                          origin == NULL ? NULL : &origin->base);
  *out_message = message;
  return copy_numbers(writer,
                      tile->dims,
                      tile->rank,
                      &message->dimensions,
                      &message->n_dimensions);
}

static rlo_status write_tiles(rlo__proto_writer *writer,
                              const rlo_layout *layout,
                              const rlo__layout_message *origin,
                              rlo__layout_message *message) {
  if (layout->num_tiles == 0) {
    return RLO_OK;
  }
  size_t count = (size_t)layout->num_tiles;
  message->tiles =
      rlo__proto_arena_take(&writer->arena, count, sizeof(rlo__tile_message *));
  if (message->tiles == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  message->n_tiles = count;
  for (size_t t = 0; t < count; ++t) {
    bool has_origin = origin != NULL && t < origin->n_tiles;
    RLO_TRY(rlo__proto_write_tile(writer,
                                  &layout->tiles[t],
                                  has_origin ? origin->tiles[t] : NULL,
                                  &message->tiles[t]));
  }
  return RLO_OK;
}

static rlo_status write_split(rlo__proto_writer *writer,
                              const rlo_split_config *split,
                              const rlo__split_message *origin,
                              rlo__split_message **out_message) {
  rlo__split_message *message =
      rlo__proto_arena_take(&writer->arena, 1, sizeof *message);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  relayout_wire__split_config_proto__init(message);
  rlo__proto_take_unknown(&message->base,
                          origin == NULL ? NULL : &origin->base);
  message->dimension = split->dimension;
  *out_message = message;
  return copy_numbers(writer,
                      split->indices,
                      split->num_indices,
                      &message->split_indices,
                      &message->n_split_indices);
}

static rlo_status write_splits(rlo__proto_writer *writer,
                               const rlo_layout *layout,
                               const rlo__layout_message *origin,
                               rlo__layout_message *message) {
  if (layout->num_split_configs == 0) {
    return RLO_OK;
  }
  size_t count = (size_t)layout->num_split_configs;
  message->split_configs = rlo__proto_arena_take(
      &writer->arena, count, sizeof(rlo__split_message *));
  if (message->split_configs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  message->n_split_configs = count;
  for (size_t s = 0; s < count; ++s) {
    bool has_origin = origin != NULL && s < origin->n_split_configs;
    RLO_TRY(write_split(writer,
                        &layout->split_configs[s],
                        has_origin ? origin->split_configs[s] : NULL,
                        &message->split_configs[s]));
  }
  return RLO_OK;
}

static rlo_status write_padding(rlo__proto_writer *writer,
                                const rlo_layout *layout,
                                int32_t rank,
                                rlo__layout_message *message) {
  if (layout->fill == RLO_FILL_BITS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "LayoutProto has no place for the bits of a fill");
  }
  bool is_needed =
      layout->has_padded_dimensions || layout->fill != RLO_FILL_INVALID;
  if (is_needed && !writer->has_padding_fields) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "padding and fills need padded_dimensions and "
                    "padding_value of LayoutProto, which are written only with "
                    "has_padding_fields");
  }
  message->padding_value = (RelayoutWire__PaddingValue)layout->fill;
  if (!layout->has_padded_dimensions) {
    return RLO_OK;
  }
  return copy_numbers(writer,
                      layout->padded_dimensions,
                      rank,
                      &message->padded_dimensions,
                      &message->n_padded_dimensions);
}

/* Known fields that have no meaning here, as they were. */
static void take_carried(const rlo__layout_message *origin,
                         rlo__layout_message *message) {
  if (origin == NULL) {
    return;
  }
  message->format = origin->format;
  message->max_sparse_elements = origin->max_sparse_elements;
  size_t rank = message->n_minor_to_major;
  if (origin->n_dim_level_types == rank) {
    message->n_dim_level_types = rank;
    message->dim_level_types = origin->dim_level_types;
  }
  if (origin->n_dim_unique == rank) {
    message->n_dim_unique = rank;
    message->dim_unique = origin->dim_unique;
  }
  if (origin->n_dim_ordered == rank) {
    message->n_dim_ordered = rank;
    message->dim_ordered = origin->dim_ordered;
  }
}

rlo_status rlo__proto_write_layout(rlo__proto_writer *writer,
                                   const rlo_layout *layout,
                                   int32_t rank,
                                   const rlo__layout_message *origin,
                                   rlo__layout_message **out_message) {
  if (layout->kind != RLO_LAYOUT_DENSE) {
    return RLO_FAIL(RLO_UNSUPPORTED, "LayoutProto has no place for strides");
  }
  rlo__layout_message *message =
      rlo__proto_arena_take(&writer->arena, 1, sizeof *message);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  relayout_wire__layout_proto__init(message);
  rlo__proto_take_unknown(&message->base,
                          origin == NULL ? NULL : &origin->base);
  int64_t minor_to_major[RLO_MAX_RANK];
  for (int32_t i = 0; i < rank; ++i) {
    minor_to_major[i] = layout->minor_to_major[i];
  }
  RLO_TRY(copy_numbers(writer,
                       minor_to_major,
                       rank,
                       &message->minor_to_major,
                       &message->n_minor_to_major));
  RLO_TRY(write_padding(writer, layout, rank, message));
  RLO_TRY(write_tiles(writer, layout, origin, message));
  RLO_TRY(write_splits(writer, layout, origin, message));
  take_carried(origin, message);
  message->element_size_in_bits = layout->element_size_bits;
  message->memory_space = layout->memory_space;
  message->dynamic_shape_metadata_prefix_bytes = layout->metadata_prefix_bytes;
  message->tail_padding_alignment_in_elements = layout->tail_alignment_elems;
  *out_message = message;
  return RLO_OK;
}
