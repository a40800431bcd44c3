/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_NPY_TYPE_H
#define RLO_IO_NPY_TYPE_H

#include "relayout/npy.h"

/** Types and constants of .npy headers, for the reader and the writer. */

enum {
  RLO__NPY_MAGIC_BYTES = 6,
  /** The magic and two bytes of version. */
  RLO__NPY_VERSION_END = 8
};

/** The first bytes of every .npy file. */
extern const unsigned char rlo__npy_magic[RLO__NPY_MAGIC_BYTES];

/** The element type that NumPy calls by this letter and number of bytes, 'f'
 *  and 4; RLO_DTYPE_INVALID if there is none. */
rlo_dtype rlo__npy_dtype_of(char kind, int64_t bytes);

/** NumPy's letter for an element type; 'u' for a type that NumPy lacks. */
char rlo__npy_kind_of(rlo_dtype dtype);

/**
 * Reads a type as NumPy spells it, a byte order, a letter and a number of
 * bytes: "<f4". `text` need not be terminated; it has no NUL.
 * @return RLO_OK; RLO_PARSE for another spelling; RLO_UNSUPPORTED for a type
 * that the library does not have.
 */
RLO_NODISCARD rlo_status rlo__npy_type_parse(const char *text,
                                             size_t length,
                                             rlo_dtype *out_dtype,
                                             bool *out_is_byte_swapped);

/** The unsigned integer as wide as elements whose type NumPy does not know:
 *  "<V2", "|V1". RLO_DTYPE_INVALID for another spelling. `text` has no NUL. */
rlo_dtype rlo__npy_unknown_type(const char *text, size_t length);

#endif
