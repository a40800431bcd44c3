/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FOLDER_H
#define RLO_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relayout/status.h"

/**
 * A folder whose files one user alone can change, for what must not be slipped
 * to us. Every file is reached through the open folder and never through a
 * path, so that nobody can put another one in its place after the check.
 *
 * Failures of the system are reported as base/file does; a folder or file that
 * somebody else may have changed is RLO_UNSUPPORTED. Names have no slash.
 * Threads: safe.
 */
typedef struct rlo__folder {
  /** -1 when nothing is open. */
  int fd;
  /** Who has to own the folder and its files. */
  uid_t owner;
} rlo__folder;

typedef enum rlo__folder_mode {
  /** RLO_NOT_FOUND if it is not there. */
  RLO__FOLDER_OPEN,
  /** Make it if it is not there, and the folder that it lies in, mode 0700. */
  RLO__FOLDER_MAKE
} rlo__folder_mode;

/** Open a folder of `owner` that group and others cannot write to; its last
 *  component is no symbolic link. On failure *out_folder is closed. */
RLO_NODISCARD rlo_status rlo__folder_open(const char *path,
                                          uid_t owner,
                                          rlo__folder_mode mode,
                                          rlo__folder *out_folder);

/** A closed folder is legal. */
void rlo__folder_close(rlo__folder *folder);

/**
 * Read a file: a regular one of the owner, that group and others cannot write
 * to. *out_data goes to rlo__free.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_UNSUPPORTED; RLO_OUT_OF_RANGE if it has
 *         more than `max_bytes`; RLO_DATA_LOSS if it shrinks meanwhile;
 *         RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__folder_read(const rlo__folder *folder,
                                          const char *name,
                                          size_t max_bytes,
                                          uint8_t **out_data,
                                          size_t *out_bytes);

/** Every file of the making is named so; one that stays behind is that of a
 *  process that was killed. */
#define RLO__FOLDER_TEMP_PREFIX ".tmp-"

/** Write a file, mode 0600: whole, or not at all. It is on the disk before it
 *  takes the name, and takes the name from a file that has it. */
RLO_NODISCARD rlo_status rlo__folder_write(const rlo__folder *folder,
                                           const char *name,
                                           const void *data,
                                           size_t bytes);

/** Delete a file. A file that is not there is deleted already. */
RLO_NODISCARD rlo_status rlo__folder_remove(const rlo__folder *folder,
                                            const char *name);

/** Set a file's time to now, if that can be. */
void rlo__folder_touch(const rlo__folder *folder, const char *name);

/** One file of a folder. */
typedef struct rlo__folder_file {
  char name[80];
  int64_t bytes;
  /** When it was last written or touched, in nanoseconds of the wall clock. */
  int64_t time_nanos;
} rlo__folder_file;

/** List the regular files, in no order; those with longer names are left out.
 *  *out_files goes to rlo__free. */
RLO_NODISCARD rlo_status rlo__folder_list(const rlo__folder *folder,
                                          rlo__folder_file **out_files,
                                          size_t *out_count);

#endif
