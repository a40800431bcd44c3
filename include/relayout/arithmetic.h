/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_ARITHMETIC_H
#define RELAYOUT_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/dtype.h"

RLO_BEGIN_DECLS

/** Lanes in which a sum is taken, and the terms of one of its blocks. */
#define RLO_SUM_LANES 16
#define RLO_SUM_BLOCK 1024

/**
 * The numbers of a problem with RLO_UPDATE_COMBINE (problem.h):
 *
 *   cell = to_dst(alpha * sum(values of the cell's points) + beta * cell)
 *
 * *Compute type* T: integers modulo 2^64 where both types are integers or pred;
 * f64 where either is f64 or c128, or compute_type asks for it; else f32. Each
 * value and the cell are converted to T, alpha and beta rounded to T; the
 * product, the sum and the last addition are each rounded to T, to nearest even
 * and never fused. With beta == 0 the cell is not read: a NaN in it is gone.
 * With alpha == 1, beta == 0 and no sum the value is converted with one
 * rounding, whatever T is. Complex numbers are computed part by part; a real
 * source has the imaginary part 0, a real destination takes the real part.
 *
 * *Conversion*: to a float, to nearest even; what is too large becomes the
 * infinity, NaN where the type has none, or its greatest value where it has
 * neither. A NaN becomes the type's NaN, without sign and payload, or 0 where
 * there is none. A float to an integer: towards zero; what is too large takes
 * the nearest limit; NaN is 0. An integer to an integer: modulo 2^bits. To
 * pred: whether it is not 0 (a NaN is not). Units wider than the value have
 * zeros above it.
 *
 * *Sums*: an axis that leaves the destination's position alone (stride 0) is a
 * reduction axis; the points of a cell are those along all of them for which
 * no SKIP guard fails. A cell without points is left alone. Order, which is the
 * same on every device: in the canonical form the reduction axes are the last
 * ones; the innermost is cut into blocks of RLO_SUM_BLOCK points from its
 * beginning to its end, or to behind the last point that the SKIP guards which
 * are linear along it let through; at least one point makes a block. In a
 * block, point n is added to lane n mod RLO_SUM_LANES, in rising order; lanes
 * begin as +0; then lane l takes lane l + 8, for l < 8; then l + 4, l + 2, l
 * + 1. The sums of the blocks, in the order of the box, are added like a binary
 * counter counts: two neighbours, then neighbours of these pairs, and so on;
 * what is left over at the end, from the last to the first. Points that a guard
 * skips leave their lane alone.
 *
 * *Fill*: raw bits in dst_type, as with STORE; it is neither scaled nor added.
 * A PAD guard does not depend on reduction axes.
 */
typedef struct rlo_arithmetic {
  /** What the source's and the destination's units hold. */
  rlo_dtype src_type, dst_type;
  /** RLO_DTYPE_INVALID for the rule above; RLO_DTYPE_F64 for f64. */
  rlo_dtype compute_type;
  /** Bits of one unit of the destination: 1 .. RLO_MAX_UNIT_BITS. Positions in
   *  the destination count these; those in the source count unit_bits. */
  int32_t dst_unit_bits;
  /** Finite; whole numbers of at most 63 bits where T is an integer. */
  double alpha, beta;
  /** Cells may have points that differ outside of the reduction axes; these are
   *  combined one after the other, in the order of the canonical box. Then the
   *  destination's form may have term coefficients. The host runs it; devices
   *  refuse. */
  bool is_sequential;
} rlo_arithmetic;

RLO_END_DECLS

#endif
