/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/parts.h"

/* An entry, and what it borrows. */
typedef struct record {
  rlo_profile_entry entry;
  char *name;
  /** The inputs, then the outputs; the shapes are those of `shared`. */
  rlo__shared_shape **shared;
  const rlo_shape **shapes;
  int32_t num_shapes;
  /** What the device measured is read at the end. */
  rlo__command_log log;
  rlo__command_times times;
} record;

struct rlo_profile {
  atomic_int_fast64_t num_references;
  /** Retained. */
  rlo_engine *engine;
  double begin_seconds;
  /** Guards the rest. */
  rlo__mutex mutex;
  bool has_ended;
  /** Entries are missing for lack of memory. */
  bool is_cut;
  record **records;
  int64_t count;
  size_t capacity;
  /** Addresses that are unique to the threads that appeared. */
  const void **threads;
  int32_t num_threads;
  size_t threads_capacity;
};

/* The innermost run of this thread, whose address identifies the thread. */
static _Thread_local rlo__profile_run *innermost;

/* ------------------------------------------------------------------ records */

static void record_release(rlo_engine *engine, record *r) {
  for (int32_t n = 0; r->shared != NULL && n < r->num_shapes; ++n) {
    rlo__shared_shape_release(engine->shapes, r->shared[n]);
  }
  rlo__command_log_deinit(&r->log);
  rlo__free(r->shared);
  rlo__free(r->shapes);
  rlo__free(r->name);
  rlo__free(r);
}

/* Retains `count` shapes; returns their bytes. */
static int64_t add_shapes(record *r,
                          rlo__shared_shape *const *shapes,
                          int32_t count) {
  int64_t bytes = 0;
  for (int32_t n = 0; n < count; ++n) {
    r->shared[r->num_shapes] = rlo__shared_shape_retain(shapes[n]);
    r->shapes[r->num_shapes++] = &shapes[n]->shape;
    bytes += shapes[n]->bytes;
  }
  return bytes;
}

/* NULL if there is no memory. */
static record *record_create(rlo_engine *engine,
                             const rlo__profile_what *what) {
  record *r = rlo__alloc(sizeof *r);
  if (r == NULL) {
    return NULL;
  }
  size_t count = (size_t)what->num_inputs + (size_t)what->num_outputs;
  r->name = rlo__alloc_string(what->name);
  r->shared = rlo__alloc_array(count, sizeof(rlo__shared_shape *));
  r->shapes = rlo__alloc_array(count, sizeof(rlo_shape *));
  if (r->name == NULL || r->shared == NULL || r->shapes == NULL) {
    record_release(engine, r);
    return NULL;
  }
  rlo_profile_entry *entry = &r->entry;
  entry->name = r->name;
  entry->backend_name = what->backend_name;
  entry->input_shapes = r->shapes;
  entry->num_inputs = what->num_inputs;
  entry->input_bytes = add_shapes(r, what->inputs, what->num_inputs);
  entry->output_shapes = r->shapes + what->num_inputs;
  entry->num_outputs = what->num_outputs;
  entry->output_bytes = add_shapes(r, what->outputs, what->num_outputs);
  return r;
}

/* ---------------------------------------------------------------- recording */

rlo_status rlo__profiler_init(rlo__profiler *profiler) {
  atomic_init(&profiler->is_open, false);
  profiler->profile = NULL;
  return rlo__mutex_init(&profiler->mutex);
}

void rlo__profiler_deinit(rlo__profiler *profiler) {
  rlo__mutex_deinit(&profiler->mutex);
}

