/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs with a journal: when they note what is done, what they are planned with,
 * and which are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "relayout/ops.h"
#include "service/job_plan.h"
#include "service/journal.h"
#include "support/expect.h"
#include "support/journal_case.h"
#include "support/low_thresholds.h"
#include "support/shape_of.h"
#include "support/suite.h"

static test_journal journal_case;

static void set_up(void) {
  test_journal_init(&journal_case);
}

static void tear_down(void) {
  test_journal_deinit(&journal_case);
}

RLO_FIXTURE(set_up, tear_down);

static void expect_no_job(transpose_job *t, rlo_status status, const char *words) {
  rlo_job *job = NULL;
  rlo_status got = rlo_service_submit(journal_case.service, &t->problem, t->src.storage,
                                      t->dst.storage, &t->options, &job);
  ck_assert_msg(got == status && strstr(rlo_error_last()->message, words) != NULL, "%s: %s",
                rlo_status_name(got), rlo_error_last()->message);
  ck_assert_ptr_null(job);
}

/* A checkpoint waits for the disk, while the pass goes on. */
RLO_TEST(test_service_journal__a_checkpoint_is_beside_the_pass) {
  transpose_job t;
  test_gate gate;
  test_gate_init(&gate);
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.dst.on_flush = test_gate_pass;
  t.dst.payload = &gate;
  transpose_job_submit(&t, journal_case.service);
  test_gate_await(&gate, 1);
  rlo_job_info info;
  do {
    info = transpose_job_info(&t);
    ck_assert_int_eq(atomic_load(&t.dst.num_flushes), 0);
    ck_assert_int_eq(info.state, RLO_JOB_RUNNING);
  } while (info.pieces_done < info.num_pieces);
  test_gate_open(&gate);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
  test_gate_deinit(&gate);
}

/* However soon. */
RLO_TEST(test_service_journal__a_checkpoint_after_so_many_bytes) {
  const rlo__threshold_values usual = rlo__thresholds;
  rlo__thresholds.service_checkpoint_seconds = 1000000000;
  for (int n = 0; n < 2; ++n) {
    transpose_job t;
    test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
    rlo__thresholds.service_checkpoint_bytes = n == 0 ? t.dst.bytes + 1 : t.dst.bytes / 4;
    transpose_job_submit(&t, journal_case.service);
    transpose_job_expect(&t);
    const int64_t num_flushes = atomic_load(&t.dst.num_flushes);
    ck_assert_msg((num_flushes > 1) == (n == 1), "%" PRId64, num_flushes);
    transpose_job_deinit(&t);
    (void)unlink(journal_case.path);
  }
  rlo__thresholds = usual;
}

/* ------------------------------------------------------------ other budgets */

RLO_TEST(test_service_journal__with_the_budget_that_it_began_with) {
  rlo_service *large = test_journal_service(INT64_C(1) << 24, 5);
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.options.host_memory_bytes = 0;
  transpose_job_submit(&t, large);
  transpose_job_expect(&t);
  const rlo_job_info first = transpose_job_info(&t);
  rlo_job_estimate wanted = RLO_JOB_ESTIMATE_INIT;
  rlo_job_estimate got = RLO_JOB_ESTIMATE_INIT;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = t.src.bytes;
  options.host_memory_bytes = INT64_C(1) << 24;
  options.io_threads = 5;
  expect_ok(rlo_job_estimate_make(&t.problem, &traits, &traits, &options, &t.options, &wanted));
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.io_threads = 1;
  expect_ok(rlo_job_estimate_make(&t.problem, &traits, &traits, &options, &t.options, &got));
  ck_assert_int_eq(got.num_pieces, wanted.num_pieces);
  ck_assert_int_eq(got.num_pieces, first.num_pieces);
  ck_assert_int_eq(got.host_bytes, wanted.host_bytes);
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  ck_assert_int_eq(transpose_job_info(&t).bytes_resumed, first.bytes_total);
  t.options.host_memory_bytes = 12;
  expect_no_job(&t, RLO_OUT_OF_RANGE, "the budget is 12 bytes of staging memory; the least");
  transpose_job_deinit(&t);
  rlo_service_release(large);
}

