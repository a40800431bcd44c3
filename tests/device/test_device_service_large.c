/* SPDX-License-Identifier: Apache-2.0 */

/* A matrix larger than a device's largest buffer, transposed between functions,
 * memory and files, and by a device with 1 MiB and 256 MiB of its own. With
 * RELAYOUT_TEST_ALL it is larger than 4 GiB, which 4 GB of memory and 9 GB of
 * disk are needed for, and the limit has to be the device's own:
 * POCL_MEMORY_LIMIT=4 makes one of 1 GiB, 1 one of 256 MiB. Else both are
 * small. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/thread.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "service/service.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/temp_file.h"

/** A matrix of elements of 4 bytes. */
typedef struct matrix {
  int64_t rows, columns;
} matrix;

static matrix source;
static int64_t num_bytes, budget_bytes;
static rlo_service *service;
static rlo_problem there, back;

static rlo_problem transposition(matrix from) {
  static const int32_t permutation[] = {1, 0};
  const int64_t dims[] = {from.rows, from.columns, from.rows};
  const rlo_shape src = test_shape_make(RLO_DTYPE_F32, dims, 2);
  const rlo_shape dst = test_shape_make(RLO_DTYPE_F32, dims + 1, 2);
  rlo_problem problem;
  expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
  return problem;
}

static void open_all(void) {
  bool is_large = getenv("RELAYOUT_TEST_ALL") != NULL;
  open_device();
  rlo_device_info *info = &device.context->device_info;
  source = is_large ? (matrix){33000, 32768} : (matrix){1100, 1024};
  budget_bytes = is_large ? INT64_C(256) << 20 : RLO_SERVICE_MIN_HOST_BYTES;
  num_bytes = 4 * source.rows * source.columns;
  if (!is_large) {
    info->max_allocation_bytes = INT64_C(1) << 20;
  }
  printf("%" PRId64 " bytes, buffers of at most %" PRId64 "\n", num_bytes,
         info->max_allocation_bytes);
  ck_assert_int_gt(num_bytes, 4 * info->max_allocation_bytes);
  there = transposition(source);
  back = transposition((matrix){source.columns, source.rows});
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = budget_bytes;
  options.max_running_jobs = 1;
  expect_ok(rlo_service_create(&device.context, 1, &options, &service));
}

static void close_all(void) {
  rlo_service_release(service);
  close_device();
}

RLO_FILE_FIXTURE(open_all, close_all);
RLO_TIMEOUT(600);

/* ------------------------------------------------------------------- values */

/* The bits of the source's element `n`: all are different. */
static uint32_t value(int64_t n) {
  return (uint32_t)n * 2654435761u;
}

/* Fails unless `bytes` bytes from `offset` on are the source's, or those of its
 * transpose. */
static rlo_status check(const uint32_t *got, int64_t offset, int64_t bytes, bool is_transposed) {
  int64_t row = offset / 4 / source.rows;
  int64_t column = offset / 4 % source.rows;
  for (int64_t n = 0; n < bytes / 4; ++n) {
    int64_t from = is_transposed ? column * source.columns + row : offset / 4 + n;
    if (got[n] != value(from)) {
      return rlo_error_set(RLO_INTERNAL, "element %lld is wrong", (long long)(offset / 4 + n));
    }
    if (++column == source.rows) {
      column = 0;
      ++row;
    }
  }
  return RLO_OK;
}

static rlo_status generate(void *payload, int64_t offset, int64_t bytes, void *into) {
  uint32_t *values = into;
  (void)payload;
  for (int64_t n = 0; n < bytes / 4; ++n) {
    values[n] = value(offset / 4 + n);
  }
  return RLO_OK;
}

static rlo_status compare(void *payload, int64_t offset, int64_t bytes, const void *from) {
  (void)payload;
  return check(from, offset, bytes, false);
}

/* A storage that generates the source when it is read, and takes nothing else
 * when it is written. */
static rlo_storage *open_functions(void) {
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = generate;
  ops.write = compare;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = num_bytes;
  /* The granule is an element. */
  traits.granule_bytes = 4;
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_create(&ops, NULL, &traits, &storage));
  return storage;
}

static rlo_storage *open_file(int fd) {
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_fd(fd, 0, num_bytes, NULL, &storage));
  return storage;
}

