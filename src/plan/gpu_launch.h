/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_LAUNCH_H
#define RLO_PLAN_GPU_LAUNCH_H

#include "plan/grid.h"

/** What the families of GPUs share. Their kernels take the same first
 *  arguments and guards as those of CPUs, and one more that divides the number
 *  of a group by the grid's extents; a group is many work-items. */

/** That argument's bytes, counted in scalars as rlo__grid_is_within_limits
 *  does. */
#define RLO__GPU_GRID_SCALARS 8

/** What memory moves at least. */
#define RLO__GPU_SECTOR_BYTES 32

/** Number of the argument that holds the grid's extents. */
#define RLO__GPU_GRID_ARGUMENT 7

/** Work-items of a group: 256, or the largest power of two that the device
 *  takes. */
int64_t rlo__gpu_local_items(const rlo_device_info *device);

/**
 * What divides the address of each point of a problem whose coordinate along
 * `free_axis` (-1: none) is 0, in bytes, at most `limit`, a power of two.
 *
 * @param form  of the side.
 * @param alignment_bytes  of memory + caller's offset on that side.
 */
int64_t rlo__gpu_alignment(const rlo_problem *problem,
                           const rlo_form *form,
                           int32_t free_axis,
                           int64_t alignment_bytes,
                           int64_t limit);

/** As uint, ceil(2^(31 + l) / divisor) with l = ceil(log2(divisor)): for n <
 *  2^31, n * this / 2^(31 + l), rounded down, is n / divisor. 2^31 >= divisor
 *  >= 2. */
int64_t rlo__gpu_magic(int64_t divisor);

/**
 * The share of a run's bytes in the 32-byte sectors that memory moves for it,
 * on average.
 *
 * @param begin_bytes  what divides the addresses at which runs begin: a power
 *                     of two, at most 32.
 */
double rlo__gpu_sector_share(int64_t run_bytes, int64_t begin_bytes);

/**
 * The fraction of the copy limit that a family may reach: a guess, for nothing
 * was measured. Memory gives a lane 4 bytes, read and written, in the time of
 * some 30 instructions, which are done meanwhile but for some hindrance.
 *
 * @param src_share, dst_share  as rlo__gpu_sector_share has it, > 0.
 * @param instructions  that a lane takes to read a piece, or to write it.
 * @param piece_bytes   of a piece; below 4 it takes as long as 4.
 */
double rlo__gpu_rate(double src_share,
                     double dst_share,
                     double instructions,
                     int64_t piece_bytes);

/** What rlo__gpu_rate takes off for pieces below 4 bytes: more requests for the
 *  same bytes. */
double rlo__gpu_narrow(int64_t piece_bytes);

/** Whether so many groups can be launched; if not, say why. */
bool rlo__gpu_can_launch(size_t num_groups, rlo__str *why);

/** Begin a launch as rlo__grid_begin does, with `num_groups` groups of
 *  rlo__gpu_local_items work-items. Each grid extent is below 2^31, which
 *  rlo__gpu_can_launch implies. */
RLO_NODISCARD rlo_status rlo__gpu_begin(const rlo__family_query *query,
                                        const rlo__grid_plan *plan,
                                        const char *kernel_file,
                                        size_t num_groups,
                                        rlo__launch *launch);

#endif
