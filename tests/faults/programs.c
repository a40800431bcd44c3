/* SPDX-License-Identifier: Apache-2.0 */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

#include "cl_faults.h"
#include "relayout/backend.h"
#include "relayout/batch_opencl.h"
#include "relayout/engine_opencl.h"
#include "relayout/engine_ops.h"
#include "relayout/gradient.h"
#include "relayout/service.h"
#include "relayout/storage_opencl.h"
#include "service/service.h"
#include "support/expect.h"
#include "support/shape_of.h"

enum { ROWS = 24, COLUMNS = 40, COUNT = ROWS * COLUMNS };

/* The source of each program's move: element i is i. */
static float counted[COUNT];

static void count_up(void) {
  for (int i = 0; i < COUNT; ++i) {
    counted[i] = (float)i;
  }
}

static bool is_transposed(const float *got) {
  for (int i = 0; i < COUNT; ++i) {
    if (got[i] != (float)(i % ROWS * COLUMNS + i / ROWS)) {
      return false;
    }
  }
  return true;
}

static rlo_status lower_transpose(rlo_problem *out_problem) {
  const int32_t permutation[] = {1, 0};
  rlo_shape src = test_shape_of("f32[24,40]");
  rlo_shape dst = test_shape_of("f32[40,24]");
  return rlo_relayout_lower(&src, &dst, permutation, out_problem);
}

/* ------------------------------------------------------------------ runtime */

/* Runs a plan, or a batch, as a caller does. The caller's own OpenCL calls get no faults. An
 * event that failed is an RLO_DEVICE that the caller sees. */
static rlo_status run_on_queue(rlo_context *context, rlo_plan *plan, const rlo_batch *batch,
                               cl_mem src, cl_mem dst, bool *out_is_right) {
  const rlo_batch_memory memories[] = {{src, NULL, 0}, {dst, NULL, 0}};
  float got[COUNT];
  cl_event event = NULL;
  cl_int code = CL_SUCCESS;
  cl_faults_suspend();
  cl_command_queue queue = clCreateCommandQueue(rlo_context_cl_context(context),
                                                rlo_context_cl_device(context), 0, &code);
  code |= clEnqueueWriteBuffer(queue, src, CL_TRUE, 0, sizeof counted, counted, 0, NULL, NULL);
  cl_faults_resume();
  rlo_status status = batch != NULL ? rlo_batch_enqueue(batch, queue, memories, 0, NULL, &event)
                                    : rlo_enqueue(plan, queue, src, 0, dst, 0, 0, NULL, &event);
  cl_faults_suspend();
  if (status == RLO_OK) {
    const cl_int waited = clWaitForEvents(1, &event);
    code |= clEnqueueReadBuffer(queue, dst, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
    clReleaseEvent(event);
    *out_is_right = is_transposed(got);
    if (waited != CL_SUCCESS) {
      status = rlo_error_set(RLO_DEVICE, "the event failed with %d", waited);
    }
  }
  clReleaseCommandQueue(queue);
  cl_faults_resume();
  if (code != CL_SUCCESS) {
    abort();
  }
  return status;
}

static rlo_status run_plan(rlo_context *context, const char *family, bool *out_is_right) {
  rlo_problem problem;
  rlo_plan *plan = NULL;
  cl_mem src = NULL;
  cl_mem dst = NULL;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  rlo_status status = lower_transpose(&problem);
  THEN(rlo_plan_create(context, &problem, &options, &plan));
  THEN(rlo_plan_prepare(plan));
  THEN(rlo_buffer_create(context, sizeof counted, &src));
  THEN(rlo_buffer_create(context, sizeof counted, &dst));
  THEN(run_on_queue(context, plan, NULL, src, dst, out_is_right));
  rlo_buffer_release(context, src);
  rlo_buffer_release(context, dst);
  rlo_plan_release(plan);
  return status;
}

static rlo_status run_batch(rlo_context *context, bool *out_is_right) {
  rlo_problem problem;
  rlo_batch *batch = NULL;
  cl_mem src = NULL;
  cl_mem dst = NULL;
  const rlo_batch_item item = {&problem, 0, 1, 0, 0};
  rlo_status status = lower_transpose(&problem);
  THEN(rlo_batch_create(context, &item, 1, 2, NULL, &batch));
  THEN(rlo_buffer_create(context, sizeof counted, &src));
  THEN(rlo_buffer_create(context, sizeof counted, &dst));
  THEN(run_on_queue(context, NULL, batch, src, dst, out_is_right));
  rlo_buffer_release(context, src);
  rlo_buffer_release(context, dst);
  rlo_batch_release(batch);
  return status;
}

static rlo_status open_and_run(const char *cache_dir, const char *family, bool *out_is_right) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  rlo_context *context = NULL;
  options.cache_dir = cache_dir;
  rlo_status status = rlo_context_create_default(-1, &options, &context);
  if (status == RLO_OK) {
    status = run_plan(context, family, out_is_right);
    rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
    if (rlo_context_get_stats(context, &stats) != RLO_OK || stats.buffer_bytes != 0) {
      *out_is_right = false;
      status = rlo_error_set(RLO_INTERNAL, "%lld bytes of released buffers are counted",
                             (long long)stats.buffer_bytes);
    }
  }
  rlo_context_release(context);
  return status;
}

