/* SPDX-License-Identifier: Apache-2.0 */

/* Services and jobs refuse input with these sentences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"
#include "support/transpose_job.h"

static rlo_service *service;

/* The message about a struct_size of 1. Static, until the next call. */
static const char *size_message(const char *name, size_t bytes, const char *init) {
  static char message[160];
  (void)snprintf(message, sizeof message,
                 "struct_size of the %s is 1; this library knows %zu bytes: "
                 "begin with %s",
                 name, bytes, init);
  return message;
}

static void expect_no_service(rlo_service_options options, rlo_status status, const char *message) {
  rlo_service *made = (rlo_service *)&options;
  expect_refusal(rlo_service_create(NULL, 0, &options, &made), status, message);
  ck_assert_ptr_null(made);
}

RLO_TEST(test_service_refusals__options_of_a_service) {
  rlo_service_options o = RLO_SERVICE_OPTIONS_INIT;
  o.host_memory_bytes = 1000000;
  expect_no_service(o, RLO_OUT_OF_RANGE,
                    "host_memory_bytes is 1000000; 1048576 to "
                    "9223372036854775807, or 0 for the default");
  o.host_memory_bytes = -1;
  expect_no_service(o, RLO_INVALID_ARGUMENT, "host_memory_bytes is -1, below 0");
  o = (rlo_service_options)RLO_SERVICE_OPTIONS_INIT;
  o.device_memory_bytes = 1;
  expect_no_service(o, RLO_OUT_OF_RANGE,
                    "device_memory_bytes is 1; 65536 to 9223372036854775807, "
                    "or 0 for the default");
  o = (rlo_service_options)RLO_SERVICE_OPTIONS_INIT;
  o.io_threads = 257;
  expect_no_service(o, RLO_OUT_OF_RANGE, "io_threads is 257; 1 to 256, or 0 for the default");
  o = (rlo_service_options)RLO_SERVICE_OPTIONS_INIT;
  o.max_running_jobs = -2;
  expect_no_service(o, RLO_INVALID_ARGUMENT, "max_running_jobs is -2, below 0");
  o = (rlo_service_options)RLO_SERVICE_OPTIONS_INIT;
  o.struct_size = 1;
  expect_no_service(o, RLO_INVALID_ARGUMENT,
                    size_message("service options", sizeof o, "RLO_SERVICE_OPTIONS_INIT"));
  rlo_service *made;
  expect_refusal(rlo_service_create(NULL, -1, NULL, &made), RLO_INVALID_ARGUMENT,
                 "-1 contexts, below 0");
  expect_refusal(rlo_service_create(NULL, 2, NULL, &made), RLO_INVALID_ARGUMENT,
                 "'contexts' is NULL, but its length is 2");
  rlo_context *none = NULL;
  expect_refusal(rlo_service_create(&none, 1, NULL, &made), RLO_INVALID_ARGUMENT,
                 "context 0 is NULL");
  expect_refusal(rlo_service_create(NULL, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "'out_service' is NULL");
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

/* Checks that a submission is refused and leaves nothing. */
static void expect_no_job(const rlo_problem *problem, rlo_storage *src, rlo_storage *dst,
                          const rlo_job_options *options, rlo_status status, const char *message) {
  int64_t live = rlo__alloc_live_count();
  rlo_job *job = (rlo_job *)&status;
  expect_refusal(rlo_service_submit(service, problem, src, dst, options, &job), status, message);
  ck_assert_ptr_null(job);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TEST(test_service_refusals__options_of_a_job) {
  service = transpose_service_open(0);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  rlo_storage *src = t.src.storage;
  rlo_storage *dst = t.dst.storage;
  t.options.priority = 2;
  expect_no_job(&t.problem, src, dst, &t.options, RLO_INVALID_ARGUMENT,
                "priority is 2; -1, 0 or 1");
  t.options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  t.options.host_memory_bytes = -5;
  expect_no_job(&t.problem, src, dst, &t.options, RLO_INVALID_ARGUMENT,
                "host_memory_bytes is -5, below 0");
  t.options.host_memory_bytes = 2 * RLO_SERVICE_MIN_HOST_BYTES;
  expect_no_job(&t.problem, src, dst, &t.options, RLO_OUT_OF_RANGE,
                "the job wants 2097152 bytes of host memory; the service has "
                "1048576");
  t.options.host_memory_bytes = 0;
  t.options.struct_size = 1;
  expect_no_job(&t.problem, src, dst, &t.options, RLO_INVALID_ARGUMENT,
                size_message("job options", sizeof t.options, "RLO_JOB_OPTIONS_INIT"));
  transpose_job_deinit(&t);
  transpose_service_close(service);
}

RLO_TEST(test_service_refusals__storages) {
  service = transpose_service_open(0);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_FUNCTIONS);
  rlo_storage *src = t.src.storage;
  rlo_storage *dst = t.dst.storage;
  expect_no_job(NULL, src, dst, NULL, RLO_INVALID_ARGUMENT, "'problem' is NULL");
  expect_no_job(&t.problem, NULL, dst, NULL, RLO_INVALID_ARGUMENT, "'src' is NULL");
  expect_no_job(&t.problem, src, NULL, NULL, RLO_INVALID_ARGUMENT, "'dst' is NULL");
  expect_no_job(&t.problem, src, src, NULL, RLO_INVALID_ARGUMENT,
                "the source and the destination are one storage");
  rlo_storage *other = NULL;
  expect_ok(rlo_storage_from_memory(t.src.memory + 8, 15352, &other));
  expect_no_job(&t.problem, src, other, NULL, RLO_INVALID_ARGUMENT,
                "the source and the destination overlap in memory");
  rlo_storage_release(other);
  expect_ok(rlo_storage_from_memory(t.src.memory, 15359, &other));
  expect_no_job(&t.problem, other, dst, NULL, RLO_OUT_OF_RANGE,
                "the source has 15359 bytes; the problem needs 15360");
  rlo_storage_release(other);
  static uint8_t few[100];
  expect_ok(rlo_storage_from_memory(few, sizeof few, &other));
  expect_no_job(&t.problem, src, other, NULL, RLO_OUT_OF_RANGE,
                "the destination has 100 bytes; the problem needs 15360");
  rlo_storage_release(other);
  expect_ok(rlo_storage_from_const_memory(t.src.memory, 15360, &other));
  expect_no_job(&t.problem, dst, other, NULL, RLO_INVALID_ARGUMENT,
                "the destination is a storage that can only be read");
  rlo_storage_release(other);
  rlo_job *job;
  expect_refusal(rlo_service_submit(NULL, &t.problem, src, dst, NULL, &job), RLO_INVALID_ARGUMENT,
                 "'service' is NULL");
  expect_refusal(rlo_service_submit(service, &t.problem, src, dst, NULL, NULL),
                 RLO_INVALID_ARGUMENT, "'out_job' is NULL");
  transpose_job_deinit(&t);
  transpose_service_close(service);
}

RLO_TEST(test_service_refusals__problems) {
  service = transpose_service_open(0);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  rlo_problem bad = t.problem;
  bad.num_axes = -1;
  rlo_job *job = NULL;
  ck_assert_int_eq(rlo_service_submit(service, &bad, t.src.storage, t.dst.storage, NULL, &job),
                   RLO_INVALID_ARGUMENT);
  rlo_shape shape = test_shape_of("f32[48,80]");
  rlo_combine_options combine = RLO_COMBINE_OPTIONS_INIT;
  combine.beta = 1;
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &combine, &bad));
  t.options.journal_path = "/nowhere";
  expect_no_job(&bad, t.src.storage, t.dst.storage, &t.options, RLO_UNSUPPORTED,
                "the problem adds to its destination: a job that is resumed by "
                "the journal \"/nowhere\" would add some of it twice");
  /* Sums along both axes are one piece. */
  t.options.journal_path = NULL;
  t.options.host_memory_bytes = 4096;
  bad.dst.axis[0] = bad.dst.axis[1] = 0;
  expect_no_job(&bad, t.src.storage, t.dst.storage, &t.options, RLO_OUT_OF_RANGE,
                "the budget is 4096 bytes of staging memory; the least that "
                "suffices is 15424");
  transpose_job_deinit(&t);
  transpose_service_close(service);
}

