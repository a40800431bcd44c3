/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "ir/rewrite.h"
#include "ir/widen.h"
#include "relayout/ops.h"
#include "relayout/problem.h"
#include "support/random_shape.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_problem other;

/* A problem over the axes given, without guards. */
static void make(int32_t unit_bits,
                 int32_t num_axes,
                 const int64_t *extents,
                 const int64_t *src,
                 const int64_t *dst) {
  memset(&problem, 0, sizeof problem);
  problem.unit_bits = unit_bits;
  problem.num_axes = num_axes;
  for (int32_t a = 0; a < num_axes; ++a) {
    problem.extents[a] = extents[a];
    problem.src.axis[a] = src[a];
    problem.dst.axis[a] = dst[a];
  }
  problem.src_bytes = 1 << 20;
  problem.dst_bytes = 1 << 20;
}

static void add_guard(rlo_guard_kind kind,
                      int64_t base,
                      const int64_t *coefficients,
                      int64_t limit) {
  rlo_guard *guard = &problem.guards[problem.num_guards++];
  memset(guard, 0, sizeof *guard);
  guard->kind = kind;
  guard->form.base = base;
  guard->limit = limit;
  for (int32_t a = 0; a < problem.num_axes; ++a) {
    guard->form.axis[a] = coefficients[a];
  }
}

static void canonicalize(int32_t max_unit_bits) {
  ck_assert_msg(
      rlo_problem_canonicalize(&problem, max_unit_bits, NULL, NULL) == RLO_OK,
      "%s",
      rlo_error_last()->message);
}

static void expect_axis(int32_t a, int64_t extent, int64_t src, int64_t dst) {
  ck_assert_int_eq(problem.extents[a], extent);
  ck_assert_int_eq(problem.src.axis[a], src);
  ck_assert_int_eq(problem.dst.axis[a], dst);
}

RLO_TIMEOUT(100);

RLO_TEST(test_canonical__merges_what_is_contiguous_on_both_sides) {
  make(32,
       3,
       (int64_t[]){2, 3, 4},
       (int64_t[]){12, 4, 1},
       (int64_t[]){12, 4, 1});
  canonicalize(0);
  ck_assert_int_eq(problem.num_axes, 1);
  expect_axis(0, 24, 1, 1);
}

RLO_TEST(test_canonical__drops_ones_and_orders_by_destination) {
  make(32,
       4,
       (int64_t[]){7, 1, 5, 1},
       (int64_t[]){5, 9, 1, 3},
       (int64_t[]){1, 2, 7, 8});
  canonicalize(0);
  ck_assert_int_eq(problem.num_axes, 2);
  expect_axis(0, 5, 1, 7);
  expect_axis(1, 7, 5, 1);
}

RLO_TEST(test_canonical__counts_negative_destinations_backwards) {
  make(8, 1, (int64_t[]){5}, (int64_t[]){1}, (int64_t[]){-1});
  problem.dst.base = 4;
  canonicalize(0);
  expect_axis(0, 5, -1, 1);
  ck_assert_int_eq(problem.dst.base, 0);
  ck_assert_int_eq(problem.src.base, 4);
}

RLO_TEST(test_canonical__widens_the_innermost_run) {
  make(8, 2, (int64_t[]){3, 24}, (int64_t[]){24, 1}, (int64_t[]){32, 1});
  canonicalize(128);
  ck_assert_int_eq(problem.unit_bits, 64);
  ck_assert_int_eq(problem.num_axes, 2);
  expect_axis(0, 3, 3, 4);
  expect_axis(1, 3, 1, 1);
}

RLO_TEST(test_canonical__widens_only_as_far_as_allowed) {
  make(8, 1, (int64_t[]){64}, (int64_t[]){1}, (int64_t[]){1});
  canonicalize(32);
  ck_assert_int_eq(problem.unit_bits, 32);
  expect_axis(0, 16, 1, 1);
}

