/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/sharding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

const char *rlo__sharding_word(rlo_sharding_kind kind) {
  static const char *const words[] = {[RLO_SHARDING_REPLICATED] = "replicated",
                                      [RLO_SHARDING_MANUAL] = "manual",
                                      [RLO_SHARDING_UNKNOWN] = "unknown",
                                      [RLO_SHARDING_UNREDUCED] = "unreduced"};
  const int number = (int)kind;
  return number >= 0 && number <= RLO_SHARDING_UNREDUCED ? words[number] : NULL;
}

/* ------------------------------------------------------------ construction */

static rlo_status create(rlo_sharding_kind kind, int64_t num_devices, rlo_sharding **out_sharding) {
  rlo_sharding *sharding = rlo__alloc(sizeof *sharding);
  RLO_TRY_MEMORY(sharding);
  atomic_init(&sharding->references, 1);
  sharding->kind = kind;
  sharding->num_devices = num_devices;
  *out_sharding = sharding;
  return RLO_OK;
}

rlo_status rlo_sharding_make(rlo_sharding_kind kind, rlo_sharding **out_sharding) {
  RLO_REQUIRE(out_sharding);
  *out_sharding = NULL;
  return rlo__sharding_word(kind) != NULL
             ? create(kind, 0, out_sharding)
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "sharding kind %d does not exist or needs parameters",
                        (int)kind);
}

rlo_status rlo_sharding_make_maximal(int64_t device, rlo_sharding **out_sharding) {
  RLO_REQUIRE(out_sharding);
  *out_sharding = NULL;
  RLO_FAIL_IF(device < 0 || device >= RLO_SHARDING_MAX_DEVICES, RLO_OUT_OF_RANGE,
              "device %" PRId64 " is outside 0..%d", device, RLO_SHARDING_MAX_DEVICES - 1);
  return create(RLO_SHARDING_MAXIMAL, device + 1, out_sharding);
}

static rlo_status check_subgroup(const rlo_sharding_subgroup *subgroup, int32_t position) {
  RLO_FAIL_IF(subgroup->kind != RLO_SHARDING_REPLICATED &&
                  subgroup->kind != RLO_SHARDING_UNREDUCED && subgroup->kind != RLO_SHARDING_MANUAL,
              RLO_INVALID_ARGUMENT,
              "subgroup %" PRId32
              " is of sharding kind %d, and only replicated, unreduced and manual ones exist",
              position, (int)subgroup->kind);
  return RLO_OK;
}

/* The number of cells of the grid. */
static rlo_status count_cells(const rlo_sharding_tiles *tiles, int64_t *out_cells) {
  RLO_FAIL_IF(tiles->rank < 0 || tiles->rank > RLO_MAX_RANK, RLO_UNSUPPORTED,
              "a grid of rank %" PRId32 " is outside 0..%d", tiles->rank, RLO_MAX_RANK);
  RLO_FAIL_IF(tiles->num_subgroups < 0 || tiles->num_subgroups > RLO_SHARDING_MAX_SUBGROUPS,
              RLO_UNSUPPORTED, "%" PRId32 " subgroups are outside 0..%d", tiles->num_subgroups,
              RLO_SHARDING_MAX_SUBGROUPS);
  int64_t cells = 1;
  for (int32_t d = 0; d < tiles->rank + tiles->num_subgroups; ++d) {
    int32_t subgroup = d - tiles->rank;
    int64_t count = subgroup < 0 ? tiles->counts[d] : tiles->subgroups[subgroup].count;
    RLO_FAIL_IF(count < 1, RLO_INVALID_ARGUMENT,
                "dimension %" PRId32 " of the grid has %" PRId64 " cells, and at least 1 is needed",
                d, count);
    if (subgroup >= 0) {
      RLO_TRY(check_subgroup(&tiles->subgroups[subgroup], subgroup));
    }
    cells = rlo__mul_capped(cells, count);
  }
  RLO_FAIL_IF(cells > RLO_SHARDING_MAX_DEVICES, RLO_UNSUPPORTED, "a grid of more than %d cells",
              RLO_SHARDING_MAX_DEVICES);
  *out_cells = cells;
  return RLO_OK;
}

