/* SPDX-License-Identifier: Apache-2.0 */
#include "support/journal_case.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "service/journal.h"
#include "support/expect.h"

rlo_service *test_journal_service(int64_t host_bytes, int32_t io_threads) {
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = host_bytes;
  options.io_threads = io_threads;
  rlo_service *made = NULL;
  expect_ok(rlo_service_create(NULL, 0, &options, &made));
  return made;
}

void test_journal_init(test_journal *journal) {
  journal->live = rlo__alloc_live_count();
  temp_folder_make(journal->folder);
  (void)snprintf(journal->path, sizeof journal->path, "%s/journal", journal->folder);
  journal->service = test_journal_service(RLO_SERVICE_MIN_HOST_BYTES, 3);
  rlo__thresholds.service_checkpoint_seconds = 0;
}

void test_journal_deinit(test_journal *journal) {
  rlo__thresholds.service_checkpoint_seconds = 5;
  rlo_service_release(journal->service);
  (void)unlink(journal->path);
  ck_assert_int_eq(rmdir(journal->folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), journal->live);
}

void test_journal_init_job(const test_journal *journal, transpose_job *t, test_storage_kind src,
                           test_storage_kind dst) {
  transpose_job_init(t, src, dst);
  t->options.journal_path = journal->path;
  t->options.host_memory_bytes = 4096;
}

void test_journal_submit_again(const test_journal *journal, transpose_job *t) {
  rlo_job_release(t->job);
  transpose_job_submit(t, journal->service);
}
