/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs on the host: their states, counters, waiting, and the end of a service.
 */
#include "service/service.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/plan_case.h"
#include "support/shape_of.h"
#include "support/suite.h"
#include "support/transpose_job.h"

static rlo_service *service;

static void open_service(void) {
  service = transpose_service_open(2);
}

static void close_service(void) {
  transpose_service_close(service);
}

RLO_FIXTURE(open_service, close_service);

static const struct {
  test_storage_kind src, dst;
} pairs[] = {{TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY},
             {TEST_STORAGE_FILE, TEST_STORAGE_FILE},
             {TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FUNCTIONS},
             {TEST_STORAGE_MEMORY, TEST_STORAGE_FUNCTIONS},
             {TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY}};

RLO_TABLE_TEST(test_service__a_job_is_done, pairs) {
  transpose_job t;
  transpose_job_init(&t, pairs[_i].src, pairs[_i].dst);
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  const int64_t bytes = t.src.bytes;
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.bytes_total, 2 * bytes);
  ck_assert_int_eq(info.bytes_done, 2 * bytes);
  ck_assert_int_eq(info.bytes_read, bytes);
  ck_assert_int_eq(info.bytes_written, bytes);
  ck_assert_int_eq(info.pass, 1);
  ck_assert_int_eq(info.num_passes, 1);
  ck_assert_int_eq(info.pieces_done, info.num_pieces);
  ck_assert_int_le(info.host_bytes_peak, t.options.host_memory_bytes);
  ck_assert_int_eq(info.device_bytes_peak, 0);
  ck_assert(info.seconds > 0 && !(info.seconds_left > 0));
  bool is_staged = pairs[_i].src != TEST_STORAGE_MEMORY || pairs[_i].dst != TEST_STORAGE_MEMORY;
  ck_assert((info.host_bytes_peak > 0) == is_staged);
  if (pairs[_i].dst == TEST_STORAGE_FUNCTIONS) {
    ck_assert_int_gt(info.num_pieces, 1);
    ck_assert_int_eq(atomic_load(&t.dst.num_reserves), 1);
    ck_assert_int_eq(atomic_load(&t.dst.num_flushes), 1);
    ck_assert(info.stage_seconds[RLO_STAGE_WRITE] > 0);
  }
  transpose_job_deinit(&t);
}

/* ---------------------------------------------------------------- transfers */

/** A storage of functions that looks at the length of each transfer. */
typedef struct measured_storage {
  uint8_t *memory;
  int64_t bytes;
  /** Boxes end at multiples of it, and where they end themselves. */
  int64_t edge_bytes;
  int64_t planned_bytes;
  /** But for what ends with the storage. */
  atomic_int_fast64_t smallest;
  atomic_int num_too_short;
  rlo_storage *storage;
} measured_storage;

static void measure(measured_storage *m, int64_t offset, int64_t bytes) {
  int64_t end = offset + bytes;
  int_fast64_t old = atomic_load(&m->smallest);
  while (end < m->bytes && bytes < old &&
         !atomic_compare_exchange_weak(&m->smallest, &old, bytes)) {
  }
  if (bytes < m->planned_bytes && end % m->edge_bytes != 0) {
    atomic_fetch_add(&m->num_too_short, 1);
  }
}

static rlo_status read_measured(void *payload, int64_t offset, int64_t bytes, void *into) {
  measured_storage *m = payload;
  measure(m, offset, bytes);
  memcpy(into, m->memory + offset, (size_t)bytes);
  return RLO_OK;
}

static rlo_status write_measured(void *payload, int64_t offset, int64_t bytes, const void *from) {
  measured_storage *m = payload;
  measure(m, offset, bytes);
  memcpy(m->memory + offset, from, (size_t)bytes);
  return RLO_OK;
}

static void open_measured(measured_storage *m, int64_t bytes, int64_t edge_bytes,
                          rlo_storage_traits *out_traits) {
  memset(m, 0, sizeof *m);
  m->memory = calloc(1, (size_t)bytes);
  ck_assert_ptr_nonnull(m->memory);
  m->bytes = bytes;
  m->edge_bytes = edge_bytes;
  atomic_init(&m->smallest, INT64_MAX);
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_measured;
  ops.write = write_measured;
  *out_traits = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  out_traits->bytes = bytes;
  expect_ok(rlo_storage_create(&ops, m, out_traits, &m->storage));
  expect_ok(rlo_storage_get_traits(m->storage, out_traits));
}

