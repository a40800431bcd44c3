/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/thread.h"
#include "counting_kernel.h"
#include "derivable.h"
#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/scope.h"

/*
 * Scopes release what was made within them and kept by nobody.
 *
 * On the host, and, built with RELAYOUT_TEST_ON_DEVICE, on the "opencl"
 * backend.
 */

#ifdef RELAYOUT_TEST_ON_DEVICE
RLO_FILE_FIXTURE(open_context, close_context);
#endif
RLO_FIXTURE(begin_with_fallback, end);

static rlo_tensor *reversed(rlo_tensor *x) {
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  return y;
}

static rlo_scope *open_scope(void) {
  rlo_scope *scope = NULL;
  expect_ok(rlo_scope_begin(engine, &scope));
  return scope;
}

static void expect_live(int64_t count) {
  ck_assert_int_eq(rlo_engine_live_tensors(engine), count);
}

RLO_TEST(test_scopes__release_what_nobody_kept) {
  rlo_tensor *before = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_scope *scope = open_scope();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(3, 4));
  rlo_tensor *turned = reversed(x);
  rlo_tensor *parts[2] = {NULL};
  rlo_tensor *view = NULL;
  rlo_tensor *ones = NULL;
  expect_ok(rlo_op_unstack(before, 0, 2, parts));
  expect_ok(rlo_tensor_view(x, rlo_tensor_shape(x), &view));
  expect_ok(rlo_tensor_create_constant(engine, rlo_tensor_shape(x), RLO_DTYPE_ONE, &ones));
  expect_live(7);
  expect_ok(rlo_scope_keep(scope, turned));
  expect_ok(rlo_scope_end(scope));
  expect_live(2);
  expect(turned, FLOATS(4, 3), 2);
  expect(before, FLOATS(1, 2), 2);
  expect_ok(rlo_scope_end(NULL));
}

/* A tensor that an inner scope keeps belongs to the outer one; a tensor that
 * the outermost scope keeps belongs to the caller. */
RLO_TEST(test_scopes__nest) {
  rlo_scope *outer = open_scope();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_scope *inner = open_scope();
  rlo_tensor *kept = reversed(x);
  (void)reversed(kept);
  expect_ok(rlo_scope_keep(inner, kept));
  expect_ok(rlo_scope_end(inner));
  expect_live(2);
  inner = open_scope();
  rlo_tensor *kept_by_outer = reversed(x);
  /* Kept beyond both scopes at once. */
  expect_ok(rlo_scope_keep(outer, kept_by_outer));
  expect_ok(rlo_scope_end(inner));
  expect_live(3);
  expect_ok(rlo_scope_end(outer));
  expect_live(1);
  expect(kept_by_outer, FLOATS(2, 1), 2);
}

/* A release by the caller frees a tensor early, and once. */
RLO_TEST(test_scopes__a_release_within) {
  rlo_scope *scope = open_scope();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *y = reversed(x);
  rlo_tensor *own = rlo_tensor_retain(reversed(x));
  rlo_tensor *both = rlo_tensor_retain(reversed(x));
  /* Handed on to another owner, and given up: the scope has no part in it. */
  rlo_tensor *handed = rlo_tensor_retain(reversed(x));
  rlo_tensor_release(handed);
  expect_live(5);
  rlo_tensor_release(x);
  expect_live(4);
  rlo_tensor_release(y);
  expect_live(3);
  rlo_tensor_release(both);
  rlo_tensor_release(both);
  expect_live(2);
  expect_ok(rlo_scope_end(scope));
  expect_live(2);
  expect(own, FLOATS(2, 1), 2);
  expect(handed, FLOATS(2, 1), 2);
}

/* Each keep is one reference: of the scope's, then new ones. */
RLO_TEST(test_scopes__keep_what_is_not_theirs) {
  rlo_tensor *before = tensor(DIMS(1), 1, FLOATS(1));
  rlo_scope *outer = open_scope();
  rlo_scope *inner = open_scope();
  expect_ok(rlo_scope_keep(inner, before));
  expect_ok(rlo_scope_end(inner));
  /* The scope's reference goes first, and counts as the caller's would. */
  rlo_tensor_release(before);
  expect_ok(rlo_scope_end(outer));
  expect_live(1);
  rlo_tensor_release(before);
  expect_live(0);
  rlo_scope *scope = open_scope();
  rlo_tensor *twice = tensor(DIMS(1), 1, FLOATS(1));
  expect_ok(rlo_scope_keep(scope, twice));
  expect_ok(rlo_scope_keep(scope, twice));
  expect_ok(rlo_scope_end(scope));
  rlo_tensor_release(twice);
  expect_live(1);
  rlo_tensor_release(twice);
}

