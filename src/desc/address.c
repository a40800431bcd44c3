/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/address.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"

/* A physical dimension of a map under construction. */
typedef struct physical_dim {
  int32_t var;
  int64_t extent;
} physical_dim;

typedef struct builder {
  rlo_address_map *address;
  /* Physical dimensions, major to minor. */
  int32_t count;
  physical_dim dims[RLO_ADDRESS_MAP_MAX_LEAVES];
} builder;

static rlo_status fail_size(void) {
  return RLO_FAIL(RLO_UNSUPPORTED, "the layout's tiles make more than %d physical dimensions",
                  RLO_ADDRESS_MAP_MAX_LEAVES);
}

static rlo_status new_var(rlo_address_map *address, int64_t limit, int32_t *out) {
  if (address->num_vars == RLO_ADDRESS_MAP_MAX_VARS) {
    return fail_size();
  }
  address->limits[address->num_vars] = limit;
  *out = address->num_vars++;
  return RLO_OK;
}

static rlo_status new_step(rlo_address_map *address, rlo_step step) {
  if (address->num_steps == RLO_ADDRESS_MAP_MAX_STEPS) {
    return fail_size();
  }
  address->steps[address->num_steps++] = step;
  return RLO_OK;
}

/* Prepend dimensions of size 1, so that a tile of this rank can apply. */
static rlo_status extend_rank(builder *b, int32_t rank) {
  int32_t missing = rank - b->count;
  if (missing <= 0) {
    return RLO_OK;
  }
  memmove(b->dims + missing, b->dims, (size_t)b->count * sizeof b->dims[0]);
  b->count = rank;
  for (int32_t i = 0; i < missing; ++i) {
    RLO_TRY(new_var(b->address, 1, &b->dims[i].var));
    b->dims[i].extent = 1;
  }
  return RLO_OK;
}

/* Merge physical dimension `at` into the next more minor one. */
static rlo_status combine(builder *b, int32_t tile, int32_t at) {
  physical_dim high = b->dims[at];
  physical_dim low = b->dims[at + 1];
  int64_t extent;
  RLO_FAIL_IF(!rlo__mul(high.extent, low.extent, &extent), RLO_OVERFLOW,
              "combined dimensions %lld x %lld do not fit 64 bits", (long long)high.extent,
              (long long)low.extent);
  int32_t whole = 0;
  RLO_TRY(new_var(b->address, extent, &whole));
  rlo_step step = {RLO_STEP_COMBINE, whole, high.var, low.var, low.extent, tile};
  RLO_TRY(new_step(b->address, step));
  memmove(b->dims + at, b->dims + at + 1, (size_t)(b->count - at - 1) * sizeof b->dims[0]);
  --b->count;
  b->dims[at] = (physical_dim){whole, extent};
  return RLO_OK;
}

static rlo_status apply_tile(builder *b, const rlo_tile *tile, int32_t index) {
  RLO_TRY(extend_rank(b, tile->rank));
  int64_t radices[RLO_MAX_TILE_RANK];
  int32_t tiled = 0;
  for (int32_t k = 0; k < tile->rank; ++k) {
    if (tile->dims[k] == RLO_TILE_COMBINE) {
      RLO_TRY(combine(b, index, b->count - (tile->rank - k)));
    } else {
      radices[tiled++] = tile->dims[k];
    }
  }
  if (b->count + tiled > RLO_ADDRESS_MAP_MAX_LEAVES) {
    return fail_size();
  }
  int32_t first = b->count - tiled;
  for (int32_t k = 0; k < tiled; ++k) {
    physical_dim whole = b->dims[first + k];
    physical_dim high = {0, rlo__ceil_div(whole.extent, radices[k])};
    physical_dim low = {0, radices[k]};
    RLO_TRY(new_var(b->address, high.extent, &high.var));
    RLO_TRY(new_var(b->address, low.extent, &low.var));
    rlo_step step = {RLO_STEP_SPLIT, whole.var, high.var, low.var, radices[k], index};
    RLO_TRY(new_step(b->address, step));
    b->dims[first + k] = high;
    b->dims[first + tiled + k] = low;
  }
  b->count += tiled;
  return RLO_OK;
}

static rlo_status place_leaves(const builder *b, const rlo_layout *layout) {
  rlo_address_map *address = b->address;
  address->num_leaves = b->count;
  bool is_empty = false;
  for (int32_t p = 0; p < b->count; ++p) {
    address->leaves[p].var = b->dims[p].var;
    address->leaves[p].extent = b->dims[p].extent;
    is_empty = is_empty || b->dims[p].extent == 0;
  }
  int64_t stride = is_empty ? 0 : 1;
  for (int32_t p = b->count - 1; p >= 0; --p) {
    address->leaves[p].stride = stride;
    RLO_FAIL_IF(!rlo__mul(stride, b->dims[p].extent, &stride), RLO_OVERFLOW,
                "physical dimension %d of extent %lld takes the slots beyond 64 bits", p,
                (long long)b->dims[p].extent);
  }
  address->tiled_slots = stride;
  int64_t alignment = layout->tail_alignment_elems > 1 ? layout->tail_alignment_elems : 1;
  RLO_FAIL_IF(!rlo__round_up(stride, alignment, &address->slots), RLO_OVERFLOW,
              "%lld slots rounded up to a multiple of %lld do not fit 64 bits", (long long)stride,
              (long long)alignment);
  return RLO_OK;
}

