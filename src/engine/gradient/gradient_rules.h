/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_GRADIENT_RULES_H
#define RLO_ENGINE_GRADIENT_RULES_H

#include "engine/gradient/gradient.h"

/** Parts of which the built-in gradients are made. */

/** A tensor in a layout of its dimensions: by Relayout, or itself. */
RLO_NODISCARD rlo_status rlo__gradient_place(rlo_tensor *x,
                                             const rlo_shape *shape,
                                             rlo_tensor **out_tensor);

/** The same, row-major. */
RLO_NODISCARD rlo_status rlo__gradient_make_plain(rlo_tensor *x,
                                                  rlo_tensor **out_tensor);

/**
 * Run MoveAdjoint for one input of a gradient's call.
 * @param dys         row-major, one for each result.
 * @param num_arrays  how many inputs the move reads as arrays.
 */
RLO_NODISCARD rlo_status rlo__gradient_adjoint(const rlo_gradient_call *call,
                                               const rlo__copy_op *op,
                                               rlo_tensor *const *dys,
                                               int32_t num_arrays,
                                               int32_t input,
                                               rlo_tensor **out_dx);

/** The gradient of MoveAdjoint: the move itself. */
RLO_NODISCARD rlo_status rlo__gradient_of_adjoint(rlo_gradient_call *call,
                                                  void *payload);

#endif
