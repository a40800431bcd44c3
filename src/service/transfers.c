/* SPDX-License-Identifier: Apache-2.0 */
#include "service/transfers.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "service/storage.h"

/* The length of a dim; the one behind the last is that of a run's bytes. */
static int64_t length_of(const rlo__lattice *lattice, int32_t dim) {
  return dim < lattice->num_dims ? lattice->extents[dim] : lattice->run_bytes;
}

/* Cuts runs into parts of about equal length, so that none is a small rest: at
 * pages, where they are long, so that what begins with one goes on with one. */
static int64_t cut_run(int64_t run_bytes,
                       int64_t target_bytes,
                       int64_t granule_bytes) {
  const int64_t page_bytes = 4096;
  int64_t step = rlo__ceil_div(page_bytes, granule_bytes) * granule_bytes;
  step = step <= target_bytes ? step : granule_bytes;
  int64_t most = rlo__max(1, target_bytes / step) * step;
  int64_t equal = rlo__ceil_div(run_bytes, rlo__ceil_div(run_bytes, most));
  return rlo__ceil_div(equal, step) * step;
}

rlo__transfers rlo__transfers_make(const rlo__lattice *lattice,
                                   int64_t target_bytes,
                                   int64_t granule_bytes) {
  rlo__transfers made = {.dim = lattice->num_dims, .bytes = 1};
  if (lattice->run_bytes == 0) {
    return made;
  }
  while (made.dim > 0 &&
         made.bytes <= target_bytes / length_of(lattice, made.dim)) {
    made.bytes *= length_of(lattice, made.dim--);
  }
  int64_t length = length_of(lattice, made.dim);
  bool is_run_cut = made.dim == lattice->num_dims && length > target_bytes;
  made.part = is_run_cut
                  ? cut_run(length, target_bytes, granule_bytes)
                  : rlo__min(length, rlo__max(1, target_bytes / made.bytes));
  made.parts = made.count = rlo__ceil_div(length, made.part);
  for (int32_t d = 0; d < made.dim; ++d) {
    made.count *= lattice->extents[d];
  }
  return made;
}

/* Gets transfer number `number`, and where its bytes lie in packed memory. */
static rlo__lattice get_transfer(const rlo__transfers *transfers,
                                 const rlo__lattice *lattice,
                                 int64_t number,
                                 int64_t *out_packed) {
  rlo__lattice one = *lattice;
  int32_t cut = transfers->dim;
  bool is_run_cut = cut == lattice->num_dims;
  int64_t at = number % transfers->parts * transfers->part;
  int64_t rest = number / transfers->parts;
  int64_t length = rlo__min(transfers->part, length_of(lattice, cut) - at);
  int64_t bytes = transfers->bytes * length_of(lattice, cut);
  *out_packed = transfers->bytes * at;
  one.base_byte += at * (is_run_cut ? 1 : lattice->strides[cut]);
  *(is_run_cut ? &one.run_bytes : &one.extents[cut]) = length;
  /* The dims before are at one index each. */
  for (int32_t d = cut - 1; d >= 0; --d) {
    int64_t index = rest % lattice->extents[d];
    rest /= lattice->extents[d];
    one.base_byte += index * lattice->strides[d];
    *out_packed += index * bytes;
    bytes *= lattice->extents[d];
  }
  one.num_dims = lattice->num_dims - cut;
  memmove(one.extents, one.extents + cut, sizeof bytes * (size_t)one.num_dims);
  memmove(one.strides, one.strides + cut, sizeof bytes * (size_t)one.num_dims);
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
  return rlo__storage_transfer(storage, &one, packed + at, is_write);
}
