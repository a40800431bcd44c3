/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs whose pieces run on contexts: in host memory that the device shares, and
 * copied to buffers and back. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/threshold.h"
#include "relayout/ops.h"
#include "service/journal.h"
#include "service/service.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random_job.h"
#include "support/shape_of.h"
#include "support/temp_file.h"
#include "support/transpose_job.h"

RLO_FILE_FIXTURE(open_device, close_device);

/* Another context on the same device. */
static rlo_context *open_context(int64_t memory_budget_bytes) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  options.memory_budget_bytes = memory_budget_bytes;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context), &options, &context));
  return context;
}

static rlo_service *open_service(rlo_context *const *contexts, int32_t num_contexts, bool copies) {
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.io_threads = 3;
  expect_ok(rlo__service_create(contexts, num_contexts, &options, copies, &service));
  return service;
}

static const test_storage_kind kinds[][2] = {{TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY},
                                             {TEST_STORAGE_FILE, TEST_STORAGE_FILE},
                                             {TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY},
                                             {TEST_STORAGE_MEMORY, TEST_STORAGE_FUNCTIONS}};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

RLO_LOOP_TEST(test_device_service__a_transposition, 0, 2 * NUM_KINDS) {
  bool copies = _i >= NUM_KINDS || test_device_is_gpu(&device);
  const test_storage_kind *pair = kinds[_i % NUM_KINDS];
  rlo_service *service = open_service(&device.context, 1, copies);
  transpose_job t;
  transpose_job_init(&t, pair[0], pair[1]);
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.bytes_read, t.src.bytes);
  ck_assert_int_eq(info.bytes_written, t.src.bytes);
  ck_assert_int_le(info.host_bytes_peak, t.options.host_memory_bytes);
  ck_assert((info.device_bytes_peak > 0) == copies);
  ck_assert_int_le(info.device_bytes_peak, INT64_C(64) << 20);
  if (pair[0] != TEST_STORAGE_MEMORY && pair[1] != TEST_STORAGE_MEMORY) {
    ck_assert_int_gt(info.num_pieces, 1);
  }
  transpose_job_deinit(&t);
  rlo_service_release(service);
  /* A service that has nothing to do keeps no buffers. */
  rlo_context_stats stats = test_context_stats(device.context);
  ck_assert_int_eq(stats.buffer_bytes, 0);
}

/* A job that began on a device goes on there, or on the host if it needs no
 * memory of the device. */
RLO_LOOP_TEST(test_device_service__resumed, 0, 2) {
  bool copies = _i == 1 || test_device_is_gpu(&device);
  char folder[TEMP_FOLDER_CHARS];
  char path[TEMP_FOLDER_CHARS + 16];
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/journal", folder);
  rlo__thresholds.service_checkpoint_seconds = 0;
  rlo_service *on_device = open_service(&device.context, 1, copies);
  rlo_service *on_host = open_service(NULL, 0, false);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
  t.options.journal_path = path;

  transpose_job_submit(&t, on_device);
  transpose_job_expect(&t);
  const int num_writes = atomic_load(&t.dst.num_calls);
  ck_assert_int_eq(unlink(path), 0);
  t.dst.fails_at = 2 * num_writes;
  t.dst.failure = RLO_IO;
  rlo_job_release(t.job);
  transpose_job_submit(&t, on_device);
  transpose_job_expect_failure(&t, RLO_IO, "");
  rlo_job_release(t.job);
  t.job = NULL;
  if (copies) {
    ck_assert_int_eq(
        rlo_service_submit(on_host, &t.problem, t.src.storage, t.dst.storage, &t.options, &t.job),
        RLO_INVALID_ARGUMENT);
  }
  transpose_job_submit(&t, copies ? on_device : on_host);
  transpose_job_expect(&t);
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.bytes_resumed + info.bytes_read + info.bytes_written, info.bytes_total);
  transpose_job_deinit(&t);
  rlo_service_release(on_device);
  rlo_service_release(on_host);
  rlo__thresholds.service_checkpoint_seconds = 5;
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(rmdir(folder), 0);
}

