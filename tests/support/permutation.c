/* SPDX-License-Identifier: Apache-2.0 */
#include "support/permutation.h"

#include <stdlib.h>

static void swap(int32_t *a, int32_t *b) {
  const int32_t old = *a;
  *a = *b;
  *b = old;
}

void test_parse_permutation(const char *text, int32_t size, int32_t *out_permutation) {
  for (int32_t k = 0; k < size; ++k) {
    out_permutation[k] = k;
    if (text != NULL && *text != '\0') {
      char *end;
      out_permutation[k] = (int32_t)strtol(text, &end, 10);
      text = *end == ',' ? end + 1 : end;
    }
  }
}

void test_first_permutation(int32_t size, int32_t *out_permutation) {
  for (int32_t k = 0; k < size; ++k) {
    out_permutation[k] = k;
  }
}

bool test_next_permutation(int32_t size, int32_t *permutation) {
  /* The entries behind i have no later order. */
  int32_t i = size - 2;
  while (i >= 0 && permutation[i] > permutation[i + 1]) {
    --i;
  }
  if (i < 0) {
    return false;
  }
  int32_t j = size - 1;
  while (permutation[j] < permutation[i]) {
    --j;
  }
  swap(&permutation[i], &permutation[j]);
  for (int32_t a = i + 1, b = size - 1; a < b; ++a, --b) {
    swap(&permutation[a], &permutation[b]);
  }
  return true;
}
