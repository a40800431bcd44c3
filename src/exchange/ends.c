/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "exchange/state.h"
#include "runtime/cl_error.h"

/* ------------------------------------------------------------------ pieces */

bool rlo__member_accepts(const rlo__member *member, int64_t addend) {
  return member->is_filled && member->missing->piece.addend == addend;
}

void rlo__message_count(const rlo__message *message, int64_t *messages, int64_t *bytes) {
  *messages += 1;
  *bytes += message->piece.bytes;
}

/* Counts a message that is through. */
static void count_moved(rlo_exchange *x, const rlo__message *m) {
  rlo_exchange_info *info = &x->info;
  if (m->members[RLO__SENDS] == m->members[RLO__RECEIVES]) {
    return;
  }
  if (m->members[RLO__SENDS] >= 0) {
    rlo__message_count(m, &info->messages_sent, &info->bytes_sent);
  }
  if (m->members[RLO__RECEIVES] >= 0) {
    rlo__message_count(m, &info->messages_received, &info->bytes_received);
  }
  if (m->members[RLO__RECEIVES] < 0) {
    rlo__message_count(m, &info->link_messages_sent, &info->link_bytes_sent);
  } else if (m->members[RLO__SENDS] < 0) {
    rlo__message_count(m, &info->link_messages_received, &info->link_bytes_received);
  }
}

void rlo__exchange_set_placed(rlo_exchange *exchange, rlo__message *message) {
  rlo__member *p = &exchange->members[message->members[RLO__RECEIVES]];
  message->is_placed = true;
  while (p->missing != NULL && p->missing->is_placed) {
    p->missing = p->missing->next;
  }
  count_moved(exchange, message);
}

