/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_DIRECTORY_H
#define RLO_BASE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relayout/status.h"

/**
 * A directory whose files only one user can change, for data that other users
 * must not be able to supply. All access goes through the open descriptor and
 * not through a path, so that no file can be exchanged after the check.
 *
 * Failures of the system are reported as in base/file.h; a directory or file
 * that another user may have changed is RLO_UNSUPPORTED. Names have no slash.
 * Threads: safe.
 */
typedef struct rlo__directory {
  /** -1 when nothing is open. */
  int fd;
  /** The user who must own the directory and its files. */
  uid_t owner;
} rlo__directory;

typedef enum rlo__directory_mode {
  /** Fails with RLO_NOT_FOUND if it does not exist. */
  RLO__DIRECTORY_OPEN,
  /** Creates it, and its parent, with mode 0700 if it does not exist. */
  RLO__DIRECTORY_CREATE
} rlo__directory_mode;

/** Opens a directory of `owner` that group and others cannot write to. The last
 *  component of `path` may not be a symbolic link. On failure *out_directory is
 *  closed. */
RLO_NODISCARD rlo_status rlo__directory_open(const char *path,
                                             uid_t owner,
                                             rlo__directory_mode mode,
                                             rlo__directory *out_directory);

/** Closes a directory; a closed one is legal. */
void rlo__directory_close(rlo__directory *directory);

/**
 * Reads a regular file of the owner that group and others cannot write to.
 * Free *out_data with rlo__free.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_UNSUPPORTED; RLO_OUT_OF_RANGE if it has
 *         more than `max_bytes`; RLO_DATA_LOSS if it shrinks during the call;
 *         RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__directory_read(const rlo__directory *directory,
                                             const char *name,
                                             size_t max_bytes,
                                             uint8_t **out_data,
                                             size_t *out_bytes);

/** Writes a file, mode 0600, atomically (base/file_replace.h), and replaces an
 *  existing one. */
RLO_NODISCARD rlo_status rlo__directory_write(const rlo__directory *directory,
                                              const char *name,
                                              const void *data,
                                              size_t bytes);

/** Deletes a file. RLO_OK if it does not exist. */
RLO_NODISCARD rlo_status rlo__directory_remove(const rlo__directory *directory,
                                               const char *name);

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
                                             rlo__directory_file **out_files,
                                             size_t *out_count);

#endif
