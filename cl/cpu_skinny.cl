/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family skinny, CPU class: a plane as in cpu_tile.cl, one extent of which is
 * tiny and known when the kernel is compiled.
 *
 *     for i < na, j < nb: dst[dst_offset + i * dst_ld + j] =
 *                         src[src_offset + i + j * src_ld]
 *
 * RLO_SKINNY_SPLIT=1: na == RLO_SKINNY_N and src_ld == RLO_SKINNY_LD >= N: an
 * array of structures becomes N arrays. RLO_SKINNY_SPLIT=0: nb == RLO_SKINNY_N
 * == dst_ld: N arrays become an array of structures. The other extent is cut
 * into chunks of RLO_SKINNY_LONG units. Arguments after the common ten:
 *
 *   10  int a_axis          grid axis that counts chunks along a; -1 with SPLIT
 *   11  int b_axis          grid axis that counts chunks along b; -1 without
 *   12  rlo_index na
 *   13  rlo_index nb
 *   14  rlo_index src_ld
 *   15  rlo_index dst_ld
 *   16  rlo_index chunks    chunks that a group moves, one after the other in
 *                           the order of the grid
 *   17  the guards; x is the coefficient of i, y that of j
 *
 * The axis that counts chunks may be -1 too, if one chunk is enough; else its
 * extent is ceil(long extent / RLO_SKINNY_LONG) and its strides and guard
 * coefficients are per chunk, as for tiles. Where chunks are small, as in tiled
 * layouts, a group should move many: the decoding of its position takes as long
 * as moving half a kilobyte.
 *
 * Lines are split and joined by shuffles with constant indices, as RLO_SKINNY_N
 * is constant. Where a guard leaves whole lines of the short axis
 * out, they become fill at no cost; what it cuts of the long axis is moved unit
 * by unit.
 */
#include "cpu_interleave.cl"
#include "cpu_plane.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_skinny
#endif

/* Units of the long axis of a chunk, a multiple of a line. */
#ifndef RLO_SKINNY_LONG
#define RLO_SKINNY_LONG (256 / RLO_SKINNY_N * RLO_LINE_UNITS)
#endif

/* Bytes that are brought near ahead of those that are loaded. */
#define RLO_SKINNY_AHEAD 1024

/* The vectors of one step: L structures, or a line of each of N arrays, of
 * which those outside [s0, s1) are fill. */
RLO_INLINE void rlo_load_step(__private rlo_units *in,
                              __global const uchar *from,
                              long src_ld_bytes,
                              long s0,
                              long s1,
                              rlo_line fill) {
#if RLO_SKINNY_SPLIT
  (void)src_ld_bytes;
  (void)s0;
  (void)s1;
  (void)fill;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    rlo_prefetch(from + v * RLO_LINE_BYTES + RLO_SKINNY_AHEAD);
#if RLO_GRAINS == 1
    const rlo_line line = *(__global const rlo_line_any *)(from + v * 64);
#else
    __global const uchar *p = from + v * RLO_GRAIN_BYTES;
    rlo_line line;
    line.s01 = *(__global const rlo_u128_any *)p;
    line.s23 = *(__global const rlo_u128_any *)(p + 16 * V);
    line.s45 = *(__global const rlo_u128_any *)(p + 32 * V);
    line.s67 = *(__global const rlo_u128_any *)(p + 48 * V);
#endif
    in[v] = __builtin_astype(line, rlo_units);
  }
#else
#pragma unroll
  for (int v = 0; v < V; ++v) {
    rlo_line line = fill;
    rlo_prefetch(from + v * src_ld_bytes + RLO_SKINNY_AHEAD);
    if (v >= s0 && v < s1) {
      line = *(__global const rlo_line_any *)(from + v * src_ld_bytes);
    }
    in[v] = __builtin_astype(line, rlo_units);
  }
#endif
}

#define RLO_STAGE_LINES (RLO_SKINNY_LONG / RLO_LINE_UNITS + 2)
#define RLO_STAGE_BYTES (RLO_STAGE_LINES * RLO_LINE_BYTES)

/*
 * Moves a chunk: `count` units of the long axis, of which `first` are before it
 * and which has `extent` in all. `from` and `to` are its corner, to which boxes
 * are relative.
 */
