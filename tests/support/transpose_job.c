/* SPDX-License-Identifier: Apache-2.0 */
#include "support/transpose_job.h"

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"

enum { NUM_ELEMENTS = TRANSPOSE_ROWS * TRANSPOSE_COLUMNS, JOB_BYTES = 8192 };

static int64_t live_before;

rlo_service *transpose_service_open(int32_t io_threads) {
  live_before = rlo__alloc_live_count();
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.io_threads = io_threads;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  return service;
}

void transpose_service_close(rlo_service *service) {
  rlo_service_release(service);
  ck_assert_int_eq(rlo__alloc_live_count(), live_before);
}

void transpose_job_init(transpose_job *t, test_storage_kind src, test_storage_kind dst) {
  static const int32_t permutation[] = {1, 0};
  memset(t, 0, sizeof *t);
  rlo_shape from = test_shape_of("f32[48,80]");
  rlo_shape to = test_shape_of("f32[80,48]");
  expect_ok(rlo_relayout_lower(&from, &to, permutation, &t->problem));
  t->options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  t->options.host_memory_bytes = JOB_BYTES;
  t->options.is_new_destination = true;
  uint32_t values[NUM_ELEMENTS];
  for (uint32_t n = 0; n < NUM_ELEMENTS; ++n) {
    values[n] = n * 2654435761u;
  }
  watched_storage_init(&t->src, src, values, sizeof values, NULL);
  memset(values, 0, sizeof values);
  watched_storage_init(&t->dst, dst, values, sizeof values, NULL);
}

rlo_job_estimate transpose_job_take_two_passes(transpose_job *t, int32_t io_threads) {
  rlo_service_options of_service = RLO_SERVICE_OPTIONS_INIT;
  of_service.io_threads = io_threads;
  rlo_job_estimate e = RLO_JOB_ESTIMATE_INIT;
  rlo_storage_traits traits[2] = {RLO_STORAGE_TRAITS_INIT, RLO_STORAGE_TRAITS_INIT};
  traits[0].bytes = t->problem.src_bytes;
  traits[1].bytes = INT64_MAX;
  t->options.host_memory_bytes = 6144;
  t->options.passes = 2;
  t->options.scratch_bytes = INT64_MAX;
  expect_ok(
      rlo_job_estimate_make(&t->problem, &traits[0], &traits[1], &of_service, &t->options, &e));
  t->options.scratch_bytes = e.scratch_bytes;
  test_storage_kind kind = t->dst.kind;
  int64_t bytes = t->dst.bytes + e.scratch_bytes;
  watched_storage_deinit(&t->dst);
  void *zeros = rlo__alloc((size_t)bytes);
  ck_assert_ptr_nonnull(zeros);
  watched_storage_init(&t->dst, kind, zeros, bytes, NULL);
  rlo__free(zeros);
  return e;
}

void transpose_job_submit(transpose_job *t, rlo_service *service) {
  expect_ok(rlo_service_submit(service, &t->problem, t->src.storage, t->dst.storage, &t->options,
                               &t->job));
}

rlo_job_info transpose_job_info(const transpose_job *t) {
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(t->job, &info));
  return info;
}

void transpose_job_expect(transpose_job *t) {
  bool has_ended = false;
  expect_ok(rlo_job_wait(t->job, -1, &has_ended));
  ck_assert(has_ended);
  expect_ok(rlo_job_result(t->job));
  ck_assert_int_eq(transpose_job_info(t).state, RLO_JOB_DONE);
  uint32_t *values = rlo__alloc((size_t)t->dst.bytes);
  ck_assert_ptr_nonnull(values);
  watched_storage_get(&t->dst, values);
  for (uint32_t n = 0; n < NUM_ELEMENTS; ++n) {
    uint32_t from = n % TRANSPOSE_ROWS * TRANSPOSE_COLUMNS + n / TRANSPOSE_ROWS;
    ck_assert_uint_eq(values[n], from * 2654435761u);
  }
  rlo__free(values);
}

void transpose_job_expect_failure(transpose_job *t, rlo_status status, const char *words) {
  expect_ok(rlo_job_wait(t->job, -1, NULL));
  rlo_status got = rlo_job_result(t->job);
  ck_assert_msg(got == status && strncmp(rlo_error_last()->message, words, strlen(words)) == 0,
                "%s: %s", rlo_status_name(got), rlo_error_last()->message);
  ck_assert_int_eq(rlo_error_last()->status, status);
  rlo_job_info info = transpose_job_info(t);
  ck_assert_int_eq(info.state, status == RLO_CANCELLED ? RLO_JOB_CANCELLED : RLO_JOB_FAILED);
  ck_assert_int_eq(info.status, status);
}

void transpose_job_deinit(transpose_job *t) {
  rlo_job_release(t->job);
  watched_storage_deinit(&t->src);
  watched_storage_deinit(&t->dst);
}
