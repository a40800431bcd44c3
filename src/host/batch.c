/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "host/mover.h"
#include "ir/batch.h"

/** An item made ready. */
typedef struct entry {
  const rlo_batch_item *item;
  /** Of all items of its problem; the first of them owns it. */
  rlo__host_mover *mover;
  bool owns_mover;
  /** The work of the small items before it, or -1 for one that all threads share. */
  double small_before;
} entry;

/** A batch in the making. */
typedef struct batch {
  entry *entries;
  int32_t count;
  void *const *memories;
  double work, small_work;
} batch;

/** By problem, then in the caller's order. */
static int compare_problems(const void *a, const void *b) {
  const rlo_batch_item *x = ((const entry *)a)->item;
  const rlo_batch_item *y = ((const entry *)b)->item;
  const uintptr_t p = (uintptr_t)x->problem;
  const uintptr_t q = (uintptr_t)y->problem;
  return p == q ? (x > y) - (x < y) : (p > q) - (p < q);
}

static rlo_status check_memory(const batch *b, const char *side, int32_t number, int64_t bytes) {
  return b->memories[number] != NULL || bytes == 0
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "memory %d, its %s, is NULL; %lld bytes are needed",
                        (int)number, side, (long long)bytes);
}

/** Finds the mover of an entry, behind those before it. */
static rlo_status prepare(batch *b, int32_t n) {
  entry *e = &b->entries[n];
  const rlo_batch_item *item = e->item;
  RLO_TRY(check_memory(b, "source", item->src, item->problem->src_bytes));
  RLO_TRY(check_memory(b, "destination", item->dst, item->problem->dst_bytes));
  if (n > 0 && item->problem == e[-1].item->problem) {
    e->mover = e[-1].mover;
  } else {
    RLO_TRY(rlo__host_mover_create(item->problem, &e->mover));
    e->owns_mover = true;
  }
  const double work = rlo__host_mover_work(e->mover);
  b->work += work;
  e->small_before = -1;
  if (work < (double)rlo__thresholds.host_thread_bytes) {
    e->small_before = b->small_work;
    b->small_work += work;
  }
  return RLO_OK;
}

/** A rlo__host_share_fn: a share of each large item, and every small one whose beginning
 *  lies in this share of their work. */
static rlo_status run_share(const void *payload, int32_t share, int32_t num_shares) {
  const batch *b = payload;
  const double begin = b->small_work * share / num_shares;
  const double end = share + 1 == num_shares ? b->work : b->small_work * (share + 1) / num_shares;
  for (int32_t n = 0; n < b->count; ++n) {
    const entry *e = &b->entries[n];
    const bool is_small = e->small_before >= 0;
    if (is_small && (e->small_before < begin || e->small_before >= end)) {
      continue;
    }
    const rlo_batch_item *item = e->item;
    const char *src = b->memories[item->src];
    char *dst = b->memories[item->dst];
    RLO_TRY(rlo__host_mover_run_share(e->mover, src != NULL ? src + item->src_offset_bytes : NULL,
                                      NULL, dst != NULL ? dst + item->dst_offset_bytes : NULL,
                                      is_small ? 0 : share, is_small ? 1 : num_shares));
  }
  return RLO_OK;
}

static rlo_status run(const rlo_batch_item *items, int32_t num_threads, batch *b) {
  for (int32_t n = 0; n < b->count; ++n) {
    b->entries[n].item = &items[n];
  }
  qsort(b->entries, (size_t)b->count, sizeof *b->entries, compare_problems);
  for (int32_t n = 0; n < b->count; ++n) {
    RLO_TRY(rlo__status_prefix(prepare(b, n), "item %d: ", (int)(b->entries[n].item - items)));
  }
  return rlo__host_run_shares(run_share, b, b->work, num_threads);
}

rlo_status rlo_batch_run_host(const rlo_batch_item *items, int32_t count, void *const *memories,
                              int32_t num_memories, int32_t num_threads) {
  RLO_REQUIRE_LIST(memories, num_memories);
  RLO_TRY(rlo__batch_check(items, count, num_memories));
  if (num_threads < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "'num_threads' is %d; at least 1", (int)num_threads);
  }
  batch b = {.count = count, .memories = memories};
  b.entries = rlo__alloc_array((size_t)count, sizeof *b.entries);
  if (b.entries == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const rlo_status status = run(items, num_threads, &b);
  for (int32_t n = 0; n < count; ++n) {
    if (b.entries[n].owns_mover) {
      rlo__host_mover_release(b.entries[n].mover);
    }
  }
  rlo__free(b.entries);
  return status;
}
