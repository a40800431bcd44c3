/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_COST_TEXT_H
#define RLO_CLI_COST_TEXT_H

#include "relayout/shape_util.h"

#include "json.h"

/** Write the object "cost". */
void rlo__cost_write_json(rlo__json *json, const rlo_shape_cost *cost);

/** Print the slots for the elements, and a line for each part that wastes
 *  some. */
void rlo__cost_print(const rlo_shape_cost *cost);

#endif