rlo_status rlo__task_run(const rlo__task *task, const rlo__memory *src, const rlo__memory *dst,
                         cl_event wait, cl_event *out_event) {
  rlo__memory from = *src;
  rlo__memory to = *dst;
  void *const operands[] = {&from};
  *out_event = NULL;
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

/* ------------------------------------------------------------------- slots */

bool rlo__ends_is_complete(rlo_exchange *x, cl_event *event) {
  if (*event == NULL) {
    return true;
  }
  cl_int state = CL_COMPLETE;
  cl_int code =
      clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
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

/* Gives a free slot to the next message of its direction. */
static void take_slot(rlo_exchange *x, int32_t direction, rlo__end *e) {
  while (x->next[direction] < x->messages.count && e->message == NULL) {
    rlo__message *m = &x->messages.items[x->next[direction]++];
    if (!rlo__message_needs_slot(m, direction)) {
      continue;
    }
    rlo__member *p = &x->members[m->members[direction]];
    *e = (rlo__end){.message = m,
                    .direction = direction,
                    .member = p,
                    .own = p->scratch->memory[e - x->ends],
                    .data = {.place = p->place, .buffer = p->scratch->buffers[e - x->ends]}};
    if (direction == RLO__SENDS) {
      m->sender = e;
    }
    x->has_moved = true;
  }
}

static bool is_send(const rlo__end *e) {
  return e->direction == RLO__SENDS;
}

static bool is_on_host(const rlo__end *e) {
  return e->member->place->context == NULL;
}

/* The sending end of what two members send each other, once it is packed. */
static rlo__end *find_sender(const rlo__message *m) {
  return m->sender != NULL && m->sender->phase == RLO__PHASE_READY ? m->sender : NULL;
}

/* Counts the memory of a message, from here to where it leaves. */
static void use_memory(rlo_exchange *x, rlo__end *e) {
  if (e->is_counted) {
    return;
  }
  int64_t *peak = is_on_host(e) ? &x->info.host_scratch_peak : &x->info.device_scratch_peak;
  int64_t *in_use = &x->scratch_in_use[is_on_host(e) ? 0 : 1];
  e->is_counted = true;
  *in_use += e->message->piece.bytes;
  *peak = rlo__max(*peak, *in_use);
}

static void free_slot(rlo_exchange *x, rlo__end *e) {
  if (e->is_counted) {
    x->scratch_in_use[is_on_host(e) ? 0 : 1] -= e->message->piece.bytes;
  }
  if (x->spare_user[e->direction] == e) {
    x->spare_user[e->direction] = NULL;
  }
  if (is_send(e)) {
    e->message->sender = NULL;
  }
  *e = (rlo__end){0};
  x->has_moved = true;
}

/* Maps the buffer after the last command enqueued for it. */
static rlo_status map(rlo__end *e) {
  cl_command_queue queue = e->member->place->queue;
  cl_event packed = e->event;
  cl_int code;
  e->event = NULL;
  e->mapped = clEnqueueMapBuffer(queue, e->data.buffer, CL_FALSE,
                                 is_send(e) ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                 (size_t)e->message->piece.bytes, packed != NULL ? 1 : 0,
                                 packed != NULL ? &packed : NULL, &e->event, &code);
  if (packed != NULL) {
    (void)clReleaseEvent(packed);
  }
  if (code != CL_SUCCESS) {
    e->mapped = NULL;
    e->event = NULL;
    return rlo__cl_error_check("clEnqueueMapBuffer", code);
  }
  e->data.host = e->mapped;
  e->phase = RLO__PHASE_MAPPING;
  return RLO_CL(clFlush, queue);
}

static rlo_status unmap(rlo__end *e, cl_event *out_event) {
  if (e->mapped == NULL) {
    return RLO_OK;
  }
  void *mapped = e->mapped;
  e->mapped = NULL;
  return RLO_CL(clEnqueueUnmapMemObject, e->member->place->queue, e->data.buffer, mapped, 0, NULL,
                out_event);
}

/* The end's message is through, but for what its queue still does. */
static void leave(rlo_exchange *x, rlo__end *e) {
  e->phase = RLO__PHASE_LEAVING;
  x->has_moved = true;
  if (e->mapped == NULL) {
    return;
  }
  if (e->event != NULL) {
    (void)clReleaseEvent(e->event);
    e->event = NULL;
  }
  rlo_status status = unmap(e, &e->event);
  rlo__exchange_fail(x, status == RLO_OK ? RLO_CL(clFlush, e->member->place->queue) : status);
}

/* The message of a member is read: its sending end leaves. */
static void leave_sender(rlo_exchange *x, const rlo__message *m) {
  rlo__end *sender = find_sender(m);
  if (sender != NULL) {
    leave(x, sender);
  }
}

/* ---------------------------------------------------------------- the link */

/* Starts the transfer of an end, if all before it are started. */
static rlo_status start_transfer(rlo_exchange *x, rlo__end *e) {
  const rlo__message *m = e->message;
  const rlo_exchange_link *link = &x->link;
  const int32_t slot = (int32_t)(e - x->ends);
  void *data = e->data.host;
  if (m->turn != x->turns[e->direction]) {
    return RLO_OK;
  }
  RLO_TRY(RLO__CALLBACK(
      is_send(e) ? link->start_send(link->payload, slot, m->rank, data, m->piece.bytes)
                 : link->start_receive(link->payload, slot, m->rank, data, m->piece.bytes),
      "the link, %s rank %" PRId32, is_send(e) ? "to" : "from", m->rank));
  ++x->turns[e->direction];
  e->phase = RLO__PHASE_MOVING;
  x->has_moved = true;
  return RLO_OK;
}

/* Says that a message was read, if it is open. */
static rlo_status close_message(rlo_exchange *x, rlo__end *e) {
  if (!e->is_open) {
    return RLO_OK;
  }
  e->is_open = false;
  return RLO__CALLBACK(x->link.close(x->link.payload, (int32_t)(e - x->ends)), "the link's close");
}

/* Finds where a message is that was received: `data` may become memory of the
 * sender's, until it is closed, where a member on the host reads it. */
static rlo_status open_message(rlo_exchange *x, rlo__end *e) {
  const void *data = e->data.host;
  if (x->link.open == NULL) {
    return RLO_OK;
  }
  RLO_TRY(RLO__CALLBACK(x->link.open(x->link.payload, (int32_t)(e - x->ends), &data),
                        "the link's open"));
  e->is_open = true;
  if (data == e->data.host) {
    return close_message(x, e);
  }
  if (!is_on_host(e)) {
    /* A device reads what is in its own memory. */
    memcpy(e->data.host, data, (size_t)e->message->piece.bytes);
    return close_message(x, e);
  }
  /* Nobody writes what `data` of an open message is. */
  e->data.host = (void *)(uintptr_t)data;
  e->is_in_place = false;
  return RLO_OK;
}

static rlo_status test_transfer(rlo_exchange *x, rlo__end *e) {
  bool is_done = false;
  RLO_TRY(RLO__CALLBACK(x->link.test(x->link.payload, (int32_t)(e - x->ends), &is_done),
                        "the link's test"));
  if (!is_done) {
    return RLO_OK;
  }
  if (is_send(e)) {
    count_moved(x, e->message);
    leave(x, e);
    return RLO_OK;
  }
  e->phase = RLO__PHASE_ARRIVED;
  x->has_moved = true;
  return open_message(x, e);
}

/* ------------------------------------------------------------------ phases */

/* Takes part for a rank that has failed: the contents do not matter. What is
 * sent or received for a device uses the spare memory, one after the other. */
static void begin_failed(rlo_exchange *x, rlo__end *e) {
  const int32_t direction = e->direction;
  if (e->message->route != RLO__ROUTE_LINK) {
    leave(x, e);
  } else if (is_on_host(e)) {
    e->data.host = e->own;
    e->phase = RLO__PHASE_READY;
  } else if (x->spare_user[direction] == NULL && e->message->turn == x->turns[direction]) {
    x->spare_user[direction] = e;
    e->data.host = x->spare[direction];
    e->phase = RLO__PHASE_READY;
  }
}

static rlo_status begin_on_device(rlo_exchange *x, rlo__end *e) {
  use_memory(x, e);
  if (is_send(e)) {
    RLO_TRY(
        rlo__task_run(&e->message->tasks[RLO__SENDS], &e->member->src, &e->data, NULL, &e->event));
    x->has_moved = true;
  }
  if (e->message->route == RLO__ROUTE_COPY) {
    e->phase = RLO__PHASE_READY;
    return RLO_CL(clFlush, e->member->place->queue);
  }
  return map(e);
}

static void begin_on_host(rlo_exchange *x, rlo__end *e) {
  const rlo__task *task = &e->message->tasks[e->direction];
  const rlo__memory *side = is_send(e) ? &e->member->src : &e->member->dst;
  if (!is_send(e) && e->message->route != RLO__ROUTE_LINK) {
    /* Read where the sender has it. */
    e->phase = RLO__PHASE_READY;
    return;
  }
  if (is_send(e) ? x->has_computed && !task->is_run : task->is_run && !e->member->is_filled) {
    return;
  }
  e->phase = RLO__PHASE_READY;
  if (task->is_run) {
    /* Nobody writes what `data` of a send is. */
    e->is_in_place = true;
    e->data.host = (char *)side->host + task->run_offset;
    x->has_moved = true;
    return;
  }
  use_memory(x, e);
  e->data.host = e->own;
  if (is_send(e)) {
    x->has_computed = true;
    rlo__exchange_fail(x, rlo__task_run(task, side, &e->data, NULL, &e->event));
  }
}

/* Meets a sender of this process, whose end stays until the message is read. */
static void meet_sender(rlo_exchange *x, rlo__end *e) {
  rlo__end *sender = find_sender(e->message);
  if (sender == NULL) {
    return;
  }
  if (e->mapped != NULL) {
    if (x->has_computed) {
      return;
    }
    x->has_computed = true;
    memcpy(e->data.host, sender->data.host, (size_t)e->message->piece.bytes);
    leave(x, sender);
  } else {
    e->data.host = sender->data.host;
  }
  e->phase = RLO__PHASE_ARRIVED;
  x->has_moved = true;
}

/* Copies from the sender's buffer, on the receiver's queue. */
static rlo_status enqueue_copy(const rlo__end *e) {
  const rlo__end *sender = find_sender(e->message);
  RLO_FAIL_IF(sender == NULL, RLO_INTERNAL, "a message arrived before it was packed");
  return RLO_CL(clEnqueueCopyBuffer, e->member->place->queue, sender->data.buffer, e->data.buffer,
                0, 0, (size_t)e->message->piece.bytes, sender->event != NULL ? 1 : 0,
                sender->event != NULL ? &sender->event : NULL, NULL);
}

static rlo_status enqueue_place(rlo__end *e) {
  RLO_TRY(unmap(e, NULL));
  if (e->message->route == RLO__ROUTE_COPY) {
    RLO_TRY(enqueue_copy(e));
  }
  RLO_TRY(
      rlo__task_run(&e->message->tasks[RLO__RECEIVES], &e->data, &e->member->dst, NULL, &e->event));
  return RLO_CL(clFlush, e->member->place->queue);
}

static void place(rlo_exchange *x, rlo__end *e) {
  rlo__message *m = e->message;
  if (!is_on_host(e)) {
    rlo__exchange_fail(x, enqueue_place(e));
  } else if (!e->is_in_place) {
    if (x->has_computed) {
      return;
    }
    x->has_computed = true;
    rlo__exchange_fail(
        x, rlo__task_run(&m->tasks[RLO__RECEIVES], &e->data, &e->member->dst, NULL, &e->event));
    if (m->route == RLO__ROUTE_STAGED) {
      leave_sender(x, m);
    }
  }
  rlo__exchange_set_placed(x, m);
  e->phase = RLO__PHASE_LEAVING;
  x->has_moved = true;
}

static rlo_status step_end(rlo_exchange *x, rlo__end *e) {
  const rlo__message *m = e->message;
  const bool has_failed = rlo__exchange_has_failed(x);
  switch (e->phase) {
    case RLO__PHASE_BEGIN:
      if (has_failed) {
        begin_failed(x, e);
      } else if (is_on_host(e)) {
        begin_on_host(x, e);
      } else {
        rlo__exchange_fail(x, begin_on_device(x, e));
      }
      break;
    case RLO__PHASE_MAPPING:
      if (rlo__ends_is_complete(x, &e->event)) {
        e->phase = rlo__exchange_has_failed(x) ? RLO__PHASE_BEGIN : RLO__PHASE_READY;
      }
      break;
    case RLO__PHASE_READY:
      if (m->route == RLO__ROUTE_LINK) {
        return start_transfer(x, e);
      }
      if (has_failed) {
        leave(x, e);
      } else if (!is_send(e)) {
        meet_sender(x, e);
      }
      break;
    case RLO__PHASE_MOVING:
      return test_transfer(x, e);
    case RLO__PHASE_ARRIVED:
      if (has_failed) {
        leave(x, e);
      } else if (rlo__member_accepts(e->member, m->piece.addend)) {
        place(x, e);
      }
      return e->phase == RLO__PHASE_LEAVING ? close_message(x, e) : RLO_OK;
    case RLO__PHASE_LEAVING:
      if (rlo__ends_is_complete(x, &e->event)) {
        if (!is_send(e) && m->route == RLO__ROUTE_COPY) {
          leave_sender(x, m);
        }
        free_slot(x, e);
      }
      break;
  }
  return RLO_OK;
}

/* --------------------------------------------------------------------- all */

rlo_status rlo__ends_step(rlo_exchange *x, int32_t direction) {
  for (int32_t slot = 0; slot < x->num_slots; ++slot) {
    rlo__end *e = &x->ends[direction * x->num_slots + slot];
    take_slot(x, direction, e);
    if (e->message != NULL) {
      RLO_TRY(step_end(x, e));
    }
  }
  return RLO_OK;
}

bool rlo__ends_is_over(const rlo_exchange *x) {
  for (int32_t n = 0; n < 2 * x->num_slots; ++n) {
    if (x->ends[n].message != NULL) {
      return false;
    }
  }
  return x->next[RLO__SENDS] == x->messages.count && x->next[RLO__RECEIVES] == x->messages.count;
}

cl_event rlo__ends_find_event(const rlo_exchange *x) {
  for (int32_t n = 0; n < 2 * x->num_slots; ++n) {
    if (x->ends[n].event != NULL && x->ends[n].phase != RLO__PHASE_READY) {
      return x->ends[n].event;
    }
  }
  return NULL;
}

void rlo__ends_abandon(rlo_exchange *x) {
  for (int32_t n = 0; n < 2 * x->num_slots; ++n) {
    rlo__end *e = &x->ends[n];
    if (e->message != NULL) {
      leave(x, e);
      if (e->event != NULL) {
        (void)clWaitForEvents(1, &e->event);
        (void)clReleaseEvent(e->event);
      }
      free_slot(x, e);
    }
  }
}
