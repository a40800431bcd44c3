/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_PROTO_MESSAGE_H
#define RLO_XLA_PROTO_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/xla/proto.h"
#include "xla/proto_codec.h"

/*
 * Messages in memory, and their codec. The fields of each kind of message are
 * listed once: the struct below and the codec's rows are made of the same list.
 *
 *     one(MESSAGE, number, TYPE, c_type, name, KIND)
 *     many(MESSAGE, number, TYPE, c_type, name, KIND)
 *
 * TYPE is INT64, INT32 (enums too), BOOL, STRING or MESSAGE, and KIND the kind
 * of a MESSAGE. A repeated field has its elements in `name` and their number in
 * `n_name`. Fields stand in the order of their numbers, in which they are
 * written. Numbers and types are XLA's of 2017 to 2026; a field that is not
 * listed is kept as an unknown one.
 */

// clang-format off

/* Dimensions: most major first; INT64_MIN, documented as -1, combines. */
#define RLO__TILE_FIELDS(one, many, m)         \
  many(m, 1, INT64, int64_t, dimensions, NULL)

/* Dimension 0 is the most major physical one. */
#define RLO__SPLIT_FIELDS(one, many, m)           \
  one(m, 1, INT64, int64_t, dimension, NULL)      \
  many(m, 2, INT64, int64_t, split_indices, NULL)

/* XLA had padded_dimensions and padding_value (RLO_FILL_..) to November 2018,
 * format (0 none, 1 dense, 2 sparse) to 2018. A dim_level_type other than 0 is
 * sparse; element_size_in_bits 0 is that of the element type, and an alignment
 * of 0 means 1. */
#define RLO__LAYOUT_FIELDS(one, many, m)                                              \
  many(m, 1, INT64, int64_t, minor_to_major, NULL)                                    \
  many(m, 2, INT64, int64_t, padded_dimensions, NULL)                                 \
  one(m, 3, INT32, int32_t, padding_value, NULL)                                      \
  one(m, 4, INT32, int32_t, format, NULL)                                             \
  one(m, 5, INT64, int64_t, max_sparse_elements, NULL)                                \
  many(m, 6, MESSAGE, rlo__tile_message *, tiles, &rlo__proto_tile)                   \
  one(m, 7, INT64, int64_t, element_size_in_bits, NULL)                               \
  one(m, 8, INT64, int64_t, memory_space, NULL)                                       \
  many(m, 9, INT32, int32_t, dim_level_types, NULL)                                   \
  one(m, 10, MESSAGE, struct rlo__shape_message *, physical_shape, &rlo__proto_shape) \
  one(m, 11, INT32, int32_t, index_primitive_type, NULL)                              \
  one(m, 12, INT32, int32_t, pointer_primitive_type, NULL)                            \
  many(m, 13, BOOL, bool, dim_unique, NULL)                                           \
  many(m, 14, BOOL, bool, dim_ordered, NULL)                                          \
  one(m, 15, INT64, int64_t, dynamic_shape_metadata_prefix_bytes, NULL)               \
  one(m, 16, INT64, int64_t, tail_padding_alignment_in_elements, NULL)                \
  many(m, 17, MESSAGE, rlo__split_message *, split_configs, &rlo__proto_split)

/* No is_dynamic_dimension: all are static. */
#define RLO__SHAPE_FIELDS(one, many, m)                                             \
  one(m, 2, INT32, int32_t, element_type, NULL)                                     \
  many(m, 3, INT64, int64_t, dimensions, NULL)                                      \
  many(m, 4, MESSAGE, struct rlo__shape_message *, tuple_shapes, &rlo__proto_shape) \
  one(m, 5, MESSAGE, rlo__layout_message *, layout, &rlo__proto_layout)             \
  many(m, 6, BOOL, bool, is_dynamic_dimension, NULL)

#define RLO__PROGRAM_FIELDS(one, many, m)                                  \
  many(m, 1, MESSAGE, rlo__shape_message *, parameters, &rlo__proto_shape) \
  one(m, 2, MESSAGE, rlo__shape_message *, result, &rlo__proto_shape)      \
  many(m, 3, STRING, char *, parameter_names, NULL)

/* The grid: the dimensions of the array, then those of the subgroups; its
 * devices row-major, none where there is an iota. Last_tile_dims are types of
 * OpSharding, one for each subgroup; REPLICATED alone is the same as
 * replicate_on_last_tile_dim. Of named_sharding only the presence is read. */
