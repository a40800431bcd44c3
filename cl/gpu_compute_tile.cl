/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family compute_tile, GPU class: computes where one axis is contiguous in the
 * source, and the same or another one in the destination; types by arith.cl.
 *
 *     for i < na, j < nb:
 *         x = src[src_offset + i + j * src_ld]
 *         y = &dst[dst_offset + i * dst_ld + j]     RLO_TURNS
 *         y = &dst[dst_offset + i + j * dst_ld]     else
 *         *y = to_dst(steps(x, *y))
 *
 * for every other point of the grid. A group computes a tile of RLO_TILE_A by
 * RLO_TILE_B cells; a lane reads and writes RLO_WIDE units at once. With
 * RLO_TURNS the tile goes through local memory, as it is read, in squares of
 * RLO_WIDE by RLO_WIDE that lanes transpose in registers, and is computed when
 * it is written. Tiles at the ends, and where a guard could fail, are computed
 * unit by unit. Arguments after the common eleven:
 *
 *   11  rlo_index na        extents, >= 1; tiles at the end are cut
 *   12  rlo_index nb
 *   13  rlo_index src_ld    source units
 *   14  rlo_index dst_ld    destination units
 *   15  rlo_numbers numbers
 *   16  the guards; x is the coefficient of i, y that of j
 *
 * The last two grid axes count tiles along i and along j, as in gpu_tile.cl.
 */
// define-matrix: -DRLO_TURNS=1 -DRLO_WIDE=4 -DRLO_CONVERT=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_TURNS=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=1
// define-matrix: -DRLO_WIDE=4 -DRLO_TILE_A=4096 -DRLO_TILE_B=1 -DRLO_CONVERT=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_WIDE=4 -DRLO_TILE_A=256 -DRLO_TILE_B=16 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_TURNS=1 -DRLO_WIDE=2 -DRLO_TILE_A=64 -DRLO_TILE_B=32 -DRLO_COMPUTE=2 -DRLO_SRC_CLASS=4 -DRLO_SRC_BYTES=8 -DRLO_SRC_BITS=64 -DRLO_SRC_EXPONENT=11 -DRLO_SRC_MANTISSA=52 -DRLO_SRC_BIAS=1023 -DRLO_SRC_SPECIALS=1 -DRLO_SRC_BARE=0 -DRLO_INDEX32=1
// define-matrix: -DRLO_TURNS=1 -DRLO_WIDE=4 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_COMPUTE=0 -DRLO_SRC_CLASS=2 -DRLO_SRC_BYTES=1 -DRLO_SRC_BITS=8 -DRLO_DST_CLASS=3 -DRLO_DST_BYTES=1 -DRLO_DST_BITS=8 -DRLO_INDEX32=1
// define-matrix: -DRLO_WIDE=4 -DRLO_TILE_A=4096 -DRLO_TILE_B=1 -DRLO_COMPUTE=0 -DRLO_SRC_CLASS=2 -DRLO_SRC_BYTES=1 -DRLO_SRC_BITS=8 -DRLO_DST_CLASS=3 -DRLO_DST_BYTES=1 -DRLO_DST_BITS=8
#include "arith.cl"
#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_compute_tile
#endif

/* 1: another axis is contiguous in the destination than in the source. */
#ifndef RLO_TURNS
#define RLO_TURNS 0
#endif

/* Units that a lane moves at once: 1, or 2 or 4 if that is at most 16 bytes on
 * either side, and every row begins at a multiple of it, as the host proves. */
#ifndef RLO_WIDE
#define RLO_WIDE 1
#endif

/* Units of a tile along each side: powers of two. */
#ifndef RLO_TILE_A
#define RLO_TILE_A 64
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B 64
#endif

/* Grid axis that counts tiles along j; the one before it counts them along i.
 */
#define RLO_B_AXIS (RLO_GRID_AXES - 1)

/* The loads of a lane in flight at a time: squares, of 64 bytes together, or
 * pieces of RLO_WIDE units. */
#if RLO_WIDE * RLO_WIDE * RLO_SRC_BYTES > 4
#define RLO_SQUARES (64 / (RLO_WIDE * RLO_WIDE * RLO_SRC_BYTES))
#else
#define RLO_SQUARES 16
#endif
#define RLO_PIECES (16 / RLO_WIDE)

/* Tells if number p is one of `total`, which lanes take in steps of `step`; a
 * constant where the last step is a whole one. */
#define RLO_IS_ONE_OF(p, total, step) ((total) % (step) == 0 || (p) < (total))

