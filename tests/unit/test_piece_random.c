/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/piece.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact_copy.h"
#include "support/expect.h"
#include "support/factors.h"
#include "support/lattice_copy.h"
#include "support/random_problem.h"
#include "support/suite.h"

/** Bytes before and after each memory that nobody may write. */
enum { GUARD_BYTES = 16, ARENA_BYTES = 4096 + 2 * GUARD_BYTES };

enum { CASES = 420 };

static uint64_t seed;
static int number;
static test_problem whole;
static rlo_problem piece;
static rlo_problem rebased;
static uint8_t src[ARENA_BYTES];
static uint8_t before[ARENA_BYTES];
static uint8_t wanted[ARENA_BYTES];
static uint8_t got[ARENA_BYTES];

/* How to repeat what failed. */
#define AGAIN                  "; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", case %d"
#define EXPECT(condition, ...) ck_assert_msg(condition, __VA_ARGS__, seed, number)

/* Floats of many magnitudes, so that the order of a sum is seen; other types
 * take any bits. */
static void fill_memory(test_random *random, uint8_t *memory) {
  for (size_t k = 0; k + 4 <= ARENA_BYTES; k += 4) {
    float value = (float)test_random_in(random, -1000000, 1000000);
    value /= (float)(1 << test_random_in(random, 0, 24));
    memcpy(memory + k, &value, sizeof value);
  }
}

/* Draws by number alone, so that a failure names what to run again. */
static bool draw(void) {
  test_random random = {seed + (uint64_t)number * 7919};
  test_problem_kind kind = (test_problem_kind)(number % TEST_PROBLEM_NUM_KINDS);
  if (!test_random_problem(&random, kind, &whole)) {
    return false;
  }
  if (test_random_once_in(&random, 2)) {
    static const int32_t widths[] = {0, 16, 128};
    rlo_problem canonical = whole.problem;
    /* Forms where two guarded points have one cell are left out. */
    if (rlo_problem_canonicalize(&canonical, widths[test_random_in(&random, 0, 2)], NULL, NULL) ==
        RLO_OK) {
      whole.problem = canonical;
    }
  }
  fill_memory(&random, src);
  fill_memory(&random, before);
  return true;
}

static void run(const rlo_problem *problem, const void *from, void *to) {
  rlo_status status = rlo_problem_run_host_indexed(problem, from, &whole.indices, to);
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
}

/* -------------------------------------------------------------- restriction */

/* False, with a sum, if the cut is refused. */
static bool run_piece(const int64_t *begins, const int64_t *ends) {
  rlo_status status = rlo__problem_restrict_box(&whole.problem, begins, ends, &piece);
  if (status == RLO_UNSUPPORTED && rlo_problem_is_sum(&whole.problem)) {
    return false;
  }
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  run(&piece, src, got + GUARD_BYTES);
  return true;
}

static void expect_whole(int32_t axis, int64_t cut) {
  EXPECT(memcmp(got, wanted, sizeof got) == 0, "axis %d cut at %" PRId64 " gives other bytes" AGAIN,
         axis, cut);
}

/* True if the axis could be cut. */
static bool expect_cut(int32_t axis, int64_t cut) {
  int64_t begins[RLO_MAX_AXES] = {0};
  int64_t ends[RLO_MAX_AXES];
  memcpy(ends, whole.problem.extents, sizeof ends);
  memcpy(got, before, sizeof got);
  begins[axis] = cut;
  bool is_cut = run_piece(begins, ends);
  begins[axis] = 0;
  ends[axis] = cut;
  if (!is_cut || !run_piece(begins, ends)) {
    return false;
  }
  expect_whole(axis, cut);
  return true;
}

RLO_TIMEOUT(60);

