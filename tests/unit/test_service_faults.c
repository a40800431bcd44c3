/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs that fail or are cancelled: they end, with their words, and others go
 * on. */
#include "service/service.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/transpose_job.h"

static rlo_service *service;

static void open_service(void) {
  service = transpose_service_open(3);
}

static void close_service(void) {
  transpose_service_close(service);
}

RLO_FIXTURE(open_service, close_service);

/* Lets call number `n` of one side fail; whether there was such a call. */
static bool fail_call(int n, bool is_read, bool is_silent) {
  transpose_job failing, other;
  transpose_job_init(&failing, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  transpose_job_init(&other, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  watched_storage *side = is_read ? &failing.src : &failing.dst;
  side->fails_at = n;
  side->failure = RLO_IO;
  side->fails_silently = is_silent;
  transpose_job_submit(&failing, service);
  transpose_job_submit(&other, service);
  expect_ok(rlo_job_wait(failing.job, -1, NULL));
  bool has_failed = rlo_job_result(failing.job) != RLO_OK;
  if (has_failed) {
    transpose_job_expect_failure(&failing, RLO_IO, "");
    const char *wanted = is_silent ? "of a storage failed with RLO_IO and no" : "fails";
    const char *message = rlo_error_last()->message;
    ck_assert_msg(strstr(message, wanted) != NULL &&
                      (strncmp(message, "piece ", 6) == 0 || strncmp(message, "box ", 4) == 0) &&
                      strstr(message, " of ") != NULL,
                  "%s", message);
    ck_assert_int_eq(atomic_load(&failing.dst.num_flushes), 0);
  } else {
    transpose_job_expect(&failing);
  }
  transpose_job_expect(&other);
  transpose_job_deinit(&failing);
  transpose_job_deinit(&other);
  return has_failed;
}

RLO_LOOP_TEST(test_service_faults__each_call_may_fail, 0, 2) {
  int n = 1;
  while (fail_call(n, _i == 0, n % 2 == 0)) {
    n += 1 + n / 4;
  }
  ck_assert_int_gt(n, 4);
}

RLO_TEST(test_service_faults__cancelled_while_it_runs) {
  transpose_job t;
  test_gate gate;
  test_gate_init(&gate);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.src.on_call = test_gate_pass;
  t.src.payload = &gate;
  transpose_job_submit(&t, service);
  test_gate_await(&gate, 1);
  rlo_job_cancel(t.job);
  bool has_ended = true;
  expect_ok(rlo_job_wait(t.job, 0, &has_ended));
  ck_assert(!has_ended);
  test_gate_open(&gate);
  transpose_job_expect_failure(&t, RLO_CANCELLED, "the job was cancelled");
  ck_assert_int_eq(atomic_load(&t.dst.num_calls), 0);
  /* Too late, and without effect. */
  rlo_job_cancel(t.job);
  transpose_job_deinit(&t);
  test_gate_deinit(&gate);
}

/** A gate that lets so many calls through before it closes. */
typedef struct closing_gate {
  test_gate gate;
  atomic_int num_free;
} closing_gate;

static void pass_if_free(void *payload) {
  closing_gate *closing = payload;
  if (atomic_fetch_sub(&closing->num_free, 1) <= 0) {
    test_gate_pass(&closing->gate);
  }
}

/* Each thread ends its piece, of which one read is behind it at least. */
RLO_TEST(test_service_faults__cancelled_soon) {
  enum { IO_THREADS = 3 };

  transpose_job whole, t;
  transpose_job_init(&whole, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  transpose_job_submit(&whole, service);
  transpose_job_expect(&whole);
  const int num_reads = atomic_load(&whole.src.num_calls);
  const int num_pieces = (int)transpose_job_info(&whole).num_pieces;
  transpose_job_deinit(&whole);

  closing_gate closing;
  test_gate_init(&closing.gate);
  atomic_init(&closing.num_free, 2 * num_reads / num_pieces * IO_THREADS);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.src.on_call = t.dst.on_call = pass_if_free;
  t.src.payload = t.dst.payload = &closing;
  transpose_job_submit(&t, service);
  test_gate_await(&closing.gate, IO_THREADS);
  const int reads_before = atomic_load(&t.src.num_calls);
  rlo_job_info before = transpose_job_info(&t);
  rlo_job_cancel(t.job);
  test_gate_open(&closing.gate);
  transpose_job_expect_failure(&t, RLO_CANCELLED, "the job was cancelled");
  rlo_job_info after = transpose_job_info(&t);
  ck_assert_int_lt(after.pieces_done, after.num_pieces);
  ck_assert_int_le(after.pieces_done - before.pieces_done, IO_THREADS);
  ck_assert_int_le(atomic_load(&t.src.num_calls) - reads_before,
                   (num_reads - 1) / num_pieces * IO_THREADS);
  transpose_job_deinit(&t);
  test_gate_deinit(&closing.gate);
}

/* -------------------------------------------- calls of the service in a call */

/** What calls of a storage do with the service, whose creator releases it. */
typedef struct inner_call {
  rlo_service *service;
  rlo_job *job;
  test_gate gate;
  /** The creator's is the last reference, else the call's. */
  bool is_first_retained;
  atomic_int num_calls;
} inner_call;

static void await_references(rlo_service *of, int64_t count) {
  bool is_reached = false;
  while (!is_reached) {
    rlo__mutex_lock(&of->mutex);
    is_reached = of->num_user_references == count;
    rlo__mutex_unlock(&of->mutex);
  }
}

static void retain_and_release(void *payload) {
  inner_call *call = payload;
  if (atomic_fetch_add(&call->num_calls, 1) > 0) {
    return;
  }
  if (call->is_first_retained) {
    rlo_service_retain(call->service);
    test_gate_pass(&call->gate);
    await_references(call->service, 1);
  } else {
    test_gate_pass(&call->gate);
    await_references(call->service, 0);
    rlo_service_retain(call->service);
  }
  rlo_service_release(call->service);
}

/* Whoever drops the last reference, nobody waits for himself. */
RLO_LOOP_TEST(test_service_faults__a_call_retains_and_releases_the_service, 0, 2) {
  const int64_t live = rlo__alloc_live_count();
  inner_call call = {.is_first_retained = _i == 1};
  expect_ok(rlo_service_create(NULL, 0, NULL, &call.service));
  test_gate_init(&call.gate);
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.dst.on_call = retain_and_release;
  t.dst.payload = &call;
  transpose_job_submit(&t, call.service);
  test_gate_await(&call.gate, 1);
  test_gate_open(&call.gate);
  rlo_service_release(call.service);
  transpose_job_expect_failure(&t, RLO_CANCELLED, "the job was cancelled");
  transpose_job_deinit(&t);
  test_gate_deinit(&call.gate);
  /* The thread of the call frees the service, at some time. */
  while (rlo__alloc_live_count() != live) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static void wait_for_itself(void *payload) {
  inner_call *call = payload;
  bool has_ended = true;
  test_gate_pass(&call->gate);
  expect_ok(rlo_job_wait(call->job, 1, &has_ended));
  ck_assert(!has_ended);
  expect_refusal_with(rlo_job_wait(call->job, -1, NULL), RLO_UNSUPPORTED,
                      "jobs of its own service");
  expect_refusal_with(rlo_service_drain(service, -1, NULL), RLO_UNSUPPORTED, "its own service");
}

RLO_TEST(test_service_faults__a_call_cannot_wait_for_its_job) {
  transpose_job t;
  inner_call call = {.service = service};
  test_gate_init(&call.gate);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS);
  t.dst.on_flush = wait_for_itself;
  t.dst.payload = &call;
  transpose_job_submit(&t, service);
  call.job = t.job;
  test_gate_open(&call.gate);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
  test_gate_deinit(&call.gate);
}

RLO_TEST(test_service_faults__cancelled_while_it_waits) {
  rlo_service *single = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.max_running_jobs = 1;
  expect_ok(rlo_service_create(NULL, 0, &options, &single));
  transpose_job running, waiting;
  test_gate gate;
  test_gate_init(&gate);
  transpose_job_init(&running, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  running.src.on_call = test_gate_pass;
  running.src.payload = &gate;
  transpose_job_init(&waiting, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  transpose_job_submit(&running, single);
  test_gate_await(&gate, 1);
  transpose_job_submit(&waiting, single);
  /* Nothing else happens in the service. */
  rlo_job_cancel(waiting.job);
  transpose_job_expect_failure(&waiting, RLO_CANCELLED, "the job was cancelled");
  ck_assert_int_eq(atomic_load(&waiting.src.num_calls), 0);
  test_gate_open(&gate);
  transpose_job_expect(&running);
  transpose_job_deinit(&running);
  transpose_job_deinit(&waiting);
  test_gate_deinit(&gate);
  rlo_service_release(single);
}

RLO_TEST(test_service_faults__cancelled_all_together) {
  enum { COUNT = 6 };

  transpose_job jobs[COUNT];
  test_gate gate;
  test_gate_init(&gate);
  for (int n = 0; n < COUNT; ++n) {
    transpose_job_init(&jobs[n], TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
    jobs[n].src.on_call = test_gate_pass;
    jobs[n].src.payload = &gate;
    transpose_job_submit(&jobs[n], service);
  }
  test_gate_await(&gate, 1);
  rlo_service_cancel_all(service);
  test_gate_open(&gate);
  bool is_idle = false;
  expect_ok(rlo_service_drain(service, -1, &is_idle));
  ck_assert(is_idle);
  for (int n = 0; n < COUNT; ++n) {
    transpose_job_expect_failure(&jobs[n], RLO_CANCELLED, "");
    transpose_job_deinit(&jobs[n]);
  }
  test_gate_deinit(&gate);
}

RLO_TEST(test_service_faults__a_release_cancels) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  rlo_service *own = NULL;
  expect_ok(rlo_service_create(NULL, 0, NULL, &own));
  transpose_job_submit(&t, own);
  rlo_service_release(own);
  rlo_job_info info = transpose_job_info(&t);
  ck_assert(info.state == RLO_JOB_CANCELLED || info.state == RLO_JOB_DONE);
  /* A job that nobody has leaves nothing. */
  expect_ok(rlo_service_create(NULL, 0, NULL, &own));
  rlo_job_release(t.job);
  transpose_job_submit(&t, own);
  rlo_job_release(t.job);
  rlo_service_release(own);
  t.job = NULL;
  transpose_job_deinit(&t);
}

/** A file that is written to while it is read. */
typedef struct changed_file {
  int fd;
  bool is_changed;
} changed_file;

static void change_file(void *payload) {
  changed_file *file = payload;
  if (!file->is_changed) {
    file->is_changed = true;
    /* File systems count time in steps of some milliseconds. */
    const struct timespec step = {.tv_nsec = 20000000};
    (void)nanosleep(&step, NULL);
    ck_assert_int_eq(pwrite(file->fd, "x", 1, 1000), 1);
  }
}

RLO_TEST(test_service_faults__a_source_that_changes) {
  transpose_job t;
  rlo_service *own = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.io_threads = 1;
  expect_ok(rlo_service_create(NULL, 0, &options, &own));
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
  changed_file file = {.fd = t.src.fd};
  t.dst.on_call = change_file;
  t.dst.payload = &file;
  transpose_job_submit(&t, own);
  transpose_job_expect_failure(&t, RLO_DATA_LOSS, "");
  ck_assert_int_eq(atomic_load(&t.dst.num_flushes), 0);
  transpose_job_deinit(&t);
  rlo_service_release(own);
}

RLO_TEST(test_service_faults__a_source_that_ends_early) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  ck_assert_int_eq(ftruncate(t.src.fd, t.src.file_offset + 100), 0);
  transpose_job_submit(&t, service);
  transpose_job_expect_failure(&t, RLO_DATA_LOSS, "");
  transpose_job_deinit(&t);
}

/* Each allocation of a job may fail: it is refused, or it ends. */
RLO_TEST(test_service_faults__without_memory) {
  int num_done = 0;
  for (int64_t nth = 1; num_done < 3 && nth < 1000; nth += 1 + nth / 16) {
    transpose_job t;
    transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
    rlo__alloc_set_fault(nth, false);
    rlo_status status =
        rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, &t.options, &t.job);
    if (status == RLO_OK) {
      expect_ok(rlo_job_wait(t.job, -1, NULL));
      status = rlo_job_result(t.job);
      num_done += status == RLO_OK;
    }
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "allocation %d: %s", (int)nth,
                  rlo_error_last()->message);
    transpose_job_deinit(&t);
  }
  ck_assert_int_eq(num_done, 3);
}
