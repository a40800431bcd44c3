/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, GPU class: the innermost axis moves.
 *
 *     for i < na, j < nb:
 *         dst[dst_offset + i * dst_ld + j] = src[src_offset + i + j * src_ld]
 *
 * for every other point of the grid. One group moves a tile of RLO_TILE_A by
 * RLO_TILE_B units through local memory: it is read along i and written along
 * j, both by neighbouring lanes. There are three ways to do it:
 *
 *   squares  With RLO_SQUARE > 1, for whole tiles: a lane transposes squares of
 *            RLO_SQUARE by RLO_SQUARE units in registers, so that all it reads
 *            and writes is RLO_SQUARE units wide.
 *   words    With RLO_WORDS, for units of one and two bytes whose rows begin
 *            anywhere, where no guard fails: the words of four bytes that hold
 *            a row are copied to local memory as they are, and the words of the
 *            destination are put together from there. What is left of rows at
 *            their ends is written unit by unit.
 *   units    Everything else: a lane moves a unit at a time, or, with
 *            RLO_READ_UNITS and RLO_WRITE_UNITS, four bytes.
 *
 * Arguments after the common eleven:
 *
 *   11  rlo_index na           extents, >= 1; tiles at the end are cut
 *   12  rlo_index nb
 *   13  rlo_index src_ld       units
 *   14  rlo_index dst_ld
 *
 * then with RLO_JOINED_BITS
 *
 *   15  rlo_index joined_ld    bytes from a joined row to the next
 *
 * or with RLO_WORDS
 *
 *   15  long src_begin         where the memory of the source begins and ends,
 *   16  long src_end           in bytes from src_offset_bytes
 *
 * then the guards; x is the coefficient of i, y that of j.
 *
 * Grid axes RLO_A_AXIS and RLO_B_AXIS, the last two unless the host says
 * otherwise, count tiles along i and along j. The first of them has the extent
 * ceil(na / RLO_TILE_A), source stride RLO_TILE_A, destination stride
 * RLO_TILE_A * dst_ld, guard coefficient RLO_TILE_A * x; the other one the same
 * with the sides exchanged. With RLO_JOINED_BITS one more axis follows, which
 * counts the elements of a byte (cpu_join.cl).
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=4 -DRLO_WRITE_UNITS=4
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=16 -DRLO_TILE_B=256 -DRLO_READ_UNITS=2 -DRLO_PAD_GUARDS=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_SQUARE=4 -DRLO_WORDS=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=128 -DRLO_TILE_B=64 -DRLO_SQUARE=4 -DRLO_WORDS=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_WORDS=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_TILE_A=64 -DRLO_TILE_B=32 -DRLO_WORDS=1 -DRLO_SKIP_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=4 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_SQUARE=4 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=8 -DRLO_TILE_A=64 -DRLO_TILE_B=32 -DRLO_SQUARE=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=128 -DRLO_TILE_B=128 -DRLO_SQUARE=4 -DRLO_JOINED_BITS=4 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_READ_UNITS=4 -DRLO_JOINED_BITS=1 -DRLO_PAD_GUARDS=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_TILE_A=32 -DRLO_TILE_B=32 -DRLO_INDEX32=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=5
#include "gpu_words.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_tile
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

/* Grid axes that count tiles along i and along j. */
#ifndef RLO_A_AXIS
#define RLO_A_AXIS (RLO_GRID_AXES - 2 - (RLO_JOINED_BITS > 0))
#endif
#ifndef RLO_B_AXIS
#define RLO_B_AXIS (RLO_A_AXIS + 1)
#endif

/* 1: groups that follow each other take tiles along a diagonal of the plane. */
#ifndef RLO_DIAGONAL
#define RLO_DIAGONAL 0
#endif

/* Units that local memory serves at a time, one to a lane. */
#define RLO_BANKS (RLO_UNIT_BYTES < 4 ? 32 : 128 / RLO_UNIT_BYTES)

/* Where local memory has unit 0 of row j of a tile that moves unit by unit:
 * lanes that read along i and those that write along j meet different banks. */
#if RLO_UNIT_BYTES < 4
#define RLO_TILE_LD \
  (RLO_TILE_A + (RLO_WRITE_UNITS == 1 ? 4 / RLO_UNIT_BYTES : 1))
