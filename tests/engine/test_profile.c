/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "counting_kernel.h"
#include "engine_case.h"
#include "relayout/engine_opencl.h"
#include "relayout/profile.h"

/*
 * A profile is called with the kernels that ran, and what they took.
 *
 * On the host, and, built with RELAYOUT_TEST_ON_DEVICE, on the "opencl" backend
 * of an engine whose queue measures.
 */

#ifdef RELAYOUT_TEST_ON_DEVICE
RLO_FILE_FIXTURE(open_context, close_context);
#define BACKEND "opencl"
#else
#define BACKEND "host"
#endif

static void begin_measuring(bool is_fusing) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.is_fusing = is_fusing;
  options.is_profiling = true;
  options.allow_host_fallback = context != NULL;
  begin_with(options);
}

enum { MOST_RUNS = 8, MOST_SHAPES = 2 };

/* A run, with what the entry borrows. */
typedef struct seen {
  rlo_profile_entry entry;
  char name[40];
  rlo_shape inputs[MOST_SHAPES];
  rlo_shape output;
  bool has_device_time;
  int64_t device_begin_ns, device_ns;
} seen;

static seen runs[MOST_RUNS];
static int32_t num_runs;

static void note(const rlo_profile_entry *entry, void *payload) {
  ck_assert_ptr_eq(payload, &num_runs);
  ck_assert_int_lt(num_runs, MOST_RUNS);
  ck_assert_uint_eq(entry->struct_size, sizeof *entry);
  seen *s = &runs[num_runs++];
  *s = (seen){.entry = *entry};
  ck_assert_uint_lt(strlen(entry->name), sizeof s->name);
  strcpy(s->name, entry->name);
  for (int32_t n = 0; n < entry->num_inputs && n < MOST_SHAPES; ++n) {
    s->inputs[n] = *entry->input_shapes[n];
  }
  if (entry->num_outputs > 0) {
    s->output = *entry->output_shapes[0];
  }
  s->has_device_time = rlo_profile_device_time(entry, &s->device_begin_ns, &s->device_ns) == RLO_OK;
}

static void open_profile(void) {
  num_runs = 0;
  expect_ok(rlo_profile_begin(engine, note, &num_runs));
}

/* A run, by its number, that is as named; the host's time is there, and the
 * device's if the kernel used it. */
static const seen *run_of(int32_t index, const char *name, const char *backend, int32_t depth) {
  ck_assert_int_lt(index, num_runs);
  const seen *s = &runs[index];
  const rlo_profile_entry *entry = &s->entry;
  ck_assert_str_eq(s->name, name);
  ck_assert_str_eq(entry->backend_name, backend);
  ck_assert_int_eq(entry->depth, depth);
  ck_assert(!entry->is_cut);
  ck_assert_int_ge(entry->begin_ns, 0);
  ck_assert_int_ge(entry->host_ns, 0);
  ck_assert_int_eq(s->has_device_time, context != NULL && entry->num_events > 0);
  ck_assert_int_eq(s->device_ns > 0, s->has_device_time);
  if (entry->num_events > 0) {
    ck_assert_int_ge(entry->enqueue_ns, entry->begin_ns);
  }
  return s;
}

RLO_TEST(test_profile__kernels) {
  begin_measuring(false);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *before = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *view = NULL;
  rlo_tensor *joined = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &before));
  open_profile();
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect_ok(rlo_op_reshape(y, DIMS(6), 1, &view));
  rlo_tensor *const parts[] = {view, view};
  expect_ok(rlo_op_concat(parts, 2, 0, &joined));
  /* A call that fails is not a run. */
  rlo_tensor *none = NULL;
  ck_assert_int_ne(rlo_op_reverse(x, DIMS(9), 1, &none), RLO_OK);
  ck_assert_int_eq(num_runs, 3);
  expect_ok(rlo_profile_end(engine));
  /* A call after the profile ended is not recorded. */
  rlo_tensor *after = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &after));
  rlo_tensor_release(after);
  ck_assert_int_eq(num_runs, 3);
  const seen *s = run_of(0, "Transpose", BACKEND, 0);
  ck_assert_int_eq(s->entry.num_inputs, 1);
  ck_assert_int_eq(s->inputs[0].dims[1], 3);
  ck_assert_int_eq(s->entry.num_outputs, 1);
  ck_assert_int_eq(s->output.dims[1], 2);
  ck_assert_int_eq(s->entry.input_bytes, 24);
  ck_assert_int_eq(s->entry.output_bytes, 24);
  ck_assert_int_eq(s->entry.num_events, context != NULL);
  s = run_of(1, "Reshape", BACKEND, 0);
  ck_assert_int_eq(s->entry.num_events, 0);
  s = run_of(2, "ConcatV2", BACKEND, 0);
  ck_assert_int_eq(s->entry.num_inputs, 2);
  ck_assert_int_eq(s->entry.input_bytes, 48);
  ck_assert_int_eq(s->entry.output_bytes, 48);
  rlo_tensor *const all[] = {x, before, y, view, joined};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

