/* SPDX-License-Identifier: Apache-2.0 */

/* Shapes, trees and programs, from messages and to them. */

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "xla/proto_message.h"
#include "xla/shape_tree.h"

/* ----------------------------------------------------------------- reading */

static rlo_status read_dims(const rlo__shape_message *message, rlo_shape *shape) {
  size_t count = message->n_dimensions;
  RLO_FAIL_IF(count > RLO_MAX_RANK, RLO_UNSUPPORTED, "%zu dimensions are beyond the limit of %d",
              count, RLO_MAX_RANK);
  RLO_FAIL_IF(message->n_is_dynamic_dimension > 0 && message->n_is_dynamic_dimension != count,
              RLO_INVALID_ARGUMENT, "%zu of is_dynamic_dimension do not go with %zu dimensions",
              message->n_is_dynamic_dimension, count);
  shape->rank = (int32_t)count;
  for (size_t k = 0; k < count; ++k) {
    shape->dims[k] = message->dimensions[k];
    shape->is_dynamic[k] = message->n_is_dynamic_dimension > 0 && message->is_dynamic_dimension[k];
  }
  return RLO_OK;
}

/* Its element_type is that of an array. */
static rlo_status read_array(const rlo__shape_message *message, rlo_shape *shape) {
  memset(shape, 0, sizeof *shape);
  shape->dtype = (rlo_dtype)message->element_type;
  RLO_FAIL_IF(!rlo_dtype_is_valid(shape->dtype), RLO_INVALID_ARGUMENT,
              "%" PRId32 " is not an element_type", message->element_type);
  RLO_FAIL_IF(message->n_tuple_shapes > 0, RLO_INVALID_ARGUMENT,
              "an array cannot have %zu tuple_shapes", message->n_tuple_shapes);
  RLO_TRY(read_dims(message, shape));
  shape->layout = rlo_layout_row_major(shape->rank);
  if (message->layout != NULL) {
    RLO_FAIL_IF(message->layout->n_minor_to_major != message->n_dimensions, RLO_INVALID_ARGUMENT,
                "%zu entries of minor_to_major do not go with %zu dimensions",
                message->layout->n_minor_to_major, message->n_dimensions);
    RLO_TRY(rlo__proto_read_layout(message->layout, &shape->layout));
  }
  if (shape->layout.element_size_bits == rlo_dtype_storage_bits(shape->dtype)) {
    /* The type's own size becomes 0, as rlo_shape_make_with_layout has it, so
     * that equal shapes compare so. */
    shape->layout.element_size_bits = 0;
  }
  return rlo_shape_validate_unbounded(shape);
}

/* Returns the name of the kind, or NULL for an array. */
static const char *kind_of_tree(const rlo__shape_message *message) {
  return message->element_type == RLO_SHAPE_KIND_ARRAY
             ? NULL
             : rlo__shape_kind_name(message->element_type);
}

static rlo_status read_shape(const void *from, void *out) {
  const rlo__shape_message *message = from;
  RLO_FAIL_IF(kind_of_tree(message) != NULL, RLO_UNSUPPORTED,
              "element_type %" PRId32 " is no array, but a tree of shapes", message->element_type);
  rlo_shape shape;
  RLO_TRY(read_array(message, &shape));
  *(rlo_shape *)out = shape;
  return RLO_OK;
}

static rlo_status read_tree(const void *from, void *out);

/* Messages of failures call an entry `what`. A failure leaves the trees that
 * were read before it in out_trees. */
static rlo_status read_trees(rlo__shape_message *const *messages, size_t count, const char *what,
                             rlo_shape_tree **out_trees) {
  for (size_t i = 0; i < count; ++i) {
    RLO_TRY(rlo__status_prefix(read_tree(messages[i], &out_trees[i]), "%s %zu: ", what, i));
  }
  return RLO_OK;
}

static rlo_status read_tuple(const rlo__shape_message *message, rlo_shape_tree **out_tree) {
  size_t count = message->n_tuple_shapes;
  rlo_shape_tree *tuple = NULL;
  RLO_TRY(rlo__tree_begin_tuple((int64_t)count, &tuple));
  rlo_status status = read_trees(message->tuple_shapes, count, "element", tuple->elements);
  return rlo__tree_finish_tuple(status, tuple, out_tree);
}

/* Reads a shape that is neither an array nor a tuple. A buffer has its array as
 * the only entry of tuple_shapes; the other kinds have no entry. */
