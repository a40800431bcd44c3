/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family packed, CPU class: many small axes, small matrices, short rows.
 *
 *     for each point i of a block:
 *         dst[dst_offset + sum(i_k * dst_stride_k)] =
 *         src[src_offset + sum(i_k * src_stride_k)]
 *
 * A block is a piece of the box that is long along the leading axes of both
 * sides: it is read in long runs, put together in private memory (the stage)
 * in the order of the destination, and leaves in long runs. Work inside a block
 * is a list of *moves*, equal pieces at a list of places, which is made once and
 * serves every block of the same size. Arguments after the common ten, where a
 * vector has one lane for each axis k < n_axes of a block:
 *
 *   10  int n_axes                  1..RLO_GRID_RANK; the last varies fastest
 *   11  rlo_grid axis_extent        points of the axis in all
 *   12  rlo_grid axis_block         points of the axis in a whole block
 *   13  rlo_grid axis_step          points of the axis in one move
 *   14  rlo_grid axis_grid          grid axis that counts blocks, -1: one block
 *   15  rlo_grid axis_src_stride    units
 *   16  rlo_grid axis_dst_stride    units
 *   17  rlo_grid axis_stage_stride  units from point to point in the stage
 *   18  int run_axes                bit k: the stage holds axis k as the
 *                                   destination does, in runs without a gap
 *   19  int fetch_axes              bit k: axis k is part of a run of the
 *                                   source
 *   20  rlo_index blocks            blocks that one group moves
 *   21  rlo_index src_ld            tiles: units from row to row in the source
 *   22  rlo_index stage_ld          tiles: units from column to column in the
 *                                   stage
 *   23  rlo_index src_end           units that may be read, from src_offset on
 *
 * Grid axes count blocks: their strides are per block. A group moves `blocks`
 * of them, one after another, and what one block reads is prefetched while the
 * block before it is moved.
 *
 * RLO_PACKED_MOVE says what a move is:
 *   0  a *tile*: NB rows of NA units of the source become NA rows of NB units,
 *      through registers;
 *   1  a *row* of RLO_PACKED_ROW units, which is kept;
 *   2  a *cell* of RLO_PACKED_CELL units, contiguous on both sides and at most
 *      eight lines long: a constant permutation. Moves must be listed by rising
 *      place in the stage, for each writes whole lines, beyond its own end.
 *
 * A block with fewer points along an axis than a move takes, and a move that
 * would read beyond src_end, go unit by unit. Any alignment is right.
 *
 * What the host should choose: runs of 256 bytes and more on both sides, as far
 * as the stage goes, with ends at whole lines of the destination.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_PACKED_NA=3 -DRLO_NT=1 -DRLO_PREFETCH=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_PACKED_NB=7 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_PACKED_NA=2
// define-matrix: -DRLO_PACKED_TILE=4 -DRLO_PACKED_NA=3 -DRLO_VECTOR_SHUFFLE=0
// define-matrix: -DRLO_PACKED_MOVE=1 -DRLO_PACKED_ROW=5
// define-matrix: -DRLO_PACKED_MOVE=1 -DRLO_PACKED_ROW=33
// define-matrix: -DRLO_PACKED_MOVE=2 -DRLO_UNIT_BYTES=1
// define-matrix: -DRLO_PACKED_MOVE=2 -DRLO_UNIT_BYTES=2
// define-matrix: -DRLO_PACKED_MOVE=2 -DRLO_UNIT_BYTES=8 -DRLO_PREFETCH=1
// define-matrix: -DRLO_PACKED_MOVE=2 -DRLO_UNIT_BYTES=16
// define-matrix: -DRLO_PACKED_MOVE=2 -DRLO_VECTOR_SHUFFLE=0
#ifndef RLO_COMMON_CL
#include "common.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_packed
#endif

/* What a move is: 0 a tile, 1 a row, 2 a cell. */
#ifndef RLO_PACKED_MOVE
#define RLO_PACKED_MOVE 0
#endif