/* A unit of each side, and RLO_WIDE of them. */
#define RLO_UNIT_OF_1 uchar
#define RLO_UNIT_OF_2 ushort
#define RLO_UNIT_OF_4 uint
#define RLO_UNIT_OF_8 ulong
#if RLO_WIDE == 1
#define RLO_WIDE_OF(type) type
#else
#define RLO_WIDE_OF(type) RLO_JOIN(type, RLO_WIDE)
#endif
typedef RLO_JOIN(RLO_UNIT_OF_, RLO_SRC_BYTES) rlo_src_unit;
typedef RLO_JOIN(RLO_UNIT_OF_, RLO_DST_BYTES) rlo_dst_unit;
typedef RLO_WIDE_OF(RLO_JOIN(RLO_UNIT_OF_, RLO_SRC_BYTES)) rlo_src_wide;
typedef RLO_WIDE_OF(RLO_JOIN(RLO_UNIT_OF_, RLO_DST_BYTES)) rlo_dst_wide;

/* The work of a group: ta by tb cells from the corners on. */
typedef struct rlo_tile {
  __global const uchar *from;
  __global uchar *to;
  /* Bytes from row to row. */
  rlo_index src_ld, dst_ld;
  uint ta, tb;
  /* All guards hold. */
  bool is_inside;
  ulong fill;
  rlo_numbers numbers;
} rlo_tile;

static inline __global const uchar *rlo_from(__private const rlo_tile *tile,
                                             uint i,
                                             uint j) {
  return tile->from +
         ((rlo_index)j * tile->src_ld + (rlo_index)(i * RLO_SRC_BYTES));
}

static inline __global uchar *rlo_to(__private const rlo_tile *tile,
                                     uint i,
                                     uint j) {
#if RLO_TURNS
  return tile->to +
         ((rlo_index)i * tile->dst_ld + (rlo_index)(j * RLO_DST_BYTES));
#else
  return tile->to +
         ((rlo_index)j * tile->dst_ld + (rlo_index)(i * RLO_DST_BYTES));
#endif
}

/* RLO_WIDE cells; `old` is what they hold. */
static inline rlo_dst_wide rlo_compute_wide(__private const rlo_tile *tile,
                                            rlo_src_wide units,
                                            rlo_dst_wide old) {
  __private const rlo_src_unit *x = (__private const rlo_src_unit *)&units;
  __private const rlo_dst_unit *y = (__private const rlo_dst_unit *)&old;
  rlo_dst_wide cells;
  __private rlo_dst_unit *cell = (__private rlo_dst_unit *)&cells;
  RLO_UNROLL
  for (int n = 0; n < RLO_WIDE; ++n) {
    cell[n] = (rlo_dst_unit)rlo_compute(x[n], y[n], tile->numbers);
  }
  return cells;
}

/* The cell of a point at which the source has `unit`, if it is read. */
static inline void rlo_put_cell(__private const rlo_tile *tile,
                                rlo_src_unit unit,
                                uint i,
                                uint j,
                                __private const rlo_guard_list *guards) {
  __global rlo_dst_unit *to = (__global rlo_dst_unit *)rlo_to(tile, i, j);
  if (tile->is_inside || rlo_is_read(guards, i, j)) {
    rlo_dst_raw old = 0;
#if RLO_BETA && !RLO_CONVERT
    old = *to;
#endif
    *to = (rlo_dst_unit)rlo_compute(unit, old, tile->numbers);
  } else if (rlo_is_written(guards, i, j)) {
    *to = (rlo_dst_unit)tile->fill;
  }
}

static inline rlo_src_unit rlo_get_unit(
    __private const rlo_tile *tile,
    uint i,
    uint j,
    __private const rlo_guard_list *guards) {
  rlo_src_unit unit = 0;
  if (tile->is_inside || rlo_is_read(guards, i, j)) {
    unit = *(__global const rlo_src_unit *)rlo_from(tile, i, j);
  }
  return unit;
}

/* The old values of RLO_WIDE cells, where they are needed. */
static inline rlo_dst_wide rlo_get_old(__private const rlo_tile *tile,
                                       uint i,
                                       uint j) {
#if RLO_BETA && !RLO_CONVERT
  return *(__global const rlo_dst_wide *)rlo_to(tile, i, j);
#else
  return (rlo_dst_wide)0;
#endif
}

#if RLO_TURNS

/* Sides of squares in a tile, along i and along j. */
#define RLO_SIDES_A (RLO_TILE_A / RLO_WIDE)
#define RLO_SIDES_B (RLO_TILE_B / RLO_WIDE)

/* Where local memory has units y * RLO_WIDE .. of row i of the turned tile: as
 * in gpu_tile.cl. */
static inline uint rlo_side_at(uint i, uint y) {
  return i * RLO_SIDES_B + (y ^ (i / RLO_WIDE & (RLO_SIDES_B - 1)));
}

