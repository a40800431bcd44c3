/* SPDX-License-Identifier: Apache-2.0 */

/* Journals: what they keep, whatever is left of their files, which ones they
 * refuse, and what becomes of them when system calls fail. */
#include "service/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/threshold.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

/* Boxes of different pages of one journal. */
enum { FIRST = 1, SECOND = 64, THIRD = 139, NUM_BOXES = 140 };

enum {
  HEADER_BYTES = 8 * RLO__JOURNAL_HEADER_WORDS,
  RECORD_BYTES = 8 * RLO__JOURNAL_RECORD_WORDS,
  BOX_BYTES = 1000,
  MAX_BYTES = 4096
};

static char folder[TEMP_FOLDER_CHARS];
static char path[128];

static const int boxes[] = {FIRST, SECOND, THIRD};
static rlo__journal_subject job;
static rlo_storage *storage;

static void set_up(void) {
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/journal", folder);
  job = (rlo__journal_subject){.hash = {17, 18},
                               .settings = {.host_bytes = 1 << 20,
                                            .piece_bytes = INT64_MAX,
                                            .box_bytes = 1 << 30,
                                            .num_slots = 8,
                                            .passes = 2,
                                            .scratch_bytes = 512},
                               .num_boxes = {100, NUM_BOXES - 100}};
  static char memory[1];
  expect_ok(rlo_storage_from_memory(memory, 1, &storage));
}

static void tear_down(void) {
  rlo__journal_release(NULL);
  rlo_storage_release(storage);
  (void)unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(set_up, tear_down);

static rlo__journal *open_fitting(void) {
  rlo__journal *journal = NULL;
  expect_ok(rlo__journal_open(path, true, &journal));
  expect_ok(rlo__journal_fit(journal, &job));
  return journal;
}

static void make_checkpoint(rlo__journal *journal) {
  rlo__journal_begin_checkpoint(journal, 0);
  expect_ok(rlo__journal_checkpoint(journal, storage));
  rlo__journal_end_checkpoint(journal);
}

/* Box `box` of both passes together is done. */
static void add(rlo__journal *journal, int box) {
  const int first = (int)job.num_boxes[0];
  rlo__journal_add(journal, box >= first, box % first, BOX_BYTES);
}

/* Makes a journal with so many of `boxes`, each in a record of its own. */
static void make_journal(int count) {
  (void)unlink(path);
  rlo__journal *journal = open_fitting();
  expect_ok(rlo__journal_start(journal));
  for (int n = 0; n < count; ++n) {
    add(journal, boxes[n]);
  }
  make_checkpoint(journal);
  rlo__journal_release(journal);
}

typedef struct file_content {
  char bytes[MAX_BYTES];
  size_t count;
} file_content;

static file_content read_file(void) {
  file_content content = {.count = 0};
  char *data;
  expect_ok(rlo__file_read(path, MAX_BYTES, &data, &content.count));
  memcpy(content.bytes, data, content.count);
  rlo__free(data);
  return content;
}

static void write_file(const file_content *content) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, content->bytes, content->count), (ssize_t)content->count);
  ck_assert_int_eq(close(fd), 0);
}

/* Checks that the first `count` of `boxes` are durable, and no others. */
static void expect_boxes(const rlo__journal *journal, int count) {
  for (int box = 0; box < NUM_BOXES; ++box) {
    bool is_wanted = false;
    for (int n = 0; n < count; ++n) {
      is_wanted = is_wanted || boxes[n] == box;
    }
    ck_assert_msg(rlo__journal_is_durable(journal, 0, box) == is_wanted, "box %d of %d", box,
                  count);
  }
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), count * BOX_BYTES);
}

static void expect_left(int count) {
  rlo__journal *journal = open_fitting();
  expect_boxes(journal, count);
  rlo__journal_release(journal);
}

/* ----------------------------------------------------------- what they keep */

