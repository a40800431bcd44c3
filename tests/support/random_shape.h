/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_SHAPE_H
#define RLO_TESTS_SUPPORT_RANDOM_SHAPE_H

#include "relayout/shape.h"
#include "support/random.h"

/** A uniform permutation of 0 .. size-1. */
void test_random_permutation(test_random *random, int32_t size, int32_t *out_permutation);

/** The features that test_random_shape may draw; or them together. */
enum {
  TEST_PAD = 1,
  TEST_TILE = 2,
  TEST_COMBINE = 4,
  TEST_TAIL = 8,
  /** A strided layout with a slot for each element: negative strides, gaps. */
  TEST_STRIDED = 16,
  /** With TEST_STRIDED: strides of 0 too, for sources. */
  TEST_BROADCAST = 32,
  TEST_ALL = 31
};

/** A valid shape of this type and these dimensions with a random layout. */
rlo_shape test_random_shape(test_random *random, rlo_dtype dtype, const int64_t *dims, int32_t rank,
                            uint32_t features);

/** A random pair for rlo_relayout_lower: dimensions of rank `rank` with about
 *  `max_elements` elements at most, a permutation, a layout for each side. */
void test_random_pair(test_random *random, rlo_dtype dtype, int32_t rank, int64_t max_elements,
                      rlo_shape *out_src, rlo_shape *out_dst, int32_t *out_permutation);

#endif