/* A step that fails in the middle: the end releases what came before. */
RLO_TEST(test_scopes__a_failure_within) {
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_scope *scope = open_scope();
  rlo_tensor *y = reversed(x);
  rlo_tensor *z = NULL;
  ck_assert_int_ne(rlo_op_reverse(y, DIMS(7), 1, &z), RLO_OK);
  ck_assert_ptr_null(z);
  expect_ok(rlo_scope_end(scope));
  expect_live(1);
  rlo_tensor_release(x);
}

static rlo_status keep_last_of_three(rlo_tensor *x, rlo_tensor **out_y) {
  rlo_scope *scope = NULL;
  rlo_tensor *made[3] = {NULL};
  rlo_status status = rlo_scope_begin(engine, &scope);
  if (status != RLO_OK) {
    return status;
  }
  for (int32_t n = 0; n < COUNT(made) && status == RLO_OK; ++n) {
    status = rlo_op_reverse(n == 0 ? x : made[n - 1], DIMS(0), 1, &made[n]);
  }
  if (status == RLO_OK) {
    /* Once with an entry that is moved, once with a new one. */
    status = rlo_scope_keep(scope, made[2]);
  }
  rlo_status ended = rlo_scope_end(scope);
  *out_y = status == RLO_OK ? made[2] : NULL;
  return status != RLO_OK ? status : ended;
}

/* Without memory at any of the allocations. */
RLO_TEST(test_scopes__without_memory) {
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_status status = RLO_OUT_OF_MEMORY;
  int64_t nth = 0;
  do {
    rlo_tensor *y = NULL;
    rlo_scope *outer = open_scope();
    rlo__alloc_set_fault(++nth, false);
    status = keep_last_of_three(x, &y);
    rlo__alloc_set_fault(0, false);
    if (status == RLO_OK) {
      ck_assert_ptr_nonnull(y);
      expect_live(2);
    } else {
      ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
    }
    expect_ok(rlo_scope_end(outer));
    expect_live(1);
  } while (status != RLO_OK);
  ck_assert_int_ge(nth, 8);
  rlo_tensor_release(x);
}

/* ---------------------------------------------------------------- refusals */

#define NOT_OPEN                                                    \
  "it is not open on this thread; it has ended, or another thread " \
  "began it"

static void end_elsewhere(void *payload) {
  expect_refusal(rlo_scope_end(payload), RLO_INVALID_ARGUMENT, "ending a scope: " NOT_OPEN);
}

RLO_TEST(test_scopes__refusals) {
  rlo_scope *outer = open_scope();
  rlo_scope *inner = open_scope();
  rlo_scope *none = NULL;
  rlo_tensor *x = tensor(DIMS(1), 1, FLOATS(1));
  expect_refusal(rlo_scope_begin(NULL, &none), RLO_INVALID_ARGUMENT, "'engine' is NULL");
  expect_refusal(rlo_scope_begin(engine, NULL), RLO_INVALID_ARGUMENT, "'out_scope' is NULL");
  expect_refusal(rlo_scope_keep(NULL, x), RLO_INVALID_ARGUMENT, "'scope' is NULL");
  expect_refusal(rlo_scope_keep(inner, NULL), RLO_INVALID_ARGUMENT, "'tensor' is NULL");
  expect_refusal(rlo_scope_end(outer), RLO_INVALID_ARGUMENT,
                 "ending a scope: one that was begun within it is still open; "
                 "end that first");
  rlo__thread thread;
  expect_ok(rlo__thread_start(end_elsewhere, inner, &thread));
  rlo__thread_join(&thread);
  expect_live(1);
  expect_ok(rlo_scope_end(inner));
  expect_refusal(rlo_scope_end(inner), RLO_INVALID_ARGUMENT, "ending a scope: " NOT_OPEN);
  expect_ok(rlo_scope_end(outer));
}

/* Scopes of two engines may end in any order; a tensor is kept by its own. */
RLO_TEST(test_scopes__of_two_engines) {
  rlo_engine *second = NULL;
  rlo_scope *here = open_scope();
  rlo_scope *there = NULL;
  expect_ok(rlo_engine_create(NULL, &second));
  expect_ok(rlo_scope_begin(second, &there));
  rlo_tensor *x = tensor(DIMS(1), 1, FLOATS(1));
  expect_refusal(rlo_scope_keep(there, x), RLO_INVALID_ARGUMENT,
                 "keeping a tensor in a scope: it is of another engine");
  expect_ok(rlo_scope_end(here));
  expect_live(0);
  /* The scope and its tensors keep the engine. */
  rlo_tensor *y = NULL;
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, DIMS(1), 1, &shape));
  expect_ok(rlo_tensor_create(second, &shape, NULL, &y));
  rlo_engine_release(second);
  expect_ok(rlo_tensor_materialize(y));
  expect_ok(rlo_scope_end(there));
}

