/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverts the ids of a segment sum: a stable counting sort of rows, without
 * atomics, in three phases. Plain OpenCL C 1.2; both classes.
 *
 *     phase 0:  count[c][s] = rows of chunk c in segment s
 *     phase 1:  count[c][s] = place of the first row of chunk c in segment s:
 *                             after all segments before s and, in s, after all
 *                             chunks before c;
 *               offset[s]   = place of the first row of segment s;
 *                             offset[segments] is the end
 *     phase 2:  for each row r of chunk c, ascending, in segment s:
 *                   row[count[c][s]++] = r mod batch_rows
 *
 * Row r has the segment (r / batch_rows) * batch_segments + id, if 0 <= id <
 * batch_segments; else it is left out. A work-item processes one chunk in phases
 * 0 and 2; in phase 1 one work-group shares the segments.
 *
 * Arguments:
 *
 *   0  __global const uchar *ids
 *   1  ulong id_offset_bytes      a multiple of an id
 *   2  __global uchar *order      the offsets, the rows, then at count_at the
 *                                 counts: signed numbers of RLO_ORDER_BITS
 *   3  ulong order_offset_bytes   a multiple of such a number
 *   4  long rows
 *   5  long batch_rows            >= 1
 *   6  long segments
 *   7  long batch_segments
 *   8  long chunks                >= 1
 *   9  long chunk_rows
 *  10  long count_at              in numbers
 *  11  long id_base, long id_stride: with RLO_LINEAR, ids from row to row
 *
 * Without RLO_LINEAR a problem is compiled in, as described in specialized.cl:
 * its box counts the rows, its source position is that of an id.
 */
// define-matrix: -DRLO_PHASE=1 -DRLO_LOCAL=64 -DRLO_ORDER_BITS=64
// define-matrix: -DRLO_PHASE=2 -DRLO_UNIT_BYTES=8 -DRLO_LINEAR=1
// define-matrix: -DRLO_PHASE=0 -DRLO_NUM_TERMS=1 -DRLO_TERMS=3,0,1,2,0 -DRLO_SRC=0,0,1,3 -DRLO_DST=0,5,1,0

#include "specialized.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL segment_order
#endif

/* 0 count, 1 scan, 2 place. */
#ifndef RLO_PHASE
#define RLO_PHASE 0
#endif

/* Work-items of a work-group. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 1
#endif

/* Width of the order's numbers: 32 or 64. */
#ifndef RLO_ORDER_BITS
#define RLO_ORDER_BITS 32
#endif

/* 1: row r has its id at id_base + r * id_stride. */
#ifndef RLO_LINEAR
#define RLO_LINEAR 0
#endif

#if RLO_ORDER_BITS == 32
typedef int rlo_number;
#else
typedef long rlo_number;
#endif

#if RLO_UNIT_BYTES == 8
typedef long rlo_id;
#else
typedef int rlo_id;
#endif

/* The position of the id of a row. */
static inline long rlo_id_position(long row, long id_base, long id_stride) {
#if RLO_LINEAR
  return id_base + row * id_stride;
#else
  rlo_point point;
  const rlo_count extent = (rlo_count)rlo_extents[RLO_NUM_AXES - 1];
  const rlo_count rest = (rlo_count)row / extent;
  rlo_decode_row(rest, RLO_NUM_AXES - 1, &point);
  point.at[RLO_NUM_AXES - 1] = (rlo_index)((rlo_count)row - rest * extent);
  rlo_find_terms(0, &point);
  (void)id_base;
  (void)id_stride;
  return (long)rlo_value(rlo_src, &point);
#endif
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    __global const uchar *ids,
    ulong id_offset_bytes,
    __global uchar *order,
    ulong order_offset_bytes,
    long rows,
    long batch_rows,
    long segments,
    long batch_segments,
    long chunks,
    long chunk_rows,
    long count_at,
    long id_base,
    long id_stride) {
  __global const rlo_id *id_of =
      (__global const rlo_id *)(ids + id_offset_bytes);
  __global rlo_number *offset =
      (__global rlo_number *)(order + order_offset_bytes);
  __global rlo_number *count = offset + count_at;

#if RLO_PHASE == 1
  __local long sums[RLO_LOCAL];
  const long item = (long)get_local_id(0);
  const long share = (segments + RLO_LOCAL - 1) / RLO_LOCAL;
  const long first = min(item * share, segments);
  const long end = min(first + share, segments);
  long begin = 0;
  for (long c = 0; c < chunks; ++c) {
    for (long s = first; s < end; ++s) {
      begin += count[c * segments + s];
    }
  }
  sums[item] = begin;
  barrier(CLK_LOCAL_MEM_FENCE);
  begin = 0;
  for (long i = 0; i < item; ++i) {
    begin += sums[i];
  }
  for (long s = first; s < end; ++s) {
    offset[s] = (rlo_number)begin;
    for (long c = 0; c < chunks; ++c) {
      const long rows_here = count[c * segments + s];
      count[c * segments + s] = (rlo_number)begin;
      begin += rows_here;
    }
  }
  if (item == RLO_LOCAL - 1) {
    offset[segments] = (rlo_number)begin;
  }
#else
  const long chunk = (long)get_global_id(0);
  if (chunk < chunks) {
    const long first = min(chunk * chunk_rows, rows);
    const long end = min(first + chunk_rows, rows);
    count += chunk * segments;
#if RLO_PHASE == 0
    for (long s = 0; s < segments; ++s) {
      count[s] = 0;
    }
#else
    __global rlo_number *row = offset + segments + 1;
#endif
    for (long r = first; r < end; ++r) {
      const rlo_id id = id_of[rlo_id_position(r, id_base, id_stride)];
      const long batch = r / batch_rows;
      if (id >= 0 && id < batch_segments) {
        __global rlo_number *place = &count[batch * batch_segments + id];
        const rlo_number n = *place;
        *place = n + 1;
#if RLO_PHASE == 2
        row[n] = (rlo_number)(r - batch * batch_rows);
#endif
      }
    }
  }
#endif
  (void)id_of;
  (void)rows;
  (void)batch_rows;
  (void)batch_segments;
  (void)chunk_rows;
  (void)id_base;
  (void)id_stride;
}
