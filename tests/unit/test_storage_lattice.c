/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "service/storage.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/random.h"
#include "support/storage_transfer.h"
#include "support/suite.h"
#include "support/temp_file.h"
#include "support/watched_storage.h"

enum { MAX_DIMS = 5, STORAGE_BYTES = 200000, NUM_CASES = 400 };

typedef struct lattice {
  int64_t base, run_bytes;
  int32_t num_dims;
  int64_t extents[MAX_DIMS], strides[MAX_DIMS];
} lattice;

static int64_t packed_bytes(const lattice *l) {
  int64_t bytes = l->run_bytes;
  for (int32_t d = 0; d < l->num_dims; ++d) {
    bytes *= l->extents[d];
  }
  return bytes;
}

/** The position in the storage of a byte of packed memory: from its index, one
 *  dimension at a time. */
static int64_t position_of(const lattice *l, int64_t packed) {
  int64_t position = l->base + packed % l->run_bytes;
  int64_t index = packed / l->run_bytes;
  for (int32_t d = l->num_dims - 1; d >= 0; --d) {
    position += index % l->extents[d] * l->strides[d];
    index /= l->extents[d];
  }
  return position;
}

/** A lattice without overlaps in the first STORAGE_BYTES: nested boxes with
 *  gaps of 0 to some bytes between, the dimensions in any order. */
static lattice draw(test_random *random) {
  lattice l = {.run_bytes = test_random_in(random, 1, 3000)};
  if (test_random_once_in(random, 3)) {
    l.run_bytes = test_random_in(random, 1, 16);
  }
  l.num_dims = (int32_t)test_random_in(random, 0, MAX_DIMS);
  int64_t span = l.run_bytes;
  for (int32_t d = l.num_dims - 1; d >= 0; --d) {
    int64_t gap = test_random_once_in(random, 2)
                      ? 0
                      : test_random_in(random, 0, test_random_once_in(random, 2) ? 64 : 9000);
    int64_t stride = span + gap;
    int64_t most = (STORAGE_BYTES - span) / stride + 1;
    int64_t extent = test_random_in(random, 1, most < 7 ? most : 7);
    span += (extent - 1) * stride;
    l.extents[d] = extent;
    l.strides[d] = stride;
  }
  for (int32_t d = 0; d + 1 < l.num_dims; ++d) {
    if (test_random_once_in(random, 4)) {
      int64_t extent = l.extents[d];
      int64_t stride = l.strides[d];
      l.extents[d] = l.extents[d + 1];
      l.strides[d] = l.strides[d + 1];
      l.extents[d + 1] = extent;
      l.strides[d + 1] = stride;
    }
  }
  bool is_last = test_random_once_in(random, 4);
  l.base = test_random_in(random, is_last ? STORAGE_BYTES - span : 0, STORAGE_BYTES - span);
  return l;
}

/** Storages of each kind, with equal contents, and a file that is streamed. */
enum { NUM_STORAGES = TEST_STORAGE_NUM_KINDS + 1 };

typedef struct storages {
  char *expected;
  watched_storage storages[NUM_STORAGES];
} storages;

static void begin(storages *s, test_random *random) {
  s->expected = malloc(STORAGE_BYTES);
  ck_assert_ptr_nonnull(s->expected);
  for (int64_t i = 0; i < STORAGE_BYTES; ++i) {
    s->expected[i] = (char)test_random_bits(random);
  }
  for (int k = 0; k < NUM_STORAGES; ++k) {
    bool is_streamed = k == TEST_STORAGE_NUM_KINDS;
    watched_storage_init(&s->storages[k], is_streamed ? TEST_STORAGE_FILE : (test_storage_kind)k,
                         s->expected, STORAGE_BYTES, NULL);
  }
  rlo__storage_set_streamed(s->storages[TEST_STORAGE_NUM_KINDS].storage);
}

static char whole[STORAGE_BYTES];

