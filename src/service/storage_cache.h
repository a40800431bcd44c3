/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_CACHE_H
#define RLO_SERVICE_STORAGE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/thread.h"
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

/** Call `read`, again if a signal interrupts it; `write` until all is written;
 *  `sync`. The latter return 0 or an errno. */
ssize_t rlo__calls_read(const rlo__storage_calls *calls, int fd, int64_t position,
                        const struct iovec *parts, int num_parts);
int rlo__calls_write(const rlo__storage_calls *calls, int fd, int64_t position, const void *data,
                     int64_t bytes);
int rlo__calls_sync(const rlo__storage_calls *calls, int fd);

/** Bytes of a file, as ranges. A hull in their place would have the rows
 *  between, which may be what is read next. */
typedef struct rlo__file_chunk {
  int32_t num_ranges;
  int64_t bytes;

  struct {
    int64_t begin, end;
  } ranges[128];
} rlo__file_chunk;

enum { RLO__TRAIL_CHUNKS = 8 };

/**
 * An open file, whose bytes may go past the system's page cache.
 *
 * *Direct* transfers (O_DIRECT) have a descriptor of their own. The system
 * moves whole blocks, between aligned positions and aligned memory: what is not
 * aligned in memory goes through *bounce* memory, a MiB for each thread that
 * transfers, and what is no whole block in the file is read with its block, but
 * not written.
 *
 * A file that is *streamed* is passed through once: written bytes are sent to
 * the disk in chunks; with the eighth chunk the writer waits for the first one,
 * so that no more are in waiting, and whoever writes faster than the disk is
 * slowed down. What is on the disk, and what was read, is dropped from the
 * cache.
 *
 * Threads: safe, but for init, open_direct and deinit. A writer may wait for
 * the disk while others wait for it.
 */
typedef struct rlo__cached_file {
  const rlo__storage_calls *calls;
  int fd;
  /** -1: everything goes through the page cache. */
  int direct_fd;
  /** The length of a block; positions are aligned to it. */
  int64_t block_bytes, memory_alignment;
  atomic_bool is_streamed;
  /** The errno with which written bytes, maybe not those of the caller, were
   *  lost; 0: none. The system says so once only. */
  atomic_int lost_error;
  /** Guards the rest. */
  rlo__mutex mutex;
  /** Those that nobody uses. */
  struct bounce *bounces;
  rlo__file_chunk read;
  /** A ring: `num_sent` chunks on their way to the disk, from `oldest` on, then
   *  the one that is being filled. */
  rlo__file_chunk written[RLO__TRAIL_CHUNKS];
  int32_t oldest, num_sent;
} rlo__cached_file;

/** Takes a descriptor over, on success. The file is zeroed. @return RLO_OK;
 *  RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cached_file_init(rlo__cached_file *file, int fd);

/** Closes the file. */
void rlo__cached_file_deinit(rlo__cached_file *file);

/**
 * Opens the file once more, for direct transfers.
 * @param path  for the message.
 * @return RLO_OK; RLO_UNSUPPORTED if the file system cannot; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__cached_file_open_direct(rlo__cached_file *file, const char *path);

/** Remembers that written bytes are lost. */
void rlo__cached_file_set_lost(rlo__cached_file *file, int error);

/** Goes on in parts: the first `bytes` bytes of them are done. */
void rlo__parts_advance(struct iovec **parts, int *num_parts, int64_t bytes);

/**
 * Moves `bytes` bytes directly between a position in the file and parts, which
 * go on by what is returned. A write is of one part, and its position and bytes
 * are multiples of a block.
 * @return how many bytes were moved; fewer than `bytes` where the file ends, or
 *         the system transfers less or refuses: the rest is to be moved
 *         otherwise. -1 with errno set on failure.
 */
int64_t rlo__direct_move(rlo__cached_file *file, int64_t position, int64_t bytes,
                         struct iovec **parts, int *num_parts, bool is_write);

/** Note bytes that were read, or written, through the page cache, at a position
 *  in the file. */
void rlo__trail_read(rlo__cached_file *file, int64_t position, int64_t bytes);
void rlo__trail_written(rlo__cached_file *file, int64_t position, int64_t bytes);

/** Drops what was written, after a sync of the whole file. */
void rlo__trail_drop_written(rlo__cached_file *file);

#endif
