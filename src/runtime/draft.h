/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DRAFT_H
#define RLO_RUNTIME_DRAFT_H

#include "plan/planner.h"
#include "relayout/opencl.h"

/** Bytes that both memories of a launch are aligned to, at least. */
typedef struct rlo__alignment {
  int64_t src_bytes, dst_bytes;
} rlo__alignment;

/** The planner's work on one problem for one alignment: working memory, too
 *  large for the stack. */
typedef struct rlo__draft {
  /** A canonical copy. */
  rlo_problem problem;
  rlo__choice choice;
  rlo__launch launch;
} rlo__draft;

/** NULL without memory. The caller calls rlo__draft_destroy; NULL is legal
 *  there. */
rlo__draft *rlo__draft_create(void);
void rlo__draft_destroy(rlo__draft *d);

/** Plans a copy of the problem with the context's wisdom, for memories of these
 *  alignments. @param device  the context's, or one that is like it.
 *  @return as rlo_plan_create. */
RLO_NODISCARD rlo_status rlo__draft_plan(rlo_context *context,
                                         const rlo_device_info *device,
                                         const rlo_problem *problem,
                                         const rlo_plan_options *options,
                                         rlo__alignment a,
                                         rlo__draft *out_draft);

/** Returns the alignment that the launch of a draft relies on. */
rlo__alignment rlo__draft_alignment(const rlo__draft *d);

/** Returns whether the options ask to measure a problem that wisdom does not
 *  know. One that loads indices is not measured: its time depends on their
 *  values, which are unknown. */
bool rlo__draft_wants_measuring(const rlo_plan_options *options,
                                const rlo__draft *d);

/**
 * Measures for aligned memory, unless another thread has just done so, and
 * plans both drafts again. The fastest choice for aligned memory also serves
 * `element` if the canonical problem is the same. The caller holds the
 * context's `measuring`.
 * @param element  may be NULL.
 * @return as rlo_plan_create.
 */
RLO_NODISCARD rlo_status rlo__drafts_measure(rlo_context *context,
                                             const rlo_problem *problem,
                                             const rlo_plan_options *options,
                                             rlo__draft *aligned,
                                             rlo__draft *element);

#endif
