/* SPDX-License-Identifier: Apache-2.0 */
/* MAP_ANONYMOUS is not part of POSIX 2008. */
#define _DEFAULT_SOURCE
#include "subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include "base/available.h"
#include "interrupt.h"
#include "message.h"

/* ------------------------------------------------------------------- memory */

int rlo__memory_check(int64_t held_bytes, int64_t wanted_bytes) {
  const int64_t available = rlo__available_bytes("");
  return wanted_bytes <= available - held_bytes
             ? RLO__EXIT_OK
             : rlo__fail("the result takes %" PRId64 " bytes and the arrays in memory %" PRId64
                         "; %" PRId64 " bytes of memory are available",
                         wanted_bytes, held_bytes, available);
}

void *rlo__shared_create(size_t bytes) {
  void *memory =
      mmap(NULL, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    rlo__fail("cannot get %zu bytes of shared memory: %s", bytes, strerror(errno));
    return NULL;
  }
  return memory;
}

void rlo__shared_release(void *memory, size_t bytes) {
  if (memory != NULL) {
    munmap(memory, bytes == 0 ? 1 : bytes);
  }
}

/* --------------------------------------------- the folder of the driver */

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

static int remove_entry(const char *path, const struct stat *information, int type,
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
  snprintf(f.path, sizeof(f.path), "%s", base != NULL && base[0] == '/' ? base : "/tmp");
  RLO__EXIT_IF(!make_private(&f),
               "the OpenCL driver has no folder for what it compiles: POCL_CACHE_DIR, "
               "XDG_CACHE_HOME and HOME name none that can be made, and %s cannot be made: %s",
               f.path, strerror(errno));
  if (!start_sweeper(f.path)) {
    const int why = errno;
    rmdir(f.path);
    return rlo__fail("cannot start a process that removes %s: %s", f.path, strerror(why));
  }
  RLO__EXIT_IF(setenv("POCL_CACHE_DIR", f.path, 1) != 0, "no memory to name %s", f.path);
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

/* ------------------------------------------------------------ the child */

/* Runs in the child; does not return. */
static void run_child(pid_t parent, rlo__subprocess_fn function, void *payload, bool *is_done) {
#ifdef __linux__
  /* A child without its parent has no use. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) {
    /* It has ended before that. */
    _exit(RLO__EXIT_FAILURE);
  }
  int code = rlo__finish_output(function(payload));
  *is_done = true;
  /* _exit() runs no exit handlers: the driver's may fail after the work is
   * done. */
  _exit(code);
}

static int wait_for_child(pid_t child, const bool *is_done) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    RLO__EXIT_IF(errno != EINTR, "cannot wait for process %ld: %s", (long)child, strerror(errno));
  }
  if (WIFEXITED(state) && *is_done) {
    return WEXITSTATUS(state);
  }
  if (WIFEXITED(state)) {
    rlo__fail("the OpenCL driver ended its process with exit code %d; its results are discarded",
              WEXITSTATUS(state));
    return RLO__EXIT_DRIVER;
  }
  int number = WTERMSIG(state);
  if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
    /* A signal that ends the command was sent to the child only. */
    return 128 + number;
  }
  rlo__fail("the OpenCL driver died of signal %d (%s); its results are discarded", number,
            strsignal(number));
  return RLO__EXIT_DRIVER;
}

static int run_in_child(rlo__subprocess_fn function, void *payload) {
  bool *is_done = rlo__shared_create(sizeof(*is_done));
  if (is_done == NULL) {
    return RLO__EXIT_FAILURE;
  }
  /* Buffered output must not be printed twice. */
  fflush(stdout);
  fflush(stderr);
  rlo__interrupt_block();
  const pid_t parent = getpid();
  pid_t child = fork();
  int fork_error = errno;
  if (child > 0) {
    rlo__interrupt_set_child(child);
  } else if (child == 0) {
    rlo__interrupt_uninstall();
  }
  rlo__interrupt_unblock();
  if (child == 0) {
    run_child(parent, function, payload, is_done);
  }
  int code = child < 0
                 ? rlo__fail("cannot start a process for the device: %s", strerror(fork_error))
                 : wait_for_child(child, is_done);
  rlo__interrupt_block();
  rlo__interrupt_set_child(0);
  rlo__interrupt_unblock();
  rlo__shared_release(is_done, sizeof(*is_done));
  return code;
}

int rlo__rights_check(const char *what) {
  bool is_secure = getuid() != geteuid() || getgid() != getegid();
#ifdef __linux__
  is_secure |= getauxval(AT_SECURE) != 0;
#endif
  return is_secure ? rlo__fail("%s with set-user-ID rights", what) : RLO__EXIT_OK;
}

int rlo__subprocess_run(bool is_isolated, rlo__subprocess_fn function, void *payload) {
  RLO__EXIT_TRY(rlo__rights_check("OpenCL is not used"));
  RLO__EXIT_TRY(rlo__driver_cache_make());
  const int code = is_isolated ? run_in_child(function, payload) : function(payload);
  rlo__driver_cache_remove();
  return code;
}
