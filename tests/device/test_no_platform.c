/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "relayout/opencl.h"
#include "support/suite.h"

/* A machine without any OpenCL driver: the loader looks into an empty folder.
 * That has to be said before its first call, hence a program of its own. */

RLO_TEST(test_no_platform__the_list_says_what_to_install) {
  int32_t count = -1;
  ck_assert_int_eq(rlo_device_list(NULL, 0, 0, &count), RLO_NOT_FOUND);
  ck_assert_int_eq(count, -1);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "no OpenCL platform was found"));
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "pocl-opencl-icd"));
}

RLO_TEST(test_no_platform__no_context_either) {
  rlo_context *context = NULL;
  ck_assert_int_eq(rlo_context_create_default(-1, NULL, &context), RLO_NOT_FOUND);
  ck_assert_ptr_null(context);
  ck_assert_int_eq(rlo_context_create_default(0, NULL, &context), RLO_NOT_FOUND);
}

int main(int argc, char **argv) {
  char folder[] = "/tmp/relayout_no_platform_XXXXXX";
  if (mkdtemp(folder) == NULL || setenv("OCL_ICD_VENDORS", folder, 1) != 0) {
    return EXIT_FAILURE;
  }
  int status = test_suite_run(argc, argv);
  rmdir(folder);
  return status;
}