RLO_TEST(test_journal__a_new_one) {
  rlo__journal *journal = open_fitting();
  ck_assert_ptr_null(rlo__journal_get_settings(journal));
  expect_boxes(journal, 0);
  struct stat st;
  ck_assert_int_ne(stat(path, &st), 0);
  expect_ok(rlo__journal_start(journal));
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq(st.st_mode & 07777, 0600);
  ck_assert_uint_eq(st.st_nlink, 1);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__a_checkpoint_makes_durable) {
  rlo__journal *journal = open_fitting();
  expect_ok(rlo__journal_start(journal));
  rlo__journal_add(journal, 0, 69, 5);
  rlo__journal_add(journal, 1, 0, 7);
  ck_assert(!rlo__journal_is_durable(journal, 0, 69));
  rlo__journal_begin_checkpoint(journal, 0);
  /* Too late for this one, of the same page. */
  rlo__journal_add(journal, 1, 2, 11);
  expect_ok(rlo__journal_checkpoint(journal, storage));
  ck_assert(!rlo__journal_is_durable(journal, 0, 69));
  rlo__journal_end_checkpoint(journal);
  ck_assert(rlo__journal_is_durable(journal, 0, 69));
  ck_assert(rlo__journal_is_durable(journal, 1, 0));
  ck_assert(!rlo__journal_is_durable(journal, 1, 2));
  ck_assert(!rlo__journal_is_durable(journal, 0, 0));
  rlo__journal_release(journal);

  journal = open_fitting();
  ck_assert(rlo__journal_is_durable(journal, 0, 69));
  ck_assert(rlo__journal_is_durable(journal, 1, 0));
  ck_assert(!rlo__journal_is_durable(journal, 1, 2));
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), 12);
  const rlo__journal_settings *settings = rlo__journal_get_settings(journal);
  ck_assert_ptr_nonnull(settings);
  ck_assert_int_eq(memcmp(settings, &job.settings, sizeof *settings), 0);
  expect_ok(rlo__journal_start(journal));
  rlo__journal_add(journal, 1, 2, 11);
  make_checkpoint(journal);
  rlo__journal_release(journal);
  ck_assert_uint_eq(read_file().count, HEADER_BYTES + 2 * RECORD_BYTES);

  journal = open_fitting();
  ck_assert(rlo__journal_is_durable(journal, 0, 69));
  ck_assert(rlo__journal_is_durable(journal, 1, 2));
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), 23);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__when_a_checkpoint_is_due) {
  const int64_t gib = INT64_C(1) << 30;
  rlo__journal *journal = open_fitting();
  expect_ok(rlo__journal_start(journal));
  rlo__journal_want_checkpoint(journal);
  ck_assert(!rlo__journal_is_due(journal, 100 * gib));
  rlo__journal_add(journal, 0, 0, 1);
  ck_assert(rlo__journal_is_due(journal, 0));
  rlo__journal_begin_checkpoint(journal, 3 * gib);
  rlo__journal_add(journal, 0, 1, 1);
  ck_assert(!rlo__journal_is_due(journal, 100 * gib));
  expect_ok(rlo__journal_checkpoint(journal, storage));
  rlo__journal_end_checkpoint(journal);
  ck_assert(!rlo__journal_is_due(journal, 7 * gib - 1));
  ck_assert(rlo__journal_is_due(journal, 7 * gib));
  rlo__thresholds.service_checkpoint_seconds = 0;
  ck_assert(rlo__journal_is_due(journal, 3 * gib));
  rlo__thresholds.service_checkpoint_seconds = 5;
  ck_assert(!rlo__journal_is_due(journal, 3 * gib));
  rlo__journal_release(journal);
}

/* ------------------------------------------------------------ damaged files */

RLO_TEST(test_journal__torn_at_every_byte) {
  make_journal(3);
  const file_content whole = read_file();
  ck_assert_uint_eq(whole.count, HEADER_BYTES + 3 * RECORD_BYTES);
  for (size_t count = HEADER_BYTES; count < whole.count; ++count) {
    file_content torn = whole;
    torn.count = count;
    write_file(&torn);
    const int left = (int)((count - HEADER_BYTES) / RECORD_BYTES);
    rlo__journal *journal = open_fitting();
    expect_boxes(journal, left);
    ck_assert_uint_eq(read_file().count, count);
    /* The next record takes the place of the one that is not complete. */
    expect_ok(rlo__journal_start(journal));
    add(journal, boxes[left]);
    make_checkpoint(journal);
    rlo__journal_release(journal);
    expect_left(left + 1);
  }
}

RLO_TEST(test_journal__every_byte_changed) {
  make_journal(3);
  const file_content whole = read_file();
  for (size_t at = 0; at < whole.count; ++at) {
    file_content changed = whole;
    changed.bytes[at] = (char)(changed.bytes[at] ^ (1 << (at % 8)));
    write_file(&changed);
    if (at < HEADER_BYTES) {
      rlo__journal *journal = NULL;
      rlo_status status = rlo__journal_open(path, true, &journal);
      ck_assert_msg(status == RLO_DATA_LOSS || status == RLO_UNSUPPORTED, "byte %zu", at);
      ck_assert_ptr_null(journal);
    } else {
      expect_left((int)((at - HEADER_BYTES) / RECORD_BYTES));
    }
  }
}

