/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs between arrays in chunks: grids that divide each other and grids that do not,
 * with chunks at borders. A chunk is a granule, or the tile of a file. Some jobs have a
 * scratch for an intermediate. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "relayout/relayout.h"
#include "relayout/service.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum { MOST_DIMS = 4, MOST_BYTES = 1 << 17 };

RLO_TIMEOUT(300);

/** An array in granules, and how often each was read and written. */
typedef struct chunk_store {
  int64_t bytes, chunk_bytes;
  uint8_t memory[MOST_BYTES];
  atomic_int reads[MOST_BYTES], writes[MOST_BYTES];
  /** The number of the call, from 1, that fails; 0: none. */
  int fails_at;
  atomic_int num_calls;
  rlo_storage *storage;
} chunk_store;

static rlo_status count(chunk_store *s, int64_t offset, int64_t bytes, atomic_int *counts) {
  if (offset % s->chunk_bytes != 0 || bytes % s->chunk_bytes != 0 || offset + bytes > s->bytes) {
    return rlo_error_set(RLO_INTERNAL, "%" PRId64 " bytes at %" PRId64 " are no chunks", bytes,
                         offset);
  }
  if (atomic_fetch_add(&s->num_calls, 1) + 1 == s->fails_at) {
    return rlo_error_set(RLO_IO, "a chunk fails");
  }
  for (int64_t n = 0; n < bytes / s->chunk_bytes; ++n) {
    atomic_fetch_add(&counts[offset / s->chunk_bytes + n], 1);
  }
  return RLO_OK;
}

static rlo_status read_chunks(void *payload, int64_t offset, int64_t bytes, void *into) {
  chunk_store *s = payload;
  rlo_status status = count(s, offset, bytes, s->reads);
  if (status == RLO_OK) {
    memcpy(into, s->memory + offset, (size_t)bytes);
  }
  return status;
}

static rlo_status write_chunks(void *payload, int64_t offset, int64_t bytes, const void *from) {
  chunk_store *s = payload;
  rlo_status status = count(s, offset, bytes, s->writes);
  if (status == RLO_OK) {
    memcpy(s->memory + offset, from, (size_t)bytes);
  }
  return status;
}

static rlo_status flush_chunks(void *payload) {
  (void)payload;
  return RLO_OK;
}

static void open_store(chunk_store *s, int64_t bytes, int64_t chunk_bytes) {
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_chunks;
  ops.write = write_chunks;
  ops.flush = flush_chunks;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  s->bytes = traits.bytes = bytes;
  s->chunk_bytes = traits.granule_bytes = chunk_bytes;
  s->fails_at = 0;
  atomic_store(&s->num_calls, 0);
  memset(s->reads, 0, sizeof s->reads);
  memset(s->writes, 0, sizeof s->writes);
  expect_ok(rlo_storage_create(&ops, s, &traits, &s->storage));
}

/* ---------------------------------------------------------------------- jobs */

/** Two grids over an array. The source has the dimensions in another order. */
typedef struct grids {
  int32_t rank;
  int32_t permutation[MOST_DIMS];
  /** Of the result: the dimensions, and both sides' chunks along them. */
  int64_t extents[MOST_DIMS], chunks[2][MOST_DIMS];
  const char *dtype;
  int64_t element_bytes;
  bool is_filled;
  /** Bytes are granules. */
  bool is_plain[2];
  bool has_scratch;
} grids;

static uint64_t seed;
static int number;
static grids g;
static rlo_problem problem;
static chunk_store src, dst, mid;
static uint8_t wanted[MOST_BYTES];
static rlo_service *service;
static char texts[2][512];
static int num_inexact, num_of_two_passes;

#define AGAIN "; %s to %s; repeat with RELAYOUT_TEST_SEED=%" PRIu64 ", grids %d"
#define EXPECT(condition, ...) \
  ck_assert_msg(condition, __VA_ARGS__, texts[0], texts[1], seed, number)

static void open_service(void) {
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = INT64_C(16) << 20;
  options.io_threads = 3;
  options.max_running_jobs = 1;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
}

static void close_service(void) {
  rlo_service_release(service);
}

RLO_FIXTURE(open_service, close_service);

