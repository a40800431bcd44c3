/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANNING_H
#define RLO_PLAN_PLANNING_H

#include "plan/geometry.h"

/** A request to the planner. Everything is borrowed for the call. */
typedef struct rlo__plan_request {
  /** In/out: becomes canonical, as far as the alignments allow. Undefined on
   *  failure. */
  rlo_problem *problem;
  const rlo_device_info *device;
  /** NULL: the defaults. */
  const rlo_plan_options *options;
  /** Powers of two that memory + offset are multiples of; 0: the device's own
   *  alignment. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  /** NULL: none. */
  const struct rlo__wisdom *wisdom;
  /** Fill in the candidates of the choice, which takes longer. */
  bool is_explaining;
} rlo__plan_request;

/** The rows that options name. */
typedef struct rlo__plan_rows {
  /** The class of the options, else of the device. */
  rlo_device_class device_class;
  /** NULL: the best. */
  const rlo__family *family;
  const rlo__schedule *schedule;
} rlo__plan_rows;

/** The state of one call of the planner: its request, once the options have
 * been read and the problem is canonical, and what families see of that. Not to
 * be copied: the query points to the device. */
typedef struct rlo__planning {
  /** The query of the families; its device is the one below. */
  rlo__family_query query;
  /** The problem in bytes, for families that join rows of packed elements.
   *  Owned; NULL: none, for the reason. */
  rlo_problem *joined_problem;
  rlo__joined_rows joined;
  char joined_reason[80];
  /** The facts of both problems, to which queries point. */
  rlo__geometry geometry;
  rlo__geometry joined_geometry;
  /** The class, and the family and the schedule that the options name. */
  rlo__plan_rows rows;
  /** The device of the request, and what the schedule leaves of it. */
  const rlo_device_info *whole_device;
  rlo_device_info device;
} rlo__planning;

/** Reads options that may be those of an older header: *options becomes `out`,
 *  unless it is NULL. @return RLO_OK; RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__plan_options_read(const rlo_plan_options **options,
                                                rlo_plan_options *out);

/** Finds the rows of the tables that options name. @param options  read; NULL:
 *  the defaults. @return RLO_OK; RLO_NOT_FOUND; RLO_UNSUPPORTED for a class
 * that the device does not run; RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__plan_rows_find(const rlo_device_info *device,
                                             const rlo_plan_options *options,
                                             rlo__plan_rows *out_rows);

/** Reads a request and makes its problem canonical. The caller ends what has
 *  begun. @return RLO_OK; as rlo_plan_explain. */
RLO_NODISCARD rlo_status rlo__planning_begin(const rlo__plan_request *request, rlo__planning *out);
void rlo__planning_end(rlo__planning *p);

/** Plans by this schedule from now on. Device features that it disables are
 *  cleared. */
void rlo__planning_set_schedule(rlo__planning *p, const rlo__schedule *schedule);

/** Checks that devices compute with units of the problem's sizes, and reach
 * them.
 *  @return RLO_OK; RLO_UNSUPPORTED; RLO_OVERFLOW. */
RLO_NODISCARD rlo_status rlo__planning_check_units(const rlo__planning *p);

/** Tells if kernels of bytes move such a unit: 8, 16, 32, 64 or 128 bits. */
bool rlo__planning_is_whole_unit(int32_t unit_bits);

/** The judgement of one row of the table, which need not be exact unless it
 *  exceeds `to_beat`; negative if the family refuses the problem, and `why`,
 *  unless NULL, takes the reason. */
double rlo__planning_judge(const rlo__planning *p, const rlo__family *family, double to_beat,
                           rlo__str *why);

/** Tells if a family can run the problem. */
bool rlo__planning_takes(const rlo__planning *p, const rlo__family *family);

/** Asks one row of the table. @return its judgement. */
double rlo__planning_ask(const rlo__planning *p, const rlo__family *family,
                         rlo_plan_candidate *out);

/** Writes the launch of a family that takes the problem. */
RLO_NODISCARD rlo_status rlo__planning_emit(const rlo__planning *p, const rlo__family *family,
                                            rlo__launch *launch);

/** "CPU" or "GPU". */
const char *rlo__planning_class_name(rlo_device_class device_class);

#endif
