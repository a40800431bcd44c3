/* SPDX-License-Identifier: Apache-2.0 */

/* Canonical forms of random relayouts between random layouts, and of random
 * problems. */
#include <stdio.h>
#include <string.h>

#include "ir/rewrite.h"
#include "relayout/ops.h"
#include "relayout/problem.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/suite.h"

enum { MAX_CASES = 4000, ARENA_BYTES = 1 << 18 };

RLO_TIMEOUT(100);

static rlo_problem problem;
static rlo_problem other;
static uint8_t src_memory[ARENA_BYTES];
static uint8_t before_memory[ARENA_BYTES];
static uint8_t after_memory[ARENA_BYTES];

/* The case by number alone, so that a failure names what to run again. */
static bool draw(uint64_t seed, int number, rlo_problem *out) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_U8, RLO_DTYPE_U16, RLO_DTYPE_U32, RLO_DTYPE_F64,
                                     RLO_DTYPE_C128};
  test_random random = {seed + (uint64_t)number * 7919};
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape src;
  rlo_shape dst;
  test_random_pair(&random, dtypes[test_random_in(&random, 0, 4)],
                   (int32_t)test_random_in(&random, 0, 6), 400, &src, &dst, permutation);
  ck_assert_msg(rlo_relayout_lower(&src, &dst, permutation, out) == RLO_OK, "case %d: %s", number,
                rlo_error_last()->message);
  return out->src_bytes <= ARENA_BYTES && out->dst_bytes <= ARENA_BYTES;
}

static uint64_t seed_of(const char *name) {
  return test_random_begin(name).state;
}

static void canonicalize(int32_t max_unit_bits) {
  expect_ok(rlo_problem_canonicalize(&problem, max_unit_bits, NULL, NULL));
}

static void count_step(void *payload, const char *step, const rlo_problem *after) {
  (void)step;
  (void)after;
  ++*(int *)payload;
}

/* True if no step changes it any more. */
static bool is_canonical(int32_t max_unit_bits) {
  int steps = 0;
  return rlo_problem_canonicalize(&problem, max_unit_bits, count_step, &steps) == RLO_OK &&
         steps == 0;
}

static void fill_source(void) {
  for (size_t b = 0; b < ARENA_BYTES; ++b) {
    src_memory[b] = (uint8_t)((b * 2654435761u) >> 13);
  }
}

/* Into a destination of so many bytes. */
static void run(const rlo_problem *p, uint8_t *dst, size_t bytes) {
  memset(dst, 0xee, bytes);
  expect_ok(rlo_problem_run_host(p, src_memory, dst));
}

RLO_TEST(test_canonical_random__keeps_the_element_map) {
  uint64_t seed = seed_of("test_canonical_random__keeps_the_element_map");
  fill_source();
  int compared = 0;
  for (int n = 0; n < MAX_CASES; ++n) {
    if (!draw(seed, n, &problem)) {
      continue;
    }
    static const int32_t widths[] = {0, 16, 128};
    run(&problem, before_memory, ARENA_BYTES);
    canonicalize(widths[n % 3]);
    run(&problem, after_memory, ARENA_BYTES);
    ck_assert_msg(memcmp(before_memory, after_memory, ARENA_BYTES) == 0,
                  "case %d moves other bytes when canonical", n);
    ++compared;
  }
  ck_assert_int_gt(compared, MAX_CASES / 2);
}

RLO_TEST(test_canonical_random__is_idempotent) {
  uint64_t seed = seed_of("test_canonical_random__is_idempotent");
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    int32_t width = n % 2 == 0 ? 0 : 128;
    canonicalize(width);
    other = problem;
    ck_assert_msg(is_canonical(width) && rlo_problem_equal(&problem, &other),
                  "case %d changes when canonicalised again", n);
  }
}

