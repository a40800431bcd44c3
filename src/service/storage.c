/* SPDX-License-Identifier: Apache-2.0 */
#include "service/storage.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/threshold.h"
#include "service/storage_kind.h"

enum { DEFAULT_DEPTH = 8 };

/* ------------------------------------------------------------------- traits */

static rlo_status check_trait(const char *name, int64_t value) {
  if (value < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s of the storage traits is %" PRId64 "; at least 0",
                    name,
                    value);
  }
  return RLO_OK;
}

static int64_t or_default(int64_t value, int64_t when_zero) {
  return value != 0 ? value : when_zero;
}

rlo_status rlo__storage_read_traits(const rlo_storage_traits *traits,
                                    rlo_storage_traits *out_traits) {
  rlo_storage_traits read = *out_traits;
  RLO_TRY(rlo__options_read(
      "storage traits", "RLO_STORAGE_TRAITS_INIT", traits, &read, sizeof read));
  RLO_TRY(check_trait("bytes", read.bytes));
  RLO_TRY(check_trait("granule_bytes", read.granule_bytes));
  RLO_TRY(check_trait("good_read_bytes", read.good_read_bytes));
  RLO_TRY(check_trait("good_write_bytes", read.good_write_bytes));
  RLO_TRY(check_trait("good_depth", read.good_depth));
  read.struct_size = sizeof read;
  read.granule_bytes = or_default(read.granule_bytes, 1);
  read.good_read_bytes = or_default(
      read.good_read_bytes,
      rlo__max(rlo__thresholds.service_good_read_bytes, read.granule_bytes));
  read.good_write_bytes = or_default(
      read.good_write_bytes,
      rlo__max(rlo__thresholds.service_good_write_bytes, read.granule_bytes));
  read.good_depth = read.good_depth != 0 ? read.good_depth : DEFAULT_DEPTH;
  *out_traits = read;
  return RLO_OK;
}

rlo_status rlo_storage_get_traits(const rlo_storage *storage,
                                  rlo_storage_traits *out_traits) {
  RLO_REQUIRE(storage, out_traits);
  return rlo__report_write("storage traits",
                           "RLO_STORAGE_TRAITS_INIT",
                           &storage->traits,
                           out_traits,
                           sizeof *out_traits);
}

/* ---------------------------------------------------------------- lifecycle */

void rlo__storage_init(rlo_storage *storage,
                       const rlo__storage_kind *kind,
                       const rlo_storage_traits *traits) {
  storage->kind = kind;
  storage->traits = *traits;
  atomic_init(&storage->num_references, 1);
  atomic_init(&storage->num_reads, 0);
  atomic_init(&storage->num_writes, 0);
  atomic_init(&storage->bytes_read, 0);
  atomic_init(&storage->bytes_written, 0);
  atomic_init(&storage->bytes_skipped, 0);
  atomic_init(&storage->direct_bytes_read, 0);
  atomic_init(&storage->direct_bytes_written, 0);
  atomic_init(&storage->smallest_read, INT64_MAX);
  atomic_init(&storage->smallest_write, INT64_MAX);
}

rlo_storage *rlo_storage_retain(rlo_storage *storage) {
  if (storage != NULL) {
    atomic_fetch_add_explicit(
        &storage->num_references, 1, memory_order_relaxed);
  }
  return storage;
}

void rlo_storage_release(rlo_storage *storage) {
  if (storage != NULL &&
      atomic_fetch_sub_explicit(
          &storage->num_references, 1, memory_order_acq_rel) == 1) {
    storage->kind->destroy(storage);
  }
}

/* --------------------------------------------------------------- statistics */

