/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_SHUFFLE_H
#define RLO_HOST_SHUFFLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most vectors of a shuffle, and the bytes of those of streams. */
#define RLO__HOST_MAX_SHUFFLED 16
#define RLO__HOST_STREAM_WIDTH 16

/** Most streams that are stored past the caches at once. More of them leave parts of lines in
 *  the processor's buffers. */
#define RLO__HOST_STORED_STREAMS 6

/** Most bytes of a step, and of its masks. */
#define RLO__HOST_MAX_PERIOD     512
#define RLO__HOST_MAX_MASK_BYTES 4096

/**
 * How bytes change places. A step makes `num_vectors` vectors of as many. In one memory, or
 * in both, they are a run of `period` bytes for each step: vector k begins at k times its
 * width, and the last one ends with the run. In the other memory they are of streams:
 * vector k of step n begins at streams[k] + n * RLO__HOST_STREAM_WIDTH.
 */
typedef struct rlo__host_shuffle {
  int64_t num_vectors, period;
  /** Those of the destination if `is_split`, of the source if not. */
  const int64_t *streams;
  bool is_split;
  /** All that is stored begins at a multiple of 16 bytes, and of the vector's width in
   *  streams, and of a whole line if vectors are wider. */
  bool is_past_caches;
  /** num_vectors * num_vectors of a vector's bytes. */
  const uint8_t *masks;
} rlo__host_shuffle;

/** Runs so many steps. */
typedef void (*rlo__host_shuffle_fn)(uint8_t *dst, const uint8_t *src,
                                     const rlo__host_shuffle *shuffle, int64_t steps);

/** A shuffle of units of `unit_bytes`, a power of two up to 16, between one run and
 *  streams: unit k of stream t is unit num_streams * k + t of the run.
 *  @param masks  RLO__HOST_MAX_MASK_BYTES, which the shuffle keeps. */
void rlo__host_shuffle_streams(int64_t num_streams, int64_t unit_bytes, bool is_split,
                               uint8_t *masks, rlo__host_shuffle *out);

/** A shuffle of blocks that follow each other in both memories.
 *  @param places  for each of a block's units in the destination, its place in the source, in
 *                 bytes from the block's first one; borrowed.
 *  @param period  bytes, a multiple of a block, at least `width` and at most 8 times that.
 *  @param width   of a vector, a power of two.
 *  @param masks   as above. */
void rlo__host_shuffle_blocks(const int64_t *places, int64_t num_units, int64_t unit_bytes,
                              int64_t period, int64_t width, uint8_t *masks,
                              rlo__host_shuffle *out);

#endif
