/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/redistribution.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/threshold.h"
#include "relayout/permutation.h"
#include "relayout/xla/shape_util.h"

/* ---------------------------------------------------------------- creation */

static rlo_status check_pair(const rlo_shape *from, const rlo_shape *to,
                             const int32_t *permutation) {
  RLO_FAIL_IF(from->dtype != to->dtype, RLO_INVALID_ARGUMENT,
              "a redistribution keeps the element type, and the destination has another one");
  for (int32_t k = 0; k < to->rank; ++k) {
    RLO_FAIL_IF(to->dims[k] != from->dims[permutation[k]], RLO_INVALID_ARGUMENT,
                "destination dimension %" PRId32 " is %" PRId64 ", source dimension %" PRId32
                " is %" PRId64 "; they must be equal",
                k, to->dims[k], permutation[k], from->dims[permutation[k]]);
  }
  return RLO_OK;
}

static rlo_status check_side(const rlo_sharding *sharding, const rlo_shape *shape,
                             int64_t num_devices, const char *side) {
  return rlo__status_prefix(rlo_sharding_validate(sharding, shape, num_devices), "%s: ", side);
}

static rlo_status init(const rlo_redistribution_options *o, rlo_redistribution *plan) {
  const rlo_sharding *from = o->from_sharding;
  const rlo_sharding *to = o->to_sharding;
  plan->num_devices = o->num_devices;
  if (plan->num_devices == 0) {
    plan->num_devices =
        rlo__max(1, rlo__max(rlo_sharding_num_devices(from), rlo_sharding_num_devices(to)));
  }
  RLO_TRY(check_side(from, o->from, plan->num_devices, "source"));
  RLO_TRY(check_side(to, o->to, plan->num_devices, "destination"));
  plan->rank = o->to->rank;
  RLO_FAIL_IF(o->from->rank != plan->rank, RLO_INVALID_ARGUMENT,
              "source has rank %" PRId32 ", destination rank %" PRId32, o->from->rank, plan->rank);
  for (int32_t k = 0; k < plan->rank; ++k) {
    plan->from[k] = k;
  }
  if (o->permutation != NULL) {
    RLO_TRY(rlo_permutation_normalize(o->permutation, plan->rank, plan->from));
  }
  RLO_TRY(check_pair(o->from, o->to, plan->from));
  plan->source_shape = *o->from;
  plan->destination_shape = *o->to;
  plan->element_bits = rlo_shape_element_size_bits(o->to);
  RLO_TRY(rlo__holding_init(from, o->from, plan->num_devices, &plan->source));
  RLO_TRY(rlo__holding_init(to, o->to, plan->num_devices, &plan->destination));
  RLO_FAIL_IF(plan->destination.num_addends > 1, RLO_UNSUPPORTED,
              "the destination is unreduced: a redistribution adds summands up and makes none");
  return RLO_OK;
}

rlo_status rlo_redistribution_create(const rlo_redistribution_options *options,
                                     rlo_redistribution **out_plan) {
  RLO_REQUIRE(options, out_plan);
  *out_plan = NULL;
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("redistribution options", "RLO_REDISTRIBUTION_OPTIONS_INIT", options,
                            &o, sizeof o));
  RLO_REQUIRE(o.from, o.to, o.from_sharding, o.to_sharding);
  rlo_redistribution *plan = rlo__alloc(sizeof *plan);
  RLO_TRY_MEMORY(plan);
  atomic_init(&plan->references, 1);
  plan->sharding[0] = rlo_sharding_retain(o.from_sharding);
  plan->sharding[1] = rlo_sharding_retain(o.to_sharding);
  rlo_status status = init(&o, plan);
  if (status != RLO_OK) {
    rlo_redistribution_release(plan);
    return status;
  }
  *out_plan = plan;
  return RLO_OK;
}

rlo_redistribution *rlo_redistribution_retain(rlo_redistribution *plan) {
  if (plan != NULL) {
    atomic_fetch_add(&plan->references, 1);
  }
  return plan;
}

void rlo_redistribution_release(rlo_redistribution *plan) {
  if (plan == NULL || atomic_fetch_sub(&plan->references, 1) != 1) {
    return;
  }
  rlo__holding_deinit(&plan->source);
  rlo__holding_deinit(&plan->destination);
  rlo_sharding_release(plan->sharding[0]);
  rlo_sharding_release(plan->sharding[1]);
  rlo__free(plan);
}

int64_t rlo_redistribution_num_devices(const rlo_redistribution *plan) {
  return plan == NULL ? 0 : plan->num_devices;
}

/* ------------------------------------------------------------------ pieces */

