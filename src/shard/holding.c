/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/holding.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* ------------------------------------------------------------------- boxes */

int64_t rlo__box_count(const rlo_box *box) {
  int64_t count = 1;
  for (int32_t d = 0; d < box->rank; ++d) {
    /* Other dimensions of an empty array may be near 2^63. */
    count = rlo__mul_capped(count, rlo__max(box->limit[d] - box->start[d], 0));
  }
  return count;
}

int rlo__box_compare(const rlo_box *a, const rlo_box *b) {
  for (int32_t k = 0; k < 2 * a->rank; ++k) {
    const int32_t d = k % a->rank;
    const int64_t left = k < a->rank ? a->start[d] : a->limit[d];
    const int64_t right = k < a->rank ? b->start[d] : b->limit[d];
    if (left != right) {
      return left < right ? -1 : 1;
    }
  }
  return 0;
}

rlo_box rlo__box_intersect(const rlo_box *a, const rlo_box *b) {
  rlo_box box = {.rank = a->rank};
  for (int32_t d = 0; d < a->rank; ++d) {
    box.start[d] = rlo__max(a->start[d], b->start[d]);
    box.limit[d] = rlo__min(a->limit[d], b->limit[d]);
  }
  return box;
}

/* ------------------------------------------------------------- preparation */

static int compare_pointers(const void *left, const void *right) {
  const rlo_box *a = *(const rlo_box *const *)left;
  const rlo_box *b = *(const rlo_box *const *)right;
  int order = rlo__box_compare(a, b);
  /* Boxes lie in one array: equal ones keep the order of their devices. */
  return order != 0 ? order : (a < b ? -1 : a > b);
}

/* The boxes that hold elements; NULL: out of memory. */
static const rlo_box **sort_boxes(const rlo_sharding *sharding, int64_t *out_count) {
  const rlo_box **sorted = rlo__alloc_array((size_t)sharding->num_devices, sizeof(rlo_box *));
  int64_t count = 0;
  for (int64_t k = 0; sorted != NULL && k < sharding->num_devices; ++k) {
    if (rlo__box_count(&sharding->boxes[k]) > 0) {
      sorted[count++] = &sharding->boxes[k];
    }
  }
  if (sorted != NULL) {
    qsort(sorted, (size_t)count, sizeof *sorted, compare_pointers);
  }
  *out_count = count;
  return sorted;
}

static rlo_status group_boxes(rlo__holding *h) {
  size_t num_devices = (size_t)h->num_devices;
  int64_t count = 0;
  const rlo_box **sorted = sort_boxes(h->sharding, &count);
  h->order = rlo__alloc_array(num_devices, sizeof *h->order);
  h->begins = rlo__alloc_array(num_devices + 1, sizeof *h->begins);
  h->holders = rlo__alloc_array(num_devices, sizeof *h->holders);
  h->grid_rank = 1;
  h->counts[0] = 0;
  rlo_status status = sorted == NULL || h->order == NULL || h->begins == NULL || h->holders == NULL
                          ? RLO_OUT_OF_MEMORY
                          : RLO_OK;
  if (status == RLO_OK) {
    for (int64_t k = 0; k < h->num_devices; ++k) {
      h->holders[k].tile = -1;
    }
    for (int64_t k = 0; k < count; ++k) {
      if (k == 0 || rlo__box_compare(sorted[k - 1], sorted[k]) != 0) {
        h->begins[h->counts[0]++] = k;
      }
      h->order[k] = sorted[k] - h->sharding->boxes;
      h->holders[h->order[k]] =
          (rlo__holder){.tile = h->counts[0] - 1, .copy = k - h->begins[h->counts[0] - 1]};
    }
    h->begins[h->counts[0]] = count;
  }
  rlo__free(sorted);
  return status;
}

