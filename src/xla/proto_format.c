/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "xla/proto_message.h"

/* A message under construction. */
typedef struct writer_state {
  rlo__proto_arena arena;
  bool has_padding_fields;
} writer_state;

/* Gives a repeated field so many elements, which are zero. */
static rlo_status new_list(writer_state *writer,
                           size_t count,
                           size_t element_bytes,
                           void *list_place,
                           size_t *out_count) {
  void *list = rlo__proto_arena_take(&writer->arena, count, element_bytes);
  if (list == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(list_place, &list, sizeof list);
  *out_count = count;
  return RLO_OK;
}

#define NEW_LIST(writer, message, name, count) \
  new_list((writer),                           \
           (size_t)(count),                    \
           sizeof(message)->name[0],           \
           &(message)->name,                   \
           &(message)->n_##name)

static rlo_status write_tile(writer_state *writer,
                             const rlo_tile *tile,
                             const rlo__tile_message *origin,
                             rlo__tile_message **out_message) {
  rlo__tile_message *message =
      rlo__proto_new(&writer->arena, &rlo__proto_tile, origin);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *out_message = message;
  RLO_TRY(NEW_LIST(writer, message, dimensions, tile->rank));
  memcpy(message->dimensions,
         tile->dims,
         message->n_dimensions * sizeof tile->dims[0]);
  return RLO_OK;
}

static rlo_status write_tiles(writer_state *writer,
                              const rlo_layout *layout,
                              const rlo__layout_message *origin,
                              rlo__layout_message *message) {
  RLO_TRY(NEW_LIST(writer, message, tiles, layout->num_tiles));
  for (size_t t = 0; t < message->n_tiles; ++t) {
    bool has_origin = origin != NULL && t < origin->n_tiles;
    RLO_TRY(write_tile(writer,
                       &layout->tiles[t],
                       has_origin ? origin->tiles[t] : NULL,
                       &message->tiles[t]));
  }
  return RLO_OK;
}

static rlo_status write_split(writer_state *writer,
                              const rlo_split_config *split,
                              const rlo__split_message *origin,
                              rlo__split_message **out_message) {
  rlo__split_message *message =
      rlo__proto_new(&writer->arena, &rlo__proto_split, origin);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  message->dimension = split->dimension;
  *out_message = message;
  RLO_TRY(NEW_LIST(writer, message, split_indices, split->num_indices));
  memcpy(message->split_indices,
         split->indices,
         message->n_split_indices * sizeof split->indices[0]);
  return RLO_OK;
}

static rlo_status write_splits(writer_state *writer,
                               const rlo_layout *layout,
                               const rlo__layout_message *origin,
                               rlo__layout_message *message) {
  RLO_TRY(NEW_LIST(writer, message, split_configs, layout->num_split_configs));
  for (size_t s = 0; s < message->n_split_configs; ++s) {
    bool has_origin = origin != NULL && s < origin->n_split_configs;
    RLO_TRY(write_split(writer,
                        &layout->split_configs[s],
                        has_origin ? origin->split_configs[s] : NULL,
                        &message->split_configs[s]));
  }
  return RLO_OK;
}

static rlo_status write_padding(writer_state *writer,
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
  message->padding_value = (int32_t)layout->fill;
  if (!layout->has_padded_dimensions) {
    return RLO_OK;
  }
  RLO_TRY(NEW_LIST(writer, message, padded_dimensions, rank));
  memcpy(message->padded_dimensions,
         layout->padded_dimensions,
         message->n_padded_dimensions * sizeof(int64_t));
  return RLO_OK;
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

static rlo_status write_layout(writer_state *writer,
                               const rlo_layout *layout,
                               int32_t rank,
                               const rlo__layout_message *origin,
                               rlo__layout_message **out_message) {
  if (layout->kind != RLO_LAYOUT_DENSE) {
    return RLO_FAIL(RLO_UNSUPPORTED, "LayoutProto has no place for strides");
  }
  rlo__layout_message *message =
      rlo__proto_new(&writer->arena, &rlo__proto_layout, origin);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  RLO_TRY(NEW_LIST(writer, message, minor_to_major, rank));
  for (int32_t i = 0; i < rank; ++i) {
    message->minor_to_major[i] = layout->minor_to_major[i];
  }
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

/* Begin a message; *out_origin is the message it was read from, or NULL. */
static rlo_status begin_writing(const rlo_proto_options *options,
                                const rlo__proto_kind *kind,
                                writer_state *out_writer,
                                const rlo__proto_message **out_origin) {
  rlo_proto_options read;
  RLO_TRY(rlo__proto_options_read(options, kind, &read));
  *out_writer = (writer_state){.has_padding_fields = read.has_padding_fields};
  *out_origin = read.origin == NULL ? NULL : read.origin->message;
  return RLO_OK;
}

/* The message has been made, or making it has failed with `status`. */
static rlo_status finish_writing(writer_state *writer,
                                 rlo_status status,
                                 const rlo__proto_message *message,
                                 void *buffer,
                                 size_t capacity,
                                 size_t *out_bytes) {
  if (status == RLO_OK) {
    status = rlo__proto_pack(message, buffer, capacity, out_bytes);
  }
  rlo__proto_arena_deinit(&writer->arena);
  return status;
}

static rlo_status new_shape(writer_state *writer,
                            int32_t element_type,
                            const rlo__shape_message *origin,
                            rlo__shape_message **out_message) {
  rlo__shape_message *message =
      rlo__proto_new(&writer->arena, &rlo__proto_shape, origin);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  message->element_type = element_type;
  *out_message = message;
  return RLO_OK;
}

/* A valid shape. */
static rlo_status write_array(writer_state *writer,
                              const rlo_shape *shape,
                              const rlo__shape_message *origin,
                              rlo__shape_message **out_message) {
  rlo__shape_message *message = NULL;
  RLO_TRY(new_shape(writer, (int32_t)shape->dtype, origin, &message));
  RLO_TRY(NEW_LIST(writer, message, dimensions, shape->rank));
  /* XLA complains where these are left out, though they may be. */
  RLO_TRY(NEW_LIST(writer, message, is_dynamic_dimension, shape->rank));
  for (int32_t k = 0; k < shape->rank; ++k) {
    message->dimensions[k] = shape->dims[k];
    message->is_dynamic_dimension[k] = shape->is_dynamic[k];
  }
  RLO_TRY(write_layout(writer,
                       &shape->layout,
                       shape->rank,
                       origin == NULL ? NULL : origin->layout,
                       &message->layout));
  *out_message = message;
  return RLO_OK;
}

/* The walk through a tree: the tuples around the current subshape, each with
 * its origin. */
typedef struct tree_walk {
  writer_state *writer;
  rlo__shape_message *root;
  const rlo__shape_message *root_origin;
  rlo__shape_message *tuples[RLO_PROTO_MAX_DEPTH];
  const rlo__shape_message *origins[RLO_PROTO_MAX_DEPTH];
} tree_walk;

static const rlo__shape_message *element_origin(
    const rlo__shape_message *origin, size_t position) {
  return origin != NULL && position < origin->n_tuple_shapes
             ? origin->tuple_shapes[position]
             : NULL;
}

static rlo_status write_subshape(tree_walk *walk,
                                 const rlo_subshape *subshape,
                                 const rlo__shape_message *origin,
                                 rlo__shape_message **out_message) {
  rlo__shape_message *message = NULL;
  const bool is_buffer = subshape->kind == RLO_SHAPE_KIND_BUFFER;
  if (subshape->kind == RLO_SHAPE_KIND_ARRAY) {
    return write_array(walk->writer, subshape->shape, origin, out_message);
  }
  RLO_TRY(new_shape(walk->writer, (int32_t)subshape->kind, origin, &message));
  RLO_TRY(NEW_LIST(walk->writer,
                   message,
                   tuple_shapes,
                   is_buffer ? 1 : subshape->num_elements));
  if (is_buffer) {
    RLO_TRY(write_array(walk->writer,
                        subshape->shape,
                        element_origin(origin, 0),
                        &message->tuple_shapes[0]));
  }
  *out_message = message;
  return RLO_OK;
}

static rlo_status visit_subshape(const rlo_subshape *subshape, void *payload) {
  tree_walk *walk = payload;
  int32_t depth = subshape->index_count;
  rlo__shape_message **place = &walk->root;
  const rlo__shape_message *origin = walk->root_origin;
  if (depth > 0) {
    size_t position = (size_t)subshape->index[depth - 1];
    place = &walk->tuples[depth - 1]->tuple_shapes[position];
    origin = element_origin(walk->origins[depth - 1], position);
  }
  RLO_TRY(write_subshape(walk, subshape, origin, place));
  walk->tuples[depth] = *place;
  walk->origins[depth] = origin;
  return RLO_OK;
}

static rlo_status write_tree(writer_state *writer,
                             const rlo_shape_tree *tree,
                             const rlo__shape_message *origin,
                             rlo__shape_message **out_message) {
  /* Around the innermost array: a program and a buffer; in it: a layout and a
   * tile. */
  enum { MAX_DEPTH = RLO_PROTO_MAX_DEPTH - 5 };

  if (rlo_shape_tree_depth(tree) > MAX_DEPTH) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a tree of depth %d is beyond the limit of %d for messages",
                    rlo_shape_tree_depth(tree),
                    MAX_DEPTH);
  }
  tree_walk walk;
  memset(&walk, 0, sizeof walk);
  walk.writer = writer;
  walk.root_origin = origin;
  RLO_TRY(rlo_shape_tree_for_each_subshape(
      tree, RLO_WALK_PRE_ORDER, visit_subshape, &walk));
  *out_message = walk.root;
  return RLO_OK;
}

static rlo_status write_program(writer_state *writer,
                                const rlo_program_shape *program,
                                const rlo__program_message *origin,
                                rlo__program_message *message) {
  RLO_TRY(write_tree(writer,
                     rlo_program_shape_result(program),
                     origin == NULL ? NULL : origin->result,
                     &message->result));
  size_t count = (size_t)rlo_program_shape_parameter_count(program);
  RLO_TRY(NEW_LIST(writer, message, parameters, count));
  RLO_TRY(NEW_LIST(writer, message, parameter_names, count));
  for (size_t i = 0; i < count; ++i) {
    bool has_origin = origin != NULL && i < origin->n_parameters;
    RLO_TRY(write_tree(writer,
                       rlo_program_shape_parameter(program, (int64_t)i),
                       has_origin ? origin->parameters[i] : NULL,
                       &message->parameters[i]));
    const char *name = rlo_program_shape_parameter_name(program, (int64_t)i);
    size_t name_bytes = strlen(name) + 1;
    message->parameter_names[i] =
        rlo__proto_arena_take(&writer->arena, name_bytes, 1);
    if (message->parameter_names[i] == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    memcpy(message->parameter_names[i], name, name_bytes);
  }
  return RLO_OK;
}

/* Checks what needs no dimensions; mostly by making the layout again. */
static rlo_status check_layout(const rlo_layout *layout, int32_t rank) {
  rlo_layout copy;
  RLO_TRY(rlo_layout_from_minor_to_major(layout->minor_to_major, rank, &copy));
  if (layout->num_tiles < 0 || layout->num_tiles > RLO_MAX_TILES ||
      layout->num_split_configs < 0 ||
      layout->num_split_configs > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a layout cannot have %d tiles and %d splits",
                    layout->num_tiles,
                    layout->num_split_configs);
  }
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    RLO_TRY(rlo_layout_add_tile(
        &copy, layout->tiles[t].dims, layout->tiles[t].rank));
  }
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    RLO_TRY(rlo_layout_add_split(
        &copy, split->dimension, split->indices, split->num_indices));
  }
  if ((unsigned)layout->fill > RLO_FILL_BITS) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%d is not a fill", (int)layout->fill);
  }
  return RLO_OK;
}

