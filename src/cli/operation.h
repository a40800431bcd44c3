/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OPERATION_H
#define RLO_CLI_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "op_attributes.h"
#include "options.h"

/** One operation on arrays in files, as it is asked for. All borrowed. */
typedef struct rlo__op_request {
  const char *name;
  /** As given: "NAME=VALUE". */
  const char *attributes[RLO__MAX_OP_ATTRIBUTES];
  int32_t num_attributes;
  /** Of the inputs, in their order; "-": what the file says. Room for one for
   *  each word of the command line. */
  const char **from;
  int32_t num_from;
  /** NULL: row-major. */
  const char *to;
  /** Of the inputs, then of the results. */
  char **paths;
  int32_t num_paths;
  rlo__common_options common;
  bool is_on_host;
} rlo__op_request;

/** Run it: read its inputs, run it on a device or on the host, write all of its
 *  results or none, and print their shapes. RLO__EXIT_OK, or prints why not. */
int rlo__operation_run(const rlo__op_request *request);

#endif
