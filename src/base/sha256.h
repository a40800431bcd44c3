/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_SHA256_H
#define RLO_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { RLO__SHA256_BYTES = 32, RLO__SHA256_BLOCK_BYTES = 64 };

/**
 * SHA-256 (FIPS 180-4): a cryptographic digest, unlike rlo__hash.
 *
 *     rlo__sha256 h = rlo__sha256_init();
 *     rlo__sha256_update(&h, bytes, count);
 *     rlo__sha256_finish(&h, digest);
 */
typedef struct rlo__sha256 {
  uint32_t state[8];
  uint64_t num_bytes;
  /** The first num_bytes % 64 bytes of the current block. */
  uint8_t block[RLO__SHA256_BLOCK_BYTES];
} rlo__sha256;

/** Starts a digest. */
rlo__sha256 rlo__sha256_init(void);

/** Adds bytes. `bytes` may be NULL when `count` is 0. */
void rlo__sha256_update(rlo__sha256 *hash, const void *bytes, size_t count);

/** Computes the digest. `hash` may not be used afterwards. */
void rlo__sha256_finish(rlo__sha256 *hash,
                        uint8_t out_digest[RLO__SHA256_BYTES]);

/** Prints a digest as 64 lower-case hexadecimal digits and a NUL. */
void rlo__sha256_print(const uint8_t digest[RLO__SHA256_BYTES],
                       char out_text[2 * RLO__SHA256_BYTES + 1]);

#endif
