/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs whose arrays are larger than a device's buffers, or than the memory that
 * it may use. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/ops.h"
#include "runtime/context.h"
#include "service/service.h"
#include "support/checked_job.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

static const int64_t KIB = 1024;

/** Arrays have some hundred KiB, unless said otherwise. */
enum { ROWS = 300 };

/** A problem of each kind. */
typedef enum problem_kind {
  TRANSPOSITION,
  TILES,
  /** To half the bytes, and to twice as many. */
  NARROWING,
  WIDENING,
  PADDING,
  /** Bytes in the destination that nobody writes. */
  GAPS,
  NUM_PROBLEM_KINDS
} problem_kind;

/* Makes a problem of f32[rows,500], or bf16. */
static const char *make_problem(problem_kind kind, int rows, rlo_problem *out) {
  static const struct {
    const char *name, *before, *after, *permutation;
  } made[] = {[TRANSPOSITION] = {"transposition", "f32[500,", "]", "1,0"},
              [TILES] = {"tiles", "f32[", ",500]{1,0:T(8,128)fill(zero)}", NULL},
              [NARROWING] = {"narrowing", "bf16[", ",500]{0,1}", NULL},
              [WIDENING] = {"widening", "f32[", ",500]{0,1}", NULL},
              [PADDING] = {"padding", "", "", NULL},
              [GAPS] = {"gaps", "f32[", ",500]{0,1:T(8,128)}", NULL}};

  char src[64], dst[64];
  const char *type = kind == WIDENING ? "bf16" : "f32";
  (void)snprintf(src, sizeof src, "%s[%d,500]", type, rows);
  (void)snprintf(dst, sizeof dst, "%s%d%s", made[kind].before, rows, made[kind].after);
  if (kind == PADDING) {
    checked_job_pad(src, 3, out);
  } else {
    test_plan_lower(src, dst, made[kind].permutation, out);
  }
  return made[kind].name;
}

/* Two contexts on one device, so that programs are built once. */
static rlo_context *contexts[2];

/* Limits a context: all of its buffers together, and each. 0: as it is. */
static void limit(rlo_context *context, int64_t memory_bytes, int64_t buffer_bytes) {
  const rlo_device_info *own = &device.context->device_info;
  context->memory_budget_bytes = memory_bytes != 0 ? memory_bytes : own->global_memory_bytes;
  context->device_info.max_allocation_bytes =
      buffer_bytes != 0 ? buffer_bytes : own->max_allocation_bytes;
}

static void open_contexts(void) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  open_device();
  for (int n = 0; n < 2; ++n) {
    expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                                 rlo_context_cl_device(device.context), &options, &contexts[n]));
  }
}

static void close_contexts(void) {
  rlo_context_release(contexts[0]);
  rlo_context_release(contexts[1]);
  close_device();
}

RLO_FILE_FIXTURE(open_contexts, close_contexts);

static rlo_service *open_service(rlo_context *const *on, int32_t num_contexts,
                                 int64_t device_memory_bytes, bool copies) {
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = 32 * RLO_SERVICE_MIN_HOST_BYTES;
  options.device_memory_bytes = device_memory_bytes;
  options.io_threads = 3;
  expect_ok(rlo__service_create(on, num_contexts, &options, copies, &service));
  return service;
}

/* ------------------------------------------------------------------ buffers */

static const test_storage_kind kinds[][2] = {{TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY},
                                             {TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY},
                                             {TEST_STORAGE_MEMORY, TEST_STORAGE_FUNCTIONS},
                                             {TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS}};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

/* No buffer is larger than the device allows, whatever the array: neither a
 * piece's, nor one over the user's memory or over a box. Larger ones are
 * refused where they are made. */
RLO_LOOP_TEST(test_device_service_limits__arrays_beyond_a_buffer, 0, NUM_KINDS * 2) {
  const test_storage_kind *pair = kinds[_i % NUM_KINDS];
  bool copies = _i >= NUM_KINDS;
  limit(contexts[0], 0, 96 * KIB);
  rlo_service *service = open_service(contexts, 1, 0, copies);
  for (int k = 0; k < NUM_PROBLEM_KINDS; ++k) {
    rlo_problem problem;
    const char *name = make_problem((problem_kind)k, ROWS, &problem);
    checked_job job;
    checked_job_init(&job, &problem, pair[0], pair[1]);
    checked_job_submit(&job, service);
    checked_job_expect(&job, name);
    rlo_job_info info = checked_job_info(&job);
    ck_assert_int_gt(info.num_pieces, 1);
    ck_assert_int_gt(info.host_bytes_peak, 0);
    checked_job_deinit(&job);
  }
  rlo_service_release(service);
}

