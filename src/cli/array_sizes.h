/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_ARRAY_SIZES_H
#define RLO_CLI_ARRAY_SIZES_H

#include "relayout/xla/shape_tree.h"

#include "report.h"

/** The sizes of arrays together, for `relayout describe`. */
typedef struct rlo__array_sizes {
  /** Arrays and buffers whose size is known. */
  int64_t arrays;
  /** Opaque values, and arrays with a dimension without bound. */
  int64_t without_size;
  int64_t elements;
  int64_t bytes;
  int64_t physical_bytes;
} rlo__array_sizes;

/** Adds a subshape: an array or a buffer; an opaque value; a tuple and a token
 *  add nothing. Returns RLO_OK; RLO_OVERFLOW if a sum exceeds 64 bits, and the
 *  sums are then undefined. */
RLO_NODISCARD rlo_status rlo__array_sizes_add(rlo__array_sizes *sizes,
                                              const rlo_subshape *subshape);

/** Adds all leaves of a tree. */
RLO_NODISCARD rlo_status rlo__array_sizes_add_tree(rlo__array_sizes *sizes,
                                                   const rlo_shape_tree *tree);

/** Returns the bytes beyond those of elements; 0 of a broadcast view, whose
 *  elements have fewer. */
int64_t rlo__array_sizes_padding_bytes(const rlo__array_sizes *sizes);

/** Returns their share of the physical bytes; 0 if there are none. */
double rlo__array_sizes_padding_share(const rlo__array_sizes *sizes);

/** Adds elements, bytes, physical_bytes and padding_share; in JSON each null if
 *  only something without a size was added. */
void rlo__array_sizes_report(rlo__report *r, const rlo__array_sizes *sizes);

/** Returns "array", "tuple", "token", "opaque" or "buffer". */
const char *rlo__shape_kind_name(rlo_shape_kind kind);

/** Returns the text of a tree, for free(); NULL, after a message, if memory ran
 *  out. */
char *rlo__shape_tree_text_make(const rlo_shape_tree *tree);

#endif