RLO_TEST(test_canonical__does_not_widen_across_an_odd_guard) {
  make(8, 2, (int64_t[]){4, 8}, (int64_t[]){8, 1}, (int64_t[]){8, 1});
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){0, 1}, 5);
  problem.fill[0] = 0xab;
  canonicalize(128);
  ck_assert_int_eq(problem.unit_bits, 8);
  problem.guards[0].limit = 6;
  canonicalize(128);
  ck_assert_int_eq(problem.unit_bits, 16);
  ck_assert_int_eq(problem.guards[0].limit, 3);
  ck_assert_int_eq(problem.fill[1], 0xab);
}

RLO_TEST(test_canonical__packs_four_bit_units_into_bytes) {
  make(4, 2, (int64_t[]){3, 6}, (int64_t[]){6, 1}, (int64_t[]){8, 1});
  canonicalize(128);
  ck_assert_int_eq(problem.unit_bits, 8);
  expect_axis(1, 3, 1, 1);
}

/* A skip guard on one axis is the axis' own business. */
RLO_TEST(test_canonical__absorbs_a_guard_on_one_axis) {
  make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
  add_guard(RLO_GUARD_SKIP, -4, (int64_t[]){2}, 9); /* 2 <= i <= 6 */
  canonicalize(0);
  ck_assert_int_eq(problem.num_guards, 0);
  expect_axis(0, 5, 1, 1);
  ck_assert_int_eq(problem.src.base, 2);
  ck_assert_int_eq(problem.dst.base, 2);
}

RLO_TEST(test_canonical__drops_a_guard_that_always_holds) {
  make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){1}, 10);
  canonicalize(0);
  ck_assert_int_eq(problem.num_guards, 0);
}

RLO_TEST(test_canonical__a_skip_guard_that_never_holds_leaves_nothing) {
  make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
  add_guard(RLO_GUARD_SKIP, 10, (int64_t[]){1}, 10);
  canonicalize(0);
  ck_assert(rlo_problem_is_empty(&problem));
  ck_assert_int_eq(problem.num_axes, 1);
  ck_assert_int_eq(problem.num_guards, 0);
}

RLO_TEST(test_canonical__a_pad_guard_that_never_holds_reads_nothing) {
  make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
  add_guard(RLO_GUARD_PAD, 10, (int64_t[]){1}, 10);
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){1}, 3);
  problem.fill[0] = 7;
  canonicalize(0);
  ck_assert_int_eq(problem.num_guards, 1);
  ck_assert_int_eq(problem.guards[0].limit, 0);
  expect_axis(0, 10, 0, 1);
  ck_assert_int_eq(problem.fill[0], 7);
}

/* i and 8*i/8 tell the same cells apart; the weaker guard goes. */
RLO_TEST(test_canonical__drops_an_implied_guard) {
  make(8, 2, (int64_t[]){4, 8}, (int64_t[]){8, 1}, (int64_t[]){8, 1});
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){8, 1}, 20);
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){1, 0}, 3);
  canonicalize(0);
  ck_assert_int_eq(problem.num_guards, 1);
  ck_assert_int_eq(problem.guards[0].limit, 20);
}

/* Whether it moves what it did before. */
static void expect_same_map(void) {
  static uint8_t bytes[4096];
  static uint8_t before[4096];
  static uint8_t after[4096];
  for (size_t b = 0; b < sizeof bytes; ++b) {
    bytes[b] = (uint8_t)(b * 37 + b / 256);
  }
  problem.src_bytes = problem.dst_bytes = sizeof bytes;
  memset(before, 0xee, sizeof before);
  memset(after, 0xee, sizeof after);
  ck_assert_int_eq(rlo_problem_run_host(&problem, bytes, before), RLO_OK);
  canonicalize(128);
  ck_assert_int_eq(rlo_problem_run_host(&problem, bytes, after), RLO_OK);
  ck_assert(memcmp(before, after, sizeof before) == 0);
}