/* Tiles: side of the square that is transposed in registers; a power of two.
 */
#ifndef RLO_PACKED_TILE
#if RLO_UNIT_BYTES == 1
#define RLO_PACKED_TILE 16
#elif RLO_UNIT_BYTES <= 4
#define RLO_PACKED_TILE 8
#else
#define RLO_PACKED_TILE 4
#endif
#endif

/* Tiles: columns and rows that a tile has, at most RLO_PACKED_TILE. */
#ifndef RLO_PACKED_NA
#define RLO_PACKED_NA RLO_PACKED_TILE
#endif
#ifndef RLO_PACKED_NB
#define RLO_PACKED_NB RLO_PACKED_TILE
#endif

/* Rows: units of one. */
#ifndef RLO_PACKED_ROW
#define RLO_PACKED_ROW 3
#endif

/* Cells: extents of their axes in the order of the destination, the first one
 * contiguous, and the strides of these axes in the source. */
#ifndef RLO_PACKED_X0
#define RLO_PACKED_X0 3
#define RLO_PACKED_X1 5
#define RLO_PACKED_X2 1
#define RLO_PACKED_X3 1
#define RLO_PACKED_S0 5
#define RLO_PACKED_S1 1
#define RLO_PACKED_S2 0
#define RLO_PACKED_S3 0
#endif

/* Cells: units of one, the product of its extents, and the lines they take. */
#ifndef RLO_PACKED_CELL
#define RLO_PACKED_CELL 15
#endif
#ifndef RLO_PACKED_LINES
#define RLO_PACKED_LINES 1
#endif

/* Bytes of the stage, most moves of a block, most runs of a block. */
#ifndef RLO_PACKED_STAGE
#define RLO_PACKED_STAGE 16384
#endif
#ifndef RLO_PACKED_MOVES
#define RLO_PACKED_MOVES 1024
#endif
#ifndef RLO_PACKED_RUNS
#define RLO_PACKED_RUNS 512
#endif

/* How many lines leave before a move, or before every so many moves. */
#ifndef RLO_PACKED_SEND_LINES
#define RLO_PACKED_SEND_LINES 1
#endif
#ifndef RLO_PACKED_SEND_EVERY
#define RLO_PACKED_SEND_EVERY 1
#endif

#define E  RLO_UNIT_BYTES
#define T  RLO_PACKED_TILE
#define NA RLO_PACKED_NA
#define NB RLO_PACKED_NB

/* The axes of a block, and its size; strides in bytes. */
typedef struct rlo_block {
  int n;
  long extent[RLO_GRID_RANK];
  long step[RLO_GRID_RANK];
  long src_stride[RLO_GRID_RANK];
  long dst_stride[RLO_GRID_RANK];
  long stage_stride[RLO_GRID_RANK];
} rlo_block;

/* Places of moves or runs: bytes from the block's corner, and in the stage. */
typedef struct rlo_place {
  rlo_index memory;
  int stage;
} rlo_place;

/*
 * List the places of the block's pieces: every `step` points of each axis of
 * `axes` (bit k: axis k), the last one moved back to where it ends with the
 * block. The last axis varies fastest. Returns how many there are.
 */
RLO_INLINE int rlo_list_places(__private const rlo_block *block,
                               __private const long *memory_stride,
                               bool is_stepping,
                               int axes,
                               __private rlo_place *out) {
  int n = 1;
  out[0].memory = 0;
  out[0].stage = 0;
  for (int k = block->n - 1; k >= 0; --k) {
    if ((axes >> k & 1) == 0) {
      continue;
    }
    const long step = is_stepping ? block->step[k] : 1;
    const int before = n;
    for (long at = step; at < block->extent[k]; at += step) {
      const long point = min(at, block->extent[k] - step);
      const rlo_index memory = (rlo_index)(point * memory_stride[k]);
      const int stage = (int)(point * block->stage_stride[k]);
      for (int m = 0; m < before; ++m) {
        out[n + m].memory = out[m].memory + memory;
        out[n + m].stage = out[m].stage + stage;
      }
      n += before;
    }
  }
  return n;
}

