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
  /** How many pieces are in flight at once. */
  int32_t num_slots;
  /** Above 0: both sides are in memory, and the host runs the problem in so
   *  many shares in place of pieces. */
  int32_t num_shares;
  /** Which boxes of the pass, by its number, are in the destination already.
   *  Borrowed; NULL: none. */
  const struct rlo__journal *journal;
  int32_t number;
} rlo__pass;

/** The staging memory of a pass. */
typedef struct rlo__pass_layout {
  /** How many boxes are in work at once, and their staging memory. */
  int32_t num_boxes;
  int64_t box_bytes;
  int32_t num_slots;
  int64_t slot_bytes;
  /** Boxes, then slots, from a multiple of RLO__STAGING_ALIGNMENT on. */
  int64_t bytes;
} rlo__pass_layout;

/** Of each box and each slot, in bytes. */
enum { RLO__STAGING_ALIGNMENT = 64 };

rlo__pass_layout rlo__pass_get_layout(const rlo__pass *pass);

/** Pieces, or shares. */
int64_t rlo__pass_num_pieces(const rlo__pass *pass);

#endif
