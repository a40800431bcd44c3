/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_PROTO_WIRE_H
#define RLO_IO_PROTO_WIRE_H

#include "relayout/proto.h"

/** The messages of shape.proto. */
typedef enum rlo__proto_kind {
  RLO__PROTO_TILE,
  RLO__PROTO_SPLIT,
  RLO__PROTO_LAYOUT,
  RLO__PROTO_SHAPE,
  RLO__PROTO_PROGRAM,
  RLO__PROTO_NUM_KINDS
} rlo__proto_kind;

/**
 * Look at a message before protobuf-c does, which recurses without end, takes
 * memory in proportion to what it is promised, wraps numbers that are too long,
 * and tells nothing of what is wrong.
 *
 * @return RLO_OK, and protobuf-c will understand it; or a status of
 *         rlo_proto_parse_*, with the position.
 */
RLO_NODISCARD rlo_status rlo__proto_check(const uint8_t *bytes,
                                          size_t size_bytes,
                                          rlo__proto_kind kind);

#endif
