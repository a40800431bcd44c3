/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_CHAIN_H
#define RELAYOUT_CHAIN_H

#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** Most parts (one for each operand of a concatenation, one for each box of a
 *  mirror pad) that a chain may consist of. */
#define RLO_CHAIN_MAX_PARTS 1024

/**
 * A chain of operations that only move data: pad(transpose(slice(x))).
 *
 * A chain begins as an operand and grows by the operations of ops.h
 * (rlo_chain_slice, rlo_chain_pad, ...), each of which validates its attributes
 * and the shape it finds, and leaves the chain as it was if it fails. Nothing
 * runs: an operation only says how an index of its result becomes one of its
 * operand, and rlo_chain_lower composes these. However long the chain, each
 * byte of the destination comes straight from the operand.
 *
 * Threads: a chain may be read by several threads, or changed by one.
 */
typedef struct rlo_chain rlo_chain;

/** The problems that a chain lowers to: run them in order, each after the one
 *  before, from its operand into the one destination. */
typedef struct rlo_moves rlo_moves;

/**
 * Begin a chain: the operand itself, as operand 0.
 * @param operand    borrowed, copied; any layout.
 * @param out_chain  the caller's, to be given to rlo_chain_release.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_shape_validate says.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_create(const rlo_shape *operand,
                                                  rlo_chain **out_chain);

/** A copy that goes on by itself. @return RLO_OK or RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_clone(const rlo_chain *chain,
                                                 rlo_chain **out_chain);

/** Give a chain back; NULL is legal. */
RLO_API void rlo_chain_release(rlo_chain *chain);

/** The result so far: its type, element size and dimensions, row-major, without
 *  padding. Borrowed until the chain changes. */
RLO_API const rlo_shape *rlo_chain_shape(const rlo_chain *chain);

/** How many operands the chain reads: 1 until something is concatenated or
 *  gathered (the indices are an operand too). */
RLO_API int32_t rlo_chain_num_operands(const rlo_chain *chain);

/** Operand `n` as it was given; borrowed; NULL if there is none. */
RLO_API const rlo_shape *rlo_chain_operand(const rlo_chain *chain, int32_t n);

/**
 * Lower a chain into a destination. Equivalent loop over every index i of dst:
 *
 *   dst(i) = the chain's result at i
 *
 * and every slot of dst that holds no element takes dst's fill; with an unknown
 * (or no) fill those bytes are left alone.
 *
 * A chain of one part and one value to fill with is one problem. More come
 * about so: one for each further part; and one, before the others, for each
 * value that is not the innermost, which first fills what it and everything
 * inside it covers: a pad of 9 into a destination whose tiles are filled with 0
 * is a fill with 0 and then the move, which writes 9. A chain without points
 * may lower to no problem.
 *
 * @param dst        borrowed; the type, element size and dimensions of
 *                   rlo_chain_shape, any layout; NULL for that shape itself.
 * @param out_moves  the caller's, to be given to rlo_moves_release.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if dst has another type or other
 *         dimensions, or is strided with two indices on one slot;
 *         RLO_UNSUPPORTED for another element size, or beyond RLO_MAX_AXES,
 *         RLO_MAX_TERMS or RLO_MAX_GUARDS; RLO_OVERFLOW; RLO_OUT_OF_MEMORY; or
 *         what rlo_shape_validate says.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_lower(const rlo_chain *chain,
                                                 const rlo_shape *dst,
                                                 rlo_moves **out_moves);

/** How many problems there are. */
RLO_API int32_t rlo_moves_count(const rlo_moves *moves);

/** Problem `n` as written, not canonical; borrowed; NULL if there is none. */
RLO_API const rlo_problem *rlo_moves_problem(const rlo_moves *moves, int32_t n);

/** The operand that problem `n` reads (a fill reads nothing of it); -1 if there
 *  is no such problem. */
RLO_API int32_t rlo_moves_operand(const rlo_moves *moves, int32_t n);

/** The operand that holds the indices which problem `n` loads; -1 if it loads
 *  none, or there is no such problem. */
RLO_API int32_t rlo_moves_indices(const rlo_moves *moves, int32_t n);

/**
 * Run the moves on the host, in order.
 * @param operands  for each operand its memory, as rlo_problem_run_host wants
 *                  it; borrowed.
 * @return what rlo_problem_run_host says. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_moves_run_host(const rlo_moves *moves,
                                                    const void *const *operands,
                                                    void *dst);

/** Give moves back; NULL is legal. */
RLO_API void rlo_moves_release(rlo_moves *moves);

RLO_END_DECLS

#endif
