/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "device/mixed/mixed.h"
#include "relayout/attributes.h"
#include "relayout/backend.h"
#include "relayout/engine_ops.h"
#include "relayout/exchange.h"
#include "relayout/gradient.h"
#include "relayout/ops.h"
#include "relayout/scope.h"
#include "relayout/text.h"

enum { GUARD = 0xa5, GUARD_BYTES = 64 };

static const int64_t dims[] = {MIXED_ROWS, MIXED_COLUMNS};

bool mixed_complain(mixed_worker *w, const char *what) {
  (void)snprintf(w->complaint, sizeof w->complaint, "%s: %s", what, rlo_error_last()->message);
  return false;
}

static bool is_ok(mixed_worker *w, rlo_status status, const char *what) {
  return status == RLO_OK || mixed_complain(w, what);
}

static int draw(mixed_worker *w, int count) {
  return (int)test_random_in(&w->random, 0, count - 1);
}

static const mixed_work *draw_work(mixed_worker *w) {
  return &w->shared->works[draw(w, MIXED_NUM_WORKS)];
}

static rlo_context *draw_context(mixed_worker *w) {
  return w->shared->contexts[draw(w, 2)];
}

static rlo_engine *draw_engine(mixed_worker *w) {
  return w->shared->engines[draw(w, 2)];
}

/* --------------------------------------------------------- plans, contexts */

/* From the thread's source to its destination, at offsets that are drawn, by
 * events alone on a queue that keeps no order; with what is beside it,
 * compared. */
static bool run_plan(mixed_worker *w, rlo_plan *plan, const mixed_work *work) {
  const mixed_commons *s = w->shared;
  const size_t bytes = (size_t)work->problem.dst_bytes;
  const size_t element = (size_t)work->problem.unit_bits / 8;
  const size_t src_at = draw(w, 2) == 0 ? 0 : element * (size_t)draw(w, 17);
  const size_t dst_at = draw(w, 2) == 0 ? 0 : element * (size_t)draw(w, 17);
  const size_t all = dst_at + bytes + GUARD_BYTES;
  cl_command_queue queue = draw(w, 2) == 0 ? w->queue : w->unordered;
  cl_event events[2] = {NULL, NULL};
  cl_event done = NULL;
  memset(w->after, GUARD, all);
  memcpy(w->after + dst_at, s->before, bytes);
  cl_int code =
      clEnqueueWriteBuffer(queue, w->src, CL_FALSE, src_at, (size_t)work->problem.src_bytes,
                           s->source, 0, NULL, &events[0]);
  code |= clEnqueueWriteBuffer(queue, w->dst, CL_FALSE, 0, all, w->after, 0, NULL, &events[1]);
  if (code != CL_SUCCESS) {
    return mixed_complain(w, "clEnqueueWriteBuffer");
  }
  rlo_status status =
      rlo_enqueue(plan, queue, w->src, (int64_t)src_at, w->dst, (int64_t)dst_at, 2, events, &done);
  clReleaseEvent(events[0]);
  clReleaseEvent(events[1]);
  if (!is_ok(w, status, "rlo_enqueue")) {
    (void)clFinish(queue);
    return false;
  }
  code = clEnqueueReadBuffer(queue, w->dst, CL_TRUE, 0, all, w->after, 1, &done, NULL);
  clReleaseEvent(done);
  bool is_kept = code == CL_SUCCESS;
  for (size_t k = 0; k < all; ++k) {
    is_kept = is_kept && ((k >= dst_at && k < dst_at + bytes) || w->after[k] == GUARD);
  }
  return (code == CL_SUCCESS || mixed_complain(w, "clEnqueueReadBuffer")) &&
         ((is_kept && memcmp(w->after + dst_at, work->expected, bytes) == 0) ||
          mixed_complain(w, work->dst));
}

static bool use_shared_plan(mixed_worker *w) {
  const mixed_work *work = draw_work(w);
  rlo_plan *plan = rlo_plan_retain(work->plan);
  bool is_done = run_plan(w, plan, work);
  rlo_plan_release(plan);
  return is_done;
}

static void ignore_prepared(void *payload, rlo_status status) {
  (void)payload;
  (void)status;
}

static bool use_plan_of(mixed_worker *w, rlo_context *context) {
  const mixed_work *work = draw_work(w);
  rlo_plan *plan = NULL;
  if (!is_ok(w, rlo_plan_create(context, &work->problem, NULL, &plan), "rlo_plan_create")) {
    return false;
  }
  int way = draw(w, 3);
  bool is_done = (way != 1 || is_ok(w, rlo_plan_prepare(plan), "rlo_plan_prepare")) &&
                 (way != 2 || is_ok(w, rlo_plan_prepare_async(plan, ignore_prepared, NULL),
                                    "rlo_plan_prepare_async")) &&
                 run_plan(w, plan, work);
  rlo_plan_release(plan);
  return is_done;
}

static bool make_plan(mixed_worker *w) {
  return use_plan_of(w, draw_context(w));
}

