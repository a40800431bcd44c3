/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs with a journal: what stops them, and how they go on. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "service/job.h"
#include "support/expect.h"
#include "support/journal_case.h"
#include "support/low_thresholds.h"
#include "support/random_job.h"
#include "support/suite.h"

enum { MAX_JOURNAL_BYTES = 1 << 20, MAX_DURABLE_BYTES = TEST_JOB_BYTES };

static test_journal journal_case;

static void set_up(void) {
  test_journal_init(&journal_case);
}

static void tear_down(void) {
  test_journal_deinit(&journal_case);
}

RLO_FIXTURE(set_up, tear_down);

/* ------------------------------------------------------ stopped and resumed */

RLO_TEST(test_service_resume__a_job_that_is_not_stopped) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  rlo_service *single = test_journal_service(RLO_SERVICE_MIN_HOST_BYTES, 1);
  transpose_job_submit(&t, single);
  transpose_job_expect(&t);
  const int64_t num_boxes = t.job->plan.passes[0].plan.num_boxes;
  ck_assert_int_gt(num_boxes, 3);
  /* After each box, and at the end. */
  ck_assert_int_eq(atomic_load(&t.dst.num_flushes), num_boxes);
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.bytes_resumed, 0);
  /* Nothing is left to do. */
  int num_reads = atomic_load(&t.src.num_calls);
  int num_writes = atomic_load(&t.dst.num_calls);
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  info = transpose_job_info(&t);
  ck_assert_int_eq(info.bytes_resumed, info.bytes_total);
  ck_assert_int_eq(info.bytes_done, info.bytes_total);
  ck_assert_int_eq(info.pieces_done, info.num_pieces);
  ck_assert_int_eq(info.bytes_read + info.bytes_written, 0);
  ck_assert_int_eq(atomic_load(&t.src.num_calls), num_reads);
  ck_assert_int_eq(atomic_load(&t.dst.num_calls), num_writes);
  transpose_job_deinit(&t);
  rlo_service_release(single);
}

/* Lets call number `n` of one side fail, and resumes the job; whether there was
 * such a call. Adds what was resumed to *bytes_resumed. */
static bool fail_and_resume(int n, bool is_read, int64_t *bytes_resumed) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  watched_storage *side = is_read ? &t.src : &t.dst;
  side->fails_at = n;
  side->failure = RLO_IO;
  transpose_job_submit(&t, journal_case.service);
  expect_ok(rlo_job_wait(t.job, -1, NULL));
  bool has_failed = rlo_job_result(t.job) != RLO_OK;
  rlo_job_info first = transpose_job_info(&t);
  side->fails_at = 0;
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  rlo_job_info second = transpose_job_info(&t);
  ck_assert_int_eq(second.bytes_resumed + second.bytes_read + second.bytes_written,
                   second.bytes_total);
  ck_assert_int_le(second.bytes_resumed, first.bytes_read + first.bytes_written);
  ck_assert_int_eq(second.pieces_done, second.num_pieces);
  *bytes_resumed += second.bytes_resumed;
  transpose_job_deinit(&t);
  (void)unlink(journal_case.path);
  return has_failed;
}

RLO_LOOP_TEST(test_service_resume__after_each_call, 0, 2) {
  int64_t bytes_resumed = 0;
  int n = 1;
  while (fail_and_resume(n, _i == 0, &bytes_resumed)) {
    n += 1 + n / 8;
  }
  ck_assert_int_gt(n, 4);
  ck_assert_int_gt(bytes_resumed, 0);
}

/* No checkpoint is due, so that the end makes the only one. */
RLO_TEST(test_service_resume__what_is_done_stays) {
  rlo__thresholds.service_checkpoint_seconds = 1000;
  rlo_service *single = test_journal_service(RLO_SERVICE_MIN_HOST_BYTES, 1);
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  transpose_job_submit(&t, single);
  transpose_job_expect(&t);
  rlo_job_release(t.job);
  ck_assert_int_eq(unlink(journal_case.path), 0);
  /* The last write of all. */
  t.dst.fails_at = 2 * atomic_load(&t.dst.num_calls);
  t.dst.failure = RLO_IO;
  transpose_job_submit(&t, single);
  transpose_job_expect_failure(&t, RLO_IO, "");
  t.dst.fails_at = 0;
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  const rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_gt(info.bytes_resumed, info.bytes_total / 2);
  transpose_job_deinit(&t);
  rlo_service_release(single);
}

