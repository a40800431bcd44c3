/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/threshold.h"
#include "exchange/state.h"
#include "relayout/compare.h"
#include "relayout/xla/shape_util.h"
#include "runtime/context.h"
#include "shard/redistribution.h"
#include "shard/sharding.h"

/* Slots of shared memory begin at lines of the caches. */
enum { SLOT_ALIGN = 64 };

/* ----------------------------------------------------------------- options */

static rlo_status read_link(const rlo_exchange_link *given, rlo_exchange_link *out_link) {
  *out_link = (rlo_exchange_link)RLO_EXCHANGE_LINK_INIT;
  RLO_TRY(rlo__options_read("exchange link", "RLO_EXCHANGE_LINK_INIT", given, out_link,
                            sizeof *out_link));
  const rlo_exchange_link *link = out_link;
  RLO_REQUIRE(link->rank_of, link->start_send, link->start_receive, link->test);
  RLO_FAIL_IF(link->rank < 0 || link->rank >= link->num_ranks, RLO_INVALID_ARGUMENT,
              "the link is of rank %" PRId32 " of %" PRId32, link->rank, link->num_ranks);
  RLO_FAIL_IF((link->share == NULL) != (link->open == NULL) ||
                  (link->share == NULL) != (link->close == NULL),
              RLO_INVALID_ARGUMENT, "the link has some of 'share', 'open' and 'close', not all");
  return RLO_OK;
}

static rlo_status check_options(rlo_exchange_options *o) {
  const int32_t default_slots = 4;
  RLO_REQUIRE(o->plan);
  RLO_REQUIRE_LIST(o->members, o->num_members);
  if (o->message_bytes == 0) {
    o->message_bytes = rlo__thresholds.exchange_message_bytes;
  }
  o->num_slots = o->num_slots == 0 ? default_slots : o->num_slots;
  o->num_host_threads = o->num_host_threads == 0 ? 1 : o->num_host_threads;
  RLO_FAIL_IF(
      o->num_members < 0 || o->num_host_threads < 0 || o->message_bytes < 0 || o->num_slots < 0,
      RLO_INVALID_ARGUMENT, "a number of the exchange options is negative");
  RLO_FAIL_IF(
      o->message_bytes > RLO_EXCHANGE_MAX_MESSAGE_BYTES || o->num_slots > RLO_EXCHANGE_MAX_SLOTS,
      RLO_UNSUPPORTED, "%" PRId32 " slots of %" PRId64 " bytes; at most %d of %d", o->num_slots,
      o->message_bytes, RLO_EXCHANGE_MAX_SLOTS, RLO_EXCHANGE_MAX_MESSAGE_BYTES);
  return RLO_OK;
}

/* Hashes the settings that have to be the same on all ranks. */
static uint64_t hash_options(const rlo_exchange_options *o) {
  const rlo_redistribution *plan = o->plan;
  rlo__hash hash = rlo__hash_init(0x657863);
  rlo__hash_i64(&hash, o->message_bytes);
  rlo__hash_i64(&hash, plan->num_devices);
  for (int32_t k = 0; k < plan->rank; ++k) {
    rlo__hash_i64(&hash, plan->from[k]);
  }
  rlo__hash_u64(&hash, rlo_shape_hash(&plan->source_shape));
  rlo__hash_u64(&hash, rlo_shape_hash(&plan->destination_shape));
  rlo__sharding_hash(plan->sharding[0], &hash);
  rlo__sharding_hash(plan->sharding[1], &hash);
  return rlo__hash_finish_u64(&hash);
}

/* ----------------------------------------------------------------- members */

