/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DESCRIBE_H
#define RLO_CLI_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/xla/shape_tree.h"

/** The parts of `relayout describe` for all that is no single array. The
 *  functions return RLO__EXIT_OK, or print the reason and return
 *  RLO__EXIT_FAILURE. */

/** Prints the sizes of a tree and of each of its leaves. */
int rlo__describe_tree(const rlo_shape_tree *tree, bool is_json);

/** Prints the sizes of a program's parameters and of its result. */
int rlo__describe_program(const rlo_program_shape *program, bool is_json);

/** Prints the sizes of the modules in a file of HLO text ("-": standard input)
 *  and the arrays with the most padding, `top` of each module. Lines that are
 *  no HLO are reported and make it fail, after the rest was read. */
int rlo__describe_hlo(const char *path, int64_t top, bool is_json);

/** The contents of a file with a protocol buffer. Both may be NULL; the caller
 *  releases them. */
typedef struct rlo__proto_contents {
  rlo_shape_tree *tree;
  rlo_program_shape *program;
} rlo__proto_contents;

/** Reads a file that holds a ShapeProto or a ProgramShapeProto in wire form.
 *  Fails if the command was built without them. */
int rlo__proto_load(const char *path, rlo__proto_contents *out_contents);

/** Writes a tree as a ShapeProto, or a program as a ProgramShapeProto; the
 *  file appears complete or not at all. */
int rlo__proto_save(const char *path, const rlo__proto_contents *contents);

#endif
