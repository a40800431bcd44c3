/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_SEGMENT_IDS_H
#define RLO_IR_SEGMENT_IDS_H

#include "relayout/problem.h"

/**
 * The ids of a segment sum, and their inversion: from the segment of each row
 * to the rows of each segment (CSR). Rows and segments are counted row-major
 * over all batches.
 */
typedef struct rlo__segment_ids {
  /** Copies the ids into a row-major array: its box counts the rows in order,
   *  its source position is that of a row's id. As lowered, not canonical;
   * units of 32 or 64 bits. */
  rlo_problem problem;
  /** Rows of all batches and of one; segments of all batches and of one. */
  int64_t rows, batch_rows;
  int64_t segments, batch_segments;
  /** Width of the signed numbers of the order: 32 or 64. */
  int32_t order_bits;
} rlo__segment_ids;

/**
 * Writes the order, by a stable counting sort: `segments` + 1 offsets, where
 * offset s is the number of rows in the segments before s; then the rows of
 * segment 0, of segment 1, ..., each counted within its batch, ascending. Rows
 * whose id is out of range are left out.
 * @param memory  the ids, as ids->problem reads them.
 * @param order   segments + 1 + rows numbers.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__segment_ids_order(const rlo__segment_ids *ids, const void *memory,
                                                void *order);

#endif
