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
 * transposed, whatever the small axes are that rows and columns consist of:
 * where each of them lies is listed once and serves every block of that size.
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
 * is kept: it is the columns, RLO_PACKED_ROW of them, there are no rows, and
 * a matrix is a piece to be copied.
 *
 * RLO_PACKED_DIRECT 0: a block is put together in private memory, the *stage*,
 * and leaves in runs; any alignment is right. 1: whole lines leave at once. The
 * host proves that every one is aligned, RLO_DST_ALIGN, and that the rows, or
 * RLO_PACKED_ROW, are a multiple of a line in every block.
 *
 * A block with fewer columns or rows than a tile, and a tile that would read
 * beyond src_end, go unit by unit.
 *
 * What the host should choose: runs of 256 bytes and more on both sides, and
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
#ifndef RLO_COMMON_CL
#include "common.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_packed
#endif

/* Units of a row that is kept; 0: matrices are transposed. */
#ifndef RLO_PACKED_ROW
#define RLO_PACKED_ROW 0
#endif

/* 1: lines go straight to the destination; 0: through the stage. */
#ifndef RLO_PACKED_DIRECT
#define RLO_PACKED_DIRECT 0
#endif

/* Side of the square that is transposed in registers; a power of two. */
#ifndef RLO_PACKED_TILE
#if RLO_UNIT_BYTES == 1
#define RLO_PACKED_TILE 16
#elif RLO_UNIT_BYTES <= 4
#define RLO_PACKED_TILE 8
#else
#define RLO_PACKED_TILE 4
#endif
#endif

/* Columns and rows of a tile, at most RLO_PACKED_TILE. A direct tile has a line
 * of rows instead. */
#ifndef RLO_PACKED_NA
#define RLO_PACKED_NA RLO_PACKED_TILE
#endif
#ifndef RLO_PACKED_NB
#define RLO_PACKED_NB RLO_PACKED_TILE
#endif

/* Bytes of the stage; most places of a list: columns, rows, matrices and runs
 * of a block. */
#ifndef RLO_PACKED_STAGE
#define RLO_PACKED_STAGE 16384
#endif
#ifndef RLO_PACKED_PLACES
#define RLO_PACKED_PLACES 1024
#endif

#define E  RLO_UNIT_BYTES
#define L  RLO_LINE_UNITS
#define T  RLO_PACKED_TILE
#define NA RLO_PACKED_NA
#if RLO_PACKED_DIRECT
#define NB L
#else
#define NB RLO_PACKED_NB
#endif

/* The axes of a block, and its size; strides in bytes. */
typedef struct rlo_block {
  int n;
  long extent[RLO_GRID_RANK];
  long src_stride[RLO_GRID_RANK];
  long dst_stride[RLO_GRID_RANK];
  long stage_stride[RLO_GRID_RANK];
} rlo_block;

/* A place on both sides and in the stage: bytes from the block's corner. */
typedef struct rlo_place {
  rlo_index src;
  rlo_index dst;
  int stage;
} rlo_place;

/* The lists of a block. */
enum {
  RLO_COLUMNS,
  RLO_ROWS,
  RLO_MATRICES,
  RLO_FETCHES,
  RLO_RUNS,
  RLO_NUM_LISTS = RLO_RUNS + !RLO_PACKED_DIRECT
};

/* List the points of the axes in `axes` (bit k: axis k), of which the one with
 * the least `order` varies fastest. Returns how many there are. */
RLO_INLINE int rlo_list_places(__private const rlo_block *block,
                               __private const long *order,
                               int axes,
                               __private rlo_place *out) {
  int n = 1;
  out[0].src = 0;
  out[0].dst = 0;
  out[0].stage = 0;
  axes &= (1 << block->n) - 1;
  while (axes != 0) {
    int next = -1;
    for (int k = 0; k < block->n; ++k) {
      if ((axes >> k & 1) != 0 &&
          (next < 0 || abs(order[k]) < abs(order[next]))) {
        next = k;
      }
    }
    axes &= ~(1 << next);
    const int before = n;
    for (long at = 1; at < block->extent[next]; ++at) {
      const rlo_index src = (rlo_index)(at * block->src_stride[next]);
      const rlo_index dst = (rlo_index)(at * block->dst_stride[next]);
      const int stage = (int)(at * block->stage_stride[next]);
#pragma unroll 1
      for (int m = 0; m < before; ++m) {
        out[n].src = out[m].src + src;
        out[n].dst = out[m].dst + dst;
        out[n].stage = out[m].stage + stage;
        ++n;
      }
    }
  }
  return n;
}

/* Bytes from the first to behind the last point of the axes in `axes`. */
RLO_INLINE long rlo_run_bytes(__private const rlo_block *block,
                              __private const long *stride,
                              int axes) {
  long bytes = E;
  for (int k = 0; k < block->n; ++k) {
    if ((axes >> k & 1) != 0) {
      bytes += (block->extent[k] - 1) * stride[k];
    }
  }
  return bytes;
}

