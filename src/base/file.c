/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

enum {
  /* Linux moves at most 2 GiB in one call, whatever is asked for. */
  MAX_CALL_BYTES = 1 << 30,
  FIRST_READ_BYTES = 64 * 1024,
  TEMP_NAME_TRIES = 100
};

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
  return bytes < MAX_CALL_BYTES ? bytes : MAX_CALL_BYTES;
}

/* ------------------------------------------------------------------ reading */

rlo_status rlo__file_open_read(const char *path, int *out_fd) {
  do {
    *out_fd = open(path, O_RDONLY | O_CLOEXEC);
  } while (*out_fd < 0 && errno == EINTR);
  if (*out_fd < 0) {
    return rlo__file_fail("cannot open", path, errno);
  }
  return RLO_OK;
}

void rlo__file_close(int fd) {
  if (fd >= 0) {
    /* Nothing was written through it, so there is nothing to lose here. */
    (void)close(fd);
  }
}

rlo_status rlo__file_size(int fd, const char *path, int64_t *out_size_bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0) {
    return rlo__file_fail("cannot examine", path, errno);
  }
  if (!S_ISREG(st.st_mode)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "\"%s\" is not a regular file, so it has no size",
                    path);
  }
  *out_size_bytes = (int64_t)st.st_size;
  return RLO_OK;
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

/** Read into `data` until it is full or the file ends. */
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

/** A first capacity: the size the file says it has, and one byte more, in
 *  which its end shows. Pipes and /proc say nothing or 0. */
static size_t first_capacity(int fd, size_t max_bytes) {
  struct stat st;
  size_t bytes = FIRST_READ_BYTES;
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
  int fd = -1;
  *out_data = NULL;
  *out_bytes = 0;
  /* Room for the byte too many and for the NUL. */
  if (max_bytes > SIZE_MAX - 2) {
    max_bytes = SIZE_MAX - 2;
  }
  RLO_TRY_GOTO(rlo__file_open_read(path, &fd));
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

static const rlo__file_writer empty_writer = {.fd = -1};

/** Length of the folder part of a path, with its slash; 0 if it has none. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static rlo_status open_temp(rlo__file_writer *writer) {
  size_t folder = folder_length(writer->path);
  size_t capacity = folder + 80;
  writer->temp_path = rlo__alloc(capacity);
  if (writer->temp_path == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(writer->temp_path, writer->path, folder);
  for (int attempt = 0; attempt < TEMP_NAME_TRIES; ++attempt) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(writer->temp_path + folder,
                   capacity - folder,
                   ".relayout-%ld-%ld-%d.tmp",
                   (long)getpid(),
                   now.tv_nsec,
                   attempt);
    /* O_EXCL refuses links and names in use. The kernel applies the umask,
     * which a thread cannot read without changing it for all of them. */
    writer->fd = open(writer->temp_path,
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      (mode_t)0666);
    if (writer->fd >= 0) {
      return RLO_OK;
    }
    if (errno != EEXIST && errno != EINTR) {
      break;
    }
  }
  int error = errno;
  /* Nothing of ours is there to unlink. */
  rlo__free(writer->temp_path);
  writer->temp_path = NULL;
  return rlo__file_fail("cannot create a file for", writer->path, error);
}

