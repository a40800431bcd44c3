/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_RUNNING_H
#define RLO_ENGINE_RUNNING_H

#include "engine/engine.h"

/** A call of rlo_run_kernel on its way. */
typedef struct rlo__running {
  rlo_engine *engine;
  rlo__bound_kernel *bound;
  rlo_tensor *const *inputs;
  int32_t num_inputs;
  const rlo_attributes *attributes;
  rlo_tensor **outputs;
  int32_t capacity;
  int32_t num_outputs;
} rlo__running;

/** RLO_OUT_OF_RANGE if the caller has no room for so many results. */
RLO_NODISCARD rlo_status rlo__running_check_room(const rlo__running *r,
                                                 int32_t count);

/** Run, or with fusion leave pending, a kernel that is a move. On failure some
 *  outputs may be there. */
RLO_NODISCARD rlo_status rlo__running_run_move(rlo__running *r);

#endif
