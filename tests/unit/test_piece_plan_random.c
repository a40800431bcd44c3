/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/threshold.h"
#include "service/piece_plan.h"
#include "support/exact_copy.h"
#include "support/expect.h"
#include "support/lattice_copy.h"
#include "support/random_problem.h"
#include "support/suite.h"

enum { ARENA_BYTES = 4096, CASES = 700 };

enum { SRC = RLO__SIDE_SOURCE, DST = RLO__SIDE_DESTINATION };

static uint64_t seed;
static int number;
static test_problem whole;
static rlo_storage_traits traits[2];
static rlo__piece_budget budget;
static rlo__piece_plan plan;
static rlo_problem box;
static rlo_problem piece;
static uint8_t src[ARENA_BYTES];
static uint8_t before[ARENA_BYTES];
static uint8_t wanted[ARENA_BYTES];
static uint8_t got[ARENA_BYTES];

/* How to repeat what failed. */
#define AGAIN                  "; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", case %d"
#define EXPECT(condition, ...) ck_assert_msg(condition, __VA_ARGS__, seed, number)

static void draw_traits(test_random *random, int64_t memory_bytes, rlo_storage_traits *out) {
  *out = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  out->bytes = memory_bytes + (test_random_once_in(random, 3) ? test_random_in(random, 0, 9) : 0);
  out->granule_bytes = test_random_once_in(random, 16) ? test_random_in(random, 2, 8) : 1;
  out->good_read_bytes = test_random_in(random, 1, 64);
  out->good_write_bytes = test_random_in(random, 1, 64);
  out->good_depth = 8;
}

static int64_t draw_bytes(test_random *random) {
  return test_random_in(random, 1, INT64_C(1) << test_random_in(random, 1, 13));
}

/* Draws by number alone, so that a failure names what to run again. */
static bool draw(void) {
  test_random random = {seed + (uint64_t)number * 7919};
  if (!test_random_problem(&random, (test_problem_kind)(number % TEST_PROBLEM_NUM_KINDS), &whole)) {
    return false;
  }
  for (size_t n = 0; n < ARENA_BYTES; ++n) {
    src[n] = (uint8_t)test_random_bits(&random);
    before[n] = (uint8_t)test_random_bits(&random);
  }
  draw_traits(&random, whole.problem.src_bytes, &traits[SRC]);
  draw_traits(&random, whole.problem.dst_bytes, &traits[DST]);
  budget.host_bytes = draw_bytes(&random);
  budget.alignment_bytes = INT64_C(1) << test_random_in(&random, 0, 6);
  budget.piece_bytes = test_random_once_in(&random, 2) ? INT64_MAX : draw_bytes(&random);
  budget.box_bytes = test_random_once_in(&random, 2)
                         ? INT64_MAX
                         : rlo__max(budget.piece_bytes, draw_bytes(&random));
  budget.num_slots = (int32_t)test_random_in(&random, 1, 5);
  budget.is_memory[SRC] = test_random_once_in(&random, 4);
  budget.is_memory[DST] = test_random_once_in(&random, 4);
  return true;
}

static rlo_status make(void) {
  return rlo__piece_plan_make(&whole.problem, &traits[SRC], &traits[DST], &budget, &plan);
}

/* ----------------------------------------------------------------- executor */

/** Bytes in runs of a length. */
typedef struct histogram {
  int64_t bytes[ARENA_BYTES + 1];
} histogram;

/** Counters of an execution. */
static struct {
  int64_t boxes, pieces;
  int64_t bytes[2];
  histogram runs[2];
  /** How many boxes or pieces have packed a byte of the destination. */
  uint8_t times[ARENA_BYTES];
} done;

static rlo__lattice find_lattice(const rlo_problem *part, int side) {
  rlo__lattice lattice;
  bool is_hull;
  expect_ok(rlo__problem_packing(part, (rlo__problem_side)side, &lattice, &is_hull));
  return lattice;
}

/* As work.c finds those that are transferred. */
static rlo__lattice find_moved(const rlo_problem *part, int side) {
  rlo__lattice lattice;
  expect_ok(rlo__grid_moved(part, (rlo__problem_side)side,
                            budget.is_memory[side] ? 1 : traits[side].granule_bytes,
                            traits[side].bytes, plan.is_of_chunks, &lattice));
  return lattice;
}

static void count(const rlo__lattice *lattice, int side) {
  done.bytes[side] += rlo__lattice_bytes(lattice);
  done.runs[side].bytes[lattice->run_bytes] += rlo__lattice_bytes(lattice);
  int64_t granule = budget.is_memory[side] ? 1 : traits[side].granule_bytes;
  bool is_last =
      lattice->num_dims == 0 && lattice->base_byte + lattice->run_bytes == traits[side].bytes;
  EXPECT(lattice->base_byte % granule == 0 && (is_last || lattice->run_bytes % granule == 0),
         "%" PRId64 " bytes at %" PRId64 " in granules of %" PRId64 AGAIN, lattice->run_bytes,
         lattice->base_byte, granule);
}

