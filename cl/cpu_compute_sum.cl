/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_sum, CPU class: sums along axes without guards or quotients.
 *
 *     for c < cells:
 *         x = the sum of src[src_offset + c * cell_src_stride + s] over the
 *             steps s of the reduction axes, in the order of problem.h
 *         y = &dst[dst_offset + c * cell_dst_stride]
 *         *y = to_dst(steps(x, *y))
 *
 * for every other point of the grid. Two ways, RLO_ALONG_ROWS:
 *
 *   1  The innermost reduction axis is contiguous: sixteen of its points, which
 *      are the lanes of the sum, come at once.
 *   0  The cells are contiguous in the source (cell_src_stride is 1): sixteen
 * of them at once, and lanes in private memory.
 *
 * Arguments after the common ten, whose grid counts the kept axes:
 *
 *   10  int cell_axis              grid axis that counts batches of cells, -1
 *   11  rlo_index cells            cells along that axis in all, >= 1
 *   12  rlo_index cell_src_stride
 *   13  rlo_index cell_dst_stride
 *   14  int n_sum                  outer reduction axes
 *   15  rlo_grid sum_extent        the last varies fastest
 *   16  rlo_grid sum_src_stride
 *   17  rlo_index row_units        points along the innermost reduction axis
 *   18  rlo_index row_src_stride   1 along rows
 *   19  rlo_index group_cells      cells of a group along cell_axis; down
 *                                  columns at most RLO_CELLS
 *   20  rlo_numbers numbers
 */
// define-matrix: -DRLO_ALONG_ROWS=1
// define-matrix: -DRLO_SUM_BLOCK=1 -DRLO_SUM_LEVELS=7
// define-matrix: -DRLO_COMPUTE=0 -DRLO_SRC_CLASS=2 -DRLO_SRC_BYTES=4 -DRLO_SRC_BITS=32 -DRLO_DST_CLASS=2 -DRLO_DST_BYTES=8 -DRLO_DST_BITS=64
#define RLO_LANES 16
#include "cpu_compute_common.cl"
#include "sum_total.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_compute_sum
#endif

#ifndef RLO_ALONG_ROWS
#define RLO_ALONG_ROWS 0
#endif

/* Most cells of a group, down columns: pieces of rows of 8 KiB, a multiple of
 * RLO_LANES. */
#define RLO_CELLS (RLO_SRC_BYTES == 8 ? 1024 : 2048)

/* Points of a block, as problem.h defines them; its lanes are RLO_LANES. 1
 * where points are sums of blocks themselves. */
#ifndef RLO_SUM_BLOCK
#define RLO_SUM_BLOCK 1024
#endif

#define RLO_VECTORS (RLO_CELLS / RLO_LANES)

/* Sixteen sums, n of which are cells. */
RLO_INLINE void rlo_put_some(__global uchar *to,
                             long stride_bytes,
                             long n,
                             rlo_t sums,
                             rlo_numbers numbers) {
  rlo_line some[RLO_LANES * RLO_DST_BYTES / 64 + 1] = {0};
  __private uchar *y = (__private uchar *)some;
#if RLO_BETA
  for (long c = 0; c < n; ++c) {
    for (int b = 0; b < RLO_DST_BYTES; ++b) {
      y[c * RLO_DST_BYTES + b] = to[c * stride_bytes + b];
    }
  }
#endif
  RLO_STORE_DST(
      __private, y, rlo_combine(sums, RLO_LOAD_DST(__private, y), numbers));
  for (long c = 0; c < n; ++c) {
    for (int b = 0; b < RLO_DST_BYTES; ++b) {
      to[c * stride_bytes + b] = y[c * RLO_DST_BYTES + b];
    }
  }
}

#define RLO_HALVE(v) ((v).lo + (v).hi)

#if RLO_ALONG_ROWS

/* Blocks that are read in turns, each by a line. Hardware looks ahead within a
 * page only; blocks lie in several. */
#ifndef RLO_BLOCKS
#define RLO_BLOCKS 8
#endif

/* Contiguous points, and whether they are a cell's last ones. */
typedef struct rlo_block {
  __global const uchar *from;
  long n;
  bool is_last;
} rlo_block;

/* The blocks of consecutive cells in their order. */
typedef struct rlo_blocks {
  __global const uchar *cell;
  __global const uchar *row;
  long cell_bytes;
  long cells;
  long row_units;
  long at;
  rlo_index index[RLO_GRID_RANK];
} rlo_blocks;

