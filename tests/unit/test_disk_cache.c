/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "relayout/opencl.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum { LIMIT = 1 << 20 };

static char home[64];
static char folder_path[96];
static rlo__disk_cache *cache;
/** The last line that the cache logged. */
static char last_line[1024];

static void write_down(void *payload, int32_t level, const char *line) {
  (void)payload;
  if (level <= (int32_t)RLO__LOG_WARNING) {
    snprintf(last_line, sizeof last_line, "%s", line);
  }
}

static const rlo__log_sink sink = {write_down, NULL, RLO__LOG_DEBUG};

static rlo__disk_cache *create(const char *path, const char *shared, int64_t limit_bytes,
                               uid_t owner) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  rlo__disk_cache *made = NULL;
  options.cache_dir = path;
  options.shared_cache_dirs = shared;
  options.cache_limit_bytes = limit_bytes;
  expect_ok(rlo__disk_cache_create(&options, owner, &sink, &made));
  return made;
}

static void open_cache(int64_t limit_bytes) {
  rlo__disk_cache_destroy(cache);
  cache = create(folder_path, "", limit_bytes, geteuid());
}

static int64_t allocations_before;

static void make_home(void) {
  allocations_before = rlo__alloc_live_count();
  last_line[0] = '\0';
  snprintf(home, sizeof home, "/tmp/relayout-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(home));
  snprintf(folder_path, sizeof folder_path, "%s/cache", home);
  open_cache(LIMIT);
}

static void remove_home(void) {
  rlo__disk_cache_destroy(cache);
  cache = NULL;
  chmod(folder_path, 0700);
  temp_folder_remove(home);
  ck_assert_int_eq(rlo__alloc_live_count(), allocations_before);
}

RLO_FIXTURE(make_home, remove_home);

static rlo__cache_key key_of(const char *word) {
  const char *const strings[] = {"test", word};
  rlo__cache_key key;
  expect_ok(rlo__cache_key_init(strings, 2, &key));
  return key;
}

static void store_word(const char *word, size_t bytes) {
  rlo__cache_key key = key_of(word);
  char *payload = calloc(1, bytes);
  ck_assert_ptr_nonnull(payload);
  snprintf(payload, bytes, "%s", word);
  rlo__disk_cache_store(cache, &key, payload, bytes);
  free(payload);
  rlo__cache_key_deinit(&key);
}

static bool has_word(const char *word) {
  rlo__cache_key key = key_of(word);
  rlo__disk_cache_found found;
  bool is_found = rlo__disk_cache_load(cache, &key, &found);
  if (is_found) {
    ck_assert_str_eq((const char *)found.payload, word);
  }
  rlo__free(found.data);
  rlo__cache_key_deinit(&key);
  return is_found;
}

static void path_of(const char *word, char out_path[256]) {
  rlo__cache_key key = key_of(word);
  snprintf(out_path, 256, "%s/%s", folder_path, key.name);
  rlo__cache_key_deinit(&key);
}

static rlo_context_stats stats_now(void) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  rlo__disk_cache_get_stats(cache, &stats);
  return stats;
}

static size_t count_files(void) {
  rlo__directory folder;
  rlo__directory_file *files = NULL;
  size_t count = 0;
  expect_ok(rlo__directory_open(folder_path, geteuid(), false, &folder));
  expect_ok(rlo__directory_list(&folder, &files, &count));
  rlo__free(files);
  rlo__directory_close(&folder);
  return count;
}

static mode_t mode_of(const char *path) {
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  return st.st_mode & 07777;
}

RLO_TEST(test_disk_cache__keeps_what_it_is_given) {
  struct stat st;
  ck_assert(rlo__disk_cache_is_on(cache));
  ck_assert(!has_word("one"));
  ck_assert_int_ne(stat(folder_path, &st), 0); /* reading makes no folder */
  store_word("one", 100);
  ck_assert(has_word("one"));
  ck_assert(!has_word("two"));
  store_word("one", 200);
  ck_assert(has_word("one"));
  char path[256];
  path_of("one", path);
  ck_assert_uint_eq(mode_of(path), 0600);
  ck_assert_uint_eq(mode_of(folder_path), 0700);
  ck_assert_uint_eq(count_files(), 1);
  open_cache(LIMIT); /* as another process would */
  ck_assert(has_word("one"));
  rlo_context_stats stats = stats_now();
  ck_assert_int_eq(stats.disk_hits, 1);
  ck_assert_int_eq(stats.disk_misses, 0);
  ck_assert_int_eq(stats.disk_writes, 0);
  ck_assert_int_eq(stats.disk_rejects, 0);
  ck_assert_str_eq(last_line, "");
}

