/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the kernels of the CPU class: the unit that is moved, the
 * decoding of a group into grid coordinates, guards, and 64-byte lines with
 * their stores.
 *
 * The build replaces each `#include` by the file's text. OpenCL C 1.2 with
 * clang's vector extensions.
 *
 * Arguments that every kernel takes first, in this order (RLO_COMMON_PARAMS):
 *
 *    0  __global const uchar *src        buffer that is read
 *    1  ulong src_offset_bytes           a multiple of RLO_UNIT_BYTES
 *    2  __global uchar *dst              buffer that is written
 *    3  ulong dst_offset_bytes           a multiple of RLO_UNIT_BYTES
 *    4  ulong fill_lo                    fill unit, bytes 0..7
 *    5  ulong fill_hi                    fill unit, bytes 8..15
 *    6  int n_grid                       grid axes in use, 0..RLO_GRID_RANK
 *    7  rlo_grid grid_extent             the last axis in use varies fastest;
 *    8  rlo_grid grid_src_stride         lanes beyond n_grid are not read;
 *    9  rlo_grid grid_dst_stride         strides in units, either sign
 *
 * then the scalars of the family, then the guards (RLO_GUARD_PARAMS,
 * guards.cl). Where a grid axis counts tiles or chunks, its stride and its
 * coefficient in a guard are per tile: the host multiplies them by the size of
 * the tile.
 *
 * rlo_grid is a vector of RLO_GRID_RANK rlo_index; rlo_index is long, or int
 * with RLO_INDEX32 (the host proves that every unit offset fits). Sizes: with
 * rank 8 the common part is 244 bytes and a guard 96, so six guards fit into
 * the 1024 bytes that every device accepts; with rank 16 it is 436 and 160, so
 * three guards do; with rank 16 and RLO_INDEX32 244 and 96, so six do.
 */
#ifndef RLO_CPU_COMMON_CL
#define RLO_CPU_COMMON_CL

#include "guards.cl"
#include "unit.cl"

/* Lanes of the grid vectors: 8 or 16. */
#ifndef RLO_GRID_RANK
#define RLO_GRID_RANK 8
#endif

/* 1: whole 64-byte lines are written past the caches. */
#ifndef RLO_NT
#define RLO_NT 0
#endif

/* 1: __builtin_prefetch is used. Only PoCL compiles it; other compilers crash.
 */
#ifndef RLO_PREFETCH
#define RLO_PREFETCH 0
#endif

/* 1: __builtin_shufflevector is used; 0: plain loops over units. */
#ifndef RLO_VECTOR_SHUFFLE
#define RLO_VECTOR_SHUFFLE 1
#endif

/* 1: kernels are compiled by a PoCL that would do so three times. */
#ifndef RLO_COMPILE_ONCE
#define RLO_COMPILE_ONCE 0
#endif

/* A divisor, in bytes, of every destination address of this problem that the
 * host can prove: of base, offset, dst_ld and all destination strides. 64 or
 * more allows whole lines of tiles to be stored from registers. */
#ifndef RLO_DST_ALIGN
#define RLO_DST_ALIGN RLO_UNIT_BYTES
#endif

/* 1: a list holds the offsets of the rows to prefetch for the next group; 0:
 * they lie at one stride. */
#ifndef RLO_AHEAD_LISTED
#define RLO_AHEAD_LISTED 0
#endif

/* 1: borders of tiles move with the phase of each row, so that tiles own whole
 * lines: needed for non-temporal stores whose lines are not proven aligned. */
#define RLO_LEAN (RLO_NT && RLO_DST_ALIGN < 64)

/* Calls cost more than most of the bodies here. */
#define RLO_INLINE static inline __attribute__((always_inline))

/* Coordinates of the grid, strides and coefficients along it. */
#if RLO_INDEX32
#if RLO_GRID_RANK == 8
typedef int8 rlo_grid;
#else
typedef int16 rlo_grid;
#endif
#else
#if RLO_GRID_RANK == 8
typedef long8 rlo_grid;
#else
typedef long16 rlo_grid;
#endif
#endif

