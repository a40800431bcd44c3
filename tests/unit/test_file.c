/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/file_replace.h"
#include "base/status.h"
#include "support/expect.h"
#include "support/suite.h"

static char folder[64];
static char path[128];

static void make_folder(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/relayout_test_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/target", folder);
}

/** Names in the folder, and with `is_removing` their end. */
static int count_names(bool is_removing) {
  DIR *dir = opendir(folder);
  ck_assert_ptr_nonnull(dir);
  int count = 0;
  const struct dirent *entry;
  while ((entry = readdir(dir)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    ++count;
    if (is_removing) {
      char name[512];
      (void)snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
      ck_assert_int_eq(remove(name), 0);
    }
  }
  ck_assert_int_eq(closedir(dir), 0);
  return count;
}

static void remove_folder(void) {
  (void)count_names(true);
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(make_folder, remove_folder);

static void expect_file(const char *name, const char *text) {
  char *data = NULL;
  size_t bytes = 0;
  expect_ok(rlo__file_read(name, 1 << 20, &data, &bytes));
  ck_assert_uint_eq(bytes, strlen(text));
  ck_assert_str_eq(data, text);
  rlo__free(data);
}

RLO_TEST(test_file__reads_what_was_written) {
  /* Sizes around the capacities that reading goes through. */
  static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};
  char *text = malloc(300000);
  ck_assert_ptr_nonnull(text);
  for (size_t i = 0; i < 300000; ++i) {
    text[i] = (char)('a' + i % 23);
  }
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    expect_ok(rlo__file_write(path, text, sizes[k]));
    ck_assert_int_eq(count_names(false), 1);
    char *data = NULL;
    size_t bytes = 1;
    expect_ok(rlo__file_read(path, SIZE_MAX, &data, &bytes));
    ck_assert_uint_eq(bytes, sizes[k]);
    ck_assert_int_eq(memcmp(data, text, bytes), 0);
    ck_assert_int_eq(data[bytes], '\0');
    rlo__free(data);
    expect_ok(rlo__file_read(path, sizes[k], &data, &bytes));
    rlo__free(data);
    if (sizes[k] > 0) {
      ck_assert_int_eq(rlo__file_read(path, sizes[k] - 1, &data, &bytes), RLO_OUT_OF_RANGE);
      ck_assert_ptr_null(data);
    }
  }
  free(text);
}

RLO_TEST(test_file__reads_what_has_no_size) {
  /* /proc files say 0. */
  char *data = NULL;
  size_t bytes = 0;
  expect_ok(rlo__file_read("/proc/self/status", 1 << 20, &data, &bytes));
  ck_assert_uint_gt(bytes, 10);
  rlo__free(data);
}

RLO_TEST(test_file__reads_what_does_not_end_up_to_the_limit) {
  char *data = NULL;
  size_t bytes = 7;
  expect_refusal(rlo__file_read("/dev/zero", 300000, &data, &bytes), RLO_OUT_OF_RANGE,
                 "\"/dev/zero\" has more than the 300000 bytes allowed here");
  ck_assert_ptr_null(data);
  ck_assert_uint_eq(bytes, 0);
}

RLO_TEST(test_file__a_directory_says_what_it_cannot_do) {
  rlo__directory directory;
  char *data = NULL;
  size_t bytes = 0;
  char inner[128];
  expect_ok(rlo__directory_open(folder, geteuid(), false, &directory));
  expect_ok(rlo__directory_write(&directory, "target", "four", 4));
  expect_refusal(rlo__directory_read(&directory, "target", 3, &data, &bytes), RLO_OUT_OF_RANGE,
                 "\"target\" has 4 bytes; at most 3 are allowed");
  ck_assert_ptr_null(data);
  (void)snprintf(inner, sizeof inner, "%s/inner", folder);
  ck_assert_int_eq(mkdir(inner, 0700), 0);
  ck_assert_int_eq(rlo__directory_remove(&directory, "inner"), RLO_IO);
  ck_assert_int_eq(rmdir(inner), 0);
  expect_ok(rlo__directory_remove(&directory, "target"));
  expect_ok(rlo__directory_remove(&directory, "target"));
  rlo__directory_close(&directory);
}

