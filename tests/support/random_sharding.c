/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_sharding.h"

#include <check.h>

/* A number below a limit. */
static int64_t below(test_random *random, int64_t limit) {
  return test_random_in(random, 0, limit - 1);
}

/* Slabs along one dimension, each of several devices, some empty. */
static rlo_sharding *draw_slabs(test_random *random,
                                const int64_t *dims,
                                int32_t rank,
                                int64_t num_devices) {
  static rlo_box boxes[TEST_MAX_DEVICES];
  int32_t d = (int32_t)below(random, rank);
  int64_t num_slabs = num_devices < 3 ? num_devices : 3;
  for (int64_t k = 0; k < num_devices; ++k) {
    boxes[k] = (rlo_box){.rank = rank};
    for (int32_t e = 0; e < rank; ++e) {
      boxes[k].limit[e] = dims[e];
    }
    boxes[k].start[d] = dims[d] * (k % num_slabs) / num_slabs;
    boxes[k].limit[d] = dims[d] * (k % num_slabs + 1) / num_slabs;
  }
  rlo_sharding *sharding;
  ck_assert_int_eq(rlo_sharding_make_boxes(boxes, num_devices, &sharding),
                   RLO_OK);
  return sharding;
}

static rlo_sharding *draw_tiles(test_random *random,
                                int32_t rank,
                                int64_t num_devices,
                                bool may_be_unreduced) {
  static int64_t devices[TEST_MAX_DEVICES];
  rlo_sharding_tiles tiles = {.rank = rank, .devices = devices};
  for (int32_t d = 0; d < rank; ++d) {
    tiles.counts[d] = 1;
  }
  tiles.num_subgroups = (int32_t)test_random_in(random, rank == 0, 2);
  for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
    tiles.subgroups[k].count = 1;
    tiles.subgroups[k].kind = may_be_unreduced && below(random, 3) == 0
                                  ? RLO_SHARDING_UNREDUCED
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
  rlo_sharding *sharding;
  ck_assert_msg(rlo_sharding_make_tiled(&tiles, &sharding) == RLO_OK,
                "%s",
                rlo_error_last()->message);
  return sharding;
}

rlo_sharding *test_random_sharding(test_random *random,
                                   const int64_t *dims,
                                   int32_t rank,
                                   int64_t num_devices,
                                   bool may_be_unreduced) {
  enum { REPLICATED, MAXIMAL, SLABS, UNREDUCED, NUM_KINDS = 8 };

  int64_t kind = num_devices == 1 ? REPLICATED : below(random, NUM_KINDS);
  rlo_sharding *sharding;
  if (kind == SLABS && rank > 0 && num_devices <= 64) {
    return draw_slabs(random, dims, rank, num_devices);
  }
  if (kind == MAXIMAL) {
    ck_assert_int_eq(
        rlo_sharding_make_maximal(below(random, num_devices), &sharding),
        RLO_OK);
    return sharding;
  }
  if (kind == REPLICATED ||
      (kind == UNREDUCED && may_be_unreduced && num_devices <= 64)) {
    ck_assert_int_eq(
        rlo_sharding_make(kind == UNREDUCED ? RLO_SHARDING_UNREDUCED
                                            : RLO_SHARDING_REPLICATED,
                          &sharding),
        RLO_OK);
    return sharding;
  }
  return draw_tiles(random, rank, num_devices, may_be_unreduced);
}

int64_t test_count_addends(const rlo_sharding *sharding, int64_t num_devices) {
  int64_t count = rlo_sharding_get_kind(sharding) == RLO_SHARDING_UNREDUCED
                      ? num_devices
                      : 1;
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) == RLO_OK) {
    for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
      count *= tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED
                   ? tiles.subgroups[k].count
                   : 1;
    }
  }
  return count;
}

int64_t test_addend_of(const rlo_sharding *sharding, int64_t device) {
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) != RLO_OK) {
    bool is_unreduced =
        rlo_sharding_get_kind(sharding) == RLO_SHARDING_UNREDUCED;
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
