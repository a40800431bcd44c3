/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_SEGMENT_SUM_H
#define RLO_OPS_SEGMENT_SUM_H

#include "ir/segment_ids.h"
#include "relayout/indexed.h"

struct rlo_segment_sum {
  rlo__segment_ids ids;
  rlo_segment_sum_sizes sizes;
  rlo_moves *moves;
};

#endif
