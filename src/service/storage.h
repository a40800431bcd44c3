/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_H
#define RLO_SERVICE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/storage.h"

/**
 * What a job does with a storage. Transfers move all bytes or fail, then with
 * an undefined part of them moved. Failures, besides those of a storage of the
 * user's:
 *   RLO_INVALID_ARGUMENT  a write to a storage that is only read, or the other
 *                         way round; what is not in granules;
 *   RLO_OUT_OF_RANGE      beyond the storage's bytes;
 *   RLO_OVERFLOW          a lattice whose bytes or positions do not fit int64;
 *   RLO_DATA_LOSS         the file ends before;
 *   RLO_IO                the system failed: the message has the count, the
 *                         position in the file, its path and the error's words.
 * Threads: safe; writers must not overlap.
 */

RLO_NODISCARD rlo_status rlo__storage_read(rlo_storage *storage,
                                           int64_t offset,
                                           int64_t bytes,
                                           void *into);
RLO_NODISCARD rlo_status rlo__storage_write(rlo_storage *storage,
                                            int64_t offset,
                                            int64_t bytes,
                                            const void *from);

/**
 * Reads a lattice: runs of `run_bytes` bytes at base + sum(index[d] *
 * strides[d]) for each index of the box `extents`, into packed memory, in
 * row-major order: dimension 0 is the slowest.
 *
 * A file is read with one call where the gaps between short runs cost less than
 * calls would; they are thrown away.
 *
 * @param strides   in bytes; 0 and negative ones are legal.
 * @param num_dims  at most RLO_MAX_AXES; RLO_UNSUPPORTED beyond it.
 */
RLO_NODISCARD rlo_status rlo__storage_read_lattice(rlo_storage *storage,
                                                   int64_t base,
                                                   const int64_t *extents,
                                                   const int64_t *strides,
                                                   int32_t num_dims,
                                                   int64_t run_bytes,
                                                   void *into);

/** Writes a lattice, whose runs must not overlap, from packed memory. Bytes
 *  between the runs are never touched. */
RLO_NODISCARD rlo_status rlo__storage_write_lattice(rlo_storage *storage,
                                                    int64_t base,
                                                    const int64_t *extents,
                                                    const int64_t *strides,
                                                    int32_t num_dims,
                                                    int64_t run_bytes,
                                                    const void *from);

/** Ensures that positions 0 to bytes - 1 have room, so that no write of theirs
 *  finds the disk full. Never writes zeros. On failure a file may be longer
 *  than before. */
RLO_NODISCARD rlo_status rlo__storage_reserve(rlo_storage *storage,
                                              int64_t bytes);

/** Makes durable what was written before the call. After one failure every
 *  later call fails alike: the system has dropped what it could not write. */
RLO_NODISCARD rlo_status rlo__storage_flush(rlo_storage *storage);

/**
 * Before the first transfer: says that the storage is passed through once and
 * is large. A file then uses little of the system's page cache: what is written
 * goes to the disk soon, at most 64 MiB of it are in waiting, and what is on
 * the disk or was read is dropped. Without effect on others.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__storage_set_streamed(rlo_storage *storage);

/** Returns the bytes where they lie in host memory, or NULL if they do not, or
 *  there are none. Borrowed from the caller of rlo_storage_from_memory. */
const void *rlo__storage_memory(const rlo_storage *storage);

/** The same; NULL for a storage that is only read. */
void *rlo__storage_writable_memory(const rlo_storage *storage);

/** Counts of the transfers up to now, each of which may be a bit ahead of the
 *  others. A transfer is what is asked of the system or the user in one call,
 *  or one copy of memory. */
typedef struct rlo__storage_stats {
  int64_t num_reads, num_writes;
  /** Bytes that were asked for. */
  int64_t bytes_read, bytes_written;
  /** Bytes of gaps, read in addition. */
  int64_t bytes_skipped;
  /** What of all these went past the page cache. */
  int64_t direct_bytes_read, direct_bytes_written;
  /** The smallest transfer, of those that do not end with the storage; 0: none
   *  were made. */
  int64_t smallest_read, smallest_write;
} rlo__storage_stats;

void rlo__storage_get_stats(const rlo_storage *storage,
                            rlo__storage_stats *out_stats);

/** What identifies a file and its last change. */
typedef struct rlo__storage_identity {
  /** False for what is no file; then all but `number` is 0. */
  bool is_file;
  uint64_t device, inode;
  /** Of the storage's first byte in the file. */
  int64_t offset;
  /** Of the whole file. */
  int64_t bytes;
  /** When it was last written, as the system counts: some milliseconds. */
  int64_t modified_nanos;
  /** What `identify` of a user's storage says; 0 for others. */
  uint64_t number;
} rlo__storage_identity;

/** @return RLO_OK; RLO_IO; or what the user's function returns. */
RLO_NODISCARD rlo_status rlo__storage_get_identity(
    const rlo_storage *storage, rlo__storage_identity *out_identity);

/** Whether two storages are parts of one file. */
bool rlo__storage_is_same_file(const rlo__storage_identity *a,
                               const rlo__storage_identity *b);

/** Compares with an identity that was taken before. @return RLO_OK;
 *  RLO_DATA_LOSS, naming what is different; RLO_IO. */
RLO_NODISCARD rlo_status rlo__storage_check_identity(
    const rlo_storage *storage, const rlo__storage_identity *identity);

#endif
