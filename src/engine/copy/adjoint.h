/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ADJOINT_H
#define RLO_ENGINE_ADJOINT_H

#include "engine/copy/copy_op.h"

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
  rlo_attribute *items;
  /** The inputs' shapes; those of `call` point to them. */
  rlo_shape shapes[];
} rlo__adjoint;

/**
 * Decodes the attributes. The inputs have the element type and size of `dy`.
 * @return RLO_OK; RLO_NOT_FOUND for a missing attribute or an unknown
 *         operation; RLO_INVALID_ARGUMENT for inconsistent attributes;
 *         RLO_OUT_OF_RANGE for the index of the input; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__adjoint_decode(const rlo_attributes *attributes,
                                             const rlo_shape *dy,
                                             rlo__adjoint **out_adjoint);

/** Encodes the adjoint of `call` for its input `input`, in one block that is
 *  freed by rlo__free; values are those of the call. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__adjoint_encode(const rlo__copy_call *call,
                                             int32_t input,
                                             rlo_attributes **out_attributes);

#endif
