/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How gpu_packed.cl puts words of the destination together: several units of
 * one of its runs, which local memory keeps in the order of the source.
 */
#ifndef RLO_GPU_PACKED_WORD_CL
#define RLO_GPU_PACKED_WORD_CL

#include "gpu_block_guards.cl"

/* Units of a word: one, or as many as make 4, 8 or 16 bytes. */
#ifndef RLO_WORD_UNITS
#define RLO_WORD_UNITS 1
#endif
#define RLO_WORD_BYTES (RLO_WORD_UNITS * RLO_UNIT_BYTES)

/* The first axes of write_axes, which make a run of the destination: 1..3. */
#ifndef RLO_RUN_RANK
#define RLO_RUN_RANK 1
#endif

/* 1: units of less than four bytes that follow each other in a run of the
 * destination do so in local memory, but where a run turns to its next axis. */
#ifndef RLO_CONTIGUOUS
#define RLO_CONTIGUOUS 0
#endif

/* 1: runs have several axes, and the first has at least the units of a word, so
 * that a word turns to the next axis once at most. */
#ifndef RLO_ONE_TURN
#define RLO_ONE_TURN 0
#endif

/* First lane of write_axes in local_strides and strides. */
#define RLO_WRITE_LANE 8

#if RLO_WORD_UNITS == 1
typedef rlo_unit rlo_word;
#elif RLO_WORD_BYTES == 16
typedef uint4 rlo_word;
#elif RLO_WORD_BYTES == 8
typedef uint2 rlo_word;
#else
typedef uint rlo_word;
#endif

/* floor(n / extent) for n < 2^15, where magic is ceil(2^31 / extent). */
static inline uint rlo_part(uint n, int magic) {
  return mul_hi(n + n, (uint)magic);
}

/* The coordinates of number n of axes [first, end); 0 along the others. */
static inline rlo_place rlo_find(uint n,
                                 int16 axes,
                                 const int first,
                                 const int end) {
  __private const int *extent = (__private const int *)&axes;
  rlo_place place;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    uint i = 0;
    if (k == end - 1 && k >= first) {
      i = n;
    } else if (k >= first && k < end) {
      const uint rest = rlo_part(n, extent[8 + k]);
      i = n - rest * (uint)extent[k];
      n = rest;
    }
    place.at[k] = (int)i;
  }
  return place;
}

static inline int rlo_local_at(rlo_place place, int16 strides, const int lane) {
  __private const int *s = (__private const int *)&strides;
  int sum = 0;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    sum += place.at[k] * s[lane + k];
  }
  return sum;
}

/* The unit at a place of local memory. */
static inline rlo_unit rlo_unit_at(__local const uchar *block, int at) {
  return *(__local const rlo_unit *)(block + at);
}

#if RLO_WORD_UNITS > 1
/* A word in parts of four bytes. */
typedef struct rlo_parts {
  uint at[RLO_WORD_BYTES / 4];
} rlo_parts;

#if RLO_CONTIGUOUS
/* A word that lies anywhere: the words of four bytes that hold it, shifted. */
static inline rlo_parts rlo_parts_at(__local const uchar *block, int at) {
  __local const uint *from = (__local const uint *)(block + (at & ~3));
  const uint shift = 8 * (uint)(at & 3);
  rlo_parts parts;
  uint low = from[0];
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_BYTES / 4; ++n) {
    const uint high = from[n + 1];
    parts.at[n] = (uint)(as_ulong((uint2)(low, high)) >> shift);
    low = high;
  }
  return parts;
}

/* The first `bytes` of one word and the others of another. */
static inline rlo_parts rlo_join_parts(rlo_parts first,
                                       rlo_parts second,
                                       int bytes) {
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_BYTES / 4; ++n) {
    const uint bits = (uint)min(max(8 * (bytes - 4 * n), 0), 32);
    const uint mask = (uint)((1UL << bits) - 1);
    first.at[n] = (first.at[n] & mask) | (second.at[n] & ~mask);
  }
  return first;
}
#endif

