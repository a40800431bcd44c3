/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_FILE_FORMAT_H
#define RLO_CLI_FILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/digest.h"

#include "files.h"

/** The order of the bytes of a number. */
typedef enum rlo__byte_order {
  /** The order that the file's header names; without a header little, this machine's. */
  RLO__BYTE_ORDER_DEFAULT = 0,
  RLO__BYTE_ORDER_LITTLE = 1,
  RLO__BYTE_ORDER_BIG = 2
} rlo__byte_order;

/** The user's hints about a file. */
typedef struct rlo__file_hints {
  /** The shape of --from: its slots are what the file must hold. NULL: the
   *  shape is that of the header. */
  const rlo_shape *from;
  /** --offset: where the slots begin, in a file of any name, which is bare bytes
   *  then; there may be more bytes after them. Negative: not given. */
  int64_t offset_bytes;
  /** --array: which one of the arrays that follow each other in the file, from
   *  0. Negative: there is one, and the file ends with it. */
  int64_t array;
  /** --byte-order */
  rlo__byte_order byte_order;
  /** --bitcast: the bits of the file's elements are elements of `from`,
   * whatever type the header names. */
  bool is_bitcast;
  /** --memory: of what is read from a pipe; 0: half of what is free. */
  int64_t memory_bytes;
} rlo__file_hints;

#define RLO__FILE_HINTS_INIT \
  { NULL, -1, -1, RLO__BYTE_ORDER_DEFAULT, false, 0 }

/** The array that a file holds. */
typedef struct rlo__file_contents {
  /** The physical bytes of this shape begin at `offset_bytes`. */
  rlo_shape shape;
  int64_t offset_bytes;
  /** The file may go on behind them. */
  bool has_rest;
  /** The type of the numbers if their bytes have the other order, else
   *  RLO_DTYPE_INVALID. It need not be the shape's. */
  rlo_dtype swapped_type;
  /** The header names a signed integer type, so that above a value are copies
   * of its sign. */
  bool has_signs;
  /** The digest that the file says the array has; "": none. */
  char digest[33];
} rlo__file_contents;

/**
 * A format of files with one array: a header, which may be empty, and behind it
 * the physical bytes of a shape. array_file.c has the table of formats;
 * docs/kernels.md describes how to add one. The functions return
 * RLO__EXIT_OK, or print the reason and return RLO__EXIT_FAILURE.
 */
typedef struct rlo__file_format {
  /** Ends of file names, such as ".npy"; the rest is NULL. */
  const char *suffixes[4];
  /** Lines of the help, of at most 62 characters; each ends in a newline. */
  const char *help;
  /**
   * Reads the header of a file.
   * @param hints  with a shape, perhaps with an offset and a byte order, if the
   *               format has no header; else perhaps with a shape and the number
   *               of an array.
   */
  int (*read_header)(const rlo__input_file *file, const rlo__file_hints *hints,
                     rlo__file_contents *out_contents);
  /**
   * Makes the header for the physical bytes of a shape. NULL: the format has no
   * header, so that --from is required.
   * @param is_swapped  the numbers have their first byte last.
   * @param digest      to be written where there is room for it; NULL: none. It does not
   *                    change the length.
   * @param out_header  room for RLO__MAX_HEADER_BYTES bytes.
   */
  int (*make_header)(const rlo_shape *shape, bool is_swapped, const rlo_digest *digest,
                     char *out_header, size_t *out_bytes);
  /**
   * Opens the file of a member and reads where it is there, in place of the two, for a
   * format of several arrays with names.
   * @param path    a file or a folder, without the name.
   * @param member  the name; NULL: there is one member.
   */
  int (*open_member)(const char *path, const char *member, const rlo__file_hints *hints,
                     rlo__input_file *out_file, rlo__file_contents *out_contents);
} rlo__file_format;

extern const rlo__file_format rlo__format_npy;
extern const rlo__file_format rlo__format_raw;
extern const rlo__file_format rlo__format_safetensors;

#endif