static rlo_status read_leaf(const rlo__shape_message *message, const char *name,
                            rlo_shape_tree **out_tree) {
  size_t num_arrays = message->element_type == RLO_SHAPE_KIND_BUFFER;
  RLO_FAIL_IF(message->n_tuple_shapes != num_arrays, RLO_INVALID_ARGUMENT,
              "%s needs %zu of tuple_shapes, not %zu", name, num_arrays, message->n_tuple_shapes);
  rlo_shape shape;
  if (num_arrays > 0) {
    RLO_TRY(read_array(message->tuple_shapes[0], &shape));
  }
  return rlo__tree_make_leaf((rlo_shape_kind)message->element_type, num_arrays > 0 ? &shape : NULL,
                             out_tree);
}

/* The depth of messages has been bounded, and with it this recursion. */
static rlo_status read_tree(const void *from, void *out) {
  const rlo__shape_message *message = from;
  rlo_shape_tree **out_tree = out;
  const char *name = kind_of_tree(message);
  if (name == NULL) {
    rlo_shape shape;
    RLO_TRY(read_array(message, &shape));
    return rlo__tree_make_leaf(RLO_SHAPE_KIND_ARRAY, &shape, out_tree);
  }
  bool has_dims = message->n_dimensions > 0 || message->n_is_dynamic_dimension > 0;
  RLO_FAIL_IF(has_dims || message->layout != NULL, RLO_INVALID_ARGUMENT, "%s cannot have %s", name,
              has_dims ? "dimensions" : "a layout");
  return message->element_type == RLO_SHAPE_KIND_TUPLE ? read_tuple(message, out_tree)
                                                       : read_leaf(message, name, out_tree);
}

static rlo_status read_parts(const rlo__program_message *message, rlo_shape_tree **parameters,
                             rlo_shape_tree **result, rlo_program_shape **out_program) {
  RLO_TRY(rlo__status_prefix(read_tree(message->result, result), "result: "));
  RLO_TRY(read_trees(message->parameters, message->n_parameters, "parameter", parameters));
  return rlo__program_shape_create(parameters, (int64_t)message->n_parameters,
                                   (const char *const *)message->parameter_names,
                                   (int64_t)message->n_parameter_names, *result, out_program);
}

static rlo_status read_program(const void *from, void *out) {
  const rlo__program_message *message = from;
  size_t count = message->n_parameters;
  RLO_FAIL_IF(message->result == NULL, RLO_INVALID_ARGUMENT, "the program has no result");
  RLO_FAIL_IF(message->n_parameter_names > count, RLO_INVALID_ARGUMENT,
              "%zu parameter_names do not go with %zu parameters", message->n_parameter_names,
              count);
  rlo_shape_tree *result = NULL;
  rlo_shape_tree **parameters = rlo__alloc_array(count, sizeof parameters[0]);
  RLO_TRY_MEMORY(parameters);
  rlo_status status = read_parts(message, parameters, &result, out);
  for (size_t i = 0; i < count; ++i) {
    rlo_shape_tree_release(parameters[i]);
  }
  rlo_shape_tree_release(result);
  rlo__free(parameters);
  return status;
}

/* ----------------------------------------------------------------- writing */

static rlo_status write_array(rlo__proto_writer *w, const rlo_shape *shape,
                              rlo__shape_message *message) {
  message->element_type = (int32_t)shape->dtype;
  RLO_TRY(RLO__PROTO_PUT(w, message, dimensions, shape->dims, shape->rank));
  /* XLA complains where these are left out, though they may be. */
  RLO_TRY(RLO__PROTO_PUT(w, message, is_dynamic_dimension, shape->is_dynamic, shape->rank));
  RLO_TRY(RLO__PROTO_PUT(w, message, layout, NULL, 1));
  return rlo__proto_write_layout(w, &shape->layout, shape->rank, message->layout);
}

static rlo_status write_shape(rlo__proto_writer *w, const void *value, void *message) {
  RLO_TRY(rlo_shape_validate_unbounded(value));
  return write_array(w, value, message);
}

