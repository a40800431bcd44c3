/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, GPU class: the innermost axis moves.
 *
 *     for i < na, j < nb:
 *         dst[dst_offset + i * dst_ld + j] = src[src_offset + i + j * src_ld]
 *
 * for every other point of the grid. One group moves a tile of RLO_TILE_A by
 * RLO_TILE_B units through local memory: it is read along i and written along
 * j, both by neighbouring lanes. With RLO_SQUARE > 1 a lane takes squares of
 * RLO_SQUARE by RLO_SQUARE units, which it transposes in registers, so that all
 * it reads and writes is RLO_SQUARE units wide; tiles at the ends, and where a
 * guard could fail, are moved unit by unit. Arguments after the common eleven:
 *
 *   11  rlo_index na        extents, >= 1; tiles at the end are cut
 *   12  rlo_index nb
 *   13  rlo_index src_ld    units
 *   14  rlo_index dst_ld
 *   15  rlo_index joined_ld    with RLO_JOINED_BITS: bytes from a joined row to
 *                           the next
 *   16  the guards; x is the coefficient of i, y that of j
 *
 * The last two grid axes count tiles along i and along j. The first of them has
 * the extent ceil(na / RLO_TILE_A), source stride RLO_TILE_A, destination
 * stride RLO_TILE_A * dst_ld, guard coefficient RLO_TILE_A * x; the other one
 * the same with the sides exchanged. With RLO_JOINED_BITS one more axis
 * follows, which counts the elements of a byte (cpu_join.cl).
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=4 -DRLO_WRITE_UNITS=4
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=2 -DRLO_PAD_GUARDS=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_SQUARE=4
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_SQUARE=4 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=4 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_SQUARE=4 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=8 -DRLO_TILE_A=64 -DRLO_TILE_B=32 -DRLO_SQUARE=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_SQUARE=4 -DRLO_JOINED_BITS=4 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=4 -DRLO_JOINED_BITS=1 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_TILE_A=16 -DRLO_TILE_B=16 -DRLO_INDEX32=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=5
#include "gpu_common.cl"

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

/* Units of a square's side: 1, or a number that is four to sixteen bytes. More
 * than one only if every row on both sides begins at a multiple of their size,
 * which the host proves. */
#ifndef RLO_SQUARE
#define RLO_SQUARE 1
#endif

/* Bits of a packed element: 1, 2 or 4, of which bytes are put together. 0:
 * bytes are read as they are. */
#ifndef RLO_JOINED_BITS
#define RLO_JOINED_BITS 0
#endif

/* Grid axis that counts tiles along j; the one before it counts them along i.
 */
#define RLO_B_AXIS (RLO_GRID_AXES - 1 - (RLO_JOINED_BITS > 0))

/* Pieces of a whole tile that a lane has in flight at a time. */
#define RLO_PIECES 4

/* One unit more than a row has: so the lanes of a column, each of which takes
 * four bytes, meet different banks. */
#define RLO_TILE_LD (RLO_TILE_A + 1)

#define RLO_READ_LANES  (RLO_TILE_A / RLO_READ_UNITS)
#define RLO_WRITE_LANES (RLO_TILE_B / RLO_WRITE_UNITS)

/* A side of a square, or one unit; local memory is made of them. */
#if RLO_SQUARE == 1
typedef rlo_unit rlo_side;
#elif RLO_UNIT_BYTES == 1
typedef uchar4 rlo_side;
#elif RLO_UNIT_BYTES == 2
typedef ushort4 rlo_side;
#elif RLO_UNIT_BYTES == 4
typedef uint4 rlo_side;
#else
typedef ulong2 rlo_side;
#endif

#define RLO_TILE_SIDES \
  ((RLO_TILE_B * RLO_TILE_LD + RLO_SQUARE - 1) / RLO_SQUARE)

/* Rows that are joined: the distance from one to the next, and the first bit of
 * the element that is read. */
typedef struct rlo_join {
  long step;
  uint bit;
} rlo_join;

#if RLO_JOINED_BITS > 0
/* In each byte of a word: the bits of element k. */
#define RLO_JOINED_MASK(k) \
  (((1U << RLO_JOINED_BITS) - 1U) * 0x01010101U << (k)*RLO_JOINED_BITS)

/* A row's part of joined bytes: turned by less than a byte, masked. */
static inline uint rlo_turn(uint row, int k, rlo_join join) {
  return rotate(row, (uint)(k * RLO_JOINED_BITS - (int)join.bit) & 31U) &
         RLO_JOINED_MASK(k);
}

/* Reads a type of one, two or four bytes, at a multiple of its size. */
#define RLO_DEFINE_READ(name, type)                                   \
  static inline type name(__global const type *from, rlo_join join) { \
    uint sum = 0;                                                     \
    RLO_UNROLL                                                        \
    for (int k = 0; k < 8 / RLO_JOINED_BITS; ++k) {                   \
      __global const uchar *row = (__global const uchar *)from;       \
      row += k * join.step;                                           \
      sum |= rlo_turn((uint) * (__global const type *)row, k, join);  \
    }                                                                 \
    return (type)sum;                                                 \
  }
