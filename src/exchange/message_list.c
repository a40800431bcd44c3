/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/message_list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "shard/box.h"
#include "shard/redistribution.h"

/* A member, found by its device. */
typedef struct device_entry {
  int64_t device, member;
} device_entry;

typedef struct builder {
  const rlo_redistribution *plan;
  const rlo_exchange_member *members;
  const rlo_exchange_link *link;
  int64_t num_members;
  /** Ordered by device. */
  device_entry *entries;
  int64_t most_elements;
  /** Whose pieces are visited, and in which direction. */
  int64_t member;
  bool sends;
  rlo__message_list *list;
} builder;

/* ----------------------------------------------------------------- members */

static int compare_entries(const void *a, const void *b) {
  const device_entry *p = a;
  const device_entry *q = b;
  return p->device < q->device ? -1 : p->device > q->device ? 1 : 0;
}

static int64_t find_member(const builder *b, int64_t device) {
  device_entry key = {.device = device};
  const device_entry *found = b->num_members == 0
                                  ? NULL
                                  : bsearch(&key,
                                            b->entries,
                                            (size_t)b->num_members,
                                            sizeof key,
                                            compare_entries);
  return found == NULL ? -1 : found->member;
}

static rlo_status find_rank(const builder *b,
                            int64_t device,
                            int32_t *out_rank) {
  *out_rank = b->link->rank_of(b->link->payload, device);
  if (*out_rank < 0 || *out_rank >= b->link->num_ranks) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "rank_of says that rank %" PRId32 " runs device %" PRId64
                    "; the link has %" PRId32 " ranks",
                    *out_rank,
                    device,
                    b->link->num_ranks);
  }
  return RLO_OK;
}

/* The members are the devices of this rank. */
static rlo_status check_ranks(const builder *b) {
  for (int64_t device = 0; device < b->plan->num_devices; ++device) {
    int32_t rank;
    RLO_TRY(find_rank(b, device, &rank));
    bool is_member = find_member(b, device) >= 0;
    if (is_member != (rank == b->link->rank)) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "device %" PRId64 " is %s of rank %" PRId32
                      ", but rank_of says that rank %" PRId32 " runs it",
                      device,
                      is_member ? "a member" : "no member",
                      b->link->rank,
                      rank);
    }
  }
  return RLO_OK;
}

static rlo_status sort_members(builder *b) {
  b->entries = rlo__alloc_array((size_t)b->num_members, sizeof *b->entries);
  if (b->entries == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int64_t k = 0; k < b->num_members; ++k) {
    b->entries[k] = (device_entry){b->members[k].device, k};
  }
  qsort(
      b->entries, (size_t)b->num_members, sizeof *b->entries, compare_entries);
  for (int64_t k = 1; k < b->num_members; ++k) {
    if (b->entries[k].device == b->entries[k - 1].device) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "device %" PRId64 " is stated as two members",
                      b->entries[k].device);
    }
  }
  return b->link == NULL ? RLO_OK : check_ranks(b);
}

/* ------------------------------------------------------------------ routes */

static rlo__route find_route(const rlo_exchange_member *from,
                             const rlo_exchange_member *to) {
  if (from->context == NULL || to->context == NULL) {
    return from->context == to->context ? RLO__ROUTE_DIRECT : RLO__ROUTE_STAGED;
  }
  if (rlo_context_cl_context(from->context) !=
      rlo_context_cl_context(to->context)) {
    return RLO__ROUTE_STAGED;
  }
  return rlo_context_cl_device(from->context) ==
                 rlo_context_cl_device(to->context)
             ? RLO__ROUTE_DIRECT
             : RLO__ROUTE_COPY;
}

static rlo_status set_other_rank(const builder *b,
                                 int64_t device,
                                 rlo__message *m) {
  if (b->link == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "device %" PRId64
                    " takes part, but is no member, and there is no link to "
                    "other processes",
                    device);
  }
  RLO_TRY(find_rank(b, device, &m->rank));
  m->route = RLO__ROUTE_LINK;
  m->round = (int32_t)rlo__redistribution_round(
      b->link->rank, m->rank, b->link->num_ranks);
  return RLO_OK;
}

/* -------------------------------------------------------------------- cuts */

static rlo_status add(builder *b, const rlo__message *m) {
  rlo__message_list *s = b->list;
  RLO_TRY(rlo__array_reserve(
      &s->items, sizeof *s->items, s->count + 1, &s->capacity));
  s->items[s->count] = *m;
  s->items[s->count++].piece.bytes =
      rlo__ceil_div(rlo__box_count(&m->piece.box) * b->plan->element_bits, 8);
  return RLO_OK;
}

/* Goes to the next part: of one index in the dimensions before `cut`, of up to
 * `step` along it, whole behind it. */
