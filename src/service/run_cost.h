/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_RUN_COST_H
#define RLO_SERVICE_RUN_COST_H

#include <math.h>
#include <stdint.h>

/**
 * The time of a transfer in runs of `run_bytes`, divided by that of the same
 * bytes in long runs: 1 or more. A run of `good_bytes`, a storage's trait,
 * costs 1.08, a quarter of it 1.9, a sixteenth 6.5: the shape of reads and
 * writes of a solid-state disk with eight in flight.
 */
static inline double rlo__run_cost(int64_t run_bytes, int64_t good_bytes) {
  return run_bytes > 0
             ? hypot(1.0, 0.4 * (double)good_bytes / (double)run_bytes)
             : 1.0;
}

#endif
