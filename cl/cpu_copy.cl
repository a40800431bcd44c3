/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family copy, CPU class: n contiguous units to n contiguous units.
 *
 *     for k < total_units: dst[dst_offset + k] = src[src_offset + k]
 *
 * for every point of the grid; one group moves one chunk. No guards.
 * Arguments after the common ten:
 *
 *   10  int chunk_axis            grid axis that counts chunks, -1: none
 *   11  rlo_index total_units     units of the contiguous run, >= 1
 *   12  rlo_index chunk_units     units of one chunk; the grid extent of
 *                                 chunk_axis is ceil(total / chunk), its two
 *                                 strides are chunk_units
 *
 * Any alignment works: lines are cut where the destination has its lines.
 * Chunks of a multiple of 64 bytes prevent two groups from sharing a line when
 * the destination is aligned. The parts of a chunk are copied in turns, a line
 * of each: hardware looks ahead within a page only, and reads several pages at
 * once faster. Parts should begin at different places of their pages: lines at
 * the same place wait for each other. 260 KiB, in parts of 65 KiB, is a good
 * size.
 */
#include "cpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_copy
#endif

/* Bytes that the prefetch runs ahead, where RLO_PREFETCH is on. */
#ifndef RLO_COPY_AHEAD
#define RLO_COPY_AHEAD 1024
#endif

/* Parts of a chunk that are copied in turns. */
#ifndef RLO_COPY_PARTS
#define RLO_COPY_PARTS 4
#endif

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
    RLO_COMMON_PARAMS,
    int chunk_axis,
    rlo_index total_units,
    rlo_index chunk_units) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(RLO_GROUP, n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
  long n = rlo_num_points(index, chunk_axis, chunk_units, total_units) *
           RLO_UNIT_BYTES;
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  rlo_piece_global(to, from, head);
  from += head;
  to += head;
  n -= head;
  const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
  const long part = whole / RLO_COPY_PARTS / RLO_LINE_BYTES * RLO_LINE_BYTES;
  for (long k = 0; k < part; k += RLO_LINE_BYTES) {
#pragma unroll
    for (int p = 0; p < RLO_COPY_PARTS; ++p) {
      const long at = p * part + k;
      rlo_prefetch(from + at + RLO_COPY_AHEAD);
      rlo_store_line(to + at, *(__global const rlo_line_any *)(from + at));
    }
  }
  for (long k = RLO_COPY_PARTS * part; k < whole; k += RLO_LINE_BYTES) {
    rlo_store_line(to + k, *(__global const rlo_line_any *)(from + k));
  }
  rlo_piece_global(to + whole, from + whole, n - whole);
  (void)fill_lo;
  (void)fill_hi;
}

#include "batch.cl"
