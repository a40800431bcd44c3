/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_STATE_H
#define RLO_EXCHANGE_STATE_H

#include <stdatomic.h>

#include "base/status.h"
#include "exchange/agreement.h"
#include "move/move.h"

/* ---------------------------------------------------------------- messages */

/** The directions of a message, as numbers of arrays. */
enum { RLO__SENDS = 0, RLO__RECEIVES = 1 };

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
  /** True for a task of the host that only copies one run of bytes, which
   *  begins here in the member's memory. */
  bool is_run;
  int64_t run_offset;
} rlo__task;

/** A piece, or a part of one that is larger than a message may be. */
typedef struct rlo__message {
  /** `peer` is the sender. */
  rlo_redistribution_piece piece;
  int64_t receiver;
  /** The members that send and receive it, by direction; -1: another rank's, which at most
   *  one is. */
  int64_t members[2];
  rlo__route route;
  /** LINK: the other rank, in which round of pairs its turn is, and how many
   *  link messages of this direction the process starts before. */
  int32_t rank, round;
  int64_t turn;
  /** The work of its members, by direction: into the message (not if DIRECT), and into the
   *  destination. */
  rlo__task tasks[2];
  /** The message that the receiving member receives next. */
  struct rlo__message *next;

  /** The fields below are the state of a run. */
  /** Its sending end, while that has a slot. */
  struct rlo__end *sender;
  /** It is in the destination, or enqueued to be. */
  bool is_placed;
  /** DIRECT: the event of its task; checked in the end. */
  cl_event event;
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

/** Tells if a message needs a slot of a direction in this process. */
static inline bool rlo__message_needs_slot(const rlo__message *message, int32_t direction) {
  return message->route != RLO__ROUTE_DIRECT && message->members[direction] >= 0;
}

/* ----------------------------------------------------------------- members */

/** Memory for messages: of the host, or of a context. */
typedef struct rlo__scratch {
  /** NULL: the host. Borrowed from a member. */
  rlo_context *context;
  int64_t bytes;
  /** The slots that have memory, by direction. */
  int32_t counts[2];
  /** Indexed by the number of the end. */
  void *memory[2 * RLO_EXCHANGE_MAX_SLOTS];
  cl_mem buffers[2 * RLO_EXCHANGE_MAX_SLOTS];
  /** The memory of the sends is the link's. */
  bool is_shared;
} rlo__scratch;

/** A member with what a run knows of it. */
typedef struct rlo__member {
  int64_t device;
  /** Owned. */
  rlo__place *place;
  /** Memory for its messages, one of the exchange's. */
  rlo__scratch *scratch;
  /** Its shards, of which a run knows where they are. */
  rlo__memory src, dst;
  /** Writes the layout's fill before the first piece comes, unless the first
   *  piece is all of the destination and brings it. */
  rlo__task fill;
  /** The first message that it receives; NULL: there is none. */
  rlo__message *incoming;

  /** The fields below are the state of a run. */
  /** Completes when what was enqueued before the run has; released by it. */
  cl_event ready;
  bool is_filled;
  /** The first message that is not placed: pieces of a higher addend wait for
   *  it. */
  rlo__message *missing;
  /** DIRECT pieces before this one are placed. */
  rlo__message *next_direct;
  /** The event of the fill; checked in the end. */
  cl_event filled;
} rlo__member;

/* -------------------------------------------------------------------- runs */

typedef enum rlo__phase {
  /** SENDS: to be packed. RECEIVES: needs memory that the host can write. */
  RLO__PHASE_BEGIN = 0,
  /** Waits until a buffer is mapped. */
  RLO__PHASE_MAPPING,
  /** SENDS: packed. RECEIVES: has memory. */
  RLO__PHASE_READY,
  /** The link transfers it. */
  RLO__PHASE_MOVING,
  /** RECEIVES: it is there; waits for earlier addends. */
  RLO__PHASE_ARRIVED,
  /** Waits for the last command that uses its buffer. */
  RLO__PHASE_LEAVING
} rlo__phase;

/** An end of a message that is on its way, in a slot. */
typedef struct rlo__end {
  /** NULL: the slot is free. */
  rlo__message *message;
  int32_t direction;
  rlo__member *member;
  /** The slot's memory of the host; NULL: it has none. */
  void *own;
  /** The message in the member's place: the slot's buffer, and where the host
   *  reads or writes it. */
  rlo__memory data;
  rlo__phase phase;
  /** The event of the last command enqueued for it; NULL: none. Owned. */
  cl_event event;
  /** The address to which the slot's buffer is mapped; NULL: it is not. */
  void *mapped;
  /** `data` is where the message is in the source, or belongs in the
   *  destination. */
  bool is_in_place;
  /** RECEIVES: the link waits for its close, when the message was read. */
  bool is_open;
  /** Counted in scratch_in_use. */
  bool is_counted;
} rlo__end;

typedef enum rlo__run_state {
  RLO__RUN_IDLE = 0,
  RLO__RUN_MOVES,
  /** All messages are through; waits for the queues. */
  RLO__RUN_DRAINS,
  RLO__RUN_AGREES
} rlo__run_state;

struct rlo_exchange {
  atomic_int references;
  rlo_redistribution *plan;
  bool has_link;
  rlo_exchange_link link;
  int32_t num_slots, num_host_threads;
  uint64_t hash;
  rlo__member *members;
  int64_t num_members;
  rlo__scratch *scratches;
  int32_t num_scratches;
  rlo__message_list messages;
  /** How many of them need slots, by direction. */
  int64_t counts[2];
  /** Host memory of the largest message, if there are a link and contexts: a rank that has
   *  failed sends and receives there. */
  void *spare[2];
  /** What a run will do, and what the last one did. */
  rlo_exchange_info planned, info;

  /** The state of a run begins here. */
  rlo__run_state state;
  /** The slots, those of the sends first: the numbers by which the link knows
   *  them. */
  rlo__end ends[2 * RLO_EXCHANGE_MAX_SLOTS];
  /** Indexed by direction: the first message that has got no slot; how many the link has
   *  started; the end that uses the spare memory, or NULL. */
  size_t next[2];
  int64_t turns[2];
  const rlo__end *spare_user[2];
  /** This step has run a problem on the host; it has done anything. */
  bool has_computed, has_moved;
  /** Bytes of scratch of the host, and of contexts. */
  int64_t scratch_in_use[2];
  /** The first failure of this rank. */
  rlo__saved_error failure;
  bool is_lost;
  rlo__agreement agreement;
};

/** Records a failure within a run; the first one stays. */
static inline void rlo__exchange_fail(rlo_exchange *exchange, rlo_status status) {
  if (status != RLO_OK && exchange->failure.status == RLO_OK) {
    rlo__status_save(status, &exchange->failure);
  }
}

static inline bool rlo__exchange_has_failed(const rlo_exchange *exchange) {
  return exchange->failure.status != RLO_OK;
}

/* ------------------------------------------------------------ message_list */

/**
 * Makes the list of an exchange whose members are set.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a member stated twice, or of another
 *         rank, a device of this rank that is no member, an element beyond the
 *         limit; RLO_OUT_OF_RANGE for a rank that does not exist;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__message_list_init(rlo_exchange *exchange, int64_t message_bytes);

/* -------------------------------------------------------------------- ends */

/*
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
RLO_NODISCARD rlo_status rlo__ends_step(rlo_exchange *exchange, int32_t direction);

/** Tells if no message is left. */
bool rlo__ends_is_over(const rlo_exchange *exchange);

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
RLO_NODISCARD rlo_status rlo__task_run(const rlo__task *task, const rlo__memory *src,
                                       const rlo__memory *dst, cl_event wait, cl_event *out_event);

/** Tells if pieces of an addend may be placed in a member's destination. */
bool rlo__member_accepts(const rlo__member *member, int64_t addend);

/** Notes that a message is placed, and counts it. */
void rlo__exchange_set_placed(rlo_exchange *exchange, rlo__message *message);

/** Adds a message to two counters. */
void rlo__message_count(const rlo__message *message, int64_t *messages, int64_t *bytes);

/* --------------------------------------------------------------------- run */

/** Waits for all commands of a run that is not over and drops it. */
void rlo__run_abandon(rlo_exchange *exchange);

#endif