static void write_list(char *text, const int64_t *list, const int32_t *order) {
  for (int32_t k = 0; k < g.rank; ++k) {
    sprintf(text + strlen(text), "%s%" PRId64, k > 0 ? "," : "",
            list[order != NULL ? order[k] : k]);
  }
}

static rlo_shape make_shape(int side, const int32_t *order) {
  char *text = texts[side];
  rlo_shape shape;
  sprintf(text, "%s[", g.dtype);
  write_list(text, g.extents, order);
  strcat(text, "]{");
  for (int32_t k = g.rank - 1; k >= 0; --k) {
    sprintf(text + strlen(text), "%d%s", k, k > 0 ? "," : ":T(");
  }
  write_list(text, g.chunks[side], order);
  strcat(text, side == 1 && g.is_filled ? ")fill(zero)}" : ")}");
  expect_ok(rlo_shape_parse(text, strlen(text), &shape));
  strcat(text, g.is_plain[side] ? " in bytes" : "");
  return shape;
}

static int64_t chunk_bytes(int side) {
  int64_t bytes = g.element_bytes;
  for (int32_t k = 0; k < g.rank; ++k) {
    bytes *= g.chunks[side][k];
  }
  return bytes;
}

/* Lowers the grids, and fills the stores; false if they are too large. */
static bool lower(test_random *random) {
  int32_t inverse[MOST_DIMS];
  for (int32_t k = 0; k < g.rank; ++k) {
    inverse[g.permutation[k]] = k;
  }
  rlo_shape from = make_shape(0, inverse);
  rlo_shape to = make_shape(1, NULL);
  expect_ok(rlo_relayout_lower(&from, &to, g.permutation, &problem));
  if (problem.src_bytes > MOST_BYTES || problem.dst_bytes > MOST_BYTES) {
    return false;
  }
  open_store(&src, problem.src_bytes, g.is_plain[0] ? 1 : chunk_bytes(0));
  open_store(&dst, problem.dst_bytes, g.is_plain[1] ? 1 : chunk_bytes(1));
  open_store(&mid, MOST_BYTES, 1);
  for (int64_t n = 0; n < MOST_BYTES; ++n) {
    src.memory[n] = (uint8_t)test_random_bits(random);
    dst.memory[n] = wanted[n] = (uint8_t)test_random_bits(random);
  }
  expect_ok(rlo_problem_run_host(&problem, src.memory, wanted));
  return true;
}

static void release_stores(void) {
  rlo_storage_release(src.storage);
  rlo_storage_release(dst.storage);
  rlo_storage_release(mid.storage);
}

/* The memory with which each chunk can be read once: boxes that begin and end with
 * chunks of both grids, and one chunk of the source. */
static int64_t memory_for_once(void) {
  int64_t box = g.element_bytes;
  bool is_whole = true;
  for (int32_t k = 0; k < g.rank; ++k) {
    const int64_t s = g.chunks[0][k];
    const int64_t d = g.chunks[1][k];
    const int64_t all = rlo__ceil_div(g.extents[k], d) * d;
    const int64_t common = s / rlo__gcd(s, d) * d;
    box *= rlo__min(all, common);
    is_whole = is_whole && common >= all;
  }
  return (is_whole ? 1 : 2) * rlo__ceil_div(box, 64) * 64 + rlo__ceil_div(chunk_bytes(0), 64) * 64;
}

static rlo_status make_estimate(const rlo_job_options *options, rlo_job_estimate *out) {
  rlo_storage_traits traits[2] = {RLO_STORAGE_TRAITS_INIT, RLO_STORAGE_TRAITS_INIT};
  *out = (rlo_job_estimate)RLO_JOB_ESTIMATE_INIT;
  expect_ok(rlo_storage_get_traits(src.storage, &traits[0]));
  expect_ok(rlo_storage_get_traits(dst.storage, &traits[1]));
  return rlo_service_estimate(service, &problem, &traits[0], &traits[1], options, out);
}

static int64_t least_memory(rlo_job_options *options) {
  rlo_job_estimate estimate;
  options->host_memory_bytes = 1;
  rlo_status status = make_estimate(options, &estimate);
  const char *text = strstr(rlo_error_last()->message, "suffices is ");
  EXPECT(status == RLO_OUT_OF_RANGE && text != NULL, "%s" AGAIN, rlo_error_last()->message);
  return strtoll(text + strlen("suffices is "), NULL, 10);
}

