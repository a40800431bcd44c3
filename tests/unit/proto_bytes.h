/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_UNIT_PROTO_BYTES_H
#define RLO_TESTS_UNIT_PROTO_BYTES_H

#include <stdlib.h>

#include "relayout/xla/proto.h"
#include "support/exact_copy.h"

/* Bytes of messages as protobuf writes them, for suites that hold the reader
 * and the writer against them. */

/** A string literal and how many bytes it has, NULs included. */
#define BYTES(literal) (literal), sizeof(literal) - 1
/** INT64_MIN and -1 as varints. */
#define MIN64     "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
#define MINUS_ONE "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
/** Field 100, which no message has, with a number below 128. */
#define FIELD_100(byte) "\xa0\x06" byte

/** rlo_proto_parse_shape on a copy of the exact size. */
static inline rlo_status parse_exact_shape(const void *bytes, size_t size_bytes,
                                           rlo_shape *out_shape) {
  void *copy = test_exact_copy(bytes, size_bytes);
  rlo_status status = rlo_proto_parse_shape(copy, size_bytes, out_shape, NULL);
  free(copy);
  return status;
}

#endif