/* f32[48,80] into tiles, with gaps that have to keep what they hold. */
RLO_LOOP_TEST(test_device_service__gaps_keep_their_bytes, 0, 4) {
  rlo_service *service = open_service(&device.context, 1, _i % 2 == 1);
  rlo_problem problem;
  test_plan_lower("f32[50,70]", "f32[50,70]{0,1:T(8,16)}", NULL, &problem);
  static uint8_t src[16384], before[32768], wanted[32768], got[32768];
  ck_assert_int_le(problem.dst_bytes, (int64_t)sizeof before);
  test_fill_unique(src, sizeof src, 4, 1);
  test_fill_unique(before, sizeof before, 4, 2);
  memcpy(wanted, before, sizeof before);
  expect_ok(rlo_problem_run_host(&problem, src, wanted));
  watched_storage from_storage, to_storage;
  watched_storage_init(&from_storage, TEST_STORAGE_FILE, src, problem.src_bytes, NULL);
  watched_storage_init(&to_storage, _i < 2 ? TEST_STORAGE_FUNCTIONS : TEST_STORAGE_MEMORY, before,
                       problem.dst_bytes, NULL);
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = INT64_C(1) << 14;
  rlo_job *job = NULL;
  expect_ok(rlo_service_submit(service, &problem, from_storage.storage, to_storage.storage,
                               &options, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_release(job);
  watched_storage_get(&to_storage, got);
  ck_assert(memcmp(got, wanted, (size_t)problem.dst_bytes) == 0);
  watched_storage_deinit(&from_storage);
  watched_storage_deinit(&to_storage);
  rlo_service_release(service);
}

/* Pieces at the edges of tiles: guards skip most of their points, and what
 * their strides reach is beyond the box that they are copied from. In one pass,
 * and in two. */
RLO_LOOP_TEST(test_device_service__pieces_that_reach_beyond_their_box, 1, 3) {
  static const int32_t permutation[] = {1, 2, 0};
  static uint8_t src[1600], zeros[16384], wanted[8192], got[16384];
  rlo_service *service = open_service(&device.context, 1, true);
  rlo_shape from = test_shape_of("f32[5,10,8]");
  rlo_shape to = test_shape_of("f32[10,8,5]{2,1,0:T(5,4)pad(12,8,5)fill(one)}");
  rlo_problem problem;
  expect_ok(rlo_relayout_lower(&from, &to, permutation, &problem));
  ck_assert_int_le(problem.dst_bytes, (int64_t)sizeof wanted);
  test_fill_unique(src, sizeof src, 4, 1);
  expect_ok(rlo_problem_run_host(&problem, src, wanted));
  int num_cut = 0;
  for (int64_t budget = 512; budget <= 2048; budget *= 2) {
    transpose_job t = {.problem = problem, .options = RLO_JOB_OPTIONS_INIT};
    t.options.host_memory_bytes = budget;
    t.options.passes = _i;
    t.options.scratch_bytes = problem.dst_bytes;
    watched_storage_init(&t.src, TEST_STORAGE_FILE, src, problem.src_bytes, NULL);
    watched_storage_init(&t.dst, TEST_STORAGE_FUNCTIONS, zeros, 2 * problem.dst_bytes, NULL);
    transpose_job_submit(&t, service);
    expect_ok(rlo_job_wait(t.job, -1, NULL));
    rlo_status status = rlo_job_result(t.job);
    expect_ok(status);
    watched_storage_get(&t.dst, got);
    ck_assert(memcmp(got, wanted, (size_t)problem.dst_bytes) == 0);
    num_cut += transpose_job_info(&t).num_pieces > 2;
    transpose_job_deinit(&t);
  }
  ck_assert_int_gt(num_cut, 1);
  rlo_service_release(service);
}

RLO_LOOP_TEST(test_device_service__two_contexts_share_the_pieces, 0, 2) {
  rlo_context *contexts[] = {device.context, open_context(0)};
  rlo_service *service = open_service(contexts, 2, _i == 1);
  transpose_job jobs[4];
  for (int n = 0; n < 4; ++n) {
    transpose_job_init(&jobs[n], TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
    jobs[n].options.host_memory_bytes = 4096;
    transpose_job_submit(&jobs[n], service);
  }
  for (int n = 0; n < 4; ++n) {
    transpose_job_expect(&jobs[n]);
    ck_assert_int_gt(transpose_job_info(&jobs[n]).num_pieces, 4);
    transpose_job_deinit(&jobs[n]);
  }
  rlo_service_release(service);
  rlo_context_release(contexts[1]);
}

RLO_TEST(test_device_service__a_lost_context_gives_its_pieces_back) {
  /* No buffer fits into the second one. */
  rlo_context *contexts[] = {device.context, open_context(1)};
  rlo_service *service = open_service(contexts, 2, true);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
  rlo_service_release(service);
  service = open_service(&contexts[1], 1, true);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
  transpose_job_submit(&t, service);
  transpose_job_expect_failure(&t, RLO_OUT_OF_MEMORY, "piece ");
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "exceeds the budget"));
  transpose_job_deinit(&t);
  rlo_service_release(service);
  rlo_context_release(contexts[1]);
}

RLO_TEST(test_device_service__a_small_device_budget) {
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.device_memory_bytes = RLO_SERVICE_MIN_DEVICE_BYTES;
  expect_ok(rlo__service_create(&device.context, 1, &options, true, &service));
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_MEMORY);
  t.options.host_memory_bytes = 0;
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  ck_assert_int_le(transpose_job_info(&t).device_bytes_peak, RLO_SERVICE_MIN_DEVICE_BYTES);
  transpose_job_deinit(&t);
  rlo_service_release(service);
}

