/* SPDX-License-Identifier: Apache-2.0 */

/* Storages of files past the page cache: the bytes of others, whatever is
 * aligned, and with each failure of the system. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "relayout/service.h"
#include "service/storage.h"
#include "service/storage_cache.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/plan_case.h"
#include "support/random.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum {
  BLOCK = 4096,
  /** No whole number of blocks. */
  FILE_BYTES = 5 * 1024 * 1024 + 777,
  MEMORY_BYTES = FILE_BYTES + 2 * BLOCK,
  NUM_CASES = 200
};

static struct {
  int fd;
  /** The part of the file that the storage has. */
  int64_t offset, bytes;
  rlo_storage *storage;
} file;

static uint8_t content[FILE_BYTES];
/** The memory of transfers. `memory` points to its aligned part. */
static uint8_t room[MEMORY_BYTES + BLOCK];
static uint8_t *memory;

/* Opens the storage anew; false where the file system cannot. */
static bool open_storage(int64_t offset) {
  rlo_storage_release(file.storage);
  file.storage = NULL;
  file.offset = offset;
  file.bytes = FILE_BYTES - offset;
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = true;
  rlo_status status = rlo_storage_from_fd(file.fd, offset, file.bytes, &hints, &file.storage);
  if (status == RLO_UNSUPPORTED) {
    printf("left out: %s\n", rlo_error_last()->message);
    return false;
  }
  expect_ok(status);
  return true;
}

static void begin(void) {
  memory = room + (BLOCK - (uintptr_t)room % BLOCK);
  test_random random = {7};
  for (int64_t n = 0; n < FILE_BYTES; ++n) {
    content[n] = (uint8_t)test_random_bits(&random);
  }
  file.fd = temp_file_open();
  file.storage = NULL;
  ck_assert_int_eq(pwrite(file.fd, content, FILE_BYTES, 0), FILE_BYTES);
}

