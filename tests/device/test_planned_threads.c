/* SPDX-License-Identifier: Apache-2.0 */
/* Planning leaves work for later, and a context remembers it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

enum { ELEMENTS = 1024, BYTES = 4 * ELEMENTS, ROOM = BYTES + 256, THREADS = 6 };

static rlo_problem copy, other;
static cl_mem src, dst;

static void begin_file(void) {
  test_device_optimise(false);
  open_device();
  /* Wide units where memory is aligned, and elements where it is not. */
  copy = test_problem_of("f32[1024]", "f32[1024]", NULL);
  /* A small transposition is the same for both. */
  other = test_problem_of("f32[32,32]", "f32[32,32]", "1,0");
  expect_ok(rlo_buffer_create(device.context, ROOM, &src));
  expect_ok(rlo_buffer_create(device.context, ROOM, &dst));
}

static void end_file(void) {
  rlo_buffer_release(device.context, src);
  rlo_buffer_release(device.context, dst);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(120);

/* The work since the last call: how often the planner ran, a program was asked
 * for, and a launch was known. */
typedef struct done {
  int64_t planned, programs, hits;
} done;

static done take_done(void) {
  static done before;
  rlo_context *context = device.context;
  rlo_context_stats stats = test_context_stats(context);
  const done now = {atomic_load(&context->planned),
                    stats.programs_built + stats.program_hits + stats.disk_hits,
                    context->memo.num_hits};
  const done since = {now.planned - before.planned, now.programs - before.programs,
                      now.hits - before.hits};
  before = now;
  return since;
}

#define EXPECT_DONE(num_planned, num_programs, num_hits) \
  do {                                                   \
    const done since_ = take_done();                     \
    ck_assert_int_eq(since_.planned, num_planned);       \
    ck_assert_int_eq(since_.programs, num_programs);     \
    ck_assert_int_eq(since_.hits, num_hits);             \
  } while (0)

static rlo_status enqueue_at(rlo_plan *plan, int64_t offset_bytes) {
  return rlo_enqueue(plan, device.queue, src, 64, dst, offset_bytes, 0, NULL, NULL);
}

/* Nothing is remembered, and nothing counted. */
static void begin_anew(void) {
  rlo_context_clear_wisdom(device.context);
  (void)take_done();
}

RLO_TEST(test_planned__does_what_is_needed_when_it_is_needed) {
  begin_anew();
  rlo_plan *plan = test_context_plan(device.context, &copy, NULL);
  EXPECT_DONE(1, 0, 0);
  expect_ok(enqueue_at(plan, 64));
  EXPECT_DONE(0, 1, 0);
  expect_ok(enqueue_at(plan, 128));
  EXPECT_DONE(0, 0, 0);
  expect_ok(enqueue_at(plan, 4));
  EXPECT_DONE(1, 1, 0);
  expect_ok(enqueue_at(plan, 8));
  expect_ok(rlo_plan_prepare(plan));
  EXPECT_DONE(0, 0, 0);
  expect_cl(clFinish(device.queue));

  /* One that is the same for any memory has one program. */
  rlo_plan *same = test_context_plan(device.context, &other, NULL);
  expect_ok(enqueue_at(same, 64));
  EXPECT_DONE(1, 1, 0);
  rlo_context_stats before = test_context_stats(device.context);
  expect_ok(enqueue_at(same, 4));
  expect_ok(enqueue_at(same, 4));
  EXPECT_DONE(1, 1, 0);
  rlo_context_stats after = test_context_stats(device.context);
  /* A GPU's lanes move wider units where memory is aligned. */
  ck_assert(before.programs_built == after.programs_built || test_device_is_gpu(&device));
  expect_cl(clFinish(device.queue));
  rlo_plan_release(plan);
  rlo_plan_release(same);
}

RLO_TEST(test_planned__prepare_leaves_nothing_for_enqueue) {
  begin_anew();
  rlo_plan *plan = test_context_plan(device.context, &copy, NULL);
  expect_ok(rlo_plan_prepare(plan));
  EXPECT_DONE(2, 2, 0);
  expect_ok(enqueue_at(plan, 64));
  expect_ok(enqueue_at(plan, 4));
  EXPECT_DONE(0, 0, 0);
  expect_cl(clFinish(device.queue));
  rlo_plan_release(plan);
}

RLO_TEST(test_planned__is_remembered) {
  begin_anew();
  rlo_plan *plan = test_context_plan(device.context, &copy, NULL);
  expect_ok(rlo_plan_prepare(plan));
  rlo_plan_info info = test_plan_info_of(plan);
  char parameters[160];
  strcpy(parameters, info.parameters);
  const char *family = info.family;
  rlo_plan_release(plan);
  (void)take_done();

  /* After the plan has gone: one allocation, the plan. */
  const rlo_plan_options defaults = RLO_PLAN_OPTIONS_INIT;
  rlo__alloc_set_fault(0, false);
  rlo_plan *again = test_context_plan(device.context, &copy, &defaults);
  ck_assert_int_le(rlo__alloc_tried_count(), 1);
  info = test_plan_info_of(again);
  ck_assert_str_eq(info.family, family);
  ck_assert_str_eq(info.parameters, parameters);
  ck_assert_int_eq(info.src_bytes, BYTES);
  expect_ok(enqueue_at(again, 64));
  expect_ok(enqueue_at(again, 4));
  EXPECT_DONE(0, 0, 2);
  expect_cl(clFinish(device.queue));
  rlo_plan_release(again);
}

RLO_TEST(test_planned__what_differs_is_planned_anew) {
  begin_anew();
  rlo_plan *plans[9];
  int32_t count = 0;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  plans[count++] = test_context_plan(device.context, &copy, NULL);
  options.is_aligned = true;
  plans[count++] = test_context_plan(device.context, &copy, &options);
  EXPECT_DONE(1, 0, 1);
  /* A promise is the plan's. */
  expect_ok(enqueue_at(plans[0], 4));
  ck_assert_int_eq(enqueue_at(plans[1], 4), RLO_UNSUPPORTED);
  expect_cl(clFinish(device.queue));
  (void)take_done();
  options.is_aligned = false;
  options.device_class = test_device_is_gpu(&device) ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  plans[count++] = test_context_plan(device.context, &copy, &options);
  static rlo_problem more;
  more = copy;
  ++more.read_bytes;
  plans[count++] = test_context_plan(device.context, &more, NULL);
  EXPECT_DONE(2, 0, 0);

  /* So is what the caller forces. */
  options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  options.family = "gather";
  plans[count++] = test_context_plan(device.context, &copy, &options);
  options.schedule = "output order";
  plans[count++] = test_context_plan(device.context, &copy, &options);
  EXPECT_DONE(2, 0, 0);
  plans[count++] = test_context_plan(device.context, &copy, &options);
  EXPECT_DONE(0, 0, 1);

  /* Options are checked, whatever is known. */
  rlo_plan *none = NULL;
  options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  options.measure_seconds = -1.0;
  ck_assert_int_eq(rlo_plan_create(device.context, &copy, &options, &none), RLO_INVALID_ARGUMENT);
  options.struct_size = 3;
  ck_assert_int_eq(rlo_plan_create(device.context, &copy, &options, &none), RLO_INVALID_ARGUMENT);
  more.num_guards = -1;
  ck_assert_int_eq(rlo_plan_create(device.context, &more, NULL, &none), RLO_INVALID_ARGUMENT);

  /* Wisdom may decide otherwise. */
  (void)take_done();
  plans[count++] = test_context_plan(device.context, &copy, NULL);
  EXPECT_DONE(0, 0, 1);
  expect_ok(rlo_context_import_wisdom(device.context, "relayout-wisdom\t1\n", 18, NULL, NULL));
  plans[count++] = test_context_plan(device.context, &copy, NULL);
  EXPECT_DONE(1, 0, 0);
  for (int32_t n = 0; n < count; ++n) {
    rlo_plan_release(plans[n]);
  }
}

RLO_TEST(test_planned__remembers_so_many) {
  begin_anew();
  static rlo_problem many;
  many = copy;
  for (int32_t n = 0; n < 400; ++n) {
    ++many.read_bytes;
    rlo_plan_release(test_context_plan(device.context, &many, NULL));
  }
  EXPECT_DONE(400, 0, 0);
  ck_assert_uint_eq(device.context->memo.table.count, 256);
  rlo_plan_release(test_context_plan(device.context, &many, NULL));
  EXPECT_DONE(0, 0, 1);
  many.read_bytes -= 399;
  rlo_plan_release(test_context_plan(device.context, &many, NULL));
  EXPECT_DONE(1, 0, 0);
}

/* An enqueue that has to plan fails as a plan does, and may be repeated. */
RLO_TEST(test_planned__a_second_launch_survives_running_out_of_memory) {
  begin_anew();
  int64_t live = rlo__alloc_live_count();
  rlo_plan *plan = test_context_plan(device.context, &copy, NULL);
  expect_ok(enqueue_at(plan, 64));
  rlo_context_stats after = RLO_CONTEXT_STATS_INIT;
  rlo_context_stats before = test_context_stats(device.context);
  rlo_status status = RLO_OUT_OF_MEMORY;
  int64_t nth = 1;
  for (; status == RLO_OUT_OF_MEMORY; ++nth) {
    ck_assert_int_le(nth, 100);
    rlo__alloc_set_fault(nth, false);
    status = enqueue_at(plan, 4);
    rlo__alloc_set_fault(0, false);
    after = test_context_stats(device.context);
    ck_assert_int_eq(after.launches - before.launches, status == RLO_OK);
  }
  expect_ok(status);
  ck_assert_int_ge(nth, 4);
  expect_cl(clFinish(device.queue));
  rlo_plan_release(plan);
  rlo_context_clear_wisdom(device.context);
  ck_assert_int_le(rlo__alloc_live_count(), live + 8);
}

static void ask(void *payload) {
  rlo_plan **plan = payload;
  for (int32_t n = 0; n < 200; ++n) {
    rlo_plan *one = NULL;
    if (rlo_plan_create(device.context, n % 2 == 0 ? &copy : &other, NULL, &one) != RLO_OK ||
        rlo_enqueue(*plan, device.queue, src, 64, dst, 4, 0, NULL, NULL) != RLO_OK) {
      abort();
    }
    rlo_plan_release(one);
    if (n % 50 == 0) {
      rlo_context_clear_wisdom(device.context);
    }
  }
}

/* All at once: create equal plans, forget them, and need the second launch. */
RLO_TEST(test_planned__many_may_ask_at_once) {
  rlo_plan *plan = test_context_plan(device.context, &copy, NULL);
  begin_anew();
  rlo__thread threads[THREADS];
  for (int32_t t = 0; t < THREADS; ++t) {
    expect_ok(rlo__thread_start(ask, &plan, &threads[t]));
  }
  for (int32_t t = 0; t < THREADS; ++t) {
    rlo__thread_join(&threads[t]);
  }
  expect_cl(clFinish(device.queue));
  const done since = take_done();
  /* Once after each forgetting, or as often as threads met there. */
  ck_assert_int_le(since.planned, 1 + 2 * THREADS * (4 * THREADS + 1));
  ck_assert_int_gt(since.hits, 0);
  /* Each launch asks for its program once, or as often as threads met there. */
  ck_assert_int_le(since.programs, 2 * THREADS);
  rlo_plan_release(plan);
}
