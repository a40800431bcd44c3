/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
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
  return RLO_FAIL(error == ENOENT ? RLO_NOT_FOUND : RLO_IO, "%s \"%s\": %s", what, path, words);
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

rlo_status rlo__file_pread(int fd, const char *path, void *data, size_t bytes,
                           int64_t offset_bytes) {
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
    RLO_FAIL_IF(count == 0, RLO_DATA_LOSS,
                "\"%s\" ends at byte %" PRId64
                ", in the middle of %zu bytes wanted at byte %" PRId64,
                path, offset, bytes, offset_bytes);
    next += count;
    left -= (size_t)count;
    offset += count;
  }
  return RLO_OK;
}

/** Reads a file to its end. `*data` is on the heap, or NULL; its bytes and a
 * NUL after them. */
static rlo_status read_all(int fd, const char *path, size_t max_bytes, char **data, size_t *bytes) {
  /* Room for the byte beyond the limit and for the NUL. */
  max_bytes = rlo__min_size(max_bytes, SIZE_MAX - 2);
  size_t room = 0;
  size_t next_room = (size_t)rlo__thresholds.base_first_read_bytes;
  struct stat st;
  /* Pipes and files of /proc have size 0. */
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
    next_room = (size_t)st.st_size;
    RLO_FAIL_IF(next_room > max_bytes, RLO_OUT_OF_RANGE,
                "\"%s\" has %zu bytes; at most %zu are allowed", path, next_room, max_bytes);
  }
  /* A byte more detects that the file has grown. */
  next_room = rlo__min_size(next_room, max_bytes) + 2;
  for (;;) {
    if (*bytes + 1 >= room) {
      char *grown = rlo__alloc_resize(*data, room, next_room, 1);
      RLO_TRY_MEMORY(grown);
      *data = grown;
      room = next_room;
      next_room = room > max_bytes / 2 ? max_bytes + 2 : room * 2;
    }
    const ssize_t count = read(fd, *data + *bytes, call_bytes(room - 1 - *bytes));
    if (count == 0) {
      return RLO_OK;
    }
    if (count < 0 && errno != EINTR) {
      return rlo__file_fail("cannot read", path, errno);
    }
    *bytes += count > 0 ? (size_t)count : 0;
    RLO_FAIL_IF(*bytes > max_bytes, RLO_OUT_OF_RANGE,
                "\"%s\" has more than the %zu bytes allowed here", path, max_bytes);
  }
}

/** Reads and closes a file that `status` says may be read. */
static rlo_status read_and_close(int fd, rlo_status status, const char *path, size_t max_bytes,
                                 char **out_data, size_t *out_bytes) {
  char *data = NULL;
  size_t bytes = 0;
  if (status == RLO_OK) {
    status = read_all(fd, path, max_bytes, &data, &bytes);
  }
  rlo__file_close(fd);
  if (status != RLO_OK) {
    rlo__free(data);
    return status;
  }
  *out_data = data;
  *out_bytes = bytes;
  return RLO_OK;
}

rlo_status rlo__file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  int fd = rlo__open_at(AT_FDCWD, path, O_RDONLY);
  return fd < 0 ? rlo__file_fail("cannot open", path, errno)
                : read_and_close(fd, RLO_OK, path, max_bytes, out_data, out_bytes);
}

/* ------------------------------------------------------------------ writing */

/** Writes a file that has begun, and ends it by `end`. Abandons it then, or on
 *  failure. `error` is that of the begin. */
static rlo_status write_begun(rlo__file_replace *f, int error, const char *path, const void *data,
                              size_t bytes, int (*end)(rlo__file_replace *f)) {
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
  int error = rlo__file_replace_begin(&f, path, RLO__FILE_TEMP);
  return write_begun(&f, error, path, data, bytes, rlo__file_replace_commit);
}

/* -------------------------------------------------------------- directories */

/** Fails if another user than the owner may have changed this. */
static rlo_status check_ownership(const struct stat *st, uid_t owner, const char *name) {
  RLO_FAIL_IF(st->st_uid != owner, RLO_UNSUPPORTED,
              "\"%s\" belongs to user %ld and not to user %ld", name, (long)st->st_uid,
              (long)owner);
  RLO_FAIL_IF((st->st_mode & (S_IWGRP | S_IWOTH)) != 0, RLO_UNSUPPORTED,
              "\"%s\" can be written to by others than its owner (mode %o)", name,
              (unsigned)(st->st_mode & 07777));
  return RLO_OK;
}

