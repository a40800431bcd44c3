/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_sum, GPU class: sums along axes without guards or quotients.
 *
 *     for c < cells:
 *         x = the sum of src[src_offset + s(c) + t] over the terms t of the
 *             reduction axes, in the order of problem.h
 *         y = &dst[dst_offset + d(c)]
 *         *y = to_dst(steps(x, *y))
 *
 * where s(c) and d(c) are the positions of point c of the grid. Arguments after
 * the common eleven, whose grid counts the kept axes:
 *
 *   11  int cells                   points of the grid
 *   12  rlo_grid sum_extent         the blocks of a sum: the outer reduction
 *                                   axes, then, as axis RLO_GRID_AXES - 1, the
 *                                   blocks along the innermost one
 *   13  rlo_grid sum_src_stride
 *   14  int16 sum_magic             as grid_magic
 *   15  int blocks                  of a cell, in all
 *   16  int row_units               points along the innermost reduction axis
 *   17  rlo_index row_src_stride    1 with RLO_ALONG_ROWS
 *   18  rlo_numbers numbers
 *
 * A group has RLO_CELLS cells and takes RLO_SLOTS blocks of each at a time. A
 * block belongs to RLO_TEAM work-items, each of which adds 16 / RLO_TEAM lanes
 * of it in registers. Lanes of several work-items, then blocks that a group has
 * at a time, are added as trees through local memory; what these trees come to,
 * pass after pass, is added by the first work-item of a cell.
 */
// define-matrix: -DRLO_ALONG_ROWS=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_TEAM=1 -DRLO_CELLS=256 -DRLO_SLOTS=1
// define-matrix: -DRLO_TEAM=1 -DRLO_CELLS=1 -DRLO_SLOTS=256 -DRLO_SUM_LEVELS=4 -DRLO_SUM_BLOCK=1 -DRLO_ALONG_ROWS=1
// define-matrix: -DRLO_TEAM=1 -DRLO_CELLS=32 -DRLO_SLOTS=8 -DRLO_SUM_LEVELS=10 -DRLO_COMPUTE=2 -DRLO_SRC_CLASS=4 -DRLO_SRC_BYTES=8 -DRLO_SRC_BITS=64 -DRLO_SRC_EXPONENT=11 -DRLO_SRC_MANTISSA=52 -DRLO_SRC_BIAS=1023 -DRLO_SRC_SPECIALS=1 -DRLO_SRC_BARE=0
// define-matrix: -DRLO_TEAM=4 -DRLO_CELLS=8 -DRLO_SLOTS=8 -DRLO_SUM_LEVELS=4 -DRLO_COMPUTE=0 -DRLO_SRC_CLASS=2 -DRLO_SRC_BYTES=1 -DRLO_SRC_BITS=8 -DRLO_DST_CLASS=2 -DRLO_DST_BYTES=8 -DRLO_DST_BITS=64 -DRLO_INDEX32=1
#include "sum_total.cl"
#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_compute_sum
#endif

/* 1: the innermost reduction axis is contiguous, so work-items of a team are
 * neighbours; 0: those of neighbouring cells are. */
#ifndef RLO_ALONG_ROWS
#define RLO_ALONG_ROWS 0
#endif

/* Work-items of a block, cells of a group, and blocks of a cell at a time:
 * powers of two, RLO_LOCAL together. RLO_TEAM is at most 16. */
#ifndef RLO_TEAM
#define RLO_TEAM  16
#define RLO_CELLS 4
#define RLO_SLOTS 4
#endif

/* Lanes and points of a block, as problem.h defines them; 1 point where points
 * are sums of blocks themselves. */
#define RLO_SUM_LANES 16
#ifndef RLO_SUM_BLOCK
#define RLO_SUM_BLOCK 1024
#endif

/* Lanes of a work-item; terms that it has in flight at a time, and of what is
 * left of a block: multiples of its lanes. */
#define RLO_ITEM_LANES (RLO_SUM_LANES / RLO_TEAM)
#define RLO_ITEM_TERMS 16
#define RLO_REST_TERMS (RLO_ITEM_LANES > 4 ? RLO_ITEM_LANES : 4)

/* From a work-item to the next of its team, and to the next slot. */
#define RLO_TEAM_STEP (RLO_ALONG_ROWS ? 1 : RLO_CELLS)
#define RLO_SLOT_STEP (RLO_TEAM * RLO_CELLS)

/* Adds `count` terms of a work-item, from number k of the block's n on; those
 * beyond n are read as the last one and left out. */
