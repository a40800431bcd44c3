/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family segment_sum, CPU class: sums along one axis of points at computed
 * positions, such as the rows of a segment in the order of its ids. The problem
 * is compiled in. Its last axis is summed; no term and no guard depends on the
 * axis before it, the *columns*.
 *
 *     for each row of cells, that is each i of the axes before the columns:
 *         n = points along the last axis that the guards admit, by their ends
 *         for each column c, if n > 0:
 *             dst[dst(i, c)] = to_dst(steps(sum of src[src(i, c, k)], k < n,
 *                                           in the order of problem.h))
 *
 * Arguments: those of specialized.cl, then
 *
 *   rlo_numbers numbers   as in arith.cl; nothing is accumulated
 *
 * A group processes RLO_GROUP_ROWS rows of cells. The positions of the points are
 * computed once for all columns. With RLO_DOWN sixteen columns, contiguous on
 * both sides, are added together; else the sixteen lanes of one sum.
 */
// define-matrix: -DRLO_LANES=16 -DRLO_SRC=0,5,1 -DRLO_DST=0,1,0 -DRLO_DOWN=0
// define-matrix: -DRLO_LANES=16 -DRLO_SRC=0,1,5 -DRLO_DST=0,1,0 -DRLO_DOWN=1 -DRLO_EXTENTS=32,5 -DRLO_NUM_AXES=2 -DRLO_SUM_LEVELS=2 -DRLO_NUM_ENDS=1 -DRLO_ENDS=0 -DRLO_SKIP_GUARDS=1 -DRLO_GUARD_FORMS=4,0,0,1

#ifndef RLO_LANES
#define RLO_LANES 16
#endif
#include "specialized.cl"
#include "sum_total.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_segment_sum
#endif

/* Rows of cells, and those of a group. */
#ifndef RLO_ROWS
#define RLO_ROWS 1
#endif
#ifndef RLO_GROUP_ROWS
#define RLO_GROUP_ROWS 1
#endif

/* 1: sixteen columns together; there are at least as many. */
#ifndef RLO_DOWN
#define RLO_DOWN 0
#endif

/* 1: __builtin_prefetch is used; for so many points of a row, so many bytes of
 * each. */
#ifndef RLO_PREFETCH
#define RLO_PREFETCH 0
#endif
#ifndef RLO_PREFETCH_POINTS
#define RLO_PREFETCH_POINTS 64
#define RLO_PREFETCH_BYTES  1024
#endif

/* Lanes and points of a block, as problem.h has them. */
#define RLO_SUM_LANES 16
#define RLO_SUM_BLOCK 1024

/* 1: the axis before the last counts columns; 0: every cell is a row. */
#ifndef RLO_HAS_COLUMNS
#define RLO_HAS_COLUMNS 1
#endif

#define RLO_LAST       (RLO_NUM_AXES - 1)
#define RLO_ROW_AXES   (RLO_LAST - RLO_HAS_COLUMNS)
#if RLO_HAS_COLUMNS
#define RLO_COLUMNS    rlo_extents[RLO_LAST - 1]
#define RLO_SRC_COLUMN ((long)rlo_src[RLO_LAST] * RLO_SRC_BYTES)
#define RLO_DST_COLUMN ((long)rlo_dst[RLO_LAST] * RLO_DST_BYTES)
#else
#define RLO_COLUMNS    1
#define RLO_SRC_COLUMN 0L
#define RLO_DST_COLUMN 0L
#endif

/* The values that are the same for all points. */
typedef struct rlo_job {
  __global const uchar *from;
  __global const rlo_loaded *indices;
  __global uchar *to;
  rlo_numbers numbers;
} rlo_job;

#if RLO_SRC_BYTES == 8
typedef ulong rlo_src_unit;
#elif RLO_SRC_BYTES == 4
typedef uint rlo_src_unit;
#elif RLO_SRC_BYTES == 2
typedef ushort rlo_src_unit;
#else
typedef uchar rlo_src_unit;
#endif

