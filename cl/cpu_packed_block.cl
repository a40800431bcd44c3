/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of many small axes, for kernels of the CPU class: lists of the places
 * in them, their move unit by unit, and the prefetch of the next one.
 */
#ifndef RLO_CPU_PACKED_BLOCK_CL
#define RLO_CPU_PACKED_BLOCK_CL

#include "cpu_common.cl"

/* 1: lines are stored straight to the destination; 0: through the stage. */
#ifndef RLO_PACKED_DIRECT
#define RLO_PACKED_DIRECT 0
#endif

/* Most places of a list: columns, rows, matrices and runs of a block. */
#ifndef RLO_PACKED_PLACES
#define RLO_PACKED_PLACES 1024
#endif

#define E RLO_UNIT_BYTES

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

/* Lists the points of the axes in `axes` (bit k: axis k), of which the one with
 * the smallest `order` varies fastest. Returns their count. */
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

/* The reads of the next block: the lines of runs at `places`, prefetched in
 * small steps while this block is moved. */
typedef struct rlo_fetch {
  __global const uchar *from;
  __private const rlo_place *places;
  int n;
  long run_bytes;
  ulong line, run_end, step;
} rlo_fetch;

/* Advances to the next run; stays at the last line if there is none. */
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

#endif
