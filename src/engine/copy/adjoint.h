/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ADJOINT_H
#define RLO_ENGINE_ADJOINT_H

#include "engine/copy/copy_op.h"

/*
 * MoveAdjoint: the kernel behind the gradients of moves. Its inputs are the dy
 * of every result of a move of row-major arrays; its result is the dx of one
 * input, row-major. Attributes: those of the move, and the three below.
 */

/** A string: the move's name. */
#define RLO__ADJOINT_OF "adjoint_of"
/** An integer: which input's gradient. */
#define RLO__ADJOINT_INPUT "adjoint_input"
/** For each input its rank and its dimensions, in one list. */
#define RLO__ADJOINT_DIMS "adjoint_dims"

/** The attributes of a MoveAdjoint, understood. */
typedef struct rlo__adjoint {
  /** The move, with row-major inputs; points at what follows, so an adjoint is
   *  not to be copied. */
  rlo__copy_call call;
  int32_t input;
  rlo_attributes attributes;
  rlo_attribute *items;
  rlo_shape *shapes;
  const rlo_shape **shape_list;
} rlo__adjoint;

/**
 * Understand the attributes. The element type and size are those of `dy`.
 * @param out_adjoint  to be given back also on failure.
 * @return RLO_OK; RLO_NOT_FOUND for a missing attribute or no such move;
 *         RLO_INVALID_ARGUMENT for attributes that say nothing sensible;
 *         RLO_OUT_OF_RANGE for an input that is none; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__adjoint_parse(const rlo_attributes *attributes,
                                            const rlo_shape *dy,
                                            rlo__adjoint *out_adjoint);
void rlo__adjoint_deinit(rlo__adjoint *adjoint);

#endif
