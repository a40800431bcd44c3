/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/batch_opencl.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random_problem.h"

/* Batches, each held against the reference byte by byte in whole arenas. */

RLO_FILE_FIXTURE(open_device_unordered, close_device);
RLO_TIMEOUT(300);

enum { ROOM_BYTES = 1 << 20, MAX_ITEMS = 4096, MEMORIES = 3 };

/* A batch between rooms: memory 0 is read, 1 and 2 are written. */
typedef struct rooms {
  rlo_batch_item items[MAX_ITEMS];
  int32_t count;
  int64_t used[MEMORIES];
  uint8_t *before[MEMORIES], *expected[MEMORIES];
} rooms;

static rooms *rooms_make(void) {
  rooms *r = calloc(1, sizeof *r);
  ck_assert_ptr_nonnull(r);
  for (int32_t m = 0; m < MEMORIES; ++m) {
    r->before[m] = malloc(ROOM_BYTES);
    r->expected[m] = malloc(ROOM_BYTES);
    ck_assert(r->before[m] != NULL && r->expected[m] != NULL);
    test_fill_unique(r->before[m], ROOM_BYTES, 4, (uint64_t)m + 5);
    memcpy(r->expected[m], r->before[m], ROOM_BYTES);
  }
  return r;
}

static void rooms_free(rooms *r) {
  for (int32_t m = 0; m < MEMORIES; ++m) {
    free(r->before[m]);
    free(r->expected[m]);
  }
  free(r);
}

/* Where an array of some bytes goes in a room: at a multiple of `alignment`, with a gap
 * before it. */
static int64_t reserve(rooms *r, int32_t memory, int64_t bytes, int64_t alignment) {
  const int64_t at = (r->used[memory] / alignment + 1) * alignment;
  r->used[memory] = at + bytes;
  return at;
}

/* Adds an item and runs it in the expected rooms; false if there is no more room. */
static bool add(rooms *r, const rlo_problem *problem, int32_t dst, int64_t alignment) {
  if (r->count == MAX_ITEMS || r->used[0] + problem->src_bytes + 2 * alignment > ROOM_BYTES ||
      r->used[dst] + problem->dst_bytes + 2 * alignment > ROOM_BYTES) {
    return false;
  }
  rlo_batch_item *item = &r->items[r->count++];
  *item = (rlo_batch_item){problem, 0, dst, reserve(r, 0, problem->src_bytes, alignment),
                           reserve(r, dst, problem->dst_bytes, alignment)};
  expect_ok(rlo_problem_run_host(problem, r->before[0] + item->src_offset_bytes,
                                 r->expected[dst] + item->dst_offset_bytes));
  return true;
}

static void expect_room(const uint8_t *got, const uint8_t *expected, const char *where) {
  int32_t b = 0;
  while (b < ROOM_BYTES && got[b] == expected[b]) {
    ++b;
  }
  ck_assert_msg(b == ROOM_BYTES, "%s: byte %d is not as expected", where, b);
}

/* Runs the batch on the device and on the host. @return its launches. */
static int64_t run(const rooms *r, rlo_device_class device_class) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = device_class;
  rlo_batch *batch = NULL;
  expect_ok(rlo_batch_create(device.context, r->items, r->count, MEMORIES, &options, &batch));
  rlo_batch_memory memories[MEMORIES] = {{NULL, NULL, 0}};
  for (int32_t m = 0; m < MEMORIES; ++m) {
    memories[m].buffer =
        test_context_buffer(device.context, CL_MEM_COPY_HOST_PTR, ROOM_BYTES, r->before[m]);
  }
  const int64_t before = test_context_stats(device.context).launches;
  cl_event done = NULL;
  expect_ok(rlo_batch_enqueue(batch, unordered, memories, 0, NULL, &done));
  const int64_t launches = test_context_stats(device.context).launches - before;
  rlo_batch_release(batch);
  expect_cl(clWaitForEvents(1, &done));
  expect_cl(clReleaseEvent(done));
  uint8_t *got = malloc(ROOM_BYTES);
  void *host[MEMORIES];
  for (int32_t m = 0; m < MEMORIES; ++m) {
    test_device_read(device.queue, memories[m].buffer, 0, ROOM_BYTES, got);
    expect_room(got, r->expected[m], "the device");
    clReleaseMemObject(memories[m].buffer);
    host[m] = malloc(ROOM_BYTES);
    memcpy(host[m], r->before[m], ROOM_BYTES);
  }
  free(got);
  expect_ok(rlo_batch_run_host(r->items, r->count, host, MEMORIES, 3));
  for (int32_t m = 0; m < MEMORIES; ++m) {
    expect_room(host[m], r->expected[m], "the host");
    free(host[m]);
  }
  return launches;
}

