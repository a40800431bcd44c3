/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_MEMCHECK_H
#define RLO_TESTS_SUPPORT_MEMCHECK_H

#include "support/device_arena.h"

/**
 * Tells valgrind's memcheck about memory that kernels see. Outside of memcheck
 * nothing of this has an effect. Memcheck reports bytes that nobody wrote once
 * something depends on them: the comparison of a result.
 */

/** True if the program runs under valgrind. */
bool test_memcheck_watches(void);

/** Forbids access to this memory from now on. */
void test_memcheck_forbid(const void *at, size_t bytes);

/** Marks these bytes of a buffer as never written. */
void test_memcheck_forget_buffer(const test_device *device, cl_mem buffer, int64_t offset,
                                 int64_t bytes);

/** Makes the device's local memory one that nobody wrote: PoCL has a block of
 * it for each thread, in which a kernel finds what the one before it left. One
 *  thread, POCL_MAX_PTHREAD_COUNT=1. */
void test_memcheck_forget_local(const test_device *device);

#endif
