/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_FUSION_H
#define RLO_ENGINE_FUSION_H

#include "engine/call/call_plan.h"

enum {
  /** The largest number of operations that are fused into one. */
  RLO__MAX_FUSED_OPS = 32
};

/**
 * Creates the computation of a pending tensor: one result of a plan. When it
 * runs, the operations that its inputs are pending on are fused with it as far
 * as the limits of a problem allow.
 * @param inputs  of the plan; retained.
 */
RLO_NODISCARD rlo_status rlo__fusion_create(rlo__call_plan *plan,
                                            int32_t output,
                                            rlo_tensor *const *inputs,
                                            int32_t num_inputs,
                                            rlo__pending *out_pending);

#endif