static bool next_part(const rlo_box *whole,
                      int32_t cut,
                      int64_t step,
                      rlo_box *part) {
  int32_t d = cut;
  while (d >= 0 && part->limit[d] == whole->limit[d]) {
    part->start[d] = whole->start[d];
    part->limit[d] =
        rlo__min(whole->limit[d], part->start[d] + (d == cut ? step : 1));
    --d;
  }
  if (d < 0) {
    return false;
  }
  part->start[d] = part->limit[d];
  part->limit[d] =
      rlo__min(whole->limit[d], part->start[d] + (d == cut ? step : 1));
  return true;
}

/* Adds a message, or parts of about equal size that are within the limit. */
static rlo_status add_cut(builder *b, const rlo__message *whole) {
  const rlo_box *box = &whole->piece.box;
  if (whole->route == RLO__ROUTE_DIRECT) {
    return add(b, whole);
  }
  int64_t inner = 1;
  int32_t cut = box->rank - 1;
  while (cut >= 0 &&
         box->limit[cut] - box->start[cut] <= b->most_elements / inner) {
    inner *= box->limit[cut] - box->start[cut];
    --cut;
  }
  if (cut < 0) {
    return add(b, whole);
  }
  int64_t size = box->limit[cut] - box->start[cut];
  int64_t step =
      rlo__ceil_div(size, rlo__ceil_div(size, b->most_elements / inner));
  rlo__message part = *whole;
  for (int32_t d = 0; d <= cut; ++d) {
    part.piece.box.limit[d] =
        rlo__min(box->limit[d], box->start[d] + (d == cut ? step : 1));
  }
  do {
    RLO_TRY(add(b, &part));
  } while (next_part(box, cut, step, &part.piece.box));
  return RLO_OK;
}

/* Adds a piece that a member receives, so that those between members are added
 * once. */
static rlo_status add_piece(void *payload,
                            const rlo_redistribution_piece *piece) {
  builder *b = payload;
  int64_t device = b->members[b->member].device;
  int64_t other = find_member(b, piece->peer);
  if (b->sends && other >= 0) {
    return RLO_OK;
  }
  rlo__message m = {
      .piece = *piece,
      .receiver = b->sends ? piece->peer : device,
      .from = b->sends ? b->member : other,
      .to = b->sends ? -1 : b->member,
      .rank = -1,
  };
  m.piece.peer = b->sends ? device : piece->peer;
  if (other < 0) {
    RLO_TRY(set_other_rank(b, piece->peer, &m));
  } else {
    m.route = find_route(&b->members[other], &b->members[b->member]);
    if (b->link != NULL) {
      m.round = (int32_t)rlo__redistribution_round(
          b->link->rank, b->link->rank, b->link->num_ranks);
    }
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

static void set_turns(rlo__message_list *s) {
  int64_t turns[2] = {0, 0};
  for (size_t k = 0; k < s->count; ++k) {
    if (s->items[k].route == RLO__ROUTE_LINK) {
      s->items[k].turn = turns[s->items[k].from >= 0 ? 0 : 1]++;
    }
  }
}

static rlo_status build(builder *b) {
  RLO_TRY(sort_members(b));
  for (b->member = 0; b->member < b->num_members; ++b->member) {
    int64_t device = b->members[b->member].device;
    b->sends = false;
    RLO_TRY(rlo_redistribution_visit_receives(b->plan, device, add_piece, b));
    b->sends = true;
    RLO_TRY(rlo_redistribution_visit_sends(b->plan, device, add_piece, b));
  }
  rlo__message_list *s = b->list;
  if (s->count > 0) {
    qsort(s->items, s->count, sizeof *s->items, compare_messages);
  }
  set_turns(s);
  return RLO_OK;
}

rlo_status rlo__message_list_init(const rlo_redistribution *plan,
                                  const rlo_exchange_member *members,
                                  int64_t num_members,
                                  const rlo_exchange_link *link,
                                  int64_t message_bytes,
                                  rlo__message_list *out_list) {
  *out_list = (rlo__message_list){0};
  builder b = {.plan = plan,
               .members = members,
               .link = link,
               .num_members = num_members,
               .most_elements = message_bytes * 8 / plan->element_bits,
               .list = out_list};
  if (b.most_elements < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a message of %" PRId64
                    " bytes holds no element of %" PRId64 " bits",
                    message_bytes,
                    plan->element_bits);
  }
  rlo_status status = build(&b);
  rlo__free(b.entries);
  if (status != RLO_OK) {
    rlo__message_list_deinit(out_list);
  }
  return status;
}

void rlo__message_list_deinit(rlo__message_list *list) {
  for (size_t k = 0; k < list->count; ++k) {
    rlo__move_release(list->items[k].pack.move);
    rlo__move_release(list->items[k].place.move);
  }
  rlo__free(list->items);
  *list = (rlo__message_list){0};
}