typedef struct first_flush {
  test_gate gate;
  rlo_job *job;
  /** The pass after which the first flush came; 0: there was none. */
  atomic_int pass;
} first_flush;

static void note_flush(void *payload) {
  first_flush *first = payload;
  rlo_job_info info = RLO_JOB_INFO_INIT;
  int none = 0;
  expect_ok(rlo_job_get_info(first->job, &info));
  atomic_compare_exchange_strong(&first->pass, &none, info.pass);
}

/* The tiles are durable before the second pass begins to read them. */
RLO_TEST(test_service_resume__a_checkpoint_between_two_passes) {
  rlo__thresholds.service_checkpoint_seconds = 1000;
  transpose_job t;
  first_flush first = {.job = NULL};
  test_gate_init(&first.gate);
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  transpose_job_take_two_passes(&t, 1);
  t.src.on_call = test_gate_pass;
  t.src.payload = &first.gate;
  t.dst.on_flush = note_flush;
  t.dst.payload = &first;
  transpose_job_submit(&t, journal_case.service);
  first.job = t.job;
  test_gate_open(&first.gate);
  transpose_job_expect(&t);
  ck_assert_int_eq(transpose_job_info(&t).num_passes, 2);
  ck_assert_int_eq(atomic_load(&first.pass), 1);
  transpose_job_deinit(&t);
  test_gate_deinit(&first.gate);
}

/* One box of either kind fails after the other; only it is done again. */
RLO_LOOP_TEST(test_service_resume__only_what_is_missing, 0, 2) {
  rlo_service *single = test_journal_service(RLO_SERVICE_MIN_HOST_BYTES, 1);
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  if (_i == 1) {
    /* Long runs are dear on the other side. */
    rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
    traits.good_read_bytes = 1 << 20;
    traits.good_write_bytes = 1;
    uint8_t content[4 * TRANSPOSE_ROWS * TRANSPOSE_COLUMNS];
    watched_storage_get(&t.src, content);
    watched_storage_deinit(&t.src);
    watched_storage_init(&t.src, TEST_STORAGE_FUNCTIONS, content, sizeof content, &traits);
    watched_storage_get(&t.dst, content);
    watched_storage_deinit(&t.dst);
    watched_storage_init(&t.dst, TEST_STORAGE_FUNCTIONS, content, sizeof content, &traits);
  }
  transpose_job_submit(&t, single);
  const rlo__piece_plan *plan = &t.job->plan.passes[0].plan;
  ck_assert(test_thresholds_are_low() ||
            plan->gathered == (_i == 0 ? RLO__SIDE_DESTINATION : RLO__SIDE_SOURCE));
  ck_assert_int_gt(plan->num_boxes, 3);
  const int64_t num_boxes = plan->num_boxes;
  transpose_job_expect(&t);
  const int num_writes = atomic_load(&t.dst.num_calls);
  const int num_reads = atomic_load(&t.src.num_calls);
  rlo_job_release(t.job);
  ck_assert_int_eq(unlink(journal_case.path), 0);
  /* The last write of all. */
  t.dst.fails_at = 2 * num_writes;
  t.dst.failure = RLO_IO;
  transpose_job_submit(&t, single);
  transpose_job_expect_failure(&t, RLO_IO, "");
  rlo_job_release(t.job);
  atomic_store(&t.dst.num_calls, 0);
  atomic_store(&t.src.num_calls, 0);
  t.dst.fails_at = 0;
  transpose_job_submit(&t, single);
  transpose_job_expect(&t);
  /* Two of all boxes were in work. */
  ck_assert_int_le(atomic_load(&t.dst.num_calls) * num_boxes, 2 * num_writes + num_boxes);
  ck_assert_int_le(atomic_load(&t.src.num_calls) * num_boxes, 2 * num_reads + num_boxes);
  ck_assert_int_gt(atomic_load(&t.dst.num_calls), 0);
  transpose_job_deinit(&t);
  rlo_service_release(single);
}