/* Take up to RLO_BLOCKS of them; returns how many. */
RLO_INLINE int rlo_take_blocks(__private rlo_blocks *left,
                               int n_sum,
                               rlo_grid sum_extent,
                               rlo_grid sum_src_stride,
                               __private rlo_block *blocks) {
  int count = 0;
  for (; count < RLO_BLOCKS && left->cells > 0; ++count) {
    const long n = min(left->row_units - left->at, (long)RLO_SUM_BLOCK);
    blocks[count].from = left->row + left->at * RLO_SRC_BYTES;
    blocks[count].n = n;
    blocks[count].is_last = false;
    left->at += n;
    if (left->at == left->row_units) {
      left->at = 0;
      if (!rlo_next(n_sum, sum_extent, left->index)) {
        blocks[count].is_last = true;
        left->cells -= 1;
        left->cell += left->cell_bytes;
      }
      left->row = left->cell +
                  rlo_dot(n_sum, left->index, sum_src_stride) * RLO_SRC_BYTES;
    }
  }
  return count;
}

/* Points [k, block->n), where k is a multiple of RLO_LANES, added to the lanes;
 * these become one. */
RLO_INLINE rlo_t rlo_end_block(__private const rlo_block *block,
                               long k,
                               rlo_t lanes) {
  for (; k + RLO_LANES <= block->n; k += RLO_LANES) {
    lanes +=
        rlo_from_src(RLO_LOAD_SRC(__global, block->from + k * RLO_SRC_BYTES));
  }
  if (k < block->n) {
    lanes += rlo_from_src(
        rlo_load_some(block->from + k * RLO_SRC_BYTES, block->n - k));
  }
  return (rlo_t)(RLO_HALVE(RLO_HALVE(RLO_HALVE(RLO_HALVE(lanes)))));
}

/* The sums of RLO_BLOCKS blocks, while the next ones are brought near. */
RLO_INLINE void rlo_sum_blocks(__private const rlo_block *blocks,
                               __private const rlo_block *next,
                               __private rlo_t *sums) {
  rlo_t lanes[RLO_BLOCKS];
  long n = blocks[0].n;
#pragma unroll
  for (int b = 0; b < RLO_BLOCKS; ++b) {
    lanes[b] = (rlo_t)(0);
    n = min(n, blocks[b].n);
  }
  long k = 0;
  for (; k + RLO_LINE_POINTS <= n; k += RLO_LINE_POINTS) {
#pragma unroll
    for (int b = 0; b < RLO_BLOCKS; ++b) {
      __global const uchar *p = blocks[b].from + k * RLO_SRC_BYTES;
      rlo_prefetch(next[b].from + k * RLO_SRC_BYTES);
#pragma unroll
      for (int l = 0; l < RLO_LINE_POINTS; l += RLO_LANES) {
        lanes[b] += rlo_from_src(RLO_LOAD_SRC(__global, p + l * RLO_SRC_BYTES));
      }
    }
  }
#pragma unroll
  for (int b = 0; b < RLO_BLOCKS; ++b) {
    sums[b] = rlo_end_block(&blocks[b], k, lanes[b]);
  }
}

#else

/* Rows that are read in turns, each by a line, while as many that follow are
 * brought near. */
#ifndef RLO_ROWS
#define RLO_ROWS 16
#endif

/* Bytes ahead that are brought near where blocks are read in turns. */
#define RLO_TURN_AHEAD 2048

/* Blocks that are read in turns, each by a line, where rows are so short that
 * many lie in a page: 4, 2, or 1. Their lanes stay in a near cache. */
#define RLO_TURNS(vectors)            \
  ((vectors) <= RLO_VECTORS / 16  ? 4 \
   : (vectors) <= RLO_VECTORS / 2 ? 2 \
                                  : 1)

/* Vectors of a line. */
#define RLO_LINE_VECTORS                              \
  (RLO_LINE_BYTES > RLO_LANES * RLO_SRC_BYTES         \
       ? RLO_LINE_BYTES / (RLO_LANES * RLO_SRC_BYTES) \
       : 1)

/* Lane l of vector v, side by side lest all lanes share a few sets of a cache;
 * and the totals of its blocks. */
typedef struct rlo_columns {
  rlo_t lanes[RLO_VECTORS][RLO_LANES];
  rlo_total totals[RLO_VECTORS];
} rlo_columns;