RLO_TEST(test_piece_random__every_cut_of_every_axis) {
  seed = test_random_begin("test_piece_random").state;
  int cuts[TEST_PROBLEM_NUM_KINDS] = {0};
  int refused = 0;
  for (number = 0; number < CASES; ++number) {
    if (!draw()) {
      continue;
    }
    memcpy(wanted, before, sizeof wanted);
    run(&whole.problem, src, wanted + GUARD_BYTES);
    for (int32_t a = 0; a < whole.problem.num_axes; ++a) {
      for (int64_t cut = 1; cut < whole.problem.extents[a]; ++cut) {
        bool is_cut = expect_cut(a, cut);
        cuts[number % TEST_PROBLEM_NUM_KINDS] += is_cut;
        refused += !is_cut;
      }
    }
  }
  for (int k = 0; k < TEST_PROBLEM_NUM_KINDS; ++k) {
    ck_assert_int_gt(cuts[k], 50);
  }
  ck_assert_int_gt(refused, 50);
}

/* A cut of each axis into up to three parts. */
typedef struct grid {
  int64_t cuts[RLO_MAX_AXES][4];
  int32_t part[RLO_MAX_AXES];
} grid;

static void draw_grid(test_random *random, grid *out) {
  memset(out, 0, sizeof *out);
  for (int32_t a = 0; a < whole.problem.num_axes; ++a) {
    int64_t extent = whole.problem.extents[a];
    bool is_rare = test_random_once_in(random, 3);
    bool is_cut = rlo_problem_is_sum(&whole.problem) ? is_rare : !is_rare;
    out->cuts[a][1] = is_cut ? test_random_in(random, 0, extent) : extent;
    out->cuts[a][2] = test_random_in(random, out->cuts[a][1], extent);
    out->cuts[a][3] = extent;
  }
}

static bool next_box(grid *g, int64_t *begins, int64_t *ends) {
  for (int32_t a = 0; a < whole.problem.num_axes; ++a) {
    begins[a] = g->cuts[a][g->part[a]];
    ends[a] = g->cuts[a][g->part[a] + 1];
  }
  for (int32_t a = 0; a < whole.problem.num_axes; ++a) {
    if (++g->part[a] < 3) {
      return true;
    }
    g->part[a] = 0;
  }
  return false;
}

RLO_TEST(test_piece_random__a_grid_of_boxes) {
  seed = test_random_begin("test_piece_random").state;
  int grids = 0;
  for (number = 0; number < CASES; ++number) {
    if (!draw() || whole.problem.num_axes > 5) {
      continue;
    }
    test_random random = {seed + (uint64_t)number};
    memcpy(wanted, before, sizeof wanted);
    run(&whole.problem, src, wanted + GUARD_BYTES);
    memcpy(got, before, sizeof got);
    grid g;
    draw_grid(&random, &g);
    int64_t begins[RLO_MAX_AXES];
    int64_t ends[RLO_MAX_AXES];
    bool is_more;
    bool is_cut;
    do {
      is_more = next_box(&g, begins, ends);
      is_cut = run_piece(begins, ends);
    } while (is_cut && is_more);
    if (is_cut) {
      expect_whole(-1, 0);
      ++grids;
    }
  }
  ck_assert_int_gt(grids, CASES / 3);
}

/* ---------------------------------------------------------------- footprint */

/* A bit for each bit of a memory that the piece touches. */
static uint8_t touched[ARENA_BYTES];

static int64_t bytes_of(const rlo_problem *problem, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? problem->src_bytes : problem->dst_bytes;
}

/* Traces the piece; returns how many bits it touches. */
static int64_t trace(rlo__problem_side side) {
  static test_problem traced;
  traced.problem = piece;
  traced.indices = whole.indices;
  memset(touched, 0, sizeof touched);
  bool is_src = side == RLO__SIDE_SOURCE;
  int64_t bits = is_src ? piece.unit_bits : rlo_problem_dst_unit_bits(&piece);
  int64_t count = 0;
  test_walk walk = {.of = &traced};
  while (test_walk_next(&walk)) {
    if (!test_walk_holds(&walk, RLO_GUARD_SKIP) ||
        (is_src && !test_walk_holds(&walk, RLO_GUARD_PAD))) {
      continue;
    }
    int64_t first =
        bits * test_walk_value(&walk, is_src ? &traced.problem.src : &traced.problem.dst);
    for (int64_t b = first; b < first + bits; ++b) {
      count += (touched[b / 8] >> b % 8 & 1) == 0;
      touched[b / 8] = (uint8_t)(touched[b / 8] | 1 << b % 8);
    }
  }
  return count;
}

