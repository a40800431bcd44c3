/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_USER_ARRAY_H
#define RLO_TESTS_SUPPORT_USER_ARRAY_H

#include "relayout/problem.h"
#include "support/random.h"

/** A transposition of an array of the size that users have. */
typedef struct test_user_array {
  int32_t rank;
  /** The dimensions of the source, from the most major. */
  int64_t dims[4];
  /** Destination dimension k is source dimension permutation[k]. */
  int32_t permutation[4];
  int64_t element_bytes, total_bytes;
  rlo_problem problem;
} test_user_array;

/** So many arrays run by default, and with RELAYOUT_TEST_ALL. */
enum { TEST_USER_ARRAYS = 40, TEST_ALL_USER_ARRAYS = 2000 };

int test_num_user_arrays(void);

/** Lowers a transposition; dims and permutation as "4097,1024" and "1,0". */
void test_user_array_set(test_user_array *a, const char *dims, const char *permutation,
                         int64_t element_bytes);

/** Draws one of 4 to 40 MiB: rank 2 to 4, elements of 1 to 16 bytes, sizes
 *  log-uniform, any permutation. */
void test_user_array_draw(test_random *random, test_user_array *a);

/** Writes the source: elements that differ as far as their width lets them. */
void test_user_array_fill(const test_user_array *a, uint8_t *src);

/** Fails the test unless `dst` is the source transposed; says how to repeat it.
 */
void test_user_array_expect(const test_user_array *a, const uint8_t *dst, const char *who);

#endif
