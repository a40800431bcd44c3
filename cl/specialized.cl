/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem compiled into a kernel: its axes, forms, terms and guards, for
 * kernels that take any problem. Plain OpenCL C 1.2.
 *
 * A form is the list base, one coefficient per axis, one coefficient per term;
 * in units, or in indices where a term loads one. With RLO_INDEX32 int suffices
 * for every value that a form takes, also halfway through its sum.
 *
 * Arguments that every kernel takes first, in this order
 * (RLO_SPECIALIZED_PARAMS):
 *
 *   0  __global const uchar *src
 *   1  ulong src_offset_bytes     a multiple of a source unit
 *   2  __global uchar *dst
 *   3  ulong dst_offset_bytes     a multiple of a destination unit
 *   4  ulong fill_lo              fill unit, bytes 0..7
 *   5  ulong fill_hi              fill unit, bytes 8..15
 *   6  __global const uchar *indices, and
 *   7  ulong index_offset_bytes   if a term loads; a multiple of an index
 */
#ifndef RLO_SPECIALIZED_CL
#define RLO_SPECIALIZED_CL

#include "unit.cl"

/* Axes of the box, 1 or more, and their extents; the last varies fastest. */
#ifndef RLO_NUM_AXES
#define RLO_NUM_AXES 2
#define RLO_EXTENTS  3, 5
#endif

/* Terms. For each: its divisor, or -1 - limit if it is an index that is loaded;
 * then its form. */
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
#ifndef RLO_GUARD_FORMS
#define RLO_GUARD_FORMS
#endif

/* Width of the signed indices that terms load: 32 or 64; 0: none does. And how
 * many there are: a position that is none of theirs is not read. */
#ifndef RLO_INDEX_BITS
#define RLO_INDEX_BITS  0
#define RLO_INDEX_COUNT 0
#endif

/* The guards of kind SKIP that are linear along the last axis: from some point
 * of it on they leave none. */
#ifndef RLO_NUM_ENDS
#define RLO_NUM_ENDS 0
#endif

#define RLO_NUM_GUARDS  (RLO_PAD_GUARDS + RLO_SKIP_GUARDS)
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
__constant rlo_index rlo_guards[] = {RLO_GUARD_FORMS};
#endif

#if RLO_INDEX_BITS == 32
typedef int rlo_loaded;
#else
typedef long rlo_loaded;
#endif

#if RLO_INDEX_BITS > 0
#define RLO_INDEX_PARAMS \
  , __global const uchar *indices, ulong index_offset_bytes
#define RLO_INDICES (__global const rlo_loaded *)(indices + index_offset_bytes)
#else
#define RLO_INDEX_PARAMS
#define RLO_INDICES 0
#endif

#define RLO_SPECIALIZED_PARAMS                                            \
  __global const uchar *src, ulong src_offset_bytes, __global uchar *dst, \
      ulong dst_offset_bytes, ulong fill_lo, ulong fill_hi RLO_INDEX_PARAMS

/* A point of the box: its coordinates, then its terms, in the order of a form's
 * coefficients. Terms not yet known are 0. */
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

#if RLO_NUM_TERMS > 0
/* Rounded towards 0, so one too many if a remainder is left below. Not value %
 * divisor: the pair of both operators makes LLVM emit a `freeze`, on which
 * oclgrind crashes. */
static inline rlo_index rlo_floor_quotient(rlo_index value, rlo_index divisor) {
  const rlo_index quotient = value / divisor;
  return quotient - (value - quotient * divisor < 0 ? 1 : 0);
}

#if RLO_INDEX_BITS > 0
/* The index at a position, or -1 where it is not in [0, limit). */
static inline rlo_index rlo_load_index(__global const rlo_loaded *indices,
                                       rlo_index position,
                                       rlo_index limit) {
  if (position < 0 || position >= (rlo_index)RLO_INDEX_COUNT) {
    return -1;
  }
  const rlo_loaded index = indices[position];
  return index >= 0 && index < limit ? (rlo_index)index : -1;
}
#endif
#endif

/* The terms of a point whose coordinates are set. */
static inline void rlo_find_terms(__global const rlo_loaded *indices,
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
#if RLO_INDEX_BITS > 0
    if (term[0] < 0) {
      point->at[RLO_NUM_AXES + t] =
          rlo_load_index(indices, value, -1 - term[0]);
      continue;
    }
#endif
    point->at[RLO_NUM_AXES + t] = rlo_floor_quotient(value, term[0]);
  }
#endif
  (void)indices;
}

/* Finds out if the cell of a point takes the source's unit, and if it is
 * written at all. */
static inline void rlo_ask_guards(__private const rlo_point *point,
                                  __private bool *out_is_read,
                                  __private bool *out_is_written) {
  *out_is_read = true;
  *out_is_written = true;
#if RLO_NUM_GUARDS > 0
  RLO_UNROLL
  for (int g = 0; g < RLO_NUM_GUARDS; ++g) {
    __constant const rlo_index *guard = &rlo_guards[g * (1 + RLO_FORM_LENGTH)];
    const rlo_index value = rlo_value(guard + 1, point);
    const bool holds = value >= 0 && value < guard[0];
    if (g < RLO_PAD_GUARDS) {
      *out_is_read = *out_is_read && holds;
    } else {
      *out_is_written = *out_is_written && holds;
    }
  }
#endif
}

/* The coordinates of row `row` of the box, counted over its first axes. */
static inline void rlo_decode_row(rlo_count row,
                                  int axes,
                                  __private rlo_point *point) {
  RLO_UNROLL
  for (int a = axes - 1; a >= 0; --a) {
    const rlo_count extent = (rlo_count)rlo_extents[a];
    const rlo_count rest = row / extent;
    point->at[a] = (rlo_index)(row - rest * extent);
    row = rest;
  }
}

#if RLO_NUM_ENDS > 0
__constant int rlo_ends[] = {RLO_ENDS};
#endif

/* Points along the last axis, at least one, behind which guards leave none. */
static inline rlo_index rlo_axis_end(__global const rlo_loaded *indices,
                                     __private rlo_point *point) {
  rlo_index extent = rlo_extents[RLO_NUM_AXES - 1];
#if RLO_NUM_ENDS > 0
  point->at[RLO_NUM_AXES - 1] = 0;
  rlo_find_terms(indices, point);
  for (int e = 0; e < RLO_NUM_ENDS; ++e) {
    __constant const rlo_index *guard =
        &rlo_guards[rlo_ends[e] * (1 + RLO_FORM_LENGTH)];
    const rlo_index value = rlo_value(guard + 1, point);
    const rlo_index step = guard[1 + RLO_NUM_AXES];
    const rlo_index room = step > 0 ? guard[0] - 1 - value : value;
    const rlo_index size = step > 0 ? step : -step;
    /* One point at least, so that a sum has a block. */
    extent = min(extent, room < 0 ? (rlo_index)1 : room / size + 1);
  }
#endif
  (void)indices;
  (void)point;
  return extent;
}

#endif