RLO_TEST(test_canonical_random__does_not_depend_on_the_listing_of_axes) {
  uint64_t seed = seed_of("test_canonical_random__does_not_depend_on_the_listing");
  test_random random = {seed};
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    other = problem;
    int32_t order[RLO_MAX_AXES];
    test_random_permutation(&random, problem.num_axes, order);
    rlo__rewrite_permute_axes(&problem, order);
    canonicalize(128);
    expect_ok(rlo_problem_canonicalize(&other, 128, NULL, NULL));
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
    out->src.axis[a] = test_random_once_in(random, 3) ? test_random_in(random, -8, 8) : stride;
    if (out->src.axis[a] < 0) {
      lowest += out->src.axis[a] * (out->extents[a] - 1);
    }
    stride *= out->extents[a] + test_random_in(random, 0, 1);
  }
  out->num_guards = (int32_t)test_random_in(random, 0, 3);
  for (int32_t g = 0; g < out->num_guards; ++g) {
    rlo_guard *guard = &out->guards[g];
    guard->kind = test_random_once_in(random, 2) ? RLO_GUARD_PAD : RLO_GUARD_SKIP;
    guard->form.base = test_random_in(random, -9, 9);
    guard->limit = test_random_in(random, 1, 24);
    for (int32_t a = 0; a < out->num_axes; ++a) {
      guard->form.axis[a] = test_random_once_in(random, 2) ? test_random_in(random, -3, 3) : 0;
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
}

RLO_TEST(test_canonical_random__keeps_the_map_of_any_problem) {
  test_random random = test_random_begin("test_canonical_random__keeps_the_map_of_any_problem");
  fill_source();

  /* All that a raw problem can reach. */
  enum { MEMORY_BYTES = 8192 };

  for (int n = 0; n < 20000; ++n) {
    draw_raw(&random, &problem);
    problem.src_bytes = problem.dst_bytes = MEMORY_BYTES;
    const int32_t width = n % 2 == 0 ? 0 : 128;
    run(&problem, before_memory, MEMORY_BYTES);
    canonicalize(width);
    run(&problem, after_memory, MEMORY_BYTES);
    ck_assert_msg(memcmp(before_memory, after_memory, MEMORY_BYTES) == 0,
                  "case %d moves other bytes when canonical", n);
    ck_assert_msg(is_canonical(width), "case %d changes when canonicalised again", n);
  }
}

/* Units in parts move what units do, whatever their positions consist of. */
RLO_TEST(test_canonical_random__narrow_units_keep_the_map_of_any_problem) {
  test_random random = test_random_begin("test_canonical_random__narrow_units_keep_the_map");
  fill_source();

  enum { MEMORY_BYTES = 4 * 8192 };

  for (int n = 0; n < 2000; ++n) {
    draw_raw(&random, &problem);
    problem.src_bytes = problem.dst_bytes = MEMORY_BYTES;
    problem.unit_bits = n % 2 == 0 ? 32 : 16;
    int32_t bits = n % 3 == 0 ? 16 : 8;
    for (int32_t b = 0; b < problem.unit_bits / 8; ++b) {
      problem.fill[b] = (uint8_t)(0xa5 + b % (bits / 8));
    }
    run(&problem, before_memory, MEMORY_BYTES);
    ck_assert(rlo__fill_repeats(&problem, bits));
    ck_assert(bits == 8 || !rlo__fill_repeats(&problem, 8));
    expect_ok(rlo__narrow(&problem, bits));
    ck_assert_int_eq(problem.unit_bits, bits);
    run(&problem, after_memory, MEMORY_BYTES);
    ck_assert_msg(memcmp(before_memory, after_memory, MEMORY_BYTES) == 0,
                  "case %d moves other bytes in parts of %d bits", n, bits);
  }
}

/* Splitting an axis is undone by merging it. */
RLO_TEST(test_canonical_random__does_not_depend_on_splits) {
  uint64_t seed = seed_of("test_canonical_random__does_not_depend_on_splits");
  test_random random = {seed};
  int split = 0;
  for (int n = 0; n < MAX_CASES; ++n) {
    draw(seed, n, &problem);
    canonicalize(0);
    other = problem;
    for (int32_t a = 0; a < problem.num_axes; ++a) {
      int64_t radix = test_random_in(&random, 2, 4);
      if (problem.num_terms == 0 && problem.extents[a] % radix == 0 && problem.extents[a] > radix) {
        expect_ok(rlo__rewrite_split(&problem, a, radix));
        ++split;
        break;
      }
    }
    canonicalize(0);
    ck_assert_msg(rlo_problem_equal(&problem, &other), "case %d keeps a needless split", n);
  }
  ck_assert_int_gt(split, 100);
}
