/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_job.h"

#include <check.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"
#include "ir/update.h"
#include "service/job.h"
#include "service/storage.h"
#include "support/expect.h"
#include "support/storage_transfer.h"

#define AGAIN "; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", problem %d, cut %d"
#define EXPECT(job, condition, ...) \
  ck_assert_msg(condition, __VA_ARGS__, (job)->seed, (job)->number, (job)->cut)

/* ------------------------------------------------------------------ drawing */

bool test_job_reads_destination(const test_job *job) {
  return rlo_problem_reads_cells(&job->problem.problem);
}

static bool draw_problem(uint64_t seed, int number, test_problem *out) {
  static const struct {
    test_problem_kind kind;
    bool is_small;
  } kinds[] = {{TEST_PROBLEM_RELAYOUT, false},   {TEST_PROBLEM_CONVERSION, false},
               {TEST_PROBLEM_CHAIN, false},      {TEST_PROBLEM_FORMS, false},
               {TEST_PROBLEM_GATHER, true},      {TEST_PROBLEM_RELAYOUT, false},
               {TEST_PROBLEM_SUM, true},         {TEST_PROBLEM_CHAIN, false},
               {TEST_PROBLEM_SEGMENT_SUM, true}, {TEST_PROBLEM_RELAYOUT, false}};

  const int n = number % 10;
  test_random random = {seed + (uint64_t)number * 7919};
  bool is_small = kinds[n].is_small || number / 10 % 5 == 0;
  return test_random_problem_of(&random, kinds[n].kind,
                                is_small ? TEST_PROBLEM_SMALL : TEST_PROBLEM_LARGE, out);
}

static void fill(test_random *random, uint8_t *memory, int64_t bytes) {
  for (int64_t k = 0; k < bytes; k += 8) {
    uint64_t bits = test_random_bits(random);
    memcpy(memory + k, &bits, (size_t)(bytes - k < 8 ? bytes - k : 8));
  }
}

/* Half of the time too little, so that it becomes the least. */
static int64_t draw_budget(test_random *random) {
  return test_random_once_in(random, 2) ? 1 : INT64_C(1) << test_random_in(random, 6, 20);
}

/* Mostly none that is used where it lies. */
static test_storage_kind draw_kind(test_random *random) {
  static const test_storage_kind kinds[] = {TEST_STORAGE_MEMORY, TEST_STORAGE_ODD_MEMORY,
                                            TEST_STORAGE_FILE,   TEST_STORAGE_FUNCTIONS,
                                            TEST_STORAGE_FILE,   TEST_STORAGE_FUNCTIONS};
  return kinds[test_random_in(random, 0, 5)];
}

static void draw_storage(test_random *random, const uint8_t *content, int64_t bytes,
                         watched_storage *out) {
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.good_read_bytes = INT64_C(1) << test_random_in(random, 0, 12);
  traits.good_write_bytes = INT64_C(1) << test_random_in(random, 0, 12);
  if (test_random_once_in(random, 6)) {
    traits.granule_bytes = test_random_once_in(random, 4)
                               ? test_random_in(random, 2, 24)
                               : INT64_C(1) << test_random_in(random, 1, 6);
  }
  watched_storage_init(out, draw_kind(random), content, bytes, &traits);
}

/* The oracle over zeros and over ones: where they agree, bits are written. */
static void find_written(test_job *job, const uint8_t *src, int64_t storage_bytes) {
  static _Thread_local uint8_t over_ones[TEST_JOB_BYTES];
  static _Thread_local rlo_problem problem;
  problem = job->problem.problem;
  problem.arithmetic.num_steps = 0;
  size_t bytes = (size_t)problem.dst_bytes;
  memset(job->written, 0, (size_t)storage_bytes);
  memset(over_ones, 0xff, bytes);
  const void *indices = &job->problem.indices;
  expect_ok(rlo_problem_run_host_indexed(&problem, src, indices, job->written));
  expect_ok(rlo_problem_run_host_indexed(&problem, src, indices, over_ones));
  for (size_t n = 0; n < bytes; ++n) {
    job->written[n] = (uint8_t) ~(job->written[n] ^ over_ones[n]);
  }
}

/* How many bytes of the destination's storage are behind the problem's: some
 * that two passes may use, and some that nobody may. */
static int64_t draw_behind(test_random *random, test_job *job) {
  int64_t bytes = job->problem.problem.dst_bytes;
  int64_t room = TEST_JOB_BYTES - bytes;
  int64_t most = bytes + 64 < room ? bytes + 64 : room;
  int64_t tail = test_random_once_in(random, 4) ? 7 : 0;
  tail = test_random_in(random, 0, tail < most ? tail : most);
  if (!test_random_once_in(random, 3)) {
    job->options.scratch_bytes = test_random_in(random, 0, most - tail);
    job->options.passes = test_random_once_in(random, 4) ? 0 : 2;
  }
  return job->options.scratch_bytes + tail;
}

