/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_NPY_BYTES_H
#define RLO_TESTS_SUPPORT_NPY_BYTES_H

#include "relayout/npy.h"

/** Write what an .npy file of this version begins with, without padding: magic,
 *  version, length, dictionary. Returns how many bytes these are; `out` has
 *  room for 12 more than the dictionary has. */
size_t test_npy_make(unsigned char *out, unsigned major, const char *dictionary);

/** rlo_npy_parse on a copy of the exact size. */
rlo_status test_npy_parse(const unsigned char *bytes, size_t size_bytes, int64_t file_bytes,
                          rlo_npy_header *out_header);

#endif
