/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_table.h"
#include "support/expect.h"
#include "support/random.h"

/*
 * The CPU's tile family where it stores past the caches: transposes of some
 * megabytes, which the suites that try every family are too many for.
 */

enum { MAX_RANK = 6, TEXT_BYTES = 512 };

/** A transposition in row-major order on both sides. */
typedef struct move {
  int32_t rank;
  int64_t dims[MAX_RANK];
  int32_t permutation[MAX_RANK];
} move;

static void parse(const char *dtype, const move *m, const int32_t *permutation,
                  rlo_shape *out_shape) {
  char text[TEXT_BYTES];
  size_t length = (size_t)snprintf(text, sizeof text, "%s[", dtype);
  for (int32_t k = 0; k < m->rank; ++k) {
    int64_t dim = m->dims[permutation == NULL ? k : permutation[k]];
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld", k == 0 ? "" : ",",
                               (long long)dim);
  }
  length += (size_t)snprintf(text + length, sizeof text - length, "]");
  expect_ok(rlo_shape_parse(text, length, out_shape));
}

/* The plan that memory shifted like this gets, in words. */
static void expect_words(const test_case *c, const char *words) {
  static rlo_problem problem;
  expect_ok(rlo_relayout_lower(c->src, c->dst, c->permutation, &problem));
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->family;
  options.device_class = c->device_class;
  int64_t shift_bytes = c->dst_shift_bytes | 128;
  rlo_plan_report *report = NULL;
  expect_ok(rlo_plan_explain(&problem, rlo_context_device_info(device.context), &options, 128,
                             shift_bytes & -shift_bytes, &report));
  ck_assert_msg(strstr(report->parameters, words) != NULL, "\"%s\" does not say \"%s\"",
                report->parameters, words);
  rlo_plan_report_release(report);
}

/* Run a move; `words`, if not NULL, is what its plan has to say, where stores
 * may go past the caches. */
static test_outcome run(const move *m, int32_t width, int64_t src_shift_elems,
                        int64_t dst_shift_elems, const char *words) {
  rlo_shape src;
  rlo_shape dst;
  parse(test_dtypes[width], m, NULL, &src);
  parse(test_dtypes[width], m, m->permutation, &dst);
  test_case c = {.src = &src,
                 .dst = &dst,
                 .permutation = m->permutation,
                 .family = "tile",
                 .device_class = RLO_DEVICE_CLASS_CPU,
                 .src_shift_bytes = src_shift_elems << width,
                 .dst_shift_bytes = dst_shift_elems << width};
  if (words != NULL && rlo_context_device_info(device.context)->has_nontemporal_store) {
    expect_words(&c, words);
  }
  return test_device_run(&device, &c, NULL);
}

/** A move and the words that its plan must contain, so that it tests what it is
 *  for. It runs in every width from least_width to most_width. */
typedef struct named_move {
  move move;
  int64_t dst_shift_elems;
  int32_t least_width, most_width;
  const char *parameters;
} named_move;

// clang-format off
static const named_move named_moves[] = {
    /* Lines are whole: no window. */
    {{2, {1088, 2112}, {1, 0}}, 0, 0, 4, "input order, non-temporal"},
    /* Nothing is a multiple of anything. */
    {{2, {1087, 2113}, {1, 0}}, 0, 0, 4, "input order, staged"},
    /* Only the memory is not aligned. */
    {{2, {1088, 2112}, {1, 0}}, 3, 0, 4, "input order, staged"},
    /* Short axes make long sides, in lines that are whole and that are not. */
    {{4, {16, 9, 15, 1024}, {3, 2, 1, 0}}, 0, 2, 3, "axes, non-temporal"},
    {{5, {16, 5, 3, 64, 128}, {4, 3, 2, 1, 0}}, 0, 2, 3, "axes, non-temporal"},
    {{5, {13, 17, 11, 35, 29}, {4, 3, 2, 1, 0}}, 0, 0, 4, "axes, staged"},
    {{6, {7, 5, 3, 11, 31, 63}, {5, 4, 3, 2, 1, 0}}, 1, 2, 4,
     "sides of 2 and 3 axes, staged"},
    /* Tiles of the last columns are narrower than a line. */
    {{3, {130, 70, 257}, {2, 1, 0}}, 0, 0, 4, "staged"},
};

// clang-format on

enum { NUM_NAMED = sizeof named_moves / sizeof named_moves[0] };

static void run_named(const named_move *n) {
  for (int32_t width = n->least_width; width <= n->most_width; ++width) {
    test_outcome outcome = run(&n->move, width, 0, n->dst_shift_elems, n->parameters);
    ck_assert(outcome == TEST_RAN || outcome == TEST_LEFT);
  }
}

/* Dimensions that meet a line, just miss it, or are tiny. */
static const int64_t drawn_dims[] = {2,  3,   4,   5,   7,   8,   9,   15,  16, 17,
                                     24, 31,  32,  33,  48,  63,  64,  65,  80, 96,
                                     97, 112, 127, 128, 130, 192, 255, 257, 320};

enum { NUM_DRAWN_DIMS = sizeof drawn_dims / sizeof drawn_dims[0] };

/** A move of at least `least` elements, and not many more. */
static void draw(test_random *random, int64_t least, move *out_move) {
  move m = {.rank = (int32_t)test_random_in(random, 2, MAX_RANK)};
  int64_t elements = 1;
  for (int32_t k = 0; k < m.rank; ++k) {
    m.dims[k] = drawn_dims[test_random_in(random, 0, NUM_DRAWN_DIMS - 1)];
    m.permutation[k] = k;
    while (elements * m.dims[k] > 2 * least) {
      m.dims[k] = (m.dims[k] + 1) / 2;
    }
    elements *= m.dims[k];
  }
  int32_t grown = (int32_t)test_random_in(random, 0, m.rank - 1);
  m.dims[grown] *= (least + elements - 1) / elements;
  for (int32_t k = m.rank - 1; k > 0; --k) {
    int32_t other = (int32_t)test_random_in(random, 0, k);
    int32_t swap = m.permutation[k];
    m.permutation[k] = m.permutation[other];
    m.permutation[other] = swap;
  }
  *out_move = m;
}

static void run_drawn(void) {
  enum { CASES = TEST_IS_SANITIZED ? 10 : 80, LEAST_BYTES = 2 << 20 };

  test_random random = test_random_begin("test_device_bytes");
  int32_t num_refused = 0;
  for (int32_t i = 0; i < CASES; ++i) {
    uint64_t case_seed = random.state;
    int32_t width = (int32_t)test_random_in(&random, 0, 4);
    move m;
    draw(&random, LEAST_BYTES >> width, &m);
    int64_t src_shift_elems = test_random_in(&random, 0, 2);
    int64_t dst_shift_elems = test_random_once_in(&random, 2) ? 0 : test_random_in(&random, 0, 70);
    test_outcome outcome = run(&m, width, src_shift_elems, dst_shift_elems, NULL);
    ck_assert_msg(outcome != TEST_FAILED, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first",
                  (int)i, (unsigned long long)case_seed);
    num_refused += outcome == TEST_REFUSED;
  }
  ck_assert_int_le(num_refused, CASES * 3 / 4);
}

void bytes_tile(void) {
  if (test_device_is_gpu(&device)) {
    return;
  }
  for (int32_t n = 0; n < NUM_NAMED; ++n) {
    run_named(&named_moves[n]);
  }
  run_drawn();
}
