/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_FUSION_H
#define RLO_ENGINE_FUSION_H

#include "engine/tensor/tensor.h"

/**
 * Leave a result of a recipe pending.
 * @param inputs  of the recipe; retained.
 */
RLO_NODISCARD rlo_status rlo__pending_create(rlo__call_plan *plan,
                                             int32_t output,
                                             rlo_tensor *const *inputs,
                                             int32_t num_inputs,
                                             rlo__pending **out_pending);

/** NULL is legal. */
void rlo__pending_release(rlo__pending *pending);

/** Run what is pending, fused with what its inputs are pending on as far as the
 *  limits of a problem allow. `shape` is that of the result. */
RLO_NODISCARD rlo_status rlo__pending_run(rlo__pending *pending,
                                          rlo__shared_shape *shape,
                                          rlo__storage **out_storage);

/** Run one result of a recipe on tensors. */
RLO_NODISCARD rlo_status rlo__call_plan_run_tensors(rlo__call_plan *plan,
                                                    int32_t output,
                                                    rlo_tensor *const *inputs,
                                                    int32_t num_inputs,
                                                    rlo__storage **out_storage);

#endif
