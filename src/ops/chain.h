/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_CHAIN_H
#define RLO_OPS_CHAIN_H

#include "ir/index_rule.h"
#include "relayout/chain.h"

/** The way from one operand to the place of its elements in the result. */
typedef struct rlo__chain_part {
  int32_t operand;
  int32_t num_steps, capacity;
  /** From the operand to the result. */
  rlo__index_step *steps;
} rlo__chain_part;

struct rlo_chain {
  rlo_shape shape;
  int32_t num_operands;
  rlo_shape *operands;
  int32_t num_parts;
  rlo__chain_part *parts;
  /** The id of the next step; those of two chains are told apart by adding. */
  int64_t next_id;
};

struct rlo_moves {
  int32_t count, capacity;
  /** Of each problem: the operand it reads, and that of its indices or -1. */
  int32_t *operands;
  int32_t *index_operands;
  rlo_problem **problems;
};

/** A row-major shape with the type and the element size of another. */
RLO_NODISCARD rlo_status rlo__ops_shape_like(const rlo_shape *src,
                                             const int64_t *dims,
                                             int32_t rank,
                                             rlo_shape *out_shape);

/** RLO_OK if 0 <= dim < shape->rank, else RLO_OUT_OF_RANGE. */
RLO_NODISCARD rlo_status rlo__ops_check_dim(const char *operation,
                                            const rlo_shape *shape,
                                            int32_t dim);

/** A step that keeps every coordinate: rules, dims and ranks are set for a
 *  result of this shape; the operation changes what differs. */
void rlo__step_begin(const rlo_chain *chain,
                     const rlo_shape *result,
                     rlo__index_step *out_step);

/** Let every part of the chain go one step further, to this result. On failure
 *  the chain is unchanged. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__chain_append(rlo_chain *chain,
                                           const rlo__index_step *step,
                                           const rlo_shape *result);

/** As above, for the part of this number alone; the chain's shape stays. */
RLO_NODISCARD rlo_status rlo__chain_append_to_part(rlo_chain *chain,
                                                   int32_t part,
                                                   const rlo__index_step *step);

/** Take copies of another chain's parts and operands in, behind our own.
 *  RLO_UNSUPPORTED beyond RLO_CHAIN_MAX_PARTS; RLO_OUT_OF_MEMORY; the chain is
 *  then to be thrown away. */
RLO_NODISCARD rlo_status rlo__chain_take_parts(rlo_chain *chain,
                                               const rlo_chain *other);

/** As above, for parts that read the operands which `chain` has already: its
 *  own, cloned before it changed. */
RLO_NODISCARD rlo_status rlo__chain_take_copies(rlo_chain *chain,
                                                const rlo_chain *before);

/** Put a copy of a problem behind the others. `index_operand` means something
 *  only if the problem loads indices. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__moves_add(rlo_moves *moves,
                                        int32_t operand,
                                        int32_t index_operand,
                                        const rlo_problem *problem);

/** Give back the problems, 36 KiB each, of moves that were planned: the
 * operands of each stay, and the problems are NULL. */
void rlo__moves_forget_problems(rlo_moves *moves);

/** Exchange the contents of two chains: how an operation made of several
 *  others, tried on a copy, is made to last. */
void rlo__chain_swap(rlo_chain *a, rlo_chain *b);

#endif
