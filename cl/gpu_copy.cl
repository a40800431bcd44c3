/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family copy, GPU class: one contiguous run.
 *
 *     for k < pieces * (RLO_WIDE_BYTES / RLO_UNIT_BYTES) + tail_units:
 *         dst[k] = src[k]
 *
 * Arguments:
 *
 *   0  __global const uchar *src
 *   1  ulong src_offset_bytes   a multiple of RLO_WIDE_BYTES
 *   2  __global uchar *dst
 *   3  ulong dst_offset_bytes   a multiple of RLO_WIDE_BYTES
 *   4  long pieces              of RLO_WIDE_BYTES
 *   5  long tail_units          behind them; fewer than a piece has
 *
 * Each group moves RLO_LOCAL * RLO_PIECES pieces, neighbouring lanes
 * neighbouring ones; the last group moves the tail too. There is at least one
 * group.
 */
// define-matrix: -DRLO_UNIT_BYTES=2 -DRLO_WIDE_BYTES=2
// define-matrix: -DRLO_UNIT_BYTES=1 -DRLO_WIDE_BYTES=8
/* Bytes that a lane moves at once: RLO_UNIT_BYTES .. 16, a power of two of
 * which both addresses are proven to be multiples. */
#ifndef RLO_WIDE_BYTES
#define RLO_WIDE_BYTES 16
#endif

#include "gpu_common.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL gpu_copy
#endif

/* Pieces of each lane, all of them in flight at a time. */
#ifndef RLO_PIECES
#define RLO_PIECES 4
#endif

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(RLO_LOCAL, 1, 1))) void RLO_KERNEL(
#endif
    __global const uchar *restrict src,
    ulong src_offset_bytes,
    __global uchar *restrict dst,
    ulong dst_offset_bytes,
    long pieces,
    long tail_units) {
  __global const rlo_wide *from =
      (__global const rlo_wide *)(src + src_offset_bytes);
  __global rlo_wide *to = (__global rlo_wide *)(dst + dst_offset_bytes);
  const long lane = (long)get_local_id(0);
  const long first = (long)RLO_GROUP * (RLO_LOCAL * RLO_PIECES);
  if (first + RLO_LOCAL * RLO_PIECES <= pieces) {
    rlo_wide piece[RLO_PIECES];
    for (int n = 0; n < RLO_PIECES; ++n) {
      piece[n] = from[first + n * RLO_LOCAL + lane];
    }
    for (int n = 0; n < RLO_PIECES; ++n) {
      to[first + n * RLO_LOCAL + lane] = piece[n];
    }
  } else {
    for (long k = first + lane; k < pieces; k += RLO_LOCAL) {
      to[k] = from[k];
    }
  }
  if (RLO_GROUP == RLO_NUM_GROUPS - 1) {
    __global const rlo_unit *unit_from =
        (__global const rlo_unit *)(from + pieces);
    __global rlo_unit *unit_to = (__global rlo_unit *)(to + pieces);
    for (long k = lane; k < tail_units; k += RLO_LOCAL) {
      unit_to[k] = unit_from[k];
    }
  }
}

#include "batch.cl"