/* The block unit by unit, for where whole tiles do not fit. */
RLO_INLINE void rlo_move_units(__private const rlo_block *block,
                               __global uchar *to,
                               __private uchar *stage,
                               __global const uchar *from) {
  long count = 1;
  for (int k = 0; k < block->n; ++k) {
    count *= block->extent[k];
  }
  for (long n = 0; n < count; ++n) {
    long rest = n;
    long src_at = 0;
    long to_at = 0;
    for (int k = 0; k < block->n; ++k) {
      const long point = rest % block->extent[k];
      rest /= block->extent[k];
      src_at += point * block->src_stride[k];
#if RLO_PACKED_DIRECT
      to_at += point * block->dst_stride[k];
#else
      to_at += point * block->stage_stride[k];
#endif
    }
    const rlo_unit unit = *(__global const rlo_unit_any *)(from + src_at);
#if RLO_PACKED_DIRECT
    *(__global rlo_unit_any *)(to + to_at) = unit;
#else
    *(__private rlo_unit_any *)(stage + to_at) = unit;
#endif
  }
  (void)to;
  (void)stage;
}

/* What the next block will read: the lines of runs at `places`, prefetched
 * little by little while this block is moved. */
typedef struct rlo_fetch {
  __global const uchar *from;
  __private const rlo_place *places;
  int n;
  long run_bytes;
  ulong line, run_end, step;
} rlo_fetch;

/* Go to the next run; to the last line over and over if there is none. */
RLO_INLINE void rlo_fetch_run(__private rlo_fetch *fetch) {
  fetch->step = 0;
  fetch->run_end = ~0UL;
  if (fetch->n > 0) {
    const ulong run = (ulong)(fetch->from + fetch->places->src);
    fetch->line = run & ~(ulong)(RLO_LINE_BYTES - 1);
    fetch->run_end = run + (ulong)fetch->run_bytes;
    fetch->step = RLO_LINE_BYTES;
    fetch->places += 1;
    fetch->n -= 1;
  }
}

RLO_INLINE void rlo_fetch_lines(__private rlo_fetch *fetch, int lines) {
#if RLO_PREFETCH
#pragma unroll 1
  for (int k = 0; k < lines; ++k) {
    rlo_prefetch((__global const uchar *)fetch->line);
    fetch->line += fetch->step;
    if (fetch->line >= fetch->run_end) {
      rlo_fetch_run(fetch);
    }
  }
#else
  (void)fetch;
  (void)lines;
#endif
}

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

#else

#if RLO_VECTOR_SHUFFLE && E < 16
#define RLO_HAS_TILES    1
#define RLO_UNROLL_UNITS _Pragma("unroll 1")
#else
#define RLO_HAS_TILES    0
#define RLO_UNROLL_UNITS _Pragma("unroll")
#endif

/* A tile unit by unit; one that reaches beyond the end, and all of 16-byte
 * units. */
RLO_INLINE void rlo_move_tile_units(__global uchar *to,
                                    __private uchar *stage,
                                    __global const uchar *from,
                                    __private const rlo_place *columns,
                                    __private const rlo_place *rows) {
  RLO_UNROLL_UNITS
  for (int i = 0; i < NA; ++i) {
    RLO_UNROLL_UNITS
    for (int j = 0; j < NB; ++j) {
      const rlo_unit unit =
          *(__global const rlo_unit_any *)(from + rows[j].src + i * E);
#if RLO_PACKED_DIRECT
      *(__global rlo_unit_any *)(to + columns[i].dst + j * E) = unit;
#else
      *(__private rlo_unit_any *)(stage + columns[i].stage + j * E) = unit;
#endif
    }
  }
  (void)to;
  (void)stage;
}

#if RLO_HAS_TILES

/* A row of a tile, at any address, and the parts that it is stored in. */
typedef rlo_unit rlo_vector __attribute__((ext_vector_type(T)));
typedef rlo_vector rlo_vector_any __attribute__((aligned(1)));
typedef rlo_unit rlo_two __attribute__((ext_vector_type(2)));
typedef rlo_unit rlo_four __attribute__((ext_vector_type(4)));
typedef rlo_unit rlo_eight __attribute__((ext_vector_type(8)));
typedef rlo_two rlo_two_any __attribute__((aligned(1)));
typedef rlo_four rlo_four_any __attribute__((aligned(1)));
typedef rlo_eight rlo_eight_any __attribute__((aligned(1)));

/* Interleave the low (high) halves of two vectors. */
/* clang-format off */
#if T == 2
#define RLO_HALF(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#elif T == 4
#define RLO_HALF(a, b, h) \
  __builtin_shufflevector(a, b, 2 * h, 4 + 2 * h, 1 + 2 * h, 5 + 2 * h)
