/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_RANDOM_SHAPE_H
#define RLO_TESTS_RANDOM_SHAPE_H

#include "relayout/shape.h"

/** A small generator whose sequence depends on the seed alone. */
typedef struct rlo_test_random {
  uint64_t state;
} rlo_test_random;

/** Begin from RELAYOUT_TEST_SEED if that is set, else from `seed`; prints the
 *  seed, so that a failure can be run again. */
rlo_test_random rlo_test_random_begin(const char *suite, uint64_t seed);

uint64_t rlo_test_random_next(rlo_test_random *random);

/** Uniform in [low, high]. */
int64_t rlo_test_random_between(rlo_test_random *random,
                                int64_t low,
                                int64_t high);

/** True once in `n`. */
bool rlo_test_random_one_in(rlo_test_random *random, int64_t n);

void rlo_test_random_permutation(rlo_test_random *random,
                                 int32_t size,
                                 int32_t *out_permutation);

/** What rlo_test_random_layout may draw from; or them together. */
enum {
  RLO_TEST_PAD = 1,
  RLO_TEST_TILE = 2,
  RLO_TEST_COMBINE = 4,
  RLO_TEST_TAIL = 8,
  /** A strided layout with a slot for each element: negative strides, gaps. */
  RLO_TEST_STRIDED = 16,
  /** With RLO_TEST_STRIDED: strides of 0 too, for sources. */
  RLO_TEST_BROADCAST = 32,
  RLO_TEST_ALL = 31
};

/** A valid shape of this type and these dimensions with a random layout. */
rlo_shape rlo_test_random_shape(rlo_test_random *random,
                                rlo_dtype dtype,
                                const int64_t *dims,
                                int32_t rank,
                                uint32_t features);

/** A random pair for rlo_relayout_lower: dimensions of rank `rank` with about
 *  `max_elements` elements at most, a permutation, a layout for each side. */
void rlo_test_random_pair(rlo_test_random *random,
                          rlo_dtype dtype,
                          int32_t rank,
                          int64_t max_elements,
                          rlo_shape *out_src,
                          rlo_shape *out_dst,
                          int32_t *out_permutation);

#endif
