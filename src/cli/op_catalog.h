/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_CATALOG_H
#define RLO_CLI_OP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "relayout/kernel.h"

/** The built-in operations and their attributes, for `relayout op`. */

/** Maximum number of attributes of one operation. */
#define RLO__MAX_OP_ATTRIBUTES 16

/** Attributes from the command line and files. Zero-initialized;
 *  rlo__op_attributes_deinit must follow in any case. */
typedef struct rlo__op_attributes {
  rlo_attribute items[RLO__MAX_OP_ATTRIBUTES];
  int32_t count;
  /** Owned; the values of items point into them. */
  struct rlo__op_block *blocks;
} rlo__op_attributes;

/** Zeroed memory for `count` elements, which lives as long as the attributes;
 *  NULL after a message. */
void *rlo__op_attributes_allocate(rlo__op_attributes *attributes,
                                  size_t count,
                                  size_t element_bytes);

/** Adds an item, which the caller sets. NULL after a message, if there are too
 *  many: for RLO__EXIT_USAGE. */
rlo_attribute *rlo__op_attributes_append(rlo__op_attributes *attributes);

/** The types of an attribute of a kernel; 0 if it has none of this name. */
uint32_t rlo__op_attribute_types(const rlo_kernel_config *kernel,
                                 const char *name);

/**
 * Parses "NAME=VALUE" by the attribute's type in the kernel: a number, numbers
 * separated by commas ("-" for none), true or false, a word, or a shape.
 * Integers keep all their digits.
 * @return RLO__EXIT_OK; else an exit code, after a message with the attributes
 *         or the type that the kernel has.
 */
int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text);

/**
 * Reads attributes from a file with a JSON object, "-" for standard input.
 * Where the kernel has an attribute of the name, its type decides what a text
 * or an empty list is; objects become maps.
 * @return RLO__EXIT_OK; else an exit code, after a message with file, line and
 *         column, or with the name of the attribute.
 */
int rlo__op_attributes_add_file(rlo__op_attributes *attributes,
                                const rlo_kernel_config *kernel,
                                const char *path);

void rlo__op_attributes_deinit(rlo__op_attributes *attributes);

/** Finds a built-in operation by its name, in any case, with or without
 *  underscores and dashes. The parts of *out_kernel are borrowed from the
 *  engine. Returns RLO__EXIT_OK; RLO__EXIT_USAGE, after a message, if there is
 *  none. */
int rlo__op_catalog_find(rlo_engine *engine,
                         const char *name,
                         rlo_kernel_config *out_kernel);

/** Writes the names of an operation's inputs: "x, value (may be left out)". */
void rlo__op_inputs_text(const rlo_kernel_config *kernel,
                         char *text,
                         size_t text_bytes);

/** Prints every built-in operation with its inputs, whether it has a gradient,
 *  and its attributes. Returns
 *  RLO__EXIT_OK, or prints the reason and returns RLO__EXIT_FAILURE. */
int rlo__op_catalog_print(bool is_json);

#endif
