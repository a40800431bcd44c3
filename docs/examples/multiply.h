/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_EXAMPLE_MULTIPLY_H
#define RELAYOUT_EXAMPLE_MULTIPLY_H

#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/relayout.h>

/*
 * The functions of the shared object of multiply.c. It must stay loaded for as
 * long as an engine that it was registered with, and that engine's context,
 * live.
 */

/** Register "Product" for "host" and "opencl". */
rlo_status example_multiply_register(rlo_engine *engine);

/** y = a * b, element by element: f32, of the same dimensions, in any layout.
 */
rlo_status example_multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y);

#endif
