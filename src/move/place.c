/* SPDX-License-Identifier: Apache-2.0 */
#include "move/place.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "relayout/service.h"
#include "runtime/cl_error.h"
#include "runtime/context.h"

enum {
  /** So many commands are kept before it is looked which are complete. */
  MANY_COMMANDS = 64
};

static rlo_status open_queue(rlo__place *place, bool is_profiling) {
  const rlo_context *context = place->context;
  cl_int code = CL_SUCCESS;
  place->queue = clCreateCommandQueue(context->cl_context, context->cl_device,
                                      is_profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  return rlo__cl_error_check("clCreateCommandQueue", code);
}

rlo_status rlo__place_create(rlo_context *context, cl_command_queue queue, bool is_profiling,
                             rlo__place **out_place) {
  if (context != NULL) {
    RLO_TRY(rlo__context_check_process(context));
  }
  rlo__place *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  made->context = rlo_context_retain(context);
  made->num_threads = rlo__thread_processors();
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__mutex_init(&made->mutex));
  RLO_TRY_GOTO(rlo__plan_memo_init(&made->moves, (size_t)rlo__thresholds.move_kept));
  if (queue != NULL) {
    RLO_TRY_GOTO(RLO_CL(clRetainCommandQueue, queue));
    made->queue = queue;
    made->is_external = true;
  } else if (context != NULL) {
    RLO_TRY_GOTO(open_queue(made, is_profiling));
  }
  *out_place = made;
  return RLO_OK;
fail:
  rlo__place_release(made);
  return status;
}

/* Returns whether there were any. */
static bool release_free_buffers(rlo__place *place) {
  rlo__mutex_lock(&place->mutex);
  const int32_t count = place->num_free;
  for (int32_t n = 0; n < count; ++n) {
    rlo_buffer_release(place->context, place->free_buffers[n].buffer);
  }
  place->num_free = 0;
  place->free_bytes = 0;
  rlo__mutex_unlock(&place->mutex);
  return count > 0;
}

void rlo__place_release(rlo__place *place) {
  if (place == NULL) {
    return;
  }
  rlo__plan_memo_deinit(&place->moves);
  if (place->mutex.is_there) {
    release_free_buffers(place);
    rlo__mutex_deinit(&place->mutex);
  }
  const bool is_here =
      place->context == NULL || rlo__context_check_process(place->context) == RLO_OK;
  /* In a child of fork, events are left alone. */
  for (size_t n = 0; is_here && n < place->num_commands; ++n) {
    clReleaseEvent(place->commands[n].event);
  }
  rlo__free(place->commands);
  if (place->queue != NULL && is_here) {
    clReleaseCommandQueue(place->queue);
  }
  rlo_context_release(place->context);
  rlo__free(place);
}

/* Takes the last buffer of this size that was given back; NULL: there is none.
 */
static cl_mem take_free_buffer(rlo__place *place, int64_t bytes) {
  cl_mem found = NULL;
  rlo__mutex_lock(&place->mutex);
  for (int32_t n = place->num_free - 1; n >= 0 && found == NULL; --n) {
    rlo__free_buffer *b = &place->free_buffers[n];
    if (b->bytes == bytes) {
      found = b->buffer;
      place->free_bytes -= bytes;
      memmove(b, b + 1, (size_t)(--place->num_free - n) * sizeof *b);
    }
  }
  rlo__mutex_unlock(&place->mutex);
  return found;
}

rlo_status rlo__place_take_buffer(rlo__place *place, int64_t bytes, cl_mem *out_buffer) {
  *out_buffer = take_free_buffer(place, bytes);
  if (*out_buffer != NULL) {
    return RLO_OK;
  }
  rlo_status status = rlo_buffer_create(place->context, bytes, out_buffer);
  if (status == RLO_OUT_OF_MEMORY && release_free_buffers(place)) {
    /* They took the room. */
    status = rlo_buffer_create(place->context, bytes, out_buffer);
  }
  return status;
}

