/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_ARENA_H
#define RLO_TESTS_SUPPORT_ARENA_H

#include "relayout/opencl.h"

enum {
  /** Bytes before and after each tensor that nobody may touch. A multiple of
   *  every device's alignment. */
  TEST_GUARD_BYTES = 4096
};

/** A tensor in a buffer of a device, with guard bands on both sides. */
typedef struct test_arena {
  int64_t begin, bytes, tensor_bytes, element_bytes;
  /** The bytes before, the expected bytes after, and the bytes after. */
  uint8_t *before, *expected, *after;
  cl_mem buffer;
} test_arena;

/** Makes the memory, without a buffer; the tensor begins so many bytes behind
 *  its guard band. Tensor and guards hold unique values, others for another
 *  seed. */
test_arena test_arena_make(int64_t shift_bytes, int64_t tensor_bytes, int64_t element_bytes,
                           uint64_t seed);

/** Makes the buffer with what is in `before`, which is `expected` from then
 *  on. */
void test_arena_upload(test_arena *arena, rlo_context *context);

/** True if `after` is as expected, guards and tensor; `details` says where it
 *  is not. */
bool test_arena_is_as_expected(const test_arena *arena, char *details, size_t details_bytes);

void test_arena_deinit(test_arena *arena);

/** Write values that are unique per element, or for elements of one or two
 *  bytes nearly so, into memory. */
void test_fill_unique(void *memory, int64_t bytes, int64_t element_bytes, uint64_t seed);

#endif