/* The lanes of the first vectors begin as 0. */
RLO_INLINE void rlo_begin_blocks(__private rlo_columns *columns, int vectors) {
  for (int v = 0; v < vectors; ++v) {
    for (int l = 0; l < RLO_LANES; ++l) {
      columns->lanes[v][l] = (rlo_t)(0);
    }
  }
}

/* Point k of a row's last cells, which are no whole vector. */
RLO_INLINE void rlo_add_rest(__private rlo_columns *columns,
                             int v,
                             __global const uchar *from,
                             long k,
                             long cells) {
  columns->lanes[v][k % RLO_LANES] +=
      rlo_from_src(rlo_load_some(from, cells % RLO_LANES));
}

/* A block of n points into lanes. */
RLO_INLINE void rlo_add_block(__private rlo_columns *columns,
                              __global const uchar *row,
                              long row_bytes,
                              long n,
                              long cells) {
  const int vectors = (int)((cells + RLO_LANES - 1) / RLO_LANES);
  const int whole = (int)(cells / RLO_LANES);
  rlo_begin_blocks(columns, vectors);
  long k = 0;
  for (; k + RLO_ROWS <= n; k += RLO_ROWS) {
    __global const uchar *p = row + k * row_bytes;
    for (int v = 0; v < whole; ++v) {
#pragma unroll
      for (int r = 0; r < RLO_ROWS; ++r) {
        __global const uchar *q =
            p + r * row_bytes + v * (RLO_LANES * RLO_SRC_BYTES);
        if (v % RLO_LINE_VECTORS == 0) {
          rlo_prefetch(q + RLO_ROWS * row_bytes);
        }
        columns->lanes[v][(k + r) % RLO_LANES] +=
            rlo_from_src(RLO_LOAD_SRC(__global, q));
      }
    }
  }
  for (; k < n; ++k) {
    __global const uchar *p = row + k * row_bytes;
    for (int v = 0; v < whole; ++v) {
      columns->lanes[v][k % RLO_LANES] += rlo_from_src(
          RLO_LOAD_SRC(__global, p + v * (RLO_LANES * RLO_SRC_BYTES)));
    }
  }
  for (k = 0; whole < vectors && k < n; ++k) {
    rlo_add_rest(columns,
                 whole,
                 row + k * row_bytes + whole * (RLO_LANES * RLO_SRC_BYTES),
                 k,
                 cells);
  }
}

/* Adds `blocks` whole blocks, read in turns; the lanes of each lie behind those
 * of the one before it. */
RLO_INLINE void rlo_add_blocks(__private rlo_columns *columns,
                               __global const uchar *row,
                               long row_bytes,
                               const int blocks,
                               long cells) {
  const int vectors = (int)((cells + RLO_LANES - 1) / RLO_LANES);
  const int whole = (int)(cells / RLO_LANES);
  const long block_bytes = RLO_SUM_BLOCK * row_bytes;
  rlo_begin_blocks(columns, blocks * vectors);
  for (long k = 0; k < RLO_SUM_BLOCK; ++k) {
    __global const uchar *p = row + k * row_bytes;
    for (int v = 0; v < whole; ++v) {
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        __global const uchar *q =
            p + b * block_bytes + v * (RLO_LANES * RLO_SRC_BYTES);
        if (v % RLO_LINE_VECTORS == 0) {
          rlo_prefetch(q + RLO_TURN_AHEAD);
        }
        columns->lanes[b * vectors + v][k % RLO_LANES] +=
            rlo_from_src(RLO_LOAD_SRC(__global, q));
      }
    }
    for (int b = 0; whole < vectors && b < blocks; ++b) {
      rlo_add_rest(columns,
                   b * vectors + whole,
                   p + b * block_bytes + whole * (RLO_LANES * RLO_SRC_BYTES),
                   k,
                   cells);
    }
  }
}

/* The lanes of vectors from `first` on become one each: a block's sum. */
RLO_INLINE void rlo_end_block(__private rlo_columns *columns,
                              int first,
                              int vectors) {
  for (int v = 0; v < vectors; ++v) {
    rlo_t eight[8];
#pragma unroll
    for (int l = 0; l < 8; ++l) {
      eight[l] =
          columns->lanes[first + v][l] + columns->lanes[first + v][l + 8];
    }
#pragma unroll
    for (int l = 0; l < 4; ++l) {
      eight[l] += eight[l + 4];
    }
    eight[0] += eight[2];
    eight[1] += eight[3];
    rlo_total_add(&columns->totals[v], eight[0] + eight[1]);
  }
}

