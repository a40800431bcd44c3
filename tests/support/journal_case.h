/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_JOURNAL_CASE_H
#define RLO_TESTS_SUPPORT_JOURNAL_CASE_H

#include "support/temp_file.h"
#include "support/transpose_job.h"

/** A service of three threads, a folder, and the path of a journal in it, for
 * tests of jobs with a journal. Checkpoints are made as often as there is
 * something to record. */
typedef struct test_journal {
  rlo_service *service;
  char folder[TEMP_FOLDER_CHARS];
  char path[128];
  int64_t live;
} test_journal;

void test_journal_init(test_journal *journal);
/** Fails the test if something was not released. */
void test_journal_deinit(test_journal *journal);

/** A service on the host. */
rlo_service *test_journal_service(int64_t host_bytes, int32_t io_threads);

/** Begins a job in several boxes, with the journal. */
void test_journal_init_job(const test_journal *journal, transpose_job *t, test_storage_kind src,
                           test_storage_kind dst);

/** The same job once more, in place of one that has ended. */
void test_journal_submit_again(const test_journal *journal, transpose_job *t);

#endif
