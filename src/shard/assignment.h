/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHARD_ASSIGNMENT_H
#define RLO_SHARD_ASSIGNMENT_H

#include <stdint.h>

#include "relayout/status.h"

/**
 * Gives each of `count` rows a column of its own, so that the sum of the gains
 * is the largest possible: the assignment problem, by shortest augmenting
 * paths. Takes time of the order of count^3 and memory of the order of count.
 * @param gains        count x count, row-major; 0 to INT64_MAX / (2 * (count +
 *                     1)), so that no sum overflows.
 * @param out_columns  the column of each row.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__assignment_find(const int64_t *gains,
                                              int64_t count,
                                              int64_t *out_columns);

#endif
