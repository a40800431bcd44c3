/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family bits, both classes: any problem that moves elements of 1, 2, 4 or 8
 * bits, compiled into the program.
 *
 *     for each byte of the destination's hull, each by one work-item:
 *         for each element of the byte that is a cell of the box,
 *                 unless a SKIP guard fails for its point i:
 *             every PAD guard holds ? src[src(i, q)] : fill
 *         the other bits stay as they are
 *
 * So no two work-items touch one byte, and no byte outside of the hull is read
 * or written. A byte of which all elements are written is not read.
 *
 * Arguments: those of specialized.cl; offsets are any numbers of bytes.
 * Positions count elements.
 *
 * The cells are found from their place: the destination's axes make up
 * *levels*, of falling stride, each of which reaches beyond all later ones. A
 * level is one axis, or several that continue each other, such as a tile and the
 * place in it. The leading levels count rows, which begin at the same bit of a
 * byte and share none; a row is cut into segments of RLO_SEGMENT bytes, and a
 * work-item takes one, get_global_size(0) behind the one before with RLO_LOOP.
 * From cell to cell the work-item goes along the last axis while it can.
 *
 * Set by the host, for each problem: everything below and in specialized.cl.
 * With RLO_INDEX32 int suffices for the number of segments too.
 */
// define-matrix: -DRLO_BITS=1 -DRLO_INDEX32=1 -DRLO_LOCAL=256 -DRLO_SEGMENT=4
// define-matrix: -DRLO_BITS=8 -DRLO_FILL_PARTS=3 -DRLO_LOOP=1
// define-matrix: -DRLO_BITS=2 -DRLO_NUM_TERMS=1 -DRLO_TERMS=3,0,1,2,0 -DRLO_SRC=0,0,1,3 -DRLO_DST=0,5,1,0 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_GUARD_FORMS=4,0,1,1,1,6,5,-1,0,0 -DRLO_RUNS=0

#define RLO_UNIT_BYTES 1
#include "specialized.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL bits
#endif

/* Bits of an element: 1, 2, 4 or 8. */
#ifndef RLO_BITS
#define RLO_BITS 4
#endif

/* Elements that the fill consists of: that at position p is p modulo this. */
#ifndef RLO_FILL_PARTS
#define RLO_FILL_PARTS 1
#endif

/* Levels, and how many of them count rows. For each level: its stride; its
 * number of places and the first; its first axis and the one behind its last.
 * And for each axis its step within its level. */
#ifndef RLO_LEVELS
#define RLO_LEVELS     2
#define RLO_ROW_LEVELS 0
#define RLO_LEVEL_LIST 5, 3, 0, 0, 1, 1, 5, 0, 1, 2
#define RLO_AXIS_STEPS 1, 1
#endif

/* Position of the first row, in elements from the destination's first byte on;
 * and the elements of a row. */
#ifndef RLO_FIRST
#define RLO_FIRST     0
#define RLO_ROW_CELLS 15
#endif

/* 1: consecutive points of the last axis are consecutive cells, and have equal
 * terms. */
#ifndef RLO_RUNS
#define RLO_RUNS 1
#endif

/* Work-items of a work-group. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 1
#endif

/* Bytes of a segment, segments of a row and of all rows. */
#ifndef RLO_SEGMENT
#define RLO_SEGMENT      1024
#define RLO_ROW_SEGMENTS 1
#define RLO_SEGMENTS     1
#endif
#ifndef RLO_ROW_SEGMENTS
#define RLO_ROW_SEGMENTS 1
#define RLO_SEGMENTS     1
#endif

/* 1: there may be more segments than work-items. */
#ifndef RLO_LOOP
#define RLO_LOOP 0
#endif

#define RLO_BYTE_CELLS (8 / RLO_BITS)
#define RLO_LOW_BITS   ((1 << RLO_BITS) - 1)
#define RLO_LAST       (RLO_NUM_AXES - 1)

