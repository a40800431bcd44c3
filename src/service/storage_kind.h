/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_KIND_H
#define RLO_SERVICE_STORAGE_KIND_H

#include <stdatomic.h>

#include "relayout/problem.h"
#include "relayout/storage.h"

/** service/storage.h, which stands above. */
struct rlo__storage_identity;

/**
 * Runs of equal length in a storage, which lie packed in memory, one after the
 * other. Checked: at least one, within the storage, in granules, and as few and
 * as long as they can be.
 */
typedef struct rlo__runs {
  int64_t run_bytes, num_runs;
  /** Of the first run. */
  int64_t offset;
  int32_t num_dims;
  /** The fastest first. */
  int64_t extents[RLO_MAX_AXES];
  int64_t strides[RLO_MAX_AXES];
} rlo__runs;

/** A walk over runs: begin with {.offset = runs->offset}. */
typedef struct rlo__run_walk {
  /** Of the run that the walk is at. */
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
  /** Reads into, and writes from, packed memory. */
  rlo_status (*read)(rlo_storage *storage, const rlo__runs *runs, void *into);
  rlo_status (*write)(rlo_storage *storage,
                      const rlo__runs *runs,
                      const void *from);
  /** NULL: there is nothing to do. `bytes` is at least 1. */
  rlo_status (*reserve)(rlo_storage *storage, int64_t bytes);
  rlo_status (*flush)(rlo_storage *storage);
  rlo_status (*set_streamed)(rlo_storage *storage);
  /** NULL: this is no file. The identity is zeroed before. */
  rlo_status (*get_identity)(const rlo_storage *storage,
                             struct rlo__storage_identity *out_identity);
  /** Releases what the storage has, and itself. */
  void (*destroy)(rlo_storage *storage);
} rlo__storage_kind;

/** The part of a storage that all kinds have: their first member. */
struct rlo_storage {
  const rlo__storage_kind *kind;
  atomic_int_fast64_t num_references;
  /** Without a 0 that stands for a default. */
  rlo_storage_traits traits;
  /** Reads are refused. */
  bool is_write_only;
  /** NULL: not in host memory. */
  void *memory;
  atomic_int_fast64_t num_reads, num_writes;
  atomic_int_fast64_t bytes_read, bytes_written, bytes_skipped;
  atomic_int_fast64_t direct_bytes_read, direct_bytes_written;
  /** INT64_MAX: none. */
  atomic_int_fast64_t smallest_read, smallest_write;
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

/** Counts a read of `bytes` bytes, of which nobody asked for `skipped`. */
void rlo__storage_count_read(rlo_storage *storage,
                             int64_t offset,
                             int64_t bytes,
                             int64_t skipped);

void rlo__storage_count_write(rlo_storage *storage,
                              int64_t offset,
                              int64_t bytes);

/** Count, in addition, what of it went past the page cache. */
void rlo__storage_count_direct_read(rlo_storage *storage, int64_t bytes);
void rlo__storage_count_direct_write(rlo_storage *storage, int64_t bytes);

#endif