/* A cache line, and the same at any address. */
#define RLO_LINE_BYTES 64
#define RLO_LINE_UNITS (RLO_LINE_BYTES / RLO_UNIT_BYTES)
typedef ulong rlo_line __attribute__((ext_vector_type(8)));
typedef ulong rlo_line_any __attribute__((ext_vector_type(8), aligned(1)));

/* A line as units; 16-byte units count as two elements. */
#if RLO_UNIT_BYTES == 1
typedef uchar rlo_units __attribute__((ext_vector_type(64)));
#elif RLO_UNIT_BYTES == 2
typedef ushort rlo_units __attribute__((ext_vector_type(32)));
#elif RLO_UNIT_BYTES == 4
typedef uint rlo_units __attribute__((ext_vector_type(16)));
#else
typedef ulong rlo_units __attribute__((ext_vector_type(8)));
#endif

/* A unit and pieces of a line at any address: a buffer over host memory may
 * start anywhere, so nothing here trusts a unit to lie at a multiple of its
 * size. */
typedef ulong rlo_u64_any __attribute__((aligned(1)));
typedef uint rlo_u32_any __attribute__((aligned(1)));
typedef ushort rlo_u16_any __attribute__((aligned(1)));
typedef ulong2 rlo_u128_any __attribute__((aligned(1)));
typedef ulong4 rlo_u256_any __attribute__((aligned(1)));
typedef rlo_unit rlo_unit_any __attribute__((aligned(1)));

#define RLO_COMMON_PARAMS                                                 \
  __global const uchar *src, ulong src_offset_bytes, __global uchar *dst, \
      ulong dst_offset_bytes, ulong fill_lo, ulong fill_hi, int n_grid,   \
      rlo_grid grid_extent, rlo_grid grid_src_stride, rlo_grid grid_dst_stride

/* In a kernel: where the group at `index` begins, in units of so many bytes. */
#define RLO_SRC_CORNER(unit_bytes) \
  (src + src_offset_bytes +        \
   rlo_dot(n_grid, index, grid_src_stride) * (unit_bytes))
#define RLO_DST_CORNER(unit_bytes) \
  (dst + dst_offset_bytes +        \
   rlo_dot(n_grid, index, grid_dst_stride) * (unit_bytes))

/* Half-open ranges of the two coordinates inside a group. */
typedef struct rlo_box {
  long x0, x1, y0, y1;
} rlo_box;

/* Before a loop of a few turns that runs once for a group: without it compilers
 * make vectors and copies of the body, which take longer to compile than to
 * run.
 */
#define RLO_KEEP_SMALL \
  _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")

RLO_INLINE long rlo_dot(int n_grid,
                        __private const rlo_index *index,
                        rlo_grid factor) {
  __private const rlo_index *f = (__private const rlo_index *)&factor;
  long sum = 0;
  RLO_KEEP_SMALL
  for (int d = 0; d < n_grid; ++d) {
    sum += (long)index[d] * (long)f[d];
  }
  return sum;
}

/* The grid coordinates of a group. */
RLO_INLINE void rlo_decode(ulong group,
                           int n_grid,
                           rlo_grid grid_extent,
                           __private rlo_index *out_index) {
  __private const rlo_index *extent = (__private const rlo_index *)&grid_extent;
  RLO_KEEP_SMALL
  for (int d = n_grid - 1; d >= 0; --d) {
    const ulong e = (ulong)extent[d];
    const ulong rest = group / e;
    out_index[d] = (rlo_index)(group - rest * e);
    group = rest;
  }
}

/*
 * PoCL 3.1 puts a copy of a kernel into each of the two functions that call it
 * for a work-group, and optimises all three. A function with an indirect jump
 * cannot be copied into another: so a kernel, which decodes its group once, has
 * one that it never takes. Its compilation takes 0.4 of the time.
 */
