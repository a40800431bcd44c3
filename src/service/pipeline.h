/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIPELINE_H
#define RLO_SERVICE_PIPELINE_H

#include "service/work.h"

/**
 * The order of the works of a pass: which can be done next. Two boxes are in
 * work, so that one is filled while the other is stored. Threads: the caller
 * holds a lock, but for create and release.
 */

/**
 * Begins a pass.
 * @param pass      borrowed.
 * @param host      borrowed.
 * @param staging  the layout's bytes, borrowed; aligned to
 *                 RLO__STAGING_ALIGNMENT.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__pipeline_create(const rlo__pass *pass,
                                              rlo__place *host,
                                              char *staging,
                                              rlo__pipeline **out_pipeline);

/** No work may be in flight. NULL is legal. */
void rlo__pipeline_release(rlo__pipeline *pipeline);

/** Takes the next work for a lane, or for another thread if `lane_number` is
 *  -1. @return false if there is none now. */
bool rlo__pipeline_take(rlo__pipeline *pipeline,
                        int32_t lane_number,
                        rlo__work *out_work);

/**
 * Ends a work that was taken and done.
 * @param status  that of rlo__work_do.
 * @return `status`; RLO_OK for a failed lane whose piece others can run.
 */
RLO_NODISCARD rlo_status rlo__pipeline_end_work(rlo__pipeline *pipeline,
                                                const rlo__work *work,
                                                rlo_status status);

/** Whether the pass has ended. */
bool rlo__pipeline_has_ended(const rlo__pipeline *pipeline);

#endif
