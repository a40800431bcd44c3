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
RLO_NODISCARD rlo_status rlo__kernel_check_inputs(const rlo_kernel_config *config,
                                                  const rlo_engine *engine,
                                                  rlo_tensor *const *inputs, int32_t num_inputs);

/** Sets the number of results. RLO_OUT_OF_RANGE if the caller has no room for
 *  so many. */
RLO_NODISCARD rlo_status rlo__kernel_call_set_count(rlo__kernel_call *k, int32_t count);

/** Runs a copy operation; with fusion, leaves its results pending. Some outputs
 *  may be set after a failure. */
RLO_NODISCARD rlo_status rlo__kernel_call_run_copy(rlo__kernel_call *k);

/* Recording. */

/** A kernel that ran. All parts are borrowed for the call; tensors may be
 *  retained, attributes cloned. */
typedef struct rlo__record {
  /** The caller's tensors, on any backend. The outputs are distinct from the
   *  inputs, also where they share memory. The backend is not set. */
  const rlo_kernel_call *call;
  /** Names the outputs; NULL: they have no names. */
  const rlo_kernel_config *config;
  /** A gradient that overrides the registered one, and the tensors that it
   *  saved; NULL: the registered one. */
  const rlo_gradient_config *gradient;
  rlo_tensor *const *saved;
  int32_t num_saved;
} rlo__record;

/**
 * Observes the kernels that this thread runs on an engine. Nested kernels are
 * not reported. The struct is the caller's, the first part of a larger one, and
 * stays linked until it is popped.
 */
typedef struct rlo__recorder {
  const rlo_engine *engine;
  /** A failure makes rlo_run_kernel fail and release its outputs. Must not run
   *  a kernel. */
  rlo_status (*record)(struct rlo__recorder *recorder, const rlo__record *record);
  /** Maintained by push and pop. */
  struct rlo__recorder *below;
} rlo__recorder;

/** Pushes a recorder onto this thread's stack. A kernel notifies all recorders
 *  of its engine, innermost first. */
void rlo__recorder_push(rlo__recorder *recorder);

/** Removes a recorder, which need not be the innermost. */
void rlo__recorder_pop(rlo__recorder *recorder);

/** Until the matching leave, kernels on this thread are nested, so that they
 *  are not reported. Calls nest. */
void rlo__recorder_enter(void);
void rlo__recorder_leave(void);

/** Notifies this thread's recorders of a kernel, unless it is nested.
 *  @return RLO_OK; or the status of the first recorder that fails. */
RLO_NODISCARD rlo_status rlo__recorder_notify(const rlo__record *record);

#endif
