/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_OCLGRIND_WATCHED_H
#define RLO_TESTS_OCLGRIND_WATCHED_H

#include "plan/family.h"

/**
 * True if Oclgrind 21.10 can watch a family's kernels for values that nobody
 * wrote: that check takes shuffled vectors for unwritten, or dies of them, and
 * gives up at an instruction (freeze) that the optimiser puts into the CPU's
 * tiles. It sees the GPU's tiles beside the device's alignment, where lanes
 * transpose no squares.
 */
bool oclgrind_can_watch(const rlo__family *family, bool is_aligned);

#endif
