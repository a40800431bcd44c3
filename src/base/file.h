/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FILE_H
#define RLO_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * Files, read and written to the last byte. Interrupted calls are taken up
 * again and short ones continued. A failure of the system becomes
 *   RLO_NOT_FOUND  the path, or a folder of it, does not exist;
 *   RLO_IO         anything else, such as no permission or a full disk;
 * with the path and the system's words in the message. Paths are copied, never
 * kept. Threads: safe for different files.
 */

/**
 * Read a whole file, or a pipe to its end.
 *
 * *out_data holds *out_bytes bytes and a NUL after them; it goes to rlo__free.
 * Fails with RLO_OUT_OF_RANGE when the file has more than `max_bytes`,
 * RLO_OUT_OF_MEMORY, RLO_NOT_FOUND or RLO_IO; then *out_data is NULL.
 */
RLO_NODISCARD rlo_status rlo__file_read(const char *path,
                                        size_t max_bytes,
                                        char **out_data,
                                        size_t *out_bytes);

/** Open a file for reading; rlo__file_close ends it. On failure *out_fd is
 *  -1. */
RLO_NODISCARD rlo_status rlo__file_open_read(const char *path, int *out_fd);

/** Size of an open regular file; RLO_UNSUPPORTED for anything else. `path` is
 *  for the message only, here and below. */
RLO_NODISCARD rlo_status rlo__file_size(int fd,
                                        const char *path,
                                        int64_t *out_size_bytes);

/** Read exactly `bytes` bytes at `offset_bytes`. Fails with RLO_DATA_LOSS when
 *  the file ends before. */
RLO_NODISCARD rlo_status rlo__file_pread(
    int fd, const char *path, void *data, size_t bytes, int64_t offset_bytes);

/** Close a descriptor that was read from; -1 is legal. */
void rlo__file_close(int fd);

/** Write all of `bytes` bytes where the descriptor stands. */
RLO_NODISCARD rlo_status rlo__file_write(int fd,
                                         const char *path,
                                         const void *data,
                                         size_t bytes);

/** Bring what was written through a descriptor to the disk and close it; it is
 *  closed after a failure too. */
RLO_NODISCARD rlo_status rlo__file_finish(int fd, const char *path);

/** Record that the system failed with `error`: "cannot open "x": ...".
 *  @return RLO_NOT_FOUND for ENOENT, else RLO_IO. */
RLO_NODISCARD rlo_status rlo__file_fail(const char *what,
                                        const char *path,
                                        int error);

/**
 * A file in the making: it appears under its name whole, or not at all.
 *
 *     rlo__file_writer writer;
 *     RLO_TRY(rlo__file_writer_open(path, &writer));
 *     RLO_TRY_GOTO(rlo__file_writer_write(&writer, data, bytes));
 *     return rlo__file_writer_commit(&writer);
 *   fail:
 *     rlo__file_writer_abandon(&writer);
 *     return status;
 *
 * The bytes go to a temporary file beside the target, so that the last step is
 * a rename within one file system. A target that exists and is no regular file
 * (a pipe, /dev/null) is written directly. A symbolic link is followed, and a
 * file that is replaced passes on its permissions.
 */
typedef struct rlo__file_writer {
  /** -1 when nothing is open. */
  int fd;
  /** Where the file will be. */
  char *path;
  /** Where it is until then; NULL when the target is written directly. */
  char *temp_path;
} rlo__file_writer;

/** Begin. On failure *out_writer holds nothing and may be abandoned. */
RLO_NODISCARD rlo_status rlo__file_writer_open(const char *path,
                                               rlo__file_writer *out_writer);

/** Append bytes. After a failure only abandon is left. */
RLO_NODISCARD rlo_status rlo__file_writer_write(rlo__file_writer *writer,
                                                const void *data,
                                                size_t bytes);

/** Write bytes at an offset; what is never written reads as zero. The place
 *  where rlo__file_writer_write goes on does not move. */
RLO_NODISCARD rlo_status rlo__file_writer_pwrite(rlo__file_writer *writer,
                                                 const void *data,
                                                 size_t bytes,
                                                 int64_t offset_bytes);

/** Bring the bytes to the disk and put the file in its place. Whatever the
 *  result, the writer is empty afterwards; on failure the target is as it was
 *  before. (Only a failure to sync the folder comes after the rename.) */
RLO_NODISCARD rlo_status rlo__file_writer_commit(rlo__file_writer *writer);

/** Drop the file in the making. An empty writer is legal. Keeps the error
 *  record of the thread. */
void rlo__file_writer_abandon(rlo__file_writer *writer);

#endif