RLO_TEST(test_device_service__plans_by_a_family) {
  for (int n = 0; n < 2; ++n) {
    const bool fits = n == 0;
    rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
    rlo_service *service = NULL;
    options.family = fits ? "gather" : "copy";
    expect_ok(rlo_service_create(&device.context, 1, &options, &service));
    transpose_job t;
    transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_MEMORY);
    transpose_job_submit(&t, service);
    if (fits) {
      transpose_job_expect(&t);
    } else {
      transpose_job_expect_failure(&t, RLO_UNSUPPORTED, "piece ");
    }
    transpose_job_deinit(&t);
    rlo_service_release(service);
  }
}

RLO_TEST(test_device_service__refuses_a_context_twice) {
  rlo_context *contexts[] = {device.context, device.context};
  rlo_service *service = NULL;
  expect_refusal(rlo_service_create(contexts, 2, NULL, &service), RLO_INVALID_ARGUMENT,
                 "context 1 is context 0 again");
}

RLO_TEST(test_device_service__the_next_job_finds_the_plans_of_the_last) {
  rlo_service *service = open_service(&device.context, 1, false);
  rlo_context_stats stats[3] = {RLO_CONTEXT_STATS_INIT, RLO_CONTEXT_STATS_INIT,
                                RLO_CONTEXT_STATS_INIT};
  for (int n = 0; n < 3; ++n) {
    transpose_job t;
    transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
    transpose_job_submit(&t, service);
    transpose_job_expect(&t);
    transpose_job_deinit(&t);
    stats[n] = test_context_stats(device.context);
  }
  ck_assert_int_gt(stats[2].launches, stats[1].launches);
  /* Each plan finds or builds its programs. */
  ck_assert_int_eq(stats[2].program_hits + stats[2].programs_built,
                   stats[0].program_hits + stats[0].programs_built);
  rlo_service_release(service);
}

RLO_TEST(test_device_service__few_programs) {
  /* All jobs above together have few programs. */
  expect_programs_within(20);
}
