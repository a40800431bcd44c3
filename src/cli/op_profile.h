/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_PROFILE_H
#define RLO_CLI_OP_PROFILE_H

#include <jansson.h>

#include "relayout/profile.h"

#include "stream.h"

/** The trace of an operation: op --trace FILE. Functions that return an int
 *  return an exit code, after a message unless it is RLO__EXIT_OK. */

/** Refuses the options of what runs in pieces beside a trace; `path` NULL:
 *  there is none. */
int rlo__trace_options_check(const char *path,
                             const rlo__stream_options *stream);

/** Checks that the trace goes to none of `count` files. */
int rlo__trace_path_check(const char *path,
                          const char *const *paths,
                          int32_t count);

/** In the Trace Event Format of Chrome. */
typedef struct rlo__trace {
  json_t *root;
  /** Borrowed from `root`. */
  json_t *events;
  /** There was no memory for some of it. */
  bool is_cut;
} rlo__trace;

/** rlo__trace_deinit must follow in any case. */
void rlo__trace_init(rlo__trace *trace);
void rlo__trace_deinit(rlo__trace *trace);

/** Adds a run; the payload is the trace. Waits for the run's commands. */
void rlo__trace_add(const rlo_profile_entry *entry, void *payload);

/** Replaces a file by the trace. */
int rlo__trace_save(const rlo__trace *trace, const char *path);

#endif