rlo_status rlo_proto_format_tile(const rlo_tile *tile,
                                 const rlo_proto_options *options,
                                 void *buffer,
                                 size_t capacity,
                                 size_t *out_bytes) {
  RLO_REQUIRE(tile, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);
  rlo_layout layout = rlo_layout_row_major(0);
  RLO_TRY(rlo_layout_add_tile(&layout, tile->dims, tile->rank));
  writer_state writer;
  const rlo__proto_message *origin = NULL;
  RLO_TRY(begin_writing(options, &rlo__proto_tile, &writer, &origin));
  rlo__tile_message *message = NULL;
  rlo_status status =
      write_tile(&writer, tile, (const rlo__tile_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const rlo__proto_message *)message,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_layout(const rlo_layout *layout,
                                   int32_t rank,
                                   const rlo_proto_options *options,
                                   void *buffer,
                                   size_t capacity,
                                   size_t *out_bytes) {
  RLO_REQUIRE(layout, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);
  RLO_TRY(check_layout(layout, rank));
  writer_state writer;
  const rlo__proto_message *origin = NULL;
  RLO_TRY(begin_writing(options, &rlo__proto_layout, &writer, &origin));
  rlo__layout_message *message = NULL;
  rlo_status status = write_layout(
      &writer, layout, rank, (const rlo__layout_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const rlo__proto_message *)message,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_shape(const rlo_shape *shape,
                                  const rlo_proto_options *options,
                                  void *buffer,
                                  size_t capacity,
                                  size_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  writer_state writer;
  const rlo__proto_message *origin = NULL;
  RLO_TRY(begin_writing(options, &rlo__proto_shape, &writer, &origin));
  rlo__shape_message *message = NULL;
  rlo_status status =
      write_array(&writer, shape, (const rlo__shape_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const rlo__proto_message *)message,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_tree(const rlo_shape_tree *tree,
                                 const rlo_proto_options *options,
                                 void *buffer,
                                 size_t capacity,
                                 size_t *out_bytes) {
  RLO_REQUIRE(tree, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);
  writer_state writer;
  const rlo__proto_message *origin = NULL;
  RLO_TRY(begin_writing(options, &rlo__proto_shape, &writer, &origin));
  rlo__shape_message *message = NULL;
  rlo_status status =
      write_tree(&writer, tree, (const rlo__shape_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const rlo__proto_message *)message,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_program(const rlo_program_shape *program,
                                    const rlo_proto_options *options,
                                    void *buffer,
                                    size_t capacity,
                                    size_t *out_bytes) {
  RLO_REQUIRE(program, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);
  writer_state writer;
  const rlo__proto_message *origin = NULL;
  RLO_TRY(begin_writing(options, &rlo__proto_program, &writer, &origin));
  rlo__program_message message = {.base = {.kind = &rlo__proto_program}};
  if (origin != NULL) {
    message.base = *origin;
  }
  rlo_status status = write_program(
      &writer, program, (const rlo__program_message *)origin, &message);
  return finish_writing(
      &writer, status, &message.base, buffer, capacity, out_bytes);
}
