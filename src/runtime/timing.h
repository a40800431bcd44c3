/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_TIMING_H
#define RLO_RUNTIME_TIMING_H

#include "runtime/context.h"

/** A queue with profiling and two buffers of the library's own, to time kernels
 *  on. Zeros are a legal value. */
typedef struct rlo__timing {
  /** Borrowed. */
  rlo_context *context;
  cl_command_queue queue;
  cl_mem src, dst;
} rlo__timing;

/**
 * Creates the queue and the buffers, and writes every byte of both: memory that
 * was never written is often not allocated, and reading it measures the speed
 * of a single page of zeros.
 * @param src_bytes, dst_bytes  0 is legal and makes a buffer of 1 byte.
 * @param timing  zeroed. On failure too, the caller calls rlo__timing_deinit.
 * @return RLO_OK; RLO_DEVICE; or a failure of rlo_buffer_create.
 */
RLO_NODISCARD rlo_status rlo__timing_init(rlo_context *context,
                                          int64_t src_bytes,
                                          int64_t dst_bytes,
                                          rlo__timing *timing);

/** Waits for the queue and releases everything. */
void rlo__timing_deinit(rlo__timing *timing);

/**
 * Chooses between two measurements of a command: that of the device's clock,
 * unless it is less than 1/10,000 of the host's, which also waits, or longer
 * than that. Some drivers' clocks stand still (Mesa 22.3's llvmpipe counts 1 ns
 * for 10 ms) or count in another unit.
 */
double rlo__timing_choose(double host_nanos, double device_nanos);

/**
 * Waits for the event of a command, and releases it.
 * @param begun  rlo__clock_seconds() before the command was enqueued.
 * @param out_nanos  how long the command took by the device's clock; where that
 *                   is not believed, or unknown, the host's time since `begun`.
 * @return RLO_OK; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__timing_wait(cl_event event,
                                          double begun,
                                          double *out_nanos);

/** Writes the problem that copies so many bytes, which the copy limit is
 *  measured with. */
void rlo__copy_problem_init(int64_t bytes, rlo_problem *out_problem);

#endif
