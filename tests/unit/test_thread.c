/* SPDX-License-Identifier: Apache-2.0 */

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "support/suite.h"

enum { THREADS = 4, ROUNDS = 2000 };

typedef struct counter {
  rlo__mutex mutex;
  rlo__cond cond;
  int value;
} counter;

static void add_rounds(void *payload) {
  counter *c = payload;
  for (int i = 0; i < ROUNDS; ++i) {
    rlo__mutex_lock(&c->mutex);
    ++c->value;
    rlo__cond_broadcast(&c->cond);
    rlo__mutex_unlock(&c->mutex);
  }
}

static void counter_init(counter *c) {
  c->value = 0;
  ck_assert_int_eq(rlo__mutex_init(&c->mutex), RLO_OK);
  ck_assert_int_eq(rlo__cond_init(&c->cond), RLO_OK);
}

static void counter_deinit(counter *c) {
  rlo__cond_deinit(&c->cond);
  rlo__mutex_deinit(&c->mutex);
}

RLO_TEST(test_thread__a_mutex_excludes_and_a_cond_wakes) {
  counter c;
  counter_init(&c);
  rlo__thread threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    ck_assert_int_eq(rlo__thread_start(add_rounds, &c, &threads[i]), RLO_OK);
  }
  rlo__mutex_lock(&c.mutex);
  while (c.value < THREADS * ROUNDS) {
    rlo__cond_wait(&c.cond, &c.mutex);
  }
  rlo__mutex_unlock(&c.mutex);
  for (int i = 0; i < THREADS; ++i) {
    rlo__thread_join(&threads[i]);
  }
  ck_assert_int_eq(c.value, THREADS * ROUNDS);
  counter_deinit(&c);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_thread__waits_until_a_time) {
  counter c;
  counter_init(&c);
  rlo__mutex_lock(&c.mutex);
  double begin = rlo__clock_seconds();
  const double seconds = 0.02;
  while (rlo__cond_wait_until(&c.cond, &c.mutex, begin + seconds)) {
  }
  ck_assert(rlo__clock_seconds() - begin >= seconds);
  /* In the past, and before the clock began. */
  ck_assert(!rlo__cond_wait_until(&c.cond, &c.mutex, begin));
  ck_assert(!rlo__cond_wait_until(&c.cond, &c.mutex, 0));
  rlo__mutex_unlock(&c.mutex);
  counter_deinit(&c);
}

static void signal_once(void *payload) {
  counter *c = payload;
  rlo__mutex_lock(&c->mutex);
  c->value = 1;
  rlo__cond_signal(&c->cond);
  rlo__mutex_unlock(&c->mutex);
}

RLO_TEST(test_thread__start_survives_a_failed_allocation) {
  rlo__alloc_set_fault(1, false);
  rlo__thread thread;
  ck_assert_int_eq(rlo__thread_start(signal_once, NULL, &thread), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
}
