/* SPDX-License-Identifier: Apache-2.0 */

/* Plans of two passes, executed in memory as a job does it: what the first one
 * leaves behind the destination, and that the second overwrites nothing that it
 * has not read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/piece_plan.h"
#include "support/expect.h"
#include "support/lattice_copy.h"
#include "support/low_thresholds.h"
#include "support/plan_case.h"
#include "support/random_problem.h"
#include "support/suite.h"

enum { ARENA_BYTES = 8192, CASES = 1500 };

enum { SRC = RLO__SIDE_SOURCE, DST = RLO__SIDE_DESTINATION };

static const int64_t KIB = 1024;
static const int64_t MIB = 1024 * 1024;

static uint64_t seed;
static int number;
static rlo_problem whole;
static rlo_storage_traits source, file;
static rlo__piece_budget budget;
static rlo__piece_plan plans[2];
static rlo_problem box;
static rlo_problem piece;
static uint8_t src[ARENA_BYTES];
static uint8_t wanted[ARENA_BYTES];
static uint8_t got[2 * ARENA_BYTES];
/* For each byte of `got`: 1 for one of a tile that was not read yet. */
static uint8_t unread[2 * ARENA_BYTES];

#define AGAIN                  "; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", case %d"
#define EXPECT(condition, ...) ck_assert_msg(condition, __VA_ARGS__, seed, number)

static void begin(void) {
  file = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  file.granule_bytes = 1;
  file.good_read_bytes = 64 * KIB;
  file.good_write_bytes = 256 * KIB;
  file.good_depth = 8;
  source = file;
  budget = (rlo__piece_budget){.host_bytes = 128 * MIB,
                               .alignment_bytes = 64,
                               .piece_bytes = INT64_MAX,
                               .box_bytes = INT64_MAX,
                               .num_slots = 8,
                               .scratch_bytes = INT64_MAX};
}

RLO_FIXTURE(begin, NULL);
RLO_TIMEOUT(60);

static rlo_status make(void) {
  return rlo__piece_plan_make_two(&whole, &source, &file, &budget, plans);
}

/* ----------------------------------------------------------------- executor */

static rlo__lattice pack(rlo_problem *part, int side) {
  rlo__lattice lattice;
  bool is_hull;
  expect_ok(rlo__problem_packing(part, (rlo__problem_side)side, &lattice, &is_hull));
  expect_ok(rlo__problem_rebase(part, (rlo__problem_side)side, &lattice, part));
  return lattice;
}

static int64_t tile_of(const rlo__piece_plan *plan, int64_t n, int64_t k) {
  const int64_t offset = rlo__piece_plan_tile(plan, n, k);
  EXPECT(offset >= plan->shift_bytes &&
             offset + piece.dst_bytes <= whole.dst_bytes + plan->shift_bytes,
         "a tile of %" PRId64 " bytes at %" PRId64 AGAIN, piece.dst_bytes, offset);
  return offset;
}

/* Runs a piece of memory that ends with its bytes. */
static void run(const uint8_t *from, uint8_t *to) {
  rlo_status status = rlo_problem_run_host(&piece, from, to);
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
}

static void run_first(int64_t *pieces, int64_t *bytes_read) {
  static uint8_t packed[ARENA_BYTES];
  const rlo__piece_plan *plan = &plans[0];
  for (int64_t n = 0; n < plan->num_boxes; ++n) {
    expect_ok(rlo__piece_plan_box(plan, n, &box));
    rlo__lattice gathered = pack(&box, SRC);
    *bytes_read += rlo__lattice_bytes(&gathered);
    EXPECT(rlo__lattice_bytes(&gathered) <= plan->box_bytes[SRC], "a box of %" PRId64 AGAIN,
           rlo__lattice_bytes(&gathered));
    test_lattice_gather(&gathered, src, packed);
    for (int64_t k = 0; k < rlo__piece_plan_num_pieces(plan, n); ++k) {
      expect_ok(rlo__piece_plan_cut(plan, n, k, &box, &piece));
      rlo__lattice tile = pack(&piece, DST);
      int64_t offset = tile_of(plan, n, k);
      EXPECT(tile.is_exact && piece.dst_bytes <= plan->piece_bytes[DST], "a tile of %" PRId64 AGAIN,
             piece.dst_bytes);
      for (int64_t at = offset; at < offset + piece.dst_bytes; ++at) {
        EXPECT(unread[at] == 0, "byte %" PRId64 " is of two tiles" AGAIN, at);
        unread[at] = 1;
      }
      run(packed, got + offset);
      ++*pieces;
    }
  }
}

