/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sched.h>

#include "exchange/state.h"
#include "runtime/cl_error.h"

/* ------------------------------------------------------------------- start */

static rlo_status check_host_memory(const rlo__member *p) {
  const char *side = p->src.host == NULL && p->src.bytes > 0 ? "source" : "destination";
  int64_t bytes = side[0] == 's' ? p->src.bytes : p->dst.bytes;
  RLO_FAIL_IF(side[0] == 's' || (p->dst.host == NULL && bytes > 0), RLO_INVALID_ARGUMENT,
              "the %s of device %" PRId64 ", of %" PRId64 " bytes, is NULL", side, p->device,
              bytes);
  return RLO_OK;
}

static void begin_member(rlo_exchange *x, rlo__member *p, const rlo_exchange_memory *memory) {
  const rlo_exchange_memory where = memory != NULL ? *memory : (rlo_exchange_memory){0};
  /* Never written. */
  p->src = (rlo__memory){.place = p->place,
                         .host = (void *)(uintptr_t)where.host_src,
                         .buffer = where.src,
                         .offset_bytes = where.src_offset_bytes,
                         .bytes = p->src.bytes};
  p->dst = (rlo__memory){.place = p->place,
                         .host = where.host_dst,
                         .buffer = where.dst,
                         .offset_bytes = where.dst_offset_bytes,
                         .bytes = p->dst.bytes};
  p->is_filled = false;
  p->missing = p->next_direct = p->incoming;
  if (p->place->context == NULL) {
    rlo__exchange_fail(x, check_host_memory(p));
  }
}

rlo_status rlo_exchange_start(rlo_exchange *exchange, const rlo_exchange_memory *memories) {
  RLO_REQUIRE(exchange);
  rlo_exchange *x = exchange;
  RLO_FAIL_IF(x->state != RLO__RUN_IDLE, RLO_INVALID_ARGUMENT,
              "the exchange runs already; step it until it is done");
  if (!x->has_link) {
    RLO_REQUIRE_LIST(memories, x->num_members);
  }
  if (x->is_lost) {
    return rlo__status_restore(&x->failure);
  }
  x->failure.status = RLO_OK;
  x->next[0] = x->next[1] = 0;
  x->turns[0] = x->turns[1] = 0;
  x->info = x->planned;
  for (size_t k = 0; k < x->messages.count; ++k) {
    x->messages.items[k].is_placed = false;
  }
  if (memories == NULL && x->num_members > 0) {
    rlo__exchange_fail(x, RLO_FAIL(RLO_INVALID_ARGUMENT, "'memories' is NULL"));
  }
  for (int64_t k = 0; k < x->num_members; ++k) {
    begin_member(x, &x->members[k], memories == NULL ? NULL : &memories[k]);
  }
  x->state = RLO__RUN_MOVES;
  return RLO_OK;
}

/* ---------------------------------------------------------- without message */

static rlo_status enqueue_marker(cl_command_queue queue, cl_event *out_event) {
  RLO_TRY(RLO_CL(clEnqueueMarkerWithWaitList, queue, 0, NULL, out_event));
  return RLO_CL(clFlush, queue);
}

/* The member's queue waits for what was enqueued before on that of `source`. */
static rlo_status run_task(const rlo__member *p, rlo__member *source, const rlo__task *task,
                           cl_event *out_event) {
  cl_event wait = NULL;
  if (source->place->queue != p->place->queue) {
    if (source->ready == NULL) {
      RLO_TRY(enqueue_marker(source->place->queue, &source->ready));
    }
    wait = source->ready;
  }
  RLO_TRY(rlo__task_run(task, &source->src, &p->dst, wait, out_event));
  return p->place->queue != NULL ? RLO_CL(clFlush, p->place->queue) : RLO_OK;
}

/* Runs or enqueues a task that writes a member's destination; `source` is whose
 * memory it reads. False if it is left for the next step. */
static bool run_direct(rlo_exchange *x, const rlo__member *p, rlo__member *source,
                       const rlo__task *task, cl_event *out_event) {
  if (task->move == NULL) {
    return true;
  }
  if (p->place->context == NULL && x->has_computed) {
    return false;
  }
  x->has_computed = x->has_computed || p->place->context == NULL;
  rlo__exchange_fail(x, run_task(p, source, task, out_event));
  x->has_moved = true;
  return true;
}

/* Fills a destination, and moves what needs no message and whose turn it is. */
static void step_member(rlo_exchange *x, rlo__member *p) {
  if (rlo__exchange_has_failed(x)) {
    return;
  }
  if (!p->is_filled) {
    p->is_filled = run_direct(x, p, p, &p->fill, &p->filled);
  }
  for (; p->next_direct != NULL; p->next_direct = p->next_direct->next) {
    rlo__message *m = p->next_direct;
    if (m->route != RLO__ROUTE_DIRECT) {
      continue;
    }
    if (rlo__exchange_has_failed(x) || !rlo__member_accepts(p, m->piece.addend) ||
        !run_direct(x, p, &x->members[m->members[RLO__SENDS]], &m->tasks[RLO__RECEIVES],
                    &m->event)) {
      return;
    }
    rlo__exchange_set_placed(x, m);
  }
}

/* --------------------------------------------------------------------- end */