static rlo_status check_queue(const rlo_exchange_member *member) {
  const rlo_context *context = member->context;
  if (context == NULL || member->queue == NULL) {
    return context == NULL && member->queue == NULL
               ? RLO_OK
               : RLO_FAIL(RLO_INVALID_ARGUMENT,
                          "device %" PRId64 " has a %s; a member has both or none of them",
                          member->device,
                          context == NULL ? "queue without a context" : "context without a queue");
  }
  RLO_TRY(rlo__context_check_process(context));
  cl_context cl_context = NULL;
  cl_device_id device = NULL;
  cl_command_queue_properties properties = 0;
  (void)clGetCommandQueueInfo(member->queue, CL_QUEUE_CONTEXT, sizeof cl_context, &cl_context,
                              NULL);
  (void)clGetCommandQueueInfo(member->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  (void)clGetCommandQueueInfo(member->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                              NULL);
  RLO_FAIL_IF(cl_context != context->cl_context || device != context->cl_device ||
                  (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0,
              RLO_INVALID_ARGUMENT,
              "the queue of device %" PRId64 " is no in-order queue of its context and device",
              member->device);
  return RLO_OK;
}

static rlo_status measure_shard(const rlo_sharding *sharding, const rlo_shape *shape,
                                int64_t device, int64_t *out_bytes) {
  rlo_shape shard;
  RLO_TRY(rlo_sharding_get_shard_shape(sharding, shape, device, &shard));
  return rlo_shape_array_size(&shard, out_bytes);
}

/* Finds the scratch of a context, or of the host; or makes it. */
static rlo__scratch *find_scratch(rlo_exchange *x, rlo_context *context) {
  int32_t n = 0;
  while (n < x->num_scratches && x->scratches[n].context != context) {
    ++n;
  }
  x->num_scratches += n == x->num_scratches;
  x->scratches[n].context = context;
  return &x->scratches[n];
}

static rlo_status init_member(rlo_exchange *x, const rlo_exchange_member *member, rlo__member *p) {
  const rlo_redistribution *plan = x->plan;
  RLO_TRY(rlo__redistribution_check_device(plan, member->device));
  RLO_TRY(check_queue(member));
  p->device = member->device;
  RLO_TRY(rlo__place_create(member->context, member->queue, false, &p->place));
  p->place->num_threads = x->num_host_threads;
  p->scratch = find_scratch(x, member->context);
  RLO_TRY(measure_shard(plan->sharding[0], &plan->source_shape, member->device, &p->src.bytes));
  return measure_shard(plan->sharding[1], &plan->destination_shape, member->device, &p->dst.bytes);
}

static rlo_status init_members(rlo_exchange *x, const rlo_exchange_options *o) {
  size_t count = (size_t)o->num_members;
  x->members = rlo__alloc_array(count, sizeof *x->members);
  x->scratches = rlo__alloc_array(count + 1, sizeof *x->scratches);
  if (x->members == NULL || x->scratches == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  x->num_members = o->num_members;
  for (int64_t k = 0; k < x->num_members; ++k) {
    RLO_TRY(rlo__status_prefix(init_member(x, &o->members[k], &x->members[k]),
                               "member %" PRId64 ": ", k));
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- messages */

/* Links what each member receives. */
static void link_incoming(rlo_exchange *x) {
  for (size_t k = x->messages.count; k-- > 0;) {
    rlo__message *m = &x->messages.items[k];
    if (m->members[RLO__RECEIVES] >= 0) {
      rlo__member *p = &x->members[m->members[RLO__RECEIVES]];
      m->next = p->incoming;
      p->incoming = m;
    }
  }
}

/* Tells if a piece is the only one of addend 0 that a member receives: then it
 * is all of the destination. */
static bool is_whole(const rlo__member *p, const rlo__message *m) {
  return m == p->incoming && (m->next == NULL || m->next->piece.addend > 0);
}

/* Finds out whether a problem copies one run of bytes. */
static rlo_status find_run(const rlo_problem *problem, int32_t direction, rlo__task *task) {
  rlo_problem *p = rlo__alloc(sizeof *p);
  RLO_TRY_MEMORY(p);
  *p = *problem;
  rlo_status status = rlo_problem_canonicalize(p, RLO_MAX_UNIT_BITS, NULL, NULL);
  if (status == RLO_OK && p->update == RLO_UPDATE_STORE && p->num_terms == 0 &&
      p->num_guards == 0 && p->unit_bits % 8 == 0 &&
      (p->num_axes == 0 || (p->num_axes == 1 && p->src.axis[0] == 1 && p->dst.axis[0] == 1))) {
    int64_t base = direction == RLO__SENDS ? p->src.base : p->dst.base;
    task->is_run = true;
    task->run_offset = base * (p->unit_bits / 8);
  }
  rlo__free(p);
  return status;
}

/* Prepares a task and releases the list, whatever happens. */
static rlo_status make_task(const rlo__place *place, rlo_problem_list *list, int32_t direction,
                            rlo__task *task) {
  rlo_status status = RLO_OK;
  const int32_t count = rlo_problem_list_count(list);
  if (count == 1 && place->context == NULL) {
    status = find_run(rlo_problem_list_get(list, 0), direction, task);
  }
  if (status == RLO_OK && count > 0) {
    status = rlo__move_create(place, list, NULL, &task->move);
  }
  rlo_problem_list_release(list);
  return status;
}

static rlo_status make_tasks(rlo_exchange *x, rlo__message *m) {
  rlo_problem_list *list;
  if (rlo__message_needs_slot(m, RLO__SENDS)) {
    const rlo__member *from = &x->members[m->members[RLO__SENDS]];
    RLO_TRY(rlo_redistribution_lower_send(x->plan, from->device, &m->piece, &list));
    RLO_TRY(make_task(from->place, list, RLO__SENDS, &m->tasks[RLO__SENDS]));
  }
  if (m->members[RLO__RECEIVES] < 0) {
    return RLO_OK;
  }
  const rlo__member *to = &x->members[m->members[RLO__RECEIVES]];
  bool fills = is_whole(to, m);
  if (m->route == RLO__ROUTE_DIRECT) {
    RLO_TRY(rlo_redistribution_lower_move(x->plan, m->piece.peer, m->receiver, &m->piece, fills,
                                          &list));
  } else {
    RLO_TRY(rlo_redistribution_lower_receive(x->plan, m->receiver, &m->piece, fills, &list));
  }
  return make_task(to->place, list, RLO__RECEIVES, &m->tasks[RLO__RECEIVES]);
}

static rlo_status make_fill(rlo_exchange *x, rlo__member *p) {
  if (x->plan->rank == 0 || p->dst.bytes == 0 ||
      (p->incoming != NULL && is_whole(p, p->incoming))) {
    return RLO_OK;
  }
  rlo_problem_list *list;
  RLO_TRY(rlo_redistribution_lower_fill(x->plan, p->device, &list));
  return make_task(p->place, list, RLO__RECEIVES, &p->fill);
}

static void count_message(rlo_exchange *x, rlo__message *m) {
  rlo_exchange_info *info = &x->info;
  for (int32_t direction = 0; direction < 2; ++direction) {
    if (rlo__message_needs_slot(m, direction)) {
      m->turn = x->turns[direction];
      x->turns[direction] += m->route == RLO__ROUTE_LINK;
      ++x->counts[direction];
    }
  }
  if (m->members[RLO__SENDS] == m->members[RLO__RECEIVES]) {
    return;
  }
  if (m->members[RLO__SENDS] >= 0) {
    rlo__message_count(m, &info->messages_to_send, &info->bytes_to_send);
  }
  if (m->members[RLO__RECEIVES] >= 0) {
    rlo__message_count(m, &info->messages_to_receive, &info->bytes_to_receive);
  }
  if (m->route == RLO__ROUTE_DIRECT) {
    rlo__message_count(m, &info->direct_messages, &info->direct_bytes);
  }
  info->largest_message_bytes = rlo__max(info->largest_message_bytes, m->piece.bytes);
}

static rlo_status plan_messages(rlo_exchange *x) {
  link_incoming(x);
  for (size_t k = 0; k < x->messages.count; ++k) {
    RLO_TRY(make_tasks(x, &x->messages.items[k]));
    count_message(x, &x->messages.items[k]);
  }
  for (int64_t k = 0; k < x->num_members; ++k) {
    RLO_TRY(make_fill(x, &x->members[k]));
  }
  return RLO_OK;
}

static rlo_status count_rounds(rlo_exchange *x) {
  if (!x->has_link) {
    return RLO_OK;
  }
  bool *is_used = rlo__alloc_array((size_t)x->link.num_ranks, sizeof *is_used);
  RLO_TRY_MEMORY(is_used);
  for (size_t k = 0; k < x->messages.count; ++k) {
    const rlo__message *m = &x->messages.items[k];
    if (m->route == RLO__ROUTE_LINK && !is_used[m->round]) {
      is_used[m->round] = true;
      ++x->info.num_rounds;
    }
  }
  rlo__free(is_used);
  return RLO_OK;
}

/* ----------------------------------------------------------------- scratch */

static void size_scratch(rlo_exchange *x, int32_t direction, const rlo__message *m) {
  if (!rlo__message_needs_slot(m, direction)) {
    return;
  }
  rlo__scratch *scratch = x->members[m->members[direction]].scratch;
  if (scratch->context != NULL || direction == RLO__SENDS || m->route == RLO__ROUTE_LINK) {
    scratch->bytes = rlo__max(scratch->bytes, m->piece.bytes);
    scratch->counts[direction] = (int32_t)rlo__min(x->num_slots, x->counts[direction]);
  }
  /* The host reads messages that come by no link where the sender has them. */
}

/* Each scratch has to hold, in each direction, the largest message, if any. */
static void size_scratches(rlo_exchange *x) {
  for (size_t k = 0; k < x->messages.count; ++k) {
    size_scratch(x, RLO__SENDS, &x->messages.items[k]);
    size_scratch(x, RLO__RECEIVES, &x->messages.items[k]);
  }
}

static rlo_status allocate_scratch(rlo_exchange *x, rlo__scratch *scratch) {
  for (int32_t n = 0; n < 2 * x->num_slots; ++n) {
    if (n % x->num_slots >= scratch->counts[n / x->num_slots]) {
      continue;
    }
    if (scratch->context != NULL) {
      RLO_TRY(rlo__buffer_create_mappable(scratch->context, scratch->bytes, &scratch->buffers[n]));
      x->info.device_scratch_bytes += scratch->bytes;
      continue;
    }
    scratch->memory[n] = rlo__alloc((size_t)scratch->bytes);
    RLO_TRY_MEMORY(scratch->memory[n]);
    x->info.host_scratch_bytes += scratch->bytes;
  }
  return RLO_OK;
}

static rlo_status allocate_scratches(rlo_exchange *x) {
  int64_t spare_bytes = 0;
  size_scratches(x);
  for (int32_t n = 0; n < x->num_scratches; ++n) {
    RLO_TRY(allocate_scratch(x, &x->scratches[n]));
    if (x->has_link && x->scratches[n].context != NULL) {
      spare_bytes = rlo__max(spare_bytes, x->scratches[n].bytes);
    }
  }
  for (int32_t direction = 0; direction < 2 && spare_bytes > 0; ++direction) {
    x->spare[direction] = rlo__alloc((size_t)spare_bytes);
    RLO_TRY_MEMORY(x->spare[direction]);
    x->info.host_scratch_bytes += spare_bytes;
  }
  return RLO_OK;
}

/* Moves the host's slots of what is sent into memory of the link's, if that
 * has any. Waits for all ranks. */
static rlo_status share_memory(rlo_exchange *x) {
  if (!x->has_link || x->link.share == NULL) {
    return RLO_OK;
  }
  rlo__scratch *scratch = find_scratch(x, NULL);
  const int32_t count = scratch->counts[RLO__SENDS];
  const int64_t step = rlo__ceil_div(scratch->bytes, SLOT_ALIGN) * SLOT_ALIGN;
  void *memory = NULL;
  RLO_TRY(
      RLO__CALLBACK(x->link.share(x->link.payload, count * step, &memory), "the link's memory"));
  for (int32_t slot = 0; memory != NULL && slot < count; ++slot) {
    rlo__free(scratch->memory[slot]);
    scratch->memory[slot] = (char *)memory + slot * step;
    scratch->is_shared = true;
  }
  return RLO_OK;
}

static void release_scratch(const rlo_exchange *x, rlo__scratch *scratch) {
  for (int32_t n = 0; n < 2 * x->num_slots; ++n) {
    if (n >= x->num_slots || !scratch->is_shared) {
      rlo__free(scratch->memory[n]);
    }
    rlo_buffer_release(scratch->context, scratch->buffers[n]);
  }
}

/* --------------------------------------------------------- create, release */

static rlo_status init(rlo_exchange_options *o, rlo_exchange *x) {
  RLO_TRY(check_options(o));
  x->num_slots = o->num_slots;
  x->num_host_threads = o->num_host_threads;
  x->plan = rlo_redistribution_retain(o->plan);
  x->hash = hash_options(o);
  RLO_TRY(init_members(x, o));
  RLO_TRY(rlo__message_list_init(x, o->message_bytes));
  RLO_TRY(plan_messages(x));
  RLO_TRY(count_rounds(x));
  return allocate_scratches(x);
}

static rlo_status create(rlo_exchange_options *o, rlo_exchange **out_exchange) {
  rlo_exchange *x = rlo__alloc(sizeof *x);
  *out_exchange = x;
  RLO_TRY_MEMORY(x);
  atomic_init(&x->references, 1);
  x->info.struct_size = sizeof x->info;
  if (o->link != NULL) {
    x->has_link = true;
    x->link = *o->link;
  }
  return init(o, x);
}

/* Once the link is known, a failure of one rank is that of all. */
rlo_status rlo_exchange_create(const rlo_exchange_options *options, rlo_exchange **out_exchange) {
  RLO_REQUIRE(options, out_exchange);
  *out_exchange = NULL;
  rlo_exchange_options o = RLO_EXCHANGE_OPTIONS_INIT;
  rlo_exchange_link link;
  RLO_TRY(
      rlo__options_read("exchange options", "RLO_EXCHANGE_OPTIONS_INIT", options, &o, sizeof o));
  if (o.link != NULL) {
    RLO_TRY(read_link(o.link, &link));
    o.link = &link;
  }
  rlo_exchange *x;
  rlo_status status = create(&o, &x);
  if (o.link != NULL) {
    rlo__agreement agreement;
    rlo__agreement_begin(&agreement, &link, status, x == NULL ? 0 : x->hash);
    status = rlo__agreement_run(&agreement);
  }
  if (status == RLO_OK) {
    status = share_memory(x);
  }
  if (status != RLO_OK) {
    rlo_exchange_release(x);
    return status;
  }
  x->planned = x->info;
  *out_exchange = x;
  return RLO_OK;
}

rlo_exchange *rlo_exchange_retain(rlo_exchange *exchange) {
  if (exchange != NULL) {
    atomic_fetch_add(&exchange->references, 1);
  }
  return exchange;
}

void rlo_exchange_release(rlo_exchange *exchange) {
  rlo_exchange *x = exchange;
  if (x == NULL || atomic_fetch_sub(&x->references, 1) != 1) {
    return;
  }
  if (x->state != RLO__RUN_IDLE) {
    rlo__run_abandon(x);
  }
  for (size_t k = 0; k < x->messages.count; ++k) {
    rlo__move_release(x->messages.items[k].tasks[RLO__SENDS].move);
    rlo__move_release(x->messages.items[k].tasks[RLO__RECEIVES].move);
  }
  rlo__free(x->messages.items);
  for (int32_t n = 0; n < x->num_scratches; ++n) {
    release_scratch(x, &x->scratches[n]);
  }
  for (int64_t k = 0; k < x->num_members; ++k) {
    rlo__move_release(x->members[k].fill.move);
    rlo__place_release(x->members[k].place);
  }
  rlo__free(x->spare[RLO__SENDS]);
  rlo__free(x->spare[RLO__RECEIVES]);
  rlo__free(x->members);
  rlo__free(x->scratches);
  rlo_redistribution_release(x->plan);
  rlo__free(x);
}

rlo_status rlo_exchange_get_info(const rlo_exchange *exchange, rlo_exchange_info *out_info) {
  RLO_REQUIRE(exchange, out_info);
  return rlo__report_write("exchange info", "RLO_EXCHANGE_INFO_INIT", &exchange->info, out_info,
                           sizeof *out_info);
}
