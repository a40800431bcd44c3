/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FUZZ_FUZZ_H
#define RLO_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/shape.h"

/** Each fuzz_*.c is one target: it reads any bytes, and stops the program where
 *  something is not as it must be. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Stop the program, loudly, unless `condition` holds. */
#define FUZZ_CHECK(condition)                                                                \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: not so: %s\nlast error: %s\n", __FILE__, __LINE__, #condition, \
              rlo_error_last()->message);                                                    \
      abort();                                                                               \
    }                                                                                        \
  } while (0)

/** Input that is taken from the front; beyond its end everything is zero. */
typedef struct fuzz_reader {
  const uint8_t *data;
  size_t size;
} fuzz_reader;

static inline void fuzz_take(fuzz_reader *reader, void *out, size_t bytes) {
  size_t have = bytes < reader->size ? bytes : reader->size;
  memset(out, 0, bytes);
  if (have > 0) {
    memcpy(out, reader->data, have);
    reader->data += have;
    reader->size -= have;
  }
}

static inline uint8_t fuzz_take_byte(fuzz_reader *reader) {
  uint8_t byte;
  fuzz_take(reader, &byte, 1);
  return byte;
}

/** The next eight bytes, as a number of this machine. */
static inline int64_t fuzz_take_number(fuzz_reader *reader) {
  int64_t number;
  fuzz_take(reader, &number, sizeof(number));
  return number;
}

/** Checks the invariants of a shape that the library returned. */
void fuzz_check_shape(const rlo_shape *shape);

#endif