static rlo_status make_dense(const rlo_shape *shape, rlo_address_map *address) {
  const rlo_layout *layout = &shape->layout;
  builder b = {.address = address, .count = shape->rank};
  address->is_dense = true;
  for (int32_t p = 0; p < shape->rank; ++p) {
    int32_t logical = layout->minor_to_major[shape->rank - 1 - p];
    b.dims[p].var = logical;
    b.dims[p].extent =
        layout->has_padded_dimensions ? layout->padded_dimensions[logical] : shape->dims[logical];
  }
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    RLO_TRY(apply_tile(&b, &layout->tiles[t], t));
  }
  return place_leaves(&b, layout);
}

static rlo_status make_strided(const rlo_shape *shape, rlo_address_map *address) {
  const rlo_layout *layout = &shape->layout;
  address->is_dense = false;
  address->offset = layout->offset_elems;
  address->num_leaves = shape->rank;
  bool is_empty = false;
  bool fits = true;
  int64_t ends[2] = {layout->offset_elems, layout->offset_elems};
  for (int32_t k = 0; k < shape->rank; ++k) {
    const int64_t stride = layout->strides_elems[k];
    int64_t *end = &ends[stride < 0 ? 0 : 1];
    address->leaves[k].var = k;
    address->leaves[k].extent = shape->dims[k];
    address->leaves[k].stride = stride;
    is_empty = is_empty || shape->dims[k] == 0;
    fits = fits && rlo__mul_add(*end, shape->dims[k] - 1, stride, end);
  }
  if (is_empty) {
    return RLO_OK;
  }
  RLO_FAIL_IF(!fits || ends[1] == INT64_MAX, RLO_OVERFLOW,
              "the strided layout reaches beyond 64-bit positions");
  RLO_FAIL_IF(ends[0] < 0, RLO_OUT_OF_RANGE,
              "the strided layout reaches slot %lld; slots begin at 0", (long long)ends[0]);
  address->slots = ends[1] + 1;
  return RLO_OK;
}

rlo_status rlo__address_make(const rlo_shape *shape, rlo_address_map *out_address) {
  /* The arrays after the head have counts, and are many times as long. */
  memset(out_address, 0, offsetof(rlo_address_map, leaves));
  out_address->rank = shape->rank;
  out_address->num_vars = shape->rank;
  for (int32_t k = 0; k < shape->rank; ++k) {
    out_address->limits[k] = shape->dims[k];
  }
  RLO_TRY(shape->layout.kind == RLO_LAYOUT_STRIDED ? make_strided(shape, out_address)
                                                   : make_dense(shape, out_address));
  if (out_address->num_steps == 0) {
    for (int32_t p = 0; p < out_address->num_leaves; ++p) {
      out_address->strides[out_address->leaves[p].var] = out_address->leaves[p].stride;
    }
  }
  return RLO_OK;
}

/* a / b for a >= 0 and b > 0. Most values fit in 32 bits, for which division is
 * several times faster. */
static inline int64_t divide(int64_t a, int64_t b) {
  return ((a | b) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

/* Computes the two parts of a variable, or the variable from them. */
static inline void run_step(const rlo_step *step, bool splits, int64_t *values) {
  if (splits) {
    values[step->high] = divide(values[step->whole], step->radix);
    values[step->low] = values[step->whole] - values[step->high] * step->radix;
  } else {
    values[step->whole] = values[step->high] * step->radix + values[step->low];
  }
}

int64_t rlo__address_slot(const rlo_address_map *address, const int64_t *index) {
  int64_t values[RLO_ADDRESS_MAP_MAX_VARS];
  for (int32_t v = 0; v < address->num_vars; ++v) {
    values[v] = v < address->rank ? index[v] : 0;
  }
  for (int32_t s = 0; s < address->num_steps; ++s) {
    const rlo_step *step = &address->steps[s];
    run_step(step, step->kind == RLO_STEP_SPLIT, values);
  }
  int64_t slot = address->offset;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    slot += values[address->leaves[p].var] * address->leaves[p].stride;
  }
  return slot;
}

bool rlo__address_index(const rlo_address_map *address, int64_t slot, int64_t *out_index) {
  if (slot >= address->tiled_slots) {
    return false;
  }
  int64_t values[RLO_ADDRESS_MAP_MAX_VARS];
  memset(values, 0, (size_t)address->num_vars * sizeof values[0]);
  int64_t rest = slot;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    int64_t value = divide(rest, address->leaves[p].stride);
    values[address->leaves[p].var] = value;
    rest -= value * address->leaves[p].stride;
  }
  for (int32_t s = address->num_steps - 1; s >= 0; --s) {
    const rlo_step *step = &address->steps[s];
    run_step(step, step->kind == RLO_STEP_COMBINE, values);
  }
  /* A slot without element has some variable at or beyond its limit: a logical
   * coordinate beyond its dimension, a tile's coordinate beyond the tile where
   * a later tile does not divide it, or a constant zero that is not 0. */
  for (int32_t v = 0; v < address->num_vars; ++v) {
    if (values[v] >= address->limits[v]) {
      return false;
    }
  }
  for (int32_t k = 0; k < address->rank; ++k) {
    out_index[k] = values[k];
  }
  return true;
}
