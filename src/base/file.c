/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"

rlo_status rlo__file_fail(const char *what, const char *path, int error) {
  char words[128];
  if (strerror_r(error, words, sizeof words) != 0) {
    (void)snprintf(words, sizeof words, "error %d", error);
  }
  return RLO_FAIL(error == ENOENT ? RLO_NOT_FOUND : RLO_IO,
                  "%s \"%s\": %s",
                  what,
                  path,
                  words);
}

static size_t call_bytes(size_t bytes) {
  return rlo__min_size(bytes, (size_t)rlo__thresholds.base_call_bytes);
}

/* ------------------------------------------------------------------ reading */

void rlo__file_close(int fd) {
  if (fd >= 0) {
    /* Nothing was written through it, so a failure loses nothing. */
    (void)close(fd);
  }
}

rlo_status rlo__file_pread(
    int fd, const char *path, void *data, size_t bytes, int64_t offset_bytes) {
  char *next = data;
  size_t left = bytes;
  int64_t offset = offset_bytes;
  while (left > 0) {
    ssize_t count = pread(fd, next, call_bytes(left), (off_t)offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return rlo__file_fail("cannot read", path, errno);
    }
    if (count == 0) {
      return RLO_FAIL(RLO_DATA_LOSS,
                      "\"%s\" ends at byte %" PRId64
                      ", in the middle of %zu bytes wanted at byte %" PRId64,
                      path,
                      offset,
                      bytes,
                      offset_bytes);
    }
    next += count;
    left -= (size_t)count;
    offset += count;
  }
  return RLO_OK;
}

/** Reads into `data` until it is full or the file ends. */
static rlo_status read_some(
    int fd, const char *path, char *data, size_t bytes, size_t *out_bytes) {
  *out_bytes = 0;
  while (*out_bytes < bytes) {
    ssize_t count = read(fd, data + *out_bytes, call_bytes(bytes - *out_bytes));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return rlo__file_fail("cannot read", path, errno);
    }
    if (count == 0) {
      break;
    }
    *out_bytes += (size_t)count;
  }
  return RLO_OK;
}

/** The first capacity: the size of the file and one byte more, which detects
 *  that the file has grown. Pipes and files of /proc have size 0. */
static size_t first_capacity(int fd, size_t max_bytes) {
  struct stat st;
  size_t bytes = (size_t)rlo__thresholds.base_first_read_bytes;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
      (uintmax_t)st.st_size < SIZE_MAX - 2) {
    bytes = (size_t)st.st_size;
  }
  return bytes < max_bytes ? bytes + 1 : max_bytes + 1;
}

rlo_status rlo__file_read(const char *path,
                          size_t max_bytes,
                          char **out_data,
                          size_t *out_bytes) {
  rlo_status status = RLO_OK;
  char *data = NULL;
  *out_data = NULL;
  *out_bytes = 0;
  int fd = rlo__open_at(AT_FDCWD, path, O_RDONLY);
  if (fd < 0) {
    return rlo__file_fail("cannot open", path, errno);
  }
  /* Room for the byte beyond the limit and for the NUL. */
  max_bytes = rlo__min_size(max_bytes, SIZE_MAX - 2);
  size_t length = 0;
  size_t capacity = first_capacity(fd, max_bytes);
  size_t old_capacity = 0;
  for (;;) {
    char *grown = rlo__alloc_resize(data, old_capacity, capacity + 1, 1);
    if (grown == NULL) {
      status = RLO_OUT_OF_MEMORY;
      goto fail;
    }
    data = grown;
    old_capacity = capacity + 1;
    size_t count;
    RLO_TRY_GOTO(read_some(fd, path, data + length, capacity - length, &count));
    length += count;
    if (length < capacity) {
      break;
    }
    if (length > max_bytes) {
      status = RLO_FAIL(RLO_OUT_OF_RANGE,
                        "\"%s\" has more than the %zu bytes allowed here",
                        path,
                        max_bytes);
      goto fail;
    }
    capacity = capacity > max_bytes / 2 ? max_bytes + 1 : capacity * 2;
  }
  rlo__file_close(fd);
  data[length] = '\0';
  *out_data = data;
  *out_bytes = length;
  return RLO_OK;
fail:
  rlo__file_close(fd);
  rlo__free(data);
  return status;
}

/* ------------------------------------------------------------------ writing */

rlo_status rlo__file_write_begun(rlo__file_replace *f,
                                 int error,
                                 const char *path,
                                 const void *data,
                                 size_t bytes,
                                 int (*end)(rlo__file_replace *f)) {
  const char *what = "cannot create";
  if (error == 0) {
    what = "cannot write";
    error = rlo__file_replace_write(f, data, bytes);
  }
  if (error == 0) {
    what = "cannot finish";
    error = end(f);
  }
  rlo__file_replace_abandon(f);
  return error == 0 ? RLO_OK : rlo__file_fail(what, path, error);
}

rlo_status rlo__file_write(const char *path, const void *data, size_t bytes) {
  rlo__file_replace f;
  int error = rlo__file_replace_begin(&f, path);
  return rlo__file_write_begun(
      &f, error, path, data, bytes, rlo__file_replace_commit);
}
