/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_DEVICE_TABLE_H
#define RLO_TESTS_SUPPORT_DEVICE_TABLE_H

#include "relayout/shape.h"

/** A pair of shapes that some kernel has reason to get wrong. In the texts `?`
 *  stands for the element type. */
typedef struct test_pair {
  const char *src;
  const char *dst;
  /** "1,0", or "" for the identity. */
  const char *permutation;
  /** Small enough for a simulator. */
  bool is_small;
} test_pair;

extern const test_pair test_pairs[];
extern const int32_t test_num_pairs;

/** Element types of 1, 2, 4, 8 and 16 bytes. */
extern const char *const test_dtypes[5];

/** Make the shapes of a pair; the test fails if the texts are wrong. */
void test_pair_shapes(const test_pair *pair, const char *dtype, rlo_shape *out_src,
                      rlo_shape *out_dst, int32_t *out_permutation);

#endif
