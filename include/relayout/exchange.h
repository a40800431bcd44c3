/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_EXCHANGE_H
#define RELAYOUT_EXCHANGE_H

#include "relayout/opencl.h"
#include "relayout/redistribution.h"

RLO_BEGIN_DECLS

/**
 * A redistribution made ready to run, for the devices that one process runs:
 * its *members*. What members send each other stays in the process; what other
 * processes send and receive goes through a *link*, which the caller provides.
 *
 * Pieces between two members on one OpenCL device, or both in host memory, are
 * moved at once from the source to the destination. Any other piece is packed
 * into a *message*, already in the destination's order, and placed in the
 * destination from there; in host memory, one that is a run of bytes there is
 * sent from the source and received in the destination as it is. Pieces larger
 * than a limit are several messages. At most num_slots messages are on their
 * way out of a process, and as many into it, so that the memory for them is
 * bounded and known beforehand.
 *
 * Summands of an unreduced source are added in the order of their numbers, so
 * that sums are the same on every run and for any members and ranks.
 *
 * Errors are collective: with a link, every rank calls the same functions in
 * the same order and gets the same status. A rank that fails within a run goes
 * on to send and receive, without regard to the contents, so that no other one
 * waits for it.
 *
 * Threads: one thread at a time uses an exchange.
 */
typedef struct rlo_exchange rlo_exchange;

/** Maximum number of messages in flight each way. */
#define RLO_EXCHANGE_MAX_SLOTS 64
/** Maximum of rlo_exchange_options.message_bytes. */
#define RLO_EXCHANGE_MAX_MESSAGE_BYTES 1073741824

/** A device of the redistribution that this process runs. */
typedef struct rlo_exchange_member {
  /** Its number in the plan. */
  int64_t device;
  /** Retained. NULL: its memory is the host's, and the host moves it. */
  rlo_context *context;
  /** An in-order queue of that context and its device; retained. NULL without a
   *  context. Members may share a queue. */
  cl_command_queue queue;
} rlo_exchange_member;

/** A member's memories during a run: its part of the source and room for its
 *  part of the destination, each of the size of
 *  rlo_sharding_get_shard_shape's shape. What has 0 bytes may be NULL. No
 *  destination overlaps another memory of the run. */
typedef struct rlo_exchange_memory {
  /** With a context; offsets as for rlo_enqueue. */
  cl_mem src;
  int64_t src_offset_bytes;
  cl_mem dst;
  int64_t dst_offset_bytes;
  /** Without one. */
  const void *host_src;
  void *host_dst;
} rlo_exchange_memory;

/**
 * How messages get to the devices of other processes: functions of the
 * caller's, called by the thread that uses the exchange. Begin with
 * RLO_EXCHANGE_LINK_INIT.
 *
 * The library starts transfers and asks whether they are done; no function
 * waits for another rank. Transfers between two ranks in one direction are
 * received in the order in which they were started, and both sides state the
 * same number of bytes.
 *
 * A failure of these functions ends the run, or the creation, on this rank at
 * once with its status: the link is lost, and with it every transfer that was
 * started, whose memory it no longer uses. What other ranks do then is the
 * link's affair; to fail with them it has to fail there too. Messages of
 * failures as for rlo_storage_ops (rlo_error_set).
 */
