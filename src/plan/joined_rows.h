/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_JOINED_ROWS_H
#define RLO_PLAN_JOINED_ROWS_H

#include "base/str.h"
#include "relayout/problem.h"

/**
 * A transposition of packed elements, seen as one of bytes. With elements of
 * `bits` a byte of the destination has one element of each of n = 8 / bits rows
 * of the source, all from one column of bytes: these rows are *joined*. So
 *
 *     for i < na, j < nb: dst[i * dst_ld + j] = src[i + j * src_ld]
 *
 * of elements becomes, with i = n * x + h and j = n * y + k, in bytes
 *
 *     dst[x * dst_ld + h * (dst_ld / n) + y] =
 *         for k < n: element h of byte src[x + y * src_ld + k * (src_ld / n)],
 *                    as element k
 *
 * which is a problem of bytes for whoever reads so: h is an axis on which the
 * position in the source does not depend.
 *
 * Where rows begin anywhere in a byte, an element of each of n consecutive rows
 * still makes a byte, and every n-th row begins at the same bit: whoever reads
 * so takes places and bits of the elements from their positions, and writes the
 * bytes in which rows meet apart. Extents of the problem of bytes are then
 * rounded up, and what else does not divide is rounded to 0.
 */
typedef struct rlo__joined_rows {
  /** Bits of an element: 1, 2 or 4. 0: nothing is joined. */
  int32_t bits;
  /** The axis h of the problem of bytes: which element of each byte is read. */
  int32_t axis;
  /** Distance of rows that are joined, either sign. */
  int64_t step_bytes;
  /** Of rows that begin anywhere in a byte: the problem of elements, borrowed,
   *  whose axes are in the order of the destination, b last. NULL: of whole
   *  bytes. */
  const rlo_problem *elements;
} rlo__joined_rows;

/**
 * Makes a problem of bytes from one of packed elements, if everything but the
 * innermost axes is whole bytes on both sides.
 *
 * @param problem    canonical, not empty.
 * @param takes_odd  rows may begin anywhere in a byte, if there are no guards.
 * @param out_bytes  written on success only.
 * @param why        takes the reason, if it cannot.
 */
bool rlo__join_rows(const rlo_problem *problem, bool takes_odd, rlo_problem *out_bytes,
                    rlo__joined_rows *out_joined, rlo__str *why);

#endif
