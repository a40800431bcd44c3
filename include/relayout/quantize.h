/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_QUANTIZE_H
#define RELAYOUT_QUANTIZE_H

#include "relayout/ops.h"

RLO_BEGIN_DECLS

/** Scale and zero point, of the whole array or of its channels or blocks. Initialize
 *  with RLO_QUANTIZATION_INIT: scale 1, zero point 0. */
typedef struct rlo_quantization {
  /** Those of the whole array, where `scales` is NULL. The scale is finite, the zero
   *  point a value of the integer type. */
  double scale, zero_point;
  /** The dimensions of an array of scales, as rlo_combine_options.operand has them:
   *  [64] of a destination [64] for one each, [1,64,1,1] for a scale per channel,
   *  [64,4] for blocks of 32 along the rows of [64,128]. Borrowed as long as the
   *  options are used. */
  const rlo_shape *scales;
  /** The scales are followed by as many zero points, in the same type. */
  bool has_zero_points;
} rlo_quantization;

#define RLO_QUANTIZATION_INIT \
  { 1.0, 0.0, NULL, false }

/**
 * Appends the steps of ONNX's QuantizeLinear:
 *
 *   y = saturate(round(x / scale) + zero_point)
 *
 * to nearest even, and of a type of floats y = saturate(x / scale). An infinity
 * saturates, too; a NaN becomes 0, or the NaN of a type of floats. With a scale of 0
 * everything but 0 and NaN saturates, and 0 / 0 is a NaN.
 *
 * The numbers are f32, or f64 where x is f64, and computed in that type
 * (rlo_arithmetic). With `scales` the problem has a third memory: the scales, and
 * behind them the zero points.
 *
 * @param options  for rlo_relayout_combine or rlo_chain_combine, into a destination
 *                 of the type `dtype`; other steps may stand before and behind these.
 * @param dtype    an integer type, or one of floats of at most 8 bits.
 * @return RLO_OK; RLO_UNSUPPORTED for another type; RLO_INVALID_ARGUMENT for a scale
 *         that is not finite, a zero point that `dtype` does not have, or, of floats,
 *         any but 0, or for more than RLO_MAX_ELEMENT_STEPS. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_combine_options_quantize(rlo_combine_options *options,
                                                              rlo_dtype dtype,
                                                              const rlo_quantization *quantization);

/**
 * Appends the steps of ONNX's DequantizeLinear: y = (x - zero_point) * scale, rounded
 * to f32 after each, and at last to the destination's type.
 * @return as rlo_combine_options_quantize, where the type of x is checked when the
 *         problem is lowered. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_combine_options_dequantize(rlo_combine_options *options, const rlo_quantization *quantization);

RLO_END_DECLS

#endif
