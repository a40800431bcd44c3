/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_H
#define RLO_SERVICE_STORAGE_H

#include <stdatomic.h>

#include "relayout/problem.h"
#include "relayout/storage.h"

/** service/storage_cache.h. */
struct rlo__storage_calls;

/**
 * The use that a job makes of a storage. Transfers move all bytes or fail, then
 * with an undefined part of them moved. Failures, besides those of a storage of
 * the user's: RLO_INVALID_ARGUMENT  a write to a storage that is only read, or
 * the other way round; what is not in granules; RLO_OUT_OF_RANGE      beyond
 * the storage's bytes; RLO_OVERFLOW          a lattice whose bytes or positions
 * do not fit int64; RLO_DATA_LOSS         the file ends before; RLO_IO the
 * system failed: the message has the count, the position in the file, its path
 * and the error's words. Threads: safe; writers must not overlap.
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

/** For tests: replaces the system calls of a storage of a file. The table is
 *  borrowed while the storage lives. Before the first use of the storage. */
void rlo__storage_set_calls(rlo_storage *storage,
                            const struct rlo__storage_calls *calls);

/** Counts of the transfers up to now, each of which may be a bit ahead of the
 *  others. A transfer is what is asked of the system or the user in one call,
 *  or one copy of memory. */
typedef struct rlo__storage_stats {
  int64_t num_reads, num_writes;
  /** Bytes that were asked for. */
  int64_t bytes_read, bytes_written;
  /** Bytes of gaps, read in addition. */
  int64_t bytes_skipped;
  /** Those that went past the page cache. */
  int64_t direct_bytes_read, direct_bytes_written;
  /** The smallest transfer, of those that do not end with the storage; 0: none
   *  were made. */
  int64_t smallest_read, smallest_write;
} rlo__storage_stats;

void rlo__storage_get_stats(const rlo_storage *storage,
                            rlo__storage_stats *out_stats);

/** A file and its last change. */
typedef struct rlo__storage_identity {
  /** False for what is no file; then all but `number` is 0. */
  bool is_file;
  uint64_t device, inode;
  /** Position of the storage's first byte in the file. */
  int64_t offset;
  /** Length of the whole file. */
  int64_t bytes;
  /** When it was last written, as the system counts: some milliseconds. */
  int64_t modified_nanos;
  /** The number that `identify` of a user's storage sets; 0 for others. */
  uint64_t number;
} rlo__storage_identity;

/** @return RLO_OK; RLO_IO; or what the user's function returns. */
RLO_NODISCARD rlo_status rlo__storage_get_identity(
    const rlo_storage *storage, rlo__storage_identity *out_identity);

/** Tells if two storages are parts of one file. */
bool rlo__storage_is_same_file(const rlo__storage_identity *a,
                               const rlo__storage_identity *b);

/** Compares with an identity that was taken before. @return RLO_OK;
 *  RLO_DATA_LOSS, naming what is different; RLO_IO. */
RLO_NODISCARD rlo_status rlo__storage_check_identity(
    const rlo_storage *storage, const rlo__storage_identity *identity);

/* ------------------------------------------------------- kinds of storages */

/**
 * Runs of equal length in a storage, which lie packed in memory, one after the
 * other. Checked: at least one, within the storage, in granules, and as few and
 * as long as they can be.
 */
typedef struct rlo__runs {
  int64_t run_bytes, num_runs;
  /** Position of the first run. */
  int64_t offset;
  int32_t num_dims;
  /** The fastest first. */
  int64_t extents[RLO_MAX_AXES];
  int64_t strides[RLO_MAX_AXES];
} rlo__runs;

/** A walk over runs: begin with {.offset = runs->offset}. */
typedef struct rlo__run_walk {
  /** Position of the run that the walk is at. */
  int64_t offset;
  int64_t index[RLO_MAX_AXES];
} rlo__run_walk;

/** Goes to the next run; from the last one to the first. */
static inline void rlo__run_walk_step(rlo__run_walk *walk,
                                      const rlo__runs *runs) {
  for (int32_t d = 0; d < runs->num_dims; ++d) {
    if (++walk->index[d] < runs->extents[d]) {
      walk->offset += runs->strides[d];
      return;
    }
    walk->index[d] = 0;
    walk->offset -= runs->strides[d] * (runs->extents[d] - 1);
  }
}

/** The functions of a kind of storage. Arguments are checked. */
typedef struct rlo__storage_kind {
  /** Reads runs into packed memory, or writes them from it. */
  rlo_status (*transfer)(rlo_storage *storage,
                         const rlo__runs *runs,
                         char *packed,
                         bool is_write);
  /** NULL: there is nothing to do. `bytes` is at least 1. */
  rlo_status (*reserve)(rlo_storage *storage, int64_t bytes);
  rlo_status (*flush)(rlo_storage *storage);
  rlo_status (*set_streamed)(rlo_storage *storage);
  /** NULL: this is no file. The identity is zeroed before. */
  rlo_status (*get_identity)(const rlo_storage *storage,
                             rlo__storage_identity *out_identity);
  /** Releases what the storage has, and itself. */
  void (*destroy)(rlo_storage *storage);
} rlo__storage_kind;

/** Counters of reads, and of writes. */
typedef struct rlo__storage_counters {
  atomic_int_fast64_t num, bytes, skipped_bytes, direct_bytes;
  /** INT64_MAX: none. */
  atomic_int_fast64_t smallest;
} rlo__storage_counters;

/** The part of a storage that all kinds have: their first member. */
struct rlo_storage {
  const rlo__storage_kind *kind;
  atomic_int_fast64_t num_references;
  /** Without a 0 that stands for a default. */
  rlo_storage_traits traits;
  /** Reads are refused. */
  bool is_write_only;
  /** The bytes where they lie in host memory; NULL: they do not. */
  char *memory;
  /** [is_write]. */
  rlo__storage_counters counters[2];
};

/** Reads the user's traits over `out_traits`, the defaults of a kind; those
 *  that are 0 then become the general defaults. NULL is legal.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__storage_read_traits(
    const rlo_storage_traits *traits, rlo_storage_traits *out_traits);

/** Initializes the common part, with one reference. */
void rlo__storage_init(rlo_storage *storage,
                       const rlo__storage_kind *kind,
                       const rlo_storage_traits *traits);

/** Counts a transfer of `bytes` bytes, of which nobody asked for `skipped`, and
 *  `direct` went past the page cache. */
void rlo__storage_count(rlo_storage *storage,
                        bool is_write,
                        int64_t offset,
                        int64_t bytes,
                        int64_t skipped,
                        int64_t direct);

#endif