/** Counts of what the cases of a test contain. */
static struct {
  int footprints, exact, with_dims, hulls;
  int byte_counts, exact_byte_counts;
} seen;

/* Checks that the bytes of a piece are those touched, or more, but not more
 * than those of the whole. */
static void expect_bytes(int64_t src_bits, int64_t dst_bits) {
  bool reads_cells = piece.update == RLO_UPDATE_COMBINE && test_accumulates(&piece.arithmetic);
  int64_t written = (dst_bits + 7) / 8;
  int64_t read = (src_bits + 7) / 8 + (reads_cells ? written : 0);
  const int64_t counted[] = {piece.read_bytes, piece.written_bytes};
  const int64_t least[] = {read, written};
  const int64_t most[] = {whole.problem.read_bytes, whole.problem.written_bytes};
  for (int k = 0; k < 2; ++k) {
    EXPECT(counted[k] <= most[k] && (counted[k] >= least[k] || counted[k] == most[k]),
           "%s %" PRId64 " bytes, %" PRId64 " touched, %" PRId64 " by the whole" AGAIN,
           k == 0 ? "reads" : "writes", counted[k], least[k], most[k]);
    ++seen.byte_counts;
    seen.exact_byte_counts += counted[k] == least[k];
  }
}

/* Checks that a lattice is well formed, inside of the memory, and holds each
 * byte that is touched, and if it is exact no other. */
static int64_t expect_lattice(const rlo__lattice *lattice, rlo__problem_side side) {
  int64_t memory = bytes_of(&piece, side);
  int64_t span = lattice->run_bytes;
  for (int32_t d = lattice->num_dims - 1; d >= 0; --d) {
    EXPECT(
        lattice->extents[d] > 1 &&
            (span == lattice->run_bytes ? lattice->strides[d] > span : lattice->strides[d] >= span),
        "dim %d of stride %" PRId64 " in a span of %" PRId64 AGAIN, d, lattice->strides[d], span);
    span += lattice->strides[d] * (lattice->extents[d] - 1);
  }
  EXPECT(lattice->base_byte >= 0 && lattice->base_byte + span <= memory,
         "%" PRId64 " bytes at %" PRId64 " of %" PRId64 AGAIN, span, lattice->base_byte, memory);
  static uint8_t is_held[ARENA_BYTES];
  static uint8_t ones[ARENA_BYTES];
  memset(is_held, 0, sizeof is_held);
  memset(ones, 1, sizeof ones);
  int64_t bytes = test_lattice_scatter(lattice, ones, is_held);
  ck_assert_int_eq(bytes, rlo__lattice_bytes(lattice));
  int64_t bits = trace(side);
  for (int64_t b = 0; b < memory; ++b) {
    EXPECT(touched[b] == 0 || is_held[b], "%s byte %" PRId64 " is touched" AGAIN,
           side == RLO__SIDE_SOURCE ? "source" : "destination", b);
    EXPECT(!lattice->is_exact || !is_held[b] || touched[b] == 0xff,
           "%s byte %" PRId64 " is not touched" AGAIN,
           side == RLO__SIDE_SOURCE ? "source" : "destination", b);
  }
  EXPECT(!lattice->is_exact || bits == 8 * bytes,
         "%" PRId64 " bits touched of %" PRId64 " bytes" AGAIN, bits, bytes);
  ++seen.footprints;
  seen.exact += lattice->is_exact;
  seen.with_dims += lattice->num_dims > 0;
  return bits;
}

