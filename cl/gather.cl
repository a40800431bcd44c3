/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family gather, both classes: any problem at all, all of it baked.
 *
 *     for each point i of the box, in any order:
 *         q_t = floor(term_t(i, q_0 .. q_t-1) / divisor_t)
 *         if every SKIP guard holds:
 *             dst[dst(i)] = every PAD guard holds ? src[src(i, q)] : fill
 *
 * Arguments:
 *
 *   0  __global const uchar *src
 *   1  ulong src_offset_bytes     a multiple of RLO_UNIT_BYTES
 *   2  __global uchar *dst
 *   3  ulong dst_offset_bytes     a multiple of RLO_UNIT_BYTES
 *   4  ulong fill_lo              fill unit, bytes 0..7
 *   5  ulong fill_hi              fill unit, bytes 8..15
 *
 * The points are cut into segments of RLO_SEGMENT units along the last axis;
 * a work-item moves one segment, or with RLO_LOOP every get_global_size(0)th.
 * Segments of one unit suit a GPU: neighbouring lanes, neighbouring cells.
 * Longer ones suit a CPU, which decodes once and runs along.
 *
 * Set by the host, for each problem: everything below. A form is the list
 * base, one coefficient per axis, one coefficient per term; in units. With
 * RLO_INDEX32 int suffices for every value that a form takes, also halfway
 * through its sum, and for the number of segments.
 */
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_INDEX32=1 -DRLO_LOCAL=256
// define-matrix: -DRLO_NUM_TERMS=1 -DRLO_TERMS=3,0,1,2,0 -DRLO_SRC=0,0,1,3 -DRLO_DST=0,5,1,0 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_GUARDS=4,0,1,1,1,6,5,-1,0,0 -DRLO_SEGMENT=2 -DRLO_ROW_SEGMENTS=3 -DRLO_SEGMENTS=9 -DRLO_LOOP=1

#ifndef RLO_UNIT_CL
#include "unit.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL gather
#endif

/* Work-items of a work-group. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 64
#endif

/* Axes of the box, 1 or more, and their extents; the last varies fastest. */
#ifndef RLO_NUM_AXES
#define RLO_NUM_AXES 2
#define RLO_EXTENTS 3, 5
#endif

/* Residual quotients. For each: its divisor, then its form. */
#ifndef RLO_NUM_TERMS
#define RLO_NUM_TERMS 0
#define RLO_TERMS
#endif

/* Form of the source and of the destination; the latter has no terms. */
#ifndef RLO_SRC
#define RLO_SRC 0, 1, 3
#define RLO_DST 0, 5, 1
#endif

/* Guards, those of kind PAD first. For each: its limit, then its form. */
#ifndef RLO_PAD_GUARDS
#define RLO_PAD_GUARDS 0
#endif
#ifndef RLO_SKIP_GUARDS
#define RLO_SKIP_GUARDS 0
#endif
#ifndef RLO_GUARDS
#define RLO_GUARDS
#endif

/* Units of a segment: 1 .. the last extent. */
#ifndef RLO_SEGMENT
#define RLO_SEGMENT 1
#endif

/* Segments of a row, and of the whole box. */
#ifndef RLO_ROW_SEGMENTS
#define RLO_ROW_SEGMENTS 5
#define RLO_SEGMENTS 15
#endif

/* 1: there may be more segments than work-items. */
#ifndef RLO_LOOP
#define RLO_LOOP 0
#endif

#define RLO_NUM_GUARDS (RLO_PAD_GUARDS + RLO_SKIP_GUARDS)
#define RLO_FORM_LENGTH (1 + RLO_NUM_AXES + RLO_NUM_TERMS)

/* Constants fold only where loops are unrolled. Very large problems are rare,
 * and would take the compiler minutes. */
#if RLO_FORM_LENGTH * (2 + RLO_NUM_TERMS + RLO_NUM_GUARDS) <= 512
#define RLO_UNROLL _Pragma("unroll")
#else
#define RLO_UNROLL
#endif

__constant rlo_index rlo_extents[] = {RLO_EXTENTS};
__constant rlo_index rlo_src[] = {RLO_SRC};
__constant rlo_index rlo_dst[] = {RLO_DST};
#if RLO_NUM_TERMS > 0
__constant rlo_index rlo_terms[] = {RLO_TERMS};
#endif
#if RLO_NUM_GUARDS > 0
__constant rlo_index rlo_guards[] = {RLO_GUARDS};
#endif

/* A point of the box: its coordinates, then its quotients, in the order of a
 * form's coefficients. Quotients not yet known are 0. */
