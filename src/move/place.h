/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_MOVE_PLACE_H
#define RLO_MOVE_PLACE_H

#include "base/thread.h"
#include "relayout/opencl.h"
#include "runtime/plan_memo.h"

enum { RLO__PLACE_MAX_FREE = 64, RLO__PLACE_MAX_FAILED = 8 };

typedef struct rlo__free_buffer {
  cl_mem buffer;
  int64_t bytes;
} rlo__free_buffer;

/** A command that is not known to be complete. */
typedef struct rlo__placed_command {
  /** Retained. */
  cl_event event;
  int64_t number;
} rlo__placed_command;

/** Commands by their numbers, both included. */
typedef struct rlo__command_range {
  int64_t first, last;
} rlo__command_range;

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
  /** The moves that rlo__move_get has prepared. */
  rlo__plan_memo moves;
  rlo__mutex mutex;
  /** Guarded by the mutex: buffers without a user, the last given back last. */
  rlo__free_buffer free_buffers[RLO__PLACE_MAX_FREE];
  int32_t num_free;
  int64_t free_bytes;
  /** Guarded by the mutex: the commands of a queue of the place's own, the
   *  oldest first, and the number of the newest. */
  rlo__placed_command *commands;
  size_t num_commands, commands_capacity;
  int64_t newest_command;
  /** Those that are taken for failed, the oldest first; and the status of the
   *  newest failure. */
  rlo__command_range failed[RLO__PLACE_MAX_FAILED];
  int32_t num_failed;
  cl_int failed_code;
} rlo__place;

/**
 * Creates a place: the host with a thread for each processor or, unless it is
 * NULL, a context, which is retained.
 * @param queue         in order, retained; NULL: one of the place's own.
 * @param is_profiling  whether the device measures each command on that.
 * @return RLO_OK; RLO_UNSUPPORTED in a child of fork; RLO_OUT_OF_MEMORY;
 *         RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__place_create(rlo_context *context, cl_command_queue queue,
                                           bool is_profiling, rlo__place **out_place);

/** Every memory must have been freed. Does not wait. NULL is legal. */
void rlo__place_release(rlo__place *place);

/** Takes a buffer of this size that has no user, or creates one. @return as
 *  rlo_buffer_create. */
RLO_NODISCARD rlo_status rlo__place_take_buffer(rlo__place *place, int64_t bytes,
                                                cl_mem *out_buffer);

/**
 * Adds a command that was just enqueued on the place's own queue. A command
 * that is accepted may end with a negative status later, which only its event
 * shows, while the commands behind it run on what it did not write. So commands
 * have numbers, in the order of their dependencies, and when one is seen to
 * have failed, it and all that were enqueued until then are taken for failed.
 * The event is retained for as long as it is needed; without memory for it, the
 * function waits for the command.
 * @return the command's number, from 1.
 */
int64_t rlo__place_add_command(rlo__place *place, cl_event event);

/** Looks at the commands that have completed since. @return RLO_OK; RLO_DEVICE
 *  if `number` is of a command that is taken for failed. 0 is of none. */
RLO_NODISCARD rlo_status rlo__place_check_command(rlo__place *place, int64_t number);

/** Gives a buffer back, for the next user. */
void rlo__place_give_buffer(rlo__place *place, cl_mem buffer, int64_t bytes);

#endif
