/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_ENDS_H
#define RLO_EXCHANGE_ENDS_H

#include "exchange/state.h"

/**
 * The ends of the messages that are on their way: each goes through its phases
 * as far as it can without waiting.
 *
 * Why nothing waits for ever: let m be the first message, in the order of the
 * list, that is not through on all ranks. Each rank gives slots in this
 * order and frees one when its message is through, so that both ends of m have
 * slots. The link starts the transfers of a direction in this order too; all
 * before m have been started. So m is packed, transferred, and placed: all
 * pieces of earlier addends come before it.
 */

/** Gives free slots to the next messages of a direction and goes on with all.
 *  Failures are the exchange's (rlo__exchange_fail). @return RLO_OK; a failure
 *  of the link. */
RLO_NODISCARD rlo_status rlo__ends_step(rlo_exchange *exchange,
                                        int32_t direction);

/** Tells if no message of a direction is left. */
bool rlo__ends_is_over(const rlo_exchange *exchange, int32_t direction);

/** An event that some message waits for, borrowed; NULL: there is none. */
cl_event rlo__ends_find_event(const rlo_exchange *exchange);

/** Drops all, without regard to what is on its way; for queues that are
 *  finished. */
void rlo__ends_abandon(rlo_exchange *exchange);

/** Tells if a command is complete, and then releases its event; a failure is
 * the exchange's. True for NULL. */
bool rlo__ends_is_complete(rlo_exchange *exchange, cl_event *event);

/**
 * Runs a task on the host, or enqueues it on an in-order queue.
 * @param src, dst   in one place.
 * @param wait       what it waits for; NULL: nothing.
 * @param out_event  that of its last command, for the caller to release; NULL
 * if there is none, and on failure.
 */
RLO_NODISCARD rlo_status rlo__task_run(const rlo__task *task,
                                       const rlo__memory *src,
                                       const rlo__memory *dst,
                                       cl_event wait,
                                       cl_event *out_event);

/** Returns whether pieces of an addend may be placed in a member's
 *  destination. */
bool rlo__member_accepts(const rlo__member *member, int64_t addend);

/** Notes that a piece is placed. */
void rlo__member_set_placed(rlo__member *member, const rlo__message *message);

#endif
