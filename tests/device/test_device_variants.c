/* SPDX-License-Identifier: Apache-2.0 */

#include "support/device_suite.h"
#include "support/variant_runs.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(600);

RLO_TEST(test_device_variants__each_moves_every_byte) {
  test_variants_run(&device, false, TEST_IS_SANITIZED ? 12 : 1);
}
