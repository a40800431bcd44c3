/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "relayout/backend.h"
#include "relayout/engine_ops.h"
#include "relayout/exchange.h"
#include "relayout/gradient.h"
#include "relayout/ops.h"
#include "relayout/scope.h"
#include "relayout/service.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/suite.h"
#include "support/temp_file.h"

/*
 * 16 threads that do all kinds of things, drawn anew each turn, with what they
 * share: two contexts with one folder of compiled programs, plans, engines with
 * a tensor that is pending, a service and wisdom. Every result is compared.
 *
 * RELAYOUT_TEST_SECONDS is how long, at least.
 */
enum {
  NUM_THREADS = 16,
  NUM_WORKS = 5,
  ARENA_BYTES = 16 * 1024,
  /* However long the driver compiles first. */
  LEAST_TURNS = 40
};

static const double usual_seconds = 1.0;

/* Some share a program and differ in numbers only. */
static const struct {
  const char *src, *dst;
  int32_t permutation[2];
} works[NUM_WORKS] = {
    {"f32[40,60]", "f32[60,40]", {1, 0}},
    {"f32[44,60]", "f32[60,44]", {1, 0}},
    {"f32[20,30]", "f32[20,30]{1,0:T(8,128)fill(one)}", {0, 1}},
    {"u16[33,3]", "u16[3,33]", {1, 0}},
    {"f32[30,20]", "f32[30,20]", {0, 1}},
};

/* The first is of the matrix that engines transpose. */
enum { ROWS = 40, COLUMNS = 60, COUNT = ROWS * COLUMNS };

static const int64_t dims[] = {ROWS, COLUMNS};

static rlo_problem problems[NUM_WORKS];

/* What all threads share. */
typedef struct commons {
  rlo_context *contexts[2];
  rlo_plan *plans[NUM_WORKS];
  /* Without and with fusion. */
  rlo_engine *engines[2];
  rlo_tensor *pending;
  rlo_service *service;
  char folder[TEMP_FOLDER_CHARS];
  char wisdom[TEMP_FOLDER_CHARS + 16];
  /* The bits of floats. */
  uint32_t numbers[COUNT];
  uint8_t source[ARENA_BYTES], before[ARENA_BYTES];
  uint8_t expected[NUM_WORKS][ARENA_BYTES];
  double end_seconds;
} commons;

typedef struct worker {
  rlo__thread thread;
  const commons *shared;
  test_random random;
  cl_command_queue queue;
  cl_mem src, dst;
  uint8_t after[ARENA_BYTES];
  int64_t num_turns[16];
  /* "", or what went wrong. Check may only be called by the main thread. */
  char complaint[700];
} worker;

static bool complain(worker *w, const char *what) {
  (void)snprintf(w->complaint,
                 sizeof w->complaint,
                 "%s: %s",
                 what,
                 rlo_error_last()->message);
  return false;
}

static bool is_ok(worker *w, rlo_status status, const char *what) {
  return status == RLO_OK || complain(w, what);
}

static int draw(worker *w, int count) {
  return (int)test_random_in(&w->random, 0, count - 1);
}

static rlo_context *draw_context(worker *w) {
  return w->shared->contexts[draw(w, 2)];
}

static rlo_engine *draw_engine(worker *w) {
  return w->shared->engines[draw(w, 2)];
}

/* --------------------------------------------------------- plans, contexts */

/* From the thread's source to its destination, compared. */
static bool run_plan(worker *w, rlo_plan *plan, int work) {
  const commons *s = w->shared;
  size_t bytes = (size_t)problems[work].dst_bytes;
  cl_event done = NULL;
  if (clEnqueueWriteBuffer(
          w->queue, w->dst, CL_FALSE, 0, bytes, s->before, 0, NULL, NULL) !=
      CL_SUCCESS) {
    return complain(w, "clEnqueueWriteBuffer");
  }
  if (!is_ok(w,
             rlo_enqueue(plan, w->queue, w->src, 0, w->dst, 0, 0, NULL, &done),
             "rlo_enqueue")) {
    return false;
  }
  cl_int code = clEnqueueReadBuffer(
      w->queue, w->dst, CL_TRUE, 0, bytes, w->after, 1, &done, NULL);
  clReleaseEvent(done);
  return (code == CL_SUCCESS || complain(w, "clEnqueueReadBuffer")) &&
         (memcmp(w->after, s->expected[work], bytes) == 0 ||
          complain(w, works[work].dst));
}

static bool use_shared_plan(worker *w) {
  int work = draw(w, NUM_WORKS);
  rlo_plan *plan = rlo_plan_retain(w->shared->plans[work]);
  bool is_done = run_plan(w, plan, work);
  rlo_plan_release(plan);
  return is_done;
}

