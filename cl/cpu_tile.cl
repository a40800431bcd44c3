/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, CPU class: the innermost axis moves.
 *
 *     for i < na, j < nb: dst[dst_offset + A(i) + j] =
 *                         src[src_offset + i + B(j)]
 *
 * for every other point of the grid. The plane has two sides: a, which has no gaps in the source,
 * and b, which has none in the destination. With RLO_LEVELS 1 a side is one axis, and
 * A(i) = i * dst_ld, B(j) = j * src_ld. With 3 it is up to three, so that short axes make long runs:
 *
 *     A(i) = i0 * dst_ld + i1 * dst_ld2 + i2 * dst_ld3
 *     where i = i0 + a_n1 * (i1 + a_n2 * i2), i0 < a_n1, i1 < a_n2
 *
 * and likewise B. The plane is cut into tiles of tile_a x tile_b units; one group moves one tile.
 * Arguments after the common ten:
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
 *       with RLO_JOINED_BITS rlo_index joined_ld, element_ld: cpu_join.cl; and cpu_odd.cl
 *       the guards; x is the coefficient of i, y that of j; RLO_LEVELS is 1
 *
 * For a_axis: extent ceil(na / tile_a), source stride tile_a, guard coefficient tile_a * x; the
 * destination stride is 0, because the kernel computes A. For b_axis with the sides exchanged.
 *
 * A tile is moved in one of two ways. *Direct*: blocks of one line along b are transposed in
 * registers and each line is stored at once; it needs either plain stores or proof that every
 * line is aligned (RLO_DST_ALIGN). *Staged*: blocks are transposed into a stage in private
 * memory, a line of each column, and stored as whole aligned lines for any alignment of the
 * destination; the rest of the last line is stored with the next window. Tiles of one plane then
 * own whole lines of each destination row, so that their borders move with the rows' phase
 * (RLO_LEAN). The edges of the plane and tiles that a guard cuts are staged too.
 *
 * The host should choose: tiles of 8 x 16 lines, or of 48 x 16 where blocks have at most 16 rows
 * that are long and are moved directly: hardware then reads ahead; a as the fastest grid axis and
 * b next, so that the source is read in order; RLO_NT if the destination is larger than the
 * caches. A plane with an extent below a line is moved unit by unit: see cpu_skinny.cl.
 */
// define-matrix: -DRLO_LEVELS=3 -DRLO_NT=1 -DRLO_INDEX32=1 -DRLO_GRID_RANK=16
// define-matrix: -DRLO_LEVELS=3 -DRLO_UNIT_BYTES=1 -DRLO_NT=1 -DRLO_DST_ALIGN=64
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_NT=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_JOINED_BITS=4 -DRLO_PREFETCH=1 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_JOINED_BITS=1 -DRLO_LEVELS=3 -DRLO_VECTOR_SHUFFLE=0
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_JOINED_BITS=2 -DRLO_JOINED_ODD=1 -DRLO_NT=1 -DRLO_PREFETCH=1

#include "cpu_places.cl"
#include "cpu_block.cl"
#include "cpu_odd.cl"
#include "cpu_plane.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_tile
#endif

/* Most units of a tile along a and along b, multiples of a line (64 bytes). */
#ifndef RLO_TILE_A
#define RLO_TILE_A ((RLO_UNIT_BYTES >= 4 ? 72 : 12) * RLO_LINE_UNITS)
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B (16 * RLO_LINE_UNITS)
#endif

/* 1: whole blocks are moved for all elements of a byte at once. */
#define RLO_JOINED_WHOLE \
  (RLO_JOINED_BITS > 0 && !RLO_JOINED_ODD && RLO_GUARDS == 0 && \
   RLO_LEVELS == 1 && !RLO_LEAN)

/* Columns and lines of the stage, for rows that do not consist of whole lines. Many
 * columns, so that long pieces of source rows are read; few lines, so that loads and
 * stores take short turns. Blocks of 1 and 2 bytes have many columns by themselves. */
