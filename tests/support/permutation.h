/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_PERMUTATION_H
#define RLO_TESTS_SUPPORT_PERMUTATION_H

#include <stdbool.h>
#include <stdint.h>

/** All permutations of 0 .. size-1, in lexical order. */

/** One as "2,0,1"; the identity if the text is NULL or "". */
void test_parse_permutation(const char *text, int32_t size, int32_t *out_permutation);

/** The first one: the identity. */
void test_first_permutation(int32_t size, int32_t *out_permutation);

/** Go to the next one; false after the last. */
bool test_next_permutation(int32_t size, int32_t *permutation);

#endif