static void close_measured(measured_storage *m) {
  rlo_storage_release(m->storage);
  free(m->memory);
}

/* Rows of either side, of which a box has parts. */
static const struct {
  const char *src, *dst, *permutation;
  int64_t row_bytes[2];
  int64_t host_bytes;
} transfers[] = {{"f32[512,1024]", "f32[1024,512]", "1,0", {4096, 2048}, 128 << 10},
                 {"f32[512,1024]", "f32[1024,512]", "1,0", {4096, 2048}, 1 << 20},
                 {"f32[333,777]", "f32[777,333]", "1,0", {3108, 1332}, 64 << 10},
                 {"f32[16,64,512]", "f32[64,16,512]", "1,0,2", {131072, 32768}, 256 << 10},
                 {"f32[1024,512]", "bf16[512,1024]", "1,0", {2048, 2048}, 256 << 10}};

/* But at edges, no transfer is shorter than the run that was planned, and the
 * shortest is told. */
RLO_TABLE_TEST(test_service__transfers_are_as_long_as_planned, transfers) {
  if (test_thresholds_are_low()) {
    return;
  }
  rlo_problem problem;
  test_plan_lower(transfers[_i].src, transfers[_i].dst, transfers[_i].permutation, &problem);
  measured_storage src, dst;
  rlo_storage_traits of_src, of_dst;
  open_measured(&src, problem.src_bytes, transfers[_i].row_bytes[0], &of_src);
  open_measured(&dst, problem.dst_bytes, transfers[_i].row_bytes[1], &of_dst);
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = transfers[_i].host_bytes;
  options.passes = 1;
  rlo_job_estimate estimate = RLO_JOB_ESTIMATE_INIT;
  expect_ok(rlo_service_estimate(service, &problem, &of_src, &of_dst, &options, &estimate));
  ck_assert_int_eq(estimate.budget_bytes, options.host_memory_bytes);
  src.planned_bytes = estimate.read_run_bytes;
  dst.planned_bytes = estimate.write_run_bytes;
  rlo_job *job = NULL;
  expect_ok(rlo_service_submit(service, &problem, src.storage, dst.storage, &options, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job, &info));
  rlo_job_release(job);
  ck_assert_int_eq(info.num_pieces, estimate.num_pieces);
  ck_assert_int_eq(info.host_bytes_peak, estimate.host_bytes);
  ck_assert_int_eq(atomic_load(&src.num_too_short), 0);
  ck_assert_int_eq(atomic_load(&dst.num_too_short), 0);
  ck_assert_int_eq(info.smallest_read, atomic_load(&src.smallest));
  ck_assert_int_eq(info.smallest_write, atomic_load(&dst.smallest));
  /* The plan's runs are longer than a few elements. */
  ck_assert_int_gt(estimate.read_run_bytes, 64);
  ck_assert_int_gt(estimate.write_run_bytes, 64);
  close_measured(&src);
  close_measured(&dst);
}

/* --------------------------------------------------------- passed forward */

/** A storage that is read or written as a pipe is. */
typedef struct pipe_end {
  uint8_t *memory;
  int64_t position;
  bool is_pipe;
  /** What is asked for lies before the position, or another thread is at it. */
  bool goes_back;
  atomic_bool is_used;
} pipe_end;

static void pass(pipe_end *p, int64_t offset, int64_t bytes, void *to, const void *from) {
  if (p->is_pipe) {
    p->goes_back |= atomic_exchange(&p->is_used, true) || offset < p->position;
    p->position = offset + bytes;
  }
  (void)nanosleep(&(struct timespec){0, 20000}, NULL);
  memcpy(to, from, (size_t)bytes);
  atomic_store(&p->is_used, false);
}

static rlo_status read_pipe(void *payload, int64_t offset, int64_t bytes, void *into) {
  pipe_end *p = payload;
  pass(p, offset, bytes, into, p->memory + offset);
  return RLO_OK;
}

static rlo_status write_pipe(void *payload, int64_t offset, int64_t bytes, const void *from) {
  pipe_end *p = payload;
  pass(p, offset, bytes, p->memory + offset, from);
  return RLO_OK;
}

typedef enum place { FUNCTIONS, MEMORY, PIPE } place;

static rlo_storage *open_place(place where, pipe_end *p, int64_t bytes, bool is_read) {
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  rlo_storage *made;
  ops.read = is_read || where == FUNCTIONS ? read_pipe : NULL;
  ops.write = is_read ? NULL : write_pipe;
  traits.bytes = bytes;
  p->is_pipe = where == PIPE;
  traits.is_forward = p->is_pipe;
  expect_ok(where == MEMORY ? rlo_storage_from_memory(p->memory, bytes, &made)
                            : rlo_storage_create(&ops, p, &traits, &made));
  return made;
}

