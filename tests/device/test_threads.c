/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random.h"
#include "support/suite.h"

/*
 * Many threads on one context and one set of plans, that nobody prepared: each
 * thread has its queue and its buffers and enqueues plans in a random order at
 * random offsets. Every byte of every result is compared.
 */
enum {
  NUM_THREADS = 8,
  NUM_TURNS = 60,
  NUM_PLANS = 6,
  /** Largest tensor, and the guards and shifts around it. */
  TENSOR_BYTES = 48 * 1024,
  ARENA_BYTES = TENSOR_BYTES + 2 * TEST_GUARD_BYTES + 256
};

typedef struct work {
  const char *src, *dst, *permutation;
} work;

/* Some share a program and differ in numbers only. */
static const work works[NUM_PLANS] = {
    {"f32[64,128]", "f32[128,64]", "1,0"},
    {"f32[96,128]", "f32[128,96]", "1,0"},
    {"f32[20,300]", "f32[20,300]{1,0:T(8,128)fill(one)}", NULL},
    {"u8[7,11,64]", "u8[11,7,64]", "1,0,2"},
    {"f64[1000]", "f64[1000]", NULL},
    {"u16[33,3]", "u16[3,33]", "1,0"},
};

static rlo_problem problems[NUM_PLANS];

static void lower_works(void) {
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    const work *w = &works[i];
    test_plan_lower(w->src, w->dst, w->permutation, &problems[i]);
    ck_assert_int_le(problems[i].src_bytes, TENSOR_BYTES);
    ck_assert_int_le(problems[i].dst_bytes, TENSOR_BYTES);
  }
}

/** What all threads share. Nothing here changes while they run. */
typedef struct commons {
  rlo_context *context;
  rlo_plan *plans[NUM_PLANS];
} commons;

typedef struct worker {
  rlo__thread thread;
  const commons *shared;
  test_random random;
  bool is_out_of_order;
  /** NULL, or what went wrong. Check may only be called by the main thread. */
  const char *complaint;
  char words[700];
} worker;

typedef struct desk {
  cl_command_queue queue;
  cl_mem src, dst;
  uint8_t *before_src, *before_dst, *expected, *after;
} desk;

static void desk_deinit(desk *d) {
  free(d->before_src);
  if (d->src != NULL) {
    clReleaseMemObject(d->src);
  }
  if (d->dst != NULL) {
    clReleaseMemObject(d->dst);
  }
  if (d->queue != NULL) {
    clReleaseCommandQueue(d->queue);
  }
}

static const char *desk_init(desk *d, const worker *w) {
  memset(d, 0, sizeof *d);
  d->before_src = malloc(4 * (size_t)ARENA_BYTES);
  if (d->before_src == NULL) {
    return "malloc";
  }
  d->before_dst = d->before_src + ARENA_BYTES;
  d->expected = d->before_dst + ARENA_BYTES;
  d->after = d->expected + ARENA_BYTES;
  test_fill_unique(d->before_src, ARENA_BYTES, 4, w->random.state);
  test_fill_unique(d->before_dst, ARENA_BYTES, 4, ~w->random.state);
  cl_context context = rlo_context_cl_context(w->shared->context);
  cl_int code = CL_SUCCESS;
  d->queue = clCreateCommandQueue(
      context,
      rlo_context_cl_device(w->shared->context),
      w->is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0,
      &code);
  if (code != CL_SUCCESS) {
    return "clCreateCommandQueue";
  }
  d->src = clCreateBuffer(context,
                          CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                          ARENA_BYTES,
                          d->before_src,
                          &code);
  if (code != CL_SUCCESS) {
    return "clCreateBuffer";
  }
  d->dst = clCreateBuffer(context, 0, ARENA_BYTES, NULL, &code);
  return code == CL_SUCCESS ? NULL : "clCreateBuffer";
}

