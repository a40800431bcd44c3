/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/thread.h"
#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/profile.h"
#include "relayout/scope.h"

/*
 * Many threads on one engine: each has scopes of its own, and they hand tensors
 * to each other; what is held is counted, and the kernels are profiled,
 * meanwhile.
 */
RLO_FIXTURE(begin_plain, end);

enum { NUM_THREADS = 4, NUM_TURNS = 150, NUM_PROFILES = 50 };

typedef struct worker {
  rlo__thread thread;
  /** The tensor of all threads; retained by none. */
  rlo_tensor *shared;
  /** A tensor that its neighbour has kept and hands over, or NULL. */
  _Atomic(rlo_tensor *) inbox;
  _Atomic(rlo_tensor *) *outbox;
  /** Check may only be called by the main thread. */
  char complaint[256];
} worker;

static bool is_fine(worker *w, const char *what, rlo_status status) {
  if (status != RLO_OK && w->complaint[0] == '\0') {
    snprintf(w->complaint, sizeof w->complaint, "%s: %s", what, rlo_error_last()->message);
  }
  return status == RLO_OK;
}

/* Gives a tensor to the neighbour, which releases it; the one that lay there
 * still is released here. */
static void hand_over(worker *w, rlo_tensor *tensor) {
  rlo_tensor_release(atomic_exchange(w->outbox, tensor));
}

/* Two scopes within each other; every call may fail without a leak. */
static void turn(worker *w, int32_t number) {
  rlo_scope *outer = NULL;
  rlo_scope *inner = NULL;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  if (!is_fine(w, "begin", rlo_scope_begin(engine, &outer))) {
    return;
  }
  if (is_fine(w, "begin", rlo_scope_begin(engine, &inner)) &&
      is_fine(w, "reverse", rlo_op_reverse(w->shared, DIMS(0), 1, &x)) &&
      is_fine(w, "reverse", rlo_op_reverse(x, DIMS(0), 1, &y)) &&
      is_fine(w, "keep", rlo_scope_keep(inner, y))) {
    if (number % 3 == 0) {
      rlo_tensor_release(x);
    }
    /* Another owner, who may be faster or slower than these scopes. */
    hand_over(w, rlo_tensor_retain(y));
  }
  is_fine(w, "end", rlo_scope_end(inner));
  rlo_tensor_release(atomic_exchange(&w->inbox, NULL));
  /* The shared tensor is its own gradient: a second reference to it. */
  rlo_tape *tape = NULL;
  rlo_tensor *dx = NULL;
  if (is_fine(w, "tape", rlo_tape_begin(engine, &tape))) {
    is_fine(w, "gradients", rlo_tape_gradients(tape, w->shared, w->shared, &w->shared, 1, 0, &dx));
    is_fine(w, "tape", rlo_tape_end(tape));
  }
  if (number % 2 == 0 && dx != NULL) {
    rlo_tensor_release(dx);
  }
  is_fine(w, "end", rlo_scope_end(outer));
}

static void run(void *payload) {
  worker *w = payload;
  for (int32_t n = 0; n < NUM_TURNS; ++n) {
    turn(w, n);
  }
}

RLO_TEST(test_engine_threads__scopes) {
  static worker workers[NUM_THREADS];
  rlo_tensor *shared = tensor(DIMS(2), 1, FLOATS(1, 2));
  /* Its owner's scope is open meanwhile, and holds nothing of theirs. */
  rlo_scope *scope = NULL;
  expect_ok(rlo_scope_begin(engine, &scope));
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    workers[n].shared = shared;
    workers[n].outbox = &workers[(n + 1) % NUM_THREADS].inbox;
    workers[n].complaint[0] = '\0';
    atomic_init(&workers[n].inbox, NULL);
  }
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    expect_ok(rlo__thread_start(run, &workers[n], &workers[n].thread));
  }
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    rlo__thread_join(&workers[n].thread);
    ck_assert_str_eq(workers[n].complaint, "");
  }
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    rlo_tensor_release(atomic_exchange(&workers[n].inbox, NULL));
  }
  expect_ok(rlo_scope_end(scope));
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 1);
  expect(shared, FLOATS(1, 2), 2);
}

