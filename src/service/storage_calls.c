/* SPDX-License-Identifier: Apache-2.0 */
/* preadv, fallocate and sync_file_range are no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/storage_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/threshold.h"

static ssize_t call_read(int fd,
                         const struct iovec *parts,
                         int count,
                         int64_t offset) {
  if (count == 1) {
    return pread(fd,
                 parts[0].iov_base,
                 rlo__min_size(parts[0].iov_len,
                               (size_t)rlo__thresholds.base_call_bytes),
                 (off_t)offset);
  }
  return preadv(fd, parts, count, (off_t)offset);
}

static ssize_t call_write(int fd,
                          const void *data,
                          size_t bytes,
                          int64_t offset) {
  return pwrite(fd,
                data,
                rlo__min_size(bytes, (size_t)rlo__thresholds.base_call_bytes),
                (off_t)offset);
}

static int call_allocate(int fd, int64_t offset, int64_t bytes) {
  /* Not posix_fallocate: where the file system cannot allocate, glibc writes a
   * byte into every block, for hours over a network. */
  return fallocate(fd, 0, (off_t)offset, (off_t)bytes);
}

static int call_get_free(int fd, int64_t *out_bytes) {
  struct statvfs st;
  if (fstatvfs(fd, &st) != 0) {
    return -1;
  }
  if (!rlo__mul((int64_t)st.f_bavail, (int64_t)st.f_frsize, out_bytes)) {
    *out_bytes = INT64_MAX;
  }
  return 0;
}

static int call_resize(int fd, int64_t bytes) {
  return ftruncate(fd, (off_t)bytes);
}

static int call_sync(int fd) {
  return fdatasync(fd);
}

static int call_write_back(int fd, int64_t offset, int64_t bytes, bool is_end) {
  unsigned start = SYNC_FILE_RANGE_WRITE;
  unsigned end = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                 SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(fd, (off_t)offset, (off_t)bytes, is_end ? end : start);
}

static void call_drop(int fd, int64_t offset, int64_t bytes) {
  (void)posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
}

const rlo__storage_calls rlo__storage_system_calls = {
    .read = call_read,
    .write = call_write,
    .allocate = call_allocate,
    .get_free = call_get_free,
    .resize = call_resize,
    .sync = call_sync,
    .write_back = call_write_back,
    .drop = call_drop};
