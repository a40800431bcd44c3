/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_SCOPE_H
#define RLO_ENGINE_SCOPE_H

#include "engine/tensor/scope_stack.h"

/*
 * A public function that returns tensors and may call functions of a user's
 *
 *     rlo__scope_enter();
 *     ...                          make the tensors
 *     RLO_TRY_GOTO(rlo__scope_hand_out(engine, tensors, count, outputs));
 *   fail:
 *     ...                          release what was not handed out
 *     rlo__scope_leave();
 */

void rlo__scope_enter(void);

/** Moves tensors to the caller's outputs, which may be the same list, and gives
 * a reference to each to the scope around the call, if there is one. NULLs are
 * passed over.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if a function that was called has left
 * a scope open; RLO_OUT_OF_MEMORY. On failure all are still the call's.
 */
RLO_NODISCARD rlo_status rlo__scope_hand_out(rlo_engine *engine,
                                             rlo_tensor **tensors,
                                             int32_t count,
                                             rlo_tensor **outputs);

/** Ends the scopes that were begun within the call and are open. */
void rlo__scope_leave(void);

#endif