/* ------------------------------------------------------ memory and profiles */

static void make_and_release(void *payload) {
  rlo_memory_info info = RLO_MEMORY_INFO_INIT;
  rlo_shape shape;
  worker *w = payload;
  if (!is_fine(w, "shape", rlo_shape_make(RLO_DTYPE_F32, DIMS(2), 1, &shape))) {
    return;
  }
  for (int32_t n = 0; n < NUM_TURNS; ++n) {
    rlo_tensor *x = NULL;
    rlo_tensor *y = NULL;
    if (is_fine(w, "create", rlo_tensor_create(engine, &shape, NULL, &x))) {
      is_fine(w, "reverse", rlo_op_reverse(x, DIMS(0), 1, &y));
    }
    is_fine(w, "memory", rlo_engine_get_memory(engine, NULL, &info));
    if (n % 50 == 0) {
      rlo_engine_reset_peaks(engine);
    }
    rlo_tensor_release(x);
    rlo_tensor_release(y);
  }
}

/* The payload of a profile; its calls do not overlap. */
typedef struct tally {
  int64_t count;
  bool is_wrong;
} tally;

static void tally_run(const rlo_profile_entry *entry, void *payload) {
  tally *t = payload;
  ++t->count;
  t->is_wrong = t->is_wrong || strcmp(entry->name, "Reverse") != 0 || entry->begin_ns < 0 ||
                entry->host_ns < 0 || entry->depth != 0;
}

/* A profile that begins and ends while the others run. */
static void profile_meanwhile(void) {
  tally t = {0, false};
  expect_ok(rlo_profile_begin(engine, tally_run, &t));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_le(t.count, NUM_THREADS * NUM_TURNS);
  ck_assert(!t.is_wrong);
}

RLO_TEST(test_engine_threads__memory_and_profiles) {
  static worker workers[NUM_THREADS];
  rlo_memory_info info = RLO_MEMORY_INFO_INIT;
  rlo_tensor *x = tensor(DIMS(5), 1, NULL);
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    workers[n].complaint[0] = '\0';
    expect_ok(rlo__thread_start(make_and_release, &workers[n], &workers[n].thread));
  }
  for (int32_t n = 0; n < NUM_PROFILES; ++n) {
    profile_meanwhile();
  }
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    rlo__thread_join(&workers[n].thread);
    ck_assert_str_eq(workers[n].complaint, "");
  }
  expect_ok(rlo_engine_get_memory(engine, NULL, &info));
  ck_assert_int_eq(info.tensors, 1);
  ck_assert_int_eq(info.bytes, 20);
  ck_assert_int_ge(info.peak_tensors, 1);
  ck_assert_int_le(info.peak_tensors, 1 + 2 * NUM_THREADS);
  ck_assert_int_ge(info.peak_bytes, 20);
  ck_assert_int_le(info.peak_bytes, 20 + 16 * NUM_THREADS);
  rlo_tensor_release(x);
}

/* All runs of all threads, each with its number. */
RLO_TEST(test_engine_threads__one_profile) {
  static worker workers[NUM_THREADS];
  tally t = {0, false};
  expect_ok(rlo_profile_begin(engine, tally_run, &t));
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    workers[n].complaint[0] = '\0';
    expect_ok(rlo__thread_start(make_and_release, &workers[n], &workers[n].thread));
  }
  for (int32_t n = 0; n < NUM_THREADS; ++n) {
    rlo__thread_join(&workers[n].thread);
    ck_assert_str_eq(workers[n].complaint, "");
  }
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(t.count, NUM_THREADS * NUM_TURNS);
  ck_assert(!t.is_wrong);
}
