/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_NPY_TYPE_H
#define RLO_IO_NPY_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "relayout/dtype.h"

/** Characters of a number or a name in a message. */
enum { RLO__NPY_MAX_SHOWN = 24 };

/** Returns how many characters of a text a message shows. */
int rlo__npy_shown(size_t length);

/** A type of NumPy's. */
typedef struct rlo__npy_type {
  /** Where NumPy's type is none of ours, that of unsigned integers, of which
   *  `count` are an element. */
  rlo_dtype dtype;
  int64_t count;
  bool is_unknown;
  bool is_byte_swapped;
} rlo__npy_type;

/** Returns the type of elements of `bytes` bytes that is none of ours; `kind` is
 *  NumPy's letter. */
rlo__npy_type rlo__npy_type_unknown(char kind, int64_t bytes);

/**
 * Reads a type as NumPy spells it: perhaps a byte order, and a letter and a
 * number of bytes, a letter, or a name.
 * @param text  without a NUL; need not be terminated.
 * @return RLO_OK; RLO_PARSE for what is no type; RLO_UNSUPPORTED.
 */
RLO_NODISCARD rlo_status rlo__npy_type_parse(const char *text, size_t length,
                                             rlo__npy_type *out_type);

#endif
