/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deletion of dimensions from shapes and layouts.
 *
 * The entries of a tile refer to physical dimensions by place, from the most
 * minor one, so that deleting a dimension deletes the entries for it. Each
 * entry is a step of the address map. The variables of deleted dimensions are
 * dead, and so is all that steps make of them alone.
 */

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "desc/dimension.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "xla/layout_edit.h"

/* The map before a deletion. */
typedef struct remains {
  rlo_address_map address;
  bool is_dead[RLO_ADDRESS_MAP_MAX_VARS];
  /** True for the steps that the other dimensions need. */
  bool is_kept[RLO_ADDRESS_MAP_MAX_STEPS];
} remains;

static void walk_steps(remains *r) {
  for (int32_t s = 0; s < r->address.num_steps; ++s) {
    const rlo_step *step = &r->address.steps[s];
    bool *whole = &r->is_dead[step->whole];
    bool *high = &r->is_dead[step->high];
    bool *low = &r->is_dead[step->low];
    if (step->kind == RLO_STEP_SPLIT) {
      *high = *whole;
      *low = *whole;
    } else {
      *whole = *high && *low;
    }
    r->is_kept[s] = !*high && !*low;
  }
}

/* Adds the entries of tiles whose steps are kept: those of one tile follow each
 * other, the ones that combine first. */
static void add_tiles(const remains *r, const rlo_layout *layout, rlo_layout *out) {
  int32_t next_split = 0;
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    const rlo_tile *tile = &layout->tiles[t];
    rlo_tile *kept = &out->tiles[out->num_tiles];
    int32_t next_combine = next_split;
    for (int32_t k = 0; k < tile->rank; ++k) {
      next_split += tile->dims[k] == RLO_TILE_COMBINE;
    }
    for (int32_t k = 0; k < tile->rank; ++k) {
      bool combines = tile->dims[k] == RLO_TILE_COMBINE;
      if (r->is_kept[combines ? next_combine++ : next_split++]) {
        kept->dims[kept->rank++] = tile->dims[k];
      }
    }
    out->num_tiles += kept->rank > 0;
  }
}

/* Makes the shape without some dimensions. */
static rlo_status delete_dims(const rlo_shape *shape, const bool *keep, rlo_shape *out,
                              remains *r) {
  int32_t from[RLO_MAX_RANK];
  int32_t rank = 0;
  memset(r, 0, sizeof *r);
  for (int32_t k = 0; k < shape->rank; ++k) {
    r->is_dead[k] = !keep[k];
    if (keep[k]) {
      from[rank++] = k;
    }
  }
  rlo__shape_take_dims(shape, from, rank, out);
  if (shape->layout.kind == RLO_LAYOUT_DENSE) {
    rlo_shape bounded = *shape;
    for (int32_t k = 0; k < shape->rank; ++k) {
      bounded.dims[k] = rlo__max(0, shape->dims[k]);
    }
    RLO_TRY(rlo__address_make(&bounded, &r->address));
    walk_steps(r);
    rlo_layout_clear_tiles(&out->layout);
    add_tiles(r, &shape->layout, &out->layout);
  }
  return RLO_OK;
}

rlo_status rlo_layout_delete_dim(const rlo_layout *layout, int32_t rank, int32_t dim,
                                 rlo_layout *out_layout) {
  RLO_REQUIRE(layout, out_layout);
  RLO_TRY(rlo__dim_find(NULL, dim, rank, &dim));
  /* Only a repair needs sizes. */
  rlo_shape shape = {.rank = rank, .layout = *layout};
  shape.layout.has_padded_dimensions = false;
  bool keep[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    keep[k] = k != dim;
  }
  rlo_shape result;
  remains r;
  RLO_TRY(delete_dims(&shape, keep, &result, &r));
  result.layout.has_padded_dimensions = layout->has_padded_dimensions;
  *out_layout = result.layout;
  return RLO_OK;
}

/*
 * Adds tiles that replace dead leaves, which are room for `extent` values of
 * which only the first is used.
 *
 * The live leaf after them is widened by that factor. One last tile does so for
 * all of them: its entries are at least as wide as their dimensions, so that
 * each makes one block, and the blocks are the dimensions. A widened dimension
 * of size 1 makes the room after the last live leaf.
 */
