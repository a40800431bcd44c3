/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_tile, CPU class: computes where one axis is contiguous in the
 * source and another one in the destination.
 *
 *     for x < x_units, y < y_units:
 *         cell = &dst[dst_offset + x + y * y_dst_stride]
 *         v = src[src_offset + x * x_src_stride + y]
 *         *cell = to_dst(steps(v, *cell))
 *
 * for every other point of the grid; types by arith.cl. Arguments after the
 * common ten:
 *
 *   10  int x_axis                grid axis that counts tiles along x, -1: one
 *   11  rlo_index x_units
 *   12  rlo_index x_src_stride
 *   13  int y_axis                grid axis that counts tiles along y, -1: one
 *   14  rlo_index y_units
 *   15  rlo_index y_dst_stride
 *   16  rlo_numbers numbers
 *
 * A group has RLO_COMPUTE_TILE_X by RLO_COMPUTE_TILE_Y cells. Rows of the
 * source, a page of each, are computed and kept in private memory, which is
 * read once more by blocks of sixteen by sixteen. These are transposed in
 * registers and laid out as rows of the destination, from where whole lines are
 * stored. Where cells are added, values are computed after they are transposed.
 */
// define-matrix: -DRLO_BETA=0 -DRLO_NT=1 -DRLO_CONVERT=1
// define-matrix: -DRLO_COMPUTE=2 -DRLO_SRC_CLASS=4 -DRLO_SRC_BYTES=8 -DRLO_SRC_BITS=64 -DRLO_SRC_EXPONENT=11 -DRLO_SRC_MANTISSA=52 -DRLO_SRC_BIAS=1023 -DRLO_SRC_SPECIALS=1 -DRLO_SRC_BARE=0
#define RLO_LANES 16
#include "cpu_compute_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_compute_tile
#endif

/* Cells of a group; multiples of 16, for units that make lines of Y. */
#ifndef RLO_COMPUTE_TILE_X
#define RLO_COMPUTE_TILE_X 64
#endif
#ifndef RLO_COMPUTE_TILE_Y
#define RLO_COMPUTE_TILE_Y 512
#endif

/* Rows of the source that are read in turns, each by a line. */
#ifndef RLO_ROWS
#define RLO_ROWS 8
#endif

/* The values that are kept: those of the destination, or raw ones of the
 * source. */
#if RLO_BETA && !RLO_CONVERT
typedef rlo_src_raw rlo_staged;
#if RLO_SRC_BYTES == 8
#define RLO_STAGED_BYTES         8
#define RLO_LOAD_STAGED(p)       RLO_LOAD_AS(__private, ulong, p)
#define RLO_STORE_STAGED(p, raw) RLO_STORE_AS(__private, ulong, p, raw)
#else
#define RLO_STAGED_BYTES         4
#define RLO_LOAD_STAGED(p)       RLO_LOAD_AS(__private, uint, p)
#define RLO_STORE_STAGED(p, raw) RLO_STORE_AS(__private, uint, p, raw)
#endif
#else
typedef rlo_dst_raw rlo_staged;
#define RLO_STAGED_BYTES   RLO_DST_BYTES
#define RLO_LOAD_STAGED(p) RLO_LOAD_DST(__private, p)
#endif

/* Bytes from row to row that is kept: not a power of two, lest all rows of a
 * column share a few sets of a cache. */
#define RLO_STAGE_BYTES (RLO_COMPUTE_TILE_Y * RLO_STAGED_BYTES + 64)

/* Bytes of a row of the private block. */
#define RLO_ROW_BYTES (RLO_COMPUTE_TILE_X * RLO_DST_BYTES)

/* One round: lane l of row i and lane l ^ d of row i ^ d change places where
 * the bits of i and l differ. */
#define RLO_TRANSPOSE_PAIR(i, d, low, high)                \
  do {                                                     \
    const rlo_staged a = rows[i];                          \
    const rlo_staged b = rows[(i) + (d)];                  \
    rows[i] = __builtin_shufflevector(a, b, low);          \
    rows[(i) + (d)] = __builtin_shufflevector(a, b, high); \
  } while (0)

