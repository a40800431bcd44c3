/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_MOVE_PLACE_H
#define RLO_MOVE_PLACE_H

#include "base/thread.h"
#include "relayout/opencl.h"
#include "runtime/command_watch.h"
#include "runtime/plan_memo.h"

enum { RLO__PLACE_MAX_FREE = 64 };

typedef struct rlo__free_buffer {
  cl_mem buffer;
  int64_t bytes;
} rlo__free_buffer;

/**
 * Where problems run: the host with its threads, or a context with an in-order
 * queue. Every command that uses a buffer of a place's own is on its queue, so
 * that a buffer is reused at once: commands that still read it come before
 * those that write it next. Threads: safe, but for create and release.
 */
typedef struct rlo__place {
  /** Retained; NULL: the host. */
  rlo_context *context;
  cl_command_queue queue;
  /** The queue is the caller's, who looks after its commands. */
  bool is_external;
  /** The family and the schedule of what rlo__move_get prepares, as in
   *  rlo_plan_options; borrowed, set before the first. NULL: the best. */
  const char *family, *schedule;
  /** Threads of the host that run one problem. */
  int32_t num_threads;
  /** The commands of the queue. */
  rlo__command_watch watch;
  /** The moves that rlo__move_get has prepared. */
  rlo__plan_memo moves;
  rlo__mutex mutex;
  bool has_mutex;
  /** Guarded by the mutex: buffers without a user, the last given back last. */
  rlo__free_buffer free_buffers[RLO__PLACE_MAX_FREE];
  int32_t num_free;
  int64_t free_bytes;
} rlo__place;

/**
 * Creates a place: the host with a thread for each processor or, unless it is
 * NULL, a context, which is retained.
 * @param queue         in order, retained; NULL: one of the place's own.
 * @param is_profiling  whether the device measures each command on that.
 * @return RLO_OK; RLO_UNSUPPORTED in a child of fork; RLO_OUT_OF_MEMORY;
 *         RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__place_create(rlo_context *context,
                                           cl_command_queue queue,
                                           bool is_profiling,
                                           rlo__place **out_place);

/** Every memory must have been freed. Does not wait. NULL is legal. */
void rlo__place_release(rlo__place *place);

/** Takes a buffer of this size that has no user, or creates one. @return as
 *  rlo_buffer_create. */
RLO_NODISCARD rlo_status rlo__place_take_buffer(rlo__place *place,
                                                int64_t bytes,
                                                cl_mem *out_buffer);

/** Gives a buffer back, for the next user. */
void rlo__place_give_buffer(rlo__place *place, cl_mem buffer, int64_t bytes);

#endif
