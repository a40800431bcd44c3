/* SPDX-License-Identifier: Apache-2.0 */
#include "oclgrind/watched.h"
#include "support/suite.h"
#include "support/variant_runs.h"

/*
 * Every kernel that planning can choose for the simulator, each on a small
 * problem. Those of the CPU class have neither local memory nor work-items that
 * share a place, and the widths of their units are left to test_device_bytes.
 * Values that nobody wrote are watched for in one width too, and where there
 * are few elements: that takes up to a hundred times as long.
 */

enum { MAX_WATCHED_ELEMENTS = 1000 };

RLO_TIMEOUT(1200);

static bool is_of_cpu(const test_variant_case *c) {
  return c->family->device_class == RLO_DEVICE_CLASS_CPU;
}

static bool is_any(const test_variant_case *c) {
  return c->family != NULL;
}

static bool is_watched(const test_variant_case *c) {
  return oclgrind_can_watch(c->family, c->is_aligned) &&
         test_variant_case_elements(c) <= MAX_WATCHED_ELEMENTS;
}

static void run(const test_cover *cover, int32_t min_variants) {
  test_device device = test_device_open();
  test_variants_run(&device, cover, min_variants, 1);
  test_device_close(&device);
}

RLO_TEST(oclgrind_variants__run) {
  const test_cover cover = {.is_small = true, .merges_widths = is_of_cpu};
  run(&cover, 200);
}

RLO_TEST(oclgrind_variants__run_uninitialized) {
  const test_cover cover = {
      .is_small = true, .filter = is_watched, .merges_widths = is_any};
  run(&cover, 80);
}