static const rlo_device_class classes[] = {RLO_DEVICE_CLASS_CPU, RLO_DEVICE_CLASS_GPU};

/* Extents differ, programs do not: few launches, however many items. */
RLO_LOOP_TEST(test_batch__a_launch_for_a_program, 0, 2) {
  static rlo_problem problems[24];
  rooms *r = rooms_make();
  for (int32_t n = 0; n < 24; ++n) {
    const long long rows = 8 * (n % 5 + 1);
    const long long columns = 16 * (n % 7 + 1);
    char src[64];
    char dst[64];
    snprintf(src, sizeof src, "f32[%lld,%lld]", rows, columns);
    snprintf(dst, sizeof dst, "%s[%lld,%lld]%s", n % 3 == 2 ? "bf16" : "f32", rows, columns,
             n % 3 == 0 ? "{0,1}" : (n % 3 == 1 ? "{1,0:T(8,128)fill(zero)}" : "{1,0}"));
    problems[n] = test_problem_of(src, dst, NULL);
    ck_assert(add(r, &problems[n], 1, 64));
  }
  const int64_t launches = run(r, classes[_i]);
  ck_assert_msg(launches <= 12, "%lld launches", (long long)launches);
  rooms_free(r);
}

/* Thousands of small views of one buffer, at any offset. */
RLO_LOOP_TEST(test_batch__many_small_views, 0, 2) {
  const int64_t extents[] = {3, 8};
  const int64_t rows[] = {40, 1};
  const int64_t dense[] = {8, 1};
  static rlo_problem view;
  test_plan_make(32, 2, extents, rows, dense, &view);
  view.src_bytes = (2 * 40 + 8) * 4;
  view.dst_bytes = 3 * 8 * 4;
  rooms *r = rooms_make();
  while (add(r, &view, 1, 4)) {
  }
  ck_assert_int_gt(r->count, 2000);
  ck_assert_int_le(run(r, classes[_i]), 2);
  rooms_free(r);
}

/* Relayouts, conversions and chains of all types, between several memories. */
RLO_LOOP_TEST(test_batch__random_mixtures, 0, 2) {
  enum { DRAWN = 4, ITEMS = 60 };

  static test_problem drawn[DRAWN];
  test_random random = test_random_begin("test_batch__random_mixtures");
  random.state += (uint64_t)_i;
  int32_t count = 0;
  while (count < DRAWN) {
    const test_problem_kind kind = (test_problem_kind)(count % 3);
    count += test_random_problem(&random, kind, &drawn[count]);
  }
  rooms *r = rooms_make();
  for (int32_t n = 0; n < ITEMS; ++n) {
    const int64_t alignment = test_random_once_in(&random, 2) ? 64 : 16;
    (void)add(r, &drawn[test_random_in(&random, 0, DRAWN - 1)].problem, 1 + n % 2, alignment);
  }
  ck_assert_int_gt(r->count, 30);
  (void)run(r, classes[_i]);
  rooms_free(r);
}

/* ----------------------------------------------------------------- refusals */

