/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/ends.h"

#include <string.h>

#include "base/checked.h"
#include "exchange/transfer.h"
#include "runtime/cl_error.h"

/* ------------------------------------------------------------------ pieces */

bool rlo__member_accepts(const rlo__member *member, int64_t addend) {
  return member->is_filled &&
         member->incoming[member->first_missing]->piece.addend == addend;
}

void rlo__member_set_placed(rlo__member *member, const rlo__message *message) {
  member->is_placed[message->number] = true;
  while (member->first_missing < member->num_incoming &&
         member->is_placed[member->first_missing]) {
    ++member->first_missing;
  }
}

rlo_status rlo__task_run(const rlo__task *task,
                         const rlo__memory *src,
                         const rlo__memory *dst,
                         cl_event wait,
                         cl_event *out_event) {
  rlo__memory from = *src;
  rlo__memory to = *dst;
  void *const operands[] = {&from};
  *out_event = NULL;
  if (task->move == NULL) {
    return RLO_OK;
  }
  from.is_external = true;
  from.ready = wait;
  rlo_status status = rlo__move_run(task->move, operands, &to);
  if (status != RLO_OK && to.ready != NULL) {
    (void)clReleaseEvent(to.ready);
    to.ready = NULL;
  }
  *out_event = to.ready;
  return status;
}

/* ----------------------------------------------------------------- helpers */