/* Unit n of each row of a square. */
static inline rlo_src_wide rlo_column(__private const rlo_src_wide *row,
                                      uint n) {
  __private const rlo_src_unit *unit = (__private const rlo_src_unit *)row + n;
#if RLO_WIDE == 4
  return (rlo_src_wide)(unit[0], unit[4], unit[8], unit[12]);
#elif RLO_WIDE == 2
  return (rlo_src_wide)(unit[0], unit[2]);
#else
  return *unit;
#endif
}

/* Reads a whole tile that no guard touches. */
static inline void rlo_read_whole(__private const rlo_tile *tile,
                                  __local rlo_src_wide *sides) {
  for (uint first = (uint)get_local_id(0); first < RLO_SIDES_A * RLO_SIDES_B;
       first += RLO_LOCAL * RLO_SQUARES) {
    /* All are read before the first of them is stored. */
    rlo_src_wide row[RLO_SQUARES * RLO_WIDE];
    RLO_UNROLL
    for (uint n = 0; n < RLO_SQUARES * RLO_WIDE; ++n) {
      const uint p = first + n / RLO_WIDE * RLO_LOCAL;
      const uint i = p % RLO_SIDES_A * RLO_WIDE;
      const uint j = p / RLO_SIDES_A * RLO_WIDE + n % RLO_WIDE;
      if (RLO_IS_ONE_OF(
              p, RLO_SIDES_A * RLO_SIDES_B, RLO_LOCAL * RLO_SQUARES)) {
        row[n] = *(__global const rlo_src_wide *)rlo_from(tile, i, j);
      }
    }
    RLO_UNROLL
    for (uint n = 0; n < RLO_SQUARES * RLO_WIDE; ++n) {
      const uint p = first + n / RLO_WIDE * RLO_LOCAL;
      const uint i = p % RLO_SIDES_A * RLO_WIDE + n % RLO_WIDE;
      const uint y = p / RLO_SIDES_A;
      if (RLO_IS_ONE_OF(
              p, RLO_SIDES_A * RLO_SIDES_B, RLO_LOCAL * RLO_SQUARES)) {
        sides[rlo_side_at(i, y)] =
            rlo_column(row + n / RLO_WIDE * RLO_WIDE, n % RLO_WIDE);
      }
    }
  }
}

static inline void rlo_write_whole(__private const rlo_tile *tile,
                                   __local const rlo_src_wide *sides) {
  for (uint first = (uint)get_local_id(0); first < RLO_TILE_A * RLO_SIDES_B;
       first += RLO_LOCAL * RLO_PIECES) {
    rlo_dst_wide old[RLO_PIECES];
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL;
      if (RLO_IS_ONE_OF(
              p, RLO_TILE_A * RLO_SIDES_B, RLO_LOCAL * RLO_PIECES)) {
        old[n] = rlo_get_old(tile, p / RLO_SIDES_B, p % RLO_SIDES_B * RLO_WIDE);
      }
    }
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL;
      const uint i = p / RLO_SIDES_B;
      const uint y = p % RLO_SIDES_B;
      if (RLO_IS_ONE_OF(
              p, RLO_TILE_A * RLO_SIDES_B, RLO_LOCAL * RLO_PIECES)) {
        *(__global rlo_dst_wide *)rlo_to(tile, i, y * RLO_WIDE) =
            rlo_compute_wide(tile, sides[rlo_side_at(i, y)], old[n]);
      }
    }
  }
}

/* The place of a unit of the turned tile. */
static inline __local rlo_src_unit *rlo_unit_at(__local rlo_src_wide *sides,
                                                uint i,
                                                uint j) {
  return (__local rlo_src_unit *)&sides[rlo_side_at(i, j / RLO_WIDE)] +
         j % RLO_WIDE;
}

/* Neighbouring lanes have neighbouring units of the source, then of the
 * destination. */
static inline void rlo_read_part(__private const rlo_tile *tile,
                                 __local rlo_src_wide *sides,
                                 __private const rlo_guard_list *guards) {
  for (uint p = (uint)get_local_id(0); p < RLO_TILE_A * RLO_TILE_B;
       p += RLO_LOCAL) {
    const uint i = p % RLO_TILE_A;
    const uint j = p / RLO_TILE_A;
    if (i < tile->ta && j < tile->tb) {
      *rlo_unit_at(sides, i, j) = rlo_get_unit(tile, i, j, guards);
    }
  }
}

static inline void rlo_write_part(__private const rlo_tile *tile,
                                  __local rlo_src_wide *sides,
                                  __private const rlo_guard_list *guards) {
  for (uint p = (uint)get_local_id(0); p < RLO_TILE_A * RLO_TILE_B;
       p += RLO_LOCAL) {
    const uint i = p / RLO_TILE_B;
    const uint j = p % RLO_TILE_B;
    if (i < tile->ta && j < tile->tb) {
      rlo_put_cell(tile, *rlo_unit_at(sides, i, j), i, j, guards);
    }
  }
}

