/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/shape_util.h"

#include <string.h>
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "desc/address.h"
#include "desc/dimension.h"
#include "desc/layout.h"
#include "relayout/xla/bitcast.h"

/* Finds bounds of every variable of the map over a box of indices first[k] ..
 * last[k]; exact for variables of a single logical dimension if the box is the
 * whole array. min and max have address->num_vars entries. */
static void find_bounds(const rlo_address_map *address, const int64_t *first, const int64_t *last,
                        int64_t *min, int64_t *max) {
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

/* A search for the largest slot, and its current box. */
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
  find_bounds(s->address, s->first, s->last, min, max);
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

/* False if parts_left is used up. Recurses at most as deep as the dimensions
 * have bits. */
static bool search_box(search *s) {
  int64_t slot = rlo__address_slot(s->address, s->last);
  s->best = slot > s->best ? slot : s->best;
  int32_t k = longest_side(s);
  if (s->address->rank == 0 || s->first[k] == s->last[k] || bound_of_box(s) <= s->best) {
    return true;
  }
  if (--s->parts_left < 0) {
    return false;
  }
  int64_t first = s->first[k];
  int64_t last = s->last[k];
  int64_t middle = first + (last - first) / 2;
  /* The upper half first: it usually holds the last element. */
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

/* Finds the largest slot of an element: halves the box of indices until the
 * best element is as good as the bound of every remaining part. The array has
 * elements. RLO_UNSUPPORTED after too many parts. */
static rlo_status find_last_slot(const rlo_address_map *address, const int64_t *dims,
                                 int64_t *out_slot) {
  search s = {0};
  s.address = address;
  s.best = -1;
  s.parts_left = (int32_t)rlo__thresholds.shape_search_parts;
  for (int32_t k = 0; k < address->rank; ++k) {
    s.last[k] = dims[k] - 1;
  }
  RLO_FAIL_IF(!search_box(&s), RLO_UNSUPPORTED,
              "the tiles do not divide one another, and the last element is one of too many that "
              "may be it");
  *out_slot = s.best;
  return RLO_OK;
}

/* Finds the logical dimensions of size > 1 that each variable depends on, as
 * bits. */
static void find_sources(const rlo_address_map *address, const int64_t *dims, uint64_t *sources) {
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

/* Finds the largest sum of what other dimensions add to a slot.
 * RLO_UNSUPPORTED if a leaf combines the dimension with another one. */
static rlo_status find_reach(const rlo_address_map *address, const int64_t *dims,
                             const uint64_t *sources, int32_t dimension, int64_t *out_reach) {
  int64_t min[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t max[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t first[RLO_MAX_RANK] = {0};
  int64_t last[RLO_MAX_RANK];
  for (int32_t k = 0; k < address->rank; ++k) {
    last[k] = dims[k] - 1;
  }
  find_bounds(address, first, last, min, max);
  const uint64_t own = UINT64_C(1) << dimension;
  *out_reach = 0;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    const int32_t v = address->leaves[p].var;
    if (max[v] == 0 || sources[v] == own) {
      continue;
    }
    RLO_FAIL_IF((sources[v] & own) != 0, RLO_UNSUPPORTED,
                "the tiles combine dimension %d with another one", dimension);
    *out_reach += max[v] * rlo__abs(address->leaves[p].stride);
  }
  return RLO_OK;
}

/* Returns a number of coordinates of a dimension after which its part of the
 * slots repeats: the product of all that divides it. */
static int64_t period_of(const rlo_address_map *address, const uint64_t *sources,
                         int32_t dimension) {
  int64_t period = 1;
  for (int32_t s = 0; s < address->num_steps; ++s) {
    const rlo_step *step = &address->steps[s];
    if (step->kind == RLO_STEP_SPLIT && (sources[step->whole] >> dimension & 1) != 0) {
      period = rlo__mul_capped(period, step->radix);
    }
  }
  return period;
}

/*
 * Finds out whether smaller coordinates in a dimension have smaller slots,
 * whatever the other coordinates are: a slot is the sum of what the dimension
 * and what the others add to it, and each step along the dimension must be
 * longer than the reach of the others. The array has elements. RLO_UNSUPPORTED
 * if a leaf combines the dimension with another one, or for too long a period.
 */
static rlo_status is_most_major(const rlo_address_map *address, const int64_t *dims,
                                int32_t dimension, bool *out_answer) {
  uint64_t sources[RLO_ADDRESS_MAP_MAX_VARS];
  int64_t reach = 0;
  find_sources(address, dims, sources);
  RLO_TRY(find_reach(address, dims, sources, dimension, &reach));
  const int64_t period = period_of(address, sources, dimension);
  RLO_FAIL_IF(period > rlo__thresholds.shape_period, RLO_UNSUPPORTED,
              "the tiles cut dimension %d, and may repeat only after more than %lld elements",
              dimension, (long long)rlo__thresholds.shape_period);
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t before = rlo__address_slot(address, index);
  *out_answer = true;
  for (int64_t i = 1; *out_answer && i < dims[dimension] && i <= period; ++i) {
    index[dimension] = i;
    const int64_t here = rlo__address_slot(address, index);
    *out_answer = here - before > reach;
    before = here;
  }
  return RLO_OK;
}

rlo_status rlo_shape_elements_in(const rlo_shape *shape, int64_t *out_elements) {
  RLO_REQUIRE(shape, out_elements);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_elements = extent.elements;
  return RLO_OK;
}

bool rlo_shape_is_zero_element_array(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  int64_t elements;
  return rlo__dims_product(shape->dims, shape->rank, &elements) && elements == 0;
}

rlo_status rlo_shape_byte_size(const rlo_shape *shape, int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_bytes = extent.bytes;
  return RLO_OK;
}

rlo_status rlo_shape_array_size(const rlo_shape *shape, int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_bytes = extent.physical_bytes;
  return RLO_OK;
}

rlo_status rlo_shape_array_data_size(const rlo_shape *shape, int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  int64_t last = extent.slots - 1;
  if (extent.elements == 0) {
    *out_bytes = 0;
    return RLO_OK;
  }
  if (shape->layout.kind == RLO_LAYOUT_DENSE) {
    rlo_address_map address;
    RLO_TRY(rlo__address_make(shape, &address));
    RLO_TRY(find_last_slot(&address, shape->dims, &last));
  }
  /* Fits: so do the bits of all slots. */
  *out_bytes = rlo__ceil_div((last + 1) * extent.element_bits, 8);
  return RLO_OK;
}

int64_t rlo_shape_element_size_bits(const rlo_shape *shape) {
  RLO_REQUIRE_OR(0, shape);
  return rlo__layout_element_bits(&shape->layout, shape->dtype);
}

int32_t rlo_shape_true_rank(const rlo_shape *shape) {
  RLO_REQUIRE_OR(0, shape);
  int32_t rank = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    rank += shape->dims[k] != 1;
  }
  return rank;
}

bool rlo_shape_is_scalar(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  return shape->rank == 0;
}

bool rlo_shape_is_effective_scalar(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  return rlo_shape_true_rank(shape) == 0;
}

rlo_status rlo_shape_dimension_number(const rlo_shape *shape, int32_t number,
                                      int32_t *out_dimension) {
  RLO_REQUIRE(shape, out_dimension);
  return rlo__dim_find(NULL, number, shape->rank, out_dimension);
}

rlo_status rlo_shape_dimension(const rlo_shape *shape, int32_t number, int64_t *out_size) {
  RLO_REQUIRE(shape, out_size);
  int32_t dimension = 0;
  RLO_TRY(rlo_shape_dimension_number(shape, number, &dimension));
  *out_size = shape->dims[dimension];
  return RLO_OK;
}

rlo_status rlo_shape_is_effectively_most_major(const rlo_shape *shape, int32_t dimension,
                                               bool *out_answer) {
  RLO_REQUIRE(shape, out_answer);
  RLO_TRY(rlo_shape_validate(shape));
  RLO_TRY(rlo__dim_find(NULL, dimension, shape->rank, &dimension));
  if (rlo_shape_is_zero_element_array(shape)) {
    *out_answer = true;
    return RLO_OK;
  }
  /* Tiles may not change the positions: then there is an array without. */
  rlo_shape plain = *shape;
  bool is_found = false;
  RLO_TRY(rlo_shape_align_layout(shape, shape->dims, shape->rank, &is_found, &plain));
  rlo_address_map address;
  RLO_TRY(rlo__address_make(&plain, &address));
  return is_most_major(&address, shape->dims, dimension, out_answer);
}

bool rlo_shape_last_dim_is_minor_most(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  if (shape->rank == 0) {
    return true;
  }
  return shape->layout.kind == RLO_LAYOUT_DENSE ? shape->layout.minor_to_major[0] == shape->rank - 1
                                                : shape->layout.strides_elems[shape->rank - 1] == 1;
}

bool rlo_shape_fits_bounds(const rlo_shape *actual, const rlo_shape *bounds) {
  RLO_REQUIRE_OR(false, actual, bounds);
  if (actual->dtype != bounds->dtype || actual->rank != bounds->rank) {
    return false;
  }
  for (int32_t k = 0; k < actual->rank; ++k) {
    bool has_bound = bounds->dims[k] != RLO_DIM_UNBOUNDED;
    if (has_bound && (actual->dims[k] == RLO_DIM_UNBOUNDED || actual->dims[k] > bounds->dims[k])) {
      return false;
    }
  }
  return true;
}
