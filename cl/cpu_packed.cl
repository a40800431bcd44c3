/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family packed, CPU class: many small axes, and short rows.
 *
 *     for each point i of a block:
 *         dst[dst_offset + sum(i_k * dst_stride_k)] =
 *         src[src_offset + sum(i_k * src_stride_k)]
 *
 * A block is a piece of the box that is long along the leading axes of both
 * sides. Some of its axes, taken together, are its *columns*: units that follow
 * each other in the source. Others are its *rows*: units that follow each other
 * in the destination. For each point of the axes that are left a matrix is
 * transposed, independent of the small axes that make up rows and columns: the
 * offset of each row and column is listed once for all blocks of one size.
 * Arguments after the common ten, where a vector has one lane for each axis
 * k < n_axes of a block:
 *
 *   10  int n_axes                  1..RLO_GRID_RANK
 *   11  rlo_grid axis_extent        points of the axis in all
 *   12  rlo_grid axis_block         points of the axis in a whole block
 *   13  rlo_grid axis_grid          grid axis that counts blocks, -1: one block
 *   14  rlo_grid axis_src_stride    units
 *   15  rlo_grid axis_dst_stride    units
 *   16  rlo_grid axis_stage_stride  units from point to point in the stage
 *   17  int column_axes             bit k: axis k is part of the columns
 *   18  int row_axes                bit k: axis k is part of the rows
 *   19  int run_axes                bit k: the stage holds axis k as the
 *                                   destination does, in runs without a gap
 *   20  int fetch_axes              bit k: axis k is in a run of the source
 *   21  rlo_index blocks            blocks that one group moves
 *   22  int fetch_lines             lines to prefetch with each tile or row
 *   23  rlo_index src_end           units that may be read, from src_offset on
 *
 * Grid axes count blocks: their strides are per block. A group moves `blocks`
 * of them, one after another, and prefetches what the next one reads.
 *
 * RLO_PACKED_ROW 0: matrices are cut into tiles of at most RLO_PACKED_TILE
 * columns and rows, which are transposed in registers. Else the innermost axis
 * stays innermost: it is the columns, RLO_PACKED_ROW of them, there are no
 * rows, and a matrix is a piece to be copied.
 *
 * RLO_PACKED_DIRECT 0: a block is assembled in private memory, the *stage*, and
 * stored in runs; any alignment works. 1: whole lines are stored at once. The
 * host proves that every one is aligned, RLO_DST_ALIGN, and that the rows, or
 * RLO_PACKED_ROW, are a multiple of a line in every block.
 *
 * A block with fewer columns or rows than a tile, and a tile that would read
 * beyond src_end, are moved unit by unit.
 *
 * The host should choose: runs of 256 bytes and more on both sides, and
 * blocks that fit into the first-level cache beside what they read.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_PACKED_NA=3 -DRLO_NT=1 -DRLO_PREFETCH=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_PACKED_NB=7 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_PACKED_NA=2
// define-matrix: -DRLO_PACKED_TILE=4 -DRLO_PACKED_NA=3 -DRLO_VECTOR_SHUFFLE=0
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_UNIT_BYTES=1 -DRLO_PREFETCH=1
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_UNIT_BYTES=2 -DRLO_PACKED_NA=5
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_UNIT_BYTES=4 -DRLO_NT=1
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_UNIT_BYTES=8 -DRLO_INDEX32=1
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_UNIT_BYTES=16
// define-matrix: -DRLO_PACKED_DIRECT=1 -DRLO_VECTOR_SHUFFLE=0
// define-matrix: -DRLO_PACKED_ROW=5
// define-matrix: -DRLO_PACKED_ROW=33 -DRLO_PREFETCH=1
// define-matrix: -DRLO_PACKED_ROW=32 -DRLO_PACKED_DIRECT=1 -DRLO_NT=1
#include "cpu_packed_tile.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_packed
#endif

/* Units of a row that stays whole; 0: matrices are transposed. */
#ifndef RLO_PACKED_ROW
#define RLO_PACKED_ROW 0
#endif

/* Bytes of the stage. */
#ifndef RLO_PACKED_STAGE
#define RLO_PACKED_STAGE 16384
#endif

