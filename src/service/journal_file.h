/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_JOURNAL_FILE_H
#define RLO_SERVICE_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "service/storage_calls.h"

/**
 * The file of a journal: a header, then records, which are only ever appended.
 *
 * All fields are words of 8 bytes, little-endian:
 *
 *   header   magic "rlo-jrnl", version, settings, key, checksum
 *   record   box, bytes, checksum
 *
 * The checksum of a record depends on the header, so that no record of another
 * journal counts. Records end before the first one that is not valid: what is
 * behind it was being written when the process or the machine stopped.
 *
 * While it is open the file is locked (flock). Where the file system has no
 * locks it is the caller's affair that no two jobs have one journal.
 */

enum {
  RLO__JOURNAL_VERSION = 1,
  /** Numbers that a job takes over from its journal. */
  RLO__JOURNAL_NUM_SETTINGS = 6,
  /** Numbers that must be those of the job. */
  RLO__JOURNAL_NUM_KEYS = 13
};

typedef struct rlo__journal_header {
  int64_t settings[RLO__JOURNAL_NUM_SETTINGS];
  uint64_t key[RLO__JOURNAL_NUM_KEYS];
} rlo__journal_header;

/** A box that is in the destination for good, and how many bytes were read and
 *  written for it. */
typedef struct rlo__journal_record {
  int64_t box, bytes;
} rlo__journal_record;

typedef struct rlo__journal_file {
  const rlo__storage_calls *calls;
  /** Borrowed. */
  const char *path;
  /** -1: closed. */
  int fd;
  /** The header's. */
  uint64_t checksum;
  /** Where the next record goes. */
  int64_t end;
} rlo__journal_file;

/** Reads the header of a journal that may be in use.
 *  @return as rlo__journal_file_open. */
RLO_NODISCARD rlo_status rlo__journal_file_peek(const char *path,
                                                rlo__journal_header *out_header,
                                                bool *out_exists);

/**
 * Opens and locks a journal, if there is one, and reads its header. Changes
 * nothing.
 * @param path  borrowed until the file is closed.
 * @param out_file  closed by rlo__journal_file_close, also if there is no
 *                  journal.
 * @return RLO_OK; RLO_DATA_LOSS for a file that is no journal, or whose header
 *         is damaged or not complete; RLO_UNSUPPORTED for one of another
 *         version; RLO_INVALID_ARGUMENT for what is no regular file, and where
 *         another job has the journal; RLO_IO.
 */
RLO_NODISCARD rlo_status rlo__journal_file_open(const char *path,
                                                rlo__journal_file *out_file,
                                                rlo__journal_header *out_header,
                                                bool *out_exists);

/** Reads the records.
 *  @param out_records  free it with rlo__free. Not NULL.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_IO. */
RLO_NODISCARD rlo_status
rlo__journal_file_read(rlo__journal_file *file,
                       rlo__journal_record **out_records,
                       size_t *out_count);

/** Cuts off what is behind the records that were read. */
RLO_NODISCARD rlo_status rlo__journal_file_trim(rlo__journal_file *file);

/** Creates the journal, with mode 0600: it has its name when its header is on
 *  the disk. @return RLO_OK; RLO_ALREADY_EXISTS; RLO_NOT_FOUND; RLO_IO. */
RLO_NODISCARD rlo_status rlo__journal_file_create(
    rlo__journal_file *file, const rlo__journal_header *header);

/** Appends records, and waits until they are on the disk. After a failure no
 *  more can be appended.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_IO. */
RLO_NODISCARD rlo_status rlo__journal_file_append(
    rlo__journal_file *file, const rlo__journal_record *records, size_t count);

/** A closed one is legal. */
void rlo__journal_file_close(rlo__journal_file *file);

#endif
