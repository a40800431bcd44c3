/* SPDX-License-Identifier: Apache-2.0 */
#include "support/checked_job.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/shape_of.h"

static uint8_t *filled(int64_t bytes, uint64_t seed) {
  uint8_t *memory = malloc((size_t)bytes + 1);
  ck_assert_ptr_nonnull(memory);
  test_fill_unique(memory, bytes, 1, seed);
  return memory;
}

void checked_job_init(checked_job *job, const rlo_problem *problem, test_storage_kind src,
                      test_storage_kind dst) {
  memset(job, 0, sizeof *job);
  job->problem = *problem;
  job->options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  uint8_t *from = filled(problem->src_bytes, 1);
  job->wanted = filled(problem->dst_bytes, 2);
  watched_storage_init(&job->src, src, from, problem->src_bytes, NULL);
  watched_storage_init(&job->dst, dst, job->wanted, problem->dst_bytes, NULL);
  expect_ok(rlo_problem_run_host(problem, from, job->wanted));
  free(from);
}

void checked_job_submit(checked_job *job, rlo_service *service) {
  expect_ok(rlo_service_submit(service, &job->problem, job->src.storage, job->dst.storage,
                               &job->options, &job->job));
}

rlo_job_info checked_job_info(const checked_job *job) {
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job->job, &info));
  return info;
}

void checked_job_expect(checked_job *job, const char *name) {
  expect_ok(rlo_job_wait(job->job, -1, NULL));
  ck_assert_msg(rlo_job_result(job->job) == RLO_OK, "%s: %s", name, rlo_error_last()->message);
  rlo_job_info info = checked_job_info(job);
  ck_assert_int_eq(info.state, RLO_JOB_DONE);
  ck_assert_int_eq(info.pieces_done, info.num_pieces);
  ck_assert_int_eq(info.bytes_done, info.bytes_total);
  ck_assert_int_ge(info.bytes_read + info.bytes_written, info.bytes_total);
  if (job->options.host_memory_bytes > 0) {
    ck_assert_int_le(info.host_bytes_peak, job->options.host_memory_bytes);
  }
  const int64_t bytes = job->problem.dst_bytes;
  uint8_t *got = filled(bytes, 3);
  watched_storage_get(&job->dst, got);
  int64_t at = memcmp(got, job->wanted, (size_t)bytes) == 0 ? bytes : 0;
  while (at < bytes && got[at] == job->wanted[at]) {
    ++at;
  }
  free(got);
  ck_assert_msg(at == bytes,
                "%s: byte %" PRId64 " of %" PRId64 " is wrong, with %" PRId64 " pieces", name, at,
                bytes, info.num_pieces);
}

void checked_job_deinit(checked_job *job) {
  rlo_job_release(job->job);
  watched_storage_deinit(&job->src);
  watched_storage_deinit(&job->dst);
  free(job->wanted);
}

void checked_job_pad(const char *src, int64_t by, rlo_problem *out_problem) {
  rlo_shape shape = test_shape_of(src);
  rlo_problem_list *list = NULL;
  int64_t edge[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape.rank; ++k) {
    edge[k] = by;
  }
  rlo_chain *chain = test_chain_of(&shape);
  expect_ok(rlo_chain_pad(chain, edge, edge, NULL, NULL));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  ck_assert_int_eq(rlo_problem_list_count(list), 1);
  *out_problem = *rlo_problem_list_get(list, 0);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}