/* Checks that no other box or piece has packed these bytes. */
static void take(const rlo__lattice *lattice) {
  static uint8_t times[ARENA_BYTES];
  test_lattice_gather(lattice, done.times, times);
  for (int64_t n = 0; n < rlo__lattice_bytes(lattice); ++n) {
    EXPECT(times[n] == 0, "byte %" PRId64 " of a footprint at %" PRId64 " is in two of them" AGAIN,
           n, lattice->base_byte);
    times[n] = 1;
  }
  test_lattice_scatter(lattice, times, done.times);
}

static void *gather(const rlo__lattice *lattice, uint8_t *memory) {
  static uint8_t packed[ARENA_BYTES];
  test_lattice_gather(lattice, memory, packed);
  return test_exact_copy(packed, (size_t)rlo__lattice_bytes(lattice));
}

static void scatter(const rlo__lattice *lattice, void *packed) {
  test_lattice_scatter(lattice, packed, got);
  free(packed);
}

/* The bytes of a box's gathered side, and those of a piece's other side, in
 * memory of their own, as the executor of a job has them. */
static void run_piece(const rlo__lattice *gathered, void *packed) {
  bool is_dst = plan.gathered == RLO__SIDE_DESTINATION;
  int side = is_dst ? SRC : DST;
  rlo__lattice moved = find_moved(&piece, side);
  rlo__lattice inner = find_lattice(&piece, is_dst ? DST : SRC);
  EXPECT(rlo__lattice_bytes(&moved) <= plan.piece_bytes[side] &&
             rlo__lattice_bytes(&inner) <= plan.piece_bytes[1 - side],
         "a piece of %" PRId64 " and %" PRId64 " bytes; at most %" PRId64 " and %" PRId64 AGAIN,
         rlo__lattice_bytes(&moved), rlo__lattice_bytes(&inner), plan.piece_bytes[side],
         plan.piece_bytes[1 - side]);
  ++done.pieces;
  count(&moved, side);
  /* Pieces of chunks write between the bytes of others. */
  if (!plan.is_of_chunks) {
    take(is_dst ? &inner : &moved);
  }
  void *own = gather(&moved, is_dst ? src : got);
  expect_ok(rlo__problem_rebase(&piece, (rlo__problem_side)side, &moved, &piece));
  rlo_status status = rlo__problem_rebase(&piece, plan.gathered, gathered, &piece);
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  status = rlo_problem_run_host_indexed(&piece, is_dst ? own : packed, &whole.indices,
                                        is_dst ? packed : own);
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  if (is_dst) {
    free(own);
  } else {
    scatter(&moved, own);
  }
}

static void run_box(int64_t n) {
  bool is_dst = plan.gathered == RLO__SIDE_DESTINATION;
  expect_ok(rlo__piece_plan_box(&plan, n, &box));
  rlo__lattice gathered = find_moved(&box, is_dst ? DST : SRC);
  EXPECT(rlo__lattice_bytes(&gathered) <= plan.box_bytes[plan.gathered],
         "a box of %" PRId64 " bytes; at most %" PRId64 AGAIN, rlo__lattice_bytes(&gathered),
         plan.box_bytes[plan.gathered]);
  ++done.boxes;
  count(&gathered, is_dst ? DST : SRC);
  void *packed = gather(&gathered, is_dst ? got : src);
  for (int64_t k = 0; k < rlo__piece_plan_num_pieces(&plan, n); ++k) {
    expect_ok(rlo__piece_plan_cut(&plan, n, k, &box, &piece));
    run_piece(&gathered, packed);
  }
  if (is_dst) {
    scatter(&gathered, packed);
  } else {
    free(packed);
  }
}

/* Runs of this length are moved, if anything is. */
static void expect_runs(int side, int64_t reported) {
  EXPECT(done.bytes[side] == 0 || done.runs[side].bytes[reported] > 0,
         "no runs of %" PRId64 " bytes on side %d" AGAIN, reported, side);
}

