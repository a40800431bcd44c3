/* SPDX-License-Identifier: Apache-2.0 */

/* Files that take long to make: parts, who holds them, and their journals. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/file_replace.h"
#include "support/suite.h"
#include "support/temp_file.h"

static char folder[TEMP_FOLDER_CHARS];
static char path[128];

static void make_folder(void) {
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/target", folder);
}

static void remove_folder(void) {
  temp_folder_clear(folder);
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(make_folder, remove_folder);

static void expect_file(const char *name, const char *text) {
  char *data = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(rlo__file_read(name, 1 << 20, &data, &bytes), RLO_OK);
  ck_assert_uint_eq(bytes, strlen(text));
  ck_assert_str_eq(data, text);
  rlo__free(data);
}

static const char *beside(const char *name) {
  static char text[384];
  (void)snprintf(text, sizeof text, "%s/%s", folder, name);
  return text;
}

/** Makes an empty file and returns its descriptor. */
static int make_beside(const char *name) {
  int fd = open(beside(name), O_RDWR | O_CREAT | O_EXCL, 0600);
  ck_assert_int_ge(fd, 0);
  return fd;
}

static bool is_beside(const char *name) {
  return access(beside(name), F_OK) == 0;
}

RLO_TEST(test_file_part__a_part_becomes_the_file) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert(is_beside(".target.relayout-part"));
  ck_assert_int_eq(rlo__file_replace_write(&f, "a__", 3), 0);
  ck_assert_int_eq(pwrite(f.fd, "bc", 2, 1), 2);
  char back[4] = "";
  ck_assert_int_eq(pread(f.fd, back, 3, 0), 3);
  ck_assert_str_eq(back, "abc");
  ck_assert_int_eq(rlo__file_replace_finish(&f), 0);
  /* Nobody else takes it, neither now nor while it gets its name. */
  int fd = open(beside(".target.relayout-part"), O_RDONLY);
  ck_assert_int_ne(flock(fd, LOCK_EX | LOCK_NB), 0);
  ck_assert_int_eq(close(fd), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  rlo__file_replace_abandon(&f);
  expect_file(path, "abc");
  ck_assert_int_eq(temp_folder_count(folder), 1);
}

RLO_TEST(test_file_part__a_part_is_abandoned) {
  ck_assert_int_eq(rlo__file_write(path, "old", 3), RLO_OK);
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "new", 3), 0);
  rlo__file_replace_abandon(&f);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(temp_folder_count(folder), 1);
  expect_file(path, "old");
}

RLO_TEST(test_file_part__removes_the_parts_that_nobody_holds) {
  static const char *const left[] = {".target.relayout-part", ".other.relayout-part"};
  static const char *const kept[] = {"x.relayout-part", ".relayout-part", ".other.relayout-part-2"};
  for (size_t k = 0; k < 2; ++k) {
    ck_assert_int_eq(close(make_beside(left[k])), 0);
  }
  for (size_t k = 0; k < 3; ++k) {
    ck_assert_int_eq(close(make_beside(kept[k])), 0);
  }
  ck_assert_int_eq(mkfifo(beside(".pipe.relayout-part"), 0600), 0);
  ck_assert_int_eq(symlink("x.relayout-part", beside(".link.relayout-part")), 0);
  int held = make_beside(".held.relayout-part");
  ck_assert_int_eq(flock(held, LOCK_EX), 0);
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert(!is_beside(left[1]));
  for (size_t k = 0; k < 3; ++k) {
    ck_assert(is_beside(kept[k]));
  }
  ck_assert(is_beside(".pipe.relayout-part"));
  ck_assert(is_beside(".link.relayout-part"));
  ck_assert(is_beside(".held.relayout-part"));
  ck_assert_int_eq(rlo__file_replace_write(&f, "abc", 3), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  expect_file(path, "abc");
  ck_assert_int_eq(close(held), 0);
}

RLO_TEST(test_file_part__leaves_the_part_of_another_process) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, "abc", 3), 0);
  rlo__file_replace second;
  ck_assert_int_eq(rlo__file_replace_begin(&second, path, RLO__FILE_NEW_PART), EBUSY);
  ck_assert_str_eq(second.temp_path, f.temp_path);
  rlo__file_replace_abandon(&second);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  expect_file(path, "abc");
}