#define RLO__SHARDING_FIELDS(one, many, m)                                                   \
  one(m, 1, INT32, int32_t, type, NULL)                                                      \
  many(m, 3, INT64, int64_t, tile_assignment_dimensions, NULL)                               \
  many(m, 4, INT64, int64_t, tile_assignment_devices, NULL)                                  \
  many(m, 5, MESSAGE, struct rlo__sharding_message *, tuple_shardings, &rlo__proto_sharding) \
  one(m, 6, BOOL, bool, replicate_on_last_tile_dim, NULL)                                    \
  many(m, 8, INT32, int32_t, last_tile_dims, NULL)                                           \
  many(m, 9, INT64, int64_t, iota_reshape_dims, NULL)                                        \
  many(m, 10, INT32, int32_t, iota_transpose_perm, NULL)                                     \
  one(m, 14, MESSAGE, rlo__proto_message *, named_sharding, &rlo__proto_named)

// clang-format on

#define RLO__PROTO_ONE(m, number, type, c_type, name, kind) c_type name;
#define RLO__PROTO_MANY(m, number, type, c_type, name, kind) \
  size_t n_##name;                                           \
  c_type *name;
#define RLO__PROTO_MESSAGE(message, fields)          \
  typedef struct message {                           \
    rlo__proto_message base;                         \
    fields(RLO__PROTO_ONE, RLO__PROTO_MANY, message) \
  } message

RLO__PROTO_MESSAGE(rlo__tile_message, RLO__TILE_FIELDS);
RLO__PROTO_MESSAGE(rlo__split_message, RLO__SPLIT_FIELDS);
RLO__PROTO_MESSAGE(rlo__layout_message, RLO__LAYOUT_FIELDS);
RLO__PROTO_MESSAGE(rlo__shape_message, RLO__SHAPE_FIELDS);
RLO__PROTO_MESSAGE(rlo__program_message, RLO__PROGRAM_FIELDS);
RLO__PROTO_MESSAGE(rlo__sharding_message, RLO__SHARDING_FIELDS);

extern const rlo__proto_kind rlo__proto_tile, rlo__proto_split, rlo__proto_layout, rlo__proto_shape,
    rlo__proto_program, rlo__proto_sharding, rlo__proto_named;

/** Turns a message of the kind that was asked for into what it says. On failure
 *  nothing is owned by *out. */
typedef rlo_status rlo__proto_read_fn(const void *message, void *out);

/**
 * A function rlo_proto_parse_*: reads the bytes, and from their message `out`.
 * @param null_name  the name of a parameter that is NULL and may not be, or
 *                   NULL: RLO__FIRST_NULL(...).
 * @return as the functions rlo_proto_parse_*.
 */
RLO_NODISCARD rlo_status rlo__proto_parse(const char *null_name, const void *bytes,
                                          size_t size_bytes, const rlo__proto_kind *kind,
                                          rlo__proto_read_fn *read, void *out,
                                          rlo_proto_origin **out_origin);

/** A message under construction. */
typedef struct rlo__proto_writer {
  rlo__proto_arena arena;
  bool has_padding_fields;
  /** Room for a leaf of a tree: the recursion takes little stack. */
  rlo_shape leaf;
} rlo__proto_writer;

/** Fills a message, which is empty but for the unknown fields of its origin. */
typedef rlo_status rlo__proto_write_fn(rlo__proto_writer *writer, const void *value, void *message);

/**
 * A function rlo_proto_format_*: makes a message of `value`, writes it, and
 * checks that it can be read again. null_name: as above.
 * @return as the functions rlo_proto_format_*.
 */
RLO_NODISCARD rlo_status rlo__proto_format(const char *null_name, const void *value,
                                           const rlo__proto_kind *kind, rlo__proto_write_fn *write,
                                           const rlo_proto_options *options, void *buffer,
                                           size_t capacity, size_t *out_bytes);

/** Gives a field `count` values, or the one that it has room for: copies of
 *  `values`, zeros for NULL; messages have origins of their own, those at their
 *  places in the origin of `message`. `place` is the field in the message. */
RLO_NODISCARD rlo_status rlo__proto_put(rlo__proto_writer *writer, rlo__proto_message *message,
                                        void *place, const void *values, size_t count);

#define RLO__PROTO_PUT(writer, message, name, values, count) \
  rlo__proto_put((writer), &(message)->base, &(message)->name, (values), (size_t)(count))

/** Writes a known field that has no meaning here as the origin of `message` had
 *  it; a list only if it has still `count` values. */
void rlo__proto_carry(rlo__proto_message *message, void *place, size_t count);

/** Reads a layout as rlo_proto_parse_layout. */
RLO_NODISCARD rlo_status rlo__proto_read_layout(const rlo__layout_message *message,
                                                rlo_layout *out_layout);

/** Fills the message of a valid layout as rlo_proto_format_layout. */
RLO_NODISCARD rlo_status rlo__proto_write_layout(rlo__proto_writer *writer,
                                                 const rlo_layout *layout, int32_t rank,
                                                 rlo__layout_message *message);

#endif