static const struct {
  const char *src, *dst, *permutation;
  /** The first axis of the source is. */
  bool is_reversed;
  int passes;
  place from, to;
  rlo_status status;
  const char *refusal;
} forward[] = {
    {"f32[512,1024]", "f32[512,1024]", "0,1", false, 1, PIPE, FUNCTIONS, RLO_OK, NULL},
    {"f32[512,1024]", "bf16[512,1024]", "0,1", false, 1, PIPE, MEMORY, RLO_OK, NULL},
    {"f32[512,1024]", "f32[1024,512]", "1,0", false, 1, PIPE, FUNCTIONS, RLO_OK, NULL},
    {"f32[512,1024]{0,1}", "f32[512,1024]", "0,1", false, 1, PIPE, MEMORY, RLO_OK, NULL},
    {"f32[300,700]", "f32[300,700]{1,0:T(8,128)fill(zero)}", "0,1", false, 1, PIPE, FUNCTIONS,
     RLO_OK, NULL},
    {"f32[300,700]{1,0:pad(301,704)}", "f32[300,700]", "0,1", false, 1, PIPE, FUNCTIONS, RLO_OK,
     NULL},
    {"u4[301,702]{1,0:E(4)}", "u8[301,702]", "0,1", false, 1, PIPE, FUNCTIONS, RLO_OK, NULL},
    {"f32[301,701]{1,0:T(8,128)}", "f32[301,701]{1,0:T(5,7)}", "0,1", false, 1, PIPE, FUNCTIONS,
     RLO_UNSUPPORTED, "the source can only be read forward, and the problem goes back"},
    {"f32[512,1024]", "f32[1024,512]", "1,0", false, 1, FUNCTIONS, PIPE, RLO_OK, NULL},
    {"f32[300,700]", "f32[300,700]{1,0:pad(301,704)}", "0,1", false, 1, FUNCTIONS, PIPE, RLO_OK,
     NULL},
    {"f32[512,1024]", "bf16[512,1024]", "0,1", false, 1, MEMORY, PIPE, RLO_OK, NULL},
    {"f32[512,1024]", "bf16[512,1024]", "0,1", false, 1, PIPE, PIPE, RLO_OK, NULL},
    {"f32[300,700]", "f32[300,700]{1,0:T(8,128)fill(zero)}", "0,1", false, 1, PIPE, PIPE, RLO_OK,
     NULL},
    {"f32[64,128,32]", "f32[64,32,128]", "0,2,1", false, 1, PIPE, PIPE, RLO_OK, NULL},
    {"f32[512,1024]", "f32[1024,512]", "1,0", false, 1, PIPE, PIPE, RLO_OUT_OF_RANGE,
     "the least that suffices"},
    {"f32[300,700]{1,0:T(8,128)}", "f32[300,700]{1,0:T(5,7)}", "0,1", false, 1, MEMORY, PIPE,
     RLO_OK, NULL},
    {"f32[512,1024]", "f32[512,1024]", "0,1", true, 1, FUNCTIONS, PIPE, RLO_OK, NULL},
    {"f32[512,1024]", "f32[512,1024]", "0,1", true, 1, PIPE, PIPE, RLO_UNSUPPORTED,
     "the destination can only be written forward, and the problem goes back"},
    {"f32[512,1024]", "f32[1024,512]", "1,0", false, 2, PIPE, FUNCTIONS, RLO_OK, NULL},
    {"bf16[64,128,64]", "f32[64,64,128]", "2,0,1", false, 2, PIPE, FUNCTIONS, RLO_OK, NULL},
    {"f32[300,700]{1,0:pad(301,704)}", "f32[700,300]", "1,0", false, 2, PIPE, FUNCTIONS,
     RLO_UNSUPPORTED, "read so only what is moved whole"},
    {"f32[512,1024]", "f32[1024,512]", "1,0", false, 2, FUNCTIONS, PIPE, RLO_UNSUPPORTED,
     "two passes do not write forward"},
};