/* The guards a < 3 and a >= 4: what fails the first one may pass the second. */
RLO_TEST(test_canonical__guards_of_opposite_directions_imply_nothing) {
  make(32, 2, (int64_t[]){5, 11}, (int64_t[]){11, 1}, (int64_t[]){1, 5});
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){0, 1}, 3);
  add_guard(RLO_GUARD_PAD, 10, (int64_t[]){0, -1}, 7);
  expect_same_map();
}

/* 0 <= 4b - a - 1 < 6: both sides bound, and the base is odd and negative. */
RLO_TEST(test_canonical__widens_below_a_guard_that_counts_downwards) {
  make(32, 2, (int64_t[]){4, 8}, (int64_t[]){8, 1}, (int64_t[]){8, 1});
  add_guard(RLO_GUARD_PAD, -1, (int64_t[]){4, -1}, 6);
  expect_same_map();
  ck_assert_int_eq(problem.unit_bits, 64);
}

/* A SKIP guard of one side or of both leaves points of its axis. */
RLO_TEST(test_canonical__absorbs_what_a_guard_leaves) {
  for (int64_t base = -9; base <= 9; ++base) {
    for (int64_t limit = 1; limit <= 9; ++limit) {
      for (int64_t step = -2; step <= 2; ++step) {
        make(32, 2, (int64_t[]){3, 6}, (int64_t[]){6, 1}, (int64_t[]){1, 3});
        problem.src.base = problem.dst.base = 20;
        add_guard(RLO_GUARD_SKIP, base, (int64_t[]){0, step}, limit);
        expect_same_map();
      }
    }
  }
}

RLO_TEST(test_canonical__refuses_two_points_on_one_cell) {
  make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){0});
  other = problem;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  ck_assert(rlo_problem_equal(&problem, &other));
}

RLO_TEST(test_canonical__refuses_what_is_no_problem) {
  make(129, 0, NULL, NULL, NULL);
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){-1}, (int64_t[]){1}, (int64_t[]){1});
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){1}, (int64_t[]){1}, (int64_t[]){1});
  problem.num_axes = RLO_MAX_AXES + 1;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){1}, (int64_t[]){1}, (int64_t[]){1});
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 129, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  problem.num_terms = 1;
  problem.terms[0].divisor = 0;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_canonical__takes_as_many_as_there_may_be) {
  int64_t extents[RLO_MAX_AXES];
  int64_t strides[RLO_MAX_AXES];
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    extents[a] = a == 0 ? 10 : 1;
    strides[a] = 1;
  }
  make(128, RLO_MAX_AXES, extents, strides, strides);
  problem.num_terms = RLO_MAX_TERMS;
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    problem.terms[t].divisor = 1;
  }
  for (int32_t g = 0; g < RLO_MAX_GUARDS; ++g) {
    add_guard(RLO_GUARD_SKIP, 0, strides, 100);
  }
  canonicalize(128);
  ck_assert_int_eq(problem.num_axes, 1);
  ck_assert_int_eq(problem.num_terms, 0);
  ck_assert_int_eq(problem.num_guards, 0);
  expect_axis(0, 10, 1, 1);
}

RLO_TEST(test_canonical__refuses_guards_whose_sums_might_wrap) {
  const int64_t max = INT64_MAX / 4;
  const int64_t bounds[][2] = {
      {-max - 1, 1}, {max + 1, 1}, {0, -max - 1}, {0, max + 1}};
  for (size_t n = 0; n < sizeof bounds / sizeof bounds[0]; ++n) {
    make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
    add_guard(RLO_GUARD_PAD, bounds[n][0], (int64_t[]){1}, bounds[n][1]);
    ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL),
                     RLO_OVERFLOW);
    ck_assert_ptr_nonnull(
        strstr(rlo_error_last()->message, "guard 0 has base"));
    problem.guards[0].form.base /= 2;
    problem.guards[0].limit /= 2;
    canonicalize(0);
  }
}

