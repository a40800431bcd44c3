/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>
#include <string.h>

#include "plan/family.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_table.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"

/*
 * Random chains of operations: what the host makes of each of their problems,
 * every family makes of it too.
 */

/* The chain under way, and what has been done to it, in words. */
typedef struct growing {
  test_random *random;
  rlo_chain *chain;
  char words[600];
} growing;

static void say(growing *g, const char *operation) {
  size_t length = strlen(g->words);
  snprintf(g->words + length, sizeof g->words - length, " | %s", operation);
}

static int64_t count_elements(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent.elements;
}

static rlo_status cut(growing *g) {
  const rlo_shape *shape = rlo_chain_shape(g->chain);
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    int64_t most = shape->dims[k] / 3;
    begin[k] = test_random_in(g->random, 0, most);
    end[k] = shape->dims[k] - test_random_in(g->random, 0, most);
    strides[k] = test_random_once_in(g->random, 4) ? 2 : 1;
    if (test_random_once_in(g->random, 4)) {
      int64_t first = begin[k];
      begin[k] = end[k] - 1;
      end[k] = first == 0 ? INT64_MIN : first - 1;
      strides[k] = -strides[k];
    }
  }
  say(g, "slice");
  return rlo_chain_slice(g->chain, begin, end, strides);
}

static rlo_status pad(growing *g) {
  static const uint8_t fill[16] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                   0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x01};
  const rlo_shape *shape = rlo_chain_shape(g->chain);
  int64_t low[RLO_MAX_RANK];
  int64_t high[RLO_MAX_RANK];
  int64_t interior[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    int64_t least = shape->dims[k] > 4 ? -2 : 0;
    low[k] = test_random_in(g->random, least, 3);
    high[k] = test_random_in(g->random, least, 3);
    interior[k] = test_random_once_in(g->random, 8) ? 1 : 0;
  }
  say(g, "pad");
  bool is_zero = test_random_once_in(g->random, 2);
  return rlo_chain_pad(g->chain, low, high, interior, is_zero ? NULL : fill);
}

static rlo_status turn(growing *g) {
  int32_t permutation[RLO_MAX_RANK];
  test_random_permutation(g->random, rlo_chain_shape(g->chain)->rank, permutation);
  say(g, "transpose");
  return rlo_chain_transpose(g->chain, permutation);
}

static rlo_status reverse(growing *g) {
  int32_t dim = (int32_t)test_random_in(g->random, 0, rlo_chain_shape(g->chain)->rank - 1);
  say(g, "reverse");
  return rlo_chain_reverse(g->chain, &dim, 1);
}

static rlo_status repeat(growing *g) {
  const rlo_shape *shape = rlo_chain_shape(g->chain);
  int64_t times[RLO_MAX_RANK];
  bool is_small = count_elements(shape) < 8000;
  for (int32_t k = 0; k < shape->rank; ++k) {
    times[k] = is_small && test_random_once_in(g->random, 3) ? 2 : 1;
  }
  bool is_tile = test_random_once_in(g->random, 2);
  say(g, is_tile ? "tile" : "repeat");
  return is_tile ? rlo_chain_tile(g->chain, times) : rlo_chain_repeat(g->chain, times);
}

static rlo_status flatten(growing *g) {
  const rlo_shape *shape = rlo_chain_shape(g->chain);
  int64_t dims[2] = {shape->dims[0], -1};
  bool is_whole = shape->dims[0] == 0 || test_random_once_in(g->random, 3);
  say(g, "reshape");
  return is_whole ? rlo_chain_reshape(g->chain, (int64_t[]){count_elements(shape)}, 1)
                  : rlo_chain_reshape(g->chain, dims, 2);
}

static rlo_status join(growing *g) {
  rlo_chain *other = NULL;
  rlo_status status = rlo_chain_clone(g->chain, &other);
  if (status == RLO_OK) {
    const rlo_chain *const others[] = {other};
    int32_t dim = (int32_t)test_random_in(g->random, 0, rlo_chain_shape(g->chain)->rank - 1);
    say(g, "concatenate with itself");
    status = rlo_chain_concatenate(g->chain, others, 1, dim);
  }
  rlo_chain_release(other);
  return status;
}

static rlo_status mirror(growing *g) {
  const rlo_shape *shape = rlo_chain_shape(g->chain);
  int64_t low[RLO_MAX_RANK] = {0};
  low[0] = shape->dims[0] > 2 ? 2 : 0;
  say(g, "mirror pad");
  return rlo_chain_mirror_pad(g->chain, low, NULL, RLO_MIRROR_SYMMETRIC);
}

static rlo_status (*const operations[])(growing *) = {cut,     cut,    pad,     pad,  turn,  turn,
                                                      reverse, repeat, flatten, join, mirror};

enum { NUM_OPERATIONS = sizeof operations / sizeof operations[0] };

