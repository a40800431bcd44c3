/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OUTPUT_FILE_H
#define RLO_CLI_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * A file in the making, which appears under its name complete or not at all.
 *
 * It is written beside its target under another name, forced to the disk, and
 * renamed. A symbolic link keeps pointing where it does; an existing file gives
 * its permissions to the new one. What is no regular file (a device, a pipe) is
 * written in place, for there is nothing to replace. A signal that ends the
 * command removes the unfinished file: interrupt.h.
 * Functions return RLO__EXIT_OK or print why not. One at a time.
 */
typedef struct rlo__output_file {
  int descriptor;
  bool is_in_place;
  char path[PATH_MAX];
  char temporary_path[PATH_MAX];
} rlo__output_file;

/** Whether two paths lead to one existing file. */
bool rlo__path_is_same_file(const char *a, const char *b);

/** Begin a file. After success, commit or abandon must follow. */
int rlo__output_file_open(const char *path, rlo__output_file *out_file);

/** Append to it; a full disk fails here or in commit. */
int rlo__output_file_write(rlo__output_file *file,
                           const void *data,
                           size_t bytes);

/** Put the file in its place. On failure it is abandoned. */
int rlo__output_file_commit(rlo__output_file *file);

/** Remove what has been written. */
void rlo__output_file_abandon(rlo__output_file *file);

#endif
