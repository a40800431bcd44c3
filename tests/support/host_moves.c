/* SPDX-License-Identifier: Apache-2.0 */
#include "support/host_moves.h"

#include <check.h>
#include <stdlib.h>

#include "base/threshold.h"
#include "relayout/status.h"
#include "support/guarded_pages.h"

/** Memories that are drawn apart: some begin `shift` bytes after a page that
 *  nobody may touch, the others end so many bytes before one. */
static test_guarded_pages make_arena(const test_host_move *move, uint8_t fill) {
  return test_guarded_pages_make((size_t)move->problem->dst_bytes, (size_t)move->dst_shift,
                                 move->is_at_end, fill);
}

/** The problem's destination, by the reference. */
static rlo_status run_reference(const test_host_move *move, const uint8_t *src, uint8_t fill,
                                test_guarded_pages *out) {
  *out = make_arena(move, fill);
  return rlo_problem_run_host_indexed(move->problem, src, move->indices, out->bytes);
}

static rlo_status run_share(const rlo__host_mover *mover, const test_host_move *move,
                            const uint8_t *src, int32_t share, uint8_t *dst) {
  return rlo__host_mover_run_share(mover, src, move->indices, dst, share, move->num_shares);
}

/** Counts, for each byte, the shares that write it: what a share leaves of two
 *  different memories is what it does not write. */
static void expect_own_bytes(const rlo__host_mover *mover, const test_host_move *move,
                             const uint8_t *src, const char *words) {
  const int64_t bytes = move->problem->dst_bytes;
  uint8_t *writers = calloc((size_t)bytes + 1, 1);
  ck_assert_ptr_nonnull(writers);
  for (int32_t share = 0; share < move->num_shares; ++share) {
    test_guarded_pages a = make_arena(move, 0x55);
    test_guarded_pages b = make_arena(move, 0xaa);
    if (run_share(mover, move, src, share, a.bytes) == RLO_OK &&
        run_share(mover, move, src, share, b.bytes) == RLO_OK) {
      for (int64_t k = 0; k < bytes; ++k) {
        writers[k] = (uint8_t)(writers[k] + (a.bytes[k] != 0x55 || b.bytes[k] != 0xaa));
        if (writers[k] > 1) {
          ck_abort_msg("%s: two shares write byte %lld", words, (long long)k);
        }
      }
    }
    test_guarded_pages_release(&a);
    test_guarded_pages_release(&b);
  }
  free(writers);
}

static void run_and_compare(const rlo__host_mover *mover, const test_host_move *move,
                            const uint8_t *src, uint8_t fill, const char *words) {
  test_guarded_pages wanted;
  test_guarded_pages got = make_arena(move, fill);
  rlo_status expected = run_reference(move, src, fill, &wanted);
  rlo_status status = RLO_OK;
  if (move->num_threads > 0) {
    status = rlo__host_mover_run(mover, src, move->indices, got.bytes, move->num_threads);
  } else {
    for (int32_t share = move->num_shares - 1; share >= 0; --share) {
      rlo_status one = run_share(mover, move, src, share, got.bytes);
      status = one == RLO_OK ? status : one;
    }
  }
  ck_assert_msg(status == expected, "%s: %s, the reference has %s", words, rlo_status_name(status),
                rlo_status_name(expected));
  ck_assert_msg(test_guarded_pages_are_kept(&got, fill),
                "%s: a byte beside the destination was written", words);
  for (int64_t k = 0; k < move->problem->dst_bytes; ++k) {
    if (got.bytes[k] != wanted.bytes[k]) {
      ck_abort_msg("%s: byte %lld of %lld is 0x%02x and should be 0x%02x", words, (long long)k,
                   (long long)move->problem->dst_bytes, got.bytes[k], wanted.bytes[k]);
    }
  }
  test_guarded_pages_release(&got);
  test_guarded_pages_release(&wanted);
}

void test_host_expect(const test_host_move *move, const char *words) {
  const rlo_problem *problem = move->problem;
  test_guarded_pages memory = test_guarded_pages_make(
      (size_t)problem->src_bytes, (size_t)move->src_shift, move->is_at_end, 0x33);
  uint8_t *src = memory.bytes;
  for (int64_t k = 0; k < problem->src_bytes; ++k) {
    src[k] = (uint8_t)((uint64_t)k * 0x9e3779b97f4a7c15u >> 37);
  }
  rlo__host_mover *mover = NULL;
  if (move->past_caches_bytes != 0) {
    rlo__thresholds.host_past_caches_bytes = move->past_caches_bytes;
  }
  if (move->vector_bytes != 0) {
    rlo__thresholds.host_vector_bytes = move->vector_bytes;
  }
  rlo_status status = rlo__host_mover_create(problem, &mover);
  ck_assert_msg(status == RLO_OK, "%s: %s", words, rlo_error_last()->message);
  run_and_compare(mover, move, src, 0xee, words);
  if (move->num_threads == 0 && move->num_shares > 1) {
    expect_own_bytes(mover, move, src, words);
  }
  rlo__host_mover_release(mover);
  test_guarded_pages_release(&memory);
}
