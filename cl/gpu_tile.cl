/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, GPU class: the innermost axis moves.
 *
 *     for i < na, j < nb:
 *         dst[dst_offset + i * dst_ld + j] = src[src_offset + i + j * src_ld]
 *
 * for every other point of the grid. One group moves a tile of RLO_TILE_A by
 * RLO_TILE_B units through local memory: it is read along i and written along
 * j, both by neighbouring lanes. Arguments after the common eleven, as of
 * cl/cpu_tile.cl:
 *
 *   11  int a_axis          grid axis that counts tiles along i, -1: one tile
 *   12  int b_axis          the same along j
 *   13  rlo_index na        extents, >= 1; tiles at the end are cut
 *   14  rlo_index nb
 *   15  rlo_index src_ld    units
 *   16  rlo_index dst_ld
 *   17  the guards; x is the coefficient of i, y that of j
 *
 * For a_axis: extent ceil(na / RLO_TILE_A), source stride RLO_TILE_A,
 * destination stride RLO_TILE_A * dst_ld, guard coefficient RLO_TILE_A * x; for
 * b_axis the same with the sides exchanged.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=4 -DRLO_WRITE_UNITS=4
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=2 -DRLO_PAD_GUARDS=2
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_TILE_A=16 -DRLO_TILE_B=16 -DRLO_INDEX32=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=5
#ifndef RLO_GPU_COMMON_CL
#include "gpu_common.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_tile
#endif

/* Units of a tile along each side: powers of two. */
#ifndef RLO_TILE_A
#define RLO_TILE_A 32
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B 32
#endif

/* Units that a lane reads, and writes, at once: a power of two, at most four
 * bytes and a tile's side. More than one only if every row begins at a multiple
 * of their size, which the host proves. */
#ifndef RLO_READ_UNITS
#define RLO_READ_UNITS 1
#endif
#ifndef RLO_WRITE_UNITS
#define RLO_WRITE_UNITS 1
#endif

/* One unit more than a row has: so the lanes of a column, each of which takes
 * four bytes, meet different banks. */
#define RLO_TILE_LD (RLO_TILE_A + 1)

#define RLO_READ_LANES  (RLO_TILE_A / RLO_READ_UNITS)
#define RLO_WRITE_LANES (RLO_TILE_B / RLO_WRITE_UNITS)

/* Several units as one, the first in the low bits, or one. */
#if RLO_READ_UNITS * RLO_UNIT_BYTES == 4
typedef uint rlo_read;
#elif RLO_READ_UNITS * RLO_UNIT_BYTES == 2
typedef ushort rlo_read;
#else
typedef rlo_unit rlo_read;
#endif
#if RLO_WRITE_UNITS * RLO_UNIT_BYTES == 4
typedef uint rlo_write;
#elif RLO_WRITE_UNITS * RLO_UNIT_BYTES == 2
typedef ushort rlo_write;
#else
typedef rlo_unit rlo_write;
#endif

/* Read the tile, of which ta by tb units lie in the plane, and put the fill
 * where a PAD guard fails. What is not written later may stay undefined. */
static inline void rlo_read_tile(__global const rlo_unit *from,
                                 __local rlo_unit *tile,
                                 rlo_index src_ld,
                                 int ta,
                                 int tb,
                                 rlo_unit fill,
                                 bool is_inside,
                                 __private const rlo_guard_list *guards) {
  const uint lane = (uint)get_local_id(0);
  for (uint p = lane; p < RLO_READ_LANES * RLO_TILE_B; p += RLO_LOCAL) {
    const int i = (int)(p % RLO_READ_LANES) * RLO_READ_UNITS;
    const int j = (int)(p / RLO_READ_LANES);
    __global const rlo_unit *row = from + (long)j * (long)src_ld + i;
    __local rlo_unit *cell = tile + j * RLO_TILE_LD + i;
    if (j < tb && is_inside && i + RLO_READ_UNITS <= ta) {
#if RLO_READ_UNITS > 1
      const rlo_read units = *(__global const rlo_read *)row;
      for (int n = 0; n < RLO_READ_UNITS; ++n) {
        cell[n] = (rlo_unit)(units >> (8 * RLO_UNIT_BYTES * n));
      }
#else
      *cell = *row;
#endif
    } else if (j < tb) {
      for (int n = 0; n < RLO_READ_UNITS && i + n < ta; ++n) {
        rlo_unit unit = fill;
        if (is_inside || rlo_is_read(guards, i + n, j)) {
          unit = row[n];
        }
        cell[n] = unit;
      }
    }
  }
}

