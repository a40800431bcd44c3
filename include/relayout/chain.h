/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_CHAIN_H
#define RELAYOUT_CHAIN_H

#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** The maximum number of parts of a chain: one for each operand of a
 * concatenation, one for each box of a mirror pad. */
#define RLO_CHAIN_MAX_PARTS 1024

/**
 * A chain of operations that only move data: pad(transpose(slice(x))).
 *
 * A chain starts as an operand; the operations of ops.h (rlo_chain_slice,
 * rlo_chain_pad, ...) extend it. Each validates its attributes and the current
 * shape, and leaves the chain unchanged if it fails. Nothing runs: an operation
 * maps the index of its result to an index of its operand, and rlo_chain_lower
 * composes these maps. However long the chain, each byte of the destination is
 * copied once, from the operand.
 *
 * Threads: a chain may be read by several threads, or changed by one.
 */
typedef struct rlo_chain rlo_chain;

/** The problems that a chain lowers to. They run in order, each after the
 * previous one, from its operand into the one destination. */
typedef struct rlo_problem_list rlo_problem_list;

/**
 * Creates a chain of no operation: its result is operand 0.
 * @param operand    borrowed, copied; any layout.
 * @param out_chain  owned by the caller; rlo_chain_release frees it.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_shape_validate returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_create(const rlo_shape *operand, rlo_chain **out_chain);

/** Copies a chain; both are then independent. @return RLO_OK or
 * RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_clone(const rlo_chain *chain, rlo_chain **out_chain);

/** Releases a chain; NULL is legal. */
RLO_API void rlo_chain_release(rlo_chain *chain);

/** The shape of the result: its type, element size and dimensions, row-major,
 * without padding. Borrowed until the chain changes. */
RLO_API const rlo_shape *rlo_chain_shape(const rlo_chain *chain);

/** The number of operands that the chain reads: 1, and one more for each
 * concatenation or gather (indices are an operand). */
RLO_API int32_t rlo_chain_num_operands(const rlo_chain *chain);

/** Operand `n`; borrowed; NULL if it does not exist. */
RLO_API const rlo_shape *rlo_chain_operand(const rlo_chain *chain, int32_t n);

/**
 * Lowers a chain into a destination. Equivalent loop over every index i of dst:
 *
 *   dst(i) = the chain's result at i
 *
 * and every slot of dst that holds no element takes dst's fill; with an unknown
 * (or no) fill those bytes are left alone.
 *
 * A chain of one part with one fill value is one problem. Each further part is
 * one more, and so is each fill value that is not the innermost: it runs before
 * the others and fills all that they cover. So a pad of 9 into a destination
 * whose tiles are filled with 0 is a fill with 0, and a move that writes 9. A
 * chain without points may lower to no problem.
 *
 * @param dst        borrowed; the type and dimensions of rlo_chain_shape, any
 *                   layout and element size; NULL for that shape itself.
 * @param out_list  owned by the caller; rlo_problem_list_release frees it.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if dst has another type or other
 *         dimensions, or is strided with two indices on one slot;
 *         RLO_UNSUPPORTED beyond RLO_MAX_AXES, RLO_MAX_TERMS or RLO_MAX_GUARDS;
 * RLO_OVERFLOW; RLO_OUT_OF_MEMORY; or what rlo_shape_validate returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_lower(const rlo_chain *chain, const rlo_shape *dst,
                                                 rlo_problem_list **out_list);

/** The number of problems. */
RLO_API int32_t rlo_problem_list_count(const rlo_problem_list *list);

/** Problem `n`, not canonical; borrowed; NULL if it does not exist. */
RLO_API const rlo_problem *rlo_problem_list_get(const rlo_problem_list *list, int32_t n);

/** The operand that problem `n` reads (a fill reads none of it); -1 if there is
 * no such problem. */
RLO_API int32_t rlo_problem_list_operand(const rlo_problem_list *list, int32_t n);

/** The operand that holds the indices which problem `n` loads; -1 if it loads
 *  none, or there is no such problem. */
RLO_API int32_t rlo_problem_list_indices(const rlo_problem_list *list, int32_t n);

/**
 * Runs the problems on the host, in order.
 * @param operands  the memory of each operand, as for rlo_problem_run_host;
 *                  borrowed.
 * @return what rlo_problem_run_host returns. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_list_run_host(const rlo_problem_list *list,
                                                           const void *const *operands, void *dst);

/** Releases a list of problems; NULL is legal. */
RLO_API void rlo_problem_list_release(rlo_problem_list *list);

RLO_END_DECLS

#endif
