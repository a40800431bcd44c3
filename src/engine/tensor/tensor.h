/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TENSOR_H
#define RLO_ENGINE_TENSOR_H

#include "engine/tensor/tensor_lifetime.h"

/** Returns a new reference to the tensor's bytes on an instance, NULL for
 *  wherever they are: computes them if they are pending, copies them if they
 *  are elsewhere. */
RLO_NODISCARD rlo_status rlo__tensor_need(rlo_tensor *tensor,
                                          rlo__backend_instance *instance,
                                          rlo__allocation **out_allocation);

/** Returns a new reference to the tensor's bytes, or else to the computation
 *  that it waits for. */
void rlo__tensor_peek(rlo_tensor *tensor,
                      rlo__allocation **out_allocation,
                      rlo__pending *out_pending);

/** RLO_OK for a tensor of this engine; the message names it by `role` and
 *  `index`: "input 2 is NULL". */
RLO_NODISCARD rlo_status rlo__tensor_check(const rlo_tensor *tensor,
                                           const rlo_engine *engine,
                                           const char *role,
                                           int32_t index);

#endif
