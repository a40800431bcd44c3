/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family gather_rows, CPU class: rows that are contiguous on both sides, at
 * computed positions: a loaded index, a quotient. The problem is
 * compiled in; the last axis has stride 1 on both sides, and no term and no
 * guard depends on it.
 *
 *     for each row i, that is a point of the box without its last axis:
 *         q = the terms at i, once for the row
 *         if every SKIP guard holds, for k < the last extent:
 *             dst[dst(i) + k] =
 *                 every PAD guard holds ? src[src(i, q) + k] : fill
 *
 * Arguments: those of specialized.cl. A group moves RLO_GROUP_ROWS rows, or one
 * chunk of one row. The position of a row is computed RLO_GATHER_AHEAD rows
 * before the row is moved, so that scattered rows can be prefetched. Source and
 * destination may have any alignment.
 */
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_INDEX32=1 -DRLO_NT=1
// define-matrix: -DRLO_NUM_TERMS=1 -DRLO_TERMS=-8,0,1,0,0 -DRLO_SRC=0,0,1,5 -DRLO_DST=0,5,1,0 -DRLO_INDEX_BITS=32 -DRLO_INDEX_COUNT=3 -DRLO_PAD_GUARDS=1 -DRLO_GUARD_FORMS=8,0,0,0,1 -DRLO_CHUNK_UNITS=2 -DRLO_ROW_CHUNKS=3

#include "cpu_run.cl"
#include "specialized.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_gather_rows
#endif

/* Rows of the box. */
#ifndef RLO_ROWS
#define RLO_ROWS 3
#endif

/* Rows of a group; 1 if rows are cut into chunks. */
#ifndef RLO_GROUP_ROWS
#define RLO_GROUP_ROWS 1
#endif

/* Units of a chunk, and chunks of a row; a row of one chunk is whole. */
#ifndef RLO_CHUNK_UNITS
#define RLO_CHUNK_UNITS 5
#define RLO_ROW_CHUNKS  1
#endif

/* Rows between the computation of a position and the move; a power of two. */
#ifndef RLO_GATHER_AHEAD
#define RLO_GATHER_AHEAD 8
#endif

/* Bytes of a row that are prefetched; beyond, hardware prefetches. */
#ifndef RLO_GATHER_PREFETCH
#define RLO_GATHER_PREFETCH 1024
#endif

/* A row to be moved. from 0: the row is fill; to 0: it is not written. */
typedef struct rlo_place {
  __global const uchar *from;
  __global uchar *to;
} rlo_place;

RLO_INLINE rlo_place rlo_find_place(__global const uchar *src,
                                    __global const rlo_loaded *indices,
                                    __global uchar *dst,
                                    rlo_count row,
                                    rlo_index begin,
                                    long bytes) {
  rlo_point point;
  rlo_place place = {0, 0};
  bool is_read;
  bool is_written;
  rlo_decode_row(row, RLO_NUM_AXES - 1, &point);
  point.at[RLO_NUM_AXES - 1] = begin;
  rlo_find_terms(indices, &point);
  rlo_ask_guards(&point, &is_read, &is_written);
  if (is_written) {
    place.to = dst + (long)rlo_value(rlo_dst, &point) * RLO_UNIT_BYTES;
    if (is_read) {
      place.from = src + (long)rlo_value(rlo_src, &point) * RLO_UNIT_BYTES;
#if RLO_PREFETCH
      for (long k = 0; k < min(bytes, (long)RLO_GATHER_PREFETCH);
           k += RLO_LINE_BYTES) {
        rlo_prefetch(place.from + k);
      }
#endif
    }
  }
  (void)bytes;
  return place;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_SPECIALIZED_PARAMS) {
  __global const rlo_loaded *at = RLO_INDICES;
  const rlo_count group = (rlo_count)get_group_id(0);
  const rlo_count batch = group / RLO_ROW_CHUNKS;
  const rlo_index begin =
      (rlo_index)(group - batch * RLO_ROW_CHUNKS) * RLO_CHUNK_UNITS;
  const rlo_index units =
      min((rlo_index)RLO_CHUNK_UNITS, rlo_extents[RLO_NUM_AXES - 1] - begin);
  const long bytes = (long)units * RLO_UNIT_BYTES;
  const rlo_count first = batch * RLO_GROUP_ROWS;
  const rlo_count rows =
      min((rlo_count)RLO_GROUP_ROWS, (rlo_count)RLO_ROWS - first);
  src += src_offset_bytes;
  dst += dst_offset_bytes;
#if RLO_PAD_GUARDS > 0
  const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
#endif
  rlo_place places[RLO_GATHER_AHEAD];
  for (rlo_count r = 0; r < rows + RLO_GATHER_AHEAD; ++r) {
    __private rlo_place *slot = &places[r & (RLO_GATHER_AHEAD - 1)];
    if (r >= RLO_GATHER_AHEAD && slot->to != 0) {
#if RLO_PAD_GUARDS > 0
      if (slot->from == 0) {
        rlo_fill_run(slot->to, bytes, fill);
      } else
#endif
      {
        rlo_copy_run(slot->to, slot->from, bytes, 0);
      }
    }
    slot->to = 0;
    if (r < rows) {
      *slot = rlo_find_place(src, at, dst, first + r, begin, bytes);
    }
  }
  (void)fill_lo;
  (void)fill_hi;
}