/* Some budget from the least. */
static void draw_budget(test_random *random, rlo_job_options *options) {
  const int64_t least = least_memory(options);
  const int64_t once = memory_for_once();
  const int64_t least_known =
      2 * rlo__ceil_div(chunk_bytes(1), 64) * 64 + rlo__ceil_div(chunk_bytes(0), 64) * 64;
  EXPECT(
      least <= least_known || chunk_bytes(0) == g.element_bytes || g.is_plain[0] || g.is_plain[1],
      "the least is %" PRId64 ", not %" PRId64 AGAIN, least, least_known);
  switch (test_random_in(random, 0, 3)) {
    case 0:
      options->host_memory_bytes = least;
      break;
    case 1:
      options->host_memory_bytes = rlo__max(least, once);
      break;
    case 2:
      options->host_memory_bytes = test_random_in(random, least, rlo__max(least, once));
      break;
    default:
      options->host_memory_bytes = 2 * rlo__max(least, once) + 4096;
      break;
  }
}

static rlo_job *submit(const rlo_job_options *options) {
  rlo_job *job = NULL;
  rlo_status status =
      rlo_service_submit(service, &problem, src.storage, dst.storage, options, &job);
  EXPECT(status == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  return job;
}

/* Two passes read each chunk once where the budget has room for some of the source, and
 * write each byte of the intermediate once; one pass is taken where that moves no more. */
static void expect_passes(const rlo_job_info *info, const rlo_job_options *options) {
  rlo_job_options two = *options;
  rlo_job_estimate estimate;
  two.passes = 2;
  if (info->num_passes == 2) {
    expect_ok(make_estimate(options, &estimate));
    const int64_t some_chunks = 12 * rlo__ceil_div(chunk_bytes(0), 64) * 64;
    EXPECT(g.is_plain[0] || options->host_memory_bytes < some_chunks ||
               info->source_bytes_read == src.bytes,
           "%" PRId64 " bytes are read" AGAIN, info->source_bytes_read);
    for (int64_t n = 0; n < MOST_BYTES; ++n) {
      EXPECT(mid.writes[n] <= (n < estimate.scratch_bytes),
             "byte %" PRId64 " of the intermediate was written %d times" AGAIN, n, mid.writes[n]);
    }
    ++num_of_two_passes;
  } else if (make_estimate(&two, &estimate) == RLO_OK) {
    EXPECT(info->bytes_total <= estimate.bytes_read + estimate.bytes_written,
           "%" PRId64 " bytes are moved" AGAIN, info->bytes_total);
  }
}

static void expect_counts(rlo_job *job, const rlo_job_options *options) {
  const int64_t memory = options->host_memory_bytes;
  rlo_job_info info = RLO_JOB_INFO_INIT;
  expect_ok(rlo_job_get_info(job, &info));
  if (g.has_scratch) {
    expect_passes(&info, options);
  }
  int most = 0;
  const bool is_plain = g.is_plain[0] || g.is_plain[1];
  for (int64_t n = 0; n < src.bytes / src.chunk_bytes; ++n) {
    EXPECT(g.is_plain[0] || src.reads[n] > 0, "chunk %" PRId64 " was not read" AGAIN, n);
    most = src.reads[n] > most ? src.reads[n] : most;
  }
  for (int64_t n = 0; n < dst.bytes / dst.chunk_bytes; ++n) {
    EXPECT(dst.writes[n] == 1 || (g.is_plain[1] && dst.writes[n] == 0),
           "chunk %" PRId64 " was written %d times" AGAIN, n, dst.writes[n]);
  }
  EXPECT(memory < memory_for_once() || most == 1 || is_plain || info.num_passes == 2,
         "a chunk was read %d times" AGAIN, most);
  /* What destinations have between elements is read in addition. */
  const int64_t moved = info.bytes_read + info.bytes_written;
  EXPECT(!g.is_filled || info.bytes_total >= moved,
         "%" PRId64 " bytes planned, %" PRId64 " moved" AGAIN, info.bytes_total, moved);
  num_inexact += g.is_filled && !is_plain && info.num_passes == 1 && info.bytes_total > moved;
  EXPECT(info.host_bytes_peak <= memory, "%" PRId64 " bytes of %" PRId64 AGAIN,
         info.host_bytes_peak, memory);
  EXPECT(info.pieces_done == info.num_pieces, "%" PRId64 " pieces, of %" PRId64 AGAIN,
         info.pieces_done, info.num_pieces);
}

static void run(test_random *random) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  draw_budget(random, &options);
  options.scratch = g.has_scratch ? mid.storage : NULL;
  rlo_job_estimate two;
  options.passes = g.has_scratch && !g.is_plain[0] && test_random_once_in(random, 3) ? 2 : 0;
  if (options.passes == 2 && make_estimate(&options, &two) != RLO_OK) {
    options.passes = 0;
  }
  rlo_job *job = submit(&options);
  expect_ok(rlo_job_wait(job, -1, NULL));
  EXPECT(rlo_job_result(job) == RLO_OK, "%s" AGAIN, rlo_error_last()->message);
  EXPECT(memcmp(dst.memory, wanted, MOST_BYTES) == 0, "other bytes" AGAIN);
  expect_counts(job, &options);
  rlo_job_release(job);
}