/* Whole bytes of fill from which on they are filled as such. */
#if RLO_FILL_PARTS == 1
#define RLO_LEAST_FILL 1
#else
#define RLO_LEAST_FILL (bytes + 1)
#endif

/* The bit of its first byte at which each row begins, in elements. */
#define RLO_PHASE (RLO_FIRST & (RLO_BYTE_CELLS - 1))

#if RLO_LEVELS > 0
__constant rlo_index rlo_levels[] = {RLO_LEVEL_LIST};
__constant rlo_index rlo_steps[] = {RLO_AXIS_STEPS};
#endif

/* Sets the coordinates of the axes of a level from a place of it. */
static inline void rlo_set_level(int l,
                                 rlo_index place,
                                 __private rlo_point *point) {
#if RLO_LEVELS > 0
  __constant const rlo_index *level = &rlo_levels[5 * l];
  place += level[2];
  RLO_UNROLL
  for (int a = 0; a < RLO_NUM_AXES; ++a) {
    if (a >= level[3] && a < level[4]) {
      point->at[a] = place / rlo_steps[a];
      place -= point->at[a] * rlo_steps[a];
    }
  }
#endif
}

/* Sets the coordinates that count rows. Returns the position at which the row
 * begins. */
static inline rlo_index rlo_find_row(rlo_count row,
                                     __private rlo_point *point) {
  rlo_index position = RLO_FIRST;
#if RLO_LEVELS > 0
  RLO_UNROLL
  for (int l = RLO_ROW_LEVELS - 1; l >= 0; --l) {
    __constant const rlo_index *level = &rlo_levels[5 * l];
    const rlo_count rest = row / (rlo_count)level[1];
    const rlo_index place = (rlo_index)(row - rest * (rlo_count)level[1]);
    row = rest;
    position += place * level[0];
    rlo_set_level(l, place, point);
  }
#endif
  return position;
}

/* The cells of a row that are treated alike, from one on. */
typedef struct rlo_run {
  rlo_index count;
  bool is_written;
  bool is_read;
} rlo_run;

/* Sets the coordinates within a row of its cell `cell`. Returns how many places
 * of the last level follow, this one included; 0 if no point has the cell. */
static inline rlo_index rlo_find_cell(rlo_index cell,
                                      __private rlo_point *point) {
  rlo_index left = 1;
#if RLO_LEVELS > 0
  RLO_UNROLL
  for (int l = RLO_ROW_LEVELS; l < RLO_LEVELS; ++l) {
    __constant const rlo_index *level = &rlo_levels[5 * l];
    const rlo_index place = min(cell / level[0], level[1] - 1);
    cell -= place * level[0];
    left = level[1] - place;
    rlo_set_level(l, place, point);
  }
#endif
  return cell == 0 ? left : 0;
}

/* Asks the guards about a point, and for how many points along the last axis
 * the answer holds. */
static inline void rlo_ask_run(__private const rlo_point *point,
                               __private rlo_run *run) {
  run->is_read = true;
  run->is_written = true;
#if RLO_NUM_GUARDS > 0
  RLO_UNROLL
  for (int g = 0; g < RLO_NUM_GUARDS; ++g) {
    __constant const rlo_index *guard = &rlo_guards[g * (1 + RLO_FORM_LENGTH)];
    const rlo_index value = rlo_value(guard + 1, point);
    const rlo_index step = guard[2 + RLO_LAST];
    const bool holds = value >= 0 && value < guard[0];
    if (g < RLO_PAD_GUARDS) {
      run->is_read = run->is_read && holds;
    } else {
      run->is_written = run->is_written && holds;
    }
    /* Points until it holds no more, or does again. */
    rlo_index room = run->count;
    if (step > 0 && value < guard[0]) {
      room = value < 0 ? (step - 1 - value) / step
                       : (guard[0] - 1 - value) / step + 1;
    } else if (step < 0 && value >= 0) {
      room = value >= guard[0] ? (value - guard[0]) / -step + 1
                               : value / -step + 1;
    }
    run->count = min(run->count, room);
  }
#endif
}