typedef struct rlo_point {
  rlo_index at[RLO_FORM_LENGTH - 1];
} rlo_point;

static inline rlo_index rlo_value(__constant const rlo_index *form,
                                  __private const rlo_point *point) {
  rlo_index value = form[0];
  RLO_UNROLL
  for (int d = 0; d < RLO_FORM_LENGTH - 1; ++d) {
    value += form[1 + d] * point->at[d];
  }
  return value;
}

static inline void rlo_move(__global const rlo_unit *from,
                            __global rlo_unit *to,
                            ulong fill_lo,
                            ulong fill_hi,
                            __private rlo_point *point) {
#if RLO_NUM_TERMS > 0
  RLO_UNROLL
  for (int t = 0; t < RLO_NUM_TERMS; ++t) {
    point->at[RLO_NUM_AXES + t] = 0;
  }
  RLO_UNROLL
  for (int t = 0; t < RLO_NUM_TERMS; ++t) {
    __constant const rlo_index *term = &rlo_terms[t * (1 + RLO_FORM_LENGTH)];
    const rlo_index value = rlo_value(term + 1, point);
    /* Rounded towards 0, so one too many if a remainder is left below. Not
     * value % term[0]: the pair of both operators makes LLVM emit a `freeze`,
     * of which oclgrind dies. */
    const rlo_index quotient = value / term[0];
    point->at[RLO_NUM_AXES + t] =
        quotient - (value - quotient * term[0] < 0 ? 1 : 0);
  }
#endif
  bool is_read = true;
  bool is_written = true;
#if RLO_NUM_GUARDS > 0
  RLO_UNROLL
  for (int g = 0; g < RLO_NUM_GUARDS; ++g) {
    __constant const rlo_index *guard = &rlo_guards[g * (1 + RLO_FORM_LENGTH)];
    const rlo_index value = rlo_value(guard + 1, point);
    const bool holds = value >= 0 && value < guard[0];
    if (g < RLO_PAD_GUARDS) {
      is_read = is_read && holds;
    } else {
      is_written = is_written && holds;
    }
  }
#endif
  if (is_written) {
    __global rlo_unit *cell = to + rlo_value(rlo_dst, point);
    if (is_read) {
      *cell = from[rlo_value(rlo_src, point)];
    } else {
      rlo_store_fill(cell, fill_lo, fill_hi);
    }
  }
}

static inline void rlo_move_segment(__global const rlo_unit *from,
                                    __global rlo_unit *to,
                                    ulong fill_lo,
                                    ulong fill_hi,
                                    rlo_count segment) {
  rlo_point point;
  rlo_count row = segment / RLO_ROW_SEGMENTS;
  const rlo_index begin =
      (rlo_index)(segment - row * RLO_ROW_SEGMENTS) * RLO_SEGMENT;
  RLO_UNROLL
  for (int a = RLO_NUM_AXES - 2; a >= 0; --a) {
    const rlo_count extent = (rlo_count)rlo_extents[a];
    const rlo_count rest = row / extent;
    point.at[a] = (rlo_index)(row - rest * extent);
    row = rest;
  }
#if RLO_SEGMENT == 1
  point.at[RLO_NUM_AXES - 1] = begin;
  rlo_move(from, to, fill_lo, fill_hi, &point);
#else
  /* The last segment of a row may be shorter. */
  const rlo_index end =
      min(begin + (rlo_index)RLO_SEGMENT, rlo_extents[RLO_NUM_AXES - 1]);
  for (rlo_index k = begin; k < end; ++k) {
    point.at[RLO_NUM_AXES - 1] = k;
    rlo_move(from, to, fill_lo, fill_hi, &point);
  }
#endif
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    __global const uchar *src,
    ulong src_offset_bytes,
    __global uchar *dst,
    ulong dst_offset_bytes,
    ulong fill_lo,
    ulong fill_hi) {
  __global const rlo_unit *from =
      (__global const rlo_unit *)(src + src_offset_bytes);
  __global rlo_unit *to = (__global rlo_unit *)(dst + dst_offset_bytes);
#if RLO_LOOP
  for (rlo_count s = (rlo_count)get_global_id(0); s < RLO_SEGMENTS;
       s += (rlo_count)get_global_size(0)) {
    rlo_move_segment(from, to, fill_lo, fill_hi, s);
  }
#else
  const rlo_count s = (rlo_count)get_global_id(0);
  if (s < RLO_SEGMENTS) {
    rlo_move_segment(from, to, fill_lo, fill_hi, s);
  }
#endif
}
