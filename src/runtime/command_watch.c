/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/command_watch.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/cl_error.h"

enum {
  /** So many are kept before it is looked which are complete. */
  MANY_COMMANDS = 64
};

rlo_status rlo__command_watch_init(rlo__command_watch *watch) {
  RLO_TRY(rlo__mutex_init(&watch->mutex));
  watch->has_mutex = true;
  return RLO_OK;
}

void rlo__command_watch_deinit(rlo__command_watch *watch, bool is_here) {
  if (!watch->has_mutex) {
    return;
  }
  for (size_t n = 0; is_here && n < watch->count; ++n) {
    clReleaseEvent(watch->commands[n].event);
  }
  rlo__free(watch->commands);
  rlo__mutex_deinit(&watch->mutex);
}

/** All commands until now may have read what number `first` did not write. */
static void note_failure(rlo__command_watch *watch,
                         int64_t first,
                         cl_int code) {
  const rlo__command_range range = {first, watch->newest};
  rlo__command_range *last =
      watch->num_failed > 0 ? &watch->failed[watch->num_failed - 1] : NULL;
  watch->code = code;
  if (last != NULL &&
      (first <= last->last || watch->num_failed == RLO__WATCH_MAX_RANGES)) {
    last->last = range.last;
  } else {
    watch->failed[watch->num_failed++] = range;
  }
}

/** The status of a command; what cannot be asked has failed. */
static cl_int execution_of(cl_event event) {
  cl_int execution = CL_COMPLETE;
  cl_int code = clGetEventInfo(event,
                               CL_EVENT_COMMAND_EXECUTION_STATUS,
                               sizeof execution,
                               &execution,
                               NULL);
  return code == CL_SUCCESS ? execution : code;
}

/** Forgets the commands that are complete. Those of an in-order queue complete
 *  in order. */
static void settle(rlo__command_watch *watch) {
  size_t done = 0;
  for (; done < watch->count; ++done) {
    const rlo__watched_command *command = &watch->commands[done];
    cl_int execution = execution_of(command->event);
    if (execution > CL_COMPLETE) {
      break;
    }
    if (execution < 0) {
      note_failure(watch, command->number, execution);
    }
    clReleaseEvent(command->event);
  }
  if (done > 0) {
    watch->count -= done;
    memmove(watch->commands,
            &watch->commands[done],
            watch->count * sizeof watch->commands[0]);
  }
}

int64_t rlo__command_watch_add(rlo__command_watch *watch, cl_event event) {
  rlo__mutex_lock(&watch->mutex);
  if (watch->count >= MANY_COMMANDS) {
    settle(watch);
  }
  const int64_t number = ++watch->newest;
  if (rlo__array_reserve(&watch->commands,
                         sizeof watch->commands[0],
                         watch->count + 1,
                         &watch->capacity) == RLO_OK &&
      clRetainEvent(event) == CL_SUCCESS) {
    watch->commands[watch->count++] = (rlo__watched_command){event, number};
  } else {
    cl_int code = clWaitForEvents(1, &event);
    if (code != CL_SUCCESS) {
      note_failure(watch, number, code);
    }
  }
  rlo__mutex_unlock(&watch->mutex);
  return number;
}

static bool has_failed(const rlo__command_watch *watch, int64_t number) {
  for (int32_t i = 0; i < watch->num_failed; ++i) {
    if (watch->failed[i].first <= number && number <= watch->failed[i].last) {
      return true;
    }
  }
  return false;
}

rlo_status rlo__command_watch_check(rlo__command_watch *watch, int64_t number) {
  rlo__mutex_lock(&watch->mutex);
  settle(watch);
  const bool is_failed = has_failed(watch, number);
  const cl_int code = watch->code;
  rlo__mutex_unlock(&watch->mutex);
  return is_failed ? rlo__status_fail_cl(
                         RLO_DEVICE,
                         "clGetEventInfo",
                         code,
                         "a kernel that this data may depend on has failed "
                         "with %s (%d)",
                         rlo__cl_error_name(code),
                         (int)code)
                   : RLO_OK;
}