#else
#define RLO_DEFINE_READ(name, type)                                   \
  static inline type name(__global const type *from, rlo_join join) { \
    (void)join;                                                       \
    return *from;                                                     \
  }
#endif

RLO_DEFINE_READ(rlo_read_unit, rlo_unit)
RLO_DEFINE_READ(rlo_read_piece, rlo_read)

#if RLO_SQUARE > 1
static inline rlo_side rlo_read_side(__global const rlo_side *from,
                                     rlo_join join) {
#if RLO_JOINED_BITS > 0
  uint sum = 0;
  RLO_UNROLL
  for (int k = 0; k < 8 / RLO_JOINED_BITS; ++k) {
    __global const uchar *row = (__global const uchar *)from + k * join.step;
    sum |= rlo_turn(*(__global const uint *)row, k, join);
  }
  return as_uchar4(sum);
#else
  (void)join;
  return *from;
#endif
}

/* Squares of a tile along each side. */
#define RLO_SQUARES_A (RLO_TILE_A / RLO_SQUARE)
#define RLO_SQUARES_B (RLO_TILE_B / RLO_SQUARE)

/* Where local memory has side y of row i of the transposed tile. Lanes that
 * store squares have neighbouring x = i / RLO_SQUARE, those that load sides
 * neighbouring y; exclusive or spreads both over the banks. */
static inline uint rlo_side_at(uint i, uint y) {
  return i * RLO_SQUARES_B + (y ^ (i / RLO_SQUARE & (RLO_SQUARES_B - 1)));
}

/* Reads a whole tile that no guard touches. */
static inline void rlo_read_squares(__global const rlo_unit *from,
                                    __local rlo_side *tile,
                                    rlo_index src_ld,
                                    rlo_join join) {
  for (uint p = (uint)get_local_id(0); p < RLO_SQUARES_A * RLO_SQUARES_B;
       p += RLO_LOCAL) {
    const uint x = p % RLO_SQUARES_A;
    const uint y = p / RLO_SQUARES_A;
    rlo_side row[RLO_SQUARE];
    RLO_UNROLL
    for (uint m = 0; m < RLO_SQUARE; ++m) {
      const rlo_index at = (rlo_index)(y * RLO_SQUARE + m) * src_ld +
                           (rlo_index)(x * RLO_SQUARE);
      row[m] = rlo_read_side((__global const rlo_side *)(from + at), join);
    }
    const uint i = x * RLO_SQUARE;
#if RLO_SQUARE == 4
    tile[rlo_side_at(i, y)] =
        (rlo_side)(row[0].s0, row[1].s0, row[2].s0, row[3].s0);
    tile[rlo_side_at(i + 1, y)] =
        (rlo_side)(row[0].s1, row[1].s1, row[2].s1, row[3].s1);
    tile[rlo_side_at(i + 2, y)] =
        (rlo_side)(row[0].s2, row[1].s2, row[2].s2, row[3].s2);
    tile[rlo_side_at(i + 3, y)] =
        (rlo_side)(row[0].s3, row[1].s3, row[2].s3, row[3].s3);
#else
    tile[rlo_side_at(i, y)] = (rlo_side)(row[0].s0, row[1].s0);
    tile[rlo_side_at(i + 1, y)] = (rlo_side)(row[0].s1, row[1].s1);
#endif
  }
}

static inline void rlo_write_squares(__global rlo_unit *to,
                                     __local const rlo_side *tile,
                                     rlo_index dst_ld) {
  for (uint p = (uint)get_local_id(0); p < RLO_TILE_A * RLO_SQUARES_B;
       p += RLO_LOCAL) {
    const uint y = p % RLO_SQUARES_B;
    const uint i = p / RLO_SQUARES_B;
    const rlo_index at = (rlo_index)i * dst_ld + (rlo_index)(y * RLO_SQUARE);
    *(__global rlo_side *)(to + at) = tile[rlo_side_at(i, y)];
  }
}
#endif

/* Reads a whole tile that no guard touches. */
static inline void rlo_read_whole(__global const rlo_unit *from,
                                  __local rlo_unit *tile,
                                  rlo_index src_ld,
                                  rlo_join join) {
  for (uint first = (uint)get_local_id(0); first < RLO_READ_LANES * RLO_TILE_B;
       first += RLO_LOCAL * RLO_PIECES) {
    /* All are read before the first of them is stored. */
    rlo_read piece[RLO_PIECES];
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL;
      const uint i = p % RLO_READ_LANES * RLO_READ_UNITS;
      const uint j = p / RLO_READ_LANES;
      if (j < RLO_TILE_B) {
        const rlo_index at = (rlo_index)j * src_ld + (rlo_index)i;
        piece[n] = rlo_read_piece((__global const rlo_read *)(from + at), join);
      }
    }
    RLO_UNROLL
    for (uint n = 0; n < RLO_PIECES; ++n) {
      const uint p = first + n * RLO_LOCAL;
      const uint i = p % RLO_READ_LANES * RLO_READ_UNITS;
      const uint j = p / RLO_READ_LANES;
      if (j < RLO_TILE_B) {
        rlo_put_read(tile + j * RLO_TILE_LD + i, piece[n]);
      }
    }
  }
}

