/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_STATE_H
#define RLO_EXCHANGE_STATE_H

#include <stdatomic.h>

#include "base/status.h"
#include "exchange/agreement.h"
#include "exchange/message_list.h"

/** A member with what a run knows of it. */
typedef struct rlo__member {
  int64_t device;
  /** Owned. */
  rlo__place *place;
  /** The index, among the exchange's scratches, of the one for its messages. */
  int32_t scratch;
  /** Its shards, of which a run knows where they are. */
  rlo__memory src, dst;
  /** Writes the layout's fill before the first piece comes, unless the first
   *  piece is all of the destination and brings it. */
  rlo__task fill;
  /** The messages that it receives, in the order of the list; owned. */
  rlo__message **incoming;
  int64_t num_incoming;

  /** The fields below are the state of a run. */
  /** Completes when what was enqueued before the run has; released by it. */
  cl_event ready;
  bool is_filled;
  /** Which pieces are in the destination, or enqueued to be, and the first that
   *  is not: pieces of a higher addend wait for it. */
  bool *is_placed;
  int64_t first_missing;
  /** DIRECT pieces before this one are placed. */
  int64_t next_direct;
  /** The events of the DIRECT pieces, by incoming piece, and of the fill;
   *  checked in the end. */
  cl_event *events;
  cl_event filled;
} rlo__member;

/** Memory for messages: of the host, or of a context. */
typedef struct rlo__scratch {
  /** NULL: the host. Borrowed from a member. */
  rlo_context *context;
  int64_t bytes;
  int32_t counts[2];
  /** By direction and slot; owned. */
  void *memory[2][RLO_EXCHANGE_MAX_SLOTS];
  cl_mem buffers[2][RLO_EXCHANGE_MAX_SLOTS];
  /** memory[RLO__SENDS] is the link's. */
  bool is_shared;
} rlo__scratch;

/** The directions of a message, as numbers of arrays. */
enum { RLO__SENDS = 0, RLO__RECEIVES = 1 };

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
  rlo__phase phase;
  /** The event of the last command enqueued for it; NULL: none. Owned. */
  cl_event event;
  /** Where the host reads or writes the message. */
  void *data;
  /** The address to which the slot's buffer is mapped; NULL: it is not. */
  void *mapped;
  /** `data` is the exchange's spare memory. */
  bool uses_spare;
  /** RECEIVES: `data` is where the message belongs in the destination. */
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
  /** The messages that need slots, by direction, in the order of the list;
   *  owned. */
  rlo__message **lists[2];
  int64_t counts[2];
  /** With a link and contexts: host memory of the largest message, for what a
   *  rank that has failed sends, and receives. */
  void *spare[2];
  rlo_exchange_info info;

  /** The state of a run begins here. */
  rlo__run_state state;
  rlo__end ends[2][RLO_EXCHANGE_MAX_SLOTS];
  /** In lists: the next message to get a slot; and how many the link has
   *  started. */
  int64_t next[2], turns[2];
  bool is_spare_used;
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
static inline void rlo__exchange_fail(rlo_exchange *exchange,
                                      rlo_status status) {
  if (status != RLO_OK && exchange->failure.status == RLO_OK) {
    rlo__status_save(status, &exchange->failure);
  }
}

static inline bool rlo__exchange_has_failed(const rlo_exchange *exchange) {
  return exchange->failure.status != RLO_OK;
}

#endif
