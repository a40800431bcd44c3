/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FILE_H
#define RLO_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
RLO_NODISCARD rlo_status rlo__file_read(const char *path, size_t max_bytes, char **out_data,
                                        size_t *out_bytes);

/**
 * Writes a whole file, atomically: base/file_replace.h. On failure an existing
 * file is unchanged, unless syncing its directory failed after the rename.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__file_write(const char *path, const void *data, size_t bytes);

/** Reads exactly `bytes` bytes at `offset_bytes` of an open file. `path` is for
 *  the message. @return RLO_OK; RLO_DATA_LOSS when the file ends before;
 * RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__file_pread(int fd, const char *path, void *data, size_t bytes,
                                         int64_t offset_bytes);

/** Closes a descriptor that was only read from; -1 is legal. */
void rlo__file_close(int fd);

/** Records that the system failed with the errno `error`: "cannot open "x":
 *  ...", with `what` "cannot open".
 *  @return RLO_NOT_FOUND for ENOENT, else RLO_IO. */
RLO_NODISCARD rlo_status rlo__file_fail(const char *what, const char *path, int error);

/**
 * A directory whose files only one user can change, for data that other users
 * must not be able to supply. All access goes through the open descriptor and
 * not through a path, so that no file can be exchanged after the check.
 *
 * Failures of the system are reported as above; a directory or file
 * that another user may have changed is RLO_UNSUPPORTED. Names have no slash.
 * Threads: safe.
 */
typedef struct rlo__directory {
  /** -1 when nothing is open. */
  int fd;
  /** The user who must own the directory and its files. */
  uid_t owner;
} rlo__directory;

/** Opens a directory of `owner` that group and others cannot write to. The last
 *  component of `path` may not be a symbolic link. On failure *out_directory is
 *  closed.
 *  @param creates  makes it, and its parent, with mode 0700 if it does not
 *                  exist; false: RLO_NOT_FOUND then. */
RLO_NODISCARD rlo_status rlo__directory_open(const char *path, uid_t owner, bool creates,
                                             rlo__directory *out_directory);

/** Closes a directory; a closed one is legal. */
void rlo__directory_close(rlo__directory *directory);

/** Reads like rlo__file_read, for a regular file of the owner that group and
 * others cannot write to. @return RLO_UNSUPPORTED for any other. */
RLO_NODISCARD rlo_status rlo__directory_read(const rlo__directory *directory, const char *name,
                                             size_t max_bytes, char **out_data, size_t *out_bytes);

/** Writes a file, mode 0600, atomically (base/file_replace.h), and replaces an
 *  existing one. */
RLO_NODISCARD rlo_status rlo__directory_write(const rlo__directory *directory, const char *name,
                                              const void *data, size_t bytes);

/** Deletes a file. RLO_OK if it does not exist. */
RLO_NODISCARD rlo_status rlo__directory_remove(const rlo__directory *directory, const char *name);

/** Sets a file's modification time to now; failures are ignored. */
void rlo__directory_touch(const rlo__directory *directory, const char *name);

/** A file of a directory. */
typedef struct rlo__directory_file {
  char name[80];
  int64_t bytes;
  /** Modification time in nanoseconds since 1970. */
  int64_t time_nanos;
} rlo__directory_file;

/** Lists the regular files in no particular order, without those whose names
 *  are too long for rlo__directory_file. Free *out_files with rlo__free. */
RLO_NODISCARD rlo_status rlo__directory_list(const rlo__directory *directory,
                                             rlo__directory_file **out_files, size_t *out_count);

#endif
