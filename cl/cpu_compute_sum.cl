/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_sum, CPU class: sums along axes without guards or quotients.
 *
 *     for c < cells:
 *         x = the sum of src[src_offset + c * cell_src_stride + s] over the
 *             steps s of the reduction axes, in the order of problem.h
 *         y = &dst[dst_offset + c * cell_dst_stride]
 *         *y = to_dst(alpha * x + beta * *y)
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
 *   19  ulong alpha_bits
 *   20  ulong beta_bits
 *
 * A group computes RLO_CELLS cells along cell_axis.
 */
// define-matrix: -DRLO_ALONG_ROWS=1
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

/* Cells of a group: a multiple of 16. */
#ifndef RLO_CELLS
#define RLO_CELLS 256
#endif

/* How many points ahead the source is prefetched, down columns. */
#ifndef RLO_ROWS_AHEAD
#define RLO_ROWS_AHEAD 8
#endif

/* Points of a block, as problem.h defines them; its lanes are RLO_LANES. */
#define RLO_SUM_BLOCK 1024

#define RLO_VECTORS (RLO_CELLS / RLO_LANES)

/* Sixteen sums, n of which are cells. */
RLO_INLINE void rlo_put_some(__global uchar *to,
                             long stride_bytes,
                             long n,
                             rlo_t sums,
                             ulong alpha_bits,
                             ulong beta_bits) {
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
      __private,
      y,
      rlo_combine(sums, RLO_LOAD_DST(__private, y), alpha_bits, beta_bits));
  for (long c = 0; c < n; ++c) {
    for (int b = 0; b < RLO_DST_BYTES; ++b) {
      to[c * stride_bytes + b] = y[c * RLO_DST_BYTES + b];
    }
  }
}

#if RLO_ALONG_ROWS

/* The lanes of a block of n points become one. */
RLO_INLINE rlo_lane rlo_sum_block(__global const uchar *row, long n) {
  rlo_t lanes = (rlo_t)(0);
  long k = 0;
  for (; k + RLO_LANES <= n; k += RLO_LANES) {
    lanes += rlo_from_src(RLO_LOAD_SRC(__global, row + k * RLO_SRC_BYTES));
  }
  if (k < n) {
    lanes += rlo_from_src(rlo_load_some(row + k * RLO_SRC_BYTES, n - k));
  }
  __private const rlo_lane *l = (__private const rlo_lane *)&lanes;
  rlo_lane eight[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    eight[i] = l[i] + l[i + 8];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    eight[i] += eight[i + 4];
  }
  eight[0] += eight[2];
  eight[1] += eight[3];
  return eight[0] + eight[1];
}

RLO_INLINE rlo_t rlo_sum_cell(__global const uchar *from,
                              int n_sum,
                              rlo_grid sum_extent,
                              rlo_grid sum_src_stride,
                              long row_units) {
  rlo_index index[RLO_GRID_RANK];
  for (int d = 0; d < RLO_GRID_RANK; ++d) {
    index[d] = 0;
  }
  rlo_total total;
  total.parts = 0;
  do {
    __global const uchar *row =
        from + rlo_dot(n_sum, index, sum_src_stride) * RLO_SRC_BYTES;
    for (long k = 0; k < row_units; k += RLO_SUM_BLOCK) {
      const long n = min(row_units - k, (long)RLO_SUM_BLOCK);
      rlo_total_add(&total, (rlo_t)(rlo_sum_block(row + k * RLO_SRC_BYTES, n)));
    }
  } while (rlo_next(n_sum, sum_extent, index));
  return rlo_total_end(&total);
}

#else

/* Lane l of vector v, and what its blocks come to. */
typedef struct rlo_columns {
  rlo_t lanes[RLO_LANES][RLO_VECTORS];
  rlo_total totals[RLO_VECTORS];
} rlo_columns;

/* n points into lanes, which begin as 0. */
RLO_INLINE void rlo_add_block(__private rlo_columns *columns,
                              __global const uchar *row,
                              long row_bytes,
                              long n,
                              long cells) {
  const int vectors = (int)((cells + RLO_LANES - 1) / RLO_LANES);
  const int whole = (int)(cells / RLO_LANES);
  for (int l = 0; l < RLO_LANES; ++l) {
    for (int v = 0; v < vectors; ++v) {
      columns->lanes[l][v] = (rlo_t)(0);
    }
  }
  for (long k = 0; k < n; ++k) {
    __private rlo_t *lane = columns->lanes[k % RLO_LANES];
    __global const uchar *p = row + k * row_bytes;
    for (int v = 0; v < whole; ++v) {
      /* Rows may lie pages apart, and hardware follows within a page. */
      rlo_prefetch(p + RLO_ROWS_AHEAD * row_bytes +
                   v * (RLO_LANES * RLO_SRC_BYTES));
      lane[v] += rlo_from_src(
          RLO_LOAD_SRC(__global, p + v * (RLO_LANES * RLO_SRC_BYTES)));
    }
    if (whole < vectors) {
      lane[whole] += rlo_from_src(rlo_load_some(
          p + whole * (RLO_LANES * RLO_SRC_BYTES), cells - whole * RLO_LANES));
    }
  }
}

/* The lanes become one, which is a block's sum. */
RLO_INLINE void rlo_end_block(__private rlo_columns *columns, int vectors) {
  for (int v = 0; v < vectors; ++v) {
    rlo_t eight[8];
#pragma unroll
    for (int l = 0; l < 8; ++l) {
      eight[l] = columns->lanes[l][v] + columns->lanes[l + 8][v];
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
    ulong alpha_bits,
    ulong beta_bits) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_SRC_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_DST_BYTES);
  const long count = rlo_num_points(index, cell_axis, RLO_CELLS, cells);
  const long to_bytes = (long)cell_dst_stride * RLO_DST_BYTES;
#if RLO_ALONG_ROWS
  const long from_bytes = (long)cell_src_stride * RLO_SRC_BYTES;
  for (long c = 0; c < count; c += RLO_LANES) {
    rlo_t sums = (rlo_t)(0);
    __private rlo_lane *lanes = (__private rlo_lane *)&sums;
    const long n = min(count - c, (long)RLO_LANES);
    for (long l = 0; l < n; ++l) {
      const rlo_t sum = rlo_sum_cell(from + (c + l) * from_bytes,
                                     n_sum,
                                     sum_extent,
                                     sum_src_stride,
                                     row_units);
      lanes[l] = sum.s0;
    }
    rlo_put_some(to + c * to_bytes, to_bytes, n, sums, alpha_bits, beta_bits);
  }
  (void)row_src_stride;
#else
  rlo_columns columns;
  const int vectors = (int)((count + RLO_LANES - 1) / RLO_LANES);
  const long row_bytes = (long)row_src_stride * RLO_SRC_BYTES;
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
    for (long k = 0; k < row_units; k += RLO_SUM_BLOCK) {
      const long n = min((long)row_units - k, (long)RLO_SUM_BLOCK);
      rlo_add_block(&columns, row + k * row_bytes, row_bytes, n, count);
      rlo_end_block(&columns, vectors);
    }
  } while (rlo_next(n_sum, sum_extent, at));
  for (int v = 0; v < vectors; ++v) {
    const long n = min(count - v * RLO_LANES, (long)RLO_LANES);
    rlo_put_some(to + v * RLO_LANES * to_bytes,
                 to_bytes,
                 n,
                 rlo_total_end(&columns.totals[v]),
                 alpha_bits,
                 beta_bits);
  }
  (void)cell_src_stride;
#endif
  (void)fill_lo;
  (void)fill_hi;
}
