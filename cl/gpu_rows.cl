/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family rows, GPU class: the innermost axis is contiguous on both sides.
 *
 *     for r < batch_extent, k < row_units:
 *         dst[dst_offset + r * batch_dst_stride + k] =
 *         src[src_offset + r * batch_src_stride + k]
 *
 * for every other point of the grid. One group moves a batch of rows, or a
 * chunk of one. It cuts them into pieces of RLO_WIDE_UNITS units and
 * distributes the pieces over its lanes, one row after the other, so that short
 * rows leave no lane idle. Arguments after the common eleven:
 *
 *   11  int batch_axis              grid axis that counts batches, -1: one
 *   12  rlo_index batch_extent      rows along that axis in all, >= 1
 *   13  rlo_index batch_rows        rows of one batch, >= 1
 *   14  rlo_index batch_src_stride  units from row to row
 *   15  rlo_index batch_dst_stride
 *   16  int row_axis                grid axis that counts chunks of a row, -1:
 *                                   rows are whole
 *   17  rlo_index row_units         units of a row, >= 1
 *   18  rlo_index chunk_units       units of a chunk; row_units if rows are
 *                                   whole. A multiple of RLO_WIDE_UNITS else
 *   19  int reciprocal              of the pieces of a chunk, n: what makes
 *                                   mul_hi(p, reciprocal) = p / n for every
 *                                   piece p of a group, taken as uint; 0 for 1
 *   20  the guards; x is the coefficient of k, y that of r
 *
 * For batch_axis: extent ceil(batch_extent / batch_rows), strides batch_rows *
 * batch_src_stride and batch_rows * batch_dst_stride, guard coefficient
 * batch_rows * y. For row_axis: extent ceil(row_units / chunk_units), strides
 * chunk_units, guard coefficient chunk_units * x.
 *
 * With RLO_SHIFT rows begin anywhere: pieces are four bytes at multiples of
 * four in the destination, the first and the last of a row are what is left of
 * it, and each is put together from the two words of the source that hold it. A
 * chunk then has one piece more, and n counts it.
 *
 * With RLO_FLAT the grid counts single rows, batch_axis and row_axis are -1,
 * batch_extent is the number of all rows, and a group moves batch_rows that
 * follow each other in the grid: for many short axes, none of which fills a
 * group by itself.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_WIDE_UNITS=4 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_WIDE_UNITS=8 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1 -DRLO_FLAT=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_WIDE_UNITS=4 -DRLO_SHIFT=1 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_WIDE_UNITS=2 -DRLO_SHIFT=1 -DRLO_FLAT=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_GRID_RANK=16
/* Units of a piece: a power of two, at most 16 bytes. More than one only if
 * every row begins at a multiple of their size on both sides, which the host
 * proves, or with RLO_SHIFT. */
#ifndef RLO_WIDE_UNITS
#define RLO_WIDE_UNITS 1
#endif
#define RLO_WIDE_BYTES (RLO_WIDE_UNITS * RLO_UNIT_BYTES)

#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_rows
#endif

/* 1: rows begin anywhere. Units are smaller than four bytes, pieces four. */
#ifndef RLO_SHIFT
#define RLO_SHIFT 0
#endif

/* 1: groups take rows that follow each other in the grid. */
#ifndef RLO_FLAT
#define RLO_FLAT 0
#endif

/* Pieces that a lane has in flight at a time. */
#ifndef RLO_PIECES
#define RLO_PIECES 4
#endif

#if RLO_SHIFT
/* Units of a row before the first multiple of four bytes. */
static inline long rlo_head_units(__global const rlo_unit *row) {
  return (long)(-(uint)(size_t)row % 4 / RLO_UNIT_BYTES);
}

/* Tells if the words that hold a piece lie within the row's `units`. */
static inline bool rlo_has_words(__global const rlo_unit *row,
                                 long k,
                                 long units) {
  const long before = (long)((size_t)(row + k) % 4);
  const long bytes = before == 0 ? 4 : 8;
  const long first = k * RLO_UNIT_BYTES - before;
  return first >= 0 && first + bytes <= units * RLO_UNIT_BYTES;
}

static inline rlo_wide rlo_join_words(__global const rlo_unit *at) {
  const uint before = (uint)(size_t)at % 4;
  __global const uint *words =
      (__global const uint *)((__global const uchar *)at - before);
  uint piece = words[0];
  if (before != 0) {
    piece = piece >> (8 * before) | words[1] << (32 - 8 * before);
  }
  return piece;
}
#endif

/* A piece of padding. */
static inline rlo_wide rlo_fill_wide(ulong fill_lo, ulong fill_hi) {
#if RLO_WIDE_UNITS == 1
  return rlo_fill_unit(fill_lo, fill_hi);
#else
  (void)fill_hi;
#if RLO_UNIT_BYTES == 1
  const ulong units = (fill_lo & 0xffUL) * 0x0101010101010101UL;
#elif RLO_UNIT_BYTES == 2
  const ulong units = (fill_lo & 0xffffUL) * 0x0001000100010001UL;
#elif RLO_UNIT_BYTES == 4
  const ulong units = (fill_lo & 0xffffffffUL) * 0x0000000100000001UL;
#else
  const ulong units = fill_lo;
#endif
#if RLO_WIDE_BYTES == 16
  return as_uint4((ulong2)(units, units));
#else
  return (rlo_wide)units;
#endif
#endif
}