/* What the next block will read: the lines of runs at `places`, prefetched
 * little by little while this block leaves, so that memory reads while it
 * writes. */
typedef struct rlo_fetch {
  __global const uchar *from;
  __private const rlo_place *places;
  int n;
  long run_bytes;
  ulong line, run_end, step;
} rlo_fetch;

/* Go to the next run; to a line over and over if there is none. */
RLO_INLINE void rlo_fetch_run(__private rlo_fetch *fetch) {
  if (fetch->n == 0) {
    fetch->step = 0;
    fetch->run_end = ~0UL;
    return;
  }
  const ulong run = (ulong)(fetch->from + fetch->places->memory);
  fetch->line = run & ~(ulong)(RLO_LINE_BYTES - 1);
  fetch->run_end = run + (ulong)fetch->run_bytes;
  fetch->step = RLO_LINE_BYTES;
  fetch->places += 1;
  fetch->n -= 1;
}

RLO_INLINE void rlo_fetch_line(__private rlo_fetch *fetch) {
#if RLO_PREFETCH
  rlo_prefetch((__global const uchar *)fetch->line);
  fetch->line += fetch->step;
  if (fetch->line >= fetch->run_end) {
    rlo_fetch_run(fetch);
  }
#else
  (void)fetch;
#endif
}

/* A block on its way out of the stage: runs at `places`, line by line. */
typedef struct rlo_send {
  __global uchar *corner;
  __private const uchar *stage;
  __private const rlo_place *places;
  int n;
  long run_bytes;
  __global uchar *to;
  __private const uchar *from;
  long left;
} rlo_send;

/* Begin runs, up to one that has a whole line to send. */
RLO_INLINE void rlo_send_begin(__private rlo_send *send) {
  while (send->left < RLO_LINE_BYTES && send->n > 0) {
    __global uchar *to = send->corner + send->places->memory;
    __private const uchar *from = send->stage + send->places->stage;
    long n = send->run_bytes;
    const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
    if (head != 0) {
      rlo_piece_private(to, from, head);
      to += head;
      from += head;
      n -= head;
    }
    const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
    if (n != whole) {
      rlo_piece_private(to + whole, from + whole, n - whole);
    }
    send->to = to;
    send->from = from;
    send->left = whole;
    send->places += 1;
    send->n -= 1;
  }
}

/* Send lines, and prefetch as many. */
RLO_INLINE void rlo_send_lines(__private rlo_send *send,
                               __private rlo_fetch *fetch,
                               int lines) {
  for (int k = 0; k < lines; ++k) {
    rlo_fetch_line(fetch);
    if (send->left > 0) {
      rlo_store_line(send->to, *(__private const rlo_line_any *)send->from);
      send->to += RLO_LINE_BYTES;
      send->from += RLO_LINE_BYTES;
      send->left -= RLO_LINE_BYTES;
      if (send->left == 0) {
        rlo_send_begin(send);
      }
    }
  }
}

/* Send all that is left. */
RLO_INLINE void rlo_send_rest(__private rlo_send *send,
                              __private rlo_fetch *fetch) {
  while (send->left > 0) {
    rlo_send_lines(send, fetch, 1);
  }
}

/* The block unit by unit, for where whole moves do not fit. */
RLO_INLINE void rlo_move_units(__private const rlo_block *block,
                               __private uchar *to,
                               __global const uchar *from) {
  long count = 1;
  for (int k = 0; k < block->n; ++k) {
    count *= block->extent[k];
  }
  for (long n = 0; n < count; ++n) {
    long rest = n;
    long src_at = 0;
    long stage_at = 0;
    for (int k = block->n - 1; k >= 0; --k) {
      const long point = rest % block->extent[k];
      rest /= block->extent[k];
      src_at += point * block->src_stride[k];
      stage_at += point * block->stage_stride[k];
    }
    *(__private rlo_unit_any *)(to + stage_at) =
        *(__global const rlo_unit_any *)(from + src_at);
  }
}

