/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family rows, CPU class: the innermost axis is contiguous on both sides.
 *
 *     for r < batch_extent, k < row_units:
 *         dst[dst_offset + r * batch_dst_stride + k] =
 *         src[src_offset + r * batch_src_stride + k]
 *
 * for every other point of the grid. One group moves a batch of rows along one
 * axis, or a chunk of one if rows are very long. Arguments after the common
 * ten:
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
 *   18  the guards; x is the coefficient of k and must be 0 or 1, y is that of
 *       r
 *
 * For batch_axis: extent ceil(batch_extent / batch_rows), strides batch_rows *
 * batch_src_stride and batch_rows * batch_dst_stride, guard coefficient
 * batch_rows * y. For row_axis: extent ceil(row_units / chunk_units), strides
 * chunk_units, guard coefficient chunk_units * x. If there is no axis to batch
 * along, batch_axis is -1 and batch_extent and batch_rows are 1.
 *
 * Any alignment is right. Two ways through a batch. *Packed*: rows that follow
 * each other without a gap in the destination (batch_dst_stride == row_units)
 * and are not made of whole lines are put together in private memory and leave
 * as whole lines; it is what makes short rows fast, so the host should batch
 * along the axis that is contiguous in the destination. *Row by row*: lines
 * where the row has them, pieces at its two ends.
 */
#ifndef RLO_COMMON_CL
#include "common.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_rows
#endif

/* Bytes of the private window of the packed way. */
#ifndef RLO_ROWS_WINDOW
#define RLO_ROWS_WINDOW 8192
#endif

/* Rows longer than this go row by row. At most half of the window. */
#ifndef RLO_ROWS_PACKED_MAX
#define RLO_ROWS_PACKED_MAX 2048
#endif

#define E RLO_UNIT_BYTES

/* Which part of a row is read and which is written; bytes. Of [0, row bytes).
 */
typedef struct rlo_part {
  long read0, read1, write0, write1;
} rlo_part;

#if RLO_GUARDS > 0
RLO_INLINE void rlo_cut_row(__private const rlo_guard *guards,
                            int n,
                            long r,
                            __private long *from,
                            __private long *to) {
  const long end = *to;
  for (int g = 0; g < n; ++g) {
    const long v = guards[g].v + guards[g].y * r;
    const long limit = guards[g].limit;
    if (guards[g].x != 0) {
      *from = max(*from, -v);
      *to = min(*to, limit - v);
    } else if (v < 0 || v >= limit) {
      *to = *from;
    }
  }
  *from = min(*from, end);
  *to = max(*from, *to);
}

RLO_INLINE rlo_part rlo_row_part(__private const rlo_guard *guards,
                                 long r,
                                 long units) {
  long w0 = 0;
  long w1 = units;
  rlo_cut_row(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, r, &w0, &w1);
  long r0 = w0;
  long r1 = w1;
  rlo_cut_row(guards, RLO_PAD_GUARDS, r, &r0, &r1);
  const rlo_part part = {r0 * E, r1 * E, w0 * E, w1 * E};
  return part;
}
#endif

/* Lines of a row where it has them, pieces at its ends. */
RLO_INLINE void rlo_copy_run(__global uchar *to,
                             __global const uchar *from,
                             long n,
                             long ahead_bytes) {
#if RLO_PREFETCH
  if (ahead_bytes != 0) {
    for (long k = 0; k < n; k += RLO_LINE_BYTES) {
      rlo_prefetch(from + k + ahead_bytes);
    }
  }
#else
  (void)ahead_bytes;
#endif
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  rlo_piece_global(to, from, head);
  to += head;
  from += head;
  n -= head;
  const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
  for (long k = 0; k < whole; k += RLO_LINE_BYTES) {
    rlo_store_line(to + k, *(__global const rlo_line_any *)(from + k));
  }
  rlo_piece_global(to + whole, from + whole, n - whole);
}

