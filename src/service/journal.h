/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_JOURNAL_H
#define RLO_SERVICE_JOURNAL_H

#include "base/hash.h"
#include "service/storage.h"
#include "service/storage_cache.h"

/**
 * The file in which a job notes the boxes that are in its destination for good,
 * so that a job that was stopped can be resumed.
 *
 * A box of a pass is *done* when its last byte was written, and *durable* after
 * the next *checkpoint*: the destination is flushed, and the boxes that were
 * done before the flush began are appended to the file, which is flushed too. A
 * job that is resumed passes over durable boxes.
 *
 *     rlo__journal_open, _settings   at submission: is there one?
 *     rlo__journal_fit               is it of this job?
 *     rlo__journal_start             before the first box
 *     rlo__journal_add               a box is done
 *     rlo__journal_is_due            then begin_checkpoint, checkpoint and
 *                                    end_checkpoint
 *     rlo__journal_release           the file stays
 *
 * The file is a header, then records, which are only ever appended, in words of
 * 8 bytes, little-endian:
 *
 *   header   magic "rlo-jrnl", version, settings, hash of the job, checksum
 *   record   page number, a bit for each of the page's 64 boxes, the bytes that
 *            were read and written for those, checksum
 *
 * The last record of a page counts. The checksum of a record depends on the
 * header, so that no record of another journal counts. Records end before the
 * first one that is not valid: the rest was being written when the process or
 * the machine stopped.
 *
 * A file that another user has made, or a second name of a file, is not
 * believed: the job has no journal then, or one without a name. While it is
 * open the file is locked (flock). Where the file system has no
 * locks the caller sees to it that no two jobs have one journal.
 *
 * Threads: where nothing else is said, one at a time.
 */
typedef struct rlo__journal rlo__journal;

enum {
  RLO__JOURNAL_VERSION = 2,
  /** Magic, version, 6 settings, 2 of the hash, checksum. */
  RLO__JOURNAL_HEADER_WORDS = 11,
  RLO__JOURNAL_RECORD_WORDS = 4
};

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

/** The job that a journal has to fit. */
typedef struct rlo__journal_subject {
  /** A hash of all that has to be the same when the job is resumed. */
  rlo__hash128 hash;
  rlo__journal_settings settings;
  /** The boxes of the first and of the second pass. */
  int64_t num_boxes[2];
} rlo__journal_subject;

/**
 * Opens a journal, which may not exist yet. Changes nothing.
 * @param path  copied.
 * @param is_locked  false to look at its settings, also while it is in use.
 * @return RLO_OK; RLO_DATA_LOSS for a file that is no journal or has a damaged
 *         header; RLO_UNSUPPORTED for one of another version;
 *         RLO_INVALID_ARGUMENT for what is no regular file or can be written
 *         to by others, and where another job has the journal; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__journal_open(const char *path, bool is_locked,
                                           rlo__journal **out_journal);

/** Closes a journal; NULL is legal. */
void rlo__journal_release(rlo__journal *journal);

/** The settings of the job to be resumed, borrowed; NULL if there is none. */
const rlo__journal_settings *rlo__journal_get_settings(const rlo__journal *journal);

/** Fails with RLO_INVALID_ARGUMENT: the journal is of another job. */
RLO_NODISCARD rlo_status rlo__journal_fail_other(const char *path);

/**
 * Compares the journal with the job, and reads which boxes are durable. Changes
 * nothing.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for another job; RLO_DATA_LOSS for boxes
 *         that the job has not; RLO_OVERFLOW; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__journal_fit(rlo__journal *journal, const rlo__journal_subject *job);

/** Bytes that were read and written for the boxes that are to be passed over.
 */
int64_t rlo__journal_bytes_resumed(const rlo__journal *journal);

/** Creates the file, with mode 0600, or cuts off an incomplete record. It has
 *  its name when its header is on the disk. The destination has been reserved.
 *  @return RLO_OK; RLO_ALREADY_EXISTS; RLO_NOT_FOUND; RLO_IO. */
RLO_NODISCARD rlo_status rlo__journal_start(rlo__journal *journal);

/* From here on the caller holds the job's lock, but for rlo__journal_checkpoint
 * and rlo__journal_is_durable where no checkpoint is being made. */

/** Tells if a box is in the destination, whatever happens. */
bool rlo__journal_is_durable(const rlo__journal *journal, int32_t pass, int64_t box);

/** Notes that a box is done, after `bytes` bytes were read and written. */
void rlo__journal_add(rlo__journal *journal, int32_t pass, int64_t box, int64_t bytes);

/** Makes a checkpoint due as soon as a box is done: somebody waits until it is
 *  durable. */
void rlo__journal_want_checkpoint(rlo__journal *journal);

/** Tells if a checkpoint is to be made now: none is being made, there is
 *  something to record, and the last one is 5 seconds or 4 GiB ago.
 *  @param bytes_written  of the job so far. */
bool rlo__journal_is_due(const rlo__journal *journal, int64_t bytes_written);

/** Begins a checkpoint. */
void rlo__journal_begin_checkpoint(rlo__journal *journal, int64_t bytes_written);

/** Makes the checkpoint that was begun: without the lock. */
RLO_NODISCARD rlo_status rlo__journal_checkpoint(rlo__journal *journal, rlo_storage *dst);

/** Ends it, if it has not failed. */
void rlo__journal_end_checkpoint(rlo__journal *journal);

/** For tests: replaces the system calls that write. The table is borrowed. */
void rlo__journal_set_calls(rlo__journal *journal, const rlo__storage_calls *calls);

#endif
