/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_PROTO_CODEC_H
#define RLO_XLA_PROTO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/xla/proto.h"

/* The fields of messages as rows, and messages as bytes. */

/** A kind of message: its name and its fields. */
typedef struct rlo__proto_kind rlo__proto_kind;

/** A field as it was read, with its tag. */
typedef struct rlo__proto_unknown {
  const uint8_t *bytes;
  size_t num_bytes;
} rlo__proto_unknown;

/** The fields that every message begins with. */
typedef struct rlo__proto_message {
  const rlo__proto_kind *kind;
  size_t n_unknown;
  rlo__proto_unknown *unknown;
  /** The message that stood at the place of one that is written, or NULL. */
  const struct rlo__proto_message *origin;
} rlo__proto_message;

/** The type of a field's value. */
typedef enum rlo__field_type {
  RLO__TYPE_INT64,
  RLO__TYPE_INT32,
  RLO__TYPE_BOOL,
  RLO__TYPE_STRING,
  RLO__TYPE_MESSAGE
} rlo__field_type;

/** A field of a kind of message. */
typedef struct rlo__field_row {
  uint32_t number;
  rlo__field_type type;
  bool is_repeated;
  /** Offsets, in the message, of its value or values and of their number. */
  size_t offset, count_offset;
  /** The size of one value. */
  size_t bytes;
  const rlo__proto_kind *kind;
} rlo__field_row;

struct rlo__proto_kind {
  const char *name;
  size_t message_bytes;
  const rlo__field_row *fields;
  size_t num_fields;
};

/** Memory for the parts of one message, released together. Zero-initialized, it
 *  is empty. */
typedef struct rlo__proto_arena {
  struct rlo__proto_chunk *chunks;
} rlo__proto_arena;

struct rlo_proto_origin {
  rlo__proto_arena arena;
  rlo__proto_message *message;
};

/** Returns zeroed memory for `count` parts of `part_bytes`, or NULL as
 *  rlo__alloc. */
void *rlo__proto_take(rlo__proto_arena *arena, size_t count, size_t part_bytes);

void rlo__proto_arena_deinit(rlo__proto_arena *arena);

/** Returns a message with the unknown fields of `origin`, which may be NULL; or
 *  NULL as rlo__alloc. */
rlo__proto_message *rlo__proto_new(rlo__proto_arena *arena, const rlo__proto_kind *kind,
                                   const rlo__proto_message *origin);

/** Returns the values of a field, and their number: of a field that is there
 *  once, 0 if all its bytes are 0. */
const char *rlo__proto_values(const rlo__field_row *field, const rlo__proto_message *message,
                              size_t *out_count);

/** Reads a message. The caller releases *out_origin, on failure too.
 *  @return as the functions rlo_proto_parse_*. */
RLO_NODISCARD rlo_status rlo__proto_unpack(const void *bytes, size_t size_bytes,
                                           const rlo__proto_kind *kind,
                                           rlo_proto_origin **out_origin);

/** Writes a message, and checks that it can be read again.
 *  @return as the functions rlo_proto_format_*. */
RLO_NODISCARD rlo_status rlo__proto_pack(const rlo__proto_message *message, void *buffer,
                                         size_t capacity, size_t *out_bytes);

#endif
