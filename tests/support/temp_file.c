/* SPDX-License-Identifier: Apache-2.0 */
#include "support/temp_file.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int temp_file_open(void) {
  char path[] = "/tmp/relayout_test_XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(unlink(path), 0);
  return fd;
}

int temp_file_reopen(int fd, int flags) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int again = open(path, flags | O_CLOEXEC);
  ck_assert_int_ge(again, 0);
  return again;
}

void temp_folder_make(char path[TEMP_FOLDER_CHARS]) {
  bool has_memory = access("/dev/shm", W_OK | X_OK) == 0;
  (void)snprintf(path, TEMP_FOLDER_CHARS, "%s/relayout_test_XXXXXX",
                 has_memory ? "/dev/shm" : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(path));
}

static int walk(const char *path, bool is_removing) {
  DIR *folder = opendir(path);
  ck_assert_ptr_nonnull(folder);
  int count = 0;
  const struct dirent *entry;
  while ((entry = readdir(folder)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    ++count;
    if (is_removing) {
      ck_assert_int_eq(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    }
  }
  ck_assert_int_eq(closedir(folder), 0);
  return count;
}

int temp_folder_count(const char *path) {
  return walk(path, false);
}

void temp_folder_clear(const char *path) {
  (void)walk(path, true);
}

static int remove_item(const char *path, const struct stat *st, int kind, struct FTW *level) {
  (void)st;
  (void)kind;
  (void)level;
  return remove(path);
}

void temp_folder_remove(const char *path) {
  ck_assert_int_eq(nftw(path, remove_item, 8, FTW_DEPTH | FTW_PHYS), 0);
}
