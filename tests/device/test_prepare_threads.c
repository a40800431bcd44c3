/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing plans on the context's thread, and letting go of things meanwhile.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

enum { NUM_PLANS = 3, NUM_ASKERS = 4, NUM_TURNS = 25 };

/** Programs that are quickly compiled. */
static const char *const texts[NUM_PLANS] = {"f64[1000]", "u8[4096]", "f32[20,40]"};

static rlo_context *open_context(void) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  rlo_context *context = NULL;
  options.cache_dir = "";
  expect_ok(rlo_context_create_default(-1, &options, &context));
  return context;
}

static rlo_plan *create_plan(rlo_context *context, const char *text) {
  const rlo_problem problem = test_problem_of(text, text, NULL);
  return test_context_plan(context, &problem, NULL);
}

/** The record that callbacks leave. */
typedef struct answer {
  atomic_int num_calls;
  rlo_status status;
  char message[256];
  rlo__thread asker;
  bool is_on_asker;
  /** Released in the callback; NULL: nothing. */
  rlo_plan *plan;
  rlo_context *context;
} answer;

static void take_answer(void *payload, rlo_status status) {
  answer *a = payload;
  a->status = status;
  a->is_on_asker = rlo__thread_is_current(&a->asker);
  a->message[0] = '\0';
  if (status != RLO_OK) {
    snprintf(a->message, sizeof a->message, "%s", rlo_error_last()->message);
  }
  rlo_plan_release(a->plan);
  rlo_context_release(a->context);
  atomic_fetch_add(&a->num_calls, 1);
}

static void begin_answer(answer *a) {
  memset(a, 0, sizeof *a);
  atomic_init(&a->num_calls, 0);
  a->asker.handle = pthread_self();
}

