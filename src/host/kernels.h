/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_KERNELS_H
#define RLO_HOST_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/shuffle.h"

/**
 * The inner loops of the host mover, for each set of instructions that the
 * library knows: chosen when it runs, because it is compiled for the oldest
 * processor of its kind. Nothing here reads or writes a byte beyond those that
 * are moved, and no pointer has to be aligned unless it says so.
 */

/** Bytes of a cache line, what non-temporal stores write at once. */
#define RLO__HOST_LINE_BYTES 64

/** Unit widths 1, 2, 4, 8, 16 as powers of two. */
#define RLO__HOST_NUM_UNITS 5

/**
 * Rows of units to be transposed: for each row k and each column i
 *
 *     dst[columns[i] + k * U] = src[rows[k] + i * U]
 *
 * in bytes, with units of U.
 */
typedef struct rlo__host_group {
  const uint8_t *src;
  const int64_t *rows;
  uint8_t *dst;
  const int64_t *columns;
  /** At least 16 / U. */
  int64_t num_columns;
  /** Positions of as many rows, to be prefetched meanwhile; NULL for none. */
  const uint8_t *ahead_src;
  const int64_t *ahead;
} rlo__host_group;

typedef void (*rlo__host_group_fn)(const rlo__host_group *group);

/**
 * Copies a row of grains: src + i * src_step to dst + columns[i]. Each grain is
 * `grain_bytes`, a multiple of a line, and each dst + columns[i] a multiple of
 * a line too. As much from `ahead` on is prefetched, unless that is NULL.
 */
typedef void (*rlo__host_grains_fn)(uint8_t *dst, const int64_t *columns, const uint8_t *src,
                                    int64_t src_step, int64_t num_columns, int64_t grain_bytes,
                                    const uint8_t *ahead);

/** Copies bytes; whole lines of dst may be stored past the caches. */
typedef void (*rlo__host_copy_fn)(uint8_t *dst, const uint8_t *src, size_t bytes);

/** A conversion: host/cast.h. */
typedef struct rlo__host_cast rlo__host_cast;

/** The numbers of a row that takes one for each value, f32 at any address: of each block
 *  those from `step` bytes behind those of the one before on. */
typedef struct rlo__host_numbers {
  const void *first;
  int64_t step;
} rlo__host_numbers;

/** One of its steps: converts `count` values, some blocks of RLO__HOST_CAST_BLOCK. */
typedef void (*rlo__host_row_fn)(const rlo__host_cast *cast, void *dst, const void *src,
                                 int64_t count, rlo__host_numbers numbers);

typedef struct rlo__host_kernels {
  /** Widest vector, in bytes. */
  int32_t vector_bytes;
  /** A group of 64 / U rows, which make a line of the destination. Stores of
   *  the second are non-temporal: dst + columns[i] is a multiple of a line. */
  rlo__host_group_fn line_rows[RLO__HOST_NUM_UNITS];
  rlo__host_group_fn line_rows_past_caches[RLO__HOST_NUM_UNITS];
  /** A group of 16 / U rows. */
  rlo__host_group_fn few_rows[RLO__HOST_NUM_UNITS];
  /** Non-temporal where the processor can. */
  rlo__host_copy_fn copy_past_caches;
  rlo__host_grains_fn grains_past_caches;
  /** NULL where there is no instruction for it. */
  rlo__host_shuffle_fn shuffle_streams;
  /** Those of two runs, by vectors of `block_width`: at most 8. NULL with the other. */
  rlo__host_shuffle_fn shuffle_blocks;
  int64_t block_width;
  /** Those of RLO__HOST_ROWS. */
  const rlo__host_row_fn *cast_rows;
  /** Orders the non-temporal stores of this thread before what it stores
   *  next. */
  void (*fence)(void);
} rlo__host_kernels;

/** The best kernels of an x86-64 processor with vectors of at most so many
 *  bytes; NULL on other processors, and on those without SSSE3. */
const rlo__host_kernels *rlo__host_kernels_x86(int64_t max_vector_bytes);

/** The best kernels for this processor, of at most the threshold
 *  host_vector_bytes. Static memory. Threads: safe. */
const rlo__host_kernels *rlo__host_kernels_get(void);

#endif
