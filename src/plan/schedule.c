/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schedule.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"

// clang-format off
const rlo__schedule rlo__schedules[] = {
    {.name = "default"},
    {.name = "output order", .order = RLO__GRID_ORDER_DST},
    {.name = "plane order", .order = RLO__GRID_ORDER_PLANE},
    {.name = "small groups", .group_log2 = -2},
    {.name = "large groups", .group_log2 = 2},
    {.name = "tile 4x32", .tile_a_lines = 4, .tile_b_lines = 32},
    {.name = "tile 4x4", .tile_a_lines = 4, .tile_b_lines = 4},
    {.name = "tile 8x8", .tile_a_lines = 8, .tile_b_lines = 8},
    {.name = "tile 4x8", .tile_a_lines = 4, .tile_b_lines = 8},
    {.name = "tile 4x16", .tile_a_lines = 4, .tile_b_lines = 16},
    {.name = "tile 8x16", .tile_a_lines = 8, .tile_b_lines = 16},
    {.name = "tile 2x16", .tile_a_lines = 2, .tile_b_lines = 16},
    {.name = "tile 1x32", .tile_a_lines = 1, .tile_b_lines = 32},
    {.name = "tile 16x4", .tile_a_lines = 16, .tile_b_lines = 4},
    {.name = "plain stores", .stores = RLO__STORES_PLAIN},
    {.name = "non-temporal stores", .stores = RLO__STORES_NONTEMPORAL},
    {.name = "no prefetch", .has_no_prefetch = true},
    {.name = "half tiles", .tile_halvings = 1},
    {.name = "groups of 128", .max_lanes = 128},
    {.name = "input order", .order = RLO__GRID_ORDER_SRC},
    {.name = "diagonal order", .order = RLO__GRID_ORDER_DIAGONAL},
    {.name = "tile 4x32, output order",
     .tile_a_lines = 4, .tile_b_lines = 32, .order = RLO__GRID_ORDER_DST},
    {.name = "tile 4x32, plane order",
     .tile_a_lines = 4, .tile_b_lines = 32, .order = RLO__GRID_ORDER_PLANE},
    {.name = "tile 8x8, output order",
     .tile_a_lines = 8, .tile_b_lines = 8, .order = RLO__GRID_ORDER_DST},
};
// clang-format on

const int32_t rlo__num_schedules = (int32_t)(sizeof rlo__schedules / sizeof rlo__schedules[0]);

const rlo__schedule *rlo__schedule_find(const char *name) {
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    if (strcmp(rlo__schedules[n].name, name) == 0) {
      return &rlo__schedules[n];
    }
  }
  return NULL;
}

const char *rlo__grid_order_name(rlo__grid_order order) {
  static const char *const names[] = {[RLO__GRID_ORDER_OWN] = "input order",
                                      [RLO__GRID_ORDER_DST] = "output order",
                                      [RLO__GRID_ORDER_PLANE] = "plane order",
                                      [RLO__GRID_ORDER_SRC] = "input order",
                                      [RLO__GRID_ORDER_DIAGONAL] = "diagonal order"};
  return names[order];
}

int64_t rlo__schedule_group_bytes(const rlo__schedule *schedule, int64_t own_bytes) {
  return schedule->group_log2 >= 0 ? own_bytes << schedule->group_log2
                                   : rlo__max(own_bytes >> -schedule->group_log2, 1);
}
