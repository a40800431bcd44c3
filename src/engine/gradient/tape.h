/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TAPE_H
#define RLO_ENGINE_TAPE_H

#include "engine/call/recorder.h"
#include "engine/gradient/gradient.h"
#include "engine/tensor/shape_table.h"
#include "relayout/gradient.h"

/** A kernel that has run. */
typedef struct rlo__tape_node {
  const char *kernel_name;
  bool has_gradient;
  /** As it was when the kernel ran. */
  rlo_gradient_config gradient;
  int32_t num_inputs, num_outputs;
  /** Of the inputs, then of the outputs: who they are, and their shapes. */
  uint64_t *ids;
  rlo__shared_shape **shapes;
  /** Retained. */
  rlo_tensor **saved;
  int32_t num_saved;
  rlo_attributes *attributes;
} rlo__tape_node;

struct rlo_tape {
  rlo__recorder recorder;
  /** Retained. */
  rlo_engine *engine;
  /** Something that only this thread has. */
  const void *thread;
  /** Gradients are being computed from it: it does not record them. */
  bool is_computing;
  int64_t count, capacity;
  rlo__tape_node **nodes;
};

/** RLO_OK if the calling thread may use the tape now. `what` words it. */
RLO_NODISCARD rlo_status rlo__tape_check(const rlo_tape *tape,
                                         const char *what);

/** What lies between some tensors and a result: a view of a tape at one
 *  moment. Slots stand for tensors. */
typedef struct rlo__tape_path {
  /** The ids, rising: slot s is ids[s]. */
  uint64_t *ids;
  int32_t num_slots;
  /** Of each slot: whether it depends on an x, and whether y depends on it and
   *  it on an x. */
  bool *is_from_x, *is_on_path;
} rlo__tape_path;

/** RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED beyond INT32_MAX tensors. To be given
 *  back also on failure. */
RLO_NODISCARD rlo_status rlo__tape_path_find(const rlo_tape *tape,
                                             const rlo_tensor *y,
                                             rlo_tensor *const *xs,
                                             int32_t count,
                                             rlo__tape_path *out_path);
void rlo__tape_path_deinit(rlo__tape_path *path);

/** The slot of an id that the path was found with. */
int32_t rlo__tape_path_slot(const rlo__tape_path *path, uint64_t id);

/** Whether a gradient of the node is called for. */
bool rlo__tape_path_has(const rlo__tape_path *path, const rlo__tape_node *node);

#endif