static bool make(const char *path) {
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/** Creates a directory and its parent where they do not exist. */
static rlo_status create_directory(const char *path) {
  const char *slash = strrchr(path, '/');
  char parent[PATH_MAX];
  bool is_made = make(path);
  if (!is_made && errno == ENOENT && slash != NULL && slash != path) {
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    is_made = make(parent) && make(path);
  }
  return is_made ? RLO_OK : rlo__file_fail("cannot create the directory", path, errno);
}

rlo_status rlo__directory_open(const char *path, uid_t owner, bool creates,
                               rlo__directory *out_directory) {
  *out_directory = (rlo__directory){.fd = -1, .owner = owner};
  if (creates) {
    RLO_TRY(create_directory(path));
  }
  int fd = rlo__open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) {
    return errno == ENOTDIR || errno == ELOOP
               ? RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is not a directory, or a symbolic link to one",
                          path)
               : rlo__file_fail("cannot open the directory", path, errno);
  }
  struct stat st;
  rlo_status status = fstat(fd, &st) == 0 ? check_ownership(&st, owner, path)
                                          : rlo__file_fail("cannot examine", path, errno);
  if (status != RLO_OK) {
    rlo__file_close(fd);
    return status;
  }
  out_directory->fd = fd;
  return RLO_OK;
}

void rlo__directory_close(rlo__directory *directory) {
  rlo__file_close(directory->fd);
  directory->fd = -1;
}

/** Fails unless a file is regular and of the directory's owner. */
static rlo_status check_file(const rlo__directory *directory, int fd, const char *name) {
  struct stat st;
  if (fstat(fd, &st) != 0) {
    return rlo__file_fail("cannot examine", name, errno);
  }
  RLO_FAIL_IF(!S_ISREG(st.st_mode), RLO_UNSUPPORTED, "\"%s\" is not a regular file", name);
  return check_ownership(&st, directory->owner, name);
}

rlo_status rlo__directory_read(const rlo__directory *directory, const char *name, size_t max_bytes,
                               char **out_data, size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  /* Without O_NONBLOCK, opening a pipe waits for a writer. */
  int fd = rlo__open_at(directory->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    return errno == ELOOP ? RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is a symbolic link", name)
                          : rlo__file_fail("cannot open", name, errno);
  }
  return read_and_close(fd, check_file(directory, fd, name), name, max_bytes, out_data, out_bytes);
}

rlo_status rlo__directory_write(const rlo__directory *directory, const char *name, const void *data,
                                size_t bytes) {
  rlo__file_replace f;
  int error = rlo__file_replace_begin_at(&f, directory->fd, name, 0600);
  /* Without a sync of the directory: what the cache loses is built again. */
  return write_begun(&f, error, name, data, bytes, rlo__file_replace_rename);
}

rlo_status rlo__directory_remove(const rlo__directory *directory, const char *name) {
  if (unlinkat(directory->fd, name, 0) != 0 && errno != ENOENT) {
    return rlo__file_fail("cannot delete", name, errno);
  }
  return RLO_OK;
}

void rlo__directory_touch(const rlo__directory *directory, const char *name) {
  (void)utimensat(directory->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/** Describes a file; false for one that is not listed. */
static bool examine(const rlo__directory *directory, const char *name,
                    rlo__directory_file *out_file) {
  struct stat st;
  size_t name_bytes = strlen(name) + 1;
  if (name_bytes > sizeof out_file->name ||
      fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
    return false;
  }
  memcpy(out_file->name, name, name_bytes);
  out_file->bytes = (int64_t)st.st_size;
  out_file->time_nanos = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  return true;
}

static rlo_status list_stream(const rlo__directory *directory, DIR *stream,
                              rlo__directory_file **files, size_t *count) {
  size_t capacity = 0;
  const struct dirent *item;
  while (errno = 0, (item = readdir(stream)) != NULL) {
    RLO_TRY(rlo__array_reserve(files, sizeof **files, *count + 1, &capacity));
    *count += examine(directory, item->d_name, &(*files)[*count]) ? 1 : 0;
  }
  return errno == 0 ? RLO_OK : rlo__file_fail("cannot list", "the directory", errno);
}

rlo_status rlo__directory_list(const rlo__directory *directory, rlo__directory_file **out_files,
                               size_t *out_count) {
  *out_files = NULL;
  *out_count = 0;
  /* Reading moves the position of a descriptor, so this one is not shared. */
  int fd = rlo__open_at(directory->fd, ".", O_RDONLY | O_DIRECTORY);
  DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
  rlo_status status;
  if (stream != NULL) {
    status = list_stream(directory, stream, out_files, out_count);
    (void)closedir(stream);
  } else {
    status = rlo__file_fail("cannot list", "the directory", errno);
    rlo__file_close(fd);
  }
  if (status != RLO_OK) {
    rlo__free(*out_files);
    *out_files = NULL;
    *out_count = 0;
  }
  return status;
}
