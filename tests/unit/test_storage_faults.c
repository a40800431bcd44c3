/* SPDX-License-Identifier: Apache-2.0 */

/* System calls of storages of files that fail: each kind of failure at each
 * call of a script. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "service/storage.h"
#include "service/storage_cache.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"

typedef enum fault {
  FAULT_NONE,
  /** The call fails with `error`. */
  FAULT_ERROR,
  /** A transfer moves one byte. */
  FAULT_SHORT,
  /** A read finds the end of the file. */
  FAULT_END
} fault;

typedef enum call {
  CALL_READ,
  CALL_WRITE,
  CALL_ALLOCATE,
  CALL_GET_FREE,
  CALL_RESIZE,
  CALL_SYNC
} call;

static struct {
  fault fault;
  int error;
  /** The fault's, from 1 on; 0: none. */
  int at;
  int num_calls;
  /** Which call was made to fail. */
  call failed;
  bool has_no_allocate;
  int64_t free_bytes;
} plan;

/** Counts a call. @return whether it is to have the fault. */
static bool is_faulty(call which) {
  if (++plan.num_calls != plan.at || plan.fault == FAULT_NONE) {
    return false;
  }
  plan.failed = which;
  if (plan.fault == FAULT_ERROR) {
    errno = plan.error;
    return true;
  }
  return which == CALL_READ || (which == CALL_WRITE && plan.fault != FAULT_END);
}

static ssize_t faulty_read(int fd, const struct iovec *parts, int count, int64_t offset) {
  if (is_faulty(CALL_READ)) {
    switch (plan.fault) {
      case FAULT_SHORT:
        return pread(fd, parts[0].iov_base, 1, (off_t)offset);
      case FAULT_END:
        return 0;
      default:
        return -1;
    }
  }
  return rlo__storage_system_calls.read(fd, parts, count, offset);
}

static ssize_t faulty_write(int fd, const void *data, size_t bytes, int64_t offset) {
  if (is_faulty(CALL_WRITE)) {
    return plan.fault == FAULT_SHORT ? pwrite(fd, data, 1, (off_t)offset) : -1;
  }
  return rlo__storage_system_calls.write(fd, data, bytes, offset);
}

static int faulty_allocate(int fd, int64_t offset, int64_t bytes) {
  if (is_faulty(CALL_ALLOCATE)) {
    return -1;
  }
  if (plan.has_no_allocate) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return rlo__storage_system_calls.allocate(fd, offset, bytes);
}

static int faulty_get_free(int fd, int64_t *out_bytes) {
  if (is_faulty(CALL_GET_FREE)) {
    return -1;
  }
  int result = rlo__storage_system_calls.get_free(fd, out_bytes);
  if (plan.free_bytes >= 0) {
    *out_bytes = plan.free_bytes;
  }
  return result;
}

static int faulty_resize(int fd, int64_t bytes) {
  return is_faulty(CALL_RESIZE) ? -1 : rlo__storage_system_calls.resize(fd, bytes);
}

/** Without the disk, which would take seconds. */
static int faulty_sync(int fd) {
  (void)fd;
  return is_faulty(CALL_SYNC) ? -1 : 0;
}

static const rlo__storage_calls faulty_calls = {.read = faulty_read,
                                                .write = faulty_write,
                                                .allocate = faulty_allocate,
                                                .get_free = faulty_get_free,
                                                .resize = faulty_resize,
                                                .sync = faulty_sync};

/* --------------------------------------------------------------- the script */

enum { BYTES = 40000, OFFSET = 100, RUN = 300, STRIDE = 1000, NUM_RUNS = 30 };

typedef struct script {
  int fd;
  rlo_storage *storage;
  /** The expected part of the file: the bytes of confirmed writes. */
  char wanted[BYTES];
  /** True if a write of the byte failed, so that it may differ. */
  bool is_open[BYTES];
} script;

static const int64_t extent = NUM_RUNS;
static const int64_t stride = STRIDE;
static script s;
static char packed[BYTES], whole[BYTES];

static void begin(void) {
  memset(&s, 0, sizeof s);
  memset(&plan, 0, sizeof plan);
  plan.free_bytes = -1;
  s.fd = temp_file_open();
  expect_ok(rlo_storage_from_fd(s.fd, OFFSET, BYTES, NULL, &s.storage));
  rlo__storage_set_calls(s.storage, &faulty_calls);
}

