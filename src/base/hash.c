/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

/* Odd 64-bit numbers with about half of their bits set: the fractional parts
 * of the golden ratio, and of the square roots of 2, 3 and 5, made odd. */
static const uint64_t GOLDEN = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t ROOT_2 = UINT64_C(0x6a09e667f3bcc909);
static const uint64_t ROOT_3 = UINT64_C(0xbb67ae8584caa73b);
static const uint64_t ROOT_5 = UINT64_C(0x3c6ef372fe94f82b);

/** A bijection in which every input bit changes about half of the output bits.
 */
static uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= ROOT_3;
  x ^= x >> 29;
  x *= GOLDEN;
  x ^= x >> 32;
  return x;
}

static uint64_t rotate_left(uint64_t x, unsigned bits) {
  return (x << bits) | (x >> (64 - bits));
}

rlo__hash rlo__hash_init(uint64_t seed) {
  return (rlo__hash){
      .lanes = {mix(seed + ROOT_2), mix(seed ^ ROOT_5)},
  };
}

void rlo__hash_u64(rlo__hash *hash, uint64_t value) {
  /* Two different bijections of the value (xor and plus), so that inputs that
   * collide in one lane differ in the other. */
  hash->lanes[0] = mix(hash->lanes[0] ^ value) + ROOT_5;
  hash->lanes[1] = mix(rotate_left(hash->lanes[1], 23) + value * ROOT_2) ^ GOLDEN;
  ++hash->count;
}

void rlo__hash_i64(rlo__hash *hash, int64_t value) {
  rlo__hash_u64(hash, (uint64_t)value);
}

void rlo__hash_bytes(rlo__hash *hash, const void *bytes, size_t count) {
  const unsigned char *p = bytes;
  rlo__hash_u64(hash, count);
  for (size_t at = 0; at < count; at += 8) {
    /* The host is little-endian: base/version.c. */
    uint64_t word = 0;
    memcpy(&word, p + at, count - at < 8 ? count - at : 8);
    rlo__hash_u64(hash, word);
  }
}

void rlo__hash_string(rlo__hash *hash, const char *text) {
  rlo__hash_bytes(hash, text, strlen(text));
}

rlo__hash128 rlo__hash_finish(const rlo__hash *hash) {
  uint64_t a = mix(hash->lanes[0] + hash->count * GOLDEN);
  uint64_t b = mix(hash->lanes[1] ^ rotate_left(a, 32));
  return (rlo__hash128){.high = mix(a + b), .low = b};
}

uint64_t rlo__hash_finish_u64(const rlo__hash *hash) {
  rlo__hash128 whole = rlo__hash_finish(hash);
  return whole.high ^ rotate_left(whole.low, 17);
}
