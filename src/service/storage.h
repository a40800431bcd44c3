/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_H
#define RLO_SERVICE_STORAGE_H

#include <stdatomic.h>

#include "ir/footprint.h"
#include "relayout/storage.h"

/** service/storage_cache.h. */
struct rlo__storage_calls;

/**
 * The use that a job makes of a storage. Transfers move all bytes or fail, then
 * with an undefined part of them moved. Failures, besides those of a storage of
 * the user's: RLO_INVALID_ARGUMENT  a write to a storage that is only read, or
 * the other way round; what is not in granules; RLO_OUT_OF_RANGE      beyond
 * the storage's bytes; RLO_DATA_LOSS         the file ends before; RLO_IO the
 * system failed: the message has the count, the position in the file, its path
 * and the error's words. Threads: safe; writers must not overlap.
 */

RLO_NODISCARD rlo_status rlo__storage_read(rlo_storage *storage, int64_t offset, int64_t bytes,
                                           void *into);
RLO_NODISCARD rlo_status rlo__storage_write(rlo_storage *storage, int64_t offset, int64_t bytes,
                                            const void *from);

/**
 * Moves a lattice between a storage and its packed memory: reads it, or writes
 * it. Bytes between the runs are never written to.
 *
 * A file is read with one call where the gaps between short runs cost less than
 * calls would; they are thrown away.
 *
 * @param lattice  as rlo__problem_packing() makes them, or a part of one.
 */
RLO_NODISCARD rlo_status rlo__storage_transfer(rlo_storage *storage, const rlo__lattice *lattice,
                                               char *packed, bool is_write);

/** Ensures that positions 0 to bytes - 1 have room, so that no write of theirs
 *  finds the disk full. Never writes zeros. On failure a file may be longer
 *  than before. */
RLO_NODISCARD rlo_status rlo__storage_reserve(rlo_storage *storage, int64_t bytes);

/** Makes durable what was written before the call. After one failure every
 *  later call fails alike: the system has dropped what it could not write. */
RLO_NODISCARD rlo_status rlo__storage_flush(rlo_storage *storage);

/**
 * Before the first transfer: says that the storage is passed through once and
 * is large. A file then uses little of the system's page cache: what is written
 * goes to the disk soon, at most 64 MiB of it are in waiting, and what is on
 * the disk or was read is dropped. Without effect on others.
 */
void rlo__storage_set_streamed(rlo_storage *storage);

/** For tests: replaces the system calls of a storage of a file. The table is
 *  borrowed while the storage lives. Before the first use of the storage. */
void rlo__storage_set_calls(rlo_storage *storage, const struct rlo__storage_calls *calls);

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
RLO_NODISCARD rlo_status rlo__storage_get_identity(const rlo_storage *storage,
                                                   rlo__storage_identity *out_identity);

/** Tells if two storages are parts of one file. */
bool rlo__storage_is_same_file(const rlo__storage_identity *a, const rlo__storage_identity *b);

/** Compares with an identity that was taken before. @return RLO_OK;
 *  RLO_DATA_LOSS, naming what is different; RLO_IO. */
RLO_NODISCARD rlo_status rlo__storage_check_identity(const rlo_storage *storage,
                                                     const rlo__storage_identity *identity);

/* ------------------------------------------------------- kinds of storages */

/** A walk over the runs of a lattice: begin with {.offset =
 *  lattice->base_byte}. */
typedef struct rlo__run_walk {
  /** Position of the run that the walk is at. */
  int64_t offset;
  int64_t index[RLO_MAX_AXES];
} rlo__run_walk;

/** Goes to the next run; from the last one to the first. */
static inline void rlo__run_walk_step(rlo__run_walk *walk, const rlo__lattice *lattice) {
  for (int32_t d = lattice->num_dims - 1; d >= 0; --d) {
    walk->offset += lattice->strides[d];
    if (++walk->index[d] < lattice->extents[d]) {
      return;
    }
    walk->index[d] = 0;
    walk->offset -= lattice->strides[d] * lattice->extents[d];
  }
}

/** Moves a lattice of `bytes` bytes of memory, but for what of it is not in the
 *  memory, between there and its packed memory. */
void rlo__lattice_copy(const rlo__lattice *lattice, char *memory, int64_t bytes, char *packed,
                       bool is_write);

/** The functions of a kind of storage. Arguments are checked. */
typedef struct rlo__storage_kind {
  /** Transfers like rlo__storage_transfer, for a lattice of at least one byte,
   * all in the storage and in granules. */
  rlo_status (*transfer)(rlo_storage *storage, const rlo__lattice *lattice, char *packed,
                         bool is_write);
  /** NULL: there is nothing to do. `bytes` is at least 1. */
  rlo_status (*reserve)(rlo_storage *storage, int64_t bytes);
  rlo_status (*flush)(rlo_storage *storage);
  void (*set_streamed)(rlo_storage *storage);
  /** NULL: this is no file. The identity is zeroed before. */
  rlo_status (*get_identity)(const rlo_storage *storage, rlo__storage_identity *out_identity);
  /** Releases what the storage has, and itself. */
  void (*destroy)(rlo_storage *storage);
} rlo__storage_kind;

/** Counters of reads, or of writes, up to now, each of which may be a bit ahead
 *  of the others. A transfer is what is asked of the system or the user in one
 *  call, or one copy of memory. */
typedef struct rlo__storage_counters {
  /** Transfers; the bytes that were asked for; those of gaps, moved in
   *  addition; those that went past the page cache. */
  atomic_int_fast64_t num, bytes, skipped_bytes, direct_bytes;
  /** The smallest transfer, of those that do not end with the storage;
   *  INT64_MAX: none were made. */
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
RLO_NODISCARD rlo_status rlo__storage_read_traits(const rlo_storage_traits *traits,
                                                  rlo_storage_traits *out_traits);

/** Initializes the common part, with one reference. */
void rlo__storage_init(rlo_storage *storage, const rlo__storage_kind *kind,
                       const rlo_storage_traits *traits);

/** Counts a transfer of `bytes` bytes, of which nobody asked for `skipped`, and
 *  `direct` went past the page cache. */
void rlo__storage_count(rlo_storage *storage, bool is_write, int64_t offset, int64_t bytes,
                        int64_t skipped, int64_t direct);

#endif