static bool open_context(mixed_worker *w, rlo_context **out_context) {
  const mixed_commons *s = w->shared;
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = s->folder;
  /* Programs come and go in the folder too. */
  options.cache_limit_bytes = 1 << 20;
  return is_ok(w,
               rlo_context_create(rlo_context_cl_context(s->contexts[0]),
                                  rlo_context_cl_device(s->contexts[0]), &options, out_context),
               "rlo_context_create");
}

/* Its programs come from the folder, or are built while others are. */
static bool make_context(mixed_worker *w) {
  rlo_context *context = NULL;
  /* Contexts are rarely opened: a driver's builds take longest. */
  if (draw(w, 32) != 0) {
    rlo_context_release(rlo_context_retain(draw_context(w)));
    return true;
  }
  bool is_done = open_context(w, &context) && use_plan_of(w, context);
  rlo_context_release(context);
  return is_done;
}

static bool use_wisdom(mixed_worker *w) {
  const mixed_commons *s = w->shared;
  char text[4096];
  rlo_context *context = draw_context(w);
  switch (draw(w, 4)) {
    case 0:
      return is_ok(w, rlo_context_save_wisdom(context, s->wisdom), "rlo_context_save_wisdom");
    case 1:
      return is_ok(w, rlo_context_load_wisdom(context, s->wisdom, NULL, NULL),
                   "rlo_context_load_wisdom");
    default: {
      size_t length = rlo_context_export_wisdom(context, text, sizeof text);
      return length >= sizeof text ||
             is_ok(w, rlo_context_import_wisdom(draw_context(w), text, length, NULL, NULL),
                   "rlo_context_import_wisdom");
    }
  }
}

/* ----------------------------------------------------------------- engines */

static bool make_matrix(mixed_worker *w, rlo_engine *engine, rlo_tensor **out_x) {
  rlo_shape shape;
  return is_ok(w, rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape), "a shape") &&
         is_ok(w, rlo_tensor_create(engine, &shape, w->shared->numbers, out_x),
               "rlo_tensor_create");
}

static bool expect_numbers(mixed_worker *w, rlo_tensor *x, const char *what) {
  return is_ok(w, rlo_tensor_read(x, w->after, sizeof w->shared->numbers), what) &&
         (memcmp(w->after, w->shared->numbers, sizeof w->shared->numbers) == 0 ||
          mixed_complain(w, what));
}

/* Transposed, upside down and back; a scope releases what is in between. */
static bool turn_matrix(mixed_worker *w, rlo_engine *engine, rlo_tensor **out_y) {
  static const int64_t first[] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *turned = NULL;
  rlo_tensor *reversed = NULL;
  rlo_tensor *again = NULL;
  return make_matrix(w, engine, &x) && is_ok(w, rlo_op_transpose(x, NULL, &turned), "Transpose") &&
         is_ok(w, rlo_op_reverse(turned, first, 1, &reversed), "Reverse") &&
         is_ok(w, rlo_op_reverse(reversed, first, 1, &again), "Reverse") &&
         is_ok(w, rlo_op_transpose(again, NULL, out_y), "Transpose");
}

static bool run_kernels(mixed_worker *w) {
  rlo_engine *engine = draw_engine(w);
  rlo_scope *scope = NULL;
  rlo_tensor *y = NULL;
  if (!is_ok(w, rlo_scope_begin(engine, &scope), "rlo_scope_begin")) {
    return false;
  }
  bool is_done = turn_matrix(w, engine, &y) && expect_numbers(w, y, "y");
  return is_ok(w, rlo_scope_end(scope), "rlo_scope_end") && is_done;
}

static bool use_pending(mixed_worker *w) {
  rlo_tensor *y = NULL;
  bool is_done = is_ok(w, rlo_op_transpose(w->shared->pending, NULL, &y), "Transpose") &&
                 expect_numbers(w, y, "the pending tensor");
  rlo_tensor_release(y);
  return is_done;
}

/* The gradient of a transpose, for dy = y, is x. */
static bool take_gradient(mixed_worker *w) {
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  rlo_engine *engine = draw_engine(w);
  if (!is_ok(w, rlo_tape_begin(engine, &tape), "rlo_tape_begin")) {
    return false;
  }
  bool is_done = make_matrix(w, engine, &x) &&
                 is_ok(w, rlo_op_transpose(x, NULL, &y), "Transpose") &&
                 is_ok(w, rlo_tape_gradients(tape, y, y, &x, 1, 0, &dx), "a gradient") &&
                 expect_numbers(w, dx, "dx");
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(dx);
  return is_ok(w, rlo_tape_end(tape), "rlo_tape_end") && is_done;
}

/* --------------------------------------------------------- jobs, exchanges */

/* Every eighth is cancelled, before or after its end. */
static bool wait_for_job(mixed_worker *w, rlo_job *job, const mixed_work *work) {
  size_t bytes = (size_t)work->problem.dst_bytes;
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
         (memcmp(w->after, work->expected, bytes) == 0 || mixed_complain(w, "a job's bytes"));
}

