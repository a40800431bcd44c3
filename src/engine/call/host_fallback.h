/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_HOST_FALLBACK_H
#define RLO_ENGINE_HOST_FALLBACK_H

#include "engine/call/call_plan.h"

/**
 * Computes one result of a copy operation, as rlo__call_plan_run_tensors does.
 * If the plan's backend refuses the call and the engine's options allow it, the
 * host runs it: the result stays there, and the call counts as a fallback.
 *
 * @return as rlo__call_plan_run_tensors; of both, if both fail, the host's.
 */
RLO_NODISCARD rlo_status
rlo__call_plan_run_or_fall_back(rlo__call_plan *plan,
                                int32_t output,
                                rlo_tensor *const *inputs,
                                int32_t num_inputs,
                                rlo__allocation **out_allocation);

/** Tells if a call that an instance has refused with `status` may run on the
 * host. If so, *inout_instance, which is retained, becomes the host's. */
bool rlo__fall_back(rlo_engine *engine,
                    rlo_status status,
                    rlo__backend_instance **inout_instance);

#endif