static void run_second(int64_t *pieces) {
  static uint8_t packed[ARENA_BYTES];
  const rlo__piece_plan *plan = &plans[1];
  int64_t written = 0;
  for (int64_t n = 0; n < plan->num_boxes; ++n) {
    expect_ok(rlo__piece_plan_box(plan, n, &box));
    rlo__lattice band = pack(&box, DST);
    EXPECT(band.num_dims == 0 && band.is_exact && band.base_byte == written &&
               band.run_bytes <= plan->box_bytes[DST] && 2 * band.run_bytes <= plan->shift_bytes,
           "a band of %" PRId64 " bytes at %" PRId64 AGAIN, band.run_bytes, band.base_byte);
    for (int64_t k = 0; k < rlo__piece_plan_num_pieces(plan, n); ++k) {
      expect_ok(rlo__piece_plan_cut(plan, n, k, &box, &piece));
      int64_t bytes = piece.src_bytes;
      piece.dst_bytes = bytes;
      int64_t offset = tile_of(plan, n, k);
      piece.dst_bytes = band.run_bytes;
      EXPECT(bytes <= plan->piece_bytes[SRC], "%" PRId64 " bytes" AGAIN, bytes);
      memset(unread + offset, 0, (size_t)bytes);
      run(got + offset, packed);
      ++*pieces;
    }
    for (int64_t at = written; at < written + band.run_bytes; ++at) {
      EXPECT(unread[at] == 0, "byte %" PRId64 " is not read yet" AGAIN, at);
    }
    memcpy(got + written, packed, (size_t)band.run_bytes);
    written += band.run_bytes;
  }
  EXPECT(written == whole.dst_bytes, "%" PRId64 " written" AGAIN, written);
}

static void expect_plans(void) {
  int64_t pieces[2] = {0, 0};
  int64_t bytes_read = 0;
  for (int n = 0; n < 2; ++n) {
    int64_t bytes = rlo__piece_plan_staging(&plans[n], &budget).bytes;
    EXPECT(bytes <= budget.host_bytes, "%" PRId64 " staged" AGAIN, bytes);
  }
  EXPECT(plans[0].shift_bytes <= budget.scratch_bytes, "%" PRId64 " behind the destination" AGAIN,
         plans[0].shift_bytes);
  memset(unread, 0, sizeof unread);
  memset(got, 0xa5, sizeof got);
  memset(wanted, 0, sizeof wanted);
  expect_ok(rlo_problem_run_host(&whole, src, wanted));
  run_first(&pieces[0], &bytes_read);
  run_second(&pieces[1]);
  EXPECT(pieces[0] == plans[0].num_pieces && pieces[1] == plans[1].num_pieces,
         "%" PRId64 " and %" PRId64 " pieces" AGAIN, pieces[0], pieces[1]);
  EXPECT(bytes_read <= plans[0].bytes_read && plans[0].bytes_written == whole.dst_bytes &&
             plans[1].bytes_read == whole.dst_bytes && plans[1].bytes_written == whole.dst_bytes,
         "%" PRId64 " read" AGAIN, bytes_read);
  EXPECT(memcmp(got, wanted, (size_t)whole.dst_bytes) == 0, "other bytes" AGAIN);
}

/* A job is given the scratch that an estimate found, and does what that said. */
static void expect_again(void) {
  const rlo__piece_plan before[2] = {plans[0], plans[1]};
  budget.scratch_bytes = plans[0].shift_bytes;
  expect_ok(make());
  for (int n = 0; n < 2; ++n) {
    EXPECT(plans[n].num_pieces == before[n].num_pieces &&
               memcmp(plans[n].box, before[n].box, sizeof plans[n].box) == 0 &&
               memcmp(plans[n].piece, before[n].piece, sizeof plans[n].piece) == 0,
           "%" PRId64 " pieces, %" PRId64 " with the scratch that these need" AGAIN,
           before[n].num_pieces, plans[n].num_pieces);
  }
}

/* -------------------------------------------------------------------- tests */

static bool draw(void) {
  static const test_problem_kind kinds[] = {TEST_PROBLEM_RELAYOUT, TEST_PROBLEM_CHAIN,
                                            TEST_PROBLEM_CONVERSION};
  static test_problem drawn;
  test_random random = {seed + (uint64_t)number * 7919};
  if (!test_random_problem(&random, kinds[number % 3], &drawn) ||
      rlo_problem_loads(&drawn.problem)) {
    return false;
  }
  whole = drawn.problem;
  for (size_t n = 0; n < ARENA_BYTES; ++n) {
    src[n] = (uint8_t)test_random_bits(&random);
  }
  source.bytes = whole.src_bytes;
  source.granule_bytes =
      test_random_once_in(&random, 3) ? INT64_C(1) << test_random_in(&random, 1, 4) : 1;
  budget.host_bytes = test_random_in(&random, 16, 64 + whole.dst_bytes);
  budget.alignment_bytes = INT64_C(1) << test_random_in(&random, 0, 3);
  budget.num_slots = (int32_t)test_random_in(&random, 1, 4);
  budget.copies = test_random_once_in(&random, 4);
  budget.piece_bytes = budget.copies ? test_random_in(&random, 16, 512) : INT64_MAX;
  budget.box_bytes =
      test_random_once_in(&random, 4) ? test_random_in(&random, 512, 1024) : INT64_MAX;
  budget.scratch_bytes =
      test_random_once_in(&random, 4) ? test_random_in(&random, 1, 1024) : INT64_MAX;
  return true;
}