RLO_TEST(test_disk_cache__is_off_without_a_folder) {
  rlo__disk_cache_destroy(cache);
  cache = create("", NULL, LIMIT, geteuid());
  ck_assert(!rlo__disk_cache_is_on(cache));
  store_word("one", 100);
  ck_assert(!has_word("one"));
  ck_assert_int_eq(stats_now().disk_writes, 0);
  ck_assert_str_eq(last_line, "");
}

RLO_TEST(test_disk_cache__is_in_the_home_by_default) {
  char *path = NULL;
  char expected[128];
  ck_assert_int_eq(setenv("HOME", home, 1), 0);
  ck_assert_int_eq(setenv("XDG_CACHE_HOME", "/somewhere/else", 1), 0);
  expect_ok(rlo__disk_cache_default_path(&path));
  ck_assert_str_eq(path, "/somewhere/else/relayout");
  rlo__free(path);
  snprintf(expected, sizeof expected, "%s/.cache/relayout", home);
  for (int32_t i = 0; i < 2; ++i) {
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", i == 0 ? "" : "relative", 1), 0);
    expect_ok(rlo__disk_cache_default_path(&path));
    ck_assert_str_eq(path, expected);
    rlo__free(path);
  }
  /* .cache is made as well. */
  rlo__disk_cache_destroy(cache);
  cache = create(NULL, NULL, LIMIT, geteuid());
  store_word("one", 100);
  ck_assert(has_word("one"));
  ck_assert_uint_eq(mode_of(expected), 0700);
  ck_assert_int_eq(unsetenv("XDG_CACHE_HOME"), 0);
  ck_assert_int_eq(setenv("HOME", "here", 1), 0);
  expect_ok(rlo__disk_cache_default_path(&path));
  ck_assert_ptr_null(path);
  ck_assert_int_eq(unsetenv("HOME"), 0);
  expect_ok(rlo__disk_cache_default_path(&path));
  ck_assert_ptr_null(path);
}

/* ------------------------------------------------------------- what is not
 * good
 */

/** Cut a file, or turn one of its bytes. */
static void damage(const char *path, off_t length, off_t at) {
  if (length >= 0) {
    ck_assert_int_eq(truncate(path, length), 0);
    return;
  }
  int fd = open(path, O_RDWR);
  uint8_t byte = 0;
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
  byte ^= 0x55;
  ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

RLO_TEST(test_disk_cache__deletes_an_entry_that_was_damaged) {
  char path[256];
  path_of("one", path);
  store_word("one", 10);
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  int64_t rejects = 0;
  for (off_t at = 0; at < st.st_size; ++at) {
    for (int32_t is_cut = 0; is_cut < 2; ++is_cut) {
      store_word("one", 10);
      damage(path, is_cut == 1 ? at : -1, at);
      ck_assert(!has_word("one"));
      ck_assert_int_eq(stats_now().disk_rejects, ++rejects);
      ck_assert_int_ne(access(path, F_OK), 0);
    }
  }
  ck_assert_ptr_nonnull(strstr(last_line, "is not used"));
  store_word("one", 10);
  ck_assert(has_word("one"));
}

RLO_TEST(test_disk_cache__deletes_an_entry_of_another_key) {
  char one[256];
  char two[256];
  path_of("one", one);
  path_of("two", two);
  store_word("one", 10);
  ck_assert_int_eq(rename(one, two), 0);
  ck_assert(!has_word("two"));
  ck_assert_ptr_nonnull(strstr(last_line, "another program or device"));
  ck_assert_uint_eq(count_files(), 0);
}

RLO_TEST(test_disk_cache__takes_no_entry_that_others_could_have_written) {
  char path[256];
  char other[256];
  path_of("one", path);
  path_of("two", other);
  store_word("one", 10);
  ck_assert_int_eq(chmod(path, 0620), 0);
  ck_assert(!has_word("one"));
  ck_assert_int_ne(access(path, F_OK), 0);
  store_word("one", 10);
  ck_assert_int_eq(rename(path, other), 0);
  ck_assert_int_eq(symlink(other, path), 0);
  ck_assert(!has_word("one"));
  ck_assert_ptr_nonnull(strstr(last_line, "symbolic link"));
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  ck_assert(!has_word("one")); /* and does not wait for a writer */
  ck_assert_ptr_nonnull(strstr(last_line, "not a regular file"));
}

/** The folder is of no use: nothing is read, nothing written, one line. */
static void check_refusal(const char *words) {
  ck_assert(!has_word("one"));
  store_word("one", 10);
  store_word("two", 10);
  ck_assert(!has_word("one"));
  ck_assert_msg(strstr(last_line, words) != NULL, "%s", last_line);
  ck_assert_int_eq(stats_now().disk_writes, 0);
  ck_assert_int_eq(stats_now().disk_hits, 0);
  last_line[0] = '\0';
  ck_assert(!has_word("one"));
  ck_assert_str_eq(last_line, "");
}

RLO_TEST(test_disk_cache__uses_no_folder_that_others_can_write_to) {
  store_word("one", 10);
  static const mode_t modes[] = {0770, 0720, 0702, 01777};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    ck_assert_int_eq(chmod(folder_path, modes[i]), 0);
    open_cache(LIMIT);
    check_refusal("can be written to by others");
  }
  ck_assert_int_eq(chmod(folder_path, 0755), 0);
  open_cache(LIMIT);
  ck_assert(has_word("one")); /* others may look */
}

