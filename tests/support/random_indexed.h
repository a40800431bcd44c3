/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_INDEXED_H
#define RLO_TESTS_SUPPORT_RANDOM_INDEXED_H

#include "relayout/shape.h"
#include "support/random.h"

/** A random arrangement as indexed.h tells it. */
typedef struct test_indexed {
  /** The array, the indices and the rows of the array that they name. */
  rlo_shape array, indices, rows;
  int32_t dim, batch_dims;
  /** The indices' memory, to be freed: one in eight of them names nothing, some
   *  of these by far. */
  void *index_memory;
  int64_t index_bytes;
  /** How it reads in the words of a failure. */
  char words[1200];
} test_indexed;

/**
 * Draw one: ranks up to 6 of the array, up to 3 of the indices, sizes of 0 now
 * and then, indices s32 or s64, any layouts; with at most `max_elements`
 * elements of the rows, about.
 * @param is_sum  the rows are the source, the array is the destination, so that
 *                layouts with a slot for several elements are the rows'.
 */
void test_random_indexed(test_random *random, rlo_dtype dtype, int64_t max_elements, bool is_sum,
                         test_indexed *out);

#endif
