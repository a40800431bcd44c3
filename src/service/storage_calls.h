/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_CALLS_H
#define RLO_SERVICE_STORAGE_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/**
 * The system calls of storages of files, in a table that tests replace. All but
 * `drop` return -1 and set errno on failure.
 */
typedef struct rlo__storage_calls {
  /** preadv. */
  ssize_t (*read)(int fd, const struct iovec *parts, int count, int64_t offset);
  /** pwrite. */
  ssize_t (*write)(int fd, const void *data, size_t bytes, int64_t offset);
  /** Gives blocks to a range of the file, and lengthens it; never by writing
   *  zeros: EOPNOTSUPP where the file system cannot. */
  int (*allocate)(int fd, int64_t offset, int64_t bytes);
  /** Sets *out_bytes to what the file system of the file has free. */
  int (*get_free)(int fd, int64_t *out_bytes);
  /** ftruncate. */
  int (*resize)(int fd, int64_t bytes);
  /** fdatasync. */
  int (*sync)(int fd);
  /** Starts to write a range back to the disk, or ends it: writes what is left
   *  and waits. */
  int (*write_back)(int fd, int64_t offset, int64_t bytes, bool is_end);
  /** Drops what the page cache has of a range and is on the disk. A hint. */
  void (*drop)(int fd, int64_t offset, int64_t bytes);
} rlo__storage_calls;

/** The system's. */
extern const rlo__storage_calls rlo__storage_system_calls;

#endif
