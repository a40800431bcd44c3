/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of a line by a line of units, transposed in registers: for kernels of
 * the CPU class.
 */
#ifndef RLO_CPU_BLOCK_CL
#define RLO_CPU_BLOCK_CL

#include "cpu_join.cl"

#define L RLO_LINE_UNITS
#define E RLO_UNIT_BYTES

/* Rows of a 16-byte lane group, which is also the columns of one lane. */
#define RLO_LANE_UNITS (16 / RLO_UNIT_BYTES)

/* Where the rows of a block begin, in bytes: in a table, or without one at
 * multiples of `step`. And how each is read. A flag says which, since a private
 * pointer in memory that was zeroed is not null for Mesa's rusticl. */
typedef struct rlo_row_list {
  __private const long *table;
  long step;
  rlo_join join;
  bool is_listed;
} rlo_row_list;

RLO_INLINE long rlo_row_at(rlo_row_list rows, int k) {
  return rows.is_listed ? rows.table[k] : k * rows.step;
}

/* 1: while a block is loaded, the rows of one that comes later are prefetched, in
 * place of the next group's, and blocks leave as they come. */
#define RLO_NEAR \
  (RLO_PREFETCH && RLO_NT && RLO_DST_ALIGN >= 64 && RLO_JOINED_BITS == 0)

/* The rows of a block that comes later. */
typedef struct rlo_near {
  __global const uchar *from;
  rlo_row_list rows;
} rlo_near;

#if RLO_VECTOR_SHUFFLE
/* clang-format off */
/* Interleaves the low (high) halves of the units of each 16-byte lane. */
#if RLO_UNIT_BYTES == 1
#define RLO_LOW(a, b)                                                         \
  __builtin_shufflevector(                                                    \
      a, b, 0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69, 6, 70, 7, 71, 16, 80,   \
      17, 81, 18, 82, 19, 83, 20, 84, 21, 85, 22, 86, 23, 87, 32, 96, 33, 97, \
      34, 98, 35, 99, 36, 100, 37, 101, 38, 102, 39, 103, 48, 112, 49, 113,   \
      50, 114, 51, 115, 52, 116, 53, 117, 54, 118, 55, 119)
#define RLO_HIGH(a, b)                                                        \
  __builtin_shufflevector(                                                    \
      a, b, 8, 72, 9, 73, 10, 74, 11, 75, 12, 76, 13, 77, 14, 78, 15, 79, 24, \
      88, 25, 89, 26, 90, 27, 91, 28, 92, 29, 93, 30, 94, 31, 95, 40, 104,    \
      41, 105, 42, 106, 43, 107, 44, 108, 45, 109, 46, 110, 47, 111, 56, 120, \
      57, 121, 58, 122, 59, 123, 60, 124, 61, 125, 62, 126, 63, 127)
#elif RLO_UNIT_BYTES == 2
#define RLO_LOW(a, b)                                                      \
  __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41,  \
                          10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51,  \
                          24, 56, 25, 57, 26, 58, 27, 59)
#define RLO_HIGH(a, b)                                                     \
  __builtin_shufflevector(a, b, 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, 13,    \
                          45, 14, 46, 15, 47, 20, 52, 21, 53, 22, 54, 23,  \
                          55, 28, 60, 29, 61, 30, 62, 31, 63)
#elif RLO_UNIT_BYTES == 4
#define RLO_LOW(a, b)                                                     \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, \
                          12, 28, 13, 29)
#define RLO_HIGH(a, b)                                                    \
  __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,   \
                          27, 14, 30, 15, 31)
#elif RLO_UNIT_BYTES == 8
#define RLO_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define RLO_HIGH(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#endif
/* clang-format on */

/* Even (odd) lanes of a, then of b. */
#define RLO_EVEN_LANES(a, b) \
  __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define RLO_ODD_LANES(a, b) \
  __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15)

/* r[k] holds row k, four lanes of RLO_LANE_UNITS columns; after, lane q of
 * r[c] holds column q * RLO_LANE_UNITS + c. Each pass is a perfect shuffle. */