static void count_step(void *payload,
                       const char *step,
                       const rlo_problem *after) {
  ck_assert(step[0] != '\0');
  ck_assert_ptr_nonnull(after);
  ++*(int *)payload;
}

RLO_TEST(test_canonical__tells_each_step) {
  make(32, 2, (int64_t[]){7, 1}, (int64_t[]){1, 9}, (int64_t[]){-1, 2});
  problem.dst.base = 6;
  int steps = 0;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, count_step, &steps),
                   RLO_OK);
  ck_assert_int_eq(steps, 2); /* backwards, drop */
  steps = 0;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, count_step, &steps),
                   RLO_OK);
  ck_assert_int_eq(steps, 0);
}

/* From here on: random relayouts between random layouts. */

enum { MAX_CASES = 4000, ARENA_BYTES = 1 << 18 };

static uint8_t src_memory[ARENA_BYTES];
static uint8_t before_memory[ARENA_BYTES];
static uint8_t after_memory[ARENA_BYTES];

/* The case by number alone, so that a failure names what to run again. */
static bool draw(uint64_t seed, int number, rlo_problem *out) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_U8,
                                     RLO_DTYPE_U16,
                                     RLO_DTYPE_U32,
                                     RLO_DTYPE_F64,
                                     RLO_DTYPE_C128};
  test_random random = {seed + (uint64_t)number * 7919};
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape src;
  rlo_shape dst;
  test_random_pair(&random,
                   dtypes[test_random_in(&random, 0, 4)],
                   (int32_t)test_random_in(&random, 0, 6),
                   400,
                   &src,
                   &dst,
                   permutation);
  ck_assert_msg(rlo_relayout_lower(&src, &dst, permutation, out) == RLO_OK,
                "case %d: %s",
                number,
                rlo_error_last()->message);
  return out->src_bytes <= ARENA_BYTES && out->dst_bytes <= ARENA_BYTES;
}

static uint64_t seed_of(const char *name) {
  return test_random_begin(name).state;
}

static void run(const rlo_problem *p, uint8_t *dst) {
  memset(dst, 0xee, ARENA_BYTES);
  ck_assert_msg(rlo_problem_run_host(p, src_memory, dst) == RLO_OK,
                "%s",
                rlo_error_last()->message);
}

RLO_TEST(test_canonical__keeps_the_element_map) {
  uint64_t seed = seed_of("test_canonical__keeps_the_element_map");
  for (size_t b = 0; b < ARENA_BYTES; ++b) {
    src_memory[b] = (uint8_t)((b * 2654435761u) >> 13);
  }
  int compared = 0;
  for (int n = 0; n < MAX_CASES; ++n) {
    if (!draw(seed, n, &problem)) {
      continue;
    }
    static const int32_t widths[] = {0, 16, 128};
    run(&problem, before_memory);
    canonicalize(widths[n % 3]);
    run(&problem, after_memory);
    ck_assert_msg(memcmp(before_memory, after_memory, ARENA_BYTES) == 0,
                  "case %d moves other bytes when canonical",
                  n);
    ++compared;
  }
  ck_assert_int_gt(compared, MAX_CASES / 2);
}

RLO_TEST(test_canonical__is_idempotent) {
  uint64_t seed = seed_of("test_canonical__is_idempotent");
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    int32_t width = n % 2 == 0 ? 0 : 128;
    canonicalize(width);
    other = problem;
    int steps = 0;
    ck_assert_int_eq(
        rlo_problem_canonicalize(&problem, width, count_step, &steps), RLO_OK);
    ck_assert_msg(steps == 0 && rlo_problem_equal(&problem, &other),
                  "case %d changes when canonicalised again",
                  n);
  }
}