/* Moves units [k, end) of row r one by one. */
static inline void rlo_move_units(__global const rlo_unit *from,
                                  __global rlo_unit *to,
                                  long k,
                                  long end,
                                  long r,
                                  ulong fill_lo,
                                  ulong fill_hi,
                                  __private const rlo_guard_list *guards) {
  for (; k < end; ++k) {
    if (rlo_is_read(guards, k, r)) {
      to[k] = from[k];
    } else if (rlo_is_written(guards, k, r)) {
      rlo_store_fill(to + k, fill_lo, fill_hi);
    }
  }
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
#endif
    RLO_GROUP_PARAMS,
    int batch_axis,
    rlo_index batch_extent,
    rlo_index batch_rows,
    rlo_index batch_src_stride,
    rlo_index batch_dst_stride,
    int row_axis,
    rlo_index row_units,
    rlo_index chunk_units,
    int reciprocal RLO_GUARD_PARAMS) {
  const uint pieces =
      (uint)((chunk_units + (RLO_WIDE_UNITS - 1)) / RLO_WIDE_UNITS) + RLO_SHIFT;
  rlo_index_list index;
  rlo_guard_list guards;
#if RLO_FLAT
  const long r0 = (long)RLO_GROUP * (long)batch_rows;
  const long units = (long)row_units;
#else
  rlo_decode((uint)RLO_GROUP, grid_extent, grid_magic, &index);
  RLO_GUARDS_LOAD
  const long r0 = (long)rlo_index_of(&index, batch_axis) * (long)batch_rows;
  const long k0 = (long)rlo_index_of(&index, row_axis) * (long)chunk_units;
  const long units = min((long)row_units - k0, (long)chunk_units);
  const rlo_index src_units = rlo_offset(&index, grid_src_stride);
  const rlo_index dst_units = rlo_offset(&index, grid_dst_stride);
#endif
  const uint rows = (uint)min((long)batch_extent - r0, (long)batch_rows);
#if RLO_FLAT
  const bool is_inside = RLO_GUARDS == 0;
  __global rlo_unit *target = rlo_target_at(dst, dst_offset_bytes, 0);
#else
  __global rlo_unit *target = rlo_target_at(dst, dst_offset_bytes, dst_units);
  const bool is_inside = rlo_is_inside(&guards, 0, units, (long)rows);
#endif
  for (uint first = (uint)get_local_id(0); first < rows * pieces;
       first += RLO_LOCAL * RLO_PIECES) {
    /* Whole pieces are all read before the first of them is written. */
    rlo_wide piece[RLO_PIECES];
    rlo_index place[RLO_PIECES]; /* units from `target`; -1: none */
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      place[n] = -1;
      const uint p = first + n * RLO_LOCAL;
      const uint row = pieces == 1 ? p : mul_hi(p, (uint)reciprocal);
      if (row < rows) {
#if RLO_FLAT
        rlo_decode((uint)r0 + row, grid_extent, grid_magic, &index);
        RLO_GUARDS_LOAD
        const long r = 0;
        const rlo_index src_at = rlo_offset(&index, grid_src_stride);
        const rlo_index dst_at = rlo_offset(&index, grid_dst_stride);
#else
        const long r = (long)row;
        const rlo_index src_at = src_units + (rlo_index)row * batch_src_stride;
        const rlo_index dst_at = (rlo_index)row * batch_dst_stride;
#endif
        __global const rlo_unit *from =
            rlo_source_at(src, src_offset_bytes, src_at);
        __global rlo_unit *to = target + dst_at;
        const long first_unit = (long)(p - row * pieces) * RLO_WIDE_UNITS;
#if RLO_SHIFT
        const long whole = first_unit + rlo_head_units(to) - RLO_WIDE_UNITS;
#else
        const long whole = first_unit;
#endif
        const long k = max(whole, 0L);
        const long end = min(whole + RLO_WIDE_UNITS, units);
        rlo_verdict verdict = {true, false};
        if (!is_inside) {
          verdict = rlo_judge(&guards, k, end, r);
        }
        const bool is_whole = end - k == RLO_WIDE_UNITS;
#if RLO_SHIFT
        const bool has_words = rlo_has_words(from, k, units);
#else
        const bool has_words = true;
#endif
        if (is_whole && verdict.is_inside && has_words) {
#if RLO_SHIFT
          piece[n] = rlo_join_words(from + k);
#else
          piece[n] = *(__global const rlo_wide *)(from + k);
#endif
          place[n] = dst_at + (rlo_index)k;
        } else if (is_whole && verdict.is_fill) {
          piece[n] = rlo_fill_wide(fill_lo, fill_hi);
          place[n] = dst_at + (rlo_index)k;
        } else {
          rlo_move_units(from, to, k, end, r, fill_lo, fill_hi, &guards);
        }
      }
    }
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      if (place[n] >= 0) {
        *(__global rlo_wide *)(target + place[n]) = piece[n];
      }
    }
  }
}

#include "batch.cl"
