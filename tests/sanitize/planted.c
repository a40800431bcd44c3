/* SPDX-License-Identifier: Apache-2.0 */

/* Faults that the sanitizers must find, one for each argument:
 *   planted heap|leak|undefined|race
 * Run in a build with sanitizers only. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *increment(void *payload) {
  for (int i = 0; i < 1000; ++i) {
    ++shared;
  }
  return payload;
}

static void race(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, increment, NULL) != 0) {
      exit(EXIT_SUCCESS);
    }
  }
  for (int i = 0; i < 2; ++i) {
    (void)pthread_join(threads[i], NULL);
  }
}

int main(int argc, char **argv) {
  const char *fault = argc > 1 ? argv[1] : "";
  if (strcmp(fault, "race") == 0) {
    race();
  }
  /* Through volatile, so that the compiler cannot see the fault coming. */
  char *volatile bytes = malloc(16);
  volatile int index = strcmp(fault, "heap") == 0 ? 16 : 15;
  volatile int big = strcmp(fault, "undefined") == 0 ? INT_MAX : 0;
  if (bytes == NULL) {
    return EXIT_SUCCESS;
  }
  bytes[index] = 1;
  (void)printf("%d %d %d\n", big + 1, bytes[index], shared);
  if (strcmp(fault, "leak") != 0) {
    free(bytes);
  }
  bytes = NULL;
  return EXIT_SUCCESS;
}
