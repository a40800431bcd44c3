/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_SEGMENT_SUM_H
#define RLO_OPS_SEGMENT_SUM_H

#include "relayout/indexed.h"

/** What turns ids round: rows are counted row-major over all batches. */
typedef struct rlo__segment_ids {
  /** Moves the ids into a row-major array: its box counts the rows in order,
   *  its source position is that of a row's id. As lowered, not canonical. */
  rlo_problem problem;
  /** Rows in all and of one batch; segments of one batch. */
  int64_t rows, batch_rows, batch_segments;
  /** Segments of all batches. */
  int64_t segments;
  /** Width of the numbers of the order. */
  int32_t order_bits;
} rlo__segment_ids;

struct rlo_segment_sum {
  rlo__segment_ids ids;
  rlo_segment_sum_sizes sizes;
  rlo_moves *moves;
};

#endif