RLO_TEST(test_file__names_what_is_not_there) {
  char *data = NULL;
  size_t bytes = 0;
  expect_refusal_with(rlo__file_read(path, 10, &data, &bytes), RLO_NOT_FOUND, path);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, strerror(ENOENT)));
  expect_refusal_with(rlo__file_read(folder, 10, &data, &bytes), RLO_IO, strerror(EISDIR));
  char deep[256];
  (void)snprintf(deep, sizeof deep, "%s/none/target", folder);
  expect_refusal_with(rlo__file_write(deep, "a", 1), RLO_NOT_FOUND, deep);
  ck_assert_int_eq(rlo__file_write(folder, "a", 1), RLO_IO);
}

RLO_TEST(test_file__pread_is_exact) {
  expect_ok(rlo__file_write(path, "0123456789", 10));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  char data[8] = "";
  expect_ok(rlo__file_pread(fd, path, data, 4, 6));
  ck_assert_int_eq(memcmp(data, "6789", 4), 0);
  expect_ok(rlo__file_pread(fd, path, data, 0, 99));
  expect_refusal_with(rlo__file_pread(fd, path, data, 5, 6), RLO_DATA_LOSS, "byte 10");
  rlo__file_close(fd);
  rlo__file_close(-1);
}

RLO_TEST(test_file__abandon_leaves_the_old) {
  expect_ok(rlo__file_write(path, "old", 3));
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_TEMP), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "newer", 5), 0);
  expect_file(path, "old");
  ck_assert_int_eq(count_names(false), 2);
  rlo__file_replace_abandon(&f);
  rlo__file_replace_abandon(&f);
  expect_file(path, "old");
  ck_assert_int_eq(count_names(false), 1);
  /* After the contents are on the disk, too. */
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_TEMP), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "newer", 5), 0);
  ck_assert_int_eq(rlo__file_replace_finish(&f), 0);
  expect_file(path, "old");
  rlo__file_replace_abandon(&f);
  expect_file(path, "old");
  ck_assert_int_eq(count_names(false), 1);
}

RLO_TEST(test_file__replaces_in_steps) {
  expect_ok(rlo__file_write(path, "old", 3));
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_TEMP), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "ne", 2), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "w", 1), 0);
  ck_assert_int_eq(rlo__file_replace_finish(&f), 0);
  ck_assert_int_eq(rlo__file_replace_finish(&f), 0);
  ck_assert_int_eq(rlo__file_replace_rename(&f), 0);
  expect_file(path, "new");
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  rlo__file_replace_abandon(&f);
  expect_file(path, "new");
  ck_assert_int_eq(count_names(false), 1);
}

RLO_TEST(test_file__replaces_in_a_directory) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin_at(&f, fd, "target", 0600), 0);
  ck_assert_int_eq(strncmp(f.temp_path, RLO__FILE_TEMP_PREFIX, sizeof RLO__FILE_TEMP_PREFIX - 1),
                   0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "new", 3), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  rlo__file_replace_abandon(&f);
  expect_file(path, "new");
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq((int)(st.st_mode & 0777), 0600);
  ck_assert_int_eq(close(fd), 0);
  ck_assert_int_eq(rlo__file_replace_begin_at(&f, fd, "target", 0600), EBADF);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(count_names(false), 1);
}

RLO_TEST(test_file__refuses_a_path_that_is_too_long) {
  static char name[PATH_MAX + 1];
  memset(name, 'x', PATH_MAX);
  expect_refusal_with(rlo__file_write(name, "a", 1), RLO_IO, "cannot create \"xxx");
  /* The longest path that fits leaves no room for the temporary name. */
  name[PATH_MAX - 1] = '\0';
  for (int i = 1; i < PATH_MAX - 1; i += 2) {
    name[i] = '/';
    name[i - 1] = '.';
  }
  ck_assert_int_eq(rlo__file_write(name, "a", 1), RLO_IO);
}

RLO_TEST(test_file__permissions_follow_umask_and_old_file) {
  mode_t old_mask = umask(027);
  expect_ok(rlo__file_write(path, "a", 1));
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq((int)(st.st_mode & 0777), 0640);
  ck_assert_int_eq(chmod(path, 0606), 0);
  expect_ok(rlo__file_write(path, "b", 1));
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq((int)(st.st_mode & 0777), 0606);
  (void)umask(old_mask);
}

