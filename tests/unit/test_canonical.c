/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ir/rewrite.h"
#include "relayout/problem.h"
#include "support/expect.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_problem other;

/* A problem over the axes given, without guards. */
static void make(int32_t unit_bits, int32_t num_axes, const int64_t *extents, const int64_t *src,
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

static void add_guard(rlo_guard_kind kind, int64_t base, const int64_t *coefficients,
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
  expect_ok(rlo_problem_canonicalize(&problem, max_unit_bits, NULL, NULL));
}

static void expect_axis(int32_t a, int64_t extent, int64_t src, int64_t dst) {
  ck_assert_int_eq(problem.extents[a], extent);
  ck_assert_int_eq(problem.src.axis[a], src);
  ck_assert_int_eq(problem.dst.axis[a], dst);
}

RLO_TIMEOUT(100);

RLO_TEST(test_canonical__merges_what_is_contiguous_on_both_sides) {
  make(32, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1}, (int64_t[]){12, 4, 1});
  canonicalize(0);
  ck_assert_int_eq(problem.num_axes, 1);
  expect_axis(0, 24, 1, 1);
}

RLO_TEST(test_canonical__drops_ones_and_orders_by_destination) {
  make(32, 4, (int64_t[]){7, 1, 5, 1}, (int64_t[]){5, 9, 1, 3}, (int64_t[]){1, 2, 7, 8});
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

/* True if it moves what it did before. */
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
  expect_ok(rlo_problem_run_host(&problem, bytes, before));
  canonicalize(128);
  expect_ok(rlo_problem_run_host(&problem, bytes, after));
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
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
  ck_assert(rlo_problem_equal(&problem, &other));
}

RLO_TEST(test_canonical__refuses_what_is_no_problem) {
  make(129, 0, NULL, NULL, NULL);
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){-1}, (int64_t[]){1}, (int64_t[]){1});
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){1}, (int64_t[]){1}, (int64_t[]){1});
  problem.num_axes = RLO_MAX_AXES + 1;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
  make(8, 1, (int64_t[]){1}, (int64_t[]){1}, (int64_t[]){1});
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 129, NULL, NULL), RLO_INVALID_ARGUMENT);
  problem.num_terms = 1;
  problem.terms[0].divisor = 0;
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
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
  const int64_t bounds[][2] = {{-max - 1, 1}, {max + 1, 1}, {0, -max - 1}, {0, max + 1}};
  for (size_t n = 0; n < sizeof bounds / sizeof bounds[0]; ++n) {
    make(8, 1, (int64_t[]){10}, (int64_t[]){1}, (int64_t[]){1});
    add_guard(RLO_GUARD_PAD, bounds[n][0], (int64_t[]){1}, bounds[n][1]);
    expect_refusal_with(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_OVERFLOW,
                        "guard 0 has base");
    problem.guards[0].form.base /= 2;
    problem.guards[0].limit /= 2;
    canonicalize(0);
  }
}

static void count_step(void *payload, const char *step, const rlo_problem *after) {
  ck_assert(step[0] != '\0');
  ck_assert_ptr_nonnull(after);
  ++*(int *)payload;
}

RLO_TEST(test_canonical__tells_each_step) {
  make(32, 2, (int64_t[]){7, 1}, (int64_t[]){1, 9}, (int64_t[]){-1, 2});
  problem.dst.base = 6;
  int steps = 0;
  expect_ok(rlo_problem_canonicalize(&problem, 0, count_step, &steps));
  ck_assert_int_eq(steps, 2); /* backwards, drop */
  steps = 0;
  expect_ok(rlo_problem_canonicalize(&problem, 0, count_step, &steps));
  ck_assert_int_eq(steps, 0);
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

RLO_TEST(test_canonical__takes_no_notice_of_what_is_not_counted) {
  for (int32_t form = 0; form < 4; ++form) {
    for (int32_t is_late = 0; is_late < 4; ++is_late) {
      make(8, 2, (int64_t[]){4, 8}, (int64_t[]){1, 4}, (int64_t[]){8, 1});
      problem.num_terms = 1;
      problem.terms[0].divisor = 3;
      problem.terms[0].form.axis[1] = 2;
      problem.src.term[0] = 1;
      add_guard(RLO_GUARD_PAD, 0, (int64_t[]){2, 1}, 7);
      other = problem;
      rlo_form *forms[] = {&other.src, &other.dst, &other.terms[0].form, &other.guards[0].form};
      if (is_late % 2 == 0) {
        forms[form]->axis[is_late == 0 ? 2 : RLO_MAX_AXES - 1] = 5;
      } else {
        forms[form]->term[is_late == 1 ? 1 : RLO_MAX_TERMS - 1] = 5;
      }
      canonicalize(0);
      expect_ok(rlo_problem_canonicalize(&other, 0, NULL, NULL));
      ck_assert(rlo_problem_equal(&problem, &other));
    }
  }
}

RLO_TEST(test_canonical__parts_of_units_have_their_bits_of_the_fill_only) {
  static const uint8_t none[sizeof problem.fill];
  static const int32_t bits[] = {1, 4, 8, 16, 32};
  for (size_t n = 0; n < sizeof bits / sizeof bits[0]; ++n) {
    make(64, 1, (int64_t[]){4}, (int64_t[]){2}, (int64_t[]){1});
    add_guard(RLO_GUARD_PAD, 0, (int64_t[]){1}, 3);
    memset(problem.fill, 0xff, 8);
    ck_assert(rlo__fill_repeats(&problem, bits[n]));
    expect_ok(rlo__narrow(&problem, bits[n]));
    const int32_t bytes = bits[n] < 8 ? 1 : bits[n] / 8;
    for (int32_t b = 0; b < bytes; ++b) {
      ck_assert_int_eq(problem.fill[b], bits[n] < 8 ? (1 << bits[n]) - 1 : 255);
    }
    ck_assert_mem_eq(problem.fill + bytes, none, sizeof none - (size_t)bytes);
  }
}

/* Removing an entry of a full list of guards or terms keeps the fields behind
 * the list. */
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
