/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_INDEX_RULE_H
#define RLO_IR_INDEX_RULE_H

#include <stdbool.h>

#include "relayout/problem.h"
#include "relayout/shape.h"

/** One step of a chain: the index of an operand as a function of the index of
 * the result. Steps map linear forms, so that several of them compose into one
 * problem. */

/** How an operand coordinate follows from v = base + coef * result[from]. */
typedef enum rlo__index_part {
  /** floor(v / divisor). */
  RLO__INDEX_QUOTIENT,
  /** v mod divisor. */
  RLO__INDEX_REMAINDER,
  /** v / divisor; the element is out of bounds unless the division is exact. */
  RLO__INDEX_EXACT,
  /** v + 0 .. count - 1, summed: a new axis of the problem. */
  RLO__INDEX_SUMMED
} rlo__index_part;

/** The rule of one operand coordinate. */
typedef struct rlo__index_rule {
  /** The result coordinate, or -1: then v = base. */
  int32_t from;
  rlo__index_part part;
  int64_t base, coef;
  /** At least 1. */
  int64_t divisor;
  /** If set, only coordinates in [first, first + count) are in bounds. SUMMED
   * has a count too. */
  bool is_bounded;
  int64_t first, count;
} rlo__index_rule;

/** The value of a result element whose operand element is out of bounds. */
typedef enum rlo__out_of_bounds {
  /** No element is out of bounds. */
  RLO__OOB_NONE,
  /** The fill. */
  RLO__OOB_FILL,
  /** Another part of the chain writes it. */
  RLO__OOB_SKIP
} rlo__out_of_bounds;

typedef struct rlo__index_step {
  /** The same for the copies of one step that several parts of a chain share.
   */
  int64_t id;
  rlo__out_of_bounds out_of_bounds;
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
  /** A reshape: the same elements in the same row-major order, without rules.
   */
  bool is_reshape;
  /** A gather: the rules may use one more result coordinate, result_rank: the
   * index that this operand of the chain holds at the first `batch_dims`
   * coordinates of the result and those from `gather_dim` on; -1 if it is not
   * an index of the operand's dimension `gather_dim`. */
  bool is_gather;
  int32_t gather_operand, gather_dim, batch_dims;
  int32_t rank, result_rank;
  int64_t dims[RLO_MAX_RANK];
  int64_t result_dims[RLO_MAX_RANK];
  rlo__index_rule rules[RLO_MAX_RANK];
} rlo__index_step;

/** A list of guards; the caller sets their kinds. */
typedef struct rlo__guard_list {
  int32_t count;
  /** Some guard never holds; it is not in the list. */
  bool never_holds;
  rlo_guard guards[RLO_MAX_GUARDS];
} rlo__guard_list;

/** The rule j = result[from]. */
rlo__index_rule rlo__index_rule_keep(int32_t from);

/** Appends the guard 0 <= form < limit, unless it always holds over the box of
 * the problem, which has points. Returns RLO_OK; RLO_OVERFLOW; RLO_UNSUPPORTED
 * beyond RLO_MAX_GUARDS. */
RLO_NODISCARD rlo_status rlo__guard_list_add(rlo__guard_list *list, const rlo_problem *problem,
                                             const rlo_form *form, int64_t limit);

/**
 * Maps the index of the result of one step to the index of its operand.
 *
 * @param problem  its box has points; quotients that are not linear become
 *                 terms of it.
 * @param index    RLO_MAX_RANK + 1 forms: the index of the result, in its first
 *                 result_rank, and the index that a gather loads; on return,
 * the index of the operand.
 * @param guards   appends the guards under which the element is in bounds.
 * @return RLO_OK; RLO_OVERFLOW; RLO_UNSUPPORTED beyond RLO_MAX_TERMS or
 *         RLO_MAX_GUARDS; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__index_step_back(const rlo__index_step *step, rlo_problem *problem,
                                              rlo_form *index, rlo__guard_list *guards);

#endif
