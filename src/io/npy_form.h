/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_NPY_FORM_H
#define RLO_IO_NPY_FORM_H

#include "relayout/npy.h"

/** What the reader and the writer of .npy headers both know. */

enum {
  RLO__NPY_MAGIC_BYTES = 6,
  /** The magic and two bytes of version. */
  RLO__NPY_VERSION_END = 8
};

/** The first bytes of every .npy file. */
extern const unsigned char rlo__npy_magic[RLO__NPY_MAGIC_BYTES];

/** The element type that NumPy calls by this letter and number of bytes, 'f'
 *  and 4; RLO_DTYPE_INVALID if we have none. */
rlo_dtype rlo__npy_dtype_of(char kind, int64_t bytes);

/** NumPy's letter for an element type; 'u' for one it does not know. */
char rlo__npy_kind_of(rlo_dtype dtype);

/**
 * Read a type as NumPy spells it, a byte order, a letter and a number of bytes:
 * "<f4". `text` need not be terminated.
 * @return RLO_OK; RLO_PARSE for what is no such type; RLO_UNSUPPORTED for one
 *         we do not have.
 */
RLO_NODISCARD rlo_status rlo__npy_type_parse(const char *text,
                                             size_t length,
                                             rlo_dtype *out_dtype,
                                             bool *out_is_byte_swapped);

#endif
