/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family packed, GPU class: the leading axes of both sides pass through local
 * memory.
 *
 *     for each point c of the block, r < repeat_extent:
 *         dst[dst_offset + dot(c, dst strides) + r * repeat_dst_stride] =
 *         src[src_offset + dot(c, src strides) + r * repeat_src_stride]
 *
 * for every other point of the grid. One group moves RLO_REPEAT copies of a
 * block: their units are read in the order of the source, held in local memory,
 * and written in the order of the destination, each time by neighbouring lanes.
 * A lane finds its place in the block once for all copies. Arguments after the
 * common eleven:
 *
 *   11  int read_pieces      pieces of RLO_READ_UNITS units of a block, >= 1;
 *                            they divide the extent of axis 0
 *   12  int write_pieces     the same of RLO_WRITE_UNITS
 *   13  int16 read_axes      lane k < 8: extent of the block's axis k, the
 *                            fastest in the source first; of axis 0 in pieces.
 *                            Lane 8 + k: ceil(2^31 / extent), as uint
 *   14  int16 write_axes     the same axes, cut and ordered as the destination
 *                            has them
 *   15  int16 local_strides  lane k < 8: units of local memory from point to
 *                            point along axis k of read_axes; lane 8 + k: of
 *                            write_axes
 *   16  rlo_block strides    the same in the source along read_axes, and in
 *                            the destination along write_axes
 *   17  int repeat_axis      grid axis that counts copies by RLO_REPEAT, -1:
 *                            one step
 *   18  rlo_index repeat_extent       copies in all, >= 1
 *   19  rlo_index repeat_src_stride   units from copy to copy
 *   20  rlo_index repeat_dst_stride
 *   21  int repeat_local              units of local memory of one copy
 *
 * then for each guard, PAD guards first, five (RLO_BLOCK_GUARD_PARAMS):
 *
 *       rlo_grid guardG_grid_coef
 *       rlo_block guardG_coef       along read_axes and write_axes, as strides
 *       long guardG_base, guardG_limit
 *       long guardG_x               coefficient of r
 *
 * and for each axis, cut between blocks, whose last block overhangs its end,
 * five (RLO_END_PARAMS):
 *
 *       int endE_axis               grid axis that counts blocks
 *       rlo_index endE_step         points of it in a block
 *       rlo_index endE_extent       points of it in all
 *       int endE_read, endE_write   its lane in read_axes and in write_axes
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_READ_UNITS=4 -DRLO_WRITE_UNITS=4 -DRLO_REPEAT=4 -DRLO_PIECES=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_READ_UNITS=2 -DRLO_READ_RANK=1 -DRLO_WRITE_RANK=8 -DRLO_PAD_GUARDS=2 -DRLO_ENDS=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_INDEX32=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=5 -DRLO_REPEAT=2 -DRLO_ENDS=2
#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_packed
#endif

/* Axes of read_axes and of write_axes in use: 1..8. */
#ifndef RLO_READ_RANK
#define RLO_READ_RANK 3
#endif
#ifndef RLO_WRITE_RANK
#define RLO_WRITE_RANK 3
#endif

/* Axes that blocks overhang: 0..2. */
#ifndef RLO_ENDS
#define RLO_ENDS 0
#endif

/* Copies of a block that a group moves, and pieces of one copy that a lane has
 * in flight at a time. */
#ifndef RLO_REPEAT
#define RLO_REPEAT 1
#endif
#ifndef RLO_PIECES
#define RLO_PIECES 4
#endif

/* Local memory of a group. */
#ifndef RLO_LOCAL_BYTES
#define RLO_LOCAL_BYTES 16384
#endif

/* Strides or coefficients along read_axes and, from lane 8 on, write_axes. */
#if RLO_INDEX32
typedef int16 rlo_block;
#else
typedef long16 rlo_block;
#endif

/* First lanes of the two orders in their vectors. */
#define RLO_READ_LANE  0
#define RLO_WRITE_LANE 8