static atomic_int calls_left;

static void cancel_soon(void *payload) {
  (void)payload;
  if (atomic_fetch_sub(&calls_left, 1) == 1) {
    rlo_service_cancel_all(journal_case.service);
  }
}

RLO_TEST(test_service_resume__a_job_that_is_cancelled_again_and_again) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
  t.src.on_call = cancel_soon;
  int64_t bytes_resumed = 0;
  int num_cancelled = 0;
  for (bool is_done = false; !is_done; num_cancelled += !is_done) {
    ck_assert_int_lt(num_cancelled, 1000);
    atomic_store(&calls_left, 200);
    test_journal_submit_again(&journal_case, &t);
    expect_ok(rlo_job_wait(t.job, -1, NULL));
    is_done = rlo_job_result(t.job) == RLO_OK;
    rlo_job_info info = transpose_job_info(&t);
    ck_assert_int_ge(info.bytes_resumed, bytes_resumed);
    bytes_resumed = info.bytes_resumed;
  }
  ck_assert_int_gt(num_cancelled, 0);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
}

/* ---------------------------------------------------------- a loss of power */

/** The state that a loss of power leaves: the flushed bytes of the destination,
 *  and the whole journal. */
typedef struct power_loss {
  watched_storage *dst, *scratch;
  /** Calls until then. */
  atomic_int calls_left;
  uint8_t durable[MAX_DURABLE_BYTES], of_scratch[TEST_JOB_BYTES];
  char journal[MAX_JOURNAL_BYTES];
  size_t journal_bytes;
  bool has_journal, has_happened;
  /** The process is killed: all written bytes are left. */
  bool is_kill;
} power_loss;

/** Returns the bytes of the journal; -1 if there is none. */
static ssize_t read_journal(char out[MAX_JOURNAL_BYTES]) {
  const int fd = open(journal_case.path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  const ssize_t count = read(fd, out, MAX_JOURNAL_BYTES);
  ck_assert_int_ge(count, 0);
  ck_assert_int_eq(close(fd), 0);
  return count;
}

static void count_call(void *payload) {
  power_loss *loss = payload;
  static char after[MAX_JOURNAL_BYTES];
  if (atomic_fetch_sub(&loss->calls_left, 1) != 1) {
    return;
  }
  ck_assert_int_le(loss->dst->bytes, MAX_DURABLE_BYTES);
  /* Other threads go on. As long as the journal says the same, whatever they
   * write may be there or not; when it says more, they may write over tiles
   * that it said before are needed. */
  for (bool is_one_moment = false; !is_one_moment;) {
    const ssize_t count = read_journal(loss->journal);
    loss->has_journal = count >= 0;
    loss->journal_bytes = count < 0 ? 0 : (size_t)count;
    if (loss->is_kill) {
      memcpy(loss->durable, loss->dst->memory, (size_t)loss->dst->bytes);
    } else {
      watched_storage_get_durable(loss->dst, loss->durable);
    }
    if (loss->scratch != NULL) {
      watched_storage_get_durable(loss->scratch, loss->of_scratch);
    }
    is_one_moment =
        read_journal(after) == count && memcmp(after, loss->journal, loss->journal_bytes) == 0;
  }
  loss->has_happened = true;
}

/* A flush takes its time, in which others write. */
static void count_flush(void *payload) {
  const struct timespec pause = {.tv_nsec = 300000};
  (void)nanosleep(&pause, NULL);
  count_call(payload);
}

static void restore_journal(const power_loss *loss) {
  (void)unlink(journal_case.path);
  if (!loss->has_journal) {
    return;
  }
  int fd = open(journal_case.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, loss->journal, loss->journal_bytes), (ssize_t)loss->journal_bytes);
  ck_assert_int_eq(close(fd), 0);
}

