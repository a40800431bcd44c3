/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs of two passes: their bytes, counters, choice, and refusals. */
#include <stdio.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"
#include "support/transpose_job.h"

enum { IO_THREADS = 3 };

static rlo_service *service;

static void begin(void) {
  service = transpose_service_open(IO_THREADS);
}

static void end(void) {
  transpose_service_close(service);
}

RLO_FIXTURE(begin, end);

static const test_storage_kind kinds[] = {TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS};

RLO_TABLE_TEST(test_service_passes__each_byte_is_moved_twice, kinds) {
  transpose_job t;
  transpose_job_init(&t, kinds[_i], kinds[_i]);
  const int64_t bytes = t.src.bytes;
  rlo_job_estimate e = transpose_job_take_two_passes(&t, IO_THREADS);
  ck_assert_int_eq(e.num_passes, 2);
  ck_assert_int_gt(e.scratch_bytes, 0);
  ck_assert_int_lt(e.scratch_bytes, bytes / 3);
  ck_assert_int_eq(e.bytes_read, 2 * bytes);
  ck_assert_int_eq(e.bytes_written, 2 * bytes);
  ck_assert_int_gt(e.num_pieces, 20);
  transpose_job_submit(&t, service);
  ck_assert_int_eq(transpose_job_info(&t).num_passes, 2);
  transpose_job_expect(&t);
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.pass, 2);
  ck_assert_int_eq(info.num_pieces, e.num_pieces);
  ck_assert_int_eq(info.pieces_done, e.num_pieces);
  ck_assert_int_eq(info.bytes_read, 2 * bytes);
  ck_assert_int_eq(info.bytes_written, 2 * bytes);
  ck_assert_int_eq(info.bytes_done, 4 * bytes);
  ck_assert_int_eq(info.bytes_total, 4 * bytes);
  ck_assert_int_eq(info.host_bytes_peak, e.host_bytes);
  ck_assert_int_le(info.host_bytes_peak, t.options.host_memory_bytes);
  transpose_job_deinit(&t);
}

/* Again and again, on many threads: a band that is written before the one
 * before it was read would show. */
RLO_TEST(test_service_passes__bands_wait_for_each_other) {
  transpose_service_close(service);
  service = transpose_service_open(16);
  for (int n = 0; n < 200; ++n) {
    transpose_job t;
    transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
    (void)transpose_job_take_two_passes(&t, IO_THREADS);
    transpose_job_submit(&t, service);
    transpose_job_expect(&t);
    transpose_job_deinit(&t);
  }
}

RLO_TEST(test_service_passes__a_failure_names_the_pass) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  rlo_job_estimate e = transpose_job_take_two_passes(&t, IO_THREADS);
  t.dst.fails_at = (int)e.num_pieces / 2 + 3;
  t.dst.failure = RLO_IO;
  transpose_job_submit(&t, service);
  transpose_job_expect_failure(&t, RLO_IO, "pass 2 of 2, ");
  transpose_job_deinit(&t);
}

/* The estimate for files of 10 GB. */
static rlo_job_estimate estimate(int64_t host_bytes, int32_t passes) {
  static const int32_t permutation[] = {1, 0};
  rlo_problem problem;
  rlo_shape from = test_shape_of("f32[40000,60000]");
  rlo_shape to = test_shape_of("f32[60000,40000]");
  expect_ok(rlo_relayout_lower(&from, &to, permutation, &problem));
  rlo_storage_traits src = RLO_STORAGE_TRAITS_INIT;
  rlo_storage_traits dst = RLO_STORAGE_TRAITS_INIT;
  src.bytes = problem.src_bytes;
  dst.bytes = INT64_MAX;
  rlo_service_options of_service = RLO_SERVICE_OPTIONS_INIT;
  of_service.host_memory_bytes = host_bytes;
  of_service.max_running_jobs = 1;
  rlo_job_options of_job = RLO_JOB_OPTIONS_INIT;
  of_job.passes = passes;
  of_job.scratch_bytes = INT64_MAX;
  rlo_job_estimate made = RLO_JOB_ESTIMATE_INIT;
  expect_ok(rlo_job_estimate_make(&problem, &src, &dst, &of_service, &of_job, &made));
  return made;
}

RLO_TEST(test_service_passes__the_faster_is_chosen) {
  const int64_t mib = INT64_C(1) << 20;
  rlo_job_estimate large = estimate(2048 * mib, 0);
  ck_assert_int_eq(large.num_passes, 1);
  ck_assert_int_eq(large.scratch_bytes, 0);
  /* In runs of 12 and 33 kB: two passes took 1.2 to 1.6 times as long. */
  rlo_job_estimate middle = estimate(256 * mib, 0);
  ck_assert_int_eq(middle.num_passes, 1);
  ck_assert_int_le(middle.host_bytes, 256 * mib);
  ck_assert(middle.expected_fraction > 0.5);
  rlo_job_estimate small = estimate(64 * mib, 0);
  ck_assert_int_eq(small.num_passes, 2);
  ck_assert_int_le(small.host_bytes, 64 * mib);
  ck_assert_int_ge(small.write_run_bytes, 100 << 10);
  ck_assert(small.expected_fraction > 0.42);
  rlo_job_estimate forced = estimate(64 * mib, 1);
  ck_assert_int_eq(forced.num_passes, 1);
  ck_assert(forced.expected_fraction < small.expected_fraction);
  forced = estimate(2048 * mib, 2);
  ck_assert_int_eq(forced.num_passes, 2);
  ck_assert(forced.expected_fraction < large.expected_fraction);
}

RLO_TEST(test_service_passes__refusals) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  rlo_job *job = NULL;
  t.options.passes = 3;
  expect_refusal(
      rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, &t.options, &job),
      RLO_INVALID_ARGUMENT, "passes is 3; 1 or 2, or 0 for as many as are faster");
  t.options.passes = 0;
  t.options.scratch_bytes = -1;
  expect_refusal(
      rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, &t.options, &job),
      RLO_INVALID_ARGUMENT, "scratch_bytes is -1, below 0");
  /* This storage has no bytes behind the destination. */
  t.options.passes = 2;
  t.options.scratch_bytes = INT64_MAX;
  expect_refusal(
      rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, &t.options, &job),
      RLO_OUT_OF_RANGE,
      "two passes do not fit into 8192 bytes of staging memory, "
      "9223372036854775807 bytes for a piece and 0 bytes behind the "
      "destination");
  transpose_job_deinit(&t);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  t.options.passes = 2;
  expect_refusal(
      rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, &t.options, &job),
      RLO_UNSUPPORTED, "two passes gain nothing where a side is in memory");
  transpose_job_deinit(&t);
}
