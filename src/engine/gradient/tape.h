/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TAPE_H
#define RLO_ENGINE_TAPE_H

#include "engine/call/recorder.h"
#include "engine/gradient/gradient.h"
#include "engine/tensor/shape_table.h"
#include "relayout/gradient.h"

/** A kernel that ran, and what its gradient takes of it. One block of memory.
 */
typedef struct rlo__tape_node {
  /** A copy from when the kernel ran; without `run`: it had none. */
  rlo_gradient_config gradient;
  /** All but dys, wants and dxs. The names live as long as the engine. */
  rlo_gradient_call call;
  /** The ids and the shapes of the inputs, then of the outputs. The shapes are
   *  those of shared ones, retained. */
  uint64_t *ids;
  const rlo_shape **shapes;
  /** Held: those of `call`. */
  rlo_tensor **saved;
  const char **saved_names;
  /** A clone for `call`; NULL: that has those of the record. */
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

/** Tells if a gradient saves results of a kernel. */
bool rlo__gradient_saves_outputs(const rlo_gradient_config *gradient,
                                 const rlo_kernel_config *kernel);

/**
 * Keeps what the gradient of a kernel takes. What it saves is that of the
 * record or, if that has no gradient, by the config and the kernel's names.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a name that the kernel does not
 *         have; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status
rlo__tape_node_create(const rlo__record *record,
                      const rlo_gradient_config *gradient,
                      rlo__tape_node **out_node);
/** NULL is legal. */
void rlo__tape_node_release(rlo__tape_node *node);

#endif
