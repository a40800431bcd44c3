/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_job.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "service/storage.h"
#include "support/expect.h"

#define AGAIN "; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", case %d"
#define EXPECT(job, condition, ...) \
  ck_assert_msg(condition, __VA_ARGS__, (job)->seed, (job)->number)

static bool is_job(const rlo_problem *problem) {
  return !rlo_problem_loads(problem) && !rlo_problem_is_sum(problem) &&
         (problem->update != RLO_UPDATE_COMBINE ||
          (!problem->arithmetic.is_sequential &&
           !(problem->arithmetic.beta > 0) && !(problem->arithmetic.beta < 0)));
}

static void fill(test_random *random, uint8_t *memory) {
  for (int64_t k = 0; k < TEST_JOB_BYTES; k += 8) {
    uint64_t bits = test_random_bits(random);
    memcpy(memory + k, &bits, sizeof bits);
  }
}

bool test_job_init(test_job *job, uint64_t seed, int number) {
  static const test_problem_kind kinds[] = {TEST_PROBLEM_RELAYOUT,
                                            TEST_PROBLEM_CONVERSION,
                                            TEST_PROBLEM_CHAIN,
                                            TEST_PROBLEM_FORMS};
  memset(job, 0, sizeof *job);
  job->seed = seed;
  job->number = number;
  test_random random = {seed + (uint64_t)number * 7919};
  if (!test_random_problem(&random, kinds[number % 4], &job->problem) ||
      !is_job(&job->problem.problem)) {
    return false;
  }
  const rlo_problem *problem = &job->problem.problem;
  job->options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  job->options.priority = (int32_t)test_random_in(&random, -1, 1);
  job->options.is_new_destination = test_random_once_in(&random, 2);
  job->options.host_memory_bytes = INT64_C(1) << test_random_in(&random, 5, 12);
  uint8_t src[TEST_JOB_BYTES], dst[TEST_JOB_BYTES] = {0};
  fill(&random, src);
  if (!job->options.is_new_destination) {
    fill(&random, dst);
  }
  memcpy(job->wanted, dst, sizeof dst);
  if (rlo_problem_run_host(problem, src, job->wanted) != RLO_OK) {
    return false;
  }
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.good_read_bytes = INT64_C(1) << test_random_in(&random, 0, 10);
  traits.good_write_bytes = INT64_C(1) << test_random_in(&random, 0, 10);
  int64_t tail = test_random_in(&random, 0, 3);
  watched_storage_init(
      &job->src,
      (test_storage_kind)test_random_in(&random, 0, TEST_STORAGE_NUM_KINDS - 1),
      src,
      problem->src_bytes,
      &traits);
  watched_storage_init(
      &job->dst,
      (test_storage_kind)test_random_in(&random, 0, TEST_STORAGE_NUM_KINDS - 1),
      dst,
      problem->dst_bytes +
          (problem->dst_bytes + tail <= TEST_JOB_BYTES ? tail : 0),
      &traits);
  return true;
}

void test_job_submit(test_job *job, rlo_service *service) {
  rlo_status status;
  do {
    status = rlo_service_submit(service,
                                &job->problem.problem,
                                job->src.storage,
                                job->dst.storage,
                                &job->options,
                                &job->job);
    job->options.host_memory_bytes *= 2;
  } while ((status == RLO_OUT_OF_RANGE || status == RLO_UNSUPPORTED) &&
           job->options.host_memory_bytes <= RLO_SERVICE_MIN_HOST_BYTES);
  job->options.host_memory_bytes /= 2;
  EXPECT(job, status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
}

static void expect_bytes(const test_job *job, const rlo_job_info *info) {
  rlo__storage_stats src, dst;
  rlo__storage_get_stats(job->src.storage, &src);
  rlo__storage_get_stats(job->dst.storage, &dst);
  if (!watched_storage_is_memory(&job->src)) {
    EXPECT(job,
           info->bytes_read == src.bytes_read + dst.bytes_read,
           "%" PRId64 " bytes are counted as read, %" PRId64 " were" AGAIN,
           info->bytes_read,
           src.bytes_read + dst.bytes_read);
    /* What lies between written bytes is read too, and not planned. */
    bool reads_more = dst.bytes_read > 0 || (info->bytes_resumed > 0 &&
                                             !job->options.is_new_destination);
    EXPECT(job,
           reads_more ||
               info->bytes_resumed + info->bytes_read + info->bytes_written ==
                   info->bytes_total,
           "%" PRId64 " bytes were planned" AGAIN,
           info->bytes_total);
  }
  if (!watched_storage_is_memory(&job->dst)) {
    EXPECT(job,
           info->bytes_written == dst.bytes_written,
           "%" PRId64 " bytes are counted as written, %" PRId64 " were" AGAIN,
           info->bytes_written,
           dst.bytes_written);
  }
  ck_assert_int_eq(info->bytes_done, info->bytes_total);
}

/* The memory that a storage was given lies within so many bytes. */
static void expect_range(const test_job *job,
                         const watched_storage *storage,
                         const rlo_job_info *info) {
  uintptr_t low = atomic_load(&storage->low);
  uintptr_t high = atomic_load(&storage->high);
  bool is_in_place = watched_storage_is_memory(&job->src) ||
                     watched_storage_is_memory(&job->dst);
  if (high > 0 && !is_in_place) {
    EXPECT(job,
           (int64_t)(high - low) <= info->host_bytes_peak,
           "memory of %" PRId64 " bytes is used, %" PRId64 " are counted" AGAIN,
           (int64_t)(high - low),
           info->host_bytes_peak);
  }
}

int64_t test_job_expect(test_job *job) {
  expect_ok(rlo_job_wait(job->job, -1, NULL));
  rlo_status status = rlo_job_result(job->job);
  EXPECT(job, status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  uint8_t got[TEST_JOB_BYTES];
  watched_storage_get(&job->dst, got);
  int64_t at = 0;
  while (at < job->dst.bytes && got[at] == job->wanted[at]) {
    ++at;
  }
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job->job, &info));
  EXPECT(job,
         at == job->dst.bytes,
         "byte %" PRId64 " of %" PRId64 " is wrong, with %" PRId64
         " pieces" AGAIN,
         at,
         job->dst.bytes,
         info.num_pieces);
  ck_assert_int_eq(info.state, RLO_JOB_DONE);
  ck_assert_int_eq(info.pieces_done, info.num_pieces);
  EXPECT(job,
         info.host_bytes_peak <= job->options.host_memory_bytes,
         "%" PRId64 " bytes of %" PRId64 " were used" AGAIN,
         info.host_bytes_peak,
         job->options.host_memory_bytes);
  expect_bytes(job, &info);
  expect_range(job, &job->src, &info);
  expect_range(job, &job->dst, &info);
  return info.num_pieces;
}

void test_job_deinit(test_job *job) {
  rlo_job_release(job->job);
  watched_storage_deinit(&job->src);
  watched_storage_deinit(&job->dst);
}
