/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "bench.h"

enum {
  WHOLE_BYTES = 1 << 20,
  /** Slots at each end, and slots anywhere, that are looked at. */
  END_SLOTS = 2000,
  RANDOM_SLOTS = 10000
};

typedef struct checker {
  const bench_case *item;
  const uint8_t *src, *dst;
  int64_t slots, element_bits;
  bool is_filled;
  /* Where nothing is filled: what the destination held before. */
  uint8_t fill[16];
  char *reason;
} checker;

static bool is_equal(const uint8_t *a, int64_t a_bit, const uint8_t *b, int64_t b_bit,
                     int64_t bits) {
  for (int64_t k = 0; k < bits; ++k, ++a_bit, ++b_bit) {
    if (((a[a_bit / 8] >> (a_bit % 8)) ^ (b[b_bit / 8] >> (b_bit % 8))) & 1) {
      return false;
    }
  }
  return true;
}

static bool check_slot(const checker *check, int64_t slot) {
  int64_t index[RLO_MAX_RANK];
  int64_t from_index[RLO_MAX_RANK];
  bool is_element = false;
  if (rlo_index_from_linear(&check->item->dst, slot, index, &is_element) != RLO_OK) {
    return bench_fail_last("finding an index");
  }
  const uint8_t *expected = check->fill;
  const int64_t at = slot * check->element_bits;
  int64_t expected_at = check->is_filled ? 0 : at % 8;
  if (is_element) {
    int64_t from = 0;
    for (int32_t k = 0; k < check->item->dst.rank; ++k) {
      from_index[check->item->permutation[k]] = index[k];
    }
    if (rlo_index_to_linear(&check->item->src, from_index, &from) != RLO_OK) {
      return bench_fail_last("finding an element");
    }
    expected = check->src;
    expected_at = from * check->element_bits;
  }
  if (!is_equal(expected, expected_at, check->dst, at, check->element_bits)) {
    snprintf(check->reason, 256, "%s %lld of %lld of the destination is wrong",
             is_element ? "element slot" : "padding slot", (long long)slot,
             (long long)check->slots);
    return false;
  }
  return true;
}

static bool check_slots(const checker *check) {
  int64_t end = check->slots < END_SLOTS ? check->slots : END_SLOTS;
  for (int64_t i = 0; i < end; ++i) {
    if (!check_slot(check, i) || !check_slot(check, check->slots - 1 - i)) {
      return false;
    }
  }
  uint64_t state = 88172645463325252u;
  for (int32_t i = 0; i < RANDOM_SLOTS; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if (!check_slot(check, (int64_t)(state % (uint64_t)check->slots))) {
      return false;
    }
  }
  return true;
}

static bool check_whole(const checker *check, const rlo_problem *problem) {
  size_t bytes = (size_t)problem->dst_bytes;
  uint8_t *expected = malloc(bytes);
  if (expected == NULL) {
    return bench_fail("no memory for %zu bytes", bytes);
  }
  memset(expected, BENCH_SENTINEL, bytes);
  bool is_right = true;
  for (int32_t n = 0; n < check->item->num_operands; ++n) {
    if (rlo_problem_run_host(&problem[n], check->src + n * problem->src_bytes, expected) !=
        RLO_OK) {
      is_right = bench_fail_last("moving the array on the host");
    }
  }
  for (size_t i = 0; i < bytes && is_right; ++i) {
    if (expected[i] != check->dst[i]) {
      snprintf(check->reason, 256, "byte %zu of %zu of the destination is 0x%02x, not 0x%02x", i,
               bytes, check->dst[i], expected[i]);
      is_right = false;
    }
  }
  free(expected);
  return is_right;
}

bool bench_verify_bytes(const bench_case *item, const rlo_problem *problem, const uint8_t *src,
                        const uint8_t *dst, char out_reason[256]) {
  rlo_shape_extent extent;
  checker check = {.item = item, .src = src, .dst = dst, .reason = out_reason};
  snprintf(out_reason, 256, "could not be checked");
  if (rlo_shape_measure(&item->dst, &extent) != RLO_OK ||
      rlo_shape_fill_bits(&item->dst, check.fill, &check.is_filled) != RLO_OK) {
    return bench_fail_last("measuring the destination");
  }
  check.slots = extent.slots;
  check.element_bits = extent.element_bits;
  if (!check.is_filled) {
    memset(check.fill, BENCH_SENTINEL, sizeof check.fill);
  }
  if (item->is_computed || item->chain != NULL) {
    return check_whole(&check, problem);
  }
  return check_slots(&check) && (problem->dst_bytes > WHOLE_BYTES || check_whole(&check, problem));
}

bool bench_verify(const bench_case *item, const rlo_problem *problem, const uint8_t *src,
                  const uint8_t *dst, char out_reason[256]) {
  for (int64_t i = 0; i < BENCH_GUARD_BYTES; ++i) {
    if (dst[problem->dst_bytes + i] != BENCH_SENTINEL) {
      snprintf(out_reason, 256, "byte %lld behind the destination was written", (long long)i);
      return false;
    }
  }
  return bench_verify_bytes(item, problem, src, dst, out_reason);
}
