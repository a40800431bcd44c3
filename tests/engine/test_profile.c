/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "counting_kernel.h"
#include "engine_case.h"
#include "relayout/engine_opencl.h"
#include "relayout/profile.h"

/*
 * Profiles have the kernels that ran, with what they took.
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

static rlo_profile *open_profile(void) {
  rlo_profile *profile = NULL;
  expect_ok(rlo_profile_begin(engine, &profile));
  return profile;
}

/* An entry, by its number, that is as named; the host's time is there, and the
 * device's if the kernel used it. */
static rlo_profile_entry entry_of(rlo_profile *profile,
                                  int64_t index,
                                  const char *name,
                                  const char *backend,
                                  int32_t depth) {
  rlo_profile_entry entry = RLO_PROFILE_ENTRY_INIT;
  expect_ok(rlo_profile_get(profile, index, &entry));
  ck_assert_str_eq(entry.name, name);
  ck_assert_str_eq(entry.backend_name, backend);
  ck_assert_int_eq(entry.depth, depth);
  ck_assert_int_eq(entry.thread, 0);
  ck_assert_int_ge(entry.begin_ns, 0);
  ck_assert_int_ge(entry.host_ns, 0);
  ck_assert_int_eq(entry.has_device_time,
                   context != NULL && entry.num_commands > 0);
  ck_assert_int_eq(entry.device_ns > 0, entry.has_device_time);
  return entry;
}

RLO_TEST(test_profile__kernels) {
  begin_measuring(false);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *before = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *view = NULL;
  rlo_tensor *joined = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &before));
  rlo_profile *profile = open_profile();
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect_ok(rlo_op_reshape(y, DIMS(6), 1, &view));
  rlo_tensor *const parts[] = {view, view};
  expect_ok(rlo_op_concat(parts, 2, 0, &joined));
  /* What fails is none. */
  rlo_tensor *none = NULL;
  ck_assert_int_ne(rlo_op_reverse(x, DIMS(9), 1, &none), RLO_OK);
  ck_assert_int_eq(rlo_profile_count(profile), 0);
  expect_ok(rlo_profile_end(profile));
  expect_ok(rlo_profile_end(profile));
  ck_assert_int_eq(rlo_profile_count(profile), 3);
  rlo_profile_entry e = entry_of(profile, 0, "Transpose", BACKEND, 0);
  ck_assert_int_eq(e.num_inputs, 1);
  ck_assert_int_eq(e.input_shapes[0]->dims[1], 3);
  ck_assert_int_eq(e.num_outputs, 1);
  ck_assert_int_eq(e.output_shapes[0]->dims[1], 2);
  ck_assert_int_eq(e.input_bytes, 24);
  ck_assert_int_eq(e.output_bytes, 24);
  ck_assert_int_eq(e.num_commands, context != NULL);
  e = entry_of(profile, 1, "Reshape", BACKEND, 0);
  ck_assert_int_eq(e.num_commands, 0);
  e = entry_of(profile, 2, "ConcatV2", BACKEND, 0);
  ck_assert_int_eq(e.num_inputs, 2);
  ck_assert_int_eq(e.input_bytes, 48);
  ck_assert_int_eq(e.output_bytes, 48);
  rlo_profile_release(profile);
  rlo_tensor *const all[] = {x, before, y, view, joined};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

/* What runs as one is one entry, when it runs. */
RLO_TEST(test_profile__fused_operations) {
  begin_measuring(true);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *turned = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *sum = NULL;
  rlo_profile *profile = open_profile();
  expect_ok(rlo_op_transpose(x, NULL, &turned));
  expect_ok(rlo_op_reshape(x, DIMS(3, 2), 2, &sum));
  rlo_tensor *const both[] = {turned, sum};
  expect_ok(rlo_op_concat(both, 2, 0, &y));
  rlo_tensor_release(sum);
  expect_ok(rlo_op_sum(y, DIMS(0), 1, false, &sum));
  expect_ok(rlo_profile_end(profile));
  ck_assert_int_eq(rlo_profile_count(profile), 3);
  (void)entry_of(profile, 0, "Reshape", BACKEND, 0);
  (void)entry_of(profile, 1, "Sum", BACKEND, 0);
  /* Computed within the sum, which needs its bytes. */
  rlo_profile_entry e = entry_of(profile, 2, "Transpose+ConcatV2", BACKEND, 1);
  ck_assert_int_eq(e.num_inputs, 2);
  ck_assert_int_eq(e.input_shapes[0]->dims[0], 2);
  ck_assert_int_eq(e.input_shapes[1]->dims[0], 3);
  ck_assert_int_eq(e.output_shapes[0]->dims[0], 6);
  rlo_profile_release(profile);
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
  if (status == RLO_OK) {
    status = rlo_op_reverse(once, DIMS(0), 1, &call->outputs[0]);
  }
  rlo_tensor_release(once);
  return status;
}

/* Runs within a run come after it, a level deeper; a chain is a run. */
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
  rlo_profile *profile = open_profile();
  expect_ok(rlo_run_kernel(engine, "Twice", &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_chain_create(rlo_tensor_shape(x), &chain));
  expect_ok(rlo_run_chain(engine, chain, &y, 1, NULL, &z));
  expect_ok(rlo_profile_end(profile));
  ck_assert_int_eq(rlo_profile_count(profile), 4);
  rlo_profile_entry outer = entry_of(profile, 0, "Twice", BACKEND, 0);
  ck_assert_int_eq(outer.num_commands, 0);
  rlo_profile_entry inner = entry_of(profile, 1, "Reverse", BACKEND, 1);
  ck_assert_int_ge(inner.begin_ns, outer.begin_ns);
  inner = entry_of(profile, 2, "Reverse", BACKEND, 1);
  /* Each is rounded to a nanosecond. */
  ck_assert_int_le(inner.begin_ns + inner.host_ns,
                   outer.begin_ns + outer.host_ns + 2);
  (void)entry_of(profile, 3, "chain", BACKEND, 0);
  rlo_profile_release(profile);
  rlo_chain_release(chain);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(z);
  end();
}