/* The unit at a place of local memory, as number n of a word. */
static inline void rlo_put_unit(__private rlo_parts *parts,
                                int n,
                                __local const uchar *block,
                                int at) {
  const rlo_unit unit = rlo_unit_at(block, at);
#if RLO_UNIT_BYTES == 8
  parts->at[2 * n] = as_uint2(unit).x;
  parts->at[2 * n + 1] = as_uint2(unit).y;
#else
  /* A sum: shift and addition are one instruction. */
  parts->at[n * RLO_UNIT_BYTES / 4] += (uint)unit
                                       << 8 * (n * RLO_UNIT_BYTES % 4);
#endif
}

static inline rlo_parts rlo_gather_parts(
    __local const uchar *block, int run, uint k, int16 axes, int16 strides) {
  const int step = ((__private const int *)&strides)[RLO_WRITE_LANE];
  rlo_parts parts = {{0}};
#if RLO_RUN_RANK == 1
  int at = run + (int)k * step;
#if RLO_CONTIGUOUS
  parts = rlo_parts_at(block, at);
#else
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_UNITS; ++n) {
    rlo_put_unit(&parts, n, block, at);
    at += step;
  }
#endif
#elif RLO_ONE_TURN
  /* The first units are at `at`, those from number `turn` on at `next`. */
  const rlo_place place = rlo_find(k, axes, 0, RLO_RUN_RANK);
  const int turn = ((__private const int *)&axes)[0] - place.at[0];
  const int at = run + rlo_local_at(place, strides, RLO_WRITE_LANE);
  int next = at;
  if (turn < RLO_WORD_UNITS) {
    next = run - turn * step +
           rlo_local_at(rlo_find(k + (uint)turn, axes, 0, RLO_RUN_RANK),
                        strides,
                        RLO_WRITE_LANE);
  }
#if RLO_CONTIGUOUS
  parts = rlo_join_parts(rlo_parts_at(block, at),
                         rlo_parts_at(block, next),
                         turn * RLO_UNIT_BYTES);
#else
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_UNITS; ++n) {
    rlo_put_unit(&parts, n, block, (n < turn ? at : next) + n * step);
  }
#endif
#else
  (void)step;
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_UNITS; ++n) {
    rlo_put_unit(&parts,
                 n,
                 block,
                 run + rlo_local_at(rlo_find(k + (uint)n, axes, 0, RLO_RUN_RANK),
                                    strides,
                                    RLO_WRITE_LANE));
  }
#endif
  return parts;
}
#endif

/* Units [k, k + RLO_WORD_UNITS) of the run that begins at `run`. */
static inline rlo_word rlo_gather_word(
    __local const uchar *block, int run, uint k, int16 axes, int16 strides) {
#if RLO_WORD_UNITS == 1
  (void)axes;
  const int step = ((__private const int *)&strides)[RLO_WRITE_LANE];
  return rlo_unit_at(block, run + (int)k * step);
#else
  const rlo_parts parts = rlo_gather_parts(block, run, k, axes, strides);
#if RLO_WORD_BYTES == 16
  return (uint4)(parts.at[0], parts.at[1], parts.at[2], parts.at[3]);
#elif RLO_WORD_BYTES == 8
  return (uint2)(parts.at[0], parts.at[1]);
#else
  return parts.at[0];
#endif
#endif
}

static inline void rlo_store_fill_word(__global rlo_word *to,
                                       ulong fill_lo,
                                       ulong fill_hi) {
#if RLO_WORD_UNITS == 1
  rlo_store_fill(to, fill_lo, fill_hi);
#elif RLO_UNIT_BYTES == 1
  *to = (rlo_word)((uint)(fill_lo & 0xff) * 0x01010101u);
#elif RLO_UNIT_BYTES == 2
  *to = (rlo_word)((uint)(fill_lo & 0xffff) * 0x00010001u);
#elif RLO_UNIT_BYTES == 4
  *to = (rlo_word)((uint)fill_lo);
#else
  *to = (uint4)(as_uint2(fill_lo), as_uint2(fill_lo));
#endif
}

#endif