RLO_TEST(test_canonical__does_not_depend_on_the_listing_of_axes) {
  uint64_t seed = seed_of("test_canonical__does_not_depend_on_the_listing");
  test_random random = {seed};
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    other = problem;
    int32_t order[RLO_MAX_AXES];
    test_random_permutation(&random, problem.num_axes, order);
    rlo__rewrite_permute_axes(&problem, order);
    canonicalize(128);
    ck_assert_int_eq(rlo_problem_canonicalize(&other, 128, NULL, NULL), RLO_OK);
    if (!rlo_problem_equal(&problem, &other)) {
      char text[4096];
      rlo_problem_format(&problem, text, sizeof text);
      printf("%s", text);
      rlo_problem_format(&other, text, sizeof text);
      printf("%s", text);
      ck_abort_msg("case %d has two canonical forms", n);
    }
    ck_assert_uint_eq(rlo_problem_hash(&problem), rlo_problem_hash(&other));
  }
}

/*
 * A problem as no relayout makes it: guards of either kind with bounds on both
 * sides, coefficients of either sign and odd bases, a quotient, a source that
 * runs backwards. Its destination gives each point a cell of its own.
 */
static void draw_raw(test_random *random, rlo_problem *out) {
  memset(out, 0, sizeof *out);
  out->unit_bits = 8;
  out->num_axes = (int32_t)test_random_in(random, 1, 4);
  int64_t stride = 1;
  int64_t lowest = 0;
  for (int32_t a = out->num_axes - 1; a >= 0; --a) {
    out->extents[a] = test_random_in(random, 1, 8);
    out->dst.axis[a] = stride;
    if (test_random_once_in(random, 4)) {
      out->dst.axis[a] = -stride;
      out->dst.base += stride * (out->extents[a] - 1);
    }
    out->src.axis[a] =
        test_random_once_in(random, 3) ? test_random_in(random, -8, 8) : stride;
    if (out->src.axis[a] < 0) {
      lowest += out->src.axis[a] * (out->extents[a] - 1);
    }
    stride *= out->extents[a] + test_random_in(random, 0, 1);
  }
  out->num_guards = (int32_t)test_random_in(random, 0, 3);
  for (int32_t g = 0; g < out->num_guards; ++g) {
    rlo_guard *guard = &out->guards[g];
    guard->kind =
        test_random_once_in(random, 2) ? RLO_GUARD_PAD : RLO_GUARD_SKIP;
    guard->form.base = test_random_in(random, -9, 9);
    guard->limit = test_random_in(random, 1, 24);
    for (int32_t a = 0; a < out->num_axes; ++a) {
      guard->form.axis[a] =
          test_random_once_in(random, 2) ? test_random_in(random, -3, 3) : 0;
    }
  }
  if (test_random_once_in(random, 3)) {
    out->num_terms = 1;
    out->terms[0].divisor = test_random_in(random, 1, 6);
    out->terms[0].form.base = test_random_in(random, 0, 5);
    for (int32_t a = 0; a < out->num_axes; ++a) {
      out->terms[0].form.axis[a] = test_random_in(random, 0, 6);
    }
    out->src.term[0] = test_random_in(random, 0, 3);
  }
  out->src.base = -lowest;
  out->fill[0] = 0x5a;
  out->src_bytes = ARENA_BYTES;
  out->dst_bytes = ARENA_BYTES;
}

