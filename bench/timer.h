/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_TIMER_H
#define RLO_BENCH_TIMER_H

#include <stdint.h>

/** Nanoseconds of a clock that only goes forward. */
double bench_nanos_now(void);

/** Do nothing for a while. */
void bench_nanos_sleep(int64_t nanos);

/** The median of `count` > 0 values, which are sorted by this. */
double bench_median(double *values, int32_t count);

#endif
