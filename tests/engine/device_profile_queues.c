/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"
#include "relayout/engine_opencl.h"
#include "relayout/profile.h"

/*
 * Commands on a queue of the user's: their times are there if the queue
 * measures them, and if not, the kernel that enqueued them has none.
 */
RLO_FILE_FIXTURE(open_context, close_context);

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

RLO_LOOP_TEST(test_device_profile_queues__of_a_user, 0, 2) {
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
  rlo_profile_entry entry;
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
