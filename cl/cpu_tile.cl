/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, CPU class: the innermost axis moves.
 *
 *     for i < na, j < nb: dst[dst_offset + A(i) + j] =
 *                         src[src_offset + i + B(j)]
 *
 * for every other point of the grid. The plane has two sides: a, which has no
 * gaps in the source, and b, which has none in the destination. With RLO_LEVELS
 * 1 a side is one axis, and A(i) = i * dst_ld, B(j) = j * src_ld. With 3 it is
 * up to three, so that short axes make long runs:
 *
 *     A(i) = i0 * dst_ld + i1 * dst_ld2 + i2 * dst_ld3
 *     where i = i0 + a_n1 * (i1 + a_n2 * i2), i0 < a_n1, i1 < a_n2
 *
 * and likewise B. The plane is cut into tiles of tile_a x tile_b units; one
 * group moves one tile. Arguments after the common ten:
 *
 *   10  int a_axis          grid axis that counts tiles along a, -1: one tile
 *   11  int b_axis          grid axis that counts tiles along b, -1: one tile
 *   12  rlo_index na        extents of the plane in units, >= 1
 *   13  rlo_index nb
 *   14  rlo_index src_ld    in units, either sign
 *   15  rlo_index dst_ld
 *       with RLO_LEVELS 3:
 *         rlo_index a_n1, a_n2, dst_ld2, dst_ld3, b_n1, b_n2, src_ld2, src_ld3
 *       int tile_a          multiples of a line (64 bytes), at most RLO_TILE_A
 *       int tile_b          and RLO_TILE_B
 *       the guards; x is the coefficient of i, y that of j; RLO_LEVELS is 1
 *
 * For a_axis: extent ceil(na / tile_a), source stride tile_a, guard coefficient
 * tile_a * x; the destination stride is 0, for the kernel finds A by itself.
 * For b_axis the same with the sides exchanged.
 *
 * Two ways through a tile. *Direct*: blocks of one line along b are transposed
 * in registers and each line is stored at once; it needs either plain stores or
 * proof that every line is aligned (RLO_DST_ALIGN). *Staged*: blocks go into a
 * window in private memory, a few lines of each column, and leave in whole
 * aligned lines whatever the alignment; what is left of the last line waits for
 * the next window. Tiles of one plane then own whole lines of each destination
 * row, so that their borders lean with the rows' phase. Staged also takes what
 * is left at the edges of the plane and tiles that a guard cuts.
 *
 * What the host should choose: tiles of 4 x 16 lines, a as the fastest grid
 * axis and b next, so that the source is walked in order; RLO_NT if the
 * destination is larger than the caches. A plane with an extent below a line
 * goes unit by unit: see cpu_skinny.cl.
 */
// define-matrix: -DRLO_LEVELS=3 -DRLO_NT=1 -DRLO_INDEX32=1 -DRLO_GRID_RANK=16
// define-matrix: -DRLO_LEVELS=3 -DRLO_UNIT_BYTES=1 -DRLO_NT=1 -DRLO_DST_ALIGN=64
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_NT=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=2

/* Axes that a side of the plane may be made of: 1 or 3. */
#ifndef RLO_LEVELS
#define RLO_LEVELS 1
#endif
#define RLO_AHEAD_LISTED (RLO_LEVELS > 1)

#include "cpu_block.cl"
#include "cpu_plane.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_tile
#endif

/* Most units of a tile along a and along b, multiples of a line (64 bytes). */
#ifndef RLO_TILE_A
#define RLO_TILE_A (6 * RLO_LINE_UNITS)
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B (16 * RLO_LINE_UNITS)
#endif

/* Columns and lines of the window through which rows leave that are not made of
 * whole lines. With what is read meanwhile it has to fit into the first-level
 * cache. */
#ifndef RLO_STAGE_COLUMNS
#define RLO_STAGE_COLUMNS (RLO_UNIT_BYTES >= 4 ? 4 * L : 64)
#endif
#ifndef RLO_STAGE_LINES
#define RLO_STAGE_LINES 4
#endif

/* A column of it, which begins with the last line of the window before. */
#define RLO_STAGE_BYTES ((RLO_STAGE_LINES + 1) * RLO_LINE_BYTES)

/* A side of the plane: position c1 + n1 * (c2 + n2 * c3), where c1 < n1 and
 * c2 < n2, stands at c1 * step1 + c2 * step2 + c3 * step3 bytes. */
typedef struct rlo_side {
  long n1, n2;
  long step1, step2, step3;
} rlo_side;

#define RLO_ROW_BY_STEP(k) ((k)*src_s)