RLO_INLINE void rlo_transpose_lanes(__private rlo_line *r) {
#if RLO_LANE_UNITS > 1
#pragma unroll
  for (int pass = 1; pass < RLO_LANE_UNITS; pass *= 2) {
    rlo_line t[RLO_LANE_UNITS];
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS / 2; ++k) {
      const rlo_units a = __builtin_astype(r[k], rlo_units);
      const rlo_units b =
          __builtin_astype(r[k + RLO_LANE_UNITS / 2], rlo_units);
      t[2 * k] = __builtin_astype(RLO_LOW(a, b), rlo_line);
      t[2 * k + 1] = __builtin_astype(RLO_HIGH(a, b), rlo_line);
    }
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS; ++k) {
      r[k] = t[k];
    }
  }
#else
  (void)r;
#endif
}

/* A block of L x L units leaves in RLO_BLOCK_STEPS steps of RLO_BLOCK_LINES
 * lines. Wide units stay in registers; for 1 and 2 bytes the block is larger
 * than the register file, so loops stay rolled and the four groups of rows are
 * held in private memory, which also keeps compilation short. */
#if RLO_UNIT_BYTES >= 4
#define RLO_UNROLL_BLOCK _Pragma("unroll")
#else
#define RLO_UNROLL_BLOCK _Pragma("unroll 1")
#endif
#define RLO_BLOCK_STEPS RLO_LANE_UNITS
#define RLO_BLOCK_LINES 4

typedef struct rlo_block {
  rlo_line part[RLO_LANE_UNITS][4];
} rlo_block;

/* Loads a block and transposes each of its four groups of rows. Prefetches as
 * many lines, a few before each group: more of them at once would keep the
 * loads waiting. */
RLO_INLINE void rlo_load_block(__private rlo_block *block,
                               __global const uchar *from,
                               rlo_row_list rows,
                               rlo_near near,
                               __private rlo_ahead *next) {
  RLO_UNROLL_BLOCK
  for (int q = 0; q < 4; ++q) {
    rlo_line r[RLO_LANE_UNITS];
#if !RLO_NEAR
#pragma unroll
    for (int k = q * 4; k < L; k += 16) {
      rlo_prefetch_ahead(next);
    }
#endif
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS; ++k) {
#if RLO_NEAR
      rlo_prefetch(near.from + rlo_row_at(near.rows, q * RLO_LANE_UNITS + k));
#endif
      r[k] = rlo_read_line(from + rlo_row_at(rows, q * RLO_LANE_UNITS + k),
                           rows.join);
    }
    rlo_transpose_lanes(r);
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS; ++k) {
      block->part[k][q] = r[k];
    }
  }
}

/* Step k of a block: lines k + n * RLO_BLOCK_STEPS of the transposed block. */
RLO_INLINE void rlo_transpose_block(__private const rlo_block *block,
                                    int k,
                                    __private rlo_line *lines) {
  __private const rlo_line *part = block->part[k];
  const rlo_line e0 = RLO_EVEN_LANES(part[0], part[1]);
  const rlo_line o0 = RLO_ODD_LANES(part[0], part[1]);
  const rlo_line e1 = RLO_EVEN_LANES(part[2], part[3]);
  const rlo_line o1 = RLO_ODD_LANES(part[2], part[3]);
  lines[0] = RLO_EVEN_LANES(e0, e1);
  lines[1] = RLO_EVEN_LANES(o0, o1);
  lines[2] = RLO_ODD_LANES(e0, e1);
  lines[3] = RLO_ODD_LANES(o0, o1);
}
#else
#define RLO_UNROLL_BLOCK
#define RLO_BLOCK_STEPS L
#define RLO_BLOCK_LINES 1

typedef struct rlo_block {
  __global const uchar *from;
  rlo_row_list rows;
} rlo_block;

RLO_INLINE void rlo_load_block(__private rlo_block *block,
                               __global const uchar *from,
                               rlo_row_list rows,
                               rlo_near near,
                               __private rlo_ahead *next) {
  for (int k = 0; k < L; k += 4) {
    rlo_prefetch_ahead(next);
  }
  block->from = from;
  block->rows = rows;
}

RLO_INLINE void rlo_transpose_block(__private const rlo_block *block,
                                    int k,
                                    __private rlo_line *lines) {
  __private rlo_unit *units = (__private rlo_unit *)lines;
  const rlo_join join = block->rows.join;
  for (int j = 0; j < L; ++j) {
    __global const uchar *p = block->from + rlo_row_at(block->rows, j) + k * E;
    units[j] = join.is_plain ? *(__global const rlo_unit_any *)p
                             : rlo_read_unit(p, join);
  }
}
#endif

#endif