RLO_TEST(test_canonical__keeps_the_map_of_any_problem) {
  test_random random =
      test_random_begin("test_canonical__keeps_the_map_of_any_problem");
  for (size_t b = 0; b < ARENA_BYTES; ++b) {
    src_memory[b] = (uint8_t)((b * 2654435761u) >> 13);
  }
  for (int n = 0; n < 20000; ++n) {
    draw_raw(&random, &problem);
    /* Only what a raw problem of this size can reach. */
    problem.src_bytes = problem.dst_bytes = 8192;
    memset(before_memory, 0xee, 8192);
    memset(after_memory, 0xee, 8192);
    ck_assert_int_eq(rlo_problem_run_host(&problem, src_memory, before_memory),
                     RLO_OK);
    other = problem;
    canonicalize(n % 2 == 0 ? 0 : 128);
    ck_assert_msg(
        rlo_problem_run_host(&problem, src_memory, after_memory) == RLO_OK &&
            memcmp(before_memory, after_memory, 8192) == 0,
        "case %d moves other bytes when canonical",
        n);
    int steps = 0;
    ck_assert_int_eq(rlo_problem_canonicalize(
                         &problem, n % 2 == 0 ? 0 : 128, count_step, &steps),
                     RLO_OK);
    ck_assert_msg(steps == 0, "case %d changes when canonicalised again", n);
  }
}

/* Units in parts move what units do, whatever their positions consist of. */
RLO_TEST(test_canonical__narrow_units_keep_the_map_of_any_problem) {
  test_random random =
      test_random_begin("test_canonical__narrow_units_keep_the_map");
  for (size_t b = 0; b < ARENA_BYTES; ++b) {
    src_memory[b] = (uint8_t)((b * 2654435761u) >> 13);
  }

  enum { MEMORY_BYTES = 4 * 8192 };

  for (int n = 0; n < 2000; ++n) {
    draw_raw(&random, &problem);
    problem.src_bytes = problem.dst_bytes = MEMORY_BYTES;
    problem.unit_bits = n % 2 == 0 ? 32 : 16;
    int32_t bits = n % 3 == 0 ? 16 : 8;
    for (int32_t b = 0; b < problem.unit_bits / 8; ++b) {
      problem.fill[b] = (uint8_t)(0xa5 + b % (bits / 8));
    }
    memset(before_memory, 0xee, MEMORY_BYTES);
    memset(after_memory, 0xee, MEMORY_BYTES);
    ck_assert_int_eq(rlo_problem_run_host(&problem, src_memory, before_memory),
                     RLO_OK);
    ck_assert(rlo__fill_repeats(&problem, bits));
    ck_assert(bits == 8 || !rlo__fill_repeats(&problem, 8));
    ck_assert_int_eq(rlo__narrow(&problem, bits), RLO_OK);
    ck_assert_int_eq(problem.unit_bits, bits);
    ck_assert_msg(
        rlo_problem_run_host(&problem, src_memory, after_memory) == RLO_OK &&
            memcmp(before_memory, after_memory, MEMORY_BYTES) == 0,
        "case %d moves other bytes in parts of %d bits",
        n,
        bits);
  }
}

/* A term that a guard alone used goes with the guard. */
RLO_TEST(test_canonical__drops_the_terms_of_guards_that_go) {
  for (int32_t others = 0; others <= 2; ++others) {
    make(8, 2, (int64_t[]){4, 8}, (int64_t[]){8, 1}, (int64_t[]){8, 1});
    problem.num_terms = 1;
    problem.terms[0].divisor = 3;
    problem.terms[0].form.axis[1] = 2;
    for (int32_t g = 0; g < others; ++g) {
      add_guard(RLO_GUARD_PAD, g, (int64_t[]){2 - g, 1}, 7);
    }
    add_guard(RLO_GUARD_PAD, 0, (int64_t[]){0, 0}, 100);
    problem.guards[others].form.term[0] = 1;
    canonicalize(0);
    ck_assert_int_eq(problem.num_guards, others);
    ck_assert_int_eq(problem.num_terms, 0);
  }
}

