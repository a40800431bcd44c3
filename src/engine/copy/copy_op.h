/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_COPY_OP_H
#define RLO_ENGINE_COPY_OP_H

#include "engine/memory/backend_instance.h"
#include "relayout/attributes.h"
#include "relayout/chain.h"
#include "relayout/kernel.h"
#include "relayout/ops.h"

struct rlo__copy_op;

/** A call of a copy operation. All parts are borrowed. */
typedef struct rlo__copy_call {
  const struct rlo__copy_op *op;
  const rlo_shape *const *inputs;
  int32_t num_inputs;
  /** Their names and types have been checked. */
  const rlo_attributes *attributes;
} rlo__copy_call;

/** One result of a call, as a step of a chain. All parts are borrowed. */
typedef struct rlo__copy_step {
  /** Input 0's chain, which becomes the result's. */
  rlo_chain *chain;
  /** The chains of the other inputs. */
  const rlo_chain *const *others;
  int32_t num_others;
  /** Their names and types have been checked. */
  const rlo_attributes *attributes;
  /** The index of the result. */
  int32_t output;
  /** The number of results, of an operation that has several. */
  int32_t *out_count;
} rlo__copy_step;

/** Properties of a copy operation. */
enum {
  /** Result element i, counted with the last dimension fastest, is element i of
   *  the only input: if the layouts agree too, no byte moves. */
  RLO__COPY_KEEPS_ORDER = 1 << 0,
  /** Never fused: how it rounds and in which order it adds must not depend on
   *  its neighbours. */
  RLO__COPY_STANDS_ALONE = 1 << 1,
  /** Input 1, which is optional, is a scalar whose bits become the attribute
   *  "value_bits". */
  RLO__COPY_TAKES_VALUE = 1 << 2,
  /** Input 1 holds indices. They are read in place and are no part of the
   *  chain. */
  RLO__COPY_TAKES_INDICES = 1 << 3,
  /** Several problems may read one input, so that their adjoints are added. */
  RLO__COPY_READS_IN_PARTS = 1 << 4,
  /** It takes attributes that its specs do not name, and checks them itself. */
  RLO__COPY_CHECKS_ATTRIBUTES = 1 << 5,
  /** Any number of results. */
  RLO__COPY_HAS_RESULTS = 1 << 6
};

/**
 * A built-in kernel that copies data, perhaps computing on the way. Most append
 * themselves to a chain; the shapes of their results, their problems and their
 * fusion with others follow from that, for every backend. The others have
 * `infer`, and `lower`, `list` or `sum`.
 */
typedef struct rlo__copy_op {
  const char *name;
  /** The inputs and the attributes; max_inputs -1: any number. */
  rlo_kernel_config kernel;
  uint32_t flags;
  /** Appends a result to the chain of input 0. */
  rlo_status (*append)(const rlo__copy_step *step);
  /** Chooses the layout of the result, which is row-major on entry; NULL: it
   *  stays so. */
  rlo_status (*place)(const rlo__copy_call *call, rlo_shape *shape);
  /** Without `append`: the shape of the only result, and its problems or, of
   * one that is more than problems, its sum. */
  rlo_status (*infer)(const rlo__copy_call *call, rlo_shape *out_shape);
  rlo_status (*lower)(const rlo__copy_call *call, const rlo_shape *dst,
                      rlo_problem_list **out_problems);
  /** Adds the problems to a list; has room for one of them. */
  rlo_status (*list)(const rlo__copy_call *call, const rlo_shape *dst, rlo_problem *problem,
                     rlo_problem_list *problems);
  rlo_status (*sum)(const rlo__copy_call *call, const rlo_shape *dst, rlo_segment_sum **out_sum);
  /** The step of an element-wise operation. With two inputs the cells first hold
   *  input 0 or, if `is_turned`, input 1. */
  rlo_element_step step;
  bool is_turned;
} rlo__copy_op;

/** The attributes of a row. */
#define RLO__COPY_SPECS(...)                                      \
  .kernel.attributes = (const rlo_attribute_spec[]){__VA_ARGS__}, \
  .kernel.num_attributes =                                        \
      (int32_t)(sizeof((const rlo_attribute_spec[]){__VA_ARGS__}) / sizeof(rlo_attribute_spec))
