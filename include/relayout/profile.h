/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_PROFILE_H
#define RELAYOUT_PROFILE_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

/**
 * A record of the kernels that run on an engine, in any thread, and of how long
 * they take.
 *
 * An entry is a run of a kernel: a call of rlo_run_kernel or rlo_run_chain, or
 * the computation of a pending result, whose name is those of the operations
 * that run as one, with "+" in between. A call that leaves all of its results
 * pending, or fails, is none. A kernel that runs others has entries within its
 * own.
 *
 * The time of the host is that of the call. The time of the device is what it
 * has measured of the commands that the entry enqueued itself: of the engine's
 * own queue if rlo_engine_options.is_profiling is set, of a caller's queue (a
 * kernel that calls rlo_enqueue) if that has CL_QUEUE_PROFILING_ENABLE. If a
 * single command was not measured, there is no time; it is never estimated.
 * Commands that a kernel enqueues without the library are not seen.
 *
 * Threads: every function here is safe.
 */
typedef struct rlo_profile rlo_profile;

/** A run of a kernel. All pointers are borrowed from the profile. Begin with
 *  RLO_PROFILE_ENTRY_INIT. */
typedef struct rlo_profile_entry {
  /** sizeof(rlo_profile_entry). */
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
  /** 0, 1, ... in the order in which the threads appear. */
  int32_t thread;
  /** The number of runs that this one is within. */
  int32_t depth;
  /** On the host, since the profile began; and until the call was done, the
   * runs within it included. */
  int64_t begin_ns;
  int64_t host_ns;
  /** Launches and fills, without those of the runs within. */
  int32_t num_commands;
  /** Whether the device has measured them, and there are any. If not, the next
   *  two are 0. */
  bool has_device_time;
  /** When the first command began, since the profile began. The device's clock
   *  is set to the host's by the first command of the profile: when it was
   *  enqueued. */
  int64_t device_begin_ns;
  /** The sum of what the commands took. */
  int64_t device_ns;
} rlo_profile_entry;

#define RLO_PROFILE_ENTRY_INIT                                                 \
  {                                                                            \
    sizeof(rlo_profile_entry), NULL, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, \
        0, false, 0, 0                                                         \
  }

/**
 * Begins a profile of an engine, which it keeps alive. While one is open,
 * another is refused.
 * @param out_profile  released by rlo_profile_release.
 * @return RLO_OK; RLO_ALREADY_EXISTS if one is open; RLO_INVALID_ARGUMENT for a
 *         NULL; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_profile_begin(rlo_engine *engine,
                                                   rlo_profile **out_profile);

/**
 * Ends a profile, waits for the commands of its entries, and sorts these by
 * their beginning. What is running is not recorded. Does nothing if it has
 * ended already.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY if entries
 *         are missing for lack of memory: the others are there.
 */
RLO_API RLO_NODISCARD rlo_status rlo_profile_end(rlo_profile *profile);

/** The number of entries of a profile that has ended; 0 before, and for NULL.
 */
RLO_API int64_t rlo_profile_count(rlo_profile *profile);

/**
 * Reads entry `index`, from 0.
 * @param out_entry  borrows from the profile.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_INVALID_ARGUMENT for a NULL, a
 *         profile that has not ended, or a struct_size that this library does
 *         not know.
 */
RLO_API RLO_NODISCARD rlo_status rlo_profile_get(rlo_profile *profile,
                                                 int64_t index,
                                                 rlo_profile_entry *out_entry);

/** Ends a profile that has not ended, and releases it; NULL is legal. */
RLO_API void rlo_profile_release(rlo_profile *profile);

RLO_END_DECLS

#endif