#if RLO_PACKED_MOVE == 0

/* A tile unit by unit. */
RLO_INLINE void rlo_move_tile_units(__private uchar *to,
                                    __global const uchar *from,
                                    long src_ld_bytes,
                                    long stage_ld_bytes) {
#pragma unroll
  for (int j = 0; j < NB; ++j) {
#pragma unroll
    for (int i = 0; i < NA; ++i) {
      *(__private rlo_unit_any *)(to + i * stage_ld_bytes + j * E) =
          *(__global const rlo_unit_any *)(from + j * src_ld_bytes + i * E);
    }
  }
}

#if RLO_VECTOR_SHUFFLE && E < 16
#define RLO_HAS_TILES 1

/* A row of a tile, at any address, and the parts that it is stored in. */
typedef rlo_unit rlo_vector __attribute__((ext_vector_type(T)));
typedef rlo_vector rlo_vector_any __attribute__((aligned(1)));
typedef rlo_unit rlo_two __attribute__((ext_vector_type(2)));
typedef rlo_unit rlo_four __attribute__((ext_vector_type(4)));
typedef rlo_unit rlo_eight __attribute__((ext_vector_type(8)));
typedef rlo_two rlo_two_any __attribute__((aligned(1)));
typedef rlo_four rlo_four_any __attribute__((aligned(1)));
typedef rlo_eight rlo_eight_any __attribute__((aligned(1)));

/* Interleave the low (high) halves of two vectors. */
/* clang-format off */
#if T == 2
#define RLO_HALF(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#elif T == 4
#define RLO_HALF(a, b, h) \
  __builtin_shufflevector(a, b, 2 * h, 4 + 2 * h, 1 + 2 * h, 5 + 2 * h)
#elif T == 8
#define RLO_HALF(a, b, h)                                                  \
  __builtin_shufflevector(a, b, 4 * h, 8 + 4 * h, 1 + 4 * h, 9 + 4 * h,    \
                          2 + 4 * h, 10 + 4 * h, 3 + 4 * h, 11 + 4 * h)
#else
#define RLO_HALF(a, b, h)                                                  \
  __builtin_shufflevector(a, b, 8 * h, 16 + 8 * h, 1 + 8 * h, 17 + 8 * h,  \
                          2 + 8 * h, 18 + 8 * h, 3 + 8 * h, 19 + 8 * h,    \
                          4 + 8 * h, 20 + 8 * h, 5 + 8 * h, 21 + 8 * h,    \
                          6 + 8 * h, 22 + 8 * h, 7 + 8 * h, 23 + 8 * h)
#endif
/* clang-format on */

/* The first NB units of a row; constant parts, for what follows in the stage
 * may be there already. */
RLO_INLINE void rlo_store_part(__private uchar *to, rlo_vector v) {
#if NB == T
  *(__private rlo_vector_any *)to = v;
#else
#if NB & 8
  *(__private rlo_eight_any *)to =
      __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
#if NB & 4
#define P (NB & 8)
  *(__private rlo_four_any *)(to + P * E) =
      __builtin_shufflevector(v, v, P, P + 1, P + 2, P + 3);
#undef P
#endif
#if NB & 2
#define P (NB & 12)
  *(__private rlo_two_any *)(to + P * E) =
      __builtin_shufflevector(v, v, P, P + 1);
#undef P
#endif
#if NB & 1
  *(__private rlo_unit_any *)(to + (NB - 1) * E) = v[NB - 1];
#endif
#endif
}

/* A tile through registers; reads T units of each row. Each pass is a perfect
 * shuffle of all units, and log2(T) of them are a transpose. */
