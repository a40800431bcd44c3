/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_FILES_H
#define RLO_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Files that the command reads and writes. Functions that return an int return
 *  RLO__EXIT_OK, or print the reason and return RLO__EXIT_FAILURE. */

/**
 * A regular file, open for reading. Its contents are read into memory with
 * pread and never mapped: access to a mapped file that another process
 * truncates raises SIGBUS.
 */
typedef struct rlo__input_file {
  int descriptor;
  int64_t size_bytes;
  /** Borrowed. */
  const char *path;
} rlo__input_file;

int rlo__input_file_open(const char *path, rlo__input_file *out_file);

/** Reads exactly `bytes` bytes at an offset; fails if the file ends earlier. */
int rlo__input_file_read(const rlo__input_file *file,
                         int64_t offset_bytes,
                         void *buffer,
                         size_t bytes);

void rlo__input_file_close(const rlo__input_file *file);

/** Returns whether two paths name the same existing file. */
bool rlo__path_is_same_file(const char *a, const char *b);

/** A file to write: the head, then the data. All borrowed; either may have 0
 *  bytes. */
typedef struct rlo__output {
  const char *path;
  const void *head;
  size_t head_bytes;
  const void *data;
  size_t data_bytes;
} rlo__output;

/**
 * Writes files, all of them or none.
 *
 * Each is written and synced as a temporary file beside its target
 * (base/file_replace.h); then all are renamed, one after the other. A target
 * that is not a regular file (a device, a pipe) is written in place. A signal
 * that ends the command removes the temporary files (interrupt.h).
 * @return RLO__EXIT_OK; else prints the reason. On failure no file has changed
 *         except those written in place and, if a rename failed because its
 *         directory changed after the write, those renamed before it.
 */
int rlo__outputs_write(const rlo__output *outputs, int32_t count);

#endif