static void run(const char *name, rlo_service *by, int64_t host_bytes, const rlo_problem *problem,
                rlo_storage *src, rlo_storage *dst, rlo_job_info *out_info) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.is_new_destination = true;
  rlo_job *job = NULL;
  double begin = rlo__clock_seconds();
  expect_ok(rlo_service_submit(by, problem, src, dst, &options, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  double seconds = rlo__clock_seconds() - begin;
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job, &info));
  rlo_job_release(job);
  printf("%s: %.2f s, %.2f GB/s, %" PRId64 " pieces, %.1f MiB of host memory, %.2f of the device\n",
         name, seconds, 2e-9 * (double)num_bytes / seconds, info.num_pieces,
         (double)info.host_bytes_peak / (double)(1 << 20),
         (double)info.device_bytes_peak / (double)(1 << 20));
  ck_assert_int_eq(info.bytes_read, num_bytes);
  ck_assert_int_eq(info.bytes_written, num_bytes);
  ck_assert_int_le(info.host_bytes_peak, host_bytes);
  ck_assert_int_gt(info.num_pieces, 4);
  *out_info = info;
}

/* -------------------------------------------------------------------- tests */

RLO_TEST(test_device_service_large__memory) {
  uint32_t *memory = malloc((size_t)num_bytes);
  ck_assert_ptr_nonnull(memory);
  rlo_storage *functions = open_functions();
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_memory(memory, num_bytes, &storage));
  rlo_job_info info;
  run("into memory", service, budget_bytes, &there, functions, storage, &info);
  expect_ok(check(memory, 0, num_bytes, true));
  run("from memory", service, budget_bytes, &back, storage, functions, &info);
  rlo_storage_release(storage);
  rlo_storage_release(functions);
  free(memory);
}

RLO_TEST(test_device_service_large__files) {
  int fds[2] = {temp_file_open(), temp_file_open()};
  rlo_storage *functions = open_functions();
  rlo_storage *first = open_file(fds[0]);
  rlo_storage *second = open_file(fds[1]);
  rlo_job_info info;
  run("into a file", service, budget_bytes, &there, functions, first, &info);
  run("file to file", service, budget_bytes, &back, first, second, &info);
  rlo_storage_release(first);
  rlo_storage_release(second);
  rlo_storage_release(functions);

  enum { CHUNK_BYTES = 1 << 20 };

  static uint32_t chunk[CHUNK_BYTES / 4];
  for (int64_t at = 0; at < num_bytes; at += CHUNK_BYTES) {
    int64_t bytes = rlo__min(CHUNK_BYTES, num_bytes - at);
    ck_assert_int_eq(pread(fds[1], chunk, (size_t)bytes, (off_t)at), bytes);
    expect_ok(check(chunk, at, bytes, false));
  }
  ck_assert_int_eq(close(fds[0]), 0);
  ck_assert_int_eq(close(fds[1]), 0);
}

/* The bytes that a device with memory of its own may use. The smallest one
 * limits the pieces of the small matrix, of which the largest holds both
 * sides. */
static const int64_t device_memories[] = {INT64_C(1) << 18, INT64_C(1) << 20, INT64_C(256) << 20};

/* Source and destination are copied to buffers on the device and back. These
 * stay within its memory by the job's counter, and by the context, which
 * refuses what is beyond. */
RLO_TABLE_TEST(test_device_service_large__device_memory, device_memories) {
  const int64_t limit_bytes = device_memories[_i];
  if (2 * num_bytes <= limit_bytes) {
    return;
  }
  const int64_t own_bytes = device.context->memory_budget_bytes;
  device.context->memory_budget_bytes = limit_bytes;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  /* Enough that the device, not the host, makes pieces small at 1 MiB. */
  options.host_memory_bytes = rlo__min(64 * limit_bytes, INT64_C(1) << 30);
  options.device_memory_bytes = limit_bytes;
  options.max_running_jobs = 1;
  rlo_service *copying = NULL;
  expect_ok(rlo__service_create(&device.context, 1, &options, true, &copying));
  uint32_t *memory = malloc((size_t)num_bytes);
  ck_assert_ptr_nonnull(memory);
  rlo_storage *functions = open_functions();
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_memory(memory, num_bytes, &storage));
  rlo_job_info info;
  for (int32_t n = 0; n < 2; ++n) {
    run(n == 0 ? "by the device" : "and back", copying, options.host_memory_bytes,
        n == 0 ? &there : &back, n == 0 ? functions : storage, n == 0 ? storage : functions, &info);
    if (n == 0) {
      expect_ok(check(memory, 0, num_bytes, true));
    }
    ck_assert_int_gt(info.device_bytes_peak, limit_bytes / 16);
    ck_assert_int_le(info.device_bytes_peak, limit_bytes);
    ck_assert_int_ge(info.num_pieces, 2 * num_bytes / limit_bytes);
  }
  rlo_storage_release(storage);
  rlo_storage_release(functions);
  free(memory);
  rlo_service_release(copying);
  device.context->memory_budget_bytes = own_bytes;
}