RLO_INLINE void rlo_move_tile(__private uchar *to,
                              __global const uchar *from,
                              long src_ld_bytes,
                              long stage_ld_bytes) {
  rlo_vector r[T];
#pragma unroll
  for (int k = 0; k < T; ++k) {
    r[k] = (rlo_vector)(0);
    if (k < NB) {
      __global const uchar *p = from + k * src_ld_bytes;
      r[k] = *(__global const rlo_vector_any *)p;
    }
  }
#pragma unroll
  for (int pass = 1; pass < T; pass *= 2) {
    rlo_vector t[T];
#pragma unroll
    for (int k = 0; k < T / 2; ++k) {
      t[2 * k] = RLO_HALF(r[k], r[k + T / 2], 0);
      t[2 * k + 1] = RLO_HALF(r[k], r[k + T / 2], 1);
    }
#pragma unroll
    for (int k = 0; k < T; ++k) {
      r[k] = t[k];
    }
  }
#pragma unroll
  for (int i = 0; i < NA; ++i) {
    rlo_store_part(to + i * stage_ld_bytes, r[i]);
  }
}
#else
#define RLO_HAS_TILES 0
#endif

#elif RLO_PACKED_MOVE == 1

#define RLO_ROW_BYTES (RLO_PACKED_ROW * E)

/* Two moves that may overlap, for size <= RLO_ROW_BYTES <= 2 * size. */
#define RLO_MOVE_ROW(type, size)                                             \
  do {                                                                       \
    const type head = *(__global const type *)from;                          \
    const type tail = *(__global const type *)(from + RLO_ROW_BYTES - size); \
    *(__private type *)to = head;                                            \
    *(__private type *)(to + RLO_ROW_BYTES - size) = tail;                   \
  } while (0)

RLO_INLINE void rlo_move_row(__private uchar *to,
                             __global const uchar *from) {
#if RLO_ROW_BYTES >= 64
  for (int k = 0; k < RLO_ROW_BYTES - 64; k += 64) {
    *(__private rlo_line_any *)(to + k) =
        *(__global const rlo_line_any *)(from + k);
  }
  *(__private rlo_line_any *)(to + RLO_ROW_BYTES - 64) =
      *(__global const rlo_line_any *)(from + RLO_ROW_BYTES - 64);
#elif RLO_ROW_BYTES >= 32
  RLO_MOVE_ROW(rlo_u256_any, 32);
#elif RLO_ROW_BYTES >= 16
  RLO_MOVE_ROW(rlo_u128_any, 16);
#elif RLO_ROW_BYTES >= 8
  RLO_MOVE_ROW(rlo_u64_any, 8);
#elif RLO_ROW_BYTES >= 4
  RLO_MOVE_ROW(rlo_u32_any, 4);
#elif RLO_ROW_BYTES >= 2
  RLO_MOVE_ROW(rlo_u16_any, 2);
#else
  *to = *from;
#endif
}

#else

#define L RLO_LINE_UNITS

/* Which unit of the source goes to unit u of a cell. */
#define RLO_CELL_FROM(u)                                        \
  ((u) % RLO_PACKED_X0 * RLO_PACKED_S0 +                        \
   (u) / RLO_PACKED_X0 % RLO_PACKED_X1 * RLO_PACKED_S1 +        \
   (u) / (RLO_PACKED_X0 * RLO_PACKED_X1) % RLO_PACKED_X2 *      \
       RLO_PACKED_S2 +                                          \
   (u) / (RLO_PACKED_X0 * RLO_PACKED_X1 * RLO_PACKED_X2) %      \
       RLO_PACKED_X3 * RLO_PACKED_S3)

/* A cell unit by unit. */
RLO_INLINE void rlo_move_cell_units(__private uchar *to,
                                    __global const uchar *from) {
  for (int u = 0; u < RLO_PACKED_CELL; ++u) {
    *(__private rlo_unit_any *)(to + u * E) =
        *(__global const rlo_unit_any *)(from + RLO_CELL_FROM(u) * E);
  }
}

#if RLO_VECTOR_SHUFFLE
#define RLO_SUB      (RLO_UNIT_BYTES == 16 ? 2 : 1)
#define RLO_ELEMENTS (L * RLO_SUB)

/* Element e of output line o: where its unit comes from, as a line and an
 * element of that; -1: from nowhere, it lies beyond the cell. */
