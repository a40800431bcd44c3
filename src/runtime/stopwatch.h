/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_STOPWATCH_H
#define RLO_RUNTIME_STOPWATCH_H

#include <time.h>

#include "relayout/opencl.h"

/** Times one command, or anything; started before it. */
typedef struct rlo__stopwatch {
  struct timespec start;
} rlo__stopwatch;

void rlo__stopwatch_start(rlo__stopwatch *watch);

/** Seconds since the start, by the host's clock. */
double rlo__stopwatch_seconds(const rlo__stopwatch *watch);

/**
 * Wait for the command's event, and release it.
 * @param out_nanos  how long it took by the device's clock, or by ours if the
 *        device has none (a queue without profiling).
 * @return RLO_OK; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__stopwatch_stop(const rlo__stopwatch *watch,
                                             cl_event event,
                                             double *out_nanos);

/** The problem of copying so many bytes: what the limit is measured with. */
void rlo__copy_problem(int64_t bytes, rlo_problem *out_problem);

/** Write `bytes` bytes of a buffer and wait: memory that nobody wrote is often
 *  not there, and reading it shows the speed of a single page of zeros. */
RLO_NODISCARD rlo_status rlo__touch_buffer(cl_command_queue queue,
                                           cl_mem buffer,
                                           int64_t bytes);

#endif