/* Finds the run that begins at a cell of a row, of at most `limit` cells. */
static inline rlo_run rlo_find_run(__global const rlo_loaded *indices,
                                   rlo_index cell,
                                   rlo_index limit,
                                   __private rlo_point *point) {
  rlo_run run = {limit, false, false};
  if (cell < 0) {
    run.count = min(limit, -cell);
    return run;
  }
  if (cell >= RLO_ROW_CELLS) {
    return run;
  }
  const rlo_index left = rlo_find_cell(cell, point);
#if RLO_RUNS
  run.count = min(
      limit, min(max(left, (rlo_index)1),
                 rlo_extents[RLO_LAST] - point->at[RLO_LAST]));
#else
  run.count = 1;
#endif
  if (left > 0) {
    rlo_find_terms(indices, point);
    rlo_ask_run(point, &run);
  } else {
    run.count = 1;
  }
  return run;
}

/* The byte that is put together: its elements so far, which of its bits are
 * written, and how many of its bits are done. */
typedef struct rlo_byte {
  __global uchar *to;
  uint value;
  uint written;
  uint at;
} rlo_byte;

/* Goes on by one element. */
static inline void rlo_advance(__private rlo_byte *byte) {
  byte->at += RLO_BITS;
  if (byte->at == 8) {
    if (byte->written == 0xff) {
      *byte->to = (uchar)byte->value;
    } else if (byte->written != 0) {
      *byte->to = (uchar)((*byte->to & ~byte->written) | byte->value);
    }
    byte->to += 1;
    byte->value = 0;
    byte->written = 0;
    byte->at = 0;
  }
}

static inline void rlo_put(__private rlo_byte *byte, uint element) {
  byte->value |= element << byte->at;
  byte->written |= (uint)RLO_LOW_BITS << byte->at;
  rlo_advance(byte);
}

static inline uint rlo_element(__global const uchar *from, rlo_index position) {
  return (uint)from[position / RLO_BYTE_CELLS] >>
             ((uint)(position & (RLO_BYTE_CELLS - 1)) * RLO_BITS) &
         RLO_LOW_BITS;
}

/* The element of the fill at a position of the destination. */
static inline uint rlo_fill_element(rlo_index position,
                                    ulong fill_lo,
                                    ulong fill_hi) {
#if RLO_FILL_PARTS > 1
  const uint bit =
      (uint)(position - position / RLO_FILL_PARTS * RLO_FILL_PARTS) * RLO_BITS;
  return (uint)((bit < 64 ? fill_lo >> bit : fill_hi >> (bit - 64))) &
         RLO_LOW_BITS;
#else
  (void)position;
  (void)fill_hi;
  return (uint)fill_lo & RLO_LOW_BITS;
#endif
}

/* Copies whole bytes from a position on, at which the source has the first of
 * their elements. */
static inline void rlo_copy_bytes(__global const uchar *from,
                                  rlo_index position,
                                  __global uchar *to,
                                  rlo_index bytes) {
  const uint shift = (uint)(position & (RLO_BYTE_CELLS - 1)) * RLO_BITS;
  from += position / RLO_BYTE_CELLS;
  rlo_index b = 0;
  if (shift == 0) {
    for (; b + 8 <= bytes; b += 8) {
      vstore8(vload8(0, from + b), 0, to + b);
    }
    for (; b < bytes; ++b) {
      to[b] = from[b];
    }
    return;
  }
  for (; b + 8 <= bytes; b += 8) {
    const ulong low = as_ulong(vload8(0, from + b));
    const ulong word = low >> shift | (ulong)from[b + 8] << (64 - shift);
    vstore8(as_uchar8(word), 0, to + b);
  }
  for (; b < bytes; ++b) {
    to[b] = (uchar)(((uint)from[b] | (uint)from[b + 1] << 8) >> shift);
  }
}