static void ignore_prepared(void *payload, rlo_status status) {
  (void)payload;
  (void)status;
}

static bool use_plan_of(worker *w, rlo_context *context) {
  int work = draw(w, NUM_WORKS);
  rlo_plan *plan = NULL;
  if (!is_ok(w,
             rlo_plan_create(context, &problems[work], NULL, &plan),
             "rlo_plan_create")) {
    return false;
  }
  int way = draw(w, 3);
  bool is_done =
      (way != 1 || is_ok(w, rlo_plan_prepare(plan), "rlo_plan_prepare")) &&
      (way != 2 || is_ok(w,
                         rlo_plan_prepare_async(plan, ignore_prepared, NULL),
                         "rlo_plan_prepare_async")) &&
      run_plan(w, plan, work);
  rlo_plan_release(plan);
  return is_done;
}

static bool make_plan(worker *w) {
  return use_plan_of(w, draw_context(w));
}

static bool open_context(worker *w, rlo_context **out_context) {
  const commons *s = w->shared;
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = s->folder;
  /* Programs come and go in the folder too. */
  options.cache_limit_bytes = 1 << 20;
  return is_ok(w,
               rlo_context_create(rlo_context_cl_context(s->contexts[0]),
                                  rlo_context_cl_device(s->contexts[0]),
                                  &options,
                                  out_context),
               "rlo_context_create");
}

/* Its programs come from the folder, or are built while others are. */
static bool make_context(worker *w) {
  rlo_context *context = NULL;
  /* What a driver builds takes longest. */
  if (draw(w, 32) != 0) {
    rlo_context_release(rlo_context_retain(draw_context(w)));
    return true;
  }
  bool is_done = open_context(w, &context) && use_plan_of(w, context);
  rlo_context_release(context);
  return is_done;
}

static bool use_wisdom(worker *w) {
  const commons *s = w->shared;
  char text[4096];
  rlo_context *context = draw_context(w);
  switch (draw(w, 4)) {
    case 0:
      return is_ok(w,
                   rlo_context_save_wisdom(context, s->wisdom),
                   "rlo_context_save_wisdom");
    case 1:
      return is_ok(w,
                   rlo_context_load_wisdom(context, s->wisdom, NULL, NULL),
                   "rlo_context_load_wisdom");
    default: {
      size_t length = rlo_context_export_wisdom(context, text, sizeof text);
      return length >= sizeof text ||
             is_ok(w,
                   rlo_context_import_wisdom(
                       draw_context(w), text, length, NULL, NULL),
                   "rlo_context_import_wisdom");
    }
  }
}

/* ----------------------------------------------------------------- engines */

static bool make_matrix(worker *w, rlo_engine *engine, rlo_tensor **out_x) {
  rlo_shape shape;
  return is_ok(w, rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape), "a shape") &&
         is_ok(w,
               rlo_tensor_create(engine, &shape, w->shared->numbers, out_x),
               "rlo_tensor_create");
}

static bool expect_numbers(worker *w, rlo_tensor *x, const char *what) {
  return is_ok(w,
               rlo_tensor_read(x, w->after, sizeof w->shared->numbers),
               what) &&
         (memcmp(w->after, w->shared->numbers, sizeof w->shared->numbers) ==
              0 ||
          complain(w, what));
}

/* Transposed, upside down and back; a scope releases what is in between. */
static bool turn_matrix(worker *w, rlo_engine *engine, rlo_tensor **out_y) {
  static const int64_t first[] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *turned = NULL;
  rlo_tensor *reversed = NULL;
  rlo_tensor *again = NULL;
  return make_matrix(w, engine, &x) &&
         is_ok(w, rlo_op_transpose(x, NULL, &turned), "Transpose") &&
         is_ok(w, rlo_op_reverse(turned, first, 1, &reversed), "Reverse") &&
         is_ok(w, rlo_op_reverse(reversed, first, 1, &again), "Reverse") &&
         is_ok(w, rlo_op_transpose(again, NULL, out_y), "Transpose");
}

static bool run_kernels(worker *w) {
  rlo_engine *engine = draw_engine(w);
  rlo_scope *scope = NULL;
  rlo_tensor *y = NULL;
  if (!is_ok(w, rlo_scope_begin(engine, &scope), "rlo_scope_begin")) {
    return false;
  }
  bool is_done = turn_matrix(w, engine, &y) && expect_numbers(w, y, "y");
  return is_ok(w, rlo_scope_end(scope), "rlo_scope_end") && is_done;
}

