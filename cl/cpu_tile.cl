/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family tile, CPU class: the innermost axis moves.
 *
 *     for i < na, j < nb: dst[dst_offset + i * dst_ld + j] =
 *                         src[src_offset + i + j * src_ld]
 *
 * for every other point of the grid. The plane (axis a contiguous in the
 * source, axis b contiguous in the destination) is cut into tiles of RLO_TILE_A
 * x RLO_TILE_B units; one group moves one tile. Arguments after the common ten:
 *
 *   10  int a_axis          grid axis that counts tiles along a, -1: one tile
 *   11  int b_axis          grid axis that counts tiles along b, -1: one tile
 *   12  rlo_index na        extents of the plane in units, >= 1
 *   13  rlo_index nb
 *   14  rlo_index src_ld    units from j to j + 1 in the source, either sign
 *   15  rlo_index dst_ld    units from i to i + 1 in the destination
 *   16  the guards; x is the coefficient of i, y that of j
 *
 * For a_axis: extent ceil(na / RLO_TILE_A), source stride RLO_TILE_A,
 * destination stride RLO_TILE_A * dst_ld, guard coefficient RLO_TILE_A * x.
 * For b_axis: extent ceil(nb / RLO_TILE_B), source stride RLO_TILE_B * src_ld,
 * destination stride RLO_TILE_B, guard coefficient RLO_TILE_B * y.
 *
 * Two ways through a tile. *Direct*: blocks of one line along b are transposed
 * in registers and each line is stored at once; it needs either plain stores or
 * proof that every line is aligned (RLO_DST_ALIGN). *Staged*: a strip of rows
 * goes through private memory and leaves in whole aligned lines whatever the
 * alignment: tiles of one plane then own whole lines of each destination row,
 * so that their borders lean with the rows' phase. Staged also takes what is
 * left at the edges of the plane and tiles that a guard cuts.
 *
 * What the host should choose: tiles of 4 x 16 lines (the defaults; 4 x 32 for
 * large aligned planes), a as the fastest grid axis and b next, so that the
 * source is walked in order; RLO_NT if the destination is larger than the
 * caches. A plane with an extent below a line goes unit by unit: see
 * cpu_skinny.cl.
 */
#ifndef RLO_COMMON_CL
#include "common.cl"
#endif

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_tile
#endif

/* Units of a tile along a and along b, multiples of a line (64 bytes). Long
 * along b: rows then leave in long runs. */
#ifndef RLO_TILE_A
#define RLO_TILE_A (4 * RLO_LINE_UNITS)
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B (16 * RLO_LINE_UNITS)
#endif

/* 1: along a inside, b outside; 0: the other way round. */
#ifndef RLO_TILE_A_INSIDE
#define RLO_TILE_A_INSIDE 1
#endif

#define L RLO_LINE_UNITS
#define E RLO_UNIT_BYTES

/* Rows of a 16-byte lane group, which is also the columns of one lane. */
#define RLO_LANE_UNITS (16 / RLO_UNIT_BYTES)

#if RLO_VECTOR_SHUFFLE
/* clang-format off */
/* Interleave the low (high) halves of the units of each 16-byte lane. */
#if RLO_UNIT_BYTES == 1
#define RLO_LOW(a, b)                                                         \
  __builtin_shufflevector(                                                    \
      a, b, 0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69, 6, 70, 7, 71, 16, 80,   \
      17, 81, 18, 82, 19, 83, 20, 84, 21, 85, 22, 86, 23, 87, 32, 96, 33, 97, \
      34, 98, 35, 99, 36, 100, 37, 101, 38, 102, 39, 103, 48, 112, 49, 113,   \
      50, 114, 51, 115, 52, 116, 53, 117, 54, 118, 55, 119)
#define RLO_HIGH(a, b)                                                        \
  __builtin_shufflevector(                                                    \
      a, b, 8, 72, 9, 73, 10, 74, 11, 75, 12, 76, 13, 77, 14, 78, 15, 79, 24, \
      88, 25, 89, 26, 90, 27, 91, 28, 92, 29, 93, 30, 94, 31, 95, 40, 104,    \
      41, 105, 42, 106, 43, 107, 44, 108, 45, 109, 46, 110, 47, 111, 56, 120, \
      57, 121, 58, 122, 59, 123, 60, 124, 61, 125, 62, 126, 63, 127)
#elif RLO_UNIT_BYTES == 2
#define RLO_LOW(a, b)                                                      \
  __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41,  \
                          10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51,  \
                          24, 56, 25, 57, 26, 58, 27, 59)