static void begin_loss(power_loss *loss, int nth, watched_storage *src, watched_storage *dst) {
  loss->dst = dst;
  loss->has_happened = false;
  atomic_store(&loss->calls_left, nth);
  src->on_call = dst->on_call = count_call;
  dst->on_flush = count_flush;
  src->payload = dst->payload = loss;
}

/* Draws a job to functions; without files to read, which would be others for
 * each of two equal jobs. */
static bool draw_job(test_job *job, uint64_t seed, int number) {
  if (!test_job_init(job, seed, number, number % 4)) {
    return false;
  }
  job->options.journal_path = journal_case.path;
  int64_t points = 1;
  for (int32_t a = 0; a < job->problem.problem.num_axes; ++a) {
    points *= job->problem.problem.extents[a];
  }
  /* The job is a small one: each flush takes its time. */
  if (job->dst.kind == TEST_STORAGE_FUNCTIONS && job->src.kind != TEST_STORAGE_FILE &&
      (job->options.scratch == NULL || job->scratch.kind == TEST_STORAGE_FUNCTIONS) &&
      points <= 1500 && job->indices.kind != TEST_STORAGE_FILE &&
      !test_job_reads_destination(job)) {
    return true;
  }
  test_job_deinit(job);
  return false;
}

/* Runs a job on `own` to its end, of which nothing counts after its nth call,
 * and resumes what was left then. Returns how many bytes were not moved again;
 * -1 if there was no such call. */
static int64_t lose_power(rlo_service *own, uint64_t seed, int number, int nth) {
  static test_job first, second;
  static power_loss loss;
  ck_assert(draw_job(&first, seed, number));
  begin_loss(&loss, nth, &first.src, &first.dst);
  loss.scratch = first.options.scratch == NULL ? NULL : &first.scratch;
  first.scratch.on_call = count_call;
  first.scratch.payload = &loss;
  if (!test_job_submit(&first, own)) {
    test_job_deinit(&first);
    return -1;
  }
  const rlo_job_options options = first.options;
  test_job_expect(&first);
  test_job_deinit(&first);
  int64_t bytes_resumed = -1;
  if (loss.has_happened) {
    restore_journal(&loss);
    ck_assert(draw_job(&second, seed, number));
    memcpy(second.dst.memory, loss.durable, (size_t)second.dst.bytes);
    if (loss.scratch != NULL) {
      memcpy(second.scratch.memory, loss.of_scratch, sizeof loss.of_scratch);
    }
    /* The options were found to be enough. */
    second.options = options;
    second.options.scratch = loss.scratch == NULL ? NULL : second.scratch.storage;
    second.options.indices = second.indices.storage;
    second.src.on_call = NULL;
    ck_assert(test_job_submit(&second, journal_case.service));
    rlo_job_info info = RLO_JOB_INFO_INIT;
    expect_ok(rlo_job_get_info(second.job, &info));
    bytes_resumed = info.bytes_resumed;
    test_job_expect(&second);
    test_job_deinit(&second);
  }
  (void)unlink(journal_case.path);
  return bytes_resumed;
}

RLO_TEST(test_service_resume__after_a_loss_of_power) {
  uint64_t seed = test_random_begin("test_service_resume").state;
  static test_job job;
  int num_losses = 0, num_resumed = 0;
  /* With one thread there is a checkpoint after each box; with several, boxes
   * are stored while one is made. */
  rlo_service *single = test_journal_service(RLO_SERVICE_MIN_HOST_BYTES, 1);
  for (int number = 0; number < 1000 && num_losses < 90; ++number) {
    if (!draw_job(&job, seed, number)) {
      continue;
    }
    test_job_deinit(&job);
    int64_t bytes_resumed = 0;
    for (int nth = 1; bytes_resumed >= 0; nth += 1 + nth / 3) {
      bytes_resumed = lose_power(nth % 2 == 0 ? journal_case.service : single, seed, number, nth);
      num_losses += bytes_resumed >= 0;
      num_resumed += bytes_resumed > 0;
    }
  }
  printf("%d losses, %d jobs resumed\n", num_losses, num_resumed);
  rlo_service_release(single);
  ck_assert_int_gt(num_losses, 60);
  ck_assert_int_gt(num_resumed, 10);
}

