/* SPDX-License-Identifier: Apache-2.0 */

/* Streamed files, by the calls that they make: no byte is written. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "service/storage.h"
#include "service/storage_cache.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"

#define MIB     ((int64_t)1 << 20)
#define STORAGE (512 * MIB)

static struct {
  int64_t bytes_written, bytes_started, bytes_ended, bytes_dropped;
  int64_t last_ended, last_dropped;
  int num_starts, num_ends, num_drops;
  /** The write-back that fails, from 1 on; 0: none. */
  int at, error;
} seen;

static int fd;
static rlo_storage *storage;
/** Neither read nor written. */
static char data[8 << 20];

static ssize_t pretend_read(int file, const struct iovec *parts, int count, int64_t offset) {
  (void)file;
  (void)offset;
  ssize_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    bytes += (ssize_t)parts[i].iov_len;
  }
  return bytes;
}

static ssize_t pretend_write(int file, const void *from, size_t bytes, int64_t offset) {
  (void)file;
  (void)from;
  (void)offset;
  seen.bytes_written += (int64_t)bytes;
  return (ssize_t)bytes;
}

static int pretend_sync(int file) {
  (void)file;
  return 0;
}

static int pretend_write_back(int file, int64_t offset, int64_t bytes, bool is_end) {
  (void)file;
  if (is_end) {
    ++seen.num_ends;
    seen.bytes_ended += bytes;
    seen.last_ended = offset;
  } else {
    ++seen.num_starts;
    seen.bytes_started += bytes;
  }
  if (seen.num_starts + seen.num_ends == seen.at) {
    errno = seen.error;
    return -1;
  }
  return 0;
}

static void pretend_drop(int file, int64_t offset, int64_t bytes) {
  (void)file;
  ++seen.num_drops;
  seen.bytes_dropped += bytes;
  seen.last_dropped = offset;
}

static const rlo__storage_calls pretended = {.read = pretend_read,
                                             .write = pretend_write,
                                             .sync = pretend_sync,
                                             .write_back = pretend_write_back,
                                             .drop = pretend_drop};

static void begin(void) {
  memset(&seen, 0, sizeof seen);
  fd = temp_file_open();
  expect_ok(rlo_storage_from_fd(fd, 0, STORAGE, NULL, &storage));
  rlo__storage_set_calls(storage, &pretended);
  rlo__storage_set_streamed(storage);
  rlo__storage_set_streamed(storage);
}