RLO_TEST(test_service_refusals__indices) {
  service = transpose_service_open(0);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  t.problem.num_terms = 1;
  t.problem.terms[0] = (rlo_term){.kind = RLO_TERM_LOAD, .limit = 1};
  t.problem.index_bits = 32;
  t.problem.index_bytes = 8192;
  rlo_storage *src = t.src.storage;
  rlo_storage *dst = t.dst.storage;
  expect_no_job(&t.problem, src, dst, NULL, RLO_UNSUPPORTED,
                "the problem loads 8192 bytes of indices; the job's options have none");
  watched_storage indices;
  static const uint8_t zeros[8192];
  expect_ok(rlo_storage_from_const_memory(zeros, 8191, &t.options.indices));
  expect_no_job(&t.problem, src, dst, &t.options, RLO_OUT_OF_RANGE,
                "the indices have 8191 bytes; the problem loads 8192");
  rlo_storage_release(t.options.indices);
  expect_ok(rlo_storage_from_memory(t.dst.memory + 4, 8192, &t.options.indices));
  expect_no_job(&t.problem, src, dst, &t.options, RLO_INVALID_ARGUMENT,
                "the indices and the destination overlap in memory");
  rlo_storage_release(t.options.indices);
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  watched_storage_init(&indices, TEST_STORAGE_FUNCTIONS, zeros, sizeof zeros, &traits);
  t.options.indices = indices.storage;
  t.options.host_memory_bytes = 4096;
  rlo_job *job = NULL;
  ck_assert_int_eq(rlo_service_submit(service, &t.problem, src, dst, &t.options, &job),
                   RLO_OUT_OF_RANGE);
  /* A part of the source and all indices. */
  const char *text = strstr(rlo_error_last()->message, "suffices is ");
  ck_assert_ptr_nonnull(text);
  ck_assert_int_gt(atoi(text + strlen("suffices is ")), 8192);
  ck_assert_int_eq(atomic_load(&indices.num_calls), 0);
  t.options.host_memory_bytes = 0;
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  ck_assert_int_eq(atomic_load(&indices.num_calls), 1);
  transpose_job_deinit(&t);
  watched_storage_deinit(&indices);
  transpose_service_close(service);
}