static bool add_repair(const remains *r, rlo_layout *layout) {
  static const int64_t one = 1;
  int64_t dims[RLO_ADDRESS_MAP_MAX_LEAVES];
  int32_t count = 0;
  int64_t room = 1;
  bool fits = true;
  for (int32_t p = 0; fits && p < r->address.num_leaves; ++p) {
    int64_t extent = r->address.leaves[p].extent;
    if (r->is_dead[r->address.leaves[p].var]) {
      fits = rlo__mul(room, extent, &room);
    } else if (room > 1 || count > 0) {
      fits = rlo__mul(room, extent, &dims[count++]);
      room = 1;
    }
  }
  return fits && (count == 0 || rlo_layout_add_tile(layout, dims, count) == RLO_OK) &&
         (room == 1 || (rlo_layout_add_tile(layout, &one, 1) == RLO_OK &&
                        rlo_layout_add_tile(layout, &room, 1) == RLO_OK));
}

/* Finds out whether all elements and all slots without element keep their
 * positions. */
static rlo_status moves_no_byte(const rlo_shape *before, const rlo_shape *after, bool *out_answer) {
  rlo_shape_extent old_extent;
  rlo_shape_extent new_extent;
  *out_answer = false;
  RLO_TRY(rlo_shape_measure(before, &old_extent));
  if (rlo_shape_measure(after, &new_extent) != RLO_OK || old_extent.slots != new_extent.slots) {
    return RLO_OK;
  }
  return rlo_shape_reshape_is_bitcast(before, after, 0, out_answer);
}

/* Makes the elements keep their positions, after a deletion of dimensions of
 * size 1 only: mostly as it is; with the tiles as they were, because a tile
 * longer than the rank puts dimensions of size 1 in their place; or repaired.
 */
static rlo_status keep_in_place(const rlo_shape *before, const remains *r, rlo_shape *after) {
  enum { AS_IT_IS, WITH_ALL_TILES, REPAIRED, NUM_WAYS };

  for (int way = AS_IT_IS; way < NUM_WAYS; ++way) {
    rlo_shape candidate = *after;
    bool is_in_place = way != REPAIRED || add_repair(r, &candidate.layout);
    if (way == WITH_ALL_TILES) {
      memcpy(candidate.layout.tiles, before->layout.tiles, sizeof candidate.layout.tiles);
      candidate.layout.num_tiles = before->layout.num_tiles;
    }
    if (is_in_place) {
      RLO_TRY(moves_no_byte(before, &candidate, &is_in_place));
    }
    if (is_in_place) {
      *after = candidate;
      return RLO_OK;
    }
  }
  return RLO_FAIL(
      RLO_UNSUPPORTED,
      "no tiles of at most %d levels keep the elements in place without the dimensions of size 1",
      RLO_MAX_TILES);
}

rlo_status rlo_shape_filter_dims(const rlo_shape *shape, const bool *keep, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_REQUIRE_LIST(keep, shape->rank);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  bool only_ones = true;
  for (int32_t k = 0; k < shape->rank; ++k) {
    only_ones = only_ones && (keep[k] || shape->dims[k] == 1);
  }
  rlo_shape result;
  remains r;
  RLO_TRY(delete_dims(shape, keep, &result, &r));
  if (only_ones && !rlo_shape_is_unbounded(shape)) {
    RLO_TRY(keep_in_place(shape, &r, &result));
  }
  RLO_TRY(rlo_shape_validate_unbounded(&result));
  *out_shape = result;
  return RLO_OK;
}

rlo_status rlo_shape_delete_dims(const rlo_shape *shape, const int32_t *dims, int32_t count,
                                 rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_REQUIRE_LIST(dims, count);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo__dim_set deleted;
  RLO_TRY(rlo__dim_set_make(&deleted, NULL, shape->rank, dims, count));
  bool keep[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    keep[k] = !deleted.has[k];
  }
  return rlo_shape_filter_dims(shape, keep, out_shape);
}

bool rlo_shape_has_degenerate_dims(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (shape->dims[k] == 1) {
      return true;
    }
  }
  return false;
}

rlo_status rlo_shape_drop_degenerate_dims(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  bool keep[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    keep[k] = shape->dims[k] != 1;
  }
  return rlo_shape_filter_dims(shape, keep, out_shape);
}
