/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_sharding.h"

/** Devices of which each may hold a box, or a summand, of its own. */
enum { MAX_LISTED = 64 };

/* A number below a limit. */
static int64_t below(test_random *random, int64_t limit) {
  return test_random_in(random, 0, limit - 1);
}

/* Slabs along one dimension, each of several devices, some empty. */
static rlo_status draw_slabs(test_random *random, const rlo_shape *shape, int64_t num_devices,
                             rlo_sharding **out) {
  static rlo_box boxes[MAX_LISTED];
  const int64_t *dims = shape->dims;
  int32_t rank = shape->rank;
  int32_t d = (int32_t)below(random, rank);
  int64_t num_slabs = test_random_in(random, 1, num_devices);
  for (int64_t k = 0; k < num_devices; ++k) {
    boxes[k] = (rlo_box){.rank = rank};
    for (int32_t e = 0; e < rank; ++e) {
      boxes[k].limit[e] = dims[e];
    }
    boxes[k].start[d] = dims[d] * (k % num_slabs) / num_slabs;
    boxes[k].limit[d] = dims[d] * (k % num_slabs + 1) / num_slabs;
  }
  return rlo_sharding_make_boxes(boxes, num_devices, out);
}

static rlo_status draw_tiles(test_random *random, int32_t rank, int64_t num_devices,
                             bool may_be_unreduced, rlo_sharding **out) {
  static int64_t devices[TEST_MAX_DEVICES];
  rlo_sharding_tiles tiles = {.rank = rank, .devices = devices};
  for (int32_t d = 0; d < rank; ++d) {
    tiles.counts[d] = 1;
  }
  tiles.num_subgroups = (int32_t)test_random_in(random, rank == 0, 2);
  for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
    tiles.subgroups[k].count = 1;
    tiles.subgroups[k].kind = may_be_unreduced && below(random, 3) == 0 ? RLO_SHARDING_UNREDUCED
                                                                        : RLO_SHARDING_REPLICATED;
  }
  int64_t rest = num_devices;
  for (int64_t prime = 2; rest > 1; ++prime) {
    for (; rest % prime == 0; rest /= prime) {
      int64_t at = below(random, rank + tiles.num_subgroups);
      if (at < rank) {
        tiles.counts[at] *= prime;
      } else {
        tiles.subgroups[at - rank].count *= prime;
      }
    }
  }
  for (int64_t k = 0; k < num_devices; ++k) {
    int64_t other = below(random, k + 1);
    devices[k] = devices[other];
    devices[other] = k;
  }
  return rlo_sharding_make_tiled(&tiles, out);
}

rlo_status test_random_sharding(test_random *random, const rlo_shape *shape, int64_t num_devices,
                                bool may_be_unreduced, rlo_sharding **out) {
  enum { REPLICATED, MAXIMAL, SLABS, UNREDUCED, NUM_KINDS = 8 };

  int64_t kind = num_devices == 1 ? REPLICATED : below(random, NUM_KINDS);
  if (kind == SLABS && shape->rank > 0 && num_devices <= MAX_LISTED) {
    return draw_slabs(random, shape, num_devices, out);
  }
  if (kind == MAXIMAL) {
    return rlo_sharding_make_maximal(below(random, num_devices), out);
  }
  if (kind == REPLICATED) {
    return rlo_sharding_make(RLO_SHARDING_REPLICATED, out);
  }
  if (kind == UNREDUCED && may_be_unreduced && num_devices <= MAX_LISTED) {
    return rlo_sharding_make(RLO_SHARDING_UNREDUCED, out);
  }
  return draw_tiles(random, shape->rank, num_devices, may_be_unreduced, out);
}

int64_t test_count_addends(const rlo_sharding *sharding, int64_t num_devices) {
  int64_t count = rlo_sharding_get_kind(sharding) == RLO_SHARDING_UNREDUCED ? num_devices : 1;
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) == RLO_OK) {
    for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
      count *= tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED ? tiles.subgroups[k].count : 1;
    }
  }
  return count;
}

int64_t test_addend_of(const rlo_sharding *sharding, int64_t device) {
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) != RLO_OK) {
    bool is_unreduced = rlo_sharding_get_kind(sharding) == RLO_SHARDING_UNREDUCED;
    return is_unreduced ? device : 0;
  }
  int64_t cell = 0;
  while (tiles.devices[cell] != device) {
    ++cell;
  }
  int64_t addend = 0;
  int64_t weight = 1;
  for (int32_t k = tiles.num_subgroups - 1; k >= 0; --k) {
    if (tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED) {
      addend += cell % tiles.subgroups[k].count * weight;
      weight *= tiles.subgroups[k].count;
    }
    cell /= tiles.subgroups[k].count;
  }
  return addend;
}