/* The same for a job of two passes, whose bands lie on tiles that may be needed
 * again. */
static int64_t lose_power_in_two_passes(rlo_service *own, int32_t io_threads, int nth) {
  static power_loss loss;
  loss.is_kill = nth % 4 != 0;
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  (void)transpose_job_take_two_passes(&t, io_threads);
  begin_loss(&loss, nth, &t.src, &t.dst);
  transpose_job_submit(&t, own);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
  int64_t bytes_resumed = -1;
  if (loss.has_happened) {
    restore_journal(&loss);
    test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
    (void)transpose_job_take_two_passes(&t, io_threads);
    memcpy(t.dst.memory, loss.durable, (size_t)t.dst.bytes);
    transpose_job_submit(&t, journal_case.service);
    bytes_resumed = transpose_job_info(&t).bytes_resumed;
    transpose_job_expect(&t);
    transpose_job_deinit(&t);
  }
  (void)unlink(journal_case.path);
  return bytes_resumed;
}

/* At moments of the second pass, in which checkpoints are made only because
 * bands wait for them. */
RLO_TEST(test_service_resume__after_a_loss_of_power_in_two_passes) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  (void)transpose_job_take_two_passes(&t, 3);
  transpose_job_submit(&t, journal_case.service);
  transpose_job_expect(&t);
  const int num_calls = atomic_load(&t.src.num_calls) + atomic_load(&t.dst.num_calls);
  transpose_job_deinit(&t);
  ck_assert_int_eq(unlink(journal_case.path), 0);
  rlo__thresholds.service_checkpoint_seconds = 5;
  int num_second = 0;
  for (int n = 0; n < 100; ++n) {
    int64_t bytes_resumed =
        lose_power_in_two_passes(journal_case.service, 3, num_calls / 2 + num_calls * n / 200);
    num_second += bytes_resumed > INT64_C(2) * 4 * TRANSPOSE_ROWS * TRANSPOSE_COLUMNS;
  }
  printf("%d calls, %d losses in the second pass\n", num_calls, num_second);
  ck_assert_int_gt(num_second, 25);
}

RLO_TEST(test_service_resume__a_flush_that_fails) {
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.dst.flush_failure = RLO_IO;
  transpose_job_submit(&t, journal_case.service);
  transpose_job_expect_failure(&t, RLO_IO, "a flush fails");
  t.dst.flush_failure = RLO_OK;
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  ck_assert_int_eq(transpose_job_info(&t).bytes_resumed, 0);
  transpose_job_deinit(&t);
}

/* The disk of the journal is full. */
RLO_TEST(test_service_resume__a_journal_that_cannot_grow) {
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, SIG_IGN);
  transpose_job t;
  test_journal_init_job(&journal_case, &t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  const struct rlimit small = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  transpose_job_submit(&t, journal_case.service);
  expect_ok(rlo_job_wait(t.job, -1, NULL));
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  transpose_job_expect_failure(&t, RLO_IO, "cannot write the journal");
  test_journal_submit_again(&journal_case, &t);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
}

/* Each allocation may fail; the job is resumed. */
RLO_TEST(test_service_resume__without_memory) {
  int num_done = 0;
  transpose_job t;
  for (int64_t nth = 1; num_done < 3 && nth < 1000; nth += 1 + nth / 16) {
    test_journal_init_job(&journal_case, &t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_service_submit(journal_case.service, &t.problem, t.src.storage,
                                           t.dst.storage, &t.options, &t.job);
    if (status == RLO_OK) {
      expect_ok(rlo_job_wait(t.job, -1, NULL));
      status = rlo_job_result(t.job);
      num_done += status == RLO_OK;
    }
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "allocation %d: %s", (int)nth,
                  rlo_error_last()->message);
    test_journal_submit_again(&journal_case, &t);
    transpose_job_expect(&t);
    transpose_job_deinit(&t);
    (void)unlink(journal_case.path);
  }
  ck_assert_int_eq(num_done, 3);
}
