/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_rows, CPU class: computes along an axis that is contiguous on
 * both sides.
 *
 *     for r < batch_extent, k < row_units:
 *         cell = &dst[dst_offset + r * batch_dst_stride + k]
 *         x = src[src_offset + r * batch_src_stride + k]
 *         *cell = to_dst(steps(x, *cell))
 *
 * for every other point of the grid; types by arith.cl. Strides of the source
 * count its units, those of the destination its own. One group computes a batch
 * of rows along one axis, or a chunk of one if rows are very long. Arguments
 * after the common ten:
 *
 *   10  int batch_axis              grid axis that counts batches, -1: one
 *   11  rlo_index batch_extent      rows along that axis in all, >= 1
 *   12  rlo_index batch_rows        rows of one batch, >= 1
 *   13  rlo_index batch_src_stride  units from row to row in the source
 *   14  rlo_index batch_dst_stride  units from row to row in the destination
 *   15  int row_axis                grid axis that counts chunks of a row, -1:
 *                                   rows are whole
 *   16  rlo_index row_units         units of a row, >= 1
 *   17  rlo_index chunk_units       units of one chunk, if row_axis >= 0
 *   18  rlo_numbers numbers
 *   19  the guards; x is the coefficient of k and must be 0 or 1, y is that of
 *       r
 *
 * For batch_axis: extent ceil(batch_extent / batch_rows), strides batch_rows *
 * batch_src_stride and batch_rows * batch_dst_stride, guard coefficient
 * batch_rows * y. For row_axis: extent ceil(row_units / chunk_units), strides
 * chunk_units, guard coefficient chunk_units * x. If there is no axis to batch
 * along, batch_axis is -1 and batch_extent and batch_rows are 1.
 *
 * Sixteen values at a time, or one where that is all arith.cl does. Whole lines
 * leave at once, past the caches with RLO_NT.
 */
// define-matrix: -DRLO_LANES=16 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_BETA=0 -DRLO_NT=1
// define-matrix: -DRLO_LANES=16 -DRLO_CONVERT=1
// define-matrix: -DRLO_LANES=16 -DRLO_STEP_0=3 -DRLO_STEP_1=1 -DRLO_STEP_2=2 -DRLO_STEP_3=0 -DRLO_COMPUTE=0 -DRLO_SRC_CLASS=2 -DRLO_SRC_BYTES=4 -DRLO_SRC_BITS=32 -DRLO_DST_CLASS=2 -DRLO_DST_BYTES=1 -DRLO_DST_BITS=8
#include "cpu_compute_common.cl"
#include "cpu_run.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_compute_rows
#endif

/* Units of a step: whole vectors that make whole lines. */
#define RLO_DST_LINE (RLO_LINE_BYTES / RLO_DST_BYTES)
#define RLO_STEP     (RLO_DST_LINE > RLO_LANES ? RLO_DST_LINE : RLO_LANES)

/* Pages of a long run that are read in turns, because hardware looks ahead
 * within a page only; while those that follow are brought near. */
#ifndef RLO_STREAMS
#define RLO_STREAMS 8
#endif
#define RLO_STREAM_UNITS (4096L / RLO_SRC_BYTES)

/* Parts of a batch whose short rows are computed in turns. */
#ifndef RLO_PARTS
#define RLO_PARTS 4
#endif

/* RLO_LANES units as `*to` is to hold them. */
RLO_INLINE rlo_dst_raw rlo_compute_at(__global const uchar *to,
                                      __global const uchar *from,
                                      rlo_numbers numbers) {
  rlo_dst_raw old = 0;
#if RLO_BETA
  old = RLO_LOAD_DST(__global, to);
#else
  (void)to;
#endif
  return rlo_compute(RLO_LOAD_SRC(__global, from), old, numbers);
}

/* n units, fewer than RLO_LANES or, of one lane, any number. */
RLO_INLINE void rlo_compute_few(__global uchar *to,
                                __global const uchar *from,
                                long n,
                                rlo_numbers numbers) {
#if RLO_LANES == 1
  for (long k = 0; k < n; ++k) {
    __global uchar *cells = to + k * RLO_DST_BYTES;
    RLO_STORE_DST(__global,
                  cells,
                  rlo_compute_at(cells, from + k * RLO_SRC_BYTES, numbers));
  }
#else
  if (n <= 0) {
    return;
  }
  rlo_line in[RLO_LANES * RLO_SRC_BYTES / 64 + 1] = {0};
  rlo_line out[RLO_LANES * RLO_DST_BYTES / 64 + 1] = {0};
  __private uchar *x = (__private uchar *)in;
  __private uchar *y = (__private uchar *)out;
  for (long k = 0; k < n * RLO_SRC_BYTES; ++k) {
    x[k] = from[k];
  }
#if RLO_BETA
  for (long k = 0; k < n * RLO_DST_BYTES; ++k) {
    y[k] = to[k];
  }
#endif
  RLO_STORE_DST(
      __private,
      y,
      rlo_compute(
          RLO_LOAD_SRC(__private, x), RLO_LOAD_DST(__private, y), numbers));
  for (long k = 0; k < n * RLO_DST_BYTES; ++k) {
    to[k] = y[k];
  }
#endif
}

/* Vectors, and what is left. */
RLO_INLINE void rlo_compute_end(__global uchar *to,
                                __global const uchar *from,
                                long n,
                                rlo_numbers numbers) {
  long k = 0;
#if RLO_LANES > 1
  for (; k + RLO_LANES <= n; k += RLO_LANES) {
    __global uchar *cells = to + k * RLO_DST_BYTES;
    RLO_STORE_DST(__global,
                  cells,
                  rlo_compute_at(cells, from + k * RLO_SRC_BYTES, numbers));
  }
#endif
  rlo_compute_few(
      to + k * RLO_DST_BYTES, from + k * RLO_SRC_BYTES, n - k, numbers);
}

