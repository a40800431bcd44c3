/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_PEEL_H
#define RLO_HOST_PEEL_H

#include "relayout/problem.h"

/**
 * Takes a problem apart along its guards: the box is cut where they begin and
 * cease to hold, until in each part every guard holds, or a PAD guard never
 * does, so that the part is filled. Parts for which this takes too many cuts
 * keep their guards. Padding of a tiled layout is a few boxes that move and a
 * few that are filled.
 */

/** Receives a part, canonical and borrowed for the call. `is_plain` if it has
 *  no terms and no guards, or one PAD guard that never holds. */
typedef rlo_status (*rlo__host_part_fn)(void *payload, const rlo_problem *part, bool is_plain);

/**
 * Calls `fn` for parts that write every cell of the problem that the problem
 * writes, each in one part. Where units are less than a byte parts share bytes.
 * @param problem  canonical and moving.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; what canonicalization or fn returns.
 */
RLO_NODISCARD rlo_status rlo__host_peel(const rlo_problem *problem, rlo__host_part_fn fn,
                                        void *payload);

#endif