/* A queue that does not measure has no times; none are made up. */
RLO_TEST(test_profile__without_measuring) {
  begin(false);
  rlo_tensor *x = tensor(DIMS(3), 1, counted);
  rlo_tensor *y = NULL;
  rlo_profile *profile = open_profile();
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect_ok(rlo_profile_end(profile));
  rlo_profile_entry e = RLO_PROFILE_ENTRY_INIT;
  expect_ok(rlo_profile_get(profile, 0, &e));
  ck_assert_int_eq(e.num_commands, context != NULL);
  ck_assert(!e.has_device_time);
  ck_assert_int_eq(e.device_ns, 0);
  ck_assert_int_eq(e.device_begin_ns, 0);
  rlo_profile_release(profile);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  end();
}

RLO_TEST(test_profile__refusals) {
  begin(false);
  rlo_profile *other = NULL;
  rlo_profile_entry e = RLO_PROFILE_ENTRY_INIT;
  expect_refusal(rlo_profile_begin(NULL, &other),
                 RLO_INVALID_ARGUMENT,
                 "'engine' is NULL");
  expect_refusal(rlo_profile_begin(engine, NULL),
                 RLO_INVALID_ARGUMENT,
                 "'out_profile' is NULL");
  rlo_profile *profile = open_profile();
  expect_refusal(rlo_profile_begin(engine, &other),
                 RLO_ALREADY_EXISTS,
                 "a profile of the engine is open already; end it first");
  expect_refusal(rlo_profile_get(profile, 0, &e),
                 RLO_INVALID_ARGUMENT,
                 "the profile has not ended");
  expect_refusal(
      rlo_profile_get(NULL, 0, &e), RLO_INVALID_ARGUMENT, "'profile' is NULL");
  expect_refusal(rlo_profile_get(profile, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "'out_entry' is NULL");
  expect_refusal(
      rlo_profile_end(NULL), RLO_INVALID_ARGUMENT, "'profile' is NULL");
  expect_ok(rlo_profile_end(profile));
  expect_refusal(rlo_profile_get(profile, 0, &e),
                 RLO_OUT_OF_RANGE,
                 "there is no entry 0; the profile has 0");
  ck_assert_int_eq(rlo_profile_count(NULL), 0);
  rlo_profile_release(NULL);
  /* One that is released open ends; another may begin. */
  other = open_profile();
  rlo_profile_release(other);
  other = open_profile();
  rlo_profile_release(other);
  rlo_profile_release(profile);
  end();
}

/* A run without memory for its entry runs all the same, and the profile says
 * that it lacks some. */
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
    rlo_profile *profile = open_profile();
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_op_reverse(x, DIMS(0), 1, &y);
    is_tried = rlo__alloc_tried_count() >= nth;
    rlo__alloc_set_fault(0, false);
    rlo_status ended = rlo_profile_end(profile);
    if (ended == RLO_OK) {
      ck_assert_int_eq(rlo_profile_count(profile), status == RLO_OK);
    } else {
      expect_refusal(ended,
                     RLO_OUT_OF_MEMORY,
                     "the profile lacks runs for which there was no memory");
      expect_ok(status);
      ++num_cut;
    }
    rlo_profile_release(profile);
    rlo_tensor_release(y);
  }
  ck_assert_int_ge(num_cut, 4);
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
  if (status == RLO_OK) {
    status = rlo_enqueue(c->plan,
                         c->queue,
                         buffers[0],
                         offsets[0],
                         buffers[1],
                         offsets[1],
                         0,
                         NULL,
                         &done);
  }
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
  c->queue = clCreateCommandQueue(rlo_context_cl_context(context),
                                  rlo_context_cl_device(context),
                                  properties,
                                  &code);
  ck_assert_int_eq(code, CL_SUCCESS);
}

RLO_LOOP_TEST(test_profile__of_a_users_queue, 0, 2) {
  static copier c;
  begin(false);
  make_copier(&c, _i == 1 ? CL_QUEUE_PROFILING_ENABLE : 0);
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Copier";
  config.backend_name = "opencl";
  config.infer = rlo_infer_like_input;
  config.run = copy_on_queue;
  config.payload = &c;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  rlo_profile *profile = NULL;
  rlo_profile_entry entry = RLO_PROFILE_ENTRY_INIT;
  expect_ok(rlo_profile_begin(engine, &profile));
  expect_ok(rlo_run_kernel(engine, "Copier", &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_profile_end(profile));
  expect_ok(rlo_profile_get(profile, 0, &entry));
  ck_assert_int_eq(entry.num_commands, 1);
  ck_assert_int_eq(entry.has_device_time, _i == 1);
  ck_assert_int_eq(entry.device_ns > 0, _i == 1);
  /* It waits for the copy. */
  ck_assert_int_le(entry.device_ns, entry.host_ns);
  rlo_profile_release(profile);
  expect(y, FLOATS(1, 2, 3), 3);
  rlo_tensor_release(x);
  clReleaseCommandQueue(c.queue);
  rlo_plan_release(c.plan);
  end();
}

#endif