#define RLO_HIGH(a, b)                                                     \
  __builtin_shufflevector(a, b, 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, 13,    \
                          45, 14, 46, 15, 47, 20, 52, 21, 53, 22, 54, 23,  \
                          55, 28, 60, 29, 61, 30, 62, 31, 63)
#elif RLO_UNIT_BYTES == 4
#define RLO_LOW(a, b)                                                     \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, \
                          12, 28, 13, 29)
#define RLO_HIGH(a, b)                                                    \
  __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,   \
                          27, 14, 30, 15, 31)
#elif RLO_UNIT_BYTES == 8
#define RLO_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define RLO_HIGH(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#endif
/* clang-format on */

/* Even (odd) lanes of a, then of b. */
#define RLO_EVEN_LANES(a, b) \
  __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define RLO_ODD_LANES(a, b) \
  __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15)

/* r[k] holds row k, four lanes of RLO_LANE_UNITS columns; after, lane q of
 * r[c] holds column q * RLO_LANE_UNITS + c. Each pass is a perfect shuffle. */
RLO_INLINE void rlo_transpose_lanes(__private rlo_line *r) {
#if RLO_LANE_UNITS > 1
#pragma unroll
  for (int pass = 1; pass < RLO_LANE_UNITS; pass *= 2) {
    rlo_line t[RLO_LANE_UNITS];
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS / 2; ++k) {
      const rlo_units a = __builtin_astype(r[k], rlo_units);
      const rlo_units b =
          __builtin_astype(r[k + RLO_LANE_UNITS / 2], rlo_units);
      t[2 * k] = __builtin_astype(RLO_LOW(a, b), rlo_line);
      t[2 * k + 1] = __builtin_astype(RLO_HIGH(a, b), rlo_line);
    }
#pragma unroll
    for (int k = 0; k < RLO_LANE_UNITS; ++k) {
      r[k] = t[k];
    }
  }
#else
  (void)r;
#endif
}

/*
 * Move a block of L x L units. STORE(column, line) takes line `column` of the
 * transposed block. Wide units stay in registers; for 1 and 2 bytes the block
 * is larger than the register file, so loops stay rolled and the four groups of
 * rows wait in private memory, which also keeps compilation short.
 */
#if RLO_UNIT_BYTES >= 4
#define RLO_UNROLL_BLOCK _Pragma("unroll")
#else
#define RLO_UNROLL_BLOCK _Pragma("unroll 1")
#endif

#define RLO_BLOCK(from, ld_bytes, STORE)                               \
  do {                                                                 \
    rlo_line part_[RLO_LANE_UNITS][4];                                 \
    RLO_UNROLL_BLOCK                                                   \
    for (int q_ = 0; q_ < 4; ++q_) {                                   \
      rlo_line r_[RLO_LANE_UNITS];                                     \
      _Pragma("unroll") for (int k_ = 0; k_ < RLO_LANE_UNITS; ++k_) {  \
        __global const uchar *p_ =                                     \
            (from) + (long)(q_ * RLO_LANE_UNITS + k_) * (ld_bytes);    \
        r_[k_] = *(__global const rlo_line_any *)p_;                   \
      }                                                                \
      rlo_transpose_lanes(r_);                                         \
      _Pragma("unroll") for (int k_ = 0; k_ < RLO_LANE_UNITS; ++k_) {  \
        part_[k_][q_] = r_[k_];                                        \
      }                                                                \
    }                                                                  \
    RLO_UNROLL_BLOCK                                                   \
    for (int k_ = 0; k_ < RLO_LANE_UNITS; ++k_) {                      \
      const rlo_line e0_ = RLO_EVEN_LANES(part_[k_][0], part_[k_][1]); \
      const rlo_line o0_ = RLO_ODD_LANES(part_[k_][0], part_[k_][1]);  \
      const rlo_line e1_ = RLO_EVEN_LANES(part_[k_][2], part_[k_][3]); \
      const rlo_line o1_ = RLO_ODD_LANES(part_[k_][2], part_[k_][3]);  \
      STORE(k_, RLO_EVEN_LANES(e0_, e1_));                             \
      STORE(k_ + RLO_LANE_UNITS, RLO_EVEN_LANES(o0_, o1_));            \
      STORE(k_ + 2 * RLO_LANE_UNITS, RLO_ODD_LANES(e0_, e1_));         \
      STORE(k_ + 3 * RLO_LANE_UNITS, RLO_ODD_LANES(o0_, o1_));         \
    }                                                                  \
  } while (0)