#elif T == 8
#define RLO_HALF(a, b, h)                                                  \
  __builtin_shufflevector(a, b, 4 * h, 8 + 4 * h, 1 + 4 * h, 9 + 4 * h,    \
                          2 + 4 * h, 10 + 4 * h, 3 + 4 * h, 11 + 4 * h)
#else
#define RLO_HALF(a, b, h)                                                  \
  __builtin_shufflevector(a, b, 8 * h, 16 + 8 * h, 1 + 8 * h, 17 + 8 * h,  \
                          2 + 8 * h, 18 + 8 * h, 3 + 8 * h, 19 + 8 * h,    \
                          4 + 8 * h, 20 + 8 * h, 5 + 8 * h, 21 + 8 * h,    \
                          6 + 8 * h, 22 + 8 * h, 7 + 8 * h, 23 + 8 * h)
#endif
/* clang-format on */

/* Rows of a square. */
#define RLO_SQUARE_ROWS (NB < T ? NB : T)

/* A square through registers; reads T units of each row. Each pass is a perfect
 * shuffle of all units, and log2(T) of them are a transpose. */
RLO_INLINE void rlo_transpose(__global const uchar *from,
                              __private const rlo_place *rows,
                              __private rlo_vector *r) {
#pragma unroll
  for (int k = 0; k < T; ++k) {
    r[k] = (rlo_vector)(0);
    if (k < RLO_SQUARE_ROWS) {
      r[k] = *(__global const rlo_vector_any *)(from + rows[k].src);
    }
  }
#pragma unroll
  for (int pass = 1; pass < T; pass *= 2) {
    rlo_vector t[T];
#pragma unroll
    for (int k = 0; k < T / 2; ++k) {
      t[2 * k] = RLO_HALF(r[k], r[k + T / 2], 0);
      t[2 * k + 1] = RLO_HALF(r[k], r[k + T / 2], 1);
    }
#pragma unroll
    for (int k = 0; k < T; ++k) {
      r[k] = t[k];
    }
  }
}

#if RLO_PACKED_DIRECT

/* A line of rows: squares side by side. */
#define RLO_SQUARES (L / T)

RLO_INLINE void rlo_move_tile(__global uchar *to,
                              __private uchar *stage,
                              __global const uchar *from,
                              __private const rlo_place *columns,
                              __private const rlo_place *rows) {
  rlo_vector r[RLO_SQUARES][T];
#pragma unroll
  for (int q = 0; q < RLO_SQUARES; ++q) {
    rlo_transpose(from, rows + q * T, r[q]);
  }
#pragma unroll
  for (int i = 0; i < NA; ++i) {
#if RLO_SQUARES == 2
    const ulong4 low = __builtin_astype(r[0][i], ulong4);
    const ulong4 high = __builtin_astype(r[1][i], ulong4);
#else
    const ulong4 low = (ulong4)(__builtin_astype(r[0][i], ulong2),
                                __builtin_astype(r[1][i], ulong2));
    const ulong4 high = (ulong4)(__builtin_astype(r[2][i], ulong2),
                                 __builtin_astype(r[3][i], ulong2));
#endif
    rlo_store_line(to + columns[i].dst, (rlo_line)(low, high));
  }
  (void)stage;
}

#else

/* The first NB units of a row; constant parts, for what follows in the stage
 * may be there already. */
RLO_INLINE void rlo_store_part(__private uchar *to, rlo_vector v) {
#if NB == T
  *(__private rlo_vector_any *)to = v;
#else
#if NB & 8
  *(__private rlo_eight_any *)to =
      __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
#if NB & 4
#define P (NB & 8)
  *(__private rlo_four_any *)(to + P * E) =
      __builtin_shufflevector(v, v, P, P + 1, P + 2, P + 3);
#undef P
#endif
#if NB & 2
#define P (NB & 12)
  *(__private rlo_two_any *)(to + P * E) =
      __builtin_shufflevector(v, v, P, P + 1);
#undef P
#endif
#if NB & 1
  *(__private rlo_unit_any *)(to + (NB - 1) * E) = v[NB - 1];
#endif
#endif
}

RLO_INLINE void rlo_move_tile(__global uchar *to,
                              __private uchar *stage,
                              __global const uchar *from,
                              __private const rlo_place *columns,
                              __private const rlo_place *rows) {
  rlo_vector r[T];
  rlo_transpose(from, rows, r);
#pragma unroll
  for (int i = 0; i < NA; ++i) {
    rlo_store_part(stage + columns[i].stage, r[i]);
  }
  (void)to;
}
#endif
#endif
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
  /* What lies where in a block: the points of these axes. */
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
  __global const uchar *from =
      src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
  bool is_more = true;
  for (rlo_index b = 0; b < blocks && is_more; ++b) {
    __global uchar *to =
        dst + dst_offset_bytes + rlo_dot(n_grid, index, grid_dst_stride) * E;
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
    __global const uchar *next =
        src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
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
