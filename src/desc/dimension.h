/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_DIMENSION_H
#define RLO_DESC_DIMENSION_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/layout.h"
#include "relayout/status.h"

/*
 * Dimension numbers as callers give them: 0 is the first, -1 the last. Whatever
 * takes one converts it here, so that the rule and the messages are the same
 * everywhere. `what` is what a message begins with: "reverse" makes
 * "reverse: dimension 3 of an array of rank 3; -3 to 2 are possible"; NULL for
 * nothing.
 */

/** Converts a number to an index in [0, rank). RLO_OUT_OF_RANGE. */
RLO_NODISCARD rlo_status rlo__dim_find(const char *what, int64_t number, int32_t rank,
                                       int32_t *out_dim);

/** The dimensions of an array that a caller has named. */
typedef struct rlo__dim_set {
  int32_t rank;
  bool has[RLO_MAX_RANK];
  /** The number that the caller gave for each of these. */
  int64_t numbers[RLO_MAX_RANK];
} rlo__dim_set;

/** The empty set. rank is at most RLO_MAX_RANK. */
void rlo__dim_set_init(rlo__dim_set *set, int32_t rank);

/** Adds a dimension. As rlo__dim_find; RLO_INVALID_ARGUMENT, naming both
 *  numbers, if the set has it.
 *  @param out_dim  the index; may be NULL. */
RLO_NODISCARD rlo_status rlo__dim_set_add(rlo__dim_set *set, const char *what, int64_t number,
                                          int32_t *out_dim);

/** Makes the set of `count` numbers, by rlo__dim_set_add. */
RLO_NODISCARD rlo_status rlo__dim_set_make(rlo__dim_set *set, const char *what, int32_t rank,
                                           const int32_t *numbers, int32_t count);

/** Checks a rank against 0 and RLO_MAX_RANK.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT; RLO_UNSUPPORTED. */
RLO_NODISCARD rlo_status rlo__rank_check(int32_t rank);

/** Checks a rank, and that no size is negative. */
RLO_NODISCARD rlo_status rlo__dims_check(const int64_t *dims, int32_t rank);

/** The number of elements: 0 if one size is 0, even where others overflow.
 *  False if it does not fit 64 bits. No size is negative. */
bool rlo__dims_product(const int64_t *dims, int32_t rank, int64_t *out_product);

#endif