static rlo_status write_subtree(rlo__proto_writer *w, const rlo_shape_tree *tree,
                                rlo__shape_message *message) {
  rlo__shape_message *array = message;
  if (tree->kind != RLO_SHAPE_KIND_ARRAY) {
    bool is_buffer = tree->kind == RLO_SHAPE_KIND_BUFFER;
    message->element_type = (int32_t)tree->kind;
    RLO_TRY(RLO__PROTO_PUT(w, message, tuple_shapes, NULL, is_buffer ? 1 : tree->num_elements));
    array = is_buffer ? message->tuple_shapes[0] : NULL;
  }
  for (int32_t i = 0; i < tree->num_elements; ++i) {
    RLO_TRY(write_subtree(w, tree->elements[i], message->tuple_shapes[i]));
  }
  if (array == NULL) {
    return RLO_OK;
  }
  rlo__tree_get_shape(tree, &w->leaf);
  return write_array(w, &w->leaf, array);
}

static rlo_status write_tree(rlo__proto_writer *w, const void *value, void *message) {
  /* Around the innermost array: a program and a buffer; in it: a layout and a
   * tile. */
  enum { MAX_DEPTH = RLO_PROTO_MAX_DEPTH - 5 };

  const rlo_shape_tree *tree = value;
  RLO_FAIL_IF(tree->depth > MAX_DEPTH, RLO_UNSUPPORTED,
              "a tree of depth %d is beyond the limit of %d for messages", tree->depth, MAX_DEPTH);
  return write_subtree(w, tree, message);
}

static rlo_status write_program(rlo__proto_writer *w, const void *value, void *message) {
  const rlo_program_shape *program = value;
  rlo__program_message *out = message;
  int64_t count = rlo_program_shape_parameter_count(program);
  RLO_TRY(RLO__PROTO_PUT(w, out, result, NULL, 1));
  RLO_TRY(write_tree(w, rlo_program_shape_result(program), out->result));
  RLO_TRY(RLO__PROTO_PUT(w, out, parameters, NULL, count));
  RLO_TRY(RLO__PROTO_PUT(w, out, parameter_names, NULL, count));
  for (int64_t i = 0; i < count; ++i) {
    RLO_TRY(write_tree(w, rlo_program_shape_parameter(program, i), out->parameters[i]));
    /* Declared as writable, and only read. */
    out->parameter_names[i] = (char *)(uintptr_t)rlo_program_shape_parameter_name(program, i);
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- functions */

rlo_status rlo_proto_parse_shape(const void *bytes, size_t size_bytes, rlo_shape *out_shape,
                                 rlo_proto_origin **out_origin) {
  return rlo__proto_parse(RLO__FIRST_NULL(out_shape), bytes, size_bytes, &rlo__proto_shape,
                          read_shape, out_shape, out_origin);
}

rlo_status rlo_proto_parse_tree(const void *bytes, size_t size_bytes, rlo_shape_tree **out_tree,
                                rlo_proto_origin **out_origin) {
  if (out_tree != NULL) {
    *out_tree = NULL;
  }
  return rlo__proto_parse(RLO__FIRST_NULL(out_tree), bytes, size_bytes, &rlo__proto_shape,
                          read_tree, out_tree, out_origin);
}

rlo_status rlo_proto_parse_program(const void *bytes, size_t size_bytes,
                                   rlo_program_shape **out_program, rlo_proto_origin **out_origin) {
  if (out_program != NULL) {
    *out_program = NULL;
  }
  return rlo__proto_parse(RLO__FIRST_NULL(out_program), bytes, size_bytes, &rlo__proto_program,
                          read_program, out_program, out_origin);
}

rlo_status rlo_proto_format_shape(const rlo_shape *shape, const rlo_proto_options *options,
                                  void *buffer, size_t capacity, size_t *out_bytes) {
  return rlo__proto_format(RLO__FIRST_NULL(shape, out_bytes), shape, &rlo__proto_shape, write_shape,
                           options, buffer, capacity, out_bytes);
}

rlo_status rlo_proto_format_tree(const rlo_shape_tree *tree, const rlo_proto_options *options,
                                 void *buffer, size_t capacity, size_t *out_bytes) {
  return rlo__proto_format(RLO__FIRST_NULL(tree, out_bytes), tree, &rlo__proto_shape, write_tree,
                           options, buffer, capacity, out_bytes);
}

rlo_status rlo_proto_format_program(const rlo_program_shape *program,
                                    const rlo_proto_options *options, void *buffer, size_t capacity,
                                    size_t *out_bytes) {
  return rlo__proto_format(RLO__FIRST_NULL(program, out_bytes), program, &rlo__proto_program,
                           write_program, options, buffer, capacity, out_bytes);
}