#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int cell_axis,
    rlo_index cells,
    rlo_index cell_src_stride,
    rlo_index cell_dst_stride,
    int n_sum,
    rlo_grid sum_extent,
    rlo_grid sum_src_stride,
    rlo_index row_units,
    rlo_index row_src_stride,
    rlo_index group_cells,
    rlo_numbers numbers) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_SRC_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_DST_BYTES);
  const long count = rlo_num_points(index, cell_axis, group_cells, cells);
  const long to_bytes = (long)cell_dst_stride * RLO_DST_BYTES;
#if RLO_ALONG_ROWS
  rlo_blocks left;
  left.cell = from;
  left.row = from;
  left.cell_bytes = (long)cell_src_stride * RLO_SRC_BYTES;
  left.cells = count;
  left.row_units = row_units;
  left.at = 0;
  for (int d = 0; d < RLO_GRID_RANK; ++d) {
    left.index[d] = 0;
  }
  rlo_t sums = (rlo_t)(0);
  __private rlo_lane *lanes = (__private rlo_lane *)&sums;
  rlo_total total;
  total.parts = 0;
  rlo_block blocks[2][RLO_BLOCKS];
  int num_blocks =
      rlo_take_blocks(&left, n_sum, sum_extent, sum_src_stride, blocks[0]);
  long c = 0;
  for (int turn = 0; num_blocks > 0; turn ^= 1) {
    __private const rlo_block *now = blocks[turn];
    __private rlo_block *next = blocks[turn ^ 1];
    const int num_next =
        rlo_take_blocks(&left, n_sum, sum_extent, sum_src_stride, next);
    rlo_t parts[RLO_BLOCKS];
    if (num_blocks == RLO_BLOCKS) {
      for (int b = num_next; b < RLO_BLOCKS; ++b) {
        next[b] = now[b];
      }
      rlo_sum_blocks(now, next, parts);
    } else {
      for (int b = 0; b < num_blocks; ++b) {
        parts[b] = rlo_end_block(&now[b], 0, (rlo_t)(0));
      }
    }
    for (int b = 0; b < num_blocks; ++b) {
      rlo_total_add(&total, parts[b]);
      if (now[b].is_last) {
        lanes[c % RLO_LANES] = rlo_total_end(&total).s0;
        total.parts = 0;
        c += 1;
        if (c % RLO_LANES == 0 || c == count) {
          const long n = (c - 1) % RLO_LANES + 1;
          rlo_put_some(to + (c - n) * to_bytes, to_bytes, n, sums, numbers);
        }
      }
    }
    num_blocks = num_next;
  }
  (void)row_src_stride;
#else
  rlo_columns columns;
  const int vectors = (int)((count + RLO_LANES - 1) / RLO_LANES);
  const long row_bytes = (long)row_src_stride * RLO_SRC_BYTES;
  const int turns = RLO_TURNS(vectors);
  for (int v = 0; v < vectors; ++v) {
    columns.totals[v].parts = 0;
  }
  rlo_index at[RLO_GRID_RANK];
  for (int d = 0; d < RLO_GRID_RANK; ++d) {
    at[d] = 0;
  }
  do {
    __global const uchar *row =
        from + rlo_dot(n_sum, at, sum_src_stride) * RLO_SRC_BYTES;
    for (long k = 0; k < row_units;) {
      __global const uchar *block = row + k * row_bytes;
      const long n = min((long)row_units - k, (long)RLO_SUM_BLOCK);
      const int blocks = row_units - k < turns * RLO_SUM_BLOCK ? 1 : turns;
      if (blocks == 4) {
        rlo_add_blocks(&columns, block, row_bytes, 4, count);
      } else if (blocks == 2) {
        rlo_add_blocks(&columns, block, row_bytes, 2, count);
      } else {
        rlo_add_block(&columns, block, row_bytes, n, count);
      }
      for (int b = 0; b < blocks; ++b) {
        rlo_end_block(&columns, b * vectors, vectors);
      }
      k += blocks * n;
    }
  } while (rlo_next(n_sum, sum_extent, at));
  for (int v = 0; v < vectors; ++v) {
    const long n = min(count - v * RLO_LANES, (long)RLO_LANES);
    rlo_put_some(to + v * RLO_LANES * to_bytes,
                 to_bytes,
                 n,
                 rlo_total_end(&columns.totals[v]),
                 numbers);
  }
  (void)cell_src_stride;
#endif
  (void)fill_lo;
  (void)fill_hi;
}
