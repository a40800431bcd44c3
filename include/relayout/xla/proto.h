/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_PROTO_H
#define RELAYOUT_XLA_PROTO_H

#include "relayout/sharding.h"
#include "relayout/xla/shape_tree.h"

RLO_BEGIN_DECLS

/*
 * XLA's protocol buffers of shapes and shardings, in wire form: TileProto,
 * LayoutProto, ShapeProto, ProgramShapeProto and OpSharding, with the field
 * numbers of 2017 to 2026.
 *
 * Bytes are looked at before any memory is taken for what they say, and what
 * they can say is bounded by the three limits below.
 */

/** Longest message that is read or written, in bytes. */
#define RLO_PROTO_MAX_BYTES 16777216
/** Most messages that may lie in each other. */
#define RLO_PROTO_MAX_DEPTH 100
/** Most fields of one message and of all that is in it. */
#define RLO_PROTO_MAX_FIELDS 1048576

/**
 * The message that something was read from. It has what the message says
 * beyond what relayout knows: unknown fields, and known ones without a meaning
 * here (format, max_sparse_elements, dim_level_types, dim_unique,
 * dim_ordered). Whoever passes messages on keeps it while the shape is worked
 * on, and writes with it: each message then gets back what stood at its place
 * (a layout's tile i, a tuple's element i, a program's parameter i); what has
 * no such place any more is lost with it.
 *
 * Immutable. Threads: safe.
 */
typedef struct rlo_proto_origin rlo_proto_origin;

/** NULL is legal. */
RLO_API void rlo_proto_origin_release(rlo_proto_origin *origin);

/** How to write. Begin with RLO_PROTO_OPTIONS_INIT. */
typedef struct rlo_proto_options {
  /** sizeof(rlo_proto_options). */
  size_t struct_size;
  /** Write padded_dimensions and padding_value, fields 2 and 3 of LayoutProto,
   *  which XLA removed in 2018. Today's XLA skips them, and would take a padded
   *  array for one without padding: so, unless this is set, what needs them is
   *  refused. They are always read. */
  bool has_padding_fields;
  /** The message that unknown fields come from, borrowed for the call; may be
   *  NULL. */
  const rlo_proto_origin *origin;
} rlo_proto_options;

#define RLO_PROTO_OPTIONS_INIT \
  { sizeof(rlo_proto_options), false, NULL }

/* ------------------------------------------------------------------- read */

/*
 * These read one message of `size_bytes` bytes, borrowed; NULL for 0 of them.
 *
 * out_origin: NULL, or where the origin goes; it goes to
 * rlo_proto_origin_release, and is NULL on failure, which leaves all other
 * output alone.
 *
 * Statuses: RLO_OK; RLO_PARSE, with the position, for bytes that are no such
 * message: numbers too long, fields of the wrong form; RLO_DATA_LOSS for a
 * message that is cut off; RLO_UNSUPPORTED beyond a limit above or one of
 * layout.h, for sparse layouts and physical shapes, and for a result or a
 * layout that is there twice; RLO_INVALID_ARGUMENT for messages that make no
 * sense: unknown enum numbers, counts that do not go with the rank;
 * RLO_OUT_OF_MEMORY; and what is said at each. Threads: safe (pure).
 */

