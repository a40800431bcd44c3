/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_INSIDE_H
#define RLO_CLI_STREAM_INSIDE_H

#include <limits.h>

#include "stream.h"

/** The parts of a stream: its journals, its plan and its report. */

/* --- stream_plan.c: how jobs that were stopped go on */

/** Counts the jobs that write to an output, of those before job `end`. */
int32_t rlo__stream_count_jobs(const rlo__stream *stream, int32_t output, int32_t end);

/** Returns whether the jobs of an output have journals: if the stream is large
 *  or to be resumed. */
bool rlo__stream_has_journal(const rlo__stream *stream, int32_t output);

/** A path, or "". */
typedef struct rlo__journal_path {
  char text[PATH_MAX + 16];
} rlo__journal_path;

/** Makes the path of a job's journal of that of its output's first job; NULL
 *  or "": there is none. */
void rlo__stream_name_journal(const rlo__stream *stream, int32_t job, const char *first_path,
                              rlo__journal_path *out_path);

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

void rlo__stream_words_make(const rlo__stream *stream, const rlo_job_info *info,
                            rlo__stream_words *out_words);

/** Says that a signal ends the command, and how to go on if a part stays. For
 *  rlo__interrupt_file. */
void rlo__stream_words_stop(const void *words, bool stays);

/** Says the same after an orderly stop, for which all that was done stays. */
void rlo__stream_words_end(const rlo__stream_words *words, bool stays);

/** Says how to go on, after the reason of a failure. */
void rlo__stream_words_fail(const rlo__stream_words *words);

/* The options of the jobs, and the memory and time that they need. */

/** The options of the service that runs them, one after the other. */
rlo_service_options rlo__stream_service_options(const rlo__stream *stream);

/** The options of one of them. The first job of an output finds nothing in it;
 * the others keep what it has written between their own bytes.
 *  @param journal  borrowed by the result. */
rlo_job_options rlo__stream_job_options(const rlo__stream *stream, int32_t job,
                                        const rlo__journal_path *journal);

/** Decides where the jobs run and how outputs are made, and checks them. */
int rlo__stream_plan(rlo__stream *stream);

/** Finds in how many bytes at once the output of a step is made in memory, because
 *  its jobs would write short runs between those of each other; 0: it is not. */
RLO_NODISCARD rlo_status rlo__stream_find_band(const rlo__stream *step, const rlo_service *service,
                                               int64_t *out_bytes);

/** Computes what the jobs will do in a service: each one, into a list, and all
 *  together. */
int rlo__stream_estimate(const rlo__stream *stream, const rlo_service *service,
                         rlo_job_estimate *out_jobs, rlo_job_estimate *out_all);

/* --- stream_digest.c: the digest of an output */

/** The sum of an output, to which its parts are added. */
typedef struct rlo__stream_sum {
  const rlo_shape *shape;
  rlo_digest *digest;
} rlo__stream_sum;

/** Adds a part to a rlo__stream_sum. For rlo_job_options.watch. Threads: safe. */
rlo_status rlo__stream_sum_add(void *sum, int64_t offset, int64_t bytes, const void *from);

/** The traits of a storage that adds what is written of an output to a sum. */
rlo_storage_traits rlo__stream_sum_traits(const rlo__stream_output *output);

/** Makes it. Borrows the sum. */
rlo_status rlo__stream_storage_that_sums(const rlo__stream_output *output, rlo__stream_sum *sum,
                                         rlo_storage **out_storage);

/** Returns whether a job can add up the output while it writes it. */
bool rlo__stream_can_sum(const rlo__stream *stream);

/** Makes the digest of the sum, for which it reads the output if it has to. */
int rlo__stream_finish_digest(const rlo__stream *stream, rlo__stream_result *result);

/* --- stream_output.c: the bytes of outputs, and which of them are there */

/** Reads bytes of an output. @param output  an rlo__stream_output. */
RLO_NODISCARD rlo_status rlo__stream_output_read(void *output, int64_t offset, int64_t bytes,
                                                 void *into);