void rlo__place_give_buffer(rlo__place *place, cl_mem buffer, int64_t bytes) {
  rlo__mutex_lock(&place->mutex);
  const bool is_kept = place->num_free < rlo__thresholds.move_free_buffers &&
                       place->free_bytes + bytes <=
                           place->context->memory_budget_bytes / rlo__thresholds.move_free_share &&
                       rlo__context_check_process(place->context) == RLO_OK;
  if (is_kept) {
    place->free_buffers[place->num_free++] = (rlo__free_buffer){buffer, bytes};
    place->free_bytes += bytes;
  }
  rlo__mutex_unlock(&place->mutex);
  if (!is_kept) {
    rlo_buffer_release(place->context, buffer);
  }
}

rlo_place_choice rlo_place_choose(const rlo_problem *problem) {
  RLO_REQUIRE_OR(RLO_PLACE_HOST_IS_SOONER, problem);
  const rlo_arithmetic *a = &problem->arithmetic;
  const int64_t large = rlo__thresholds.move_large_bytes;
  if (problem->update == RLO_UPDATE_COMBINE &&
      (a->is_sequential ||
       (a->src_type == a->dst_type && a->dst_unit_bits != problem->unit_bits))) {
    return RLO_PLACE_HOST_ALONE;
  }
  return problem->src_bytes > large || problem->dst_bytes > large ? RLO_PLACE_DEVICE
                                                                  : RLO_PLACE_HOST_IS_SOONER;
}

/* ----------------------------------------------------------------- commands */

/** All commands until now may have read what number `first` did not write. */
static void note_failure(rlo__place *place, int64_t first, cl_int code) {
  const rlo__command_range range = {first, place->newest_command};
  rlo__command_range *last = place->num_failed > 0 ? &place->failed[place->num_failed - 1] : NULL;
  place->failed_code = code;
  if (last != NULL && (first <= last->last || place->num_failed == RLO__PLACE_MAX_FAILED)) {
    last->last = range.last;
  } else {
    place->failed[place->num_failed++] = range;
  }
}

/** The status of a command; what cannot be asked has failed. */
static cl_int execution_of(cl_event event) {
  cl_int execution = CL_COMPLETE;
  cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
  return code == CL_SUCCESS ? execution : code;
}

/** Forgets the commands that are complete. Those of an in-order queue complete
 *  in order. */
static void settle(rlo__place *place) {
  size_t done = 0;
  for (; done < place->num_commands; ++done) {
    const rlo__placed_command *command = &place->commands[done];
    cl_int execution = execution_of(command->event);
    if (execution > CL_COMPLETE) {
      break;
    }
    if (execution < 0) {
      note_failure(place, command->number, execution);
    }
    clReleaseEvent(command->event);
  }
  if (done > 0) {
    place->num_commands -= done;
    memmove(place->commands, &place->commands[done],
            place->num_commands * sizeof place->commands[0]);
  }
}

int64_t rlo__place_add_command(rlo__place *place, cl_event event) {
  rlo__mutex_lock(&place->mutex);
  if (place->num_commands >= MANY_COMMANDS) {
    settle(place);
  }
  const int64_t number = ++place->newest_command;
  if (rlo__array_reserve(&place->commands, sizeof place->commands[0], place->num_commands + 1,
                         &place->commands_capacity) == RLO_OK &&
      clRetainEvent(event) == CL_SUCCESS) {
    place->commands[place->num_commands++] = (rlo__placed_command){event, number};
  } else {
    cl_int code = clWaitForEvents(1, &event);
    if (code != CL_SUCCESS) {
      note_failure(place, number, code);
    }
  }
  rlo__mutex_unlock(&place->mutex);
  return number;
}

static bool has_failed(const rlo__place *place, int64_t number) {
  for (int32_t i = 0; i < place->num_failed; ++i) {
    if (place->failed[i].first <= number && number <= place->failed[i].last) {
      return true;
    }
  }
  return false;
}

rlo_status rlo__place_check_command(rlo__place *place, int64_t number) {
  rlo__mutex_lock(&place->mutex);
  settle(place);
  const bool is_failed = has_failed(place, number);
  const cl_int code = place->failed_code;
  rlo__mutex_unlock(&place->mutex);
  return is_failed
             ? rlo__status_fail_cl(RLO_DEVICE, "clGetEventInfo", code,
                                   "a kernel that this data may depend on has failed with %s (%d)",
                                   rlo__cl_error_name(code), (int)code)
             : RLO_OK;
}
