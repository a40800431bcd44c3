/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_PROTO_MESSAGE_H
#define RLO_XLA_PROTO_MESSAGE_H

#include "relayout/xla/proto.h"
#include "xla/shape.pb-c.h"

/** Short names of the messages of shape.proto. */
typedef RelayoutWire__TileProto rlo__tile_message;
typedef RelayoutWire__SplitConfigProto rlo__split_message;
typedef RelayoutWire__LayoutProto rlo__layout_message;
typedef RelayoutWire__ShapeProto rlo__shape_message;
typedef RelayoutWire__ProgramShapeProto rlo__program_message;
typedef RelayoutWire__OpSharding rlo__sharding_message;

struct rlo_proto_origin {
  ProtobufCMessage *message;
};

/** Checks and unpacks a message; the caller owns the origin and releases it
 * with rlo_proto_origin_release.
 *  @return as the functions rlo_proto_parse_*; *out_origin is NULL on failure.
 */
RLO_NODISCARD rlo_status
rlo__proto_unpack(const void *bytes,
                  size_t size_bytes,
                  const ProtobufCMessageDescriptor *kind,
                  rlo_proto_origin **out_origin);

/** Reads the options of the functions rlo_proto_format_*, NULL for the
 * defaults.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for an origin that is no message of
 *          this kind. */
RLO_NODISCARD rlo_status
rlo__proto_options_read(const rlo_proto_options *options,
                        const ProtobufCMessageDescriptor *kind,
                        rlo_proto_options *out_options);

/** Gives a message the unknown fields of its origin, which may be NULL. */
void rlo__proto_take_unknown(ProtobufCMessage *message,
                             const ProtobufCMessage *origin);

/** Writes a message for the functions rlo_proto_format_*, and checks that it
 * can be read again. */
RLO_NODISCARD rlo_status rlo__proto_pack(const ProtobufCMessage *message,
                                         void *buffer,
                                         size_t capacity,
                                         size_t *out_bytes);

/** Memory for the parts of one message, released together. Zero-initialized, it
 *  is empty. */
typedef struct rlo__proto_arena {
  struct rlo__proto_chunk *chunks;
} rlo__proto_arena;

/** Returns zeroed memory for `count` parts of `part_bytes`, or NULL as
 *  rlo__alloc. */
RLO_NODISCARD void *rlo__proto_arena_take(rlo__proto_arena *arena,
                                          size_t count,
                                          size_t part_bytes);

void rlo__proto_arena_deinit(rlo__proto_arena *arena);

#endif
