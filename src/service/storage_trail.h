/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_TRAIL_H
#define RLO_SERVICE_STORAGE_TRAIL_H

#include "base/thread.h"
#include "service/storage_calls.h"

/**
 * What a stream through a file leaves in the system's page cache, and its
 * removal. Written bytes are sent to the disk in chunks; with the eighth chunk
 * the writer waits for the first one, so that no more are in waiting, and
 * whoever writes faster than the disk is slowed down. What is on the disk, and
 * what was read, is dropped from the cache.
 *
 * Bytes are noted as ranges. Dropping a hull instead would take away the rows
 * between, which may be what is read next.
 *
 * Threads: safe. A writer may wait for the disk while others wait for it.
 */
enum { RLO__TRAIL_CHUNKS = 8, RLO__TRAIL_RANGES = 128 };

typedef struct rlo__trail_chunk {
  int32_t num_ranges;
  int64_t bytes;

  struct {
    int64_t begin, end;
  } ranges[RLO__TRAIL_RANGES];
} rlo__trail_chunk;

typedef struct rlo__trail {
  rlo__mutex mutex;
  const rlo__storage_calls *calls;
  int fd;
  rlo__trail_chunk read;
  /** A ring: `num_sent` chunks on their way to the disk, from `oldest` on, then
   *  the one that is being filled. */
  rlo__trail_chunk written[RLO__TRAIL_CHUNKS];
  int32_t oldest, num_sent;
  /** The errno of the first bytes that were lost; 0: none. */
  int lost_error;
} rlo__trail;

/** Begins a trail in zeroed memory; the table and the descriptor are borrowed.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__trail_init(rlo__trail *trail,
                                         const rlo__storage_calls *calls,
                                         int fd);
void rlo__trail_deinit(rlo__trail *trail);

/** Notes bytes that were read, at a position in the file. */
void rlo__trail_add_read(rlo__trail *trail, int64_t offset, int64_t bytes);

/** Notes bytes that were written. @return 0, or the errno with which bytes,
 *  maybe others, could not be brought to the disk. The system does not repeat
 *  it: they are lost. */
int rlo__trail_add_written(rlo__trail *trail, int64_t offset, int64_t bytes);

/** Drops what was written, after a sync of the whole file. @return 0, or the
 *  errno with which bytes were lost: a writer to which the system said so
 * may not have said so yet, and the sync does not say it again. */
int rlo__trail_drop_written(rlo__trail *trail);

#endif