#if RLO_COMPILE_ONCE
#define rlo_decode(group, n_grid, grid_extent, out_index)      \
  do {                                                         \
    if ((n_grid) < 0) {                                        \
      __auto_type rlo_place =                                  \
          ((group)&1) != 0 ? &&rlo_place_1 : &&rlo_place_2;    \
      __asm__("" : "+r"(rlo_place));                           \
      goto *rlo_place;                                         \
    rlo_place_1:                                               \
      __asm__ volatile("");                                    \
      return;                                                  \
    rlo_place_2:                                               \
      return;                                                  \
    }                                                          \
    rlo_decode((group), (n_grid), (grid_extent), (out_index)); \
  } while (0)
#endif

/* Advances the coordinates of a group to those of the next one. Returns false,
 * with the coordinates of the first group, if there is none. */
RLO_INLINE bool rlo_next(int n_grid,
                         rlo_grid grid_extent,
                         __private rlo_index *index) {
  __private const rlo_index *extent = (__private const rlo_index *)&grid_extent;
  RLO_KEEP_SMALL
  for (int d = n_grid - 1; d >= 0; --d) {
    index[d] += 1;
    if (index[d] < extent[d]) {
      return true;
    }
    index[d] = 0;
  }
  return false;
}

/* Points of an axis that a group owns: `step` of `extent`, fewer at its end,
 * all of them where no grid axis counts them (-1). */
RLO_INLINE long rlo_num_points(__private const rlo_index *index,
                               int grid_axis,
                               rlo_index step,
                               rlo_index extent) {
  long n = extent;
  if (grid_axis >= 0) {
    n -= (long)index[grid_axis] * step;
    n = min(n, (long)step);
  }
  return n;
}

/* The operands of RLO_GUARDS_LOAD: a kernel's n_grid and index, and its array.
 */
#define RLO_GRID_DOT(factor) rlo_dot(n_grid, index, factor)
#define RLO_GUARD_AT(g)      guards[g]

RLO_INLINE long rlo_div_down(long a, long b) {
  const long q = a / b;
  return q - (a % b < 0 ? 1 : 0); /* b > 0 */
}

/* Cut [*from, *to) to where 0 <= v + c * t < limit, c != 0. */
RLO_INLINE void rlo_cut(
    long v, long c, long limit, __private long *from, __private long *to) {
  long lo;
  long hi;
  if (c > 0) {
    lo = -rlo_div_down(v, c);
    hi = rlo_div_down(limit - 1 - v, c) + 1;
  } else {
    lo = rlo_div_down(v - limit, -c) + 1;
    hi = rlo_div_down(v, -c) + 1;
  }
  const long end = *to;
  *from = min(max(*from, lo), end);
  *to = max(*from, min(end, hi));
}

/*
 * Cuts `box` to where the guards hold. Returns false, with the box as it was,
 * if some guard slants through `tile`, so that no box describes its inside.
 * The box may be larger than the tile: what lies beyond is cut off only where
 * a slanting guard could fail there.
 */
RLO_INLINE bool rlo_cut_box(__private const rlo_guard *guards,
                            int n,
                            rlo_box tile,
                            __private rlo_box *box) {
  rlo_box cut = *box;
  for (int g = 0; g < n; ++g) {
    const rlo_guard u = guards[g];
    if (u.x == 0 && u.y == 0) {
      if (u.v < 0 || u.v >= u.limit) {
        cut.x1 = cut.x0;
      }
    } else if (u.y == 0) {
      rlo_cut(u.v, u.x, u.limit, &cut.x0, &cut.x1);
    } else if (u.x == 0) {
      rlo_cut(u.v, u.y, u.limit, &cut.y0, &cut.y1);
    } else {
      const long ex = u.x * (tile.x1 - 1 - tile.x0);
      const long ey = u.y * (tile.y1 - 1 - tile.y0);
      const long at = u.v + u.x * tile.x0 + u.y * tile.y0;
      const long low = at + min(ex, 0L) + min(ey, 0L);
      const long high = at + max(ex, 0L) + max(ey, 0L);
      if (high < 0 || low >= u.limit) {
        cut.x1 = cut.x0;
      } else if (low < 0 || high >= u.limit) {
        return false;
      }
      cut.x0 = max(cut.x0, tile.x0);
      cut.x1 = max(cut.x0, min(cut.x1, tile.x1));
      cut.y0 = max(cut.y0, tile.y0);
      cut.y1 = max(cut.y0, min(cut.y1, tile.y1));
    }
  }
  *box = cut;
  return true;
}