#if RLO_LEVELS > 1
/* Where positions stand: a table of them, begun anew for each tile. */
typedef __private const long *rlo_places;
#define RLO_PLACE(places, position, step)      ((void)(step), (places)[position])
#define RLO_FROM_PLACE(places, position, step) ((places) + (position))
#define RLO_ROW_BY_TABLE(k)                    (block_rows[k])
/* Blocks whose rows lie at one step, which is quicker, or do not. */
#define RLO_MOVE_BLOCK(from, row, STORE)                               \
  do {                                                                 \
    __private const long *block_rows = rows + (row);                   \
    if (block_rows[L - 1] - block_rows[0] == (L - 1) * src_ld_bytes) { \
      __global const uchar *even_ = (from) + block_rows[0];            \
      RLO_BLOCK(even_, RLO_ROW_BY_STEP, STORE);                        \
    } else {                                                           \
      RLO_BLOCK(from, RLO_ROW_BY_TABLE, STORE);                        \
    }                                                                  \
  } while (0)

/* Write down where `count` positions from `first` on stand. */
RLO_INLINE void rlo_find_places(rlo_side side,
                                long first,
                                long count,
                                __private long *out) {
  const long q = first / side.n1;
  const long c3 = q / side.n2;
  long c1 = first - q * side.n1;
  long c2 = q - c3 * side.n2;
  long at = c2 * side.step2 + c3 * side.step3;
  for (long k = 0; k < count;) {
    const long n = min(count - k, side.n1 - c1);
    for (long i = 0; i < n; ++i) {
      out[k + i] = at + (c1 + i) * side.step1;
    }
    k += n;
    c1 = 0;
    at += side.step2;
    c2 += 1;
    if (c2 == side.n2) {
      c2 = 0;
      at += side.step3 - side.n2 * side.step2;
    }
  }
}
#else
/* Where positions stand: the first of them, and all at one step. */
typedef long rlo_places;
#define RLO_PLACE(places, position, step) ((places) + (position) * (step))
#define RLO_FROM_PLACE                    RLO_PLACE
#define RLO_MOVE_BLOCK(from, row, STORE) \
  RLO_BLOCK((from) + RLO_PLACE(rows, row, src_ld_bytes), RLO_ROW_BY_STEP, STORE)
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    RLO_PLANE_PARAMS,
#if RLO_LEVELS > 1
    rlo_index a_n1,
    rlo_index a_n2,
    rlo_index dst_ld2,
    rlo_index dst_ld3,
    rlo_index b_n1,
    rlo_index b_n2,
    rlo_index src_ld2,
    rlo_index src_ld3,
#endif
    int tile_a,
    int tile_b RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  const long a0 = a_axis < 0 ? 0 : (long)index[a_axis] * tile_a;
  const long b0 = b_axis < 0 ? 0 : (long)index[b_axis] * tile_b;
  const long ta = min((long)na - a0, (long)tile_a);
  const long tb = min((long)nb - b0, (long)tile_b);
  const bool is_first = b0 == 0;
  const bool is_last = b0 + tb == (long)nb;
#if RLO_LEVELS > 1
  const rlo_side side_a = {
      a_n1, a_n2, (long)dst_ld * E, (long)dst_ld2 * E, (long)dst_ld3 * E};
  const rlo_side side_b = {
      b_n1, b_n2, (long)src_ld * E, (long)src_ld2 * E, (long)src_ld3 * E};
#else
  const rlo_side side_a = {na, 1, (long)dst_ld * E, 0, 0};
  const rlo_side side_b = {nb, 1, (long)src_ld * E, 0, 0};
#endif
  const long src_ld_bytes = side_b.step1;
  const long dst_ld_bytes = side_a.step1;
  /* Corner of the tile, but for what the tables say; boxes below are relative
   * to it. Rows are told from a line before the tile on. */
  __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
#if RLO_LEVELS > 1
  long column_places[RLO_TILE_A];
  long row_places[L + RLO_TILE_B + 1];
  const long before = is_first ? 0 : L;
  rlo_find_places(side_a, a0, ta, column_places);
  rlo_find_places(side_b, b0 - before, tb + before, row_places + L - before);
  row_places[L + tb] = 0; /* read in vain behind the last row */
  const rlo_places columns = column_places;
  const rlo_places rows = row_places + L;
#else
  const rlo_places columns = a0 * side_a.step1;
  const rlo_places rows = b0 * side_b.step1;
#endif
  /* Read anew for each block, so that addresses are sums of a few registers.
   * Left alone, the compiler keeps a pointer per row and line of a block, more
   * than there are registers. */
  volatile long src_step = side_b.step1;
#if !RLO_LEAN
  volatile long dst_step = side_a.step1;
#endif
#if RLO_GUARDS > 0
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD
#endif
  rlo_ahead next = {0};