static void add(atomic_int_fast64_t *sum, int64_t value) {
  atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static int64_t load(const atomic_int_fast64_t *value) {
  return atomic_load_explicit(value, memory_order_relaxed);
}

static void lower(atomic_int_fast64_t *smallest, int64_t value) {
  int_fast64_t old = load(smallest);
  while (
      value < old &&
      !atomic_compare_exchange_weak_explicit(
          smallest, &old, value, memory_order_relaxed, memory_order_relaxed)) {
  }
}

static bool ends_with_storage(const rlo_storage *storage,
                              int64_t offset,
                              int64_t bytes) {
  return offset + bytes == storage->traits.bytes;
}

void rlo__storage_count_read(rlo_storage *storage,
                             int64_t offset,
                             int64_t bytes,
                             int64_t skipped) {
  add(&storage->num_reads, 1);
  add(&storage->bytes_read, bytes - skipped);
  add(&storage->bytes_skipped, skipped);
  if (!ends_with_storage(storage, offset, bytes)) {
    lower(&storage->smallest_read, bytes);
  }
}

void rlo__storage_count_write(rlo_storage *storage,
                              int64_t offset,
                              int64_t bytes) {
  add(&storage->num_writes, 1);
  add(&storage->bytes_written, bytes);
  if (!ends_with_storage(storage, offset, bytes)) {
    lower(&storage->smallest_write, bytes);
  }
}

void rlo__storage_count_direct_read(rlo_storage *storage, int64_t bytes) {
  add(&storage->direct_bytes_read, bytes);
}

void rlo__storage_count_direct_write(rlo_storage *storage, int64_t bytes) {
  add(&storage->direct_bytes_written, bytes);
}

void rlo__storage_get_stats(const rlo_storage *storage,
                            rlo__storage_stats *out_stats) {
  int64_t smallest_read = load(&storage->smallest_read);
  int64_t smallest_write = load(&storage->smallest_write);
  *out_stats = (rlo__storage_stats){
      .num_reads = load(&storage->num_reads),
      .num_writes = load(&storage->num_writes),
      .bytes_read = load(&storage->bytes_read),
      .bytes_written = load(&storage->bytes_written),
      .bytes_skipped = load(&storage->bytes_skipped),
      .direct_bytes_read = load(&storage->direct_bytes_read),
      .direct_bytes_written = load(&storage->direct_bytes_written),
      .smallest_read = smallest_read == INT64_MAX ? 0 : smallest_read,
      .smallest_write = smallest_write == INT64_MAX ? 0 : smallest_write};
}

/* ---------------------------------------------------------------- transfers */

/** Checks that positions `begin` to `begin` + `bytes` - 1 exist. */
static rlo_status check_range(const rlo_storage *storage,
                              int64_t begin,
                              int64_t bytes) {
  int64_t limit = storage->traits.bytes;
  if (begin < 0 || bytes < 0 || begin > limit || bytes > limit - begin) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%" PRId64 " bytes at byte %" PRId64
                    " do not lie in a storage of %" PRId64 " bytes",
                    bytes,
                    begin,
                    limit);
  }
  return RLO_OK;
}

/** Checks the extents, and sets the numbers of runs and of bytes. */
static rlo_status count_runs(const int64_t *extents,
                             int32_t num_dims,
                             int64_t run_bytes,
                             int64_t *out_runs,
                             int64_t *out_bytes) {
  *out_runs = 1;
  if (num_dims < 0 || num_dims > RLO_MAX_AXES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a lattice has %d dimensions; 0 to %d are supported",
                    num_dims,
                    RLO_MAX_AXES);
  }
  for (int32_t d = 0; d < num_dims; ++d) {
    if (extents[d] < 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "extent %d of a lattice is %" PRId64 "; at least 0",
                      d,
                      extents[d]);
    }
    if (!rlo__mul(*out_runs, extents[d], out_runs)) {
      return rlo__fail_overflow("the number of runs of a lattice");
    }
  }
  if (!rlo__mul(*out_runs, run_bytes, out_bytes) || *out_bytes > PTRDIFF_MAX) {
    return rlo__fail_overflow("the number of bytes of a lattice");
  }
  return RLO_OK;
}

