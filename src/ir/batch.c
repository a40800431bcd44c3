/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/batch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/validate.h"

/** The bytes of one array of an item. */
typedef struct span {
  int32_t memory;
  bool is_written;
  int64_t begin, end;
  int32_t item;
  const rlo_problem *problem;
} span;

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

/** By memory and first byte; equal writes come together. */
static int compare_spans(const void *a, const void *b) {
  const span *x = a;
  const span *y = b;
  const int orders[] = {compare(x->memory, y->memory), compare(x->begin, y->begin),
                        compare(x->is_written, y->is_written),
                        compare((intptr_t)x->problem, (intptr_t)y->problem),
                        compare(x->item, y->item)};
  int order = 0;
  for (size_t n = 0; order == 0 && n < sizeof orders / sizeof orders[0]; ++n) {
    order = orders[n];
  }
  return order;
}

/** Finds the bytes of a side. */
static rlo_status find_span(const char *side, int32_t memory, int32_t num_memories, int64_t bytes,
                            span *s) {
  if (memory < 0 || memory >= num_memories) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the %s is memory %d of %d", side, (int)memory,
                    (int)num_memories);
  }
  if (s->begin < 0) {
    return RLO_FAIL(RLO_OUT_OF_RANGE, "the %s offset of %lld bytes is negative", side,
                    (long long)s->begin);
  }
  if (!rlo__add(s->begin, bytes, &s->end)) {
    return rlo__fail_overflow("the end of an array");
  }
  s->memory = memory;
  return RLO_OK;
}

static rlo_status check_item(const rlo_batch_item *item, bool is_new, int32_t num_memories,
                             span spans[2]) {
  const rlo_problem *problem = item->problem;
  if (problem == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the problem is NULL");
  }
  if (is_new) {
    RLO_TRY(rlo__problem_validate(problem));
  }
  if (rlo_problem_loads(problem)) {
    return RLO_FAIL(RLO_UNSUPPORTED, "the problem loads indices, which a batch does not take");
  }
  spans[0] = (span){.begin = item->src_offset_bytes, .problem = problem};
  spans[1] = (span){.is_written = true, .begin = item->dst_offset_bytes, .problem = problem};
  RLO_TRY(find_span("source", item->src, num_memories, problem->src_bytes, &spans[0]));
  return find_span("destination", item->dst, num_memories, problem->dst_bytes, &spans[1]);
}

static rlo_status fail_pair(const span *reader, const span *writer) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "item %d reads bytes %lld to %lld of memory %d, and item %d writes "
                  "bytes %lld to %lld of it",
                  (int)reader->item, (long long)reader->begin, (long long)reader->end,
                  (int)reader->memory, (int)writer->item, (long long)writer->begin,
                  (long long)writer->end);
}

static rlo_status check_spans(const span *spans, size_t count) {
  /* Those before that reach furthest, by whether they are written. */
  const span *furthest[2] = {NULL, NULL};
  for (size_t n = 0; n < count; ++n) {
    const span *s = &spans[n];
    if (n > 0 && s->memory != s[-1].memory) {
      furthest[0] = furthest[1] = NULL;
    }
    const span *other = furthest[!s->is_written];
    if (other != NULL && s->begin < other->end) {
      return s->is_written ? fail_pair(other, s) : fail_pair(s, other);
    }
    if (n > 0 && s->is_written && s[-1].is_written && s->memory == s[-1].memory &&
        s->begin == s[-1].begin && s->problem == s[-1].problem) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "items %d and %d write the same bytes of memory %d, from %lld on",
                      (int)s[-1].item, (int)s->item, (int)s->memory, (long long)s->begin);
    }
    const span **place = &furthest[s->is_written];
    *place = *place == NULL || s->end > (*place)->end ? s : *place;
  }
  return RLO_OK;
}

static rlo_status list_spans(const rlo_batch_item *items, int32_t count, int32_t num_memories,
                             span *spans, size_t *out_count) {
  for (int32_t n = 0; n < count; ++n) {
    const bool is_new = n == 0 || items[n].problem != items[n - 1].problem;
    span both[2];
    const rlo_status status = check_item(&items[n], is_new, num_memories, both);
    if (status != RLO_OK) {
      return rlo__status_prefix(status, "item %d: ", (int)n);
    }
    for (int32_t side = 0; side < 2; ++side) {
      both[side].item = n;
      if (both[side].begin < both[side].end) {
        spans[(*out_count)++] = both[side];
      }
    }
  }
  return RLO_OK;
}

rlo_status rlo__batch_check(const rlo_batch_item *items, int32_t count, int32_t num_memories) {
  if (count < 0 || num_memories < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "a batch of %d items in %d memories", (int)count,
                    (int)num_memories);
  }
  RLO_REQUIRE_LIST(items, count);
  span *spans = rlo__alloc_array((size_t)count, 2 * sizeof *spans);
  if (spans == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  size_t num_spans = 0;
  rlo_status status = list_spans(items, count, num_memories, spans, &num_spans);
  if (status == RLO_OK) {
    qsort(spans, num_spans, sizeof *spans, compare_spans);
    status = check_spans(spans, num_spans);
  }
  rlo__free(spans);
  return status;
}
