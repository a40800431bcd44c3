/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_NPY_TYPE_H
#define RLO_IO_NPY_TYPE_H

#include "relayout/npy.h"

/** Sets the type of elements of `bytes` bytes that is none of ours: integers, of
 *  which *out_count are an element. `kind` is NumPy's letter. */
void rlo__npy_type_set_unknown(char kind, int64_t bytes, rlo_npy_header *header,
                               int64_t *out_count);

/**
 * Reads a type as NumPy spells it: perhaps a byte order, and a letter and a
 * number of bytes, a letter, or a name.
 * @param header     gets what it has of the type: shape.dtype, is_byte_swapped,
 *                   is_type_unknown.
 * @param out_count  of shape.dtype in an element, set if is_type_unknown; NULL:
 *                   only types of ours are supported.
 * @return RLO_OK; RLO_PARSE for what is no type; RLO_UNSUPPORTED.
 */
RLO_NODISCARD rlo_status rlo__npy_type_parse(const char *text, rlo_npy_header *header,
                                             int64_t *out_count);

#endif