#define RLO_UNITS_AT(j) ((j)*RLO_TILE_LD)
#elif RLO_TILE_A < 128 / RLO_UNIT_BYTES && RLO_LOCAL >= 128 / RLO_UNIT_BYTES
#define RLO_UNITS_AT(j) ((j)*RLO_TILE_A + (j) / (RLO_BANKS / RLO_TILE_A))
#elif RLO_TILE_B < 128 / RLO_UNIT_BYTES && RLO_LOCAL >= 128 / RLO_UNIT_BYTES
#define RLO_UNITS_AT(j) ((j) * (RLO_TILE_A + RLO_BANKS / RLO_TILE_B))
#else
#define RLO_UNITS_AT(j) ((j) * (RLO_TILE_A + 1))
#endif

/* Lanes along a row that is read, or written, and rows that a group takes at a
 * time. */
#define RLO_LANES_OF(pieces) (RLO_LOCAL < (pieces) ? RLO_LOCAL : (pieces))
#define RLO_READ_LANES       RLO_LANES_OF(RLO_TILE_A / RLO_READ_UNITS)
#define RLO_READ_ROWS        (RLO_LOCAL / RLO_READ_LANES)
#define RLO_WRITE_LANES      RLO_LANES_OF(RLO_TILE_B / RLO_WRITE_UNITS)
#define RLO_WRITE_ROWS       (RLO_LOCAL / RLO_WRITE_LANES)

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

#if RLO_WORDS
#define RLO_TILE_BYTES RLO_WORDS_BYTES
#else
#define RLO_TILE_BYTES (RLO_UNITS_AT(RLO_TILE_B) * RLO_UNIT_BYTES)
#endif

#define RLO_SIDE_BYTES (RLO_SQUARE * RLO_UNIT_BYTES)
#define RLO_TILE_SIDES ((RLO_TILE_BYTES + RLO_SIDE_BYTES - 1) / RLO_SIDE_BYTES)

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

/* Reads the tile, of which ta by tb units lie in the plane, and puts the fill
 * where a PAD guard fails. What is not written later may stay undefined. */
static inline void rlo_read_units(__global const rlo_unit *from,
                                  __local rlo_unit *tile,
                                  rlo_index src_ld,
                                  rlo_join join,
                                  int ta,
                                  int tb,
                                  rlo_unit fill,
                                  bool is_inside,
                                  __private const rlo_guard_list *guards) {
  const uint lane = (uint)get_local_id(0);
  const int rows = RLO_LOCAL / RLO_LANES_OF(RLO_TILE_A);
  const long step = (long)rows * (long)src_ld;
  for (int i = (int)(lane % RLO_LANES_OF(RLO_TILE_A)); i < ta;
       i += RLO_LANES_OF(RLO_TILE_A)) {
    int j = (int)(lane / RLO_LANES_OF(RLO_TILE_A));
    __global const rlo_unit *at = from + ((rlo_index)j * src_ld + i);
    __local rlo_unit *cell = tile + (RLO_UNITS_AT(j) + i);
    while (is_inside && j + (RLO_PIECES - 1) * rows < tb) {
      /* All are read before the first of them is stored. */
      rlo_unit unit[RLO_PIECES];
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        unit[n] = rlo_read_unit(at, join);
        at += step;
      }
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        cell[n * RLO_UNITS_AT(rows)] = unit[n];
      }
      cell += RLO_PIECES * RLO_UNITS_AT(rows);
      j += RLO_PIECES * rows;
    }
    while (j < tb) {
      rlo_unit unit[RLO_PIECES];
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        const int row = j + n * rows;
        unit[n] = fill;
        if (row < tb && (is_inside || rlo_is_read(guards, i, row))) {
          unit[n] = rlo_read_unit(at, join);
        }
        at += step;
      }
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        if (j + n * rows < tb) {
          cell[n * RLO_UNITS_AT(rows)] = unit[n];
        }
      }
      cell += RLO_PIECES * RLO_UNITS_AT(rows);
      j += RLO_PIECES * rows;
    }
  }
}