#else
#define RLO_BLOCK(from, ld_bytes, STORE)                           \
  do {                                                             \
    for (int k_ = 0; k_ < L; ++k_) {                               \
      rlo_unit line_[L];                                           \
      for (int j_ = 0; j_ < L; ++j_) {                             \
        __global const uchar *p_ = (from) + (long)j_ * (ld_bytes); \
        line_[j_] = *(__global const rlo_unit_any *)(p_ + k_ * E); \
      }                                                            \
      STORE(k_, *(__private const rlo_line_any *)line_);           \
    }                                                              \
  } while (0)
#endif

/* Lines of one staged row: a tile, the line before it that leans in, and one
 * more so that the last block may begin before the first. */
#define RLO_STAGE_LINES (RLO_TILE_B / RLO_LINE_UNITS + 2)
#define RLO_STAGE_BYTES (RLO_STAGE_LINES * RLO_LINE_BYTES)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
    RLO_COMMON_PARAMS,
    int a_axis,
    int b_axis,
    rlo_index na,
    rlo_index nb,
    rlo_index src_ld,
    rlo_index dst_ld RLO_GUARD_PARAMS) {
  rlo_index index[RLO_GRID_RANK];
  rlo_decode(get_group_id(0), n_grid, grid_extent, index);
  /* Corner of the tile; boxes below are relative to it. */
  __global const uchar *from =
      src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
  __global uchar *to =
      dst + dst_offset_bytes + rlo_dot(n_grid, index, grid_dst_stride) * E;
  const long a0 = a_axis < 0 ? 0 : (long)index[a_axis] * RLO_TILE_A;
  const long b0 = b_axis < 0 ? 0 : (long)index[b_axis] * RLO_TILE_B;
  const long ta = min((long)na - a0, (long)RLO_TILE_A);
  const long tb = min((long)nb - b0, (long)RLO_TILE_B);
  const bool is_first = b0 == 0;
  const bool is_last = b0 + tb == (long)nb;
  const long src_ld_bytes = (long)src_ld * E;
  const long dst_ld_bytes = (long)dst_ld * E;
  /* Read anew for each block, so that addresses are sums of a few registers.
   * Left alone, the compiler keeps a pointer per row and line of a block, more
   * than there are registers. */
  volatile long src_step = src_ld_bytes;
#if !RLO_LEAN
  volatile long dst_step = dst_ld_bytes;
#endif
#if RLO_GUARDS > 0
  rlo_guard guards[RLO_GUARDS];
  RLO_GUARDS_LOAD(guards);
#endif
  rlo_ahead ahead = {from, 0, 0, 0, src_ld_bytes};
  if (rlo_next(n_grid, grid_extent, index)) {
    const long next_a0 = a_axis < 0 ? 0 : (long)index[a_axis] * RLO_TILE_A;
    const long next_b0 = b_axis < 0 ? 0 : (long)index[b_axis] * RLO_TILE_B;
    ahead.row =
        src + src_offset_bytes + rlo_dot(n_grid, index, grid_src_stride) * E;
    ahead.row_bytes = min((long)na - next_a0, (long)RLO_TILE_A) * E;
    ahead.rows = min((long)nb - next_b0, (long)RLO_TILE_B);
  }

  /* The cells this tile may own; of them, those to be written; and those of the
   * plane that may be read: a block at an edge may reach back beyond the tile.
   */
  const rlo_box tile = {0, ta, RLO_LEAN && !is_first ? -(long)L : 0, tb};
  rlo_box written = tile;
  rlo_box readable = {-a0, (long)na - a0, -b0, (long)nb - b0};
#if RLO_GUARDS > 0
  if (!rlo_cut_box(guards, RLO_GUARDS, tile, &readable) ||
      !rlo_cut_box(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, tile, &written)) {
    rlo_move_cells(to,
                   from,
                   dst_ld_bytes,
                   src_ld_bytes,
                   tile,
                   tb,
                   is_first,
                   is_last,
                   guards,
                   rlo_fill_unit(fill_lo, fill_hi));
    return;
  }
#endif

  /* What the direct way leaves: up to four boxes around the one it takes. */
  rlo_box rest[4];
  int n_rest = 0;
#if !RLO_LEAN
  rlo_box box = {max(written.x0, readable.x0),
                 min(written.x1, readable.x1),
                 max(written.y0, readable.y0),
                 min(written.y1, readable.y1)};
#if RLO_NT
  box.y0 = (box.y0 + L - 1) / L * L; /* y0 >= 0: such tiles do not lean */
#endif
  box.x1 = box.x0 + max(0L, box.x1 - box.x0) / L * L;
  box.y1 = box.y0 + max(0L, box.y1 - box.y0) / L * L;
  if (box.x0 < box.x1 && box.y0 < box.y1) {
#define RLO_STORE_DIRECT(column, line) \
  RLO_STORE_ANY(to_block + (long)(column)*dst_s, line)
#if RLO_NT
#define RLO_STORE_ANY rlo_store_line
#else
#define RLO_STORE_ANY(p, line) (*(__global rlo_line_any *)(p) = (line))
#endif
#if RLO_TILE_A_INSIDE
    for (long j = box.y0; j < box.y1; j += L) {
      for (long i = box.x0; i < box.x1; i += L) {
#else
    for (long i = box.x0; i < box.x1; i += L) {
      for (long j = box.y0; j < box.y1; j += L) {
#endif
#pragma unroll
        for (int k = 0; k < L; k += 4) {
          rlo_prefetch_ahead(&ahead);
        }
        const long src_s = src_step;
        const long dst_s = dst_step;
        __global uchar *to_block = to + i * dst_ld_bytes + j * E;
        RLO_BLOCK(from + i * E + j * src_ld_bytes, src_s, RLO_STORE_DIRECT);
      }
    }
    const rlo_box around[4] = {{written.x0, box.x0, written.y0, written.y1},
                               {box.x0, box.x1, written.y0, box.y0},
                               {box.x0, box.x1, box.y1, written.y1},
                               {box.x1, written.x1, written.y0, written.y1}};
    for (int k = 0; k < 4; ++k) {
      if (around[k].x0 < around[k].x1 && around[k].y0 < around[k].y1) {
        rest[n_rest++] = around[k];
      }
    }
  } else {
    rest[n_rest++] = written;
  }
#else
  rest[n_rest++] = written;
#endif

  for (int part = 0; part < n_rest; ++part) {
    const rlo_box box = rest[part];
    if (box.x0 >= box.x1 || box.y0 >= box.y1) {
      continue;
    }
    rlo_line stage[L][RLO_STAGE_LINES];
    __private uchar *stage_bytes = (__private uchar *)stage;
    const long stage_y = box.y0 - L;
    const long c0 = clamp(readable.x0, box.x0, box.x1);
    const long c1 = clamp(readable.x1, c0, box.x1);
    const long r0 = clamp(readable.y0, box.y0, box.y1);
    const long r1 = clamp(readable.y1, r0, box.y1);
    if (c0 > box.x0 || c1 < box.x1 || r0 > box.y0 || r1 < box.y1) {
      const rlo_line fill = rlo_fill_line(fill_lo, fill_hi);
      for (int i = 0; i < L; ++i) {
        for (int k = 0; k < RLO_STAGE_LINES; ++k) {
          stage[i][k] = fill;
        }
      }
      for (long i = box.x0; i < box.x1; ++i) {
        if (i == c0) {
          i = c1;
          if (i == box.x1) {
            break;
          }
        }
        rlo_send_row(
            rlo_own_row(to + i * dst_ld_bytes, box, tb, is_first, is_last),
            stage_bytes,
            stage_y * E,
            &ahead);
      }
    }
    for (long i = c0; i < c1; i += L) {
      /* A strip at the edge reaches back for a whole block if it may. */
      const long n = min((long)L, c1 - i);
      const long strip = max(min(i, c1 - L), readable.x0);
      const bool is_whole = strip + L <= c1;
      long j = r0;
      while (is_whole && j < r1) {
        const long block = min(j, r1 - L);
        if (block < readable.y0 || block < stage_y) {
          break;
        }
        __private uchar *stage_block = stage_bytes + (block - stage_y) * E;
#define RLO_STORE_STAGE(column, line) \
  (*(__private rlo_line_any *)(stage_block + (column)*RLO_STAGE_BYTES) = (line))
        const long src_s = src_step;
        RLO_BLOCK(
            from + strip * E + block * src_ld_bytes, src_s, RLO_STORE_STAGE);
        j += L;
      }
      for (; j < r1; ++j) {
        __global const uchar *p = from + i * E + j * src_ld_bytes;
        __private uchar *q =
            stage_bytes + (i - strip) * RLO_STAGE_BYTES + (j - stage_y) * E;
        for (long k = 0; k < n; ++k) {
          *(__private rlo_unit_any *)(q + k * RLO_STAGE_BYTES) =
              *(__global const rlo_unit_any *)(p + k * E);
        }
      }
      for (long k = 0; k < n; ++k) {
        rlo_send_row(
            rlo_own_row(
                to + (i + k) * dst_ld_bytes, box, tb, is_first, is_last),
            stage_bytes + (i - strip + k) * RLO_STAGE_BYTES,
            stage_y * E,
            &ahead);
      }
    }
  }
}