static rlo_status check_iota(const rlo_sharding_tiles *tiles, int64_t cells) {
  RLO_FAIL_IF(tiles->iota_rank > RLO_SHARDING_MAX_IOTA_RANK, RLO_UNSUPPORTED,
              "iota of rank %" PRId32 ", and at most %d is possible", tiles->iota_rank,
              RLO_SHARDING_MAX_IOTA_RANK);
  bool is_seen[RLO_SHARDING_MAX_IOTA_RANK] = {false};
  int64_t product = 1;
  for (int32_t k = 0; k < tiles->iota_rank; ++k) {
    int32_t axis = tiles->iota_permutation[k];
    bool is_axis = axis >= 0 && axis < tiles->iota_rank;
    RLO_FAIL_IF(!is_axis || is_seen[axis], RLO_INVALID_ARGUMENT,
                "entry %" PRId32 " of iota's permutation, %" PRId32 ", is %s", k, axis,
                is_axis ? "there twice" : "no dimension of it");
    is_seen[axis] = true;
    RLO_FAIL_IF(tiles->iota_dims[k] < 1, RLO_INVALID_ARGUMENT,
                "dimension %" PRId32 " of iota is %" PRId64 ", and at least 1 is needed", k,
                tiles->iota_dims[k]);
    product = rlo__mul_capped(product, tiles->iota_dims[k]);
  }
  RLO_FAIL_IF(product != cells, RLO_INVALID_ARGUMENT,
              "iota has %" PRId64 " devices, the grid %" PRId64 " cells", product, cells);
  return RLO_OK;
}

/* Lists what iota gives for each cell; it repeats itself where there are more
 * cells. */
static void list_iota(const rlo_sharding_tiles *tiles, int64_t cells, int64_t *devices) {
  int64_t strides[RLO_SHARDING_MAX_IOTA_RANK];
  int64_t stride = 1;
  for (int32_t k = tiles->iota_rank - 1; k >= 0; --k) {
    strides[k] = stride;
    stride *= tiles->iota_dims[k];
  }
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t rest = cell;
    int64_t device = 0;
    for (int32_t k = tiles->iota_rank - 1; k >= 0; --k) {
      int32_t axis = tiles->iota_permutation[k];
      device += rest % tiles->iota_dims[axis] * strides[axis];
      rest /= tiles->iota_dims[axis];
    }
    devices[cell] = device;
  }
}

/* Writes the list of devices as iota, if it is one: with the fewest dimensions,
 * which are the same for all ways to write the same order. */
static void find_iota(rlo_sharding *sharding) {
  rlo_sharding_tiles *tiles = &sharding->tiles;
  const int64_t cells = sharding->num_devices;
  int64_t extents[RLO_SHARDING_MAX_IOTA_RANK];
  int64_t strides[RLO_SHARDING_MAX_IOTA_RANK];
  int32_t rank = 0;
  /* Dimensions are found from the last one on, each as long as its stride goes on. */
  int64_t block = 1;
  for (; block < cells && rank < RLO_SHARDING_MAX_IOTA_RANK; ++rank) {
    strides[rank] = tiles->devices[block];
    extents[rank] = 1;
    while (extents[rank] * block < cells &&
           tiles->devices[extents[rank] * block] == extents[rank] * strides[rank]) {
      ++extents[rank];
    }
    block *= extents[rank];
    tiles->iota_dims[rank] = 1;
  }
  for (int32_t k = 0; k < rank; ++k) {
    int32_t place = 0;
    for (int32_t other = 0; other < rank; ++other) {
      place += strides[other] > strides[k] ? 1 : 0;
    }
    tiles->iota_permutation[rank - 1 - k] = place;
    tiles->iota_dims[place] = extents[k];
  }
  tiles->iota_rank = rank;
  list_iota(tiles, cells, sharding->cells);
  if (block != cells ||
      memcmp(tiles->devices, sharding->cells, (size_t)cells * sizeof *sharding->cells) != 0) {
    tiles->iota_rank = 0;
  }
}

