/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_SEGMENT_SUM_H
#define RLO_OPS_SEGMENT_SUM_H

#include "ir/segment_ids.h"
#include "ops/indexed.h"
#include "relayout/ops.h"

enum {
  /** Zeros, the fill between the elements, the sum. */
  RLO__SEGMENT_SUM_MAX_MOVES = 3
};

struct rlo_segment_sum {
  rlo__segment_ids ids;
  rlo_segment_sum_sizes sizes;
  /** Bits of an element. */
  int64_t src_bits, dst_bits;
  rlo_problem_list *problems;
};

/** Like rlo_segment_sum_infer, with words of the caller's in its messages. */
RLO_NODISCARD rlo_status rlo__segment_sum_infer(const rlo__indexed_words *words,
                                                const rlo_shape *src, const rlo_shape *ids,
                                                int32_t dim, int32_t batch_dims,
                                                int64_t num_segments, rlo_shape *out_shape);

#endif