bool test_job_init(test_job *job, uint64_t seed, int number, int cut) {
  static _Thread_local uint8_t src[TEST_JOB_BYTES];
  memset(job, 0, offsetof(test_job, before));
  job->seed = seed;
  job->number = number;
  job->cut = cut;
  if (!draw_problem(seed, number, &job->problem)) {
    return false;
  }
  const rlo_problem *problem = &job->problem.problem;
  test_random random = {seed + (uint64_t)number * 104729 + (uint64_t)cut * 31};
  job->options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  job->options.priority = (int32_t)test_random_in(&random, -1, 1);
  job->options.is_new_destination = test_random_once_in(&random, 2);
  job->options.host_memory_bytes = draw_budget(&random);
  fill(&random, src, problem->src_bytes);
  int64_t bytes = problem->dst_bytes + draw_behind(&random, job);
  fill(&random, job->before, bytes);
  memcpy(job->wanted, job->before, (size_t)bytes);
  if (rlo_problem_run_host_indexed(problem, src, &job->problem.indices, job->wanted) != RLO_OK) {
    return false; /* forms that leave the memory */
  }
  find_written(job, src, bytes);
  draw_storage(&random, src, problem->src_bytes, &job->src);
  draw_storage(&random, job->before, bytes, &job->dst);
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  watched_storage_init(&job->indices, draw_kind(&random), &job->problem.indices,
                       problem->index_bytes, &traits);
  job->options.indices = job->indices.storage;
  const bool has_scratch = test_random_once_in(&random, 3);
  watched_storage_init(&job->scratch, draw_kind(&random), job->before,
                       has_scratch ? TEST_JOB_BYTES : 0, &traits);
  job->options.scratch = has_scratch ? job->scratch.storage : NULL;
  return true;
}

/* --------------------------------------------------------------- submission */

static rlo_status submit(test_job *job, rlo_service *service) {
  return rlo_service_submit(service, &job->problem.problem, job->src.storage, job->dst.storage,
                            &job->options, &job->job);
}

/* The budget that a refusal names; 0 if it names none. */
static int64_t least_of_message(void) {
  const char *text = strstr(rlo_error_last()->message, "suffices is ");
  return text == NULL ? 0 : strtoll(text + strlen("suffices is "), NULL, 10);
}

/* True if a piece does not fit into the memory of devices. */
static bool is_about_devices(void) {
  return strstr(rlo_error_last()->message, "for a piece;") != NULL;
}

static void count_cuts(test_job *job) {
  job->num_passes = job->job->plan.num_passes;
  for (int32_t n = 0; n < job->job->plan.num_passes; ++n) {
    const rlo__pass *pass = &job->job->plan.passes[n];
    if (pass->num_shares == 0) {
      job->num_boxes += pass->plan.num_boxes;
      job->num_pieces += pass->plan.num_pieces;
    }
  }
}

/* Submits a job of two passes, or makes it one where they are not possible. */
static rlo_status submit_passes(test_job *job, rlo_service *service) {
  const int64_t budget = job->options.host_memory_bytes;
  rlo_status status = submit(job, service);
  while (job->options.passes == 2 && status != RLO_OK) {
    job->options.host_memory_bytes *= 2;
    if (status != RLO_OUT_OF_RANGE || job->options.host_memory_bytes > RLO_SERVICE_MIN_HOST_BYTES) {
      job->options.host_memory_bytes = budget;
      job->options.passes = 0;
    }
    status = submit(job, service);
  }
  return status;
}

/* No two threads are shown one byte. */
static rlo_status watch(void *payload, int64_t offset, int64_t bytes, const void *from) {
  test_job *job = payload;
  memcpy(job->shown + offset, from, (size_t)bytes);
  for (int64_t n = 0; n < bytes; ++n) {
    ++job->times_shown[offset + n];
  }
  return RLO_OK;
}