#define RLO_UNIT_OF(o, e)  ((o)*L + (e) / RLO_SUB)
#define RLO_IN_CELL(o, e)  (RLO_UNIT_OF(o, e) < RLO_PACKED_CELL)
#define RLO_LINE_OF(o, e)  (RLO_CELL_FROM(RLO_UNIT_OF(o, e)) / L)
#define RLO_PLACE_OF(o, e) \
  (RLO_CELL_FROM(RLO_UNIT_OF(o, e)) % L * RLO_SUB + (e) % RLO_SUB)

/* Step v of a chain puts the units of line v in place and keeps the others;
 * step 0 shuffles line 0 alone. */
#define RLO_PICK_0(o, v, e) (RLO_IN_CELL(o, e) ? RLO_PLACE_OF(o, e) : 0)
#define RLO_PICK(o, v, e)                           \
  (RLO_IN_CELL(o, e) && RLO_LINE_OF(o, e) == (v)    \
       ? RLO_ELEMENTS + RLO_PLACE_OF(o, e)          \
   : RLO_LINE_OF(o, e) == 0 && (v) == 1             \
       ? RLO_PLACE_OF(o, e)                         \
       : (e))

#define RLO_LIST_8(F, o, v, e)                                                \
  F(o, v, e), F(o, v, e + 1), F(o, v, e + 2), F(o, v, e + 3), F(o, v, e + 4), \
      F(o, v, e + 5), F(o, v, e + 6), F(o, v, e + 7)
#define RLO_LIST_16(F, o, v, e) \
  RLO_LIST_8(F, o, v, e), RLO_LIST_8(F, o, v, e + 8)
#define RLO_LIST_32(F, o, v, e) \
  RLO_LIST_16(F, o, v, e), RLO_LIST_16(F, o, v, e + 16)
#define RLO_LIST_64(F, o, v, e) \
  RLO_LIST_32(F, o, v, e), RLO_LIST_32(F, o, v, e + 32)
#if RLO_UNIT_BYTES == 1
#define RLO_LIST RLO_LIST_64
#elif RLO_UNIT_BYTES == 2
#define RLO_LIST RLO_LIST_32
#elif RLO_UNIT_BYTES == 4
#define RLO_LIST RLO_LIST_16
#else
#define RLO_LIST RLO_LIST_8
#endif

#define RLO_STEP(o, v) \
  sum = __builtin_shufflevector(sum, in[v], RLO_LIST(RLO_PICK, o, v, 0));
#define RLO_CHAIN_1(o) \
  sum = __builtin_shufflevector(in[0], in[0], RLO_LIST(RLO_PICK_0, o, 0, 0));
#define RLO_CHAIN_2(o) \
  sum = __builtin_shufflevector(in[0], in[1], RLO_LIST(RLO_PICK, o, 1, 0));
#define RLO_CHAIN_3(o)  RLO_CHAIN_2(o) RLO_STEP(o, 2)
#define RLO_CHAIN_4(o)  RLO_CHAIN_3(o) RLO_STEP(o, 3)
#define RLO_CHAIN_5(o)  RLO_CHAIN_4(o) RLO_STEP(o, 4)
#define RLO_CHAIN_6(o)  RLO_CHAIN_5(o) RLO_STEP(o, 5)
#define RLO_CHAIN_7(o)  RLO_CHAIN_6(o) RLO_STEP(o, 6)
#define RLO_CHAIN_8(o)  RLO_CHAIN_7(o) RLO_STEP(o, 7)
#define RLO_CHAIN_OF(n) RLO_CHAIN_##n
#define RLO_CHAIN(n)    RLO_CHAIN_OF(n)
#define RLO_OUTS_OF(n)  RLO_OUTS_##n
#define RLO_OUTS(n)     RLO_OUTS_OF(n)
#define RLO_OUT(o)                                          \
  {                                                         \
    rlo_units sum;                                          \
    RLO_CHAIN(RLO_PACKED_LINES)                             \
    (o) *(__private rlo_line_any *)(to + o * RLO_LINE_BYTES) = \
        __builtin_astype(sum, rlo_line);                    \
  }
