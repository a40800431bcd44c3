/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"

#define TRIED_NAME "/relayout-XXXXXX"

typedef struct folder {
  char path[PATH_MAX];
} folder;

/* The process that removes the private folder; 0: there is none. */
static pid_t sweeper;
/* It waits for the end of what is written here: nothing. */
static int sweeper_fd;

/* PoCL's own order. A folder below a relative home would be in the directory of
 * work. Without any PoCL uses one in /tmp that all can write to, and runs the
 * code that it finds there. */
static bool find_usual(folder *out) {
  const char *base = getenv("POCL_CACHE_DIR");
  const char *below = "";
  if (base == NULL) {
    base = getenv("XDG_CACHE_HOME");
    below = "/pocl/kcache";
    if (base == NULL || base[0] == '\0') {
      base = getenv("HOME");
      below = "/.cache/pocl/kcache";
    }
    if (base == NULL || base[0] != '/') {
      return false;
    }
  }
  int length = snprintf(out->path, sizeof(out->path), "%s%s", base, below);
  return length > 0 && (size_t)length < sizeof(out->path);
}

static bool make_private(folder *f) {
  const size_t length = strlen(f->path);
  if (length + sizeof(TRIED_NAME) > sizeof(f->path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(f->path + length, TRIED_NAME, sizeof(TRIED_NAME));
  return mkdtemp(f->path) != NULL;
}

/* Returns whether the folder can be made and written to. It is not made, since
 * the driver may use another one: a folder is made, and removed, in the closest
 * existing one above it. */
static bool can_make(folder f) {
  struct stat information;
  while (lstat(f.path, &information) != 0) {
    if (errno != ENOENT) {
      return false;
    }
    char *slash = strrchr(f.path, '/');
    if (slash == NULL) {
      snprintf(f.path, sizeof(f.path), ".");
    } else {
      slash[slash == f.path] = '\0';
    }
  }
  return make_private(&f) && rmdir(f.path) == 0;
}

static int remove_entry(const char *path,
                        const struct stat *information,
                        int type,
                        struct FTW *place) {
  (void)information;
  (void)type;
  (void)place;
  remove(path);
  return 0;
}

/* Runs in the sweeper; does not return. */
static void sweep(const int ends[2], const char *path) {
  char nothing;
  close(ends[1]);
  while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
  _exit(0);
}

static bool start_sweeper(const char *path) {
  int ends[2];
  if (pipe(ends) != 0) {
    return false;
  }
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  /* A signal to the terminal's processes, or to all, must not end it. */
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  const int why = errno;
  if (child == 0) {
    sweep(ends, path);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  close(ends[0]);
  if (child < 0) {
    close(ends[1]);
    errno = why;
    return false;
  }
  sweeper = child;
  sweeper_fd = ends[1];
  return true;
}

int rlo__driver_cache_make(void) {
  folder f;
  if (find_usual(&f) && can_make(f)) {
    return RLO__EXIT_OK;
  }
  const char *base = getenv("TMPDIR");
  const bool is_named = base != NULL && base[0] == '/';
  snprintf(f.path, sizeof(f.path), "%s", is_named ? base : "/tmp");
  if (!make_private(&f)) {
    return rlo__fail(
        "the OpenCL driver has no folder for what it compiles: POCL_CACHE_DIR, "
        "XDG_CACHE_HOME and HOME name none that can be made, and %s cannot be "
        "made: %s",
        f.path,
        strerror(errno));
  }
  if (!start_sweeper(f.path)) {
    const int why = errno;
    rmdir(f.path);
    return rlo__fail(
        "cannot start a process that removes %s: %s", f.path, strerror(why));
  }
  if (setenv("POCL_CACHE_DIR", f.path, 1) != 0) {
    return rlo__fail("no memory to name %s", f.path);
  }
  return RLO__EXIT_OK;
}

void rlo__driver_cache_remove(void) {
  if (sweeper > 0) {
    close(sweeper_fd);
    while (waitpid(sweeper, NULL, 0) < 0 && errno == EINTR) {
    }
    sweeper = 0;
  }
}
