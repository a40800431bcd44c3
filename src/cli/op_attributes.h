/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_ATTRIBUTES_H
#define RLO_CLI_OP_ATTRIBUTES_H

#include "relayout/kernel.h"

/** Most attributes of one operation. */
#define RLO__MAX_OP_ATTRIBUTES 16

/** Attributes read from texts; zeroed before, given back by deinit in any
 *  case. */
typedef struct rlo__op_attributes {
  rlo_attribute items[RLO__MAX_OP_ATTRIBUTES];
  int32_t count;
  /** What items point to. */
  int64_t *lists[RLO__MAX_OP_ATTRIBUTES];
  rlo_shape *shapes[RLO__MAX_OP_ATTRIBUTES];
} rlo__op_attributes;

/**
 * Read "NAME=VALUE" as the type that the kernel gives to the attribute: a
 * number, numbers between commas ("-" for none), true or false, a word, or a
 * shape.
 * @return RLO__EXIT_OK, or prints what is wrong and what the kernel knows, and
 *         returns RLO__EXIT_USAGE.
 */
int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text);

void rlo__op_attributes_deinit(rlo__op_attributes *attributes);

/** A word for types of attributes: "integers", "shape", ... */
const char *rlo__op_attribute_type_name(uint32_t types);

#endif
