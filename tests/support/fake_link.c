/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fake_link.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_end fake_end;

void fake_net_init(fake_net *net, int32_t num_ranks, uint64_t seed) {
  memset(net, 0, sizeof *net);
  net->num_ranks = num_ranks;
  (void)pthread_mutex_init(&net->mutex, NULL);
  for (int32_t d = 0; d < 64; ++d) {
    net->ranks[d] = d % num_ranks;
  }
  for (int32_t rank = 0; rank < num_ranks; ++rank) {
    net->ends[rank].net = net;
    net->ends[rank].rank = rank;
    net->ends[rank].random.state = seed + (uint64_t)rank;
  }
}

void fake_net_deinit(fake_net *net) {
  for (int32_t a = 0; a < net->num_ranks && !net->is_broken; ++a) {
    for (int32_t slot = 0; slot < 2 * RLO_EXCHANGE_MAX_SLOTS; ++slot) {
      ck_assert(!net->ends[a].transfers[slot].is_active);
    }
  }
  for (int32_t a = 0; a < net->num_ranks; ++a) {
    free(net->ends[a].shared);
  }
  (void)pthread_mutex_destroy(&net->mutex);
}

static int32_t rank_of(void *payload, int64_t device) {
  fake_end *end = payload;
  return end->net->ranks[device];
}

static void push(fake_queue *queue, fake_transfer *transfer) {
  if (queue->last != NULL) {
    queue->last->next = transfer;
  } else {
    queue->first = transfer;
  }
  queue->last = transfer;
}

static fake_transfer *pop(fake_queue *queue) {
  fake_transfer *transfer = queue->first;
  queue->first = transfer->next;
  if (queue->first == NULL) {
    queue->last = NULL;
  }
  return transfer;
}

static bool is_shared(const fake_end *end, const fake_transfer *send) {
  const unsigned char *from = send->from;
  return end->shared != NULL && from >= end->shared && from < end->shared + end->shared_bytes;
}

/* Transfers what both sides have started. */
static void meet(fake_net *net, int32_t from, int32_t to) {
  fake_queue *sends = &net->sends[from][to];
  fake_queue *receives = &net->receives[from][to];
  while (sends->first != NULL && receives->first != NULL) {
    fake_transfer *send = pop(sends);
    fake_transfer *receive = pop(receives);
    ck_assert_int_eq(send->bytes, receive->bytes);
    receive->is_done = true;
    if (is_shared(&net->ends[from], send)) {
      receive->read = send;
      memset(receive->to, 0xcc, (size_t)send->bytes);
    } else {
      memcpy(receive->to, send->from, (size_t)send->bytes);
      send->is_done = true;
    }
  }
}

static rlo_status start(fake_end *end, int32_t slot, fake_transfer transfer, bool is_send) {
  fake_net *net = end->net;
  (void)pthread_mutex_lock(&net->mutex);
  ck_assert_int_ge(slot, 0);
  ck_assert_int_lt(slot, 2 * RLO_EXCHANGE_MAX_SLOTS);
  ck_assert_int_gt(transfer.bytes, 0);
  ck_assert_int_ne(transfer.peer, end->rank);
  if (is_send && ++end->num_sent == end->failing_send) {
    net->is_broken = true;
  }
  bool is_broken = net->is_broken;
  if (!is_broken) {
    fake_transfer *made = &end->transfers[slot];
    ck_assert(!made->is_active && !made->is_open);
    *made = transfer;
    made->is_active = true;
    int32_t from = is_send ? end->rank : transfer.peer;
    int32_t to = is_send ? transfer.peer : end->rank;
    push(is_send ? &net->sends[from][to] : &net->receives[from][to], made);
    end->bytes_sent += is_send ? transfer.bytes : 0;
    end->in_flight += transfer.bytes;
    if (end->in_flight > end->most_in_flight) {
      end->most_in_flight = end->in_flight;
    }
    meet(net, from, to);
  }
  (void)pthread_mutex_unlock(&net->mutex);
  return is_broken ? rlo_error_set(RLO_IO, "the net is broken") : RLO_OK;
}

static rlo_status start_send(void *payload, int32_t slot, int32_t rank, const void *data,
                             int64_t bytes) {
  fake_transfer transfer = {.from = data, .bytes = bytes, .peer = rank};
  return start(payload, slot, transfer, true);
}

static rlo_status start_receive(void *payload, int32_t slot, int32_t rank, void *data,
                                int64_t bytes) {
  fake_transfer transfer = {.to = data, .bytes = bytes, .peer = rank};
  return start(payload, slot, transfer, false);
}

static rlo_status test(void *payload, int32_t slot, bool *out_is_done) {
  fake_end *end = payload;
  fake_net *net = end->net;
  (void)pthread_mutex_lock(&net->mutex);
  fake_transfer *transfer = &end->transfers[slot];
  bool is_broken = net->is_broken;
  ck_assert(is_broken || transfer->is_active);
  *out_is_done = !is_broken && transfer->is_done && !test_random_once_in(&end->random, 3);
  if (*out_is_done) {
    transfer->is_active = false;
    transfer->is_open = transfer->read != NULL;
    end->in_flight -= transfer->bytes;
  }
  (void)pthread_mutex_unlock(&net->mutex);
  return is_broken ? rlo_error_set(RLO_IO, "the net is broken") : RLO_OK;
}

static rlo_status share(void *payload, int64_t bytes, void **out_memory) {
  fake_end *end = payload;
  if (bytes > 0 && test_random_once_in(&end->random, 2)) {
    free(end->shared);
    end->shared_bytes = (bytes + 63) / 64 * 64;
    end->shared = aligned_alloc(64, (size_t)end->shared_bytes);
    ck_assert_ptr_nonnull(end->shared);
    *out_memory = end->shared;
  }
  return RLO_OK;
}

static rlo_status open_message(void *payload, int32_t slot, const void **out_data) {
  fake_end *end = payload;
  const fake_transfer *receive = &end->transfers[slot];
  ck_assert(!receive->is_active);
  ck_assert_ptr_eq(receive->to, *out_data);
  if (receive->is_open) {
    *out_data = receive->read->from;
    ++end->num_read;
  }
  return RLO_OK;
}

static rlo_status close_message(void *payload, int32_t slot) {
  fake_end *end = payload;
  fake_transfer *receive = &end->transfers[slot];
  (void)pthread_mutex_lock(&end->net->mutex);
  if (receive->is_open) {
    receive->is_open = false;
    memset((void *)(uintptr_t)receive->read->from, 0xdd, (size_t)receive->bytes);
    receive->read->is_done = true;
  }
  (void)pthread_mutex_unlock(&end->net->mutex);
  return RLO_OK;
}

rlo_exchange_link fake_net_link(fake_net *net, int32_t rank) {
  rlo_exchange_link link = RLO_EXCHANGE_LINK_INIT;
  link.payload = &net->ends[rank];
  link.rank = rank;
  link.num_ranks = net->num_ranks;
  link.rank_of = rank_of;
  link.start_send = start_send;
  link.start_receive = start_receive;
  link.test = test;
  link.share = share;
  link.open = open_message;
  link.close = close_message;
  return link;
}