/* Moves a run, of which the first cell is at a position of the destination. */
static inline void rlo_move_run(__global const uchar *from,
                                __private rlo_byte *byte,
                                __private const rlo_point *point,
                                rlo_run run,
                                rlo_index position,
                                ulong fill_lo,
                                ulong fill_hi) {
  const rlo_index step = rlo_src[1 + RLO_LAST];
  rlo_index place = run.is_written && run.is_read ? rlo_value(rlo_src, point) : 0;
  for (rlo_index k = 0; k < run.count;) {
    const rlo_index bytes = (run.count - k) / RLO_BYTE_CELLS;
    if (!run.is_written) {
      if (byte->at == 0 && bytes > 0) {
        byte->to += bytes;
        k += bytes * RLO_BYTE_CELLS;
      } else {
        rlo_advance(byte);
        k += 1;
      }
    } else if (!run.is_read && byte->at == 0 && bytes >= RLO_LEAST_FILL) {
      const uint element = rlo_fill_element(position, fill_lo, fill_hi);
      for (rlo_index b = 0; b < bytes; ++b) {
        byte->to[b] = (uchar)(element * (0xff / RLO_LOW_BITS));
      }
      byte->to += bytes;
      k += bytes * RLO_BYTE_CELLS;
    } else if (!run.is_read) {
      rlo_put(byte, rlo_fill_element(position + k, fill_lo, fill_hi));
      k += 1;
    } else if (step == 1 && byte->at == 0 && bytes > 0) {
      rlo_copy_bytes(from, place, byte->to, bytes);
      byte->to += bytes;
      place += bytes * RLO_BYTE_CELLS;
      k += bytes * RLO_BYTE_CELLS;
    } else {
      rlo_put(byte, rlo_element(from, place));
      place += step;
      k += 1;
    }
  }
}

static inline void rlo_move_segment(__global const uchar *from,
                                    __global const rlo_loaded *indices,
                                    __global uchar *to,
                                    ulong fill_lo,
                                    ulong fill_hi,
                                    rlo_count segment) {
  rlo_point point;
  RLO_UNROLL
  for (int a = 0; a < RLO_NUM_AXES; ++a) {
    point.at[a] = 0;
  }
  const rlo_count row = segment / RLO_ROW_SEGMENTS;
  const rlo_index first = rlo_find_row(row, &point);
  const rlo_index begin =
      (rlo_index)(segment - row * RLO_ROW_SEGMENTS) * RLO_SEGMENT;
  const rlo_index row_bytes =
      (RLO_PHASE + RLO_ROW_CELLS + RLO_BYTE_CELLS - 1) / RLO_BYTE_CELLS;
  const rlo_index end = min(begin + RLO_SEGMENT, row_bytes);
  const rlo_index last = end * RLO_BYTE_CELLS - RLO_PHASE;
  /* Skipped points may lie in front of the destination: no rounding to 0. */
  rlo_byte byte = {
      to + (first - RLO_PHASE) / RLO_BYTE_CELLS + begin, 0, 0, 0};
  for (rlo_index cell = begin * RLO_BYTE_CELLS - RLO_PHASE; cell < last;) {
    const rlo_run run = rlo_find_run(indices, cell, last - cell, &point);
    rlo_move_run(from, &byte, &point, run, first + cell, fill_lo, fill_hi);
    cell += run.count;
  }
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_SPECIALIZED_PARAMS) {
  __global const rlo_loaded *at = RLO_INDICES;
  __global const uchar *from = src + src_offset_bytes;
  __global uchar *to = dst + dst_offset_bytes;
#if RLO_LOOP
  for (rlo_count s = (rlo_count)get_global_id(0); s < RLO_SEGMENTS;
       s += (rlo_count)get_global_size(0)) {
    rlo_move_segment(from, at, to, fill_lo, fill_hi, s);
  }
#else
  const rlo_count s = (rlo_count)get_global_id(0);
  if (s < RLO_SEGMENTS) {
    rlo_move_segment(from, at, to, fill_lo, fill_hi, s);
  }
#endif
}
