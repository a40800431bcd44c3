/* SPDX-License-Identifier: Apache-2.0 */
/* For MAP_ANONYMOUS, which POSIX 2008 lacks. */
#define _DEFAULT_SOURCE
#include "isolate.h"

#include <errno.h>
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

/* In the child: does not return. */
static void run_child(rlo__isolated_fn work, void *payload, bool *is_done) {
#ifdef __linux__
  /* Nobody would collect the result of a child without its parent. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  int code = rlo__finish_output(work(payload));
  *is_done = true;
  /* Not exit(): the driver's exit handlers have no part in the result. */
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
        "the OpenCL driver ended its process with exit code %d; nothing of its "
        "work was kept",
        WEXITSTATUS(state));
    return RLO__EXIT_DRIVER;
  }
  int number = WTERMSIG(state);
  if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
    /* Somebody stopped the child, and not us: so they meant us both. */
    return 128 + number;
  }
  rlo__fail(
      "the OpenCL driver died of signal %d (%s); nothing of its work was kept",
      number,
      strsignal(number));
  return RLO__EXIT_DRIVER;
}

static int run_in_child(rlo__isolated_fn work, void *payload) {
  bool *is_done = rlo__shared_create(sizeof(*is_done));
  if (is_done == NULL) {
    return RLO__EXIT_FAILURE;
  }
  /* What is buffered here must not be printed twice. */
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
    run_child(work, payload, is_done);
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

/* OpenCL loads the libraries that the environment names. */
static bool has_foreign_rights(void) {
#ifdef __linux__
  return getauxval(AT_SECURE) != 0;
#else
  return false;
#endif
}

int rlo__isolate_run(bool is_isolated, rlo__isolated_fn work, void *payload) {
  if (has_foreign_rights()) {
    return rlo__fail("OpenCL is not used with set-user-ID rights");
  }
  rlo__driver_cache cache;
  int code = rlo__driver_cache_init(&cache);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = is_isolated ? run_in_child(work, payload) : work(payload);
  rlo__driver_cache_deinit(&cache);
  return code;
}
