/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_COMMAND_LOG_H
#define RLO_RUNTIME_COMMAND_LOG_H

#include "relayout/opencl.h"

/**
 * The events of the commands that this thread enqueues, kernels and fills,
 * while the log is the newest one that is open on it. Zeros are an empty log.
 */
typedef struct rlo__command_log {
  /** Retained. */
  cl_event *events;
  int32_t count;
  size_t capacity;
  /** rlo__clock_seconds() when the first one was enqueued. */
  double first_seconds;
  /** There was no memory for an event. */
  bool is_cut;
  struct rlo__command_log *below;
} rlo__command_log;

/** The log is the caller's and stays linked until it is closed; logs close in
 *  the reverse order. */
void rlo__command_log_open(rlo__command_log *log);
void rlo__command_log_close(rlo__command_log *log);

/** Releases the events. */
void rlo__command_log_deinit(rlo__command_log *log);

/** Returns whether a log is open on this thread, which needs an event of each
 *  command. */
bool rlo__command_log_is_open(void);

/** Notes a command that has just been enqueued, if a log is open; retains the
 *  event. */
void rlo__command_log_add(cl_event event);

/** The times that the device measured, in nanoseconds of its clock. */
typedef struct rlo__command_times {
  /** When the first command was enqueued, and when it began. */
  uint64_t first_queued, first_begin;
  /** The sum over all commands, each from its begin to its end. */
  uint64_t total;
} rlo__command_times;

/** Waits for commands. False if there are none, one has failed, or one is of a
 *  queue without CL_QUEUE_PROFILING_ENABLE. */
bool rlo__commands_measure(const cl_event *events, int32_t count, rlo__command_times *out_times);

#endif
