/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_LANE_H
#define RLO_SERVICE_LANE_H

#include "relayout/opencl.h"

/**
 * A context that runs pieces, one after the other on a queue of its own: one
 * thread's, which waits for each. Where the device shares the host's memory a
 * piece runs where it lies; else it is copied to buffers and back.
 */
typedef struct rlo__lane rlo__lane;

/** Retains the context. @param copies  to buffers and back, whatever the device
 *  is. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__lane_create(rlo_context *context,
                                          bool copies,
                                          rlo__lane **out_lane);

/** NULL is legal. */
void rlo__lane_release(rlo__lane *lane);

/** Borrowed. */
rlo_context *rlo__lane_context(const rlo__lane *lane);

/** Whether pieces are copied; the memory that they come from and go to may then
 *  be the same. */
bool rlo__lane_copies(const rlo__lane *lane);

/** Bytes of the buffers, which stay for the next piece. */
int64_t rlo__lane_buffer_bytes(const rlo__lane *lane);

/** Releases the buffers. */
void rlo__lane_trim(rlo__lane *lane);

/**
 * Runs a plan over host memory and waits for it. If the lane copies, `src` is
 * copied first; `before_run`, unless NULL, is then called to put what the
 * destination holds into `dst`, which is copied too.
 *
 * @param src, dst  src_bytes and dst_bytes long; NULL for 0 bytes.
 * @return RLO_OK; what rlo_enqueue and rlo_buffer_create return.
 */
RLO_NODISCARD rlo_status rlo__lane_run(rlo__lane *lane,
                                       rlo_plan *plan,
                                       void *src,
                                       int64_t src_bytes,
                                       void *dst,
                                       int64_t dst_bytes,
                                       rlo_status (*before_run)(void *payload),
                                       void *payload);

#endif
