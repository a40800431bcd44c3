/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_GRADIENT_H
#define RLO_ENGINE_GRADIENT_H

#include "engine/copy/copy_op.h"
#include "relayout/gradient.h"

typedef struct rlo__gradient_slot {
  struct rlo__gradient_slot *next;
  rlo_gradient_config config;
} rlo__gradient_slot;

enum { RLO__GRADIENT_BUCKETS = 64 };

/** The gradients of an engine, by kernel name, under the locks of its
 *  registry. All zero is an empty table. */
typedef struct rlo__gradient_table {
  rlo__gradient_slot *buckets[RLO__GRADIENT_BUCKETS];
} rlo__gradient_table;

void rlo__gradient_table_deinit(rlo__gradient_table *table);

/** Whether there is a gradient, and which. Makes no sentence. */
bool rlo__gradient_lookup(rlo_engine *engine,
                          const char *kernel_name,
                          rlo_gradient_config *out_config);

/** RLO_NOT_FOUND, naming the kernel. */
RLO_NODISCARD rlo_status rlo__gradient_fail_missing(const char *kernel_name);

/** The gradients of the built-in kernels. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__gradient_register_built_in(rlo_engine *engine);

/** The gradient of the built-in moves that have no rule of their own: the
 *  adjoint of what they lower to. The move is the payload. */
RLO_NODISCARD rlo_status rlo__gradient_of_move(rlo_gradient_call *call,
                                               void *payload);

/** Which of a kernel's tensors a gradient wants saved: references, in the
 *  order of rlo_gradient_call, on the heap. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__gradient_save(const rlo_gradient_config *config,
                                            rlo_tensor *const *inputs,
                                            int32_t num_inputs,
                                            rlo_tensor *const *outputs,
                                            int32_t num_outputs,
                                            rlo_tensor ***out_saved,
                                            int32_t *out_num_saved);

/** Release every tensor of a list, and the list; NULL is legal. */
void rlo__tensor_list_release(rlo_tensor **tensors, int32_t count);

/** Run a gradient and check what it gave. On failure every dx is NULL again. */
RLO_NODISCARD rlo_status rlo__gradient_run(const rlo_gradient_config *config,
                                           rlo_gradient_call *call);

/** RLO_OK if a dy fits a result: `role` words it. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__gradient_check_dy(const rlo_tensor *dy,
                                                const rlo_shape *result,
                                                const char *role,
                                                int32_t number);

/** A tensor of a shape's type, dimensions and element size, row-major, whose
 *  elements are all one constant. */
RLO_NODISCARD rlo_status rlo__gradient_constant(rlo_engine *engine,
                                                const rlo_shape *shape,
                                                rlo_dtype_constant constant,
                                                rlo_tensor **out_tensor);

/** The sum of `count` tensors, at least 1, rounded once: AddN, from three on in
 *  f32 for narrower floats. One alone is retained. */
RLO_NODISCARD rlo_status rlo__gradient_add(rlo_tensor *const *tensors,
                                           int32_t count,
                                           rlo_tensor **out_sum);

/** Floats that are added in f32. */
bool rlo__gradient_is_narrow(rlo_dtype dtype);

#endif