/* Moves a side into packed memory; the hull where the lattice is refused. */
static void rebase(rlo__problem_side side, rlo__lattice *lattice) {
  rlo_status status = rlo__problem_rebase(&rebased, side, lattice, &rebased);
  if (status == RLO_UNSUPPORTED && lattice->num_dims > 0) {
    *lattice = rlo__lattice_hull(lattice);
    status = rlo__problem_rebase(&rebased, side, lattice, &rebased);
    ++seen.hulls;
  }
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
}

/* Runs the piece over packed memory of its footprints and of no byte more. */
static void expect_rebased(rlo__lattice *from, rlo__lattice *to) {
  rebased = piece;
  rebase(RLO__SIDE_SOURCE, from);
  rebase(RLO__SIDE_DESTINATION, to);
  if (number % 2 == 0) {
    rlo_status ignored = rlo_problem_canonicalize(&rebased, 0, NULL, NULL);
    (void)ignored;
  }
  static uint8_t packed[ARENA_BYTES];
  test_lattice_gather(from, src, packed);
  void *packed_src = test_exact_copy(packed, (size_t)rlo__lattice_bytes(from));
  test_lattice_gather(to, got + GUARD_BYTES, packed);
  void *packed_dst = test_exact_copy(packed, (size_t)rlo__lattice_bytes(to));
  run(&rebased, packed_src, packed_dst);
  test_lattice_scatter(to, packed_dst, got + GUARD_BYTES);
  free(packed_src);
  free(packed_dst);
}

/* The piece in place and over packed memory: the same bytes. */
static void expect_piece(void) {
  rlo__lattice from;
  rlo__lattice to;
  expect_ok(rlo__problem_footprint(&piece, RLO__SIDE_SOURCE, &from));
  expect_ok(rlo__problem_footprint(&piece, RLO__SIDE_DESTINATION, &to));
  int64_t src_bits = expect_lattice(&from, RLO__SIDE_SOURCE);
  expect_bytes(src_bits, expect_lattice(&to, RLO__SIDE_DESTINATION));
  memcpy(wanted, before, sizeof wanted);
  run(&piece, src, wanted + GUARD_BYTES);
  memcpy(got, before, sizeof got);
  expect_rebased(&from, &to);
  EXPECT(memcmp(got, wanted, sizeof got) == 0,
         "packed memory of %d and %d dims gives other bytes" AGAIN, from.num_dims, to.num_dims);
}

RLO_TEST(test_piece_random__packed_memory_of_the_footprint) {
  seed = test_random_begin("test_piece_random").state;
  memset(&seen, 0, sizeof seen);
  for (number = 0; number < CASES; ++number) {
    if (!draw()) {
      continue;
    }
    test_random random = {seed + (uint64_t)number};
    piece = whole.problem;
    expect_piece();
    for (int n = 0; n < 4; ++n) {
      grid g;
      int64_t begins[RLO_MAX_AXES];
      int64_t ends[RLO_MAX_AXES];
      draw_grid(&random, &g);
      for (int32_t a = 0; a < whole.problem.num_axes; ++a) {
        g.part[a] = (int32_t)test_random_in(&random, 0, 2);
      }
      next_box(&g, begins, ends);
      if (rlo__problem_restrict_box(&whole.problem, begins, ends, &piece) == RLO_OK) {
        expect_piece();
      }
    }
  }
  printf(
      "%d footprints, %d exact, %d with dims, %d packed as hulls; "
      "%d of %d byte counts exact\n",
      seen.footprints, seen.exact, seen.with_dims, seen.hulls, seen.exact_byte_counts,
      seen.byte_counts);
  ck_assert_int_gt(seen.exact, seen.footprints / 2);
  ck_assert_int_gt(seen.with_dims, seen.footprints / 20);
  ck_assert_int_lt(seen.hulls, seen.with_dims / 4);
  ck_assert_int_gt(seen.exact_byte_counts, seen.byte_counts / 2);
}
