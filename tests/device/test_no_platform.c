/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "relayout/opencl.h"
#include "support/suite.h"

/* A machine without any OpenCL driver: the loader looks into an empty folder.
 * That has to be said before its first call, hence a program of its own. */

/* ----------------------------------------------------------- before it is loaded */

enum { THREADS = 8 };

typedef struct getter {
  void *loader;
  const char *missing;
  int32_t asked;
  atomic_int loaded, refused;
} getter;

static void *get(void *payload, const char *name) {
  getter *g = payload;
  ++g->asked;
  return strcmp(name, g->missing) != 0 ? dlsym(g->loader, name) : NULL;
}

static void load(void *payload) {
  getter *g = payload;
  const rlo_status status = rlo_opencl_load(get, g);
  atomic_fetch_add(&g->loaded, status == RLO_OK);
  atomic_fetch_add(&g->refused, status == RLO_ALREADY_EXISTS);
}

RLO_TEST(test_no_platform__a_getter_is_asked_once) {
  getter g = {.loader = dlopen("libOpenCL.so.1", RTLD_NOW), .missing = "clFlush"};
  ck_assert_int_eq(rlo_opencl_load(get, &g), RLO_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "has no clFlush"));
  g.missing = "";
  g.asked = 0;
  rlo__thread threads[THREADS];
  for (int32_t i = 0; i < THREADS; ++i) {
    ck_assert_int_eq(rlo__thread_start(load, &g, &threads[i]), RLO_OK);
  }
  for (int32_t i = 0; i < THREADS; ++i) {
    rlo__thread_join(&threads[i]);
  }
  ck_assert_int_eq(g.loaded, 1);
  ck_assert_int_eq(g.refused, THREADS - 1);
  ck_assert_int_eq(g.asked, 49);
  ck_assert_int_eq(rlo_opencl_load(NULL, NULL), RLO_OK);
}

/* -------------------------------------------------------------------- loaded */

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