RLO_TABLE_TEST(test_service__a_storage_is_passed_forward, forward) {
  rlo_problem problem;
  test_plan_lower(forward[_i].src, forward[_i].dst, forward[_i].permutation, &problem);
  if (forward[_i].is_reversed) {
    problem.src.base += problem.src.axis[0] * (problem.extents[0] - 1);
    problem.src.axis[0] = -problem.src.axis[0];
  }
  uint8_t *bytes = malloc((size_t)problem.src_bytes);
  /* And room for two passes. */
  uint8_t *expected = calloc(3, (size_t)problem.dst_bytes);
  uint8_t *made = expected + problem.dst_bytes;
  for (int64_t n = 0; n < problem.src_bytes; ++n) {
    bytes[n] = (uint8_t)((uint64_t)n * 0x9e3779b1u >> 13);
  }
  expect_ok(rlo_run_host(&problem, bytes, NULL, expected, 1));
  pipe_end ends[2] = {{.memory = bytes}, {.memory = made}};
  rlo_storage *src = open_place(forward[_i].from, &ends[0], problem.src_bytes, true);
  rlo_storage *dst =
      open_place(forward[_i].to, &ends[1], problem.dst_bytes * forward[_i].passes, false);
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = 256 << 10;
  options.is_new_destination = forward[_i].to != PIPE;
  options.passes = forward[_i].passes;
  options.scratch_bytes = problem.dst_bytes * (forward[_i].passes - 1);
  rlo_job *job = NULL;
  const rlo_status status = rlo_service_submit(service, &problem, src, dst, &options, &job);
  if (forward[_i].refusal != NULL) {
    expect_refusal_with(status, forward[_i].status, forward[_i].refusal);
  } else {
    expect_ok(status);
    expect_ok(rlo_job_wait(job, -1, NULL));
    expect_ok(rlo_job_result(job));
    rlo_job_info info = RLO_JOB_INFO_INIT;
    expect_ok(rlo_job_get_info(job, &info));
    ck_assert_int_gt(info.num_pieces, 1);
    ck_assert(!ends[0].goes_back);
    ck_assert(!ends[1].goes_back);
    ck_assert_mem_eq(made, expected, (size_t)problem.dst_bytes);
    ck_assert_int_eq(info.num_passes, forward[_i].passes);
  }
  rlo_job_release(job);
  rlo_storage_release(src);
  rlo_storage_release(dst);
  free(bytes);
  free(expected);
}

RLO_TEST(test_service__states) {
  transpose_job first, second;
  test_gate gate;
  test_gate_init(&gate);
  transpose_job_init(&first, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  transpose_job_init(&second, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  first.src.on_call = second.src.on_call = test_gate_pass;
  first.src.payload = second.src.payload = &gate;
  transpose_job_submit(&first, service);
  test_gate_await(&gate, 1);
  transpose_job_submit(&second, service);
  ck_assert_int_eq(transpose_job_info(&first).state, RLO_JOB_RUNNING);
  expect_ok(transpose_job_info(&first).status);
  ck_assert(transpose_job_info(&first).seconds_left < 0);
  expect_refusal(rlo_job_result(first.job), RLO_INVALID_ARGUMENT, "the job has not ended");
  bool has_ended = true;
  expect_ok(rlo_job_wait(first.job, 5, &has_ended));
  ck_assert(!has_ended);
  expect_ok(rlo_service_drain(service, 0, &has_ended));
  ck_assert(!has_ended);
  test_gate_open(&gate);
  expect_ok(rlo_service_drain(service, -1, &has_ended));
  ck_assert(has_ended);
  transpose_job_expect(&first);
  transpose_job_expect(&second);
  transpose_job_deinit(&first);
  transpose_job_deinit(&second);
  test_gate_deinit(&gate);
}

RLO_TEST(test_service__jobs_wait_for_their_turn) {
  transpose_job jobs[3];
  test_gate gate;
  test_gate_init(&gate);
  /* Two run at once. */
  for (int n = 0; n < 3; ++n) {
    transpose_job_init(&jobs[n], TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
    jobs[n].src.on_call = test_gate_pass;
    jobs[n].src.payload = &gate;
    transpose_job_submit(&jobs[n], service);
  }
  test_gate_await(&gate, 2);
  ck_assert_int_eq(transpose_job_info(&jobs[2]).state, RLO_JOB_QUEUED);
  ck_assert(!(transpose_job_info(&jobs[2]).seconds > 0));
  test_gate_open(&gate);
  for (int n = 0; n < 3; ++n) {
    transpose_job_expect(&jobs[n]);
    transpose_job_deinit(&jobs[n]);
  }
  test_gate_deinit(&gate);
}

RLO_TEST(test_service__nothing_to_do) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FUNCTIONS);
  t.problem.extents[0] = 0;
  transpose_job_submit(&t, service);
  expect_ok(rlo_job_wait(t.job, -1, NULL));
  expect_ok(rlo_job_result(t.job));
  rlo_job_info info = transpose_job_info(&t);
  ck_assert_int_eq(info.state, RLO_JOB_DONE);
  ck_assert_int_eq(info.num_pieces, 0);
  ck_assert_int_eq(info.bytes_total, 0);
  ck_assert_int_eq(atomic_load(&t.dst.num_calls), 0);
  transpose_job_deinit(&t);
}

RLO_TEST(test_service__a_released_job_goes_on) {
  transpose_job t;
  test_gate gate;
  test_gate_init(&gate);
  transpose_job_init(&t, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_FILE);
  /* One that has ended before would be gone. */
  t.src.on_call = test_gate_pass;
  t.src.payload = &gate;
  transpose_job_submit(&t, service);
  rlo_job_release(rlo_job_retain(t.job));
  rlo_job_release(t.job);
  test_gate_open(&gate);
  expect_ok(rlo_service_drain(service, -1, NULL));
  t.job = rlo_service_take_ended(service);
  ck_assert_ptr_nonnull(t.job);
  transpose_job_expect(&t);
  ck_assert_ptr_null(rlo_service_take_ended(service));
  transpose_job_deinit(&t);
  test_gate_deinit(&gate);
}

RLO_TEST(test_service__a_job_outlives_its_service) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_FILE, TEST_STORAGE_FILE);
  rlo_service *own = NULL;
  expect_ok(rlo_service_create(NULL, 0, NULL, &own));
  rlo_service_release(rlo_service_retain(own));
  transpose_job_submit(&t, own);
  expect_ok(rlo_job_wait(t.job, -1, NULL));
  rlo_service_release(own);
  transpose_job_expect(&t);
  transpose_job_deinit(&t);
}