/* A job that began in more memory than this service has runs nevertheless. */
RLO_TEST(test_service_journal__alone_in_a_smaller_service) {
  static char content[3 << 20];
  memset(content, 5, sizeof content);
  const rlo_problem problem = {.unit_bits = 8,
                               .num_axes = 1,
                               .extents = {sizeof content},
                               .src = {.axis = {1}},
                               .dst = {.axis = {1}},
                               .src_bytes = sizeof content,
                               .dst_bytes = sizeof content};
  rlo_service *large = test_journal_service(INT64_C(4) << 20, 2);
  watched_storage src, dst;
  watched_storage_init(&src, TEST_STORAGE_FUNCTIONS, content, sizeof content, NULL);
  memset(content, 0, sizeof content);
  watched_storage_init(&dst, TEST_STORAGE_FILE, content, sizeof content, NULL);
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.journal_path = journal_case.path;
  options.host_memory_bytes = INT64_C(4) << 20;
  src.fails_at = 2;
  src.failure = RLO_IO;
  rlo_job *job = NULL;
  expect_ok(rlo_service_submit(large, &problem, src.storage, dst.storage, &options, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  ck_assert_int_eq(rlo_job_result(job), RLO_IO);
  rlo_job_release(job);
  src.fails_at = 0;
  options.host_memory_bytes = 0;
  expect_ok(
      rlo_service_submit(journal_case.service, &problem, src.storage, dst.storage, &options, &job));
  transpose_job other;
  transpose_job_init(&other, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  transpose_job_submit(&other, journal_case.service);
  transpose_job_expect(&other);
  transpose_job_deinit(&other);
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job, &info));
  ck_assert(test_thresholds_are_low() || info.host_bytes_peak > RLO_SERVICE_MIN_HOST_BYTES);
  rlo_job_release(job);
  watched_storage_get(&dst, content);
  ck_assert(content[0] == 5 && content[sizeof content - 1] == 5);
  watched_storage_deinit(&src);
  watched_storage_deinit(&dst);
  rlo_service_release(large);
}

/* A matrix of 16 GiB, transposed. */
static void make_large(rlo_problem *problem, rlo__job_setting *setting) {
  const rlo_shape from = test_shape_of("f32[65536,65536]");
  static const int32_t permutation[] = {1, 0};
  expect_ok(rlo_relayout_lower(&from, &from, permutation, problem));
  *setting = (rlo__job_setting){.limits = {.options = {.host_memory_bytes = INT64_C(14) << 30,
                                                       .device_memory_bytes = INT64_C(64) << 20,
                                                       .io_threads = 2,
                                                       .max_running_jobs = 1},
                                           .max_buffer_bytes = INT64_MAX},
                                .options = RLO_JOB_OPTIONS_INIT};
  setting->options.journal_path = "journal";
  for (int side = 0; side < 2; ++side) {
    rlo_storage_traits *traits = &setting->traits[side];
    *traits = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
    traits->bytes = problem->src_bytes;
    traits->granule_bytes = 1;
    traits->good_read_bytes = traits->good_write_bytes = 1 << 20;
  }
}

/* With a journal boxes are smaller, unless granules forbid it. */
RLO_TEST(test_service_journal__boxes_of_at_most_a_gibibyte) {
  if (test_thresholds_are_low()) {
    return;
  }
  const int64_t gib = INT64_C(1) << 30;
  static rlo_problem problem;
  static rlo__job_plan plan;
  rlo__job_setting setting;
  for (int n = 0; n < 3; ++n) {
    make_large(&problem, &setting);
    if (n == 0) {
      setting.options.journal_path = NULL;
    }
    if (n == 2) {
      setting.traits[RLO__SIDE_DESTINATION].granule_bytes = 2 * gib;
    }
    expect_ok(rlo__job_plan_make(&problem, &setting, &plan));
    const rlo__piece_plan *pieces = &plan.passes[0].plan;
    int64_t box_bytes = pieces->box_bytes[pieces->gathered];
    ck_assert_msg((box_bytes > gib) == (n != 1), "%" PRId64, box_bytes);
  }
}

/* A job that began on the host, in pieces that are too large for a device. */
RLO_TEST(test_service_journal__devices_with_less_memory) {
  if (test_thresholds_are_low()) {
    return;
  }
  static rlo_problem problem;
  static rlo__job_plan plan;
  rlo__job_setting setting;
  make_large(&problem, &setting);
  expect_ok(rlo__job_plan_make(&problem, &setting, &plan));
  const rlo__journal_settings began = plan.settings;
  ck_assert_int_eq(began.host_bytes, setting.limits.options.host_memory_bytes);
  setting.resumed = &began;
  setting.limits.copies = true;
  setting.limits.num_lanes = 1;
  setting.limits.options.device_memory_bytes = 1 << 20;
  expect_refusal_with(rlo__job_plan_make(&problem, &setting, &plan), RLO_INVALID_ARGUMENT,
                      "bytes on a device; the budget is 1048576");
}

/* ----------------------------------------------------------------- refusals */

static rlo_status identify(void *payload, uint64_t *out_number) {
  *out_number = *(const uint64_t *)payload;
  return RLO_OK;
}

static rlo_status read_zeros(void *payload, int64_t offset, int64_t bytes, void *into) {
  (void)payload;
  (void)offset;
  memset(into, 0, (size_t)bytes);
  return RLO_OK;
}

RLO_TEST(test_service_journal__functions_that_identify_the_source) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_MEMORY, TEST_STORAGE_FILE);
  rlo_storage_release(t.src.storage);
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  uint64_t number = 17;
  ops.read = read_zeros;
  ops.identify = identify;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = t.src.bytes;
  expect_ok(rlo_storage_create(&ops, &number, &traits, &t.src.storage));
  transpose_job_submit(&t, journal_case.service);
  expect_ok(rlo_job_wait(t.job, -1, NULL));
  expect_ok(rlo_job_result(t.job));
  number = 18;
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  transpose_job_deinit(&t);
}

