/* SPDX-License-Identifier: Apache-2.0 */

/* The file of a journal when system calls fail. */
#include "service/journal_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

static char folder[TEMP_FOLDER_CHARS];
static char path[128];

static void set_up(void) {
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/journal", folder);
}

static void tear_down(void) {
  (void)unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(set_up, tear_down);

/* Makes a journal with boxes 0 and 1, and opens it for more. */
static void open_with_two(rlo__journal_file *file) {
  rlo__journal_header header = {.settings = {1, 1, 1}};
  bool exists;
  (void)unlink(path);
  expect_ok(rlo__journal_file_open(path, file, &header, &exists));
  expect_ok(rlo__journal_file_create(file, &header));
  const rlo__journal_record records[] = {{0, 10}, {1, 11}};
  expect_ok(rlo__journal_file_append(file, records, 2));
}

/* Boxes 0 to n, where n is at least `least`. */
static void expect_first_boxes(int least) {
  rlo__journal_file file;
  rlo__journal_header header;
  bool exists;
  rlo__journal_record *records;
  size_t count;
  expect_ok(rlo__journal_file_open(path, &file, &header, &exists));
  expect_ok(rlo__journal_file_read(&file, &records, &count));
  ck_assert_int_ge((int)count, least);
  for (size_t n = 0; n < count; ++n) {
    ck_assert_int_eq(records[n].box, (int64_t)n);
    ck_assert_int_eq(records[n].bytes, (int64_t)n + 10);
  }
  rlo__free(records);
  rlo__journal_file_close(&file);
}

static int call_number, fails_at, errno_of_fault;
static bool is_short, is_sticky;

static bool is_faulty(void) {
  errno = errno_of_fault;
  return ++call_number == fails_at || (is_sticky && call_number > fails_at);
}

static ssize_t faulty_write(int fd,
                            const void *data,
                            size_t bytes,
                            int64_t offset) {
  if (is_faulty()) {
    return is_short ? pwrite(fd, data, bytes / 2, (off_t)offset) : -1;
  }
  return pwrite(fd, data, bytes, (off_t)offset);
}

static int faulty_sync(int fd) {
  (void)fd;
  return is_faulty() && !is_short ? -1 : 0;
}

/* Whatever fails, what was recorded before stays, and what is recorded is a
 * beginning of what was to be. */
RLO_TEST(test_journal_file__calls_that_fail) {
  static const int errors[] = {ENOSPC, EIO, EINTR, 0};
  rlo__storage_calls calls = rlo__storage_system_calls;
  calls.write = faulty_write;
  calls.sync = faulty_sync;
  for (int e = 0; e < 4; ++e) {
    errno_of_fault = errors[e];
    is_short = errors[e] == 0;
    for (fails_at = 1; fails_at <= 5; ++fails_at) {
      rlo__journal_file file;
      open_with_two(&file);
      file.calls = &calls;
      call_number = 0;
      int count = 2;
      rlo_status status = RLO_OK;
      for (; count < 4 && status == RLO_OK; count += status == RLO_OK) {
        const rlo__journal_record record = {.box = count, .bytes = count + 10};
        status = rlo__journal_file_append(&file, &record, 1);
      }
      rlo__journal_file_close(&file);
      bool is_survived = errors[e] == EINTR || errors[e] == 0 || fails_at > 4;
      ck_assert_int_eq(status, is_survived ? RLO_OK : RLO_IO);
      ck_assert(is_survived ||
                strstr(rlo_error_last()->message, "cannot write the journal"));
      expect_first_boxes(count);
    }
  }
}

/* Where a file without a name fails, one with a name is tried: that way file
 * systems that know no others have journals too. Nothing is left of a failure.
 */
RLO_TEST(test_journal_file__creation_that_fails) {
  rlo__storage_calls calls = rlo__storage_system_calls;
  calls.write = faulty_write;
  calls.sync = faulty_sync;
  errno_of_fault = EIO;
  is_short = false;
  rlo__journal_header header = {.settings = {1, 1, 1}};
  for (int n = 0; n < 4; ++n) {
    is_sticky = n % 2 != 0;
    fails_at = 1 + n / 2;
    call_number = 0;
    rlo__journal_file file;
    bool exists;
    expect_ok(rlo__journal_file_open(path, &file, &header, &exists));
    ck_assert(!exists);
    file.calls = &calls;
    rlo_status status = rlo__journal_file_create(&file, &header);
    ck_assert_int_eq(status, is_sticky ? RLO_IO : RLO_OK);
    rlo__journal_file_close(&file);
    expect_ok(rlo__journal_file_peek(path, &header, &exists));
    ck_assert(exists == !is_sticky);
    (void)unlink(path);
  }
  is_sticky = false;
}