#if RLO_DST_BYTES == 8
typedef ulong rlo_dst_unit;
#elif RLO_DST_BYTES == 4
typedef uint rlo_dst_unit;
#elif RLO_DST_BYTES == 2
typedef ushort rlo_dst_unit;
#else
typedef uchar rlo_dst_unit;
#endif

/* A row of cells, its points, and where the first block of these lies. */
typedef struct rlo_row {
  rlo_point point;
  rlo_index n;
  bool is_any_left;
  long places[RLO_SUM_BLOCK];
} rlo_row;

/* Where the points [begin, end) of column 0 lie, in bytes; -1 for those that a
 * guard leaves out. Whether one is left. */
static inline bool rlo_find_places(__private const rlo_job *job,
                                   __private rlo_row *row,
                                   rlo_index begin,
                                   rlo_index end) {
  bool is_any_left = false;
  for (rlo_index k = begin; k < end; ++k) {
    bool is_read;
    bool is_written;
    row->point.at[RLO_LAST] = k;
    rlo_find_terms(job->indices, &row->point);
    rlo_ask_guards(&row->point, &is_read, &is_written);
    row->places[k - begin] =
        is_written ? (long)rlo_value(rlo_src, &row->point) * RLO_SRC_BYTES : -1;
    is_any_left = is_any_left || is_written;
  }
  return is_any_left;
}

/* Have the first points of a row brought near. */
static inline void rlo_prefetch_row(__private const rlo_job *job,
                                    __private const rlo_row *row) {
#if RLO_PREFETCH
  const long bytes = RLO_DOWN ? (long)RLO_COLUMNS * RLO_SRC_BYTES : 1;
  const int count = (int)min(row->n, (rlo_index)RLO_PREFETCH_POINTS);
  for (int k = 0; k < count; ++k) {
    for (long b = 0; b < min(bytes, (long)RLO_PREFETCH_BYTES); b += 64) {
      if (row->places[k] >= 0) {
        __builtin_prefetch(
            (const void *)(ulong)(job->from + row->places[k] + b), 0, 2);
      }
    }
  }
#else
  (void)job;
  (void)row;
#endif
}

/* Find row number r of the cells. */
static inline void rlo_find_row(__private const rlo_job *job,
                                rlo_count r,
                                __private rlo_row *row) {
  rlo_decode_row(r, RLO_ROW_AXES, &row->point);
#if RLO_HAS_COLUMNS
  row->point.at[RLO_LAST - 1] = 0;
#endif
  const rlo_index block = RLO_SUM_BLOCK;
  row->n = rlo_axis_end(job->indices, &row->point);
  row->is_any_left = rlo_find_places(job, row, 0, min(row->n, block));
  for (rlo_index k = block; !row->is_any_left && k < row->n; k += block) {
    row->is_any_left = rlo_find_places(job, row, k, min(k + block, row->n));
  }
  if (row->n > block) {
    rlo_find_places(job, row, 0, block);
  }
  rlo_prefetch_row(job, row);
}

#if RLO_DOWN

/* A block of up to RLO_SUM_BLOCK points of sixteen columns. Lanes beyond the
 * points are +0, and adding these changes no bit. */
static inline rlo_t rlo_block(__global const uchar *from,
                              __private const long *places,
                              int count) {
  rlo_t lanes[RLO_SUM_LANES];
  const int used = min(count, RLO_SUM_LANES);
  for (int l = 0; l < used; ++l) {
    lanes[l] = (rlo_t)(0);
  }
  for (int k = 0; k < count; ++k) {
    if (places[k] >= 0) {
      lanes[k % RLO_SUM_LANES] +=
          rlo_from_src(RLO_LOAD_SRC(__global, from + places[k]));
    }
  }
  for (int step = RLO_SUM_LANES / 2; step > 0; step /= 2) {
    for (int l = 0; l < step && l + step < used; ++l) {
      lanes[l] += lanes[l + step];
    }
  }
  return lanes[0];
}