static inline void rlo_write_units(__global rlo_unit *to,
                                   __local const rlo_unit *tile,
                                   rlo_index dst_ld,
                                   int ta,
                                   int tb,
                                   bool is_inside,
                                   __private const rlo_guard_list *guards) {
  const uint lane = (uint)get_local_id(0);
  const int rows = RLO_LOCAL / RLO_LANES_OF(RLO_TILE_B);
  const long step = (long)rows * (long)dst_ld;
  for (int j = (int)(lane % RLO_LANES_OF(RLO_TILE_B)); j < tb;
       j += RLO_LANES_OF(RLO_TILE_B)) {
    int i = (int)(lane / RLO_LANES_OF(RLO_TILE_B));
    __global rlo_unit *at = to + ((rlo_index)i * dst_ld + j);
    __local const rlo_unit *cell = tile + (RLO_UNITS_AT(j) + i);
    while (is_inside && i + (RLO_PIECES - 1) * rows < ta) {
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        *at = cell[n * rows];
        at += step;
      }
      cell += RLO_PIECES * rows;
      i += RLO_PIECES * rows;
    }
    while (i < ta) {
      if (is_inside || rlo_is_written(guards, i, j)) {
        *at = *cell;
      }
      at += step;
      cell += rows;
      i += rows;
    }
  }
}

#if RLO_READ_UNITS > 1
/* Reads a tile that no guard touches, ta a multiple of RLO_READ_UNITS. */
static inline void rlo_read_pieces(__global const rlo_unit *from,
                                   __local rlo_unit *tile,
                                   rlo_index src_ld,
                                   rlo_join join,
                                   int ta,
                                   int tb) {
  const uint lane = (uint)get_local_id(0);
  for (int i = (int)(lane % RLO_READ_LANES * RLO_READ_UNITS); i < ta;
       i += RLO_READ_LANES * RLO_READ_UNITS) {
    for (int j0 = (int)(lane / RLO_READ_LANES); j0 < tb;
         j0 += RLO_READ_ROWS * RLO_PIECES) {
      rlo_read piece[RLO_PIECES];
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        const int j = j0 + n * RLO_READ_ROWS;
        if (j < tb) {
          const rlo_index at = (rlo_index)j * src_ld + i;
          piece[n] =
              rlo_read_piece((__global const rlo_read *)(from + at), join);
        }
      }
      RLO_UNROLL
      for (int n = 0; n < RLO_PIECES; ++n) {
        const int j = j0 + n * RLO_READ_ROWS;
        if (j < tb) {
          rlo_put_read(tile + j * RLO_TILE_LD + i, piece[n]);
        }
      }
    }
  }
}
#endif

#if RLO_WRITE_UNITS > 1
/* Writes a tile that no guard touches, tb a multiple of RLO_WRITE_UNITS. */
static inline void rlo_write_pieces(__global rlo_unit *to,
                                    __local const rlo_unit *tile,
                                    rlo_index dst_ld,
                                    int ta,
                                    int tb) {
  const uint lane = (uint)get_local_id(0);
  for (int j = (int)(lane % RLO_WRITE_LANES * RLO_WRITE_UNITS); j < tb;
       j += RLO_WRITE_LANES * RLO_WRITE_UNITS) {
    for (int i = (int)(lane / RLO_WRITE_LANES); i < ta; i += RLO_WRITE_ROWS) {
      *(__global rlo_write *)(to + ((rlo_index)i * dst_ld + j)) =
          rlo_get_write(tile + j * RLO_TILE_LD + i, RLO_TILE_LD);
    }
  }
}
#endif

/* Reads the tile into local memory by the way that fits; rlo_write_tile takes
 * the same. */
static inline void rlo_read_tile(__global const rlo_unit *from,
                                 __local rlo_side *sides,
                                 rlo_index src_ld,
                                 rlo_join join,
                                 int ta,
                                 int tb,
                                 rlo_unit fill,
                                 bool is_inside,
                                 bool is_edge,
                                 __private const rlo_guard_list *guards) {
  __local rlo_unit *tile = (__local rlo_unit *)sides;
#if RLO_SQUARE > 1
  if (is_inside && ta == RLO_TILE_A && tb == RLO_TILE_B) {
    rlo_read_squares(from, sides, src_ld, join);
    return;
  }
#endif
#if RLO_WORDS
  if (is_inside) {
    rlo_read_words(from, (__local uchar *)sides, src_ld, ta, tb, is_edge);
    return;
  }
#endif
  (void)is_edge;
#if RLO_READ_UNITS > 1
  if (is_inside && ta % RLO_READ_UNITS == 0) {
    rlo_read_pieces(from, tile, src_ld, join, ta, tb);
    return;
  }
#endif
  rlo_read_units(from, tile, src_ld, join, ta, tb, fill, is_inside, guards);
}