static const char part_name[] = ".target.relayout-part";
static const char journal_name[] = ".target.relayout-journal";

/* Leaves a part with these contents, and a journal. */
static void leave_part(const char *content) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(rlo__file_replace_write(&f, content, strlen(content)), 0);
  ck_assert_int_eq(close(make_beside(journal_name)), 0);
  rlo__file_replace_leave(&f);
  rlo__file_replace_leave(&f);
  rlo__file_replace_abandon(&f);
  ck_assert(is_beside(part_name) && is_beside(journal_name));
}

RLO_TEST(test_file_part__a_part_is_resumed) {
  leave_part("abcd");
  rlo__file_replace f;
  for (int n = 0; n < 2; ++n) {
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), 0);
    char back[5] = "";
    ck_assert_int_eq(pread(f.fd, back, 4, 0), 4);
    ck_assert_str_eq(back, "abcd");
    if (n == 0) {
      rlo__file_replace_leave(&f);
    }
  }
  ck_assert_int_eq(pwrite(f.fd, "x", 1, 1), 1);
  ck_assert_str_eq(f.journal_path, beside(journal_name));
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  expect_file(path, "axcd");
  ck_assert_int_eq(temp_folder_count(folder), 1);
}

RLO_TEST(test_file_part__a_resumed_part_is_abandoned) {
  leave_part("abcd");
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), 0);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(temp_folder_count(folder), 0);
}

RLO_TEST(test_file_part__a_new_part_takes_the_place_of_an_old_one) {
  leave_part("abcd");
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  ck_assert(!is_beside(journal_name));
  ck_assert_int_eq(lseek(f.fd, 0, SEEK_END), 0);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(temp_folder_count(folder), 0);
}

RLO_TEST(test_file_part__further_journals_go_with_the_first) {
  for (int n = 0; n < 4; ++n) {
    leave_part("abcd");
    for (int k = 2; k < 13; ++k) {
      char name[64];
      (void)snprintf(name, sizeof name, "%s-%d", journal_name, k);
      ck_assert_int_eq(close(make_beside(name)), 0);
    }
    ck_assert_int_eq(temp_folder_count(folder), 13);
    rlo__file_replace f;
    if (n == 0) {
      ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
      ck_assert_int_eq(temp_folder_count(folder), 1);
      rlo__file_replace_abandon(&f);
    } else if (n == 1) {
      ck_assert_int_eq(unlink(beside(part_name)), 0);
      ck_assert_int_eq(rlo__file_replace_begin(&f, beside("x"), RLO__FILE_NEW_PART), 0);
      ck_assert_int_eq(temp_folder_count(folder), 1);
      rlo__file_replace_abandon(&f);
    } else {
      ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), 0);
      ck_assert_int_eq(temp_folder_count(folder), 13);
      if (n == 2) {
        ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
      } else {
        rlo__file_replace_abandon(&f);
      }
      ck_assert_int_eq(temp_folder_count(folder), n == 2);
      temp_folder_clear(folder);
    }
  }
}

RLO_TEST(test_file_part__an_old_part_is_removed) {
  leave_part("abcd");
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), 0);
  rlo__file_replace_remove_part(path);
  ck_assert_int_eq(temp_folder_count(folder), 2);
  rlo__file_replace_leave(&f);
  rlo__file_replace_remove_part(path);
  ck_assert_int_eq(temp_folder_count(folder), 0);
  rlo__file_replace_remove_part(path);
  rlo__file_replace_remove_part("/dev/null");
}

RLO_TEST(test_file_part__there_is_nothing_to_resume) {
  rlo__file_replace f;
  for (int n = 0; n < 3; ++n) {
    if (n > 0) {
      ck_assert_int_eq(close(make_beside(n == 1 ? part_name : journal_name)), 0);
    }
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), ENOENT);
    rlo__file_replace_abandon(&f);
    ck_assert_int_eq(temp_folder_count(folder), n > 0);
    temp_folder_clear(folder);
  }
}