/* ---------------------------------------------------------------------- grids */

static void draw(test_random *random) {
  static const struct {
    const char *dtype;
    int64_t bytes;
  } types[] = {{"u8", 1}, {"bf16", 2}, {"f32", 4}, {"c64", 8}};

  memset(&g, 0, sizeof g);
  g.rank = (int32_t)test_random_in(random, 1, MOST_DIMS);
  const int64_t most = g.rank == 1 ? 900 : g.rank == 2 ? 90 : g.rank == 3 ? 26 : 10;
  const int type = (int)test_random_in(random, 0, 3);
  g.dtype = types[type].dtype;
  g.element_bytes = types[type].bytes;
  g.is_filled = test_random_once_in(random, 2);
  g.is_plain[0] = test_random_once_in(random, 3);
  g.is_plain[1] = test_random_once_in(random, 3);
  for (int32_t k = 0; k < g.rank; ++k) {
    g.extents[k] = test_random_in(random, 1, most);
    g.chunks[0][k] = test_random_in(random, 1, g.extents[k] + 2);
    g.chunks[1][k] = test_random_in(random, 1, g.extents[k] + 2);
    const int32_t other = (int32_t)test_random_in(random, 0, k);
    g.permutation[k] = g.permutation[other];
    g.permutation[other] = k;
  }
  g.has_scratch = test_random_once_in(random, 2);
}

RLO_TEST(test_service_chunks__random_grids) {
  seed = test_random_begin("test_service_chunks").state;
  const int cases = getenv("RELAYOUT_TEST_ALL") == NULL ? 120 : 2000;
  int done = 0;
  for (number = 0; number < cases; ++number) {
    test_random random = {seed + (uint64_t)number * 7919};
    draw(&random);
    if (lower(&random)) {
      run(&random);
      release_stores();
      ++done;
    }
  }
  printf("%d pairs of grids, %d of which read less than planned, %d of two passes\n", done,
         num_inexact, num_of_two_passes);
  ck_assert_int_gt(done, cases / 2);
  ck_assert_int_gt(num_of_two_passes, done / 20);
  ck_assert_int_le(num_inexact, 1 + done / 200);
}

/* ----------------------------------------------------------- known grids, ends */

#define TALL "f32[4096,4096]{1,0:T(4096,16)}"
#define WIDE "f32[4096,4096]{1,0:T(16,4096)}"

