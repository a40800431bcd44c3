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
  /** Dims from here on are whole in each transfer; the one before is cut into
   *  parts of `part` indices. If `is_run_cut`, runs are cut, into parts of
   *  `part` bytes. */
  int32_t first_whole_dim;
  int64_t part, parts;
  bool is_run_cut;
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
 *  @return what rlo__lattice_transfer returns. */
RLO_NODISCARD rlo_status rlo__transfers_do(const rlo__transfers *transfers,
                                           const rlo__lattice *lattice,
                                           int64_t number,
                                           rlo_storage *storage,
                                           char *packed,
                                           bool is_write,
                                           int64_t *out_bytes);

/** Reads a whole lattice of a storage into packed memory, or writes it from
 *  there. @return what rlo__storage_read_lattice and its peer return. */
RLO_NODISCARD rlo_status rlo__lattice_transfer(const rlo__lattice *lattice,
                                               rlo_storage *storage,
                                               char *packed,
                                               bool is_write);

/** The same for a lattice of `bytes` bytes of memory, but for what of it is not
 *  in the memory. */
void rlo__lattice_copy(const rlo__lattice *lattice,
                       char *memory,
                       int64_t bytes,
                       char *packed,
                       bool is_write);

#endif
