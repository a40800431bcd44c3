/* SPDX-License-Identifier: Apache-2.0 */
#include "support/arena.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/device_arena.h"
#include "support/expect.h"

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

void test_fill_unique(void *memory, int64_t bytes, int64_t element_bytes, uint64_t seed) {
  uint8_t *at = memory;
  for (int64_t i = 0; i * element_bytes < bytes; ++i) {
    /* mix is one-to-one and so is an odd factor in 32 bits; narrower values
     * cannot be unique, and are then at least without a period. */
    uint64_t value = element_bytes == 4 ? (uint64_t)(uint32_t)i * 0x9e3779b1u + seed
                                        : mix((uint64_t)i + seed * 0x9e3779b97f4a7c15u);
    uint64_t words[2] = {value, ~value};
    int64_t rest = bytes - i * element_bytes;
    size_t count = (size_t)(rest < element_bytes ? rest : element_bytes);
    memcpy(at + i * element_bytes, words, count <= 16 ? count : 16);
  }
}

test_arena test_arena_make(int64_t shift_bytes, int64_t tensor_bytes, int64_t element_bytes,
                           uint64_t seed) {
  test_arena a = {.begin = TEST_GUARD_BYTES + shift_bytes,
                  .tensor_bytes = tensor_bytes,
                  .element_bytes = element_bytes};
  a.bytes = a.begin + tensor_bytes + TEST_GUARD_BYTES;
  a.before = malloc((size_t)(3 * a.bytes));
  ck_assert_ptr_nonnull(a.before);
  a.expected = a.before + a.bytes;
  a.after = a.before + 2 * a.bytes;
  uint8_t *tensor = a.before + a.begin;
  test_fill_unique(a.before, a.begin, 8, seed + 1);
  test_fill_unique(tensor, tensor_bytes, element_bytes, seed);
  test_fill_unique(tensor + tensor_bytes, TEST_GUARD_BYTES, 8, seed + 2);
  return a;
}

void test_arena_upload(test_arena *a, rlo_context *context) {
  memcpy(a->expected, a->before, (size_t)a->bytes);
  memset(a->after, 0xcd, (size_t)a->bytes);
  a->buffer = test_context_buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                  (size_t)a->bytes, a->before);
}

bool test_arena_is_as_expected(const test_arena *a, char *details, size_t details_bytes) {
  if (memcmp(a->after, a->expected, (size_t)a->bytes) == 0) {
    return true;
  }
  int64_t first = 0;
  while (a->after[first] == a->expected[first]) {
    ++first;
  }
  int64_t count = 0;
  for (int64_t i = first; i < a->bytes; ++i) {
    count += a->after[i] != a->expected[i];
  }
  const char *where = first < a->begin                      ? "before"
                      : first >= a->begin + a->tensor_bytes ? "behind"
                                                            : "in";
  snprintf(details, details_bytes,
           "%lld bytes differ; the first, %s the tensor of %lld bytes, is byte "
           "%lld: 0x%02x and not 0x%02x",
           (long long)count, where, (long long)a->tensor_bytes, (long long)(first - a->begin),
           (unsigned)a->after[first], (unsigned)a->expected[first]);
  return false;
}

void test_arena_deinit(test_arena *a) {
  clReleaseMemObject(a->buffer);
  free(a->before);
}
