/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_EXACT_COPY_H
#define RLO_TESTS_SUPPORT_EXACT_COPY_H

#include <stddef.h>

/** A copy of so many bytes in memory of that size, so that a sanitizer sees a
 *  reader that goes a byte too far. The caller frees it with free. */
void *test_exact_copy(const void *bytes, size_t size_bytes);

#endif
