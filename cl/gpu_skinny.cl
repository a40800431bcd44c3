/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family skinny, GPU class: joins RLO_SKINNY_N streams to structures of as many
 * units, or splits structures into streams, in registers. With RLO_SKINNY_SPLIT
 *
 *     for k < long_units, n < RLO_SKINNY_N:
 *         dst[dst_offset + n * ld + k] =
 *         src[src_offset + k * RLO_SKINNY_N + n]
 *
 * for every point of the grid, and without it src and dst the other way round.
 * The grid counts the lanes of all groups, not the groups: each lane moves one
 * piece of every stream, and neighbours move neighbouring ones. Streams are
 * moved RLO_PIECE_BYTES at once, structures RLO_RUN_BYTES, each from a multiple
 * of that. Arguments after the common eleven:
 *
 *   11  int lanes             points of the grid, < 2^31
 *   12  int long_axis         grid axis that counts pieces, -1: one
 *   13  rlo_index long_units  units of a stream, >= 1
 *   14  rlo_index ld          units from stream to stream
 *   15  the guards; with RLO_SKINNY_SPLIT x is the coefficient of n, y that of
 *       k, and without it the other way round
 *
 * For long_axis: extent ceil(long_units / W), W the units of a piece, and the
 * strides and the guard coefficients are those of W units.
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_PIECE_BYTES=16 -DRLO_SKINNY_N=3 -DRLO_PAD_GUARDS=1 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_PIECE_BYTES=8 -DRLO_RUN_BYTES=16 -DRLO_SKINNY_N=2 -DRLO_SKINNY_SPLIT=0 -DRLO_PAD_GUARDS=2 -DRLO_INDEX32=1
// define-matrix: -DRLO_UNIT_BYTES=8 -DRLO_PIECE_BYTES=16 -DRLO_SKINNY_N=3 -DRLO_SKIP_GUARDS=1
/* Bytes of a piece: 4, 8 or 16, a multiple of the unit. */
#ifndef RLO_PIECE_BYTES
#define RLO_PIECE_BYTES 16
#endif
/* The same of structures: the same, or 16 where a lane moves 16. */
#ifndef RLO_RUN_BYTES
#define RLO_RUN_BYTES RLO_PIECE_BYTES
#endif
#define RLO_WIDE_BYTES RLO_PIECE_BYTES

#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_skinny
#endif

/* 1: structures to streams; 0: streams to structures. */
#ifndef RLO_SKINNY_SPLIT
#define RLO_SKINNY_SPLIT 1
#endif

/* Units of a structure, 2..8. */
#ifndef RLO_SKINNY_N
#define RLO_SKINNY_N 3
#endif

#define N RLO_SKINNY_N
#if RLO_RUN_BYTES == RLO_PIECE_BYTES
typedef rlo_wide rlo_joined;
#else
typedef uint4 rlo_joined;
#endif
#define RLO_RUNS (N * RLO_PIECE_BYTES / RLO_RUN_BYTES)

/* Units of a piece, and words of four bytes of all that a lane moves. */
#define W         (RLO_PIECE_BYTES / RLO_UNIT_BYTES)
#define RLO_WORDS (N * RLO_PIECE_BYTES / 4)

/* A unit is made of parts: itself, or its words. */
#define RLO_PART_BYTES (RLO_UNIT_BYTES < 4 ? RLO_UNIT_BYTES : 4)
#define RLO_PARTS      (RLO_UNIT_BYTES / RLO_PART_BYTES)
#define RLO_WORD_PARTS (4 / RLO_PART_BYTES)

/* Part number p of units that follow each other in words. */
static inline uint rlo_part(__private const uint *words, const int p) {
#if RLO_UNIT_BYTES < 4
  const uint mask = (1u << (8 * RLO_PART_BYTES)) - 1;
  return words[p / RLO_WORD_PARTS] >>
             (8 * RLO_PART_BYTES * (p % RLO_WORD_PARTS)) &
         mask;
#else
  return words[p];
#endif
}

/* The part that becomes part number p of what is written. */
static inline int rlo_part_from(const int p) {
  const int unit = p / RLO_PARTS;
#if RLO_SKINNY_SPLIT
  const int from = unit % W * N + unit / W;
#else
  const int from = unit % N * W + unit / N;
#endif
  return from * RLO_PARTS + p % RLO_PARTS;
}

