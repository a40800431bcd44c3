/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_JOB_H
#define RLO_TESTS_SUPPORT_RANDOM_JOB_H

#include "relayout/service.h"
#include "support/random_problem.h"
#include "support/watched_storage.h"

enum { TEST_JOB_BYTES = TEST_PROBLEM_LARGE_BYTES };

/**
 * A random job: a problem, and a cut, which is the kinds of its storages, their
 * bytes, traits and lengths, one pass or two, and a budget of 1 MiB down to the
 * least that suffices. What has to become of the destination is what the oracle
 * makes of it.
 */
typedef struct test_job {
  /** For messages: how to repeat it. */
  uint64_t seed;
  int number, cut;
  test_problem problem;
  rlo_job_options options;
  watched_storage src, dst, indices, scratch;
  rlo_job *job;
  /** The bytes that the storages had moved before the job: it may have been
   *  submitted before, and cancelled. */
  int64_t read_before, written_before;
  /** The counts of the submitted job, its passes together; shares in place of
   * pieces do not count. */
  int64_t num_boxes, num_pieces;
  int32_t num_passes;
  /** Bytes of the destination beforehand, and what the oracle makes of them;
   *  ones for the bits that the problem writes. */
  uint8_t before[TEST_JOB_BYTES], wanted[TEST_JOB_BYTES];
  uint8_t written[TEST_JOB_BYTES];
  /** What options.watch was shown, and how often. */
  uint8_t shown[TEST_JOB_BYTES], times_shown[TEST_JOB_BYTES];
} test_job;

/** Draws problem number `number` and one of its cuts; false if there is no such
 *  job. */
bool test_job_init(test_job *job, uint64_t seed, int number, int cut);

/** True if the problem adds to its destination, so that a job that was stopped
 *  cannot be done again. */
bool test_job_reads_destination(const test_job *job);

/** Submits it, with the least budget if that is more than was drawn. Some jobs
 *  cannot be cut at the granules that were drawn, or so that a piece fits into
 *  the device's memory: false, and nothing was submitted. */
bool test_job_submit(test_job *job, rlo_service *service);

/** Waits for its end, and compares the destination and the counters. */
void test_job_expect(test_job *job);

/** Compares the destination alone. */
void test_job_expect_bytes(const test_job *job);

/** Releases everything; the job has ended or was not submitted. */
void test_job_deinit(test_job *job);

/** Counts of jobs, by what they contain. */
typedef struct test_job_counts {
  int jobs, refused;
  /** Jobs of several pieces, of several boxes, of a thousand pieces or more. */
  int with_pieces, with_boxes, with_thousands;
  /** And those of them with a scratch of their own. */
  int of_two_passes, of_scratch;
  /** Of several boxes, from a source that is read forward, and to a destination that is
   *  written so. */
  int read_forward, written_forward;
  /** The jobs of several pieces: those that load indices, sum, or read their
   *  destination. */
  int cut_loads, cut_sums, cut_additions;
} test_job_counts;

/** Submits a job, waits for its end and releases it all. */
void test_job_run(test_job *job, rlo_service *service, test_job_counts *counts);

/** Prints them, and expects that a good part of the jobs was cut. */
void test_job_expect_counts(const test_job_counts *counts);

#endif