/* The coordinates of a piece's first unit. */
typedef struct rlo_place {
  int at[8];
} rlo_place;

static inline rlo_place rlo_find(uint piece,
                                 int16 axes,
                                 const int rank,
                                 const int piece_units) {
  __private const int *extent = (__private const int *)&axes;
  rlo_place place;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    uint i = 0;
    if (k == rank - 1) {
      i = piece;
    } else if (k < rank) {
      const uint rest = mul_hi(piece + piece, (uint)extent[8 + k]);
      i = piece - rest * (uint)extent[k];
      piece = rest;
    }
    place.at[k] = (int)i;
  }
  place.at[0] *= piece_units;
  return place;
}

static inline int rlo_local_at(rlo_place place, int16 strides, const int lane) {
  __private const int *s = (__private const int *)&strides;
  int sum = 0;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    sum += place.at[k] * s[lane + k];
  }
  return sum;
}

/* Units of global memory from the block's first point to a place. Places beyond
 * the end of an axis, which nobody moves, may leave the range: hence unsigned.
 */
static inline rlo_index rlo_global_at(rlo_place place,
                                      rlo_block strides,
                                      const int lane) {
  __private const rlo_index *s = (__private const rlo_index *)&strides;
  rlo_count sum = 0;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    sum += (rlo_count)(rlo_index)place.at[k] * (rlo_count)s[lane + k];
  }
  return (rlo_index)sum;
}

/* What the coordinates of a place add to a guard. */
static inline long rlo_form_at(rlo_place place,
                               rlo_block coefs,
                               const int lane) {
  __private const rlo_index *s = (__private const rlo_index *)&coefs;
  long sum = 0;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    sum += (long)place.at[k] * (long)s[lane + k];
  }
  return sum;
}

#define RLO_BLOCK_GUARD_PARAM(g)                              \
  , rlo_grid guard##g##_grid_coef, rlo_block guard##g##_coef, \
      long guard##g##_base, long guard##g##_limit, long guard##g##_x
#define RLO_BLOCK_GUARD_PARAMS RLO_EACH_GUARD(RLO_BLOCK_GUARD_PARAM)

#define RLO_END_PARAM(e)                                                   \
  , int end##e##_axis, rlo_index end##e##_step, rlo_index end##e##_extent, \
      int end##e##_read, int end##e##_write
#if RLO_ENDS == 0
#define RLO_EACH_END(X)
#elif RLO_ENDS == 1
#define RLO_EACH_END(X) X(0)
#elif RLO_ENDS == 2
#define RLO_EACH_END(X) X(0) X(1)
#else
#error "at most two axes are cut"
#endif
#define RLO_END_PARAMS RLO_EACH_END(RLO_END_PARAM)

/* Ends are SKIP guards once they are in the list. */
#define RLO_ALL_GUARDS (RLO_GUARDS + RLO_ENDS)

/* A guard at one group: its form is v + x * r + dot(coef, c). */
typedef struct rlo_block_guard {
  long v, limit, x;
  rlo_block coef;
} rlo_block_guard;

typedef struct rlo_block_guards {
  rlo_block_guard at[RLO_ALL_GUARDS > 0 ? RLO_ALL_GUARDS : 1];
} rlo_block_guards;

/* In a kernel: fill `guards` for the coordinates in `index`. */
#define RLO_BLOCK_GUARD_LOAD(g)                                             \
  guards.at[g].v = guard##g##_base + rlo_dot(&index, guard##g##_grid_coef); \
  guards.at[g].limit = guard##g##_limit;                                    \
  guards.at[g].x = guard##g##_x;                                            \
  guards.at[g].coef = guard##g##_coef;
