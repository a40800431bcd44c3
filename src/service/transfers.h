/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_TRANSFERS_H
#define RLO_SERVICE_TRANSFERS_H

#include "ir/footprint.h"
#include "relayout/storage.h"

/**
 * A lattice of a storage, cut into transfers of about equal bytes, which many
 * threads make at once. Each is a lattice itself, whose packed bytes are a
 * contiguous part of the whole's.
 */
typedef struct rlo__transfers {
  int64_t count;
  /** The dim that is cut into `parts` parts of `part` indices of `bytes` packed
   *  bytes each. Those before it have one index in each transfer, those behind
   *  it are whole. If it is num_dims, runs are cut. */
  int32_t dim;
  int64_t part, parts, bytes;
} rlo__transfers;

/**
 * Cuts a lattice, into 0 transfers if it has no byte.
 * @param target_bytes   at most so many in a transfer, or one granule.
 * @param granule_bytes  runs are cut at multiples of this.
 */
rlo__transfers rlo__transfers_make(const rlo__lattice *lattice,
                                   int64_t target_bytes,
                                   int64_t granule_bytes);

/** Moves transfer number `number` between a storage and the packed memory of
 *  the whole lattice. Sets *out_bytes to its bytes.
 *  @return what rlo__storage_transfer returns. */
RLO_NODISCARD rlo_status rlo__transfers_do(const rlo__transfers *transfers,
                                           const rlo__lattice *lattice,
                                           int64_t number,
                                           rlo_storage *storage,
                                           char *packed,
                                           bool is_write,
                                           int64_t *out_bytes);

#endif