#if RLO_PREFETCH
#if RLO_LEVELS > 1
  long next_places[RLO_TILE_B + 1]; /* one is read behind the last */
#endif
  if (rlo_next(n_grid, grid_extent, index)) {
    const long next_a0 = a_axis < 0 ? 0 : (long)index[a_axis] * tile_a;
    const long next_b0 = b_axis < 0 ? 0 : (long)index[b_axis] * tile_b;
    next.row = RLO_SRC_CORNER(RLO_UNIT_BYTES);
    next.row_bytes = min((long)na - next_a0, (long)tile_a) * E;
    next.rows = min((long)nb - next_b0, (long)tile_b);
#if RLO_LEVELS > 1
    next.places = rows;
    if (next_b0 != b0) {
      rlo_find_places(side_b, next_b0, next.rows, next_places);
      next_places[next.rows] = 0;
      next.places = next_places;
    }
    next.from = next.row;
    next.row += *next.places;
#else
    next.ld_bytes = side_b.step1;
    next.row += next_b0 * next.ld_bytes;
#endif
  }
#endif

  /* The cells this tile may own; of them, those to be written; and those of the
   * plane that may be read: a block at an edge may reach back beyond the tile.
   */
  const rlo_box tile = {0, ta, RLO_LEAN && !is_first ? -(long)L : 0, tb};
  rlo_box written = tile;
  rlo_box readable = {-a0, (long)na - a0, -b0, (long)nb - b0};
#if RLO_GUARDS > 0
  if (!rlo_cut_box(guards, RLO_GUARDS, tile, &readable) ||
      !rlo_cut_box(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, tile, &written)) {
    rlo_move_cells(to + RLO_PLACE(columns, 0, 0),
                   from + RLO_PLACE(rows, 0, 0),
                   side_a.step1,
                   side_b.step1,
                   tile,
                   tb,
                   is_first,
                   is_last,
                   guards,
                   rlo_fill_unit(fill_lo, fill_hi));
    return;
  }
#endif

  /* What the direct way leaves: up to four boxes around the one it takes. */
  rlo_box rest[4];
  int n_rest = 0;
#if !RLO_LEAN
  rlo_box box = {max(written.x0, readable.x0),
                 min(written.x1, readable.x1),
                 max(written.y0, readable.y0),
                 min(written.y1, readable.y1)};
#if RLO_NT
  box.y0 = (box.y0 + L - 1) / L * L; /* y0 >= 0: such tiles do not lean */
#endif
  box.x1 = box.x0 + max(0L, box.x1 - box.x0) / L * L;
  box.y1 = box.y0 + max(0L, box.y1 - box.y0) / L * L;
  if (box.x0 < box.x1 && box.y0 < box.y1) {
#define RLO_STORE_DIRECT(column, line) \
  RLO_STORE_ANY(to_block + RLO_PLACE(block_columns, column, dst_s), line)
#if RLO_NT
#define RLO_STORE_ANY rlo_store_line
#else
#define RLO_STORE_ANY(p, line) (*(__global rlo_line_any *)(p) = (line))
#endif
    for (long j = box.y0; j < box.y1; j += L) {
      for (long i = box.x0; i < box.x1; i += L) {
#pragma unroll
        for (int k = 0; k < L; k += 4) {
          rlo_prefetch_ahead(&next);
        }
        __global uchar *to_block = to + j * E;
        const long src_s = src_step;
        const long dst_s = dst_step;
        const rlo_places block_columns =
            RLO_FROM_PLACE(columns, i, dst_ld_bytes);
        __global const uchar *from_block = from + i * E;
        RLO_MOVE_BLOCK(from_block, j, RLO_STORE_DIRECT);
      }
    }
    const rlo_box around[4] = {{written.x0, box.x0, written.y0, written.y1},
                               {box.x0, box.x1, written.y0, box.y0},
                               {box.x0, box.x1, box.y1, written.y1},
                               {box.x1, written.x1, written.y0, written.y1}};
    for (int k = 0; k < 4; ++k) {
      if (around[k].x0 < around[k].x1 && around[k].y0 < around[k].y1) {
        rest[n_rest++] = around[k];
      }
    }
  } else {
    rest[n_rest++] = written;
  }
#else
  rest[n_rest++] = written;
