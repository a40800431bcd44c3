/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <string.h>

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, unsigned bits) {
  return (x >> bits) | (x << (32 - bits));
}

static uint32_t load_big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static void store_big_endian(uint32_t word, uint8_t *out_bytes) {
  for (unsigned i = 0; i < 4; ++i) {
    out_bytes[i] = (uint8_t)(word >> (24 - 8 * i));
  }
}

/** Updates the state with one block; names as in the standard. */
static void digest_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  for (size_t i = 0; i < 16; ++i) {
    w[i] = load_big_endian(block + 4 * i);
  }
  for (size_t i = 16; i < 64; ++i) {
    uint32_t early = w[i - 15];
    uint32_t late = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] +
           (rotate_right(early, 7) ^ rotate_right(early, 18) ^ (early >> 3)) +
           (rotate_right(late, 17) ^ rotate_right(late, 19) ^ (late >> 10));
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (size_t i = 0; i < 64; ++i) {
    uint32_t choice = (e & f) ^ (~e & g);
    uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t t1 =
        h + choice + round_constants[i] + w[i] +
        (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25));
    uint32_t t2 = majority + (rotate_right(a, 2) ^ rotate_right(a, 13) ^
                              rotate_right(a, 22));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

rlo__sha256 rlo__sha256_init(void) {
  /* The fractional parts of the square roots of the first 8 primes. */
  return (rlo__sha256){.state = {0x6a09e667,
                                 0xbb67ae85,
                                 0x3c6ef372,
                                 0xa54ff53a,
                                 0x510e527f,
                                 0x9b05688c,
                                 0x1f83d9ab,
                                 0x5be0cd19}};
}

void rlo__sha256_update(rlo__sha256 *hash, const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  size_t left = count;
  size_t filled = (size_t)(hash->num_bytes % RLO__SHA256_BLOCK_BYTES);
  hash->num_bytes += count;
  while (left > 0) {
    if (filled == 0 && left >= RLO__SHA256_BLOCK_BYTES) {
      digest_block(hash->state, next);
      next += RLO__SHA256_BLOCK_BYTES;
      left -= RLO__SHA256_BLOCK_BYTES;
      continue;
    }
    size_t room = RLO__SHA256_BLOCK_BYTES - filled;
    size_t taken = left < room ? left : room;
    memcpy(hash->block + filled, next, taken);
    next += taken;
    left -= taken;
    filled += taken;
    if (filled == RLO__SHA256_BLOCK_BYTES) {
      digest_block(hash->state, hash->block);
      filled = 0;
    }
  }
}

void rlo__sha256_finish(rlo__sha256 *hash,
                        uint8_t out_digest[RLO__SHA256_BYTES]) {
  static const uint8_t padding[RLO__SHA256_BLOCK_BYTES] = {0x80};
  uint64_t num_bits = hash->num_bytes * 8;
  /* Padding: a 1 bit, zeros, and the number of bits as 8 bytes. */
  size_t filled = (size_t)(hash->num_bytes % RLO__SHA256_BLOCK_BYTES);
  size_t padding_bytes = (filled < 56 ? 56 : 120) - filled;
  rlo__sha256_update(hash, padding, padding_bytes);
  uint8_t length[8];
  store_big_endian((uint32_t)(num_bits >> 32), length);
  store_big_endian((uint32_t)num_bits, length + 4);
  rlo__sha256_update(hash, length, sizeof length);
  for (size_t i = 0; i < 8; ++i) {
    store_big_endian(hash->state[i], out_digest + 4 * i);
  }
}

void rlo__sha256_print(const uint8_t digest[RLO__SHA256_BYTES],
                       char out_text[2 * RLO__SHA256_BYTES + 1]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < RLO__SHA256_BYTES; ++i) {
    out_text[2 * i] = digits[digest[i] >> 4];
    out_text[2 * i + 1] = digits[digest[i] & 15];
  }
  out_text[2 * (size_t)RLO__SHA256_BYTES] = '\0';
}