/* A side that fits is used where it lies: the other one alone is staged. */
RLO_LOOP_TEST(test_device_service_limits__one_side_beyond_a_buffer, 0, 2) {
  rlo_problem problem;
  /* 600,000 bytes from or to 300,000. */
  test_plan_lower(_i == 0 ? "f32[300,500]" : "bf16[300,500]",
                  _i == 0 ? "bf16[300,500]{0,1}" : "f32[300,500]{0,1}", NULL, &problem);
  limit(contexts[0], 0, 300000);
  rlo_service *service = open_service(contexts, 1, 0, false);
  checked_job job;
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  job.options.host_memory_bytes = 400 * KIB;
  checked_job_submit(&job, service);
  checked_job_expect(&job, _i == 0 ? "source" : "destination");
  rlo_job_info info = checked_job_info(&job);
  ck_assert_int_gt(info.num_pieces, 1);
  ck_assert_int_gt(info.host_bytes_peak, 0);
  checked_job_deinit(&job);
  /* One that fits on both sides is run as a whole. */
  limit(contexts[0], 0, 600000);
  rlo_service_release(service);
  service = open_service(contexts, 1, 0, false);
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  checked_job_submit(&job, service);
  checked_job_expect(&job, "both fit");
  if (!test_device_is_gpu(&device)) {
    ck_assert_int_eq(checked_job_info(&job).num_pieces, 1);
    ck_assert_int_eq(checked_job_info(&job).host_bytes_peak, 0);
  }
  checked_job_deinit(&job);
  rlo_service_release(service);
}

RLO_TEST(test_device_service_limits__the_smallest_buffer_counts) {
  limit(contexts[0], 0, 0);
  limit(contexts[1], 0, 64 * KIB);
  rlo_service *service = open_service(contexts, 2, 0, false);
  rlo_problem problem;
  const char *name = make_problem(TRANSPOSITION, ROWS, &problem);
  checked_job job;
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  checked_job_submit(&job, service);
  checked_job_expect(&job, name);
  checked_job_deinit(&job);
  rlo_service_release(service);
}

/* ------------------------------------------------------------ device memory */

static const struct {
  int64_t bytes;
  int rows;
} device_budgets[] = {{64 * 1024, ROWS}, {1024 * 1024, 3 * ROWS}};

/* Buffers on the device stay within the budget, by the job's counter and by the
 * context, which refuses what is beyond. Two jobs share them. */
RLO_TABLE_TEST(test_device_service_limits__device_memory, device_budgets) {
  int64_t budget = device_budgets[_i].bytes;
  limit(contexts[0], budget, 0);
  rlo_service *service = open_service(contexts, 1, budget, true);
  for (int k = 0; k < NUM_PROBLEM_KINDS; ++k) {
    checked_job jobs[2];
    const char *names[2];
    for (int n = 0; n < 2; ++n) {
      problem_kind kind = (problem_kind)((k + n) % NUM_PROBLEM_KINDS);
      const test_storage_kind *pair = kinds[(k + n) % NUM_KINDS];
      rlo_problem problem;
      names[n] = make_problem(kind, device_budgets[_i].rows, &problem);
      checked_job_init(&jobs[n], &problem, pair[0], pair[1]);
      checked_job_submit(&jobs[n], service);
    }
    for (int n = 0; n < 2; ++n) {
      checked_job_expect(&jobs[n], names[n]);
      rlo_job_info info = checked_job_info(&jobs[n]);
      ck_assert_int_gt(info.device_bytes_peak, budget / 4);
      ck_assert_int_le(info.device_bytes_peak, budget);
      ck_assert_int_ge(info.num_pieces, jobs[n].problem.src_bytes / budget);
      checked_job_deinit(&jobs[n]);
    }
  }
  rlo_service_release(service);
}

/* ----------------------------------------------------------------- contexts */

RLO_LOOP_TEST(test_device_service_limits__two_contexts, 0, 2) {
  bool copies = _i == 1 || test_device_is_gpu(&device);
  limit(contexts[0], 256 * KIB, 0);
  limit(contexts[1], 256 * KIB, 0);
  rlo_service *service = open_service(contexts, 2, 256 * KIB, copies);
  for (int k = 0; k < NUM_PROBLEM_KINDS; ++k) {
    rlo_problem problem;
    const char *name = make_problem((problem_kind)k, ROWS, &problem);
    checked_job job;
    checked_job_init(&job, &problem, kinds[k % NUM_KINDS][0], kinds[k % NUM_KINDS][1]);
    job.options.host_memory_bytes = 256 * KIB;
    checked_job_submit(&job, service);
    checked_job_expect(&job, name);
    ck_assert((checked_job_info(&job).device_bytes_peak > 0) == copies);
    checked_job_deinit(&job);
  }
  rlo_service_release(service);
}

