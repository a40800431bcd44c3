/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fuzz.h"
#include "message.h"
#include "options.h"
#include "pair_suite.h"

static void check_numbers(const char *text) {
  int64_t number = 0;
  if (rlo__number_parse("fuzz", "a number", text, -5, 1000, &number) == RLO__EXIT_OK) {
    FUZZ_CHECK(number >= -5 && number <= 1000);
  }
  if (rlo__size_parse("fuzz", "a size", text, 3, &number) == RLO__EXIT_OK) {
    FUZZ_CHECK(number >= 3);
  }
  double factor = 0;
  if (rlo__factor_parse("fuzz", "a factor", text, &factor) == RLO__EXIT_OK) {
    FUZZ_CHECK(isfinite(factor));
  }
}

static void check_lists(const char *text) {
  rlo__int_list list = {0};
  if (rlo__int_list_parse("fuzz", "a list", text, &list) == RLO__EXIT_OK) {
    FUZZ_CHECK(list.count >= 0 && list.count <= RLO_MAX_RANK);
  }
  int32_t permutation[RLO_MAX_RANK];
  for (int32_t rank = 0; rank <= RLO_MAX_RANK; rank += 1 + 4 * (rank > 3)) {
    if (rlo__permutation_parse("fuzz", "a permutation", text, rank, permutation) != RLO__EXIT_OK) {
      continue;
    }
    uint64_t seen = 0;
    for (int32_t k = 0; k < rank; ++k) {
      FUZZ_CHECK(permutation[k] >= 0 && permutation[k] < rank);
      seen |= UINT64_C(1) << permutation[k];
    }
    FUZZ_CHECK(seen == (UINT64_C(1) << rank) - 1);
  }
}

static void check_devices(const char *text) {
  rlo__device_choice choice = {0};
  if (rlo__device_choice_parse("fuzz", text, &choice) == RLO__EXIT_OK) {
    FUZZ_CHECK(choice.count >= 0 && choice.count <= RLO__MAX_DEVICES);
    FUZZ_CHECK(choice.count == 0 || (!choice.is_all && !choice.is_none));
    for (int32_t n = 0; n < choice.count; ++n) {
      FUZZ_CHECK(memchr(choice.devices[n].name, '\0', sizeof(choice.devices[n].name)) != NULL);
      FUZZ_CHECK(choice.devices[n].index >= -1);
    }
  }
}

/* Words of the command line, and lines of a suite. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char messages[1 << 16];
  messages[0] = '\0';
  rlo__message_hold(messages, sizeof(messages));
  char *text = malloc(size + 1);
  FUZZ_CHECK(text != NULL);
  memcpy(text, data, size);
  text[size] = '\0';
  check_numbers(text);
  check_lists(text);
  check_devices(text);
  rlo__pair_suite suite = {.verb = "fuzz"};
  if (rlo__pair_suite_add_line(&suite, text) == RLO__EXIT_OK) {
    for (size_t n = 0; n < suite.count; ++n) {
      fuzz_check_shape(&suite.pairs[n].src);
      fuzz_check_shape(&suite.pairs[n].dst);
    }
  }
  rlo__pair_suite_deinit(&suite);
  free(text);
  return 0;
}
