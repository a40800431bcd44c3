/* SPDX-License-Identifier: Apache-2.0 */

/* One storage, many threads: each writes a lattice between those of the others,
 * and reads it back. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "service/storage.h"
#include "service/storage_cache.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"
#include "support/watched_storage.h"

enum {
  NUM_THREADS = 4,
  RUN = 100,
  NUM_RUNS = 20,
  ROUNDS = 200,
  ROUND_BYTES = NUM_THREADS * NUM_RUNS * RUN,
  BYTES = ROUNDS * ROUND_BYTES
};

static atomic_int num_write_backs;

/* Without the disk, which is not what is tested. */
static int pretend_sync(int fd) {
  (void)fd;
  return 0;
}

static int pretend_write_back(int fd, int64_t offset, int64_t bytes, bool is_end) {
  (void)fd;
  (void)offset;
  (void)bytes;
  (void)is_end;
  atomic_fetch_add(&num_write_backs, 1);
  return 0;
}

typedef struct writer {
  rlo_storage *storage;
  int64_t number;
  rlo_status status;
} writer;

static char letter_of(int64_t place, int64_t thread) {
  return (char)(place * NUM_THREADS + thread);
}

static rlo_status write_and_read(const writer *w) {
  const int64_t extent = NUM_RUNS;
  const int64_t stride = (int64_t)NUM_THREADS * RUN;
  char text[NUM_RUNS * RUN], got[NUM_RUNS * RUN];
  for (int64_t round = 0; round < ROUNDS; ++round) {
    /* All over the file, so that a trail has many ranges. */
    int64_t place = round * 17 % ROUNDS;
    int64_t base = place * ROUND_BYTES + w->number * RUN;
    memset(text, letter_of(place, w->number), sizeof text);
    rlo_status status = test_transfer(w->storage, base, &extent, &stride, 1, RUN, text, true);
    if (status == RLO_OK) {
      status = test_transfer(w->storage, base, &extent, &stride, 1, RUN, got, false);
    }
    if (status == RLO_OK && memcmp(text, got, sizeof got) != 0) {
      status = RLO_INTERNAL;
    }
    rlo_storage_release(rlo_storage_retain(w->storage));
    if (status != RLO_OK) {
      return status;
    }
  }
  /* While others write on. */
  return w->number == 0 ? rlo__storage_flush(w->storage) : RLO_OK;
}

static void run_writer(void *payload) {
  writer *w = payload;
  w->status = write_and_read(w);
  rlo_storage_release(w->storage);
}

/** Runs all threads on a storage and releases it. */
static void run_threads(rlo_storage *storage, int64_t reads_of_lattice) {
  writer writers[NUM_THREADS];
  rlo__thread threads[NUM_THREADS];
  for (int i = 0; i < NUM_THREADS; ++i) {
    writers[i] = (writer){.storage = rlo_storage_retain(storage), .number = i};
    expect_ok(rlo__thread_start(run_writer, &writers[i], &threads[i]));
  }
  for (int i = 0; i < NUM_THREADS; ++i) {
    rlo__thread_join(&threads[i]);
    expect_ok(writers[i].status);
  }
  static char whole[BYTES];
  expect_ok(rlo__storage_read(storage, 0, BYTES, whole));
  for (int64_t i = 0; i < BYTES; ++i) {
    char wanted = letter_of(i / ROUND_BYTES, i / RUN % NUM_THREADS);
    if (whole[i] != wanted) {
      ck_abort_msg("byte %lld is %d", (long long)i, whole[i]);
    }
  }
  test_storage_stats stats;
  stats = test_storage_get_stats(storage);
  ck_assert_int_eq(stats.bytes_written, BYTES);
  ck_assert_int_eq(stats.bytes_read, 2 * BYTES);
  ck_assert(test_thresholds_are_low() ||
            stats.num_reads == NUM_THREADS * ROUNDS * reads_of_lattice + 1);
  rlo_storage_release(storage);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_storage_threads__memory) {
  static char memory[BYTES];
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_memory(memory, BYTES, &storage));
  run_threads(storage, 1);
}

RLO_TEST(test_storage_threads__a_streamed_file) {
  rlo__storage_calls calls = rlo__storage_system_calls;
  calls.write_back = pretend_write_back;
  calls.sync = pretend_sync;
  int fd = temp_file_open();
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_fd(fd, 0, BYTES, NULL, &storage));
  rlo__storage_set_calls(storage, &calls);
  rlo__storage_set_streamed(storage);
  expect_ok(rlo__storage_reserve(storage, BYTES));
  run_threads(storage, 1);
  ck_assert_int_gt(atomic_load(&num_write_backs), 0);
  ck_assert_int_eq(close(fd), 0);
}

RLO_TEST(test_storage_threads__functions) {
  static const char zeros[BYTES];
  watched_storage watched;
  watched_storage_init(&watched, TEST_STORAGE_FUNCTIONS, zeros, BYTES, NULL);
  run_threads(watched.storage, NUM_RUNS);
  watched.storage = NULL;
  watched_storage_deinit(&watched);
}

/* ----------------------------------------------------------- past the cache */

enum { LONG_RUN = 70001, NUM_LONG_RUNS = 40 };

/* Every fourth run is of one thread; where two runs meet, they share a block,
 * which neither may write as a whole. */
static void run_long_writer(void *payload) {
  writer *w = payload;
  static char texts[NUM_THREADS][LONG_RUN];
  char *text = texts[w->number];
  for (int64_t n = w->number; n < NUM_LONG_RUNS && w->status == RLO_OK; n += NUM_THREADS) {
    memset(text, (char)n, LONG_RUN);
    w->status = rlo__storage_write(w->storage, n * LONG_RUN, LONG_RUN, text);
    if (w->status == RLO_OK) {
      memset(text, 0, LONG_RUN);
      w->status = rlo__storage_read(w->storage, n * LONG_RUN, LONG_RUN, text);
    }
    if (text[0] != (char)n || text[LONG_RUN - 1] != (char)n) {
      w->status = RLO_INTERNAL;
    }
  }
}

RLO_TEST(test_storage_threads__past_the_page_cache) {
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = true;
  int fd = temp_file_open();
  rlo_storage *storage = NULL;
  const int64_t bytes = (int64_t)NUM_LONG_RUNS * LONG_RUN;
  rlo_status status = rlo_storage_from_fd(fd, 3, bytes, &hints, &storage);
  if (status != RLO_UNSUPPORTED) {
    expect_ok(status);
    expect_ok(rlo__storage_reserve(storage, bytes));
    writer writers[NUM_THREADS];
    rlo__thread threads[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; ++i) {
      writers[i] = (writer){.storage = storage, .number = i, .status = RLO_OK};
      expect_ok(rlo__thread_start(run_long_writer, &writers[i], &threads[i]));
    }
    for (int i = 0; i < NUM_THREADS; ++i) {
      rlo__thread_join(&threads[i]);
      expect_ok(writers[i].status);
    }
    static char whole[NUM_LONG_RUNS * LONG_RUN];
    ck_assert_int_eq(pread(fd, whole, sizeof whole, 3), bytes);
    for (int64_t i = 0; i < bytes; ++i) {
      if (whole[i] != (char)(i / LONG_RUN)) {
        ck_abort_msg("byte %lld is %d", (long long)i, whole[i]);
      }
    }
    test_storage_stats stats;
    stats = test_storage_get_stats(storage);
    ck_assert_int_gt(stats.direct_bytes_written, bytes / 10 * 8);
    rlo_storage_release(storage);
  }
  ck_assert_int_eq(close(fd), 0);
}