/* The box in the dimensions of the destination, or of the source. */
static rlo_box turn(const rlo_redistribution *plan, bool to_source, const rlo_box *box) {
  rlo_box result = {.rank = box->rank};
  for (int32_t k = 0; k < box->rank; ++k) {
    int32_t from = to_source ? k : plan->from[k];
    int32_t to = to_source ? plan->from[k] : k;
    result.start[to] = box->start[from];
    result.limit[to] = box->limit[from];
  }
  return result;
}

static int64_t bytes_of(const rlo_redistribution *plan, int64_t elements) {
  return rlo__ceil_div(rlo__mul_capped(elements, plan->element_bits), 8);
}

static rlo_redistribution_piece make_piece(const rlo_redistribution *plan, int64_t peer,
                                           int64_t addend, const rlo_box *box) {
  return (rlo_redistribution_piece){
      .peer = peer,
      .addend = addend,
      .box = *box,
      .bytes = bytes_of(plan, rlo__box_count(box)),
  };
}

static bool holds(const rlo_redistribution *plan, int64_t device, int64_t tile, int64_t addend) {
  rlo__holder held = rlo__holding_find(&plan->source, device);
  return held.tile == tile && held.addend == addend;
}

/* The devices whose destinations meet a tile of the source, in their order. */
static void begin_receivers(const rlo_redistribution *plan, int64_t source_tile,
                            rlo__tile_walk *walk) {
  rlo_box box = rlo__holding_tile_box(&plan->source, source_tile);
  rlo_box target = turn(plan, false, &box);
  rlo__tile_walk_begin(walk, &plan->destination, &target);
}

/* The device that sends an addend of a source tile to a receiver that does not
 * hold it. The copies take turns over such receivers, in their order. */
static int64_t find_sender(const rlo_redistribution *plan, const rlo__held_tile *tile,
                           int64_t addend, const rlo__holder *receiver) {
  int64_t copy = 0;
  if (tile->num_copies > 1) {
    rlo__tile_walk walk;
    begin_receivers(plan, tile->tile, &walk);
    int64_t before = rlo__tile_walk_count_before(&walk, receiver->tile, receiver->copy);
    int64_t position = before;
    for (int64_t k = 0; k < tile->num_copies; ++k) {
      int64_t device = rlo__holding_device(&plan->source, tile->tile, addend, k);
      rlo__holder other = rlo__holding_find(&plan->destination, device);
      int64_t at = rlo__tile_walk_count_before(&walk, other.tile, other.copy);
      position -= at >= 0 && at < before ? 1 : 0;
    }
    copy = position % tile->num_copies;
  }
  return rlo__holding_device(&plan->source, tile->tile, addend, copy);
}

rlo_status rlo__redistribution_check_device(const rlo_redistribution *plan, int64_t device) {
  RLO_FAIL_IF(device < 0 || device >= plan->num_devices, RLO_OUT_OF_RANGE,
              "device %" PRId64 " is outside 0..%" PRId64, device, plan->num_devices - 1);
  return RLO_OK;
}

rlo_status rlo_redistribution_visit_receives(const rlo_redistribution *plan, int64_t device,
                                             rlo_redistribution_fn fn, void *payload) {
  RLO_REQUIRE(plan, fn);
  RLO_TRY(rlo__redistribution_check_device(plan, device));
  rlo__holder receiver = rlo__holding_find(&plan->destination, device);
  if (receiver.tile < 0) {
    return RLO_OK;
  }
  rlo_box target = rlo__holding_tile_box(&plan->destination, receiver.tile);
  rlo_box needed = turn(plan, true, &target);
  rlo__tile_walk walk;
  rlo__held_tile tile;
  rlo__tile_walk_begin(&walk, &plan->source, &needed);
  while (rlo__tile_walk_next(&walk, &tile)) {
    rlo_box box = turn(plan, false, &tile.box);
    for (int64_t addend = 0; addend < plan->source.num_addends; ++addend) {
      int64_t peer = holds(plan, device, tile.tile, addend)
                         ? device
                         : find_sender(plan, &tile, addend, &receiver);
      rlo_redistribution_piece piece = make_piece(plan, peer, addend, &box);
      RLO_TRY(fn(payload, &piece));
    }
  }
  return RLO_OK;
}

