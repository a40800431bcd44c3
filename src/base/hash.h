/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_HASH_H
#define RLO_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A hash that is fed field by field, never from the raw bytes of a struct,
 * whose padding is not part of its value. The result depends on the values and
 * on their order, and is the same on every machine. It guards against chance,
 * not against an adversary.
 *
 *     rlo__hash h = rlo__hash_init(SEED);
 *     rlo__hash_i64(&h, rank);
 *     for (...) rlo__hash_i64(&h, dims[i]);
 *     rlo__hash128 key = rlo__hash_finish(&h);
 */
typedef struct rlo__hash {
  uint64_t lanes[2];
  /** Words fed so far: a zero more or less must show. */
  uint64_t count;
} rlo__hash;

/** A finished hash; also a key where 2^-64 is too often for a collision. */
typedef struct rlo__hash128 {
  uint64_t high;
  uint64_t low;
} rlo__hash128;

/** Begin. Hashes of different kinds of things take different seeds. */
rlo__hash rlo__hash_init(uint64_t seed);

void rlo__hash_u64(rlo__hash *hash, uint64_t value);
void rlo__hash_i64(rlo__hash *hash, int64_t value);

/** Feed `count` bytes and their number, so that "ab","c" is not "a","bc".
 *  `bytes` may be NULL when `count` is 0. */
void rlo__hash_bytes(rlo__hash *hash, const void *bytes, size_t count);

/** Feed a string: its bytes without the NUL. */
void rlo__hash_string(rlo__hash *hash, const char *text);

/** The hash of all that was fed; `hash` can be fed further. */
rlo__hash128 rlo__hash_finish(const rlo__hash *hash);

/** As rlo__hash_finish, folded to 64 bits. */
uint64_t rlo__hash_finish_u64(const rlo__hash *hash);

static inline bool rlo__hash128_is_equal(rlo__hash128 a, rlo__hash128 b) {
  return a.high == b.high && a.low == b.low;
}

#endif