/** Read a TileProto. Combined dimensions may be INT64_MIN, as in XLA's code, or
 *  -1, as in its documentation. @return also what rlo_layout_add_tile returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_tile(const void *bytes, size_t size_bytes,
                                                      rlo_tile *out_tile,
                                                      rlo_proto_origin **out_origin);

/** Read a LayoutProto, whose rank is that of its minor_to_major. It is checked
 *  only as far as it can be without dimensions: rlo_layout_validate does the
 *  rest. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_layout(const void *bytes, size_t size_bytes,
                                                        rlo_layout *out_layout, int32_t *out_rank,
                                                        rlo_proto_origin **out_origin);

/** Read a ShapeProto of one array; without a layout it is row-major.
 *  @return RLO_UNSUPPORTED also for one that is no array; and what
 *          rlo_shape_validate_unbounded returns of the shape. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_shape(const void *bytes, size_t size_bytes,
                                                       rlo_shape *out_shape,
                                                       rlo_proto_origin **out_origin);

/** Read a ShapeProto of any kind. @return as rlo_proto_parse_shape, with the
 *  path to the culprit in the message. The tree is the caller's. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_tree(const void *bytes, size_t size_bytes,
                                                      rlo_shape_tree **out_tree,
                                                      rlo_proto_origin **out_origin);

/** Read a ProgramShapeProto, which has as many names as parameters or fewer.
 *  @return as rlo_proto_parse_tree, and what rlo_program_shape_create returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_program(const void *bytes, size_t size_bytes,
                                                         rlo_program_shape **out_program,
                                                         rlo_proto_origin **out_origin);

/** Read an OpSharding. Of a type that has no parameters no other field is
 *  looked at.
 *  @return RLO_UNSUPPORTED also for a tuple's sharding and a named sharding;
 *          RLO_INVALID_ARGUMENT for a grid whose devices are stated twice (a
 *          list and an iota) or not at all, or are not as many as its cells;
 *          and what rlo_sharding_make_maximal and rlo_sharding_make_tiled
 *          return. The sharding is the caller's; NULL on failure. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_parse_sharding(const void *bytes, size_t size_bytes,
                                                          rlo_sharding **out_sharding,
                                                          rlo_proto_origin **out_origin);

/* ------------------------------------------------------------------ write */

/*
 * These write one message into `buffer`, and its length into *out_bytes.
 *
 * options: NULL for RLO_PROTO_OPTIONS_INIT. buffer: room for `capacity` bytes;
 * NULL only for none.
 *
 * Statuses: RLO_OK; RLO_OUT_OF_RANGE if it does not fit, with nothing but
 * *out_bytes written; RLO_UNSUPPORTED for what the messages cannot say
 * (strides, a fill of explicit bits, padding and fills without
 * has_padding_fields) and beyond a limit above; RLO_INVALID_ARGUMENT for an
 * origin of another message; RLO_OUT_OF_MEMORY; and what is said at each.
 * Threads: safe (pure).
 */

/** Write a TileProto; combined dimensions are INT64_MIN.
 *  @return also what rlo_layout_add_tile returns. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_tile(const rlo_tile *tile,
                                                       const rlo_proto_options *options,
                                                       void *buffer, size_t capacity,
                                                       size_t *out_bytes);

/** Write a LayoutProto. @return RLO_INVALID_ARGUMENT also for numbers of tiles,
 *  splits or dimensions that cannot be. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_layout(const rlo_layout *layout, int32_t rank,
                                                         const rlo_proto_options *options,
                                                         void *buffer, size_t capacity,
                                                         size_t *out_bytes);

/** Write a ShapeProto. @return also what rlo_shape_validate_unbounded returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_shape(const rlo_shape *shape,
                                                        const rlo_proto_options *options,
                                                        void *buffer, size_t capacity,
                                                        size_t *out_bytes);

/** Write a ShapeProto. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_tree(const rlo_shape_tree *tree,
                                                       const rlo_proto_options *options,
                                                       void *buffer, size_t capacity,
                                                       size_t *out_bytes);

/** Write a ProgramShapeProto, with as many names as parameters. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_program(const rlo_program_shape *program,
                                                          const rlo_proto_options *options,
                                                          void *buffer, size_t capacity,
                                                          size_t *out_bytes);

/** Write an OpSharding: a grid's devices as an iota where the sharding has one,
 *  else as a list. @return RLO_UNSUPPORTED also for boxes, which OpSharding
 *  cannot say. */
RLO_API RLO_NODISCARD rlo_status rlo_proto_format_sharding(const rlo_sharding *sharding,
                                                           const rlo_proto_options *options,
                                                           void *buffer, size_t capacity,
                                                           size_t *out_bytes);

RLO_END_DECLS

#endif
