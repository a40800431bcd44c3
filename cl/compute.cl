/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute, both classes: any problem that computes, compiled into the
 * program.
 *
 *     for each cell, that is for each i of the kept axes, in any order:
 *         sum = the values of its points along the last RLO_SUM_AXES axes for
 *               which every SKIP guard holds, in the order of problem.h
 *         if there is such a point:
 *             dst[dst(i)] = every PAD guard holds
 *                               ? to_dst(steps(sum, dst[dst(i)]))
 *                               : fill
 *
 * Arguments: those of specialized.cl, then
 *
 *   rlo_numbers numbers   as arith.cl defines them
 *
 * The cells are cut into segments along the last kept axis, as gather.cl cuts
 * points. Set by the host: everything here, in specialized.cl and in arith.cl.
 */
// define-matrix: -DRLO_SUM_AXES=1 -DRLO_SRC=0,5,1 -DRLO_DST=0,1,0 -DRLO_SEGMENT=2 -DRLO_ROW_SEGMENTS=2 -DRLO_SEGMENTS=2 -DRLO_LOOP=1 -DRLO_SUM_ROWS=1 -DRLO_SUM_LEVELS=5
// define-matrix: -DRLO_SUM_AXES=2 -DRLO_SRC=0,5,1 -DRLO_DST=0,0,0 -DRLO_SUM_ROWS=3 -DRLO_SUM_LEVELS=6 -DRLO_COMPUTE=2 -DRLO_INDEX32=1
// define-matrix: -DRLO_SUM_AXES=1 -DRLO_SRC=0,5,1 -DRLO_DST=0,1,0 -DRLO_SUM_LEVELS=7 -DRLO_SUM_BLOCK=1
// define-matrix: -DRLO_SUM_AXES=1 -DRLO_SRC=0,5,1 -DRLO_DST=0,1,0 -DRLO_SKIP_GUARDS=1 -DRLO_GUARD_FORMS=4,0,1,1 -DRLO_NUM_ENDS=1 -DRLO_ENDS=0 -DRLO_SUM_LEVELS=5
// define-matrix: -DRLO_STEP_0=12 -DRLO_STEP_1=11 -DRLO_STEP_2=15 -DRLO_STEP_3=13 -DRLO_WIDE_QUOTIENT=1 -DRLO_OPERAND=0 -DRLO_INDEX_BITS=32 -DRLO_INDEX_COUNT=6 -DRLO_NUM_TERMS=1 -DRLO_TERMS=1,0,1,0,0 -DRLO_SRC=0,5,1,0 -DRLO_DST=0,1,3,0
// define-matrix: -DRLO_STEP_0=4 -DRLO_STEP_1=2 -DRLO_STEP_2=0 -DRLO_STEP_3=0 -DRLO_OPERAND=0 -DRLO_INDEX_BITS=32 -DRLO_INDEX_COUNT=3 -DRLO_NUM_TERMS=1 -DRLO_TERMS=1,0,1,0,0 -DRLO_SRC=0,5,1,0 -DRLO_DST=0,1,3,0
// define-matrix: -DRLO_CONVERT=1 -DRLO_NUM_TERMS=1 -DRLO_TERMS=3,0,1,2,0 -DRLO_SRC=0,0,1,3 -DRLO_DST=0,5,1,0 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_GUARD_FORMS=4,0,1,1,1,6,5,-1,0,0

#include "sum_total.cl"
#include "specialized.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL compute
#endif

/* Work-items of a work-group. */
#ifndef RLO_LOCAL
#define RLO_LOCAL 64
#endif

/* Axes that are summed, the last ones. */
#ifndef RLO_SUM_AXES
#define RLO_SUM_AXES 0
#endif

/* The term that is the place of the steps' operand, or -1. */
#ifndef RLO_OPERAND
#define RLO_OPERAND -1
#endif

/* Points of all summed axes but the last one. */
#ifndef RLO_SUM_ROWS
#define RLO_SUM_ROWS 1
#endif

/* Cells of a segment: 1 .. the extent of the last kept axis; segments of a row
 * of cells, and of all. */
#ifndef RLO_SEGMENT
#define RLO_SEGMENT      1
#define RLO_ROW_SEGMENTS 5
#define RLO_SEGMENTS     15
#endif

/* 1: there may be more segments than work-items. */
#ifndef RLO_LOOP
#define RLO_LOOP 0
#endif

/* Lanes and points of a block, as problem.h defines them; 1 point where points
 * are sums of blocks themselves. */
#define RLO_SUM_LANES 16
#ifndef RLO_SUM_BLOCK
#define RLO_SUM_BLOCK 1024
#endif

#define RLO_KEPT_AXES (RLO_NUM_AXES - RLO_SUM_AXES)

/* The work of a work-item. */
typedef struct rlo_job {
  __global const uchar *from;
  __global const rlo_loaded *indices;
  __global uchar *to;
  ulong fill;
  rlo_numbers numbers;
} rlo_job;

static inline rlo_src_raw rlo_read(__private const rlo_job *job,
                                   __private const rlo_point *point) {
  return RLO_LOAD_SRC(__global,
                      job->from + rlo_value(rlo_src, point) * RLO_SRC_BYTES);
}

static inline __global uchar *rlo_cell(__private const rlo_job *job,
                                       __private const rlo_point *point) {
  return job->to + rlo_value(rlo_dst, point) * RLO_DST_BYTES;
}