RLO_INLINE bool rlo_inside(__private const rlo_guard *guards,
                           int n,
                           long x,
                           long y) {
  for (int g = 0; g < n; ++g) {
    const long form = guards[g].v + guards[g].x * x + guards[g].y * y;
    if (form < 0 || form >= guards[g].limit) {
      return false;
    }
  }
  return true;
}

/* A line of the low bytes of `unit`: 1, 2, 4 or 8 of them. */
RLO_INLINE rlo_line rlo_repeat(ulong unit, int unit_bytes) {
  const ulong low = ~0UL >> (64 - 8 * unit_bytes);
  return (rlo_line)((unit & low) * (~0UL / low));
}

/* A line of the unit that padding consists of. */
RLO_INLINE rlo_line rlo_fill_line(ulong fill_lo, ulong fill_hi) {
#if RLO_UNIT_BYTES == 16
  const ulong2 unit = (ulong2)(fill_lo, fill_hi);
  const ulong4 two = (ulong4)(unit, unit);
  return (rlo_line)(two, two);
#else
  (void)fill_hi;
  return rlo_repeat(fill_lo, RLO_UNIT_BYTES);
#endif
}

/* Prefetches the line at p into the second-level cache. p need not be mapped.
 * The first level has too few misses in flight to saturate memory, and few ways
 * for lines of rows that lie pages apart. */
RLO_INLINE void rlo_prefetch(__global const uchar *p) {
#if RLO_PREFETCH
  /* Without the cast to an integer clang refuses the address space. */
  __builtin_prefetch((const void *)(ulong)p, 0, 2);
#else
  (void)p;
#endif
}

/*
 * The reads of the next group, as rows of bytes, prefetched in small steps
 * while this group works. Row after row, not in the order of use: memory
 * delivers long runs faster than scattered lines.
 */
typedef struct rlo_ahead {
  /* The current row; bytes of it that are done, and its length; rows that are
   * left, including this one. */
  __global const uchar *row;
  long at, row_bytes, rows;
#if RLO_AHEAD_LISTED
  /* Where each row begins, in bytes from `from` on; one entry more is read. */
  __global const uchar *from;
  __private const long *places;
#else
  long ld_bytes;
#endif
} rlo_ahead;

/* Bytes that one call prefetches. */
#define RLO_AHEAD_BYTES (4 * RLO_LINE_BYTES)

RLO_INLINE void rlo_prefetch_ahead(__private rlo_ahead *ahead) {
#if RLO_PREFETCH
  if (ahead->rows > 0) {
    /* The last byte of each line, because rows seldom begin at a line and their
     * first line probably came with the tile before. */
    __global const uchar *p = ahead->row + ahead->at + RLO_LINE_BYTES - 1;
    rlo_prefetch(p);
    rlo_prefetch(p + RLO_LINE_BYTES);
    rlo_prefetch(p + 2 * RLO_LINE_BYTES);
    rlo_prefetch(p + 3 * RLO_LINE_BYTES);
    ahead->at += RLO_AHEAD_BYTES;
    if (ahead->at >= ahead->row_bytes) {
      ahead->at = 0;
#if RLO_AHEAD_LISTED
      ahead->places += 1;
      ahead->row = ahead->from + *ahead->places;
#else
      ahead->row += ahead->ld_bytes;
#endif
      ahead->rows -= 1;
    }
  }
#else
  (void)ahead;
#endif
}

/* Stores a line at a multiple of 64 bytes. */
RLO_INLINE void rlo_store_line(__global uchar *p, rlo_line v) {
#if RLO_NT
  __builtin_nontemporal_store(v, (__global rlo_line *)p);
#else
  *(__global rlo_line *)p = v;
#endif
}

/* Stores a line: with RLO_NT at a multiple of 64 bytes, else anywhere. */
RLO_INLINE void rlo_put_line(__global uchar *p, rlo_line v) {
#if RLO_NT
  rlo_store_line(p, v);
#else
  *(__global rlo_line_any *)p = v;
#endif
}