/** Checks that a lattice of at least one run lies in the storage. */
static rlo_status check_hull(const rlo_storage *storage,
                             int64_t base,
                             const int64_t *extents,
                             const int64_t *strides,
                             int32_t num_dims,
                             int64_t run_bytes) {
  int64_t low = base;
  int64_t high = base;
  for (int32_t d = 0; d < num_dims; ++d) {
    int64_t *end = strides[d] < 0 ? &low : &high;
    if (!rlo__mul_add(*end, extents[d] - 1, strides[d], end)) {
      return rlo__fail_overflow("a position of a lattice");
    }
  }
  int64_t bytes;
  if (!rlo__sub(high, low, &bytes) || !rlo__add(bytes, run_bytes, &bytes)) {
    return rlo__fail_overflow("a position of a lattice");
  }
  return check_range(storage, low, bytes);
}

/** Writes the dimensions of a lattice without those of one index, and joined
 *  where one goes on at the end of another. */
static void join_dims(const int64_t *extents,
                      const int64_t *strides,
                      int32_t num_dims,
                      rlo__runs *runs) {
  runs->num_dims = 0;
  for (int32_t d = num_dims - 1; d >= 0; --d) {
    int32_t last = runs->num_dims - 1;
    int64_t whole;
    if (extents[d] == 1) {
      continue;
    }
    if (last < 0 && strides[d] == runs->run_bytes) {
      runs->run_bytes *= extents[d];
      runs->num_runs /= extents[d];
    } else if (last >= 0 &&
               rlo__mul(runs->strides[last], runs->extents[last], &whole) &&
               whole == strides[d]) {
      runs->extents[last] *= extents[d];
    } else {
      runs->extents[last + 1] = extents[d];
      runs->strides[last + 1] = strides[d];
      ++runs->num_dims;
    }
  }
}

static rlo_status check_granules(const rlo_storage *storage,
                                 const rlo__runs *runs) {
  int64_t granule = storage->traits.granule_bytes;
  bool is_whole = runs->offset % granule == 0;
  for (int32_t d = 0; d < runs->num_dims; ++d) {
    is_whole = is_whole && runs->strides[d] % granule == 0;
  }
  is_whole =
      is_whole && (runs->run_bytes % granule == 0 ||
                   (runs->num_runs == 1 &&
                    ends_with_storage(storage, runs->offset, runs->run_bytes)));
  if (!is_whole) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%" PRId64 " runs of %" PRId64
                    " bytes, first at byte %" PRId64
                    ", are not whole granules of %" PRId64 " bytes",
                    runs->num_runs,
                    runs->run_bytes,
                    runs->offset,
                    granule);
  }
  return RLO_OK;
}

/** Checks a lattice and makes runs of it; 0 of them if it has no bytes. */
static rlo_status make_runs(const rlo_storage *storage,
                            int64_t base,
                            const int64_t *extents,
                            const int64_t *strides,
                            int32_t num_dims,
                            int64_t run_bytes,
                            rlo__runs *out_runs) {
  int64_t num_runs, bytes;
  if (run_bytes < 0) {
    return check_range(storage, base, run_bytes);
  }
  RLO_TRY(count_runs(extents, num_dims, run_bytes, &num_runs, &bytes));
  if (bytes == 0) {
    out_runs->num_runs = 0;
    return num_dims == 0 ? check_range(storage, base, 0) : RLO_OK;
  }
  RLO_TRY(check_hull(storage, base, extents, strides, num_dims, run_bytes));
  out_runs->offset = base;
  out_runs->run_bytes = run_bytes;
  out_runs->num_runs = num_runs;
  join_dims(extents, strides, num_dims, out_runs);
  return check_granules(storage, out_runs);
}

rlo_status rlo__storage_read_lattice(rlo_storage *storage,
                                     int64_t base,
                                     const int64_t *extents,
                                     const int64_t *strides,
                                     int32_t num_dims,
                                     int64_t run_bytes,
                                     void *into) {
  if (storage->is_write_only) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a read of a storage that can only be written");
  }
  rlo__runs runs;
  RLO_TRY(
      make_runs(storage, base, extents, strides, num_dims, run_bytes, &runs));
  return runs.num_runs > 0 ? storage->kind->read(storage, &runs, into) : RLO_OK;
}

