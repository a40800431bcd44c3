/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs from disk. What a folder and an entry may do to us is tried
 * without a device, in test_disk_cache and test_cache_entry; here the driver is
 * in it, and every result is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "runtime/disk_cache.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum { RACERS = 8, ALL_RACES = 100, MOST_BYTES = 4 * 80 * 48 };

static char home[64];
static char cache_dir[96];

static void make_home(void) {
  snprintf(home, sizeof home, "/tmp/relayout-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(home));
  snprintf(cache_dir, sizeof cache_dir, "%s/cache", home);
}

static void remove_home(void) {
  temp_folder_remove(home);
}

RLO_FIXTURE(make_home, remove_home);
RLO_TIMEOUT(1200);

static rlo_context *open_context(const char *dir) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  rlo_context *context = NULL;
  options.cache_dir = dir;
  if (rlo_context_create_default(-1, &options, &context) != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  return context;
}

/** Relayout on the device and on the host. Nothing of Check in it: racing
 *  processes use it too. */
static bool run_in(rlo_context *context, rlo_plan *plan, rlo_problem *problem) {
  static uint8_t from[MOST_BYTES];
  static uint8_t expected[MOST_BYTES];
  static uint8_t got[MOST_BYTES];
  cl_context wrapped = rlo_context_cl_context(context);
  cl_int code = CL_SUCCESS;
  size_t dst_bytes = (size_t)problem->dst_bytes;
  memset(expected, 0, sizeof expected);
  memset(got, 0, sizeof got);
  test_fill_unique(from, problem->src_bytes, 4, 1);
  if (rlo_problem_run_host(problem, from, expected) != RLO_OK) {
    return false;
  }
  cl_command_queue queue = clCreateCommandQueue(wrapped, rlo_context_cl_device(context), 0, &code);
  cl_mem src =
      clCreateBuffer(wrapped, CL_MEM_COPY_HOST_PTR, (size_t)problem->src_bytes, from, &code);
  cl_mem dst = clCreateBuffer(wrapped, CL_MEM_COPY_HOST_PTR, dst_bytes, got, &code);
  bool is_done =
      code == CL_SUCCESS && rlo_enqueue(plan, queue, src, 0, dst, 0, 0, NULL, NULL) == RLO_OK &&
      clEnqueueReadBuffer(queue, dst, CL_TRUE, 0, dst_bytes, got, 0, NULL, NULL) == CL_SUCCESS;
  clReleaseMemObject(dst);
  clReleaseMemObject(src);
  clReleaseCommandQueue(queue);
  return is_done && memcmp(got, expected, dst_bytes) == 0;
}

/** Plan in a context, prepare if asked to, run. */
static bool run_relayout(rlo_context *context, const char *dst_text, bool is_prepared) {
  static rlo_problem problem;
  rlo_shape src;
  rlo_shape dst;
  const char *src_text = "f32[48,64]";
  rlo_plan *plan = NULL;
  bool is_right = rlo_shape_parse(src_text, strlen(src_text), &src) == RLO_OK &&
                  rlo_shape_parse(dst_text, strlen(dst_text), &dst) == RLO_OK &&
                  rlo_relayout_lower(&src, &dst, NULL, &problem) == RLO_OK &&
                  rlo_plan_create(context, &problem, NULL, &plan) == RLO_OK &&
                  (!is_prepared || rlo_plan_prepare(plan) == RLO_OK) &&
                  run_in(context, plan, &problem);
  rlo_plan_release(plan);
  return is_right;
}

static const char stats_format[] = "stats %lld %lld %lld %lld %lld\n";
static const char copy_text[] = "f32[48,64]";
static const char transpose_text[] = "f32[48,64]{0,1}";
static const char tile_text[] = "f32[48,64]{0,1:T(4,8)}";
static const char pad_text[] = "f32[48,64]{1,0:pad(48,80)fill(zero)}";

/** Runs a prepared relayout in a context of its own, and prints its counters:
 *  the work of this program when called with "run", a folder and a text. */
static int run_alone(const char *dir, const char *dst_text) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  rlo_context *context = open_context(dir);
  bool is_right = context != NULL && run_relayout(context, dst_text, true);
  is_right = is_right && rlo_context_get_stats(context, &stats) == RLO_OK;
  if (is_right) {
    printf(stats_format, (long long)stats.programs_built, (long long)stats.disk_hits,
           (long long)stats.disk_misses, (long long)stats.disk_rejects,
           (long long)stats.disk_writes);
  }
  rlo_context_release(context);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

/** The same, seen from the process that wants it done. */
static rlo_context_stats run_once(const char *dst_text) {
  int ends[2];
  char text[256] = "";
  fflush(NULL);
  ck_assert_int_eq(pipe(ends), 0);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execl("/proc/self/exe", "runner", "run", cache_dir, dst_text, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got = 0;
  while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) {
    length += (size_t)got;
  }
  close(ends[0]);
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  long long counts[5];
  ck_assert_int_eq(
      sscanf(text, stats_format, &counts[0], &counts[1], &counts[2], &counts[3], &counts[4]), 5);
  return (rlo_context_stats){.programs_built = counts[0],
                             .disk_hits = counts[1],
                             .disk_misses = counts[2],
                             .disk_rejects = counts[3],
                             .disk_writes = counts[4]};
}

RLO_TEST(test_program_disk__serves_the_next_process) {
  rlo_context_stats first = run_once(copy_text);
  ck_assert_int_ge(first.programs_built, 1);
  ck_assert_int_eq(first.disk_hits, 0);
  ck_assert_int_eq(first.disk_misses, first.programs_built);
  ck_assert_int_eq(first.disk_writes, first.programs_built);
  rlo_context_stats second = run_once(copy_text);
  ck_assert_int_eq(second.programs_built, 0);
  ck_assert_int_eq(second.disk_hits, first.programs_built);
  ck_assert_int_eq(second.disk_misses, 0);
  ck_assert_int_eq(second.disk_rejects, 0);
  ck_assert_int_eq(second.disk_writes, 0);
  rlo_context_stats other = run_once(transpose_text);
  ck_assert_int_eq(other.disk_hits, 0);
  ck_assert_int_ge(other.programs_built, 1);
}

/* Nothing is compiled, and nothing written. */
RLO_TEST(test_program_disk__serves_who_has_the_package) {
  const rlo_context_stats first = run_once(copy_text);
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  options.shared_cache_dirs = cache_dir;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create_default(-1, &options, &context));
  ck_assert(run_relayout(context, copy_text, true));
  const rlo_context_stats stats = test_context_stats(context);
  ck_assert_int_eq(stats.programs_built, 0);
  ck_assert_int_eq(stats.disk_hits, first.disk_writes);
  ck_assert_int_eq(stats.disk_writes, 0);
  rlo_context_release(context);
  options.shared_cache_dirs = "/usr/share:here";
  ck_assert_int_eq(rlo_context_create_default(-1, &options, &context), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_program_disk__is_not_used_where_nobody_wants_it) {
  rlo_context *context = open_context("");
  ck_assert_ptr_nonnull(context);
  ck_assert(run_relayout(context, copy_text, true));
  rlo_context_stats stats = test_context_stats(context);
  ck_assert_int_ge(stats.programs_built, 1);
  ck_assert_int_eq(stats.disk_hits + stats.disk_misses + stats.disk_writes, 0);
  rlo_context_release(context);
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "here";
  ck_assert_int_eq(rlo_context_create_default(-1, &options, &context), RLO_INVALID_ARGUMENT);
  options.cache_dir = NULL;
  options.cache_limit_bytes = -1;
  ck_assert_int_eq(rlo_context_create_default(-1, &options, &context), RLO_INVALID_ARGUMENT);
}

/** Relayout, and say how many of the programs built for it were written. */
static int64_t count_writes(rlo_context *context, const char *dst_text, bool is_prepared,
                            int64_t *out_built) {
  rlo_context_stats before = test_context_stats(context);
  ck_assert(run_relayout(context, dst_text, is_prepared));
  rlo_context_stats after = test_context_stats(context);
  *out_built = after.programs_built - before.programs_built;
  return after.disk_writes - before.disk_writes;
}

/* PoCL aborts if it is asked for a binary while the kernel is in flight. */
RLO_TEST(test_program_disk__asks_pocl_for_no_binary_that_may_be_in_flight) {
  int64_t built = 0;
  rlo_context *context = open_context(cache_dir);
  ck_assert_ptr_nonnull(context);
  if (!test_is_pocl(context)) {
    rlo_context_release(context);
    return;
  }
  /* Work waits for it. */
  ck_assert_int_eq(count_writes(context, copy_text, false, &built), 0);
  ck_assert_int_ge(built, 1);
  /* Another context could launch it meanwhile. */
  rlo_context *neighbour = open_context(cache_dir);
  ck_assert_ptr_nonnull(neighbour);
  ck_assert_int_eq(count_writes(neighbour, transpose_text, true, &built), 0);
  ck_assert_int_ge(built, 1);
  rlo_context_release(neighbour);
  /* A launch of another context may still run. */
  ck_assert_int_eq(count_writes(context, transpose_text, true, &built), 0);
  ck_assert_int_ge(built, 1);
  rlo_context_release(context);
  context = open_context(cache_dir);
  ck_assert_ptr_nonnull(context);
  ck_assert_int_lt(count_writes(context, copy_text, true, &built), built);
  /* Nothing of that holds. */
  ck_assert_int_eq(count_writes(context, pad_text, true, &built), built);
  ck_assert_int_ge(built, 1);
  rlo_context_release(context);
}

/* ---------------------------------------------------------- damaged entries */

typedef struct entry_list {
  rlo__directory folder;
  rlo__directory_file *files;
  size_t count;
} entry_list;

static entry_list list_entries(void) {
  entry_list list = {{-1, 0}, NULL, 0};
  expect_ok(rlo__directory_open(cache_dir, geteuid(), false, &list.folder));
  expect_ok(rlo__directory_list(&list.folder, &list.files, &list.count));
  return list;
}

static void entry_list_deinit(entry_list *list) {
  rlo__free(list->files);
  rlo__directory_close(&list->folder);
}

static void read_entry(const entry_list *list, size_t index, uint8_t **out_data,
                       size_t *out_bytes) {
  char *data;
  expect_ok(rlo__directory_read(&list->folder, list->files[index].name,
                                RLO__DISK_CACHE_MAX_ENTRY_BYTES, &data, out_bytes));
  *out_data = (uint8_t *)data;
}

static void write_entry(const entry_list *list, size_t index, const uint8_t *data, size_t bytes) {
  expect_ok(rlo__directory_write(&list->folder, list->files[index].name, data, bytes));
}

/* PoCL dies of most damaged binaries, so this process would not survive one. */
RLO_TEST(test_program_disk__hands_no_damaged_binary_to_the_driver) {
  int64_t programs = run_once(copy_text).programs_built;
  entry_list list = list_entries();
  ck_assert_uint_eq(list.count, (size_t)programs);
  const size_t samples = TEST_IS_SANITIZED ? 2 : 8;
  for (size_t i = 0; i < 2 * samples; ++i) {
    uint8_t *data = NULL;
    size_t bytes = 0;
    for (size_t e = 0; e < list.count; ++e) {
      read_entry(&list, e, &data, &bytes);
      size_t at = (2 * (i / 2) + 1) * bytes / (2 * samples);
      if (i % 2 == 0) {
        data[at] ^= 0x10;
        write_entry(&list, e, data, bytes);
      } else {
        write_entry(&list, e, data, at);
      }
      rlo__free(data);
    }
    rlo_context_stats stats = run_once(copy_text);
    ck_assert_int_eq(stats.disk_rejects, programs);
    ck_assert_int_eq(stats.disk_hits, 0);
    ck_assert_int_eq(stats.programs_built, programs);
    ck_assert_int_eq(stats.disk_writes, programs);
  }
  entry_list_deinit(&list);
  ck_assert_int_eq(run_once(copy_text).disk_hits, programs);
}

/** Where the payload begins: behind the four strings of the key. */
static size_t find_payload(const uint8_t *entry) {
  size_t at = 0;
  for (int32_t n = 0; n < 4; ++n) {
    at += strlen((const char *)entry + at) + 1;
  }
  return at;
}

/** Replace the payload of an entry; the rest of it stays good. */
static void replace_payload(const entry_list *list, size_t index, const void *payload,
                            size_t payload_bytes) {
  uint8_t *data = NULL;
  size_t bytes = 0;
  rlo__str made;
  read_entry(list, index, &data, &bytes);
  rlo__cache_key key = {.text = (char *)data, .bytes = find_payload(data)};
  expect_ok(rlo__cache_entry_encode(&key, payload, payload_bytes, &made));
  write_entry(list, index, (const uint8_t *)rlo__str_text(&made), made.length);
  rlo__str_deinit(&made);
  rlo__free(data);
}

RLO_TEST(test_program_disk__deletes_what_the_driver_has_no_use_for) {
  int64_t programs = run_once(copy_text).programs_built;
  entry_list copies = list_entries();
  uint8_t *copy_data = NULL;
  size_t copy_bytes = 0;
  read_entry(&copies, 0, &copy_data, &copy_bytes);
  size_t payload_at = find_payload(copy_data);
  ck_assert_uint_lt(payload_at + sizeof(rlo__hash128), copy_bytes);
  size_t payload_bytes = copy_bytes - sizeof(rlo__hash128) - payload_at;

  /* No binary at all. */
  for (size_t e = 0; e < copies.count; ++e) {
    replace_payload(&copies, e, "no binary", 9);
  }
  rlo_context_stats stats = run_once(copy_text);
  ck_assert_int_eq(stats.disk_rejects, programs);
  ck_assert_int_eq(stats.programs_built, programs);
  ck_assert_int_eq(run_once(copy_text).disk_hits, programs);
  entry_list_deinit(&copies);
  expect_ok(rlo_cache_clear(cache_dir, NULL));

  /* A good one, without the kernel that it should have. */
  programs = run_once(transpose_text).programs_built;
  entry_list transposes = list_entries();
  for (size_t e = 0; e < transposes.count; ++e) {
    replace_payload(&transposes, e, copy_data + payload_at, payload_bytes);
  }
  stats = run_once(transpose_text);
  ck_assert_int_eq(stats.disk_rejects, programs);
  ck_assert_int_eq(stats.programs_built, programs);
  ck_assert_int_eq(run_once(transpose_text).disk_hits, programs);
  entry_list_deinit(&transposes);
  rlo__free(copy_data);
}

/* ------------------------------------------------ programs that the caller keeps */

enum { MOST_KEPT = 8 };

static struct {
  char name[RLO__DISK_CACHE_NAME_CHARS + 1];
  uint8_t *data;
  size_t bytes;
} kept[MOST_KEPT];

static size_t num_kept;

static size_t find_kept(const char *name) {
  size_t at = 0;
  while (at < num_kept && strcmp(kept[at].name, name) != 0) {
    ++at;
  }
  return at;
}

static size_t load_kept(void *payload, const char *name, void *out_data, size_t capacity) {
  ck_assert_ptr_eq(payload, kept);
  const size_t at = find_kept(name);
  if (at == num_kept) {
    return 0;
  }
  memcpy(out_data, kept[at].data, capacity < kept[at].bytes ? capacity : kept[at].bytes);
  return kept[at].bytes;
}

static void store_kept(void *payload, const char *name, const void *data, size_t bytes) {
  ck_assert_ptr_eq(payload, kept);
  const size_t at = find_kept(name);
  ck_assert_uint_lt(at, MOST_KEPT);
  if (at == num_kept) {
    snprintf(kept[num_kept++].name, sizeof kept[at].name, "%s", name);
  }
  kept[at].data = realloc(kept[at].data, bytes);
  memcpy(kept[at].data, data, bytes);
  kept[at].bytes = bytes;
}

/** Of what no other test here builds: PoCL is asked for a binary once in a process. */
static rlo_context_stats run_with_kept(void) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  rlo_context *context = NULL;
  options.cache_dir = "";
  options.load_program = load_kept;
  options.store_program = store_kept;
  options.program_payload = kept;
  expect_ok(rlo_context_create_default(-1, &options, &context));
  ck_assert(run_relayout(context, tile_text, true));
  const rlo_context_stats stats = test_context_stats(context);
  rlo_context_release(context);
  return stats;
}