#if RLO_PACKED_ROW > 0

#define RLO_ROW_BYTES (RLO_PACKED_ROW * E)

/* Two moves that may overlap, for size <= RLO_ROW_BYTES <= 2 * size. */
#define RLO_MOVE_ROW(type, size)                                             \
  do {                                                                       \
    const type head = *(__global const type *)from;                          \
    const type tail = *(__global const type *)(from + RLO_ROW_BYTES - size); \
    *(__private type *)stage = head;                                         \
    *(__private type *)(stage + RLO_ROW_BYTES - size) = tail;                \
  } while (0)

RLO_INLINE void rlo_move_row(__global uchar *to,
                             __private uchar *stage,
                             __global const uchar *from) {
#if RLO_PACKED_DIRECT
  for (int k = 0; k < RLO_ROW_BYTES; k += 64) {
    rlo_store_line(to + k, *(__global const rlo_line_any *)(from + k));
  }
#elif RLO_ROW_BYTES >= 64
  for (int k = 0; k < RLO_ROW_BYTES - 64; k += 64) {
    *(__private rlo_line_any *)(stage + k) =
        *(__global const rlo_line_any *)(from + k);
  }
  *(__private rlo_line_any *)(stage + RLO_ROW_BYTES - 64) =
      *(__global const rlo_line_any *)(from + RLO_ROW_BYTES - 64);
#elif RLO_ROW_BYTES >= 32
  RLO_MOVE_ROW(rlo_u256_any, 32);
#elif RLO_ROW_BYTES >= 16
  RLO_MOVE_ROW(rlo_u128_any, 16);
#elif RLO_ROW_BYTES >= 8
  RLO_MOVE_ROW(rlo_u64_any, 8);
#elif RLO_ROW_BYTES >= 4
  RLO_MOVE_ROW(rlo_u32_any, 4);
#elif RLO_ROW_BYTES >= 2
  RLO_MOVE_ROW(rlo_u16_any, 2);
#else
  *stage = *from;
#endif
  (void)to;
  (void)stage;
}

