/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_STORAGE_H
#define RELAYOUT_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/export.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * The bytes that a streaming job reads or writes: memory, a part of a file or
 * of a device buffer (storage_opencl.h), or what functions of the user's
 * transfer. Positions are bytes from 0 to rlo_storage_traits.bytes - 1.
 *
 * Ownership. A storage is reference counted: each constructor returns one
 * reference, retain adds one, release drops one; release(NULL) is legal. A job
 * retains the storages it works on. On failure a constructor sets its result to
 * NULL and keeps nothing.
 *
 * Threads. Every function here is safe, and many threads may read and write one
 * storage at once. The writes of a job never overlap. Nothing keeps others from
 * the bytes while a job runs: what they write meanwhile is read or is not.
 */
typedef struct rlo_storage rlo_storage;

/** Properties of a storage: how many bytes it has, and in which transfers they
 *  should be moved. Begin with RLO_STORAGE_TRAITS_INIT. */
typedef struct rlo_storage_traits {
  /** sizeof(rlo_storage_traits). */
  size_t struct_size;
  /** Positions are 0 to bytes - 1; 0 is legal. */
  int64_t bytes;
  /** Transfers begin at multiples of this and have a multiple of it as length,
   *  but for one that ends with the storage: the size of a compressed chunk, or
   *  of a disk's block where the page cache is bypassed. 0: 1. */
  int64_t granule_bytes;
  /** The lengths from which on a transfer costs what its bytes cost. 0: 24 KiB
   *  and 96 KiB. */
  int64_t good_read_bytes;
  int64_t good_write_bytes;
  /** How many transfers at once are worth while. 0: 8. */
  int32_t good_depth;
  /** Writes are refused with RLO_INVALID_ARGUMENT. */
  bool is_read_only;
  /** Transfers of 64 KiB and more to and from a file go past the system's page
   *  cache (O_DIRECT), but for the ends of a written one that are no whole
   *  blocks, mostly of 4 KiB. Costs each thread that transfers a MiB of memory,
   * beside a job's budget, unless its memory is aligned. Ignored by other
   * storages. */
  bool is_direct;
  /** Each byte is read, or written, once at most, none after one that lies behind
   *  it, and by one thread at a time, as from and to a pipe. A destination is new then. A
   *  job that would go back is refused with RLO_UNSUPPORTED. */
  bool is_forward;
} rlo_storage_traits;

#define RLO_STORAGE_TRAITS_INIT \
  { sizeof(rlo_storage_traits), 0, 0, 0, 0, 0, false, false, false }

/**
 * The functions of a storage of the user's. Begin with RLO_STORAGE_OPS_INIT.
 *
 * All but `release` may be called by many threads at once. `read` and `write`
 * transfer all bytes or fail; offset and bytes are within the traits' bytes, in
 * granules, and `bytes` is at least 1.
 *
 * Errors. A function that fails sets a message with rlo_error_set (status.h),
 * or returns the status of a relayout call. Without a message the error record
 * names the function and the status.
 */
typedef struct rlo_storage_ops {
  /** sizeof(rlo_storage_ops). */
  size_t struct_size;
  /** Reads into `into`. NULL: the storage is only written. */
  rlo_status (*read)(void *payload, int64_t offset, int64_t bytes, void *into);
  /** Writes. `from` is not used after the return. NULL: the storage is only
   *  read, whatever the traits say. */
  rlo_status (*write)(void *payload, int64_t offset, int64_t bytes, const void *from);
  /** Ensures that positions 0 to bytes - 1 have room. Called at most once by a
   *  job, before its first write. NULL: they have. */
  rlo_status (*reserve)(void *payload, int64_t bytes);
  /** Makes durable what was written before the call. NULL: it is. */
  rlo_status (*flush)(void *payload);
  /** Called with the last reference, by the thread that drops it. NULL: nothing
   *  to do. */
  void (*release)(void *payload);
  /** Sets a number that is another one for other bytes, such as a hash of a
   *  file's inode, length and time of the last change. Called at the beginning
   *  of a job, at its end, and at checkpoints: a source whose number has
   * changed fails the job. NULL: nobody knows. */
  rlo_status (*identify)(void *payload, uint64_t *out_number);
} rlo_storage_ops;

#define RLO_STORAGE_OPS_INIT \
  { sizeof(rlo_storage_ops), NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Makes a storage of memory.
 * @param memory  `bytes` bytes, borrowed while the storage lives; NULL is legal
 *                for 0 bytes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or a negative size;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_storage_from_memory(void *memory, int64_t bytes,
                                                         rlo_storage **out_storage);

/** Like rlo_storage_from_memory, for memory that is only read. */
RLO_API RLO_NODISCARD rlo_status rlo_storage_from_const_memory(const void *memory, int64_t bytes,
                                                               rlo_storage **out_storage);

/**
 * Makes a storage of a part of a regular file, which is read and written at
 * explicit positions: the descriptor's own position is neither used nor moved.
 * The descriptor is duplicated, and the caller may close it.
 *
 * A descriptor that is open for reading only makes a read-only storage, one
 * that is open for writing only a storage that is only written. A storage that
 * can be written may reach beyond the end of the file, which grows; a read-only
 * one has to lie in it. A job that finds the file shorter fails with
 * RLO_DATA_LOSS.
 *
 * Releasing the storage, like every close of a file, drops the POSIX record
 * locks (F_SETLK) that the process has on it.
 *
 * @param offset  of position 0, in bytes from the beginning of the file.
 * @param hints   traits that differ from the defaults; borrowed; NULL for none.
 *                `bytes` must be 0 or equal to the parameter.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a descriptor that is not open or not
 *         of a regular file, for one that appends (O_APPEND), and for a
 *         negative number; RLO_OUT_OF_RANGE for a read-only file that is too
 *         short; RLO_OVERFLOW if offset + bytes does not fit int64;
 *         RLO_UNSUPPORTED for is_direct on a file system that has no direct
 *         I/O; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_storage_from_fd(int fd, int64_t offset, int64_t bytes,
                                                     const rlo_storage_traits *hints,
                                                     rlo_storage **out_storage);

/**
 * Makes a storage of the user's functions.
 * @param ops      copied.
 * @param payload  passed to each function; released by `release`, unless this
 *                 call fails.
 * @param traits   copied; `bytes` has no default.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative trait, or without
 *         both read and write; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_storage_create(const rlo_storage_ops *ops, void *payload,
                                                    const rlo_storage_traits *traits,
                                                    rlo_storage **out_storage);

/** Adds a reference and returns `storage`; NULL is legal. */
RLO_API rlo_storage *rlo_storage_retain(rlo_storage *storage);

/** Drops a reference; NULL is legal. The last one closes the descriptor or
 *  calls the user's `release`, but makes nothing durable. */
RLO_API void rlo_storage_release(rlo_storage *storage);

/**
 * Gets the traits, with the defaults in place of every 0.
 * @param out_traits  its struct_size is read: a caller with an older header
 *                    gets the fields that it knows.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or another struct_size.
 */
RLO_API RLO_NODISCARD rlo_status rlo_storage_get_traits(const rlo_storage *storage,
                                                        rlo_storage_traits *out_traits);

RLO_END_DECLS

#endif
