/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SUM_PARTS_H
#define RLO_PLAN_SUM_PARTS_H

#include "plan/planning.h"

/**
 * Sums to few cells in parts: work-groups share a cell's sum through scratch
 * memory, and the bits stay those of problem.h.
 *
 * The sum of an aligned run of 2^m blocks is a subtree of the whole sum. So the
 * blocks are cut into parts of 2^m, of which the last may have fewer; each part
 * is summed into scratch memory; and the same counter adds what they come to,
 * as if each were a block. What remains of the last part is added up before the
 * parts before it, as in the whole. No sum is -0, because lanes begin as +0.
 */

/** When a sum is cut, by the class of the device. */
typedef struct rlo__sum_limits {
  /** Groups for each compute unit: with so many a sum is left whole, and parts
   *  are cut for as many as these. */
  int64_t enough_groups, wanted_groups;
  /** The least that a part reads. */
  int64_t part_bytes;
  /** Blocks of a part that a kernel reads in turns, as long as there are
   *  `enough_groups` parts for each compute unit. */
  int64_t part_blocks;
} rlo__sum_limits;

rlo__sum_limits rlo__sum_limits_of(rlo_device_class device_class);

/** How a canonical sum is cut, along its outermost reduction axis. */
typedef struct rlo__sum_cut {
  int32_t axis;
  /** Parts of 2^m blocks; there are two or more. */
  int64_t num_whole;
  /** Points along the axis of each; and of one more part, or 0. */
  int64_t whole_points, last_points;
  /** Cells of the sum, and the type in which it is computed. The scratch memory
   *  has a row of cells for each part. */
  int64_t cells;
  rlo_dtype dtype;
  int64_t scratch_bytes;
} rlo__sum_cut;

/** The parts, with the one that may be shorter. */
int64_t rlo__sum_cut_parts(const rlo__sum_cut *cut);

/**
 * Chooses how a sum is cut.
 *
 * @param problem  canonical, in units of whole bytes.
 * @param max_scratch_bytes  0 or more.
 * @param why      takes the reason if it is not cut; may be NULL.
 * @return whether it is cut.
 */
bool rlo__sum_parts_choose(const rlo_problem *problem, const rlo_device_info *device,
                           rlo_device_class device_class, const rlo__sum_limits *limits,
                           int64_t max_scratch_bytes, rlo__sum_cut *out_cut, rlo__str *why);

/** A sum that may be cut: working memory, too large for the stack. */
typedef struct rlo__sum_parts {
  /** Canonical, of real numbers. */
  rlo_problem problem;
  rlo_device_class device_class;
  rlo__sum_cut cut;
} rlo__sum_parts;

/** Tells if a problem is a sum, and the options allow to cut it: they give
 *  scratch memory and name neither family nor schedule. */
bool rlo__sum_parts_are_allowed(const rlo_problem *problem, const rlo_plan_options *options);

/**
 * Makes the problem of a request canonical and chooses how it is cut.
 *
 * @param request  its options are not NULL; its problem is left unchanged.
 * @param limits   NULL: those of the class.
 * @return RLO_OK; as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__sum_parts_plan(const rlo__plan_request *request,
                                             const rlo__sum_limits *limits,
                                             rlo__sum_parts *out_parts, bool *out_is_cut);

/** Describes the plan: the number of parts, then the parameters of the kernel
 *  that sums them. */
void rlo__sum_parts_describe(const rlo__sum_parts *parts, const char *parameters, rlo__str *words);

/** The problem of the whole parts, or of the last one. Its source is the
 *  sum's, its destination the scratch memory. */
void rlo__sum_parts_get(const rlo__sum_parts *parts, bool is_last, rlo_problem *out_problem);

/**
 * Writes the launch that adds up the parts. Its source is the scratch memory,
 * its destination the sum's.
 * @param max_group_items  at least 1; the device's own limit holds, too.
 * @param launch  zeroed by the caller.
 * @return RLO_OK; RLO_OVERFLOW; RLO_OUT_OF_MEMORY; RLO_INTERNAL.
 */
RLO_NODISCARD rlo_status rlo__sum_parts_emit(const rlo__sum_parts *parts,
                                             const rlo_device_info *device, int64_t max_group_items,
                                             rlo__launch *launch);

#endif