static void sleep_ms(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

/** Polls of 5 ms before a test gives up: five minutes, as a kernel is compiled
 *  meanwhile, perhaps with a sanitizer, on a machine that is busy. */
enum { MOST_POLLS = 60000 };

static void wait_for_calls(answer *a, int32_t count) {
  for (int32_t i = 0; i < MOST_POLLS && atomic_load(&a->num_calls) < count; ++i) {
    sleep_ms(5);
  }
  ck_assert_int_eq(atomic_load(&a->num_calls), count);
}

/** Waits until another thread has freed what it still holds. */
static void wait_for_live_count(int64_t live) {
  for (int32_t i = 0; i < MOST_POLLS && rlo__alloc_live_count() > live; ++i) {
    sleep_ms(5);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

static int64_t programs_built(const rlo_context *context) {
  rlo_context_stats stats = test_context_stats(context);
  return stats.programs_built;
}

RLO_TIMEOUT(300);

RLO_TEST(test_prepare_threads__prepares_elsewhere_and_calls_once) {
  rlo_context *context = open_context();
  rlo_plan *plan = create_plan(context, texts[0]);
  answer a;
  begin_answer(&a);
  ck_assert_int_eq(programs_built(context), 0);
  expect_ok(rlo_plan_prepare_async(plan, take_answer, &a));
  wait_for_calls(&a, 1);
  expect_ok(a.status);
  ck_assert(!a.is_on_asker);
  int64_t built = programs_built(context);
  ck_assert_int_ge(built, 1);
  expect_ok(rlo_plan_prepare(plan));
  ck_assert_int_eq(programs_built(context), built);
  /* Once more is legal, and is answered once more. */
  expect_ok(rlo_plan_prepare_async(plan, take_answer, &a));
  wait_for_calls(&a, 2);
  rlo_plan_release(plan);
  rlo_context_release(context);
  ck_assert_int_eq(atomic_load(&a.num_calls), 2);
}

RLO_TEST(test_prepare_threads__tells_why_it_failed) {
  rlo_context *context = open_context();
  rlo_plan *first = create_plan(context, texts[0]);
  rlo_plan *second = create_plan(context, texts[2]);
  answer a;
  begin_answer(&a);
  /* So that there is a thread, and the second job is one allocation. */
  expect_ok(rlo_plan_prepare_async(first, take_answer, &a));
  wait_for_calls(&a, 1);
  rlo__alloc_set_fault(2, true);
  rlo_status status = rlo_plan_prepare_async(second, take_answer, &a);
  wait_for_calls(&a, 2);
  rlo__alloc_set_fault(0, false);
  expect_ok(status);
  ck_assert_int_eq(a.status, RLO_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(a.message, "bytes"));
  /* And when there is not even memory for the job, nobody is called. */
  rlo__alloc_set_fault(1, true);
  ck_assert_int_eq(rlo_plan_prepare_async(second, take_answer, &a), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_int_eq(rlo_plan_prepare_async(NULL, take_answer, &a), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_plan_prepare_async(second, NULL, &a), RLO_INVALID_ARGUMENT);
  rlo_plan_release(first);
  rlo_plan_release(second);
  rlo_context_release(context);
  ck_assert_int_eq(atomic_load(&a.num_calls), 2);
}

RLO_TEST(test_prepare_threads__last_release_waits_for_the_callbacks) {
  int64_t live = rlo__alloc_live_count();
  answer a;
  begin_answer(&a);
  rlo_context *context = open_context();
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    rlo_plan *plan = create_plan(context, texts[i]);
    expect_ok(rlo_plan_prepare_async(plan, take_answer, &a));
    rlo_plan_release(plan);
  }
  rlo_context_release(rlo_context_retain(context));
  rlo_context_release(context);
  ck_assert_int_eq(atomic_load(&a.num_calls), NUM_PLANS);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

/* The context ends on its own thread, which cannot wait for itself. */
RLO_TEST(test_prepare_threads__everything_may_be_released_in_a_callback) {
  int64_t live = rlo__alloc_live_count();
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    answer a;
    begin_answer(&a);
    a.context = open_context();
    a.plan = create_plan(a.context, texts[i]);
    expect_ok(rlo_plan_prepare_async(a.plan, take_answer, &a));
    wait_for_calls(&a, 1);
    expect_ok(a.status);
    /* The plan is retained until the callback has returned. */
    wait_for_live_count(live);
  }
}

/* The plan alone holds the context, and its job holds the plan. */
RLO_TEST(test_prepare_threads__a_plan_outlives_the_context_of_its_users) {
  int64_t live = rlo__alloc_live_count();
  answer a;
  begin_answer(&a);
  rlo_context *context = open_context();
  rlo_plan *plan = create_plan(context, texts[1]);
  rlo_context_release(context);
  expect_ok(rlo_plan_prepare_async(plan, take_answer, &a));
  rlo_plan_release(plan);
  wait_for_calls(&a, 1);
  expect_ok(a.status);
  wait_for_live_count(live);
}

typedef struct asker {
  rlo__thread thread;
  rlo_plan *const *plans;
  answer answer;
  int32_t num_accepted;
} asker;

static void ask(void *payload) {
  asker *one = payload;
  for (int32_t i = 0; i < NUM_TURNS; ++i) {
    rlo_plan *plan = one->plans[i % NUM_PLANS];
    if (rlo_plan_prepare_async(plan, take_answer, &one->answer) == RLO_OK) {
      one->num_accepted += 1;
    }
    if (i % 5 == 0 && rlo_plan_prepare(plan) != RLO_OK) {
      one->num_accepted = -1000;
    }
  }
}

RLO_TEST(test_prepare_threads__many_may_ask_at_once) {
  rlo_context *context = open_context();
  rlo_plan *plans[NUM_PLANS];
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    plans[i] = create_plan(context, texts[i]);
  }
  asker *askers = calloc(NUM_ASKERS, sizeof *askers);
  ck_assert_ptr_nonnull(askers);
  for (int32_t i = 0; i < NUM_ASKERS; ++i) {
    begin_answer(&askers[i].answer);
    askers[i].plans = plans;
    expect_ok(rlo__thread_start(ask, &askers[i], &askers[i].thread));
  }
  for (int32_t i = 0; i < NUM_ASKERS; ++i) {
    rlo__thread_join(&askers[i].thread);
  }
  for (int32_t i = 0; i < NUM_PLANS; ++i) {
    rlo_plan_release(plans[i]);
  }
  rlo_context_release(context);
  for (int32_t i = 0; i < NUM_ASKERS; ++i) {
    ck_assert_int_eq(askers[i].num_accepted, NUM_TURNS);
    ck_assert_int_eq(atomic_load(&askers[i].answer.num_calls), NUM_TURNS);
    expect_ok(askers[i].answer.status);
  }
  free(askers);
}
