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
 * Any alignment works. There are two methods. *Packed*: rows that follow each
 * other without a gap in the destination (batch_dst_stride == row_units) and do
 * not consist of whole lines, or not of data alone, are assembled in private
 * memory and stored as whole lines, which makes short rows fast.
 * *Row by row*: lines where the row has them, pieces at its two ends.
 *
 * What the host should choose: where the source has an axis that continues the
 * row without a gap, batch along that one and order the grid as the source is,
 * because scattered stores cost less than scattered loads; if that axis also
 * continues the row in the destination, rows are packed when they are short.
 * Batches of about 16 KiB, at least 16 rows. RLO_PREFETCH where short rows
 * jump; elsewhere hardware looks ahead by itself, and better. RLO_NT for rows
 * of 256 bytes or more, and for all that is packed, if the destination is
 * larger than the caches; below that plain stores.
 */
#include "cpu_run.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_rows
#endif

/* Bytes of the private window of the packed method. */
#ifndef RLO_ROWS_WINDOW
#define RLO_ROWS_WINDOW 8192
#endif

/* Rows longer than this are moved row by row: pieces of neighbouring rows meet
 * in the caches. Fill in between raises the limit. At most half of the window.
 */
#ifndef RLO_ROWS_PACKED_MAX
#if RLO_PAD_GUARDS > 0
#define RLO_ROWS_PACKED_MAX 512
#else
#define RLO_ROWS_PACKED_MAX 128
#endif
#endif

#define E RLO_UNIT_BYTES

/* Copies n bytes of each of `count` rows, size <= n <= 2 * size. */
#define RLO_MOVE_ROWS(type, size)                               \
  for (long q = 0; q < count; ++q) {                            \
    *(__private type *)slot = *(__global const type *)row_from; \
    *(__private type *)(slot + n - (size)) =                    \
        *(__global const type *)(row_from + n - (size));        \
    slot += row_bytes;                                          \
    row_from += src_row_bytes;                                  \
  }

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS, RLO_BATCH_PARAMS RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  __global const uchar *from = RLO_SRC_CORNER(RLO_UNIT_BYTES);
  __global uchar *to = RLO_DST_CORNER(RLO_UNIT_BYTES);
  /* Not by rlo_num_points, which changes what compilers make of the loops. */
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
                   row_bytes <= RLO_ROWS_PACKED_MAX;
  bool is_cut = ((ulong)to | (ulong)row_bytes) % RLO_LINE_BYTES != 0;
  rlo_part part = {0, row_bytes, 0, row_bytes};
#if RLO_GUARDS > 0
  const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD
  bool is_inside = true; /* no guard cuts a row of this batch */
  for (int g = 0; g < RLO_GUARDS; ++g) {
    const rlo_guard u = guards[g];
    const long x = u.x * (units - 1);
    const long y = u.y * (rows - 1);
    const bool holds = u.v + min(x, 0L) + min(y, 0L) >= 0 &&
                       u.v + max(x, 0L) + max(y, 0L) < u.limit;
    is_inside = is_inside && holds;
    is_packed = is_packed && (holds || g < RLO_PAD_GUARDS);
    is_cut = is_cut || (!holds && u.x != 0 && g < RLO_PAD_GUARDS);
  }
#endif

  /* From a row to the same row of the next group; and those rows. */
  long ahead_bytes = 0;
  rlo_ahead ahead = {from, 0, row_bytes, 0, src_row_bytes};
  if (rlo_next(n_grid, grid_extent, index)) {
    ahead.row = RLO_SRC_CORNER(RLO_UNIT_BYTES);
    ahead_bytes = ahead.row - from;
    ahead.rows = rows;
    if (src_row_bytes > 0 && src_row_bytes < RLO_AHEAD_BYTES) {
      ahead.rows = 1;
      ahead.row_bytes = rows * src_row_bytes;
    }
  }

  if (!is_packed || !is_cut) {
    for (long r = 0; r < rows; ++r) {
      __global const uchar *row_from = from + r * src_row_bytes;
      __global uchar *row_to = to + r * dst_row_bytes;
#if RLO_GUARDS > 0
      if (!is_inside) {
        part = rlo_row_part(guards, r, units);
#if RLO_PAD_GUARDS > 0
        rlo_fill_run(row_to + part.write0, part.read0 - part.write0, fill);
#endif
      }
#endif
      rlo_copy_run(row_to + part.read0,
                   row_from + part.read0,
                   part.read1 - part.read0,
                   ahead_bytes);
#if RLO_PAD_GUARDS > 0
      if (!is_inside) {
        rlo_fill_run(row_to + part.read1, part.write1 - part.read1, fill);
      }
#endif
    }
    return;
  }

  /*
   * Packed. The window mirrors the destination: its first byte stands for the
   * beginning of a line, row 0 of a round for byte `at`. A round makes whole
   * lines of as many rows as fit, and what is left of the last line begins the
   * next round. If rounds can be made such that `at` stays, every row has
   * its place in the window, and fill that no row overwrites is written once.
   */
  rlo_line window[RLO_ROWS_WINDOW / RLO_LINE_BYTES + 4];
  __private uchar *w = (__private uchar *)window;
  long at = (long)((ulong)to % RLO_LINE_BYTES);
  to -= at;
  long sent_from = at; /* bytes of the first line that are not ours */
  long round_rows = RLO_ROWS_WINDOW / row_bytes;
  bool is_steady = true;