RLO_TEST(test_journal__records_that_come_twice) {
  make_journal(2);
  file_content twice = read_file();
  memcpy(twice.bytes + twice.count, twice.bytes + twice.count - RECORD_BYTES, RECORD_BYTES);
  twice.count += RECORD_BYTES;
  write_file(&twice);
  expect_left(2);
}

RLO_TEST(test_journal__records_of_another_journal) {
  make_journal(3);
  const file_content first = read_file();
  ++job.hash.low;
  make_journal(0);
  file_content second = read_file();
  memcpy(second.bytes + HEADER_BYTES, first.bytes + HEADER_BYTES, 3 * RECORD_BYTES);
  second.count = first.count;
  write_file(&second);
  expect_left(0);
}

RLO_TEST(test_journal__a_box_that_is_not_of_the_job) {
  make_journal(3);
  /* A page of fewer boxes, and one page or two of them fewer. */
  for (int count = THIRD; count > 0; count -= count > 128 ? 11 : 64) {
    rlo__journal *journal = NULL;
    job.num_boxes[0] = count;
    job.num_boxes[1] = 0;
    expect_ok(rlo__journal_open(path, true, &journal));
    expect_refusal_with(rlo__journal_fit(journal, &job), RLO_DATA_LOSS,
                        "has boxes that its job has not");
    rlo__journal_release(journal);
  }
}

/* ----------------------------------------------------------------- refusals */

/* Opening is refused, and looking, with a message that has these words; the
 * file is untouched. */
static void expect_no_journal(rlo_status wanted, const char *words) {
  rlo__journal *journal = (rlo__journal *)&wanted;
  for (int n = 0; n < 2; ++n) {
    rlo_status got = rlo__journal_open(path, n == 0, &journal);
    const char *message = rlo_error_last()->message;
    ck_assert_msg(got == wanted && strstr(message, words) != NULL && strstr(message, path) != NULL,
                  "%s: %s", rlo_status_name(got), message);
  }
  ck_assert_ptr_null(journal);
}

RLO_TEST(test_journal__files_that_are_no_journals) {
  const file_content nothing = {.count = 0};
  write_file(&nothing);
  expect_no_journal(RLO_DATA_LOSS, "is not the journal of a job");
  make_journal(1);
  const file_content whole = read_file();
  for (size_t count = 0; count < HEADER_BYTES; ++count) {
    file_content torn = whole;
    torn.count = count;
    write_file(&torn);
    expect_no_journal(RLO_DATA_LOSS,
                      count < 16 ? "is not the journal of a job" : "the header of the journal");
    ck_assert_uint_eq(read_file().count, count);
  }
  file_content other = whole;
  other.bytes[0] = 'R';
  write_file(&other);
  expect_no_journal(RLO_DATA_LOSS, "is not the journal of a job");
  other = whole;
  other.bytes[8] = 1;
  write_file(&other);
  expect_no_journal(RLO_UNSUPPORTED, "has version 1; this library knows version 2");
  other = whole;
  other.bytes[HEADER_BYTES - 1] ^= 1;
  write_file(&other);
  expect_no_journal(RLO_DATA_LOSS, "the header of the journal");
}

/* With a header that is whole. */
RLO_TEST(test_journal__settings_that_no_job_begins_with) {
  const rlo__journal_settings good = job.settings;
  rlo__journal_settings *s = &job.settings;

  const struct {
    int64_t *field;
    int64_t value;
  } rows[] = {{&s->host_bytes, 0}, {&s->piece_bytes, 0}, {&s->box_bytes, -1},
              {&s->box_bytes, 0},  {&s->num_slots, 0},   {&s->num_slots, INT64_C(1) << 31},
              {&s->passes, 0},     {&s->passes, 3},      {&s->scratch_bytes, -1},
              {&s->host_bytes, -1}};

  for (size_t n = 0; n < sizeof rows / sizeof rows[0]; ++n) {
    job.settings = good;
    *rows[n].field = rows[n].value;
    rlo__journal *journal = open_fitting();
    ck_assert_msg(rlo__journal_start(journal) == RLO_DATA_LOSS, "row %zu", n);
    rlo__journal_release(journal);
    expect_no_journal(RLO_DATA_LOSS, "the header of the journal");
    ck_assert_int_eq(unlink(path), 0);
  }
}

