/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DESCRIBE_H
#define RLO_CLI_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/xla/shape_tree.h"

#include "report.h"

/** The parts of `relayout describe` for all that is no single array. The
 *  functions that return an int return RLO__EXIT_OK, or print the reason and
 *  return RLO__EXIT_FAILURE. */

/** Prints the sizes of a tree and of each of its leaves. */
int rlo__describe_tree(const rlo_shape_tree *tree, bool is_json);

/** Prints the sizes of a program's parameters and of its result. */
int rlo__describe_program(const rlo_program_shape *program, bool is_json);

/** Prints the sizes of the modules in a file of HLO text ("-": standard input)
 *  and the arrays with the most padding, `top` of each module. Lines that are
 *  no HLO are reported and make it fail, after the rest was read. */
int rlo__describe_hlo(const char *path, int64_t top, bool is_json);

/** Prints the members of a file of weights, or of the files of a folder: their shapes,
 *  the bytes that padding and tiles waste, how they are aligned, and which are too
 *  long for a buffer of the default device, if there is one. */
int rlo__describe_weights(const char *path, bool is_json);

/** The sizes of arrays together. */
typedef struct rlo__array_sizes {
  /** Arrays and buffers whose size is known. */
  int64_t arrays;
  /** Opaque values, and arrays with a dimension without bound. */
  int64_t without_size;
  int64_t elements;
  int64_t bytes;
  int64_t physical_bytes;
} rlo__array_sizes;

/** Adds a leaf: an array or a buffer; an opaque value; a token adds nothing.
 *  Returns RLO_OK; RLO_OVERFLOW if a sum exceeds 64 bits, and the sums are then
 *  undefined. */
RLO_NODISCARD rlo_status rlo__array_sizes_add(rlo__array_sizes *sizes, const rlo_subshape *leaf);

/** Adds all leaves of a tree. */
RLO_NODISCARD rlo_status rlo__array_sizes_add_tree(rlo__array_sizes *sizes,
                                                   const rlo_shape_tree *tree);

/** Returns the bytes beyond those of elements; 0 of a broadcast view, whose
 *  elements have fewer. */
int64_t rlo__array_sizes_padding_bytes(const rlo__array_sizes *sizes);

/** Returns their share of the physical bytes; 0 if there are none. */
double rlo__array_sizes_padding_share(const rlo__array_sizes *sizes);

/** Adds elements, bytes, physical_bytes and padding_share to a JSON object:
 *  each null if only something without a size was added. */
void rlo__array_sizes_report(rlo__report *r, const rlo__array_sizes *sizes);

#endif
