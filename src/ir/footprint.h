/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_FOOTPRINT_H
#define RLO_IR_FOOTPRINT_H

#include "relayout/problem.h"

/** The memory that a problem reads, and the one that it writes. */
typedef enum rlo__problem_side { RLO__SIDE_SOURCE, RLO__SIDE_DESTINATION } rlo__problem_side;

/**
 * A set of bytes of a memory:
 *
 *   base_byte + sum(strides[d] * k_d) + r,   0 <= k_d < extents[d],
 *                                            0 <= r < run_bytes
 *
 * *Packed*, its bytes follow each other in the order of the memory: run after
 * run. No byte is in it twice.
 */
typedef struct rlo__lattice {
  int64_t base_byte;
  /** At most RLO_MAX_AXES; 0 for a single run. */
  int32_t num_dims;
  /** Above 1. */
  int64_t extents[RLO_MAX_AXES];
  /** In bytes, in falling order. Each is at least as wide as what the later ones and the
   *  run span, the last wider than the run. */
  int64_t strides[RLO_MAX_AXES];
  /** Length of the innermost contiguous run; 0 for no byte. */
  int64_t run_bytes;
  /** True if the problem is known to touch every bit of every byte. */
  bool is_exact;
} rlo__lattice;

/**
 * The bytes that a problem touches on one side: all of them, and others only if
 * !is_exact; none outside of the memory. One run if the side's form has terms,
 * or where its dims would overlap. The first byte is the first of a unit, and
 * with dims each run is a whole number of units.
 *
 * @return RLO_OK; RLO_OVERFLOW if a position in bits exceeds 64 bits;
 *         RLO_OUT_OF_MEMORY; or what rlo_problem_canonicalize returns.
 */
RLO_NODISCARD rlo_status rlo__problem_footprint(const rlo_problem *problem, rlo__problem_side side,
                                                rlo__lattice *out);

/**
 * The shortest run that is known to hold what a problem touches on one side, by
 * the bounds of its form where guards hold: shorter than the footprint's hull
 * where a guard follows several axes. No byte where the guards contradict each
 * other.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__problem_span(const rlo_problem *problem, rlo__problem_side side,
                                           rlo__lattice *out);

/** Like rlo__form_range, at the points of a box that is not empty where the
 *  guards that matter for a side hold, but for guard number `but`. *out_min is
 *  above *out_max where they contradict each other. */
bool rlo__form_range_guarded(const rlo_problem *problem, rlo__problem_side side,
                             const rlo_form *form, int32_t but, int64_t *out_min, int64_t *out_max);

/** The number of bytes, which is the size of packed memory. */
int64_t rlo__lattice_bytes(const rlo__lattice *lattice);

/** The single run from the first to the last byte. */
rlo__lattice rlo__lattice_hull(const rlo__lattice *lattice);

/** Tells if all runs begin and end at granules of a storage, or end with it. */
bool rlo__lattice_is_granular(const rlo__lattice *lattice, int64_t granule_bytes,
                              int64_t storage_bytes);

/** The shortest run of whole granules, or to the end of the storage, that holds
 *  the lattice, which lies in the storage. */
rlo__lattice rlo__lattice_widen(const rlo__lattice *lattice, int64_t granule_bytes,
                                int64_t storage_bytes);

/**
 * The lattice that has whole granules where this one, which begins with a granule,
 * has parts of them: its last dims, which do not step by granules, become part of
 * the run. It ends with the storage, if a single run is left. Lattices that begin
 * with granules and share no byte share none then. This one, where that would not
 * hold: where it leaves out granules within a run, and where the last run would end
 * behind the storage.
 */
rlo__lattice rlo__lattice_fill(const rlo__lattice *lattice, int64_t granule_bytes,
                               int64_t storage_bytes);

/** The position on a side. */
const rlo_form *rlo__side_form(const rlo_problem *problem, rlo__problem_side side);

/** Bits of one unit on a side. */
int32_t rlo__side_unit_bits(const rlo_problem *problem, rlo__problem_side side);

/** Tells if points where the guard does not hold leave the side alone. A padded
 * cell is written, but nothing is read for it. */
bool rlo__side_guarded_by(const rlo_guard *guard, rlo__problem_side side);

/** At how many points of the box the guards that matter for a side hold. */
typedef enum rlo__side_reach {
  RLO__SIDE_NONE,
  /** Also where the ranges of the guards' forms do not decide it. */
  RLO__SIDE_SOME,
  RLO__SIDE_ALL
} rlo__side_reach;

rlo__side_reach rlo__problem_reach(const rlo_problem *problem, rlo__problem_side side);

/**
 * The canonical problem whose destination takes the values that a form has at
 * the points that touch a side, or at more: guards are part of its extents
 * where they can be, its strides are 0 or positive and fall. A unit is one bit.
 *
 * @param out_is_exact  whether it has these values and no others: no term and
 *                      no guard is left or was dropped.
 * @return what rlo_problem_canonicalize returns; then *out is undefined.
 */
RLO_NODISCARD rlo_status rlo__problem_narrow(const rlo_problem *problem, rlo__problem_side side,
                                             const rlo_form *form, rlo_problem *out,
                                             bool *out_is_exact);

#endif
