/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_SUM_H
#define RLO_TESTS_SUPPORT_RANDOM_SUM_H

#include "relayout/problem.h"
#include "support/random.h"

/** An axis of a sum: strides in units, of 0 in the destination if summed. */
typedef struct test_sum_axis {
  int64_t extent, src_stride, dst_stride;
} test_sum_axis;

/** The problem of a sum, with alpha 1, beta 0 and memories that begin at the
 *  lowest position. Its extents are above 0. */
void test_sum_make(rlo_dtype src_type, rlo_dtype dst_type, const test_sum_axis *axes,
                   int32_t num_axes, rlo_problem *out_problem);

/** A sum to few cells of about `points` points: of all, over rows or columns,
 *  over the outer and the inner axes; with points a few beside a power of two
 *  of blocks; alpha and beta now and then. */
void test_random_sum(test_random *random, rlo_dtype src_type, rlo_dtype dst_type, int64_t points,
                     rlo_problem *out_problem);

/** Numbers whose sums have something to round, with -0 among them; and once in
 *  a while infinities and NaN. */
void test_sum_fill(test_random *random, rlo_dtype dtype, int64_t bytes, uint8_t *memory);

#endif