/* What is behind a full list of guards or terms stays when one of them goes. */
RLO_TEST(test_canonical__keeps_what_lies_behind_full_lists) {
  make(8, 2, (int64_t[]){50, 50}, (int64_t[]){50, 1}, (int64_t[]){50, 1});
  for (int32_t g = 0; g < RLO_MAX_GUARDS; ++g) {
    add_guard(RLO_GUARD_PAD, 0, (int64_t[]){1, 1}, g + 1);
  }
  memset(problem.fill, 0x5a, sizeof problem.fill);
  problem.written_bytes = 77;
  for (int32_t g = RLO_MAX_GUARDS - 1; g >= 0; --g) {
    rlo__rewrite_remove_guard(&problem, g / 2);
    ck_assert_int_eq(problem.num_guards, g);
    ck_assert_int_eq(problem.fill[0], 0x5a);
    ck_assert_int_eq(problem.fill[15], 0x5a);
    ck_assert_int_eq(problem.src_bytes, 1 << 20);
    ck_assert_int_eq(problem.written_bytes, 77);
  }
}

/* Two axes of one destination stride, which only guards tell apart: the order
 * of the axes must not follow from the order of the guards, which follows from
 * that of the axes. */
RLO_TEST(test_canonical__orders_axes_that_guards_tell_apart) {
  make(8, 2, (int64_t[]){7, 2}, (int64_t[]){0, 0}, (int64_t[]){2, 1});
  problem.num_terms = 2;
  for (int32_t t = 0; t < 2; ++t) {
    problem.terms[t].divisor = 2;
    problem.terms[t].form.base = 1;
    problem.terms[t].form.axis[1 - t] = 1;
  }
  problem.src.term[1] = 1;
  add_guard(RLO_GUARD_PAD, 1, (int64_t[]){0, 1}, 1);
  problem.guards[0].form.term[0] = -2;
  add_guard(RLO_GUARD_PAD, 0, (int64_t[]){0, 0}, 1);
  problem.guards[1].form.term[0] = 1;
  add_guard(RLO_GUARD_PAD, 1, (int64_t[]){1, 0}, 1);
  problem.guards[2].form.term[1] = -2;
  canonicalize(128);
  other = problem;
  rlo__rewrite_permute_axes(&problem, (int32_t[]){3, 2, 1, 0});
  canonicalize(128);
  ck_assert(rlo_problem_equal(&problem, &other));
}

/* Guards that differ in their terms alone are in one order too. */
RLO_TEST(test_canonical__orders_guards_that_terms_tell_apart) {
  rlo_problem forms[2];
  for (int32_t turn = 0; turn < 2; ++turn) {
    make(8, 2, (int64_t[]){10, 8}, (int64_t[]){8, 1}, (int64_t[]){8, 1});
    problem.num_terms = 1;
    problem.terms[0].divisor = 3;
    problem.terms[0].form.axis[1] = 2;
    for (int32_t g = 0; g < 2; ++g) {
      add_guard(RLO_GUARD_PAD, -1, (int64_t[]){1, 0}, 5);
      problem.guards[g].form.term[0] = g == turn ? 1 : -1;
    }
    canonicalize(0);
    ck_assert_int_eq(problem.num_guards, 2);
    ck_assert_int_eq(problem.num_terms, 1);
    forms[turn] = problem;
  }
  ck_assert(rlo_problem_equal(&forms[0], &forms[1]));
}

/* Splitting an axis is undone by merging it. */
RLO_TEST(test_canonical__does_not_depend_on_splits) {
  uint64_t seed = seed_of("test_canonical__does_not_depend_on_splits");
  test_random random = {seed};
  int split = 0;
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    canonicalize(0);
    other = problem;
    for (int32_t a = 0; a < problem.num_axes; ++a) {
      int64_t radix = test_random_in(&random, 2, 4);
      if (problem.num_terms == 0 && problem.extents[a] % radix == 0 &&
          problem.extents[a] > radix) {
        ck_assert_int_eq(rlo__rewrite_split(&problem, a, radix), RLO_OK);
        ++split;
        break;
      }
    }
    canonicalize(0);
    ck_assert_msg(rlo_problem_equal(&problem, &other),
                  "case %d keeps a needless split",
                  n);
  }
  ck_assert_int_gt(split, 100);
}