static rlo_status run_default(rlo_context *context, bool *out_is_right) {
  (void)context;
  return open_and_run("", NULL, out_is_right);
}

/* The cache directory is the environment's, the test's own. PoCL stores what a
 * process has not built before: a kernel that no other program uses. */
static rlo_status run_cached(rlo_context *context, bool *out_is_right) {
  (void)context;
  return open_and_run(NULL, "gather", out_is_right);
}

static rlo_status run_measured(rlo_context *context, bool *out_is_right) {
  rlo_problem problem;
  rlo_plan *plan = NULL;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.effort = RLO_EFFORT_MEASURE;
  options.measure_seconds = 1e-3;
  /* Forced, so that it is no wisdom and the next run measures again, by the
   * same programs. */
  options.family = "tile";
  options.schedule = "default";
  options.device_class = RLO_DEVICE_CLASS_CPU;
  *out_is_right = true;
  rlo_status status = lower_transpose(&problem);
  THEN(rlo_plan_create(context, &problem, &options, &plan));
  rlo_plan_release(plan);
  if (status == RLO_OK) {
    double rate = 0;
    status = rlo_copy_limit(context, 4096, 1, &rate);
  }
  return status;
}

/* ------------------------------------------------------------------- engine */

static rlo_status make_tensor(rlo_engine *engine, const char *shape_text, const void *data,
                              rlo_tensor **out_tensor) {
  rlo_shape shape = test_shape_of(shape_text);
  return rlo_tensor_create(engine, &shape, data, out_tensor);
}

/* y = reverse(transpose(x)) in the first dimension, in two kernels or one. */
static rlo_status turn(rlo_tensor *x, rlo_tensor **out_y) {
  const int64_t dims[] = {0};
  rlo_tensor *turned = NULL;
  rlo_status status = rlo_op_transpose(x, NULL, &turned);
  THEN(rlo_op_reverse(turned, dims, 1, out_y));
  rlo_tensor_release(turned);
  return status;
}

