/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_CLOCK_H
#define RLO_BASE_CLOCK_H

#include <time.h>

/** Seconds of the monotonic clock, to be subtracted from each other. */
static inline double rlo__clock_seconds(void) {
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