/* Reads the tile, of which ta by tb units lie in the plane, and puts the fill
 * where a PAD guard fails. What is not written later may stay undefined. */
static inline void rlo_read_tile(__global const rlo_unit *from,
                                 __local rlo_unit *tile,
                                 rlo_index src_ld,
                                 rlo_join join,
                                 int ta,
                                 int tb,
                                 rlo_unit fill,
                                 bool is_inside,
                                 __private const rlo_guard_list *guards) {
  const uint lane = (uint)get_local_id(0);
  for (uint p = lane; p < RLO_READ_LANES * RLO_TILE_B; p += RLO_LOCAL) {
    const int i = (int)(p % RLO_READ_LANES) * RLO_READ_UNITS;
    const int j = (int)(p / RLO_READ_LANES);
    if (j >= tb) {
      break;
    }
    __global const rlo_unit *row = from + ((rlo_index)j * src_ld + i);
    __local rlo_unit *cell = tile + j * RLO_TILE_LD + i;
    if (is_inside && i + RLO_READ_UNITS <= ta) {
      rlo_put_read(cell, rlo_read_piece((__global const rlo_read *)row, join));
    } else {
      for (int n = 0; n < RLO_READ_UNITS && i + n < ta; ++n) {
        rlo_unit unit = fill;
        if (is_inside || rlo_is_read(guards, i + n, j)) {
          unit = rlo_read_unit(row + n, join);
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
    if (i >= ta) {
      break;
    }
    __global rlo_unit *row = to + ((rlo_index)i * dst_ld + j);
    __local const rlo_unit *cell = tile + j * RLO_TILE_LD + i;
    if (is_inside && j + RLO_WRITE_UNITS <= tb) {
      *(__global rlo_write *)row = rlo_get_write(cell, RLO_TILE_LD);
    } else {
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
    rlo_index na,
    rlo_index nb,
    rlo_index src_ld,
    rlo_index dst_ld
#if RLO_JOINED_BITS > 0
    ,
    rlo_index joined_ld
#endif
        RLO_GUARD_PARAMS) {
  __local rlo_side sides[RLO_TILE_SIDES];
  __local rlo_unit *tile = (__local rlo_unit *)sides;
  rlo_index_list index;
  rlo_decode((uint)get_group_id(0), grid_extent, grid_magic, &index);
  const rlo_index a0 = (rlo_index)index.at[RLO_B_AXIS - 1] * RLO_TILE_A;
  const rlo_index b0 = (rlo_index)index.at[RLO_B_AXIS] * RLO_TILE_B;
  const int ta = (int)min(na - a0, (rlo_index)RLO_TILE_A);
  const int tb = (int)min(nb - b0, (rlo_index)RLO_TILE_B);
  rlo_guard_list guards;
  RLO_GUARDS_LOAD
  const bool is_inside = rlo_is_inside(&guards, 0, ta, tb);
  const bool is_whole = is_inside && ta == RLO_TILE_A && tb == RLO_TILE_B;
  __global const rlo_unit *from =
      rlo_source_at(src, src_offset_bytes, rlo_offset(&index, grid_src_stride));
  __global rlo_unit *to =
      rlo_target_at(dst, dst_offset_bytes, rlo_offset(&index, grid_dst_stride));

  rlo_join join = {0, 0};
#if RLO_JOINED_BITS > 0
  join.step = joined_ld;
  join.bit = (uint)index.at[RLO_GRID_AXES - 1] * RLO_JOINED_BITS;
#endif
  if (is_whole) {
#if RLO_SQUARE > 1
    rlo_read_squares(from, sides, src_ld, join);
#else
    rlo_read_whole(from, tile, src_ld, join);
#endif
  } else {
    rlo_read_tile(from,
                  tile,
                  src_ld,
                  join,
                  ta,
                  tb,
                  rlo_fill_unit(fill_lo, fill_hi),
                  is_inside,
                  &guards);
  }

  barrier(CLK_LOCAL_MEM_FENCE);

#if RLO_SQUARE > 1
  if (is_whole) {
    rlo_write_squares(to, sides, dst_ld);
  } else
#endif
  {
    rlo_write_tile(to, tile, dst_ld, ta, tb, is_inside, &guards);
  }
}
