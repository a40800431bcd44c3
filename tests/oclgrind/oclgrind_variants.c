/* SPDX-License-Identifier: Apache-2.0 */

#include "support/suite.h"
#include "support/variant_runs.h"

RLO_TIMEOUT(1200);

/* Every kernel that planning can choose for the simulator, each on a small
 * problem; oclgrind_subset.c tells more of how it is judged. */
RLO_TEST(oclgrind_variants__run) {
  test_device device = test_device_open();
  test_variants_run(&device, true, 1);
  test_device_close(&device);
}