static void grow(growing *g, rlo_dtype dtype) {
  int64_t dims[4];
  int32_t rank = (int32_t)test_random_in(g->random, 1, 4);
  static const int64_t most[] = {4000, 90, 24, 10};
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_in(g->random, 1, most[rank - 1]);
  }
  uint32_t features = test_random_once_in(g->random, 2) ? 0 : TEST_ALL;
  rlo_shape src = test_random_shape(g->random, dtype, dims, rank, features);
  rlo_shape_format(&src, g->words, 300);
  g->chain = test_chain_of(&src);
  int64_t steps = test_random_in(g->random, 1, 4);
  for (int64_t n = 0; n < steps; ++n) {
    int64_t which = test_random_in(g->random, 0, NUM_OPERATIONS - 1);
    rlo_status status = operations[which](g);
    ck_assert_msg(status == RLO_OK, "%s: %s", g->words, rlo_error_last()->message);
    if (count_elements(rlo_chain_shape(g->chain)) > 20000) {
      break;
    }
  }
}

typedef struct tally {
  int64_t ran, specialized, problems;
  /** The most of those that are compiled one by one. */
  int64_t max_specialized;
} tally;

/* By all families; where all cases run, by two, and only so many that are
 * compiled one by one. */
static void run_problem(const rlo_problem *problem, const char *words, int64_t element_bytes,
                        test_random *random, tally *t) {
  test_case c = {0};
  if (test_random_once_in(random, 2)) {
    c.src_shift_bytes = element_bytes * test_random_in(random, 0, 20);
    c.dst_shift_bytes = element_bytes * test_random_in(random, 0, 20);
  }
  int32_t first = (int32_t)test_random_in(random, 0, rlo__num_families - 1);
  int32_t num_ran = 0;
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    const rlo__family *family = rlo__families[(first + f) % rlo__num_families];
    bool is_specialized =
        (family->traits & RLO__FAMILY_SPECIALIZES) != 0 || strcmp(family->name, "packed") == 0;
    if (bytes_is_all() &&
        (num_ran == 2 || (is_specialized && t->specialized >= t->max_specialized))) {
      continue;
    }
    c.family = family->name;
    c.device_class = family->device_class;
    test_outcome outcome = test_device_run_problem(&device, problem, &c, words, NULL);
    ck_assert_int_ne(outcome, TEST_FAILED);
    num_ran += outcome == TEST_RAN;
    t->specialized += is_specialized && outcome == TEST_RAN;
  }
  t->ran += num_ran;
}

void bytes_slanted_guard(void) {
  rlo_problem_list *problems = NULL;
  const uint32_t fill = 0xfeedbeef;
  rlo_shape vector = test_shape_make(RLO_DTYPE_U32, (int64_t[]){4000}, 1);
  rlo_chain *chain = test_chain_of(&vector);
  expect_ok(rlo_chain_pad(chain, NULL, (int64_t[]){96}, NULL, &fill));
  expect_ok(rlo_chain_reshape(chain, (int64_t[]){64, 64}, 2));
  expect_ok(rlo_chain_transpose(chain, (int32_t[]){1, 0}));
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  ck_assert_int_eq(rlo_problem_list_count(problems), 1);
  const test_case c = {.family = "tile"};
  test_outcome outcome = test_device_run_problem(&device, rlo_problem_list_get(problems, 0), &c,
                                                 "pad, reshape, transpose", NULL);
  ck_assert_int_ne(outcome, TEST_FAILED);
  ck_assert_int_ne(outcome, TEST_REFUSED);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

void bytes_ops(void) {
  test_random random = test_random_begin("test_device_bytes");
  const int32_t cases = TEST_IS_SANITIZED ? 60 : 250;
  tally t = {.max_specialized = cases / 8};
  for (int32_t i = 0; i < cases; ++i) {
    growing g = {&random, NULL, ""};
    int32_t width = (int32_t)test_random_in(&random, 0, 4);
    rlo_dtype dtype = RLO_DTYPE_INVALID;
    expect_ok(rlo_dtype_from_name(test_dtypes[width], &dtype));
    grow(&g, dtype);
    const rlo_shape *result = rlo_chain_shape(g.chain);
    rlo_shape dst = *result;
    if (test_random_once_in(&random, 2)) {
      dst = test_random_shape(&random, dtype, result->dims, result->rank, TEST_ALL);
    }
    rlo_problem_list *problems;
    ck_assert_msg(rlo_chain_lower(g.chain, &dst, &problems) == RLO_OK, "%s: %s", g.words,
                  rlo_error_last()->message);
    for (int32_t n = 0; n < rlo_problem_list_count(problems) && n < 4; ++n) {
      run_problem(rlo_problem_list_get(problems, n), g.words, (int64_t)1 << width, &random, &t);
      ++t.problems;
    }
    rlo_problem_list_release(problems);
    rlo_chain_release(g.chain);
  }
  if (!bytes_is_all()) {
    return;
  }
  printf("%lld problems, %lld runs, %lld of them specialized\n", (long long)t.problems,
         (long long)t.ran, (long long)t.specialized);
  ck_assert_int_ge(t.ran, cases);
}
