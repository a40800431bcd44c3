/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "support/variant_runs.h"

static test_device device;

static void open_device(void) {
  device = test_device_open();
}

static void close_device(void) {
  test_device_close(&device);
}

START_TEST(test_device_variants__each_moves_every_byte)
{ test_variants_run(&device, false, TEST_IS_SANITIZED ? 12 : 1); }

END_TEST

int main(void) {
  Suite *suite = suite_create("device_variants");
  TCase *tcase = tcase_create("device");
  tcase_set_timeout(tcase, 600);
  tcase_add_unchecked_fixture(tcase, open_device, close_device);
  tcase_add_test(tcase, test_device_variants__each_moves_every_byte);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failures = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
