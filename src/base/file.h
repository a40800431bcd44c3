/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FILE_H
#define RLO_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_replace.h"
#include "relayout/status.h"

/**
 * Reads and writes files. Interrupted calls are repeated and short ones
 * continued. A failure of the system becomes
 *   RLO_NOT_FOUND  the path, or a directory of it, does not exist;
 *   RLO_IO         anything else, such as no permission or a full disk;
 * with the path and the system's text in the message. Paths are borrowed for
 * the call. Threads: safe for different files.
 */

/**
 * Reads a whole file, or a pipe to its end.
 *
 * @param out_data  `*out_bytes` bytes and a NUL after them; free it with
 *                  rlo__free. NULL on failure.
 * @return RLO_OK; RLO_OUT_OF_RANGE when the file has more than `max_bytes`;
 *         RLO_OUT_OF_MEMORY; RLO_NOT_FOUND; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__file_read(const char *path,
                                        size_t max_bytes,
                                        char **out_data,
                                        size_t *out_bytes);

/**
 * Writes a whole file, atomically: base/file_replace.h. On failure an existing
 * file is unchanged, unless syncing its directory failed after the rename.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__file_write(const char *path,
                                         const void *data,
                                         size_t bytes);

/**
 * Writes a file that has begun, and ends it: rlo__file_replace_commit, or
 * rlo__file_replace_rename without a sync of the directory. Abandons it then,
 * or on failure.
 *
 * @param error  of the begin.
 * @param path   for the message.
 * @return as rlo__file_write.
 */
RLO_NODISCARD rlo_status
rlo__file_write_begun(rlo__file_replace *f,
                      int error,
                      const char *path,
                      const void *data,
                      size_t bytes,
                      int (*end)(rlo__file_replace *f));

/** Reads exactly `bytes` bytes at `offset_bytes` of an open file. `path` is for
 *  the message. @return RLO_OK; RLO_DATA_LOSS when the file ends before;
 * RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__file_pread(
    int fd, const char *path, void *data, size_t bytes, int64_t offset_bytes);

/** Closes a descriptor that was only read from; -1 is legal. */
void rlo__file_close(int fd);

/** Records that the system failed with the errno `error`: "cannot open "x":
 *  ...", with `what` "cannot open".
 *  @return RLO_NOT_FOUND for ENOENT, else RLO_IO. */
RLO_NODISCARD rlo_status rlo__file_fail(const char *what,
                                        const char *path,
                                        int error);

#endif
