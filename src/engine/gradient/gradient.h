/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_GRADIENT_H
#define RLO_ENGINE_GRADIENT_H

#include "engine/call/kernel_call.h"
#include "engine/copy/copy_op.h"

/** A shape in messages. A long one is cut. */
typedef struct rlo__shape_words {
  char text[160];
} rlo__shape_words;

rlo__shape_words rlo__shape_words_of(const rlo_shape *shape);

/** Registers the gradient of a built-in kernel; the operation is its payload.
 */
RLO_NODISCARD rlo_status rlo__gradient_register_op(rlo_engine *engine, const rlo__copy_op *op);

/** Runs a gradient and checks its results. After a failure every dx is NULL. */
RLO_NODISCARD rlo_status rlo__gradient_run(const rlo_gradient_config *config,
                                           rlo_gradient_call *call);

/** RLO_OK if a dy fits a result. The message names it by `role` and `index`.
 *  RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__gradient_check_dy(const rlo_tensor *dy, const rlo_shape *result,
                                                const char *role, int32_t index);

/** Creates a row-major tensor with a shape's type, dimensions and element size,
 *  whose elements all are one constant. */
RLO_NODISCARD rlo_status rlo__gradient_constant(rlo_engine *engine, const rlo_shape *shape,
                                                rlo_dtype_constant constant,
                                                rlo_tensor **out_tensor);

/** Adds `count` tensors, at least 1, by AddN; three and more narrow floats in
 *  f32, so that they are rounded once. Retains a single tensor. */
RLO_NODISCARD rlo_status rlo__gradient_add(rlo_tensor *const *tensors, int32_t count,
                                           rlo_tensor **out_sum);

/** Floats narrower than f32, which are added in f32. */
bool rlo__gradient_is_narrow(rlo_dtype dtype);

/* tape.c */

/** A kernel that ran, and what its gradient takes of it. One block of memory.
 */
typedef struct rlo__tape_node {
  /** A copy from when the kernel ran; without `run`: it had none. */
  rlo_gradient_config gradient;
  /** All but dys, wants and dxs. The names live as long as the engine. */
  rlo_gradient_call call;
  /** The ids of the inputs, then of the outputs, as are the shapes of
   * `call`: those of shared ones, retained. What that has saved is held. */
  uint64_t *ids;
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
RLO_NODISCARD rlo_status rlo__tape_check(const rlo_tape *tape, const char *action);

/** Tells if a gradient saves results of a kernel. */
bool rlo__gradient_saves_outputs(const rlo_gradient_config *gradient,
                                 const rlo_kernel_config *kernel);

/**
 * Keeps what the gradient of a kernel takes. What it saves is that of the
 * record or, if that has no gradient, by the config and the kernel's names.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a name that the kernel does not
 *         have; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__tape_node_create(const rlo__record *record,
                                               const rlo_gradient_config *gradient,
                                               rlo__tape_node **out_node);
/** NULL is legal. */
void rlo__tape_node_release(rlo__tape_node *node);

#endif
