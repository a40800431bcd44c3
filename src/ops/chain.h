/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_CHAIN_H
#define RLO_OPS_CHAIN_H

#include "ir/index_rule.h"
#include "relayout/chain.h"

/** The steps from one operand to its elements in the result. */
typedef struct rlo__chain_part {
  int32_t operand;
  int32_t num_steps, capacity;
  /** First the step at the operand, last the step at the result. */
  rlo__index_step *steps;
} rlo__chain_part;

struct rlo_chain {
  rlo_shape shape;
  int32_t num_operands;
  rlo_shape *operands;
  int32_t num_parts;
  rlo__chain_part *parts;
  /** The id of the next step; ids of a second chain are shifted by this one. */
  int64_t next_id;
};

/** A problem of a list, the operand that it reads, and that of its indices or
 *  -1. */
typedef struct rlo__listed_problem {
  rlo_problem *problem;
  int32_t operand;
  int32_t index_operand;
} rlo__listed_problem;

struct rlo_problem_list {
  rlo__listed_problem *entries;
  int32_t count;
  size_t capacity;
};

/** Makes a row-major shape with the type and the element size of `src`. */
RLO_NODISCARD rlo_status rlo__ops_shape_like(const rlo_shape *src, const int64_t *dims,
                                             int32_t rank, rlo_shape *out_shape);

/** RLO_OK if a destination has the dimensions of a result, else
 * RLO_INVALID_ARGUMENT with a sentence that begins with `prefix` and calls the
 * result by `name`. */
RLO_NODISCARD rlo_status rlo__ops_check_result(const char *prefix, const char *name,
                                               const rlo_shape *result, const rlo_shape *dst);

/** The name in messages of an array that is joined with others. */
typedef struct rlo__array_text {
  char text[80];
} rlo__array_text;

/** "array 2" or, with a name, "input 'inputs[2]'". Returns out_text->text. */
const char *rlo__ops_array_text(const char *name, int32_t number, rlo__array_text *out_text);

/** Like rlo_chain_concatenate and rlo_chain_stack; messages call the arrays by
 * a name, NULL for none. */
RLO_NODISCARD rlo_status rlo__chain_concatenate(rlo_chain *chain, const rlo_chain *const *others,
                                                int32_t count, int32_t dim, const char *name);
RLO_NODISCARD rlo_status rlo__chain_stack(rlo_chain *chain, const rlo_chain *const *others,
                                          int32_t count, int32_t dim, const char *name);

/** Initializes a step to a result of the chain's dimensions, of which it keeps
 * every coordinate; the operation then changes what differs. */
void rlo__step_begin(const rlo_chain *chain, rlo__index_step *out_step);

/** Gives the result of a step other dimensions. RLO_UNSUPPORTED beyond
 * RLO_MAX_RANK. */
RLO_NODISCARD rlo_status rlo__step_set_dims(rlo__index_step *step, const int64_t *dims,
                                            int32_t rank);

/** Appends a step to every part of the chain, whose shape becomes that of the
 * step's result: row-major, its type and its element size unchanged. On failure
 * the chain is unchanged. @return RLO_OK; what rlo_shape_make_with_layout
 * returns for the dimensions; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__chain_append(rlo_chain *chain, const rlo__index_step *step);

/**
 * Appends one step to the parts from `first` on, which make up an array of
 * `size` elements along the dimension rule.from: they write the box of the
 * result in which `rule`, bounded, by a divisor of 1 if it has none, gives that
 * dimension, and skip what is outside it. The shape of the chain is unchanged:
 * rlo__chain_set_size. RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__chain_append_box(rlo_chain *chain, int32_t first, int64_t size,
                                               rlo__index_rule rule);

/**
 * Appends copies of the parts of another chain, and a box to them.
 *
 * @param is_copy  `other` is an earlier state of the chain, which has its
 *                 operands; else they are appended, too.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_CHAIN_MAX_PARTS;
 *         RLO_OUT_OF_MEMORY; on failure the caller releases the chain.
 */
RLO_NODISCARD rlo_status rlo__chain_add_box(rlo_chain *chain, const rlo_chain *other, bool is_copy,
                                            int64_t size, rlo__index_rule rule);

/** Changes a size of the chain's shape. @return as rlo__chain_append. */
RLO_NODISCARD rlo_status rlo__chain_set_size(rlo_chain *chain, int32_t dim, int64_t size);

/** Appends a copy of a problem. `index_operand` is used only if the problem
 * loads indices. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__problem_list_add(rlo_problem_list *list, int32_t operand,
                                               int32_t index_operand, const rlo_problem *problem);

/** Ends an operation that consists of several others and ran on a clone: the
 * chain becomes the clone if it succeeded, and is unchanged if not. Releases
 * `trial`. @return `status`. */
RLO_NODISCARD rlo_status rlo__chain_end_trial(rlo_chain *chain, rlo_chain *trial,
                                              rlo_status status);

#endif
