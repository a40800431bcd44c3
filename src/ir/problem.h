/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_PROBLEM_H
#define RLO_IR_PROBLEM_H

#include <string.h>

#include "base/hash.h"
#include "relayout/problem.h"

/** Copies the counted parts of a problem: a twentieth of its bytes, if it has
 *  few guards and terms. The others of the copy stay as they are. */
void rlo__problem_copy(const rlo_problem *from, rlo_problem *out_copy);

/** Makes an empty scalar problem in memory of any contents: zeros, but for
 *  guards and terms, of which it counts none. */
void rlo__problem_clear(rlo_problem *out_problem);

/** Like rlo_problem_canonicalize without a trace, in place: on failure *problem
 *  is undefined. */
RLO_NODISCARD rlo_status rlo__problem_canonicalize_in_place(rlo_problem *problem,
                                                            int32_t max_unit_bits);

/** Hashes what rlo_problem_equal compares, for hashes of more than a problem or
 * of more bits than rlo_problem_hash. */
void rlo__problem_hash_into(const rlo_problem *problem, rlo__hash *hash);

/** Number n of a third memory, of signed numbers of 32 or 64 bits. */
static inline int64_t rlo__index_at(const void *memory, int64_t n, int32_t bits) {
  int64_t wide;
  int32_t narrow;
  const uint8_t *at = (const uint8_t *)memory + n * (bits / 8);
  if (bits == 64) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return narrow;
}

/** Tells if cells may take the fill: there is a PAD guard. */
bool rlo__problem_uses_fill(const rlo_problem *problem);

#endif