static bool is_readable(int fd) {
  struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
  return poll(&poll_fd, 1, 0) == 1;
}

RLO_TEST(test_service__poll_tells_of_ends) {
  transpose_job t[3];
  for (int n = 0; n < 3; ++n) {
    transpose_job_init(&t[n], TEST_STORAGE_FILE, TEST_STORAGE_MEMORY);
  }
  /* A job that ended before anybody asked counts too. */
  transpose_job_submit(&t[0], service);
  expect_ok(rlo_service_drain(service, -1, NULL));
  int fd = rlo_service_poll_fd(service);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(rlo_service_poll_fd(service), fd);
  ck_assert(is_readable(fd));
  rlo_job *taken = rlo_service_take_ended(service);
  ck_assert_ptr_eq(taken, t[0].job);
  rlo_job_release(taken);
  ck_assert(!is_readable(fd));
  ck_assert_ptr_null(rlo_service_take_ended(service));
  transpose_job_submit(&t[1], service);
  struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
  ck_assert_int_eq(poll(&poll_fd, 1, -1), 1);
  /* A job that was waited for and released is not reported. */
  expect_ok(rlo_job_wait(t[1].job, -1, NULL));
  rlo_job_release(t[1].job);
  t[1].job = NULL;
  ck_assert(!is_readable(fd));
  ck_assert_ptr_null(rlo_service_take_ended(service));
  transpose_job_submit(&t[2], service);
  for (int n = 0; n < 3; ++n) {
    expect_ok(rlo_service_drain(service, -1, NULL));
    transpose_job_deinit(&t[n]);
  }
}

RLO_TEST(test_service__many_transfers_of_a_granule) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  watched_storage granular;
  uint8_t *content = t.src.memory;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.granule_bytes = 320;
  watched_storage_init(&granular, TEST_STORAGE_FUNCTIONS, content, t.src.bytes, &traits);
  rlo_storage *memory = t.src.storage;
  t.src.storage = granular.storage;
  t.options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  t.src.storage = memory;
  transpose_job_deinit(&t);
  watched_storage_deinit(&granular);
}

/* f32[50,70] into tiles in many boxes: what lies between keeps what it holds,
 * or is 0 in a new destination. */
