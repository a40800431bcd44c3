/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_BOUNDS_H
#define RLO_HOST_BOUNDS_H

#include "relayout/problem.h"

/**
 * Whether every point of a problem certainly stays within the two memories: by
 * the bounds of the forms over the box, where the guards that hold for a term
 * alone count and others do not. False may also mean that this does not decide
 * it.
 *
 * @param problem  canonical, and not empty.
 */
bool rlo__host_is_within(const rlo_problem *problem);

#endif