bool test_job_submit(test_job *job, rlo_service *service) {
  test_storage_stats src, dst, scratch;
  if (job->options.journal_path != NULL && watched_storage_is_memory(&job->scratch)) {
    job->options.scratch = NULL;
  }
  job->options.watch = watch;
  job->options.watch_payload = job;
  memset(job->times_shown, 0, (size_t)job->problem.problem.dst_bytes);
  src = test_storage_get_stats(job->src.storage);
  dst = test_storage_get_stats(job->dst.storage);
  scratch = test_storage_get_stats(job->scratch.storage);
  job->read_before = src.bytes_read + dst.bytes_read + scratch.bytes_read;
  job->written_before = dst.bytes_written + scratch.bytes_written;
  rlo_status status = submit_passes(job, service);
  if (status == RLO_OUT_OF_RANGE && !is_about_devices()) {
    int64_t least = least_of_message();
    EXPECT(job, least > job->options.host_memory_bytes, "%s" AGAIN, rlo_error_last()->message);
    job->options.host_memory_bytes = least;
    status = submit(job, service);
  }
  if (status == RLO_OUT_OF_RANGE && is_about_devices()) {
    return false;
  }
  if (status == RLO_UNSUPPORTED && strstr(rlo_error_last()->message, "goes back") != NULL) {
    job->src.storage->traits.is_forward = job->dst.storage->traits.is_forward = false;
    return test_job_submit(job, service);
  }
  if (status == RLO_UNSUPPORTED) {
    bool has_granules = job->dst.granule_bytes > 1;
    bool is_shared = strstr(rlo_error_last()->message, "each other") != NULL;
    EXPECT(job, has_granules || is_shared, "%s" AGAIN, rlo_error_last()->message);
    return false;
  }
  EXPECT(job, status == RLO_OK, "with %" PRId64 " bytes: %s" AGAIN, job->options.host_memory_bytes,
         rlo_error_last()->message);
  count_cuts(job);
  return true;
}

/* --------------------------------------------------------------------- ends */

static void expect_bytes(const test_job *job, const rlo_job_info *info) {
  test_storage_stats src, dst, scratch;
  scratch = test_storage_get_stats(job->scratch.storage);
  src = test_storage_get_stats(job->src.storage);
  dst = test_storage_get_stats(job->dst.storage);
  int64_t num_read = src.bytes_read + dst.bytes_read + scratch.bytes_read - job->read_before;
  int64_t num_written = dst.bytes_written + scratch.bytes_written - job->written_before;
  if (!watched_storage_is_memory(&job->src)) {
    EXPECT(job, info->bytes_read == num_read,
           "%" PRId64 " bytes are counted as read, %" PRId64 " were" AGAIN, info->bytes_read,
           num_read);
    /* Jobs also read the bytes between written ones, which are not planned;
     * plans of many pieces that differ, begin within granules, skip some, or
     * are used in memory have bounds only. */
    int64_t moved = info->bytes_resumed + info->bytes_read + info->bytes_written;
    bool reads_more =
        dst.bytes_read > 0 || (info->bytes_resumed > 0 && !job->options.is_new_destination);
    EXPECT(job,
           job->num_passes == 2 || reads_more || moved == info->bytes_total ||
               (moved < info->bytes_total &&
                (info->num_pieces > rlo__thresholds.service_tally_regions / 2 ||
                 job->src.granule_bytes > 1 || watched_storage_is_memory(&job->dst) ||
                 (job->dst.granule_bytes > 1 && test_problem_skips(&job->problem.problem)))),
           "%" PRId64 " bytes were moved, %" PRId64 " planned" AGAIN, moved, info->bytes_total);
  }
  if (!watched_storage_is_memory(&job->dst)) {
    EXPECT(job, info->bytes_written == num_written,
           "%" PRId64 " bytes are counted as written, %" PRId64 " were" AGAIN, info->bytes_written,
           num_written);
  }
  ck_assert_int_eq(info->bytes_done, info->bytes_total);
}

/* The memory that a storage was given lies within so many bytes. */
static void expect_range(const test_job *job, const watched_storage *storage,
                         const rlo_job_info *info) {
  uintptr_t low = atomic_load(&storage->low);
  uintptr_t high = atomic_load(&storage->high);
  bool is_in_place = watched_storage_is_memory(&job->src) || watched_storage_is_memory(&job->dst);
  if (high > 0 && !is_in_place) {
    EXPECT(job, (int64_t)(high - low) <= info->host_bytes_peak,
           "memory of %" PRId64 " bytes is used, %" PRId64 " are counted" AGAIN,
           (int64_t)(high - low), info->host_bytes_peak);
  }
}

/* True if a byte is what it has to be. In a new destination, bits that the
 * problem does not write keep their value or become 0. */
static bool is_right(const test_job *job, int64_t n, uint8_t got) {
  uint8_t written = job->written[n];
  int64_t end = job->problem.problem.dst_bytes;
  const int64_t behind = job->options.scratch == NULL ? job->options.scratch_bytes : 0;
  if (job->num_passes == 2 && n >= end && n < end + behind) {
    return true;
  }
  return job->options.is_new_destination
             ? ((got ^ job->wanted[n]) & written) == 0 && (got & ~(job->before[n] | written)) == 0
             : got == job->wanted[n];
}

