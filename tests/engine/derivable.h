/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_DERIVABLE_H
#define RLO_TESTS_ENGINE_DERIVABLE_H

#include "relayout/gradient.h"

/*
 * Functions that the suites of the gradients derive: a kernel that the tests
 * bring, a function of it, and the two halves of a custom gradient.
 */

/** y = a * b, for f32: kernel "Product" on the host. */
rlo_status multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y);

/** The gradient of that. */
rlo_gradient_config multiply_config(void);

void register_multiply_kernel(void);

/** The kernel and its gradient. */
void register_multiply(void);

/** y = x * x * x, by Product. */
rlo_status cube(rlo_engine *e, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
                void *payload);

/** Each output is a copy of input 0; saves that too. */
rlo_status copy_forward(rlo_engine *e, rlo_tensor *const *inputs, int32_t num_inputs,
                        rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs, void *payload);

/** Each dx is dy 0 and 1 more, of up to four floats. */
rlo_status one_more(rlo_gradient_call *call, void *payload);

/** The gradient of a gradient of a move is the move: d/d(dy) of <pad^T(dy), v>
 *  is pad(v), and so for a mirror. */
void expect_move_back(bool is_mirror);

#endif
