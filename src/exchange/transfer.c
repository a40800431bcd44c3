/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/transfer.h"

#include <inttypes.h>
#include <string.h>

/* The number by which the link knows an end. */
static int32_t link_slot(const rlo_exchange *x,
                         int32_t direction,
                         const rlo__end *e) {
  const int32_t slot = (int32_t)(e - x->ends[direction]);
  return direction == RLO__SENDS ? slot : x->num_slots + slot;
}

rlo_status rlo__transfer_start(rlo_exchange *x,
                               int32_t direction,
                               rlo__end *e) {
  const rlo__message *m = e->message;
  const rlo_exchange_link *link = &x->link;
  if (m->turn != x->turns[direction]) {
    return RLO_OK;
  }
  const int32_t slot = link_slot(x, direction, e);
  if (direction == RLO__SENDS) {
    RLO_TRY(RLO__CALLBACK(
        link->start_send(link->payload, slot, m->rank, e->data, m->piece.bytes),
        "the link, to rank %" PRId32,
        m->rank));
  } else {
    RLO_TRY(RLO__CALLBACK(
        link->start_receive(
            link->payload, slot, m->rank, e->data, m->piece.bytes),
        "the link, from rank %" PRId32,
        m->rank));
  }
  ++x->turns[direction];
  e->phase = RLO__PHASE_MOVING;
  x->has_moved = true;
  return RLO_OK;
}

rlo_status rlo__transfer_test(rlo_exchange *x,
                              int32_t direction,
                              rlo__end *e,
                              bool *out_is_done) {
  *out_is_done = false;
  return RLO__CALLBACK(
      x->link.test(x->link.payload, link_slot(x, direction, e), out_is_done),
      "the link's test");
}

rlo_status rlo__transfer_open(rlo_exchange *x, rlo__end *e) {
  const void *data = e->data;
  if (x->link.open == NULL) {
    return RLO_OK;
  }
  RLO_TRY(RLO__CALLBACK(
      x->link.open(x->link.payload, link_slot(x, RLO__RECEIVES, e), &data),
      "the link's open"));
  e->is_open = true;
  if (data == e->data) {
    return rlo__transfer_close(x, e);
  }
  if (x->members[e->message->to].place->context != NULL) {
    /* A device reads what is in its own memory. */
    memcpy(e->data, data, (size_t)e->message->piece.bytes);
    return rlo__transfer_close(x, e);
  }
  /* Nobody writes what `data` of an open message is. */
  e->data = (void *)(uintptr_t)data;
  e->is_in_place = false;
  return RLO_OK;
}

rlo_status rlo__transfer_close(rlo_exchange *x, rlo__end *e) {
  if (!e->is_open) {
    return RLO_OK;
  }
  e->is_open = false;
  return RLO__CALLBACK(
      x->link.close(x->link.payload, link_slot(x, RLO__RECEIVES, e)),
      "the link's close");
}
