/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "oclgrind/watched.h"
#include "support/suite.h"
#include "support/variant_runs.h"

/*
 * Kernels that planning can choose for the simulator, each on a small problem;
 * every third one without RELAYOUT_TEST_ALL.
 * The widths of units are left to test_device_bytes: each constant is simulated
 * in one. Values that nobody wrote are watched for where there are few
 * elements: that takes up to a hundred times as long. The GPU's tiles take
 * longest, in steps with their guards; beyond three guards they are simulated
 * only with RELAYOUT_TEST_ALL, and test_device_bytes runs them.
 */

enum { MAX_ELEMENTS = 20000, MAX_TILED_ELEMENTS = 700, MAX_WATCHED_ELEMENTS = 640 };

RLO_TIMEOUT(1200);

static bool is_any(const test_variant_case *c) {
  return c->family != NULL;
}

static bool is_simulated(const test_variant_case *c) {
  bool is_tiled =
      c->family->device_class == RLO_DEVICE_CLASS_GPU && strcmp(c->family->name, "tile") == 0;
  return getenv("RELAYOUT_TEST_ALL") != NULL ||
         test_variant_case_elements(c) <= (is_tiled ? MAX_TILED_ELEMENTS : MAX_ELEMENTS);
}

static bool is_watched(const test_variant_case *c) {
  return oclgrind_can_watch(c->family, c->is_aligned) &&
         test_variant_case_elements(c) <= MAX_WATCHED_ELEMENTS;
}

static int32_t stride(void) {
  return getenv("RELAYOUT_TEST_ALL") == NULL ? 3 : 1;
}

static void run(const test_cover *cover, int32_t min_variants, int32_t stride) {
  test_device device = test_device_open();
  test_variants_run(&device, cover, min_variants, stride);
  test_device_close(&device);
}

RLO_TEST(oclgrind_variants__run) {
  const test_cover cover = {.is_small = true, .filter = is_simulated, .merges_widths = is_any};
  run(&cover, 150, stride());
}

RLO_TEST(oclgrind_variants__run_uninitialized) {
  const test_cover cover = {.is_small = true, .filter = is_watched, .merges_widths = is_any};
  run(&cover, 60, stride());
}
