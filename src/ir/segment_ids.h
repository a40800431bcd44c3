/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_SEGMENT_IDS_H
#define RLO_IR_SEGMENT_IDS_H

#include "relayout/problem.h"

/**
 * Ids that are to be turned round: from the segment of each row to the rows of
 * each segment. Rows are counted row-major over all batches, segments too.
 */
typedef struct rlo__segment_ids {
  /** Moves the ids into a row-major array of theirs: its box counts the rows in
   *  order, its source position is that of a row's id. As lowered, not
   *  canonical; units of 32 or 64 bits. */
  rlo_problem problem;
  /** Rows in all and of one batch; segments in all and of one batch. */
  int64_t rows, batch_rows;
  int64_t segments, batch_segments;
  /** Width of the signed numbers of the order: 32 or 64. */
  int32_t order_bits;
} rlo__segment_ids;

/**
 * The order: `segments` + 1 offsets, of which number s says how many rows the
 * segments before s have; then the rows of segment 0, those of segment 1, ...,
 * each counted within its batch and rising. Rows whose id names no segment are
 * left out. A stable counting sort.
 * @param memory  the ids, as ids->problem reads them.
 * @param order   segments + 1 + rows numbers.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__segment_ids_order(const rlo__segment_ids *ids,
                                                const void *memory,
                                                void *order);

#endif
