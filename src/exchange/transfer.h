/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_TRANSFER_H
#define RLO_EXCHANGE_TRANSFER_H

#include "exchange/state.h"

/** The link's work for the two ends of a message. A failure that these return
 * is one of the link. */

/** Starts the transfer of an end that is READY, if all before it are started:
 *  then it is MOVING. */
RLO_NODISCARD rlo_status rlo__transfer_start(rlo_exchange *exchange,
                                             int32_t direction,
                                             rlo__end *end);

RLO_NODISCARD rlo_status rlo__transfer_test(rlo_exchange *exchange,
                                            int32_t direction,
                                            rlo__end *end,
                                            bool *out_is_done);

/** Finds where a message is that was received: `data` may become memory of the
 *  sender's, until it is closed, where a member on the host reads it. */
RLO_NODISCARD rlo_status rlo__transfer_open(rlo_exchange *exchange,
                                            rlo__end *end);

/** Says that a message was read, if it is open. */
RLO_NODISCARD rlo_status rlo__transfer_close(rlo_exchange *exchange,
                                             rlo__end *end);

#endif
