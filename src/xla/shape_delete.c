/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deletion of dimensions from shapes and layouts.
 *
 * The entries of a tile refer to physical dimensions by place, from the most
 * minor one, so that deleting a dimension deletes the entries for it. The tiles
 * are applied to a list of physical dimensions in which deleted ones are marked
 * dead; all that a tile makes of a dead dimension is dead.
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

typedef struct item {
  int64_t extent;
  bool is_dead;
} item;

/* Physical dimensions, major to minor. */
typedef struct item_list {
  int32_t count;
  item items[RLO_ADDRESS_MAP_MAX_LEAVES];
  /** True when the extents are exact, as a repair needs them. */
  bool is_exact;
} item_list;

/* Merges item `at` into the next one, as `*` does. True if the tile still needs
 * its entry for that. */
static bool combine(item_list *list, int32_t at) {
  item high = list->items[at];
  item low = list->items[at + 1];
  item whole = {0, high.is_dead && low.is_dead};
  if (high.is_dead == low.is_dead) {
    list->is_exact =
        list->is_exact && rlo__mul(high.extent, low.extent, &whole.extent);
  } else {
    /* A dead half is always 0; its width, if above 1, is lost. */
    whole.extent = high.is_dead ? low.extent : high.extent;
    list->is_exact =
        list->is_exact && (high.is_dead ? high.extent : low.extent) == 1;
  }
  memmove(list->items + at,
          list->items + at + 1,
          (size_t)(list->count - at - 1) * sizeof list->items[0]);
  list->items[at] = whole;
  --list->count;
  return !high.is_dead && !low.is_dead;
}

/* Applies a tile to the list, and gives the tile without entries for dead
 * items. */
static rlo_status apply_tile(item_list *list,
                             const rlo_tile *tile,
                             rlo_tile *out_tile) {
  int32_t missing = tile->rank - list->count;
  if (missing > 0) {
    memmove(list->items + missing,
            list->items,
            (size_t)list->count * sizeof list->items[0]);
    for (int32_t i = 0; i < missing; ++i) {
      list->items[i] = (item){1, false};
    }
    list->count = tile->rank;
  }
  memset(out_tile, 0, sizeof *out_tile);
  item low[RLO_MAX_TILE_RANK];
  int32_t first = list->count - tile->rank;
  int32_t tiled = 0;
  for (int32_t k = 0; k < tile->rank; ++k) {
    item *whole = &list->items[first + tiled];
    bool is_kept = true;
    if (tile->dims[k] == RLO_TILE_COMBINE) {
      is_kept = combine(list, first + tiled);
    } else {
      is_kept = !whole->is_dead;
      low[tiled++] = (item){tile->dims[k], whole->is_dead};
      whole->extent = rlo__ceil_div(whole->extent, tile->dims[k]);
    }
    if (is_kept) {
      out_tile->dims[out_tile->rank++] = tile->dims[k];
    }
  }
  if (list->count + tiled > RLO_ADDRESS_MAP_MAX_LEAVES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the layout's tiles make more than %d physical dimensions",
                    RLO_ADDRESS_MAP_MAX_LEAVES);
  }
  memcpy(list->items + list->count, low, (size_t)tiled * sizeof low[0]);
  list->count += tiled;
  return RLO_OK;
}

/* Makes the shape without some dimensions. The list is all that the tiles make
 * of them. */
static rlo_status delete_dims(const rlo_shape *shape,
                              const bool *keep,
                              rlo_shape *out,
                              item_list *list) {
  const rlo_layout *layout = &shape->layout;
  int32_t from[RLO_MAX_RANK];
  int32_t rank = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (keep[k]) {
      from[rank++] = k;
    }
  }
  rlo__shape_take_dims(shape, from, rank, out);
  memset(list, 0, sizeof *list);
  if (layout->kind != RLO_LAYOUT_DENSE) {
    return RLO_OK;
  }
  list->is_exact = true;
  list->count = shape->rank;
  for (int32_t p = 0; p < shape->rank; ++p) {
    int32_t dim = rlo_layout_major(layout, shape->rank, p);
    list->items[p] = (item){
        rlo_layout_padded_dimension(layout, shape->dims, dim), !keep[dim]};
  }
  rlo_layout_clear_tiles(&out->layout);
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    rlo_tile tile;
    RLO_TRY(apply_tile(list, &layout->tiles[t], &tile));
    if (tile.rank > 0) {
      out->layout.tiles[out->layout.num_tiles++] = tile;
    }
  }
  return RLO_OK;
}