RLO_TEST(test_file_part__a_part_that_is_in_work_is_not_resumed) {
  leave_part("abcd");
  rlo__file_replace f, second;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), 0);
  ck_assert_int_eq(rlo__file_replace_begin(&second, path, RLO__FILE_OLD_PART), EBUSY);
  ck_assert_str_eq(second.temp_path, f.temp_path);
  rlo__file_replace_abandon(&second);
  ck_assert_int_eq(rlo__file_replace_begin(&second, path, RLO__FILE_NEW_PART), EBUSY);
  rlo__file_replace_abandon(&second);
  ck_assert(is_beside(part_name) && is_beside(journal_name));
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  expect_file(path, "abcd");
}

RLO_TEST(test_file_part__parts_of_others_with_a_journal_stay) {
  static const char *const pair[] = {".other.relayout-part", ".other.relayout-journal"};
  rlo__file_replace f;
  for (int n = 0; n < 2; ++n) {
    leave_part("abcd");
    for (int k = 0; k < 2; ++k) {
      ck_assert_int_eq(close(make_beside(pair[k])), 0);
    }
    ck_assert_int_eq(close(make_beside(".left.relayout-journal")), 0);
    ck_assert_int_eq(close(make_beside("x.relayout-journal")), 0);
    int held = make_beside(".held.relayout-journal");
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    ck_assert_int_eq(n == 0 ? rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART)
                            : rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART),
                     0);
    ck_assert(is_beside(pair[0]) && is_beside(pair[1]));
    ck_assert(!is_beside(".left.relayout-journal"));
    ck_assert(is_beside("x.relayout-journal"));
    ck_assert(is_beside(".held.relayout-journal"));
    ck_assert_int_eq(close(held), 0);
    rlo__file_replace_abandon(&f);
    temp_folder_clear(folder);
  }
}

RLO_TEST(test_file_part__a_journal_that_is_held_is_not_ours_to_remove) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
  int held = make_beside(journal_name);
  ck_assert_int_eq(flock(held, LOCK_EX), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  ck_assert(is_beside(journal_name));
  ck_assert_int_eq(close(held), 0);
}

