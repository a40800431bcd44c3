/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "io/proto_layout.h"

/* Begin a message; *out_origin is the message it was read from, or NULL. */
static rlo_status begin_writing(const rlo_proto_options *options,
                                rlo__proto_kind kind,
                                rlo__proto_writer *out_writer,
                                const ProtobufCMessage **out_origin) {
  rlo_proto_options read = RLO_PROTO_OPTIONS_INIT;
  RLO_TRY(rlo__options_read(
      "proto options", "RLO_PROTO_OPTIONS_INIT", options, &read, sizeof read));
  if (read.origin != NULL && read.origin->kind != kind) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the origin is a message of another kind: %s",
                    read.origin->message->descriptor->short_name);
  }
  *out_writer =
      (rlo__proto_writer){.has_padding_fields = read.has_padding_fields};
  *out_origin = read.origin == NULL ? NULL : read.origin->message;
  return RLO_OK;
}

/* The message has been made, or making it has failed with `status`. */
static rlo_status finish_writing(rlo__proto_writer *writer,
                                 rlo_status status,
                                 const ProtobufCMessage *message,
                                 rlo__proto_kind kind,
                                 void *buffer,
                                 size_t capacity,
                                 size_t *out_bytes) {
  if (status == RLO_OK) {
    status = rlo__proto_pack(message, kind, buffer, capacity, out_bytes);
  }
  rlo__proto_arena_deinit(&writer->arena);
  return status;
}

