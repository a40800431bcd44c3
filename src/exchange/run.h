/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_RUN_H
#define RLO_EXCHANGE_RUN_H

#include "exchange/state.h"

/** Waits for all commands of a run that is not over and drops it. */
void rlo__run_abandon(rlo_exchange *exchange);

/** Steps an agreement until it is done. @return what was agreed on; a failure
 *  of the link. */
RLO_NODISCARD rlo_status rlo__run_agreement(rlo__agreement *agreement);

#endif
