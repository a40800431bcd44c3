/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_ARRAY_FILE_H
#define RLO_CLI_ARRAY_FILE_H

#include <stdbool.h>

#include "relayout/shape.h"

/** An array in memory: the physical bytes of its shape. */
typedef struct rlo__array {
  rlo_shape shape;
  void *data;
  size_t bytes;
} rlo__array;

/** True for names that end in .bin or .raw: bare bytes, without a header. */
bool rlo__path_is_raw(const char *path);

/**
 * Read an array; elements of the other byte order are turned.
 *
 * @param from  the shape that the bytes have. NULL: what the .npy header says;
 *              bare bytes need it. With an .npy file that holds the slots of
 *              this shape as a one-dimensional array of its element's width (or
 *              of bytes), or an array of its dimensions in the same order.
 * @param out_array  given back by rlo__array_deinit, in any case.
 * @return RLO__EXIT_OK, or prints why not.
 */
int rlo__array_load(const char *path,
                    const rlo_shape *from,
                    rlo__array *out_array);

void rlo__array_deinit(rlo__array *array);

/** An array on its way to a file: the physical bytes of a shape. All borrowed.
 */
typedef struct rlo__array_target {
  const char *path;
  const rlo_shape *shape;
  const void *data;
} rlo__array_target;

/**
 * Write arrays to files, all of them or none, as rlo__outputs_write does: bare,
 * or behind an .npy header of the logical shape where the layout is plain row-
 * or column-major, else of a one-dimensional array of the slots. Element types
 * that NumPy does not know become unsigned numbers of their width, packed ones
 * bytes.
 * @return RLO__EXIT_OK, or prints why not.
 */
int rlo__arrays_save(const rlo__array_target *targets, int32_t count);

#endif