RLO_TEST(test_service_refusals__null) {
  service = transpose_service_open(0);
  bool is_idle;
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_refusal(rlo_service_drain(NULL, 0, &is_idle), RLO_INVALID_ARGUMENT, "'service' is NULL");
  expect_refusal(rlo_job_wait(NULL, 0, NULL), RLO_INVALID_ARGUMENT, "'job' is NULL");
  expect_refusal(rlo_job_result(NULL), RLO_INVALID_ARGUMENT, "'job' is NULL");
  expect_refusal(rlo_job_get_info(NULL, &info), RLO_INVALID_ARGUMENT, "'job' is NULL");
  ck_assert_int_eq(rlo_service_poll_fd(NULL), -1);
  ck_assert_ptr_null(rlo_service_take_ended(NULL));
  ck_assert_ptr_null(rlo_service_take_ended(service));
  ck_assert_ptr_null(rlo_service_retain(NULL));
  ck_assert_ptr_null(rlo_job_retain(NULL));
  rlo_job_cancel(NULL);
  rlo_job_release(NULL);
  rlo_service_cancel_all(NULL);
  rlo_service_release(NULL);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  transpose_job_submit(&t, service);
  info.struct_size = 9999;
  ck_assert_int_eq(rlo_job_get_info(t.job, &info), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_job_get_info(t.job, NULL), RLO_INVALID_ARGUMENT);
  /* An older caller gets what it knows. */
  info = (rlo_job_info)RLO_JOB_INFO_INIT;
  info.struct_size = offsetof(rlo_job_info, pass);
  info.pass = 77;
  expect_ok(rlo_job_get_info(t.job, &info));
  ck_assert_int_eq(info.pass, 77);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
  transpose_service_close(service);
}

RLO_TEST(test_service_refusals__estimate) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  rlo_job_estimate e = RLO_JOB_ESTIMATE_INIT;
  expect_ok(rlo_job_estimate_make(&t.problem, NULL, NULL, NULL, NULL, &e));
  ck_assert_int_eq(e.num_passes, 1);
  ck_assert_int_eq(e.bytes_read, t.src.bytes);
  ck_assert_int_eq(e.bytes_written, t.src.bytes);
  ck_assert_int_eq(e.host_bytes, 0);
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = t.src.bytes;
  t.options.host_memory_bytes = 8192;
  expect_ok(rlo_job_estimate_make(&t.problem, &traits, &traits, NULL, &t.options, &e));
  ck_assert_int_gt(e.num_pieces, 1);
  ck_assert_int_gt(e.host_bytes, 0);
  ck_assert_int_le(e.host_bytes, 8192);
  ck_assert(e.expected_fraction > 0 && e.expected_fraction <= 1);
  traits.bytes = 1;
  expect_refusal(rlo_job_estimate_make(&t.problem, &traits, NULL, NULL, NULL, &e), RLO_OUT_OF_RANGE,
                 "the source has 1 bytes; the problem needs 15360");
  expect_refusal(rlo_job_estimate_make(NULL, NULL, NULL, NULL, NULL, &e), RLO_INVALID_ARGUMENT,
                 "'problem' is NULL");
  e.struct_size = 1;
  ck_assert_int_eq(rlo_job_estimate_make(&t.problem, NULL, NULL, NULL, NULL, &e),
                   RLO_INVALID_ARGUMENT);
  transpose_job_deinit(&t);
}
