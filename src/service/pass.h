/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PASS_H
#define RLO_SERVICE_PASS_H

#include "service/piece_plan.h"

/**
 * One pass of a job over its bytes: a plan of pieces, and where they come from
 * and go to. A job is a list of passes, each of which begins when the one
 * before it has ended.
 */
typedef struct rlo__pass {
  rlo__piece_plan plan;
  /** Borrowed. */
  rlo_storage *storages[2];
  /** Sides whose bytes are used where they lie in memory. */
  bool is_in_memory[2];
  /** See rlo_job_options. */
  bool is_new_destination;
  /** Contexts that run the pieces; 0: the host does. */
  int32_t num_lanes;
  /** Pieces are copied to a device and back. */
  bool copies;
  rlo__staging staging;
  /** Above 0: both sides are in memory, and the host runs the problem in so
   *  many shares in place of pieces. */
  int32_t num_shares;
  /** What the problem loads, in host memory; NULL: nothing. Devices copy them
   *  once for each `index_number`, which is not 0. */
  const void *indices;
  int64_t index_bytes;
  uint64_t index_number;
  /** Which boxes of the pass, by its number, are in the destination already.
   *  Borrowed; NULL: none. */
  struct rlo__journal *journal;
  int32_t number;
} rlo__pass;

/** Of the staging memory, each box and each slot, in bytes. */
enum { RLO__STAGING_ALIGNMENT = 64 };

/** Pieces, or shares. */
static inline int64_t rlo__pass_num_pieces(const rlo__pass *pass) {
  return pass->num_shares > 0 ? pass->num_shares : pass->plan.num_pieces;
}

#endif