bool rlo__ends_is_complete(rlo_exchange *x, cl_event *event) {
  if (*event == NULL) {
    return true;
  }
  cl_int state = CL_COMPLETE;
  cl_int code = clGetEventInfo(
      *event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  if (code == CL_SUCCESS && state > CL_COMPLETE) {
    return false;
  }
  rlo_status status = rlo__cl_error_check("clGetEventInfo", code);
  if (status == RLO_OK && state < 0) {
    status = rlo__cl_error_check("a command", state);
  }
  rlo__exchange_fail(x, status);
  (void)clReleaseEvent(*event);
  *event = NULL;
  x->has_moved = true;
  return true;
}

static rlo__member *find_member(const rlo_exchange *x,
                                int32_t direction,
                                const rlo__end *e) {
  return &x->members[direction == RLO__SENDS ? e->message->from
                                             : e->message->to];
}

static const rlo__scratch *find_scratch(const rlo_exchange *x,
                                        int32_t direction,
                                        const rlo__end *e) {
  return &x->scratches[find_member(x, direction, e)->scratch];
}

static ptrdiff_t slot_of(const rlo_exchange *x,
                         int32_t direction,
                         const rlo__end *e) {
  return e - x->ends[direction];
}

static cl_mem find_buffer(const rlo_exchange *x,
                          int32_t direction,
                          const rlo__end *e) {
  return find_scratch(x, direction, e)
      ->buffers[direction][slot_of(x, direction, e)];
}

/* The message of an end, in the place of its member. */
static rlo__memory memory_of(const rlo_exchange *x,
                             int32_t direction,
                             const rlo__end *e) {
  return (rlo__memory){.place = find_member(x, direction, e)->place,
                       .host = e->data,
                       .buffer = find_buffer(x, direction, e)};
}

/* The sending end of what two members send each other, once it is packed. */
static rlo__end *find_sender(rlo_exchange *x, const rlo__message *m) {
  for (int32_t slot = 0; slot < x->num_slots; ++slot) {
    rlo__end *e = &x->ends[RLO__SENDS][slot];
    if (e->message == m && e->phase == RLO__PHASE_READY) {
      return e;
    }
  }
  return NULL;
}

/* Counts the memory of a message, from here to where it leaves. */
static void use_memory(rlo_exchange *x, int32_t direction, rlo__end *e) {
  if (e->is_counted) {
    return;
  }
  bool is_host = find_scratch(x, direction, e)->context == NULL;
  int64_t *peak =
      is_host ? &x->info.host_scratch_peak : &x->info.device_scratch_peak;
  int64_t *in_use = &x->scratch_in_use[is_host ? 0 : 1];
  e->is_counted = true;
  *in_use += e->message->piece.bytes;
  *peak = rlo__max(*peak, *in_use);
}

static void free_slot(rlo_exchange *x, int32_t direction, rlo__end *e) {
  if (e->is_counted) {
    bool is_host = find_scratch(x, direction, e)->context == NULL;
    x->scratch_in_use[is_host ? 0 : 1] -= e->message->piece.bytes;
  }
  if (e->uses_spare && direction == RLO__RECEIVES) {
    x->is_spare_used = false;
  }
  *e = (rlo__end){0};
  x->has_moved = true;
}

static rlo_status map(rlo_exchange *x,
                      int32_t direction,
                      cl_map_flags flags,
                      rlo__end *e) {
  cl_command_queue queue = find_member(x, direction, e)->place->queue;
  cl_event packed = e->event;
  cl_int code;
  e->event = NULL;
  e->mapped = clEnqueueMapBuffer(queue,
                                 find_buffer(x, direction, e),
                                 CL_FALSE,
                                 flags,
                                 0,
                                 (size_t)e->message->piece.bytes,
                                 packed != NULL ? 1 : 0,
                                 packed != NULL ? &packed : NULL,
                                 &e->event,
                                 &code);
  if (packed != NULL) {
    (void)clReleaseEvent(packed);
  }
  if (code != CL_SUCCESS) {
    e->mapped = NULL;
    e->event = NULL;
    return rlo__cl_error_check("clEnqueueMapBuffer", code);
  }
  e->data = e->mapped;
  e->phase = RLO__PHASE_MAPPING;
  return RLO_CL(clFlush, queue);
}

static rlo_status unmap(rlo_exchange *x,
                        int32_t direction,
                        rlo__end *e,
                        cl_event *out_event) {
  if (e->mapped == NULL) {
    return RLO_OK;
  }
  void *mapped = e->mapped;
  e->mapped = NULL;
  return RLO_CL(clEnqueueUnmapMemObject,
                find_member(x, direction, e)->place->queue,
                find_buffer(x, direction, e),
                mapped,
                0,
                NULL,
                out_event);
}

/* The end's message is through, but for what its queue still does. */
static void leave(rlo_exchange *x, int32_t direction, rlo__end *e) {
  cl_command_queue queue = find_member(x, direction, e)->place->queue;
  e->phase = RLO__PHASE_LEAVING;
  x->has_moved = true;
  if (e->mapped == NULL) {
    return;
  }
  if (e->event != NULL) {
    (void)clReleaseEvent(e->event);
    e->event = NULL;
  }
  rlo_status status = unmap(x, direction, e, &e->event);
  rlo__exchange_fail(x, status == RLO_OK ? RLO_CL(clFlush, queue) : status);
}

/* The message of a member is read: its sending end leaves. */
static void leave_sender(rlo_exchange *x, const rlo__message *m) {
  rlo__end *sender = find_sender(x, m);
  if (sender != NULL) {
    leave(x, RLO__SENDS, sender);
  }
}

/* ------------------------------------------------------------------- counts */

static void count_sent(rlo_exchange *x, const rlo__message *m) {
  ++x->info.messages_sent;
  x->info.bytes_sent += m->piece.bytes;
  if (m->route == RLO__ROUTE_LINK) {
    ++x->info.link_messages_sent;
    x->info.link_bytes_sent += m->piece.bytes;
  }
}

static void count_received(rlo_exchange *x, const rlo__message *m) {
  ++x->info.messages_received;
  x->info.bytes_received += m->piece.bytes;
  if (m->route == RLO__ROUTE_LINK) {
    ++x->info.link_messages_received;
    x->info.link_bytes_received += m->piece.bytes;
  }
}

/* ------------------------------------------------------------------- sends */

/* Sends for a rank that has failed: the contents do not matter. */
static void begin_failed_send(rlo_exchange *x, rlo__end *e) {
  const rlo__scratch *scratch = find_scratch(x, RLO__SENDS, e);
  e->data = scratch->context != NULL
                ? x->spare[RLO__SENDS]
                : scratch->memory[RLO__SENDS][slot_of(x, RLO__SENDS, e)];
  e->phase = RLO__PHASE_READY;
}

static rlo_status enqueue_pack(rlo_exchange *x, rlo__end *e) {
  const rlo__member *p = find_member(x, RLO__SENDS, e);
  const rlo__memory message = memory_of(x, RLO__SENDS, e);
  RLO_TRY(rlo__task_run(&e->message->pack, &p->src, &message, NULL, &e->event));
  x->has_moved = true;
  if (e->message->route == RLO__ROUTE_COPY) {
    e->phase = RLO__PHASE_READY;
    return RLO_CL(clFlush, p->place->queue);
  }
  return map(x, RLO__SENDS, CL_MAP_READ, e);
}

static void begin_send(rlo_exchange *x, rlo__end *e) {
  const rlo__scratch *scratch = find_scratch(x, RLO__SENDS, e);
  const rlo__task *pack = &e->message->pack;
  if (rlo__exchange_has_failed(x)) {
    begin_failed_send(x, e);
    return;
  }
  if (scratch->context != NULL) {
    use_memory(x, RLO__SENDS, e);
    rlo__exchange_fail(x, enqueue_pack(x, e));
    return;
  }
  const rlo__memory *src = &find_member(x, RLO__SENDS, e)->src;
  if (pack->is_run) {
    /* The source is the message. Nobody writes what `data` of a send is. */
    e->data = (char *)src->host + pack->run_src_offset;
    e->phase = RLO__PHASE_READY;
    x->has_moved = true;
    return;
  }
  if (x->has_computed) {
    return;
  }
  x->has_computed = true;
  use_memory(x, RLO__SENDS, e);
  e->data = scratch->memory[RLO__SENDS][slot_of(x, RLO__SENDS, e)];
  e->phase = RLO__PHASE_READY;
  const rlo__memory message = memory_of(x, RLO__SENDS, e);
  rlo__exchange_fail(x, rlo__task_run(pack, src, &message, NULL, &e->event));
}

static rlo_status step_send(rlo_exchange *x, rlo__end *e) {
  bool is_link = e->message->route == RLO__ROUTE_LINK;
  bool is_done = false;
  switch (e->phase) {
    case RLO__PHASE_BEGIN:
      begin_send(x, e);
      break;
    case RLO__PHASE_MAPPING:
      if (rlo__ends_is_complete(x, &e->event)) {
        e->phase = RLO__PHASE_READY;
        if (rlo__exchange_has_failed(x)) {
          begin_failed_send(x, e);
        }
      }
      break;
    case RLO__PHASE_READY:
      if (is_link) {
        return rlo__transfer_start(x, RLO__SENDS, e);
      }
      if (rlo__exchange_has_failed(x)) {
        leave(x, RLO__SENDS, e);
      }
      break;
    case RLO__PHASE_MOVING:
      RLO_TRY(rlo__transfer_test(x, RLO__SENDS, e, &is_done));
      if (is_done) {
        count_sent(x, e->message);
        leave(x, RLO__SENDS, e);
      }
      break;
    case RLO__PHASE_ARRIVED:
    case RLO__PHASE_LEAVING:
      if (rlo__ends_is_complete(x, &e->event)) {
        free_slot(x, RLO__SENDS, e);
      }
      break;
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- receives */

/* Receives for a rank that has failed: one after the other, what the other
 * ranks send. */
static void begin_failed_receive(rlo_exchange *x, rlo__end *e) {
  const rlo__scratch *scratch = find_scratch(x, RLO__RECEIVES, e);
  if (e->message->route != RLO__ROUTE_LINK) {
    leave(x, RLO__RECEIVES, e);
  } else if (scratch->context == NULL) {
    e->data = scratch->memory[RLO__RECEIVES][slot_of(x, RLO__RECEIVES, e)];
    e->phase = RLO__PHASE_READY;
  } else if (!x->is_spare_used && e->message->turn == x->turns[RLO__RECEIVES]) {
    x->is_spare_used = true;
    e->uses_spare = true;
    e->data = x->spare[RLO__RECEIVES];
    e->phase = RLO__PHASE_READY;
  }
}

static void begin_receive(rlo_exchange *x, rlo__end *e) {
  const rlo__scratch *scratch = find_scratch(x, RLO__RECEIVES, e);
  if (rlo__exchange_has_failed(x)) {
    begin_failed_receive(x, e);
    return;
  }
  rlo__member *p = find_member(x, RLO__RECEIVES, e);
  const rlo__task *place = &e->message->place;
  if (scratch->context == NULL && e->message->route == RLO__ROUTE_LINK &&
      place->is_run) {
    /* Into the destination, once that has its fill. */
    if (p->is_filled) {
      e->is_in_place = true;
      e->data = (char *)p->dst.host + place->run_dst_offset;
      e->phase = RLO__PHASE_READY;
    }
    return;
  }
  e->phase = RLO__PHASE_READY;
  if (scratch->context == NULL) {
    if (e->message->route == RLO__ROUTE_LINK) {
      use_memory(x, RLO__RECEIVES, e);
      e->data = scratch->memory[RLO__RECEIVES][slot_of(x, RLO__RECEIVES, e)];
    }
    return;
  }
  use_memory(x, RLO__RECEIVES, e);
  if (e->message->route != RLO__ROUTE_COPY) {
    rlo__exchange_fail(
        x, map(x, RLO__RECEIVES, CL_MAP_WRITE_INVALIDATE_REGION, e));
    e->phase = e->mapped != NULL ? RLO__PHASE_MAPPING : RLO__PHASE_BEGIN;
  }
}

/* From a member of this process; its end stays until the message is read. */
static void meet_sender(rlo_exchange *x, rlo__end *e) {
  rlo__end *sender = find_sender(x, e->message);
  if (rlo__exchange_has_failed(x)) {
    leave(x, RLO__RECEIVES, e);
    return;
  }
  if (sender == NULL) {
    return;
  }
  if (e->mapped != NULL) {
    if (x->has_computed) {
      return;
    }
    x->has_computed = true;
    memcpy(e->data, sender->data, (size_t)e->message->piece.bytes);
    leave(x, RLO__SENDS, sender);
  } else {
    e->data = sender->data;
  }
  e->phase = RLO__PHASE_ARRIVED;
  x->has_moved = true;
}

/* From the sender's buffer, on the receiver's queue. */
static rlo_status enqueue_copy(rlo_exchange *x, rlo__end *e) {
  const rlo__end *sender = find_sender(x, e->message);
  if (sender == NULL) {
    return RLO_FAIL(RLO_INTERNAL, "a message arrived before it was packed");
  }
  return RLO_CL(clEnqueueCopyBuffer,
                find_member(x, RLO__RECEIVES, e)->place->queue,
                find_buffer(x, RLO__SENDS, sender),
                find_buffer(x, RLO__RECEIVES, e),
                0,
                0,
                (size_t)e->message->piece.bytes,
                sender->event != NULL ? 1 : 0,
                sender->event != NULL ? &sender->event : NULL,
                NULL);
}

static rlo_status enqueue_place(rlo_exchange *x, rlo__end *e) {
  const rlo__member *p = find_member(x, RLO__RECEIVES, e);
  const rlo__memory message = memory_of(x, RLO__RECEIVES, e);
  RLO_TRY(unmap(x, RLO__RECEIVES, e, NULL));
  if (e->message->route == RLO__ROUTE_COPY) {
    RLO_TRY(enqueue_copy(x, e));
  }
  RLO_TRY(
      rlo__task_run(&e->message->place, &message, &p->dst, NULL, &e->event));
  return RLO_CL(clFlush, p->place->queue);
}

static void place(rlo_exchange *x, rlo__end *e) {
  rlo__member *p = find_member(x, RLO__RECEIVES, e);
  const rlo__message *m = e->message;
  if (p->place->context != NULL) {
    rlo__exchange_fail(x, enqueue_place(x, e));
  } else if (!e->is_in_place) {
    if (x->has_computed) {
      return;
    }
    x->has_computed = true;
    const rlo__memory message = memory_of(x, RLO__RECEIVES, e);
    rlo__exchange_fail(
        x, rlo__task_run(&m->place, &message, &p->dst, NULL, &e->event));
    if (m->route == RLO__ROUTE_STAGED) {
      leave_sender(x, m);
    }
  }
  rlo__member_set_placed(p, m);
  count_received(x, m);
  if (m->route != RLO__ROUTE_LINK) {
    count_sent(x, m);
  }
  e->phase = RLO__PHASE_LEAVING;
  x->has_moved = true;
}

static void finish_receive(rlo_exchange *x, rlo__end *e) {
  if (e->message->route == RLO__ROUTE_COPY) {
    leave_sender(x, e->message);
  }
  free_slot(x, RLO__RECEIVES, e);
}

static rlo_status step_receive(rlo_exchange *x, rlo__end *e) {
  bool is_done = false;
  switch (e->phase) {
    case RLO__PHASE_BEGIN:
      begin_receive(x, e);
      break;
    case RLO__PHASE_MAPPING:
      if (rlo__ends_is_complete(x, &e->event)) {
        e->phase =
            rlo__exchange_has_failed(x) ? RLO__PHASE_BEGIN : RLO__PHASE_READY;
      }
      break;
    case RLO__PHASE_READY:
      if (e->message->route == RLO__ROUTE_LINK) {
        return rlo__transfer_start(x, RLO__RECEIVES, e);
      }
      meet_sender(x, e);
      break;
    case RLO__PHASE_MOVING:
      RLO_TRY(rlo__transfer_test(x, RLO__RECEIVES, e, &is_done));
      if (is_done) {
        e->phase = RLO__PHASE_ARRIVED;
        x->has_moved = true;
        return rlo__transfer_open(x, e);
      }
      break;
    case RLO__PHASE_ARRIVED:
      if (rlo__exchange_has_failed(x)) {
        leave(x, RLO__RECEIVES, e);
      } else if (rlo__member_accepts(find_member(x, RLO__RECEIVES, e),
                                     e->message->piece.addend)) {
        place(x, e);
      }
      return e->phase == RLO__PHASE_LEAVING ? rlo__transfer_close(x, e)
                                            : RLO_OK;
    case RLO__PHASE_LEAVING:
      if (rlo__ends_is_complete(x, &e->event)) {
        finish_receive(x, e);
      }
      break;
  }
  return RLO_OK;
}

/* --------------------------------------------------------------------- all */

rlo_status rlo__ends_step(rlo_exchange *x, int32_t direction) {
  for (int32_t slot = 0; slot < x->num_slots; ++slot) {
    rlo__end *e = &x->ends[direction][slot];
    if (e->message == NULL && x->next[direction] < x->counts[direction]) {
      e->message = x->lists[direction][x->next[direction]++];
      x->has_moved = true;
    }
    if (e->message != NULL) {
      RLO_TRY(direction == RLO__SENDS ? step_send(x, e) : step_receive(x, e));
    }
  }
  return RLO_OK;
}

bool rlo__ends_is_over(const rlo_exchange *x, int32_t direction) {
  for (int32_t slot = 0; slot < x->num_slots; ++slot) {
    if (x->ends[direction][slot].message != NULL) {
      return false;
    }
  }
  return x->next[direction] == x->counts[direction];
}

cl_event rlo__ends_find_event(const rlo_exchange *x) {
  for (int32_t direction = 0; direction < 2; ++direction) {
    for (int32_t slot = 0; slot < x->num_slots; ++slot) {
      const rlo__end *e = &x->ends[direction][slot];
      if (e->event != NULL && e->phase != RLO__PHASE_READY) {
        return e->event;
      }
    }
  }
  return NULL;
}

void rlo__ends_abandon(rlo_exchange *x) {
  for (int32_t direction = 0; direction < 2; ++direction) {
    for (int32_t slot = 0; slot < x->num_slots; ++slot) {
      rlo__end *e = &x->ends[direction][slot];
      if (e->message != NULL) {
        leave(x, direction, e);
        if (e->event != NULL) {
          (void)clWaitForEvents(1, &e->event);
          (void)clReleaseEvent(e->event);
        }
        free_slot(x, direction, e);
      }
    }
  }
}