#else

/* Tells if the RLO_WIDE cells from (i, j) on are computed at once. */
static inline bool rlo_is_wide(__private const rlo_tile *tile, uint i, uint j) {
  return tile->is_inside && i + RLO_WIDE <= tile->ta && j < tile->tb;
}

static inline void rlo_compute_rows(__private const rlo_tile *tile,
                                    __private const rlo_guard_list *guards) {
  for (uint first = (uint)get_local_id(0) * RLO_WIDE;
       first < RLO_TILE_A * RLO_TILE_B;
       first += RLO_LOCAL * RLO_PIECES * RLO_WIDE) {
    /* All are read before the first of them is stored. */
    rlo_src_wide units[RLO_PIECES];
    rlo_dst_wide old[RLO_PIECES];
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL * RLO_WIDE;
      const uint i = p % RLO_TILE_A;
      const uint j = p / RLO_TILE_A;
      if (rlo_is_wide(tile, i, j)) {
        units[n] = *(__global const rlo_src_wide *)rlo_from(tile, i, j);
        old[n] = rlo_get_old(tile, i, j);
      }
    }
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL * RLO_WIDE;
      const uint i = p % RLO_TILE_A;
      const uint j = p / RLO_TILE_A;
      if (rlo_is_wide(tile, i, j)) {
        *(__global rlo_dst_wide *)rlo_to(tile, i, j) =
            rlo_compute_wide(tile, units[n], old[n]);
      }
    }
  }
  /* Neighbouring lanes take the rest. */
  if (tile->is_inside && tile->ta % RLO_WIDE == 0) {
    return;
  }
  for (uint p = (uint)get_local_id(0); p < RLO_TILE_A * RLO_TILE_B;
       p += RLO_LOCAL) {
    const uint i = p % RLO_TILE_A;
    const uint j = p / RLO_TILE_A;
    if (i < tile->ta && j < tile->tb &&
        !rlo_is_wide(tile, i - i % RLO_WIDE, j)) {
      rlo_put_cell(tile, rlo_get_unit(tile, i, j, guards), i, j, guards);
    }
  }
}

#endif

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#if RLO_TURNS
    __local rlo_src_wide *sides,
#endif
#else
__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
#endif
    RLO_GROUP_PARAMS,
    rlo_index na,
    rlo_index nb,
    rlo_index src_ld,
    rlo_index dst_ld,
    rlo_numbers numbers RLO_GUARD_PARAMS) {
  rlo_index_list index;
  rlo_decode((uint)RLO_GROUP, grid_extent, grid_magic, &index);
  rlo_guard_list guards;
  RLO_GUARDS_LOAD
  const rlo_index a0 = (rlo_index)index.at[RLO_B_AXIS - 1] * RLO_TILE_A;
  const rlo_index b0 = (rlo_index)index.at[RLO_B_AXIS] * RLO_TILE_B;
  const ulong src_units = (ulong)(long)rlo_offset(&index, grid_src_stride);
  const ulong dst_units = (ulong)(long)rlo_offset(&index, grid_dst_stride);
  rlo_tile tile;
  tile.from = src + (src_offset_bytes + src_units * RLO_SRC_BYTES);
  tile.to = dst + (dst_offset_bytes + dst_units * RLO_DST_BYTES);
  tile.src_ld = src_ld * RLO_SRC_BYTES;
  tile.dst_ld = dst_ld * RLO_DST_BYTES;
  tile.ta = (uint)min(na - a0, (rlo_index)RLO_TILE_A);
  tile.tb = (uint)min(nb - b0, (rlo_index)RLO_TILE_B);
  tile.is_inside = rlo_is_inside(&guards, 0, tile.ta, tile.tb);
  tile.fill = fill_lo;
  tile.numbers = numbers;
#if RLO_TURNS
#if !RLO_BATCH
  __local rlo_src_wide sides[RLO_TILE_A * RLO_SIDES_B];
#endif
  const bool is_whole =
      tile.is_inside && tile.ta == RLO_TILE_A && tile.tb == RLO_TILE_B;
  if (is_whole) {
    rlo_read_whole(&tile, sides);
  } else {
    rlo_read_part(&tile, sides, &guards);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (is_whole) {
    rlo_write_whole(&tile, sides);
  } else {
    rlo_write_part(&tile, sides, &guards);
  }
#else
  rlo_compute_rows(&tile, &guards);
#endif
  (void)fill_hi;
}

#if RLO_TURNS
#define RLO_SHARED_TYPE  rlo_src_wide
#define RLO_SHARED_COUNT (RLO_TILE_A * RLO_SIDES_B)
#endif
#include "batch.cl"
