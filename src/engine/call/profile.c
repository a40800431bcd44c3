/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/profile.h"

#include <math.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "engine/parts.h"

/* The innermost run of this thread. */
static _Thread_local rlo__profile_run *innermost;
/* The profiler whose function this thread calls. */
static _Thread_local const rlo__profiler *reporting;

/* --------------------------------------------------------------------- runs */

void rlo__profile_run_begin(rlo__profiler *profiler, rlo__profile_run *run) {
  run->number = atomic_load_explicit(&profiler->open, memory_order_relaxed);
  if (run->number == 0 || reporting == profiler) {
    run->number = 0;
    return;
  }
  *run = (rlo__profile_run){.number = run->number,
                            .profiler = profiler,
                            .outer = innermost,
                            .depth = innermost != NULL ? innermost->depth + 1 : 0};
  innermost = run;
  rlo__command_log_open(&run->log);
  run->begin_seconds = rlo__clock_seconds();
}

static int64_t to_nanos(double seconds) {
  return (int64_t)llround(seconds * 1e9);
}

/* 0 of no list. */
static int64_t sum_bytes(const rlo_shape *const *shapes, int32_t count) {
  int64_t bytes = 0;
  for (int32_t n = 0; shapes != NULL && n < count; ++n) {
    bytes += rlo__shared_shape_of(shapes[n])->bytes;
  }
  return bytes;
}

void rlo__profile_run_end(rlo__profile_run *run, const char *name, const char *backend_name,
                          const rlo_shape *const *shapes, int32_t num_inputs, int32_t num_outputs) {
  if (run->number == 0) {
    return;
  }
  const double end_seconds = rlo__clock_seconds();
  const rlo__command_log *log = &run->log;
  rlo__profiler *profiler = run->profiler;
  rlo__command_log_close(&run->log);
  innermost = run->outer;
  rlo__mutex_lock(&profiler->mutex);
  if (name != NULL && atomic_load(&profiler->open) == run->number) {
    const double begin_seconds = profiler->begin_seconds;
    const rlo__profiler *before = reporting;
    const rlo_shape *const *outputs = shapes != NULL ? shapes + num_inputs : NULL;
    const bool has_events = !log->is_cut && log->count > 0;
    const rlo_profile_entry entry = {
        .struct_size = sizeof entry,
        .name = name,
        .backend_name = backend_name,
        .depth = run->depth,
        .input_shapes = shapes,
        .output_shapes = outputs,
        .num_inputs = shapes != NULL ? num_inputs : 0,
        .num_outputs = shapes != NULL ? num_outputs : 0,
        .input_bytes = sum_bytes(shapes, num_inputs),
        .output_bytes = sum_bytes(outputs, num_outputs),
        .host_ns = to_nanos(end_seconds - run->begin_seconds),
        .begin_ns = to_nanos(run->begin_seconds - begin_seconds),
        .enqueue_ns = has_events ? to_nanos(log->first_seconds - begin_seconds) : 0,
        .events = log->events,
        .num_events = has_events ? log->count : 0,
        .is_cut = shapes == NULL || log->is_cut};
    reporting = profiler;
    profiler->on_run(&entry, profiler->payload);
    reporting = before;
  }
  rlo__mutex_unlock(&profiler->mutex);
  rlo__command_log_deinit(&run->log);
}

void rlo__profile_run_end_tensors(rlo__profile_run *run, rlo_status status, const char *name,
                                  const char *backend_name, rlo_tensor *const *inputs,
                                  int32_t num_inputs, rlo_tensor *const *outputs,
                                  int32_t num_outputs) {
  if (run->number == 0) {
    return;
  }
  const int32_t count = status == RLO_OK ? num_inputs + num_outputs : 0;
  const rlo_shape **shapes = rlo__alloc_array_quiet((size_t)count, sizeof(rlo_shape *));
  bool is_reported = false;
  for (int32_t n = 0; n < count; ++n) {
    rlo_tensor *tensor = n < num_inputs ? inputs[n] : outputs[n - num_inputs];
    is_reported = is_reported || (n >= num_inputs && !rlo_tensor_is_pending(tensor));
    if (shapes != NULL) {
      shapes[n] = rlo_tensor_shape(tensor);
    }
  }
  rlo__profile_run_end(run, is_reported ? name : NULL, backend_name, shapes, num_inputs,
                       num_outputs);
  rlo__free(shapes);
}

/* ----------------------------------------------------------------- profiles */

static rlo_status check_outside(const rlo__profiler *profiler) {
  return reporting != profiler ? RLO_OK
                               : RLO_FAIL(RLO_INVALID_ARGUMENT,
                                          "a profile begins or ends within a call of its function");
}

rlo_status rlo_profile_begin(rlo_engine *engine, rlo_profile_fn on_run, void *payload) {
  RLO_REQUIRE(engine, on_run);
  rlo__profiler *profiler = engine->profiler;
  RLO_TRY(check_outside(profiler));
  rlo__mutex_lock(&profiler->mutex);
  bool is_other_open = atomic_load(&profiler->open) != 0;
  if (!is_other_open) {
    profiler->on_run = on_run;
    profiler->payload = payload;
    profiler->begin_seconds = rlo__clock_seconds();
    atomic_store(&profiler->open, ++profiler->num_begun);
  }
  rlo__mutex_unlock(&profiler->mutex);
  return is_other_open
             ? RLO_FAIL(RLO_ALREADY_EXISTS, "a profile of the engine is open already; end it first")
             : RLO_OK;
}

rlo_status rlo_profile_end(rlo_engine *engine) {
  RLO_REQUIRE(engine);
  rlo__profiler *profiler = engine->profiler;
  RLO_TRY(check_outside(profiler));
  rlo__mutex_lock(&profiler->mutex);
  bool is_open = atomic_exchange(&profiler->open, 0) != 0;
  rlo__mutex_unlock(&profiler->mutex);
  return is_open ? RLO_OK : RLO_FAIL(RLO_NOT_FOUND, "no profile of the engine is open");
}

rlo_status rlo_profile_device_time(const rlo_profile_entry *entry, int64_t *out_begin_ns,
                                   int64_t *out_ns) {
  RLO_REQUIRE(entry, out_begin_ns, out_ns);
  rlo__command_times times;
  RLO_FAIL_IF(!rlo__commands_measure(entry->events, entry->num_events, &times), RLO_NOT_FOUND,
              "the device has not measured the %d commands of '%s'", entry->num_events,
              entry->name);
  /* Differences of an unsigned clock, either of which may be the later. */
  *out_begin_ns = entry->enqueue_ns + (int64_t)(times.first_begin - times.first_queued);
  *out_ns = (int64_t)times.total;
  return RLO_OK;
}
