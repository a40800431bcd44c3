/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed elements whose rows begin anywhere in a byte, for cpu_tile.cl: with
 * RLO_JOINED_ODD. The whole bytes of a row of the destination are bytes of
 * joined rows, since one row of n = 8 / RLO_JOINED_BITS begins at the same bit
 * as the one before. This file has the others: a byte in which a row ends is
 * written by its group, with what the next row has in it; a byte in which a row
 * begins and none ends by the group of that row. What is left of it is kept.
 *
 * Positions count elements. Arguments:
 *
 *   int src_first           of the first element, in its byte
 *   int dst_first
 *   rlo_index a_cells       extents of the plane in elements
 *   rlo_index b_cells       at least 2 * n
 *   int a_level             grid axes beside the plane, which come first, that
 *                           have longer strides in the destination than a; they
 *                           are in the order of these strides
 *
 * Strides of the grid and src_ld, dst_ld are those of elements; the last grid
 * axis counts the elements of a byte along a.
 */
#ifndef RLO_CPU_ODD_CL
#define RLO_CPU_ODD_CL

#include "cpu_join.cl"

#if RLO_JOINED_ODD
#define RLO_ODD_PARAMS                                                  \
  , int src_first, int dst_first, rlo_index a_cells, rlo_index b_cells, \
      int a_level

/* Where the group at `index` begins, and the byte of that. */
#define RLO_SRC_AT (src_first + rlo_dot(n_grid, index, grid_src_stride))
#define RLO_DST_AT (dst_first + rlo_dot(n_grid, index, grid_dst_stride))
#undef RLO_SRC_CORNER
#undef RLO_DST_CORNER
#define RLO_SRC_CORNER(unit_bytes) \
  (src + src_offset_bytes + (RLO_SRC_AT * RLO_JOINED_BITS >> 3))
#define RLO_DST_CORNER(unit_bytes) \
  (dst + dst_offset_bytes + (RLO_DST_AT * RLO_JOINED_BITS >> 3))

/* The rows i, i + n, i + 2 * n and so on of a plane, and where row i begins. */
typedef struct rlo_odd {
  __global const uchar *src;
  __global uchar *dst;
  /* Grid axes beside the plane, and how many of them are outside of a. */
  int levels, a_level;
  rlo_grid extent, src_stride, dst_stride;
  __private const rlo_index *index;
  long na, nb, src_ld, dst_ld;
  long i, src_at, dst_at;
} rlo_odd;

#define RLO_ODD_INIT                                                      \
  {                                                                       \
    src + src_offset_bytes, dst + dst_offset_bytes,                       \
        n_grid - 1 - (a_axis >= 0) - (b_axis >= 0), a_level, grid_extent, \
        grid_src_stride, grid_dst_stride, index, a_cells, b_cells, src_ld, \
        dst_ld, a0 *RLO_JOINED_ROWS + element, RLO_SRC_AT,                \
        RLO_DST_AT + (a0 * dst_ld - b0) * RLO_JOINED_ROWS                 \
  }

/* How the bytes of its rows are joined, from the byte of src_at on. */
RLO_INLINE rlo_join rlo_join_odd(__private const rlo_odd *rows) {
  const long n = RLO_JOINED_ROWS;
  const long phase = rows->dst_at & (n - 1);
  return rlo_join_rows((rows->src_at & (n - 1)) - phase * rows->src_ld,
                       rows->src_ld);
}

/* The whole bytes of its rows, in those of a tile. */
RLO_INLINE rlo_box rlo_cut_odd(__private const rlo_odd *rows, long a0, long b0) {
  const long n = RLO_JOINED_ROWS;
  const long phase = rows->dst_at & (n - 1);
  return (rlo_box){-a0,
                   (rows->na - rows->i + n - 1) / n,
                   (phase > 0 ? 1 : 0) - b0,
                   (phase + rows->nb) / n - b0};
}

