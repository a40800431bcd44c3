/* SPDX-License-Identifier: Apache-2.0 */
/* nftw, wait4, environ. */
#define _GNU_SOURCE

#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "timer.h"

/** The arguments of a child: the option, the limit, the output, what is made,
 *  and then the program and its own. */
enum { OPTION = 1, LIMIT, OUTPUT, MADE, PROGRAM, MAX_ARGUMENTS = 64 };

static const char option[] = "--process-child";

/** A child's report: how its program ended, the time, and the memory. */
static const char usage_format[] = "ended %d after %lf ns with %ld KiB";

/* ------------------------------------------------------------------- parent */

static bool read_all(int from, char *text, size_t capacity) {
  size_t length = 0;
  for (;;) {
    ssize_t got = read(from, text + length, capacity - 1 - length);
    if (got < 0 && errno == EINTR) {
      continue; /* the suite looks at its signals when the program has ended */
    }
    if (got <= 0 || length + 1 == capacity) {
      text[length] = '\0';
      return got == 0;
    }
    length += (size_t)got;
  }
}

/** Starts this program again. @param out_end  where it can be read. */
static bool start_child(char *const *argv, pid_t *out_child, int *out_end) {
  int ends[2];
  posix_spawn_file_actions_t actions;
  fflush(NULL);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return bench_fail("pipe: %s", strerror(errno));
  }
  int code = posix_spawn_file_actions_init(&actions);
  if (code == 0) {
    code = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (code == 0) {
      code = posix_spawn(out_child, "/proc/self/exe", &actions, NULL, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  *out_end = ends[0];
  if (code != 0) {
    close(ends[0]);
    return bench_fail("starting %s: %s", argv[PROGRAM], strerror(code));
  }
  return true;
}

bool bench_process_run(const bench_process *process, bench_usage *out_usage) {
  char limit[16];
  char text[256];
  char *argv[PROGRAM + MAX_ARGUMENTS + 1] = {
      (char *)(uintptr_t) "relayout-bench", (char *)(uintptr_t)option, limit,
      (char *)(uintptr_t)process->output, (char *)(uintptr_t)process->made};
  int32_t count = 0;
  snprintf(limit, sizeof limit, "%d", (int)process->limit_seconds);
  for (; process->arguments[count] != NULL && count < MAX_ARGUMENTS; ++count) {
    argv[PROGRAM + count] = (char *)(uintptr_t)process->arguments[count];
  }
  pid_t child = -1;
  int end = -1;
  if (!start_child(argv, &child, &end)) {
    return false;
  }
  bool is_read = read_all(end, text, sizeof text);
  close(end);
  int own_status = -1;
  pid_t waited;
  do {
    waited = waitpid(child, &own_status, 0);
  } while (waited < 0 && errno == EINTR);
  int status = 0;
  double nanos = 0;
  long kib = 0;
  if (!is_read || waited != child || own_status != 0 ||
      sscanf(text, usage_format, &status, &nanos, &kib) != 3) {
    return bench_fail("the process that runs %s failed (status %d)", process->arguments[0],
                      own_status);
  }
  *out_usage = (bench_usage){.is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0,
                             .is_late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM,
                             .nanos = nanos,
                             .peak_bytes = (int64_t)kib * 1024};
  return true;
}

/* -------------------------------------------------------------------- child */

static int sync_path(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  int code = fd < 0 ? -1 : fsync(fd);
  if (fd >= 0) {
    close(fd);
  }
  return code;
}

static int sync_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status;
  (void)kind;
  (void)walk;
  return sync_path(path);
}

/** Makes a file or folder durable, and its name. */
static bool make_durable(const char *path) {
  char folder[1024];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
  return nftw(path, sync_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 &&
         sync_path(slash != NULL ? folder : ".") == 0;
}

/** Becomes the program; returns only if that fails. */
static void become(char **argv) {
  int output = open(argv[OUTPUT], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output >= 0 && dup2(output, STDOUT_FILENO) >= 0) {
    alarm((unsigned)strtoul(argv[LIMIT], NULL, 10));
    execvp(argv[PROGRAM], argv + PROGRAM);
  }
  bench_fail("%s: %s", argv[PROGRAM], strerror(errno));
}

bool bench_process_is_child(int argc, char **argv) {
  return argc > PROGRAM && strcmp(argv[OPTION], option) == 0;
}

int bench_process_child(char **argv) {
  struct rusage usage;
  int status = -1;
  double start = bench_nanos_now();
  pid_t program = fork();
  if (program == 0) {
    become(argv);
    _exit(127);
  }
  if (program < 0 || wait4(program, &status, 0, &usage) != program) {
    bench_fail("%s: %s", argv[PROGRAM], strerror(errno));
    return BENCH_EXIT_FAILED;
  }
  if (status == 0 && argv[MADE][0] != '\0' && !make_durable(argv[MADE])) {
    bench_fail("%s: %s", argv[MADE], strerror(errno));
    return BENCH_EXIT_FAILED;
  }
  double nanos = bench_nanos_now() - start;
  printf("ended %d after %.0f ns with %ld KiB\n", status, nanos, usage.ru_maxrss);
  return BENCH_EXIT_OK;
}
