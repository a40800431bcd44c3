/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the kernels for GPUs: their first arguments, the decoding
 * of a group, and guards. Plain OpenCL C 1.2.
 *
 * Arguments that gpu_rows, gpu_tile and gpu_packed take first
 * (RLO_GROUP_PARAMS): 0 to 9 as in cl/cpu_common.cl, except that n_grid is
 * RLO_GRID_AXES and unused grid lanes are 0, then
 *
 *   10  int16 grid_magic           multipliers that replace divisions by the
 *                                  extents, see rlo_quotient; with at most 8
 *                                  axes lane 8 + d is the shift of axis d
 *
 * then the scalars of the family, then the guards (RLO_GUARD_PARAMS,
 * guards.cl), unless the family has its own. The host launches fewer than 2^31
 * groups.
 */
#ifndef RLO_GPU_COMMON_CL
#define RLO_GPU_COMMON_CL

#include "guards.cl"
#include "unit.cl"

/* Work-items of a group: a power of two. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 256
#endif

/* Lanes of the grid vectors: 8 or 16, with RLO_INDEX32 always 16. */
#ifndef RLO_GRID_RANK
#define RLO_GRID_RANK (RLO_INDEX32 ? 16 : 8)
#endif

/* Axes of the grid, so that groups are decoded without branches. The host has
 * few numbers of them, and puts axes of extent 1 before the others. */
#ifndef RLO_GRID_AXES
#define RLO_GRID_AXES 4
#endif

/* Bytes of a piece, rlo_wide, that a lane moves at once from memory to memory:
 * a power of two up to 16. Families that have pieces define it. */
#ifndef RLO_WIDE_BYTES
#define RLO_WIDE_BYTES RLO_UNIT_BYTES
#endif

/* Units that a lane reads, and writes, at once when they pass through local
 * memory: a power of two, at most four bytes. More than one only if every run
 * begins at a multiple of their size, which the host proves. */
#ifndef RLO_READ_UNITS
#define RLO_READ_UNITS 1
#endif
#ifndef RLO_WRITE_UNITS
#define RLO_WRITE_UNITS 1
#endif

#if RLO_INDEX32
typedef int16 rlo_grid;
#elif RLO_GRID_RANK == 8
typedef long8 rlo_grid;
#else
typedef long16 rlo_grid;
#endif

#if RLO_WIDE_BYTES == 16
typedef uint4 rlo_wide;
#elif RLO_WIDE_BYTES == 8
typedef ulong rlo_wide;
#elif RLO_WIDE_BYTES == 4
typedef uint rlo_wide;
#elif RLO_WIDE_BYTES == 2
typedef ushort rlo_wide;
#else
typedef uchar rlo_wide;
#endif

#define RLO_GROUP_PARAMS                                                   \
  __global const uchar *restrict src, ulong src_offset_bytes,              \
      __global uchar *restrict dst, ulong dst_offset_bytes, ulong fill_lo, \
      ulong fill_hi, int n_grid, rlo_grid grid_extent,                     \
      rlo_grid grid_src_stride, rlo_grid grid_dst_stride, int16 grid_magic

/* Constant indices keep small arrays in registers. */
#define RLO_UNROLL _Pragma("unroll")

/* The coordinates of a group. */
typedef struct rlo_index_list {
  int at[RLO_GRID_AXES];
} rlo_index_list;

/* floor(n / d) for n < 2^31 and d >= 1, where magic is ceil(2^(31 + l) / d) and
 * l = ceil(log2(d)). */
static inline uint rlo_quotient(uint n, uint magic, uint l) {
  return mul_hi(n + n, magic) >> l;
}

/* The same by the extent of grid axis d. */
static inline uint rlo_axis_quotient(uint n,
                                     __private const rlo_index *extent,
                                     __private const int *magic,
                                     const int d) {
#if RLO_GRID_AXES <= 8
  (void)extent;
  const uint l = (uint)magic[8 + d];
#else
  const uint l = 32 - clz((uint)extent[d] - 1);
#endif
  return rlo_quotient(n, (uint)magic[d], l);
}

static inline void rlo_decode(uint group,
                              rlo_grid extent,
                              int16 magic,
                              __private rlo_index_list *out) {
  __private const rlo_index *e = (__private const rlo_index *)&extent;
  __private const int *m = (__private const int *)&magic;
  RLO_UNROLL
  for (int d = RLO_GRID_AXES - 1; d > 0; --d) {
    const uint rest = rlo_axis_quotient(group, e, m, d);
    out->at[d] = (int)(group - rest * (uint)e[d]);
    group = rest;
  }
  out->at[0] = (int)group;
}

/* Units from the first point of the grid to the group's. Positions fit
 * rlo_index: with RLO_INDEX32 each product is one multiplication of 32 bits. */
static inline rlo_index rlo_offset(__private const rlo_index_list *index,
                                   rlo_grid stride) {
  __private const rlo_index *s = (__private const rlo_index *)&stride;
  rlo_index sum = 0;
  RLO_UNROLL
  for (int d = 0; d < RLO_GRID_AXES; ++d) {
    sum += (rlo_index)index->at[d] * s[d];
  }
  return sum;
}

/* Memory at a number of units from an offset in bytes. Sums of bytes first: the
 * offset itself may lie outside the memory. */
static inline __global const rlo_unit *rlo_source_at(__global const uchar *src,
                                                     ulong offset_bytes,
                                                     rlo_index units) {
  return (__global const rlo_unit *)(src + (offset_bytes + (ulong)(long)units *
                                                               RLO_UNIT_BYTES));
}

static inline __global rlo_unit *rlo_target_at(__global uchar *dst,
                                               ulong offset_bytes,
                                               rlo_index units) {
  return (__global rlo_unit *)(dst + (offset_bytes +
                                      (ulong)(long)units * RLO_UNIT_BYTES));
}