RLO_INLINE void rlo_move_chunk(__global const uchar *from,
                               __global uchar *to,
                               long src_ld_bytes,
                               long dst_ld_bytes,
                               long first,
                               long count,
                               long extent,
                               __private const rlo_guard *guards,
                               ulong fill_lo,
                               ulong fill_hi,
                               __private rlo_ahead *ahead) {
  const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
#if RLO_SKINNY_SPLIT
  const bool is_first = first == 0;
  const bool is_last = first + count == extent;
  const rlo_box tile = {0, N, RLO_LEAN && !is_first ? -(long)L : 0, count};
  rlo_box readable = {0, N, -first, extent - first};
  rlo_box written = tile;
#if RLO_GUARDS > 0
  if (!rlo_cut_box(guards, RLO_GUARDS, tile, &readable) ||
      !rlo_cut_box(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, tile, &written)) {
    rlo_move_cells(to,
                   from,
                   dst_ld_bytes,
                   src_ld_bytes,
                   tile,
                   count,
                   is_first,
                   is_last,
                   guards,
                   (rlo_join){true},
                   rlo_fill_unit(fill_lo, fill_hi));
    return;
  }
#else
  (void)guards;
#endif
  /* Structures from l on may be read whole if they have all their units, and
   * the last one needs a successor if the next structure begins later than it
   * ends. */
  const bool is_whole = readable.x0 == 0 && readable.x1 == N;
  const long whole_end =
      is_whole ? readable.y1 - (RLO_SKINNY_LD > N ? 1 : 0) : readable.y0;
  long y = written.y0;
#if !RLO_LEAN
  /* Straight from registers while lines are whole and nothing is fill. */
  if ((!RLO_NT || y == 0) && readable.y0 <= y) {
    for (; y + L <= min(written.y1, whole_end); y += L) {
      rlo_units in[V];
      rlo_line out[N];
      rlo_load_step(in, from + y * src_ld_bytes, src_ld_bytes, 0, N, fill);
      rlo_shuffle(in, out);
#pragma unroll
      for (int s = 0; s < N; ++s) {
        if (s >= written.x0 && s < written.x1) {
          __global uchar *p = to + s * dst_ld_bytes + y * E;
          rlo_put_line(p, out[s]);
        }
      }
    }
  }
#endif
  if (y >= written.y1) {
    return;
  }
  /* The rest through private memory. */
  const rlo_box box = {written.x0, written.x1, y, written.y1};
  const long stage_y = box.y0 - L;
  rlo_line stage[N][RLO_STAGE_LINES];
  __private uchar *stage_bytes = (__private uchar *)stage;
  const long r0 = clamp(readable.y0, box.y0, box.y1);
  const long r1 = clamp(readable.y1, r0, box.y1);
  if (r0 > box.y0 || r1 < box.y1 || !is_whole) {
    for (int s = 0; s < N; ++s) {
      for (int k = 0; k < RLO_STAGE_LINES; ++k) {
        stage[s][k] = fill;
      }
    }
  }
  long j = r0;
  while (j < r1) {
    long block = min(j, min(r1, whole_end) - L);
    if (block < readable.y0 || block < stage_y || block + L <= j) {
      break;
    }
    rlo_units in[V];
    rlo_line out[N];
    rlo_load_step(in, from + block * src_ld_bytes, src_ld_bytes, 0, N, fill);
    rlo_shuffle(in, out);
#pragma unroll
    for (int s = 0; s < N; ++s) {
      *(__private rlo_line_any *)(stage_bytes + s * RLO_STAGE_BYTES +
                                  (block - stage_y) * E) = out[s];
    }
    j = block + L;
  }
  for (; j < r1; ++j) {
    for (long s = readable.x0; s < readable.x1; ++s) {
      *(__private rlo_unit_any *)(stage_bytes + s * RLO_STAGE_BYTES +
                                  (j - stage_y) * E) =
          *(__global const rlo_unit_any *)(from + s * E + j * src_ld_bytes);
    }
  }
  for (long s = box.x0; s < box.x1; ++s) {
    rlo_send_row(
        rlo_own_row(to + s * dst_ld_bytes, box, count, is_first, is_last),
        stage_bytes + s * RLO_STAGE_BYTES,
        stage_y * E,
        ahead);
  }
#else
  const rlo_box tile = {0, count, 0, N};
  rlo_box readable = {-first, extent - first, 0, N};
  rlo_box written = tile;
#if RLO_GUARDS > 0
  /* Structures leave as one run of bytes, in which there can be no gap. */
  if (!rlo_cut_box(guards, RLO_GUARDS, tile, &readable) ||
      !rlo_cut_box(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, tile, &written) ||
      written.y0 > 0 || written.y1 < N) {
    rlo_move_cells(to,
                   from,
                   dst_ld_bytes,
                   src_ld_bytes,
                   tile,
                   N,
                   true,
                   true,
                   guards,
                   (rlo_join){true},
                   rlo_fill_unit(fill_lo, fill_hi));
    return;
  }
#else
  (void)guards;
  (void)dst_ld_bytes;
#endif
  const long s0 = readable.y0;
  const long s1 = readable.y1;
  long x = written.x0;
#if !RLO_NT || RLO_DST_ALIGN >= 64
  if ((!RLO_NT || x == 0) && readable.x0 <= x) {
    for (; x + L <= min(written.x1, readable.x1); x += L) {
      rlo_units in[V];
      rlo_line out[N];
      rlo_load_step(in, from + x * E, src_ld_bytes, s0, s1, fill);
      rlo_shuffle(in, out);
#pragma unroll
      for (int m = 0; m < N; ++m) {
        __global uchar *p = to + x * N * E + m * RLO_LINE_BYTES;
        rlo_put_line(p, out[m]);
      }
    }
  }
#endif
  if (x >= written.x1) {
    return;
  }
  rlo_line stage[N][RLO_STAGE_LINES];
  __private uchar *stage_bytes = (__private uchar *)stage;
  const long stage_x = x - L;
  const long r0 = clamp(readable.x0, x, written.x1);
  const long r1 = clamp(readable.x1, r0, written.x1);
  if (r0 > x || r1 < written.x1 || s0 > 0 || s1 < N) {
    for (int s = 0; s < N; ++s) {
      for (int k = 0; k < RLO_STAGE_LINES; ++k) {
        stage[s][k] = fill;
      }
    }
  }
  long i = r0;
  while (i < r1) {
    const long block = min(i, r1 - L);
    if (block < readable.x0 || block < stage_x) {
      break;
    }
    rlo_units in[V];
    rlo_line out[N];
    rlo_load_step(in, from + block * E, src_ld_bytes, s0, s1, fill);
    rlo_shuffle(in, out);
    __private uchar *p = stage_bytes + (block - stage_x) * N * E;
#pragma unroll
    for (int m = 0; m < N; ++m) {
      *(__private rlo_line_any *)(p + m * RLO_LINE_BYTES) = out[m];
    }
    i = block + L;
  }
  for (; i < r1; ++i) {
    for (long s = s0; s < s1; ++s) {
      *(__private rlo_unit_any *)(stage_bytes + ((i - stage_x) * N + s) * E) =
          *(__global const rlo_unit_any *)(from + i * E + s * src_ld_bytes);
    }
  }
  const rlo_row row = {to, x * N * E, written.x1 * N * E};
  rlo_send_row(row, stage_bytes, stage_x * N * E, ahead);
#endif
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
    RLO_COMMON_PARAMS, RLO_PLANE_PARAMS, rlo_index chunks RLO_GUARD_PARAMS) {
  const int long_axis = RLO_SKINNY_SPLIT ? b_axis : a_axis;
  const long extent = RLO_SKINNY_SPLIT ? nb : na;
  const long src_ld_bytes = (long)src_ld * E;
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(RLO_GROUP * (ulong)chunks, n_grid, grid_extent, index);
  bool is_more = true;
  for (rlo_index n = 0; n < chunks && is_more; ++n) {
    __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
    __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
    const long first =
        long_axis < 0 ? 0 : (long)index[long_axis] * RLO_SKINNY_LONG;
#if RLO_GUARDS > 0
    rlo_guard guards[RLO_GUARDS];
    RLO_GUARDS_LOAD
#else
    __private const rlo_guard *guards = 0;
#endif
    rlo_ahead ahead = {from, 0, 0, 0, src_ld_bytes};
    is_more = rlo_next(n_grid, grid_extent, index);
    if (is_more) {
      const long next =
          long_axis < 0 ? 0 : (long)index[long_axis] * RLO_SKINNY_LONG;
      const long units = min(extent - next, (long)RLO_SKINNY_LONG);
      ahead.row = RLO_SRC_CORNER(RLO_UNIT_BYTES);
      ahead.row_bytes = units * E * (RLO_SKINNY_SPLIT ? V : 1);
      ahead.rows = RLO_SKINNY_SPLIT ? 1 : N;
    }
    rlo_move_chunk(from,
                   to,
                   src_ld_bytes,
                   (long)dst_ld * E,
                   first,
                   min(extent - first, (long)RLO_SKINNY_LONG),
                   extent,
                   guards,
                   fill_lo,
                   fill_hi,
                   &ahead);
  }
}

#include "batch.cl"
