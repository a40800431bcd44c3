/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "exchange/state.h"
#include "runtime/context.h"
#include "shard/redistribution.h"

typedef struct builder {
  rlo_exchange *exchange;
  /* The member of each device; -1: another process runs it. */
  int64_t *member_of;
  int64_t most_elements;
  /* The member whose pieces are visited, and their direction. */
  int64_t member;
  bool sends;
} builder;

/* ----------------------------------------------------------------- members */

static rlo_status find_rank(const rlo_exchange *x, int64_t device, int32_t *out_rank) {
  *out_rank = x->link.rank_of(x->link.payload, device);
  RLO_FAIL_IF(*out_rank < 0 || *out_rank >= x->link.num_ranks, RLO_OUT_OF_RANGE,
              "rank_of says that rank %" PRId32 " runs device %" PRId64 "; the link has %" PRId32
              " ranks",
              *out_rank, device, x->link.num_ranks);
  return RLO_OK;
}

/* The members are the devices of this rank. */
static rlo_status check_rank(const builder *b, int64_t device) {
  const rlo_exchange *x = b->exchange;
  const bool is_member = b->member_of[device] >= 0;
  int32_t rank;
  RLO_TRY(find_rank(x, device, &rank));
  RLO_FAIL_IF(is_member != (rank == x->link.rank), RLO_INVALID_ARGUMENT,
              "device %" PRId64 " is %s of rank %" PRId32 ", but rank_of says that rank %" PRId32
              " runs it",
              device, is_member ? "a member" : "no member", x->link.rank, rank);
  return RLO_OK;
}

