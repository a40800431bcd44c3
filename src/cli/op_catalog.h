/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_CATALOG_H
#define RLO_CLI_OP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "relayout/kernel.h"

/** The built-in operations and their attributes, for `relayout op`. */

/** Maximum number of attributes of one operation. */
#define RLO__MAX_OP_ATTRIBUTES 16

/** Attributes parsed from texts. Zero-initialized; rlo__op_attributes_deinit
 *  must follow in any case. */
typedef struct rlo__op_attributes {
  rlo_attribute items[RLO__MAX_OP_ATTRIBUTES];
  int32_t count;
  /** Owned; the values of items point to them. */
  int64_t *lists[RLO__MAX_OP_ATTRIBUTES];
  rlo_shape *shapes[RLO__MAX_OP_ATTRIBUTES];
} rlo__op_attributes;

/**
 * Parses "NAME=VALUE" by the attribute's type in the kernel: a number, numbers
 * separated by commas ("-" for none), true or false, a word, or a shape.
 * @return RLO__EXIT_OK; else an exit code, after a message with the attributes
 *         or the type that the kernel has.
 */
int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text);

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

/** Prints every built-in operation with its inputs and attributes. Returns
 *  RLO__EXIT_OK, or prints the reason and returns RLO__EXIT_FAILURE. */
int rlo__op_catalog_print(bool is_json);

#endif
