/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/shape_util.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"

/* Finds for each variable the lowest one that steps connect it with: a logical
 * dimension, if there is one. */
static void find_roots(const rlo_address_map *address, int32_t *out_roots) {
  for (int32_t v = 0; v < address->num_vars; ++v) {
    out_roots[v] = v;
  }
  /* A pass carries a root over one step at least. */
  for (int32_t pass = 0; pass < address->num_steps; ++pass) {
    for (int32_t s = 0; s < address->num_steps; ++s) {
      const rlo_step *step = &address->steps[s];
      int32_t root = out_roots[step->whole];
      root = (int32_t)rlo__min(root, out_roots[step->high]);
      root = (int32_t)rlo__min(root, out_roots[step->low]);
      out_roots[step->whole] = root;
      out_roots[step->high] = root;
      out_roots[step->low] = root;
    }
  }
}

/* The exact sign of a/b - c/d, all >= 0, x/0 being infinite: compares the whole
 * parts, then the reciprocals of the remainders. */
static int compare_ratios(int64_t a, int64_t b, int64_t c, int64_t d) {
  int sign = 1;
  while (b != 0 && d != 0 && a / b == c / d) {
    int64_t rest = a % b;
    a = b;
    b = rest;
    rest = c % d;
    c = d;
    d = rest;
    sign = -sign;
  }
  if (b != 0 && d != 0) {
    return a / b > c / d ? sign : -sign;
  }
  return b == d ? 0 : b == 0 ? sign : -sign;
}

/* Compares the waste of two parts; a part without slots wastes nothing. */
static int compare_waste(const rlo_cost_part *a, const rlo_cost_part *b) {
  static const rlo_cost_part none = {RLO_COST_DIMENSIONS, 0, 1, 1};
  a = a->slots == 0 ? &none : a;
  b = b->slots == 0 ? &none : b;
  return compare_ratios(a->slots, a->elements, b->slots, b->elements);
}

/* Stable. */
static void sort(rlo_cost_part *parts, int32_t count) {
  for (int32_t i = 1; i < count; ++i) {
    rlo_cost_part part = parts[i];
    int32_t at = i;
    for (; at > 0 && compare_waste(&parts[at - 1], &part) < 0; --at) {
      parts[at] = parts[at - 1];
    }
    parts[at] = part;
  }
}

static rlo_status refuse(int32_t dimension) {
  return RLO_FAIL(RLO_OVERFLOW,
                  "the array is empty, but the positions of dimension %d do not fit 64 bits",
                  dimension);
}

/* Makes a part for each root, in the order of the variables: logical dimensions
 * first. A part's slots are the product of the extents of its leaves. */
static rlo_status find_parts(const rlo_shape *shape, const rlo_address_map *address,
                             rlo_shape_cost *cost) {
  int32_t roots[RLO_ADDRESS_MAP_MAX_VARS];
  find_roots(address, roots);
  int32_t part_of[RLO_ADDRESS_MAP_MAX_VARS];
  for (int32_t v = 0; v < address->num_vars; ++v) {
    int32_t root = roots[v];
    if (root == v) {
      rlo_cost_kind kind = v < shape->rank ? RLO_COST_DIMENSIONS : RLO_COST_ADDED;
      part_of[v] = cost->num_parts;
      cost->parts[cost->num_parts++] = (rlo_cost_part){kind, 0, 1, 1};
    }
    if (v < shape->rank) {
      rlo_cost_part *part = &cost->parts[part_of[root]];
      part->dimensions |= UINT32_C(1) << v;
      if (!rlo__mul(part->elements, shape->dims[v], &part->elements)) {
        return refuse(v);
      }
    }
  }
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    int32_t root = roots[address->leaves[p].var];
    rlo_cost_part *part = &cost->parts[part_of[root]];
    if (!rlo__mul(part->slots, address->leaves[p].extent, &part->slots)) {
      return refuse(root);
    }
  }
  return RLO_OK;
}

rlo_status rlo_shape_predict_cost(const rlo_shape *shape, rlo_shape_cost *out_cost) {
  RLO_REQUIRE(shape, out_cost);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  rlo_address_map address;
  RLO_TRY(rlo__address_make(shape, &address));
  memset(out_cost, 0, sizeof *out_cost);
  out_cost->elements = extent.elements;
  out_cost->slots = extent.slots;
  if (!address.is_dense) {
    return RLO_OK;
  }
  RLO_TRY(find_parts(shape, &address, out_cost));
  if (shape->layout.tail_alignment_elems > 1) {
    out_cost->parts[out_cost->num_parts++] =
        (rlo_cost_part){RLO_COST_TAIL, 0, address.tiled_slots, address.slots};
  }
  sort(out_cost->parts, out_cost->num_parts);
  return RLO_OK;
}
