/* SPDX-License-Identifier: Apache-2.0 */

/* Storages of device buffers: their transfers against memory's, and jobs from
 * and to them. */
#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/storage_opencl.h"
#include "service/service.h"
#include "service/storage.h"
#include "support/checked_job.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random.h"
#include "support/storage_transfer.h"

RLO_FILE_FIXTURE(open_device, close_device);

enum { GUARD_BYTES = 1003, NUM_CASES = 600, MAX_DIMS = 5, SMALL_BYTES = 20000 };

/** A storage of the middle of a buffer. */
typedef struct guarded {
  cl_mem buffer;
  int64_t bytes;
  rlo_storage *storage;
} guarded;

static void fill_guards(guarded *g) {
  uint8_t guard[GUARD_BYTES];
  memset(guard, 0xA5, sizeof guard);
  test_device_write(device.queue, g->buffer, 0, GUARD_BYTES, guard);
  test_device_write(device.queue, g->buffer, GUARD_BYTES + g->bytes, GUARD_BYTES, guard);
}

static void open_guarded(guarded *g, const void *content, int64_t bytes) {
  g->bytes = bytes;
  g->buffer = test_context_buffer(device.context, CL_MEM_READ_WRITE,
                                  (size_t)(bytes + 2 * GUARD_BYTES), NULL);
  fill_guards(g);
  expect_ok(rlo_storage_from_buffer(device.context, g->buffer, GUARD_BYTES, bytes, &g->storage));
  expect_ok(rlo__storage_write(g->storage, 0, bytes, content));
  /* The storage has a reference of its own. */
  expect_cl(clReleaseMemObject(g->buffer));
}

/* Reads the whole buffer; the guards have to be as they were. */
static void expect_content(const guarded *g, const void *wanted, const char *name) {
  size_t all = (size_t)g->bytes + 2 * (size_t)GUARD_BYTES;
  uint8_t *got = rlo__alloc(all);
  test_device_read(device.queue, g->buffer, 0, (int64_t)all, got);
  for (size_t n = 0; n < GUARD_BYTES; ++n) {
    ck_assert_int_eq(got[n], 0xA5);
    ck_assert_int_eq(got[all - 1 - n], 0xA5);
  }
  ck_assert_msg(memcmp(got + GUARD_BYTES, wanted, (size_t)g->bytes) == 0, "%s: other bytes", name);
  rlo__free(got);
}

static void close_guarded(guarded *g) {
  rlo_storage_release(g->storage);
}

/* ------------------------------------------------- what NVIDIA's driver takes
 */