rlo_status rlo__holding_init(const rlo_sharding *sharding, const rlo_shape *shape,
                             int64_t num_devices, rlo__holding *out_holding) {
  rlo__holding *h = out_holding;
  *h = (rlo__holding){.sharding = sharding,
                      .num_devices = num_devices,
                      .rank = shape->rank,
                      .grid_rank = shape->rank,
                      .num_addends = 1};
  for (int32_t d = 0; d < shape->rank; ++d) {
    h->dims[d] = shape->dims[d];
    h->counts[d] = sharding->kind == RLO_SHARDING_TILED ? sharding->tiles.counts[d] : 1;
    h->widths[d] = rlo__ceil_div(shape->dims[d], h->counts[d]);
  }
  if (sharding->kind == RLO_SHARDING_UNREDUCED) {
    h->num_addends = num_devices;
  }
  for (int32_t k = 0; k < sharding->tiles.num_subgroups; ++k) {
    if (sharding->tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED) {
      h->num_addends *= sharding->tiles.subgroups[k].count;
    }
  }
  return sharding->kind == RLO_SHARDING_BOXES ? group_boxes(h) : RLO_OK;
}

void rlo__holding_deinit(rlo__holding *holding) {
  rlo__free(holding->order);
  rlo__free(holding->begins);
  rlo__free(holding->holders);
  *holding = (rlo__holding){0};
}

/* ------------------------------------------------------------------ places */

/* The devices of a tile of a grid. */
static int64_t count_shared(const rlo__holding *h) {
  int64_t count = 1;
  for (int32_t k = 0; k < h->sharding->tiles.num_subgroups; ++k) {
    count *= h->sharding->tiles.subgroups[k].count;
  }
  return count;
}

int64_t rlo__holding_count_copies(const rlo__holding *h, int64_t tile) {
  switch (h->sharding->kind) {
    case RLO_SHARDING_TILED:
      return count_shared(h) / h->num_addends;
    case RLO_SHARDING_BOXES:
      return h->begins[tile + 1] - h->begins[tile];
    case RLO_SHARDING_REPLICATED:
      return h->num_devices;
    default:
      return 1;
  }
}

/* The cell of a tile within the subgroups, which are the digits of `addend` and
 * of `copy`; and who holds a cell of the grid. */
static int64_t join_subgroups(const rlo_sharding_tiles *tiles, int64_t addend, int64_t copy) {
  int64_t cell = 0;
  int64_t weight = 1;
  for (int32_t k = tiles->num_subgroups - 1; k >= 0; --k) {
    int64_t *digits = tiles->subgroups[k].kind == RLO_SHARDING_UNREDUCED ? &addend : &copy;
    int64_t count = tiles->subgroups[k].count;
    cell += *digits % count * weight;
    *digits /= count;
    weight *= count;
  }
  return cell;
}

static rlo__holder find_cell(const rlo__holding *h, int64_t cell) {
  const rlo_sharding_tiles *tiles = &h->sharding->tiles;
  rlo__holder holder = {0};
  int64_t addend_weight = 1;
  int64_t copy_weight = 1;
  for (int32_t k = tiles->num_subgroups - 1; k >= 0; --k) {
    int64_t count = tiles->subgroups[k].count;
    if (tiles->subgroups[k].kind == RLO_SHARDING_UNREDUCED) {
      holder.addend += cell % count * addend_weight;
      addend_weight *= count;
    } else {
      holder.copy += cell % count * copy_weight;
      copy_weight *= count;
    }
    cell /= count;
  }
  holder.tile = cell;
  return holder;
}

rlo__holder rlo__holding_find(const rlo__holding *h, int64_t device) {
  switch (h->sharding->kind) {
    case RLO_SHARDING_TILED:
      return find_cell(h, h->sharding->cells[device]);
    case RLO_SHARDING_BOXES:
      return h->holders[device];
    case RLO_SHARDING_MAXIMAL:
      return (rlo__holder){.tile = device == h->sharding->num_devices - 1 ? 0 : -1};
    case RLO_SHARDING_UNREDUCED:
      return (rlo__holder){.addend = device};
    default:
      return (rlo__holder){.copy = device};
  }
}

int64_t rlo__holding_device(const rlo__holding *h, int64_t tile, int64_t addend, int64_t copy) {
  switch (h->sharding->kind) {
    case RLO_SHARDING_TILED:
      return h->sharding
          ->devices[tile * count_shared(h) + join_subgroups(&h->sharding->tiles, addend, copy)];
    case RLO_SHARDING_BOXES:
      return h->order[h->begins[tile] + copy];
    case RLO_SHARDING_MAXIMAL:
      return h->sharding->num_devices - 1;
    case RLO_SHARDING_UNREDUCED:
      return addend;
    default:
      return copy;
  }
}