#ifndef RLO_STAGE_COLUMNS
#define RLO_STAGE_COLUMNS (RLO_UNIT_BYTES >= 4 ? 8 * L : 2 * L)
#endif
#ifndef RLO_STAGE_LINES
#define RLO_STAGE_LINES (RLO_UNIT_BYTES >= 4 ? 1 : 4)
#endif

/* A column of it, which begins with the last line of the window before. */
#define RLO_STAGE_BYTES ((RLO_STAGE_LINES + 1) * RLO_LINE_BYTES)

/* A tile: its corner, without the offsets of the places; boxes are relative to
 * it. */
typedef struct rlo_tile {
  __global const uchar *from;
  __global uchar *to;
  rlo_places columns, rows;
  rlo_join join;
  long src_ld_bytes, dst_ld_bytes;
  /* The same, loaded for each block, so that addresses are sums of a few
   * registers. Otherwise compilers hold a pointer per row and line of a block,
   * more than there are registers. */
  volatile long src_step, dst_step;
  /* Cells of the plane that may be read: a block at an edge may reach back
   * beyond the tile. */
  rlo_box readable;
  long tb;
  bool is_first, is_last; /* of the tiles along b */
} rlo_tile;

/* Target of a block: line c is stored to column c of the stage, or of the
 * destination. */
typedef struct rlo_target {
  bool is_staged;
  __private uchar *stage;
  __global uchar *to;
  rlo_places columns;
  long dst_ld_bytes;
} rlo_target;

RLO_INLINE void rlo_store_block_line(rlo_target target, int c, rlo_line line) {
  if (target.is_staged) {
    *(__private rlo_line_any *)(target.stage + c * RLO_STAGE_BYTES) = line;
  } else {
    __global uchar *p =
        target.to + rlo_place_at(target.columns, c, target.dst_ld_bytes);
    rlo_put_line(p, line);
  }
}

/* Blocks from the one that is moved to the one that is prefetched. */
#ifndef RLO_NEAR_BLOCKS
#define RLO_NEAR_BLOCKS (RLO_UNIT_BYTES >= 4 ? 4 : 2)
#endif

/* The rows of the block that is moved RLO_NEAR_BLOCKS after the one at (i, j):
 * in the same rows of the box, in those that follow, or in the next tile. */
RLO_INLINE rlo_near rlo_find_near(__private const rlo_tile *tile,
                                  rlo_box box,
                                  long i,
                                  long j,
                                  __private const rlo_ahead *next) {
  long x = i + RLO_NEAR_BLOCKS * L;
  if (x >= box.x1) {
    x = min(x - (box.x1 - box.x0), box.x1 - L);
    j += j + L < box.y1 || next->rows >= L ? L : 0;
  }
  const bool is_next = j >= box.y1;
  rlo_near near;
  near.rows = (rlo_row_list){0, tile->src_step, tile->join};
  near.from = is_next ? next->row + (x - box.x0) * E : tile->from + x * E;
#if RLO_LEVELS > 1
  near.rows.is_listed = true;
  near.rows.table = is_next ? next->places : tile->rows + j;
  near.from -= is_next ? *next->places : 0;
#else
  near.from += is_next ? 0 : rlo_place_at(tile->rows, j, tile->src_ld_bytes);
#endif
  return near;
}