/* Turned twice, so that one kernel reads what another has written. */
static rlo_status chain_in(rlo_engine *engine, bool *out_is_right) {
  float got[COUNT] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  rlo_status status = make_tensor(engine, "f32[24,40]", counted, &x);
  THEN(turn(x, &y));
  THEN(turn(y, &z));
  THEN(rlo_tensor_read(z, got, sizeof got));
  *out_is_right = true;
  for (int i = 0; status == RLO_OK && i < COUNT; ++i) {
    *out_is_right = *out_is_right && got[i] == (float)(COUNT - 1 - i);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(z);
  return status;
}

/* Sums as many numbers as are summed in parts. */
static rlo_status sum_in(rlo_engine *engine, bool *out_is_right) {
  enum { NUMBERS = 385 * 512 };

  static float ones[NUMBERS];
  const int64_t dims[] = {0, 1};
  float got = 0.0F;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  for (int32_t i = 0; i < NUMBERS; ++i) {
    ones[i] = 1.0F;
  }
  rlo_status status = make_tensor(engine, "f32[385,512]", ones, &x);
  THEN(rlo_op_sum(x, dims, 2, false, &y));
  THEN(rlo_tensor_read(y, &got, sizeof got));
  *out_is_right = status != RLO_OK || got == (float)NUMBERS;
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  return status;
}

static rlo_status gather_in(rlo_engine *engine, bool *out_is_right) {
  const int32_t ids[ROWS] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
                             0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  float got[4 * COLUMNS] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *indices = NULL;
  rlo_tensor *sums = NULL;
  rlo_tensor *y = NULL;
  const int64_t size[] = {4, -1};
  const int64_t begin[] = {0, 0};
  rlo_tensor *gathered = NULL;
  rlo_status status = make_tensor(engine, "f32[24,40]", counted, &x);
  THEN(make_tensor(engine, "s32[24]", ids, &indices));
  THEN(rlo_op_segment_sum(x, indices, 4, 0, 0, &sums));
  THEN(rlo_op_gather(sums, indices, 0, 0, &gathered));
  THEN(rlo_op_slice(gathered, begin, size, &y));
  THEN(rlo_tensor_read(y, got, sizeof got));
  *out_is_right = true;
  for (int i = 0; status == RLO_OK && i < 4 * COLUMNS; ++i) {
    /* Rows r, r + 4, ... r + 20: six times the first, and 60 rows more. */
    const float wanted = (float)(6 * i + 60 * COLUMNS);
    *out_is_right = *out_is_right && got[i] == wanted;
  }
  rlo_tensor_release(x);
  rlo_tensor_release(indices);
  rlo_tensor_release(sums);
  rlo_tensor_release(gathered);
  rlo_tensor_release(y);
  return status;
}

static rlo_status turn_first(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                             rlo_tensor **out_y, void *payload) {
  (void)engine;
  (void)count;
  (void)payload;
  return turn(xs[0], out_y);
}

static rlo_status differentiate_in(rlo_engine *engine, bool *out_is_right) {
  float got[COUNT] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  rlo_status status = make_tensor(engine, "f32[24,40]", counted, &x);
  THEN(make_tensor(engine, "f32[40,24]", counted, &dy));
  THEN(rlo_value_and_gradients(engine, turn_first, NULL, &x, 1, dy, 0, &y, &dx));
  THEN(rlo_tensor_read(dx, got, sizeof got));
  *out_is_right = true;
  for (int i = 0; status == RLO_OK && i < COUNT; ++i) {
    /* dx[r][c] = dy[COLUMNS - 1 - c][r] */
    const int row = i / COLUMNS;
    const int column = i % COLUMNS;
    const float wanted = (float)((COLUMNS - 1 - column) * ROWS + row);
    *out_is_right = *out_is_right && got[i] == wanted;
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_tensor_release(dy);
  rlo_tensor_release(dx);
  return status;
}

static rlo_status in_engine(rlo_context *context, bool is_fusing,
                            rlo_status (*work)(rlo_engine *, bool *), bool *out_is_right) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  options.context = context;
  options.is_fusing = is_fusing;
  rlo_status status = rlo_engine_create(&options, &engine);
  if (status == RLO_OK && context != NULL) {
    status = rlo_backend_set(engine, "opencl");
  }
  THEN(work(engine, out_is_right));
  rlo_engine_release(engine);
  return status;
}

rlo_status fault_run_chain(rlo_context *context, bool *out_is_right) {
  return in_engine(context, false, chain_in, out_is_right);
}

rlo_status fault_run_fused(rlo_context *context, bool *out_is_right) {
  return in_engine(context, true, chain_in, out_is_right);
}

rlo_status fault_run_gather(rlo_context *context, bool *out_is_right) {
  return in_engine(context, false, gather_in, out_is_right);
}

static rlo_status run_sum(rlo_context *context, bool *out_is_right) {
  return in_engine(context, false, sum_in, out_is_right);
}

rlo_status fault_run_gradient(rlo_context *context, bool *out_is_right) {
  return in_engine(context, false, differentiate_in, out_is_right);
}

/* ------------------------------------------------------------------ service */

static rlo_status run_job(rlo_context *context, rlo_storage *src, rlo_storage *dst) {
  rlo_problem problem;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  rlo_service *service = NULL;
  rlo_job *job = NULL;
  options.io_threads = 1;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  /* Through buffers of the device, though it could share the host's memory. */
  rlo_status status = lower_transpose(&problem);
  if (status != RLO_OK) {
    return status;
  }
  status = rlo__service_create(&context, context != NULL, &options, context != NULL, &service);
  THEN(rlo_service_submit(service, &problem, src, dst, NULL, &job));
  THEN(rlo_job_wait(job, -1, NULL));
  THEN(rlo_job_result(job));
  rlo_job_release(job);
  rlo_service_release(service);
  return status;
}

rlo_status fault_run_service(rlo_context *context, bool *out_is_right) {
  float got[COUNT] = {0};
  rlo_storage *src = NULL;
  rlo_storage *dst = NULL;
  rlo_status status = rlo_storage_from_const_memory(counted, sizeof counted, &src);
  THEN(rlo_storage_from_memory(got, sizeof got, &dst));
  THEN(run_job(context, src, dst));
  *out_is_right = is_transposed(got);
  rlo_storage_release(src);
  rlo_storage_release(dst);
  return status;
}

static void read_back(rlo_context *context, cl_mem buffer, float got[COUNT]) {
  cl_int code = CL_SUCCESS;
  cl_faults_suspend();
  cl_command_queue queue = clCreateCommandQueue(rlo_context_cl_context(context),
                                                rlo_context_cl_device(context), 0, &code);
  code |= clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(float[COUNT]), got, 0, NULL, NULL);
  clReleaseCommandQueue(queue);
  cl_faults_resume();
  if (code != CL_SUCCESS) {
    abort();
  }
}

