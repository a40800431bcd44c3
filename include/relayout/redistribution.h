/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_REDISTRIBUTION_H
#define RELAYOUT_REDISTRIBUTION_H

#include "relayout/chain.h"
#include "relayout/sharding.h"

RLO_BEGIN_DECLS

/**
 * The plan of a redistribution: an array that devices hold by one sharding, in
 * one layout, is to be held by another one, in another layout, its dimensions
 * permuted. A device's destination is cut into pieces, each of which one device
 * sends. All devices compute the same plan, each its own part of it, without
 * communication.
 *
 * A piece is taken from the receiver itself if it holds it. Else one of the
 * devices that hold copies sends it; the copies of a tile take turns over the
 * receivers, so that each of them sends as many pieces of it as the others, or
 * one more.
 *
 * Threads: all functions are safe; a plan is immutable and may be shared.
 */
typedef struct rlo_redistribution rlo_redistribution;

/** The array to move; begin with RLO_REDISTRIBUTION_OPTIONS_INIT. All is
 *  borrowed for the call; the plan keeps references to the shardings. */
typedef struct rlo_redistribution_options {
  size_t struct_size;
  /** The whole array, in the layout of each device's part of it. */
  const rlo_shape *from, *to;
  rlo_sharding *from_sharding, *to_sharding;
  /** Dimension k of `to` is dimension permutation[k] of `from`, which may count
   *  from the end; NULL: the same dimension. */
  const int32_t *permutation;
  /** Devices 0 to num_devices - 1 take part on both sides; 0: as many as the
   *  sharding that names most of them, or 1. */
  int64_t num_devices;
} rlo_redistribution_options;

/** The options as their defaults: nothing to move. */
#define RLO_REDISTRIBUTION_OPTIONS_INIT \
  { .struct_size = sizeof(rlo_redistribution_options) }

/** A part of a device's destination, or of its source. */
typedef struct rlo_redistribution_piece {
  /** The device that sends it, or, of a piece that is sent, receives it; the
   *  device itself for what stays where it is. */
  int64_t peer;
  /** Which summand of an unreduced source it belongs to, from 0. Receivers add
   *  the summands of a box in this order. */
  int64_t addend;
  /** A box of the whole destination, by its own dimensions. Never empty. */
  rlo_box box;
  /** Packed: elements without padding in between. */
  int64_t bytes;
} rlo_redistribution_piece;

/** Takes a piece. A status other than RLO_OK ends the walk, which returns it.
 */
typedef rlo_status (*rlo_redistribution_fn)(void *payload, const rlo_redistribution_piece *piece);

/** Totals of a plan. A piece that another device sends is a message. Begin with
 *  RLO_REDISTRIBUTION_COST_INIT. */
typedef struct rlo_redistribution_cost {
  /** sizeof(rlo_redistribution_cost). */
  size_t struct_size;
  int64_t num_messages;
  /** Sent by all devices together, and the least that any plan can send: what
   *  devices need and do not hold. */
  int64_t bytes_sent, least_bytes_sent;
  int64_t largest_message_bytes;
  /** Bytes of the device that receives, or sends, most. */
  int64_t most_bytes_received, most_bytes_sent;
  /** Packed bytes of source and destination, of the device that holds most. */
  int64_t most_bytes_resident;
  /** Bytes that replicating the array first would send, and hold on each
   *  device. */
  int64_t replicate_bytes_sent, replicate_bytes_resident;
  /** The rounds of a pairwise exchange in which somebody sends. In round r
   *  devices a and b exchange what they have for each other where a XOR b is r,
   *  if the number of devices is a power of two, else where a + b is r modulo
   *  that number; so that no device has more than one partner at a time. */
  int64_t num_rounds;
} rlo_redistribution_cost;

#define RLO_REDISTRIBUTION_COST_INIT \
  { .struct_size = sizeof(rlo_redistribution_cost) }

/** Makes a plan. Grids take no memory and time by the number of devices; boxes
 *  take memory by their number, and are compared with those that overlap them
 *  in dimension 0.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if `to` is not `from` permuted, of one
 *          element type; RLO_UNSUPPORTED for an unreduced destination; the
 *          statuses of rlo_sharding_validate; RLO_OUT_OF_MEMORY. On failure
 *          *out_plan is NULL. */
RLO_API RLO_NODISCARD rlo_status
rlo_redistribution_create(const rlo_redistribution_options *options, rlo_redistribution **out_plan);

/**
 * Makes the adjoint of a plan: the redistribution of gradients from its
 * destination to its source, dimensions permuted back. With dy, the gradients
 * of what the devices received, it gives the gradient dx of the source.
 *
 * A source is one array, and dx its gradient, however it is held: every device
 * that holds a copy receives all of dx for it, and so does every device that
 * holds a summand, since x is the sum. The copies of a destination are either:
 * @param sums_copies  true: arrays of their own, each with the gradient of what
 *                     its device made of it. dx is their sum, and dy an
 *                     unreduced source: a gathering becomes a sum that is
 *                     scattered. The sum over all devices of <dy, y> is
 *                     <dx, x>, x counted once. false: one array, so that the
 *                     copies of dy are equal, as an adjoint leaves them, and dx
 *                     takes any.
 * @return RLO_OK; RLO_UNSUPPORTED for sums_copies where several devices hold a
 *         box of a list, since boxes have no form for summands; as
 *         rlo_redistribution_create. On failure *out_adjoint is NULL.
 */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_create_adjoint(
    const rlo_redistribution *plan, bool sums_copies, rlo_redistribution **out_adjoint);

