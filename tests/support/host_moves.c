/* SPDX-License-Identifier: Apache-2.0 */
#include "support/host_moves.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/status.h"

enum { GUARD_BYTES = 192, LINE_BYTES = 64 };

/** Memory with guards; `bytes` begin `shift` bytes after a line. */
typedef struct arena {
  uint8_t *memory;
  size_t size;
  uint8_t *bytes;
} arena;

static arena make_arena(int64_t bytes, int64_t shift, int fill) {
  arena a;
  a.size = (size_t)(bytes + shift) + 2 * GUARD_BYTES;
  a.memory = malloc(a.size + LINE_BYTES);
  ck_assert_ptr_nonnull(a.memory);
  memset(a.memory, fill, a.size + LINE_BYTES);
  uintptr_t first = (uintptr_t)a.memory + GUARD_BYTES;
  a.bytes = a.memory + GUARD_BYTES + (-first % LINE_BYTES) + shift;
  return a;
}

/** The problem's destination, by the reference. */
static rlo_status run_reference(const test_host_move *move,
                                const uint8_t *src,
                                int fill,
                                arena *out) {
  *out = make_arena(move->problem->dst_bytes, move->dst_shift, fill);
  return rlo_problem_run_host_indexed(
      move->problem, src, move->indices, out->bytes);
}

static rlo_status run_share(const rlo__host_mover *mover,
                            const test_host_move *move,
                            const uint8_t *src,
                            int32_t share,
                            uint8_t *dst) {
  return rlo__host_mover_run_share(
      mover, src, move->indices, dst, share, move->num_shares);
}

/** Counts, for each byte, the shares that write it: what a share leaves of two
 *  different memories is what it does not write. */
static void expect_own_bytes(const rlo__host_mover *mover,
                             const test_host_move *move,
                             const uint8_t *src,
                             const char *words) {
  const int64_t bytes = move->problem->dst_bytes;
  uint8_t *writers = calloc((size_t)bytes + 1, 1);
  ck_assert_ptr_nonnull(writers);
  for (int32_t share = 0; share < move->num_shares; ++share) {
    arena a = make_arena(bytes, move->dst_shift, 0x55);
    arena b = make_arena(bytes, move->dst_shift, 0xaa);
    if (run_share(mover, move, src, share, a.bytes) == RLO_OK &&
        run_share(mover, move, src, share, b.bytes) == RLO_OK) {
      for (int64_t k = 0; k < bytes; ++k) {
        writers[k] =
            (uint8_t)(writers[k] + (a.bytes[k] != 0x55 || b.bytes[k] != 0xaa));
        if (writers[k] > 1) {
          ck_abort_msg("%s: two shares write byte %lld", words, (long long)k);
        }
      }
    }
    free(a.memory);
    free(b.memory);
  }
  free(writers);
}

static void run_and_compare(const rlo__host_mover *mover,
                            const test_host_move *move,
                            const uint8_t *src,
                            int fill,
                            const char *words) {
  arena wanted;
  arena got = make_arena(move->problem->dst_bytes, move->dst_shift, fill);
  rlo_status expected = run_reference(move, src, fill, &wanted);
  rlo_status status = RLO_OK;
  if (move->num_threads > 0) {
    status = rlo__host_mover_run(
        mover, src, move->indices, got.bytes, move->num_threads);
  } else {
    for (int32_t share = move->num_shares - 1; share >= 0; --share) {
      rlo_status one = run_share(mover, move, src, share, got.bytes);
      status = one == RLO_OK ? status : one;
    }
  }
  ck_assert_msg(status == expected,
                "%s: %s, the reference has %s",
                words,
                rlo_status_name(status),
                rlo_status_name(expected));
  for (int64_t k = -GUARD_BYTES + LINE_BYTES;
       k < move->problem->dst_bytes + LINE_BYTES;
       ++k) {
    if (got.bytes[k] != wanted.bytes[k]) {
      ck_abort_msg("%s: byte %lld of %lld is 0x%02x and should be 0x%02x",
                   words,
                   (long long)k,
                   (long long)move->problem->dst_bytes,
                   got.bytes[k],
                   wanted.bytes[k]);
    }
  }
  free(got.memory);
  free(wanted.memory);
}

void test_host_expect(const test_host_move *move, const char *words) {
  const rlo_problem *problem = move->problem;
  /* Exactly as long as it has to be, for sanitizers. */
  uint8_t *memory = malloc((size_t)(problem->src_bytes + move->src_shift) + 1);
  ck_assert_ptr_nonnull(memory);
  uint8_t *src = memory + move->src_shift + 1;
  for (int64_t k = 0; k < problem->src_bytes; ++k) {
    src[k] = (uint8_t)((uint64_t)k * 0x9e3779b97f4a7c15u >> 37);
  }
  rlo__host_mover *mover = NULL;
  rlo_status status = rlo__host_mover_create(problem, &move->options, &mover);
  ck_assert_msg(status == RLO_OK, "%s: %s", words, rlo_error_last()->message);
  run_and_compare(mover, move, src, 0xee, words);
  if (move->num_threads == 0 && move->num_shares > 1) {
    expect_own_bytes(mover, move, src, words);
  }
  rlo__host_mover_release(mover);
  free(memory);
}