static void drop_profile(rlo_profile *profile) {
  if (profile == NULL ||
      atomic_fetch_sub_explicit(
          &profile->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  for (int64_t n = 0; n < profile->count; ++n) {
    record_release(profile->engine, profile->records[n]);
  }
  rlo__free(profile->records);
  rlo__free(profile->threads);
  rlo__mutex_deinit(&profile->mutex);
  rlo__engine_release(profile->engine);
  rlo__free(profile);
}

void rlo__profile_run_begin(rlo__profiler *profiler, rlo__profile_run *run) {
  run->profile = NULL;
  if (!atomic_load_explicit(&profiler->is_open, memory_order_relaxed)) {
    return;
  }
  rlo__mutex_lock(&profiler->mutex);
  if (profiler->profile != NULL) {
    run->profile = profiler->profile;
    atomic_fetch_add_explicit(
        &run->profile->num_references, 1, memory_order_relaxed);
  }
  rlo__mutex_unlock(&profiler->mutex);
  if (run->profile == NULL) {
    return;
  }
  run->outer = innermost;
  run->depth = innermost != NULL ? innermost->depth + 1 : 0;
  innermost = run;
  run->log = (rlo__command_log){.count = 0};
  rlo__command_log_open(&run->log);
  run->begin_seconds = rlo__clock_seconds();
}

static int64_t to_nanos(double seconds) {
  return (int64_t)llround(seconds * 1e9);
}

/* The number of this thread; -1 if there is no memory. Under the mutex. */
static int32_t number_thread(rlo_profile *profile) {
  int32_t n = 0;
  while (n < profile->num_threads && profile->threads[n] != &innermost) {
    ++n;
  }
  if (n == profile->num_threads) {
    if (rlo__array_reserve(&profile->threads,
                           sizeof(const void *),
                           (size_t)n + 1,
                           &profile->threads_capacity) != RLO_OK) {
      return -1;
    }
    profile->threads[profile->num_threads++] = &innermost;
  }
  return n;
}

/* Takes over the record, which may be NULL. */
static void add_record(rlo_profile *profile, record *r) {
  rlo__mutex_lock(&profile->mutex);
  bool is_wanted = !profile->has_ended;
  bool is_added = false;
  if (is_wanted && r != NULL) {
    r->entry.thread = number_thread(profile);
    is_added = r->entry.thread >= 0 &&
               rlo__array_reserve(&profile->records,
                                  sizeof(record *),
                                  (size_t)profile->count + 1,
                                  &profile->capacity) == RLO_OK;
    if (is_added) {
      profile->records[profile->count++] = r;
    }
  }
  profile->is_cut = profile->is_cut || (is_wanted && !is_added);
  rlo__mutex_unlock(&profile->mutex);
  if (!is_added && r != NULL) {
    record_release(profile->engine, r);
  }
}

void rlo__profile_run_end(rlo__profile_run *run,
                          const rlo__profile_what *what) {
  rlo_profile *profile = run->profile;
  if (profile == NULL) {
    return;
  }
  double end_seconds = rlo__clock_seconds();
  rlo__command_log_close(&run->log);
  innermost = run->outer;
  if (what != NULL) {
    record *r = record_create(profile->engine, what);
    if (r != NULL) {
      r->entry.depth = run->depth;
      r->entry.begin_ns = to_nanos(run->begin_seconds - profile->begin_seconds);
      r->entry.host_ns = to_nanos(end_seconds - run->begin_seconds);
      r->entry.num_commands = run->log.count;
      r->log = run->log;
      run->log = (rlo__command_log){.count = 0};
    }
    add_record(profile, r);
  }
  rlo__command_log_deinit(&run->log);
  drop_profile(profile);
}

/* The shapes of tensors, on the heap; NULL if there is no memory. */
static rlo__shared_shape **list_shapes(rlo_tensor *const *tensors,
                                       int32_t count) {
  rlo__shared_shape **shapes =
      rlo__alloc_array((size_t)count, sizeof(rlo__shared_shape *));
  for (int32_t n = 0; shapes != NULL && n < count; ++n) {
    shapes[n] = tensors[n]->shape;
  }
  return shapes;
}

void rlo__profile_run_end_tensors(rlo__profile_run *run,
                                  const char *name,
                                  const char *backend_name,
                                  rlo_tensor *const *inputs,
                                  int32_t num_inputs,
                                  rlo_tensor *const *outputs,
                                  int32_t num_outputs) {
  if (run->profile == NULL) {
    return;
  }
  int32_t num_pending = 0;
  for (int32_t n = 0; n < num_outputs; ++n) {
    num_pending += rlo_tensor_is_pending(outputs[n]);
  }
  if (num_pending == num_outputs) {
    rlo__profile_run_end(run, NULL);
    return;
  }
  rlo__shared_shape **input_shapes = list_shapes(inputs, num_inputs);
  rlo__shared_shape **output_shapes = list_shapes(outputs, num_outputs);
  if (input_shapes != NULL && output_shapes != NULL) {
    const rlo__profile_what what = {name,
                                    backend_name,
                                    input_shapes,
                                    num_inputs,
                                    output_shapes,
                                    num_outputs};
    rlo__profile_run_end(run, &what);
  } else {
    add_record(run->profile, NULL);
    rlo__profile_run_end(run, NULL);
  }
  rlo__free(input_shapes);
  rlo__free(output_shapes);
}

/* ----------------------------------------------------------------- profiles */

rlo_status rlo_profile_begin(rlo_engine *engine, rlo_profile **out_profile) {
  RLO_REQUIRE(engine, out_profile);
  rlo_profile *profile = rlo__alloc(sizeof *profile);
  if (profile == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo__mutex_init(&profile->mutex);
  if (status != RLO_OK) {
    rlo__free(profile);
    return status;
  }
  /* The caller's and the engine's. */
  atomic_init(&profile->num_references, 2);
  profile->engine = rlo__engine_retain(engine);
  profile->begin_seconds = rlo__clock_seconds();
  rlo__profiler *profiler = engine->profiler;
  rlo__mutex_lock(&profiler->mutex);
  bool is_other_open = profiler->profile != NULL;
  if (!is_other_open) {
    profiler->profile = profile;
    atomic_store(&profiler->is_open, true);
  }
  rlo__mutex_unlock(&profiler->mutex);
  if (is_other_open) {
    drop_profile(profile);
    drop_profile(profile);
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "a profile of the engine is open already; end it first");
  }
  *out_profile = profile;
  return RLO_OK;
}

/* Reads what the device has measured, and sets its clock to the host's by the
 * first command. */
static void measure(rlo_profile *profile) {
  double first_seconds = 0;
  uint64_t first_queued = 0;
  for (int64_t n = 0; n < profile->count; ++n) {
    record *r = profile->records[n];
    r->entry.has_device_time = rlo__command_log_measure(&r->log, &r->times);
    if (r->entry.has_device_time &&
        (first_queued == 0 || r->log.first_seconds < first_seconds)) {
      first_seconds = r->log.first_seconds;
      first_queued = r->times.first_queued;
    }
  }
  int64_t offset_ns = to_nanos(first_seconds - profile->begin_seconds);
  for (int64_t n = 0; n < profile->count; ++n) {
    record *r = profile->records[n];
    if (r->entry.has_device_time) {
      /* Differences of an unsigned clock, either of which may be the later. */
      r->entry.device_begin_ns =
          offset_ns + (int64_t)(r->times.first_begin - first_queued);
      r->entry.device_ns = (int64_t)r->times.total;
    }
    rlo__command_log_deinit(&r->log);
  }
}

static int compare_records(const void *a, const void *b) {
  const rlo_profile_entry *left = &(*(record *const *)a)->entry;
  const rlo_profile_entry *right = &(*(record *const *)b)->entry;
  if (left->begin_ns != right->begin_ns) {
    return left->begin_ns < right->begin_ns ? -1 : 1;
  }
  if (left->thread != right->thread) {
    return left->thread < right->thread ? -1 : 1;
  }
  return (left->depth > right->depth) - (left->depth < right->depth);
}

rlo_status rlo_profile_end(rlo_profile *profile) {
  RLO_REQUIRE(profile);
  rlo__profiler *profiler = profile->engine->profiler;
  rlo__mutex_lock(&profiler->mutex);
  bool is_open = profiler->profile == profile;
  if (is_open) {
    profiler->profile = NULL;
    atomic_store(&profiler->is_open, false);
  }
  rlo__mutex_unlock(&profiler->mutex);
  rlo__mutex_lock(&profile->mutex);
  if (!profile->has_ended) {
    profile->has_ended = true;
    measure(profile);
    if (profile->count > 0) {
      qsort(profile->records,
            (size_t)profile->count,
            sizeof(record *),
            compare_records);
    }
  }
  bool is_cut = profile->is_cut;
  rlo__mutex_unlock(&profile->mutex);
  if (is_open) {
    drop_profile(profile);
  }
  return is_cut ? RLO_FAIL(RLO_OUT_OF_MEMORY,
                           "the profile lacks runs for which there was no "
                           "memory")
                : RLO_OK;
}

int64_t rlo_profile_count(rlo_profile *profile) {
  RLO_REQUIRE_OR(0, profile);
  rlo__mutex_lock(&profile->mutex);
  int64_t count = profile->has_ended ? profile->count : 0;
  rlo__mutex_unlock(&profile->mutex);
  return count;
}

rlo_status rlo_profile_get(rlo_profile *profile,
                           int64_t index,
                           rlo_profile_entry *out_entry) {
  RLO_REQUIRE(profile, out_entry);
  rlo__mutex_lock(&profile->mutex);
  bool has_ended = profile->has_ended;
  int64_t count = profile->count;
  rlo__mutex_unlock(&profile->mutex);
  if (!has_ended) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the profile has not ended");
  }
  if (index < 0 || index >= count) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "there is no entry %lld; the profile has %lld",
                    (long long)index,
                    (long long)count);
  }
  return rlo__report_write("profile entry",
                           "RLO_PROFILE_ENTRY_INIT",
                           &profile->records[index]->entry,
                           out_entry,
                           sizeof *out_entry);
}

void rlo_profile_release(rlo_profile *profile) {
  if (profile != NULL) {
    rlo_status ended = rlo_profile_end(profile);
    (void)ended;
    drop_profile(profile);
  }
}