#if RLO_LANES > 1
/* RLO_STEP units, whole lines of the destination. */
RLO_INLINE void rlo_compute_step(__global uchar *to,
                                 __global const uchar *from,
                                 rlo_numbers numbers) {
  rlo_line lines[RLO_STEP * RLO_DST_BYTES / RLO_LINE_BYTES];
  __private uchar *out = (__private uchar *)lines;
#pragma unroll
  for (int k = 0; k < RLO_STEP; k += RLO_LANES) {
    RLO_STORE_DST(
        __private,
        out + k * RLO_DST_BYTES,
        rlo_compute_at(
            to + k * RLO_DST_BYTES, from + k * RLO_SRC_BYTES, numbers));
  }
#pragma unroll
  for (int l = 0; l < RLO_STEP * RLO_DST_BYTES / RLO_LINE_BYTES; ++l) {
    rlo_store_line(to + l * RLO_LINE_BYTES, lines[l]);
  }
}
#endif

RLO_INLINE void rlo_compute_run(__global uchar *to,
                                __global const uchar *from,
                                long n,
                                rlo_numbers numbers) {
#if RLO_LANES > 1
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES) / RLO_DST_BYTES);
  rlo_compute_end(to, from, head, numbers);
  to += head * RLO_DST_BYTES;
  from += head * RLO_SRC_BYTES;
  n -= head;
#if RLO_STREAMS > 1
  const long set = RLO_STREAMS * RLO_STREAM_UNITS;
  for (; n >= set; n -= set) {
    for (long k = 0; k < RLO_STREAM_UNITS; k += RLO_STEP) {
#pragma unroll
      for (int s = 0; s < RLO_STREAMS; ++s) {
        const long at = s * RLO_STREAM_UNITS + k;
#pragma unroll
        for (int b = 0; b < RLO_STEP * RLO_SRC_BYTES; b += RLO_LINE_BYTES) {
          rlo_prefetch(from + (at + set) * RLO_SRC_BYTES + b);
        }
        rlo_compute_step(
            to + at * RLO_DST_BYTES, from + at * RLO_SRC_BYTES, numbers);
      }
    }
    to += set * RLO_DST_BYTES;
    from += set * RLO_SRC_BYTES;
  }
#endif
  for (; n >= RLO_STEP; n -= RLO_STEP) {
    rlo_compute_step(to, from, numbers);
    to += RLO_STEP * RLO_DST_BYTES;
    from += RLO_STEP * RLO_SRC_BYTES;
  }
#endif
  rlo_compute_end(to, from, n, numbers);
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
    RLO_COMMON_PARAMS,
    int batch_axis,
    rlo_index batch_extent,
    rlo_index batch_rows,
    rlo_index batch_src_stride,
    rlo_index batch_dst_stride,
    int row_axis,
    rlo_index row_units,
    rlo_index chunk_units,
    rlo_numbers numbers RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(RLO_GROUP, n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_SRC_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_DST_BYTES);
  const long rows = rlo_num_points(index, batch_axis, batch_rows, batch_extent);
  const long units = rlo_num_points(index, row_axis, chunk_units, row_units);
#if RLO_GUARDS > 0
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD
#endif
#if RLO_PAD_GUARDS > 0
  const rlo_line fill = rlo_repeat(fill_lo, RLO_DST_BYTES);
#endif
  /* The next group's rows are brought near while this one's are computed. */
  __global const uchar *ahead = from;
  const bool is_ahead =
      units < RLO_STREAM_UNITS && rlo_next(n_grid, grid_extent, index);
  if (is_ahead) {
    ahead = RLO_SRC_CORNER(RLO_SRC_BYTES);
  }
  const long part_rows = rows / RLO_PARTS;
  for (long i = 0; i < rows; ++i) {
    const long r = i < part_rows * RLO_PARTS
                       ? i % RLO_PARTS * part_rows + i / RLO_PARTS
                       : i;
    __global const uchar *row_from =
        from + r * (long)batch_src_stride * RLO_SRC_BYTES;
    __global uchar *row_to = to + r * (long)batch_dst_stride * RLO_DST_BYTES;
    long begin = 0;
    long end = units;
#if RLO_GUARDS > 0
    const rlo_part part = rlo_row_part(guards, r, units);
    begin = part.read0 / RLO_SRC_BYTES;
    end = part.read1 / RLO_SRC_BYTES;
#endif
#if RLO_PAD_GUARDS > 0
    const long first = part.write0 / RLO_SRC_BYTES;
    const long last = part.write1 / RLO_SRC_BYTES;
    rlo_fill_run(
        row_to + first * RLO_DST_BYTES, (begin - first) * RLO_DST_BYTES, fill);
    rlo_fill_run(
        row_to + end * RLO_DST_BYTES, (last - end) * RLO_DST_BYTES, fill);
#endif
    if (is_ahead) {
      __global const uchar *row_ahead =
          ahead + r * (long)batch_src_stride * RLO_SRC_BYTES;
      for (long b = begin * RLO_SRC_BYTES; b < end * RLO_SRC_BYTES;
           b += RLO_LINE_BYTES) {
        rlo_prefetch(row_ahead + b);
      }
    }
    rlo_compute_run(row_to + begin * RLO_DST_BYTES,
                    row_from + begin * RLO_SRC_BYTES,
                    end - begin,
                    numbers);
  }
  (void)fill_lo;
  (void)fill_hi;
}

#include "batch.cl"
