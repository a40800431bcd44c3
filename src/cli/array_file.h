/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_ARRAY_FILE_H
#define RLO_CLI_ARRAY_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "relayout/problem.h"
#include "relayout/storage.h"

#include "file_format.h"
#include "files.h"

/** Arrays in files. The end of a file's name selects its format: the table in
 *  array_file.c. Functions that return an int return RLO__EXIT_OK, or print the
 *  reason and return RLO__EXIT_FAILURE. */

/** An array in a file that is open. */
typedef struct rlo__array_source {
  rlo__input_file file;
  rlo__file_contents contents;
  /** The bytes of the shape in the file, from contents.offset_bytes on. */
  int64_t bytes;
  /** Above 1: the numbers are this many bytes wide, with their first byte
   *  last. */
  size_t swapped_width_bytes;
  /** The format has a header. */
  bool has_header;
  /** NULL, unless set after opening: `bytes` bytes that are read in place of
   * the file's, owned. Borrowed by its storages. */
  void *memory;
  /** False, unless set after opening: what is read of the array has to be
   *  values of its type, or the reading fails. */
  bool has_checked_values;
} rlo__array_source;

/** Returns whether a path is that of a file with members, by its name, or a folder. */
bool rlo__array_file_has_members(const char *path);

/**
 * Opens an array without reading it.
 *
 * @param hints  what is not in the file. The shape in them is
 *               required for formats without one. An .npy file must hold its
 *               slots as an array of one dimension, or as an array of the
 *               shape's dimensions in the same order. Its elements have the
 *               shape's type; an integer type of their width, where NumPy lacks
 *               that type; or are bytes, of elements that are not a byte wide.
 *               With is_bitcast any type of their width. Offset and byte order
 *               are for formats without a shape.
 * @param out_source  closed by rlo__array_source_close, if this succeeds.
 */
int rlo__array_source_open(const char *path, const rlo__file_hints *hints,
                           rlo__array_source *out_source);
void rlo__array_source_close(const rlo__array_source *source);

/** Reads what is left of a pipe into memory; else its storage, of which there is one
 *  at a time, can only be read forward. */
int rlo__array_source_hold(rlo__array_source *source);

/** Makes a storage of the array's bytes, in this machine's byte order. It stays
 *  usable when the source is closed, and borrows its path. `hints` are those of
 *  rlo_storage_from_fd, or NULL; without effect where bytes are swapped or
 * checked. */
RLO_NODISCARD rlo_status rlo__array_source_storage(const rlo__array_source *source,
                                                   const rlo_storage_traits *hints,
                                                   rlo_storage **out_storage);

/** Returns in how many bytes, or a multiple, the storage is read. */
int64_t rlo__array_source_granule_bytes(const rlo__array_source *source);

/**
 * Lets the elements be read so that they are, moved to `dst`, numbers with their
 * first byte last, or of this machine's order if they were such before.
 * @param problem  the move; its fill is swapped.
 */
int rlo__array_source_swap(rlo__array_source *source, const rlo_shape *dst, rlo_problem *problem);

/**
 * Returns whether a relayout from one shape to another drops bits that the
 * source's elements have beyond their values: as of an s4 in a byte, when it is
 * moved to an element of another size. Then has_checked_values is to be set.
 * pred is no such type: every byte but 0 is true.
 */
bool rlo__values_may_be_cut(const rlo_shape *src, const rlo_shape *dst);

/** Reads the whole of a small array, in this machine's byte order. */
int rlo__array_source_read(rlo__array_source *source, void *out_bytes);

/** Writes the physical bytes of a shape to a file, or to what is none. */
int rlo__array_save(const char *path, const rlo_shape *shape, bool is_swapped,
                    const rlo_digest *digest, const void *data, int64_t bytes);

/** Makes the header of a file for an array.
 *  @param is_swapped  its numbers have their first byte last.
 *  @param digest   written where the format has room for it; NULL: none is.
 *  @param out_header  room for RLO__MAX_HEADER_BYTES bytes. */
int rlo__array_make_header(const char *path, const rlo_shape *shape, bool is_swapped,
                           const rlo_digest *digest, char *out_header, size_t *out_bytes);

/** Prints the part of a verb's help that describes the formats. */
void rlo__array_file_print_help(FILE *out);

#endif