/* Moves the block at (i, j) of a tile. */
RLO_INLINE void rlo_move_block(__private const rlo_tile *tile,
                               long i,
                               long j,
                               rlo_target target,
                               rlo_near near,
                               __private rlo_ahead *next) {
  rlo_block block;
  const rlo_row_list even = {0, tile->src_step, tile->join};
  __global const uchar *from = tile->from + i * E;
#if RLO_LEVELS > 1
  /* Rows that lie at one step are quicker. Both kinds are stored by the same
   * code: LLVM merges equal stores of two branches and drops that they are
   * non-temporal. */
  const rlo_row_list listed = {tile->rows + j, 0, tile->join, true};
  if (listed.table[L - 1] - listed.table[0] == (L - 1) * tile->src_ld_bytes) {
    rlo_load_block(&block, from + listed.table[0], even, near, next);
  } else {
    rlo_load_block(&block, from, listed, near, next);
  }
#else
  rlo_load_block(&block,
                 from + rlo_place_at(tile->rows, j, tile->src_ld_bytes),
                 even,
                 near,
                 next);
#endif
  RLO_UNROLL_BLOCK
  for (int k = 0; k < RLO_BLOCK_STEPS; ++k) {
    rlo_line lines[RLO_BLOCK_LINES];
    rlo_transpose_block(&block, k, lines);
#pragma unroll
    for (int n = 0; n < RLO_BLOCK_LINES; ++n) {
      rlo_store_block_line(target, k + n * RLO_BLOCK_STEPS, lines[n]);
    }
  }
}

#if RLO_JOINED_WHOLE
/* Moves a box of whole blocks of joined rows straight to the destination: one
 * block of bytes for each row that is joined, whose lines then exchange
 * elements, so that every source line is read once. */
RLO_INLINE void rlo_move_joined(__private const rlo_tile *tile,
                                rlo_box box,
                                long element_ld_bytes,
                                __private rlo_ahead *next) {
  const rlo_row_list rows = {0, tile->src_step, {.is_plain = true}};
  for (long i = box.x0; i < box.x1; i += L) {
    for (long j = box.y0; j < box.y1; j += L) {
      rlo_block blocks[RLO_JOINED_ROWS];
      __global const uchar *from =
          tile->from + rlo_place_at(tile->rows, j, tile->src_ld_bytes) + i;
      __global uchar *to =
          tile->to + rlo_place_at(tile->columns, i, tile->dst_ld_bytes) + j;
#pragma unroll 1
      for (int r = 0; r < RLO_JOINED_ROWS; ++r) {
        rlo_load_block(&blocks[r],
                       from + tile->join.places[r],
                       rows,
                       (rlo_near){0, rows},
                       next);
      }
#pragma unroll 1
      for (int k = 0; k < RLO_BLOCK_STEPS; ++k) {
        rlo_line parts[RLO_JOINED_ROWS][RLO_BLOCK_LINES];
#pragma unroll
        for (int r = 0; r < RLO_JOINED_ROWS; ++r) {
          rlo_transpose_block(&blocks[r], k, parts[r]);
        }
#pragma unroll
        for (int n = 0; n < RLO_BLOCK_LINES; ++n) {
          rlo_line lines[RLO_JOINED_ROWS];
#pragma unroll
          for (int r = 0; r < RLO_JOINED_ROWS; ++r) {
            lines[r] = parts[r][n];
          }
          rlo_exchange_elements(lines);
          __global uchar *p = to + (k + n * RLO_BLOCK_STEPS) * tile->dst_step;
#pragma unroll
          for (int r = 0; r < RLO_JOINED_ROWS; ++r) {
            rlo_put_line(p + r * element_ld_bytes, lines[r]);
          }
        }
      }
    }
  }
}
#elif !RLO_LEAN
/* Moves a box of whole blocks straight to the destination. */
RLO_INLINE void rlo_move_direct(__private const rlo_tile *tile,
                                rlo_box box,
                                __private rlo_ahead *next) {
  for (long j = box.y0; j < box.y1; j += L) {
    for (long i = box.x0; i < box.x1; i += L) {
      const rlo_target target = {
          false,
          0,
          tile->to + j * E,
          rlo_places_from(tile->columns, i, tile->dst_ld_bytes),
          tile->dst_step};
      rlo_move_block(
          tile, i, j, target, rlo_find_near(tile, box, i, j, next), next);
    }
  }
}
#endif

/* Cells of a stage: columns [x0, x1), of which the first stands for `base`, and
 * rows [y0, y1), of which [c0, c1) x [r0, r1) are read and the others fill. */
typedef struct rlo_window {
  __private uchar *stage;
  long base, x0, x1, y0, y1;
  long c0, c1, r0, r1;
} rlo_window;

