/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_JOURNAL_H
#define RLO_SERVICE_JOURNAL_H

#include "service/pass.h"
#include "service/storage.h"

/**
 * What is known to be in a job's destination for good, in a file, so that a job
 * that was stopped can be resumed.
 *
 * The unit is a box of a pass. A box is *done* when its last byte was written,
 * and *durable* after the next *checkpoint*: the destination is flushed, and
 * records of the boxes that were done before the flush began are appended to
 * the file and flushed too. A job that is resumed passes over the boxes of the
 * records.
 *
 *     rlo__journal_open, _settings   at submission: is there one?
 *     rlo__journal_fit               is it of this job?
 *     rlo__journal_start             before the first box
 *     rlo__journal_add               a box is done
 *     rlo__journal_is_due            then begin_checkpoint, checkpoint and
 *                                    end_checkpoint
 *     rlo__journal_release           the file stays
 *
 * Threads: where nothing else is said, one at a time.
 */
typedef struct rlo__journal rlo__journal;

/** Numbers that a job is planned with and that depend on the machine and the
 *  moment: a job that is resumed takes over those it began with. */
typedef struct rlo__journal_settings {
  /** The budget of staging memory; see rlo__piece_budget for the others. */
  int64_t host_bytes;
  int64_t piece_bytes, box_bytes;
  int64_t num_slots;
  /** 0 before it is decided. */
  int64_t passes;
  int64_t scratch_bytes;
} rlo__journal_settings;

/** The job that a journal has to fit. All borrowed for the call. */
typedef struct rlo__journal_subject {
  const rlo_problem *problem;
  /** A number that is another one for other indices. */
  uint64_t index_hash;
  const rlo__pass *passes;
  int32_t num_passes;
  /** Pieces are copied to devices. */
  bool copies;
  rlo__journal_settings settings;
  const rlo__storage_identity *src, *dst;
} rlo__journal_subject;

/** Gets the settings in a journal, which may be in use.
 *  @return as rlo__journal_open. */
RLO_NODISCARD rlo_status rlo__journal_peek(const char *path,
                                           const rlo_problem *problem,
                                           rlo__journal_settings *out_settings,
                                           bool *out_exists);

/**
 * Opens a journal, which may not exist yet. Changes nothing.
 * @param path  copied.
 * @param problem  what has to be the journal's, since it may be that another
 *                 one cannot be planned with the settings.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for another problem; RLO_OUT_OF_MEMORY;
 *         or what rlo__journal_file_open returns.
 */
RLO_NODISCARD rlo_status rlo__journal_open(const char *path,
                                           const rlo_problem *problem,
                                           rlo__journal **out_journal);

/** Closes a journal; NULL is legal. */
void rlo__journal_release(rlo__journal *journal);

/** What the job to be resumed was planned with, borrowed; NULL if there is none
 *  to be resumed. */
const rlo__journal_settings *rlo__journal_get_settings(
    const rlo__journal *journal);

/**
 * Compares the journal with the job, and reads what is durable. Changes
 * nothing.
 * @return RLO_OK; RLO_DATA_LOSS, naming the difference, for a source that was
 *         changed since, and for a destination that is too short to be that of
 *         the journal; RLO_INVALID_ARGUMENT for another job; RLO_UNSUPPORTED
 *         for that of another version of the planner; RLO_OUT_OF_MEMORY;
 * RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__journal_fit(rlo__journal *journal,
                                          const rlo__journal_subject *job);

/** Bytes that were read and written for the boxes that are to be passed over.
 */
int64_t rlo__journal_bytes_resumed(const rlo__journal *journal);

/** Creates the file, or cuts a record off that is not complete. The destination
 *  has been reserved. */
RLO_NODISCARD rlo_status rlo__journal_start(rlo__journal *journal);

/* From here on the caller holds the job's lock, but for rlo__journal_checkpoint
 * and rlo__journal_is_durable where no checkpoint is being made. */

/** Whether a box is in the destination, whatever happens. */
bool rlo__journal_is_durable(const rlo__journal *journal,
                             int32_t pass,
                             int64_t box);

/** Notes that a box is done, after `bytes` bytes were read and written.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__journal_add(rlo__journal *journal,
                                          int32_t pass,
                                          int64_t box,
                                          int64_t bytes);

/** Makes a checkpoint due as soon as a box is done: somebody waits until it is
 *  durable. */
void rlo__journal_want_checkpoint(rlo__journal *journal);

/** Whether to make a checkpoint now: none is being made, there is something to
 *  record, and the last one is 5 seconds or 4 GiB ago.
 *  @param bytes_written  of the job so far. */
bool rlo__journal_is_due(const rlo__journal *journal, int64_t bytes_written);

/** Begins a checkpoint. */
void rlo__journal_begin_checkpoint(rlo__journal *journal,
                                   int64_t bytes_written);

/** Makes the checkpoint that was begun: without the lock. */
RLO_NODISCARD rlo_status rlo__journal_checkpoint(rlo__journal *journal,
                                                 rlo_storage *dst);

/** Ends it, if it has not failed. */
void rlo__journal_end_checkpoint(rlo__journal *journal);

/** For tests: sets the seconds between checkpoints, process-wide; negative: 5.
 */
void rlo__journal_set_interval(double seconds);

#endif