/* Which another user may have made: a file of theirs, or a second name of one
 * that is this user's. The job has no journal then, and nobody prevents it. */
RLO_TEST(test_journal__what_is_not_believed) {
  char other[160];
  (void)snprintf(other, sizeof other, "%s-other", path);
  make_journal(3);
  const file_content whole = read_file();
  for (int n = 0; n < 3; ++n) {
    if (n == 2 && geteuid() == 0) {
      ck_assert_int_eq(unlink(path), 0);
      ck_assert_int_eq(symlink(other, path), 0);
      ck_assert_int_eq(lchown(path, 1234, 1234), 0);
    } else if (n == 1 && geteuid() == 0) {
      ck_assert_int_eq(chown(path, 1234, 1234), 0);
    } else {
      ck_assert_int_eq(link(path, other), 0);
    }
    rlo__journal *journal = open_fitting();
    ck_assert_ptr_null(rlo__journal_get_settings(journal));
    expect_boxes(journal, 0);
    expect_ok(rlo__journal_start(journal));
    add(journal, boxes[1]);
    make_checkpoint(journal);
    ck_assert(rlo__journal_is_durable(journal, 0, boxes[1]));
    rlo__journal_release(journal);
    if (n < 2) {
      ck_assert_uint_eq(read_file().count, whole.count);
    }
    (void)unlink(other);
  }
  /* It comes between the submission and the start. */
  make_journal(3);
  ck_assert_int_eq(rename(path, other), 0);
  rlo__journal *late = open_fitting();
  ck_assert_int_eq(link(other, path), 0);
  expect_ok(rlo__journal_start(late));
  rlo__journal_release(late);
  ck_assert_int_eq(unlink(other), 0);
  ck_assert_uint_eq(read_file().count, whole.count);
  ck_assert_int_eq(chmod(path, 0620), 0);
  expect_no_journal(RLO_INVALID_ARGUMENT, "others than its owner can write to it (mode 620)");
  ck_assert_int_eq(rename(path, other), 0);
  ck_assert_int_eq(symlink(other, path), 0);
  expect_no_journal(RLO_INVALID_ARGUMENT, "is not a regular file");
  ck_assert_int_eq(unlink(other), 0);
}

RLO_TEST(test_journal__what_is_no_file) {
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  expect_no_journal(RLO_INVALID_ARGUMENT, "is not a regular file");
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  expect_no_journal(RLO_INVALID_ARGUMENT, "is not a regular file");
  ck_assert_int_eq(rmdir(path), 0);
  rlo__journal *journal = NULL;
  expect_ok(rlo__journal_open("/no/such/folder/journal", true, &journal));
  expect_ok(rlo__journal_fit(journal, &job));
  ck_assert_int_eq(rlo__journal_start(journal), RLO_NOT_FOUND);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__one_job_has_it) {
  rlo__journal *first = open_fitting();
  rlo__journal *second = open_fitting();
  expect_ok(rlo__journal_start(first));
  ck_assert_int_eq(rlo__journal_start(second), RLO_ALREADY_EXISTS);
  rlo__journal_release(second);
  expect_refusal_with(rlo__journal_open(path, true, &second), RLO_INVALID_ARGUMENT,
                      "another job has the journal");
  expect_ok(rlo__journal_open(path, false, &second));
  ck_assert_ptr_nonnull(rlo__journal_get_settings(second));
  rlo__journal_release(second);
  rlo__journal_release(first);
  second = open_fitting();
  rlo__journal_release(second);
}

RLO_TEST(test_journal__another_job) {
  make_journal(1);
  const file_content before = read_file();
  for (int n = 0; n < 2; ++n) {
    job.hash = (rlo__hash128){17 + (uint64_t)n, 19 - (uint64_t)n};
    rlo__journal *journal = NULL;
    expect_ok(rlo__journal_open(path, true, &journal));
    expect_refusal_with(rlo__journal_fit(journal, &job), RLO_INVALID_ARGUMENT, "is of another job");
    rlo__journal_release(journal);
  }
  const file_content after = read_file();
  ck_assert_uint_eq(after.count, before.count);
  ck_assert_int_eq(memcmp(after.bytes, before.bytes, before.count), 0);
}

/* ------------------------------------------------------- calls that fail */

static int call_number, fails_at, errno_of_fault;
static bool is_short, is_sticky;

static bool is_faulty(void) {
  errno = errno_of_fault;
  return ++call_number == fails_at || (is_sticky && call_number > fails_at);
}