/** Adds a reference and returns the plan; NULL for NULL. */
RLO_API rlo_redistribution *rlo_redistribution_retain(rlo_redistribution *plan);

/** Releases a reference; the last one frees the plan. NULL is legal. */
RLO_API void rlo_redistribution_release(rlo_redistribution *plan);

/** Returns the number of devices; 0 for NULL. */
RLO_API int64_t rlo_redistribution_num_devices(const rlo_redistribution *plan);

/** Visits the pieces of a device's destination, what it holds itself included,
 *  in the order of the source's tiles. Takes time of the order of their number.
 *  @return RLO_OK; RLO_OUT_OF_RANGE for a device that takes no part; what
 *          `fn` returned. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_visit_receives(const rlo_redistribution *plan,
                                                                   int64_t device,
                                                                   rlo_redistribution_fn fn,
                                                                   void *payload);

/** Visits the pieces of a device's source that it sends, what it keeps
 *  included, in the order of the destination's tiles. Otherwise as
 *  rlo_redistribution_visit_receives. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_visit_sends(const rlo_redistribution *plan,
                                                                int64_t device,
                                                                rlo_redistribution_fn fn,
                                                                void *payload);

/* The work for a piece, as problems on one device. A message is the piece's
 * box as a packed row-major array, by the destination's dimensions and in its
 * element size. Each function returns RLO_OK; RLO_OUT_OF_RANGE for a device
 * that takes no part, or a box that it does not hold; the statuses of
 * rlo_chain_lower and rlo_sharding_get_shard_shape. The caller releases
 * *out_list with rlo_problem_list_release; operand 0 is what is read. */

/** From the device's source to a message. */
RLO_API RLO_NODISCARD rlo_status
rlo_redistribution_lower_send(const rlo_redistribution *plan, int64_t device,
                              const rlo_redistribution_piece *piece, rlo_problem_list **out_list);

/** From a message to the device's destination. What belongs to other pieces
 *  stays as it is. A piece of addend 0 is written; later addends are added, by
 *  the rules of rlo_relayout_combine.
 *  @param fills  true for the first piece of a destination: the slots that hold
 *                no element take the layout's fill. It is written to the whole
 *                destination, if there are such slots. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_lower_receive(
    const rlo_redistribution *plan, int64_t device, const rlo_redistribution_piece *piece,
    bool fills, rlo_problem_list **out_list);

/** From the source of one device to the destination of another one, which may
 * be the same: for a piece that stays, and between devices whose memories one
 *  device can access. Otherwise as rlo_redistribution_lower_receive. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_lower_move(
    const rlo_redistribution *plan, int64_t sender, int64_t receiver,
    const rlo_redistribution_piece *piece, bool fills, rlo_problem_list **out_list);

/** Writes the layout's fill to the device's whole destination, if there are
 *  slots that hold no element, else a list of no problem: for pieces that come
 *  in any order, before the first of them. It reads no operand.
 *  @return also RLO_INVALID_ARGUMENT for an array without dimensions, of which
 *          a device has one piece or none. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_lower_fill(const rlo_redistribution *plan,
                                                               int64_t device,
                                                               rlo_problem_list **out_list);

/** Adds up the plan of all devices.
 *  @return RLO_OK; RLO_OVERFLOW for sums beyond 64 bits; RLO_UNSUPPORTED for
 *          more than 2^31 messages while there are rounds in which nobody
 *          sends, and for more than 2^27 pairs of tiles; RLO_OUT_OF_MEMORY;
 *          RLO_INVALID_ARGUMENT for a struct_size that this library does not
 *          know. */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_measure(const rlo_redistribution *plan,
                                                            rlo_redistribution_cost *out_cost);

/** The number of devices up to which rlo_redistribution_relabel finds the best
 *  assignment, and the largest piece of which it does. */
#define RLO_RELABEL_MAX_EXACT_DEVICES 512
#define RLO_RELABEL_MAX_PIECE_BYTES   (INT64_C(1) << 43)

/**
 * Finds which device should hold which part of the destination, where that is
 * free: so that fewest bytes are sent, and of equally good assignments one that
 * leaves most parts where they are. That is the assignment problem, of a matrix
 * of devices squared, in time of the order of their number cubed. Beyond
 * RLO_RELABEL_MAX_EXACT_DEVICES parts take devices in turn, the part with the
 * largest piece first: not always the best assignment, but never one that sends
 * more than the plan, in memory of the order of the number of devices.
 * @param out_devices  room for as many as there are devices. The part that the
 *                     plan gives to device k is for device out_devices[k], each
 *                     of which is there once; see rlo_sharding_relabel.
 * @return RLO_OK; RLO_OVERFLOW for a piece that is larger than
 *         RLO_RELABEL_MAX_PIECE_BYTES; RLO_UNSUPPORTED where more than 2^24
 *         pieces, of all holders, would be weighed twice; RLO_OUT_OF_MEMORY. On
 *         failure the contents of out_devices are undefined.
 */
RLO_API RLO_NODISCARD rlo_status rlo_redistribution_relabel(const rlo_redistribution *plan,
                                                            int64_t *out_devices);

RLO_END_DECLS

#endif
