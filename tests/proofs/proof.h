/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_PROOFS_PROOF_H
#define RLO_TESTS_PROOFS_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The harnesses of this folder share these macros. CBMC takes a value of any_*
 * for all values of its type, a path where PROOF_ASSUME fails for none, and
 * reports a value for which PROOF fails.
 */
#define PROOF_ASSUME(condition)    __CPROVER_assume(condition)
#define PROOF(condition, sentence) __CPROVER_assert((condition), sentence)

/* CBMC gives these any value by their prefix, without a body. */
#define PROOF_ANY(name, type)           \
  type nondet_##name(void);             \
  static inline type any_##name(void) { \
    return nondet_##name();             \
  }

PROOF_ANY(bool, bool)
PROOF_ANY(i8, int8_t)
PROOF_ANY(u8, uint8_t)
PROOF_ANY(i16, int16_t)
PROOF_ANY(u16, uint16_t)
PROOF_ANY(u32, uint32_t)
PROOF_ANY(i64, int64_t)
PROOF_ANY(size, size_t)

/* An integer from `least` to `most`, which fit 8 bits with a sign. */
static inline int64_t any_of(int8_t least, int8_t most) {
  int8_t value = any_i8();
  PROOF_ASSUME(value >= least && value <= most);
  return value;
}

/*
 * gcc's builtins by their definition: the exact result, cut, and whether it was
 * cut. What the last one gave is kept, so that a harness need not multiply once
 * more, which is hard for the solver.
 */
static struct {
  bool is_cut;
  int64_t result;
  size_t result_size;
} proof_last;

static inline bool proof_keep(__int128 exact, int64_t *out) {
  *out = proof_last.result = (int64_t)exact;
  proof_last.is_cut = exact != (__int128)*out;
  return proof_last.is_cut;
}

static inline bool proof_add(int64_t a, int64_t b, int64_t *out) {
  return proof_keep((__int128)a + b, out);
}

static inline bool proof_sub(int64_t a, int64_t b, int64_t *out) {
  return proof_keep((__int128)a - b, out);
}

static inline bool proof_mul(int64_t a, int64_t b, int64_t *out) {
  return proof_keep((__int128)a * b, out);
}

static inline bool proof_mul_size(size_t a, size_t b, size_t *out) {
  unsigned __int128 exact = (unsigned __int128)a * b;
  *out = proof_last.result_size = (size_t)exact;
  proof_last.is_cut = exact != (unsigned __int128)*out;
  return proof_last.is_cut;
}

#define __builtin_add_overflow(a, b, out) proof_add((a), (b), (out))
#define __builtin_sub_overflow(a, b, out) proof_sub((a), (b), (out))
#define __builtin_mul_overflow(a, b, out) \
  _Generic((out), int64_t * : proof_mul, size_t * : proof_mul_size)((a), (b), (out))

#endif
