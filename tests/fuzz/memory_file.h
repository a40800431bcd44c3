/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FUZZ_MEMORY_FILE_H
#define RLO_TESTS_FUZZ_MEMORY_FILE_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

/** A file in memory, for parsers that take a path; made anew for each input. */
typedef struct memory_file {
  int fd;
  char path[64];
} memory_file;

static inline memory_file memory_file_make(const void *data, size_t size) {
  memory_file file;
  file.fd = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(file.fd >= 0);
  FUZZ_CHECK(size == 0 || write(file.fd, data, size) == (ssize_t)size);
  snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
  return file;
}

static inline void memory_file_close(memory_file *file) {
  close(file->fd);
}

#endif