/* The sum of a guard's coefficients at a group: 32 bits hold what one axis
 * adds, but not all of them together. */
static inline long rlo_dot(__private const rlo_index_list *index,
                           rlo_grid factor) {
  __private const rlo_index *f = (__private const rlo_index *)&factor;
  long sum = 0;
  RLO_UNROLL
  for (int d = 0; d < RLO_GRID_AXES; ++d) {
    sum += (long)index->at[d] * (long)f[d];
  }
  return sum;
}

/* The coordinate along one grid axis; 0 for axis -1. */
static inline int rlo_index_of(__private const rlo_index_list *index,
                               int axis) {
  int found = 0;
  RLO_UNROLL
  for (int d = 0; d < RLO_GRID_AXES; ++d) {
    found = d == axis ? index->at[d] : found;
  }
  return found;
}

/* The guards at one group. */
typedef struct rlo_guard_list {
  rlo_guard at[RLO_GUARDS > 0 ? RLO_GUARDS : 1];
} rlo_guard_list;

/* The operands of RLO_GUARDS_LOAD: a kernel's index and its rlo_guard_list. */
#define RLO_GRID_DOT(factor) rlo_dot(&index, factor)
#define RLO_GUARD_AT(g)      guards.at[g]

/* Tells if all guards from number `first` on hold at a point. */
static inline bool rlo_holds_at(__private const rlo_guard_list *guards,
                                const int first,
                                long i,
                                long j) {
  bool holds = true;
  for (int g = first; g < RLO_GUARDS; ++g) {
    const rlo_guard u = guards->at[g];
    const long form = u.v + u.x * i + u.y * j;
    holds = holds && form >= 0 && form < u.limit;
  }
  return holds;
}

/* Tell if the source is read at a point, and if the destination is
 * written. A point that is not written must not be read either. */
static inline bool rlo_is_read(__private const rlo_guard_list *guards,
                               long i,
                               long j) {
  return rlo_holds_at(guards, 0, i, j);
}

static inline bool rlo_is_written(__private const rlo_guard_list *guards,
                                  long i,
                                  long j) {
  return rlo_holds_at(guards, RLO_PAD_GUARDS, i, j);
}

/* Tells if all guards hold in all of [i0, i1) x [0, j1): no tests inside. */
static inline bool rlo_is_inside(__private const rlo_guard_list *guards,
                                 long i0,
                                 long i1,
                                 long j1) {
  bool holds = true;
  for (int g = 0; g < RLO_GUARDS; ++g) {
    const rlo_guard u = guards->at[g];
    const long at = u.v + u.x * i0;
    const long di = u.x * (i1 - 1 - i0);
    const long dj = u.y * (j1 - 1);
    holds = holds && at + min(di, 0L) + min(dj, 0L) >= 0 &&
            at + max(di, 0L) + max(dj, 0L) < u.limit;
  }
  return holds;
}

/* The points [i0, i1) of row j: inside if all guards hold for all of them; fill
 * if a PAD guard holds for none of them while all others hold for all. */
typedef struct rlo_verdict {
  bool is_inside;
  bool is_fill;
} rlo_verdict;

static inline rlo_verdict rlo_judge(__private const rlo_guard_list *guards,
                                    long i0,
                                    long i1,
                                    long j) {
  bool is_inside = true;
  bool is_written = true;
  bool is_outside = false;
  RLO_UNROLL
  for (int g = 0; g < RLO_GUARDS; ++g) {
    const rlo_guard u = guards->at[g];
    const long at = u.v + u.x * i0 + u.y * j;
    const long di = u.x * (i1 - 1 - i0);
    const long low = at + min(di, 0L);
    const long high = at + max(di, 0L);
    const bool holds = low >= 0 && high < u.limit;
    is_inside = is_inside && holds;
    if (g < RLO_PAD_GUARDS) {
      is_outside = is_outside || high < 0 || low >= u.limit;
    } else {
      is_written = is_written && holds;
    }
  }
  rlo_verdict verdict;
  verdict.is_inside = is_inside;
  verdict.is_fill = is_outside && is_written;
  return verdict;
}

/* Several units as one, the first in the low bits, or one. */
#if RLO_READ_UNITS * RLO_UNIT_BYTES == 4
typedef uint rlo_read;
#elif RLO_READ_UNITS * RLO_UNIT_BYTES == 2
typedef ushort rlo_read;
#else
typedef rlo_unit rlo_read;
#endif
#if RLO_WRITE_UNITS * RLO_UNIT_BYTES == 4
typedef uint rlo_write;
#elif RLO_WRITE_UNITS * RLO_UNIT_BYTES == 2
typedef ushort rlo_write;
#else
typedef rlo_unit rlo_write;
#endif

static inline void rlo_put_read(__local rlo_unit *cell, rlo_read piece) {
#if RLO_READ_UNITS > 1
  RLO_UNROLL
  for (int n = 0; n < RLO_READ_UNITS; ++n) {
    cell[n] = (rlo_unit)(piece >> (8 * RLO_UNIT_BYTES * n));
  }
#else
  *cell = piece;
#endif
}

/* Units that lie `step` apart. */
static inline rlo_write rlo_get_write(__local const rlo_unit *cell, int step) {
#if RLO_WRITE_UNITS > 1
  rlo_write piece = 0;
  RLO_UNROLL
  for (int n = 0; n < RLO_WRITE_UNITS; ++n) {
    piece |= (rlo_write)((rlo_write)cell[n * step] << (8 * RLO_UNIT_BYTES * n));
  }
  return piece;
#else
  (void)step;
  return *cell;
#endif
}

#endif
