/* SPDX-License-Identifier: Apache-2.0 */
#include "shape_util/address_box.h"

#include <string.h>

#include "base/status.h"

void rlo__address_bounds(const rlo_address_map *address,
                         const int64_t *first,
                         const int64_t *last,
                         int64_t *min,
                         int64_t *max) {
  for (int32_t v = 0; v < address->num_vars; ++v) {
    min[v] = v < address->rank ? first[v] : 0;
    max[v] = v < address->rank ? last[v] : 0;
  }
  for (int32_t s = 0; s < address->num_steps; ++s) {
    const rlo_step *step = &address->steps[s];
    int32_t high = step->high;
    int32_t low = step->low;
    if (step->kind == RLO_STEP_COMBINE) {
      min[step->whole] = min[high] * step->radix + min[low];
      max[step->whole] = max[high] * step->radix + max[low];
      continue;
    }
    min[high] = min[step->whole] / step->radix;
    max[high] = max[step->whole] / step->radix;
    bool is_one_block = min[high] == max[high];
    min[low] = is_one_block ? min[step->whole] % step->radix : 0;
    max[low] = is_one_block ? max[step->whole] % step->radix : step->radix - 1;
  }
}

/* A search for the greatest slot, and the box it is at. */
typedef struct search {
  const rlo_address_map *address;
  int64_t first[RLO_MAX_RANK];
  int64_t last[RLO_MAX_RANK];
  int64_t best;
  int32_t parts_left;
} search;

static int64_t bound_of_box(const search *s) {
  int64_t min[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t max[RLO_ADDRESS_MAP_MAX_VARS];
  rlo__address_bounds(s->address, s->first, s->last, min, max);
  int64_t bound = s->address->offset;
  for (int32_t p = 0; p < s->address->num_leaves; ++p) {
    bound += max[s->address->leaves[p].var] * s->address->leaves[p].stride;
  }
  return bound;
}

static int32_t longest_side(const search *s) {
  int32_t longest = 0;
  for (int32_t k = 1; k < s->address->rank; ++k) {
    if (s->last[k] - s->first[k] > s->last[longest] - s->first[longest]) {
      longest = k;
    }
  }
  return longest;
}

/* As deep as the dimensions have bits together. False if parts ran out. */
static bool search_box(search *s) {
  int64_t slot = rlo__address_slot(s->address, s->last);
  s->best = slot > s->best ? slot : s->best;
  int32_t k = longest_side(s);
  if (s->address->rank == 0 || s->first[k] == s->last[k] ||
      bound_of_box(s) <= s->best) {
    return true;
  }
  if (--s->parts_left < 0) {
    return false;
  }
  int64_t first = s->first[k];
  int64_t last = s->last[k];
  int64_t middle = first + (last - first) / 2;
  /* The upper half first: the last element is mostly there. */
  s->first[k] = middle + 1;
  bool is_done = search_box(s);
  s->first[k] = first;
  if (is_done) {
    s->last[k] = middle;
    is_done = search_box(s);
    s->last[k] = last;
  }
  return is_done;
}

rlo_status rlo__address_last_slot(const rlo_address_map *address,
                                  const int64_t *dims,
                                  int64_t *out_slot) {
  search s;
  memset(&s, 0, sizeof s);
  s.address = address;
  s.best = -1;
  s.parts_left = 100000;
  for (int32_t k = 0; k < address->rank; ++k) {
    s.last[k] = dims[k] - 1;
  }
  if (!search_box(&s)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the tiles do not divide one another, and the last "
                    "element is one of too many that may be it");
  }
  *out_slot = s.best;
  return RLO_OK;
}

/* The logical dimensions of more than one element that each variable depends
 * on, as bits. */
static void find_sources(const rlo_address_map *address,
                         const int64_t *dims,
                         uint64_t *sources) {
  for (int32_t v = 0; v < address->num_vars; ++v) {
    bool is_live = v < address->rank && dims[v] > 1;
    sources[v] = is_live ? UINT64_C(1) << v : 0;
  }
  for (int32_t s = 0; s < address->num_steps; ++s) {
    const rlo_step *step = &address->steps[s];
    if (step->kind == RLO_STEP_SPLIT) {
      sources[step->high] = sources[step->low] = sources[step->whole];
    } else {
      sources[step->whole] = sources[step->high] | sources[step->low];
    }
  }
}

/* Leaves of more than one value among the parts of a variable: the most major
 * and the most minor one; first > last if there are none. */
typedef struct leaf_span {
  int32_t first;
  int32_t last;
} leaf_span;

/* Backwards through the steps, from the leaves to what they are parts of.
 * False if some split's low part is, in part, more major than its high one. */
static bool find_spans(const rlo_address_map *address,
                       const int64_t *max,
                       leaf_span *spans) {
  for (int32_t v = 0; v < address->num_vars; ++v) {
    spans[v] = (leaf_span){INT32_MAX, -1};
  }
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    int32_t v = address->leaves[p].var;
    if (max[v] > 0) {
      spans[v] = (leaf_span){p, p};
    }
  }
  bool is_ordered = true;
  for (int32_t s = address->num_steps - 1; s >= 0; --s) {
    const rlo_step *step = &address->steps[s];
    if (step->kind == RLO_STEP_SPLIT) {
      leaf_span high = spans[step->high];
      leaf_span low = spans[step->low];
      is_ordered = is_ordered && high.last < low.first;
      spans[step->whole].first =
          high.first < low.first ? high.first : low.first;
      spans[step->whole].last = high.last > low.last ? high.last : low.last;
    } else {
      spans[step->high] = spans[step->low] = spans[step->whole];
    }
  }
  return is_ordered;
}

/*
 * Slots are ordered by their leaves, the most major first. So the leaves of the
 * dimension must stand before those of the others, and before the leaves of
 * what a split made of its remainders those of its quotients.
 */
rlo_status rlo__address_is_most_major(const rlo_address_map *address,
                                      const int64_t *dims,
                                      int32_t dimension,
                                      bool *out_answer) {
  uint64_t sources[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t min[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t max[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t first[RLO_MAX_RANK] = {0};
  int64_t last[RLO_MAX_RANK];
  for (int32_t k = 0; k < address->rank; ++k) {
    last[k] = dims[k] - 1;
  }
  find_sources(address, dims, sources);
  rlo__address_bounds(address, first, last, min, max);
  uint64_t own = UINT64_C(1) << dimension;
  bool is_before = true;
  bool has_other = false;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    int32_t v = address->leaves[p].var;
    if (max[v] == 0 || sources[v] == 0) {
      max[v] = 0;
      continue;
    }
    if ((sources[v] & own) != 0 && sources[v] != own) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "the tiles combine dimension %d with another one",
                      dimension);
    }
    if (sources[v] == own) {
      is_before = is_before && !has_other;
    } else {
      has_other = true;
      max[v] = 0; /* only this dimension's leaves have to be in order */
    }
  }
  leaf_span spans[RLO_ADDRESS_MAP_MAX_VARS];
  *out_answer =
      dims[dimension] == 1 || (is_before && find_spans(address, max, spans));
  return RLO_OK;
}
