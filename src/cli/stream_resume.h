/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_RESUME_H
#define RLO_CLI_STREAM_RESUME_H

#include <limits.h>

#include "stream_jobs.h"

/** How jobs that were stopped go on: which outputs have a journal, and what is
 *  said of it. */

/** Returns whether the jobs of an output have journals: if the stream is large
 *  or to be resumed. */
bool rlo__stream_has_journal(const rlo__stream *stream, int32_t output);

/** A path, or "". */
typedef struct rlo__journal_path {
  char text[PATH_MAX + 16];
} rlo__journal_path;

/** Makes the path of a job's journal of that of its output's first job; NULL:
 *  there is none. */
void rlo__stream_name_journal(const rlo__stream *stream,
                              int32_t job,
                              const char *first_path,
                              rlo__journal_path *out_path);

/** Finds the journal with which a job would go on, or which it would create:
 *  "" if it has none, or if the one that is there would be removed. */
void rlo__stream_find_journal(const rlo__stream *stream,
                              int32_t job,
                              rlo__journal_path *out_path);

/** Returns whether there is something to go on with, so that pieces are the
 *  only way. */
bool rlo__stream_is_begun(const rlo__stream *stream);

/** Does what rlo__fail_last does, for a job that was refused; says how to begin
 * anew if it was to be resumed. */
int rlo__stream_fail_submit(const rlo__stream *stream);

/** The words for jobs that end early. Its address must not change while a
 * signal handler may use it. */
typedef struct rlo__stream_words {
  /** Shared with the process that has the jobs. Borrowed. */
  const rlo_job_info *info;
  /** "\n" where a line is being drawn. */
  const char *line_end;
  /** Nothing stays. */
  char removed[PATH_MAX + 64];
  /** How to go on. */
  char command[4096];
} rlo__stream_words;

void rlo__stream_words_make(const rlo__stream *stream,
                            const rlo_job_info *info,
                            rlo__stream_words *out_words);

/** Says that a signal ends the command, and how to go on if a part stays. For
 *  rlo__interrupt_file. */
void rlo__stream_words_stop(const void *words, bool stays);

/** Says how to go on, after the reason of a failure. */
void rlo__stream_words_fail(const rlo__stream_words *words);

#endif
