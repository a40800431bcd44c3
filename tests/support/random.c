/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

test_random test_random_begin(const char *suite) {
  const char *text = getenv("RELAYOUT_TEST_SEED");
  uint64_t seed = 20261120;
  if (text != NULL && text[0] != '\0') {
    seed = strtoull(text, NULL, 0);
  }
  printf("repeat with: RELAYOUT_TEST_SEED=%" PRIu64 " %s\n", seed, suite);
  fflush(stdout);
  return (test_random){seed};
}

uint64_t test_random_bits(test_random *random) {
  /* A counter with an odd step, mixed until all its bits matter. */
  uint64_t bits = random->state += UINT64_C(0x9e3779b97f4a7c15);
  bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
  bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return bits ^ bits >> 32;
}

int64_t test_random_in(test_random *random, int64_t low, int64_t high) {
  uint64_t count = (uint64_t)(high - low) + 1;
  return low + (int64_t)(test_random_bits(random) % count);
}

bool test_random_once_in(test_random *random, int64_t times) {
  return test_random_in(random, 1, times) == 1;
}