/** Write the arena, relayout, read it back, all by events; compare. */
static const char *take_turn(worker *w, desk *d) {
  int32_t which = (int32_t)test_random_in(&w->random, 0, NUM_PLANS - 1);
  const rlo_problem *problem = &problems[which];
  int64_t element_bytes = problem->unit_bits / 8;
  int64_t src_at = TEST_GUARD_BYTES;
  int64_t dst_at = TEST_GUARD_BYTES;
  if (test_random_once_in(&w->random, 2)) {
    src_at += element_bytes * test_random_in(&w->random, 0, 16);
    dst_at += element_bytes * test_random_in(&w->random, 0, 16);
  }
  memcpy(d->expected, d->before_dst, ARENA_BYTES);
  if (rlo_problem_run_host(
          problem, d->before_src + src_at, d->expected + dst_at) != RLO_OK) {
    return rlo_error_last()->message;
  }
  cl_event written = NULL;
  cl_event done = NULL;
  if (clEnqueueWriteBuffer(d->queue,
                           d->dst,
                           CL_FALSE,
                           0,
                           ARENA_BYTES,
                           d->before_dst,
                           0,
                           NULL,
                           &written) != CL_SUCCESS) {
    return "clEnqueueWriteBuffer";
  }
  rlo_status status = rlo_enqueue(w->shared->plans[which],
                                  d->queue,
                                  d->src,
                                  src_at,
                                  d->dst,
                                  dst_at,
                                  1,
                                  &written,
                                  &done);
  clReleaseEvent(written);
  if (status != RLO_OK) {
    return rlo_error_last()->message;
  }
  cl_int code = clEnqueueReadBuffer(
      d->queue, d->dst, CL_TRUE, 0, ARENA_BYTES, d->after, 1, &done, NULL);
  clReleaseEvent(done);
  if (code != CL_SUCCESS) {
    return "clEnqueueReadBuffer";
  }
  return memcmp(d->after, d->expected, ARENA_BYTES) == 0 ? NULL
                                                         : works[which].dst;
}

static void run_worker(void *payload) {
  worker *w = payload;
  desk d;
  const char *complaint = desk_init(&d, w);
  for (int32_t turn = 0; complaint == NULL && turn < NUM_TURNS; ++turn) {
    complaint = take_turn(w, &d);
    if (turn % 8 == 7) {
      /* Plans come and go under the others' feet. */
      rlo_plan *plan = w->shared->plans[turn % NUM_PLANS];
      rlo_plan_release(rlo_plan_retain(plan));
      rlo_plan *own = NULL;
      if (rlo_plan_create(
              w->shared->context, &problems[turn % NUM_PLANS], NULL, &own) !=
              RLO_OK ||
          rlo_plan_prepare(own) != RLO_OK) {
        complaint = rlo_error_last()->message;
      }
      rlo_plan_release(own);
    }
  }
  if (d.queue != NULL) {
    clFinish(d.queue);
  }
  desk_deinit(&d);
  if (complaint != NULL) {
    /* A message of this thread's record goes with the thread. */
    snprintf(w->words, sizeof w->words, "%s", complaint);
    w->complaint = w->words;
  }
}

static commons open_commons(void) {
  commons c = {.context = NULL};
  expect_ok(rlo_context_create_default(-1, NULL, &c.context));
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    c.plans[i] = test_context_plan(c.context, &problems[i], NULL);
  }
  return c;
}

static void close_commons(commons *c) {
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    rlo_plan_release(c->plans[i]);
  }
  rlo_context_release(c->context);
}

static int64_t programs_built(const commons *c) {
  rlo_context_stats stats = test_context_stats(c->context);
  return stats.programs_built;
}

RLO_TIMEOUT(300);

RLO_TEST(test_threads__share_a_context_and_its_plans) {
  lower_works();
  /* One thread alone tells how many programs there are. */
  commons alone = open_commons();
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    expect_ok(rlo_plan_prepare(alone.plans[i]));
  }
  int64_t num_programs = programs_built(&alone);
  close_commons(&alone);

  test_random random = test_random_begin("test_threads");
  commons shared = open_commons();
  worker *workers = calloc(NUM_THREADS, sizeof *workers);
  ck_assert_ptr_nonnull(workers);
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    workers[i].shared = &shared;
    workers[i].random.state = test_random_bits(&random);
    workers[i].is_out_of_order = i % 2 == 1;
    expect_ok(rlo__thread_start(run_worker, &workers[i], &workers[i].thread));
  }
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    rlo__thread_join(&workers[i].thread);
  }
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    ck_assert_msg(workers[i].complaint == NULL,
                  "thread %d: %s",
                  (int)i,
                  workers[i].complaint);
  }
  rlo_context_stats stats = test_context_stats(shared.context);
  printf("%lld programs, %lld kernels, %lld launches\n",
         (long long)stats.programs_built,
         (long long)stats.kernels_created,
         (long long)stats.launches);
  ck_assert_int_eq(stats.programs_built, num_programs);
  ck_assert_int_eq(stats.launches, NUM_THREADS * NUM_TURNS);
  /* Kernels are pooled: at most one of each program for each thread. */
  ck_assert_int_le(stats.kernels_created, num_programs * NUM_THREADS);
  free(workers);
  close_commons(&shared);
}
