/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SCOPE_H
#define RELAYOUT_SCOPE_H

#include "relayout/tensor.h"

RLO_BEGIN_DECLS

/**
 * The tensors that one thread makes on one engine between the beginning and the
 * end of the scope.
 *
 *     rlo_scope *scope = NULL;
 *     RLO_TRY(rlo_scope_begin(engine, &scope));
 *     status = compute(x, &y);       // releases none of its tensors
 *     if (status == RLO_OK) status = rlo_scope_keep(scope, y);
 *     ended = rlo_scope_end(scope);  // releases all of them but y
 *
 * Ownership. Every reference that a function of the library returns to this
 * thread while the scope is the innermost one of its engine belongs to the
 * scope: the caller need not release it, and borrows it until the scope ends.
 * A tensor lives on if it existed before, or if somebody holds a reference: the
 * caller (rlo_tensor_retain), a tape, a result that is still pending.
 *
 * A caller may release such a reference all the same, which frees the tensor
 * early: rlo_tensor_release takes the scope's reference first, and the scope
 * then leaves the tensor alone, so that references count as without a scope.
 * Nothing is released twice.
 *
 * Scopes nest: what is kept in one belongs to the one around it, and to the
 * caller if there is none.
 *
 * Functions that the library calls (kernels, gradients, functions to derive)
 * own what they make, as without a scope: a scope around the call holds the
 * results of the call alone. They may begin scopes of their own, and must end
 * them: a call fails whose function leaves a scope open, after that has ended,
 * or returns a tensor that its scope has released because nobody kept it.
 *
 * Threads: any number of scopes may be open in any number of threads, also for
 * one engine; but each belongs to the thread that began it, which ends it
 * before it ends itself: the tensors of a scope whose thread has ended are
 * never released. Another thread that needs a tensor for longer than its scope
 * retains it.
 */
typedef struct rlo_scope rlo_scope;

/**
 * Begins a scope for this thread and the engine, which it keeps alive.
 * @param out_scope  released by rlo_scope_end.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_scope_begin(rlo_engine *engine, rlo_scope **out_scope);

/**
 * Makes one reference to a tensor outlive the scope. The reference of the
 * scope, or of one begun within it, passes to the scope around it; to the
 * caller, who then releases it, if there is none. Where they hold none, because
 * the tensor was made elsewhere or is kept already, a new reference is taken.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a tensor of another engine,
 * a scope that is not open on this thread, or one around the call from which
 * this function is called; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_scope_keep(rlo_scope *scope, rlo_tensor *tensor);

/**
 * Ends a scope: releases the references that it holds, the last one first. NULL
 * is legal. Work of the device that still reads their memory is not waited for.
 * @return RLO_OK; RLO_INVALID_ARGUMENT, with nothing changed, for a scope that
 *         is not open on this thread (it has ended, or another thread began
 * it), while one of the same engine that was begun after it is open, and from a
 * function that is called within it.
 */
RLO_API RLO_NODISCARD rlo_status rlo_scope_end(rlo_scope *scope);

RLO_END_DECLS

#endif
