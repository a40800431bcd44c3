/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "device/mixed/mixed.h"
#include "relayout/engine_opencl.h"
#include "relayout/engine_ops.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"
#include "support/suite.h"

/*
 * 16 threads that do all kinds of things, drawn anew each turn, with what they
 * share: two contexts with one folder of compiled programs, plans, engines with
 * a tensor that is pending, a service and wisdom. Every result is compared
 * (mixed/).
 *
 * RELAYOUT_TEST_SECONDS is how long, at least.
 */
enum {
  NUM_THREADS = 16,
  /* However long the driver compiles first. */
  LEAST_TURNS = 40
};

static const double usual_seconds = 1.0;

/* When threads end that have had their turns. */
static double end_seconds;

/* Some share a program and differ in numbers only. */
static const struct {
  const char *src, *dst, *permutation;
} works[MIXED_NUM_WORKS] = {
    {"f32[40,60]", "f32[60,40]", "1,0"},
    {"f32[44,60]", "f32[60,44]", "1,0"},
    {"f32[20,30]", "f32[20,30]{1,0:T(8,128)fill(one)}", NULL},
    {"u16[33,3]", "u16[3,33]", "1,0"},
    {"f64[1000]", "f64[1000]", NULL},
    {"u8[7,11,64]", "u8[11,7,64]", "1,0,2"},
};

static bool open_desk(mixed_worker *w) {
  const mixed_commons *s = w->shared;
  cl_context context = rlo_context_cl_context(s->contexts[0]);
  cl_int code = CL_SUCCESS;
  cl_device_id device = rlo_context_cl_device(s->contexts[0]);
  w->queue = clCreateCommandQueue(context, device, 0, &code);
  if (code == CL_SUCCESS) {
    w->unordered =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
  }
  if (code == CL_SUCCESS) {
    w->src = clCreateBuffer(context, 0, MIXED_ARENA_BYTES, NULL, &code);
  }
  if (code == CL_SUCCESS) {
    w->dst = clCreateBuffer(context, 0, MIXED_ARENA_BYTES, NULL, &code);
  }
  return code == CL_SUCCESS || mixed_complain(w, "a desk");
}

static void close_desk(mixed_worker *w) {
  if (w->dst != NULL) {
    clReleaseMemObject(w->dst);
  }
  if (w->src != NULL) {
    clReleaseMemObject(w->src);
  }
  if (w->unordered != NULL) {
    clReleaseCommandQueue(w->unordered);
  }
  if (w->queue != NULL) {
    clReleaseCommandQueue(w->queue);
  }
}

static void work(void *payload) {
  mixed_worker *w = payload;
  bool is_fine = open_desk(w);
  for (int turn = 0; is_fine && (turn < LEAST_TURNS || rlo__clock_seconds() < end_seconds);
       ++turn) {
    int kind = (int)test_random_in(&w->random, 0, MIXED_NUM_KINDS - 1);
    is_fine = mixed_kinds[kind](w);
    ++w->num_turns[kind];
  }
  close_desk(w);
}

