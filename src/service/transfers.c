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

rlo_status rlo__transfers_do(const rlo__transfers *transfers,
                             const rlo__lattice *lattice,
                             int64_t number,
                             rlo_storage *storage,
                             char *packed,
                             bool is_write,
                             int64_t *out_bytes) {
  int64_t at;
  rlo__lattice one = get_transfer(transfers, lattice, number, &at);
  *out_bytes = rlo__lattice_bytes(&one);
  return rlo__lattice_transfer(&one, storage, packed + at, is_write);
}

rlo_status rlo__lattice_transfer(const rlo__lattice *lattice,
                                 rlo_storage *storage,
                                 char *packed,
                                 bool is_write) {
  const rlo__lattice *l = lattice;
  return is_write ? rlo__storage_write_lattice(storage,
                                               l->base_byte,
                                               l->extents,
                                               l->strides,
                                               l->num_dims,
                                               l->run_bytes,
                                               packed)
                  : rlo__storage_read_lattice(storage,
                                              l->base_byte,
                                              l->extents,
                                              l->strides,
                                              l->num_dims,
                                              l->run_bytes,
                                              packed);
}

void rlo__lattice_copy(const rlo__lattice *lattice,
                       char *memory,
                       int64_t bytes,
                       char *packed,
                       bool is_write) {
  rlo__runs runs = {.num_dims = lattice->num_dims, .num_runs = 1};
  for (int32_t d = 0; d < lattice->num_dims; ++d) {
    runs.extents[d] = lattice->extents[lattice->num_dims - 1 - d];
    runs.strides[d] = lattice->strides[lattice->num_dims - 1 - d];
    runs.num_runs *= runs.extents[d];
  }
  rlo__run_walk walk = {.offset = lattice->base_byte};
  for (int64_t n = 0; n < runs.num_runs; ++n) {
    int64_t begin = rlo__min(rlo__max(walk.offset, 0), bytes);
    int64_t end = rlo__min(walk.offset + lattice->run_bytes, bytes);
    char *run = memory + begin;
    char *at = packed + n * lattice->run_bytes + begin - walk.offset;
    if (end > begin) {
      memcpy(is_write ? run : at, is_write ? at : run, (size_t)(end - begin));
    }
    rlo__run_walk_step(&walk, &runs);
  }
}
