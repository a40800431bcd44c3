/* SPDX-License-Identifier: Apache-2.0 */
#include "oclgrind/watched.h"
#include "support/suite.h"
#include "support/variant_runs.h"

/*
 * Every kernel that planning can choose for the simulator, each on a small
 * problem. Those of the CPU class have neither local memory nor work-items that
 * share a place, and the widths of their units are left to test_device_bytes.
 * What the simulator can watch for values that nobody wrote is one test, for
 * that takes an option of it; the other has what is left.
 */

RLO_TIMEOUT(1200);

static bool is_watched(const test_variant_case *c) {
  return oclgrind_can_watch(c->family, c->is_aligned);
}

static bool is_unwatched(const test_variant_case *c) {
  return !is_watched(c);
}

static void run(const test_cover *cover, int32_t min_variants) {
  test_device device = test_device_open();
  test_variants_run(&device, cover, min_variants, 1);
  test_device_close(&device);
}

RLO_TEST(oclgrind_variants__watched_run) {
  const test_cover cover = {
      .is_small = true, .merges_widths = true, .filter = is_watched};
  run(&cover, 80);
}

RLO_TEST(oclgrind_variants__unwatched_run) {
  const test_cover cover = {.is_small = true,
                            .merges_widths = true,
                            .filter = is_unwatched,
                            .is_covered = is_watched};
  run(&cover, 80);
}
