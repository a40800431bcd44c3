/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transpositions for one set of instructions, of all unit widths.
 * kernels_portable.c and kernels_x86.c include this file once for each set.
 * They define, and this file undefines:
 *
 *   ISA             the end of the names of its functions, before that of the
 *                   width: line_rows_ssse3_4
 *   TARGET          the attribute that permits the instructions
 *   VECTOR, LANES   a vector, and how many 16-byte lanes it has
 *   LOAD(src, rows, step)  a vector whose lane q holds the 16 bytes at
 *                   src + rows[q * step]
 *   LOAD_ROW(p), EVEN(a, b), ODD(a, b)  the vector at p, the even (odd) lanes of a, then
 *                   of b; if there are more lanes than one
 *   LOW(a, b), HIGH(a, b)  the low (high) halves of each lane of a and b, their
 *                   units of UNIT bytes in turns; not for 16
 *   STORE(p, v), STREAM(p, v)  store; the second past the caches, aligned
 *
 * These may use PASTE(a, b), which joins the values of two macros; both files
 * define it.
 *
 * No include guard: see above. The file includes itself for each width.
 */
#ifndef UNIT

/* A function for these instructions and this width. */
#define NAME(function) PASTE(function##_, PASTE(ISA, PASTE(_, UNIT)))

#if LANES > 1
/* r[q] holds the LANES lanes of part q; after, lane q of r[n] holds lane n of part q. Each
 * pass is a perfect shuffle. */
TARGET static inline __attribute__((always_inline)) void PASTE(exchange_lanes_, ISA)(VECTOR *r) {
#pragma GCC unroll 2
  for (int pass = 1; pass < LANES; pass *= 2) {
    VECTOR t[LANES];
#pragma GCC unroll 2
    for (int64_t k = 0; k < LANES / 2; ++k) {
      t[k] = EVEN(r[2 * k], r[2 * k + 1]);
      t[k + LANES / 2] = ODD(r[2 * k], r[2 * k + 1]);
    }
#pragma GCC unroll 4
    for (int k = 0; k < LANES; ++k) {
      r[k] = t[k];
    }
  }
}
#endif

#define UNIT 1
#include "host/kernels_body.h"
#define UNIT 2
#include "host/kernels_body.h"
#define UNIT 4
#include "host/kernels_body.h"
#define UNIT 8
#include "host/kernels_body.h"
#define UNIT 16
#include "host/kernels_body.h"

#undef NAME
#undef ISA
#undef TARGET
#undef VECTOR
#undef LANES
#undef LOAD
#undef LOAD_ROW
#undef EVEN
#undef ODD
#undef LOW
#undef HIGH
#undef STORE
#undef STREAM

#else

#define LANE_UNITS   (16 / UNIT)
#define VECTOR_UNITS ((int64_t)LANES * LANE_UNITS)

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
/* A block of narrower units is larger than the registers. */
#if UNIT >= 4
#define UNROLL_PARTS UNROLL
#else
#define UNROLL_PARTS
#endif
/* Half lines of many columns are more than the buffers of non-temporal stores. */
#define HAS_BLOCKS (LANES == 4 || (LANES == 2 && UNIT >= 4))
/* From a block to what is prefetched with it, at most: that of the next group, but where
 * groups have so many rows that their lines would not stay. */
#define NEAR_UNITS (UNIT >= 4 ? INT64_MAX : 128 / UNIT)

/* r[k] holds row k + q * LANE_UNITS in lane q, LANE_UNITS columns of it; after,
 * r[c] holds the VECTOR_UNITS rows of column c. Each pass is a perfect shuffle
 * of the units of each lane. */
TARGET static inline __attribute__((always_inline)) void NAME(transpose)(VECTOR *r) {
#if UNIT < 16
  UNROLL
  for (int pass = 1; pass < LANE_UNITS; pass *= 2) {
    VECTOR t[LANE_UNITS];
    UNROLL
    for (int64_t k = 0; k < LANE_UNITS / 2; ++k) {
      t[2 * k] = LOW(r[k], r[k + LANE_UNITS / 2]);
      t[2 * k + 1] = HIGH(r[k], r[k + LANE_UNITS / 2]);
    }
    UNROLL
    for (int k = 0; k < LANE_UNITS; ++k) {
      r[k] = t[k];
    }
  }
#else
  (void)r;
#endif
}

TARGET static inline __attribute__((always_inline)) void NAME(prefetch_row)(const uint8_t *row,
                                                                            int64_t bytes) {
  const uint8_t *line = row - ((uintptr_t)row & 63);
  for (; line < row + bytes; line += 64) {
    __builtin_prefetch(line, 0, 2);
  }
}