static void expect_plan(void) {
  EXPECT(rlo__piece_plan_staging(&plan, &budget).bytes <= budget.host_bytes &&
             (plan.is_of_chunks ||
              plan.piece_bytes[SRC] + plan.piece_bytes[DST] <= budget.piece_bytes) &&
             (plan.is_of_chunks || budget.is_memory[plan.gathered] ||
              plan.box_bytes[plan.gathered] <= budget.box_bytes),
         "the plan takes %" PRId64 " bytes of %" PRId64 AGAIN,
         rlo__piece_plan_staging(&plan, &budget).bytes, budget.host_bytes);
  memset(&done, 0, sizeof done);
  memcpy(wanted, before, sizeof wanted);
  memcpy(got, before, sizeof got);
  expect_ok(rlo_problem_run_host_indexed(&whole.problem, src, &whole.indices, wanted));
  for (int64_t n = 0; n < plan.num_boxes; ++n) {
    run_box(n);
  }
  EXPECT(memcmp(got, wanted, sizeof got) == 0, "other bytes" AGAIN);
  EXPECT(done.pieces == plan.num_pieces, "%" PRId64 " pieces, planned %" PRId64 AGAIN, done.pieces,
         plan.num_pieces);
  bool is_counted = done.pieces < rlo__thresholds.service_tally_regions / 2;
  /* What begins within granules, or skips some, is planned with bounds. */
  const bool is_read_counted =
      is_counted && (budget.is_memory[SRC] || traits[SRC].granule_bytes == 1);
  is_counted = is_counted && (budget.is_memory[DST] || traits[DST].granule_bytes == 1 ||
                              !test_problem_skips(&whole.problem));
  EXPECT(
      (is_read_counted ? done.bytes[SRC] == plan.bytes_read : done.bytes[SRC] <= plan.bytes_read) &&
          (is_counted ? done.bytes[DST] == plan.bytes_written
                      : done.bytes[DST] <= plan.bytes_written),
      "%" PRId64 " and %" PRId64 " bytes moved, planned %" PRId64 " and %" PRId64 AGAIN,
      done.bytes[SRC], done.bytes[DST], plan.bytes_read, plan.bytes_written);
  if (is_read_counted && !plan.is_of_chunks) {
    expect_runs(SRC, plan.read_run_bytes);
  }
  if (is_counted) {
    expect_runs(DST, plan.write_run_bytes);
  }
}

RLO_TIMEOUT(60);

/* The number after the last " is " of a refusal. */
static int64_t least_of_message(void) {
  const char *text = strstr(rlo_error_last()->message, "suffices is ");
  ck_assert_ptr_nonnull(text);
  return strtoll(text + strlen("suffices is "), NULL, 10);
}

/* Checks that a refusal names the least budget that suffices. */
static void expect_least(void) {
  bool is_host = strstr(rlo_error_last()->message, "staging") != NULL;
  int64_t *limit = is_host ? &budget.host_bytes : &budget.piece_bytes;
  int64_t least = least_of_message();
  EXPECT(least > *limit, "%" PRId64 " does not suffice" AGAIN, least);
  *limit = least - 1;
  EXPECT(make() == RLO_OUT_OF_RANGE && least_of_message() == least, "%" PRId64 " suffices" AGAIN,
         *limit);
  *limit = least;
  budget.box_bytes = rlo__max(budget.box_bytes, budget.piece_bytes);
  rlo_status status = make();
  /* There may be no room for several pieces that are large enough. */
  if (status == RLO_OUT_OF_RANGE && !is_host) {
    budget.host_bytes = least_of_message();
    status = make();
  }
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
}

RLO_TEST(test_piece_plan_random__the_effect_of_the_whole) {
  seed = test_random_begin("test_piece_plan_random").state;
  int plans = 0;
  int cut = 0;
  int nested = 0;
  int least = 0;
  int refused = 0;
  int by_src = 0;
  for (number = 0; number < CASES; ++number) {
    if (!draw()) {
      continue;
    }
    rlo_status status = make();
    if (status == RLO_INVALID_ARGUMENT) {
      continue; /* Forms where two guarded points have one cell. */
    }
    if (status == RLO_UNSUPPORTED) {
      bool is_shared = strstr(rlo_error_last()->message, "each other") != NULL;
      EXPECT(is_shared || traits[SRC].granule_bytes > 1 || traits[DST].granule_bytes > 1,
             "%s" AGAIN, rlo_error_last()->message);
      refused += is_shared;
      continue;
    }
    if (status == RLO_OUT_OF_RANGE) {
      expect_least();
      ++least;
      status = RLO_OK;
    }
    EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
    expect_plan();
    ++plans;
    cut += plan.num_pieces > 1;
    nested += plan.num_boxes > 1 && plan.num_pieces > plan.num_boxes;
    by_src += plan.gathered == RLO__SIDE_SOURCE;
  }
  printf(
      "%d plans, %d cut, %d on two levels, %d by source; %d least budgets, %d "
      "refused\n",
      plans, cut, nested, by_src, least, refused);
  ck_assert_int_gt(plans, CASES / 2);
  ck_assert_int_gt(cut, plans / 3);
  ck_assert_int_gt(nested, plans / 20);
  ck_assert_int_gt(by_src, plans / 20);
  ck_assert_int_gt(least, plans / 20);
  ck_assert_int_lt(refused, plans / 20);
}