#define RLO_LOW_1  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define RLO_HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define RLO_LOW_2  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define RLO_HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define RLO_LOW_4  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define RLO_HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define RLO_LOW_8  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define RLO_HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31

RLO_INLINE void rlo_transpose_16(__private rlo_staged *rows) {
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    RLO_TRANSPOSE_PAIR(i, 1, RLO_LOW_1, RLO_HIGH_1);
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = (k & 1) | (k >> 1) << 2;
    RLO_TRANSPOSE_PAIR(i, 2, RLO_LOW_2, RLO_HIGH_2);
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = (k & 3) | (k >> 2) << 3;
    RLO_TRANSPOSE_PAIR(i, 4, RLO_LOW_4, RLO_HIGH_4);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    RLO_TRANSPOSE_PAIR(i, 8, RLO_LOW_8, RLO_HIGH_8);
  }
}

/* Sixteen values of a row are kept. */
RLO_INLINE void rlo_stage(__private uchar *stage,
                          rlo_src_raw values,
                          rlo_numbers numbers) {
#if RLO_BETA && !RLO_CONVERT
  RLO_STORE_STAGED(stage, values);
  (void)numbers;
#else
  RLO_STORE_DST(
      __private, stage, rlo_compute(values, (rlo_dst_raw)(0), numbers));
#endif
}

/* `rows`, a constant, rows of `ys` values are kept while those at `next` are
 * brought near. */
RLO_INLINE void rlo_stage_rows(__private uchar *stage,
                               __global const uchar *from,
                               __global const uchar *next,
                               long src_ld_bytes,
                               int rows,
                               long ys,
                               rlo_numbers numbers) {
  long y = 0;
  for (; y + RLO_LINE_POINTS <= ys; y += RLO_LINE_POINTS) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const long at = r * src_ld_bytes + y * RLO_SRC_BYTES;
#pragma unroll
      for (int k = 0; k < RLO_LINE_POINTS; k += RLO_LANES) {
        rlo_prefetch(next + at + k * RLO_SRC_BYTES);
        rlo_stage(stage + r * RLO_STAGE_BYTES + (y + k) * RLO_STAGED_BYTES,
                  RLO_LOAD_SRC(__global, from + at + k * RLO_SRC_BYTES),
                  numbers);
      }
    }
  }
  for (; y < ys; y += RLO_LANES) {
    for (int r = 0; r < rows; ++r) {
      rlo_stage(
          stage + r * RLO_STAGE_BYTES + y * RLO_STAGED_BYTES,
          rlo_load_some(from + r * src_ld_bytes + y * RLO_SRC_BYTES, ys - y),
          numbers);
    }
  }
}

/* All rows of a tile are kept; after them zeros, up to a multiple of 16. */
RLO_INLINE void rlo_stage_tile(__private uchar *stage,
                               __global const uchar *from,
                               __global const uchar *next,
                               long src_ld_bytes,
                               long xs,
                               long ys,
                               rlo_numbers numbers) {
  long x = 0;
  for (; x + RLO_ROWS <= xs; x += RLO_ROWS) {
    __global const uchar *rows = from + x * src_ld_bytes;
    rlo_stage_rows(
        stage + x * RLO_STAGE_BYTES,
        rows,
        x + 2 * RLO_ROWS <= xs ? rows + RLO_ROWS * src_ld_bytes : next,
        src_ld_bytes,
        RLO_ROWS,
        ys,
        numbers);
  }
  for (; x < xs; ++x) {
    __global const uchar *row = from + x * src_ld_bytes;
    rlo_stage_rows(
        stage + x * RLO_STAGE_BYTES, row, row, src_ld_bytes, 1, ys, numbers);
  }
  for (; x % 16 != 0; ++x) {
    for (long y = 0; y < ys; y += RLO_LANES) {
      __private uchar *p = stage + x * RLO_STAGE_BYTES + y * RLO_STAGED_BYTES;
      for (int k = 0; k < RLO_LANES * RLO_STAGED_BYTES; ++k) {
        p[k] = 0;
      }
    }
  }
}

