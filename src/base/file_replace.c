/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  /* Linux writes at most 2 GiB per call. */
  MAX_CALL_BYTES = 1 << 30,
  TEMP_NAME_TRIES = 100
};

/** Length of the directory part of a path, with its slash; 0 if it has none. */
static int directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (int)(slash - path) + 1;
}

static int copy_path(char out_path[PATH_MAX], const char *path) {
  size_t bytes = strlen(path) + 1;
  if (bytes > PATH_MAX) {
    return ENAMETOOLONG;
  }
  memcpy(out_path, path, bytes);
  return 0;
}

static int open_temp(rlo__file_replace *f, mode_t mode) {
  int error = EEXIST;
  for (int attempt = 0; attempt < TEMP_NAME_TRIES; ++attempt) {
    /* Two threads may read the same time: the later one tries again. */
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int length = snprintf(f->temp_path,
                          sizeof f->temp_path,
                          "%.*s" RLO__FILE_TEMP_PREFIX "%ld-%lld-%ld",
                          directory_length(f->path),
                          f->path,
                          (long)getpid(),
                          (long long)now.tv_sec,
                          now.tv_nsec);
    if (length < 0 || (size_t)length >= sizeof f->temp_path) {
      error = ENAMETOOLONG;
      break;
    }
    /* O_EXCL refuses existing names, symbolic links included. The kernel
     * applies the umask, which a thread cannot read without changing it. */
    f->fd = openat(f->directory_fd,
                   f->temp_path,
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   mode);
    if (f->fd >= 0) {
      return 0;
    }
    error = errno;
    if (error != EEXIST && error != EINTR) {
      break;
    }
  }
  f->temp_path[0] = '\0';
  return error;
}

static int open_in_place(rlo__file_replace *f) {
  f->is_in_place = true;
  do {
    f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
  } while (f->fd < 0 && errno == EINTR);
  return f->fd >= 0 ? 0 : errno;
}

int rlo__file_replace_begin(rlo__file_replace *f, const char *path) {
  f->fd = -1;
  f->directory_fd = AT_FDCWD;
  f->is_in_place = false;
  f->temp_path[0] = '\0';
  int error = copy_path(f->path, path);
  if (error != 0) {
    return error;
  }
  struct stat st;
  if (stat(path, &st) != 0) {
    return errno == ENOENT ? open_temp(f, (mode_t)0666) : errno;
  }
  if (!S_ISREG(st.st_mode)) {
    return open_in_place(f);
  }
  /* A rename replaces a symbolic link, not the file that it points to. */
  if (realpath(path, f->path) == NULL) {
    return errno;
  }
  error = open_temp(f, (mode_t)0666);
  if (error == 0 && fchmod(f->fd, st.st_mode & (mode_t)0777) != 0) {
    error = errno;
    rlo__file_replace_abandon(f);
  }
  return error;
}

int rlo__file_replace_begin_at(rlo__file_replace *f,
                               int directory_fd,
                               const char *name,
                               mode_t mode) {
  f->fd = -1;
  f->directory_fd = directory_fd;
  f->is_in_place = false;
  f->temp_path[0] = '\0';
  int error = copy_path(f->path, name);
  return error != 0 ? error : open_temp(f, mode);
}

int rlo__file_replace_write(rlo__file_replace *f,
                            const void *data,
                            size_t bytes) {
  const char *next = data;
  while (bytes > 0) {
    ssize_t count =
        write(f->fd, next, bytes < MAX_CALL_BYTES ? bytes : MAX_CALL_BYTES);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count < 0 ? errno : ENOSPC;
    }
    next += count;
    bytes -= (size_t)count;
  }
  return 0;
}

/** Devices and pipes cannot be synced: they fail with EINVAL or EROFS, which is
 *  no error here. */
static int sync_fd(int fd) {
  int result;
  do {
    result = fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

int rlo__file_replace_finish(rlo__file_replace *f) {
  if (f->fd < 0) {
    return 0;
  }
  int error = sync_fd(f->fd);
  /* After EINTR the descriptor is closed, and the contents are synced. */
  if (close(f->fd) != 0 && errno != EINTR && error == 0) {
    error = errno;
  }
  f->fd = -1;
  return error;
}

int rlo__file_replace_rename(rlo__file_replace *f) {
  int error = rlo__file_replace_finish(f);
  if (error != 0 || f->temp_path[0] == '\0') {
    return error;
  }
  if (renameat(f->directory_fd, f->temp_path, f->directory_fd, f->path) != 0) {
    return errno;
  }
  f->temp_path[0] = '\0';
  return 0;
}

/** A rename is on the disk when the directory is. */
static int sync_directory(const rlo__file_replace *f) {
  char directory[PATH_MAX];
  (void)snprintf(
      directory, sizeof directory, "%.*s", directory_length(f->path), f->path);
  int fd = openat(f->directory_fd,
                  directory[0] == '\0' ? "." : directory,
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = fd >= 0 ? sync_fd(fd) : errno;
  if (fd >= 0) {
    (void)close(fd);
  }
  /* A directory may be writable and not readable; the system syncs it later. */
  return error == EACCES ? 0 : error;
}

int rlo__file_replace_commit(rlo__file_replace *f) {
  int error = rlo__file_replace_rename(f);
  return error != 0 || f->is_in_place ? error : sync_directory(f);
}

void rlo__file_replace_abandon(rlo__file_replace *f) {
  if (f->fd >= 0) {
    (void)close(f->fd);
    f->fd = -1;
  }
  if (f->temp_path[0] != '\0') {
    (void)unlinkat(f->directory_fd, f->temp_path, 0);
    f->temp_path[0] = '\0';
  }
}
