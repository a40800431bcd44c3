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
RLO_NODISCARD rlo_status rlo__redistribution_check_device(
    const rlo_redistribution *plan, int64_t device);

/** What becomes of the subgroups of a sharding in an adjoint. */
enum { RLO__COPIES_TO_SUMMANDS = 1 << 0, RLO__SUMMANDS_TO_COPIES = 1 << 1 };

/** Makes the sharding of the same tiles, with some of these changes; with both
 *  it is the dual one. Boxes stay as they are. The caller releases it.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__sharding_exchange(rlo_sharding *sharding,
                                                uint32_t changes,
                                                rlo_sharding **out_sharding);

/** RLO_OK; RLO_UNSUPPORTED where several devices hold a box of a list, which
 *  has no form for summands. `side` is a word for the message. */
RLO_NODISCARD rlo_status
rlo__holding_check_no_box_copies(const rlo__holding *holding, const char *side);

#endif
