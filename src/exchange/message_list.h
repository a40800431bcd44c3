/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_MESSAGE_LIST_H
#define RLO_EXCHANGE_MESSAGE_LIST_H

#include "move/move.h"
#include "relayout/exchange.h"

/** How a piece gets from its sender to its receiver. */
typedef enum rlo__route {
  /** One problem, from the source to the destination: both members are in host
   *  memory, or on one device of one cl_context. */
  RLO__ROUTE_DIRECT = 0,
  /** A message that the receiver's device copies: both are on devices of one
   *  cl_context. */
  RLO__ROUTE_COPY = 1,
  /** A message that goes through host memory, between any two members. */
  RLO__ROUTE_STAGED = 2,
  /** A message to or from another rank. */
  RLO__ROUTE_LINK = 3
} rlo__route;

/** The work of a member for a message. */
typedef struct rlo__task {
  /** NULL: nothing. */
  rlo__move *move;
  /** True for a task of the host that only copies one run of bytes, from the
   *  first of these offsets to the second. */
  bool is_run;
  int64_t run_src_offset, run_dst_offset;
} rlo__task;

/** A piece, or a part of one that is larger than a message may be. */
typedef struct rlo__message {
  /** `peer` is the sender. */
  rlo_redistribution_piece piece;
  int64_t receiver;
  /** The members that send and receive it; -1: another rank's. Never both. */
  int64_t from, to;
  rlo__route route;
  /** LINK: the other rank, in which round of pairs its turn is, and how many
   *  link messages of this direction the process starts before. */
  int32_t rank, round;
  int64_t turn;
  /** Its place among what its receiving member receives. */
  int64_t number;
  /** The work of its members, made by the user of the list: into the message
   *  (not if DIRECT), and into the destination. */
  rlo__task pack, place;
} rlo__message;

/**
 * All that the members of a process send and receive, in the order
 *
 *   (addend, round, sender, receiver, start of the box).
 *
 * Every rank computes the same order of the messages that it shares with
 * another one, without communication. In round k rank r is paired with r ^ k,
 * if the number of ranks is a power of two, else with (k - r) mod num_ranks.
 */
typedef struct rlo__message_list {
  rlo__message *items;
  size_t count, capacity;
} rlo__message_list;

/**
 * Makes a list.
 * @param members  of devices that take part.
 * @param link     may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a member stated twice, or of another
 *         rank, a device of this rank that is no member, an element beyond the
 *         limit; RLO_OUT_OF_RANGE for a rank that does not exist;
 *         RLO_OUT_OF_MEMORY. On failure *out_list is empty.
 */
RLO_NODISCARD rlo_status
rlo__message_list_init(const rlo_redistribution *plan,
                       const rlo_exchange_member *members,
                       int64_t num_members,
                       const rlo_exchange_link *link,
                       int64_t message_bytes,
                       rlo__message_list *out_list);

/** Releases the tasks too. Legal on zeroed storage. */
void rlo__message_list_deinit(rlo__message_list *list);

#endif