rlo_status rlo_redistribution_visit_sends(const rlo_redistribution *plan, int64_t device,
                                          rlo_redistribution_fn fn, void *payload) {
  RLO_REQUIRE(plan, fn);
  RLO_TRY(rlo__redistribution_check_device(plan, device));
  rlo__holder sender = rlo__holding_find(&plan->source, device);
  if (sender.tile < 0) {
    return RLO_OK;
  }
  rlo__tile_walk walk;
  rlo__held_tile tile;
  int64_t position = 0;
  int64_t num_copies = rlo__holding_count_copies(&plan->source, sender.tile);
  begin_receivers(plan, sender.tile, &walk);
  while (rlo__tile_walk_next(&walk, &tile)) {
    for (int64_t copy = 0; copy < tile.num_copies; ++copy) {
      int64_t receiver = rlo__holding_device(&plan->destination, tile.tile, 0, copy);
      bool is_held = holds(plan, receiver, sender.tile, sender.addend);
      if (is_held ? receiver == device : position % num_copies == sender.copy) {
        rlo_redistribution_piece piece = make_piece(plan, receiver, sender.addend, &tile.box);
        RLO_TRY(fn(payload, &piece));
      }
      position += is_held ? 0 : 1;
    }
  }
  return RLO_OK;
}

/* -------------------------------------------------------------------- cost */

/* Messages that a pair of tiles counts as. */
enum { PAIR_WEIGHT = 16 };

typedef struct tally {
  const rlo_redistribution *plan;
  rlo_redistribution_cost *cost;
  int64_t num_counted;
  /* The elements that each tile of the destination receives or keeps, and that each copy of
   * the addend at hand sends. */
  int64_t *received, *sent;
  /* The rounds in which somebody sends; how many there can be. */
  bool *has_messages;
  int64_t most_rounds;
} tally;

int64_t rlo__redistribution_round(int64_t a, int64_t b, int64_t count) {
  bool is_power_of_two = (count & (count - 1)) == 0;
  return is_power_of_two ? a ^ b : (a + b) % count;
}

static rlo_status count_looks(tally *t, int64_t count) {
  const int64_t most = rlo__thresholds.shard_counted_messages;
  t->num_counted += count;
  return t->num_counted <= most ? RLO_OK
                                : RLO_FAIL(RLO_UNSUPPORTED,
                                           "too many messages to count: more than %" PRId64
                                           ", or a %dth of that many pairs of tiles",
                                           most, PAIR_WEIGHT);
}

/* Adds `count` messages that a copy of the addend at hand sends. */
static void add_messages(tally *t, int64_t copy, int64_t bytes, int64_t count) {
  rlo_redistribution_cost *cost = t->cost;
  cost->num_messages = rlo__add_capped(cost->num_messages, count);
  cost->bytes_sent = rlo__add_capped(cost->bytes_sent, rlo__mul_capped(bytes, count));
  cost->largest_message_bytes =
      rlo__max(cost->largest_message_bytes, rlo__min(bytes, rlo__mul_capped(bytes, count)));
  t->sent[copy] = rlo__add_capped(t->sent[copy], rlo__mul_capped(bytes, count));
}

/* Counts the messages to the holders of a tile one by one; copy *next sends the
 * first. */
static rlo_status count_messages(tally *t, const rlo__holder *from, const rlo__held_tile *to,
                                 int64_t bytes, int64_t *next) {
  const rlo_redistribution *plan = t->plan;
  const int64_t num_copies = rlo__holding_count_copies(&plan->source, from->tile);
  for (int64_t k = 0; k < to->num_copies; ++k) {
    int64_t receiver = rlo__holding_device(&plan->destination, to->tile, 0, k);
    int64_t sender = rlo__holding_device(&plan->source, from->tile, from->addend, *next);
    RLO_TRY(count_looks(t, 1));
    if (num_copies == 1 ? receiver == sender : holds(plan, receiver, from->tile, from->addend)) {
      continue;
    }
    bool *has_message =
        &t->has_messages[rlo__redistribution_round(sender, receiver, plan->num_devices)];
    t->cost->num_rounds += *has_message ? 0 : 1;
    *has_message = true;
    add_messages(t, *next, bytes, 1);
    *next = (*next + 1) % num_copies;
  }
  return RLO_OK;
}

/* Counts what the holders of an addend send, the first of which is `device`.
 * Once each round has a message, those of one holder need no look. */
