/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL driver that ends the process as soon as the loader asks for its
 * platforms, in the way that RELAYOUT_TEST_DEATH says.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void *clGetExtensionFunctionAddress(const char *name);
int clGetPlatformInfo(void);

static int die(unsigned entries, void *platforms, unsigned *count) {
  (void)entries;
  (void)platforms;
  (void)count;
  const char *death = getenv("RELAYOUT_TEST_DEATH");
  if (death == NULL || strcmp(death, "abort") == 0) {
    abort();
  }
  if (strcmp(death, "segv") == 0) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  exit(atoi(death));
}

void *clGetExtensionFunctionAddress(const char *name) {
  union {
    int (*function)(unsigned, void *, unsigned *);
    void *address;
  } die_as = {die};

  return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? die_as.address : NULL;
}

/* The loader takes no library for a driver without it. */
int clGetPlatformInfo(void) {
  return die(0, NULL, NULL);
}
