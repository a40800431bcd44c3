/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "support/expect.h"
#include "support/suite.h"

/** More than a chunk that is summed at once, and no multiple of a block. */
enum { LARGE_BYTES = (4 << 20) + 12345 };

static char folder[64], from[80], to[80];
static bench_case_list list;
static rlo_problem problem;

static void setup(void) {
  static const bench_case_spec spec = {
      .name = "transposed", .dtype = "u16", .dims = "600,801", .permutation = "1,0"};
  strcpy(folder, "/tmp/relayout-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(from, sizeof from, "%s/from", folder);
  snprintf(to, sizeof to, "%s/to", folder);
  list = (bench_case_list){.size_factor = 1.0};
  ck_assert(bench_case_add(&list, &spec));
  ck_assert(bench_case_lower(&list.items[0], &problem));
}

static void teardown(void) {
  bench_case_list_deinit(&list);
  bench_disk_remove(folder);
  ck_assert_int_ne(access(folder, F_OK), 0);
}

RLO_FIXTURE(setup, teardown);

static bench_sum sum_of(const char *path) {
  bench_sum sum = {0};
  ck_assert(bench_disk_sum(path, &sum));
  return sum;
}

/* Changes one bit of a byte. */
static void flip(const char *path, off_t at) {
  uint8_t byte;
  int fd = open(path, O_RDWR);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
  byte ^= 0x10;
  ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

static void write_file(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

RLO_TEST(test_bench_disk__sums_see_value_order_and_length) {
  bench_sum made;
  ck_assert(bench_disk_fill(from, LARGE_BYTES, &made));
  ck_assert_int_eq(made.bytes, LARGE_BYTES);
  bench_sum sum = sum_of(from);
  ck_assert(bench_sum_equal(&made, &sum));
  static const off_t places[] = {0, 7, 8, 31, 32, 4095, 4 << 20, LARGE_BYTES - 26, LARGE_BYTES - 1};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    flip(from, places[i]);
    sum = sum_of(from);
    ck_assert_msg(!bench_sum_equal(&made, &sum), "byte %ld", (long)places[i]);
    flip(from, places[i]);
  }
  sum = sum_of(from);
  ck_assert(bench_sum_equal(&made, &sum));
  ck_assert_int_eq(truncate(from, LARGE_BYTES - 1), 0);
  sum = sum_of(from);
  ck_assert(!bench_sum_equal(&made, &sum));
  uint8_t words[64] = {0};
  words[0] = 1;
  write_file(to, words, sizeof words);
  made = sum_of(to);
  words[0] = 0;
  words[32] = 1; /* the same lane of the next block */
  write_file(to, words, sizeof words);
  sum = sum_of(to);
  ck_assert(!bench_sum_equal(&made, &sum));
}

static bool is_right(void) {
  char reason[256];
  return bench_disk_verify(&list.items[0], &problem, from, to, reason);
}

RLO_TEST(test_bench_disk__verify_refuses_any_wrong_file) {
  bench_sum unused;
  ck_assert(bench_disk_fill(from, problem.src_bytes, &unused));
  size_t bytes = (size_t)problem.src_bytes;
  uint8_t *src = malloc(bytes);
  uint8_t *dst = malloc(bytes);
  FILE *file = fopen(from, "r");
  ck_assert(src != NULL && dst != NULL && file != NULL);
  ck_assert_uint_eq(fread(src, 1, bytes, file), bytes);
  fclose(file);
  expect_ok(rlo_problem_run_host(&problem, src, dst));
  write_file(to, dst, bytes);
  ck_assert(is_right());
  /* At most a MiB is compared whole. */
  static const off_t places[] = {0, 1, 500000, 600 * 801 * 2 - 1};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    flip(to, places[i]);
    ck_assert_msg(!is_right(), "byte %ld", (long)places[i]);
    flip(to, places[i]);
  }
  ck_assert(is_right());
  write_file(to, dst, bytes - 1);
  ck_assert(!is_right());
  ck_assert_int_eq(unlink(to), 0);
  ck_assert(!is_right());
  free(src);
  free(dst);
}

RLO_TEST(test_bench_disk__removes_folders_with_what_is_in_them) {
  char path[160];
  snprintf(path, sizeof path, "%s/inner", folder);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/inner/file", folder);
  write_file(path, "x", 1);
  snprintf(path, sizeof path, "%s/inner", folder);
  ck_assert(bench_disk_set_cache(path, BENCH_CACHE_WARM));
  bench_disk_remove(path);
  ck_assert_int_ne(access(path, F_OK), 0);
  bench_disk_remove(path);
}
