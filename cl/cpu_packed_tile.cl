/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of the matrices that cpu_packed.cl moves: rows are read, transposed in
 * registers, and stored as lines of the destination (RLO_PACKED_DIRECT) or as
 * parts of the stage.
 */
#ifndef RLO_CPU_PACKED_TILE_CL
#define RLO_CPU_PACKED_TILE_CL

#include "cpu_packed_block.cl"

/* Side of the square that is transposed in registers; a power of two. */
#ifndef RLO_PACKED_TILE
#if RLO_UNIT_BYTES == 1
#define RLO_PACKED_TILE 16
#elif RLO_UNIT_BYTES <= 4
#define RLO_PACKED_TILE 8
#else
#define RLO_PACKED_TILE 4
#endif
#endif

/* Columns and rows of a tile, at most RLO_PACKED_TILE. A direct tile has a line
 * of rows instead. */
#ifndef RLO_PACKED_NA
#define RLO_PACKED_NA RLO_PACKED_TILE
#endif
#ifndef RLO_PACKED_NB
#define RLO_PACKED_NB RLO_PACKED_TILE
#endif

#define L  RLO_LINE_UNITS
#define T  RLO_PACKED_TILE
#define NA RLO_PACKED_NA
#if RLO_PACKED_DIRECT
#define NB L
#else
#define NB RLO_PACKED_NB
#endif

#if RLO_VECTOR_SHUFFLE && E < 16
#define RLO_HAS_TILES    1
#define RLO_UNROLL_UNITS _Pragma("unroll 1")
#else
#define RLO_HAS_TILES    0
#define RLO_UNROLL_UNITS _Pragma("unroll")
#endif

/* Moves a tile unit by unit: one that reaches beyond the end of the source, and
 * all tiles of 16-byte units. */
RLO_INLINE void rlo_move_tile_units(__global uchar *to,
                                    __private uchar *stage,
                                    __global const uchar *from,
                                    __private const rlo_place *columns,
                                    __private const rlo_place *rows) {
  RLO_UNROLL_UNITS
  for (int i = 0; i < NA; ++i) {
    RLO_UNROLL_UNITS
    for (int j = 0; j < NB; ++j) {
      const rlo_unit unit =
          *(__global const rlo_unit_any *)(from + rows[j].src + i * E);
#if RLO_PACKED_DIRECT
      *(__global rlo_unit_any *)(to + columns[i].dst + j * E) = unit;
#else
      *(__private rlo_unit_any *)(stage + columns[i].stage + j * E) = unit;
#endif
    }
  }
  (void)to;
  (void)stage;
}

#if RLO_HAS_TILES

/* A row of a tile, at any address, and the parts that it is stored in. */
typedef rlo_unit rlo_vector __attribute__((ext_vector_type(T)));
typedef rlo_vector rlo_vector_any __attribute__((aligned(1)));
typedef rlo_unit rlo_two __attribute__((ext_vector_type(2)));
typedef rlo_unit rlo_four __attribute__((ext_vector_type(4)));
typedef rlo_unit rlo_eight __attribute__((ext_vector_type(8)));
typedef rlo_two rlo_two_any __attribute__((aligned(1)));
typedef rlo_four rlo_four_any __attribute__((aligned(1)));
typedef rlo_eight rlo_eight_any __attribute__((aligned(1)));

/* Interleaves the low (high) halves of two vectors. */
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

/* Rows of a square. */
#define RLO_SQUARE_ROWS (NB < T ? NB : T)

/* Transposes a square in registers; reads T units of each row. Each pass is a
 * perfect shuffle of all units, and log2(T) of them are a transpose. */
RLO_INLINE void rlo_transpose(__global const uchar *from,
                              __private const rlo_place *rows,
                              __private rlo_vector *r) {
#pragma unroll
  for (int k = 0; k < T; ++k) {
    r[k] = (rlo_vector)(0);
    if (k < RLO_SQUARE_ROWS) {
      r[k] = *(__global const rlo_vector_any *)(from + rows[k].src);
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
}

#if RLO_PACKED_DIRECT

/* A line of rows: squares side by side. */
#define RLO_SQUARES (L / T)

RLO_INLINE void rlo_move_tile(__global uchar *to,
                              __private uchar *stage,
                              __global const uchar *from,
                              __private const rlo_place *columns,
                              __private const rlo_place *rows) {
  rlo_vector r[RLO_SQUARES][T];
#pragma unroll
  for (int q = 0; q < RLO_SQUARES; ++q) {
    rlo_transpose(from, rows + q * T, r[q]);
  }
#pragma unroll
  for (int i = 0; i < NA; ++i) {
#if RLO_SQUARES == 2
    const ulong4 low = __builtin_astype(r[0][i], ulong4);
    const ulong4 high = __builtin_astype(r[1][i], ulong4);
#else
    const ulong4 low = (ulong4)(__builtin_astype(r[0][i], ulong2),
                                __builtin_astype(r[1][i], ulong2));
    const ulong4 high = (ulong4)(__builtin_astype(r[2][i], ulong2),
                                 __builtin_astype(r[3][i], ulong2));
#endif
    rlo_store_line(to + columns[i].dst, (rlo_line)(low, high));
  }
  (void)stage;
}

#else

/* Stores the first NB units of a row, and no more, because the stage may
 * already hold what follows. */
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

RLO_INLINE void rlo_move_tile(__global uchar *to,
                              __private uchar *stage,
                              __global const uchar *from,
                              __private const rlo_place *columns,
                              __private const rlo_place *rows) {
  rlo_vector r[T];
  rlo_transpose(from, rows, r);
#pragma unroll
  for (int i = 0; i < NA; ++i) {
    rlo_store_part(stage + columns[i].stage, r[i]);
  }
  (void)to;
}
#endif
#endif

#endif
