/* SPDX-License-Identifier: Apache-2.0 */
#include "service/transfers.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "service/storage.h"

/* Cuts runs into parts of about equal length, so that none is a small rest: at
 * pages, where they are long, so that what begins with one goes on with one. */
static void cut_run(int64_t run_bytes,
                    int64_t target_bytes,
                    int64_t granule_bytes,
                    rlo__transfers *made) {
  const int64_t page_bytes = 4096;
  int64_t step = rlo__ceil_div(page_bytes, granule_bytes) * granule_bytes;
  step = step <= target_bytes ? step : granule_bytes;
  int64_t most = rlo__max(1, target_bytes / step) * step;
  int64_t equal = rlo__ceil_div(run_bytes, rlo__ceil_div(run_bytes, most));
  made->part = rlo__ceil_div(equal, step) * step;
  made->parts = rlo__ceil_div(run_bytes, made->part);
}

rlo__transfers rlo__transfers_make(const rlo__lattice *lattice,
                                   int64_t target_bytes,
                                   int64_t granule_bytes) {
  rlo__transfers made = {.first_whole_dim = lattice->num_dims, .parts = 1};
  if (lattice->run_bytes == 0) {
    return made;
  }
  int64_t bytes = lattice->run_bytes;
  int32_t d = lattice->num_dims;
  while (d > 0 && bytes <= target_bytes / lattice->extents[d - 1]) {
    bytes *= lattice->extents[--d];
  }
  made.first_whole_dim = d;
  made.is_run_cut = d == lattice->num_dims && bytes > target_bytes;
  if (made.is_run_cut) {
    cut_run(lattice->run_bytes, target_bytes, granule_bytes, &made);
  } else if (d > 0) {
    made.part = rlo__max(1, target_bytes / bytes);
    made.parts = rlo__ceil_div(lattice->extents[d - 1], made.part);
    made.first_whole_dim = d;
  }
  int32_t num_outer = made.is_run_cut ? d : d - 1;
  made.count = made.parts;
  for (int32_t n = 0; n < num_outer; ++n) {
    made.count *= lattice->extents[n];
  }
  return made;
}

/** Gets transfer number `number`, and where its bytes lie in packed memory. */
static rlo__lattice get_transfer(const rlo__transfers *transfers,
                                 const rlo__lattice *lattice,
                                 int64_t number,
                                 int64_t *out_packed) {
  rlo__lattice one = *lattice;
  int32_t d = transfers->first_whole_dim;
  /* The dim that is cut, or the runs if it is -1. */
  int32_t cut = transfers->is_run_cut ? -1 : d - 1;
  int64_t bytes = lattice->run_bytes;
  for (int32_t n = d; n < lattice->num_dims; ++n) {
    bytes *= lattice->extents[n];
  }
  int64_t at = number % transfers->parts * transfers->part;
  int64_t rest = number / transfers->parts;
  *out_packed = 0;
  if (transfers->is_run_cut) {
    one.run_bytes = rlo__min(transfers->part, lattice->run_bytes - at);
    one.base_byte += at;
    *out_packed = at;
  } else if (cut >= 0) {
    one.base_byte += at * lattice->strides[cut];
    *out_packed = at * bytes;
    bytes *= lattice->extents[cut];
  }
  /* The dims before are at one index each. */
  for (int32_t n = cut >= 0 ? cut - 1 : d - 1; n >= 0; --n) {
    int64_t index = rest % lattice->extents[n];
    rest /= lattice->extents[n];
    one.base_byte += index * lattice->strides[n];
    *out_packed += index * bytes;
    bytes *= lattice->extents[n];
  }
  one.num_dims = 0;
  if (cut >= 0) {
    one.extents[0] = rlo__min(transfers->part, lattice->extents[cut] - at);
    one.strides[0] = lattice->strides[cut];
    one.num_dims = 1;
  }
  for (int32_t n = d; n < lattice->num_dims; ++n) {
    one.extents[one.num_dims] = lattice->extents[n];
    one.strides[one.num_dims++] = lattice->strides[n];
  }
  return one;
}

rlo_status rlo__transfers_read(const rlo__transfers *transfers,
                               const rlo__lattice *lattice,
                               int64_t number,
                               rlo_storage *storage,
                               char *packed,
                               int64_t *out_bytes) {
  int64_t at;
  rlo__lattice one = get_transfer(transfers, lattice, number, &at);
  *out_bytes = rlo__lattice_bytes(&one);
  return rlo__lattice_read(&one, storage, packed + at);
}

rlo_status rlo__transfers_write(const rlo__transfers *transfers,
                                const rlo__lattice *lattice,
                                int64_t number,
                                rlo_storage *storage,
                                const char *packed,
                                int64_t *out_bytes) {
  int64_t at;
  rlo__lattice one = get_transfer(transfers, lattice, number, &at);
  *out_bytes = rlo__lattice_bytes(&one);
  return rlo__lattice_write(&one, storage, packed + at);
}

/** A run of a lattice, and where the part of it that is in memory is packed. */
typedef struct run {
  int64_t index[RLO_MAX_AXES];
  int64_t number, offset, begin, end;
} run;

/** Goes to a run: its part in memory is [begin, end). False after the last. */
static bool find_run(const rlo__lattice *lattice, int64_t bytes, run *r) {
  int32_t d = lattice->num_dims - 1;
  if (r->number > 0) {
    for (; d >= 0 && ++r->index[d] == lattice->extents[d]; --d) {
      r->index[d] = 0;
    }
    if (d < 0) {
      return false;
    }
  }
  r->offset = lattice->base_byte;
  for (int32_t n = 0; n < lattice->num_dims; ++n) {
    r->offset += r->index[n] * lattice->strides[n];
  }
  r->begin = rlo__min(rlo__max(r->offset, 0), bytes);
  r->end = rlo__max(r->begin, rlo__min(r->offset + lattice->run_bytes, bytes));
  return true;
}

/** Where the part of a run that is in memory lies in packed memory. */
static int64_t packed_begin(const rlo__lattice *lattice, const run *r) {
  return r->number * lattice->run_bytes + r->begin - r->offset;
}

void rlo__lattice_load(const rlo__lattice *lattice,
                       const char *memory,
                       int64_t bytes,
                       char *packed) {
  for (run r = {.number = 0}; find_run(lattice, bytes, &r); ++r.number) {
    memcpy(packed + packed_begin(lattice, &r),
           memory + r.begin,
           (size_t)(r.end - r.begin));
  }
}

void rlo__lattice_store(const rlo__lattice *lattice,
                        char *memory,
                        int64_t bytes,
                        const char *packed) {
  for (run r = {.number = 0}; find_run(lattice, bytes, &r); ++r.number) {
    memcpy(memory + r.begin,
           packed + packed_begin(lattice, &r),
           (size_t)(r.end - r.begin));
  }
}

rlo_status rlo__lattice_read(const rlo__lattice *lattice,
                             rlo_storage *storage,
                             char *packed) {
  return rlo__storage_read_lattice(storage,
                                   lattice->base_byte,
                                   lattice->extents,
                                   lattice->strides,
                                   lattice->num_dims,
                                   lattice->run_bytes,
                                   packed);
}

rlo_status rlo__lattice_write(const rlo__lattice *lattice,
                              rlo_storage *storage,
                              const char *packed) {
  return rlo__storage_write_lattice(storage,
                                    lattice->base_byte,
                                    lattice->extents,
                                    lattice->strides,
                                    lattice->num_dims,
                                    lattice->run_bytes,
                                    packed);
}
