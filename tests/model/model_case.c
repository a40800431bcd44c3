/* SPDX-License-Identifier: Apache-2.0 */
#include "model_case.h"

#include <string.h>

static uint64_t mix(uint64_t n) {
  n += UINT64_C(0x9e3779b97f4a7c15);
  n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
  return n ^ (n >> 31);
}

static void fill_pattern(uint64_t salt, uint8_t *bytes, size_t num_bytes) {
  uint64_t word = 0;
  for (size_t k = 0; k < num_bytes; ++k) {
    if (k % 8 == 0) {
      word = mix(salt + k / 8);
    }
    bytes[k] = (uint8_t)(word >> (8 * (k % 8)));
  }
}

void model_fill_source(uint8_t *bytes, size_t num_bytes) {
  fill_pattern(UINT64_C(0x736f757263650000), bytes, num_bytes);
}

void model_fill_prefill(uint8_t *bytes, size_t num_bytes) {
  fill_pattern(UINT64_C(0x70726566696c6c00), bytes, num_bytes);
}

void model_fill_indices(uint8_t *bytes, size_t num_bytes, size_t index_bytes, int64_t limit) {
  for (size_t k = 0; (k + 1) * index_bytes <= num_bytes; ++k) {
    uint64_t number = mix(UINT64_C(0x696e646963657300) + k);
    int64_t wide = (int64_t)(number % ((uint64_t)limit + 3)) - 1;
    if (wide == limit + 1) {
      wide = index_bytes == 8 ? (INT64_C(1) << 32) + 1 : INT32_MIN;
    }
    int32_t narrow = (int32_t)wide;
    memcpy(bytes + k * index_bytes, index_bytes == 8 ? (const void *)&wide : (const void *)&narrow,
           index_bytes);
  }
}

uint64_t model_hash(uint64_t hash, const uint8_t *bytes, size_t num_bytes) {
  for (size_t k = 0; k < num_bytes; ++k) {
    hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
  }
  return hash;
}
