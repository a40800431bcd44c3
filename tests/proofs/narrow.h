/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_PROOFS_NARROW_H
#define RLO_TESTS_PROOFS_NARROW_H

/**
 * Included first: what is included from src/ afterwards has numbers of
 * PROOF_BITS, 8 or 16, in place of 64, whose division and multiplication the
 * solver can follow. None of its files depends on the width, and all values of
 * the narrow type are tried, its ends too. What does not fit is a conversion
 * that loses a bit, which CBMC reports.
 */
#include "proof.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROOF_PASTE(a, b, c) a##b##c
#define PROOF_NAME(a, b, c)  PROOF_PASTE(a, b, c)
#define PROOF_INT            PROOF_NAME(int, PROOF_BITS, _t)
#define PROOF_MAX            PROOF_NAME(INT, PROOF_BITS, _MAX)
#define PROOF_MIN            PROOF_NAME(INT, PROOF_BITS, _MIN)
#define any_number           PROOF_NAME(any_i, PROOF_BITS, )

/* The builtins; what they leave behind when the result is cut is any value. */
static inline bool proof_narrow(int exact, PROOF_INT *out) {
  const bool fits = exact >= PROOF_MIN && exact <= PROOF_MAX;
  *out = fits ? (PROOF_INT)exact : any_number();
  return !fits;
}

static inline bool proof_narrow_size(unsigned exact, uint16_t *out) {
  *out = exact <= UINT16_MAX ? (uint16_t)exact : any_u16();
  return exact > UINT16_MAX;
}

#undef __builtin_add_overflow
#undef __builtin_sub_overflow
#undef __builtin_mul_overflow
#define __builtin_add_overflow(a, b, out) proof_narrow((a) + (b), (out))
#define __builtin_sub_overflow(a, b, out) proof_narrow((a) - (b), (out))
#define __builtin_mul_overflow(a, b, out) \
  _Generic((out), PROOF_INT * : proof_narrow, default : proof_narrow_size)((a) * (b), (void *)(out))

#define int64_t PROOF_INT
#undef INT64_MAX
#undef INT64_MIN
#define INT64_MAX PROOF_MAX
#define INT64_MIN PROOF_MIN

#include "relayout/status.h"

/* Nothing is proven of what a failure says. */
rlo_status rlo_error_set(rlo_status status, const char *format, ...) {
  (void)format;
  return status;
}

#endif
