/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLANNED_H
#define RLO_RUNTIME_PLANNED_H

#include "runtime/draft.h"
#include "runtime/plan_memo.h"
#include "runtime/prepared_launch.h"

enum {
  /** One for memory aligned as the device aligns it, one for memory aligned to
   *  the element only; and one in place of each, whose work-groups are smaller,
   *  RLO__PLANNED_SMALLER behind it. */
  RLO__PLANNED_SMALLER = 2,
  RLO__PLANNED_MAX_LAUNCHES = 4
};

/** The state of the second launch of a problem. */
typedef enum rlo__second_launch {
  /** It is not planned: only an enqueue on such memory needs it. */
  RLO__SECOND_LATER = 0,
  RLO__SECOND_THERE,
  /** It would be the same launch as the first. */
  RLO__SECOND_SAME,
  /** There is none: the caller promised aligned memory, or the family that the
   *  options name refuses such memory. */
  RLO__SECOND_NONE
} rlo__second_launch;

/**
 * A problem, and what was chosen for it in a context: shared by the plans of
 * equal problems, which the context remembers (runtime/plan_memo.h). Immutable,
 * except that its second launch is planned when it is first needed.
 */
typedef struct rlo__planned {
  /** First. Its key is the problem's record (ir/record.h), and the class and
   * the promise of alignment that the options had. */
  rlo__memo_entry entry;
  /** NULL for an empty problem, which needs no kernel. */
  const rlo__family *family;
  const rlo__schedule *schedule;
  rlo_plan_decision decision;
  double measured_fraction;
  char parameters[160];
  /** The family and schedule that the options forced, or NULL. Static. */
  const char *forced_family, *forced_schedule;
  rlo_device_class asked_class;
  /** The alignment that each launch relies on. */
  rlo__alignment alignments[RLO__PLANNED_MAX_LAUNCHES];
  /** The first is faster, and there unless the problem is empty. */
  rlo__prepared_launch launches[RLO__PLANNED_MAX_LAUNCHES];
  /** An rlo__second_launch; the second launch may be read if it is THERE. */
  atomic_int second;
  /** True when the launch in place of the first or second one may be read. */
  atomic_bool has_smaller[RLO__PLANNED_SMALLER];
} rlo__planned;

/**
 * Plans a problem for a context's device, or finds what was planned for an
 * equal one. Measures if the options want that.
 * @param options  NULL: the defaults.
 * @param out_planned  the caller calls rlo__planned_release.
 * @return as rlo_plan_create. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__planned_get(rlo_context *context,
                                          const rlo_problem *problem,
                                          const rlo_plan_options *options,
                                          rlo__planned **out_planned);

/** Makes one of a launch that runs on any memory.
 *  @param smallest  the same with work-groups of one item. */
RLO_NODISCARD rlo_status rlo__planned_of_launch(rlo_context *context,
                                                const rlo__launch *launch,
                                                const rlo__launch *smallest,
                                                rlo__planned **out_planned);

/** Drops a reference; NULL is legal. Threads: safe. */
void rlo__planned_release(rlo__planned *planned);

/** Plans the second launch, unless that is settled. @return RLO_OK, also if
 *  there is none; as rlo_plan_create. Threads: safe. */
RLO_NODISCARD rlo_status rlo__planned_complete(rlo_context *context,
                                               rlo__planned *planned);

/**
 * Chooses the fastest launch for memories of these alignments, and plans it if
 * it is not there.
 * @param out_index  of rlo__planned.launches.
 * @return RLO_OK; RLO_UNSUPPORTED if every launch needs larger alignments; as
 *         rlo_plan_create. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__planned_choose(rlo_context *context,
                                             rlo__planned *planned,
                                             int64_t src_alignment_bytes,
                                             int64_t dst_alignment_bytes,
                                             int32_t *out_index);

/**
 * Plans a launch again, for work-groups of at most so many items: what its
 * kernel can run is known when it is compiled, and may be less than the device
 * allows. Only once.
 * @param index  0 or 1.
 * @return RLO_OK: the launch RLO__PLANNED_SMALLER behind it is there;
 *         RLO_UNSUPPORTED where no family can; as rlo_plan_create. Threads:
 * safe.
 */
RLO_NODISCARD rlo_status rlo__planned_shrink(rlo_context *context,
                                             rlo__planned *planned,
                                             int32_t index,
                                             int64_t max_group_items);

#endif