RLO_TEST(test_disk_cache__uses_no_folder_of_somebody_else) {
  store_word("one", 10);
  rlo__disk_cache_destroy(cache);
  cache = create(folder_path, "", LIMIT, geteuid() + 1);
  check_refusal("belongs to user");
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(folder_path, 12345, 12345), 0);
    open_cache(LIMIT);
    check_refusal("belongs to user 12345");
    char path[256];
    path_of("one", path);
    ck_assert_int_eq(chown(folder_path, 0, 0), 0);
    ck_assert_int_eq(chown(path, 12345, 12345), 0);
    open_cache(LIMIT);
    ck_assert(!has_word("one"));
    ck_assert_ptr_nonnull(strstr(last_line, "belongs to user 12345"));
  }
}

RLO_TEST(test_disk_cache__uses_no_link_and_no_file_for_a_folder) {
  char elsewhere[128];
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", home);
  ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
  ck_assert_int_eq(symlink(elsewhere, folder_path), 0);
  check_refusal("a symbolic link");
  ck_assert_int_eq(unlink(folder_path), 0);
  int fd = open(folder_path, O_CREAT | O_WRONLY, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
  open_cache(LIMIT);
  check_refusal("not a directory");
}

/* Opens a cache of an own folder that is empty, beside those of others. */
static void open_shared(const char *own, const char *shared) {
  rlo__disk_cache_destroy(cache);
  cache = create(own, shared, LIMIT, geteuid());
}

RLO_TEST(test_disk_cache__reads_what_came_with_a_package) {
  char own[128];
  char list[512];
  char path[256];
  snprintf(own, sizeof own, "%.100s/own", home);
  snprintf(list, sizeof list, "%s/missing:%s", home, folder_path);
  path_of("one", path);
  store_word("one", 10);
  ck_assert_int_eq(chmod(folder_path, 0755) + chmod(path, 0644), 0);
  open_shared(own, list);
  ck_assert(has_word("one"));
  ck_assert(!has_word("two"));
  store_word("two", 10);
  ck_assert(has_word("two"));
  ck_assert_uint_eq(count_files(), 1); /* the other one is in the own folder */
  ck_assert_int_eq(stats_now().disk_hits, 2);
  ck_assert_int_eq(stats_now().disk_misses, 1);
  ck_assert_str_eq(last_line, "");
  /* Without an own folder nothing is written. */
  open_shared("", folder_path);
  ck_assert(rlo__disk_cache_is_on(cache) && !rlo__disk_cache_is_usable(cache));
  ck_assert(has_word("one"));
  /* What is at fault stays: it is not this user's to delete. */
  damage(path, -1, 3);
  ck_assert(!has_word("one"));
  ck_assert_ptr_nonnull(strstr(last_line, "is not used"));
  ck_assert_int_eq(access(path, F_OK), 0);
  ck_assert_int_eq(stats_now().disk_rejects, 1);
  store_word("one", 10);
  ck_assert(!has_word("one"));
}

RLO_TEST(test_disk_cache__reads_no_shared_folder_that_others_can_write_to) {
  char path[256];
  path_of("one", path);
  store_word("one", 10);
  open_shared("", folder_path);
  ck_assert(has_word("one"));
  ck_assert_int_eq(chmod(path, 0664), 0);
  ck_assert(!has_word("one"));
  ck_assert_int_eq(chmod(path, 0644) + chmod(folder_path, 0775), 0);
  ck_assert(!has_word("one"));
  ck_assert_ptr_nonnull(strstr(last_line, "can be written to by others"));
  last_line[0] = '\0'; /* it is said once, not for each program */
  ck_assert(!has_word("one"));
  ck_assert_str_eq(last_line, "");
  ck_assert_int_eq(chmod(folder_path, 0755), 0);
  ck_assert(has_word("one"));
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(path, 12345, 12345), 0);
    ck_assert(!has_word("one"));
    ck_assert_ptr_nonnull(strstr(last_line, "belongs to user 12345"));
  }
}

