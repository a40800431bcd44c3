/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIECE_GROWTH_H
#define RLO_SERVICE_PIECE_GROWTH_H

#include "ir/piece.h"

enum { RLO__MAX_GROWTH_STEPS = 1024 };

/** The extents of a part of a box, which have grown from the smallest, and what
 *  they were before each step. */
typedef struct rlo__growth {
  int64_t extents[RLO_MAX_AXES];
  int32_t num_steps;

  struct {
    int32_t axis;
    int64_t extent;
  } steps[RLO__MAX_GROWTH_STEPS];
} rlo__growth;

/** The limits of growth, and what it is to shorten. Sides are
 *  [RLO__SIDE_SOURCE] and [RLO__SIDE_DESTINATION]. */
typedef struct rlo__growth_goal {
  /** Extents beyond which they cannot; borrowed. */
  const int64_t *most;
  int64_t max_bytes[2];
  /** The most bytes of both sides together. */
  int64_t max_sum_bytes;
  /** The lengths of runs from which on a transfer costs what its bytes cost; 0:
   *  any. */
  int64_t good_bytes[2];
  /** Longer runs are of no use. */
  int64_t max_run_bytes[2];
  /** The side along whose memory extents grow where all else is equal, and the
   *  bytes on it up to which they grow even where that gains nothing. */
  rlo__problem_side side;
  int64_t enough_bytes;
  /** Sides that are transferred in the parts. */
  bool is_moved[2];
  /** The parts are written independently. */
  bool is_written;
} rlo__growth_goal;

/** A problem for whose boxes or pieces extents are searched. */
typedef struct rlo__grower {
  const rlo_problem *problem;
  /** Extents begin as these, and are multiples of them. */
  int64_t atoms[RLO_MAX_AXES];
  /** The axes, those of the shortest steps on a side first. */
  int32_t order[2][RLO_MAX_AXES];
  /** The problem without guards in memory of no limits, where the footprints of
   *  all parts of equal extents are alike. */
  rlo_problem bare;
} rlo__grower;

/** Begins with a problem, which is borrowed, and undefined atoms. */
void rlo__grower_init(rlo__grower *grower, const rlo_problem *problem);

/** Grows extents from the atoms, always the axis that shortens the time of all
 *  transfers most: by large steps, then by small ones.
 *  @return what rlo__problem_footprint returns. */
RLO_NODISCARD rlo_status rlo__grower_run(rlo__grower *grower, const rlo__growth_goal *goal,
                                         rlo__growth *out);

/** The least extent of an axis from `extent` on in whole atoms and round
 *  numbers, by at most 1/divisor of it more; at most `most`. */
int64_t rlo__grower_round(const rlo__grower *grower, int32_t axis, int64_t extent, int64_t most,
                          int64_t divisor);

/** Takes the last step back; false if there is none. */
bool rlo__growth_pop(rlo__growth *growth);

#endif
