/* SPDX-License-Identifier: Apache-2.0 */
#include "support/low_thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"

static bool are_low;

static bool is_named(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = names; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && strchr(",", at[length]) != NULL) {
      return true;
    }
  }
  return false;
}

#define LOWER(name, value, low)           \
  if (is_all || is_named(names, #name)) { \
    rlo__thresholds.name = (low);         \
    num_lowered += 1;                     \
  }

__attribute__((constructor)) static void lower_thresholds(void) {
  const char *names = getenv("RELAYOUT_TEST_LOW");
  if (names == NULL) {
    return;
  }
  const bool is_all = strcmp(names, "all") == 0;
  int num_lowered = 0;
  int num_names = 1;
  for (const char *at = names; (at = strchr(at, ',')) != NULL; ++at) {
    num_names += 1;
  }
  RLO__THRESHOLDS(LOWER)
  if (!is_all && num_lowered != num_names) {
    fprintf(stderr, "RELAYOUT_TEST_LOW: no threshold, or twice: %s\n", names);
    _Exit(2);
  }
  are_low = true;
}

bool test_thresholds_are_low(void) {
  return are_low;
}