static bool use_pending(worker *w) {
  rlo_tensor *y = NULL;
  bool is_done =
      is_ok(w, rlo_op_transpose(w->shared->pending, NULL, &y), "Transpose") &&
      expect_numbers(w, y, "the pending tensor");
  rlo_tensor_release(y);
  return is_done;
}

/* The gradient of a transpose, for dy = y, is x. */
static bool take_gradient(worker *w) {
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  rlo_engine *engine = draw_engine(w);
  if (!is_ok(w, rlo_tape_begin(engine, &tape), "rlo_tape_begin")) {
    return false;
  }
  bool is_done =
      make_matrix(w, engine, &x) &&
      is_ok(w, rlo_op_transpose(x, NULL, &y), "Transpose") &&
      is_ok(w, rlo_tape_gradients(tape, y, y, &x, 1, 0, &dx), "a gradient") &&
      expect_numbers(w, dx, "dx");
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(dx);
  return is_ok(w, rlo_tape_end(tape), "rlo_tape_end") && is_done;
}

/* Halves of two devices, gathered on both. */
static bool redistribute(worker *w) {
  static const int64_t half[] = {ROWS / 2, COLUMNS};
  const rlo_attribute items[] = {
      rlo_attribute_i64s("shape", dims, 2),
      rlo_attribute_string("from", "{devices=[2,1]<=[2]}"),
      rlo_attribute_string("to", "{replicated}")};
  const rlo_attributes attributes = {items, 3};
  rlo_engine *engine = draw_engine(w);
  const uint32_t *numbers = w->shared->numbers;
  rlo_shape shape;
  rlo_tensor *xs[2] = {NULL};
  rlo_tensor *ys[2] = {NULL};
  bool is_done =
      is_ok(w, rlo_shape_make(RLO_DTYPE_F32, half, 2, &shape), "a shape") &&
      is_ok(
          w, rlo_tensor_create(engine, &shape, numbers, &xs[0]), "a tensor") &&
      is_ok(w,
            rlo_tensor_create(engine, &shape, numbers + COUNT / 2, &xs[1]),
            "a tensor") &&
      is_ok(w,
            rlo_run_kernel(
                engine, "Redistribute", xs, 2, &attributes, ys, 2, NULL),
            "Redistribute") &&
      expect_numbers(w, ys[0], "copy 0") && expect_numbers(w, ys[1], "copy 1");
  for (int n = 0; n < 2; ++n) {
    rlo_tensor_release(xs[n]);
    rlo_tensor_release(ys[n]);
  }
  return is_done;
}

/* --------------------------------------------------------- jobs, exchanges */

/* Every eighth is cancelled, before or after its end. */
static bool wait_for_job(worker *w, rlo_job *job, int work) {
  size_t bytes = (size_t)problems[work].dst_bytes;
  bool is_cancelled = draw(w, 8) == 0;
  if (is_cancelled) {
    rlo_job_cancel(job);
  }
  if (!is_ok(w, rlo_job_wait(job, -1, NULL), "rlo_job_wait")) {
    return false;
  }
  rlo_status status = rlo_job_result(job);
  if (is_cancelled && status == RLO_CANCELLED) {
    return true;
  }
  return is_ok(w, status, "a job") &&
         (memcmp(w->after, w->shared->expected[work], bytes) == 0 ||
          complain(w, "a job's bytes"));
}

static bool run_job(worker *w) {
  const commons *s = w->shared;
  int work = draw(w, NUM_WORKS);
  rlo_storage *src = NULL;
  rlo_storage *dst = NULL;
  rlo_job *job = NULL;
  memcpy(w->after, s->before, sizeof w->after);
  bool is_done =
      is_ok(w,
            rlo_storage_from_const_memory(
                s->source, problems[work].src_bytes, &src),
            "a source") &&
      is_ok(w,
            rlo_storage_from_memory(w->after, problems[work].dst_bytes, &dst),
            "a destination") &&
      is_ok(
          w,
          rlo_service_submit(s->service, &problems[work], src, dst, NULL, &job),
          "rlo_service_submit") &&
      wait_for_job(w, job, work);
  rlo_job_release(job);
  rlo_storage_release(src);
  rlo_storage_release(dst);
  return is_done;
}

static rlo_status plan_exchange(rlo_redistribution **out_plan) {
  static const char *const texts[] = {"{devices=[2,1]<=[2]}",
                                      "{devices=[1,2]<=[2]}"};
  rlo_shape shape;
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &shape;
  options.to = &shape;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape);
  if (status == RLO_OK) {
    status =
        rlo_sharding_parse(texts[0], strlen(texts[0]), &options.from_sharding);
  }
  if (status == RLO_OK) {
    status =
        rlo_sharding_parse(texts[1], strlen(texts[1]), &options.to_sharding);
  }
  if (status == RLO_OK) {
    status = rlo_redistribution_create(&options, out_plan);
  }
  rlo_sharding_release(options.from_sharding);
  rlo_sharding_release(options.to_sharding);
  return status;
}