rlo_box rlo__holding_tile_box(const rlo__holding *h, int64_t tile) {
  if (h->sharding->kind == RLO_SHARDING_BOXES) {
    return h->sharding->boxes[h->order[h->begins[tile]]];
  }
  rlo_box box = {.rank = h->rank};
  for (int32_t d = h->rank - 1; d >= 0; --d) {
    int64_t coordinate = tile % h->counts[d];
    tile /= h->counts[d];
    /* A coordinate is below 2^20, but a width may be near 2^63. */
    box.start[d] = rlo__min(rlo__mul_capped(coordinate, h->widths[d]), h->dims[d]);
    box.limit[d] = rlo__min(rlo__add_capped(box.start[d], h->widths[d]), h->dims[d]);
  }
  return box;
}

/* ------------------------------------------------------------------- walks */

void rlo__tile_walk_begin(rlo__tile_walk *walk, const rlo__holding *holding, const rlo_box *box) {
  const bool is_grid = holding->sharding->kind != RLO_SHARDING_BOXES;
  *walk = (rlo__tile_walk){.holding = holding, .box = *box, .is_done = rlo__box_count(box) == 0};
  for (int32_t d = 0; d < holding->grid_rank && !walk->is_done; ++d) {
    walk->first[d] = is_grid ? box->start[d] / holding->widths[d] : 0;
    walk->last[d] = is_grid ? (box->limit[d] - 1) / holding->widths[d] : holding->counts[d] - 1;
    walk->next[d] = walk->first[d];
  }
}

/* Takes the next tile, which may not meet the box. */
static int64_t take_tile(rlo__tile_walk *walk) {
  const rlo__holding *h = walk->holding;
  int64_t tile = 0;
  for (int32_t d = 0; d < h->grid_rank; ++d) {
    tile = tile * h->counts[d] + walk->next[d];
  }
  int32_t d = h->grid_rank - 1;
  while (d >= 0 && walk->next[d] == walk->last[d]) {
    walk->next[d] = walk->first[d];
    --d;
  }
  if (d >= 0) {
    ++walk->next[d];
  }
  walk->is_done = d < 0;
  return tile;
}

bool rlo__tile_walk_next(rlo__tile_walk *walk, rlo__held_tile *out_tile) {
  while (!walk->is_done) {
    out_tile->tile = take_tile(walk);
    rlo_box whole = rlo__holding_tile_box(walk->holding, out_tile->tile);
    out_tile->box = rlo__box_intersect(&walk->box, &whole);
    out_tile->num_copies = rlo__holding_count_copies(walk->holding, out_tile->tile);
    if (rlo__box_count(&out_tile->box) > 0) {
      return true;
    }
  }
  return false;
}

/* The boxes are visited one by one. */
static int64_t count_before_box(const rlo__tile_walk *begun, int64_t tile, int64_t copy) {
  rlo__tile_walk walk = *begun;
  rlo__held_tile found;
  int64_t count = 0;
  while (rlo__tile_walk_next(&walk, &found)) {
    if (found.tile == tile) {
      return count + copy;
    }
    count += found.num_copies;
  }
  return -1;
}

int64_t rlo__tile_walk_count_before(const rlo__tile_walk *walk, int64_t tile, int64_t copy) {
  const rlo__holding *h = walk->holding;
  if (walk->is_done || tile < 0) {
    return -1;
  }
  if (h->sharding->kind == RLO_SHARDING_BOXES) {
    return count_before_box(walk, tile, copy);
  }
  int64_t ordinal = 0;
  int64_t weight = 1;
  int64_t rest = tile;
  for (int32_t d = h->rank - 1; d >= 0; --d) {
    int64_t coordinate = rest % h->counts[d];
    rest /= h->counts[d];
    if (coordinate < walk->first[d] || coordinate > walk->last[d]) {
      return -1;
    }
    ordinal += (coordinate - walk->first[d]) * weight;
    weight *= walk->last[d] - walk->first[d] + 1;
  }
  return ordinal * rlo__holding_count_copies(h, tile) + copy;
}
