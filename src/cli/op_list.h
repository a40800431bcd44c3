/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_LIST_H
#define RLO_CLI_OP_LIST_H

#include <stdbool.h>

#include "relayout/kernel.h"

/** Find the built-in operation of a name, written in any case, with or without
 *  underscores and dashes. RLO__EXIT_OK, or prints that there is none. The
 *  kernel's parts are borrowed from the engine. */
int rlo__op_find(rlo_engine *engine,
                 const char *name,
                 rlo_kernel_config *out_kernel);

/** Print every built-in operation with its inputs and attributes.
 *  RLO__EXIT_OK, or prints why not. */
int rlo__op_list_print(bool is_json);

#endif
