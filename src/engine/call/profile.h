/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_PROFILE_H
#define RLO_ENGINE_PROFILE_H

#include "engine/tensor/tensor_lifetime.h"
#include "relayout/profile.h"
#include "runtime/command_log.h"

/** The open profile of an engine: zeros, and an initialized mutex. */
typedef struct rlo__profiler {
  /** The number of the profile, 0: none is open. Read without the mutex. */
  atomic_int_fast64_t open;
  /** Held by calls of `on_run`. */
  rlo__mutex mutex;
  int64_t num_begun;
  double begin_seconds;
  rlo_profile_fn on_run;
  void *payload;
} rlo__profiler;

/** A run that may be reported; on the stack of its thread. */
typedef struct rlo__profile_run {
  /** The profile; 0: none is open, and the rest is not set. */
  int64_t number;
  rlo__profiler *profiler;
  struct rlo__profile_run *outer;
  int32_t depth;
  double begin_seconds;
  rlo__command_log log;
} rlo__profile_run;

/** Begins a run. Runs of a thread end in the reverse order. */
void rlo__profile_run_begin(rlo__profiler *profiler, rlo__profile_run *run);

/**
 * Ends a run, and reports it unless `name` is NULL or the profile has ended
 * meanwhile.
 * @param shapes  of the inputs, then of the outputs: parts of shared shapes;
 *                NULL: there was no memory for them.
 */
void rlo__profile_run_end(rlo__profile_run *run, const char *name, const char *backend_name,
                          const rlo_shape *const *shapes, int32_t num_inputs, int32_t num_outputs);

/** The same of a run on tensors that ended with `status`; of a failure, and of
 *  results that all are pending, nothing is reported. */
void rlo__profile_run_end_tensors(rlo__profile_run *run, rlo_status status, const char *name,
                                  const char *backend_name, rlo_tensor *const *inputs,
                                  int32_t num_inputs, rlo_tensor *const *outputs,
                                  int32_t num_outputs);

#endif
