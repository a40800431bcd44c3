/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_CACHE_H
#define RLO_SERVICE_STORAGE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "relayout/status.h"

/* Files, with the system's page cache and past it. */

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

/**
 * Transfers of a file past the system's page cache (O_DIRECT), by a descriptor
 * of its own. The system moves whole blocks, between aligned positions and
 * aligned memory: what is not aligned in memory goes through *bounce* memory, a
 * MiB for each thread that transfers, and what is no whole block in the file is
 * read with its block, but not written.
 *
 * Threads: safe.
 */
typedef struct rlo__direct rlo__direct;

/**
 * Opens the file of a descriptor once more, for the same accesses.
 * @param path  for the message.
 * @return RLO_OK; RLO_UNSUPPORTED if the file system cannot; RLO_IO;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__direct_open(int fd,
                                          const char *path,
                                          rlo__direct **out_direct);

/** NULL is legal. */
void rlo__direct_release(rlo__direct *direct);

/** The length of a block; positions are aligned to it. */
int64_t rlo__direct_block_bytes(const rlo__direct *direct);

/** Goes on in parts: the first `bytes` bytes of them are done. */
void rlo__parts_advance(struct iovec **parts, int *num_parts, int64_t bytes);

/**
 * Reads `bytes` bytes at a position in the file into parts, which go on by what
 * is returned.
 * @return how many bytes were read; fewer than `bytes` where the file ends, or
 *         the system transfers less or refuses: the rest is to be read
 *         otherwise. -1 with errno set on failure.
 */
int64_t rlo__direct_read(rlo__direct *direct,
                         const rlo__storage_calls *calls,
                         int64_t position,
                         int64_t bytes,
                         struct iovec **parts,
                         int *num_parts);

/** The same for a write. Position and bytes are multiples of a block. */
int64_t rlo__direct_write(rlo__direct *direct,
                          const rlo__storage_calls *calls,
                          int64_t position,
                          int64_t bytes,
                          const char *from);

/**
 * The traces of a stream through a file in the system's page cache, and their
 * removal. Written bytes are sent to the disk in chunks; with the eighth chunk
 * the writer waits for the first one, so that no more are in waiting, and
 * whoever writes faster than the disk is slowed down. What is on the disk, and
 * what was read, is dropped from the cache.
 *
 * Threads: safe. A writer may wait for the disk while others wait for it.
 */
typedef struct rlo__trail rlo__trail;

/** Begins a trail.
 *  @param calls, fd  borrowed.
 *  @param lost_error  is set to the errno of the first bytes, maybe not those
 * of the caller, that could not be brought to the disk: the system says so
 * once, and they are lost. Borrowed.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__trail_create(const rlo__storage_calls *calls,
                                           int fd,
                                           atomic_int *lost_error,
                                           rlo__trail **out_trail);

/** NULL is legal for this and for the functions below, which then do nothing.
 */
void rlo__trail_release(rlo__trail *trail);

/** Note bytes that were read, or written, at a position in the file. */
void rlo__trail_read(rlo__trail *trail, int64_t position, int64_t bytes);
void rlo__trail_written(rlo__trail *trail, int64_t position, int64_t bytes);

/** Drops what was written, after a sync of the whole file. */
void rlo__trail_drop_written(rlo__trail *trail);

#endif