RLO_TEST(test_service_journal__other_jobs) {
  transpose_job t, other;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  test_journal_init_job(&journal_case, &other, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  transpose_job_submit(&t, journal_case.service);
  transpose_job_expect(&t);
  rlo_storage *src = t.src.storage;
  rlo_storage *dst = t.dst.storage;
  t.src.storage = other.src.storage;
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  t.src.storage = src;
  t.dst.storage = other.dst.storage;
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  t.dst.storage = dst;
  const rlo_problem problem = t.problem;
  t.problem.src.axis[0] = problem.src.axis[1];
  t.problem.src.axis[1] = problem.src.axis[0];
  t.problem.extents[0] = problem.extents[1];
  t.problem.extents[1] = problem.extents[0];
  t.problem.dst.axis[0] = problem.dst.axis[1];
  t.problem.dst.axis[1] = problem.dst.axis[0];
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  t.problem.src.base = 1;
  --t.problem.extents[0];
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  t.problem = problem;
  const struct timespec step = {.tv_nsec = 20000000};
  (void)nanosleep(&step, NULL);
  ck_assert_int_eq(pwrite(t.src.fd, "x", 1, 0), 1);
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  rlo_storage_release(t.dst.storage);
  t.dst.storage = rlo_storage_retain(other.src.storage);
  t.src.storage = other.src.storage;
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "are one storage");
  t.src.storage = src;
  transpose_job_deinit(&t);
  transpose_job_deinit(&other);
}

RLO_TEST(test_service_journal__where_a_journal_is_of_no_use) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FILE, TEST_STORAGE_MEMORY);
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "the destination of a job with a journal is memory");
  rlo_storage *memory = t.dst.storage;
  expect_ok(rlo_storage_from_fd(t.src.fd, t.src.bytes, t.src.bytes, NULL, &t.dst.storage));
  expect_no_job(&t, RLO_UNSUPPORTED, "are parts of one file");
  rlo_storage_release(t.dst.storage);
  t.dst.storage = memory;
  transpose_job_deinit(&t);
  ck_assert_int_ne(access(journal_case.path, F_OK), 0);
}

/* A source that is written to while the job runs: the next checkpoint says so,
 * and records nothing more. */
static void change_file(void *payload) {
  const watched_storage *file = payload;
  const struct timespec step = {.tv_nsec = 20000000};
  (void)nanosleep(&step, NULL);
  ck_assert_int_eq(pwrite(file->fd, "x", 1, 0), 1);
}

RLO_TEST(test_service_journal__a_source_that_changes) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
  t.dst.on_call = change_file;
  t.dst.payload = &t.src;
  transpose_job_submit(&t, journal_case.service);
  transpose_job_expect_failure(&t, RLO_DATA_LOSS, "the source has changed");
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_lt(info.pieces_done, info.num_pieces);
  ck_assert_int_eq(atomic_load(&t.dst.num_flushes), 0);
  expect_no_job(&t, RLO_INVALID_ARGUMENT, "is of another job");
  transpose_job_deinit(&t);
}
