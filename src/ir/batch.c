/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/batch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/validate.h"

/** The bytes of one array of an item. */
typedef struct span {
  const rlo_batch_item *item;
  int32_t number, memory;
  bool is_written;
  int64_t begin, end;
} span;

/* ------------------------------------------------------------------ the arrays */

static rlo_status find_span(const rlo_batch_item *item, int32_t number, bool is_written,
                            int32_t num_memories, span *out) {
  const char *side = is_written ? "destination" : "source";
  const int64_t bytes = is_written ? item->problem->dst_bytes : item->problem->src_bytes;
  *out = (span){.item = item,
                .number = number,
                .memory = is_written ? item->dst : item->src,
                .is_written = is_written,
                .begin = is_written ? item->dst_offset_bytes : item->src_offset_bytes};
  RLO_FAIL_IF(out->memory < 0 || out->memory >= num_memories, RLO_INVALID_ARGUMENT,
              "the %s is memory %d of %d", side, (int)out->memory, (int)num_memories);
  RLO_FAIL_IF(out->begin < 0, RLO_OUT_OF_RANGE, "the %s offset of %lld bytes is negative", side,
              (long long)out->begin);
  return rlo__add(out->begin, bytes, &out->end) ? RLO_OK
                                                : rlo__fail_overflow("the end of an array");
}

static rlo_status check_problem(const rlo_problem *problem) {
  RLO_FAIL_IF(problem == NULL, RLO_INVALID_ARGUMENT, "the problem is NULL");
  RLO_TRY(rlo__problem_validate(problem));
  return rlo_problem_loads(problem)
             ? RLO_FAIL(RLO_UNSUPPORTED, "the problem loads indices, which no batch takes")
             : RLO_OK;
}

/** Finds the arrays of an item; those of the one before are known. */
static rlo_status find_spans(const rlo_batch_item *items, int32_t n, int32_t num_memories,
                             span *out) {
  const rlo_problem *problem = items[n].problem;
  if (n == 0 || problem == NULL || problem != items[n - 1].problem) {
    RLO_TRY(check_problem(problem));
  }
  RLO_TRY(find_span(&items[n], n, false, num_memories, &out[0]));
  return find_span(&items[n], n, true, num_memories, &out[1]);
}

/* ---------------------------------------------------------------- comparisons */

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_spans(const void *a, const void *b) {
  const span *x = a;
  const span *y = b;
  const int orders[] = {compare(x->memory, y->memory), compare(x->begin, y->begin),
                        compare(x->is_written, y->is_written),
                        compare((intptr_t)x->item->problem, (intptr_t)y->item->problem)};
  int32_t n = 0;
  while (n < 3 && orders[n] == 0) {
    ++n;
  }
  return orders[n];
}

/** Orders items by problem, and those of one problem as they were. */
static int compare_items(const void *a, const void *b) {
  const rlo_batch_item *x = *(const rlo_batch_item *const *)a;
  const rlo_batch_item *y = *(const rlo_batch_item *const *)b;
  const int order = compare((intptr_t)x->problem, (intptr_t)y->problem);
  return order != 0 ? order : compare((intptr_t)x, (intptr_t)y);
}

/** Checks arrays in the order of memory. */
static rlo_status check_spans(const span *spans, size_t count) {
  /* The spans that reach furthest: of what is read, and of what is written. */
  const span *furthest[2] = {NULL, NULL};
  for (size_t n = 0; n < count; ++n) {
    const span *s = &spans[n];
    const span *before = n > 0 && s[-1].memory == s->memory ? &s[-1] : NULL;
    const span *other = before != NULL ? furthest[!s->is_written] : NULL;
    const span *same = before != NULL ? furthest[s->is_written] : NULL;
    RLO_FAIL_IF(
        other != NULL && s->begin < rlo__min(other->end, s->end), RLO_INVALID_ARGUMENT,
        "item %d %s bytes %lld to %lld of memory %d, and item %d %s bytes %lld to %lld of it",
        (int)other->number, other->is_written ? "writes" : "reads", (long long)other->begin,
        (long long)other->end, (int)s->memory, (int)s->number, s->is_written ? "writes" : "reads",
        (long long)s->begin, (long long)s->end);
    RLO_FAIL_IF(
        before != NULL && s->is_written && before->is_written && s->begin == before->begin &&
            s->begin < s->end && s->item->problem == before->item->problem,
        RLO_INVALID_ARGUMENT, "items %d and %d write the same bytes of memory %d, from %lld on",
        (int)before->number, (int)s->number, (int)s->memory, (long long)s->begin);
    furthest[!s->is_written] = other;
    furthest[s->is_written] = same == NULL || s->end > same->end ? s : same;
  }
  return RLO_OK;
}

rlo_status rlo__batch_order(const rlo_batch_item *items, int32_t count, int32_t num_memories,
                            const rlo_batch_item ***out_order) {
  RLO_FAIL_IF(count < 0 || num_memories < 0, RLO_INVALID_ARGUMENT,
              "a batch of %d items in %d memories", (int)count, (int)num_memories);
  RLO_REQUIRE_LIST(items, count);
  const size_t all = (size_t)count;
  span *spans = rlo__alloc_array(2 * all, sizeof *spans);
  const rlo_batch_item **order = rlo__alloc_array(all, sizeof *order);
  rlo_status status = spans != NULL && order != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
  for (int32_t n = 0; status == RLO_OK && n < count; ++n) {
    order[n] = &items[n];
    status = find_spans(items, n, num_memories, spans + 2 * (size_t)n);
    status = rlo__status_prefix(status, "item %d: ", (int)n);
  }
  if (status == RLO_OK) {
    qsort(spans, 2 * all, sizeof *spans, compare_spans);
    qsort(order, all, sizeof(const rlo_batch_item *), compare_items);
    status = check_spans(spans, 2 * all);
  }
  rlo__free(spans);
  if (status != RLO_OK) {
    rlo__free(order);
    return status;
  }
  *out_order = order;
  return RLO_OK;
}