/* Sixteen columns that are kept become what the destination's rows are to be:
 * `xs` cells each. What is there before is in the block where `is_staged`, else
 * in the destination. */
RLO_INLINE void rlo_compute_strip(__private uchar *block,
                                  __global const uchar *to,
                                  long dst_ld_bytes,
                                  bool is_staged,
                                  __private const uchar *stage,
                                  long xs,
                                  rlo_numbers numbers) {
  for (long x = 0; x < xs; x += 16) {
    rlo_staged rows[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      rows[i] = RLO_LOAD_STAGED(stage + (x + i) * RLO_STAGE_BYTES);
    }
    rlo_transpose_16(rows);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      __private uchar *cells = block + i * RLO_ROW_BYTES + x * RLO_DST_BYTES;
      rlo_dst_raw value;
#if RLO_BETA && !RLO_CONVERT
      rlo_dst_raw old;
      if (is_staged) {
        old = RLO_LOAD_DST(__private, cells);
      } else {
        old = RLO_LOAD_DST(__global, to + i * dst_ld_bytes + x * RLO_DST_BYTES);
      }
      value = rlo_compute(rows[i], old, numbers);
#else
      value = rows[i];
#endif
      RLO_STORE_DST(__private, cells, value);
    }
  }
  (void)to;
  (void)dst_ld_bytes;
  (void)is_staged;
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
    RLO_COMMON_PARAMS,
    int x_axis,
    rlo_index x_units,
    rlo_index x_src_stride,
    int y_axis,
    rlo_index y_units,
    rlo_index y_dst_stride,
    rlo_numbers numbers) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(RLO_GROUP, n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_SRC_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_DST_BYTES);
  const long xs = rlo_num_points(index, x_axis, RLO_COMPUTE_TILE_X, x_units);
  const long ys = rlo_num_points(index, y_axis, RLO_COMPUTE_TILE_Y, y_units);
  const long src_ld_bytes = (long)x_src_stride * RLO_SRC_BYTES;
  const long dst_ld_bytes = (long)y_dst_stride * RLO_DST_BYTES;
  __global const uchar *next = from;
  if (rlo_next(n_grid, grid_extent, index)) {
    next = RLO_SRC_CORNER(RLO_SRC_BYTES);
  }
  rlo_line staged[RLO_COMPUTE_TILE_X * RLO_STAGE_BYTES / RLO_LINE_BYTES];
  __private uchar *stage = (__private uchar *)staged;
  rlo_stage_tile(stage, from, next, src_ld_bytes, xs, ys, numbers);
  /* Lines beyond the block's end are stored to by the last vector of a row. */
  rlo_line block[16 * RLO_ROW_BYTES / RLO_LINE_BYTES + 1];
  __private uchar *b = (__private uchar *)block;
  for (long y = 0; y < ys; y += 16) {
    const long rows = min(ys - y, 16L);
    __global uchar *row_to = to + y * dst_ld_bytes;
    const bool is_whole = rows == 16 && xs % 16 == 0;
#if RLO_BETA
    /* The old cells of the strip that follows, in this tile or the next. */
    for (long i = 16; i < 32; ++i) {
      for (long k = 0; k < xs * RLO_DST_BYTES; k += RLO_LINE_BYTES) {
        rlo_prefetch(row_to + i * dst_ld_bytes + k);
      }
    }
    for (long i = 0; !is_whole && i < rows; ++i) {
      for (long k = 0; k < xs * RLO_DST_BYTES; ++k) {
        b[i * RLO_ROW_BYTES + k] = row_to[i * dst_ld_bytes + k];
      }
    }
#endif
    rlo_compute_strip(b,
                      row_to,
                      dst_ld_bytes,
                      !is_whole,
                      stage + y * RLO_STAGED_BYTES,
                      xs,
                      numbers);
    for (long i = 0; i < rows; ++i) {
      const rlo_row row = {row_to + i * dst_ld_bytes, 0, xs * RLO_DST_BYTES};
      rlo_send_row(row, b + i * RLO_ROW_BYTES, 0, 0);
    }
  }
  (void)fill_lo;
  (void)fill_hi;
}

#include "batch.cl"
