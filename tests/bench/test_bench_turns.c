/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "arena.h"
#include "support/suite.h"
#include "turns.h"

enum { ROUNDS = 5, BYTES = 5 * 3 * 4 };

static uint8_t src[BYTES];
static uint8_t dst[BYTES + BENCH_GUARD_BYTES];
static bench_case_list list;
static rlo_problem problem;
static bench_arena arena;
static bench_move move;
static int32_t num_runs;

static void setup(void) {
  static const bench_case_spec spec = {
      .name = "transposed", .dtype = "f32", .dims = "5,3", .permutation = "1,0"};
  list = (bench_case_list){.size_factor = 1.0};
  ck_assert(bench_case_add(&list, &spec));
  ck_assert(bench_case_lower(&list.items[0], &problem));
  for (size_t i = 0; i < sizeof src; ++i) {
    src[i] = (uint8_t)(i * 7 + 1);
  }
  arena = (bench_arena){.is_host_memory = true, .host_src = src, .host_dst = dst};
  move = (bench_move){.arena = &arena, .item = &list.items[0], .problem = &problem};
  num_runs = 0;
}

static void teardown(void) {
  bench_case_list_deinit(&list);
}

RLO_FIXTURE(setup, teardown);

static void *create(const bench_move *of) {
  return (void *)(uintptr_t)of;
}

static void *create_nothing(const bench_move *of) {
  (void)of;
  return NULL;
}

static void release(void *state) {
  ck_assert_ptr_eq(state, &move);
}

static bool run_right(void *state) {
  (void)state;
  num_runs += 1;
  return rlo_problem_run_host(&problem, src, dst) == RLO_OK;
}

static bool run_wrong(void *state) {
  bool is_done = run_right(state);
  dst[BYTES / 2] ^= 1;
  return is_done;
}

static bool run_beyond(void *state) {
  bool is_done = run_right(state);
  dst[BYTES] ^= 1;
  return is_done;
}

static const bench_peer right = {
    .name = "right", .create = create, .run = run_right, .release = release};
static const bench_peer wrong = {
    .name = "wrong", .create = create, .run = run_wrong, .release = release};
static const bench_peer beyond = {
    .name = "beyond", .create = create, .run = run_beyond, .release = release};
static const bench_peer unable = {
    .name = "unable", .create = create_nothing, .run = run_wrong, .release = release};

RLO_TEST(test_bench_turns__times_those_who_can) {
  const bench_peer *const peers[] = {&right, &unable, &right};
  double nanos[3 * ROUNDS] = {0};
  ck_assert(bench_turns_take(&move, peers, 3, ROUNDS, nanos));
  /* The checked run, the warm one, and the rounds. */
  ck_assert_int_eq(num_runs, 2 * (ROUNDS + 2));
  for (int32_t i = 0; i < ROUNDS; ++i) {
    ck_assert_double_gt(nanos[i], 0);
    ck_assert_double_eq(nanos[ROUNDS + i], 0);
    ck_assert_double_gt(nanos[2 * ROUNDS + i], 0);
  }
}

static int32_t num_enqueued;
static int32_t num_finished;

static bool enqueue(void *state) {
  ck_assert_ptr_eq(state, &move);
  num_enqueued += 1;
  return true;
}

static bool finish(void *state) {
  ck_assert_ptr_eq(state, &move);
  num_finished += 1;
  return num_enqueued < 100;
}

/* On a GPU a contestant that can is waited for once for all its runs. */
RLO_TEST(test_bench_turns__queued_runs_share_one_wait) {
  bench_peer queued = right;
  queued.enqueue = enqueue;
  queued.finish = finish;
  double nanos = 0;
  num_enqueued = num_finished = 0;
  ck_assert(bench_turns_time(&queued, &move, 7, true, &nanos));
  ck_assert_int_eq(num_enqueued, 7);
  ck_assert_int_eq(num_finished, 1);
  ck_assert_int_eq(num_runs, 0);
  ck_assert(bench_turns_time(&queued, &move, 7, false, &nanos));
  ck_assert_int_eq(num_runs, 7);
  ck_assert_int_eq(num_finished, 1);
  ck_assert(bench_turns_time(&right, &move, 5, true, &nanos));
  ck_assert_int_eq(num_runs, 12);
  /* A wait that fails is a failure. */
  ck_assert(!bench_turns_time(&queued, &move, 100, true, &nanos));
}

RLO_TEST(test_bench_turns__refuses_a_wrong_byte) {
  const bench_peer *const bad[] = {&wrong, &beyond};
  for (int32_t n = 0; n < 2; ++n) {
    const bench_peer *const peers[] = {&right, bad[n]};
    double nanos[2 * ROUNDS] = {0};
    ck_assert(!bench_turns_take(&move, peers, 2, ROUNDS, nanos));
  }
}

RLO_TEST(test_bench_turns__ratio_is_the_median_within_rounds) {
  const double a[ROUNDS] = {1, 2, 4, 8, 16};
  const double b[ROUNDS] = {2, 1, 4, 32, 8};
  ck_assert_double_eq_tol(bench_turns_ratio(a, b, ROUNDS), 1.0, 1e-12);
  ck_assert_double_eq_tol(bench_turns_ratio(a, a, 1), 1.0, 1e-12);
}
