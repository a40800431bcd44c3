/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family packed, CPU class: batches of small matrices, or of anything small
 * that is permuted within itself.
 *
 *     for c < cells, u < RLO_CELL_UNITS:
 *         dst[dst_offset + c * RLO_CELL_UNITS + u] =
 *         src[src_offset + c * RLO_CELL_UNITS + from(u)]
 *
 * for every other point of the grid, where from() is the constant permutation
 * that the extents and strides below define. Arguments after the common ten:
 *
 *   10  int cell_axis          grid axis that counts groups of cells, -1: one
 *   11  rlo_index cells        cells along that axis in all
 *   12  rlo_index group_cells  cells of one group
 *   13  rlo_index src_end      units that may be read, from src_offset on
 *
 * For cell_axis: extent ceil(cells / group_cells), strides group_cells *
 * RLO_CELL_UNITS.
 *
 * A cell is at most eight lines, which are loaded, shuffled with constant
 * indices, and stored whole. RLO_CELL_DIRECT: cells are whole lines and stored
 * straight to the destination, which the host has proven aligned. Else each is
 * stored over the end of the one before in a window of private memory that
 * mirrors the destination, and whole lines are copied from there; any alignment
 * works.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_NT=1
// define-matrix: -DRLO_UNIT_BYTES=8 -DRLO_CELL_LINES=2 -DRLO_PREFETCH=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_CELL_LINES=4
// define-matrix: -DRLO_VECTOR_SHUFFLE=0
// define-matrix: -DRLO_CELL_X0=8 -DRLO_CELL_X1=8 -DRLO_CELL_S0=8 -DRLO_CELL_S1=1 -DRLO_CELL_UNITS=64 -DRLO_CELL_LINES=4 -DRLO_CELL_DIRECT=1
#include "cpu_shuffle.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_packed_cells
#endif

/* Extents of a cell's axes in the order of the destination, the first one
 * contiguous, and their strides in the source. */
#ifndef RLO_CELL_X0
#define RLO_CELL_X0 3
#endif
#ifndef RLO_CELL_X1
#define RLO_CELL_X1 5
#endif
#ifndef RLO_CELL_X2
#define RLO_CELL_X2 1
#endif
#ifndef RLO_CELL_X3
#define RLO_CELL_X3 1
#endif
#ifndef RLO_CELL_S0
#define RLO_CELL_S0 5
#endif
#ifndef RLO_CELL_S1
#define RLO_CELL_S1 1
#endif
#ifndef RLO_CELL_S2
#define RLO_CELL_S2 0
#endif
#ifndef RLO_CELL_S3
#define RLO_CELL_S3 0
#endif

/* Units of a cell, the product of its extents; the lines it takes, 1..8; cells
 * that are shuffled together, which share a line. */
#ifndef RLO_CELL_UNITS
#define RLO_CELL_UNITS 15
#endif
#ifndef RLO_CELL_LINES
#define RLO_CELL_LINES 1
#endif
#ifndef RLO_CELL_JOINED
#define RLO_CELL_JOINED 1
#endif

/* 1: cells are whole lines, each of them aligned. */
#ifndef RLO_CELL_DIRECT
#define RLO_CELL_DIRECT 0
#endif

/* Bytes that the window gathers before lines leave. Few: lines that leave while
 * others are gathered keep memory busy. */
#ifndef RLO_CELL_WINDOW
#define RLO_CELL_WINDOW 1024
#endif

/* Parts of a group's cells that are moved in turns, if cells are whole lines:
 * see cpu_copy.cl. */
#define RLO_CELL_PARTS  4
#define RLO_CELL_UNROLL (RLO_CELL_LINES > 2 ? 1 : RLO_CELL_PARTS)

/* Bytes that the prefetch runs ahead. */
#ifndef RLO_CELL_AHEAD
#define RLO_CELL_AHEAD 1024
#endif

#define L RLO_LINE_UNITS
#define E RLO_UNIT_BYTES

#define RLO_CELL_BYTES (RLO_CELL_UNITS * E)

/* Which unit of the source goes to unit u of joined cells. */
#define RLO_CELL_AXIS(u, inner, x, s) ((u) / (inner) % (x) * (s))
#define RLO_CELL_FROM(u)                                                       \
  (RLO_CELL_AXIS(u, 1, RLO_CELL_X0, RLO_CELL_S0) +                             \
   RLO_CELL_AXIS(u, RLO_CELL_X0, RLO_CELL_X1, RLO_CELL_S1) +                   \
   RLO_CELL_AXIS(u, RLO_CELL_X0 * RLO_CELL_X1, RLO_CELL_X2, RLO_CELL_S2) +     \
   RLO_CELL_AXIS(                                                              \
       u, RLO_CELL_X0 * RLO_CELL_X1 * RLO_CELL_X2, RLO_CELL_X3, RLO_CELL_S3) + \
   (u) / RLO_CELL_UNITS * RLO_CELL_UNITS)

#if RLO_VECTOR_SHUFFLE
/* Element e of output line o: the line its unit comes from and its element
 * there. What lies behind the cells is overwritten later: it may be anything.
 */
#define RLO_UNIT_OF(o, e) \
  (((o)*L + (e) / RLO_SUB) % (RLO_CELL_UNITS * RLO_CELL_JOINED))