rlo_status rlo_layout_delete_dim(const rlo_layout *layout,
                                 int32_t rank,
                                 int32_t dim,
                                 rlo_layout *out_layout) {
  RLO_REQUIRE(layout, out_layout);
  RLO_TRY(rlo__dim_find(NULL, dim, rank, &dim));
  /* Only a repair needs the sizes. */
  rlo_shape shape = {.rank = rank, .layout = *layout};
  bool keep[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    keep[k] = k != dim;
  }
  rlo_shape result;
  item_list list;
  RLO_TRY(delete_dims(&shape, keep, &result, &list));
  *out_layout = result.layout;
  return RLO_OK;
}

/*
 * Adds tiles that replace dead items, which are room for `extent` values of
 * which only the first is used.
 *
 * The live item after them is widened by that factor. One last tile does so for
 * all of them: its entries are at least as wide as their dimensions, so that
 * each makes one block, and the blocks are the dimensions. A widened dimension
 * of size 1 makes the room after the last live item.
 */
static bool add_repair(const item_list *list, rlo_layout *layout) {
  static const int64_t one = 1;
  int64_t dims[RLO_ADDRESS_MAP_MAX_LEAVES];
  int32_t count = 0;
  int64_t room = 1;
  bool fits = list->is_exact;
  for (int32_t i = 0; fits && i < list->count; ++i) {
    if (list->items[i].is_dead) {
      fits = rlo__mul(room, list->items[i].extent, &room);
    } else if (room > 1 || count > 0) {
      fits = rlo__mul(room, list->items[i].extent, &dims[count++]);
      room = 1;
    }
  }
  return fits &&
         (count == 0 || rlo_layout_add_tile(layout, dims, count) == RLO_OK) &&
         (room == 1 || (rlo_layout_add_tile(layout, &one, 1) == RLO_OK &&
                        rlo_layout_add_tile(layout, &room, 1) == RLO_OK));
}

/* Finds out whether all elements and all slots without element keep their
 * positions. */
static rlo_status moves_no_byte(const rlo_shape *before,
                                const rlo_shape *after,
                                bool *out_answer) {
  rlo_shape_extent old_extent;
  rlo_shape_extent new_extent;
  *out_answer = false;
  RLO_TRY(rlo_shape_measure(before, &old_extent));
  if (rlo_shape_measure(after, &new_extent) != RLO_OK ||
      old_extent.slots != new_extent.slots) {
    return RLO_OK;
  }
  return rlo_shape_reshape_is_bitcast(before, after, 0, out_answer);
}

/* Makes the elements keep their positions, after a deletion of dimensions of
 * size 1 only: mostly as it is; with the tiles as they were, because a tile
 * longer than the rank puts dimensions of size 1 in their place; or repaired.
 */
static rlo_status keep_in_place(const rlo_shape *before,
                                const item_list *list,
                                rlo_shape *after) {
  enum { AS_IT_IS, WITH_ALL_TILES, REPAIRED, NUM_WAYS };

  for (int way = AS_IT_IS; way < NUM_WAYS; ++way) {
    rlo_shape candidate = *after;
    bool is_in_place = way != REPAIRED || add_repair(list, &candidate.layout);
    if (way == WITH_ALL_TILES) {
      memcpy(candidate.layout.tiles,
             before->layout.tiles,
             sizeof candidate.layout.tiles);
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
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "no tiles of at most %d levels keep the elements in place "
                  "without the dimensions of size 1",
                  RLO_MAX_TILES);
}

rlo_status rlo_shape_filter_dims(const rlo_shape *shape,
                                 const bool *keep,
                                 rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_REQUIRE_LIST(keep, shape->rank);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  bool only_ones = true;
  for (int32_t k = 0; k < shape->rank; ++k) {
    only_ones = only_ones && (keep[k] || shape->dims[k] == 1);
  }
  rlo_shape result;
  item_list list;
  RLO_TRY(delete_dims(shape, keep, &result, &list));
  if (only_ones && !rlo_shape_is_unbounded(shape)) {
    RLO_TRY(keep_in_place(shape, &list, &result));
  }
  RLO_TRY(rlo_shape_validate_unbounded(&result));
  *out_shape = result;
  return RLO_OK;
}

rlo_status rlo_shape_delete_dims(const rlo_shape *shape,
                                 const int32_t *dims,
                                 int32_t count,
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

rlo_status rlo_shape_drop_degenerate_dims(const rlo_shape *shape,
                                          rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  bool keep[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    keep[k] = shape->dims[k] != 1;
  }
  return rlo_shape_filter_dims(shape, keep, out_shape);
}
