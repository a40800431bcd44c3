/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_CONVERT_H
#define RLO_CLI_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "array_file.h"
#include "options.h"
#include "stream.h"

/** The move of an array from one file to another.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

/** The request of a command line. All borrowed. */
typedef struct rlo__convert_request {
  const char *input_path;
  const char *output_path;
  /** NULL if not given. */
  const char *from;
  const char *to;
  const char *permutation;
  /** --byte-order: even if that of IN, or of OUT if IN has a header, is big;
   *  above 2 if that of OUT is big. */
  int32_t byte_order;
  rlo__file_hints hints;
  rlo__stream_options stream;
  rlo__common_options common;
  bool is_verified;
  bool has_digest;
} rlo__convert_request;

/** Rows of the table of a verb with this request: the arrays. */
#define RLO__CONVERT_OPTIONS                                                          \
  RLO__OPTION("from", TEXT, rlo__convert_request, from),                              \
      RLO__OPTION("to", TEXT, rlo__convert_request, to),                              \
      RLO__OPTION("perm", TEXT, rlo__convert_request, permutation),                   \
      RLO__OPTION_BYTES("offset", rlo__convert_request, hints.offset_bytes, 0),       \
      RLO__OPTION_WITHIN("array", rlo__convert_request, hints.array, 0, INT64_MAX),   \
      RLO__OPTION_OF("byte-order", rlo__convert_request, byte_order, "little", "big", \
                     "little,big", "big,big"),                                        \
      RLO__OPTION("bitcast", FLAG, rlo__convert_request, hints.is_bitcast)

typedef struct rlo__conversion {
  rlo__convert_request request;
  /** The shape of request.from. */
  rlo_shape from;
  rlo__array_source source;
  /** Dimension k of the output is dimension permutation[k] of the input. */
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape dst_shape;
  /** The numbers of the output are big-endian. */
  bool is_big_endian;
  rlo_problem problem;
} rlo__conversion;

/** Parses the command line of a verb that takes the options of `convert`, or
 *  some of them, and two files. */
int rlo__convert_request_take(const rlo__command *command, int argc, char **argv,
                              rlo__convert_request *out_request);

/** Opens the source of a conversion, of which only the request is set, and sets
 *  what is known then: the permutation and the shape of the output. Release
 *  with rlo__array_source_close, if this succeeds. */
int rlo__conversion_open(rlo__conversion *conversion);

#endif