/* Fused operations are one run, recorded when they run. */
RLO_TEST(test_profile__fused_operations) {
  begin_measuring(true);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *turned = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *sum = NULL;
  open_profile();
  expect_ok(rlo_op_transpose(x, NULL, &turned));
  expect_ok(rlo_op_reshape(x, DIMS(3, 2), 2, &sum));
  rlo_tensor *const both[] = {turned, sum};
  expect_ok(rlo_op_concat(both, 2, 0, &y));
  rlo_tensor_release(sum);
  expect_ok(rlo_op_sum(y, DIMS(0), 1, false, &sum));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(num_runs, 3);
  (void)run_of(0, "Reshape", BACKEND, 0);
  /* Computed within the sum, which needs its bytes. */
  const seen *s = run_of(1, "Transpose+ConcatV2", BACKEND, 1);
  ck_assert_int_eq(s->entry.num_inputs, 2);
  ck_assert_int_eq(s->inputs[0].dims[0], 2);
  ck_assert_int_eq(s->inputs[1].dims[0], 3);
  ck_assert_int_eq(s->output.dims[0], 6);
  (void)run_of(2, "Sum", BACKEND, 0);
  rlo_tensor *const all[] = {x, turned, y, sum};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

static rlo_status reverse_twice(rlo_kernel_call *call, void *payload) {
  rlo_tensor *once = NULL;
  (void)payload;
  rlo_status status = rlo_op_reverse(call->inputs[0], DIMS(0), 1, &once);
  THEN(rlo_op_reverse(once, DIMS(0), 1, &call->outputs[0]));
  rlo_tensor_release(once);
  return status;
}

/* Runs within a run come before it, a level deeper; a chain is a run. */
RLO_TEST(test_profile__runs_within_a_run) {
  static counted_kernel counts;
  begin_measuring(false);
  rlo_kernel_config config = config_of("Twice", BACKEND, &counts);
  config.run = reverse_twice;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  rlo_chain *chain = NULL;
  open_profile();
  expect_ok(rlo_run_kernel(engine, "Twice", &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_chain_create(rlo_tensor_shape(x), &chain));
  expect_ok(rlo_run_chain(engine, chain, &y, 1, NULL, &z));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(num_runs, 4);
  (void)run_of(0, "Reverse", BACKEND, 1);
  const rlo_profile_entry *inner = &run_of(1, "Reverse", BACKEND, 1)->entry;
  const rlo_profile_entry *outer = &run_of(2, "Twice", BACKEND, 0)->entry;
  ck_assert_int_eq(outer->num_events, 0);
  ck_assert_int_ge(inner->begin_ns, outer->begin_ns);
  /* Each is rounded to a nanosecond. */
  ck_assert_int_le(inner->begin_ns + inner->host_ns, outer->begin_ns + outer->host_ns + 2);
  (void)run_of(3, "chain", BACKEND, 0);
  rlo_chain_release(chain);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(z);
  end();
}

/* Ends the profile and begins another while its kernel runs. */
static rlo_status change_profiles(rlo_kernel_call *call, void *payload) {
  (void)payload;
  expect_ok(rlo_profile_end(call->engine));
  open_profile();
  return rlo_op_identity(call->inputs[0], &call->outputs[0]);
}

/* A run is in a profile that is open from its beginning to its end. */
RLO_TEST(test_profile__runs_between_profiles) {
  static counted_kernel counts;
  begin_measuring(false);
  rlo_kernel_config config = config_of("Change", BACKEND, &counts);
  config.run = change_profiles;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *y = NULL;
  open_profile();
  expect_ok(rlo_run_kernel(engine, "Change", &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(num_runs, 1);
  (void)run_of(0, "Identity", BACKEND, 1);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  end();
}

/* A queue that does not measure has no times; none are made up. */
RLO_TEST(test_profile__without_measuring) {
  begin(false);
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *y = NULL;
  open_profile();
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(runs[0].entry.num_events, context != NULL);
  ck_assert(!runs[0].has_device_time);
  ck_assert_int_eq(runs[0].device_ns, 0);
  ck_assert_int_eq(runs[0].device_begin_ns, 0);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  end();
}

/* A profile must not begin or end within its own calls. */
static void begin_within(const rlo_profile_entry *entry, void *payload) {
  (void)entry;
  expect_refusal(rlo_profile_begin(payload, note, NULL), RLO_INVALID_ARGUMENT,
                 "a profile begins or ends within a call of its function");
  expect_refusal(rlo_profile_end(payload), RLO_INVALID_ARGUMENT,
                 "a profile begins or ends within a call of its function");
}

RLO_TEST(test_profile__refusals) {
  const rlo_profile_entry none = {.name = "Reverse"};
  int64_t ns = 7;
  begin(false);
  expect_refusal(rlo_profile_begin(NULL, note, NULL), RLO_INVALID_ARGUMENT, "'engine' is NULL");
  expect_refusal(rlo_profile_begin(engine, NULL, NULL), RLO_INVALID_ARGUMENT, "'on_run' is NULL");
  expect_refusal(rlo_profile_end(engine), RLO_NOT_FOUND, "no profile of the engine is open");
  open_profile();
  expect_refusal(rlo_profile_begin(engine, note, NULL), RLO_ALREADY_EXISTS,
                 "a profile of the engine is open already; end it first");
  expect_refusal(rlo_profile_end(NULL), RLO_INVALID_ARGUMENT, "'engine' is NULL");
  expect_ok(rlo_profile_end(engine));
  expect_refusal(rlo_profile_device_time(&none, &ns, &ns), RLO_NOT_FOUND,
                 "the device has not measured the 0 commands of 'Reverse'");
  ck_assert_int_eq(ns, 7);
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *y = NULL;
  expect_ok(rlo_profile_begin(engine, begin_within, engine));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  /* One that is open ends with its engine. */
  end();
}

/* A run without memory for its shapes runs all the same, and its entry says
 * that they are left out. */
RLO_TEST(test_profile__without_memory) {
  begin(false);
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *before = NULL;
  int32_t num_cut = 0;
  bool is_tried = true;
  /* The plan of the call is there from here on. */
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &before));
  rlo_tensor_release(before);
  for (int64_t nth = 1; is_tried; ++nth) {
    rlo_tensor *y = NULL;
    open_profile();
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_op_reverse(x, DIMS(0), 1, &y);
    is_tried = rlo__alloc_tried_count() >= nth;
    rlo__alloc_set_fault(0, false);
    expect_ok(rlo_profile_end(engine));
    ck_assert_int_eq(num_runs, status == RLO_OK);
    if (num_runs > 0 && runs[0].entry.is_cut) {
      ck_assert(runs[0].entry.num_inputs == 0 || runs[0].entry.num_events == 0);
      ++num_cut;
    } else if (num_runs > 0) {
      ck_assert_int_eq(runs[0].entry.num_inputs, 1);
    }
    rlo_tensor_release(y);
  }
  ck_assert_int_ge(num_cut, 1);
  rlo_tensor_release(x);
  end();
}

/* ----------------------------------------------------------- a user's queue */

#ifdef RELAYOUT_TEST_ON_DEVICE

/* Commands on a queue of the user's: their times are there if the queue
 * measures them, and if not, the kernel that enqueued them has none. */
typedef struct copier {
  rlo_plan *plan;
  cl_command_queue queue;
} copier;

/* Copies its input on the copier's queue. */
static rlo_status copy_on_queue(rlo_kernel_call *call, void *payload) {
  const copier *c = payload;
  rlo_tensor *output = NULL;
  cl_mem buffers[2] = {NULL};
  int64_t offsets[2] = {0};
  cl_event ready[2] = {NULL};
  cl_event done = NULL;
  rlo_status status = rlo_kernel_output(call, 0, &output);
  rlo_tensor *const tensors[] = {call->inputs[0], output};
  for (int32_t k = 0; k < 2 && status == RLO_OK; ++k) {
    status = rlo_tensor_buffer(tensors[k], &buffers[k], &offsets[k], &ready[k]);
    if (ready[k] != NULL) {
      clWaitForEvents(1, &ready[k]);
      clReleaseEvent(ready[k]);
    }
  }
  THEN(rlo_enqueue(c->plan, c->queue, buffers[0], offsets[0], buffers[1], offsets[1], 0, NULL,
                   &done));
  if (status == RLO_OK) {
    clWaitForEvents(1, &done);
    clReleaseEvent(done);
  }
  return status;
}

static void make_copier(copier *c, cl_command_queue_properties properties) {
  rlo_shape shape;
  rlo_problem problem;
  cl_int code = CL_SUCCESS;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, DIMS(3), 1, &shape));
  expect_ok(rlo_relayout_lower(&shape, &shape, NULL, &problem));
  expect_ok(rlo_plan_create(context, &problem, NULL, &c->plan));
  c->queue = clCreateCommandQueue(rlo_context_cl_context(context), rlo_context_cl_device(context),
                                  properties, &code);
  ck_assert_int_eq(code, CL_SUCCESS);
}

RLO_LOOP_TEST(test_profile__of_a_users_queue, 0, 2) {
  static copier c;
  begin(false);
  make_copier(&c, _i == 1 ? CL_QUEUE_PROFILING_ENABLE : 0);
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Copier";
  config.backend_name = "opencl";
  config.infer = rlo_infer_elementwise;
  config.run = copy_on_queue;
  config.payload = &c;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  open_profile();
  expect_ok(rlo_run_kernel(engine, "Copier", &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_profile_end(engine));
  ck_assert_int_eq(runs[0].entry.num_events, 1);
  ck_assert_int_eq(runs[0].has_device_time, _i == 1);
  ck_assert_int_eq(runs[0].device_ns > 0, _i == 1);
  /* It waits for the copy. */
  ck_assert_int_le(runs[0].device_ns, runs[0].entry.host_ns);
  expect(y, FLOATS(1, 2, 3), 3);
  rlo_tensor_release(x);
  clReleaseCommandQueue(c.queue);
  rlo_plan_release(c.plan);
  end();
}

#endif