static void begin_drain(rlo_exchange *x) {
  x->state = RLO__RUN_DRAINS;
  x->has_moved = true;
  for (int64_t k = 0; k < x->num_members; ++k) {
    rlo__member *p = &x->members[k];
    if (p->place->queue == NULL) {
      continue;
    }
    if (p->ready != NULL) {
      (void)clReleaseEvent(p->ready);
      p->ready = NULL;
    }
    rlo_status status = enqueue_marker(p->place->queue, &p->ready);
    if (status != RLO_OK) {
      rlo__exchange_fail(x, status);
      (void)clFinish(p->place->queue);
    }
  }
}

/* Releases the events of all commands that are complete. */
static bool is_drained(rlo_exchange *x) {
  bool is_over = true;
  for (int64_t k = 0; k < x->num_members; ++k) {
    rlo__member *p = &x->members[k];
    is_over = rlo__ends_is_complete(x, &p->ready) && is_over;
    is_over = rlo__ends_is_complete(x, &p->filled) && is_over;
  }
  for (size_t k = 0; k < x->messages.count; ++k) {
    is_over = rlo__ends_is_complete(x, &x->messages.items[k].event) && is_over;
  }
  return is_over;
}

static bool is_moved(const rlo_exchange *x) {
  for (int64_t k = 0; k < x->num_members; ++k) {
    const rlo__member *p = &x->members[k];
    if (!rlo__exchange_has_failed(x) && (!p->is_filled || p->missing != NULL)) {
      return false;
    }
  }
  return rlo__ends_is_over(x);
}

void rlo__run_abandon(rlo_exchange *x) {
  for (int64_t k = 0; k < x->num_members; ++k) {
    if (x->members[k].place->queue != NULL) {
      (void)clFinish(x->members[k].place->queue);
    }
  }
  (void)is_drained(x);
  rlo__ends_abandon(x);
  x->state = RLO__RUN_IDLE;
}

/* -------------------------------------------------------------------- step */

static rlo_status step_moves(rlo_exchange *x) {
  for (int64_t k = 0; k < x->num_members; ++k) {
    step_member(x, &x->members[k]);
  }
  /* Messages that have come are placed while they are in the caches, before
   * more are packed. */
  RLO_TRY(rlo__ends_step(x, RLO__RECEIVES));
  RLO_TRY(rlo__ends_step(x, RLO__SENDS));
  if (is_moved(x)) {
    begin_drain(x);
  }
  return RLO_OK;
}

/* Goes on with the run; RLO_OK unless the link is lost. */
static rlo_status step(rlo_exchange *x, bool *out_is_done) {
  if (x->state == RLO__RUN_MOVES) {
    RLO_TRY(step_moves(x));
  }
  if (x->state == RLO__RUN_DRAINS && is_drained(x)) {
    x->state = RLO__RUN_AGREES;
    if (x->has_link) {
      rlo__agreement_begin(&x->agreement, &x->link,
                           rlo__exchange_has_failed(x) ? rlo__status_restore(&x->failure) : RLO_OK,
                           x->hash);
    }
  }
  if (x->state != RLO__RUN_AGREES) {
    return RLO_OK;
  }
  if (!x->has_link) {
    *out_is_done = true;
    return RLO_OK;
  }
  return rlo__agreement_step(&x->agreement, out_is_done);
}

rlo_status rlo_exchange_step(rlo_exchange *exchange, bool *out_is_done) {
  RLO_REQUIRE(exchange, out_is_done);
  rlo_exchange *x = exchange;
  *out_is_done = false;
  RLO_FAIL_IF(x->state == RLO__RUN_IDLE, RLO_INVALID_ARGUMENT, "no run was started");
  x->has_computed = false;
  x->has_moved = false;
  rlo_status status = step(x, out_is_done);
  if (status != RLO_OK) {
    x->failure.status = RLO_OK;
    rlo__exchange_fail(x, status);
    x->is_lost = true;
    rlo__run_abandon(x);
    *out_is_done = true;
    return rlo__status_restore(&x->failure);
  }
  if (!*out_is_done) {
    return RLO_OK;
  }
  x->state = RLO__RUN_IDLE;
  if (x->has_link) {
    return rlo__agreement_result(&x->agreement);
  }
  return rlo__exchange_has_failed(x) ? rlo__status_restore(&x->failure) : RLO_OK;
}

/* --------------------------------------------------------------------- run */

/* Waits for a command, if no message of the link's may come meanwhile; else
 * leaves the processor to others. */
static void wait(const rlo_exchange *x) {
  cl_event event = rlo__ends_find_event(x);
  for (int64_t k = 0; k < x->num_members && event == NULL; ++k) {
    event = x->state == RLO__RUN_DRAINS ? x->members[k].ready : NULL;
  }
  if (event != NULL && !x->has_link) {
    (void)clWaitForEvents(1, &event);
  } else {
    (void)sched_yield();
  }
}

rlo_status rlo_exchange_run(rlo_exchange *exchange, const rlo_exchange_memory *memories) {
  RLO_TRY(rlo_exchange_start(exchange, memories));
  for (;;) {
    bool is_done = false;
    rlo_status status = rlo_exchange_step(exchange, &is_done);
    if (is_done) {
      return status;
    }
    if (!exchange->has_moved && !exchange->has_computed) {
      wait(exchange);
    }
  }
}