/** What exists under the name decides how it will be written. */
static rlo_status open_writer(const char *path, rlo__file_writer *writer) {
  struct stat st;
  if (stat(path, &st) != 0) {
    if (errno != ENOENT) {
      return rlo__file_fail("cannot write", path, errno);
    }
    writer->path = rlo__alloc_string(path);
    return writer->path == NULL ? RLO_OUT_OF_MEMORY : open_temp(writer);
  }
  if (!S_ISREG(st.st_mode)) {
    writer->path = rlo__alloc_string(path);
    if (writer->path == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    do {
      writer->fd = open(path, O_WRONLY | O_CLOEXEC);
    } while (writer->fd < 0 && errno == EINTR);
    return writer->fd >= 0 ? RLO_OK
                           : rlo__file_fail("cannot write", path, errno);
  }
  /* A rename would replace a link, and not the file it leads to. */
  char *resolved = realpath(path, NULL);
  if (resolved == NULL) {
    return rlo__file_fail("cannot write", path, errno);
  }
  writer->path = rlo__alloc_string(resolved);
  /* The C library took this one, so it goes back there. */
  free(resolved);
  if (writer->path == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  RLO_TRY(open_temp(writer));
  if (fchmod(writer->fd, st.st_mode & (mode_t)0777) != 0) {
    return rlo__file_fail("cannot set the permissions of", path, errno);
  }
  return RLO_OK;
}

rlo_status rlo__file_writer_open(const char *path,
                                 rlo__file_writer *out_writer) {
  *out_writer = empty_writer;
  rlo_status status = open_writer(path, out_writer);
  if (status != RLO_OK) {
    rlo__file_writer_abandon(out_writer);
  }
  return status;
}

rlo_status rlo__file_write(int fd,
                           const char *path,
                           const void *data,
                           size_t bytes) {
  const char *next = data;
  size_t left = bytes;
  while (left > 0) {
    ssize_t count = write(fd, next, call_bytes(left));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return rlo__file_fail("cannot write", path, count < 0 ? errno : ENOSPC);
    }
    next += count;
    left -= (size_t)count;
  }
  return RLO_OK;
}

rlo_status rlo__file_writer_write(rlo__file_writer *writer,
                                  const void *data,
                                  size_t bytes) {
  return rlo__file_write(writer->fd, writer->path, data, bytes);
}

rlo_status rlo__file_writer_pwrite(rlo__file_writer *writer,
                                   const void *data,
                                   size_t bytes,
                                   int64_t offset_bytes) {
  const char *next = data;
  size_t left = bytes;
  int64_t offset = offset_bytes;
  while (left > 0) {
    ssize_t count = pwrite(writer->fd, next, call_bytes(left), (off_t)offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return rlo__file_fail(
          "cannot write", writer->path, count < 0 ? errno : ENOSPC);
    }
    next += count;
    left -= (size_t)count;
    offset += count;
  }
  return RLO_OK;
}

/** Bring a descriptor's bytes to the disk; 0 or the system's error. A device or
 *  a pipe has no disk: it answers EINVAL or EROFS, and that is no failure. */
static int sync_fd(int fd) {
  int result;
  do {
    result = fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

rlo_status rlo__file_finish(int fd, const char *path) {
  int error = sync_fd(fd);
  /* After EINTR the descriptor is closed, and its bytes are synced. */
  if (close(fd) != 0 && errno != EINTR && error == 0) {
    error = errno;
  }
  return error == 0 ? RLO_OK : rlo__file_fail("cannot finish", path, error);
}

/** A rename is on the disk when the folder is. Takes no memory: there is no
 *  way back any more. */
static rlo_status sync_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = fd >= 0 ? sync_fd(fd) : errno;
  rlo__file_close(fd);
  /* A folder can be open to writers only; the system syncs it in its time. */
  return error == 0 || error == EACCES
             ? RLO_OK
             : rlo__file_fail("cannot sync the folder", folder, error);
}

rlo_status rlo__file_writer_commit(rlo__file_writer *writer) {
  rlo_status status = rlo__file_finish(writer->fd, writer->path);
  writer->fd = -1;
  if (status != RLO_OK) {
    goto fail;
  }
  if (writer->temp_path != NULL) {
    if (rename(writer->temp_path, writer->path) != 0) {
      status = rlo__file_fail("cannot put in place", writer->path, errno);
      goto fail;
    }
    /* It has another name now, and this one serves to name the folder. */
    char *folder = writer->temp_path;
    writer->temp_path = NULL;
    folder[folder_length(folder)] = '\0';
    status = sync_folder(folder[0] == '\0' ? "." : folder);
    rlo__free(folder);
  }
fail:
  rlo__file_writer_abandon(writer);
  return status;
}

void rlo__file_writer_abandon(rlo__file_writer *writer) {
  if (writer->fd >= 0) {
    (void)close(writer->fd);
  }
  if (writer->temp_path != NULL) {
    (void)unlink(writer->temp_path);
  }
  rlo__free(writer->temp_path);
  rlo__free(writer->path);
  *writer = empty_writer;
}
