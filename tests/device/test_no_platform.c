/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "relayout/opencl.h"

/* A machine without any OpenCL driver: the loader looks into an empty folder.
 * That has to be said before its first call, hence a program of its own. */

START_TEST(test_no_platform__the_list_says_what_to_install)
{
  int32_t count = -1;
  ck_assert_int_eq(rlo_device_list(NULL, 0, &count), RLO_NOT_FOUND);
  ck_assert_int_eq(count, -1);
  ck_assert_ptr_nonnull(
      strstr(rlo_error_last()->message, "no OpenCL platform was found"));
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "pocl-opencl-icd"));
}

END_TEST

START_TEST(test_no_platform__no_context_either)
{
  rlo_context *context = NULL;
  ck_assert_int_eq(rlo_context_create_default(-1, NULL, &context),
                   RLO_NOT_FOUND);
  ck_assert_ptr_null(context);
  ck_assert_int_eq(rlo_context_create_default(0, NULL, &context),
                   RLO_NOT_FOUND);
}

END_TEST

int main(void) {
  char folder[] = "/tmp/relayout_no_platform_XXXXXX";
  if (mkdtemp(folder) == NULL || setenv("OCL_ICD_VENDORS", folder, 1) != 0) {
    return EXIT_FAILURE;
  }
  Suite *suite = suite_create("no_platform");
  TCase *tcase = tcase_create("device");
  tcase_add_test(tcase, test_no_platform__the_list_says_what_to_install);
  tcase_add_test(tcase, test_no_platform__no_context_either);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failures = srunner_ntests_failed(runner);
  srunner_free(runner);
  rmdir(folder);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