static rlo_status check_writable(const rlo_storage *storage) {
  if (storage->traits.is_read_only) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a write to a storage that can only be read");
  }
  return RLO_OK;
}

rlo_status rlo__storage_write_lattice(rlo_storage *storage,
                                      int64_t base,
                                      const int64_t *extents,
                                      const int64_t *strides,
                                      int32_t num_dims,
                                      int64_t run_bytes,
                                      const void *from) {
  RLO_TRY(check_writable(storage));
  rlo__runs runs;
  RLO_TRY(
      make_runs(storage, base, extents, strides, num_dims, run_bytes, &runs));
  return runs.num_runs > 0 ? storage->kind->write(storage, &runs, from)
                           : RLO_OK;
}

rlo_status rlo__storage_read(rlo_storage *storage,
                             int64_t offset,
                             int64_t bytes,
                             void *into) {
  return rlo__storage_read_lattice(storage, offset, NULL, NULL, 0, bytes, into);
}

rlo_status rlo__storage_write(rlo_storage *storage,
                              int64_t offset,
                              int64_t bytes,
                              const void *from) {
  return rlo__storage_write_lattice(
      storage, offset, NULL, NULL, 0, bytes, from);
}

/* ------------------------------------------------------------------- others */

rlo_status rlo__storage_reserve(rlo_storage *storage, int64_t bytes) {
  RLO_TRY(check_writable(storage));
  RLO_TRY(check_range(storage, 0, bytes));
  if (storage->kind->reserve == NULL || bytes == 0) {
    return RLO_OK;
  }
  return storage->kind->reserve(storage, bytes);
}

rlo_status rlo__storage_flush(rlo_storage *storage) {
  if (storage->kind->flush == NULL || storage->traits.is_read_only) {
    return RLO_OK;
  }
  return storage->kind->flush(storage);
}

rlo_status rlo__storage_set_streamed(rlo_storage *storage) {
  if (storage->kind->set_streamed == NULL) {
    return RLO_OK;
  }
  return storage->kind->set_streamed(storage);
}

const void *rlo__storage_memory(const rlo_storage *storage) {
  return storage->memory;
}

void *rlo__storage_writable_memory(const rlo_storage *storage) {
  return storage->traits.is_read_only ? NULL : storage->memory;
}

rlo_status rlo__storage_get_identity(const rlo_storage *storage,
                                     rlo__storage_identity *out_identity) {
  *out_identity = (rlo__storage_identity){.is_file = false};
  if (storage->kind->get_identity == NULL) {
    return RLO_OK;
  }
  return storage->kind->get_identity(storage, out_identity);
}

bool rlo__storage_is_same_file(const rlo__storage_identity *a,
                               const rlo__storage_identity *b) {
  return a->is_file && b->is_file && a->device == b->device &&
         a->inode == b->inode;
}

rlo_status rlo__storage_check_identity(const rlo_storage *storage,
                                       const rlo__storage_identity *identity) {
  rlo__storage_identity now;
  RLO_TRY(rlo__storage_get_identity(storage, &now));
  if (now.is_file != identity->is_file || now.device != identity->device ||
      now.inode != identity->inode) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the source is another file: inode %" PRIu64
                    " of device %" PRIu64 " in place of %" PRIu64
                    " of %" PRIu64,
                    now.inode,
                    now.device,
                    identity->inode,
                    identity->device);
  }
  if (now.bytes != identity->bytes) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the source has changed: it had %" PRId64
                    " bytes and has %" PRId64,
                    identity->bytes,
                    now.bytes);
  }
  if (now.modified_nanos != identity->modified_nanos) {
    return RLO_FAIL(
        RLO_DATA_LOSS,
        "the source has changed: it was written to %.3f s after "
        "the first look at it",
        (double)(now.modified_nanos - identity->modified_nanos) / 1e9);
  }
  if (now.number != identity->number) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the source has changed: its 'identify' gave %" PRIu64
                    " and gives %" PRIu64,
                    identity->number,
                    now.number);
  }
  return RLO_OK;
}
