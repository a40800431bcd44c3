/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_HASH_H
#define RLO_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A hash that is updated field by field, never with the raw bytes of a struct,
 * whose padding is not part of its value. The result depends on the values and
 * their order, and is the same on every machine. It is not cryptographic.
 *
 *     rlo__hash h = rlo__hash_init(SEED);
 *     rlo__hash_i64(&h, rank);
 *     for (...) rlo__hash_i64(&h, dims[i]);
 *     rlo__hash128 key = rlo__hash_finish(&h);
 */
typedef struct rlo__hash {
  uint64_t lanes[2];
  /** Number of words so far, so that leading zeros change the result. */
  uint64_t count;
} rlo__hash;

/** A finished hash. Long enough to serve as a key without comparing values. */
typedef struct rlo__hash128 {
  uint64_t high;
  uint64_t low;
} rlo__hash128;

/** Starts a hash. Different kinds of objects use different seeds. */
rlo__hash rlo__hash_init(uint64_t seed);

void rlo__hash_u64(rlo__hash *hash, uint64_t value);
void rlo__hash_i64(rlo__hash *hash, int64_t value);

/** Adds `count` bytes and their number, so that "ab","c" and "a","bc" differ.
 *  `bytes` may be NULL when `count` is 0. */
void rlo__hash_bytes(rlo__hash *hash, const void *bytes, size_t count);

/** Adds the bytes of a string without its NUL. */
void rlo__hash_string(rlo__hash *hash, const char *text);

/** Returns the hash so far. `hash` is unchanged and can be updated further. */
rlo__hash128 rlo__hash_finish(const rlo__hash *hash);

/** Like rlo__hash_finish, folded to 64 bits. */
uint64_t rlo__hash_finish_u64(const rlo__hash *hash);

static inline bool rlo__hash128_is_equal(rlo__hash128 a, rlo__hash128 b) {
  return a.high == b.high && a.low == b.low;
}

#endif