TARGET static inline __attribute__((always_inline)) void NAME(group)(const rlo__host_group *group,
                                                                     int num_vectors,
                                                                     bool is_past_caches) {
  const int64_t num_columns = group->num_columns;
  const int64_t num_rows = (int64_t)num_vectors * VECTOR_UNITS;
  const int64_t *rows = group->rows;
  int64_t num_blocks = (num_columns + LANE_UNITS - 1) / LANE_UNITS;
  int64_t prefetched = 0;
  int64_t due = 0;
  int64_t i = 0;
  for (int64_t block = 0; block < num_blocks; ++block) {
    const int64_t moved = i > num_columns - LANE_UNITS ? i - (num_columns - LANE_UNITS) : 0;
    i -= moved;
    const int64_t *columns = group->columns + i;
    const uint8_t *src = group->src + i * UNIT;
    UNROLL
    for (int64_t v = 0; v < num_vectors; ++v) {
      VECTOR r[LANE_UNITS];
      UNROLL
      for (int k = 0; k < LANE_UNITS; ++k) {
        r[k] = LOAD(src, rows + v * VECTOR_UNITS + k, (int64_t)LANE_UNITS);
      }
      NAME(transpose)(r);
      uint8_t *dst = group->dst + v * LANES * 16;
      UNROLL
      for (int c = 0; c < LANE_UNITS; ++c) {
        /* A line is stored past the caches once. In portable C both are the same.
         * NOLINTNEXTLINE(bugprone-branch-clone) */
        if (is_past_caches && c >= moved) {
          STREAM(dst + columns[c], r[c]);
        } else if (!is_past_caches) {
          STORE(dst + columns[c], r[c]);
        }
      }
    }
    i += LANE_UNITS;
    if (group->ahead != NULL) {
      for (due += num_rows; due >= num_blocks; due -= num_blocks) {
        NAME(prefetch_row)
        (group->ahead_src + group->ahead[prefetched++], num_columns * UNIT);
      }
    }
  }
}

#if HAS_BLOCKS
/* Moves VECTOR_UNITS columns of as many rows, and prefetches the rows `near`, unless they
 * are NULL: a line with each load, because more of them would keep the loads waiting. */
TARGET static inline __attribute__((always_inline)) void NAME(block)(
    uint8_t *dst, const int64_t *columns, const uint8_t *src, const int64_t *rows,
    const uint8_t *near_src, const int64_t *near) {
  VECTOR parts[LANE_UNITS][LANES];
  UNROLL_PARTS
  for (int q = 0; q < LANES; ++q) {
    VECTOR r[LANE_UNITS];
    UNROLL
    for (int k = 0; k < LANE_UNITS; ++k) {
      if (near != NULL) {
        __builtin_prefetch(near_src + near[q * LANE_UNITS + k], 0, 2);
      }
      r[k] = LOAD_ROW(src + rows[q * LANE_UNITS + k]);
    }
    NAME(transpose)(r);
    UNROLL
    for (int k = 0; k < LANE_UNITS; ++k) {
      parts[k][q] = r[k];
    }
  }
  UNROLL_PARTS
  for (int k = 0; k < LANE_UNITS; ++k) {
    PASTE(exchange_lanes_, ISA)(parts[k]);
    UNROLL
    for (int q = 0; q < LANES; ++q) {
      STREAM(dst + columns[q * LANE_UNITS + k], parts[k][q]);
    }
  }
}

/* The same as `group`, past the caches, by blocks as wide as they are long: every line of
 * the source is loaded once. */
TARGET static inline __attribute__((always_inline)) void NAME(blocks)(
    const rlo__host_group *group) {
  const int64_t num_columns = group->num_columns;
  const int64_t distance = NEAR_UNITS < num_columns ? NEAR_UNITS : num_columns;
  for (int64_t i = 0; i < num_columns; i += VECTOR_UNITS) {
    /* Some columns are moved twice. */
    const int64_t first = i < num_columns - VECTOR_UNITS ? i : num_columns - VECTOR_UNITS;
    const int64_t next = i + distance;
    const int64_t *near = next < num_columns ? group->rows : group->ahead;
    const uint8_t *near_src = group->src + next * UNIT;
    if (i * UNIT % RLO__HOST_LINE_BYTES != 0) {
      near = NULL; /* an earlier block has prefetched these lines */
    } else if (next >= num_columns && near != NULL) {
      near_src = group->ahead_src + (next - num_columns) * UNIT;
    }
    UNROLL
    for (int64_t v = 0; v < 4 / LANES; ++v) {
      const int64_t row = v * VECTOR_UNITS;
      NAME(block)
      (group->dst + v * LANES * 16, group->columns + first, group->src + first * UNIT,
       group->rows + row, near_src, near == NULL ? NULL : near + row);
    }
  }
}
#endif

TARGET static void NAME(line_rows)(const rlo__host_group *group) {
  NAME(group)(group, 4 / LANES, false);
}

TARGET static void NAME(line_rows_past_caches)(const rlo__host_group *group) {
#if HAS_BLOCKS
  if (group->num_columns >= VECTOR_UNITS) {
    NAME(blocks)(group);
    return;
  }
#endif
  NAME(group)(group, 4 / LANES, true);
}

#if LANES == 1
TARGET static void NAME(few_rows)(const rlo__host_group *group) {
  NAME(group)(group, 1, false);
}
#endif

#undef LANE_UNITS
#undef VECTOR_UNITS
#undef UNROLL
#undef UNROLL_PARTS
#undef HAS_BLOCKS
#undef NEAR_UNITS
#undef UNIT

#endif
