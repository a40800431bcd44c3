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
 * block. What the block needs of the source are runs of consecutive bytes. They
 * are copied into local memory as they lie, in pieces of RLO_READ_BYTES at
 * multiples of their size, so that the ends of a run bring some of their
 * neighbours along; local memory keeps the runs at other distances, which equal
 * those in the source modulo RLO_STORE_BYTES. Then the units are gathered from
 * local memory in the order of the destination and written, several as one word
 * where they are smaller than that. Arguments after the common eleven; strides
 * and sizes are in bytes unless it says units:
 *
 *   11  long src_start       from the first byte of the source that may be read
 *                            to the position of the problem's origin
 *   12  long src_size        bytes that may be read
 *   13  long block_low       from the position of a group to the lowest byte
 *                            that its block reads, and
 *   14  long block_high      to behind the highest
 *   15  int run_low          from the first point of a run to its lowest byte
 *   16  int run_size
 *   17  int read_pieces      of all runs of a block
 *   18  int16 read_axes      lane 0: pieces of a run at most; lane k = 1..7:
 *                            extent of axis k that leads from run to run. Lane
 *                            8 + k: ceil(2^31 / extent), as uint
 *   19  int16 write_axes     lane k < 8: units along axis k of the block, the
 *                            fastest in the destination first. Lane 8 + k as
 *                            above
 *   20  int16 local_strides  lane k = 1..7: along axis k of read_axes; lane 8 +
 *                            k: along axis k of write_axes
 *   21  rlo_block strides    the same in the source along read_axes, and in
 *                            the destination along write_axes
 *   22  int write_runs       runs of the destination: points of the axes from
 *                            RLO_RUN_RANK on
 *   23  int words            whole words of each run, >= 1
 *   24  int words_magic      ceil(2^31 / words), as uint
 *   25  int rest             units of each run that are in no word
 *   26  int rest_magic       ceil(2^31 / rest), as uint
 *   27  int repeat_axis      grid axis that counts copies by RLO_REPEAT, -1:
 *                            one step
 *   28  rlo_index repeat_extent       copies in all, >= 1
 *   29  rlo_index repeat_src_stride   from copy to copy
 *   30  rlo_index repeat_dst_stride
 *   31  int repeat_local              of local memory
 *
 * then those of its guards and ends (gpu_block_guards.cl).
 */
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_READ_BYTES=16 -DRLO_WORD_UNITS=4 -DRLO_REPEAT=4 -DRLO_PIECES=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_READ_BYTES=16 -DRLO_WORD_UNITS=4 -DRLO_SHIFT=1 -DRLO_RUN_RANK=2
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_READ_BYTES=16 -DRLO_STORE_BYTES=4 -DRLO_READ_RANK=1 -DRLO_WRITE_RANK=8 -DRLO_PAD_GUARDS=2 -DRLO_ENDS=1
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_READ_BYTES=16 -DRLO_WORD_UNITS=16 -DRLO_RUN_RANK=2 -DRLO_CONTIGUOUS=1 -DRLO_ONE_TURN=1
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_READ_BYTES=16 -DRLO_WORD_UNITS=4 -DRLO_RUN_RANK=3 -DRLO_ONE_TURN=1 -DRLO_SHIFT=1
// define-matrix: -DRLO_UNIT_BYTES=8 -DRLO_READ_BYTES=16 -DRLO_WORD_UNITS=2 -DRLO_PAD_GUARDS=1 -DRLO_SHIFT=1
// define-matrix: -DRLO_UNIT_BYTES=16 -DRLO_INDEX32=1 -DRLO_PAD_GUARDS=1 -DRLO_SKIP_GUARDS=5 -DRLO_REPEAT=2 -DRLO_ENDS=2
#include "gpu_packed_word.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_packed
#endif

/* Bytes of the pieces in which runs are read: 16, or one unit. */
#ifndef RLO_READ_BYTES
#define RLO_READ_BYTES RLO_UNIT_BYTES
#endif

/* Bytes in which a piece is stored in local memory: at most its own, at least
 * a unit. */
#ifndef RLO_STORE_BYTES
#define RLO_STORE_BYTES RLO_READ_BYTES
#endif

/* 1: runs of the destination begin anywhere, and words at multiples of their
 * size. 0: runs begin with a word. */
#ifndef RLO_SHIFT
#define RLO_SHIFT 0
#endif

/* Axes of read_axes in use: 1..8. */
#ifndef RLO_READ_RANK
#define RLO_READ_RANK 3
#endif

/* Copies of a block that a group moves, and pieces of one copy that a lane has
 * in flight at a time. */