#endif

  for (int part = 0; part < n_rest; ++part) {
    const rlo_box box = rest[part];
    if (box.x0 >= box.x1 || box.y0 >= box.y1) {
      continue;
    }
    rlo_line stage[RLO_STAGE_COLUMNS][RLO_STAGE_LINES + 1];
    __private uchar *stage_bytes = (__private uchar *)stage;
    for (long x0 = box.x0; x0 < box.x1; x0 += RLO_STAGE_COLUMNS) {
      const long x1 = min(box.x1, x0 + RLO_STAGE_COLUMNS);
      const long c0 = clamp(readable.x0, x0, x1);
      const long c1 = clamp(readable.x1, c0, x1);
      /* The first column of the window: a last block reaches back if it may. */
      const long reach = c1 - L;
      const bool is_reaching = c0 < c1 && reach < x0 && reach >= readable.x0 &&
                               x1 - reach <= RLO_STAGE_COLUMNS;
      const long base = is_reaching ? reach : x0;
      const long least_x = max(base, readable.x0);
      long y1;
      for (long y0 = box.y0; y0 < box.y1; y0 = y1) {
        y1 = min(box.y1, y0 < 0 ? 0 : y0 + RLO_STAGE_LINES * L);
        const long r0 = clamp(readable.y0, y0, y1);
        const long r1 = clamp(readable.y1, r0, y1);
        const long least_y = max(readable.y0, max(y0, 0L) - L);
        if (c0 > x0 || c1 < x1 || r0 > y0 || r1 < y1) {
          const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
          for (long i = x0; i < x1; ++i) {
            for (int k = 1; k <= RLO_STAGE_LINES; ++k) {
              stage[i - base][k] = fill;
            }
          }
        }
        for (long j = r0; j < r1; j += L) {
          const long block_y = min(j, r1 - L);
          for (long i = c0; i < c1; i += L) {
            const long block_x = min(i, reach);
            if (block_y >= least_y && block_x >= least_x) {
              __private uchar *stage_block =
                  stage_bytes + (block_x - base) * RLO_STAGE_BYTES +
                  (block_y - y0 + L) * E;
#define RLO_STORE_STAGE(column, line) \
  (*(__private rlo_line_any *)(stage_block + (column)*RLO_STAGE_BYTES) = (line))
              const long src_s = src_step;
              __global const uchar *from_block = from + block_x * E;
              RLO_MOVE_BLOCK(from_block, block_y, RLO_STORE_STAGE);
            } else {
              const long j1 = min(j + L, r1);
              const long i1 = min(i + L, c1);
              for (long y = j; y < j1; ++y) {
                for (long x = i; x < i1; ++x) {
                  *(__private rlo_unit_any *)(stage_bytes +
                                              (x - base) * RLO_STAGE_BYTES +
                                              (y - y0 + L) * E) =
                      *(__global const rlo_unit_any
                            *)(from + RLO_PLACE(rows, y, src_ld_bytes) + x * E);
                }
              }
            }
          }
        }
#if RLO_LEAN
        /* Inside, each column sends the whole window: as many lines as it has,
         * the first of which begins before it. */
        if (y1 - y0 == RLO_STAGE_LINES * L && box.y0 <= y0 - L &&
            (y1 < box.y1 || (!is_last && y1 == tb))) {
          for (long i = x0; i < x1; ++i) {
            __private uchar *column =
                stage_bytes + (i - base) * RLO_STAGE_BYTES;
            __global uchar *row_to =
                to + (RLO_PLACE(columns, i, dst_ld_bytes) + y0 * E);
            const long phase = (long)((ulong)row_to % RLO_LINE_BYTES);
            rlo_prefetch_ahead(&next);
#pragma unroll
            for (int k = 0; k < RLO_STAGE_LINES; ++k) {
              rlo_store_line(
                  row_to - phase + k * RLO_LINE_BYTES,
                  *(__private const rlo_line_any *)(column - phase +
                                                    (k + 1) * RLO_LINE_BYTES));
            }
            *(__private rlo_line *)column =
                *(__private const rlo_line *)(column +
                                              RLO_STAGE_LINES * RLO_LINE_BYTES);
          }
          continue;
        }
#endif
        for (long i = x0; i < x1; ++i) {
          __global uchar *row_to = to + RLO_PLACE(columns, i, dst_ld_bytes);
          __private uchar *column = stage_bytes + (i - base) * RLO_STAGE_BYTES;
          const rlo_row row = rlo_own_row(row_to, box, tb, is_first, is_last);
#if RLO_LEAN
          const long phase = (long)((ulong)row_to % RLO_LINE_BYTES);
#else
          const long phase = 0;
#endif
          const long first = max(row.from_byte, y0 * E - phase);
          const long last =
              y1 == box.y1 ? row.to_byte : min(row.to_byte, y1 * E - phase);
          if (first < last) {
            rlo_send(row_to + first,
                     column + (first - (y0 - L) * E),
                     last - first,
                     &next);
          }
#if RLO_LEAN
          *(__private rlo_line *)column =
              *(__private const rlo_line_any *)(column + (y1 - y0) * E);
#endif
        }
      }
    }
  }
}