static int compare_devices(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left;
  const int64_t b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

/* Brings subgroups into XLA's order, one of each kind, without those of one
 * device; and the devices, from `cells`, into that of the new grid, those of
 * copies into theirs. */
static void order_subgroups(rlo_sharding *sharding) {
  static const rlo_sharding_kind kinds[] = {RLO_SHARDING_MANUAL, RLO_SHARDING_UNREDUCED,
                                            RLO_SHARDING_REPLICATED};
  rlo_sharding_tiles *tiles = &sharding->tiles;
  rlo_sharding_tiles old = *tiles;
  int64_t size = 1;
  int64_t count = 1;
  int32_t place = 0;
  old.iota_rank = old.num_subgroups;
  tiles->num_subgroups = 0;
  for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; ++n) {
    count = 1;
    for (int32_t k = 0; k < old.num_subgroups; ++k) {
      if (old.subgroups[k].kind == kinds[n]) {
        old.iota_dims[k] = old.subgroups[k].count;
        old.iota_permutation[place++] = k;
        count *= old.subgroups[k].count;
      }
    }
    size *= count;
    if (count > 1) {
      tiles->subgroups[tiles->num_subgroups++] = (rlo_sharding_subgroup){kinds[n], count};
    }
  }
  list_iota(&old, sharding->num_devices, sharding->devices);
  for (int64_t cell = 0; cell < sharding->num_devices; ++cell) {
    sharding->devices[cell] = sharding->cells[cell - cell % size + sharding->devices[cell]];
  }
  for (int64_t cell = 0; cell < sharding->num_devices && count > 1; cell += count) {
    qsort(&sharding->devices[cell], (size_t)count, sizeof *sharding->devices, compare_devices);
  }
}

/* Inverts the list of devices, which proves that each is there once. */
static rlo_status find_cells(const rlo_sharding *sharding) {
  int64_t cells = sharding->num_devices;
  for (int64_t device = 0; device < cells; ++device) {
    sharding->cells[device] = -1;
  }
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t device = sharding->tiles.devices[cell];
    RLO_FAIL_IF(device < 0 || device >= cells, RLO_INVALID_ARGUMENT,
                "cell %" PRId64 " of the grid names device %" PRId64 ", and a grid of %" PRId64
                " cells uses devices 0..%" PRId64,
                cell, device, cells, cells - 1);
    RLO_FAIL_IF(sharding->cells[device] >= 0, RLO_INVALID_ARGUMENT,
                "cells %" PRId64 " and %" PRId64 " of the grid name the same device %" PRId64,
                sharding->cells[device], cell, device);
    sharding->cells[device] = cell;
  }
  return RLO_OK;
}

rlo_status rlo__sharding_shorten(rlo_sharding *sharding) {
  find_iota(sharding);
  return find_cells(sharding);
}

