/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_AGREEMENT_H
#define RLO_EXCHANGE_AGREEMENT_H

#include <stdbool.h>

#include "relayout/exchange.h"

/** The message of a rank to others: fixed in size, and sent as bytes between
 *  machines of one order of bytes, as all messages are. */
typedef struct rlo__verdict {
  /** The lowest rank that failed; num_ranks: none. */
  int32_t rank;
  int32_t status;
  /** A hash of the settings that have to be equal on all ranks. */
  uint64_t hash;
  char message[496];
} rlo__verdict;

/**
 * Brings all ranks to one verdict, that of the lowest rank that failed: along a
 * binary tree, whose parents are (rank - 1) / 2, up to rank 0 and down again.
 * One transfer at a time, in slot 0.
 */
typedef struct rlo__agreement {
  const rlo_exchange_link *link;
  rlo__verdict verdict, received;
  /** The step, and whether its transfer is under way. */
  int32_t step;
  bool is_started;
} rlo__agreement;

/** Begins an agreement.
 *  @param link    borrowed until it is done.
 *  @param status  this rank's; if it is a failure, its record is the
 *                 thread's. */
void rlo__agreement_begin(rlo__agreement *agreement, const rlo_exchange_link *link,
                          rlo_status status, uint64_t hash);

/** Goes on without waiting. @return RLO_OK; a failure of the link. */
RLO_NODISCARD rlo_status rlo__agreement_step(rlo__agreement *agreement, bool *out_is_done);

/** The status that was agreed on; a failure is this thread's record,
 *  "rank 3: ...". */
RLO_NODISCARD rlo_status rlo__agreement_result(const rlo__agreement *agreement);

/** Steps an agreement until it is done. @return what was agreed on; a failure
 *  of the link. */
RLO_NODISCARD rlo_status rlo__agreement_run(rlo__agreement *agreement);

#endif
