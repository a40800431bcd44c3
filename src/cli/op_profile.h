/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_PROFILE_H
#define RLO_CLI_OP_PROFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "relayout/profile.h"

#include "report.h"
#include "stream_options.h"

/** The profile of an operation. Functions that return an int return an exit
 *  code, after a message unless it is RLO__EXIT_OK. */

typedef struct rlo__profile_options {
  /** --profile */
  bool is_printed;
  /** --trace; NULL: not given. */
  const char *trace_path;
} rlo__profile_options;

bool rlo__profile_is_wanted(const rlo__profile_options *options);

/** Refuses the options of what runs in pieces beside those of a profile. */
int rlo__profile_options_check(const rlo__profile_options *options,
                               const rlo__stream_options *stream);

/** Checks that the trace goes to none of `count` files. */
int rlo__profile_path_check(const rlo__profile_options *options,
                            const char *const *paths,
                            int32_t count);

/** A profile as texts, in temporary files that have no name: a child process
 *  writes them, its parent reads them. Zero-initialized. */
typedef struct rlo__op_profile {
  FILE *table;
  /** An array of the entries. */
  FILE *json;
  /** In the Trace Event Format of Chrome. */
  FILE *trace;
} rlo__op_profile;

/** rlo__op_profile_deinit must follow in any case. */
int rlo__op_profile_init(rlo__op_profile *profile);
void rlo__op_profile_deinit(rlo__op_profile *profile);

/** Writes the texts of a profile that has ended. */
int rlo__op_profile_write(const rlo__op_profile *profile,
                          rlo_profile *measured);

/** Goes back to the beginning of the texts. */
int rlo__op_profile_rewind(const rlo__op_profile *profile);

/** Adds the table, in text and if so to standard error, or the array. */
void rlo__op_profile_report(const rlo__op_profile *profile,
                            rlo__report *report,
                            bool is_on_stderr);

/** Replaces a file by the trace; NULL: does nothing. */
int rlo__op_profile_save(const rlo__op_profile *profile, const char *path);

#endif
