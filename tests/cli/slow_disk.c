/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a disk with faults, so that a test can interrupt
 * just then, or see them found. A file never reaches it, but the first
 * $SLOW_DISK_FILES do. Each write at a position takes $SLOW_DISK_WRITE_US
 * microseconds, and
 * the one numbered $SLOW_DISK_FLIP, from 1, turns its first byte around. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
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

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t at) {
  static atomic_int num_writes;

  union {
    void *address;
    ssize_t (*function)(int, const void *, size_t, off64_t);
  } next = {dlsym(RTLD_NEXT, "pwrite64")};
  struct timespec pause_time = {0, number("SLOW_DISK_WRITE_US") * 1000L};
  nanosleep(&pause_time, NULL);
  ssize_t count = next.function(descriptor, data, bytes, at);
  if (atomic_fetch_add(&num_writes, 1) + 1 == number("SLOW_DISK_FLIP")) {
    unsigned char flipped = (unsigned char)~*(const unsigned char *)data;
    (void)!next.function(descriptor, &flipped, 1, at);
  }
  return count;
}

/* The one that programs with offsets of 64 bits call is the other. */
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) {
  return pwrite64(descriptor, data, bytes, at);
}