#define RLO_END_LOAD(e)                                                \
  guards.at[RLO_GUARDS + e].v =                                        \
      (long)rlo_index_of(&index, end##e##_axis) * (long)end##e##_step; \
  guards.at[RLO_GUARDS + e].limit = (long)end##e##_extent;             \
  guards.at[RLO_GUARDS + e].x = 0;                                     \
  guards.at[RLO_GUARDS + e].coef = rlo_one_axis(end##e##_read, end##e##_write);

/* The coefficients of an axis' own coordinate. Not by a comparison of vectors,
 * in which oclgrind 21.10 errs. */
static inline rlo_block rlo_one_axis(int read_lane, int write_lane) {
  rlo_block coef;
  __private rlo_index *c = (__private rlo_index *)&coef;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    c[RLO_READ_LANE + k] = k == read_lane ? 1 : 0;
    c[RLO_WRITE_LANE + k] = k == write_lane ? 1 : 0;
  }
  return coef;
}

/* Whether all guards from number `first` on hold at a point. */
static inline bool rlo_holds(__private const rlo_block_guards *guards,
                             const int first,
                             rlo_place place,
                             const int lane,
                             uint r) {
  bool holds = true;
  RLO_UNROLL
  for (int g = first; g < RLO_ALL_GUARDS; ++g) {
    const long form = guards->at[g].v + guards->at[g].x * (long)r +
                      rlo_form_at(place, guards->at[g].coef, lane);
    holds = holds && form >= 0 && form < guards->at[g].limit;
  }
  return holds;
}

/* Whether all guards hold in all of the copies: no tests inside. The extents
 * of read_axes give the size of a block. */
static inline bool rlo_block_is_inside(__private const rlo_block_guards *guards,
                                       int16 axes,
                                       uint copies) {
  __private const int *extent = (__private const int *)&axes;
  bool holds = true;
  RLO_UNROLL
  for (int g = 0; g < RLO_ALL_GUARDS; ++g) {
    const rlo_block coefs = guards->at[g].coef;
    __private const rlo_index *coef = (__private const rlo_index *)&coefs;
    const long along_r = guards->at[g].x * (long)(copies - 1);
    long low = guards->at[g].v + min(along_r, 0L);
    long high = guards->at[g].v + max(along_r, 0L);
    RLO_UNROLL
    for (int k = 0; k < RLO_READ_RANK; ++k) {
      const int units = k == 0 ? extent[k] * RLO_READ_UNITS : extent[k];
      const long along = (long)(units - 1) * (long)coef[k];
      low += min(along, 0L);
      high += max(along, 0L);
    }
    holds = holds && low >= 0 && high < guards->at[g].limit;
  }
  return holds;
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_GROUP_PARAMS,
    int read_pieces,
    int write_pieces,
    int16 read_axes,
    int16 write_axes,
    int16 local_strides,
    rlo_block strides,
    int repeat_axis,
    rlo_index repeat_extent,
    rlo_index repeat_src_stride,
    rlo_index repeat_dst_stride,
    int repeat_local RLO_BLOCK_GUARD_PARAMS RLO_END_PARAMS) {
  __local rlo_unit block[RLO_LOCAL_BYTES / RLO_UNIT_BYTES];
  const uint lane = (uint)get_local_id(0);
  rlo_index_list index;
  rlo_decode((uint)get_group_id(0), grid_extent, grid_magic, &index);
  const long r0 = (long)rlo_index_of(&index, repeat_axis) * RLO_REPEAT;
  const uint copies = (uint)min((long)repeat_extent - r0, (long)RLO_REPEAT);
  rlo_block_guards guards;
  RLO_EACH_GUARD(RLO_BLOCK_GUARD_LOAD)
  RLO_EACH_END(RLO_END_LOAD)
  const bool is_inside = rlo_block_is_inside(&guards, read_axes, copies);
  __global const rlo_unit *from =
      rlo_source_at(src, src_offset_bytes, rlo_offset(&index, grid_src_stride));
  __global rlo_unit *to =
      rlo_target_at(dst, dst_offset_bytes, rlo_offset(&index, grid_dst_stride));

  if (is_inside) {
    for (uint first = lane; first < (uint)read_pieces;
         first += RLO_LOCAL * RLO_PIECES) {
      /* All are read before the first of them is stored. */
      rlo_read piece[RLO_PIECES][RLO_REPEAT];
      int cell[RLO_PIECES];
      RLO_UNROLL
      for (uint n = 0; n < RLO_PIECES; ++n) {
        const uint p = first + n * RLO_LOCAL;
        if (p < (uint)read_pieces) {
          const rlo_place place =
              rlo_find(p, read_axes, RLO_READ_RANK, RLO_READ_UNITS);
          __global const rlo_unit *at =
              from + rlo_global_at(place, strides, RLO_READ_LANE);
          cell[n] = rlo_local_at(place, local_strides, RLO_READ_LANE);
          RLO_UNROLL
          for (uint r = 0; r < RLO_REPEAT; ++r) {
            if (r < copies) {
              piece[n][r] =
                  *(__global const rlo_read *)(at + (rlo_index)r *
                                                        repeat_src_stride);
            }
          }
        }
      }
      RLO_UNROLL
      for (uint n = 0; n < RLO_PIECES; ++n) {
        if (first + n * RLO_LOCAL < (uint)read_pieces) {
          RLO_UNROLL
          for (uint r = 0; r < RLO_REPEAT; ++r) {
            if (r < copies) {
              rlo_put_read(block + cell[n] + (int)r * repeat_local,
                           piece[n][r]);
            }
          }
        }
      }
    }
  } else {
    for (uint p = lane; p < (uint)read_pieces; p += RLO_LOCAL) {
      rlo_place place = rlo_find(p, read_axes, RLO_READ_RANK, RLO_READ_UNITS);
      for (int n = 0; n < RLO_READ_UNITS; ++n) {
        const rlo_index at = rlo_global_at(place, strides, RLO_READ_LANE);
        const int cell = rlo_local_at(place, local_strides, RLO_READ_LANE);
        for (uint r = 0; r < copies; ++r) {
          /* What is not written later may hold the fill too. */
          rlo_unit unit = rlo_fill_unit(fill_lo, fill_hi);
          if (rlo_holds(&guards, 0, place, RLO_READ_LANE, r)) {
            unit = from[at + (rlo_index)r * repeat_src_stride];
          }
          block[cell + (int)r * repeat_local] = unit;
        }
        place.at[0] += 1;
      }
    }
  }

  barrier(CLK_LOCAL_MEM_FENCE);

  const int step = local_strides.s8;
  if (is_inside) {
    for (uint p = lane; p < (uint)write_pieces; p += RLO_LOCAL) {
      const rlo_place place =
          rlo_find(p, write_axes, RLO_WRITE_RANK, RLO_WRITE_UNITS);
      __global rlo_unit *at =
          to + rlo_global_at(place, strides, RLO_WRITE_LANE);
      __local const rlo_unit *cell =
          block + rlo_local_at(place, local_strides, RLO_WRITE_LANE);
      RLO_UNROLL
      for (uint r = 0; r < RLO_REPEAT; ++r) {
        if (r < copies) {
          *(__global rlo_write *)(at + (rlo_index)r * repeat_dst_stride) =
              rlo_get_write(cell + (int)r * repeat_local, step);
        }
      }
    }
  } else {
    for (uint p = lane; p < (uint)write_pieces; p += RLO_LOCAL) {
      rlo_place place =
          rlo_find(p, write_axes, RLO_WRITE_RANK, RLO_WRITE_UNITS);
      for (int n = 0; n < RLO_WRITE_UNITS; ++n) {
        const rlo_index at = rlo_global_at(place, strides, RLO_WRITE_LANE);
        const int cell = rlo_local_at(place, local_strides, RLO_WRITE_LANE);
        for (uint r = 0; r < copies; ++r) {
          if (rlo_holds(&guards, RLO_PAD_GUARDS, place, RLO_WRITE_LANE, r)) {
            to[at + (rlo_index)r * repeat_dst_stride] =
                block[cell + (int)r * repeat_local];
          }
        }
        place.at[0] += 1;
      }
    }
  }
}