/* Where the stage has a cell. */
RLO_INLINE __private uchar *rlo_window_at(rlo_window w, long x, long y) {
  return w.stage + (x - w.base) * RLO_STAGE_BYTES + (y - w.y0 + L) * E;
}

RLO_INLINE void rlo_fill_window(rlo_window w, rlo_line fill) {
  if (w.c0 > w.x0 || w.c1 < w.x1 || w.r0 > w.y0 || w.r1 < w.y1) {
    for (long i = w.x0; i < w.x1; ++i) {
      __private rlo_line *column =
          (__private rlo_line *)(w.stage + (i - w.base) * RLO_STAGE_BYTES);
      for (int k = 1; k <= RLO_STAGE_LINES; ++k) {
        column[k] = fill;
      }
    }
  }
}

/* Loads the cells that are read: in blocks, the last of which reaches back, or
 * unit by unit where no block fits. */
RLO_INLINE void rlo_load_window(__private const rlo_tile *tile,
                                rlo_window w,
                                __private rlo_ahead *next) {
  const long reach = w.c1 - L;
  const long min_x = max(w.base, tile->readable.x0);
  const long min_y = max(tile->readable.y0, max(w.y0, 0L) - L);
  /* Windows are narrow: nothing is brought near. */
  const rlo_near here = {tile->from, {0, 0, tile->join}};
  for (long j = w.r0; j < w.r1; j += L) {
    const long block_y = min(j, w.r1 - L);
    for (long i = w.c0; i < w.c1; i += L) {
      const long block_x = min(i, reach);
      if (block_y >= min_y && block_x >= min_x) {
        const rlo_target target = {true, rlo_window_at(w, block_x, block_y)};
        rlo_move_block(tile, block_x, block_y, target, here, next);
      } else {
        const long j1 = min(j + L, w.r1);
        const long i1 = min(i + L, w.c1);
        for (long y = j; y < j1; ++y) {
          for (long x = i; x < i1; ++x) {
            __global const uchar *p =
                tile->from + rlo_place_at(tile->rows, y, tile->src_ld_bytes) +
                x * E;
            *(__private rlo_unit_any *)rlo_window_at(w, x, y) =
                rlo_read_unit(p, tile->join);
          }
        }
      }
    }
  }
}

/* Sends the columns of a window, as far as they are whole lines, and moves
 * the last line of each to the next window of the box. */
RLO_INLINE void rlo_send_window(__private const rlo_tile *tile,
                                rlo_box box,
                                rlo_window w) {
#if RLO_LEAN
  /* Inside, each column sends the whole window: as many lines as it has, the
   * first of which begins before it. */
  if (w.y1 - w.y0 == RLO_STAGE_LINES * L && box.y0 <= w.y0 - L &&
      (w.y1 < box.y1 || (!tile->is_last && w.y1 == tile->tb))) {
    for (long i = w.x0; i < w.x1; ++i) {
      __private uchar *column = w.stage + (i - w.base) * RLO_STAGE_BYTES;
      __global uchar *to =
          tile->to +
          (rlo_place_at(tile->columns, i, tile->dst_ld_bytes) + w.y0 * E);
      const long phase = (long)((ulong)to % RLO_LINE_BYTES);
#pragma unroll
      for (int k = 0; k < RLO_STAGE_LINES; ++k) {
        rlo_store_line(
            to - phase + k * RLO_LINE_BYTES,
            *(__private const rlo_line_any *)(column - phase +
                                              (k + 1) * RLO_LINE_BYTES));
      }
      *(__private rlo_line *)column =
          *(__private const rlo_line *)(column +
                                        RLO_STAGE_LINES * RLO_LINE_BYTES);
    }
    return;
  }
#endif
  for (long i = w.x0; i < w.x1; ++i) {
    __global uchar *to =
        tile->to + rlo_place_at(tile->columns, i, tile->dst_ld_bytes);
    __private uchar *column = w.stage + (i - w.base) * RLO_STAGE_BYTES;
    const rlo_row row =
        rlo_own_row(to, box, tile->tb, tile->is_first, tile->is_last);
#if RLO_LEAN
    const long phase = (long)((ulong)to % RLO_LINE_BYTES);
#else
    const long phase = 0;
#endif
    const long first = max(row.from_byte, w.y0 * E - phase);
    const long last =
        w.y1 == box.y1 ? row.to_byte : min(row.to_byte, w.y1 * E - phase);
    if (first < last) {
      rlo_send(to + first, column + (first - (w.y0 - L) * E), last - first, 0);
    }
#if RLO_LEAN
    *(__private rlo_line *)column =
        *(__private const rlo_line_any *)(column + (w.y1 - w.y0) * E);
#endif
  }
}