/* Rows become columns, between the thread's queue and the host. */
static bool exchange(worker *w) {
  const uint32_t *numbers = w->shared->numbers;
  uint32_t after[2][COUNT / 2];
  rlo_redistribution *plan = NULL;
  rlo_exchange *running = NULL;
  const rlo_exchange_member members[] = {{0, draw_context(w), w->queue},
                                         {.device = 1}};
  const rlo_exchange_memory memories[] = {
      {.src = w->src, .dst = w->dst},
      {.host_src = numbers + COUNT / 2, .host_dst = after[1]}};
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.members = members;
  options.num_members = 2;
  bool is_done = is_ok(w, plan_exchange(&plan), "a redistribution");
  options.plan = plan;
  is_done = is_done &&
            is_ok(w, rlo_exchange_create(&options, &running), "an exchange") &&
            is_ok(w, rlo_exchange_run(running, memories), "rlo_exchange_run");
  is_done = is_done && (clEnqueueReadBuffer(w->queue,
                                            w->dst,
                                            CL_TRUE,
                                            0,
                                            sizeof after[0],
                                            after[0],
                                            0,
                                            NULL,
                                            NULL) == CL_SUCCESS ||
                        complain(w, "clEnqueueReadBuffer"));
  for (int i = 0; is_done && i < COUNT; ++i) {
    int side = i % COLUMNS / (COLUMNS / 2);
    int at = i / COLUMNS * (COLUMNS / 2) + i % (COLUMNS / 2);
    is_done = after[side][at] == numbers[i] || complain(w, "the columns");
  }
  rlo_exchange_release(running);
  rlo_redistribution_release(plan);
  return is_done;
}

/* -------------------------------------------------------------------- host */

/* A thread's last error is its own. */
static bool make_error(worker *w) {
  char text[32];
  char message[sizeof w->complaint];
  rlo_shape shape;
  (void)snprintf(text, sizeof text, "f32[%d,oops]", draw(w, 1000000));
  if (rlo_shape_parse(text, strlen(text), &shape) != RLO_PARSE) {
    return complain(w, "no error");
  }
  (void)snprintf(message, sizeof message, "%s", rlo_error_last()->message);
  /* Others fail meanwhile. */
  (void)sched_yield();
  return strcmp(message, rlo_error_last()->message) == 0 ||
         complain(w, "another thread's error");
}

static bool run_on_host(worker *w) {
  const commons *s = w->shared;
  int work = draw(w, NUM_WORKS);
  memcpy(w->after, s->before, sizeof w->after);
  return is_ok(w,
               rlo_problem_run_host(&problems[work], s->source, w->after),
               "rlo_problem_run_host") &&
         (memcmp(w->after,
                 s->expected[work],
                 (size_t)problems[work].dst_bytes) == 0 ||
          complain(w, "the host's bytes"));
}

/* ----------------------------------------------------------------- threads */

static bool (*const kinds[])(worker *w) = {use_shared_plan,
                                           make_plan,
                                           make_context,
                                           use_wisdom,
                                           run_kernels,
                                           use_pending,
                                           take_gradient,
                                           redistribute,
                                           run_job,
                                           exchange,
                                           make_error,
                                           run_on_host};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

static bool open_desk(worker *w) {
  const commons *s = w->shared;
  cl_context context = rlo_context_cl_context(s->contexts[0]);
  cl_int code = CL_SUCCESS;
  w->queue = clCreateCommandQueue(
      context, rlo_context_cl_device(s->contexts[0]), 0, &code);
  if (code == CL_SUCCESS) {
    w->src = clCreateBuffer(context, 0, ARENA_BYTES, NULL, &code);
  }
  if (code == CL_SUCCESS) {
    w->dst = clCreateBuffer(context, 0, ARENA_BYTES, NULL, &code);
  }
  return (code == CL_SUCCESS && clEnqueueWriteBuffer(w->queue,
                                                     w->src,
                                                     CL_TRUE,
                                                     0,
                                                     ARENA_BYTES,
                                                     s->source,
                                                     0,
                                                     NULL,
                                                     NULL) == CL_SUCCESS) ||
         complain(w, "a desk");
}

