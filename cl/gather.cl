/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family gather, both classes: any problem at all, compiled into the program.
 *
 *     for each point i of the box, in any order:
 *         q_t = floor(term_t(i, q_0 .. q_t-1) / divisor_t)
 *               or indices[term_t(i, q_0 .. q_t-1)], -1 if out of range
 *         if every SKIP guard holds:
 *             dst[dst(i)] = every PAD guard holds ? src[src(i, q)] : fill
 *
 * Arguments: those of specialized.cl.
 *
 * The points are cut into segments of RLO_SEGMENT units along the last axis;
 * a work-item moves RLO_PIECES segments, each get_global_size(0) behind the one
 * before, or with RLO_LOOP continues until there are no more. Segments of one
 * unit suit a GPU: neighbouring lanes, neighbouring cells, and several reads on
 * their way before the first write. Longer ones suit a CPU, which decodes once
 * and runs along.
 *
 * Set by the host, for each problem: everything below and in specialized.cl.
 * With RLO_INDEX32 int suffices for the number of segments too.
 */
// define-matrix: -DRLO_NUM_TERMS=2 -DRLO_TERMS=-8,0,1,0,0,0,3,0,0,0,1,0 -DRLO_SRC=0,0,1,3,5 -DRLO_DST=0,5,1,0,0 -DRLO_INDEX_BITS=64 -DRLO_INDEX_COUNT=3
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_INDEX32=1 -DRLO_LOCAL=256 -DRLO_PIECES=4
// define-matrix: -DRLO_NUM_TERMS=1 -DRLO_TERMS=3,0,1,2,0 -DRLO_SRC=0,0,1,3 -DRLO_DST=0,5,1,0 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_GUARD_FORMS=4,0,1,1,1,6,5,-1,0,0 -DRLO_SEGMENT=2 -DRLO_ROW_SEGMENTS=3 -DRLO_SEGMENTS=9 -DRLO_LOOP=1

#include "specialized.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gather
#endif

/* Work-items of a work-group. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 64
#endif

/* Units of a segment: 1 .. the last extent. */
#ifndef RLO_SEGMENT
#define RLO_SEGMENT 1
#endif

/* Segments of a row, and of the whole box. */
#ifndef RLO_ROW_SEGMENTS
#define RLO_ROW_SEGMENTS 5
#define RLO_SEGMENTS     15
#endif

/* Segments that a work-item moves together; more than 1 only of one unit. */
#ifndef RLO_PIECES
#define RLO_PIECES 1
#endif

/* 1: there may be more segments than work-items move so. */
#ifndef RLO_LOOP
#define RLO_LOOP 0
#endif

/* A point that is being moved: its cell, if it is written, and its unit unless
 * it is fill. */
typedef struct rlo_moved {
  __global rlo_unit *cell;
  bool is_written;
  bool is_read;
  rlo_unit unit;
} rlo_moved;

/* Fetches the unit of a point whose coordinates are known. */
static inline rlo_moved rlo_fetch(__global const rlo_unit *from,
                                  __global const rlo_loaded *indices,
                                  __global rlo_unit *to,
                                  __private rlo_point *point) {
  rlo_moved moved;
  rlo_find_terms(indices, point);
  rlo_ask_guards(point, &moved.is_read, &moved.is_written);
  if (moved.is_written) {
    moved.cell = to + rlo_value(rlo_dst, point);
    if (moved.is_read) {
      moved.unit = from[rlo_value(rlo_src, point)];
    }
  }
  return moved;
}

static inline void rlo_put(__private const rlo_moved *moved,
                           ulong fill_lo,
                           ulong fill_hi) {
  if (moved->is_written) {
    if (moved->is_read) {
      *moved->cell = moved->unit;
    } else {
      rlo_store_fill(moved->cell, fill_lo, fill_hi);
    }
  }
}

/* The point at which a segment begins. */
static inline rlo_point rlo_find(rlo_count segment) {
  rlo_point point;
  const rlo_count row = segment / RLO_ROW_SEGMENTS;
  point.at[RLO_NUM_AXES - 1] =
      (rlo_index)(segment - row * RLO_ROW_SEGMENTS) * RLO_SEGMENT;
  rlo_decode_row(row, RLO_NUM_AXES - 1, &point);
  return point;
}

/* Moves this segment and the other segments of the work-item. */
static inline void rlo_move(__global const rlo_unit *from,
                            __global const rlo_loaded *indices,
                            __global rlo_unit *to,
                            ulong fill_lo,
                            ulong fill_hi,
                            rlo_count segment) {
#if RLO_SEGMENT == 1
  /* All are read before the first of them is written. */
  rlo_moved moved[RLO_PIECES];
  RLO_UNROLL
  for (int n = 0; n < RLO_PIECES; ++n) {
    const rlo_count s = segment + (rlo_count)n * (rlo_count)get_global_size(0);
    moved[n].is_written = false;
    if (s < RLO_SEGMENTS) {
      rlo_point point = rlo_find(s);
      moved[n] = rlo_fetch(from, indices, to, &point);
    }
  }
  RLO_UNROLL
  for (int n = 0; n < RLO_PIECES; ++n) {
    rlo_put(&moved[n], fill_lo, fill_hi);
  }
#else
  if (segment < RLO_SEGMENTS) {
    rlo_point point = rlo_find(segment);
    /* The last segment of a row may be shorter. */
    const rlo_index begin = point.at[RLO_NUM_AXES - 1];
    const rlo_index end =
        min(begin + (rlo_index)RLO_SEGMENT, rlo_extents[RLO_NUM_AXES - 1]);
    for (rlo_index k = begin; k < end; ++k) {
      point.at[RLO_NUM_AXES - 1] = k;
      const rlo_moved moved = rlo_fetch(from, indices, to, &point);
      rlo_put(&moved, fill_lo, fill_hi);
    }
  }
#endif
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_SPECIALIZED_PARAMS) {
  __global const rlo_loaded *at = RLO_INDICES;
  __global const rlo_unit *from =
      (__global const rlo_unit *)(src + src_offset_bytes);
  __global rlo_unit *to = (__global rlo_unit *)(dst + dst_offset_bytes);
#if RLO_LOOP
  for (rlo_count s = (rlo_count)get_global_id(0); s < RLO_SEGMENTS;
       s += RLO_PIECES * (rlo_count)get_global_size(0)) {
    rlo_move(from, at, to, fill_lo, fill_hi, s);
  }
#else
  rlo_move(from, at, to, fill_lo, fill_hi, (rlo_count)get_global_id(0));
#endif
}