static rlo_status find_members(builder *b) {
  const rlo_exchange *x = b->exchange;
  const int64_t num_devices = x->plan->num_devices;
  b->member_of = rlo__alloc_array((size_t)num_devices, sizeof *b->member_of);
  RLO_TRY_MEMORY(b->member_of);
  for (int64_t device = 0; device < num_devices; ++device) {
    b->member_of[device] = -1;
  }
  for (int64_t k = 0; k < x->num_members; ++k) {
    int64_t *member = &b->member_of[x->members[k].device];
    RLO_FAIL_IF(*member >= 0, RLO_INVALID_ARGUMENT, "device %" PRId64 " is stated as two members",
                x->members[k].device);
    *member = k;
  }
  for (int64_t device = 0; x->has_link && device < num_devices; ++device) {
    RLO_TRY(check_rank(b, device));
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ routes */

static rlo__route find_route(const rlo_context *from, const rlo_context *to) {
  if (from == NULL || to == NULL) {
    return from == to ? RLO__ROUTE_DIRECT : RLO__ROUTE_STAGED;
  }
  if (from->cl_context != to->cl_context) {
    return RLO__ROUTE_STAGED;
  }
  return from->cl_device == to->cl_device ? RLO__ROUTE_DIRECT : RLO__ROUTE_COPY;
}

static rlo_status set_other_rank(const rlo_exchange *x, int64_t device, rlo__message *m) {
  RLO_FAIL_IF(!x->has_link, RLO_INVALID_ARGUMENT,
              "device %" PRId64
              " takes part, but is no member, and there is no link to other processes",
              device);
  m->route = RLO__ROUTE_LINK;
  return find_rank(x, device, &m->rank);
}

/* -------------------------------------------------------------------- cuts */

/* Finds a part by its number, in order: of one index in the dimensions before
 * `cut`, of up to `step` along it, whole behind it. False if there are fewer
 * parts. */
static bool get_part(const rlo_box *whole, int32_t cut, int64_t step, int64_t number,
                     rlo_box *part) {
  for (int32_t d = cut; d >= 0; --d) {
    const int64_t extent = d == cut ? step : 1;
    const int64_t count = rlo__ceil_div(whole->limit[d] - whole->start[d], extent);
    part->start[d] = whole->start[d] + number % count * extent;
    part->limit[d] = rlo__min(whole->limit[d], part->start[d] + extent);
    number /= count;
  }
  return number == 0;
}

/* Adds a message, or parts of about equal size that are within the limit. */
static rlo_status add_cut(builder *b, const rlo__message *whole) {
  const rlo_box *box = &whole->piece.box;
  rlo__message_list *list = &b->exchange->messages;
  int64_t inner = 1;
  int32_t cut = whole->route == RLO__ROUTE_DIRECT ? -1 : box->rank - 1;
  while (cut >= 0 && box->limit[cut] - box->start[cut] <= b->most_elements / inner) {
    inner *= box->limit[cut] - box->start[cut];
    --cut;
  }
  const int64_t size = cut < 0 ? 1 : box->limit[cut] - box->start[cut];
  const int64_t step =
      cut < 0 ? 1 : rlo__ceil_div(size, rlo__ceil_div(size, b->most_elements / inner));
  rlo__message part = *whole;
  for (int64_t k = 0; get_part(box, cut, step, k, &part.piece.box); ++k) {
    RLO_TRY(
        rlo__array_reserve(&list->items, sizeof *list->items, list->count + 1, &list->capacity));
    part.piece.bytes = rlo__ceil_div(
        rlo__mul_capped(rlo__box_count(&part.piece.box), b->exchange->plan->element_bits), 8);
    list->items[list->count++] = part;
  }
  return RLO_OK;
}

/* Adds a piece that a member receives, so that those between members are added
 * once. */
static rlo_status add_piece(void *payload, const rlo_redistribution_piece *piece) {
  builder *b = payload;
  const rlo_exchange *x = b->exchange;
  const rlo__member *member = &x->members[b->member];
  const int64_t other = b->member_of[piece->peer];
  if (b->sends && other >= 0) {
    return RLO_OK;
  }
  rlo__message m = {
      .piece = *piece,
      .receiver = member->device,
      .members = {other, b->member},
      .rank = x->link.rank,
  };
  if (b->sends) {
    m.receiver = piece->peer;
    m.piece.peer = member->device;
    m.members[RLO__SENDS] = b->member;
    m.members[RLO__RECEIVES] = -1;
  }
  if (other < 0) {
    RLO_TRY(set_other_rank(x, piece->peer, &m));
  } else {
    m.route = find_route(x->members[other].place->context, member->place->context);
  }
  if (x->has_link) {
    m.round = (int32_t)rlo__redistribution_round(x->link.rank, m.rank, x->link.num_ranks);
  }
  return add_cut(b, &m);
}

/* ------------------------------------------------------------------- order */

static int compare_numbers(int64_t a, int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

static int compare_messages(const void *a, const void *b) {
  const rlo__message *m = a;
  const rlo__message *n = b;
  int order = compare_numbers(m->piece.addend, n->piece.addend);
  order = order != 0 ? order : compare_numbers(m->round, n->round);
  order = order != 0 ? order : compare_numbers(m->piece.peer, n->piece.peer);
  order = order != 0 ? order : compare_numbers(m->receiver, n->receiver);
  return order != 0 ? order : rlo__box_compare(&m->piece.box, &n->piece.box);
}

static rlo_status build(builder *b) {
  const rlo_exchange *x = b->exchange;
  RLO_TRY(find_members(b));
  for (b->member = 0; b->member < x->num_members; ++b->member) {
    int64_t device = x->members[b->member].device;
    b->sends = false;
    RLO_TRY(rlo_redistribution_visit_receives(x->plan, device, add_piece, b));
    b->sends = true;
    RLO_TRY(rlo_redistribution_visit_sends(x->plan, device, add_piece, b));
  }
  if (x->messages.count > 0) {
    qsort(x->messages.items, x->messages.count, sizeof *x->messages.items, compare_messages);
  }
  return RLO_OK;
}

rlo_status rlo__message_list_init(rlo_exchange *exchange, int64_t message_bytes) {
  const int64_t element_bits = exchange->plan->element_bits;
  builder b = {.exchange = exchange, .most_elements = message_bytes * 8 / element_bits};
  RLO_FAIL_IF(b.most_elements < 1, RLO_INVALID_ARGUMENT,
              "a message of %" PRId64 " bytes holds no element of %" PRId64 " bits", message_bytes,
              element_bits);
  rlo_status status = build(&b);
  rlo__free(b.member_of);
  return status;
}