RLO_LOOP_TEST(test_service__gaps, 0, 2) {
  rlo_shape from = test_shape_of("f32[50,70]");
  rlo_shape to = test_shape_of("f32[50,70]{0,1:T(8,16)}");
  rlo_problem problem;
  expect_ok(rlo_relayout_lower(&from, &to, NULL, &problem));
  static uint8_t src[16384], wanted[32768], got[32768];
  ck_assert_int_le(problem.dst_bytes, (int64_t)sizeof wanted);
  memset(src, 3, sizeof src);
  memset(wanted, _i == 0 ? 7 : 0, sizeof wanted);
  watched_storage storages[2];
  watched_storage_init(&storages[0], TEST_STORAGE_FILE, src, problem.src_bytes, NULL);
  watched_storage_init(&storages[1], TEST_STORAGE_FUNCTIONS, wanted, problem.dst_bytes, NULL);
  expect_ok(rlo_problem_run_host(&problem, src, wanted));
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = 6144;
  options.is_new_destination = _i == 1;
  rlo_job *job = NULL;
  expect_ok(rlo_service_submit(service, &problem, storages[0].storage, storages[1].storage,
                               &options, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_release(job);
  watched_storage_get(&storages[1], got);
  ck_assert(memcmp(got, wanted, (size_t)problem.dst_bytes) == 0);
  watched_storage_deinit(&storages[0]);
  watched_storage_deinit(&storages[1]);
}

/* --------------------------------------------------------------- priorities */

typedef struct order {
  /** Letters, in the order of the calls. */
  char letters[1 << 16];
  int count;
} order;

typedef struct letter {
  order *order;
  char letter;
} letter;

/* On the only thread of the service. */
static void note_letter(void *payload) {
  const letter *l = payload;
  if (l->order->count < (int)sizeof l->order->letters - 1) {
    l->order->letters[l->order->count++] = l->letter;
  }
}

RLO_TEST(test_service__the_higher_priority_goes_first) {
  rlo_service *single = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.io_threads = 1;
  options.max_running_jobs = 4;
  expect_ok(rlo_service_create(NULL, 0, &options, &single));
  transpose_job blocked;
  test_gate gate;
  test_gate_init(&gate);
  transpose_job_init(&blocked, TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
  blocked.src.on_call = test_gate_pass;
  blocked.src.payload = &gate;
  transpose_job_submit(&blocked, single);
  test_gate_await(&gate, 1);
  static order o;
  letter letters[] = {{&o, 'l'}, {&o, 'n'}, {&o, 'h'}};
  transpose_job jobs[3];
  for (int n = 0; n < 3; ++n) {
    transpose_job_init(&jobs[n], TEST_STORAGE_FUNCTIONS, TEST_STORAGE_MEMORY);
    jobs[n].src.on_call = note_letter;
    jobs[n].src.payload = &letters[n];
    jobs[n].options.priority = n - 1;
    /* Pieces of a few rows. */
    jobs[n].options.host_memory_bytes = 2048;
    transpose_job_submit(&jobs[n], single);
  }
  test_gate_open(&gate);
  for (int n = 0; n < 3; ++n) {
    transpose_job_expect(&jobs[n]);
    transpose_job_deinit(&jobs[n]);
  }
  transpose_job_expect(&blocked);
  transpose_job_deinit(&blocked);
  test_gate_deinit(&gate);
  rlo_service_release(single);
  const char *last_high = strrchr(o.letters, 'h');
  const char *last_normal = strrchr(o.letters, 'n');
  const char *first_low = strchr(o.letters, 'l');
  ck_assert_msg(last_high < last_normal && last_normal < strrchr(o.letters, 'l'), "%s", o.letters);
  /* But the lowest is not left alone. */
  ck_assert_msg(first_low < last_high, "%s", o.letters);
}

/* --------------------------------------------------------------------- fork */

RLO_TEST(test_service__is_unusable_in_a_child) {
  transpose_job t;
  transpose_job_init(&t, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  transpose_job_submit(&t, service);
  transpose_job_expect(&t);
  pid_t child = fork();
  if (child == 0) {
    rlo_job *job = NULL;
    bool is_refused = rlo_service_submit(service, &t.problem, t.src.storage, t.dst.storage, NULL,
                                         &job) == RLO_UNSUPPORTED &&
                      rlo_service_drain(service, -1, NULL) == RLO_UNSUPPORTED &&
                      rlo_job_wait(t.job, -1, NULL) == RLO_UNSUPPORTED &&
                      rlo_service_poll_fd(service) == -1 && rlo_service_take_ended(service) == NULL;
    rlo_job_release(t.job);
    rlo_service_cancel_all(service);
    rlo_service_release(service);
    _exit(is_refused ? 0 : 1);
  }
  int code = -1;
  ck_assert_int_eq(waitpid(child, &code, 0), child);
  ck_assert_int_eq(code, 0);
  transpose_job_deinit(&t);
}
