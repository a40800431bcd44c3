/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_SLICES_H
#define RLO_HOST_SLICES_H

#include "relayout/problem.h"

/**
 * A problem that the reference runs, cut along one axis, so that threads may
 * run slices of it.
 */
typedef struct rlo__host_slices {
  /** Owned. */
  rlo_problem *problem;
  int32_t axis;
  /** Points of the axis in a slice, but for the last one. */
  int64_t points;
  /** At least 1. */
  int64_t count;
  /** Points of the box. */
  double weight;
} rlo__host_slices;

/** Copies a problem and cuts it, into one slice if `is_whole`, and otherwise
 *  where no two slices write one byte; it is canonical then. */
RLO_NODISCARD rlo_status rlo__host_slices_init(const rlo_problem *problem,
                                               bool is_whole,
                                               rlo__host_slices *out);
void rlo__host_slices_deinit(rlo__host_slices *slices);

/** Runs the slices first <= n < end. The memories are those of
 *  rlo_problem_run_host_indexed.
 *  @return what that returns; RLO_OUT_OF_MEMORY. Threads: safe for slices that
 *          do not overlap. */
RLO_NODISCARD rlo_status rlo__host_slices_run(const rlo__host_slices *slices,
                                              const void *src,
                                              const void *indices,
                                              void *dst,
                                              int64_t first,
                                              int64_t end);

#endif