/* ------------------------------------------------ functions that are called */

typedef struct scoped_kernel {
  rlo_scope *around;
  bool keeps, ends, fails;
  rlo_status status_of_end;
} scoped_kernel;

/* y = the reverse of the reverse, in a scope of its own. */
static rlo_status run_scoped(rlo_kernel_call *call, void *payload) {
  scoped_kernel *s = payload;
  rlo_scope *scope = NULL;
  rlo_tensor *turned = NULL;
  rlo_status status = rlo_scope_begin(call->engine, &scope);
  s->status_of_end = rlo_scope_end(s->around);
  THEN(rlo_op_reverse(call->inputs[0], DIMS(0), 1, &turned));
  THEN(rlo_op_reverse(turned, DIMS(0), 1, &call->outputs[0]));
  if (status == RLO_OK && s->keeps) {
    status = rlo_scope_keep(scope, call->outputs[0]);
  }
  if (s->fails) {
    return rlo_error_set(RLO_CANCELLED, "as told");
  }
  rlo_status ended = s->ends ? rlo_scope_end(scope) : RLO_OK;
  return status != RLO_OK ? status : ended;
}

static void register_scoped(scoped_kernel *s) {
  static counted_kernel counts;
  rlo_kernel_config config = config_of("Scoped", "host", &counts);
  config.run = run_scoped;
  config.setup = NULL;
  config.dispose = NULL;
  config.payload = s;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
}

RLO_TEST(test_scopes__within_a_kernel) {
  static scoped_kernel s;
  s = (scoped_kernel){.keeps = true, .ends = true};
  register_scoped(&s);
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *y = NULL;
  expect_ok(rlo_run_kernel(engine, "Scoped", &x, 1, NULL, &y, 1, NULL));
  expect_live(2);
  expect(y, FLOATS(1, 2), 2);
  s.around = open_scope();
  expect_ok(rlo_run_kernel(engine, "Scoped", &x, 1, NULL, &y, 1, NULL));
  ck_assert_int_eq(s.status_of_end, RLO_INVALID_ARGUMENT);
  expect_live(2);
  expect_ok(rlo_scope_end(s.around));
  expect_live(1);
  rlo_tensor_release(x);
}

/* A scope that a kernel leaves open ends with it, whether it fails or not, and
 * whoever holds its output. */
RLO_LOOP_TEST(test_scopes__that_a_kernel_leaves_open, 0, 4) {
  static scoped_kernel s;
  s = (scoped_kernel){.keeps = (_i & 1) != 0, .fails = (_i & 2) != 0};
  rlo_engine_release(engine);
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  options.allow_host_fallback = true;
  expect_ok(rlo_engine_create(&options, &engine));
  register_scoped(&s);
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *y = NULL;
  rlo_status status = rlo_run_kernel(engine, "Scoped", &x, 1, NULL, &y, 1, NULL);
  expect_refusal(status, s.fails ? RLO_CANCELLED : RLO_INVALID_ARGUMENT,
                 s.fails ? "as told"
                         : "a function that this call has called left a scope "
                           "open");
  ck_assert_ptr_null(y);
  expect_live(1);
  rlo_tensor_release(x);
}

/* Makes a tensor outside any scope of its own, and keeps a reference to it. */
static rlo_status stash(rlo_kernel_call *call, void *payload) {
  rlo_tensor **stashed = payload;
  rlo_status status = rlo_op_reverse(call->inputs[0], DIMS(0), 1, stashed);
  call->outputs[0] = rlo_tensor_retain(*stashed);
  return status;
}

RLO_TEST(test_scopes__what_a_kernel_owns) {
  static counted_kernel counts;
  rlo_tensor *stashed = NULL;
  rlo_kernel_config config = config_of("Stash", "host", &counts);
  config.run = stash;
  config.setup = NULL;
  config.dispose = NULL;
  config.payload = &stashed;
  rlo_engine_release(engine);
  expect_ok(rlo_engine_create(NULL, &engine));
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *y = NULL;
  rlo_scope *scope = open_scope();
  expect_ok(rlo_run_kernel(engine, "Stash", &x, 1, NULL, &y, 1, NULL));
  ck_assert_ptr_eq(y, stashed);
  expect_ok(rlo_scope_end(scope));
  expect_live(2);
  expect(stashed, FLOATS(2, 1), 2);
  rlo_tensor_release(x);
}