static void end(void) {
  rlo_storage_release(s.storage);
  ck_assert_int_eq(close(s.fd), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

/** Writes a lattice of `run` bytes and notes what the file is to hold. */
static rlo_status write_letters(int64_t base, int64_t count, int64_t run, char letter) {
  memset(packed, letter, sizeof packed);
  rlo_status status = test_transfer(s.storage, base, &count, &stride, 1, run, packed, true);
  for (int64_t i = 0; i < count * run; ++i) {
    int64_t position = base + i / run * STRIDE + i % run;
    s.wanted[position] = letter;
    s.is_open[position] = status != RLO_OK;
  }
  return status;
}

static bool are_all(const char *data, int64_t bytes, char letter) {
  for (int64_t i = 0; i < bytes; ++i) {
    if (data[i] != letter) {
      return false;
    }
  }
  return true;
}

/** Reserves, writes a lattice and a run, syncs, reads a lattice with and one
 *  without the gaps, and everything. */
static rlo_status run_script(void) {
  rlo_status status = rlo__storage_reserve(s.storage, BYTES);
  THEN(write_letters(50, NUM_RUNS, RUN, 'a'));
  THEN(write_letters(0, 1, 40, 'b'));
  THEN(rlo__storage_flush(s.storage));
  if (status == RLO_OK) {
    memset(packed, 0, sizeof packed);
    status = test_transfer(s.storage, 50, &extent, &stride, 1, RUN, packed, false);
    ck_assert(status != RLO_OK || are_all(packed, NUM_RUNS * RUN, 'a'));
  }
  const int64_t three = 3;
  const int64_t far = (int64_t)5 * STRIDE;
  if (status == RLO_OK) {
    memset(packed, 0, sizeof packed);
    status = test_transfer(s.storage, 50, &three, &far, 1, RUN, packed, false);
    ck_assert(status != RLO_OK || are_all(packed, 3 * RUN, 'a'));
  }
  if (status == RLO_OK) {
    memset(whole, 0, sizeof whole);
    status = rlo__storage_read(s.storage, 0, BYTES, whole);
    if (status == RLO_OK) {
      ck_assert_int_eq(memcmp(whole, s.wanted, BYTES), 0);
    }
  }
  return status;
}

/** Checks that the file has all confirmed bytes, and no others but those of
 *  writes that failed. */
static void expect_nothing_lost(void) {
  memset(whole, 0, sizeof whole);
  ck_assert_int_ge(pread(s.fd, whole, BYTES, OFFSET), 0);
  for (int64_t i = 0; i < BYTES; ++i) {
    if (whole[i] != s.wanted[i] && !(s.is_open[i] && whole[i] == 0)) {
      ck_abort_msg("byte %" PRId64 " is %d", i, whole[i]);
    }
  }
}

/** Runs the script with a fault at call 1, 2, .. until it has none. */
static int each_call(void (*expect)(rlo_status status)) {
  int num_faults = 0;
  for (int at = 1;; ++at) {
    plan.at = at;
    plan.num_calls = 0;
    memset(s.wanted, 0, sizeof s.wanted);
    memset(s.is_open, 0, sizeof s.is_open);
    ck_assert_int_eq(ftruncate(s.fd, 0), 0);
    rlo_status status = run_script();
    if (plan.num_calls < at) {
      expect_ok(status);
      return num_faults;
    }
    ++num_faults;
    expect(status);
    expect_nothing_lost();
    /* Another storage of the file: a failed sync is remembered. */
    if (plan.failed == CALL_SYNC) {
      rlo_storage_release(s.storage);
      expect_ok(rlo_storage_from_fd(s.fd, OFFSET, BYTES, NULL, &s.storage));
      rlo__storage_set_calls(s.storage, &faulty_calls);
    }
    plan.at = 0;
    expect_ok(run_script());
  }
}

static void expect_words(const char *words) {
  ck_assert_msg(strstr(rlo_error_last()->message, words) != NULL, "\"%s\" is not in: %s", words,
                rlo_error_last()->message);
}

static void expect_io(rlo_status status) {
  ck_assert_int_eq(status, RLO_IO);
  expect_words(strerror(plan.error));
  expect_words("relayout_test_");
  if (plan.failed == CALL_READ || plan.failed == CALL_WRITE) {
    expect_words(plan.failed == CALL_READ ? "cannot read " : "cannot write ");
    expect_words(" bytes at byte ");
  }
}

/** There are more of them where they are short. */
static void expect_calls(int num_calls, int wanted) {
  if (test_thresholds_are_low()) {
    ck_assert_int_gt(num_calls, wanted);
  } else {
    ck_assert_int_eq(num_calls, wanted);
  }
}

static void expect_success(rlo_status status) {
  expect_ok(status);
}

static const int errors[] = {ENOSPC, EIO, EDQUOT, EFBIG};

RLO_TABLE_TEST(test_storage_faults__an_error_at_each_call, errors) {
  plan.fault = FAULT_ERROR;
  plan.error = errors[_i];
  /* allocate, 31 writes, a sync, 1 + 3 + 1 reads. */
  expect_calls(each_call(expect_io), 38);
}

RLO_TABLE_TEST(test_storage_faults__an_error_where_nothing_allocates, errors) {
  plan.has_no_allocate = true;
  plan.fault = FAULT_ERROR;
  plan.error = errors[_i];
  expect_calls(each_call(expect_io), 40);
}

RLO_TEST(test_storage_faults__an_interruption_at_each_call) {
  plan.fault = FAULT_ERROR;
  plan.error = EINTR;
  expect_calls(each_call(expect_success), 38);
}

RLO_TEST(test_storage_faults__a_short_transfer_at_each_call) {
  plan.fault = FAULT_SHORT;
  expect_calls(each_call(expect_success), 38);
}

static void expect_data_loss(rlo_status status) {
  if (plan.failed == CALL_READ) {
    ck_assert_int_eq(status, RLO_DATA_LOSS);
    expect_words(" ends at byte ");
    expect_words(" bytes wanted at byte ");
  } else {
    expect_ok(status);
  }
}

RLO_TEST(test_storage_faults__an_end_at_each_call) {
  plan.fault = FAULT_END;
  expect_calls(each_call(expect_data_loss), 38);
}

/* --------------------------------------------------------------- in between */

static ssize_t read_bytewise(int fd, const struct iovec *parts, int count, int64_t offset) {
  (void)count;
  return pread(fd, parts[0].iov_base, 1, (off_t)offset);
}

RLO_TEST(test_storage_faults__transfers_of_one_byte_each) {
  rlo__storage_calls calls = rlo__storage_system_calls;
  calls.read = read_bytewise;
  expect_ok(run_script());
  rlo__storage_set_calls(s.storage, &calls);
  expect_ok(run_script());
  test_storage_stats stats;
  stats = test_storage_get_stats(s.storage);
  /* They are not counted as transfers. */
  expect_calls((int)stats.num_reads, 10);
  ck_assert_int_eq(stats.bytes_read, 2 * (33 * RUN + BYTES));
}

RLO_TEST(test_storage_faults__the_message_of_a_full_disk) {
  plan.fault = FAULT_ERROR;
  plan.error = ENOSPC;
  plan.at = 1;
  memset(packed, 'x', sizeof packed);
  ck_assert_int_eq(rlo__storage_write(s.storage, 7000, 1234, packed), RLO_IO);
  expect_words("cannot write 1234 bytes at byte 7100 of \"/tmp/relayout_test_");
  expect_words("\": No space left on device");
}

RLO_TEST(test_storage_faults__too_little_is_free) {
  plan.has_no_allocate = true;
  plan.free_bytes = 30000;
  ck_assert_int_eq(rlo__storage_reserve(s.storage, BYTES), RLO_IO);
  expect_words("cannot reserve 40000 bytes at byte 100 of ");
  expect_words(": 30000 are free");
  struct stat st;
  ck_assert_int_eq(fstat(s.fd, &st), 0);
  ck_assert_int_eq(st.st_size, 0);
  /* The bytes that the file has already need no free space. */
  expect_ok(rlo__storage_write(s.storage, 0, 20000, packed));
  ck_assert_int_eq(fsync(s.fd), 0);
  expect_ok(rlo__storage_reserve(s.storage, BYTES));
  ck_assert_int_eq(fstat(s.fd, &st), 0);
  ck_assert_int_eq(st.st_size, OFFSET + BYTES);
}

RLO_TEST(test_storage_faults__a_failed_sync_is_remembered) {
  plan.fault = FAULT_ERROR;
  plan.error = EIO;
  expect_ok(rlo__storage_write(s.storage, 0, 10, packed));
  plan.at = 2;
  for (int n = 0; n < 3; ++n) {
    ck_assert_int_eq(rlo__storage_flush(s.storage), RLO_IO);
    expect_words("bytes that were written did not reach the disk: cannot sync");
    expect_words(strerror(EIO));
    ck_assert_int_eq(rlo__storage_write(s.storage, 0, 10, packed), RLO_IO);
  }
  ck_assert_int_eq(plan.num_calls, 2);
  expect_ok(rlo__storage_read(s.storage, 0, 10, packed));
}
