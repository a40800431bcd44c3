/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a disk with faults, so that a test can interrupt
 * just then, or see them found. A file never reaches it, but the first
 * $SLOW_DISK_FILES do. Each write at a position takes $SLOW_DISK_WRITE_US
 * microseconds, and of these the one numbered, from 1,
 *   $SLOW_DISK_FLIP  turns its first byte around,
 *   $SLOW_DISK_FAIL  fails with the error $SLOW_DISK_ERRNO.
 * Into the file $SLOW_DISK_COUNT, if it is given, goes how many bytes were
 * written at positions: a number of 8 bytes, whoever is killed. For all threads
 * but the first of a process, the time passes $SLOW_DISK_CLOCK times as fast:
 * what jobs do every some seconds they do soon. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int number(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? 0 : atoi(value);
}

int fsync(int descriptor) {
  static int num_files;
  (void)descriptor;
  if (num_files++ < number("SLOW_DISK_FILES")) {
    return 0;
  }
  for (;;) {
    pause();
  }
}

static _Atomic(_Atomic long *) counter;

static void count(ssize_t bytes) {
  const char *path = getenv("SLOW_DISK_COUNT");
  if (path == NULL || bytes <= 0) {
    return;
  }
  if (counter == NULL) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    counter = mmap(
        NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
  }
  atomic_fetch_add(counter, bytes);
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t at) {
  static atomic_int num_writes;

  union {
    void *address;
    ssize_t (*function)(int, const void *, size_t, off64_t);
  } next = {dlsym(RTLD_NEXT, "pwrite64")};
  struct timespec pause_time = {0, number("SLOW_DISK_WRITE_US") * 1000L};
  nanosleep(&pause_time, NULL);
  int n = atomic_fetch_add(&num_writes, 1) + 1;
  if (n == number("SLOW_DISK_FAIL")) {
    errno = number("SLOW_DISK_ERRNO");
    return -1;
  }
  ssize_t written = next.function(descriptor, data, bytes, at);
  count(written);
  if (n == number("SLOW_DISK_FLIP")) {
    unsigned char flipped = (unsigned char)~*(const unsigned char *)data;
    (void)!next.function(descriptor, &flipped, 1, at);
  }
  return written;
}

/* The one that programs with offsets of 64 bits call is the other. */
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) {
  return pwrite64(descriptor, data, bytes, at);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  static atomic_long start;
  long result = syscall(SYS_clock_gettime, clock, out);
  int factor = number("SLOW_DISK_CLOCK");
  if (result != 0 || clock != CLOCK_MONOTONIC || factor <= 1 ||
      gettid() == getpid()) {
    return (int)result;
  }
  long nanos = out->tv_sec * 1000000000L + out->tv_nsec;
  long none = 0;
  atomic_compare_exchange_strong(&start, &none, nanos);
  nanos = start + (nanos - start) * factor;
  out->tv_sec = nanos / 1000000000L;
  out->tv_nsec = nanos % 1000000000L;
  return 0;
}