#ifndef RLO_REPEAT
#define RLO_REPEAT 1
#endif
#ifndef RLO_PIECES
#define RLO_PIECES 4
#endif

/* Local memory of a group: a multiple of 16. */
#ifndef RLO_LOCAL_BYTES
#define RLO_LOCAL_BYTES 16384
#endif

#if RLO_READ_BYTES == 16
typedef uint4 rlo_piece;
#else
typedef rlo_unit rlo_piece;
#endif
/* Places beyond the end of an axis, which nobody writes, may leave the range:
 * hence unsigned. */
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

static inline void rlo_put_piece(__local uchar *to, rlo_piece piece) {
#if RLO_READ_BYTES == 16 && RLO_STORE_BYTES == 8
  const ulong2 part = as_ulong2(piece);
  *(__local ulong *)to = part.x;
  *(__local ulong *)(to + 8) = part.y;
#elif RLO_READ_BYTES == 16 && RLO_STORE_BYTES == 4
  *(__local uint *)to = piece.x;
  *(__local uint *)(to + 4) = piece.y;
  *(__local uint *)(to + 8) = piece.z;
  *(__local uint *)(to + 12) = piece.w;
#else
  *(__local rlo_piece *)to = piece;
#endif
}

/* Copies what may be read, [low, high), of the piece at a position. */
static inline void rlo_copy_units(__global const uchar *src,
                                  long at,
                                  long low,
                                  long high,
                                  __local uchar *to) {
  for (int n = 0; n < RLO_READ_BYTES; n += RLO_UNIT_BYTES) {
    if (at + n >= low && at + n + RLO_UNIT_BYTES <= high) {
      *(__local rlo_unit *)(to + n) =
          *(__global const rlo_unit *)(src + (at + n));
    }
  }
}

/* Where a piece is read, in bytes from the lowest that the block reads, or a
 * little before it, and where it lies in local memory; this is -1 if the run
 * has no such piece. `at` is the address of the lowest byte of the block's
 * first run, modulo 2^32. */
typedef struct rlo_move {
  rlo_index from;
  int to;
} rlo_move;

static inline rlo_move rlo_move_of(
    rlo_place place, rlo_index run_from, int run_to, int run_size, uint at) {
  const int first = (int)(at & (RLO_READ_BYTES - 1));
  const int shift = (int)((at + (uint)run_from) & (RLO_READ_BYTES - 1));
  const int ahead = place.at[0] * RLO_READ_BYTES - shift;
  rlo_move move;
  move.from = run_from + ahead;
  move.to = ahead < run_size ? run_to + ahead + first : -1;
  return move;
}

/* Tells if there is a copy r; copy 0 is always there. */
static inline bool rlo_has_copy(uint r, uint copies) {
  return RLO_REPEAT == 1 || r < copies;
}

/* Units of a run before the first multiple of a word. `at` is the run's
 * address, modulo 2^32. */
static inline uint rlo_head_units(uint at) {
#if RLO_SHIFT
  return -at % RLO_WORD_BYTES / RLO_UNIT_BYTES;
#else
  return 0;
#endif
}

/* Unit k of the run at a place. */
static inline rlo_place rlo_join(rlo_place place, uint k, int16 axes) {
  const rlo_place unit = rlo_find(k, axes, 0, RLO_RUN_RANK);
  RLO_UNROLL
  for (int n = 0; n < RLO_RUN_RANK; ++n) {
    place.at[n] = unit.at[n];
  }
  return place;
}

/* The verdict on a word: where runs have several axes it is neither, and each
 * of its units is judged by itself. */
static inline rlo_verdict rlo_judge_word(
    __private const rlo_block_guards *guards, rlo_place place, uint r) {
#if RLO_RUN_RANK > 1 && RLO_WORD_UNITS > 1
  const rlo_verdict verdict = {false, false};
  return verdict;
#else
  return rlo_judge_units(guards, place, r, RLO_WORD_UNITS);
#endif
}

/* From the first unit of a run of the destination to unit k. */
static inline rlo_index rlo_run_bytes(uint k, rlo_block strides) {
#if RLO_WORD_UNITS == 1
  return (rlo_index)k * ((__private const rlo_index *)&strides)[RLO_WRITE_LANE];
#else
  (void)strides;
  return (rlo_index)(k * RLO_UNIT_BYTES);
#endif
}