/* One half of the device each. */
RLO_TEST(test_device_service_limits__sub_devices) {
  cl_device_id whole = rlo_context_cl_device(device.context);
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id parts[2];
  cl_uint num_parts = 0;
  if (clCreateSubDevices(whole, halves, 0, NULL, &num_parts) != CL_SUCCESS || num_parts != 2 ||
      clCreateSubDevices(whole, halves, 2, parts, NULL) != CL_SUCCESS) {
    printf("left out: the device is not made of two\n");
    return;
  }
  cl_int code = CL_SUCCESS;
  cl_context shared = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
  expect_cl(code);
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  rlo_context *on[2];
  for (int n = 0; n < 2; ++n) {
    expect_ok(rlo_context_create(shared, parts[n], &options, &on[n]));
  }
  rlo_service *service = open_service(on, 2, 0, false);
  checked_job jobs[2];
  for (int n = 0; n < 2; ++n) {
    rlo_problem problem;
    (void)make_problem(n == 0 ? TRANSPOSITION : TILES, ROWS, &problem);
    checked_job_init(&jobs[n], &problem, TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
    jobs[n].options.host_memory_bytes = 64 * KIB;
    checked_job_submit(&jobs[n], service);
  }
  for (int n = 0; n < 2; ++n) {
    checked_job_expect(&jobs[n], "halves");
    checked_job_deinit(&jobs[n]);
  }
  rlo_service_release(service);
  for (int n = 0; n < 2; ++n) {
    rlo_context_release(on[n]);
    expect_cl(clReleaseDevice(parts[n]));
  }
  expect_cl(clReleaseContext(shared));
}

/* ------------------------------------------------------------ lost contexts */

/* A pad of rows in front, of which the first pieces read nothing: a context
 * whose budget is a destination's buffer runs these, and fails with the first
 * piece that has a source. */
static void make_late_source(checked_job *job) {
  rlo_shape shape = test_shape_of("f32[200,512]");
  rlo_problem_list *list = NULL;
  const int64_t low[] = {400, 0};
  const int64_t high[] = {0, 0};
  rlo_chain *chain = test_chain_of(&shape);
  expect_ok(rlo_chain_pad(chain, low, high, NULL, NULL));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  checked_job_init(job, rlo_problem_list_get(list, 0), TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
  job->options.host_memory_bytes = 256 * KIB;
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}

/* How many kernels a context ran. */
static int64_t launches_of(const rlo_context *context) {
  rlo_context_stats stats = test_context_stats(context);
  return stats.launches;
}

RLO_TEST(test_device_service_limits__a_context_lost_in_the_middle) {
  const int64_t budget = 64 * KIB;
  limit(contexts[0], 0, 0);
  limit(contexts[1], 0, 0);
  checked_job job;
  rlo_service *service = open_service(contexts, 2, budget, true);
  make_late_source(&job);
  checked_job_submit(&job, service);
  checked_job_expect(&job, "nothing is lost");
  /* The two sides of a piece have the same size, where it has both. */
  int64_t needed = checked_job_info(&job).device_bytes_peak;
  checked_job_deinit(&job);
  rlo_service_release(service);
  limit(contexts[1], needed / 4 * 3, 0);
  int64_t launches = launches_of(contexts[1]);
  /* Alone: the last one. */
  service = open_service(&contexts[1], 1, budget, true);
  make_late_source(&job);
  checked_job_submit(&job, service);
  expect_ok(rlo_job_wait(job.job, -1, NULL));
  ck_assert_int_eq(rlo_job_result(job.job), RLO_OUT_OF_MEMORY);
  const char *message = rlo_error_last()->message;
  int64_t piece = 0, num_pieces = 0;
  ck_assert_msg(
      sscanf(message, "piece %" SCNd64 " of %" SCNd64 ": a buffer of", &piece, &num_pieces) == 2 &&
          strstr(message, "exceeds the budget") != NULL,
      "%s", message);
  rlo_job_info info = checked_job_info(&job);
  ck_assert_int_eq(info.state, RLO_JOB_FAILED);
  ck_assert_int_eq(info.num_pieces, num_pieces);
  ck_assert_int_gt(info.pieces_done, 2);
  ck_assert_int_gt(launches_of(contexts[1]), launches + 2);
  launches = launches_of(contexts[1]);
  checked_job_deinit(&job);
  rlo_service_release(service);
  /* With another one, which finishes. */
  service = open_service(contexts, 2, budget, true);
  make_late_source(&job);
  checked_job_submit(&job, service);
  checked_job_expect(&job, "one is lost");
  info = checked_job_info(&job);
  printf("%d launches of %d on the context that was lost\n",
         (int)(launches_of(contexts[1]) - launches), (int)info.num_pieces);
  checked_job_deinit(&job);
  rlo_service_release(service);
}
