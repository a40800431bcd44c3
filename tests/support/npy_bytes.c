/* SPDX-License-Identifier: Apache-2.0 */
#include "support/npy_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "support/exact_copy.h"

size_t test_npy_make(unsigned char *out, unsigned major, const char *dictionary) {
  size_t length = strlen(dictionary);
  size_t length_bytes = major == 1 ? 2 : 4;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)major;
  out[7] = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    out[8 + i] = (unsigned char)(length >> (8 * i) & 0xff);
  }
  memcpy(out + 8 + length_bytes, dictionary, length);
  return 8 + length_bytes + length;
}

rlo_status test_npy_parse(const unsigned char *bytes, size_t size_bytes, int64_t file_bytes,
                          rlo_npy_header *out_header) {
  unsigned char *copy = test_exact_copy(bytes, size_bytes);
  rlo_status status = rlo_npy_parse(copy, size_bytes, file_bytes, out_header);
  free(copy);
  return status;
}
