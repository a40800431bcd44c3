/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_HANDLE_H
#define RLO_RUNTIME_PLAN_HANDLE_H

#include "runtime/prepared_launch.h"

enum {
  /** One for memory aligned as the device aligns it, one for memory aligned to
   *  the element only. */
  RLO__PLAN_MAX_LAUNCHES = 2
};

struct rlo_plan {
  atomic_int_fast32_t num_references;
  /** Retained. */
  rlo_context *context;
  rlo_plan_info info;
  char parameters[160];
  /** Bytes of an element on either side of the problem as it was given; 1 if
   *  they are not whole. */
  int64_t src_element_bytes, dst_element_bytes;
  /** What is in the destination is read too. */
  bool is_updating;
  /** Bytes of an index; 0 if the problem loads none. */
  int64_t index_element_bytes;
  /** The faster first; 0 for an empty problem. */
  int32_t num_launches;
  rlo__prepared_launch launches[RLO__PLAN_MAX_LAUNCHES];
};

/** The fastest launch that memories so aligned will do for; NULL if there is
 *  nothing to run. RLO_UNSUPPORTED if the plan needs more. */
RLO_NODISCARD rlo_status
rlo__plan_choose_launch(rlo_plan *plan,
                        int64_t src_alignment_bytes,
                        int64_t dst_alignment_bytes,
                        rlo__prepared_launch **out_launch);

/** As rlo_plan_prepare, of which this is the work. Threads: safe. */
RLO_NODISCARD rlo_status rlo__plan_prepare(rlo_plan *plan,
                                           rlo__build_priority priority);

#endif
