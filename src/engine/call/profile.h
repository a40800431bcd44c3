/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_PROFILE_H
#define RLO_ENGINE_PROFILE_H

#include "engine/tensor/tensor.h"
#include "relayout/profile.h"
#include "runtime/command_log.h"

/** The open profile of an engine. */
typedef struct rlo__profiler {
  /** Whether there is one: read without the mutex. */
  atomic_bool is_open;
  rlo__mutex mutex;
  /** Retained; NULL: none. */
  rlo_profile *profile;
} rlo__profiler;

RLO_NODISCARD rlo_status rlo__profiler_init(rlo__profiler *profiler);
/** No profile is open: profiles keep their engine alive. */
void rlo__profiler_deinit(rlo__profiler *profiler);

/** A run that may become an entry; on the stack of its thread. */
typedef struct rlo__profile_run {
  /** Retained; NULL: no profile is open, and the rest is not set. */
  rlo_profile *profile;
  struct rlo__profile_run *outer;
  int32_t depth;
  double begin_seconds;
  rlo__command_log log;
} rlo__profile_run;

/** Begins a run. Runs of a thread end in the reverse order. */
void rlo__profile_run_begin(rlo__profiler *profiler, rlo__profile_run *run);

/** What ran. All borrowed for the call. */
typedef struct rlo__profile_what {
  const char *name;
  const char *backend_name;
  rlo__shared_shape *const *inputs;
  int32_t num_inputs;
  rlo__shared_shape *const *outputs;
  int32_t num_outputs;
} rlo__profile_what;

/** Ends a run and makes it an entry, unless `what` is NULL or the profile has
 *  ended meanwhile. What there is no memory for is noted in the profile. */
void rlo__profile_run_end(rlo__profile_run *run, const rlo__profile_what *what);

/** The same for tensors: none if all outputs are pending. */
void rlo__profile_run_end_tensors(rlo__profile_run *run,
                                  const char *name,
                                  const char *backend_name,
                                  rlo_tensor *const *inputs,
                                  int32_t num_inputs,
                                  rlo_tensor *const *outputs,
                                  int32_t num_outputs);

#endif