RLO_TEST(test_piece_bands__the_effect_of_the_whole) {
  seed = test_random_begin("test_piece_bands").state;
  int made = 0;
  int cut = 0;
  int inner = 0;
  int small = 0;
  for (number = 0; number < CASES; ++number) {
    if (!draw()) {
      continue;
    }
    rlo_status status = make();
    if (status == RLO_UNSUPPORTED) {
      continue;
    }
    if (status == RLO_OUT_OF_RANGE) {
      ++small;
      continue;
    }
    EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
    expect_plans();
    expect_again();
    ++made;
    cut += plans[0].num_boxes > 1 && plans[1].num_boxes > 1;
    inner += plans[0].num_pieces > plans[0].num_boxes && plans[1].num_pieces > plans[1].num_boxes;
  }
  printf(
      "%d plans, %d with boxes and bands, %d with tiles in each; %d budgets "
      "too small\n",
      made, cut, inner, small);
  ck_assert_int_gt(made, CASES / 8);
  ck_assert_int_gt(cut, made / 4);
  ck_assert_int_gt(inner, made / 8);
  ck_assert_int_lt(small, made);
}

/* Files that no memory holds, and the transfers that their budgets have to
 * allow. */
static const struct {
  const char *src, *dst, *permutation;
  int64_t host_mib, run_bytes;
} larges[] = {
    {"f32[40000,60000]", "f32[60000,40000]", "1,0", 128, 256 << 10},
    {"f32[65536,65536]", "f32[65536,65536]", "1,0", 256, 512 << 10},
    {"u8[131072,131072]", "u8[131072,131072]", "1,0", 256, 512 << 10},
    {"u8[1000003,1000033]", "u8[1000033,1000003]", "1,0", 2048, 512 << 10},
    {"f32[64,64,64,64,16,16]", "f32[16,64,64,16,64,64]", "5,3,1,4,2,0", 256, 256 << 10},
    {"f32[8,32768,32768]", "f32[8,32768,32768]", "0,2,1", 256, 1 << 20},
    {"f32[65536,65536]", "bf16[65536,65536]{0,1}", NULL, 256, 512 << 10},
    {"f32[65535,65533]", "f32[65535,65533]{0,1:T(8,128)fill(zero)}", NULL, 256, 256 << 10},
};

RLO_TABLE_TEST(test_piece_bands__long_transfers, larges) {
  if (test_thresholds_are_low()) {
    return;
  }
  test_plan_lower(larges[_i].src, larges[_i].dst, larges[_i].permutation, &whole);
  budget.host_bytes = larges[_i].host_mib * MIB;
  expect_ok(make());
  printf("%s: %" PRId64 " and %" PRId64 " boxes, tiles of %" PRId64 "\n", larges[_i].src,
         plans[0].num_boxes, plans[1].num_boxes, plans[0].write_run_bytes);
  ck_assert_int_ge(plans[0].write_run_bytes, larges[_i].run_bytes);
  ck_assert_int_ge(plans[0].read_run_bytes, larges[_i].run_bytes);
  ck_assert_int_ge(plans[1].read_run_bytes, larges[_i].run_bytes);
  ck_assert_int_ge(plans[1].write_run_bytes, larges[_i].run_bytes);
  ck_assert_int_le(rlo__piece_plan_staging(&plans[0], &budget).bytes, budget.host_bytes);
  ck_assert_int_le(rlo__piece_plan_staging(&plans[1], &budget).bytes, budget.host_bytes);
}

RLO_TEST(test_piece_bands__refusals) {
  test_plan_lower("f32[64,65]", "f32[65,64]", "1,0", &whole);
  budget.is_memory[SRC] = true;
  expect_refusal(make(), RLO_UNSUPPORTED, "two passes gain nothing where a side is in memory");
  budget.is_memory[SRC] = false;
  file.granule_bytes = 8;
  expect_refusal(make(), RLO_UNSUPPORTED, "two passes cannot write granules of 8 bytes");
  file.granule_bytes = 1;
  budget.host_bytes = 100;
  expect_refusal(make(), RLO_OUT_OF_RANGE,
                 "two passes do not fit into 100 bytes of staging memory, "
                 "9223372036854775807 bytes for a piece and "
                 "9223372036854775807 bytes behind the destination");
  begin();
  budget.scratch_bytes = 3;
  ck_assert_int_eq(make(), RLO_OUT_OF_RANGE);
  begin();
  /* A destination with gaps. */
  test_plan_lower("f32[64,65]", "f32[65,64]{1,0:pad(66,64)}", "1,0", &whole);
  expect_refusal(make(), RLO_UNSUPPORTED,
                 "two passes need a problem that writes each byte of the "
                 "destination once, reads none of it and loads no indices");
}