/* Moves a box through a stage, window by window. */
RLO_INLINE void rlo_move_staged(__private const rlo_tile *tile,
                                rlo_box box,
                                rlo_line fill,
                                __private rlo_ahead *next) {
  rlo_line stage[RLO_STAGE_COLUMNS][RLO_STAGE_LINES + 1];
  const rlo_box readable = tile->readable;
  rlo_window w;
  w.stage = (__private uchar *)stage;
  for (w.x0 = box.x0; w.x0 < box.x1; w.x0 += RLO_STAGE_COLUMNS) {
    w.x1 = min(box.x1, w.x0 + RLO_STAGE_COLUMNS);
    w.c0 = clamp(readable.x0, w.x0, w.x1);
    w.c1 = clamp(readable.x1, w.c0, w.x1);
    /* The first column of the stage: a last block reaches back if it may. */
    const long reach = w.c1 - L;
    const bool is_reaching = w.c0 < w.c1 && reach < w.x0 &&
                             reach >= readable.x0 &&
                             w.x1 - reach <= RLO_STAGE_COLUMNS;
    w.base = is_reaching ? reach : w.x0;
    for (w.y0 = box.y0; w.y0 < box.y1; w.y0 = w.y1) {
      w.y1 = min(box.y1, w.y0 < 0 ? 0 : (w.y0 / L + RLO_STAGE_LINES) * L);
      w.r0 = clamp(readable.y0, w.y0, w.y1);
      w.r1 = clamp(readable.y1, w.r0, w.y1);
      rlo_fill_window(w, fill);
      rlo_load_window(tile, w, next);
      rlo_send_window(tile, box, w);
    }
  }
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
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
    int tile_b
#if RLO_JOINED_BITS > 0
    ,
    rlo_index joined_ld,
    rlo_index element_ld RLO_ODD_PARAMS
#endif
        RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(RLO_GROUP, n_grid, grid_extent, index);
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
  rlo_tile tile;
  tile.from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  tile.to = RLO_DST_CORNER(RLO_UNIT_BYTES);
#if RLO_LEVELS > 1
  long column_places[RLO_TILE_A];
  long row_places[L + RLO_TILE_B + 1];
  const long before = is_first ? 0 : L;
  rlo_find_places(side_a, a0, ta, column_places);
  rlo_find_places(side_b, b0 - before, tb + before, row_places + L - before);
  row_places[L + tb] = 0; /* read behind the last row, not used */
  tile.columns = column_places;
  tile.rows = row_places + L;
#else
  tile.columns = a0 * side_a.step1;
  tile.rows = b0 * side_b.step1;
#endif
  rlo_box plane = {-a0, (long)na - a0, -b0, (long)nb - b0};
#if RLO_JOINED_BITS > 0
  const int element = (int)index[n_grid - 1];
  tile.join = rlo_join_rows(element, (long)joined_ld * RLO_JOINED_ROWS);
#else
  tile.join = (rlo_join){true};
#endif
#if RLO_JOINED_ODD
  const rlo_odd odd = RLO_ODD_INIT;
  tile.join = rlo_join_odd(&odd);
  plane = rlo_cut_odd(&odd, a0, b0);
  rlo_close_rows(&odd, min(ta, plane.x1), is_first, is_last);
#endif
  tile.src_ld_bytes = side_b.step1;
  tile.dst_ld_bytes = side_a.step1;
  tile.src_step = side_b.step1;
#if !RLO_LEAN
  tile.dst_step = side_a.step1;
#endif
  tile.tb = tb;
  tile.is_first = is_first;
  tile.is_last = is_last;
#if RLO_GUARDS > 0
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD
#endif
  rlo_ahead next = {0};
#if RLO_PREFETCH
#if RLO_LEVELS > 1
  long next_places[RLO_TILE_B + 1]; /* one is read behind the last */
#endif
#if RLO_JOINED_BITS > 0
  /* The groups that follow read the same rows. Each fetches its share of the
   * next tile's, or the first all of them. */
  index[n_grid - 1] = RLO_JOINED_ROWS - 1;
#endif
  if (rlo_next(n_grid, grid_extent, index)) {
    const long next_a0 = a_axis < 0 ? 0 : (long)index[a_axis] * tile_a;
    const long next_b0 = b_axis < 0 ? 0 : (long)index[b_axis] * tile_b;
    next.row = RLO_SRC_CORNER(RLO_UNIT_BYTES);
#if RLO_JOINED_BITS > 0 && !RLO_JOINED_WHOLE
    next.row += element * (long)joined_ld;
#endif
    next.row_bytes = min((long)na - next_a0, (long)tile_a) * E;
    next.rows = min((long)nb - next_b0, (long)tile_b);
#if RLO_LEVELS > 1
    next.places = tile.rows;
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
#if RLO_JOINED_WHOLE
    next.ld_bytes = joined_ld;
    next.rows = element == 0 ? next.rows * RLO_JOINED_ROWS : 0;
#endif
  }
#endif
  /* The cells this tile may own, and those to be written. */
  const rlo_box owned = {0, ta, RLO_LEAN && !is_first ? -(long)L : 0, tb};
  rlo_box written = {
      0, min(ta, plane.x1), max(owned.y0, plane.y0), min(tb, plane.y1)};
  tile.readable = plane;
#if RLO_GUARDS > 0
  if (!rlo_cut_box(guards, RLO_GUARDS, owned, &tile.readable) ||
      !rlo_cut_box(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, owned, &written)) {
    rlo_move_cells(tile.to + rlo_place_at(tile.columns, 0, 0),
                   tile.from + rlo_place_at(tile.rows, 0, 0),
                   side_a.step1,
                   side_b.step1,
                   owned,
                   tb,
                   is_first,
                   is_last,
                   guards,
                   tile.join,
                   rlo_fill_unit(fill_lo, fill_hi));
    return;
  }
#endif

  /* The rest, up to four boxes around the one that is moved directly. */
  rlo_box rest[4];
  int n_rest = 0;
#if !RLO_LEAN
  rlo_box box = {max(written.x0, tile.readable.x0),
                 min(written.x1, tile.readable.x1),
                 max(written.y0, tile.readable.y0),
                 min(written.y1, tile.readable.y1)};
#if RLO_NT
  box.y0 = (box.y0 + L - 1) / L * L; /* y0 >= 0 without RLO_LEAN */
#endif
  box.x1 = box.x0 + max(0L, box.x1 - box.x0) / L * L;
  box.y1 = box.y0 + max(0L, box.y1 - box.y0) / L * L;
  if (box.x0 < box.x1 && box.y0 < box.y1) {
#if RLO_JOINED_WHOLE
    /* All elements of the bytes, by the group of the first. */
    if (element == 0) {
      rlo_move_joined(&tile, box, element_ld, &next);
    }
#else
    rlo_move_direct(&tile, box, &next);
#endif
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
    if (rest[part].x0 < rest[part].x1 && rest[part].y0 < rest[part].y1) {
      rlo_move_staged(
          &tile, rest[part], rlo_fill_line(fill_lo, fill_hi), &next);
    }
  }
}

#include "batch.cl"
