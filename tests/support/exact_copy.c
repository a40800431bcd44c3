/* SPDX-License-Identifier: Apache-2.0 */
#include "support/exact_copy.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void *test_exact_copy(const void *bytes, size_t size_bytes) {
  void *copy = malloc(size_bytes > 0 ? size_bytes : 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, bytes, size_bytes);
  return copy;
}
