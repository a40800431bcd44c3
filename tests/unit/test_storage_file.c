/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "service/storage.h"
#include "support/expect.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"

static int fd;
static rlo_storage *storage;

static void begin(void) {
  fd = temp_file_open();
  ck_assert_int_eq(write(fd, "0123456789", 10), 10);
  storage = NULL;
}

static void end(void) {
  rlo_storage_release(storage);
  ck_assert_int_eq(close(fd), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

RLO_TEST(test_storage_file__a_part_is_read_and_written) {
  expect_ok(rlo_storage_from_fd(fd, 2, 20, NULL, &storage));
  char data[8] = "";
  expect_ok(rlo__storage_read(storage, 1, 3, data));
  ck_assert_str_eq(data, "345");
  expect_ok(rlo__storage_write(storage, 7, 4, "abcd"));
  expect_ok(rlo__storage_flush(storage));
  char text[16] = "";
  ck_assert_int_eq(pread(fd, text, 16, 0), 13);
  ck_assert_str_eq(text, "012345678abcd");
  /* The descriptor's own position is where write() left it. */
  ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 10);
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  expect_ok(rlo_storage_get_traits(storage, &traits));
  ck_assert(traits.bytes == 20 && !traits.is_read_only);
  ck_assert_int_eq(traits.good_write_bytes, 98304);
  ck_assert_ptr_null(storage->memory);
}

RLO_TEST(test_storage_file__the_descriptor_is_duplicated) {
  int again = temp_file_reopen(fd, O_RDWR);
  expect_ok(rlo_storage_from_fd(again, 0, 10, NULL, &storage));
  /* The next one, and not inherited by programs. */
  int flags = fcntl(again + 1, F_GETFD);
  ck_assert(flags >= 0 && (flags & FD_CLOEXEC) != 0);
  ck_assert_int_eq(close(again), 0);
  char data[1];
  expect_ok(rlo__storage_read(storage, 0, 1, data));
  rlo_storage_release(storage);
  storage = NULL;
  ck_assert_int_eq(fcntl(again + 1, F_GETFD), -1);
}

RLO_TEST(test_storage_file__no_standard_stream_is_taken) {
  int in = dup(0);
  ck_assert_int_eq(close(0), 0);
  expect_ok(rlo_storage_from_fd(fd, 0, 10, NULL, &storage));
  ck_assert_int_eq(fcntl(0, F_GETFD), -1);
  ck_assert_int_eq(dup2(in, 0), 0);
  ck_assert_int_eq(close(in), 0);
}

RLO_TEST(test_storage_file__open_for_reading_only) {
  int again = temp_file_reopen(fd, O_RDONLY);
  expect_ok(rlo_storage_from_fd(again, 3, 7, NULL, &storage));
  expect_refusal(rlo__storage_write(storage, 0, 1, "x"), RLO_INVALID_ARGUMENT,
                 "a write to a storage that can only be read");
  expect_ok(rlo__storage_flush(storage));
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  expect_ok(rlo_storage_get_traits(storage, &traits));
  ck_assert(traits.is_read_only);
  rlo_storage_release(storage);
  /* It has to be there. */
  expect_refusal_with(rlo_storage_from_fd(again, 3, 8, NULL, &storage), RLO_OUT_OF_RANGE,
                      "has 10 bytes; 8 at byte 3 need 11");
  ck_assert_ptr_null(storage);
  ck_assert_int_eq(close(again), 0);
}

RLO_TEST(test_storage_file__open_for_writing_only) {
  int again = temp_file_reopen(fd, O_WRONLY);
  expect_ok(rlo_storage_from_fd(again, 0, 10, NULL, &storage));
  ck_assert_int_eq(close(again), 0);
  expect_ok(rlo__storage_write(storage, 0, 1, "x"));
  char data[1];
  expect_refusal(rlo__storage_read(storage, 0, 1, data), RLO_INVALID_ARGUMENT,
                 "a read of a storage that can only be written");
}

RLO_TEST(test_storage_file__appending_is_refused) {
  int again = temp_file_reopen(fd, O_RDWR | O_APPEND);
  expect_refusal_with(rlo_storage_from_fd(again, 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is open for appending");
  ck_assert_int_eq(close(again), 0);
  /* Where nothing is written it does not matter. */
  again = temp_file_reopen(fd, O_RDONLY | O_APPEND);
  expect_ok(rlo_storage_from_fd(again, 0, 10, NULL, &storage));
  ck_assert_int_eq(close(again), 0);
}

RLO_TEST(test_storage_file__only_regular_files) {
  int pipe_fds[2];
  ck_assert_int_eq(pipe(pipe_fds), 0);
  expect_refusal_with(rlo_storage_from_fd(pipe_fds[0], 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a pipe; a storage has to be a regular file");
  expect_refusal_with(rlo_storage_from_fd(pipe_fds[1], 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a pipe");
  ck_assert(close(pipe_fds[0]) == 0 && close(pipe_fds[1]) == 0);

  char folder[] = "/tmp/relayout_test_XXXXXX";
  char path[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/fifo", folder);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  int fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ck_assert_int_ge(fifo, 0);
  expect_refusal_with(rlo_storage_from_fd(fifo, 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a pipe");
  ck_assert(close(fifo) == 0 && unlink(path) == 0);
  int directory = open(folder, O_RDONLY | O_CLOEXEC);
  expect_refusal_with(rlo_storage_from_fd(directory, 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a directory");
  ck_assert(close(directory) == 0 && rmdir(folder) == 0);

  int sockets[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  expect_refusal_with(rlo_storage_from_fd(sockets[0], 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a socket");
  ck_assert(close(sockets[0]) == 0 && close(sockets[1]) == 0);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  expect_refusal_with(rlo_storage_from_fd(null, 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "is of a character device");
  ck_assert_int_eq(close(null), 0);
  expect_refusal_with(rlo_storage_from_fd(-1, 0, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                      "descriptor -1 is not open");
  ck_assert_ptr_null(storage);
}

RLO_TEST(test_storage_file__numbers_that_cannot_be) {
  expect_refusal(rlo_storage_from_fd(fd, -1, 10, NULL, &storage), RLO_INVALID_ARGUMENT,
                 "10 bytes at byte -1 of a file; both have to be at least 0");
  ck_assert_int_eq(rlo_storage_from_fd(fd, 0, -10, NULL, &storage), RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_storage_from_fd(fd, 10, INT64_MAX, NULL, &storage), RLO_OVERFLOW,
                 "the end of a part of a file does not fit in 64 bits");
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.bytes = 9;
  expect_refusal(rlo_storage_from_fd(fd, 0, 10, &hints, &storage), RLO_INVALID_ARGUMENT,
                 "the traits have 9 bytes and the storage 10; leave them 0");
  hints.bytes = 10;
  hints.is_read_only = true;
  hints.good_depth = 2;
  expect_refusal_with(rlo_storage_from_fd(fd, 1, 10, &hints, &storage), RLO_OUT_OF_RANGE,
                      "has 10 bytes; 10 at byte 1 need 11");
  ck_assert_ptr_null(storage);
  expect_ok(rlo_storage_from_fd(fd, 0, 10, &hints, &storage));
  ck_assert_int_eq(rlo__storage_write(storage, 0, 1, "x"), RLO_INVALID_ARGUMENT);
  expect_ok(rlo_storage_get_traits(storage, &hints));
  ck_assert_int_eq(hints.good_depth, 2);
  ck_assert_int_eq(rlo_storage_from_fd(fd, 0, 10, NULL, NULL), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_storage_file__resources_that_are_not_there) {
  rlo__alloc_set_fault(1, true);
  ck_assert_int_eq(rlo_storage_from_fd(fd, 0, 10, NULL, &storage), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  struct rlimit old, few;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
  few = old;
  few.rlim_cur = (rlim_t)fd + 1;
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
  rlo_status status = rlo_storage_from_fd(fd, 0, 10, NULL, &storage);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
  ck_assert_int_eq(status, RLO_IO);
  ck_assert_ptr_null(storage);
}

RLO_TEST(test_storage_file__an_end_that_comes_early) {
  expect_ok(rlo_storage_from_fd(fd, 2, 8, NULL, &storage));
  ck_assert_int_eq(ftruncate(fd, 7), 0);
  char data[8];
  expect_ok(rlo__storage_read(storage, 0, 5, data));
  expect_refusal_with(rlo__storage_read(storage, 1, 6, data), RLO_DATA_LOSS,
                      "ends at byte 7, in the middle of 6 bytes wanted at byte 3");
  /* The message has the path. */
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "relayout_test_"));
  test_storage_stats stats;
  stats = test_storage_get_stats(storage);
  ck_assert_int_eq(stats.num_reads, 1);
}

RLO_TEST(test_storage_file__room_is_reserved) {
  expect_ok(rlo_storage_from_fd(fd, 5, 100000, NULL, &storage));
  expect_ok(rlo__storage_reserve(storage, 100000));
  struct stat st;
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_eq(st.st_size, 100005);
  char text[12] = "";
  ck_assert_int_eq(pread(fd, text, 11, 0), 11);
  ck_assert_str_eq(text, "0123456789");
  /* Never shorter. */
  expect_ok(rlo__storage_reserve(storage, 10));
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_eq(st.st_size, 100005);
}

RLO_TEST(test_storage_file__more_room_than_any_disk_has) {
  expect_ok(rlo_storage_from_fd(fd, 0, INT64_C(1) << 60, NULL, &storage));
  expect_refusal_with(rlo__storage_reserve(storage, INT64_C(1) << 60), RLO_IO,
                      "cannot reserve 1152921504606846976 bytes");
}

/* Positions that do not fit 31 or 32 bits, in a file that is all holes. */
RLO_TEST(test_storage_file__positions_beyond_32_bits) {
  const int64_t gib = INT64_C(1) << 30;
  const int64_t offset = 4 * gib + 5;
  ck_assert_int_eq(ftruncate(fd, 12 * gib), 0);
  expect_ok(rlo_storage_from_fd(fd, 0, 12 * gib, NULL, &storage));
  rlo_storage *part = NULL;
  expect_ok(rlo_storage_from_fd(fd, offset, 7 * gib, NULL, &part));
  static const int64_t around[] = {2, 4, 8, 10};
  char data[8] = "";
  for (size_t i = 0; i < sizeof around / sizeof around[0]; ++i) {
    expect_ok(rlo__storage_write(storage, around[i] * gib - 3, 6, "abcdef"));
    expect_ok(rlo__storage_read(storage, around[i] * gib - 2, 4, data));
    ck_assert_str_eq(data, "bcde");
  }
  expect_ok(rlo__storage_read(part, 8 * gib - 3 - offset, 6, data));
  ck_assert_str_eq(data, "abcdef");
  /* A lattice whose strides do not fit either. */
  const int64_t extents[] = {2, 2};
  const int64_t strides[] = {6 * gib, 2 * gib};
  char got[13] = "";
  expect_ok(test_transfer(storage, 2 * gib - 1, extents, strides, 2, 3, got, false));
  ck_assert_str_eq(got, "cdecdecdecde");
  expect_ok(test_transfer(storage, 2 * gib - 1, extents, strides, 2, 3, "012345678xyz", true));
  expect_ok(rlo__storage_read(storage, 10 * gib - 3, 6, data));
  ck_assert_str_eq(data, "abxyzf");
  ck_assert_int_eq(rlo__storage_read(part, 7 * gib - 2, 3, data), RLO_OUT_OF_RANGE);
  rlo_storage_release(part);
  /* Nothing was written between. */
  struct stat st;
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_lt(st.st_blocks, 1000);
}

/* ----------------------------------------------------------------- identity */

RLO_TEST(test_storage_file__a_change_is_noticed) {
  expect_ok(rlo_storage_from_fd(fd, 2, 5, NULL, &storage));
  rlo__storage_identity identity;
  expect_ok(rlo__storage_get_identity(storage, &identity));
  ck_assert(identity.is_file);
  ck_assert_int_eq(identity.bytes, 10);
  expect_ok(rlo__storage_check_identity(storage, &identity));
  /* Reading changes nothing. */
  char data[5];
  expect_ok(rlo__storage_read(storage, 0, 5, data));
  expect_ok(rlo__storage_check_identity(storage, &identity));

  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
  int64_t later = identity.modified_nanos + 1500000000;
  times[1] = (struct timespec){.tv_sec = (time_t)(later / 1000000000),
                               .tv_nsec = (long)(later % 1000000000)};
  ck_assert_int_eq(futimens(fd, times), 0);
  expect_refusal(rlo__storage_check_identity(storage, &identity), RLO_DATA_LOSS,
                 "the source has changed: it was written to 1.500 s after the "
                 "first look at it");
  ck_assert_int_eq(ftruncate(fd, 12), 0);
  expect_refusal(rlo__storage_check_identity(storage, &identity), RLO_DATA_LOSS,
                 "the source has changed: it had 10 bytes and has 12");

  int other_fd = temp_file_open();
  rlo_storage *other = NULL;
  expect_ok(rlo_storage_from_fd(other_fd, 0, 10, NULL, &other));
  expect_refusal_with(rlo__storage_check_identity(other, &identity), RLO_DATA_LOSS,
                      "the source is another file: inode");
  rlo_storage_release(other);
  ck_assert_int_eq(close(other_fd), 0);
}
