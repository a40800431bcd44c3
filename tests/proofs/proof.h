/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_PROOFS_PROOF_H
#define RLO_TESTS_PROOFS_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What the harnesses of this folder share. CBMC takes a value of any_* for all
 * values of its type, a path where PROOF_ASSUME fails for none, and reports a
 * value for which PROOF fails.
 */
#define PROOF_ASSUME(condition)    __CPROVER_assume(condition)
#define PROOF(condition, sentence) __CPROVER_assert((condition), sentence)

bool any_bool(void);
int8_t any_i8(void);
uint8_t any_u8(void);
int16_t any_i16(void);
uint16_t any_u16(void);
uint32_t any_u32(void);
int64_t any_i64(void);
size_t any_size(void);

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
  _Generic((out), int64_t *               \
           : proof_mul, size_t *          \
           : proof_mul_size)((a), (b), (out))

#endif