/** Four kinds of fault: changed, cut, of another version, under another name. */
static void spoil(size_t e, int32_t fault) {
  if (fault == 0) {
    kept[e].data[kept[e].bytes / 2] ^= 0x10;
  } else if (fault == 1) {
    kept[e].bytes /= 2;
  } else if (fault == 2) {
    static const char other[] = "relayout 0.0.9\0source\0options\0name";
    const rlo__cache_key key = {.text = (char *)(uintptr_t)other, .bytes = sizeof other};
    rlo__str made;
    expect_ok(rlo__cache_entry_encode(&key, kept[e].data, kept[e].bytes, &made));
    store_kept(kept, kept[e].name, rlo__str_text(&made), made.length);
    rlo__str_deinit(&made);
  } else {
    memset(kept[e].name, '0', 4);
  }
}

RLO_TEST(test_program_disk__uses_what_the_caller_keeps) {
  rlo_context_stats stats = run_with_kept();
  const int64_t programs = stats.programs_built;
  ck_assert_int_ge(programs, 1);
  ck_assert_int_eq(stats.disk_misses, programs);
  ck_assert_int_eq(stats.disk_writes, programs);
  ck_assert_uint_eq(num_kept, (size_t)programs);
  stats = run_with_kept();
  ck_assert_int_eq(stats.programs_built, 0);
  ck_assert_int_eq(stats.disk_hits, programs);
  uint8_t *good[MOST_KEPT];
  size_t good_bytes[MOST_KEPT];
  char names[MOST_KEPT][RLO__DISK_CACHE_NAME_CHARS + 1];
  for (size_t e = 0; e < (size_t)programs; ++e) {
    good_bytes[e] = kept[e].bytes;
    good[e] = malloc(kept[e].bytes);
    memcpy(good[e], kept[e].data, kept[e].bytes);
    memcpy(names[e], kept[e].name, sizeof names[e]);
  }
  for (int32_t fault = 0; fault < 4; ++fault) {
    for (size_t e = 0; e < (size_t)programs; ++e) {
      spoil(e, fault);
    }
    stats = run_with_kept();
    ck_assert_int_eq(stats.programs_built, programs);
    ck_assert_int_eq(stats.disk_hits, 0);
    ck_assert_int_eq(stats.disk_rejects, fault < 3 ? programs : 0);
    ck_assert_int_eq(stats.disk_misses, fault < 3 ? 0 : programs);
    num_kept = 0;
    for (size_t e = 0; e < (size_t)programs; ++e) {
      store_kept(kept, names[e], good[e], good_bytes[e]);
    }
  }
  ck_assert_int_eq(run_with_kept().disk_hits, programs);
  for (size_t e = 0; e < (size_t)programs; ++e) {
    free(good[e]);
  }
}

