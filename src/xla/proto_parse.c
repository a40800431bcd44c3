/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "xla/proto_message.h"

static rlo_status check_count(const char *what, size_t count, size_t max) {
  if (count > max) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%zu %s are beyond the limit of %zu",
                    count,
                    what,
                    max);
  }
  return RLO_OK;
}

static rlo_status read_tile(const rlo__tile_message *message,
                            rlo_layout *layout) {
  int64_t dims[RLO_MAX_TILE_RANK];
  RLO_TRY(check_count(
      "dimensions of a tile", message->n_dimensions, RLO_MAX_TILE_RANK));
  for (size_t k = 0; k < message->n_dimensions; ++k) {
    int64_t dim = message->dimensions[k];
    dims[k] = dim == -1 ? RLO_TILE_COMBINE : dim;
  }
  return rlo_layout_add_tile(layout, dims, (int32_t)message->n_dimensions);
}

static rlo_status read_split(const rlo__split_message *message,
                             rlo_layout *layout) {
  RLO_TRY(check_count(
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

/* The fields of a sparse array. */
static rlo_status check_dense(const rlo__layout_message *message) {
  enum { SPARSE_FORMAT = 2, MAX_DIM_LEVEL_TYPE = 3 };

  int format = (int)message->format;
  if (format < 0 || format > SPARSE_FORMAT) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "%d is not a format", format);
  }
  bool is_sparse = format == SPARSE_FORMAT;
  for (size_t k = 0; k < message->n_dim_level_types; ++k) {
    int32_t level = message->dim_level_types[k];
    if (level < 0 || level > MAX_DIM_LEVEL_TYPE) {
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

static rlo_status read_layout(const rlo__layout_message *message,
                              rlo_layout *out_layout) {
  RLO_TRY(check_dense(message));
  RLO_TRY(check_count(
      "entries of minor_to_major", message->n_minor_to_major, RLO_MAX_RANK));
  RLO_TRY(check_count("tiles", message->n_tiles, RLO_MAX_TILES));
  RLO_TRY(check_count("splits", message->n_split_configs, RLO_MAX_RANK));
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
    RLO_TRY(read_tile(message->tiles[t], &layout));
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

static rlo_status read_dims(const rlo__shape_message *message,
                            rlo_shape *shape) {
  RLO_TRY(check_count("dimensions", message->n_dimensions, RLO_MAX_RANK));
  if (message->n_is_dynamic_dimension > 0 &&
      message->n_is_dynamic_dimension != message->n_dimensions) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%zu of is_dynamic_dimension do not go with %zu dimensions",
                    message->n_is_dynamic_dimension,
                    message->n_dimensions);
  }
  shape->rank = (int32_t)message->n_dimensions;
  for (size_t k = 0; k < message->n_dimensions; ++k) {
    shape->dims[k] = message->dimensions[k];
    shape->is_dynamic[k] = message->n_is_dynamic_dimension > 0 &&
                           message->is_dynamic_dimension[k] != 0;
  }
  return RLO_OK;
}

/* Its element_type is that of an array. */
static rlo_status read_array(const rlo__shape_message *message,
                             rlo_shape *out_shape) {
  if (!rlo_dtype_is_valid((rlo_dtype)message->element_type)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%" PRId32 " is not an element_type",
                    message->element_type);
  }
  if (message->n_tuple_shapes > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "an array cannot have %zu tuple_shapes",
                    message->n_tuple_shapes);
  }
  rlo_shape shape;
  memset(&shape, 0, sizeof shape);
  shape.dtype = (rlo_dtype)message->element_type;
  RLO_TRY(read_dims(message, &shape));
  if (message->layout == NULL) {
    shape.layout = rlo_layout_row_major(shape.rank);
  } else {
    if (message->layout->n_minor_to_major != message->n_dimensions) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%zu entries of minor_to_major do not go with %zu "
                      "dimensions",
                      message->layout->n_minor_to_major,
                      message->n_dimensions);
    }
    RLO_TRY(read_layout(message->layout, &shape.layout));
  }
  if (shape.layout.element_size_bits == rlo_dtype_storage_bits(shape.dtype)) {
    /* The type's own size becomes 0, as rlo_shape_make_with_layout has it, so
     * that equal shapes compare so. */
    shape.layout.element_size_bits = 0;
  }
  RLO_TRY(rlo_shape_validate_unbounded(&shape));
  *out_shape = shape;
  return RLO_OK;
}

