/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"

enum { TEMP_NAME_BYTES = 80, TEMP_NAME_TRIES = 100 };

/** Whether somebody else than the owner may have changed this. */
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

/* -------------------------------------------------------------- the folder */

/** Make a folder, and the one it lies in; what is there already is left. */
static rlo_status make_folder(const char *path) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) {
    return RLO_OK;
  }
  const char *slash = strrchr(path, '/');
  if (errno != ENOENT || slash == NULL || slash == path) {
    return rlo__file_fail("cannot make the folder", path, errno);
  }
  char *parent = rlo__alloc_string(path);
  if (parent == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  parent[slash - path] = '\0';
  bool is_made = mkdir(parent, 0700) == 0 || errno == EEXIST;
  rlo__free(parent);
  if (is_made && (mkdir(path, 0700) == 0 || errno == EEXIST)) {
    return RLO_OK;
  }
  return rlo__file_fail("cannot make the folder", path, errno);
}

rlo_status rlo__folder_open(const char *path,
                            uid_t owner,
                            rlo__folder_mode mode,
                            rlo__folder *out_folder) {
  *out_folder = (rlo__folder){.fd = -1, .owner = owner};
  if (mode == RLO__FOLDER_MAKE) {
    RLO_TRY(make_folder(path));
  }
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return errno == ENOTDIR || errno == ELOOP
               ? RLO_FAIL(RLO_UNSUPPORTED,
                          "\"%s\" is no folder, or only a link to one",
                          path)
               : rlo__file_fail("cannot open the folder", path, errno);
  }
  struct stat st;
  rlo_status status = fstat(fd, &st) == 0
                          ? check_ownership(&st, owner, path)
                          : rlo__file_fail("cannot examine", path, errno);
  if (status != RLO_OK) {
    rlo__file_close(fd);
    return status;
  }
  out_folder->fd = fd;
  return RLO_OK;
}

void rlo__folder_close(rlo__folder *folder) {
  rlo__file_close(folder->fd);
  folder->fd = -1;
}

/* --------------------------------------------------------------- its files */

static rlo_status read_whole(int fd,
                             const rlo__folder *folder,
                             const char *name,
                             size_t max_bytes,
                             uint8_t **out_data,
                             size_t *out_bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0) {
    return rlo__file_fail("cannot examine", name, errno);
  }
  if (!S_ISREG(st.st_mode)) {
    return RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is no regular file", name);
  }
  RLO_TRY(check_ownership(&st, folder->owner, name));
  if (st.st_size < 0 || (uintmax_t)st.st_size > max_bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "\"%s\" has %jd bytes; %zu are the most",
                    name,
                    (intmax_t)st.st_size,
                    max_bytes);
  }
  size_t bytes = (size_t)st.st_size;
  uint8_t *data = rlo__alloc(bytes);
  if (data == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo__file_pread(fd, name, data, bytes, 0);
  if (status != RLO_OK) {
    rlo__free(data);
    return status;
  }
  *out_data = data;
  *out_bytes = bytes;
  return RLO_OK;
}

rlo_status rlo__folder_read(const rlo__folder *folder,
                            const char *name,
                            size_t max_bytes,
                            uint8_t **out_data,
                            size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  /* Without O_NONBLOCK, opening a pipe would wait for a writer. */
  int fd =
      openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    return errno == ELOOP
               ? RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is a symbolic link", name)
               : rlo__file_fail("cannot open", name, errno);
  }
  rlo_status status =
      read_whole(fd, folder, name, max_bytes, out_data, out_bytes);
  rlo__file_close(fd);
  return status;
}

/** Create a file under a name that nobody has. */
static rlo_status create_temp(const rlo__folder *folder,
                              char name[TEMP_NAME_BYTES],
                              int *out_fd) {
  for (int32_t i = 0; i < TEMP_NAME_TRIES; ++i) {
    /* Two threads at one time: the later one tries again. */
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(name,
                   TEMP_NAME_BYTES,
                   RLO__FOLDER_TEMP_PREFIX "%ld-%lld-%ld",
                   (long)getpid(),
                   (long long)now.tv_sec,
                   now.tv_nsec);
    *out_fd = openat(folder->fd,
                     name,
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     0600);
    if (*out_fd >= 0) {
      return RLO_OK;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return rlo__file_fail("cannot create", name, errno);
}

rlo_status rlo__folder_write(const rlo__folder *folder,
                             const char *name,
                             const void *data,
                             size_t bytes) {
  char temp_name[TEMP_NAME_BYTES];
  int fd = -1;
  RLO_TRY(create_temp(folder, temp_name, &fd));
  rlo_status status = rlo__file_write(fd, name, data, bytes);
  rlo_status end_status = rlo__file_finish(fd, name);
  status = status != RLO_OK ? status : end_status;
  if (status == RLO_OK &&
      renameat(folder->fd, temp_name, folder->fd, name) != 0) {
    status = rlo__file_fail("cannot put in place", name, errno);
  }
  if (status != RLO_OK) {
    (void)unlinkat(folder->fd, temp_name, 0);
  }
  return status;
}

rlo_status rlo__folder_remove(const rlo__folder *folder, const char *name) {
  if (unlinkat(folder->fd, name, 0) != 0 && errno != ENOENT) {
    return rlo__file_fail("cannot delete", name, errno);
  }
  return RLO_OK;
}

void rlo__folder_touch(const rlo__folder *folder, const char *name) {
  (void)utimensat(folder->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ----------------------------------------------------------------- listing */

/** What to list of a file; false for what is not listed. */
static bool examine(const rlo__folder *folder,
                    const char *name,
                    rlo__folder_file *out_file) {
  struct stat st;
  size_t name_bytes = strlen(name) + 1;
  if (name_bytes > sizeof out_file->name ||
      fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode)) {
    return false;
  }
  memcpy(out_file->name, name, name_bytes);
  out_file->bytes = (int64_t)st.st_size;
  out_file->time_nanos =
      (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  return true;
}

static rlo_status list_stream(const rlo__folder *folder,
                              DIR *stream,
                              rlo__folder_file **files,
                              size_t *count) {
  size_t capacity = 0;
  const struct dirent *item;
  while (errno = 0, (item = readdir(stream)) != NULL) {
    if (*count == capacity) {
      size_t more = capacity == 0 ? 64 : 2 * capacity;
      rlo__folder_file *grown =
          rlo__alloc_resize(*files, capacity, more, sizeof **files);
      if (grown == NULL) {
        return RLO_OUT_OF_MEMORY;
      }
      *files = grown;
      capacity = more;
    }
    *count += examine(folder, item->d_name, &(*files)[*count]) ? 1 : 0;
  }
  return errno == 0 ? RLO_OK
                    : rlo__file_fail("cannot list", "the folder", errno);
}

rlo_status rlo__folder_list(const rlo__folder *folder,
                            rlo__folder_file **out_files,
                            size_t *out_count) {
  *out_files = NULL;
  *out_count = 0;
  /* A descriptor of its own, with a place of its own in the folder. */
  int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
  if (stream == NULL) {
    rlo_status status = rlo__file_fail("cannot list", "the folder", errno);
    rlo__file_close(fd);
    return status;
  }
  rlo_status status = list_stream(folder, stream, out_files, out_count);
  (void)closedir(stream);
  if (status != RLO_OK) {
    rlo__free(*out_files);
    *out_files = NULL;
    *out_count = 0;
  }
  return status;
}
