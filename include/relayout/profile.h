/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_PROFILE_H
#define RELAYOUT_PROFILE_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

struct _cl_event;

/**
 * A run of a kernel: a call of rlo_run_kernel or rlo_run_chain, or the
 * computation of a pending result, whose name is those of the operations that
 * run as one, with "+" in between. A call that leaves all of its results
 * pending, or fails, is none. All pointers are borrowed for the call of the
 * rlo_profile_fn.
 */
typedef struct rlo_profile_entry {
  /** That of the library: sizeof(rlo_profile_entry). */
  size_t struct_size;
  /** "chain" for rlo_run_chain. */
  const char *name;
  const char *backend_name;
  const rlo_shape *const *input_shapes;
  int32_t num_inputs;
  const rlo_shape *const *output_shapes;
  int32_t num_outputs;
  /** Physical bytes of all inputs, and of all outputs. */
  int64_t input_bytes;
  int64_t output_bytes;
  /** The number of runs that this one is within. */
  int32_t depth;
  /** On the host, since the profile began; and until the call was done, the
   *  runs within it included. */
  int64_t begin_ns;
  int64_t host_ns;
  /** The events of the launches and fills that the run enqueued, without those
   *  of the runs within; cl_event. Whoever keeps one retains it. Commands that
   *  a kernel enqueues without the library are not seen. */
  struct _cl_event *const *events;
  int32_t num_events;
  /** When the first of them was enqueued, since the profile began. */
  int64_t enqueue_ns;
  /** There was no memory for the shapes, or not for all events: there are no
   *  shapes and bytes, or no events. */
  bool is_cut;
} rlo_profile_entry;

/**
 * Receives a run at its end, on its thread; a run within another one comes
 * before it. Calls do not overlap, whatever the number of threads. It must not
 * use tensors of the engine, nor begin or end a profile of it: locks are held.
 */
typedef void (*rlo_profile_fn)(const rlo_profile_entry *entry, void *payload);

/**
 * Begins a profile of an engine: `on_run` receives each run that begins and
 * ends while it is open, in any thread.
 * @param payload  passed to `on_run`; borrowed until the profile ends, or the
 *                 engine.
 * @return RLO_OK; RLO_ALREADY_EXISTS if one is open; RLO_INVALID_ARGUMENT for a
 *         NULL, or from within an rlo_profile_fn of the engine. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_profile_begin(rlo_engine *engine, rlo_profile_fn on_run,
                                                   void *payload);

/** Ends the profile of an engine: after this no call is made. @return RLO_OK;
 *  RLO_NOT_FOUND if none is open; RLO_INVALID_ARGUMENT for a NULL, or from
 *  within an rlo_profile_fn of the engine. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_profile_end(rlo_engine *engine);

/**
 * Waits for the commands of a run and gives what the device has measured: of
 * the engine's own queue if rlo_engine_options.is_profiling is set, of a
 * caller's queue (a kernel that calls rlo_enqueue) if that has
 * CL_QUEUE_PROFILING_ENABLE. It is never estimated.
 * @param entry         may be a copy that was kept, with events that are still
 *                      retained.
 * @param out_begin_ns  when the first command began, since the profile began:
 *                      the device's clock is set to the host's when it was
 *                      enqueued.
 * @param out_ns        the sum of what the commands took.
 * @return RLO_OK; RLO_NOT_FOUND if the run has no commands, or one has failed
 *         or was not measured; RLO_INVALID_ARGUMENT for a NULL. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_profile_device_time(const rlo_profile_entry *entry,
                                                         int64_t *out_begin_ns, int64_t *out_ns);

RLO_END_DECLS

#endif
