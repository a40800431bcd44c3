/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_BATCH_H
#define RLO_IR_BATCH_H

#include "relayout/batch.h"

/**
 * Checks the items of a batch against each other and against the number of its memories,
 * in O(n log n) time, and orders them so that those of one problem follow each other.
 * @param out_order  `count` pointers, to be released with rlo__free.
 * @return RLO_OK; what rlo__problem_validate returns; RLO_INVALID_ARGUMENT, RLO_OUT_OF_RANGE,
 *         RLO_OVERFLOW, RLO_UNSUPPORTED, as rlo_batch_run_host tells; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__batch_order(const rlo_batch_item *items, int32_t count,
                                          int32_t num_memories, const rlo_batch_item ***out_order);

#endif