static inline void rlo_write_tile(__global rlo_unit *to,
                                  __local const rlo_unit *tile,
                                  rlo_index dst_ld,
                                  int ta,
                                  int tb,
                                  bool is_inside,
                                  __private const rlo_guard_list *guards) {
  const uint lane = (uint)get_local_id(0);
  for (uint p = lane; p < RLO_WRITE_LANES * RLO_TILE_A; p += RLO_LOCAL) {
    const int j = (int)(p % RLO_WRITE_LANES) * RLO_WRITE_UNITS;
    const int i = (int)(p / RLO_WRITE_LANES);
    __global rlo_unit *row = to + (long)i * (long)dst_ld + j;
    __local const rlo_unit *cell = tile + j * RLO_TILE_LD + i;
    if (i < ta && is_inside && j + RLO_WRITE_UNITS <= tb) {
#if RLO_WRITE_UNITS > 1
      rlo_write units = 0;
      for (int n = 0; n < RLO_WRITE_UNITS; ++n) {
        units |= (rlo_write)((rlo_write)cell[n * RLO_TILE_LD]
                             << (8 * RLO_UNIT_BYTES * n));
      }
      *(__global rlo_write *)row = units;
#else
      *row = *cell;
#endif
    } else if (i < ta) {
      for (int n = 0; n < RLO_WRITE_UNITS && j + n < tb; ++n) {
        if (is_inside || rlo_is_written(guards, i, j + n)) {
          row[n] = cell[n * RLO_TILE_LD];
        }
      }
    }
  }
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_GROUP_PARAMS,
    int a_axis,
    int b_axis,
    rlo_index na,
    rlo_index nb,
    rlo_index src_ld,
    rlo_index dst_ld RLO_GUARD_PARAMS) {
  __local rlo_unit tile[RLO_TILE_B * RLO_TILE_LD];
  rlo_index_list index;
  rlo_decode((uint)get_group_id(0), n_grid, grid_extent, grid_magic, &index);
  const long a0 = rlo_index_of(&index, a_axis) * RLO_TILE_A;
  const long b0 = rlo_index_of(&index, b_axis) * RLO_TILE_B;
  const int ta = (int)min((long)na - a0, (long)RLO_TILE_A);
  const int tb = (int)min((long)nb - b0, (long)RLO_TILE_B);
  rlo_guard_list guards;
  RLO_GUARDS_LOAD
  const bool is_inside = rlo_is_inside(&guards, 0, ta, tb);
  /* Sums of bytes first: the origin itself may lie outside the memory. */
  const long src_units = rlo_dot(&index, grid_src_stride);
  const long dst_units = rlo_dot(&index, grid_dst_stride);
  rlo_read_tile(
      (__global const rlo_unit *)(src + (src_offset_bytes +
                                         (ulong)src_units * RLO_UNIT_BYTES)),
      tile,
      src_ld,
      ta,
      tb,
      rlo_fill_unit(fill_lo, fill_hi),
      is_inside,
      &guards);
  barrier(CLK_LOCAL_MEM_FENCE);
  rlo_write_tile(
      (__global rlo_unit *)(dst + (dst_offset_bytes +
                                   (ulong)dst_units * RLO_UNIT_BYTES)),
      tile,
      dst_ld,
      ta,
      tb,
      is_inside,
      &guards);
}