static void end(storages *s) {
  for (int k = 0; k < NUM_STORAGES; ++k) {
    watched_storage_get(&s->storages[k], whole);
    ck_assert_int_eq(memcmp(whole, s->expected, STORAGE_BYTES), 0);
    watched_storage_deinit(&s->storages[k]);
  }
  free(s->expected);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

static char packed[STORAGE_BYTES + 1];
static char wanted[STORAGE_BYTES];

RLO_TEST(test_storage_lattice__reads_what_the_index_says) {
  test_random random = test_random_begin("test_storage_lattice");
  storages s;
  begin(&s, &random);
  for (int n = 0; n < NUM_CASES; ++n) {
    lattice l = draw(&random);
    int64_t bytes = packed_bytes(&l);
    for (int64_t i = 0; i < bytes; ++i) {
      wanted[i] = s.expected[position_of(&l, i)];
    }
    for (int k = 0; k < NUM_STORAGES; ++k) {
      memset(packed, 0, sizeof packed);
      expect_ok(test_transfer(s.storages[k].storage, l.base, l.extents, l.strides, l.num_dims,
                              l.run_bytes, packed, false));
      ck_assert_msg(memcmp(packed, wanted, (size_t)bytes) == 0, "case %d, storage %d", n, k);
      ck_assert_int_eq(packed[bytes], 0);
    }
  }
  end(&s);
}

RLO_TEST(test_storage_lattice__writes_its_runs_and_nothing_else) {
  test_random random = test_random_begin("test_storage_lattice");
  storages s;
  begin(&s, &random);
  for (int n = 0; n < NUM_CASES; ++n) {
    lattice l = draw(&random);
    int64_t bytes = packed_bytes(&l);
    for (int64_t i = 0; i < bytes; ++i) {
      packed[i] = (char)test_random_bits(&random);
      s.expected[position_of(&l, i)] = packed[i];
    }
    for (int k = 0; k < NUM_STORAGES; ++k) {
      expect_ok(test_transfer(s.storages[k].storage, l.base, l.extents, l.strides, l.num_dims,
                              l.run_bytes, packed, true));
      expect_ok(rlo__storage_read(s.storages[k].storage, 0, STORAGE_BYTES, whole));
      ck_assert_msg(memcmp(whole, s.expected, STORAGE_BYTES) == 0, "case %d, storage %d", n, k);
    }
  }
  end(&s);
}

/* ----------------------------------------------------------- how many calls */

static const struct {
  int64_t run_bytes, stride, extent;
  /** 0: a call for each run. */
  int64_t num_reads;
} joined[] = {
    /* Shares pages: joined, up to 256 runs and gaps in a call. */
    {16, 512, 100, 1},
    {16, 512, 257, 2},
    {16, 4000, 40, 1},
    /* A gap that holds a page, and is longer than the run. */
    {16, 5000, 40, 0},
    /* A gap as long as the run, up to 16 KiB. */
    {5000, 10000, 20, 1},
    {5000, 10001, 19, 0},
    {16384, 32768, 6, 1},
    {17000, 34000, 5, 0},
    /* Long runs are read on their own. */
    {65535, 65536, 3, 1},
    {65536, 65537, 3, 0},
};

RLO_TABLE_TEST(test_storage_lattice__gaps_are_read_where_it_pays, joined) {
  if (test_thresholds_are_low()) {
    return;
  }
  int fd = temp_file_open();
  ck_assert_int_eq(ftruncate(fd, STORAGE_BYTES), 0);
  rlo_storage *storage = NULL;
  expect_ok(rlo_storage_from_fd(fd, 0, STORAGE_BYTES, NULL, &storage));
  int64_t run_bytes = joined[_i].run_bytes;
  int64_t stride = joined[_i].stride;
  int64_t extent = joined[_i].extent;
  expect_ok(test_transfer(storage, 0, &extent, &stride, 1, run_bytes, packed, false));
  test_storage_stats stats;
  stats = test_storage_get_stats(storage);
  int64_t num_reads = joined[_i].num_reads;
  ck_assert_int_eq(stats.num_reads, num_reads == 0 ? extent : num_reads);
  ck_assert_int_eq(stats.bytes_read, extent * run_bytes);
  ck_assert_int_eq(stats.bytes_skipped,
                   num_reads == 0 ? 0 : (extent - num_reads) * (stride - run_bytes));
  /* Writes are never joined. */
  expect_ok(test_transfer(storage, 0, &extent, &stride, 1, run_bytes, packed, true));
  stats = test_storage_get_stats(storage);
  ck_assert_int_eq(stats.num_writes, extent);
  ck_assert_int_eq(stats.smallest_write, run_bytes);
  rlo_storage_release(storage);
  ck_assert_int_eq(close(fd), 0);
}
