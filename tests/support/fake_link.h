/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_FAKE_LINK_H
#define RLO_TESTS_SUPPORT_FAKE_LINK_H

#include <pthread.h>

#include "relayout/exchange.h"
#include "support/random.h"

enum { FAKE_MAX_RANKS = 16 };

/** A transfer that was started. */
typedef struct fake_transfer {
  bool is_active, is_done;
  /** It is done, and `read` is to be closed. */
  bool is_open;
  const void *from;
  void *to;
  int64_t bytes;
  int32_t peer;
  /** For a receive: the send whose message is read in the sender's memory. */
  struct fake_transfer *read;
  struct fake_transfer *next;
} fake_transfer;

/** The transfers of one direction between two ranks that were started and have
 *  not met the other side, in their order. */
typedef struct fake_queue {
  fake_transfer *first, *last;
} fake_queue;

/**
 * A link between the threads of a process, one for each rank. It has no memory
 * for messages: a transfer is done when both sides have started it. A random
 * part of the tests says that it is not done yet, though it is. It fails the
 * test for a slot that is in use, and for sides of different sizes.
 *
 * At random it has memory that is shared. What is sent from there is not
 * copied, the receiver's memory is spoilt, and so is the sender's when it was
 * read.
 */
typedef struct fake_net {
  pthread_mutex_t mutex;
  int32_t num_ranks;
  /** The rank of each device; at most 64. */
  int32_t ranks[64];

  struct fake_end {
    struct fake_net *net;
    int32_t rank;
    test_random random;
    fake_transfer transfers[2 * RLO_EXCHANGE_MAX_SLOTS];
    /** The bytes and the number of the started sends; bytes in flight, and
     *  their peak. */
    int64_t bytes_sent, num_sent, in_flight, most_in_flight;
    /** The number of the send that fails, from 1; 0: none. */
    int64_t failing_send;
    /** Memory for the data of sends, of one exchange at a time. */
    unsigned char *shared;
    int64_t shared_bytes;
    /** Receives that were read there. */
    int64_t num_read;
  } ends[FAKE_MAX_RANKS];

  fake_queue sends[FAKE_MAX_RANKS][FAKE_MAX_RANKS];
  fake_queue receives[FAKE_MAX_RANKS][FAKE_MAX_RANKS];
  /** A send has failed: everything fails. */
  bool is_broken;
} fake_net;

/** Device d is of rank d mod num_ranks. */
void fake_net_init(fake_net *net, int32_t num_ranks, uint64_t seed);

/** Fails the test if a transfer is left, unless the net is broken. */
void fake_net_deinit(fake_net *net);

rlo_exchange_link fake_net_link(fake_net *net, int32_t rank);

#endif
