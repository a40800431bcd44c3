/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_COPY_OP_H
#define RLO_ENGINE_COPY_OP_H

#include "engine/memory/backend_instance.h"
#include "relayout/attributes.h"
#include "relayout/chain.h"
#include "relayout/kernel.h"

struct rlo__copy_op;

/** What a move is called with. All of it is borrowed. */
typedef struct rlo__copy_call {
  const struct rlo__copy_op *op;
  const rlo_shape *const *inputs;
  int32_t num_inputs;
  /** Their names and types have been checked. */
  const rlo_attributes *attributes;
} rlo__copy_call;

/** One result of a move, to be appended. */
typedef struct rlo__copy_step {
  /** Input 0's, which becomes the result. */
  rlo_chain *chain;
  /** The other inputs'. */
  const rlo_chain *const *others;
  int32_t num_others;
  /** Their names and types have been checked. */
  const rlo_attributes *attributes;
  /** Which result. */
  int32_t output;
} rlo__copy_step;

/**
 * A built-in kernel that is a movement of data, perhaps one that computes on
 * the way: how to append it to a chain. The shapes of its results, its problems
 * and its fusion with others all follow from that; the same for every backend.
 */
typedef struct rlo__copy_op {
  const char *name;
  int32_t min_inputs, max_inputs;
  const rlo_attribute_spec *specs;
  int32_t num_specs;
  /** Result i, counted with the last dimension fastest, is element i of the
   *  only input: if the layouts agree too, no byte moves. */
  bool keeps_order;
  /** It never becomes part of a longer chain: what it rounds, and in which
   *  order it adds, must not depend on what stands around it. */
  bool stands_alone;
  /** Input 1, if there is one, is a scalar whose bits are the value to pad
   *  with; it becomes the attribute "value_bits". */
  bool takes_value;
  /** Input 1 holds indices, which are read where they lie: it is no part of the
   *  chain. */
  bool takes_indices;
  /** One input may be read by several of its problems: their adjoints have to
   *  be added. */
  bool reads_in_parts;
  /** It takes attributes that its specs do not name, and checks them itself. */
  bool checks_attributes;
  /** How many results; NULL: one. */
  rlo_status (*count)(const rlo__copy_call *call, int32_t *out_count);
  /** Append the move. NULL for what is no chain: then there are infer and
   *  prepare instead. */
  rlo_status (*append)(const rlo__copy_step *step);
  /** Choose the layout of the result, whose shape is row-major; NULL: so it
   *  stays. */
  rlo_status (*place)(const rlo__copy_call *call, rlo_shape *shape);
  /** The shape of the one result of what stands alone, and its program. */
  rlo_status (*infer)(const rlo__copy_call *call, rlo_shape *out_shape);
  rlo_status (*prepare)(const rlo__backend_instance *instance,
                        const rlo__copy_call *call,
                        const rlo_shape *dst,
                        void **out_program);
} rlo__copy_op;

/** The built-in move of this name; NULL if there is none. */
const rlo__copy_op *rlo__copy_op_find(const char *name);

/** Every built-in move. */
const rlo__copy_op *rlo__copy_ops(int32_t *out_count);

/** The rlo_infer_fn and the rlo_kernel_fn of a move, which is the payload. The
 *  engine knows the latter by its address and never calls it: it keeps plans
 *  and fuses. */
RLO_NODISCARD rlo_status rlo__copy_op_infer(const rlo_shape *const *inputs,
                                            int32_t num_inputs,
                                            const rlo_attributes *attributes,
                                            rlo_shape *out_shapes,
                                            int32_t capacity,
                                            int32_t *out_count,
                                            void *payload);
RLO_NODISCARD rlo_status rlo__copy_op_run(rlo_kernel_call *call, void *payload);

/** Append a move to the chains of its inputs, in front of all the first, which
 *  changes. Words the failure with the move's name. */
RLO_NODISCARD rlo_status rlo__copy_op_append(const rlo__copy_op *op,
                                             rlo_chain **chains,
                                             int32_t count,
                                             const rlo_attributes *attributes,
                                             int32_t output);

/** The problems that make one result of a move that is a chain, into `dst`. */
RLO_NODISCARD rlo_status rlo__copy_op_lower(const rlo__copy_call *call,
                                            int32_t output,
                                            const rlo_shape *dst,
                                            rlo_moves **out_moves);

/** The shape of one result of a move. */
RLO_NODISCARD rlo_status rlo__copy_op_shape(const rlo__copy_call *call,
                                            int32_t output,
                                            rlo_shape *out_shape);

/** How many results a move has. */
RLO_NODISCARD rlo_status rlo__copy_op_count(const rlo__copy_call *call,
                                            int32_t *out_count);

/** RLO_OK if a value's shape fits the array that it pads. */
RLO_NODISCARD rlo_status
rlo__copy_op_check_value(const rlo__copy_op *op,
                         const rlo_shape *array,
                         const rlo_shape *value,
                         const rlo_attributes *attributes);

#endif
