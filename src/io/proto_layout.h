/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_PROTO_LAYOUT_H
#define RLO_IO_PROTO_LAYOUT_H

#include "io/proto_message.h"

/** RLO_UNSUPPORTED if a message has more than `most` of `what`: numbers of
 *  things may be far beyond an int32. */
RLO_NODISCARD rlo_status rlo__proto_check_count(const char *what,
                                                size_t count,
                                                size_t most);

/** Append a tile. @return as rlo_proto_parse_tile. */
RLO_NODISCARD rlo_status rlo__proto_read_tile(const rlo__tile_message *message,
                                              rlo_layout *layout);

/** @return as rlo_proto_parse_layout. */
RLO_NODISCARD rlo_status rlo__proto_read_layout(
    const rlo__layout_message *message, rlo_layout *out_layout);

/** A message in the making. */
typedef struct rlo__proto_writer {
  rlo__proto_arena arena;
  bool has_padding_fields;
} rlo__proto_writer;

/** Let a message have the unknown fields of the one that was at its place;
 *  `origin` may be NULL. */
void rlo__proto_take_unknown(ProtobufCMessage *message,
                             const ProtobufCMessage *origin);

/** A tile, which is valid, in the writer's memory.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__proto_write_tile(rlo__proto_writer *writer,
                                               const rlo_tile *tile,
                                               const rlo__tile_message *origin,
                                               rlo__tile_message **out_message);

/** A layout, whose numbers of things are within their limits, in the writer's
 *  memory.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED as
 *          rlo_proto_format_layout. */
RLO_NODISCARD rlo_status
rlo__proto_write_layout(rlo__proto_writer *writer,
                        const rlo_layout *layout,
                        int32_t rank,
                        const rlo__layout_message *origin,
                        rlo__layout_message **out_message);

#endif