static inline void rlo_write_tile(__global rlo_unit *to,
                                  __local const rlo_side *sides,
                                  uint src_address,
                                  rlo_index src_ld,
                                  rlo_index dst_ld,
                                  int ta,
                                  int tb,
                                  bool is_inside,
                                  __private const rlo_guard_list *guards) {
  __local const rlo_unit *tile = (__local const rlo_unit *)sides;
#if RLO_SQUARE > 1
  if (is_inside && ta == RLO_TILE_A && tb == RLO_TILE_B) {
    rlo_write_squares(to, sides, dst_ld);
    return;
  }
#endif
#if RLO_WORDS
  if (is_inside) {
    __local const uchar *bytes = (__local const uchar *)sides;
    rlo_write_words(to, bytes, src_address, src_ld, dst_ld, ta, tb);
    return;
  }
#endif
  (void)src_address;
  (void)src_ld;
#if RLO_WRITE_UNITS > 1
  if (is_inside && tb % RLO_WRITE_UNITS == 0) {
    rlo_write_pieces(to, tile, dst_ld, ta, tb);
    return;
  }
#endif
  rlo_write_units(to, tile, dst_ld, ta, tb, is_inside, guards);
}

#if RLO_DIAGONAL
/* Moves the coordinate along i on by that along j, around the plane's end. */
static inline void rlo_go_diagonal(rlo_grid extent,
                                   int16 magic,
                                   __private rlo_index_list *index) {
  __private const rlo_index *e = (__private const rlo_index *)&extent;
  __private const int *m = (__private const int *)&magic;
  const uint sum = (uint)(index->at[RLO_A_AXIS] + index->at[RLO_B_AXIS]);
  const uint turns = rlo_axis_quotient(sum, e, m, RLO_A_AXIS);
  index->at[RLO_A_AXIS] = (int)(sum - turns * (uint)e[RLO_A_AXIS]);
}
#endif

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS, __local rlo_side *sides,
#else
__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
#endif
    RLO_GROUP_PARAMS,
    rlo_index na,
    rlo_index nb,
    rlo_index src_ld,
    rlo_index dst_ld
#if RLO_JOINED_BITS > 0
    ,
    rlo_index joined_ld
#endif
#if RLO_WORDS
    ,
    long src_begin,
    long src_end
#endif
        RLO_GUARD_PARAMS) {
#if !RLO_BATCH
  __local rlo_side sides[RLO_TILE_SIDES] __attribute__((aligned(16)));
#endif
  rlo_index_list index;
  rlo_decode((uint)RLO_GROUP, grid_extent, grid_magic, &index);
#if RLO_DIAGONAL
  rlo_go_diagonal(grid_extent, grid_magic, &index);
#endif
  const rlo_index a0 = (rlo_index)index.at[RLO_A_AXIS] * RLO_TILE_A;
  const rlo_index b0 = (rlo_index)index.at[RLO_B_AXIS] * RLO_TILE_B;
  const int ta = (int)min(na - a0, (rlo_index)RLO_TILE_A);
  const int tb = (int)min(nb - b0, (rlo_index)RLO_TILE_B);
  rlo_guard_list guards;
  RLO_GUARDS_LOAD
  const bool is_inside = rlo_is_inside(&guards, 0, ta, tb);
  const rlo_index src_units = rlo_offset(&index, grid_src_stride);
  __global const rlo_unit *from =
      rlo_source_at(src, src_offset_bytes, src_units);
  __global rlo_unit *to =
      rlo_target_at(dst, dst_offset_bytes, rlo_offset(&index, grid_dst_stride));

  rlo_join join = {0, 0};
#if RLO_JOINED_BITS > 0
  join.step = joined_ld;
  join.bit = (uint)index.at[RLO_GRID_AXES - 1] * RLO_JOINED_BITS;
#endif
  bool is_edge = false;
#if RLO_WORDS
  is_edge = rlo_is_edge((uint)(size_t)src + (uint)src_offset_bytes,
                        src_units,
                        src_ld,
                        ta,
                        tb,
                        src_begin,
                        src_end);
#endif
  rlo_read_tile(from,
                sides,
                src_ld,
                join,
                ta,
                tb,
                rlo_fill_unit(fill_lo, fill_hi),
                is_inside,
                is_edge,
                &guards);
  barrier(CLK_LOCAL_MEM_FENCE);
  rlo_write_tile(to,
                 sides,
                 (uint)(size_t)from,
                 src_ld,
                 dst_ld,
                 ta,
                 tb,
                 is_inside,
                 &guards);
}

#define RLO_SHARED_TYPE  rlo_side
#define RLO_SHARED_COUNT RLO_TILE_SIDES
#include "batch.cl"