static void open_commons(mixed_commons *s, double seconds) {
  temp_folder_make(s->folder);
  (void)snprintf(s->wisdom, sizeof s->wisdom, "%s/wisdom", s->folder);
  test_fill_unique(s->source, MIXED_ARENA_BYTES, 4, 1);
  test_fill_unique(s->before, MIXED_ARENA_BYTES, 4, 2);
  memcpy(s->numbers, s->source, sizeof s->numbers);
  for (int i = 0; i < MIXED_NUM_WORKS; ++i) {
    mixed_work *work = &s->works[i];
    test_plan_lower(works[i].src, works[i].dst, works[i].permutation, &work->problem);
    work->dst = works[i].dst;
    memcpy(work->expected, s->before, MIXED_ARENA_BYTES);
    expect_ok(rlo_problem_run_host(&work->problem, s->source, work->expected));
  }
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = s->folder;
  expect_ok(rlo_context_create_default(-1, &options, &s->contexts[0]));
  expect_ok(rlo_context_create(rlo_context_cl_context(s->contexts[0]),
                               rlo_context_cl_device(s->contexts[0]), &options, &s->contexts[1]));
  for (int i = 0; i < MIXED_NUM_WORKS; ++i) {
    rlo_plan_options measured = RLO_PLAN_OPTIONS_INIT;
    measured.effort = seconds > usual_seconds ? RLO_EFFORT_MEASURE : RLO_EFFORT_ESTIMATE;
    s->works[i].plan = test_context_plan(s->contexts[i % 2], &s->works[i].problem, &measured);
  }
  expect_ok(rlo_context_save_wisdom(s->contexts[0], s->wisdom));
  for (int n = 0; n < 2; ++n) {
    rlo_engine_options with = RLO_ENGINE_OPTIONS_INIT;
    with.context = s->contexts[n];
    with.is_fusing = n == 1;
    expect_ok(rlo_engine_create(&with, &s->engines[n]));
  }
  static const int64_t dims[] = {MIXED_ROWS, MIXED_COLUMNS};
  rlo_tensor *x = NULL;
  rlo_shape shape = test_shape_make(RLO_DTYPE_F32, dims, 2);
  expect_ok(rlo_tensor_create(s->engines[1], &shape, s->numbers, &x));
  expect_ok(rlo_op_transpose(x, NULL, &s->pending));
  rlo_tensor_release(x);
  rlo_service_options service = RLO_SERVICE_OPTIONS_INIT;
  service.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  service.io_threads = 3;
  expect_ok(rlo_service_create(s->contexts, 2, &service, &s->service));
  end_seconds = rlo__clock_seconds() + seconds;
}

static void close_commons(mixed_commons *s) {
  rlo_service_release(s->service);
  rlo_tensor_release(s->pending);
  for (int n = 0; n < 2; ++n) {
    ck_assert_int_eq(rlo_engine_live_tensors(s->engines[n]), 0);
    rlo_engine_release(s->engines[n]);
  }
  for (int i = 0; i < MIXED_NUM_WORKS; ++i) {
    rlo_plan_release(s->works[i].plan);
  }
  rlo_context_release(s->contexts[0]);
  rlo_context_release(s->contexts[1]);
  temp_folder_remove(s->folder);
}

RLO_TIMEOUT(4200);

RLO_TEST(test_mixed_threads__share_everything) {
  const char *wanted = getenv("RELAYOUT_TEST_SECONDS");
  double seconds = wanted != NULL ? strtod(wanted, NULL) : usual_seconds;
  test_random random = test_random_begin("test_mixed_threads");
  int64_t live = rlo__alloc_live_count();
  mixed_commons *shared = calloc(1, sizeof *shared);
  mixed_worker *workers = calloc(NUM_THREADS, sizeof *workers);
  ck_assert(shared != NULL && workers != NULL);
  open_commons(shared, seconds);
  for (int i = 0; i < NUM_THREADS; ++i) {
    workers[i].shared = shared;
    workers[i].random.state = test_random_bits(&random);
    expect_ok(rlo__thread_start(work, &workers[i], &workers[i].thread));
  }
  int64_t num_turns = 0;
  for (int i = 0; i < NUM_THREADS; ++i) {
    rlo__thread_join(&workers[i].thread);
    for (int kind = 0; kind < MIXED_NUM_KINDS; ++kind) {
      num_turns += workers[i].num_turns[kind];
      workers[0].num_turns[kind] += i > 0 ? workers[i].num_turns[kind] : 0;
    }
  }
  printf("%lld operations of %d threads in %.0f s\n", (long long)num_turns, (int)NUM_THREADS,
         seconds);
  for (int i = 0; i < NUM_THREADS; ++i) {
    ck_assert_msg(workers[i].complaint[0] == '\0', "thread %d: %s", i, workers[i].complaint);
  }
  for (int kind = 0; kind < MIXED_NUM_KINDS; ++kind) {
    ck_assert_int_gt(workers[0].num_turns[kind], 0);
  }
  close_commons(shared);
  free(workers);
  free(shared);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