RLO_TEST(test_file_part__names_of_a_part) {
  leave_part("abcd");
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NAMES), 0);
  ck_assert_str_eq(f.temp_path, beside(part_name));
  ck_assert_str_eq(f.journal_path, beside(journal_name));
  rlo__file_replace_abandon(&f);
  ck_assert(is_beside(part_name) && is_beside(journal_name));
  /* Those of long names belong together too. */
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  ck_assert_int_eq(rlo__file_replace_begin(&f, beside(name), RLO__FILE_NEW_PART), 0);
  int fd = open(f.journal_path, O_RDWR | O_CREAT | O_EXCL, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(close(fd), 0);
  rlo__file_replace second;
  ck_assert_int_eq(rlo__file_replace_begin(&second, path, RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(temp_folder_count(folder), 3);
  rlo__file_replace_abandon(&second);
  rlo__file_replace_leave(&f);
  ck_assert_int_eq(rlo__file_replace_begin(&second, path, RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(temp_folder_count(folder), 3);
  rlo__file_replace_abandon(&second);
}

static unsigned mode_of(const char *name) {
  struct stat st;
  ck_assert_int_eq(stat(name, &st), 0);
  return st.st_mode & 07777;
}

/* From the first moment to the last, whatever the target's rights are. */
RLO_TEST(test_file_part__nobody_else_opens_a_part) {
  const mode_t old_mask = umask(0002);
  for (int n = 0; n < 3; ++n) {
    rlo__file_replace f;
    if (n == 1) {
      ck_assert_int_eq(chmod(path, 0646), 0);
    } else if (n == 2) {
      leave_part("abcd");
      ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(
        rlo__file_replace_begin(&f, path, n == 2 ? RLO__FILE_OLD_PART : RLO__FILE_NEW_PART), 0);
    ck_assert_uint_eq(mode_of(f.temp_path), 0600);
    ck_assert_int_eq(rlo__file_replace_finish(&f), 0);
    ck_assert_uint_eq(mode_of(f.temp_path), 0600);
    ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
    ck_assert_uint_eq(mode_of(path), n == 1 ? 0646 : 0664);
    ck_assert_int_eq(temp_folder_count(folder), 1);
  }
  (void)umask(old_mask);
}

RLO_TEST(test_file_part__a_replaced_file_keeps_owner_and_group) {
  struct stat st;
  ck_assert_int_eq(rlo__file_write(path, "old", 3), RLO_OK);
  ck_assert_int_eq(chown(path, geteuid() == 0 ? 1234 : (uid_t)-1, getegid()), 0);
  ck_assert_int_eq(rlo__file_write(path, "new", 3), RLO_OK);
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq(st.st_uid, geteuid() == 0 ? 1234 : geteuid());
  ck_assert_int_eq(st.st_gid, getegid());
}

/* By what is no file, or another user's: another name is taken. */
RLO_TEST(test_file_part__a_name_that_is_taken_prevents_nobody) {
  const char *const taken[] = {part_name, journal_name};
  for (int n = 0; n < 8; ++n) {
    const char *name = taken[n % 2];
    if (n / 2 == 0) {
      ck_assert_int_eq(mkdir(beside(name), 0700), 0);
    } else if (n / 2 == 1) {
      ck_assert_int_eq(symlink("target", beside(name)), 0);
    } else if (n / 2 == 2) {
      ck_assert_int_eq(mkfifo(beside(name), 0600), 0);
    } else {
      ck_assert_int_eq(close(make_beside(name)), 0);
      ck_assert_int_eq(chown(beside(name), geteuid() == 0 ? 1234 : (uid_t)-1, (gid_t)-1), 0);
    }
    rlo__file_replace f;
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), ENOENT);
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
    ck_assert_int_eq(pwrite(f.fd, "abc", 3, 0), 3);
    ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
    expect_file(path, "abc");
    ck_assert(is_beside(name) || geteuid() != 0);
    (void)rmdir(beside(name));
    temp_folder_clear(folder);
  }
}

RLO_TEST(test_file_part__only_own_parts_are_resumed) {
  for (int n = 0; n < 4; ++n) {
    const char *name = n % 2 == 0 ? part_name : journal_name;
    leave_part("abcd");
    if (n < 2) {
      ck_assert_int_eq(chmod(beside(name), 0660), 0);
    } else {
      char other[512];
      (void)snprintf(other, sizeof other, "%s/other", folder);
      ck_assert_int_eq(link(beside(name), other), 0);
    }
    rlo__file_replace f;
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_OLD_PART), ENOENT);
    ck_assert_int_eq(rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART), 0);
    ck_assert_int_eq(lseek(f.fd, 0, SEEK_END), 0);
    rlo__file_replace_abandon(&f);
    temp_folder_clear(folder);
  }
}

/* A job that reads one of them, by whatever name, finds it again. */
RLO_TEST(test_file_part__what_is_read_is_not_removed) {
  char further[64];
  (void)snprintf(further, sizeof further, "%s-2", journal_name);
  const char *const names[] = {part_name, journal_name, further, ".x.relayout-part"};
  for (int n = 0; n < 4; ++n) {
    leave_part("abcd");
    int fd = n < 2 ? open(beside(names[n]), O_RDONLY) : make_beside(names[n]);
    ck_assert_int_eq(flock(fd, LOCK_SH), 0);
    rlo__file_replace f;
    const int error = rlo__file_replace_begin(&f, path, RLO__FILE_NEW_PART);
    ck_assert_int_eq(error, n == 0 ? EBUSY : 0);
    rlo__file_replace_abandon(&f);
    ck_assert(is_beside(names[n]));
    ck_assert_int_eq(close(fd), 0);
    temp_folder_clear(folder);
  }
}

RLO_TEST(test_file_part__part_refusals) {
  rlo__file_replace f;
  ck_assert_int_eq(rlo__file_replace_begin(&f, "/dev/null", RLO__FILE_NEW_PART), EINVAL);
  rlo__file_replace_abandon(&f);
  ck_assert_int_eq(rlo__file_replace_begin(&f, beside("no/target"), RLO__FILE_NEW_PART), ENOENT);
  rlo__file_replace_abandon(&f);
  /* A name as long as names are has one for its part too. */
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  ck_assert_int_eq(rlo__file_replace_begin(&f, beside(name), RLO__FILE_NEW_PART), 0);
  ck_assert_int_eq(rlo__file_replace_commit(&f), 0);
  ck_assert_int_eq(temp_folder_count(folder), 1);
}
