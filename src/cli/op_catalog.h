/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_CATALOG_H
#define RLO_CLI_OP_CATALOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "relayout/kernel.h"

/** The built-in operations and their attributes, for `relayout op`. */

/** Attributes from the command line and a file. */
typedef struct rlo__op_attributes {
  /** There is room for one more. */
  rlo_attribute *items;
  int32_t count;
  /** The memory of each value, or NULL. */
  void **owned;
  /** Names and texts of items point into it. */
  json_t *root;
} rlo__op_attributes;

/** A word for the types of an attribute: "integers", "shape", ... */
const char *rlo__attribute_type_name(uint32_t types);

/**
 * Reads attributes as JSON.
 *
 * @param path   a file with an object, "-" for standard input; NULL: none.
 * @param texts  "NAME=VALUE": JSON, which may lack the quotes of a text and the
 *               brackets of a list ("-" for an empty one), or a number that
 *               JSON has not.
 * @param out_attributes  rlo__op_attributes_deinit must follow in any case.
 * @return RLO__EXIT_OK; else an exit code, after a message with file, line and
 *         column, or with the name of the attribute. Names and types are
 *         checked by the engine.
 */
int rlo__op_attributes_read(const rlo_kernel_config *kernel,
                            const char *path,
                            const char *const *texts,
                            int32_t count,
                            rlo__op_attributes *out_attributes);

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