static rlo_status measure_addend(tally *t, int64_t device, const rlo__holder *from) {
  const rlo_redistribution *plan = t->plan;
  const int64_t num_copies = rlo__holding_count_copies(&plan->source, from->tile);
  const int64_t own_tile = rlo__holding_find(&plan->destination, device).tile;
  rlo__tile_walk walk;
  rlo__held_tile to;
  int64_t next = 0;
  begin_receivers(plan, from->tile, &walk);
  while (rlo__tile_walk_next(&walk, &to)) {
    const int64_t bytes = bytes_of(plan, rlo__box_count(&to.box));
    t->received[to.tile] = rlo__add_capped(t->received[to.tile], bytes);
    RLO_TRY(count_looks(t, PAIR_WEIGHT));
    if (num_copies == 1 && t->cost->num_rounds == t->most_rounds) {
      add_messages(t, 0, bytes, to.num_copies - (to.tile == own_tile));
    } else {
      RLO_TRY(count_messages(t, from, &to, bytes, &next));
    }
  }
  for (int64_t k = 0; k < num_copies; ++k) {
    t->cost->most_bytes_sent = rlo__max(t->cost->most_bytes_sent, t->sent[k]);
    t->sent[k] = 0;
  }
  return RLO_OK;
}

/* The elements of a tile. */
static int64_t count_held(const rlo__holding *holding, int64_t tile) {
  rlo_box box = rlo__holding_tile_box(holding, rlo__max(tile, 0));
  return tile < 0 ? 0 : rlo__box_count(&box);
}

/* The elements that a device needs and holds itself. */
static int64_t count_kept(const rlo_redistribution *plan, int64_t source_tile,
                          int64_t destination_tile) {
  if (source_tile < 0 || destination_tile < 0) {
    return 0;
  }
  rlo_box source = rlo__holding_tile_box(&plan->source, source_tile);
  rlo_box kept = rlo__holding_tile_box(&plan->destination, destination_tile);
  source = turn(plan, false, &source);
  kept = rlo__box_intersect(&source, &kept);
  return rlo__box_count(&kept);
}

static void measure_device(tally *t, int64_t device) {
  const rlo_redistribution *plan = t->plan;
  rlo_redistribution_cost *cost = t->cost;
  int64_t from = rlo__holding_find(&plan->source, device).tile;
  int64_t to = rlo__holding_find(&plan->destination, device).tile;
  int64_t addends = plan->source.num_addends;
  int64_t held = count_held(&plan->source, from);
  int64_t needed = count_held(&plan->destination, to);
  int64_t kept = count_kept(plan, from, to);
  int64_t received = to < 0 ? 0 : t->received[to] - bytes_of(plan, kept);
  int64_t whole = 1;
  for (int32_t d = 0; d < plan->rank; ++d) {
    whole = rlo__mul_capped(whole, plan->destination.dims[d]);
  }
  cost->most_bytes_received = rlo__max(cost->most_bytes_received, received);
  cost->least_bytes_sent = rlo__add_capped(cost->least_bytes_sent,
                                           bytes_of(plan, rlo__mul_capped(needed, addends) - kept));
  cost->most_bytes_resident = rlo__max(
      cost->most_bytes_resident, rlo__add_capped(bytes_of(plan, held), bytes_of(plan, needed)));
  cost->replicate_bytes_sent = rlo__add_capped(
      cost->replicate_bytes_sent, bytes_of(plan, rlo__mul_capped(whole, addends) - held));
  cost->replicate_bytes_resident = bytes_of(plan, whole);
}

static rlo_status measure(tally *t) {
  const size_t count = (size_t)t->plan->num_devices;
  t->received = rlo__alloc_array(count, sizeof *t->received);
  t->sent = rlo__alloc_array(count, sizeof *t->sent);
  t->has_messages = rlo__alloc_array(count, sizeof *t->has_messages);
  if (t->received == NULL || t->sent == NULL || t->has_messages == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int64_t device = 0; device < t->plan->num_devices; ++device) {
    rlo__holder held = rlo__holding_find(&t->plan->source, device);
    if (held.tile >= 0 && held.copy == 0) {
      RLO_TRY(measure_addend(t, device, &held));
    }
  }
  for (int64_t device = 0; device < t->plan->num_devices; ++device) {
    measure_device(t, device);
  }
  return RLO_OK;
}

rlo_status rlo_redistribution_measure(const rlo_redistribution *plan,
                                      rlo_redistribution_cost *out_cost) {
  RLO_REQUIRE(plan, out_cost);
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  const int64_t count = plan->num_devices;
  /* Among a power of two of them, nobody is another one's partner in round 0. */
  tally t = {.plan = plan, .cost = &cost, .most_rounds = count - ((count & (count - 1)) == 0)};
  rlo_status status = measure(&t);
  rlo__free(t.received);
  rlo__free(t.sent);
  rlo__free(t.has_messages);
  RLO_TRY(status);
  if (cost.bytes_sent == INT64_MAX || cost.replicate_bytes_sent == INT64_MAX) {
    return rlo__fail_overflow("the bytes of all devices");
  }
  return rlo__report_write("redistribution cost", "RLO_REDISTRIBUTION_COST_INIT", &cost, out_cost,
                           sizeof cost);
}
