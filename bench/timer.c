/* SPDX-License-Identifier: Apache-2.0 */
#include "timer.h"

#include <stdlib.h>
#include <time.h>

double bench_nanos_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_nanos_sleep(int64_t nanos) {
  struct timespec length = {.tv_sec = (time_t)(nanos / 1000000000),
                            .tv_nsec = (long)(nanos % 1000000000)};
  nanosleep(&length, NULL);
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

double bench_median(double *values, int32_t count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
