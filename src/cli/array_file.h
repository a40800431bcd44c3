/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_ARRAY_FILE_H
#define RLO_CLI_ARRAY_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "relayout/shape.h"

/** Arrays in files. The end of a file's name selects its format: the table in
 *  array_file.c. Functions that return an int return RLO__EXIT_OK, or print the
 *  reason and return RLO__EXIT_FAILURE. */

/** An array in memory: the physical bytes of its shape. */
typedef struct rlo__array {
  rlo_shape shape;
  void *data;
  size_t bytes;
} rlo__array;

/**
 * Reads an array in this machine's byte order.
 *
 * @param from  the shape whose slots the file holds. An .npy file must hold
 * them as an array of one dimension with elements of the same width (or of
 * bytes), or as an array of the shape's dimensions in the same order. NULL: the
 * shape in the file's header; required for formats without one.
 * @param out_array  released by rlo__array_deinit, which must follow in any
 *                   case.
 */
int rlo__array_load(const char *path,
                    const rlo_shape *from,
                    rlo__array *out_array);

void rlo__array_deinit(rlo__array *array);

/** An array to write: the physical bytes of a shape. All borrowed. */
typedef struct rlo__array_target {
  const char *path;
  const rlo_shape *shape;
  const void *data;
} rlo__array_target;

/** Writes arrays to files, all of them or none, as rlo__outputs_write does. */
int rlo__arrays_save(const rlo__array_target *targets, int32_t count);

/** Prints the part of a verb's help that describes the formats. */
void rlo__array_file_print_help(FILE *out);

#endif
