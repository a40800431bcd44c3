/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/command_log.h"

#include "base/alloc.h"
#include "base/thread.h"

static _Thread_local rlo__command_log *newest;

void rlo__command_log_open(rlo__command_log *log) {
  log->below = newest;
  newest = log;
}

void rlo__command_log_close(rlo__command_log *log) {
  newest = log->below;
}

void rlo__command_log_deinit(rlo__command_log *log) {
  for (int32_t n = 0; n < log->count; ++n) {
    clReleaseEvent(log->events[n]);
  }
  rlo__free(log->events);
  *log = (rlo__command_log){.count = 0};
}

bool rlo__command_log_is_open(void) {
  return newest != NULL;
}

void rlo__command_log_add(cl_event event) {
  rlo__command_log *log = newest;
  if (log == NULL || event == NULL) {
    return;
  }
  if (log->count == 0) {
    log->first_seconds = rlo__clock_seconds();
  }
  if (rlo__array_reserve(&log->events, sizeof(cl_event), (size_t)log->count + 1, &log->capacity) !=
          RLO_OK ||
      clRetainEvent(event) != CL_SUCCESS) {
    log->is_cut = true;
    return;
  }
  log->events[log->count++] = event;
}

static bool has_succeeded(cl_event event) {
  cl_int execution = CL_COMPLETE;
  if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution,
                     NULL) != CL_SUCCESS) {
    return false;
  }
  /* Some drivers wait forever for an event that has failed already. */
  return execution >= 0 && clWaitForEvents(1, &event) == CL_SUCCESS;
}

static bool read_time(cl_event event, cl_profiling_info what, uint64_t *out) {
  cl_ulong nanos = 0;
  bool is_known = clGetEventProfilingInfo(event, what, sizeof nanos, &nanos, NULL) == CL_SUCCESS;
  *out = nanos;
  return is_known;
}

bool rlo__commands_measure(const cl_event *events, int32_t count, rlo__command_times *out_times) {
  rlo__command_times times = {0, 0, 0};
  bool is_known = count > 0;
  for (int32_t n = 0; is_known && n < count; ++n) {
    uint64_t queued = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    cl_event event = events[n];
    is_known = has_succeeded(event) && read_time(event, CL_PROFILING_COMMAND_QUEUED, &queued) &&
               read_time(event, CL_PROFILING_COMMAND_START, &begin) &&
               read_time(event, CL_PROFILING_COMMAND_END, &end) && end >= begin;
    times.total += end - begin;
    if (n == 0) {
      times.first_queued = queued;
      times.first_begin = begin;
    }
  }
  if (is_known) {
    *out_times = times;
  }
  return is_known;
}
