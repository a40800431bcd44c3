/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHARD_REDISTRIBUTION_H
#define RLO_SHARD_REDISTRIBUTION_H

#include <stdatomic.h>

#include "relayout/redistribution.h"
#include "shard/holding.h"

struct rlo_redistribution {
  atomic_int references;
  int64_t num_devices;
  int32_t rank;
  rlo_shape source_shape, destination_shape;
  /** Dimension k of the destination is from[k] of the source. */
  int32_t from[RLO_MAX_RANK];
  int64_t element_bits;
  rlo_sharding *sharding[2];
  rlo__holding source, destination;
};

/** RLO_OK; RLO_OUT_OF_RANGE for a device that takes no part. */
RLO_NODISCARD rlo_status rlo__redistribution_check_device(const rlo_redistribution *plan,
                                                          int64_t device);

/** The round of a pairwise exchange between `count` devices or ranks in which
 *  two of them are partners; each meets every other one, and itself, once. */
int64_t rlo__redistribution_round(int64_t a, int64_t b, int64_t count);

/**
 * Gives each of `count` rows a column of its own, so that the sum of the gains
 * is the largest possible: the assignment problem, by shortest augmenting
 * paths. Takes time of the order of count^3 and memory of the order of count.
 * @param gains        count x count, row-major; 0 to INT64_MAX / (2 * (count +
 *                     1)), so that no sum overflows.
 * @param out_columns  the column of each row.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__assignment_find(const int64_t *gains, int64_t count,
                                              int64_t *out_columns);

#endif