static inline void rlo_shuffle(__private const uint *in, __private uint *out) {
  RLO_UNROLL
  for (int w = 0; w < RLO_WORDS; ++w) {
#if RLO_UNIT_BYTES == 2
    /* As a vector: oclgrind does not know the funnel shift that clang makes of
     * two halves that are joined. */
    const uint word =
        as_uint((ushort2)((ushort)rlo_part(in, rlo_part_from(2 * w)),
                          (ushort)rlo_part(in, rlo_part_from(2 * w + 1))));
#else
    uint word = 0;
    RLO_UNROLL
    for (int k = 0; k < RLO_WORD_PARTS; ++k) {
      word |= rlo_part(in, rlo_part_from(w * RLO_WORD_PARTS + k))
              << (8 * RLO_PART_BYTES * k);
    }
#endif
    out[w] = word;
  }
}

/* Moves the first `units` of each stream one by one. */
static inline void rlo_move_units(__global const rlo_unit *from,
                                  __global rlo_unit *to,
                                  rlo_index ld,
                                  int units,
                                  ulong fill_lo,
                                  ulong fill_hi,
                                  __private const rlo_guard_list *guards) {
  for (int k = 0; k < units; ++k) {
    for (int n = 0; n < N; ++n) {
      const rlo_index stream = n * ld + k;
      const rlo_index structure = k * N + n;
#if RLO_SKINNY_SPLIT
      const long i = n, j = k;
      const rlo_index src_at = structure, dst_at = stream;
#else
      const long i = k, j = n;
      const rlo_index src_at = stream, dst_at = structure;
#endif
      if (rlo_is_read(guards, i, j)) {
        to[dst_at] = from[src_at];
      } else if (rlo_is_written(guards, i, j)) {
        rlo_store_fill(to + dst_at, fill_lo, fill_hi);
      }
    }
  }
}

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
#endif
    RLO_GROUP_PARAMS,
    int lanes,
    int long_axis,
    rlo_index long_units,
    rlo_index ld RLO_GUARD_PARAMS) {
  const uint lane = (uint)(RLO_GROUP * RLO_LOCAL + get_local_id(0));
  if (lane >= (uint)lanes) {
    return;
  }
  rlo_index_list index;
  rlo_guard_list guards;
  rlo_decode(lane, grid_extent, grid_magic, &index);
  RLO_GUARDS_LOAD
  __global const rlo_unit *from = rlo_source_at(
      src, src_offset_bytes, rlo_offset(&index, grid_src_stride));
  __global rlo_unit *to = rlo_target_at(dst, dst_offset_bytes,
                                        rlo_offset(&index, grid_dst_stride));
  const rlo_index begin = (rlo_index)rlo_index_of(&index, long_axis) * W;
  const int units = (int)min(long_units - begin, (rlo_index)W);
#if RLO_SKINNY_SPLIT
  const bool is_inside = rlo_is_inside(&guards, 0, N, W);
#else
  const bool is_inside = rlo_is_inside(&guards, 0, W, N);
#endif
  if (units < W || !is_inside) {
    rlo_move_units(from, to, ld, units, fill_lo, fill_hi, &guards);
    return;
  }
#if RLO_SKINNY_SPLIT
  rlo_joined in[RLO_RUNS];
  rlo_wide out[N];
  RLO_UNROLL
  for (int n = 0; n < RLO_RUNS; ++n) {
    in[n] = ((__global const rlo_joined *)from)[n];
  }
  rlo_shuffle((__private const uint *)in, (__private uint *)out);
  RLO_UNROLL
  for (int n = 0; n < N; ++n) {
    *(__global rlo_wide *)(to + n * ld) = out[n];
  }
#else
  rlo_wide in[N];
  rlo_joined out[RLO_RUNS];
  RLO_UNROLL
  for (int n = 0; n < N; ++n) {
    in[n] = *(__global const rlo_wide *)(from + n * ld);
  }
  rlo_shuffle((__private const uint *)in, (__private uint *)out);
  RLO_UNROLL
  for (int n = 0; n < RLO_RUNS; ++n) {
    ((__global rlo_joined *)to)[n] = out[n];
  }
#endif
}

#include "batch.cl"