static void end(void) {
  rlo_storage_release(file.storage);
  ck_assert_int_eq(close(file.fd), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

static test_storage_stats stats_of(const rlo_storage *storage) {
  test_storage_stats stats;
  stats = test_storage_get_stats(storage);
  return stats;
}

static void expect_content(void) {
  static uint8_t got[FILE_BYTES];
  ck_assert_int_eq(pread(file.fd, got, FILE_BYTES, 0), FILE_BYTES);
  for (int64_t n = 0; n < FILE_BYTES; ++n) {
    if (got[n] != content[n]) {
      ck_abort_msg("byte %" PRId64 " of the file is wrong", n);
    }
  }
  /* The file is not longer than before either. */
  ck_assert_int_eq(lseek(file.fd, 0, SEEK_END), FILE_BYTES);
}

/* ---------------------------------------------------------- what is direct */

typedef struct aligned_case {
  int64_t position, bytes, memory;
  /** The bytes that pass the page cache by: read, and written. */
  int64_t direct_read, direct_written;
} aligned_case;

static const aligned_case aligned_cases[] = {
    {0, 16 * BLOCK, 0, 16 * BLOCK, 16 * BLOCK},
    /* From memory that is not aligned. */
    {BLOCK, 600 * BLOCK, 8, 600 * BLOCK, 600 * BLOCK},
    /* Parts of blocks are written as others are. */
    {100, 20 * BLOCK, 100, 20 * BLOCK, 19 * BLOCK},
    {5 * BLOCK - 1, 700 * BLOCK + 2, 3, 700 * BLOCK + 2, 700 * BLOCK},
    /* To the end of the file, which is within a block. */
    {FILE_BYTES - 777 - 32 * BLOCK, 777 + 32 * BLOCK, 0, 777 + 32 * BLOCK, 32 * BLOCK},
    /* Short ones. */
    {0, 15 * BLOCK, 0, 0, 0}};

RLO_TABLE_TEST(test_storage_direct__what_is_direct, aligned_cases) {
  const aligned_case *c = &aligned_cases[_i];
  if (!open_storage(0)) {
    return;
  }
  uint8_t *at = memory + c->memory;
  memset(memory, 0xA5, MEMORY_BYTES - BLOCK);
  expect_ok(rlo__storage_read(file.storage, c->position, c->bytes, at));
  ck_assert_int_eq(memcmp(at, content + c->position, (size_t)c->bytes), 0);
  ck_assert_int_eq(at[c->bytes], 0xA5);
  ck_assert(c->memory == 0 || at[-1] == 0xA5);
  if (c->direct_read > 0 || !test_thresholds_are_low()) {
    ck_assert_int_eq(stats_of(file.storage).direct_bytes_read, c->direct_read);
  }
  for (int64_t n = 0; n < c->bytes; ++n) {
    at[n] = content[c->position + n] ^= 0xFF;
  }
  expect_ok(rlo__storage_write(file.storage, c->position, c->bytes, at));
  expect_content();
  test_storage_stats stats = stats_of(file.storage);
  if (c->direct_read > 0 || !test_thresholds_are_low()) {
    ck_assert_int_eq(stats.direct_bytes_written, c->direct_written);
  }
  ck_assert_int_eq(stats.bytes_read, c->bytes);
  ck_assert_int_eq(stats.bytes_written, c->bytes);
  ck_assert_int_eq(stats.num_reads + stats.num_writes, 2);
}

/* Any position, any memory, runs and lattices, beside buffered transfers. */
RLO_TEST(test_storage_direct__any_alignment) {
  test_random random = test_random_begin("test_storage_direct");
  const uint64_t seed = random.state;
  if (!open_storage(100)) {
    return;
  }
  rlo__storage_set_streamed(file.storage);
  for (int k = 0; k < NUM_CASES; ++k) {
    int64_t unit = test_random_once_in(&random, 2) ? 1 : BLOCK;
    int64_t run = test_random_in(&random, 1, 1 << 17);
    run = rlo__max(unit, run - run % unit);
    int64_t extent = test_random_in(&random, 1, 8);
    int64_t gap = test_random_once_in(&random, 2) ? 0 : test_random_in(&random, 0, 20000);
    int64_t stride = run + gap - gap % unit;
    int64_t span = (extent - 1) * stride + run;
    int64_t base = test_random_in(&random, 0, file.bytes - span);
    uint8_t *at = memory + (unit == 1 ? test_random_in(&random, 0, BLOCK) : 0);
    bool is_read = test_random_once_in(&random, 2);
    const uint8_t *model = content + file.offset + base;
    if (!is_read) {
      for (int64_t n = 0; n < extent * run; ++n) {
        at[n] = (uint8_t)(n + k);
      }
      expect_ok(test_transfer(file.storage, base, &extent, &stride, 1, run, at, true));
      for (int64_t n = 0; n < extent; ++n) {
        memcpy(content + file.offset + base + n * stride, at + n * run, (size_t)run);
      }
    } else {
      expect_ok(test_transfer(file.storage, base, &extent, &stride, 1, run, at, false));
    }
    for (int64_t n = 0; n < extent; ++n) {
      ck_assert_msg(memcmp(at + n * run, model + n * stride, (size_t)run) == 0,
                    "case %d; repeat with RELAYOUT_TEST_SEED=%" PRIu64, k, seed);
    }
  }
  expect_ok(rlo__storage_flush(file.storage));
  expect_content();
  test_storage_stats stats = stats_of(file.storage);
  printf("%.2f of the bytes read and %.2f of those written were direct\n",
         (double)stats.direct_bytes_read / (double)stats.bytes_read,
         (double)stats.direct_bytes_written / (double)stats.bytes_written);
  ck_assert_int_gt(stats.direct_bytes_read, stats.bytes_read / 2);
  ck_assert_int_gt(stats.direct_bytes_written, stats.bytes_written / 2);
}

/* ----------------------------------------------------------------- failures */

static struct {
  /** How the call fails: with an errno, or 0: it moves few bytes. */
  int error;
  int at, num_calls;
} plan;

static bool is_faulty(void) {
  errno = plan.error;
  return ++plan.num_calls == plan.at;
}

static ssize_t faulty_read(int fd, const struct iovec *parts, int count, int64_t offset) {
  if (is_faulty()) {
    return plan.error != 0 ? -1 : pread(fd, parts->iov_base, 512, offset);
  }
  return rlo__storage_system_calls.read(fd, parts, count, offset);
}

static ssize_t faulty_write(int fd, const void *data, size_t bytes, int64_t offset) {
  if (is_faulty()) {
    return plan.error != 0
               ? -1
               : rlo__storage_system_calls.write(fd, data, bytes < 512 ? bytes : 512, offset);
  }
  return rlo__storage_system_calls.write(fd, data, bytes, offset);
}

static const rlo__storage_calls faulty_calls = {.read = faulty_read, .write = faulty_write};

static int64_t transfer_bytes(void) {
  return (test_thresholds_are_low() ? 10 : 600) * BLOCK;
}

/* Reads, and writes, in several calls, the n-th of which fails. */
static rlo_status transfer(bool is_read, int at) {
  const int64_t position = 3000;
  const int64_t bytes = transfer_bytes();
  plan.at = at;
  plan.num_calls = 0;
  rlo_status status = is_read ? rlo__storage_read(file.storage, position, bytes, memory + 8)
                              : rlo__storage_write(file.storage, position, bytes, memory + 8);
  if (status == RLO_OK) {
    ck_assert_int_eq(memcmp(memory + 8, content + position, (size_t)bytes), 0);
  }
  return status;
}

static const int errors[] = {0, EINTR, EINVAL, EIO, ENOSPC};

enum { NUM_ERRORS = sizeof errors / sizeof errors[0] };

RLO_LOOP_TEST(test_storage_direct__each_call_may_fail, 0, 2 * NUM_ERRORS) {
  bool is_read = _i < NUM_ERRORS;
  plan.error = errors[_i % NUM_ERRORS];
  bool is_fatal = plan.error == EIO || plan.error == ENOSPC;
  if (!open_storage(0)) {
    return;
  }
  rlo__storage_set_calls(file.storage, &faulty_calls);
  memcpy(memory + 8, content + 3000, FILE_BYTES - 3000);
  int num_faults = 0;
  for (int at = 1;; ++at) {
    rlo_status status = transfer(is_read, at);
    if (plan.num_calls < at) {
      expect_ok(status);
      break;
    }
    ++num_faults;
    /* Buffered calls do not refuse what is not aligned. */
    bool is_refused = plan.error == EINVAL && !is_read && status != RLO_OK;
    if (is_fatal || is_refused) {
      ck_assert_int_eq(status, RLO_IO);
      char words[64] = "cannot write ";
      if (is_read) {
        (void)snprintf(words, sizeof words, "cannot read %lld bytes at byte 3000 of ",
                       (long long)transfer_bytes());
      }
      ck_assert_msg(strncmp(rlo_error_last()->message, words, strlen(words)) == 0, "%s",
                    rlo_error_last()->message);
    } else {
      expect_ok(status);
    }
  }
  ck_assert_int_ge(num_faults, 3);
  expect_content();
}

RLO_TEST(test_storage_direct__a_file_that_ends_early) {
  if (!open_storage(0)) {
    return;
  }
  ck_assert_int_eq(ftruncate(file.fd, 100 * BLOCK + 5), 0);
  for (int n = 0; n < 2; ++n) {
    expect_refusal_with(rlo__storage_read(file.storage, 7, 200 * BLOCK, memory + n), RLO_DATA_LOSS,
                        "ends at byte 409605");
  }
}

RLO_TEST(test_storage_direct__a_file_system_without) {
  /* Regular files that are never on a disk. */
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_fd(fd, 0, 0, &hints, &storage));
  rlo_storage_release(storage);
  hints.is_direct = true;
  ck_assert_int_eq(rlo_storage_from_fd(fd, 0, 0, &hints, &storage), RLO_UNSUPPORTED);
  ck_assert_ptr_null(storage);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message,
                               "cannot be read and written past the page cache: its file system "
                               "has no direct I/O (O_DIRECT)"));
  ck_assert_int_eq(close(fd), 0);
}