static bool run_job(mixed_worker *w) {
  const mixed_commons *s = w->shared;
  const mixed_work *work = draw_work(w);
  rlo_storage *src = NULL;
  rlo_storage *dst = NULL;
  rlo_job *job = NULL;
  memcpy(w->after, s->before, sizeof w->after);
  bool is_done =
      is_ok(w, rlo_storage_from_const_memory(s->source, work->problem.src_bytes, &src),
            "a source") &&
      is_ok(w, rlo_storage_from_memory(w->after, work->problem.dst_bytes, &dst), "a destination") &&
      is_ok(w, rlo_service_submit(s->service, &work->problem, src, dst, NULL, &job),
            "rlo_service_submit") &&
      wait_for_job(w, job, work);
  rlo_job_release(job);
  rlo_storage_release(src);
  rlo_storage_release(dst);
  return is_done;
}

static rlo_status plan_exchange(rlo_redistribution **out_plan) {
  static const char *const texts[] = {"{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}"};
  rlo_shape shape;
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &shape;
  options.to = &shape;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape);
  if (status == RLO_OK) {
    status = rlo_sharding_parse(texts[0], strlen(texts[0]), &options.from_sharding);
  }
  if (status == RLO_OK) {
    status = rlo_sharding_parse(texts[1], strlen(texts[1]), &options.to_sharding);
  }
  if (status == RLO_OK) {
    status = rlo_redistribution_create(&options, out_plan);
  }
  rlo_sharding_release(options.from_sharding);
  rlo_sharding_release(options.to_sharding);
  return status;
}

/* Rows become columns, between the thread's queue and the host. */
static bool exchange(mixed_worker *w) {
  const uint32_t *numbers = w->shared->numbers;
  uint32_t after[2][MIXED_COUNT / 2];
  rlo_redistribution *plan = NULL;
  rlo_exchange *running = NULL;
  const rlo_exchange_member members[] = {{0, draw_context(w), w->queue}, {.device = 1}};
  const rlo_exchange_memory memories[] = {
      {.src = w->src, .dst = w->dst},
      {.host_src = numbers + MIXED_COUNT / 2, .host_dst = after[1]}};
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.members = members;
  options.num_members = 2;
  bool is_done = is_ok(w, plan_exchange(&plan), "a redistribution");
  options.plan = plan;
  is_done = is_done &&
            (clEnqueueWriteBuffer(w->queue, w->src, CL_TRUE, 0, sizeof w->shared->numbers, numbers,
                                  0, NULL, NULL) == CL_SUCCESS ||
             mixed_complain(w, "clEnqueueWriteBuffer")) &&
            is_ok(w, rlo_exchange_create(&options, &running), "an exchange") &&
            is_ok(w, rlo_exchange_run(running, memories), "rlo_exchange_run");
  is_done = is_done && (clEnqueueReadBuffer(w->queue, w->dst, CL_TRUE, 0, sizeof after[0], after[0],
                                            0, NULL, NULL) == CL_SUCCESS ||
                        mixed_complain(w, "clEnqueueReadBuffer"));
  for (int i = 0; is_done && i < MIXED_COUNT; ++i) {
    int side = i % MIXED_COLUMNS / (MIXED_COLUMNS / 2);
    int at = i / MIXED_COLUMNS * (MIXED_COLUMNS / 2) + i % (MIXED_COLUMNS / 2);
    is_done = after[side][at] == numbers[i] || mixed_complain(w, "the columns");
  }
  rlo_exchange_release(running);
  rlo_redistribution_release(plan);
  return is_done;
}

/* -------------------------------------------------------------------- host */

/* A thread's last error is its own. */
static bool make_error(mixed_worker *w) {
  char text[32];
  char message[sizeof w->complaint];
  rlo_shape shape;
  (void)snprintf(text, sizeof text, "f32[%d,oops]", draw(w, 1000000));
  if (rlo_shape_parse(text, strlen(text), &shape) != RLO_PARSE) {
    return mixed_complain(w, "no error");
  }
  (void)snprintf(message, sizeof message, "%s", rlo_error_last()->message);
  /* Others fail meanwhile. */
  (void)sched_yield();
  return strcmp(message, rlo_error_last()->message) == 0 ||
         mixed_complain(w, "another thread's error");
}

static bool run_on_host(mixed_worker *w) {
  const mixed_commons *s = w->shared;
  const mixed_work *work = draw_work(w);
  memcpy(w->after, s->before, sizeof w->after);
  return is_ok(w, rlo_problem_run_host(&work->problem, s->source, w->after),
               "rlo_problem_run_host") &&
         (memcmp(w->after, work->expected, (size_t)work->problem.dst_bytes) == 0 ||
          mixed_complain(w, "the host's bytes"));
}

/* ------------------------------------------------------------------- kinds */

bool (*const mixed_kinds[MIXED_NUM_KINDS])(mixed_worker *w) = {
    use_shared_plan, make_plan, make_context, use_wisdom, run_kernels, use_pending,
    take_gradient,   run_job,   exchange,     make_error, run_on_host};
