/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/status.h"
#include "shard/sharding.h"
#include "text/array.h"

static void print_iota(rlo__str *str, const rlo_sharding_tiles *tiles) {
  rlo__str_append(str, "<=[");
  rlo__text_print_list(str, tiles->iota_dims, tiles->iota_rank, false);
  rlo__str_append_char(str, ']');
  if (tiles->iota_rank > 1) {
    rlo__str_append(str, "T(");
    for (int32_t k = 0; k < tiles->iota_rank; ++k) {
      rlo__str_printf(str, "%s%" PRId32, k > 0 ? "," : "", tiles->iota_permutation[k]);
    }
    rlo__str_append_char(str, ')');
  }
}

static void print_subgroups(rlo__str *str, const rlo_sharding_tiles *tiles) {
  if (tiles->num_subgroups == 1 && tiles->subgroups[0].kind == RLO_SHARDING_REPLICATED) {
    rlo__str_append(str, " last_tile_dim_replicate");
  } else if (tiles->num_subgroups > 0) {
    rlo__str_append(str, " last_tile_dims={");
    for (int32_t k = 0; k < tiles->num_subgroups; ++k) {
      rlo__str_append(str, k > 0 ? ", " : "");
      rlo__str_append(str, rlo__sharding_word(tiles->subgroups[k].kind));
    }
    rlo__str_append_char(str, '}');
  }
}

static void print_tiled(rlo__str *str, const rlo_sharding *sharding) {
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) != RLO_OK) {
    return;
  }
  rlo__str_append(str, "{devices=[");
  rlo__text_print_list(str, tiles.counts, tiles.rank, false);
  for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
    rlo__str_printf(str, "%s%" PRId64, tiles.rank + k > 0 ? "," : "", tiles.subgroups[k].count);
  }
  rlo__str_append_char(str, ']');
  if (rlo_sharding_num_devices(sharding) == 1) {
    /* XLA reads no list of one device. */
    rlo__str_append(str, "<=[1]");
  } else if (tiles.iota_rank > 0) {
    print_iota(str, &tiles);
  } else {
    rlo__text_print_list(str, tiles.devices, (int32_t)rlo_sharding_num_devices(sharding), false);
  }
  print_subgroups(str, &tiles);
  rlo__str_append_char(str, '}');
}

static void print_boxes(rlo__str *str, const rlo_sharding *sharding) {
  rlo__str_append(str, "{boxes=");
  for (int64_t k = 0; k < rlo_sharding_num_devices(sharding); ++k) {
    const rlo_box *box = &sharding->boxes[k];
    rlo__str_append_char(str, '[');
    for (int32_t d = 0; d < box->rank; ++d) {
      rlo__str_printf(str, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", box->start[d],
                      box->limit[d]);
    }
    rlo__str_append_char(str, ']');
  }
  rlo__str_append_char(str, '}');
}

size_t rlo_sharding_format(const rlo_sharding *sharding, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, sharding);
  switch (rlo_sharding_get_kind(sharding)) {
    case RLO_SHARDING_MAXIMAL:
      rlo__str_printf(&str, "{maximal device=%" PRId64 "}", rlo_sharding_num_devices(sharding) - 1);
      break;
    case RLO_SHARDING_TILED:
      print_tiled(&str, sharding);
      break;
    case RLO_SHARDING_BOXES:
      print_boxes(&str, sharding);
      break;
    case RLO_SHARDING_REPLICATED:
    case RLO_SHARDING_MANUAL:
    case RLO_SHARDING_UNKNOWN:
    case RLO_SHARDING_UNREDUCED:
      rlo__str_printf(&str, "{%s}", rlo__sharding_word(rlo_sharding_get_kind(sharding)));
      break;
  }
  return str.length;
}