RLO_TEST(test_file__follows_a_link) {
  char link[256];
  (void)snprintf(link, sizeof link, "%s/link", folder);
  expect_ok(rlo__file_write(path, "old", 3));
  ck_assert_int_eq(symlink(path, link), 0);
  expect_ok(rlo__file_write(link, "new", 3));
  struct stat st;
  ck_assert_int_eq(lstat(link, &st), 0);
  ck_assert(S_ISLNK(st.st_mode));
  expect_file(path, "new");
  /* Its file is made, if there is none. */
  ck_assert_int_eq(unlink(path), 0);
  expect_ok(rlo__file_write(link, "made", 4));
  expect_file(path, "made");
  ck_assert_int_eq(lstat(link, &st), 0);
  ck_assert(S_ISLNK(st.st_mode));
  ck_assert_int_eq(unlink(link), 0);
  ck_assert_int_eq(symlink("no/target", link), 0);
  ck_assert_int_eq(rlo__file_write(link, "lost", 4), RLO_NOT_FOUND);
  ck_assert_int_eq(unlink(link), 0);
  ck_assert_int_eq(symlink("link", link), 0);
  ck_assert_int_eq(rlo__file_write(link, "lost", 4), RLO_IO);
}

RLO_TEST(test_file__a_bare_name_is_written_here) {
  char here[4096];
  ck_assert_ptr_nonnull(getcwd(here, sizeof here));
  ck_assert_int_eq(chdir(folder), 0);
  expect_ok(rlo__file_write("target", "bare", 4));
  ck_assert_int_eq(chdir(here), 0);
  expect_file(path, "bare");
}

RLO_TEST(test_file__devices_are_written_in_place) {
  struct stat st;
  expect_ok(rlo__file_write("/dev/null", "gone", 4));
  ck_assert_int_eq(stat("/dev/null", &st), 0);
  ck_assert(S_ISCHR(st.st_mode));
}

RLO_TEST(test_file__a_full_disk_is_reported) {
  expect_refusal_with(rlo__file_write("/dev/full", "lost", 4), RLO_IO, "/dev/full");
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, strerror(ENOSPC)));
}

RLO_TEST(test_file__a_short_write_goes_on_and_fails_cleanly) {
  /* At the limit the system writes a part, and refuses the rest. */
  expect_ok(rlo__file_write(path, "old", 3));
  (void)signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit;
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = {.rlim_cur = 1000, .rlim_max = old_limit.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  static const char data[1500];
  rlo_status status = rlo__file_write(path, data, sizeof data);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  ck_assert_int_eq(status, RLO_IO);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, strerror(EFBIG)));
  expect_file(path, "old");
  ck_assert_int_eq(count_names(false), 1);
}

RLO_TEST(test_file__a_rename_that_fails_leaves_nothing) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_TEMP), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "a", 1), 0);
  /* A directory takes the name before the rename. */
  ck_assert_int_eq(mkdir(path, 0777), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), EISDIR);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(count_names(false), 1);
}

static void ignore_signal(int number) {
  (void)number;
}

typedef struct disturber {
  pthread_t victim;
  int signals;
} disturber;

/** Interrupts the victim again and again, and feeds it byte by byte. */
static void *disturb(void *payload) {
  disturber *d = payload;
  int fd = open(path, O_WRONLY);
  const struct timespec pause = {0, 2000000};
  for (int i = 0; i < 20; ++i) {
    (void)nanosleep(&pause, NULL);
    d->signals += pthread_kill(d->victim, SIGUSR1) == 0;
    (void)nanosleep(&pause, NULL);
    if (write(fd, &"abcdefghijklmnopqrst"[i], 1) != 1) {
      break;
    }
  }
  (void)close(fd);
  return NULL;
}

RLO_TEST(test_file__interruptions_and_short_reads_do_not_show) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ignore_signal; /* no SA_RESTART: calls end with EINTR */
  ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  disturber d = {pthread_self(), 0};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, disturb, &d), 0);
  expect_file(path, "abcdefghijklmnopqrst");
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_int_eq(d.signals, 20);
}

RLO_TEST(test_file__survives_every_failed_allocation) {
  expect_ok(rlo__file_write(path, "old", 3));
  bool is_through = false;
  for (int64_t nth = 1; !is_through; ++nth) {
    ck_assert_int_lt(nth, 50);
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo__file_write(path, "new", 3);
    is_through = rlo__alloc_tried_count() < nth;
    ck_assert_int_eq(status, is_through ? RLO_OK : RLO_OUT_OF_MEMORY);
    ck_assert_int_eq(count_names(false), 1);
    ck_assert_int_eq(rlo__alloc_live_count(), 0);
  }
  rlo__alloc_set_fault(1, false);
  char *data = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(rlo__file_read(path, 100, &data, &bytes), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(data);
  rlo__alloc_set_fault(0, false);
}
