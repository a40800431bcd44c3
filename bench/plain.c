/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

static bool is_plain(const rlo_layout *layout) {
  return layout->kind == RLO_LAYOUT_DENSE && !layout->has_padded_dimensions &&
         layout->num_tiles == 0 && layout->tail_alignment_elems <= 1 &&
         layout->element_size_bits == 0;
}

static void remove_dimension(bench_plain *plain, int32_t position) {
  int32_t removed = plain->permutation[position];
  for (int32_t k = position; k + 1 < plain->rank; ++k) {
    plain->permutation[k] = plain->permutation[k + 1];
  }
  for (int32_t k = removed; k + 1 < plain->rank; ++k) {
    plain->dims[k] = plain->dims[k + 1];
  }
  plain->rank -= 1;
  for (int32_t k = 0; k < plain->rank; ++k) {
    plain->permutation[k] -= plain->permutation[k] > removed;
  }
}

/** One rewrite. @return false if there is none left. */
static bool reduce(bench_plain *plain) {
  for (int32_t k = 0; k < plain->rank && plain->rank > 1; ++k) {
    int32_t from = plain->permutation[k];
    if (plain->dims[from] == 1) {
      remove_dimension(plain, k);
      return true;
    }
    if (k + 1 < plain->rank && plain->permutation[k + 1] == from + 1) {
      plain->dims[from] *= plain->dims[from + 1];
      remove_dimension(plain, k + 1);
      return true;
    }
  }
  return false;
}

bool bench_plain_from_case(const bench_case *item, bench_plain *out_plain) {
  const rlo_shape *src = &item->src;
  const rlo_shape *dst = &item->dst;
  if (!is_plain(&src->layout) || !is_plain(&dst->layout) || src->rank == 0) {
    return false;
  }
  int32_t place[RLO_MAX_RANK]; /* of a logical dimension, major to minor */
  out_plain->rank = src->rank;
  for (int32_t k = 0; k < src->rank; ++k) {
    int32_t logical = src->layout.minor_to_major[src->rank - 1 - k];
    place[logical] = k;
    out_plain->dims[k] = src->dims[logical];
  }
  for (int32_t k = 0; k < dst->rank; ++k) {
    int32_t logical = dst->layout.minor_to_major[dst->rank - 1 - k];
    out_plain->permutation[k] = place[item->permutation[logical]];
  }
  while (reduce(out_plain)) {
  }
  return true;
}