#if !RLO_CONVERT
static inline void rlo_put(__private const rlo_job *job,
                           __private const rlo_point *point,
                           __global uchar *cell,
                           rlo_t value) {
  rlo_dst_raw old = 0;
  rlo_operands operands;
#if RLO_BETA
  old = RLO_LOAD_DST(__global, cell);
#endif
#if RLO_OPERAND >= 0
  const rlo_index place = point->at[RLO_NUM_AXES + RLO_OPERAND];
  const rlo_index length = RLO_INDEX_COUNT / RLO_NUM_LISTS;
  for (int n = 0; n < RLO_NUM_LISTS; ++n) {
    operands.of[n] =
        RLO_NUMBER((ulong)(long)job->indices[n * length + place]);
  }
#endif
  (void)point;
  RLO_STORE_DST(
      __global, cell, rlo_combine_by(value, old, &operands, job->numbers));
}
#endif

#if RLO_SUM_AXES == 0

static inline void rlo_do_cell(__private const rlo_job *job,
                               __private rlo_point *point) {
  bool is_read;
  bool is_written;
  rlo_find_terms(job->indices, point);
  rlo_ask_guards(point, &is_read, &is_written);
  if (!is_written) {
    return;
  }
  __global uchar *cell = rlo_cell(job, point);
  if (!is_read) {
    RLO_STORE_DST(__global, cell, (rlo_dst_raw)job->fill);
  } else {
#if RLO_CONVERT
    RLO_STORE_DST(__global, cell, rlo_convert(rlo_read(job, point)));
#else
    rlo_put(job, point, cell, rlo_from_src(rlo_read(job, point)));
#endif
  }
}

#else

/* Every RLO_SUM_LANES-th point of [begin, end) along the last axis. */
static inline rlo_t rlo_sum_lane(__private const rlo_job *job,
                                 __private rlo_point *point,
                                 rlo_index begin,
                                 rlo_index end,
                                 __private bool *any_read,
                                 __private bool *any_written) {
  rlo_t lane = 0;
  for (rlo_index k = begin; k < end; k += RLO_SUM_LANES) {
    bool is_read;
    bool is_written;
    point->at[RLO_NUM_AXES - 1] = k;
    rlo_find_terms(job->indices, point);
    rlo_ask_guards(point, &is_read, &is_written);
    if (is_written && is_read) {
      lane += rlo_from_src(rlo_read(job, point));
    }
    *any_read = *any_read || (is_written && is_read);
    *any_written = *any_written || is_written;
  }
  return lane;
}

static inline void rlo_do_cell(__private const rlo_job *job,
                               __private rlo_point *point) {
  bool any_read = false;
  bool any_written = false;
  rlo_total total;
  total.parts = 0;
  for (rlo_count r = 0; r < RLO_SUM_ROWS; ++r) {
    rlo_count row = r;
    for (int a = RLO_NUM_AXES - 2; a >= RLO_KEPT_AXES; --a) {
      const rlo_count size = (rlo_count)rlo_extents[a];
      const rlo_count rest = row / size;
      point->at[a] = (rlo_index)(row - rest * size);
      row = rest;
    }
    const rlo_index extent = rlo_axis_end(job->indices, point);
    for (rlo_index begin = 0; begin < extent; begin += RLO_SUM_BLOCK) {
      const rlo_index end = min(begin + (rlo_index)RLO_SUM_BLOCK, extent);
      /* In this order, 0, 8, 4, 12, 2, ..., the tree over the lanes is one of
       * neighbours, as that over the blocks: one counter takes both, and no
       * lane needs an index that is known at run time only. Looked up, because
       * clang makes reversed bits an instruction that some drivers lack. */
      for (int n = 0; n < RLO_SUM_LANES; ++n) {
        const int lane = (int)(0xf7b3d591e6a2c480ul >> (4 * n) & 15);
        rlo_total_add(
            &total,
            rlo_sum_lane(
                job, point, begin + lane, end, &any_read, &any_written));
      }
    }
  }
  __global uchar *cell = rlo_cell(job, point);
  if (any_read) {
    rlo_put(job, point, cell, rlo_total_end(&total));
  } else if (any_written) {
    RLO_STORE_DST(__global, cell, (rlo_dst_raw)job->fill);
  }
}

#endif

static inline void rlo_do_segment(__private const rlo_job *job,
                                  rlo_count segment) {
  rlo_point point;
#if RLO_KEPT_AXES > 0
  const rlo_count row = segment / RLO_ROW_SEGMENTS;
  const rlo_index begin =
      (rlo_index)(segment - row * RLO_ROW_SEGMENTS) * RLO_SEGMENT;
  rlo_decode_row(row, RLO_KEPT_AXES - 1, &point);
  /* The last segment of a row may be shorter. */
  const rlo_index end =
      min(begin + (rlo_index)RLO_SEGMENT, rlo_extents[RLO_KEPT_AXES - 1]);
  for (rlo_index k = begin; k < end; ++k) {
    point.at[RLO_KEPT_AXES - 1] = k;
    rlo_do_cell(job, &point);
  }
#else
  (void)segment;
  rlo_do_cell(job, &point);
#endif
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_SPECIALIZED_PARAMS, rlo_numbers numbers) {
  const rlo_job job = {src + src_offset_bytes,
                       RLO_INDICES,
                       dst + dst_offset_bytes,
                       fill_lo,
                       numbers};
  (void)fill_hi;
#if RLO_LOOP
  for (rlo_count s = (rlo_count)get_global_id(0); s < RLO_SEGMENTS;
       s += (rlo_count)get_global_size(0)) {
    rlo_do_segment(&job, s);
  }
#else
  const rlo_count s = (rlo_count)get_global_id(0);
  if (s < RLO_SEGMENTS) {
    rlo_do_segment(&job, s);
  }
#endif
}
