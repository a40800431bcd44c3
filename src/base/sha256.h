/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_SHA256_H
#define RLO_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { RLO__SHA256_BYTES = 32, RLO__SHA256_BLOCK_BYTES = 64 };

/**
 * SHA-256 (FIPS 180-4): a digest that tells bytes apart that somebody or
 * something has changed, where rlo__hash guards against chance only.
 *
 *     rlo__sha256 h = rlo__sha256_init();
 *     rlo__sha256_update(&h, bytes, count);
 *     rlo__sha256_finish(&h, digest);
 */
typedef struct rlo__sha256 {
  uint32_t state[8];
  uint64_t num_bytes;
  /** The beginning of a block that is not full yet. */
  uint8_t block[RLO__SHA256_BLOCK_BYTES];
} rlo__sha256;

/** Begin. */
rlo__sha256 rlo__sha256_init(void);

/** Feed bytes; in how many pieces makes no difference. `bytes` may be NULL when
 *  `count` is 0. */
void rlo__sha256_update(rlo__sha256 *hash, const void *bytes, size_t count);

/** The digest of all that was fed. `hash` is used up. */
void rlo__sha256_finish(rlo__sha256 *hash,
                        uint8_t out_digest[RLO__SHA256_BYTES]);

/** A digest in 64 lower-case hexadecimal digits and a NUL. */
void rlo__sha256_print(const uint8_t digest[RLO__SHA256_BYTES],
                       char out_text[2 * RLO__SHA256_BYTES + 1]);

#endif