/** Grids of which dry runs say how many chunks are read. */
static const struct {
  const char *src, *dst;
  int64_t chunk_bytes[2];
  int64_t memory, num_chunks, num_reads;
  /** Of the intermediate, for which there is a scratch then. */
  int64_t mid_bytes;
} known[] = {
    {TALL, WIDE, {262144, 262144}, 4 << 20, 256, 9472, 0},
    {TALL, WIDE, {262144, 262144}, 1 << 20, 256, 256, 67108864},
    {"f32[4100,721,1440]{2,1,0:T(50,721,144)}",
     "f32[4100,721,1440]{2,1,0:T(4000,16,16)}",
     {20764800, 4096000},
     INT64_C(128) << 20,
     820,
     820,
     INT64_C(33914880000)},
    /* A guard ties a quotient to another axis: 220 a + b < 230, and b / 110. */
    {"c64[230,70,220]{0,2,1:T(60,180,110)}",
     "c64[230,70,220]{2,1,0:T(220,70,80)}",
     {9504000, 9856000},
     INT64_C(32) << 20,
     12,
     12,
     152064000},
    /* Granules of the destination alone. */
    {"f32[4100,7200]{1,0:T(50,16)}",
     "f32[4100,7200]{1,0:T(4000,16)}",
     {1, 256000},
     INT64_C(64) << 20,
     118080000,
     118080000,
     0},
    {"f32[1000,1000]{1,0:T(128,128)}",
     "f32[1000,1000]{1,0:T(96,80)}",
     {65536, 30720},
     1 << 20,
     64,
     80,
     0},
    {"f32[1000,1000]{1,0:T(128,128)}",
     "f32[1000,1000]{1,0:T(96,80)}",
     {65536, 30720},
     2 << 20,
     64,
     64,
     0},
    {"f32[4100,721,1440]{2,1,0:T(50,721,144)}",
     "f32[4100,721,1440]{2,1,0:T(4000,16,16)}",
     {20764800, 4096000},
     INT64_C(1) << 30,
     820,
     3280,
     0},
    {"f32[4100,721,1440]{2,1,0:T(50,721,144)}",
     "f32[4100,721,1440]{2,1,0:T(4000,16,16)}",
     {20764800, 4096000},
     INT64_C(4) << 30,
     820,
     820,
     0},
    {"f32[400,500,60]{2,1,0:T(100,128,30)}",
     "f32[400,500,60]{2,1,0:T(45,250,64)}",
     {1536000, 2880000},
     9000000,
     32,
     120,
     0},
    {"f32[400,500,60]{2,1,0:T(100,128,30)}",
     "f32[400,500,60]{2,1,0:T(45,250,64)}",
     {1536000, 2880000},
     64 << 20,
     32,
     32,
     0},
    /* Tiles of files: each byte once. */
    {"f32[400,500,600]{2,1,0:T(100,128,30)}",
     "f32[400,500,600]{2,1,0:T(45,250,64)fill(zero)}",
     {1, 1},
     60000000,
     491520000,
     480000000,
     0},
};

RLO_TABLE_TEST(test_service_chunks__dry_runs_say_how_often_chunks_are_read, known) {
  rlo_shape shapes[2];
  expect_ok(rlo_shape_parse(known[_i].src, strlen(known[_i].src), &shapes[0]));
  expect_ok(rlo_shape_parse(known[_i].dst, strlen(known[_i].dst), &shapes[1]));
  expect_ok(rlo_relayout_lower(&shapes[0], &shapes[1], NULL, &problem));
  rlo_storage_traits traits[2] = {RLO_STORAGE_TRAITS_INIT, RLO_STORAGE_TRAITS_INIT};
  traits[0].bytes = problem.src_bytes;
  traits[1].bytes = problem.dst_bytes;
  traits[0].granule_bytes = known[_i].chunk_bytes[0];
  traits[1].granule_bytes = known[_i].chunk_bytes[1];
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = known[_i].memory;
  options.max_running_jobs = 1;
  rlo_job_estimate estimate = RLO_JOB_ESTIMATE_INIT;
  rlo_job_options job_options = RLO_JOB_OPTIONS_INIT;
  open_store(&mid, INT64_MAX / 16, 1);
  job_options.scratch = known[_i].mid_bytes > 0 ? mid.storage : NULL;
  expect_ok(
      rlo_job_estimate_make(&problem, &traits[0], &traits[1], &options, &job_options, &estimate));
  rlo_storage_release(mid.storage);
  ck_assert_int_eq(problem.src_bytes / traits[0].granule_bytes, known[_i].num_chunks);
  ck_assert_int_eq(estimate.source_bytes_read / traits[0].granule_bytes, known[_i].num_reads);
  ck_assert_int_eq(estimate.scratch_bytes, known[_i].mid_bytes);
  ck_assert_int_le(estimate.bytes_written, problem.dst_bytes + known[_i].mid_bytes);
  ck_assert_int_le(estimate.host_bytes, known[_i].memory);
}