/** The number of inputs and, behind it, their names. */
#define RLO__COPY_INPUTS(min, max, ...)                     \
  .kernel.min_inputs = min, .kernel.max_inputs = max,       \
  .kernel.input_names = (const char *const[]){__VA_ARGS__}, \
  .kernel.num_input_names =                                 \
      (int32_t)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

static inline bool rlo__copy_op_has(const rlo__copy_op *op, uint32_t flag) {
  return (op->flags & flag) != 0;
}

/** The rlo_infer_fn of a copy operation, which is the payload. */
RLO_NODISCARD rlo_status rlo__copy_op_infer(const rlo_shape *const *inputs, int32_t num_inputs,
                                            const rlo_attributes *attributes, rlo_shape *out_shapes,
                                            int32_t capacity, int32_t *out_count, void *payload);

/** Makes the chain of input n of a call; called in their order. */
typedef rlo_status (*rlo__input_chain_fn)(void *inputs, int32_t n, rlo_chain **out_chain);

/**
 * Makes the chain of one result, of an operation with `append`. The message of
 * a failure of that begins with the operation's name.
 * @param inputs     passed to `make_input`, for each of the `count` inputs.
 * @param out_count  the number of results; may be NULL.
 */
RLO_NODISCARD rlo_status rlo__copy_op_chain(const rlo__copy_op *op, rlo__input_chain_fn make_input,
                                            void *inputs, int32_t count,
                                            const rlo_attributes *attributes, int32_t output,
                                            rlo_chain **out_chain, int32_t *out_count);

/** Lowers one result of an operation to its problems or, if `out_sum` is not
 *  NULL, to the sum that it is. RLO_UNSUPPORTED for a sum without that. */
RLO_NODISCARD rlo_status rlo__copy_op_lower(const rlo__copy_call *call, int32_t output,
                                            const rlo_shape *dst, rlo_problem_list **out_problems,
                                            rlo_segment_sum **out_sum);

/** The shape of one result. */
RLO_NODISCARD rlo_status rlo__copy_op_shape(const rlo__copy_call *call, int32_t output,
                                            rlo_shape *out_shape);

/** The number of results. */
RLO_NODISCARD rlo_status rlo__copy_op_count(const rlo__copy_call *call, int32_t *out_count);

/** RLO_OK if the shape of a value fits the array that it pads. */
RLO_NODISCARD rlo_status rlo__copy_op_check_value(const rlo__copy_op *op, const rlo_shape *array,
                                                  const rlo_shape *value,
                                                  const rlo_attributes *attributes);

/** The built-in operations: lists of rows, each of the file of its name, in
 *  which a row without a name is the end; behind them NULL. */
extern const rlo__copy_op *const rlo__copy_lists[];
extern const rlo__copy_op rlo__move_ops[];
extern const rlo__copy_op rlo__cut_ops[];
extern const rlo__copy_op rlo__pad_ops[];
extern const rlo__copy_op rlo__compute_ops[];
extern const rlo__copy_op rlo__indexed_ops[];
extern const rlo__copy_op rlo__quantize_ops[];

/* adjoint.c */

/*
 * MoveAdjoint: the kernel behind the gradients of copy operations. Its inputs
 * are a dy for every result of an operation on row-major arrays; its result is
 * the dx of one input, row-major. A tape records it like any kernel, by name
 * and attributes: those of the operation, and three that only this file knows.
 */

/** The contents of the attributes of a MoveAdjoint: one block, freed by
 *  rlo__free. */
typedef struct rlo__adjoint {
  /** The operation, with row-major inputs. */
  rlo__copy_call call;
  /** The index of the input whose gradient this is. */
  int32_t input;
  /** The operation's own. */
  rlo_attributes attributes;
  /** The inputs' shapes; those of `call` point to them. */
  rlo_shape shapes[];
} rlo__adjoint;

/**
 * Decodes the attributes. The inputs have the element type and size of `dy`.
 * @return RLO_OK; RLO_NOT_FOUND for a missing attribute or an unknown
 *         operation; RLO_INVALID_ARGUMENT for inconsistent attributes;
 *         RLO_OUT_OF_RANGE for the index of the input; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__adjoint_decode(const rlo_attributes *attributes, const rlo_shape *dy,
                                             rlo__adjoint **out_adjoint);

/** Encodes the adjoint of `call` for its input `input`, in one block that is
 *  freed by rlo__free; values are those of the call. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__adjoint_encode(const rlo__copy_call *call, int32_t input,
                                             rlo_attributes **out_attributes);

#endif