#define RLO_SOURCE_OF(n, o, e) (RLO_CELL_FROM(RLO_UNIT_OF(o, e)) / L)
#define RLO_ELEMENT_OF(n, o, e) \
  (RLO_CELL_FROM(RLO_UNIT_OF(o, e)) % L * RLO_SUB + (e) % RLO_SUB)

#define RLO_IN(n, k)       in[k]
#define RLO_PUT(n, o, sum) out[o] = __builtin_astype(sum, rlo_line)

/* The lines of joined cells, permuted. */
RLO_INLINE void rlo_shuffle(__global const uchar *from,
                            __private rlo_line *out) {
  rlo_units in[RLO_CELL_LINES];
#pragma unroll
  for (int v = 0; v < RLO_CELL_LINES; ++v) {
    __global const uchar *p = from + v * RLO_LINE_BYTES;
    rlo_prefetch(p + RLO_CELL_AHEAD);
    in[v] = __builtin_astype(*(__global const rlo_line_any *)p, rlo_units);
  }
  RLO_MIXES(RLO_CELL_LINES, RLO_CELL_LINES)
}
#endif

/* One cell unit by unit. */
RLO_INLINE void rlo_move_cell_units(__private uchar *to,
                                    __global const uchar *from) {
#pragma unroll 1
  for (int u = 0; u < RLO_CELL_UNITS; ++u) {
    *(__private rlo_unit_any *)(to + u * E) =
        *(__global const rlo_unit_any *)(from + RLO_CELL_FROM(u) * E);
  }
}

#if RLO_CELL_DIRECT && RLO_VECTOR_SHUFFLE
/* Moves cell c, which is whole lines on both sides. */
RLO_INLINE void rlo_move_cell(__global const uchar *from,
                              __global uchar *to,
                              long c) {
  rlo_line out[RLO_CELL_LINES];
  rlo_shuffle(from + c * RLO_CELL_BYTES, out);
#pragma unroll
  for (int v = 0; v < RLO_CELL_LINES; ++v) {
    rlo_store_line(to + c * RLO_CELL_BYTES + v * RLO_LINE_BYTES, out[v]);
  }
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int cell_axis,
    rlo_index cells,
    rlo_index group_cells,
    rlo_index src_end) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
  long left = rlo_num_points(index, cell_axis, group_cells, cells);
  /* Bytes that may be read from here on. */
  long readable = (src + src_offset_bytes - from) + (long)src_end * E;
  /* The window mirrors the destination from the beginning of a line, and has
   * room for what a cell writes beyond its end. */
  rlo_line window[RLO_CELL_WINDOW / RLO_LINE_BYTES + 2 * RLO_CELL_LINES + 2];
  __private uchar *w = (__private uchar *)window;
#if RLO_CELL_DIRECT && RLO_VECTOR_SHUFFLE
  const long part = left / RLO_CELL_PARTS;
  for (long c = 0; c < part; ++c) {
#pragma unroll RLO_CELL_UNROLL
    for (int p = 0; p < RLO_CELL_PARTS; ++p) {
      rlo_move_cell(from, to, p * part + c);
    }
  }
  for (long c = RLO_CELL_PARTS * part; c < left; ++c) {
    rlo_move_cell(from, to, c);
  }
  (void)w;
  (void)readable;
#else
  long at = (long)((ulong)to % RLO_LINE_BYTES);
  long foreign = at; /* bytes of the first line that are not ours */
  to -= at;
  while (left > 0) {
    while (left > 0 && at < RLO_CELL_WINDOW) {
#if RLO_VECTOR_SHUFFLE
      if (readable >= RLO_CELL_LINES * RLO_LINE_BYTES) {
        const long joined = min(left, (long)RLO_CELL_JOINED);
        rlo_line out[RLO_CELL_LINES];
        rlo_shuffle(from, out);
#pragma unroll
        for (int v = 0; v < RLO_CELL_LINES; ++v) {
          *(__private rlo_line_any *)(w + at + v * RLO_LINE_BYTES) = out[v];
        }
        left -= joined;
        at += joined * RLO_CELL_BYTES;
        from += joined * RLO_CELL_BYTES;
        readable -= joined * RLO_CELL_BYTES;
        continue;
      }
#endif
      rlo_move_cell_units(w + at, from);
      left -= 1;
      at += RLO_CELL_BYTES;
      from += RLO_CELL_BYTES;
    }
    /* The part that does not fill a line begins the next round. */
    const long whole = at / RLO_LINE_BYTES * RLO_LINE_BYTES;
    long sent = 0;
    if (foreign > 0 && whole > 0) {
      rlo_piece_private(to + foreign, w + foreign, RLO_LINE_BYTES - foreign);
      sent = RLO_LINE_BYTES;
    }
#pragma unroll 4
    for (; sent < whole; sent += RLO_LINE_BYTES) {
      rlo_store_line(to + sent, *(__private const rlo_line *)(w + sent));
    }
    if (whole > 0) {
      foreign = 0;
      to += whole;
      at -= whole;
      window[0] = window[whole / RLO_LINE_BYTES];
    }
  }
  rlo_piece_private(to + foreign, w + foreign, at - foreign);
  (void)readable;
#endif
  (void)fill_lo;
  (void)fill_hi;
}
