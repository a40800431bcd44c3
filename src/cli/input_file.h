/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_INPUT_FILE_H
#define RLO_CLI_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

/**
 * A regular file, open for reading. It is read with pread into memory and never
 * mapped: a mapped file that somebody cuts kills the reader.
 * Functions return RLO__EXIT_OK or print why not.
 */
typedef struct rlo__input_file {
  int descriptor;
  int64_t size_bytes;
  /** Borrowed. */
  const char *path;
} rlo__input_file;

int rlo__input_file_open(const char *path, rlo__input_file *out_file);

/** Read exactly `bytes` from the place; a file that ends before is an error. */
int rlo__input_file_read(const rlo__input_file *file,
                         int64_t offset_bytes,
                         void *buffer,
                         size_t bytes);

void rlo__input_file_close(const rlo__input_file *file);

#endif
