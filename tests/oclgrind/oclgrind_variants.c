/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "support/variant_runs.h"

/* Every kernel that planning can choose for the simulator, each on a small
 * problem; oclgrind_subset.c tells more of how it is judged. */
START_TEST(oclgrind_variants__run)
{
  test_device device = test_device_open();
  test_variants_run(&device, true, 1);
  test_device_close(&device);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("oclgrind_variants");
  TCase *tcase = tcase_create("device");
  tcase_set_timeout(tcase, 1200);
  tcase_add_test(tcase, oclgrind_variants__run);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failures = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