static rlo_status new_shape(rlo__proto_writer *writer,
                            int32_t element_type,
                            const rlo__shape_message *origin,
                            rlo__shape_message **out_message) {
  rlo__shape_message *message =
      rlo__proto_arena_take(&writer->arena, 1, sizeof *message);
  if (message == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  relayout_wire__shape_proto__init(message);
  message->element_type = element_type;
  rlo__proto_take_unknown(&message->base,
                          origin == NULL ? NULL : &origin->base);
  *out_message = message;
  return RLO_OK;
}

/* As many places for the messages of subshapes. */
static rlo_status new_shapes(rlo__proto_writer *writer,
                             size_t count,
                             rlo__shape_message ***out_messages,
                             size_t *out_count) {
  if (count > 0) {
    *out_messages = rlo__proto_arena_take(
        &writer->arena, count, sizeof(rlo__shape_message *));
    if (*out_messages == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  *out_count = count;
  return RLO_OK;
}

/* A valid shape. */
static rlo_status write_array(rlo__proto_writer *writer,
                              const rlo_shape *shape,
                              const rlo__shape_message *origin,
                              rlo__shape_message **out_message) {
  rlo__shape_message *message = NULL;
  RLO_TRY(new_shape(writer, (int32_t)shape->dtype, origin, &message));
  if (shape->rank > 0) {
    size_t rank = (size_t)shape->rank;
    message->dimensions = rlo__proto_arena_take(
        &writer->arena, rank, sizeof message->dimensions[0]);
    message->is_dynamic_dimension = rlo__proto_arena_take(
        &writer->arena, rank, sizeof message->is_dynamic_dimension[0]);
    if (message->dimensions == NULL || message->is_dynamic_dimension == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    message->n_dimensions = rank;
    /* XLA complains where these are left out, though they may be. */
    message->n_is_dynamic_dimension = rank;
    for (size_t k = 0; k < rank; ++k) {
      message->dimensions[k] = shape->dims[k];
      message->is_dynamic_dimension[k] = shape->is_dynamic[k];
    }
  }
  RLO_TRY(rlo__proto_write_layout(writer,
                                  &shape->layout,
                                  shape->rank,
                                  origin == NULL ? NULL : origin->layout,
                                  &message->layout));
  *out_message = message;
  return RLO_OK;
}

/* The walk through a tree: the tuples around the subshape at hand, each with
 * its origin. */
typedef struct tree_walk {
  rlo__proto_writer *writer;
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
  size_t num_elements = (size_t)subshape->num_elements;
  switch (subshape->kind) {
    case RLO_SHAPE_KIND_ARRAY:
      return write_array(walk->writer, subshape->shape, origin, out_message);
    case RLO_SHAPE_KIND_BUFFER:
      num_elements = 1;
      break;
    default:
      break;
  }
  RLO_TRY(new_shape(walk->writer, (int32_t)subshape->kind, origin, &message));
  RLO_TRY(new_shapes(walk->writer,
                     num_elements,
                     &message->tuple_shapes,
                     &message->n_tuple_shapes));
  if (subshape->kind == RLO_SHAPE_KIND_BUFFER) {
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

static rlo_status write_tree(rlo__proto_writer *writer,
                             const rlo_shape_tree *tree,
                             const rlo__shape_message *origin,
                             rlo__shape_message **out_message) {
  /* Around the innermost array: a program and a buffer; in it: a layout and a
   * tile. */
  enum { MOST_DEPTH = RLO_PROTO_MAX_DEPTH - 5 };

  if (rlo_shape_tree_depth(tree) > MOST_DEPTH) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a tree of depth %d is beyond the limit of %d for messages",
                    rlo_shape_tree_depth(tree),
                    MOST_DEPTH);
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

static rlo_status write_program(rlo__proto_writer *writer,
                                const rlo_program_shape *program,
                                const rlo__program_message *origin,
                                rlo__program_message *message) {
  relayout_wire__program_shape_proto__init(message);
  rlo__proto_take_unknown(&message->base,
                          origin == NULL ? NULL : &origin->base);
  RLO_TRY(write_tree(writer,
                     rlo_program_shape_result(program),
                     origin == NULL ? NULL : origin->result,
                     &message->result));
  size_t count = (size_t)rlo_program_shape_parameter_count(program);
  RLO_TRY(
      new_shapes(writer, count, &message->parameters, &message->n_parameters));
  if (count > 0) {
    message->parameter_names = rlo__proto_arena_take(
        &writer->arena, count, sizeof message->parameter_names[0]);
    if (message->parameter_names == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
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
  message->n_parameter_names = count;
  return RLO_OK;
}

/* What can be checked without dimensions; mostly by making the layout again. */
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
  if (layout->fill < RLO_FILL_INVALID || layout->fill > RLO_FILL_BITS) {
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
  rlo_layout layout = rlo_layout_row_major(0);
  RLO_TRY(rlo_layout_add_tile(&layout, tile->dims, tile->rank));
  rlo__proto_writer writer;
  const ProtobufCMessage *origin = NULL;
  RLO_TRY(begin_writing(options, RLO__PROTO_TILE, &writer, &origin));
  rlo__tile_message *message = NULL;
  rlo_status status = rlo__proto_write_tile(
      &writer, tile, (const rlo__tile_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const ProtobufCMessage *)message,
                        RLO__PROTO_TILE,
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
  RLO_TRY(check_layout(layout, rank));
  rlo__proto_writer writer;
  const ProtobufCMessage *origin = NULL;
  RLO_TRY(begin_writing(options, RLO__PROTO_LAYOUT, &writer, &origin));
  rlo__layout_message *message = NULL;
  rlo_status status = rlo__proto_write_layout(
      &writer, layout, rank, (const rlo__layout_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const ProtobufCMessage *)message,
                        RLO__PROTO_LAYOUT,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_shape(const rlo_shape *shape,
                                  const rlo_proto_options *options,
                                  void *buffer,
                                  size_t capacity,
                                  size_t *out_bytes) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo__proto_writer writer;
  const ProtobufCMessage *origin = NULL;
  RLO_TRY(begin_writing(options, RLO__PROTO_SHAPE, &writer, &origin));
  rlo__shape_message *message = NULL;
  rlo_status status =
      write_array(&writer, shape, (const rlo__shape_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const ProtobufCMessage *)message,
                        RLO__PROTO_SHAPE,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_tree(const rlo_shape_tree *tree,
                                 const rlo_proto_options *options,
                                 void *buffer,
                                 size_t capacity,
                                 size_t *out_bytes) {
  rlo__proto_writer writer;
  const ProtobufCMessage *origin = NULL;
  RLO_TRY(begin_writing(options, RLO__PROTO_SHAPE, &writer, &origin));
  rlo__shape_message *message = NULL;
  rlo_status status =
      write_tree(&writer, tree, (const rlo__shape_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        (const ProtobufCMessage *)message,
                        RLO__PROTO_SHAPE,
                        buffer,
                        capacity,
                        out_bytes);
}

rlo_status rlo_proto_format_program(const rlo_program_shape *program,
                                    const rlo_proto_options *options,
                                    void *buffer,
                                    size_t capacity,
                                    size_t *out_bytes) {
  rlo__proto_writer writer;
  const ProtobufCMessage *origin = NULL;
  RLO_TRY(begin_writing(options, RLO__PROTO_PROGRAM, &writer, &origin));
  rlo__program_message message;
  rlo_status status = write_program(
      &writer, program, (const rlo__program_message *)origin, &message);
  return finish_writing(&writer,
                        status,
                        &message.base,
                        RLO__PROTO_PROGRAM,
                        buffer,
                        capacity,
                        out_bytes);
}