#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int n_axes,
    rlo_grid axis_extent,
    rlo_grid axis_block,
    rlo_grid axis_grid,
    rlo_grid axis_src_stride,
    rlo_grid axis_dst_stride,
    rlo_grid axis_stage_stride,
    int column_axes,
    int row_axes,
    int run_axes,
    int fetch_axes,
    rlo_index blocks,
    int fetch_lines,
    rlo_index src_end) {
  __private const rlo_index *extents =
      (__private const rlo_index *)&axis_extent;
  __private const rlo_index *sizes = (__private const rlo_index *)&axis_block;
  __private const rlo_index *counters = (__private const rlo_index *)&axis_grid;
  __private const rlo_index *src_strides =
      (__private const rlo_index *)&axis_src_stride;
  __private const rlo_index *dst_strides =
      (__private const rlo_index *)&axis_dst_stride;
  __private const rlo_index *stage_strides =
      (__private const rlo_index *)&axis_stage_stride;
  rlo_block block;
  block.n = n_axes;
  for (int k = 0; k < n_axes; ++k) {
    block.extent[k] = 0;
    block.src_stride[k] = (long)src_strides[k] * E;
    block.dst_stride[k] = (long)dst_strides[k] * E;
    block.stage_stride[k] = (long)stage_strides[k] * E;
  }
#if RLO_PACKED_DIRECT
  __private uchar *stage = 0;
#else
  rlo_line stage_lines[RLO_PACKED_STAGE / RLO_LINE_BYTES];
  __private uchar *stage = (__private uchar *)stage_lines;
#endif
  /* The axes of each list of places in a block. */
  const int list_axes[RLO_RUNS + 1] = {
      column_axes, row_axes, ~(column_axes | row_axes), ~fetch_axes, ~run_axes};
  int counts[RLO_NUM_LISTS];
  rlo_place places[RLO_NUM_LISTS][RLO_PACKED_PLACES];
  __private const rlo_place *columns = places[RLO_COLUMNS];
  __private const rlo_place *rows = places[RLO_ROWS];
  __private const rlo_place *matrices = places[RLO_MATRICES];
  int n_columns = 0;
  int n_rows = 0;
  int n_matrices = 0;
  bool is_whole = true;
  /* Behind the last place where a tile may begin. */
  __global const uchar *safe = src;

  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0) * (ulong)blocks, n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  bool is_more = true;
  for (rlo_index b = 0; b < blocks && is_more; ++b) {
    __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
    bool is_same = true;
    for (int k = 0; k < n_axes; ++k) {
      const int counter = (int)counters[k];
      long extent = extents[k];
      if (counter >= 0) {
        extent = min(extent - (long)index[counter] * sizes[k], (long)sizes[k]);
      }
      is_same = is_same && extent == block.extent[k];
      block.extent[k] = extent;
    }
    if (!is_same) {
#pragma unroll 1
      for (int list = 0; list < RLO_NUM_LISTS; ++list) {
        counts[list] = rlo_list_places(
            &block,
            list == RLO_ROWS ? block.stage_stride : block.src_stride,
            list_axes[list],
            places[list]);
      }
      n_columns = counts[RLO_COLUMNS];
      n_rows = counts[RLO_ROWS];
      n_matrices = counts[RLO_MATRICES];
      is_whole = RLO_PACKED_ROW > 0 || (n_columns >= NA && n_rows >= NB);
      long reach = T * E;
      for (int j = 0; j < n_rows; ++j) {
        reach = max(reach, (long)rows[j].src + T * E);
      }
      safe = src + src_offset_bytes + (long)src_end * E - reach;
    }
    is_more = rlo_next(n_grid, grid_extent, index);
    __global const uchar *next = RLO_SRC_CORNER(RLO_UNIT_BYTES);
    rlo_fetch fetch = {next,
                       places[RLO_FETCHES],
                       is_more && RLO_PREFETCH ? counts[RLO_FETCHES] : 0,
                       rlo_run_bytes(&block, block.src_stride, fetch_axes),
                       0,
                       0,
                       0};
    rlo_fetch_run(&fetch);
    if (!is_whole) {
      rlo_move_units(&block, to, stage, from);
    } else {
      for (int m = 0; m < n_matrices; ++m) {
        __global const uchar *matrix_from = from + matrices[m].src;
        __global uchar *matrix_to = to + matrices[m].dst;
        __private uchar *matrix_stage = stage;
#if !RLO_PACKED_DIRECT
        matrix_stage += matrices[m].stage;
#endif
        (void)matrix_to;
        (void)matrix_stage;
#if RLO_PACKED_ROW > 0
        rlo_fetch_lines(&fetch, fetch_lines);
        rlo_move_row(matrix_to, matrix_stage, matrix_from);
#else
        /* The last tile of each side reaches back for a whole one. */
        for (int j = 0; j < n_rows; j += NB) {
          const int row = min(j, n_rows - NB);
          for (int i = 0; i < n_columns; i += NA) {
            const int column = min(i, n_columns - NA);
            __global const uchar *p = matrix_from + column * E;
            rlo_fetch_lines(&fetch, fetch_lines);
#if RLO_PACKED_DIRECT
            __global uchar *q = matrix_to + row * E;
            __private uchar *s = stage;
#else
            __global uchar *q = to;
            __private uchar *s = matrix_stage + row * E;
#endif
#if RLO_HAS_TILES
            if (NA == T || p <= safe) {
              rlo_move_tile(q, s, p, columns + column, rows + row);
              continue;
            }
#endif
            rlo_move_tile_units(q, s, p, columns + column, rows + row);
          }
        }
#endif
      }
    }
#if !RLO_PACKED_DIRECT
    const long run_bytes = rlo_run_bytes(&block, block.stage_stride, run_axes);
    __private const rlo_place *run = places[RLO_RUNS];
    for (int r = 0; r < counts[RLO_RUNS]; ++r, ++run) {
      rlo_send(to + run->dst, stage + run->stage, run_bytes, 0);
    }
#endif
    from = next;
  }
  (void)columns;
  (void)rows;
  (void)fetch_lines;
  (void)safe;
  (void)fill_lo;
  (void)fill_hi;
}