/* Steps from row i of a plane to the one that follows in the destination, or
 * with by = -1 to the one before. False: there is none. */
RLO_INLINE bool rlo_step_row(__private const rlo_odd *rows,
                             long i,
                             long by,
                             __private long *src_at,
                             __private long *dst_at) {
  __private const rlo_index *extents =
      (__private const rlo_index *)&rows->extent;
  __private const rlo_index *src = (__private const rlo_index *)&rows->src_stride;
  __private const rlo_index *dst = (__private const rlo_index *)&rows->dst_stride;
  RLO_KEEP_SMALL
  for (int l = rows->levels; l >= 0; --l) {
    const bool is_a = l == rows->a_level;
    const int g = l - (l > rows->a_level ? 1 : 0);
    const long at = is_a ? i : (long)rows->index[g];
    const long extent = is_a ? rows->na : (long)extents[g];
    const bool fits = at + by >= 0 && at + by < extent;
    const long step = fits ? by : by < 0 ? extent - 1 : -at;
    *src_at += step * (is_a ? 1 : (long)src[g]);
    *dst_at += step * (is_a ? rows->dst_ld : (long)dst[g]);
    if (fits) {
      return true;
    }
  }
  return false;
}

/* Adds the elements that a row has in the byte at a position. */
RLO_INLINE void rlo_add_elements(__private const rlo_odd *rows,
                                 long src_at,
                                 long dst_at,
                                 long byte_at,
                                 __private uint *value,
                                 __private uint *mask) {
  for (int k = 0; k < RLO_JOINED_ROWS; ++k) {
    const long j = byte_at + k - dst_at;
    if (j >= 0 && j < rows->nb) {
      const long bit = (src_at + j * rows->src_ld) * RLO_JOINED_BITS;
      const uint low = (1U << RLO_JOINED_BITS) - 1U;
      *value |= ((uint)rows->src[bit >> 3] >> (bit & 7) & low)
                << k * RLO_JOINED_BITS;
      *mask |= low << k * RLO_JOINED_BITS;
    }
  }
}

/* Writes the bytes at the ends of row i of a plane that are its own. */
RLO_INLINE void rlo_close_row(__private const rlo_odd *rows,
                              long i,
                              long src_at,
                              long dst_at,
                              bool is_first,
                              bool is_last) {
  for (long by = is_first ? -1 : 1; by <= (is_last ? 1 : -1); by += 2) {
    const long edge = dst_at + (by < 0 ? 0 : rows->nb);
    const long byte_at = edge & -(long)RLO_JOINED_ROWS;
    long other_src = src_at;
    long other_dst = dst_at;
    const bool has_other = rlo_step_row(rows, i, by, &other_src, &other_dst);
    const bool ends_here = has_other && other_dst + rows->nb > byte_at;
    if (edge == byte_at || (by < 0 && ends_here)) {
      continue;
    }
    uint value = 0;
    uint mask = 0;
    rlo_add_elements(rows, src_at, dst_at, byte_at, &value, &mask);
    if (has_other) {
      rlo_add_elements(rows, other_src, other_dst, byte_at, &value, &mask);
    }
    __global uchar *to = rows->dst + (byte_at * RLO_JOINED_BITS >> 3);
    if (mask != 0xff) {
      value |= *to & ~mask;
    }
    *to = (uchar)value;
  }
}

/* The same for `count` of its rows. */
RLO_INLINE void rlo_close_rows(__private const rlo_odd *rows,
                               long count,
                               bool is_first,
                               bool is_last) {
  for (long k = 0; k < count * RLO_JOINED_ROWS; k += RLO_JOINED_ROWS) {
    rlo_close_row(rows,
                  rows->i + k,
                  rows->src_at + k,
                  rows->dst_at + k * rows->dst_ld,
                  is_first,
                  is_last);
  }
}
#else
#define RLO_ODD_PARAMS
#endif

#endif
