/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relayout/relayout.h"
#include "support/expect.h"
#include "support/random_problem.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* The host mover through its public door; test_host_mover has the rest. */

static rlo_problem problem;

static void lower(const char *from, const char *to) {
  const rlo_shape src = test_shape_of(from);
  const rlo_shape dst = test_shape_of(to);
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
}

/** Runs a problem on so many threads, and point by point; the bytes that no
 *  point writes are the same before. */
static void expect_bytes_of_reference(const rlo_problem *p, const void *indices,
                                      int32_t num_threads) {
  const size_t src_bytes = (size_t)rlo_problem_src_bytes(p);
  const size_t dst_bytes = (size_t)rlo_problem_dst_bytes(p);
  uint8_t *src = malloc(src_bytes + 1);
  uint8_t *got = malloc(dst_bytes + 1);
  uint8_t *wanted = malloc(dst_bytes + 1);
  ck_assert_ptr_nonnull(src);
  ck_assert_ptr_nonnull(got);
  ck_assert_ptr_nonnull(wanted);
  for (size_t n = 0; n < src_bytes; ++n) {
    src[n] = (uint8_t)(n * 167 + n / 256);
  }
  memset(got, 0xa5, dst_bytes + 1);
  memset(wanted, 0xa5, dst_bytes + 1);
  const rlo_status status = rlo_problem_run_host_indexed(p, src, indices, wanted);
  ck_assert_int_eq(rlo_run_host(p, src, indices, got, num_threads), status);
  ck_assert_mem_eq(got, wanted, dst_bytes + 1);
  free(wanted);
  free(got);
  free(src);
}

static const int32_t threads[] = {1, 2, 3, 1000};

RLO_LOOP_TEST(test_run_host__has_the_bytes_of_the_reference, 0, 4) {
  lower("f32[600,701]{1,0}", "f32[600,701]{0,1:T(8,128)fill(lowest)}");
  expect_bytes_of_reference(&problem, NULL, threads[_i]);
  lower("f32[100,31]{1,0}", "f32[100,31]{1,0:pad(128,64)}");
  expect_bytes_of_reference(&problem, NULL, threads[_i]);
  lower("u4[1001,333]{1,0:E(4)}", "u4[1001,333]{0,1:E(4)}");
  expect_bytes_of_reference(&problem, NULL, threads[_i]);
  lower("f32[0,7]", "f32[0,7]{0,1}");
  expect_bytes_of_reference(&problem, NULL, threads[_i]);
}

/* Conversions, chains, gathers, sums of segments, arbitrary forms and sums. */
RLO_LOOP_TEST(test_run_host__runs_random_problems, 0, TEST_PROBLEM_NUM_KINDS) {
  static test_problem drawn;
  test_random random = test_random_begin("test_run_host__runs_random_problems");
  random.state += (uint64_t)_i;
  int run = 0;
  for (int n = 0; n < 200; ++n) {
    if (test_random_problem(&random, (test_problem_kind)_i, &drawn)) {
      expect_bytes_of_reference(&drawn.problem, &drawn.indices, threads[n % 4]);
      ++run;
    }
  }
  ck_assert_int_gt(run, 50);
}

/* -------------------------------------------------------------- wrong input */

static char memory[64];

RLO_TEST(test_run_host__refuses_null) {
  lower("u8[2,3]", "u8[2,3]{0,1}");
  expect_refusal(rlo_run_host(NULL, memory, NULL, memory, 1), RLO_INVALID_ARGUMENT,
                 "'problem' is NULL");
  expect_refusal(rlo_run_host(&problem, NULL, NULL, memory, 1), RLO_INVALID_ARGUMENT,
                 "'src' is NULL, but its length is 6");
  expect_refusal(rlo_run_host(&problem, memory, NULL, NULL, 1), RLO_INVALID_ARGUMENT,
                 "'dst' is NULL, but its length is 6");
}

RLO_TEST(test_run_host__refuses_fewer_than_one_thread) {
  lower("u8[2,3]", "u8[2,3]{0,1}");
  expect_refusal(rlo_run_host(&problem, memory, NULL, memory + 32, 0), RLO_INVALID_ARGUMENT,
                 "'num_threads' is 0; at least 1");
  expect_refusal(rlo_run_host(&problem, memory, NULL, memory + 32, -3), RLO_INVALID_ARGUMENT,
                 "'num_threads' is -3; at least 1");
}

RLO_TEST(test_run_host__refuses_missing_indices) {
  const rlo_shape table = test_shape_of("u8[3,2]");
  const rlo_shape rows = test_shape_of("s32[4]");
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(rlo_chain_create(&table, &chain));
  expect_ok(rlo_chain_gather(chain, &rows, 0, 0));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  expect_refusal(rlo_run_host(rlo_problem_list_get(list, 0), memory, NULL, memory, 1),
                 RLO_INVALID_ARGUMENT, "the indices are NULL; 16 bytes are needed");
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}

RLO_TEST(test_run_host__refuses_what_is_no_problem) {
  lower("u8[2,3]", "u8[2,3]{0,1}");
  problem.num_axes = RLO_MAX_AXES + 1;
  ck_assert_int_eq(rlo_run_host(&problem, memory, NULL, memory + 32, 1), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_run_host__refuses_a_position_beyond_its_memory) {
  lower("u8[2,3]", "u8[2,3]{0,1}");
  problem.src_bytes = 5;
  ck_assert_int_eq(rlo_run_host(&problem, memory, NULL, memory + 32, 2), RLO_OUT_OF_RANGE);
}

RLO_TEST(test_run_host__needs_no_memory_without_points) {
  lower("u8[0,3]", "u8[0,3]{0,1}");
  expect_ok(rlo_run_host(&problem, NULL, NULL, NULL, 1));
}