#if RLO_PAD_GUARDS > 0
RLO_INLINE void rlo_fill_run(__global uchar *to, long n, rlo_line fill) {
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  rlo_piece_private(to, (__private const uchar *)&fill, head);
  to += head;
  n -= head;
  const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
  if (whole > 0) {
    /* A line begins head bytes into the pattern. */
    rlo_line twice[2] = {fill, fill};
    const rlo_line turned =
        *(__private const rlo_line_any *)((__private const uchar *)twice +
                                          head % 16);
    for (long k = 0; k < whole; k += RLO_LINE_BYTES) {
      rlo_store_line(to + k, turned);
    }
  }
  rlo_line twice[2] = {fill, fill};
  rlo_piece_private(
      to + whole, (__private const uchar *)twice + head % 16, n - whole);
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int batch_axis,
    rlo_index batch_extent,
    rlo_index batch_rows,
    rlo_index batch_src_stride,
    rlo_index batch_dst_stride,
    int row_axis,
    rlo_index row_units,
    rlo_index chunk_units RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  __global const uchar *from =
      src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
  __global uchar *to =
      dst + dst_offset_bytes + rlo_dot(n_grid, index, grid_dst_stride) * E;
  long rows = batch_extent;
  if (batch_axis >= 0) {
    rows -= (long)index[batch_axis] * batch_rows;
    rows = min(rows, (long)batch_rows);
  }
  long units = row_units;
  if (row_axis >= 0) {
    units -= (long)index[row_axis] * chunk_units;
    units = min(units, (long)chunk_units);
  }
  const long row_bytes = units * E;
  const long src_row_bytes = (long)batch_src_stride * E;
  const long dst_row_bytes = (long)batch_dst_stride * E;
  bool is_packed = dst_row_bytes == row_bytes && rows > 1 &&
                   row_bytes <= RLO_ROWS_PACKED_MAX &&
                   ((ulong)to | (ulong)row_bytes) % RLO_LINE_BYTES != 0;
  rlo_part part = {0, row_bytes, 0, row_bytes};
#if RLO_GUARDS > 0
  const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD(guards);
  for (int g = RLO_PAD_GUARDS; g < RLO_GUARDS; ++g) {
    /* Whether a SKIP guard could cut a row of this batch. */
    const rlo_guard u = guards[g];
    const long x = u.x * (units - 1);
    const long y = u.y * (rows - 1);
    is_packed = is_packed && u.v + min(x, 0L) + min(y, 0L) >= 0 &&
                u.v + max(x, 0L) + max(y, 0L) < u.limit;
  }
#endif

  /* From a row to the same row of the next group. */
  long ahead_bytes = 0;
  if (rlo_next(n_grid, grid_extent, index)) {
    ahead_bytes = src + src_offset_bytes +
                  rlo_dot(n_grid, index, grid_src_stride) * E - from;
  }

  if (!is_packed) {
    for (long r = 0; r < rows; ++r) {
      __global const uchar *row_from = from + r * src_row_bytes;
      __global uchar *row_to = to + r * dst_row_bytes;
#if RLO_GUARDS > 0
      part = rlo_row_part(guards, r, units);
#if RLO_PAD_GUARDS > 0
      rlo_fill_run(row_to + part.write0, part.read0 - part.write0, fill);
#endif
#endif
      rlo_copy_run(row_to + part.read0,
                   row_from + part.read0,
                   part.read1 - part.read0,
                   ahead_bytes);
#if RLO_PAD_GUARDS > 0
      rlo_fill_run(row_to + part.read1, part.write1 - part.read1, fill);
#endif
    }
    return;
  }

  /*
   * Packed. Moves into the window are as wide as may be and overshoot: what
   * they spoil is written right by the next move. Reads may overshoot as long
   * as another row of the batch that is read lies behind them.
   */
  rlo_line window[(RLO_ROWS_WINDOW + 3 * RLO_LINE_BYTES) / RLO_LINE_BYTES];
  __private uchar *w = (__private uchar *)window;
  long first = 0;
  long last = rows - 1;
#if RLO_GUARDS > 0
  for (; first < last; ++first) {
    part = rlo_row_part(guards, first, units);
    if (part.read0 < part.read1) {
      break;
    }
  }
  for (; first < last; --last) {
    part = rlo_row_part(guards, last, units);
    if (part.read0 < part.read1) {
      break;
    }
  }
#endif
  const long safe_end = max(first * src_row_bytes, last * src_row_bytes);
  long n = 0; /* bytes in the window */
  long r = 0;
  while (r < rows) {
    for (; r < rows && n + row_bytes <= RLO_ROWS_WINDOW; ++r) {
      __global const uchar *row_from = from + r * src_row_bytes;
#if RLO_GUARDS > 0
      part = rlo_row_part(guards, r, units);
#if RLO_PAD_GUARDS > 0
      for (long k = 0; k < part.read0; k += RLO_LINE_BYTES) {
        *(__private rlo_line_any *)(w + n + k) = fill;
      }
#endif
#endif
      for (long k = 0; k < row_bytes; k += RLO_LINE_BYTES) {
        rlo_prefetch(row_from + k + ahead_bytes);
      }
      long k = part.read0;
      if (r * src_row_bytes + part.read1 + RLO_LINE_BYTES <= safe_end) {
        if (part.read1 - k <= 16) {
          *(__private rlo_u128_any *)(w + n + k) =
              *(__global const rlo_u128_any *)(row_from + k);
        } else {
          for (; k < part.read1; k += RLO_LINE_BYTES) {
            *(__private rlo_line_any *)(w + n + k) =
                *(__global const rlo_line_any *)(row_from + k);
          }
        }
      } else {
        for (; k < part.read1; k += E) {
          *(__private rlo_unit_any *)(w + n + k) =
              *(__global const rlo_unit_any *)(row_from + k);
        }
      }
#if RLO_PAD_GUARDS > 0
      for (k = part.read1; k < row_bytes; k += RLO_LINE_BYTES) {
        *(__private rlo_line_any *)(w + n + k) = fill;
      }
#endif
      n += row_bytes;
    }
    /* Send whole lines, keep the rest for the next round. */
    __private const uchar *out = w;
    const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
    rlo_piece_private(to, out, head);
    to += head;
    out += head;
    n -= head;
    for (; n >= RLO_LINE_BYTES; n -= RLO_LINE_BYTES) {
      rlo_store_line(to, *(__private const rlo_line_any *)out);
      to += RLO_LINE_BYTES;
      out += RLO_LINE_BYTES;
    }
    *(__private rlo_line_any *)w = *(__private const rlo_line_any *)out;
  }
  rlo_piece_private(to, w, n);
}
