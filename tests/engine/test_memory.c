/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"
#include "fake_backend.h"
#include "relayout/backend.h"

/*
 * The memory that the tensors of an engine hold, by backend.
 *
 * On the host, and, built with RELAYOUT_TEST_ON_DEVICE, on the "opencl"
 * backend.
 */

#ifdef RELAYOUT_TEST_ON_DEVICE
RLO_FILE_FIXTURE(open_context, close_context);
#define BACKEND "opencl"
#else
#define BACKEND "host"
#endif
RLO_FIXTURE(begin_with_fallback, end);

static rlo_memory_info memory_of(const char *backend_name) {
  rlo_memory_info info = {sizeof info, -1, -1, -1, -1, -1, -1, -1};
  expect_ok(rlo_engine_get_memory(engine, backend_name, &info));
  return info;
}

static void expect_held(const char *backend_name, int64_t tensors, int64_t buffers, int64_t bytes) {
  const rlo_memory_info info = memory_of(backend_name);
  ck_assert_int_eq(info.tensors, tensors);
  ck_assert_int_eq(info.buffers, buffers);
  ck_assert_int_eq(info.bytes, bytes);
}

static void expect_peaks(const char *backend_name, int64_t tensors, int64_t buffers,
                         int64_t bytes) {
  const rlo_memory_info info = memory_of(backend_name);
  ck_assert_int_eq(info.peak_tensors, tensors);
  ck_assert_int_eq(info.peak_buffers, buffers);
  ck_assert_int_eq(info.peak_bytes, bytes);
}

RLO_TEST(test_memory__tensors_buffers_and_bytes) {
  rlo_tensor *view = NULL;
  rlo_tensor *turned = NULL;
  expect_held(BACKEND, 0, 0, 0);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, NULL);
  expect_held(BACKEND, 1, 1, 24);
  rlo_tensor *none = tensor(DIMS(0), 1, NULL);
  expect_held(BACKEND, 2, 1, 24);
  expect_ok(rlo_op_reshape(x, DIMS(6), 1, &view));
  expect_held(BACKEND, 3, 1, 24);
  expect_ok(rlo_op_transpose(x, NULL, &turned));
  expect_held(BACKEND, 4, 2, 48);
  expect_held(NULL, 4, 2, 48);
  rlo_tensor_release(x);
  expect_held(BACKEND, 3, 2, 48);
  rlo_tensor_release(view);
  rlo_tensor_release(none);
  expect_held(BACKEND, 1, 1, 24);
  expect_peaks(BACKEND, 4, 2, 48);
  rlo_engine_reset_peaks(engine);
  expect_peaks(BACKEND, 1, 1, 24);
  expect_peaks(NULL, 1, 1, 24);
  rlo_tensor_release(turned);
  expect_held(NULL, 0, 0, 0);
  expect_peaks(NULL, 1, 1, 24);
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
}

/* Copies on another backend are buffers there; the caller's memory is counted
 * apart. */
RLO_TEST(test_memory__of_several_backends) {
  static fake f = {0};
  static const float data[] = {1, 2, 3};
  rlo_shape shape;
  rlo_tensor *wrapped = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, DIMS(3), 1, &shape));
  expect_ok(rlo_tensor_wrap_host(engine, &shape, data, NULL, NULL, &wrapped));
  rlo_memory_info info = memory_of("host");
  ck_assert_int_eq(info.bytes, 12);
  ck_assert_int_eq(info.external_bytes, 12);
  expect_ok(rlo_backend_register(engine, "other", fake_create, &f, 0));
  expect_held("other", 0, 0, 0);
  expect_ok(rlo_backend_set(engine, "other"));
  rlo_tensor *x = NULL;
  const void *there = NULL;
  expect_ok(rlo_tensor_create(engine, &shape, data, &x));
  expect_held("other", 1, 1, 12);
  expect_ok(rlo_tensor_host_data(x, &there));
  expect_held("other", 1, 1, 12);
  expect_held("host", 1, 2, 24);
  ck_assert_int_eq(memory_of("host").external_bytes, 12);
  /* A backend that is gone is counted, too; another of the name counts along.
   */
  expect_ok(rlo_backend_remove(engine, "other"));
  expect_held("other", 1, 1, 12);
  expect_ok(rlo_backend_register(engine, "other", fake_create, &f, 0));
  expect_held("other", 1, 1, 12);
  rlo_tensor_release(x);
  expect_held("other", 0, 0, 0);
  rlo_tensor_release(wrapped);
  info = memory_of("host");
  ck_assert_int_eq(info.external_bytes, 0);
  expect_peaks(NULL, 2, 3, 36);
}

/* A pending result has no buffer yet. */
RLO_TEST(test_memory__of_pending_results) {
  rlo_engine_release(engine);
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  options.is_fusing = true;
  expect_ok(rlo_engine_create(&options, &engine));
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect_held(BACKEND, 2, 1, 12);
  expect_ok(rlo_tensor_materialize(y));
  expect_held(BACKEND, 2, 2, 24);
  /* PoCL dies if the process ends while it compiles what is in a queue. */
  const void *data = NULL;
  expect_ok(rlo_tensor_host_data(y, &data));
  rlo_tensor_release(x);
  rlo_tensor_release(y);
}

RLO_TEST(test_memory__refusals) {
  rlo_memory_info info = RLO_MEMORY_INFO_INIT;
  expect_refusal(rlo_engine_get_memory(NULL, NULL, &info), RLO_INVALID_ARGUMENT,
                 "'engine' is NULL");
  expect_refusal(rlo_engine_get_memory(engine, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "'out_info' is NULL");
  expect_refusal(rlo_engine_get_memory(engine, "gpu", &info), RLO_NOT_FOUND,
                 context != NULL ? "there is no backend 'gpu'; there is 'opencl', 'host'"
                                 : "there is no backend 'gpu'; there is 'host'");
  rlo_engine_reset_peaks(NULL);
}
