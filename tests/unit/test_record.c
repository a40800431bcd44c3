/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ir/problem.h"
#include "ir/record.h"
#include "support/factors.h"
#include "support/random_problem.h"
#include "support/suite.h"

enum { MAX_NUMBERS = 8192, NUM_TURNS = 2000 };

static test_problem drawn;
static rlo_problem back;
static int64_t record[MAX_NUMBERS + 1];
static int64_t again[MAX_NUMBERS + 1];

static size_t write_to(const rlo_problem *problem, int64_t *out_record) {
  size_t count = rlo__record_count(problem);
  ck_assert_uint_gt(count, 0);
  ck_assert_uint_le(count, MAX_NUMBERS);
  out_record[count] = 0x5a5a;
  rlo__record_write(problem, out_record);
  ck_assert_int_eq(out_record[count], 0x5a5a);
  return count;
}

static void expect_same_bytes(const rlo_problem *a, const rlo_problem *b) {
  ck_assert_int_eq(a->src_bytes, b->src_bytes);
  ck_assert_int_eq(a->dst_bytes, b->dst_bytes);
  ck_assert_int_eq(a->read_bytes, b->read_bytes);
  ck_assert_int_eq(a->written_bytes, b->written_bytes);
  ck_assert_int_eq(a->index_bits, b->index_bits);
  ck_assert_int_eq(a->index_bytes, b->index_bytes);
  ck_assert_mem_eq(a->fill, b->fill, sizeof a->fill);
}

RLO_TEST(test_record__holds_all_that_counts) {
  test_random random = test_random_begin("record");
  int32_t num_held = 0;
  for (int32_t n = 0; n < NUM_TURNS; ++n) {
    test_problem_kind kind =
        (test_problem_kind)test_random_in(&random, 0, TEST_PROBLEM_NUM_KINDS - 1);
    if (!test_random_problem(&random, kind, &drawn)) {
      continue;
    }
    size_t count = write_to(&drawn.problem, record);
    memset(&back, 0x5a, sizeof back);
    rlo__record_read(record, &back);
    ck_assert(rlo_problem_equal(&drawn.problem, &back));
    expect_same_bytes(&drawn.problem, &back);
    ck_assert_uint_eq(write_to(&back, again), count);
    ck_assert_mem_eq(record, again, count * sizeof record[0]);

    /* So does a copy of the counted parts. */
    memset(&back, 0xa5, sizeof back);
    rlo__problem_copy(&drawn.problem, &back);
    ck_assert_uint_eq(write_to(&back, again), count);
    ck_assert_mem_eq(record, again, count * sizeof record[0]);
    ++num_held;
  }
  ck_assert_int_gt(num_held, NUM_TURNS / 4);
}

RLO_TEST(test_record__differs_where_a_problem_does) {
  test_random random = test_random_begin("record_differs");
  for (int32_t n = 0; n < NUM_TURNS; ++n) {
    if (!test_random_problem(&random, TEST_PROBLEM_SUM, &drawn)) {
      continue;
    }
    size_t count = write_to(&drawn.problem, record);
    rlo_problem *p = &drawn.problem;
    switch (n % 8) {
      case 0:
        ++p->dst_bytes;
        break;
      case 1:
        test_set_factors(&p->arithmetic, 2.5, 1.0);
        break;
      case 2:
        ++p->src.base;
        break;
      case 3:
        p->fill[15] ^= 1;
        break;
      case 4:
        p->arithmetic.is_sequential = !p->arithmetic.is_sequential;
        break;
      case 5:
        ++p->read_bytes;
        break;
      case 6:
        p->num_guards = p->num_guards == 0 ? 1 : p->num_guards - 1;
        break;
      default:
        ++p->extents[p->num_axes == 0 ? 0 : p->num_axes - 1];
        p->unit_bits ^= p->num_axes == 0 ? 8 : 0;
        break;
    }
    size_t other = write_to(p, again);
    ck_assert(other != count || memcmp(record, again, count * sizeof record[0]) != 0);
  }
}

/* Counts that a caller got wrong lead nowhere. */
RLO_TEST(test_record__is_none_of_what_is_no_problem) {
  rlo_problem *wrong = calloc(1, sizeof *wrong);
  rlo_problem *copy = calloc(1, sizeof *copy);
  ck_assert(wrong != NULL && copy != NULL);
  static const int32_t counts[][3] = {{-1, 0, 0},        {RLO_MAX_AXES + 1, 0, 0},
                                      {0, INT32_MIN, 0}, {0, RLO_MAX_TERMS + 1, 0},
                                      {0, 0, -7},        {0, 0, INT32_MAX}};
  for (size_t n = 0; n < sizeof counts / sizeof counts[0]; ++n) {
    wrong->num_axes = counts[n][0];
    wrong->num_terms = counts[n][1];
    wrong->num_guards = counts[n][2];
    ck_assert_uint_eq(rlo__record_count(wrong), 0);
    rlo__problem_copy(wrong, copy);
    ck_assert_int_eq(copy->num_guards, counts[n][2]);
  }
  free(wrong);
  free(copy);
}