typedef struct rlo_exchange_link {
  /** sizeof(rlo_exchange_link). */
  size_t struct_size;
  /** Passed to each function; borrowed while the exchange lives. */
  void *payload;
  /** This process is rank 0 <= rank < num_ranks. */
  int32_t rank, num_ranks;
  /** The rank that runs a device; the same answer on every rank, always. */
  int32_t (*rank_of)(void *payload, int64_t device);
  /**
   * Starts a transfer. `slot` names it, 0 <= slot < 2 * num_slots, until `test`
   * says that it is done; no other transfer has the slot meanwhile.
   * @param data   `bytes` bytes, 1 to RLO_EXCHANGE_MAX_MESSAGE_BYTES, which
   *               stay valid, and if sent unchanged, until it is done.
   */
  rlo_status (*start_send)(void *payload, int32_t slot, int32_t rank, const void *data,
                           int64_t bytes);
  rlo_status (*start_receive)(void *payload, int32_t slot, int32_t rank, void *data, int64_t bytes);
  /** Sets whether the transfer of a slot is done, and makes progress with all.
   *  Not called again for a transfer that is done. */
  rlo_status (*test)(void *payload, int32_t slot, bool *out_is_done);
  /**
   * Optional, all three or none: spares a copy between ranks that can read each
   * other's memory.
   *
   * `share` provides memory for messages that this rank sends, which belongs to
   * the link and lives as long; exchanges of one link may get the same. Called
   * by rlo_exchange_create on all ranks, so that it may wait for them, and
   * fails on all of them or on none.
   * @param bytes       0: this rank needs none.
   * @param out_memory  aligned to 64 bytes; NULL: there is none, and messages
   *                    are in the exchange's own.
   */
  rlo_status (*share)(void *payload, int64_t bytes, void **out_memory);
  /**
   * Called once for a receive that is done and whose sender may have shared
   * memory, then `close` when the message was read: until then it stays, and a
   * send from shared memory is not done.
   * @param out_data  comes as the `data` of start_receive. May be set to where
   *                  the sender has the message; what is in `data` then is of
   *                  no use.
   */
  rlo_status (*open)(void *payload, int32_t slot, const void **out_data);
  rlo_status (*close)(void *payload, int32_t slot);
} rlo_exchange_link;

#define RLO_EXCHANGE_LINK_INIT \
  { .struct_size = sizeof(rlo_exchange_link) }

/** Begin with RLO_EXCHANGE_OPTIONS_INIT. */
typedef struct rlo_exchange_options {
  /** sizeof(rlo_exchange_options). */
  size_t struct_size;
  /** Retained. */
  rlo_redistribution *plan;
  /** The devices that this process runs, each once; copied. With a link, those
   *  whose rank_of is its own. */
  const rlo_exchange_member *members;
  int64_t num_members;
  /** Copied; its payload is borrowed while the exchange lives. One link may
   *  serve several exchanges, one at a time: none is created or started while
   *  another one runs. NULL: all devices that take part are members. */
  const rlo_exchange_link *link;
  /** Limit of a message, of at least one element; 0: 16 MiB. Between processes
   *  on one machine and in host memory 256 KiB is faster. The same on all
   *  ranks. */
  int64_t message_bytes;
  /** Messages in flight each way, 1 to RLO_EXCHANGE_MAX_SLOTS; 0: 4. */
  int32_t num_slots;
  /** Threads that move what is in host memory; 0: 1. */
  int32_t num_host_threads;
} rlo_exchange_options;

#define RLO_EXCHANGE_OPTIONS_INIT \
  { .struct_size = sizeof(rlo_exchange_options) }

/** Counters; begin with RLO_EXCHANGE_INFO_INIT. Of this process's members; what
 *  is sent between two of them is both sent and received. */
typedef struct rlo_exchange_info {
  /** sizeof(rlo_exchange_info). */
  size_t struct_size;
  /** Messages and packed bytes that a run sends and receives, and the largest
   *  message. Over all processes the bytes add up to the plan's least; where
   *  elements are parts of bytes, each message may take a byte more. */
  int64_t messages_to_send, bytes_to_send;
  int64_t messages_to_receive, bytes_to_receive;
  int64_t largest_message_bytes;
  /** The part of these that goes between two members without a message in
   *  memory. */
  int64_t direct_messages, direct_bytes;
  /** The same counts of the last run, so far. */
  int64_t messages_sent, bytes_sent;
  int64_t messages_received, bytes_received;
  /** The part of these that went through the link. */
  int64_t link_messages_sent, link_bytes_sent;
  int64_t link_messages_received, link_bytes_received;
  /** Messages in host memory and in buffers: allocated when the exchange is
   *  made, and the most in use at once in a run. */
  int64_t host_scratch_bytes, device_scratch_bytes;
  int64_t host_scratch_peak, device_scratch_peak;
  /** Rounds of pairs of ranks in which messages are sent; 0 without a link. */
  int64_t num_rounds;
} rlo_exchange_info;

