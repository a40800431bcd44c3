/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_NEST_H
#define RLO_HOST_NEST_H

#include "host/cast.h"
#include "host/kernels.h"
#include "relayout/problem.h"

/**
 * A loop nest over host memory: a problem without guards and quotients, and how it
 * is run. Everything is in bytes, but for the place of operands.
 *
 * Its *grain* is the run that both memories have in common. Two *sides* are
 * picked from its axes: along the source, where grains follow each other in the
 * source, and along the destination. The plane of the two sides is cut into
 * *tiles*; all other axes are loops around them.
 *
 *   for each tile, position i along the source, j along the destination:
 *     dst[to_dst(i) + j * dst_step ...] = src[i * src_step + to_src(j) ...]
 */

/** Most axes that a side joins. */
#define RLO__HOST_MAX_LEVELS 4

/** Most positions of a tile along a side. */
#define RLO__HOST_MAX_TILE 1024

/** Axes of the problem that continue each other in one memory, joined to one
 *  axis; with the steps of each in the other memory, the fastest first. */
typedef struct rlo__host_side {
  int32_t num_levels;
  int64_t extents[RLO__HOST_MAX_LEVELS];
  int64_t steps[RLO__HOST_MAX_LEVELS];
  /** Steps of the operands' place. */
  int64_t operand_steps[RLO__HOST_MAX_LEVELS];
  int64_t extent;
} rlo__host_side;

typedef enum rlo__host_loop_kind {
  RLO__HOST_LOOP_AXIS,
  /** Counts tiles along the source, along the destination. */
  RLO__HOST_LOOP_SRC,
  RLO__HOST_LOOP_DST,
  /** Counts the chunks of a long grain. */
  RLO__HOST_LOOP_GRAIN,
  RLO__HOST_LOOP_NUM_KINDS
} rlo__host_loop_kind;

typedef struct rlo__host_loop {
  rlo__host_loop_kind kind;
  int64_t count;
  int64_t src_step, dst_step, operand_step;
} rlo__host_loop;

/** The way in which a tile is moved. */
typedef enum rlo__host_move {
  /** Grain by grain. */
  RLO__HOST_MOVE_GRAINS,
  /** The same, with bytes that change places in each period of the grain. */
  RLO__HOST_MOVE_SHUFFLE,
  /** In registers, blocks of units at a time. */
  RLO__HOST_MOVE_BLOCKS,
  /** One run into a few streams, and a few streams into one run. */
  RLO__HOST_MOVE_SPLIT,
  RLO__HOST_MOVE_JOIN,
  /** The same grain into each place of a run. */
  RLO__HOST_MOVE_SPLAT
} rlo__host_move;

typedef struct rlo__host_nest {
  rlo__host_move move;
  /** Of a unit, if that is less than a byte; else 8. Less: all places and sizes count units,
   *  which are bytes in the stage. */
  int32_t bits;
  int64_t src_base, dst_base;
  int64_t grain_bytes;
  /** A grain that is shuffled: blocks one after the other, of units of `unit_bytes` that
   *  follow each other in the destination; `block` has their steps in the source. Some
   *  blocks are a period. Zeros if it is not. */
  rlo__host_side block;
  int64_t unit_bytes, period;
  /** Distance of neighbours along each side; grain_bytes where they touch. */
  int64_t src_step, dst_step;
  rlo__host_side along_src, along_dst;
  int64_t tile_src, tile_dst;
  /** At most grain_bytes. */
  int64_t chunk_bytes;
  /** Outermost first. A turn is one iteration of all of them: one tile. */
  int32_t num_loops;
  rlo__host_loop loops[RLO_MAX_AXES + 3];
  int64_t num_turns;
  /** Bytes that it writes. */
  int64_t written_bytes;
  /** What divides all steps between tiles and their columns in the destination: a power of
   *  two, at most a line. */
  int64_t alignment;
  bool is_past_caches;
  /** NULL if bytes are moved. Else what is in source bytes is grains, tiles and
   *  dst_step; all other places in the destination are its own. */
  const rlo__host_cast *cast;
  /** The operands' place at the origin, its step in a grain, and whether it changes along
   *  a run of the destination. */
  int64_t operand_base, operand_step;
  bool operand_varies;
  /** The source is `fill`, not the caller's. */
  bool reads_fill;
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
} rlo__host_nest;

/**
 * Chooses how a problem is run.
 * @param problem  canonical, without terms but for the place of operands; its
 *                 guards are none, or one PAD guard that never holds. Units are
 *                 1, 2 or 4 bits or whole bytes, and all positions lie within memories of less than
 *                 2^63 bytes.
 * @param cast     of a problem that computes: what becomes of values, borrowed for as long
 *                 as the nest is used; else NULL.
 * @param is_past_caches  whether the destination is to be stored past the
 *                 caches where that is possible.
 */
void rlo__host_nest_make(const rlo_problem *problem, const rlo__host_kernels *kernels,
                         const rlo__host_cast *cast, bool is_past_caches, rlo__host_nest *out);

/** Temporary memory of a thread that runs nests. */
typedef struct rlo__host_workspace rlo__host_workspace;

/** NULL if there is no memory. Free it with rlo__free. */
rlo__host_workspace *rlo__host_workspace_create(void);

/** The memories of a problem. */
typedef struct rlo__host_memories {
  const uint8_t *src;
  /** Lists of operands, and the length of each. */
  const uint8_t *operands;
  int64_t operand_length;
  uint8_t *dst;
} rlo__host_memories;

/** Runs the turns first <= t < end of the loops. Threads: safe for turns that do not
 *  overlap. */
void rlo__host_nest_run(const rlo__host_nest *nest, const rlo__host_kernels *kernels,
                        const rlo__host_memories *memories, int64_t first, int64_t end,
                        rlo__host_workspace *workspace);

#endif
