/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ADJOINT_H
#define RLO_ENGINE_ADJOINT_H

#include "engine/copy/copy_op.h"

/**
 * MoveAdjoint: the kernel behind the gradients of copy operations. Its inputs
 * are a dy for every result of an operation on row-major arrays; its result is
 * the dx of one input, row-major. A tape records it like any kernel, by name
 * and attributes: those of the operation, and three that only this file knows.
 */
extern const rlo__copy_op rlo__op_adjoint;

/** What the attributes of a MoveAdjoint encode. Not to be copied: it points
 *  into itself. */
typedef struct rlo__adjoint {
  /** The operation, with row-major inputs. */
  rlo__copy_call call;
  /** The index of the input whose gradient this is. */
  int32_t input;
  rlo_attributes attributes;
  rlo_attribute *items;
  rlo_shape *shapes;
  const rlo_shape **shape_list;
} rlo__adjoint;

/**
 * Decodes the attributes. The inputs have the element type and size of `dy`.
 * @param out_adjoint  needs rlo__adjoint_deinit also after a failure.
 * @return RLO_OK; RLO_NOT_FOUND for a missing attribute or an unknown
 *         operation; RLO_INVALID_ARGUMENT for inconsistent attributes;
 *         RLO_OUT_OF_RANGE for the index of the input; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__adjoint_decode(const rlo_attributes *attributes,
                                             const rlo_shape *dy,
                                             rlo__adjoint *out_adjoint);
void rlo__adjoint_deinit(rlo__adjoint *adjoint);

/** Attributes that own their list, but not the values taken from others. */
typedef struct rlo__adjoint_code {
  rlo_attributes attributes;
  rlo_attribute *items;
  int64_t *dims;
} rlo__adjoint_code;

/** Encodes the adjoint of `call` for its input `input`.
 *  @param out_code  needs rlo__adjoint_code_deinit also after a failure.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__adjoint_encode(const rlo__copy_call *call,
                                             int32_t input,
                                             rlo__adjoint_code *out_code);
void rlo__adjoint_code_deinit(rlo__adjoint_code *code);

#endif