static void close_desk(worker *w) {
  if (w->dst != NULL) {
    clReleaseMemObject(w->dst);
  }
  if (w->src != NULL) {
    clReleaseMemObject(w->src);
  }
  if (w->queue != NULL) {
    clReleaseCommandQueue(w->queue);
  }
}

static void work(void *payload) {
  worker *w = payload;
  bool is_fine = open_desk(w);
  for (int turn = 0; is_fine && (turn < LEAST_TURNS ||
                                 rlo__clock_seconds() < w->shared->end_seconds);
       ++turn) {
    int kind = draw(w, NUM_KINDS);
    is_fine = kinds[kind](w);
    ++w->num_turns[kind];
  }
  close_desk(w);
}

static void open_commons(commons *s, double seconds) {
  temp_folder_make(s->folder);
  (void)snprintf(s->wisdom, sizeof s->wisdom, "%s/wisdom", s->folder);
  test_fill_unique(s->source, ARENA_BYTES, 4, 1);
  test_fill_unique(s->before, ARENA_BYTES, 4, 2);
  memcpy(s->numbers, s->source, sizeof s->numbers);
  for (int i = 0; i < NUM_WORKS; ++i) {
    rlo_shape src;
    rlo_shape dst;
    expect_ok(rlo_shape_parse(works[i].src, strlen(works[i].src), &src));
    expect_ok(rlo_shape_parse(works[i].dst, strlen(works[i].dst), &dst));
    expect_ok(
        rlo_relayout_lower(&src, &dst, works[i].permutation, &problems[i]));
    memcpy(s->expected[i], s->before, ARENA_BYTES);
    expect_ok(rlo_problem_run_host(&problems[i], s->source, s->expected[i]));
  }
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = s->folder;
  expect_ok(rlo_context_create_default(-1, &options, &s->contexts[0]));
  expect_ok(rlo_context_create(rlo_context_cl_context(s->contexts[0]),
                               rlo_context_cl_device(s->contexts[0]),
                               &options,
                               &s->contexts[1]));
  for (int i = 0; i < NUM_WORKS; ++i) {
    rlo_plan_options measured = RLO_PLAN_OPTIONS_INIT;
    measured.effort =
        seconds > usual_seconds ? RLO_EFFORT_MEASURE : RLO_EFFORT_ESTIMATE;
    expect_ok(rlo_plan_create(
        s->contexts[i % 2], &problems[i], &measured, &s->plans[i]));
  }
  expect_ok(rlo_context_save_wisdom(s->contexts[0], s->wisdom));
  for (int n = 0; n < 2; ++n) {
    rlo_engine_options with = RLO_ENGINE_OPTIONS_INIT;
    with.context = s->contexts[n];
    with.is_fusing = n == 1;
    expect_ok(rlo_engine_create(&with, &s->engines[n]));
  }
  rlo_shape shape;
  rlo_tensor *x = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape));
  expect_ok(rlo_tensor_create(s->engines[1], &shape, s->numbers, &x));
  expect_ok(rlo_op_transpose(x, NULL, &s->pending));
  rlo_tensor_release(x);
  rlo_service_options service = RLO_SERVICE_OPTIONS_INIT;
  service.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  service.io_threads = 3;
  expect_ok(rlo_service_create(s->contexts, 2, &service, &s->service));
  s->end_seconds = rlo__clock_seconds() + seconds;
}

static void close_commons(commons *s) {
  rlo_service_release(s->service);
  rlo_tensor_release(s->pending);
  for (int n = 0; n < 2; ++n) {
    ck_assert_int_eq(rlo_engine_live_tensors(s->engines[n]), 0);
    rlo_engine_release(s->engines[n]);
  }
  for (int i = 0; i < NUM_WORKS; ++i) {
    rlo_plan_release(s->plans[i]);
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
  commons *shared = calloc(1, sizeof *shared);
  worker *workers = calloc(NUM_THREADS, sizeof *workers);
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
    for (int kind = 0; kind < NUM_KINDS; ++kind) {
      num_turns += workers[i].num_turns[kind];
      workers[0].num_turns[kind] += i > 0 ? workers[i].num_turns[kind] : 0;
    }
  }
  printf("%lld operations of %d threads in %.0f s\n",
         (long long)num_turns,
         (int)NUM_THREADS,
         seconds);
  for (int i = 0; i < NUM_THREADS; ++i) {
    ck_assert_msg(workers[i].complaint[0] == '\0',
                  "thread %d: %s",
                  i,
                  workers[i].complaint);
  }
  for (int kind = 0; kind < NUM_KINDS; ++kind) {
    ck_assert_int_gt(workers[0].num_turns[kind], 0);
  }
  close_commons(shared);
  free(workers);
  free(shared);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