/* Other kinds have nothing but their name, and what is in them. */
static rlo_status check_bare(const rlo__shape_message *message,
                             const char *kind) {
  const char *unsupported = NULL;
  if (message->n_dimensions > 0 || message->n_is_dynamic_dimension > 0) {
    unsupported = "dimensions";
  } else if (message->layout != NULL) {
    unsupported = "a layout";
  }
  if (unsupported != NULL) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%s cannot have %s", kind, unsupported);
  }
  return RLO_OK;
}

static rlo_status read_buffer(const rlo__shape_message *message,
                              rlo_shape_tree **out_tree) {
  RLO_TRY(check_bare(message, "a buffer"));
  if (message->n_tuple_shapes != 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a buffer needs 1 of tuple_shapes, not %zu",
                    message->n_tuple_shapes);
  }
  rlo_shape shape;
  RLO_TRY(read_array(message->tuple_shapes[0], &shape));
  return rlo_shape_tree_make_buffer(&shape, out_tree);
}

/* A token or an opaque value. */
static rlo_status read_bare_leaf(const rlo__shape_message *message,
                                 rlo_shape_tree **out_tree) {
  bool is_token = message->element_type == RLO_SHAPE_KIND_TOKEN;
  const char *kind = is_token ? "a token" : "an opaque value";
  RLO_TRY(check_bare(message, kind));
  if (message->n_tuple_shapes > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s cannot have %zu tuple_shapes",
                    kind,
                    message->n_tuple_shapes);
  }
  return is_token ? rlo_shape_tree_make_token(out_tree)
                  : rlo_shape_tree_make_opaque(out_tree);
}

static rlo_status read_tree(const rlo__shape_message *message,
                            rlo_shape_tree **out_tree);

static void release_trees(rlo_shape_tree **trees, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    rlo_shape_tree_release(trees[i]);
  }
  rlo__free(trees);
}

/* Reads `count` trees into new memory; on failure there are none. */
static rlo_status read_trees(rlo__shape_message *const *messages,
                             size_t count,
                             const char *what,
                             rlo_shape_tree ***out_trees) {
  rlo_shape_tree **trees = rlo__alloc_array(count, sizeof(rlo_shape_tree *));
  if (trees == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < count; ++i) {
    rlo_status status = read_tree(messages[i], &trees[i]);
    if (status != RLO_OK) {
      release_trees(trees, i);
      (void)rlo_error_set(
          status, "%s %zu: %s", what, i, rlo_error_last()->message);
      return status;
    }
  }
  *out_trees = trees;
  return RLO_OK;
}

static rlo_status read_tuple(const rlo__shape_message *message,
                             rlo_shape_tree **out_tree) {
  RLO_TRY(check_bare(message, "a tuple"));
  size_t count = message->n_tuple_shapes;
  rlo_shape_tree **elements = NULL;
  RLO_TRY(read_trees(message->tuple_shapes, count, "element", &elements));
  rlo_status status = rlo_shape_tree_make_tuple(
      (const rlo_shape_tree *const *)elements, (int64_t)count, out_tree);
  release_trees(elements, count);
  return status;
}

/* The depth of messages has been bounded, and with it this recursion. On
 * failure *out_tree may be anything. */
static rlo_status read_tree(const rlo__shape_message *message,
                            rlo_shape_tree **out_tree) {
  rlo_shape shape;
  switch (message->element_type) {
    case RLO_SHAPE_KIND_TUPLE:
      return read_tuple(message, out_tree);
    case RLO_SHAPE_KIND_TOKEN:
    case RLO_SHAPE_KIND_OPAQUE:
      return read_bare_leaf(message, out_tree);
    case RLO_SHAPE_KIND_BUFFER:
      return read_buffer(message, out_tree);
    default:
      RLO_TRY(read_array(message, &shape));
      return rlo_shape_tree_make_array(&shape, out_tree);
  }
}

static rlo_status create_program(const rlo__program_message *message,
                                 rlo_shape_tree *const *parameters,
                                 rlo_shape_tree *result,
                                 rlo_program_shape **out_program) {
  size_t count = message->n_parameters;
  const char **names = rlo__alloc_array(count, sizeof names[0]);
  if (names == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < message->n_parameter_names; ++i) {
    names[i] = message->parameter_names[i];
  }
  rlo_status status = rlo_program_shape_create(
      parameters, names, (int64_t)count, result, out_program);
  rlo__free(names);
  return status;
}

