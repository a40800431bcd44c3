/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_REDISTRIBUTE_H
#define RLO_TESTS_SUPPORT_REDISTRIBUTE_H

#include "relayout/redistribution.h"

/** The memory of a device, and a byte behind it that nobody writes. */
typedef struct test_memory {
  unsigned char *bytes;
  size_t count;
} test_memory;

/** Memory for arrays of this shape, of bytes 0xa5. The caller frees `bytes`. */
test_memory test_memory_make(const rlo_shape *shape);

/** Makes a plan of a redistribution from the first shape and sharding to the
 *  second. Returns what making it returned. */
rlo_status test_redistribution_create(const rlo_shape shapes[2], rlo_sharding *const shardings[2],
                                      const int32_t *permutation, int64_t num_devices,
                                      rlo_redistribution **out_plan);

/** Runs the problems of a list from one memory to another; releases the list.
 */
void test_run_list(rlo_problem_list *list, const void *src, void *dst);

/** Copies what a device holds of an array of this shape from the whole array,
 *  on the host: by a slice, not by a redistribution. `part` has the bytes of
 *  the device's shard. */
void test_cut(const rlo_sharding *sharding, const rlo_shape *shape, int64_t device,
              const void *whole, void *part);

/** Runs a plan in host memory: every device has a part of `from`, and is given
 *  one of `to`, whose `bytes` the caller frees. `shape` and `sharding` are
 *  those of the destination. Returns the bytes of all messages. */
int64_t test_redistribute(const rlo_redistribution *plan, const rlo_shape *shape,
                          const rlo_sharding *sharding, const test_memory *from, test_memory *to);

#endif
