/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_GRADIENT_H
#define RLO_ENGINE_GRADIENT_H

#include "engine/copy/copy_op.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"

/** Finds the gradient of a kernel; returns whether it has one. Sets no
 *  message. */
bool rlo__gradient_find(rlo_engine *engine,
                        const char *kernel_name,
                        rlo_gradient_config *out_config);

/** The gradient of a built-in kernel; the operation is its payload. */
rlo_gradient_config rlo__gradient_of_op(const rlo__copy_op *op);

/** Runs a gradient and checks its results. After a failure every dx is NULL. */
RLO_NODISCARD rlo_status rlo__gradient_run(const rlo_gradient_config *config,
                                           rlo_gradient_call *call);

/** RLO_OK if a dy fits a result. The message names it by `role` and `index`.
 *  RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__gradient_check_dy(const rlo_tensor *dy,
                                                const rlo_shape *result,
                                                const char *role,
                                                int32_t index);

/** Creates a row-major tensor with a shape's type, dimensions and element size,
 *  whose elements all are one constant. */
RLO_NODISCARD rlo_status rlo__gradient_constant(rlo_engine *engine,
                                                const rlo_shape *shape,
                                                rlo_dtype_constant constant,
                                                rlo_tensor **out_tensor);

/** Adds `count` tensors, at least 1, by AddN; three and more narrow floats in
 *  f32, so that they are rounded once. Retains a single tensor. */
RLO_NODISCARD rlo_status rlo__gradient_add(rlo_tensor *const *tensors,
                                           int32_t count,
                                           rlo_tensor **out_sum);

/** Floats narrower than f32, which are added in f32. */
bool rlo__gradient_is_narrow(rlo_dtype dtype);

#endif