#define RLO_STEP RLO_LANES

static inline void rlo_store(__global uchar *cell, rlo_dst_raw value) {
  RLO_STORE_DST(__global, cell, value);
}

#else

#define RLO_HALVE(v) ((v).lo + (v).hi)

/* A block of up to RLO_SUM_BLOCK points of one column, in every element. What
 * is not there is 0, which changes no bit either. */
static inline rlo_t rlo_block(__global const uchar *from,
                              __private const long *places,
                              int count) {
  rlo_t lanes = (rlo_t)(0);
  for (int k = 0; k < count; k += RLO_SUM_LANES) {
    rlo_src_unit units[RLO_SUM_LANES];
    for (int l = 0; l < RLO_SUM_LANES; ++l) {
      units[l] = 0;
      if (k + l < count && places[k + l] >= 0) {
        units[l] = *(__global const rlo_src_unit *)(from + places[k + l]);
      }
    }
    lanes += rlo_from_src(RLO_LOAD_SRC(__private, units));
  }
  return (rlo_t)(RLO_HALVE(RLO_HALVE(RLO_HALVE(RLO_HALVE(lanes)))));
}

#define RLO_STEP 1

static inline void rlo_store(__global uchar *cell, rlo_dst_raw value) {
  *(__global rlo_dst_unit *)cell = (rlo_dst_unit)value.s0;
}

#endif

/* The sums of a row of cells. */
static inline void rlo_do_row(__private const rlo_job *job,
                              __private rlo_row *row) {
  const rlo_index block = RLO_SUM_BLOCK;
  const rlo_index columns = RLO_COLUMNS;
  const rlo_index n = row->n;
  __global uchar *cells =
      job->to + (long)rlo_value(rlo_dst, &row->point) * RLO_DST_BYTES;
  for (rlo_index c = 0; c < columns; c += RLO_STEP) {
    /* The last sixteen may have been there before, with the same result. */
    const rlo_index column = min(c, columns - RLO_STEP);
    __global const uchar *from = job->from + column * RLO_SRC_COLUMN;
    rlo_t sum = rlo_block(from, row->places, (int)min(n, block));
    if (n > block) {
      rlo_total total;
      total.parts = 0;
      rlo_total_add(&total, sum);
      for (rlo_index k = block; k < n; k += block) {
        const rlo_index end = min(k + block, n);
        rlo_find_places(job, row, k, end);
        rlo_total_add(&total, rlo_block(from, row->places, (int)(end - k)));
      }
      sum = rlo_total_end(&total);
      rlo_find_places(job, row, 0, block);
    }
    rlo_store(cells + column * RLO_DST_COLUMN,
              rlo_combine(sum, (rlo_dst_raw)(0), job->numbers));
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    __global const uchar *src,
    ulong src_offset_bytes,
    __global uchar *dst,
    ulong dst_offset_bytes,
    ulong fill_lo,
    ulong fill_hi RLO_INDEX_PARAMS,
    rlo_numbers numbers) {
  const rlo_job job = {
      src + src_offset_bytes, RLO_INDICES, dst + dst_offset_bytes, numbers};
  const rlo_count first = (rlo_count)get_group_id(0) * RLO_GROUP_ROWS;
  const rlo_count end = min(first + RLO_GROUP_ROWS, (rlo_count)RLO_ROWS);
  /* One row ahead, so that memory has time to answer. */
  rlo_row rows[2];
  rlo_find_row(&job, first, &rows[first & 1]);
  for (rlo_count r = first; r < end; ++r) {
    if (r + 1 < end) {
      rlo_find_row(&job, r + 1, &rows[(r + 1) & 1]);
    }
    if (rows[r & 1].is_any_left) {
      rlo_do_row(&job, &rows[r & 1]);
    }
  }
  (void)fill_lo;
  (void)fill_hi;
}