/* ---------------------------------------------------------------- gradients */

/* Tensors that a tape saved live as long as the tape, whatever scopes
 * release. */
RLO_TEST(test_scopes__and_tapes) {
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *dx = NULL;
  rlo_tensor *y = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  rlo_scope *scope = open_scope();
  const int32_t picks[] = {2, 0, 2};
  rlo_tensor *places = indices_of(DIMS(3), 1, picks);
  expect_ok(rlo_op_gather(x, places, 0, 0, &y));
  /* The caller releases it too: the tape's reference is not taken for the
   * scope's. */
  rlo_tensor_release(places);
  expect_ok(rlo_scope_keep(scope, y));
  expect_ok(rlo_scope_end(scope));
  expect_live(3);
  scope = open_scope();
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  expect_live(4);
  expect_ok(rlo_scope_keep(scope, dx));
  expect_ok(rlo_scope_end(scope));
  expect_live(4);
  expect_ok(rlo_tape_end(tape));
  expect_live(3);
  expect(dx, FLOATS(1, 0, 2), 3);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

/* A gradient may be a tensor that was there before: the scope gets the
 * reference that is returned, and no other. */
RLO_TEST(test_scopes__and_gradients_that_exist) {
  rlo_tensor *x = tensor(DIMS(1), 1, FLOATS(2));
  rlo_tensor *dxs[2] = {NULL};
  rlo_tensor *const xs[] = {x, x};
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  rlo_scope *scope = open_scope();
  expect_ok(rlo_tape_gradients(tape, x, x, xs, 2, 0, dxs));
  ck_assert_ptr_eq(dxs[0], x);
  ck_assert_ptr_eq(dxs[1], x);
  rlo_tensor_release(dxs[1]);
  expect_ok(rlo_scope_end(scope));
  expect_live(1);
  expect_ok(rlo_tape_end(tape));
  expect(x, FLOATS(2), 1);
}

static rlo_status careless_cube(rlo_engine *e, rlo_tensor *const *xs, int32_t count,
                                rlo_tensor **out_y, void *payload) {
  rlo_scope *scope = NULL;
  rlo_tensor *square = NULL;
  (void)count;
  (void)payload;
  rlo_status status = rlo_scope_begin(e, &scope);
  THEN(multiply(xs[0], xs[0], &square));
  THEN(multiply(square, xs[0], out_y));
  THEN(rlo_scope_keep(scope, *out_y));
  rlo_status ended = rlo_scope_end(scope);
  return status != RLO_OK ? status : ended;
}

RLO_TEST(test_scopes__and_functions_to_derive) {
  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, -3));
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_scope *scope = open_scope();
  expect_ok(rlo_value_and_gradients(engine, careless_cube, NULL, &x, 1, NULL, 0, &y, &dx));
  expect_live(3);
  expect_ok(rlo_scope_keep(scope, y));
  expect_ok(rlo_scope_keep(scope, dx));
  expect_ok(rlo_scope_end(scope));
  expect(y, FLOATS(8, -27), 2);
  expect(dx, FLOATS(12, 27), 2);
  scope = open_scope();
  rlo_tensor *outs[2] = {NULL};
  expect_ok(rlo_custom_gradient(engine, "copy", copy_forward, one_more, NULL, &x, 1, outs, 2));
  expect_ok(rlo_vjp(engine, "Identity", &x, 1, NULL, &x, 1, NULL, &dx));
  expect_ok(rlo_scope_end(scope));
  expect_live(1);
  rlo_tensor_release(x);
}

/* ------------------------------------------------------------------ pending */

/* Inputs that a scope releases are there until a pending result is computed. */
RLO_TEST(test_scopes__and_pending_results) {
  rlo_engine_release(engine);
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  options.is_fusing = true;
  expect_ok(rlo_engine_create(&options, &engine));
  rlo_scope *scope = open_scope();
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = reversed(x);
  rlo_tensor *z = reversed(reversed(y));
  ck_assert(rlo_tensor_is_pending(z));
  expect_ok(rlo_scope_keep(scope, z));
  expect_ok(rlo_scope_end(scope));
  expect_live(4);
  expect_ok(rlo_tensor_materialize(z));
  expect_live(1);
  expect(z, FLOATS(3, 2, 1), 3);
}