/** Writes a part of an output's file, which is flushed when a step is noted, or at the end;
 *  of one that is_forward behind what was written.
 *  @param output  an rlo__stream_output. */
RLO_NODISCARD rlo_status rlo__stream_output_write(void *output, int64_t offset, int64_t bytes,
                                                  const void *from);

/** Makes the storage of an output for the jobs: what it is made in or, to verify it,
 *  functions that compare. */
RLO_NODISCARD rlo_status rlo__stream_output_storage(const rlo__stream *stream,
                                                    rlo__stream_output *output,
                                                    const rlo_storage_traits *hints,
                                                    rlo_storage **out_storage);

/** Cuts off what two passes have left behind the arrays, and what others have put
 *  behind a part that was resumed. */
int rlo__stream_cut_off_scratch(const rlo__stream *stream);

/** Completes the outputs: writes what was made in memory, syncs the parts, writes the
 *  digest, if the stream has it, to the headers, and gives the parts their names. */
int rlo__stream_commit_outputs(const rlo__stream *stream, const rlo_digest *digest);

/** Removes the parts that are no outputs, unless they can be resumed. Returns whether
 *  something stays. */
bool rlo__stream_leave_outputs(const rlo__stream *stream, int32_t num_begun, bool is_spoilt);

/** Finds how many steps are noted in the journal of an output, if it has one; fails if
 *  they are of another stream. */
int rlo__stream_find_notes(const rlo__stream *stream, rlo__stream_output *output);

/** Makes an output durable and notes in its journal, if it may have one, that those of
 *  the first n steps that write to it are done. NULL is legal. */
int rlo__stream_note_steps(const rlo__stream *stream, rlo__stream_output *output, int64_t n);

/* --- stream_report.c: how far a job is, on standard error */

typedef enum rlo__progress_kind {
  RLO__PROGRESS_NONE = 0,
  /** A line of a terminal that is drawn anew ten times a second. */
  RLO__PROGRESS_LINE = 1,
  /** A line each ten seconds, for files and pipes. */
  RLO__PROGRESS_LINES = 2
} rlo__progress_kind;

/** Used by one thread. */
typedef struct rlo__progress {
  rlo__progress_kind kind;
  /** The output that is being made, and who makes it. Borrowed. */
  const char *name, *place;
  bool is_verifying;

  /** Seconds, and bytes that were done then: some seconds ago, so that a rate is
   *  of these, and since. */
  struct {
    double seconds;
    int64_t bytes;
  } marks[2];

  /** When it is shown next, in seconds of the job. */
  double next_seconds;
  /** The columns of the terminal's line that it has; 0: none. */
  int drawn_columns;
  /** When the next event is printed. */
  double next_event_seconds;
} rlo__progress;

/** Begins, for what standard error is: a terminal that can go back to the
 *  beginning of a line, or not; then lines only if they are wanted. Shows
 *  nothing yet, nor in the first second. All is borrowed. */
void rlo__progress_begin(rlo__progress *progress, const rlo__stream *stream,
                         const rlo__stream_result *result);

/** Shows it if it is time to, and prints an event each second for --json; call
 *  it ten times a second. */
void rlo__progress_show(rlo__progress *progress, const rlo__stream *stream,
                        const rlo_job_info *info);

/** Ends the line, if there is one: with the totals of a job that is done. */
void rlo__progress_end(rlo__progress *progress, const rlo_job_info *info);

/* Standard output. */

/** Adds what a job has done to that of all. */
void rlo__stream_add_info(const rlo_job_info *one, rlo_job_info *all);

/** Prints what they will need: the event "plan", or text for --dry-run.
 *  @param result  names the devices. */
void rlo__stream_print_plan(const rlo__stream *stream, const rlo__stream_result *result,
                            const rlo_job_estimate *estimate);

/** Prints the outputs, or the event "end". Of jobs that failed only that: the
 *  reason is on standard error. */
void rlo__stream_print_end(const rlo__stream *stream, const rlo__stream_result *result,
                           bool is_done);

#endif