static rlo_batch *transposes(rlo_batch_item items[2]) {
  static rlo_problem problem;
  test_plan_lower("f32[16,32]", "f32[16,32]{0,1}", NULL, &problem);
  rlo_batch *batch = NULL;
  for (int32_t n = 0; n < 2; ++n) {
    items[n] = (rlo_batch_item){&problem, 0, 1, n * 2048, n * 2048};
  }
  expect_ok(rlo_batch_create(device.context, items, 2, 2, NULL, &batch));
  return batch;
}

RLO_TEST(test_batch__items_that_are_refused) {
  rlo_batch_item items[2];
  rlo_batch *batch = transposes(items);
  rlo_batch_release(batch);

  const struct {
    rlo_batch_item second;
    rlo_status status;
    const char *words;
  } cases[] = {
      {{NULL, 0, 1, 0, 0}, RLO_INVALID_ARGUMENT, "item 1: the problem is NULL"},
      {{items[0].problem, 2, 1, 0, 2048},
       RLO_INVALID_ARGUMENT,
       "item 1: the source is memory 2 of 2"},
      {{items[0].problem, 0, -1, 0, 2048},
       RLO_INVALID_ARGUMENT,
       "item 1: the destination is memory -1 of 2"},
      {{items[0].problem, 0, 1, -4, 2048},
       RLO_OUT_OF_RANGE,
       "item 1: the source offset of -4 bytes is negative"},
      {{items[0].problem, 0, 1, INT64_MAX, 2048}, RLO_OVERFLOW, "item 1: "},
      {{items[0].problem, 0, 1, 0, 0},
       RLO_INVALID_ARGUMENT,
       "items 0 and 1 write the same bytes of memory 1, from 0 on"},
      {{items[0].problem, 1, 0, 2044, 4096},
       RLO_INVALID_ARGUMENT,
       "item 0 writes bytes 0 to 2048 of memory 1, and item 1 reads bytes 2044 to 4092 of it"},
      {{items[0].problem, 0, 1, 0, 2050},
       RLO_INVALID_ARGUMENT,
       "item 1: an offset of 2050 bytes is not a multiple of the element's 4"},
  };

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    items[1] = cases[n].second;
    batch = (rlo_batch *)items;
    expect_refusal_with(rlo_batch_create(device.context, items, 2, 2, NULL, &batch),
                        cases[n].status, cases[n].words);
    ck_assert_ptr_null(batch);
  }
  expect_refusal_with(rlo_batch_create(device.context, items, -1, 2, NULL, &batch),
                      RLO_INVALID_ARGUMENT, "a batch of -1 items in 2 memories");
  expect_refusal_with(rlo_batch_create(device.context, NULL, 1, 2, NULL, &batch),
                      RLO_INVALID_ARGUMENT, "'items' is NULL");
  static rlo_problem loading;
  test_plan_segment_sum("f32[8,4]", "s32[8]", "f32[3,4]", &loading);
  items[1].problem = &loading;
  expect_refusal_with(rlo_batch_create(device.context, items, 2, 2, NULL, &batch), RLO_UNSUPPORTED,
                      "item 1: the problem loads indices");
}

