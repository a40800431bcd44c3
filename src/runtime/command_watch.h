/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_COMMAND_WATCH_H
#define RLO_RUNTIME_COMMAND_WATCH_H

#include "base/thread.h"
#include "relayout/opencl.h"

enum { RLO__WATCH_MAX_RANGES = 8 };

typedef struct rlo__watched_command {
  /** Retained. */
  cl_event event;
  int64_t number;
} rlo__watched_command;

/** Commands by their numbers, both included. */
typedef struct rlo__command_range {
  int64_t first, last;
} rlo__command_range;

/**
 * Which commands of an in-order queue have failed. A command that is accepted
 * may end with a negative status later, which only its event shows, while the
 * commands behind it run on what it did not write. So commands have numbers, in
 * the order of their dependencies, and when one is seen to have failed, it and
 * all that were enqueued until then are taken for failed.
 *
 * Threads: every function is safe.
 */
typedef struct rlo__command_watch {
  rlo__mutex mutex;
  bool has_mutex;
  /** Those that are not known to be complete, the oldest first. */
  rlo__watched_command *commands;
  size_t count, capacity;
  /** The number of the newest command. */
  int64_t newest;
  /** The oldest first. */
  rlo__command_range failed[RLO__WATCH_MAX_RANGES];
  int32_t num_failed;
  /** The status of the newest failure. */
  cl_int code;
} rlo__command_watch;

/** @param watch  zeroed. Fails with RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__command_watch_init(rlo__command_watch *watch);

/** Zeros are legal. @param is_here  false in a child of fork, where events are
 *  left alone. */
void rlo__command_watch_deinit(rlo__command_watch *watch, bool is_here);

/** Adds a command that was just enqueued. The event is retained for as long as
 *  it is needed; without memory for it, the function waits for the command.
 *  @return the command's number, from 1. */
int64_t rlo__command_watch_add(rlo__command_watch *watch, cl_event event);

/** Looks at the commands that have completed since. @return RLO_OK; RLO_DEVICE
 *  if `number` is of a command that is taken for failed. 0 is of none. */
RLO_NODISCARD rlo_status rlo__command_watch_check(rlo__command_watch *watch,
                                                  int64_t number);

#endif
