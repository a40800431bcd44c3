/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_KERNEL_CALL_H
#define RLO_ENGINE_KERNEL_CALL_H

#include "engine/registry/registry.h"
#include "engine/tensor/tensor_lifetime.h"

/** The state of one rlo_run_kernel call. */
typedef struct rlo__kernel_call {
  /** The part that the kernel sees. First, so that a pointer to one is a
   * pointer to the other. num_outputs is known once the shapes of the results
   * are; output_shapes are those of shared shapes. */
  rlo_kernel_call call;
  rlo__bound_kernel *bound;
  /** How many results the caller has room for. */
  int32_t capacity;
} rlo__kernel_call;

/** RLO_OK for tensors of the engine; the message names the input.
 *  RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status
rlo__kernel_check_inputs(const rlo_kernel_config *config,
                         const rlo_engine *engine,
                         rlo_tensor *const *inputs,
                         int32_t num_inputs);

/** Sets the number of results. RLO_OUT_OF_RANGE if the caller has no room for
 *  so many. */
RLO_NODISCARD rlo_status rlo__kernel_call_set_count(rlo__kernel_call *k,
                                                    int32_t count);

/** Runs a copy operation; with fusion, leaves its results pending. Some outputs
 *  may be set after a failure. */
RLO_NODISCARD rlo_status rlo__kernel_call_run_copy(rlo__kernel_call *k);

#endif