/* Copies n < 64 bytes in at most six moves: the two ends of a row that do not
 * fill a line. */
#define RLO_PIECE(bytes, type)                                 \
  if ((n & (bytes)) != 0) {                                    \
    *(__global type *)to = *(RLO_FROM_SPACE const type *)from; \
    to += (bytes);                                             \
    from += (bytes);                                           \
  }

#define RLO_FROM_SPACE __private

RLO_INLINE void rlo_piece_private(__global uchar *to,
                                  __private const uchar *from,
                                  long n){
    RLO_PIECE(32, rlo_u256_any) RLO_PIECE(16, rlo_u128_any)
        RLO_PIECE(8, rlo_u64_any) RLO_PIECE(4, rlo_u32_any)
            RLO_PIECE(2, rlo_u16_any) RLO_PIECE(1, uchar)}
#undef RLO_FROM_SPACE

#define RLO_FROM_SPACE __global

RLO_INLINE void rlo_piece_global(__global uchar *to,
                                 __global const uchar *from,
                                 long n) {
  RLO_PIECE(32, rlo_u256_any)
  RLO_PIECE(16, rlo_u128_any)
  RLO_PIECE(8, rlo_u64_any)
  RLO_PIECE(4, rlo_u32_any)
  RLO_PIECE(2, rlo_u16_any)
  RLO_PIECE(1, uchar)
}

#undef RLO_FROM_SPACE

/* Row i of a tile: its destination, and which bytes of it, counted from the
 * tile's corner, this tile owns within [y0, y1). */
typedef struct rlo_row {
  __global uchar *to;
  long from_byte, to_byte;
} rlo_row;

RLO_INLINE rlo_row rlo_own_row(__global uchar *to,
                               rlo_box box,
                               long tile_units,
                               bool is_first,
                               bool is_last) {
  rlo_row row = {to, box.y0 * RLO_UNIT_BYTES, box.y1 * RLO_UNIT_BYTES};
#if RLO_LEAN
  const long phase = (long)((ulong)to % RLO_LINE_BYTES);
  row.from_byte = max(row.from_byte, is_first ? 0 : -phase);
  row.to_byte =
      min(row.to_byte, tile_units * RLO_UNIT_BYTES - (is_last ? 0 : phase));
#else
  (void)tile_units;
  (void)is_first;
  (void)is_last;
#endif
  return row;
}

/* Sends n bytes: whole lines, and the two ends in pieces. Prefetches meanwhile,
 * because nothing else keeps memory reading; ahead 0: no prefetch. */
RLO_INLINE void rlo_send(__global uchar *to,
                         __private const uchar *from,
                         long n,
                         __private rlo_ahead *ahead) {
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  if (head != 0) {
    rlo_piece_private(to, from, head);
    to += head;
    from += head;
    n -= head;
  }
  for (; ahead != 0 && n >= 4 * RLO_LINE_BYTES; n -= 4 * RLO_LINE_BYTES) {
    rlo_prefetch_ahead(ahead);
#pragma unroll
    for (int k = 0; k < 4 * RLO_LINE_BYTES; k += RLO_LINE_BYTES) {
      rlo_store_line(to + k, *(__private const rlo_line_any *)(from + k));
    }
    to += 4 * RLO_LINE_BYTES;
    from += 4 * RLO_LINE_BYTES;
  }
  for (; n >= RLO_LINE_BYTES; n -= RLO_LINE_BYTES) {
    rlo_store_line(to, *(__private const rlo_line_any *)from);
    to += RLO_LINE_BYTES;
    from += RLO_LINE_BYTES;
  }
  if (n != 0) {
    rlo_piece_private(to, from, n);
  }
}

/* Sends a row out of `stage`, whose first byte is byte `stage_byte` of the
 * tile.
 */
RLO_INLINE void rlo_send_row(rlo_row row,
                             __private const uchar *stage,
                             long stage_byte,
                             __private rlo_ahead *ahead) {
  const long n = row.to_byte - row.from_byte;
  if (n <= 0) {
    return;
  }
  rlo_send(
      row.to + row.from_byte, stage + (row.from_byte - stage_byte), n, ahead);
}

#endif
