/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_STORAGE_TRANSFER_H
#define RLO_TESTS_SUPPORT_STORAGE_TRANSFER_H

#include <string.h>

#include "service/storage.h"

/** Moves the lattice of these dimensions, the slowest first. */
static inline rlo_status test_transfer(rlo_storage *storage, int64_t base, const int64_t *extents,
                                       const int64_t *strides, int32_t num_dims, int64_t run_bytes,
                                       const void *packed, bool is_write) {
  rlo__lattice lattice = {.base_byte = base, .num_dims = num_dims, .run_bytes = run_bytes};
  memcpy(lattice.extents, extents, (size_t)num_dims * sizeof *extents);
  memcpy(lattice.strides, strides, (size_t)num_dims * sizeof *strides);
  /* Written to if it is a read. */
  char *moved = (char *)(uintptr_t)packed;
  return rlo__storage_transfer(storage, &lattice, moved, is_write);
}

/** The counters of a storage, with 0 for no smallest transfer. */
typedef struct test_storage_stats {
  int64_t num_reads, num_writes;
  int64_t bytes_read, bytes_written;
  int64_t bytes_skipped;
  int64_t direct_bytes_read, direct_bytes_written;
  int64_t smallest_read, smallest_write;
} test_storage_stats;

static inline test_storage_stats test_storage_get_stats(const rlo_storage *storage) {
  const rlo__storage_counters *read = &storage->counters[0];
  const rlo__storage_counters *write = &storage->counters[1];
  int64_t smallest_read = atomic_load(&read->smallest);
  int64_t smallest_write = atomic_load(&write->smallest);
  return (test_storage_stats){.num_reads = atomic_load(&read->num),
                              .num_writes = atomic_load(&write->num),
                              .bytes_read = atomic_load(&read->bytes),
                              .bytes_written = atomic_load(&write->bytes),
                              .bytes_skipped = atomic_load(&read->skipped_bytes),
                              .direct_bytes_read = atomic_load(&read->direct_bytes),
                              .direct_bytes_written = atomic_load(&write->direct_bytes),
                              .smallest_read = smallest_read == INT64_MAX ? 0 : smallest_read,
                              .smallest_write = smallest_write == INT64_MAX ? 0 : smallest_write};
}

#endif
