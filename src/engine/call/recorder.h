/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_RECORDER_H
#define RLO_ENGINE_RECORDER_H

#include "relayout/gradient.h"

/** A kernel that has run. All parts are borrowed for the call; tensors may be
 *  retained, attributes cloned. */
typedef struct rlo__record {
  rlo_engine *engine;
  const char *kernel_name;
  /** As the caller gave them, whatever backend they were on. */
  rlo_tensor *const *inputs;
  int32_t num_inputs;
  /** Checked; may be NULL. */
  const rlo_attributes *attributes;
  /** Each a tensor of its own, also where it shares memory with an input. */
  rlo_tensor *const *outputs;
  int32_t num_outputs;
  /** Its own gradient, whatever is registered, and what that saved; NULL: the
   *  registered one. */
  const rlo_gradient_config *gradient;
  rlo_tensor *const *saved;
  int32_t num_saved;
} rlo__record;

/**
 * Somebody who wants to know of every kernel that this thread runs on an
 * engine. Kernels that a kernel runs are not told of: it counts as one. The
 * struct is the caller's and stays linked until it is popped.
 */
typedef struct rlo__recorder {
  const rlo_engine *engine;
  /** A failure makes rlo_run_kernel fail, and its outputs are released. May run
   *  no kernel. */
  rlo_status (*record)(void *payload, const rlo__record *record);
  void *payload;
  /** Kept by push and pop. */
  struct rlo__recorder *below;
} rlo__recorder;

/** Begin to be told, as the newest of this thread's recorders. Every one of
 *  them for the engine is told, newest first. */
void rlo__recorder_push(rlo__recorder *recorder);

/** Stop being told; the newest recorder need not be the one that goes. */
void rlo__recorder_pop(rlo__recorder *recorder);

/** Until the matching leave, kernels that this thread runs count as parts of
 *  one that runs already: nobody is told of them. Calls nest. */
void rlo__recorder_enter(void);
void rlo__recorder_leave(void);

/** Whether a kernel run now on this thread would be told of. */
bool rlo__recorder_is_active(const rlo_engine *engine);

/** Tell this thread's recorders of a kernel, unless it is part of another.
 *  @return RLO_OK; or what the first that failed said. */
RLO_NODISCARD rlo_status rlo__recorder_notify(const rlo__record *record);

#endif