static rlo_status run_buffers(rlo_context *context, bool *out_is_right) {
  float got[COUNT] = {0};
  cl_mem buffer = NULL;
  rlo_storage *src = NULL;
  rlo_storage *dst = NULL;
  rlo_status status = rlo_buffer_create(context, sizeof counted, &buffer);
  THEN(rlo_storage_from_const_memory(counted, sizeof counted, &src));
  THEN(rlo_storage_from_buffer(context, buffer, 0, sizeof got, &dst));
  THEN(run_job(context, src, dst));
  if (status == RLO_OK) {
    read_back(context, buffer, got);
  }
  *out_is_right = is_transposed(got);
  rlo_storage_release(src);
  rlo_storage_release(dst);
  rlo_buffer_release(context, buffer);
  return status;
}

const fault_program fault_programs[FAULT_NUM_PROGRAMS] = {
    {"default", run_default, FAULT_IN_OWN_CONTEXT, 24, 66, 1},
    {"cached", run_cached, FAULT_IN_OWN_CONTEXT, 26, 57, 1},
    {"measured", run_measured, FAULT_IN_SHARED_CONTEXT, 16, 40, 6},
    {"chain", fault_run_chain, FAULT_IN_SHARED_CONTEXT, 330, 115, 4},
    {"fused", fault_run_fused, FAULT_IN_SHARED_CONTEXT, 290, 22, 1},
    {"gather", fault_run_gather, FAULT_IN_SHARED_CONTEXT, 340, 112, 7},
    {"gradient", fault_run_gradient, FAULT_IN_SHARED_CONTEXT, 390, 95, 4},
    {"service", fault_run_service, FAULT_IN_SHARED_CONTEXT, 35, 33, 1},
    {"buffers", run_buffers, FAULT_IN_SHARED_CONTEXT, 36, 40, 1},
    {"batch", run_batch, FAULT_IN_SHARED_CONTEXT, 16, 20, 1},
    {"sum", run_sum, FAULT_IN_SHARED_CONTEXT, 270, 50, 3},
};

__attribute__((constructor)) static void prepare(void) {
  count_up();
}