/* Each allocation may fail. */
RLO_TEST(test_storage_direct__without_memory) {
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = true;
  int num_failures = 0;
  for (int64_t nth = 1;; ++nth) {
    rlo_storage *storage = NULL;
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_storage_from_fd(file.fd, 0, FILE_BYTES, &hints, &storage);
    THEN(rlo__storage_read(storage, 1, 100 * BLOCK, memory));
    rlo__alloc_set_fault(0, false);
    rlo_storage_release(storage);
    if (status == RLO_OK || status == RLO_UNSUPPORTED) {
      break;
    }
    ++num_failures;
    ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
    ck_assert_int_lt(nth, 10);
  }
  /* Without memory between, the bytes go through the page cache. */
  ck_assert_int_ge(num_failures, 1);
}

/* --------------------------------------------------------------------- jobs */

/* A job whose runs begin and end with blocks makes no other transfers. */
RLO_TEST(test_storage_direct__a_job) {
  if (test_thresholds_are_low()) {
    return;
  }
  rlo_storage_release(file.storage);
  file.storage = NULL;
  rlo_problem problem;
  test_plan_lower("f32[512,2048]", "f32[2048,512]", "1,0", &problem);
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = true;
  int fds[2] = {file.fd, temp_file_open()};
  rlo_storage *storages[2] = {NULL, NULL};
  for (int n = 0; n < 2; ++n) {
    rlo_status status = rlo_storage_from_fd(fds[n], BLOCK, problem.src_bytes, &hints, &storages[n]);
    if (status == RLO_UNSUPPORTED) {
      ck_assert_int_eq(close(fds[1]), 0);
      return;
    }
    expect_ok(status);
  }
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = 16 << 20;
  options.max_running_jobs = 1;
  rlo_service *service = NULL;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  rlo_job_options of_job = RLO_JOB_OPTIONS_INIT;
  of_job.is_new_destination = true;
  rlo_job *job = NULL;
  expect_ok(rlo_service_submit(service, &problem, storages[0], storages[1], &of_job, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_release(job);
  rlo_service_release(service);
  for (int n = 0; n < 2; ++n) {
    test_storage_stats stats = stats_of(storages[n]);
    ck_assert_int_eq(n == 0 ? stats.direct_bytes_read : stats.direct_bytes_written,
                     problem.src_bytes);
    rlo_storage_release(storages[n]);
  }
  uint8_t *wanted = memory;
  static uint8_t got[512 * 2048 * 4];
  expect_ok(rlo_problem_run_host(&problem, content + BLOCK, wanted));
  ck_assert_int_eq(pread(fds[1], got, sizeof got, BLOCK), sizeof got);
  ck_assert_int_eq(memcmp(got, wanted, sizeof got), 0);
  ck_assert_int_eq(close(fds[1]), 0);
}
