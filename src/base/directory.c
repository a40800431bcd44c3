/* SPDX-License-Identifier: Apache-2.0 */
#include "base/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"

/** Fails if another user than the owner may have changed this. */
static rlo_status check_ownership(const struct stat *st,
                                  uid_t owner,
                                  const char *name) {
  if (st->st_uid != owner) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "\"%s\" belongs to user %ld and not to user %ld",
                    name,
                    (long)st->st_uid,
                    (long)owner);
  }
  if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "\"%s\" can be written to by others than its owner (mode "
                    "%o)",
                    name,
                    (unsigned)(st->st_mode & 07777));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------- the directory */

static bool make(const char *path) {
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/** Creates a directory and its parent where they do not exist. */
static rlo_status create_directory(const char *path) {
  const char *slash = strrchr(path, '/');
  bool is_made = make(path);
  if (!is_made && errno == ENOENT && slash != NULL && slash != path) {
    char *parent = rlo__alloc_string(path);
    if (parent == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    parent[slash - path] = '\0';
    is_made = make(parent) && make(path);
    rlo__free(parent);
  }
  return is_made ? RLO_OK
                 : rlo__file_fail("cannot create the directory", path, errno);
}

rlo_status rlo__directory_open(const char *path,
                               uid_t owner,
                               rlo__directory_mode mode,
                               rlo__directory *out_directory) {
  *out_directory = (rlo__directory){.fd = -1, .owner = owner};
  if (mode == RLO__DIRECTORY_CREATE) {
    RLO_TRY(create_directory(path));
  }
  int fd = rlo__open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) {
    return errno == ENOTDIR || errno == ELOOP
               ? RLO_FAIL(
                     RLO_UNSUPPORTED,
                     "\"%s\" is not a directory, or a symbolic link to one",
                     path)
               : rlo__file_fail("cannot open the directory", path, errno);
  }
  struct stat st;
  rlo_status status = fstat(fd, &st) == 0
                          ? check_ownership(&st, owner, path)
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

/* ------------------------------------------------------------------- files */

static rlo_status read_whole(int fd,
                             const rlo__directory *directory,
                             const char *name,
                             size_t max_bytes,
                             uint8_t **out_data,
                             size_t *out_bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0) {
    return rlo__file_fail("cannot examine", name, errno);
  }
  if (!S_ISREG(st.st_mode)) {
    return RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is not a regular file", name);
  }
  RLO_TRY(check_ownership(&st, directory->owner, name));
  if (st.st_size < 0 || (uintmax_t)st.st_size > max_bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "\"%s\" has %jd bytes; at most %zu are allowed",
                    name,
                    (intmax_t)st.st_size,
                    max_bytes);
  }
  *out_bytes = (size_t)st.st_size;
  *out_data = rlo__alloc(*out_bytes);
  return *out_data == NULL
             ? RLO_OUT_OF_MEMORY
             : rlo__file_pread(fd, name, *out_data, *out_bytes, 0);
}

rlo_status rlo__directory_read(const rlo__directory *directory,
                               const char *name,
                               size_t max_bytes,
                               uint8_t **out_data,
                               size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  /* Without O_NONBLOCK, opening a pipe waits for a writer. */
  int fd =
      rlo__open_at(directory->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    return errno == ELOOP
               ? RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is a symbolic link", name)
               : rlo__file_fail("cannot open", name, errno);
  }
  rlo_status status =
      read_whole(fd, directory, name, max_bytes, out_data, out_bytes);
  rlo__file_close(fd);
  if (status != RLO_OK) {
    rlo__free(*out_data);
    *out_data = NULL;
    *out_bytes = 0;
  }
  return status;
}

rlo_status rlo__directory_write(const rlo__directory *directory,
                                const char *name,
                                const void *data,
                                size_t bytes) {
  rlo__file_replace f;
  int error = rlo__file_replace_begin_at(&f, directory->fd, name, 0600);
  /* Without a sync of the directory: what the cache loses is built again. */
  return rlo__file_write_begun(
      &f, error, name, data, bytes, rlo__file_replace_rename);
}

rlo_status rlo__directory_remove(const rlo__directory *directory,
                                 const char *name) {
  if (unlinkat(directory->fd, name, 0) != 0 && errno != ENOENT) {
    return rlo__file_fail("cannot delete", name, errno);
  }
  return RLO_OK;
}

void rlo__directory_touch(const rlo__directory *directory, const char *name) {
  (void)utimensat(directory->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ----------------------------------------------------------------- listing */

/** Describes a file; false for one that is not listed. */
static bool examine(const rlo__directory *directory,
                    const char *name,
                    rlo__directory_file *out_file) {
  struct stat st;
  size_t name_bytes = strlen(name) + 1;
  if (name_bytes > sizeof out_file->name ||
      fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode)) {
    return false;
  }
  memcpy(out_file->name, name, name_bytes);
  out_file->bytes = (int64_t)st.st_size;
  out_file->time_nanos =
      (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  return true;
}

static rlo_status list_stream(const rlo__directory *directory,
                              DIR *stream,
                              rlo__directory_file **files,
                              size_t *count) {
  size_t capacity = 0;
  const struct dirent *item;
  while (errno = 0, (item = readdir(stream)) != NULL) {
    RLO_TRY(rlo__array_reserve(files, sizeof **files, *count + 1, &capacity));
    *count += examine(directory, item->d_name, &(*files)[*count]) ? 1 : 0;
  }
  return errno == 0 ? RLO_OK
                    : rlo__file_fail("cannot list", "the directory", errno);
}

rlo_status rlo__directory_list(const rlo__directory *directory,
                               rlo__directory_file **out_files,
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