/* Writes a unit of the run at `run` in local memory, if all guards allow it. */
static inline void rlo_write_unit(__private const rlo_block_guards *guards,
                                  rlo_place place,
                                  uint r,
                                  __local const uchar *block,
                                  int run,
                                  int16 strides,
                                  __global rlo_unit *to,
                                  ulong fill_lo,
                                  ulong fill_hi) {
  const rlo_verdict verdict = rlo_judge_units(guards, place, r, 1);
  if (verdict.is_inside) {
    rlo_place unit = {{0}};
    RLO_UNROLL
    for (int n = 0; n < RLO_RUN_RANK; ++n) {
      unit.at[n] = place.at[n];
    }
    *to = rlo_unit_at(block, run + rlo_local_at(unit, strides, RLO_WRITE_LANE));
  } else if (verdict.is_fill) {
    rlo_store_fill(to, fill_lo, fill_hi);
  }
}

__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
    RLO_GROUP_PARAMS,
    long src_start,
    long src_size,
    long block_low,
    long block_high,
    int run_low,
    int run_size,
    int read_pieces,
    int16 read_axes,
    int16 write_axes,
    int16 local_strides,
    rlo_block strides,
    int write_runs,
    int words,
    int words_magic,
    int rest,
    int rest_magic,
    int repeat_axis,
    rlo_index repeat_extent,
    rlo_index repeat_src_stride,
    rlo_index repeat_dst_stride,
    int repeat_local RLO_BLOCK_GUARD_PARAMS RLO_END_PARAMS) {
  __local uint4 memory[RLO_LOCAL_BYTES / 16];
#if RLO_CONTIGUOUS
  /* Words of local memory that hold no more than the end of another. */
  __local uchar *block = (__local uchar *)(memory + 1);
#else
  __local uchar *block = (__local uchar *)memory;
#endif
  const uint lane = (uint)get_local_id(0);
  rlo_index_list index;
  rlo_decode((uint)get_group_id(0), grid_extent, grid_magic, &index);
  const long r0 = (long)rlo_index_of(&index, repeat_axis) * RLO_REPEAT;
  const uint copies = (uint)min((long)repeat_extent - r0, (long)RLO_REPEAT);
  rlo_block_guards guards;
  RLO_EACH_GUARD(RLO_BLOCK_GUARD_LOAD)
  RLO_EACH_END(RLO_END_LOAD)
  const bool is_inside = rlo_block_is_inside(&guards, write_axes, copies);
  /* Positions in bytes: the origin itself may lie outside the memory. */
  const long from = (long)src_offset_bytes +
                    (long)rlo_offset(&index, grid_src_stride) * RLO_UNIT_BYTES;
  const long low = (long)src_offset_bytes - src_start;
  const long high = low + src_size;
  /* Both include the neighbours that come along. */
  const bool is_readable =
      from + block_low - (RLO_READ_BYTES - RLO_UNIT_BYTES) >= low &&
      from + block_high + (RLO_READ_BYTES - RLO_UNIT_BYTES) <= high;
  const long lowest = from + block_low;
  const uint run_at = (uint)((size_t)src + (ulong)from) + (uint)run_low;
  const rlo_index run_ahead = (rlo_index)((long)run_low - block_low);

  if (is_readable) {
    __global const uchar *source = src + lowest;
    for (uint first = lane; first < (uint)read_pieces;
         first += RLO_LOCAL * RLO_PIECES) {
      /* All are read before the first of them is stored. */
      rlo_piece piece[RLO_PIECES][RLO_REPEAT];
      int cell[RLO_PIECES][RLO_REPEAT];
      RLO_UNROLL
      for (uint n = 0; n < RLO_PIECES; ++n) {
        const uint p = first + n * RLO_LOCAL;
        const rlo_place place = rlo_find(p, read_axes, 0, RLO_READ_RANK);
        const rlo_index run_from = rlo_global_at(place, strides, 0);
        const int run_to = rlo_local_at(place, local_strides, 0);
        RLO_UNROLL
        for (uint r = 0; r < RLO_REPEAT; ++r) {
          const rlo_move move =
              rlo_move_of(place,
                          run_from + (rlo_index)r * repeat_src_stride,
                          run_to + (int)r * repeat_local,
                          run_size,
                          run_at);
          cell[n][r] =
              p < (uint)read_pieces && rlo_has_copy(r, copies) ? move.to : -1;
          if (cell[n][r] >= 0) {
            piece[n][r] =
                *(__global const rlo_piece *)(source + run_ahead + move.from);
          }
        }
      }
      RLO_UNROLL
      for (uint n = 0; n < RLO_PIECES; ++n) {
        RLO_UNROLL
        for (uint r = 0; r < RLO_REPEAT; ++r) {
          if (cell[n][r] >= 0) {
            rlo_put_piece(block + cell[n][r], piece[n][r]);
          }
        }
      }
    }
  } else {
    for (uint p = lane; p < (uint)read_pieces; p += RLO_LOCAL) {
      const rlo_place place = rlo_find(p, read_axes, 0, RLO_READ_RANK);
      for (uint r = 0; r < copies; ++r) {
        const rlo_move move = rlo_move_of(
            place,
            rlo_global_at(place, strides, 0) + (rlo_index)r * repeat_src_stride,
            rlo_local_at(place, local_strides, 0) + (int)r * repeat_local,
            run_size,
            run_at);
        const long at = from + (long)run_low + (long)move.from;
        if (move.to >= 0 && at >= low && at + RLO_READ_BYTES <= high) {
          rlo_put_piece(block + move.to,
                        *(__global const rlo_piece *)(src + at));
        } else if (move.to >= 0) {
          rlo_copy_units(src, at, low, high, block + move.to);
        }
      }
    }
  }

  barrier(CLK_LOCAL_MEM_FENCE);

  /* The block's first point in local memory. */
  const int origin = (int)(run_at & (RLO_READ_BYTES - 1)) - run_low;
  __global uchar *target = (__global uchar *)rlo_target_at(
      dst, dst_offset_bytes, rlo_offset(&index, grid_dst_stride));
  const uint target_at = (uint)(size_t)target;
  for (uint p = lane; p < (uint)(write_runs * words); p += RLO_LOCAL) {
    const uint run = rlo_part(p, words_magic);
    const uint w = p - run * (uint)words;
    const rlo_place place =
        rlo_find(run, write_axes, RLO_RUN_RANK, RLO_WRITE_RANK);
    const int cell =
        origin + rlo_local_at(place, local_strides, RLO_WRITE_LANE);
    const rlo_index at = rlo_global_at(place, strides, RLO_WRITE_LANE);
    RLO_UNROLL
    for (uint r = 0; r < RLO_REPEAT; ++r) {
      if (rlo_has_copy(r, copies)) {
        const rlo_index begin = at + (rlo_index)r * repeat_dst_stride;
        const uint k =
            rlo_head_units(target_at + (uint)begin) + w * RLO_WORD_UNITS;
        const int run_cell = cell + (int)r * repeat_local;
        __global rlo_word *word =
            (__global rlo_word *)(target + (begin + rlo_run_bytes(k, strides)));
        if (is_inside) {
          *word =
              rlo_gather_word(block, run_cell, k, write_axes, local_strides);
          continue;
        }
        const rlo_verdict verdict =
            rlo_judge_word(&guards, rlo_join(place, k, write_axes), r);
        if (verdict.is_inside) {
          *word =
              rlo_gather_word(block, run_cell, k, write_axes, local_strides);
        } else if (verdict.is_fill) {
          rlo_store_fill_word(word, fill_lo, fill_hi);
        } else if (RLO_WORD_UNITS > 1) {
          for (uint n = 0; n < RLO_WORD_UNITS; ++n) {
            rlo_write_unit(&guards,
                           rlo_join(place, k + n, write_axes),
                           r,
                           block,
                           run_cell,
                           local_strides,
                           (__global rlo_unit *)word + n,
                           fill_lo,
                           fill_hi);
          }
        }
      }
    }
  }
#if RLO_SHIFT
  /* The units that are left at both ends of a run. */
  for (uint p = lane; p < (uint)(write_runs * rest); p += RLO_LOCAL) {
    const uint run = rlo_part(p, rest_magic);
    const uint e = p - run * (uint)rest;
    const rlo_place place =
        rlo_find(run, write_axes, RLO_RUN_RANK, RLO_WRITE_RANK);
    const int cell =
        origin + rlo_local_at(place, local_strides, RLO_WRITE_LANE);
    const rlo_index at = rlo_global_at(place, strides, RLO_WRITE_LANE);
    RLO_UNROLL
    for (uint r = 0; r < RLO_REPEAT; ++r) {
      if (rlo_has_copy(r, copies)) {
        const rlo_index begin = at + (rlo_index)r * repeat_dst_stride;
        const uint head = rlo_head_units(target_at + (uint)begin);
        const int run_cell = cell + (int)r * repeat_local;
        const uint k = e < head ? e : e + (uint)words * RLO_WORD_UNITS;
        rlo_write_unit(
            &guards,
            rlo_join(place, k, write_axes),
            r,
            block,
            run_cell,
            local_strides,
            (__global rlo_unit *)(target + (begin + rlo_run_bytes(k, strides))),
            fill_lo,
            fill_hi);
      }
    }
  }
#endif
}