static ssize_t faulty_write(int fd, const void *data, size_t bytes, int64_t offset) {
  if (is_faulty()) {
    return is_short ? pwrite(fd, data, bytes / 2, (off_t)offset) : -1;
  }
  return pwrite(fd, data, bytes, (off_t)offset);
}

static int faulty_sync(int fd) {
  (void)fd;
  return is_faulty() && !is_short ? -1 : 0;
}

static rlo__storage_calls faulty_calls(void) {
  rlo__storage_calls calls = rlo__storage_system_calls;
  calls.write = faulty_write;
  calls.sync = faulty_sync;
  call_number = 0;
  return calls;
}

/* Whatever fails, what was recorded before stays, and what is recorded is a
 * beginning of what was to be. */
RLO_TEST(test_journal__appending_fails) {
  static const int errors[] = {ENOSPC, EIO, EINTR, 0};
  for (int e = 0; e < 4; ++e) {
    errno_of_fault = errors[e];
    is_short = errors[e] == 0;
    for (fails_at = 1; fails_at <= 5; ++fails_at) {
      make_journal(1);
      const rlo__storage_calls calls = faulty_calls();
      rlo__journal *journal = open_fitting();
      expect_ok(rlo__journal_start(journal));
      rlo__journal_set_calls(journal, &calls);
      rlo_status status = RLO_OK;
      int count = 1;
      for (; count < 3 && status == RLO_OK; count += status == RLO_OK) {
        add(journal, boxes[count]);
        rlo__journal_begin_checkpoint(journal, 0);
        status = rlo__journal_checkpoint(journal, storage);
        if (status == RLO_OK) {
          rlo__journal_end_checkpoint(journal);
        }
      }
      rlo__journal_release(journal);
      bool is_survived = errors[e] == EINTR || errors[e] == 0 || fails_at > 4;
      ck_assert_int_eq(status, is_survived ? RLO_OK : RLO_IO);
      ck_assert(is_survived || strstr(rlo_error_last()->message, "cannot write the journal"));
      /* After a failure of the sync alone the record may be in the file. */
      bool is_written = !is_survived && fails_at % 2 == 0;
      expect_left(count + is_written);
    }
  }
}

/* If a file without a name fails, a file with a name is tried, for file systems
 * that know no others. A failure leaves nothing. */
RLO_TEST(test_journal__creation_fails) {
  errno_of_fault = EIO;
  is_short = false;
  for (int n = 0; n < 4; ++n) {
    is_sticky = n % 2 != 0;
    fails_at = 1 + n / 2;
    const rlo__storage_calls calls = faulty_calls();
    rlo__journal *journal = open_fitting();
    ck_assert_ptr_null(rlo__journal_get_settings(journal));
    rlo__journal_set_calls(journal, &calls);
    ck_assert_int_eq(rlo__journal_start(journal), is_sticky ? RLO_IO : RLO_OK);
    rlo__journal_release(journal);
    expect_ok(rlo__journal_open(path, false, &journal));
    ck_assert((rlo__journal_get_settings(journal) == NULL) == is_sticky);
    rlo__journal_release(journal);
    (void)unlink(path);
  }
  is_sticky = false;
}

RLO_TEST(test_journal__without_memory) {
  int num_done = 0;
  make_journal(3);
  for (int64_t nth = 1; num_done < 3; ++nth) {
    rlo__journal *journal = NULL;
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo__journal_open(path, true, &journal);
    THEN(rlo__journal_fit(journal, &job));
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "%s", rlo_error_last()->message);
    num_done += status == RLO_OK;
    rlo__journal_release(journal);
    ck_assert_int_lt(nth, 100);
  }
}

/* Whole and unharmed, but no job begins with that. */
static const rlo__journal_settings impossible[] = {
    {0, 1, 1, 1, 1, 0}, {1, 0, 1, 1, 1, 0}, {1, 1, 0, 1, 1, 0},  {1, 1, 1, 0, 1, 0},
    {1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 3, 0}, {1, 1, 1, 1, 1, -1}, {1, 1, 1, INT64_C(1) << 31, 1, 0},
};

RLO_TABLE_TEST(test_journal__refuses_settings_that_no_job_has, impossible) {
  job.settings = impossible[_i];
  rlo__journal *journal = open_fitting();
  char message[256];
  (void)snprintf(message, sizeof message, "the header of the journal \"%s\" is damaged", path);
  expect_refusal(rlo__journal_start(journal), RLO_DATA_LOSS, message);
  rlo__journal_release(journal);
  expect_refusal(rlo__journal_open(path, true, &journal), RLO_DATA_LOSS, message);
}
