/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TAPE_H
#define RLO_ENGINE_TAPE_H

#include "engine/call/recorder.h"
#include "engine/gradient/gradient.h"
#include "engine/tensor/shape_table.h"
#include "relayout/gradient.h"

/** A kernel that ran. */
typedef struct rlo__tape_node {
  const char *kernel_name;
  bool has_gradient;
  /** A copy from when the kernel ran. */
  rlo_gradient_config gradient;
  int32_t num_inputs, num_outputs;
  /** The ids and the shapes of the inputs, then of the outputs. */
  uint64_t *ids;
  rlo__shared_shape **shapes;
  /** The kernel's, which live as long as the engine. */
  const char *const *input_names;
  int32_t num_input_names;
  rlo__saved saved;
  rlo_attributes *attributes;
} rlo__tape_node;

struct rlo_tape {
  rlo__recorder recorder;
  /** Retained. */
  rlo_engine *engine;
  /** An address that is unique to the thread that began the tape. */
  const void *thread;
  /** Gradients are being computed from it; it does not record them. */
  bool is_computing;
  int64_t count;
  size_t capacity;
  rlo__tape_node **nodes;
};

/** RLO_OK if the calling thread may use the tape now. `action` is for the
 *  message: "ending a tape". */
RLO_NODISCARD rlo_status rlo__tape_check(const rlo_tape *tape,
                                         const char *action);

#endif
