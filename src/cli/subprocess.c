/* SPDX-License-Identifier: Apache-2.0 */
/* MAP_ANONYMOUS is not part of POSIX 2008. */
#define _DEFAULT_SOURCE
#include "subprocess.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include "driver_cache.h"
#include "interrupt.h"
#include "message.h"

int64_t rlo__memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  return pages <= 0 || page_bytes <= 0 ? 0 : (int64_t)pages * page_bytes;
}

int rlo__memory_check(int64_t held_bytes, int64_t wanted_bytes) {
  int64_t memory_bytes = rlo__memory_bytes();
  if (memory_bytes > 0 && wanted_bytes > memory_bytes - held_bytes) {
    return rlo__fail("the result takes %" PRId64
                     " bytes and the arrays in "
                     "memory %" PRId64
                     "; the memory of this machine is %" PRId64 " bytes",
                     wanted_bytes,
                     held_bytes,
                     memory_bytes);
  }
  return RLO__EXIT_OK;
}

void *rlo__shared_create(size_t bytes) {
  void *memory = mmap(NULL,
                      bytes == 0 ? 1 : bytes,
                      PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS,
                      -1,
                      0);
  if (memory == MAP_FAILED) {
    rlo__fail(
        "cannot get %zu bytes of shared memory: %s", bytes, strerror(errno));
    return NULL;
  }
  return memory;
}

void rlo__shared_release(void *memory, size_t bytes) {
  if (memory != NULL) {
    munmap(memory, bytes == 0 ? 1 : bytes);
  }
}

/* Runs in the child; does not return. */
static void run_child(rlo__subprocess_fn function,
                      void *payload,
                      bool *is_done) {
#ifdef __linux__
  /* A child without its parent has no use. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  int code = rlo__finish_output(function(payload));
  *is_done = true;
  /* _exit() runs no exit handlers: the driver's may fail after the work is
   * done. */
  _exit(code);
}

static int wait_for_child(pid_t child, const bool *is_done) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) {
      return rlo__fail(
          "cannot wait for process %ld: %s", (long)child, strerror(errno));
    }
  }
  if (WIFEXITED(state) && *is_done) {
    return WEXITSTATUS(state);
  }
  if (WIFEXITED(state)) {
    rlo__fail(
        "the OpenCL driver ended its process with exit code %d; its results "
        "are "
        "discarded",
        WEXITSTATUS(state));
    return RLO__EXIT_DRIVER;
  }
  int number = WTERMSIG(state);
  if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
    /* A signal that ends the command was sent to the child only. */
    return 128 + number;
  }
  rlo__fail(
      "the OpenCL driver died of signal %d (%s); its results are discarded",
      number,
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
  sigset_t before;
  rlo__interrupt_block(&before);
  pid_t child = fork();
  int fork_error = errno;
  if (child > 0) {
    rlo__interrupt_set_child(child);
  } else if (child == 0) {
    rlo__interrupt_uninstall();
  }
  rlo__interrupt_unblock(&before);
  if (child == 0) {
    run_child(function, payload, is_done);
  }
  int code = child < 0 ? rlo__fail("cannot start a process for the device: %s",
                                   strerror(fork_error))
                       : wait_for_child(child, is_done);
  rlo__interrupt_block(&before);
  rlo__interrupt_set_child(0);
  rlo__interrupt_unblock(&before);
  rlo__shared_release(is_done, sizeof(*is_done));
  return code;
}

int rlo__rights_check(const char *what) {
#ifdef __linux__
  if (getauxval(AT_SECURE) != 0) {
    return rlo__fail("%s with set-user-ID rights", what);
  }
#endif
  (void)what;
  return RLO__EXIT_OK;
}

int rlo__subprocess_run(bool is_isolated,
                        rlo__subprocess_fn function,
                        void *payload) {
  int code = rlo__rights_check("OpenCL is not used");
  if (code == RLO__EXIT_OK) {
    code = rlo__driver_cache_make();
  }
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = is_isolated ? run_in_child(function, payload) : function(payload);
  rlo__driver_cache_remove();
  return code;
}