void test_job_expect_bytes(const test_job *job) {
  static _Thread_local uint8_t got[TEST_JOB_BYTES];
  watched_storage_get(&job->dst, got);
  int64_t at = 0;
  while (at < job->dst.bytes && is_right(job, at, got[at])) {
    ++at;
  }
  EXPECT(job, at == job->dst.bytes,
         "byte %" PRId64 " of %" PRId64 " is wrong, with %" PRId64 " pieces" AGAIN, at,
         job->dst.bytes, job->num_pieces);
}

/* What was written was shown, once. */
static void expect_shown(const test_job *job, const rlo_job_info *info) {
  static _Thread_local uint8_t got[TEST_JOB_BYTES];
  watched_storage_get(&job->dst, got);
  const bool is_shown = !watched_storage_is_memory(&job->dst) && info->bytes_resumed == 0;
  for (int64_t n = 0; is_shown && n < job->problem.problem.dst_bytes; ++n) {
    const int times = job->times_shown[n];
    EXPECT(job, times == 1 || (times == 0 && job->written[n] == 0),
           "byte %" PRId64 " was shown %d times" AGAIN, n, times);
    EXPECT(job, times == 0 || job->shown[n] == got[n],
           "byte %" PRId64 " was shown with another value" AGAIN, n);
  }
}

void test_job_expect(test_job *job) {
  expect_ok(rlo_job_wait(job->job, -1, NULL));
  rlo_status status = rlo_job_result(job->job);
  EXPECT(job, status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  test_job_expect_bytes(job);
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job->job, &info));
  ck_assert_int_eq(info.state, RLO_JOB_DONE);
  ck_assert_int_eq(info.pieces_done, info.num_pieces);
  EXPECT(job, info.host_bytes_peak <= job->options.host_memory_bytes,
         "%" PRId64 " bytes of %" PRId64 " were used" AGAIN, info.host_bytes_peak,
         job->options.host_memory_bytes);
  expect_bytes(job, &info);
  expect_shown(job, &info);
  expect_range(job, &job->src, &info);
  expect_range(job, &job->dst, &info);
}

void test_job_deinit(test_job *job) {
  rlo_job_release(job->job);
  watched_storage_deinit(&job->src);
  watched_storage_deinit(&job->dst);
  watched_storage_deinit(&job->indices);
  watched_storage_deinit(&job->scratch);
}

/* ------------------------------------------------------------------- counts */

void test_job_run(test_job *job, rlo_service *service, test_job_counts *counts) {
  if (test_job_submit(job, service)) {
    test_job_expect(job);
    ++counts->jobs;
    counts->with_pieces += job->num_pieces > 1;
    counts->with_boxes += job->num_boxes > 1;
    counts->with_thousands += job->num_pieces >= 1000;
    counts->of_two_passes += job->num_passes == 2;
    counts->of_scratch += job->num_passes == 2 && job->options.scratch != NULL;
    const rlo_problem *problem = &job->problem.problem;
    counts->read_forward += job->num_boxes > 1 && job->src.storage->traits.is_forward;
    counts->written_forward += job->num_boxes > 1 && job->dst.storage->traits.is_forward;
    if (job->num_pieces > 1) {
      counts->cut_loads += rlo_problem_loads(problem);
      counts->cut_sums += rlo_problem_is_sum(problem);
      counts->cut_additions += test_job_reads_destination(job);
    }
  } else {
    ++counts->refused;
  }
  test_job_deinit(job);
}

void test_job_expect_counts(const test_job_counts *counts) {
  (void)printf(
      "%d jobs, %d of several pieces, %d of several boxes, %d of a thousand "
      "pieces or more, %d of two passes, %d with a scratch; of several pieces %d load, %d sum, "
      "%d read the destination; %d refused\n",
      counts->jobs, counts->with_pieces, counts->with_boxes, counts->with_thousands,
      counts->of_two_passes, counts->of_scratch, counts->cut_loads, counts->cut_sums,
      counts->cut_additions, counts->refused);
  (void)fflush(stdout);
  ck_assert_int_gt(counts->with_pieces, counts->jobs / 4);
  ck_assert_int_gt(counts->with_boxes, counts->jobs / 5);
  ck_assert_int_gt(counts->of_two_passes, counts->jobs / 400);
  ck_assert_int_gt(counts->of_scratch, 0);
  ck_assert_int_lt(counts->refused, counts->jobs / 3);
}
