/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_LAUNCH_H
#define RLO_PLAN_GPU_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/checked.h"
#include "plan/gpu_cost.h"
#include "plan/grid.h"

/** Launches of the GPU class. Their kernels take the arguments and guards of
 *  plan/grid.h, and one more argument for dividing the index of a group by the
 *  grid's extents; a group has many work-items. */

/** Size of that argument in scalars, for rlo__grid_is_within_limits. */
#define RLO__GPU_GRID_SCALARS 8

/** Index of the argument that holds the grid's extents. */
#define RLO__GPU_GRID_ARGUMENT 7

/** Work-items of a group: 256, or the largest power of two below that the
 *  device takes. */
int64_t rlo__gpu_local_items(const rlo_device_info *device);

/**
 * Largest power of two, at most `limit` (itself one), that divides the address
 * of each point of a problem whose coordinate along `free_axis` (-1: none) is
 * 0, in bytes.
 *
 * @param form  of the side.
 * @param alignment_bytes  of memory + caller's offset on that side.
 */
int64_t rlo__gpu_alignment(const rlo_problem *problem,
                           const rlo_form *form,
                           int32_t free_axis,
                           int64_t alignment_bytes,
                           int64_t limit);

/** ceil(2^(31 + l) / divisor), to be read as uint, with l =
 * ceil(log2(divisor)): for n < 2^31, n * this / 2^(31 + l), rounded down, is n
 * / divisor. 2^31 >= divisor
 *  >= 1.
 *  @param out_log2  takes l. */
int64_t rlo__gpu_magic(int64_t divisor, int32_t *out_log2);

/** Adds axes of extent 1 before the others of a grid until it has `count`. */
void rlo__gpu_lead_axes(rlo__grid *grid, int32_t count);

/** The same, so that there are few numbers of axes, each of which is a program
 *  of its own. */
void rlo__gpu_round_axes(rlo__grid *grid);

/** Adds the argument that divides by the extents of a grid, each 1 .. 2^31. */
RLO_NODISCARD rlo_status rlo__gpu_add_magic(const rlo__grid *grid,
                                            rlo__launch *launch);

/** A number of groups as size_t; where that has 32 bits and is too small, one
 * that rlo__gpu_can_launch refuses. */
static inline size_t rlo__gpu_groups(int64_t count) {
  return (size_t)rlo__min(count, PTRDIFF_MAX);
}

/** Tells if this many groups can be launched: 2^24 - 1, which makes fewer than
 *  2^32 work-items. If not, `why` takes the reason. */
bool rlo__gpu_can_launch(size_t num_groups, rlo__str *why);

/** Begins a launch as rlo__grid_begin does, with `num_groups` groups of
 *  rlo__gpu_local_items work-items. The grid's axes are rounded, and each
 *  extent is below 2^31, which rlo__gpu_can_launch implies. */
RLO_NODISCARD rlo_status rlo__gpu_begin(const rlo__family_query *query,
                                        const rlo__grid_plan *plan,
                                        const char *kernel_file,
                                        size_t num_groups,
                                        rlo__launch *launch);

#endif