static rlo_status read_program(const rlo__program_message *message,
                               rlo_program_shape **out_program) {
  if (message->result == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the program has no result");
  }
  size_t count = message->n_parameters;
  if (message->n_parameter_names > count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%zu parameter_names do not go with %zu parameters",
                    message->n_parameter_names,
                    count);
  }
  rlo_shape_tree *result = NULL;
  rlo_status status = read_tree(message->result, &result);
  if (status != RLO_OK) {
    return rlo_error_set(status, "result: %s", rlo_error_last()->message);
  }
  rlo_shape_tree **parameters = NULL;
  status = read_trees(message->parameters, count, "parameter", &parameters);
  if (status == RLO_OK) {
    status = create_program(message, parameters, result, out_program);
    release_trees(parameters, count);
  }
  rlo_shape_tree_release(result);
  return status;
}

rlo_status rlo_proto_parse_tile(const void *bytes,
                                size_t size_bytes,
                                rlo_tile *out_tile,
                                rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_REQUIRE(out_tile);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  RLO_TRY(rlo__proto_unpack(bytes, size_bytes, &rlo__proto_tile, &origin));
  rlo_layout layout;
  memset(&layout, 0, sizeof layout);
  rlo_status status =
      read_tile((const rlo__tile_message *)origin->message, &layout);
  if (status == RLO_OK) {
    *out_tile = layout.tiles[0];
  }
  return rlo__proto_return(status, origin, out_origin);
}

rlo_status rlo_proto_parse_layout(const void *bytes,
                                  size_t size_bytes,
                                  rlo_layout *out_layout,
                                  int32_t *out_rank,
                                  rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_REQUIRE(out_layout, out_rank);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  RLO_TRY(rlo__proto_unpack(bytes, size_bytes, &rlo__proto_layout, &origin));
  const rlo__layout_message *message =
      (const rlo__layout_message *)origin->message;
  rlo_status status = read_layout(message, out_layout);
  if (status == RLO_OK) {
    *out_rank = (int32_t)message->n_minor_to_major;
  }
  return rlo__proto_return(status, origin, out_origin);
}

rlo_status rlo_proto_parse_shape(const void *bytes,
                                 size_t size_bytes,
                                 rlo_shape *out_shape,
                                 rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_REQUIRE(out_shape);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  RLO_TRY(rlo__proto_unpack(bytes, size_bytes, &rlo__proto_shape, &origin));
  const rlo__shape_message *message =
      (const rlo__shape_message *)origin->message;
  rlo_status status = RLO_OK;
  switch (message->element_type) {
    case RLO_SHAPE_KIND_TUPLE:
    case RLO_SHAPE_KIND_TOKEN:
    case RLO_SHAPE_KIND_OPAQUE:
    case RLO_SHAPE_KIND_BUFFER:
      status =
          RLO_FAIL(RLO_UNSUPPORTED,
                   "element_type %" PRId32 " is no array, but a tree of shapes",
                   message->element_type);
      break;
    default:
      status = read_array(message, out_shape);
      break;
  }
  return rlo__proto_return(status, origin, out_origin);
}

rlo_status rlo_proto_parse_tree(const void *bytes,
                                size_t size_bytes,
                                rlo_shape_tree **out_tree,
                                rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  RLO_TRY(rlo__proto_unpack(bytes, size_bytes, &rlo__proto_shape, &origin));
  rlo_shape_tree *tree = NULL;
  rlo_status status =
      read_tree((const rlo__shape_message *)origin->message, &tree);
  if (status == RLO_OK) {
    *out_tree = tree;
  }
  return rlo__proto_return(status, origin, out_origin);
}

rlo_status rlo_proto_parse_program(const void *bytes,
                                   size_t size_bytes,
                                   rlo_program_shape **out_program,
                                   rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_REQUIRE(out_program);
  *out_program = NULL;
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  RLO_TRY(rlo__proto_unpack(bytes, size_bytes, &rlo__proto_program, &origin));
  rlo_program_shape *program = NULL;
  rlo_status status =
      read_program((const rlo__program_message *)origin->message, &program);
  if (status == RLO_OK) {
    *out_program = program;
  }
  return rlo__proto_return(status, origin, out_origin);
}