#if RLO_GUARDS > 0
  for (int g = 0; g < RLO_GUARDS; ++g) {
    is_steady = is_steady && guards[g].y == 0;
  }
  if (is_steady) {
    /* The lowest bit of the row's length determines how many rows make whole
     * lines. */
    const long lowest = min(row_bytes & -row_bytes, 64L);
    const long multiple = RLO_LINE_BYTES / lowest;
    is_steady = multiple <= round_rows;
    if (is_steady) {
      round_rows = round_rows / multiple * multiple;
      part = rlo_row_part(guards, 0, units);
      for (long k = at; k < RLO_ROWS_WINDOW + RLO_LINE_BYTES;
           k += RLO_LINE_BYTES) {
        *(__private rlo_line_any *)(w + k) = fill;
      }
    }
  }
#endif
  long r = 0;
  while (r < rows) {
    const long round_end = min(rows, r + round_rows);
    const long round_bytes = (round_end - r) * row_bytes;
    __private uchar *slot = w + at;
    __global const uchar *row_from = from + r * src_row_bytes;
    if (is_steady) {
      const long count = round_end - r;
      const long n = part.read1 - part.read0;
      slot += part.read0;
      row_from += part.read0;
      /* Two moves that may overlap, for exactly n bytes. */
      if (n > 64) {
        for (long q = 0; q < count; ++q) {
          for (long k = 0; k < n - 64; k += 64) {
            *(__private rlo_line_any *)(slot + k) =
                *(__global const rlo_line_any *)(row_from + k);
          }
          *(__private rlo_line_any *)(slot + n - 64) =
              *(__global const rlo_line_any *)(row_from + n - 64);
          slot += row_bytes;
          row_from += src_row_bytes;
        }
      } else if (n >= 32) {
        RLO_MOVE_ROWS(rlo_u256_any, 32)
      } else if (n >= 16) {
        RLO_MOVE_ROWS(rlo_u128_any, 16)
      } else if (n >= 8) {
        RLO_MOVE_ROWS(rlo_u64_any, 8)
      } else if (n >= 4) {
        RLO_MOVE_ROWS(rlo_u32_any, 4)
      } else if (n >= 2) {
        RLO_MOVE_ROWS(rlo_u16_any, 2)
      } else if (n == 1) {
        RLO_MOVE_ROWS(uchar, 1)
      }
    } else {
      for (long q = r; q < round_end; ++q) {
#if RLO_GUARDS > 0
        part = rlo_row_part(guards, q, units);
#if RLO_PAD_GUARDS > 0
        /* Fill overshoots into what is written next. */
        for (long k = 0; k < part.read0; k += RLO_LINE_BYTES) {
          *(__private rlo_line_any *)(slot + k) = fill;
        }
#endif
#endif
        long k = part.read0;
        for (; k + 64 <= part.read1; k += 64) {
          *(__private rlo_line_any *)(slot + k) =
              *(__global const rlo_line_any *)(row_from + k);
        }
        for (; k + 16 <= part.read1; k += 16) {
          *(__private rlo_u128_any *)(slot + k) =
              *(__global const rlo_u128_any *)(row_from + k);
        }
        for (; k < part.read1; k += E) {
          *(__private rlo_unit_any *)(slot + k) =
              *(__global const rlo_unit_any *)(row_from + k);
        }
#if RLO_PAD_GUARDS > 0
        for (; k < row_bytes; k += RLO_LINE_BYTES) {
          *(__private rlo_line_any *)(slot + k) = fill;
        }
#endif
        slot += row_bytes;
        row_from += src_row_bytes;
      }
    }
    r = round_end;
    const long n = at + round_bytes;
    const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
    const rlo_row row = {to, sent_from, r < rows ? whole : n};
    rlo_send_row(row, w, 0, &ahead);
    if (r < rows) {
      *(__private rlo_line *)w = *(__private const rlo_line *)(w + whole);
      sent_from = 0;
      to += whole;
      at = n - whole;
    }
  }
  (void)fill_lo;
  (void)fill_hi;
}