/* The library's calls come by here. */
static bool is_taken(cl_mem buffer, const size_t *origin, const size_t *region, size_t row,
                     size_t plane) {
  size_t bytes = 0;
  expect_cl(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
  plane = plane != 0 ? plane : region[1] * row;
  return (origin[2] + region[2] - 1) * plane + (origin[1] + region[1]) * row <= bytes;
}

#define RECT(pointer)                                                                             \
  cl_command_queue queue, cl_mem buffer, cl_bool is_blocking, const size_t *origin,               \
      const size_t *host_origin, const size_t *region, size_t row, size_t plane, size_t host_row, \
      size_t host_plane, pointer host, cl_uint count, const cl_event *events, cl_event *event

#define TRANSFER_RECT(name, pointer)                                                         \
  cl_int name(RECT(pointer)) {                                                               \
    cl_int (*driver)(RECT(pointer)) = NULL;                                                  \
    *(void **)&driver = dlsym(RTLD_NEXT, #name);                                             \
    return !is_taken(buffer, origin, region, row, plane)                                     \
               ? CL_INVALID_VALUE                                                            \
               : driver(queue, buffer, is_blocking, origin, host_origin, region, row, plane, \
                        host_row, host_plane, host, count, events, event);                   \
  }

TRANSFER_RECT(clEnqueueReadBufferRect, void *)
TRANSFER_RECT(clEnqueueWriteBufferRect, const void *)

/* ----------------------------------------------------------------- lattices */

typedef struct lattice {
  int64_t base, run_bytes, bytes;
  int32_t num_dims;
  int64_t extents[MAX_DIMS], strides[MAX_DIMS];
} lattice;

/** Nested boxes with gaps, in any order of dimensions. */
static lattice draw_lattice(test_random *random) {
  lattice l = {.run_bytes = test_random_in(random, 1, 200)};
  l.num_dims = (int32_t)test_random_in(random, 0, MAX_DIMS);
  l.bytes = l.run_bytes;
  int64_t span = l.run_bytes;
  for (int32_t d = l.num_dims - 1; d >= 0; --d) {
    int64_t gap = test_random_once_in(random, 2) ? 0 : test_random_in(random, 0, 99);
    int64_t stride = test_random_once_in(random, 2)
                         ? (span + gap + l.run_bytes - 1) / l.run_bytes * l.run_bytes
                         : span + gap;
    int64_t most = (SMALL_BYTES - span) / stride + 1;
    int64_t extent = test_random_in(random, 1, most < 5 ? most : 5);
    l.extents[d] = extent;
    l.bytes *= extent;
    span += (extent - 1) * stride;
    l.strides[d] = stride;
  }
  if (l.num_dims > 1 && test_random_once_in(random, 3)) {
    int64_t extent = l.extents[0];
    int64_t stride = l.strides[0];
    l.extents[0] = l.extents[1];
    l.strides[0] = l.strides[1];
    l.extents[1] = extent;
    l.strides[1] = stride;
  }
  l.base = test_random_in(random, 0, SMALL_BYTES - span);
  return l;
}

static void read_lattice(rlo_storage *storage, const lattice *l, void *into) {
  expect_ok(test_transfer(storage, l->base, l->extents, l->strides, l->num_dims, l->run_bytes, into,
                          false));
}

static void write_lattice(rlo_storage *storage, const lattice *l, const void *from) {
  expect_ok(test_transfer(storage, l->base, l->extents, l->strides, l->num_dims, l->run_bytes, from,
                          true));
}

RLO_TEST(test_device_service_buffer__lattices_as_of_memory) {
  test_random random = test_random_begin("test_device_service_buffer");
  const uint64_t seed = random.state;
  static uint8_t memory[SMALL_BYTES];
  test_fill_unique(memory, sizeof memory, 1, 1);
  rlo_storage *expected = NULL;
  expect_ok(rlo_storage_from_memory(memory, sizeof memory, &expected));
  guarded g;
  open_guarded(&g, memory, sizeof memory);
  for (int n = 0; n < NUM_CASES; ++n) {
    bool is_read = n % 2 == 0;
    lattice l = draw_lattice(&random);
    uint8_t *a = rlo__alloc((size_t)l.bytes);
    uint8_t *b = rlo__alloc((size_t)l.bytes);
    if (is_read) {
      read_lattice(expected, &l, a);
      read_lattice(g.storage, &l, b);
    } else {
      test_fill_unique(a, l.bytes, 1, (uint64_t)n);
      memcpy(b, a, (size_t)l.bytes);
      write_lattice(expected, &l, a);
      write_lattice(g.storage, &l, b);
    }
    ck_assert_msg(memcmp(a, b, (size_t)l.bytes) == 0,
                  "case %d; repeat with RELAYOUT_TEST_SEED=%" PRIu64, n, seed);
    rlo__free(a);
    rlo__free(b);
  }
  expect_content(&g, memory, "lattices");
  close_guarded(&g);
  rlo_storage_release(expected);
}

/* Rows, and planes of rows, go together. */
RLO_TEST(test_device_service_buffer__a_box_is_one_call) {
  uint8_t content[SMALL_BYTES] = {0};
  guarded g;
  open_guarded(&g, content, sizeof content);
  test_storage_stats before, after;
  before = test_storage_get_stats(g.storage);
  lattice box = {.base = 444,
                 .run_bytes = 40,
                 .num_dims = 3,
                 .extents = {2, 3, 4},
                 .strides = {10000, 2000, 200}};
  read_lattice(g.storage, &box, content);
  write_lattice(g.storage, &box, content);
  after = test_storage_get_stats(g.storage);
  ck_assert_int_eq(after.num_reads - before.num_reads, 2);
  ck_assert_int_eq(after.num_writes - before.num_writes, 2);
  ck_assert_int_eq(after.bytes_read - before.bytes_read, 960);
  ck_assert_int_eq(after.smallest_read, 480);
  close_guarded(&g);
}

/* Rows and planes whose last one, as long as the pitch, would not end there. */
RLO_LOOP_TEST(test_device_service_buffer__a_box_ends_with_the_storage, 1, 3) {
  static uint8_t content[SMALL_BYTES];
  uint8_t packed[240], got[240];
  guarded g;
  lattice box = {.run_bytes = 40,
                 .num_dims = _i,
                 .extents = {_i == 1 ? 3 : 2, 3},
                 .strides = {_i == 1 ? 2500 : 7500, 2500}};
  box.base = SMALL_BYTES - 40 - 2 * 2500 - (_i - 1) * 7500;
  test_fill_unique(packed, sizeof packed, 1, 1);
  open_guarded(&g, content, sizeof content);
  write_lattice(g.storage, &box, packed);
  read_lattice(g.storage, &box, got);
  ck_assert_mem_eq(got, packed, (size_t)_i * 120);
  for (int n = 0; n < 3 * _i; ++n) {
    memcpy(content + box.base + n / 3 * 7500 + n % 3 * 2500, packed + 40 * n, 40);
  }
  expect_content(&g, content, "box at the end");
  close_guarded(&g);
}

/* --------------------------------------------------------------------- jobs */

typedef enum end { FROM_BUFFER = 1, TO_BUFFER = 2 } end;

static const struct {
  int ends;
  test_storage_kind other;
  bool has_device, copies;
} jobs[] = {{FROM_BUFFER, TEST_STORAGE_MEMORY, false, false},
            {FROM_BUFFER, TEST_STORAGE_FILE, true, false},
            {FROM_BUFFER, TEST_STORAGE_MEMORY, true, true},
            {TO_BUFFER, TEST_STORAGE_MEMORY, false, false},
            {TO_BUFFER, TEST_STORAGE_MEMORY, true, false},
            {TO_BUFFER, TEST_STORAGE_FILE, true, true},
            {FROM_BUFFER | TO_BUFFER, TEST_STORAGE_MEMORY, true, false}};

RLO_TABLE_TEST(test_device_service_buffer__jobs, jobs) {
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.device_memory_bytes = RLO_SERVICE_MIN_DEVICE_BYTES;
  options.io_threads = 3;
  rlo_service *service = NULL;
  expect_ok(rlo__service_create(&device.context, jobs[_i].has_device, &options, jobs[_i].copies,
                                &service));
  rlo_problem problem;
  /* With gaps, which keep their bytes. */
  test_plan_lower("f32[300,500]", "f32[300,500]{0,1:T(8,128)}", NULL, &problem);
  checked_job job;
  checked_job_init(&job, &problem, jobs[_i].other, jobs[_i].other);
  job.options.host_memory_bytes = 64 * 1024;
  guarded src, dst;
  int64_t bytes = problem.src_bytes + problem.dst_bytes;
  uint8_t *before = rlo__alloc((size_t)bytes);
  watched_storage_get(&job.src, before);
  watched_storage_get(&job.dst, before + problem.src_bytes);
  open_guarded(&src, before, problem.src_bytes);
  open_guarded(&dst, before + problem.src_bytes, problem.dst_bytes);
  rlo__free(before);
  expect_ok(rlo_service_submit(
      service, &problem, (jobs[_i].ends & FROM_BUFFER) != 0 ? src.storage : job.src.storage,
      (jobs[_i].ends & TO_BUFFER) != 0 ? dst.storage : job.dst.storage, &job.options, &job.job));
  if ((jobs[_i].ends & TO_BUFFER) != 0) {
    expect_ok(rlo_job_wait(job.job, -1, NULL));
    expect_ok(rlo_job_result(job.job));
    expect_content(&dst, job.wanted, "the job");
  } else {
    checked_job_expect(&job, "the job");
  }
  rlo_job_info info = checked_job_info(&job);
  ck_assert_int_gt(info.num_pieces, 4);
  ck_assert_int_le(info.host_bytes_peak, job.options.host_memory_bytes);
  close_guarded(&src);
  close_guarded(&dst);
  checked_job_deinit(&job);
  rlo_service_release(service);
}

/* ----------------------------------------------------------------- refusals */

static cl_mem make_buffer(const rlo_context *context, cl_mem_flags flags) {
  return test_context_buffer(context, flags, 100, NULL);
}

static void expect_refused(cl_mem buffer, int64_t offset, int64_t bytes, rlo_status status,
                           const char *message) {
  rlo_storage *storage = (rlo_storage *)(void *)&status;
  expect_refusal(rlo_storage_from_buffer(device.context, buffer, offset, bytes, &storage), status,
                 message);
  ck_assert_ptr_null(storage);
}

RLO_TEST(test_device_service_buffer__refusals) {
  const rlo_context *context = device.context;
  cl_mem buffer = make_buffer(context, CL_MEM_READ_WRITE);
  expect_refused(NULL, 0, 1, RLO_INVALID_ARGUMENT, "'buffer' is NULL; 1 bytes are needed");
  expect_refused(buffer, -1, 1, RLO_INVALID_ARGUMENT,
                 "1 bytes at byte -1 of a buffer; both have to be at least 0");
  expect_refused(buffer, 0, -5, RLO_INVALID_ARGUMENT,
                 "-5 bytes at byte 0 of a buffer; both have to be at least 0");
  expect_refused(buffer, 101, 0, RLO_OUT_OF_RANGE,
                 "0 bytes at byte 101 do not lie in a buffer of 100 bytes");
  expect_refused(buffer, INT64_MAX, INT64_MAX, RLO_OUT_OF_RANGE,
                 "9223372036854775807 bytes at byte 9223372036854775807 do not "
                 "lie in a buffer of 100 bytes");
  expect_refused(buffer, 60, 41, RLO_OUT_OF_RANGE,
                 "41 bytes at byte 60 do not lie in a buffer of 100 bytes");
  expect_cl(clReleaseMemObject(buffer));

  test_device other = test_device_open();
  buffer = make_buffer(other.context, CL_MEM_READ_WRITE);
  expect_refused(buffer, 0, 1, RLO_INVALID_ARGUMENT, "the buffer is of another context");
  expect_cl(clReleaseMemObject(buffer));
  test_device_close(&other);

  buffer = make_buffer(context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS);
  expect_refused(buffer, 0, 1, RLO_INVALID_ARGUMENT,
                 "the buffer is CL_MEM_HOST_NO_ACCESS: its bytes go through the host");
  expect_cl(clReleaseMemObject(buffer));
}

RLO_TEST(test_device_service_buffer__what_the_host_may_do) {
  const rlo_context *context = device.context;
  char byte = 0;
  for (int n = 0; n < 2; ++n) {
    cl_mem buffer = make_buffer(context, n == 0 ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    rlo_storage *storage = NULL;
    expect_ok(rlo_storage_from_buffer(device.context, buffer, 10, 90, &storage));
    expect_cl(clReleaseMemObject(buffer));
    ck_assert_int_eq(rlo__storage_read(storage, 89, 1, &byte),
                     n == 0 ? RLO_OK : RLO_INVALID_ARGUMENT);
    ck_assert_int_eq(rlo__storage_write(storage, 89, 1, &byte),
                     n == 0 ? RLO_INVALID_ARGUMENT : RLO_OK);
    ck_assert_int_eq(rlo__storage_write(storage, 90, 1, &byte),
                     n == 0 ? RLO_INVALID_ARGUMENT : RLO_OUT_OF_RANGE);
    rlo_storage_release(storage);
  }
  /* No bytes need no buffer. */
  rlo_storage *none = NULL;
  expect_ok(rlo_storage_from_buffer(device.context, NULL, 0, 0, &none));
  expect_ok(rlo__storage_read(none, 0, 0, NULL));
  rlo_storage_release(none);
}
