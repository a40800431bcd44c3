/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "codegen/kernel_sources.h"
#include "plan/family.h"
#include "relayout/plan.h"

#define TABLE_SEED UINT64_C(0x7461626c65000001)

static void hash_schedule(rlo__hash *hash, const rlo__schedule *schedule) {
  rlo__hash_string(hash, schedule->name);
  rlo__hash_i64(hash, schedule->order);
  rlo__hash_i64(hash, schedule->stores);
  rlo__hash_i64(hash, schedule->has_no_prefetch);
  rlo__hash_i64(hash, schedule->tile_a_lines);
  rlo__hash_i64(hash, schedule->tile_b_lines);
  rlo__hash_i64(hash, schedule->group_log2);
}

/* A better kernel may make another schedule the best, so the kernels' texts
 * count as much as the names. */
uint64_t rlo_wisdom_table(void) {
  rlo__hash hash = rlo__hash_init(TABLE_SEED);
  rlo__hash_u64(&hash, rlo__kernel_sources_hash());
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    rlo__hash_string(&hash, rlo__families[n]->name);
    rlo__hash_i64(&hash, rlo__families[n]->device_class);
  }
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    hash_schedule(&hash, &rlo__schedules[n]);
  }
  return rlo__hash_finish_u64(&hash);
}
