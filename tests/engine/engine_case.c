/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/backend.h"
#include "relayout/opencl.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/shape_of.h"

rlo_engine *engine;
rlo_context *context;

static int64_t allocations_before;

const set_up set_ups[NUM_SET_UPS] = {
    {"host", false}, {"host", true}, {"opencl", false}, {"opencl", true}};

const float counted[33] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                           17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
const float tens[9] = {0, 10, 20, 30, 40, 50, 60, 70, 80};

void open_context(void) {
  expect_ok(rlo_context_create_default(-1, NULL, &context));
}

void close_context(void) {
  rlo_context_release(context);
  context = NULL;
}

void begin_with(rlo_engine_options options) {
  options.context = context;
  options.checks_leaks = true;
  allocations_before = rlo__alloc_live_count();
  expect_ok(rlo_engine_create(&options, &engine));
}

void begin(bool is_fusing) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.is_fusing = is_fusing;
  begin_with(options);
}

void begin_plain(void) {
  begin(false);
}

void begin_with_fallback(void) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.allow_host_fallback = context != NULL;
  begin_with(options);
}

void begin_set_up(int number) {
  begin(set_ups[number].is_fusing);
  expect_ok(rlo_backend_set(engine, set_ups[number].backend));
}

void end(void) {
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
  rlo_engine_release(engine);
  if (context == NULL) {
    ck_assert_int_eq(rlo__alloc_live_count(), allocations_before);
  } else {
    /* A context keeps programs, and so memory of the host. */
    rlo_context_stats stats = test_context_stats(context);
    ck_assert_int_eq(stats.buffer_bytes, 0);
  }
}

static rlo_tensor *make(rlo_dtype dtype, const int64_t *dims, int32_t rank, const void *data) {
  rlo_tensor *made = NULL;
  rlo_shape shape = test_shape_make(dtype, dims, rank);
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

rlo_tensor *tensor(const int64_t *dims, int32_t rank, const float *data) {
  return make(RLO_DTYPE_F32, dims, rank, data);
}

rlo_tensor *scalar(float value) {
  return tensor(NULL, 0, &value);
}

rlo_tensor *indices_of(const int64_t *dims, int32_t rank, const int32_t *data) {
  return make(RLO_DTYPE_S32, dims, rank, data);
}

rlo_tensor *count_up(const int64_t *dims, int32_t rank) {
  static int32_t data[4096];
  for (int32_t i = 0; i < COUNT(data); ++i) {
    data[i] = i;
  }
  return indices_of(dims, rank, data);
}

void expect(rlo_tensor *y, const float *data, int64_t count) {
  float got[64];
  ck_assert_ptr_nonnull(y);
  ck_assert_int_le(count, COUNT(got));
  ck_assert_int_eq(rlo_tensor_bytes(y), count * 4);
  expect_ok(rlo_tensor_read(y, got, count * 4));
  for (int64_t i = 0; i < count; ++i) {
    ck_assert_msg(memcmp(&got[i], &data[i], sizeof *got) == 0, "element %lld is %g, not %g",
                  (long long)i, (double)got[i], (double)data[i]);
  }
  rlo_tensor_release(y);
}

void expect_array(rlo_tensor *y, const int64_t *dims, int32_t rank, const float *data) {
  const rlo_shape *shape = rlo_tensor_shape(y);
  int64_t count = 1;
  ck_assert_int_eq(shape->rank, rank);
  for (int32_t k = 0; k < rank; ++k) {
    ck_assert_int_eq(shape->dims[k], dims[k]);
    count *= dims[k];
  }
  expect(y, data, count);
}

int64_t launches(void) {
  rlo_context_stats stats = test_context_stats(context);
  return stats.launches;
}

rlo_engine_stats engine_stats(void) {
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  expect_ok(rlo_engine_get_stats(engine, &stats));
  return stats;
}