#define RLO_EXCHANGE_INFO_INIT \
  { .struct_size = sizeof(rlo_exchange_info) }

/**
 * Makes an exchange: plans all that its members do and allocates the memory for
 * messages, up to num_slots each way for each context among the members and for
 * the host, of the size of the largest message; with a link and contexts, two
 * more in host memory. The plan of a message takes 4 KiB at each end that is in
 * host memory, and as much again where it has to write padding. Programs are built
 * by the first run. Collective with a link: waits for all ranks, and fails on all if it
 * fails on one, with the status and the sentence of the lowest rank that
 * failed, "rank 3: ...".
 *
 * @param out_exchange  on failure NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a member stated twice, or without
 *         its queue, a device that no member and no rank runs, other options or
 *         another plan on another rank; RLO_OUT_OF_RANGE for a device that
 *         takes no part, or a rank beyond num_ranks; RLO_UNSUPPORTED beyond the
 *         limits above; what rlo_plan_create, rlo_redistribution_lower_send and
 *         the like return; a failure of the link; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_exchange_create(const rlo_exchange_options *options,
                                                     rlo_exchange **out_exchange);

/** Adds a reference and returns the exchange; NULL for NULL. */
RLO_API rlo_exchange *rlo_exchange_retain(rlo_exchange *exchange);

/** Releases a reference; the last one frees the exchange, after it has waited
 *  for the commands of a run that was not stepped to its end. The link must
 *  have given up the transfers of such a run before. NULL is legal. */
RLO_API void rlo_exchange_release(rlo_exchange *exchange);

/**
 * Starts a run. Sources are read after the commands that were enqueued before
 * on the members' queues; until the run is done nobody else writes them, nor
 * uses the destinations. Does not wait: failures within a run are found by
 * rlo_exchange_step, also those of the memories.
 * @param memories  one for each member, in their order; copied. The objects are
 *                  borrowed until the run is done.
 * @return RLO_OK; RLO_INVALID_ARGUMENT while a run is not done, and for NULL,
 *         which with a link is a failure of the run; that of a link which is
 *         lost.
 */
RLO_API RLO_NODISCARD rlo_status rlo_exchange_start(rlo_exchange *exchange,
                                                    const rlo_exchange_memory *memories);

/**
 * Goes on with a run as far as that is possible without waiting, but for one
 * problem on the host and the build of a program.
 * @param out_is_done  set to true if the run is over, on success and on
 *                     failure; its commands are complete then.
 * @return RLO_OK; the failure of a run that is over: the same on all ranks,
 *         with the sentence of the lowest rank that failed, "rank 3: ...". The
 *         destinations are undefined then, and the exchange can run again,
 *         unless its link has failed. RLO_INVALID_ARGUMENT if none was started.
 */
RLO_API RLO_NODISCARD rlo_status rlo_exchange_step(rlo_exchange *exchange, bool *out_is_done);

/** Starts a run and steps until it is done. @return as both. */
RLO_API RLO_NODISCARD rlo_status rlo_exchange_run(rlo_exchange *exchange,
                                                  const rlo_exchange_memory *memories);

/** Copies the counters. @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or
 *  another struct_size. */
RLO_API RLO_NODISCARD rlo_status rlo_exchange_get_info(const rlo_exchange *exchange,
                                                       rlo_exchange_info *out_info);

RLO_END_DECLS

#endif