/* --------------------------------------------------------- racing processes */

/** Runs a relayout twice: the work of this program when called with "race" and
 *  a folder. */
static int race(const char *dir) {
  rlo_context *context = open_context(dir);
  bool is_right = context != NULL && run_relayout(context, copy_text, true) &&
                  run_relayout(context, copy_text, true);
  rlo_context_release(context);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

/** Processes that begin with one empty folder, at the same time. */
static void race_in(const char *dir) {
  pid_t racers[RACERS];
  fflush(NULL);
  for (int32_t i = 0; i < RACERS; ++i) {
    racers[i] = fork();
    ck_assert_int_ge(racers[i], 0);
    if (racers[i] == 0) {
      execl("/proc/self/exe", "racer", "race", dir, (char *)NULL);
      _exit(127);
    }
  }
  for (int32_t i = 0; i < RACERS; ++i) {
    int status = -1;
    ck_assert_int_eq(waitpid(racers[i], &status, 0), racers[i]);
    ck_assert_int_eq(status, 0);
  }
}

RLO_TEST(test_program_disk__stands_processes_that_race) {
  const int32_t rounds = test_case_count(ALL_RACES, 1, 1);
  for (int32_t round = 0; round < rounds; ++round) {
    snprintf(cache_dir, sizeof cache_dir, "%s/cache-%d", home, (int)round);
    race_in(cache_dir);
    entry_list list = list_entries();
    ck_assert_uint_ge(list.count, 1);
    rlo_cache_info info = RLO_CACHE_INFO_INIT;
    expect_ok(rlo_cache_inspect(cache_dir, &info));
    ck_assert_int_eq(info.num_entries, (int64_t)list.count);
    entry_list_deinit(&list);
    rlo_context_stats stats = run_once(copy_text);
    ck_assert_int_eq(stats.programs_built, 0);
    ck_assert_int_eq(stats.disk_rejects, 0);
  }
  printf("%d rounds of %d processes\n", (int)rounds, (int)RACERS);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "race") == 0) {
    return race(argv[2]);
  }
  if (argc == 4 && strcmp(argv[1], "run") == 0) {
    return run_alone(argv[2], argv[3]);
  }
  return test_suite_run(argc, argv);
}
