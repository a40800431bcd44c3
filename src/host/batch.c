/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/batch.h"
#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "host/mover.h"

/** An item made ready. */
typedef struct entry {
  const rlo_batch_item *item;
  /** One for all items of the problem; the first of them releases it. */
  rlo__host_mover *mover;
  bool is_first;
} entry;

/** Small items that a thread takes at a time. */
enum { ITEMS_AT_ONCE = 16 };

/** A batch on the host. */
typedef struct batch {
  entry *entries;
  int32_t count;
  void *const *memories;
  double work;
} batch;

/** Finds the mover of an item, which comes in the order of the problems. */
static rlo_status prepare(batch *b, int32_t n, const rlo_batch_item *item) {
  entry *e = &b->entries[n];
  const int32_t numbers[] = {item->src, item->dst};
  const int64_t bytes[] = {item->problem->src_bytes, item->problem->dst_bytes};
  for (int32_t side = 0; side < 2; ++side) {
    RLO_FAIL_IF(b->memories[numbers[side]] == NULL && bytes[side] > 0, RLO_INVALID_ARGUMENT,
                "memory %d is NULL; %lld bytes are needed", (int)numbers[side],
                (long long)bytes[side]);
  }
  e->item = item;
  e->mover = n > 0 && e[-1].item->problem == item->problem ? e[-1].mover : NULL;
  if (e->mover == NULL) {
    RLO_TRY(rlo__host_mover_create(item->problem, &e->mover));
    e->is_first = true;
  }
  b->work += rlo__host_mover_work(e->mover);
  return RLO_OK;
}

/** The memory of an item from its offset on. */
static char *array_of(const batch *b, int32_t memory, int64_t offset_bytes) {
  char *begin = b->memories[memory];
  return begin != NULL ? begin + offset_bytes : NULL;
}

/** A rlo__host_share_fn: a share of each large item, and every so many small ones. */
static rlo_status run_share(const void *payload, int32_t share, int32_t num_shares) {
  const batch *b = payload;
  for (int32_t n = 0; n < b->count; ++n) {
    const entry *e = &b->entries[n];
    const rlo_batch_item *item = e->item;
    const bool is_small =
        rlo__host_mover_work(e->mover) < (double)rlo__thresholds.host_thread_bytes;
    if (is_small && n / ITEMS_AT_ONCE % num_shares != share) {
      continue;
    }
    RLO_TRY(rlo__host_mover_run_share(e->mover, array_of(b, item->src, item->src_offset_bytes),
                                      NULL, array_of(b, item->dst, item->dst_offset_bytes),
                                      is_small ? 0 : share, is_small ? 1 : num_shares));
  }
  return RLO_OK;
}

rlo_status rlo_batch_run_host(const rlo_batch_item *items, int32_t count, void *const *memories,
                              int32_t num_memories, int32_t num_threads) {
  RLO_REQUIRE_LIST(memories, count);
  RLO_FAIL_IF(num_threads < 1, RLO_INVALID_ARGUMENT, "'num_threads' is %d; at least 1",
              (int)num_threads);
  const rlo_batch_item **order = NULL;
  RLO_TRY(rlo__batch_order(items, count, num_memories, &order));
  batch b = {.count = count, .memories = memories};
  b.entries = rlo__alloc_array((size_t)count, sizeof *b.entries);
  rlo_status status = b.entries == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  for (int32_t n = 0; status == RLO_OK && n < count; ++n) {
    status = rlo__status_prefix(prepare(&b, n, order[n]), "item %d: ", (int)(order[n] - items));
  }
  if (status == RLO_OK) {
    status = rlo__host_run_shares(run_share, &b, b.work, num_threads);
  }
  for (int32_t n = 0; b.entries != NULL && n < count; ++n) {
    if (b.entries[n].is_first) {
      rlo__host_mover_release(b.entries[n].mover);
    }
  }
  rlo__free(b.entries);
  rlo__free(order);
  return status;
}