/* --------------------------------------------------------- failing to write */

RLO_TEST(test_disk_cache__survives_a_disk_that_is_full) {
  store_word("old", 100);
  /* In a child, because a limit that was lowered stays. */
  fflush(NULL);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    /* A write beyond fails with EFBIG: as on a full disk, in the middle of the
     * file. */
    struct rlimit limit = {4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    bool is_well = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    store_word("new", 100000);
    is_well = is_well && !has_word("new") && has_word("old") && stats_now().disk_writes == 1 &&
              count_files() == 1 && strstr(last_line, "is not written") != NULL;
    _exit(is_well ? 0 : 1);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert(has_word("old"));
}

RLO_TEST(test_disk_cache__survives_a_folder_that_cannot_be_written_to) {
  if (geteuid() == 0) {
    /* The superuser writes everywhere but in /proc. */
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", (long)getpid());
    rlo__disk_cache_destroy(cache);
    cache = create(path, "", LIMIT, geteuid());
  } else {
    ck_assert_int_eq(mkdir(folder_path, 0500), 0);
  }
  store_word("one", 10);
  ck_assert_ptr_nonnull(strstr(last_line, "is not written"));
  ck_assert(!has_word("one"));
  ck_assert_int_eq(stats_now().disk_writes, 0);
}

RLO_TEST(test_disk_cache__survives_running_out_of_memory) {
  store_word("one", 10);
  rlo__cache_key key = key_of("one");
  int64_t live = rlo__alloc_live_count();
  for (int64_t nth = 1; nth < 10; ++nth) {
    rlo__disk_cache_found found;
    rlo__alloc_set_fault(nth, true);
    (void)rlo__disk_cache_load(cache, &key, &found);
    rlo__alloc_set_fault(0, false);
    rlo__free(found.data);
    rlo__alloc_set_fault(nth, true);
    rlo__disk_cache_store(cache, &key, "one", 4);
    rlo__alloc_set_fault(0, false);
    ck_assert_int_eq(rlo__alloc_live_count(), live);
  }
  rlo__cache_key_deinit(&key);
  ck_assert_int_eq(stats_now().disk_rejects, 0);
  ck_assert(has_word("one"));
}

/* ----------------------------------------------------------------- its size */

RLO_TEST(test_disk_cache__drops_what_was_unused_for_longest) {
  static const char *const names[] = {"a", "b", "c", "d"};
  open_cache(4 * 1200);
  for (size_t i = 0; i < 4; ++i) {
    char path[256];
    store_word(names[i], 1000);
    path_of(names[i], path);
    /* Files written at once may have one time. */
    const struct timespec times[2] = {{1000 + (time_t)i, 0}, {1000 + (time_t)i, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
  }
  ck_assert(has_word("a")); /* that makes it the youngest */
  store_word("e", 1000);
  ck_assert(!has_word("b"));
  ck_assert(has_word("a") && has_word("c") && has_word("d") && has_word("e"));
  store_word("large", 3000);
  ck_assert(has_word("large"));
  ck_assert_uint_eq(count_files(), 2);
  last_line[0] = '\0';
  store_word("too large", 5000);
  ck_assert_ptr_nonnull(strstr(last_line, "the limit is"));
  ck_assert_uint_eq(count_files(), 2);
}

/* The cache holds its limit and not a byte more. */
RLO_TEST(test_disk_cache__may_be_as_large_as_its_limit) {
  struct stat entry;
  char path[256];
  store_word("a", 1000);
  path_of("a", path);
  ck_assert_int_eq(stat(path, &entry), 0);
  open_cache(3 * entry.st_size);
  store_word("b", 1000);
  store_word("c", 1000);
  ck_assert_uint_eq(count_files(), 3);
  open_cache(3 * entry.st_size - 1);
  store_word("c", 1000);
  ck_assert_uint_lt(count_files(), 3);
  open_cache(entry.st_size - 1);
  store_word("d", 1000);
  ck_assert_ptr_nonnull(strstr(last_line, "the limit is"));
  ck_assert(!has_word("d"));
  open_cache(entry.st_size);
  store_word("d", 1000);
  ck_assert(has_word("d"));
  ck_assert_uint_eq(count_files(), 1);
}

RLO_TEST(test_disk_cache__sweeps_what_killed_processes_left) {
  char old_path[160];
  char new_path[160];
  char foreign[160];
  store_word("one", 10);
  snprintf(old_path, sizeof old_path, "%s/.relayout-tmp-1-2-3", folder_path);
  snprintf(new_path, sizeof new_path, "%s/.relayout-tmp-4-5-6", folder_path);
  snprintf(foreign, sizeof foreign, "%s/notes.txt", folder_path);
  const char *const paths[] = {old_path, new_path, foreign};
  for (size_t i = 0; i < 3; ++i) {
    int fd = open(paths[i], O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
  }
  const struct timespec times[2] = {{1000, 0}, {1000, 0}};
  ck_assert_int_eq(utimensat(AT_FDCWD, old_path, times, 0), 0);
  ck_assert_int_eq(utimensat(AT_FDCWD, foreign, times, 0), 0);
  store_word("two", 10);
  ck_assert_int_ne(access(old_path, F_OK), 0);
  ck_assert_int_eq(access(new_path, F_OK), 0);
  ck_assert_int_eq(access(foreign, F_OK), 0);
}

/* -------------------------------------------------------- the public window */

RLO_TEST(test_disk_cache__can_be_looked_into_and_emptied) {
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  expect_ok(rlo_cache_inspect(folder_path, &info));
  ck_assert_str_eq(info.path, folder_path);
  ck_assert(info.is_usable);
  ck_assert_int_eq(info.num_entries, 0);
  expect_ok(rlo_cache_clear(folder_path, &info));
  store_word("one", 10);
  store_word("two", 20);
  char foreign[160];
  snprintf(foreign, sizeof foreign, "%s/notes.txt", folder_path);
  int fd = open(foreign, O_CREAT | O_WRONLY, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
  /* An entry of format 1, whose name has 64 digits. */
  char old[256];
  snprintf(old, sizeof old, "%s/%064d", folder_path, 7);
  fd = open(old, O_CREAT | O_WRONLY, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
  expect_ok(rlo_cache_inspect(folder_path, &info));
  ck_assert_int_eq(info.num_entries, 3);
  ck_assert_int_gt(info.bytes, 30);
  int64_t bytes = info.bytes;
  expect_ok(rlo_cache_clear(folder_path, &info));
  ck_assert_int_eq(info.num_entries, 3);
  ck_assert_int_eq(info.bytes, bytes);
  ck_assert_int_eq(access(foreign, F_OK), 0);
  ck_assert(!has_word("one"));
  expect_ok(rlo_cache_clear(folder_path, NULL));
  ck_assert_int_eq(chmod(folder_path, 0777), 0);
  expect_ok(rlo_cache_inspect(folder_path, &info));
  ck_assert(!info.is_usable);
  ck_assert_str_ne(info.reason, "");
  ck_assert_int_eq(rlo_cache_clear(folder_path, &info), RLO_UNSUPPORTED);
  expect_ok(rlo_cache_inspect("", &info));
  ck_assert(!info.is_usable);
  ck_assert_int_eq(rlo_cache_inspect(NULL, NULL), RLO_INVALID_ARGUMENT);
}

/* A failure to list the entries names the cache. */
RLO_TEST(test_disk_cache__says_which_cannot_be_listed) {
  char wanted[160];
  snprintf(wanted, sizeof wanted, "cache \"%s\": ", folder_path);
  store_word("one", 10);
  int named = 0;
  for (int64_t nth = 1; nth <= 20; ++nth) {
    rlo_cache_info info = RLO_CACHE_INFO_INIT;
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_cache_inspect(folder_path, &info);
    rlo__alloc_set_fault(0, false);
    if (status != RLO_OK) {
      ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
      named += strncmp(rlo_error_last()->message, wanted, strlen(wanted)) == 0;
    }
  }
  ck_assert_int_gt(named, 0);
}