static void end(void) {
  rlo_storage_release(storage);
  ck_assert_int_eq(close(fd), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

RLO_TEST(test_storage_trail__no_more_than_64_mib_wait) {
  if (test_thresholds_are_low()) {
    return;
  }
  for (int64_t n = 0; n < 200; ++n) {
    expect_ok(rlo__storage_write(storage, n * MIB, MIB, data));
    ck_assert_int_le(seen.bytes_written - seen.bytes_ended, 64 * MIB);
    ck_assert_int_lt(seen.bytes_written - seen.bytes_started, 8 * MIB);
    /* But for the first and the last page of each chunk. */
    int64_t num_ended = seen.bytes_ended / (8 * MIB);
    ck_assert_int_eq(seen.bytes_dropped, seen.bytes_ended - num_ended * 2 * 4096);
    ck_assert_int_eq(seen.last_dropped, seen.last_ended + (num_ended > 0 ? 4096 : 0));
  }
  ck_assert_int_eq(seen.num_starts, 25);
  /* The oldest first: 8 MiB chunks 0 to 17 are on the disk. */
  ck_assert_int_eq(seen.num_ends, 18);
  ck_assert_int_eq(seen.last_ended, 17 * 8 * MIB);
  expect_ok(rlo__storage_flush(storage));
  ck_assert_int_eq(seen.bytes_dropped, 200 * MIB - 25 * 2 * 4096);
  /* And from the beginning. */
  for (int64_t n = 0; n < 100; ++n) {
    expect_ok(rlo__storage_write(storage, n * MIB, MIB, data));
  }
  ck_assert_int_eq(seen.num_starts, 25 + 12);
  ck_assert_int_eq(seen.num_ends, 18 + 5);
}

/* The system says once that bytes are lost, to a writer that may not yet have
 * said so when another thread flushes. */
RLO_TEST(test_storage_trail__a_flush_knows_what_a_writer_was_told) {
  static rlo__cached_file file;
  expect_ok(rlo__cached_file_init(&file, dup(fd)));
  file.calls = &pretended;
  file.is_streamed = true;
  seen.at = 1;
  seen.error = EIO;
  rlo__trail_written(&file, 0, 8 * MIB);
  ck_assert_int_eq(atomic_load(&file.lost_error), EIO);
  seen.at = seen.num_starts + 1;
  seen.error = ENOSPC;
  rlo__trail_written(&file, 0, 8 * MIB);
  rlo__trail_drop_written(&file);
  ck_assert_int_eq(atomic_load(&file.lost_error), EIO);
  rlo__cached_file_deinit(&file);
}

RLO_TEST(test_storage_trail__pages_between_runs_are_left_alone) {
  if (test_thresholds_are_low()) {
    return;
  }
  /* A page of 100 bytes in each 64 KiB; then its neighbour in the page. */
  const int64_t extent = 1024;
  const int64_t stride = 65536;
  expect_ok(test_transfer(storage, 0, &extent, &stride, 1, 100, data, true));
  ck_assert_int_eq(seen.bytes_started, 1024 * 4096);
  ck_assert_int_eq(seen.num_starts, 1024);
  /* Pages that are written in part stay in memory for the rest. */
  ck_assert_int_eq(seen.num_drops, 0);
  /* Runs that share pages are one range. */
  memset(&seen, 0, sizeof seen);
  const int64_t many = 100000;
  const int64_t near = 256;
  expect_ok(test_transfer(storage, 0, &many, &near, 1, 100, data, true));
  ck_assert_int_eq(seen.bytes_started, 24 * MIB);
  ck_assert_int_eq(seen.num_starts, 3);
}

RLO_TEST(test_storage_trail__what_was_read_is_dropped) {
  if (test_thresholds_are_low()) {
    return;
  }
  for (int64_t n = 0; n < 20; ++n) {
    expect_ok(rlo__storage_read(storage, n * MIB * 2, MIB, data));
  }
  ck_assert_int_eq(seen.bytes_dropped, 16 * MIB);
  ck_assert_int_eq(seen.num_drops, 16);
  ck_assert_int_eq(seen.last_dropped, 30 * MIB);
  /* Short runs share their pages with the next ones. */
  for (int64_t n = 0; n < 200; ++n) {
    expect_ok(rlo__storage_read(storage, n * MIB, 65535, data));
  }
  ck_assert_int_eq(seen.num_drops, 16);
  ck_assert_int_eq(seen.num_starts + seen.num_ends, 0);
}

RLO_TEST(test_storage_trail__reads_from_a_size_on_are_noted) {
  const rlo__threshold_values usual = rlo__thresholds;
  rlo__thresholds.service_trail_ranges = 2;
  rlo__thresholds.service_trail_read_bytes = 100;
  for (int64_t n = 0; n < 4; ++n) {
    expect_ok(rlo__storage_read(storage, n * MIB, 99, data));
  }
  ck_assert_int_eq(seen.num_drops, 0);
  expect_ok(rlo__storage_read(storage, 0, 100, data));
  expect_ok(rlo__storage_read(storage, MIB, 100, data));
  ck_assert_int_eq(seen.num_drops, 2);
  ck_assert_int_eq(seen.bytes_dropped, 200);
  rlo__thresholds = usual;
}

RLO_TEST(test_storage_trail__a_file_that_is_not_streamed_stays) {
  rlo_storage *other = NULL;
  expect_ok(rlo_storage_from_fd(fd, 0, STORAGE, NULL, &other));
  rlo__storage_set_calls(other, &pretended);
  for (int64_t n = 0; n < 100; ++n) {
    expect_ok(rlo__storage_write(other, n * MIB, MIB, data));
    expect_ok(rlo__storage_read(other, n * MIB, MIB, data));
  }
  expect_ok(rlo__storage_flush(other));
  ck_assert_int_eq(seen.num_starts + seen.num_ends + seen.num_drops, 0);
  rlo_storage_release(other);
}

/* 10 chunks: 10 starts and 3 ends. */
RLO_LOOP_TEST(test_storage_trail__a_failure_is_told_and_remembered, 1, 14) {
  seen.at = _i;
  seen.error = _i % 2 == 0 ? EIO : ENOSPC;
  rlo_status status = RLO_OK;
  int64_t n = 0;
  for (; n < 10 && status == RLO_OK; ++n) {
    status = rlo__storage_write(storage, n * 8 * MIB, 8 * MIB, data);
  }
  ck_assert_int_eq(status, RLO_IO);
  ck_assert_int_eq(n, _i <= 8 ? _i : 8 + (_i - 8) / 2);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message,
                               "bytes that were written did not reach the disk: cannot sync"));
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, strerror(seen.error)));
  /* fdatasync, which the system lets pass, does not make it good. */
  ck_assert_int_eq(rlo__storage_flush(storage), RLO_IO);
  ck_assert_int_eq(rlo__storage_write(storage, 0, 1, data), RLO_IO);
}

static const int harmless[] = {EINTR, ENOSYS, EINVAL, ESPIPE, EPERM};

RLO_TABLE_TEST(test_storage_trail__a_call_that_is_not_there, harmless) {
  seen.error = harmless[_i];
  for (int64_t n = 0; n < 12; ++n) {
    seen.at = seen.num_starts + seen.num_ends + 1;
    expect_ok(rlo__storage_write(storage, n * 8 * MIB, 8 * MIB, data));
  }
  expect_ok(rlo__storage_flush(storage));
  ck_assert_int_eq(seen.num_starts, seen.error == EINTR ? 24 : 12);
}