static inline void rlo_add_terms(__private rlo_lane *lanes,
                                 __global const uchar *from,
                                 int k,
                                 int n,
                                 rlo_index stride,
                                 const int count,
                                 const bool is_whole) {
  /* All are read before the first of them is added. */
  rlo_src_raw raw[RLO_ITEM_TERMS];
  RLO_UNROLL
  for (int t = 0; t < RLO_ITEM_TERMS; ++t) {
    const int term = k + t * RLO_TEAM;
    const rlo_index at = is_whole ? term : min(term, n - 1);
    if (t < count) {
      raw[t] = RLO_LOAD_SRC(__global, from + at * stride);
    }
  }
  RLO_UNROLL
  for (int t = 0; t < RLO_ITEM_TERMS; ++t) {
    if (t < count && (is_whole || k + t * RLO_TEAM < n)) {
      lanes[t % RLO_ITEM_LANES] += rlo_from_src(raw[t]);
    }
  }
}

/* A work-item's lanes of a block of n terms become one, as far as they can. */
static inline rlo_lane rlo_sum_lanes(__global const uchar *from,
                                     int first,
                                     int n,
                                     rlo_index stride) {
  rlo_lane lanes[RLO_ITEM_LANES];
  RLO_UNROLL
  for (int l = 0; l < RLO_ITEM_LANES; ++l) {
    lanes[l] = 0;
  }
  int k = 0;
  for (; k + RLO_ITEM_TERMS * RLO_TEAM <= n; k += RLO_ITEM_TERMS * RLO_TEAM) {
    rlo_add_terms(lanes, from, k + first, n, stride, RLO_ITEM_TERMS, true);
  }
  for (; k < n; k += RLO_REST_TERMS * RLO_TEAM) {
    rlo_add_terms(lanes, from, k + first, n, stride, RLO_REST_TERMS, false);
  }
  RLO_UNROLL
  for (int step = RLO_ITEM_LANES / 2; step > 0; step /= 2) {
    RLO_UNROLL
    for (int l = 0; l < step; ++l) {
      lanes[l] += lanes[l + step];
    }
  }
  return lanes[0];
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_GROUP_PARAMS,
    int cells,
    rlo_grid sum_extent,
    rlo_grid sum_src_stride,
    int16 sum_magic,
    int blocks,
    int row_units,
    rlo_index row_src_stride,
    rlo_numbers numbers) {
  __local rlo_lane values[RLO_LOCAL];
  const int item = (int)get_local_id(0);
#if RLO_ALONG_ROWS
  const int member = item % RLO_TEAM;
  const int cell_of_group = item / RLO_TEAM % RLO_CELLS;
  const rlo_index stride = RLO_SRC_BYTES;
#else
  const int member = item / RLO_CELLS % RLO_TEAM;
  const int cell_of_group = item % RLO_CELLS;
  const rlo_index stride = row_src_stride * RLO_SRC_BYTES;
#endif
  const int slot = item / RLO_SLOT_STEP;
  const int cell = (int)get_group_id(0) * RLO_CELLS + cell_of_group;
  rlo_index_list index;
  rlo_decode((uint)min(cell, cells - 1), grid_extent, grid_magic, &index);
  const rlo_index src_units = rlo_offset(&index, grid_src_stride);
  const rlo_index dst_units = rlo_offset(&index, grid_dst_stride);

  rlo_total total;
  total.parts = 0;
  /* The same number of passes for all: barriers may stand in this loop. */
  for (int pass = 0; pass < blocks; pass += RLO_SLOTS) {
    const int block = pass + slot;
    rlo_lane sum = 0;
    if (block < blocks && cell < cells) {
      rlo_decode((uint)block, sum_extent, sum_magic, &index);
      const int at = index.at[RLO_GRID_AXES - 1] * RLO_SUM_BLOCK;
      const rlo_index units = src_units + rlo_offset(&index, sum_src_stride);
      sum = rlo_sum_lanes(
          src + (src_offset_bytes + (ulong)(long)units * RLO_SRC_BYTES),
          member,
          min(row_units - at, RLO_SUM_BLOCK),
          stride);
    }
    RLO_UNROLL
    for (int step = RLO_TEAM / 2; step > 0; step /= 2) {
      values[item] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (member < step) {
        sum += values[item + step * RLO_TEAM_STEP];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    RLO_UNROLL
    for (int step = 1; step < RLO_SLOTS; step *= 2) {
      values[item] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      /* Slots without a block have 0, which changes no sum: none is -0. */
      if (slot % (2 * step) == 0) {
        sum += values[item + step * RLO_SLOT_STEP];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    rlo_total_add(&total, sum);
  }

  if (slot == 0 && member == 0 && cell < cells) {
    __global uchar *to =
        dst + (dst_offset_bytes + (ulong)(long)dst_units * RLO_DST_BYTES);
    rlo_dst_raw old = 0;
#if RLO_BETA
    old = RLO_LOAD_DST(__global, to);
#endif
    RLO_STORE_DST(
        __global, to, rlo_combine(rlo_total_end(&total), old, numbers));
  }
  (void)fill_lo;
  (void)fill_hi;
  (void)row_src_stride;
}
