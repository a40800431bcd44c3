/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_INDEX_RULE_H
#define RLO_IR_INDEX_RULE_H

#include <stdbool.h>

#include "relayout/problem.h"
#include "relayout/shape.h"

/**
 * One step of an index map: how an index of an operation's result becomes an
 * index of its operand. Steps work on linear forms, so that several of them
 * compose into one problem.
 */

/** What an operand coordinate takes of v = base + coef * result[from]. */
typedef enum rlo__index_part {
  /** floor(v / divisor). */
  RLO__INDEX_QUOTIENT,
  /** v mod divisor. */
  RLO__INDEX_REMAINDER,
  /** v / divisor, and the element is outside unless the division is exact. */
  RLO__INDEX_EXACT,
  /** v + 0 .. count - 1, all of which are summed: a new axis of the problem. */
  RLO__INDEX_SUMMED
} rlo__index_part;

/** The rule of one operand coordinate. */
typedef struct rlo__index_rule {
  /** Result coordinate; -1 for none: v = base. */
  int32_t from;
  rlo__index_part part;
  int64_t base, coef;
  /** At least 1. */
  int64_t divisor;
  /** Inside are only coordinates in [first, first + count). SUMMED has a count
   *  too. */
  bool is_bounded;
  int64_t first, count;
} rlo__index_rule;

/** What stands where an element of the result is outside. */
typedef enum rlo__index_outside {
  /** Nothing is outside. */
  RLO__OUTSIDE_NONE,
  /** The fill. */
  RLO__OUTSIDE_FILL,
  /** What another part of the chain writes. */
  RLO__OUTSIDE_LEAVE
} rlo__index_outside;

typedef struct rlo__index_step {
  /** Equal for the copies of one step that several parts of a chain share. */
  int64_t id;
  rlo__index_outside outside;
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
  /** The same elements in the same row-major order; no rules then. */
  bool is_reshape;
  /** The rules may use one more result coordinate, number result_rank: what
   *  this operand of the chain holds at the first `batch_dims` coordinates of
   *  the result and then those from `gather_dim` on; -1 where that is not an
   *  index of the operand's dimension `gather_dim`. */
  bool is_gather;
  int32_t gather_operand, gather_dim, batch_dims;
  int32_t rank, result_rank;
  int64_t dims[RLO_MAX_RANK];
  int64_t result_dims[RLO_MAX_RANK];
  rlo__index_rule rules[RLO_MAX_RANK];
} rlo__index_step;

/** Guards that have been found; their kinds are the caller's to set. */
typedef struct rlo__guard_list {
  int32_t count;
  /** Some guard never holds; it is not in the list. */
  bool never_holds;
  rlo_guard guards[RLO_MAX_GUARDS];
} rlo__guard_list;

/** The rule j = result[from]. */
rlo__index_rule rlo__index_rule_keep(int32_t from);

/**
 * Put a form into a list of guards as 0 <= form < limit, unless it always holds
 * over the problem's box, which has points.
 * @return RLO_OK; RLO_OVERFLOW; RLO_UNSUPPORTED beyond RLO_MAX_GUARDS.
 */
RLO_NODISCARD rlo_status rlo__guard_list_add(rlo__guard_list *list,
                                             const rlo_problem *problem,
                                             const rlo_form *form,
                                             int64_t limit);

/**
 * Walk one step backwards.
 *
 * @param problem  its box has points; quotients that are not linear become
 *                 terms of it.
 * @param index    RLO_MAX_RANK + 1 forms: the index of the result, in its first
 *                 result_rank, and what a gather has loaded; then that of the
 *                 operand.
 * @param guards   the guards under which the element is inside are added.
 * @return RLO_OK; RLO_OVERFLOW; RLO_UNSUPPORTED beyond RLO_MAX_TERMS or
 *         RLO_MAX_GUARDS; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__index_step_back(const rlo__index_step *step,
                                              rlo_problem *problem,
                                              rlo_form *index,
                                              rlo__guard_list *guards);

#endif