static void draw_known(rlo_job_options *options) {
  test_random random = {1};
  g = (grids){.rank = 2,
              .permutation = {1, 0},
              .extents = {100, 90},
              .chunks = {{32, 24}, {20, 36}},
              .dtype = "u8",
              .element_bytes = 1,
              .is_filled = true};
  ck_assert(lower(&random));
  *options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  options->host_memory_bytes = 4096;
}

/* Gives a job an intermediate. */
static void take_two_passes(rlo_job_options *options) {
  options->scratch = mid.storage;
  options->passes = 2;
}

RLO_TEST(test_service_chunks__each_call_may_fail) {
  rlo_job_options options;
  chunk_store *stores[] = {&src, &dst, &mid};
  for (int side = 0; side < 3; ++side) {
    for (int at = 1; at <= 10; at += 3) {
      draw_known(&options);
      if (side == 2) {
        take_two_passes(&options);
      }
      stores[side]->fails_at = at;
      rlo_job *job = submit(&options);
      expect_ok(rlo_job_wait(job, -1, NULL));
      expect_refusal_with(rlo_job_result(job), RLO_IO, "a chunk fails");
      rlo_job_release(job);
      release_stores();
    }
  }
}

static rlo_status reserve_nothing(void *payload, int64_t bytes) {
  (void)payload;
  return rlo_error_set(RLO_IO, "no room for %" PRId64 " bytes", bytes);
}

/* A scratch without room ends the job before a chunk is read or written. */
RLO_TEST(test_service_chunks__a_full_scratch_touches_nothing) {
  rlo_job_options options;
  draw_known(&options);
  take_two_passes(&options);
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_chunks;
  ops.write = write_chunks;
  ops.reserve = reserve_nothing;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = MOST_BYTES;
  expect_ok(rlo_storage_create(&ops, &mid, &traits, &options.scratch));
  rlo_job *job = submit(&options);
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_refusal_with(rlo_job_result(job), RLO_IO, "no room for 12288 bytes");
  ck_assert_int_eq(src.num_calls + dst.num_calls + mid.num_calls, 0);
  rlo_job_release(job);
  rlo_storage_release(options.scratch);
  options.scratch = src.storage;
  rlo_status status =
      rlo_service_submit(service, &problem, src.storage, dst.storage, &options, &job);
  expect_refusal_with(status, RLO_INVALID_ARGUMENT, "a storage of its own");
  release_stores();
}

static const bool have_scratch[] = {false, true};

RLO_TABLE_TEST(test_service_chunks__a_job_is_cancelled_and_resumed, have_scratch) {
  char folder[TEMP_FOLDER_CHARS];
  char path[TEMP_FOLDER_CHARS + 16];
  rlo_job_options options;
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/journal", folder);
  for (int at = 2; at <= 12; at += 5) {
    draw_known(&options);
    options.journal_path = path;
    if (have_scratch[_i]) {
      take_two_passes(&options);
    }
    (have_scratch[_i] && at == 2 ? &mid : &dst)->fails_at = at;
    rlo_job *job = submit(&options);
    expect_ok(rlo_job_wait(job, -1, NULL));
    ck_assert_int_eq(rlo_job_result(job), RLO_IO);
    rlo_job_release(job);
    job = submit(&options);
    rlo_job_cancel(job);
    expect_ok(rlo_job_wait(job, -1, NULL));
    rlo_job_release(job);
    job = submit(&options);
    expect_ok(rlo_job_wait(job, -1, NULL));
    expect_ok(rlo_job_result(job));
    rlo_job_info info = RLO_JOB_INFO_INIT;
    expect_ok(rlo_job_get_info(job, &info));
    ck_assert(info.bytes_resumed > 0 || at == 2);
    ck_assert_mem_eq(dst.memory, wanted, MOST_BYTES);
    ck_assert_int_eq(info.num_passes, have_scratch[_i] ? 2 : 1);
    rlo_job_release(job);
    release_stores();
    temp_folder_clear(folder);
  }
  temp_folder_remove(folder);
}