static rlo_status fill_tiled(rlo_sharding *sharding, const rlo_sharding_tiles *tiles) {
  int64_t cells = sharding->num_devices;
  int64_t *devices = rlo__alloc_array((size_t)cells, sizeof *devices);
  sharding->devices = devices;
  sharding->tiles = *tiles;
  sharding->tiles.devices = devices;
  sharding->cells = rlo__alloc_array((size_t)cells, sizeof *sharding->cells);
  if (devices == NULL || sharding->cells == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (tiles->iota_rank > 0) {
    list_iota(tiles, cells, sharding->cells);
  } else {
    memcpy(sharding->cells, tiles->devices, (size_t)cells * sizeof *devices);
  }
  order_subgroups(sharding);
  return tiles->iota_rank > 0 ? rlo__sharding_shorten(sharding) : find_cells(sharding);
}

rlo_status rlo_sharding_make_tiled(const rlo_sharding_tiles *tiles, rlo_sharding **out_sharding) {
  RLO_REQUIRE(tiles, out_sharding);
  *out_sharding = NULL;
  int64_t cells = 0;
  RLO_TRY(count_cells(tiles, &cells));
  if (tiles->iota_rank > 0) {
    RLO_TRY(check_iota(tiles, cells));
  } else {
    RLO_REQUIRE_LIST(tiles->devices, cells);
  }
  if (cells == 1 && tiles->num_subgroups == 1) {
    return rlo_sharding_make(tiles->subgroups[0].kind, out_sharding);
  }
  rlo_sharding *sharding;
  RLO_TRY(create(RLO_SHARDING_TILED, cells, &sharding));
  rlo_status status = fill_tiled(sharding, tiles);
  if (status != RLO_OK) {
    rlo_sharding_release(sharding);
    return status;
  }
  const rlo_sharding_subgroup *all = sharding->tiles.subgroups;
  if (sharding->tiles.num_subgroups == 1 && all->count == cells) {
    /* One tile, all of whose devices are of one kind. */
    status = rlo_sharding_make(all->kind, out_sharding);
    rlo_sharding_release(sharding);
    return status;
  }
  *out_sharding = sharding;
  return RLO_OK;
}

static rlo_status check_box(const rlo_box *box, int64_t device, int32_t rank) {
  RLO_FAIL_IF(box->rank != rank || rank < 0 || rank > RLO_MAX_RANK, RLO_INVALID_ARGUMENT,
              "box %" PRId64 " has rank %" PRId32 ", the first one %" PRId32
              ", and 0..%d is possible",
              device, box->rank, rank, RLO_MAX_RANK);
  for (int32_t d = 0; d < rank; ++d) {
    RLO_FAIL_IF(box->start[d] < 0 || box->limit[d] < box->start[d], RLO_INVALID_ARGUMENT,
                "box %" PRId64 " is %" PRId64 ":%" PRId64 " in dimension %" PRId32
                "; 0 <= start <= limit is needed",
                device, box->start[d], box->limit[d], d);
  }
  return RLO_OK;
}

rlo_status rlo_sharding_make_boxes(const rlo_box *boxes, int64_t num_boxes,
                                   rlo_sharding **out_sharding) {
  RLO_REQUIRE(out_sharding);
  *out_sharding = NULL;
  RLO_REQUIRE_LIST(boxes, num_boxes);
  RLO_FAIL_IF(num_boxes < 1, RLO_INVALID_ARGUMENT, "%" PRId64 " boxes, and at least 1 is needed",
              num_boxes);
  RLO_FAIL_IF(num_boxes > RLO_SHARDING_MAX_DEVICES, RLO_UNSUPPORTED,
              "%" PRId64 " boxes, and at most %d are possible", num_boxes,
              RLO_SHARDING_MAX_DEVICES);
  for (int64_t k = 0; k < num_boxes; ++k) {
    RLO_TRY(check_box(&boxes[k], k, boxes[0].rank));
  }
  rlo_sharding *sharding;
  RLO_TRY(create(RLO_SHARDING_BOXES, num_boxes, &sharding));
  sharding->boxes = rlo__alloc_array((size_t)num_boxes, sizeof *boxes);
  if (sharding->boxes == NULL) {
    rlo_sharding_release(sharding);
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(sharding->boxes, boxes, (size_t)num_boxes * sizeof *boxes);
  *out_sharding = sharding;
  return RLO_OK;
}

/* -------------------------------------------------------------- relabelling */

static rlo_status check_devices(const int64_t *devices, int64_t num_devices, bool *is_seen) {
  for (int64_t k = 0; k < num_devices; ++k) {
    int64_t device = devices[k];
    bool is_device = device >= 0 && device < num_devices;
    RLO_FAIL_IF(!is_device || is_seen[device], RLO_INVALID_ARGUMENT,
                "device %" PRId64 ", for what device %" PRId64 " holds, is %s 0..%" PRId64, device,
                k, is_device ? "there twice, of" : "none of", num_devices - 1);
    is_seen[device] = true;
  }
  return RLO_OK;
}

static rlo_status relabel_tiles(const rlo_sharding *sharding, const int64_t *devices,
                                rlo_sharding **out_sharding) {
  size_t cells = (size_t)sharding->num_devices;
  rlo_sharding_tiles tiles = sharding->tiles;
  int64_t *list = rlo__alloc_array(cells, sizeof *list);
  RLO_TRY_MEMORY(list);
  for (size_t cell = 0; cell < cells; ++cell) {
    list[cell] = devices[tiles.devices[cell]];
  }
  tiles.iota_rank = 0;
  tiles.devices = list;
  rlo_status status = rlo_sharding_make_tiled(&tiles, out_sharding);
  rlo__free(list);
  return status;
}

static rlo_status relabel_boxes(const rlo_sharding *sharding, const int64_t *devices,
                                rlo_sharding **out_sharding) {
  size_t count = (size_t)sharding->num_devices;
  rlo_box *boxes = rlo__alloc_array(count, sizeof *boxes);
  RLO_TRY_MEMORY(boxes);
  for (size_t k = 0; k < count; ++k) {
    boxes[devices[k]] = sharding->boxes[k];
  }
  rlo_status status = rlo_sharding_make_boxes(boxes, sharding->num_devices, out_sharding);
  rlo__free(boxes);
  return status;
}

static rlo_status relabel(rlo_sharding *sharding, const int64_t *devices,
                          rlo_sharding **out_sharding) {
  bool is_same = true;
  for (int64_t k = 0; k < sharding->num_devices; ++k) {
    is_same = is_same && devices[k] == k;
  }
  if (!is_same) {
    switch (sharding->kind) {
      case RLO_SHARDING_MAXIMAL:
        return rlo_sharding_make_maximal(devices[sharding->num_devices - 1], out_sharding);
      case RLO_SHARDING_TILED:
        return relabel_tiles(sharding, devices, out_sharding);
      case RLO_SHARDING_BOXES:
        return relabel_boxes(sharding, devices, out_sharding);
      default:
        break;
    }
  }
  *out_sharding = rlo_sharding_retain(sharding);
  return RLO_OK;
}

rlo_status rlo_sharding_relabel(rlo_sharding *sharding, const int64_t *devices, int64_t num_devices,
                                rlo_sharding **out_sharding) {
  RLO_REQUIRE(sharding, out_sharding);
  *out_sharding = NULL;
  RLO_REQUIRE_LIST(devices, num_devices);
  RLO_FAIL_IF(sharding->kind == RLO_SHARDING_MANUAL || sharding->kind == RLO_SHARDING_UNKNOWN,
              RLO_UNSUPPORTED, "a manual or unknown sharding does not say what a device holds");
  bool names_all = sharding->kind == RLO_SHARDING_TILED || sharding->kind == RLO_SHARDING_BOXES;
  RLO_FAIL_IF(
      num_devices < sharding->num_devices || (names_all && num_devices > sharding->num_devices),
      RLO_OUT_OF_RANGE, "the sharding is for %" PRId64 " devices, and %" PRId64 " are relabelled",
      sharding->num_devices, num_devices);
  bool *is_seen = rlo__alloc_array((size_t)num_devices, sizeof *is_seen);
  rlo_status status =
      is_seen == NULL ? RLO_OUT_OF_MEMORY : check_devices(devices, num_devices, is_seen);
  rlo__free(is_seen);
  return status == RLO_OK ? relabel(sharding, devices, out_sharding) : status;
}

/* --------------------------------------------------------------- references */

rlo_sharding *rlo_sharding_retain(rlo_sharding *sharding) {
  if (sharding != NULL) {
    atomic_fetch_add(&sharding->references, 1);
  }
  return sharding;
}

void rlo_sharding_release(rlo_sharding *sharding) {
  if (sharding == NULL || atomic_fetch_sub(&sharding->references, 1) != 1) {
    return;
  }
  rlo__free(sharding->devices);
  rlo__free(sharding->cells);
  rlo__free(sharding->boxes);
  rlo__free(sharding);
}

/* ----------------------------------------------------------------- queries */

rlo_sharding_kind rlo_sharding_get_kind(const rlo_sharding *sharding) {
  return sharding == NULL ? RLO_SHARDING_UNKNOWN : sharding->kind;
}

int64_t rlo_sharding_num_devices(const rlo_sharding *sharding) {
  return sharding == NULL ? 0 : sharding->num_devices;
}

void rlo__sharding_hash(const rlo_sharding *sharding, rlo__hash *hash) {
  const rlo_sharding_tiles *tiles = &sharding->tiles;
  const size_t count = (size_t)sharding->num_devices;
  const size_t bytes = sizeof tiles->counts[0];
  rlo__hash_i64(hash, sharding->kind);
  rlo__hash_u64(hash, count);
  rlo__hash_bytes(hash, tiles->counts, (size_t)tiles->rank * bytes);
  for (int32_t k = 0; k < tiles->num_subgroups; ++k) {
    rlo__hash_i64(hash, tiles->subgroups[k].kind);
    rlo__hash_i64(hash, tiles->subgroups[k].count);
  }
  rlo__hash_bytes(hash, sharding->devices, sharding->devices == NULL ? 0 : count * bytes);
  for (size_t k = 0; sharding->boxes != NULL && k < count; ++k) {
    rlo__hash_bytes(hash, sharding->boxes[k].start, (size_t)sharding->boxes[k].rank * bytes);
    rlo__hash_bytes(hash, sharding->boxes[k].limit, (size_t)sharding->boxes[k].rank * bytes);
  }
}

rlo_status rlo_sharding_get_tiles(const rlo_sharding *sharding, rlo_sharding_tiles *out_tiles) {
  RLO_REQUIRE(sharding, out_tiles);
  RLO_FAIL_IF(sharding->kind != RLO_SHARDING_TILED, RLO_INVALID_ARGUMENT,
              "a sharding of kind %d has no grid of tiles", (int)sharding->kind);
  *out_tiles = sharding->tiles;
  return RLO_OK;
}