RLO_TEST(test_batch__memories_that_are_refused) {
  rlo_batch_item items[2];
  rlo_batch *batch = transposes(items);
  cl_mem buffers[2];
  for (int32_t m = 0; m < 2; ++m) {
    buffers[m] = test_context_buffer(device.context, CL_MEM_READ_WRITE, 4096 + 128, NULL);
  }

  const struct {
    rlo_batch_memory memories[2];
    rlo_status status;
    const char *words;
  } cases[] = {
      {{{NULL, NULL, 0}, {buffers[1], NULL, 0}}, RLO_INVALID_ARGUMENT, "memory 0: the source"},
      {{{buffers[0], NULL, 0}, {buffers[1], NULL, 192}},
       RLO_OUT_OF_RANGE,
       "memory 1: the destination needs 4096 bytes from offset 192 on"},
      {{{buffers[0], NULL, 0}, {buffers[0], NULL, 0}}, RLO_INVALID_ARGUMENT, "memory 1: "},
      {{{buffers[0], NULL, 4}, {buffers[1], NULL, 0}},
       RLO_UNSUPPORTED,
       "memory 0: it begins at a multiple of 4 bytes, and the batch needs one of 64"},
  };

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    cl_event event = (cl_event)items;
    expect_refusal_with(rlo_batch_enqueue(batch, device.queue, cases[n].memories, 0, NULL, &event),
                        cases[n].status, cases[n].words);
    ck_assert_ptr_eq(event, items);
  }
  expect_refusal_with(rlo_batch_enqueue(batch, device.queue, NULL, 0, NULL, NULL),
                      RLO_INVALID_ARGUMENT, "'memories' is NULL");
  void *host[2] = {NULL, NULL};
  expect_refusal_with(rlo_batch_run_host(items, 2, host, 2, 1), RLO_INVALID_ARGUMENT,
                      "item 0: memory 0 is NULL; 2048 bytes are needed");
  expect_refusal_with(rlo_batch_run_host(items, 2, host, 2, 0), RLO_INVALID_ARGUMENT,
                      "'num_threads' is 0; at least 1");
  clReleaseMemObject(buffers[0]);
  clReleaseMemObject(buffers[1]);
  rlo_batch_release(batch);
}

/* Memories may be pointers into memory that the device shares. */
RLO_TEST(test_batch__shared_virtual_memory) {
  cl_device_svm_capabilities svm = 0;
  (void)clGetDeviceInfo(rlo_context_cl_device(device.context), CL_DEVICE_SVM_CAPABILITIES,
                        sizeof svm, &svm, NULL);
  if (svm == 0) {
    printf("the device shares no memory: not tried\n");
    return;
  }
  const cl_context context = rlo_context_cl_context(device.context);
  rlo_batch_item items[2];
  rlo_batch *batch = transposes(items);
  uint8_t *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 8192, 0);
  uint8_t bytes[8192];
  test_fill_unique(bytes, sizeof bytes, 4, 1);
  expect_cl(clEnqueueSVMMemcpy(device.queue, CL_TRUE, shared, bytes, sizeof bytes, 0, NULL, NULL));
  const rlo_batch_memory memories[] = {{NULL, shared, 0}, {NULL, shared, 4096}};
  expect_ok(rlo_batch_enqueue(batch, device.queue, memories, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  for (int32_t n = 0; n < 2; ++n) {
    expect_ok(rlo_problem_run_host(items[n].problem, bytes + n * 2048, bytes + 4096 + n * 2048));
  }
  uint8_t got[8192];
  expect_cl(clEnqueueSVMMemcpy(device.queue, CL_TRUE, got, shared, sizeof got, 0, NULL, NULL));
  ck_assert_mem_eq(got, bytes, sizeof bytes);
  clSVMFree(context, shared);
  rlo_batch_release(batch);
}

/* No item, or none with points: no launch, and an event nevertheless. */
RLO_TEST(test_batch__nothing_to_do) {
  const rlo_problem problem = test_problem_of("f32[0,7]", "f32[0,7]{0,1}", NULL);
  const rlo_batch_item item = {&problem, 0, 0, 0, 0};
  for (int32_t count = 0; count < 2; ++count) {
    rlo_batch *batch = NULL;
    expect_ok(rlo_batch_create(device.context, &item, count, 1, NULL, &batch));
    const int64_t before = test_context_stats(device.context).launches;
    const rlo_batch_memory none = {NULL, NULL, 0};
    cl_event done = NULL;
    expect_ok(rlo_batch_enqueue(batch, device.queue, &none, 0, NULL, &done));
    expect_cl(clWaitForEvents(1, &done));
    expect_cl(clReleaseEvent(done));
    ck_assert_int_eq(test_context_stats(device.context).launches, before);
    rlo_batch_release(batch);
    void *host = NULL;
    expect_ok(rlo_batch_run_host(&item, count, &host, 1, 1));
  }
  rlo_batch_release(NULL);
}