#define RLO_OUTS_1 RLO_OUT(0)
#define RLO_OUTS_2 RLO_OUTS_1 RLO_OUT(1)
#define RLO_OUTS_3 RLO_OUTS_2 RLO_OUT(2)
#define RLO_OUTS_4 RLO_OUTS_3 RLO_OUT(3)
#define RLO_OUTS_5 RLO_OUTS_4 RLO_OUT(4)
#define RLO_OUTS_6 RLO_OUTS_5 RLO_OUT(5)
#define RLO_OUTS_7 RLO_OUTS_6 RLO_OUT(6)
#define RLO_OUTS_8 RLO_OUTS_7 RLO_OUT(7)

/* A cell through registers; reads and writes whole lines. */
RLO_INLINE void rlo_move_cell(__private uchar *to,
                              __global const uchar *from) {
  rlo_units in[RLO_PACKED_LINES];
#pragma unroll
  for (int v = 0; v < RLO_PACKED_LINES; ++v) {
    __global const uchar *p = from + v * RLO_LINE_BYTES;
    in[v] = __builtin_astype(*(__global const rlo_line_any *)p, rlo_units);
  }
  RLO_OUTS(RLO_PACKED_LINES)
}
#endif
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int n_axes,
    rlo_grid axis_extent,
    rlo_grid axis_block,
    rlo_grid axis_step,
    rlo_grid axis_grid,
    rlo_grid axis_src_stride,
    rlo_grid axis_dst_stride,
    rlo_grid axis_stage_stride,
    int run_axes,
    int fetch_axes,
    rlo_index blocks,
    rlo_index src_ld,
    rlo_index stage_ld,
    rlo_index src_end) {
  __private const rlo_index *extents =
      (__private const rlo_index *)&axis_extent;
  __private const rlo_index *sizes = (__private const rlo_index *)&axis_block;
  __private const rlo_index *steps = (__private const rlo_index *)&axis_step;
  __private const rlo_index *counters =
      (__private const rlo_index *)&axis_grid;
  __private const rlo_index *src_strides =
      (__private const rlo_index *)&axis_src_stride;
  __private const rlo_index *dst_strides =
      (__private const rlo_index *)&axis_dst_stride;
  __private const rlo_index *stage_strides =
      (__private const rlo_index *)&axis_stage_stride;
  rlo_block block;
  block.n = n_axes;
  for (int k = 0; k < n_axes; ++k) {
    block.extent[k] = 0;
    block.step[k] = steps[k];
    block.src_stride[k] = (long)src_strides[k] * E;
    block.dst_stride[k] = (long)dst_strides[k] * E;
    block.stage_stride[k] = (long)stage_strides[k] * E;
  }
  /* A line before and behind for what cells write beyond their end. */
  rlo_line stage_lines[2][RLO_PACKED_STAGE / RLO_LINE_BYTES + 1];
  rlo_place moves[RLO_PACKED_MOVES];
  rlo_place runs[RLO_PACKED_RUNS];
  int n_moves = 0;
  int n_runs = 0;
  long run_bytes = 0;
  bool is_whole = true;
  rlo_place fetches[RLO_PREFETCH ? RLO_PACKED_RUNS : 1];
  int n_fetches = 0;
  long fetch_bytes = 0;
  __global const uchar *end = src + src_offset_bytes + (long)src_end * E;
#if RLO_PACKED_MOVE == 0
  const long src_ld_bytes = (long)src_ld * E;
  const long stage_ld_bytes = (long)stage_ld * E;
  /* The last byte that a tile reads, and one more. */
  end -= max(0L, (NB - 1) * src_ld_bytes) + T * E;
#else
  (void)src_ld;
  (void)stage_ld;
#if RLO_PACKED_MOVE == 2
  end -= RLO_PACKED_LINES * RLO_LINE_BYTES;
#endif
#endif

  rlo_index index[RLO_GRID_RANK];
  rlo_decode(
      get_group_id(0) * (ulong)blocks, n_grid, grid_extent, index);
  bool is_more = true;
  rlo_send send = {dst, (__private const uchar *)stage_lines, runs, 0, 0, dst,
                   (__private const uchar *)stage_lines, 0};
  rlo_fetch fetch = {src, fetches, 0, 0, 0, 0, 0};
  rlo_fetch_run(&fetch);
  for (rlo_index b = 0; b < blocks && is_more; ++b) {
    __global const uchar *from =
        src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
    __global uchar *to =
        dst + dst_offset_bytes + rlo_dot(n_grid, index, grid_dst_stride) * E;
    bool is_same = true;
    for (int k = 0; k < n_axes; ++k) {
      const int counter = (int)counters[k];
      long extent = extents[k];
      if (counter >= 0) {
        extent = min(extent - (long)index[counter] * sizes[k], (long)sizes[k]);
      }
      is_same = is_same && extent == block.extent[k];
      block.extent[k] = extent;
    }
    if (!is_same) {
      rlo_send_rest(&send, &fetch);
      is_whole = true;
      run_bytes = E;
      for (int k = 0; k < n_axes; ++k) {
        is_whole = is_whole && block.extent[k] >= block.step[k];
        if ((run_axes >> k & 1) != 0) {
          run_bytes += (block.extent[k] - 1) * block.stage_stride[k];
        }
      }
      if (is_whole) {
        n_moves = rlo_list_places(&block, block.src_stride, true, ~0, moves);
      }
      n_runs =
          rlo_list_places(&block, block.dst_stride, false, ~run_axes, runs);
#if RLO_PREFETCH
      n_fetches = rlo_list_places(
          &block, block.src_stride, false, ~fetch_axes, fetches);
      fetch_bytes = E;
      for (int k = 0; k < n_axes; ++k) {
        if ((fetch_axes >> k & 1) != 0) {
          fetch_bytes += (block.extent[k] - 1) * block.src_stride[k];
        }
      }
#else
      (void)fetch_axes;
#endif
    }
    is_more = rlo_next(n_grid, grid_extent, index);
    fetch = (rlo_fetch){src + src_offset_bytes +
                           rlo_dot(n_grid, index, grid_src_stride) * E,
                       fetches,
                       is_more ? n_fetches : 0,
                       fetch_bytes,
                       0,
                       0,
                       0};
    rlo_fetch_run(&fetch);
    __private uchar *stage = (__private uchar *)stage_lines[b & 1];
    if (is_whole) {
      for (int m = 0; m < n_moves; ++m) {
        __global const uchar *p = from + moves[m].memory;
        __private uchar *q = stage + moves[m].stage;
#if RLO_PACKED_SEND_EVERY > 1
        if (m % RLO_PACKED_SEND_EVERY == 0)
#endif
        {
          rlo_send_lines(&send, &fetch, RLO_PACKED_SEND_LINES);
        }
#if RLO_PACKED_MOVE == 0
#if RLO_HAS_TILES
        if (p <= end) {
          rlo_move_tile(q, p, src_ld_bytes, stage_ld_bytes);
          continue;
        }
#endif
        rlo_move_tile_units(q, p, src_ld_bytes, stage_ld_bytes);
#elif RLO_PACKED_MOVE == 1
        rlo_move_row(q, p);
#else
#if RLO_VECTOR_SHUFFLE
        if (p <= end) {
          rlo_move_cell(q, p);
          continue;
        }
#endif
        rlo_move_cell_units(q, p);
#endif
      }
    } else {
      rlo_move_units(&block, stage, from);
    }
    rlo_send_rest(&send, &fetch);
    send.corner = to;
    send.stage = stage;
    send.places = runs;
    send.n = n_runs;
    send.run_bytes = run_bytes;
    rlo_send_begin(&send);
  }
  rlo_send_rest(&send, &fetch);
  (void)end;
  (void)fill_lo;
  (void)fill_hi;
}
