/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_FILE_FORMAT_H
#define RLO_CLI_FILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/shape.h"

#include "files.h"

/** Maximum size of a header that the command writes. */
#define RLO__MAX_HEADER_BYTES 2048

/** The array that a file holds. */
typedef struct rlo__file_contents {
  /** The physical bytes of this shape begin at `offset_bytes`. */
  rlo_shape shape;
  int64_t offset_bytes;
  /** Nonzero: the numbers are this many bytes wide and have the other byte
   *  order. */
  size_t swapped_width_bytes;
} rlo__file_contents;

/**
 * A format of files with one array: a header, which may be empty, and behind it
 * the physical bytes of a shape. array_file.c has the table of formats;
 * docs/adding_a_file_format.md describes how to add one. The functions return
 * RLO__EXIT_OK, or print the reason and return RLO__EXIT_FAILURE.
 */
typedef struct rlo__file_format {
  /** Ends of file names, such as ".npy"; the rest is NULL. */
  const char *suffixes[4];
  /** Lines of the help, of at most 62 characters; each ends in a newline. */
  const char *help;
  /** False: the file has no header, so that --from is required. */
  bool has_shape;
  /**
   * Reads the header of a file.
   * @param from  the shape of --from: its slots are what the file must hold.
   *              NULL, only if has_shape: the shape is that of the header.
   */
  int (*read_header)(const rlo__input_file *file,
                     const rlo_shape *from,
                     rlo__file_contents *out_contents);
  /**
   * Makes the header for the physical bytes of a shape.
   * @param out_header  room for RLO__MAX_HEADER_BYTES bytes.
   */
  int (*make_header)(const rlo_shape *shape,
                     char *out_header,
                     size_t *out_bytes);
} rlo__file_format;

extern const rlo__file_format rlo__format_npy;
extern const rlo__file_format rlo__format_raw;

#endif
