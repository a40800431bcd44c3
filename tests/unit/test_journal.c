/* SPDX-License-Identifier: Apache-2.0 */

/* Journals: what they keep, whatever is left of their files, and which jobs
 * they refuse. */
#include "service/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "service/journal_file.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum { NUM_BOXES = 70, RECORD_BYTES = 24, BOX_BYTES = 1000, MAX_BYTES = 4096 };

static char folder[TEMP_FOLDER_CHARS];
static char path[128];

static rlo_problem problem;
static rlo__pass passes[2];
static rlo__storage_identity src, dst;
static rlo_storage *storage;

static void set_up(void) {
  temp_folder_make(folder);
  (void)snprintf(path, sizeof path, "%s/journal", folder);
  problem = (rlo_problem){.unit_bits = 8,
                          .num_axes = 1,
                          .extents = {100000},
                          .src_bytes = 100000,
                          .dst_bytes = 100000};
  problem.src.axis[0] = problem.dst.axis[0] = 1;
  for (int n = 0; n < 2; ++n) {
    passes[n] = (rlo__pass){.plan = {.num_boxes = NUM_BOXES,
                                     .num_pieces = NUM_BOXES,
                                     .box = {1500},
                                     .piece = {1500}}};
    passes[n].plan.problem = problem;
  }
  src = (rlo__storage_identity){.is_file = true,
                                .device = 1,
                                .inode = 2,
                                .offset = 128,
                                .bytes = 100128,
                                .modified_nanos = 5};
  dst = (rlo__storage_identity){
      .is_file = true, .device = 1, .inode = 3, .bytes = 100000};
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

static rlo__journal_subject subject(void) {
  return (rlo__journal_subject){.problem = &problem,
                                .passes = passes,
                                .num_passes = 2,
                                .settings = {.host_bytes = 1 << 20,
                                             .piece_bytes = INT64_MAX,
                                             .box_bytes = 1 << 30,
                                             .num_slots = 8,
                                             .passes = 2,
                                             .scratch_bytes = 512},
                                .src = &src,
                                .dst = &dst};
}

static rlo__journal *open_fitting(void) {
  rlo__journal *journal = NULL;
  expect_ok(rlo__journal_open(path, &problem, &journal));
  const rlo__journal_subject job = subject();
  expect_ok(rlo__journal_fit(journal, &job));
  return journal;
}

static void make_checkpoint(rlo__journal *journal) {
  rlo__journal_begin_checkpoint(journal, 0);
  expect_ok(rlo__journal_checkpoint(journal, storage));
  rlo__journal_end_checkpoint(journal);
}

/* Makes a journal with boxes [0, num_boxes) of the first pass. */
static void make_journal(int num_boxes) {
  (void)unlink(path);
  rlo__journal *journal = open_fitting();
  expect_ok(rlo__journal_start(journal));
  for (int box = 0; box < num_boxes; ++box) {
    expect_ok(rlo__journal_add(journal, 0, box, BOX_BYTES));
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
  ck_assert_int_eq(write(fd, content->bytes, content->count),
                   (ssize_t)content->count);
  ck_assert_int_eq(close(fd), 0);
}

static size_t header_bytes(void) {
  make_journal(0);
  return read_file().count;
}

/* Boxes [0, count) of the first pass are durable, and no others. */
static void expect_boxes(const rlo__journal *journal, int count) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int box = 0; box < NUM_BOXES; ++box) {
      ck_assert_msg(rlo__journal_is_durable(journal, pass, box) ==
                        (pass == 0 && box < count),
                    "pass %d, box %d of %d",
                    pass,
                    box,
                    count);
    }
  }
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), count * BOX_BYTES);
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
  expect_ok(rlo__journal_add(journal, 0, 69, 5));
  expect_ok(rlo__journal_add(journal, 1, 0, 7));
  ck_assert(!rlo__journal_is_durable(journal, 0, 69));
  rlo__journal_begin_checkpoint(journal, 0);
  /* Too late for this one. */
  expect_ok(rlo__journal_add(journal, 1, 64, 11));
  expect_ok(rlo__journal_checkpoint(journal, storage));
  ck_assert(!rlo__journal_is_durable(journal, 0, 69));
  rlo__journal_end_checkpoint(journal);
  ck_assert(rlo__journal_is_durable(journal, 0, 69));
  ck_assert(rlo__journal_is_durable(journal, 1, 0));
  ck_assert(!rlo__journal_is_durable(journal, 1, 64));
  ck_assert(!rlo__journal_is_durable(journal, 0, 0));
  rlo__journal_release(journal);

  journal = open_fitting();
  ck_assert(rlo__journal_is_durable(journal, 0, 69));
  ck_assert(rlo__journal_is_durable(journal, 1, 0));
  ck_assert(!rlo__journal_is_durable(journal, 1, 64));
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), 12);
  const rlo__journal_settings *settings = rlo__journal_get_settings(journal);
  ck_assert_ptr_nonnull(settings);
  ck_assert_int_eq(settings->host_bytes, 1 << 20);
  ck_assert_int_eq(settings->piece_bytes, INT64_MAX);
  ck_assert_int_eq(settings->box_bytes, 1 << 30);
  ck_assert_int_eq(settings->num_slots, 8);
  ck_assert_int_eq(settings->passes, 2);
  ck_assert_int_eq(settings->scratch_bytes, 512);
  expect_ok(rlo__journal_start(journal));
  expect_ok(rlo__journal_add(journal, 1, 64, 11));
  make_checkpoint(journal);
  rlo__journal_release(journal);

  journal = open_fitting();
  ck_assert(rlo__journal_is_durable(journal, 1, 64));
  ck_assert_int_eq(rlo__journal_bytes_resumed(journal), 23);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__when_a_checkpoint_is_due) {
  const int64_t gib = INT64_C(1) << 30;
  rlo__journal *journal = open_fitting();
  expect_ok(rlo__journal_start(journal));
  rlo__journal_want_checkpoint(journal);
  ck_assert(!rlo__journal_is_due(journal, 100 * gib));
  expect_ok(rlo__journal_add(journal, 0, 0, 1));
  ck_assert(rlo__journal_is_due(journal, 0));
  rlo__journal_begin_checkpoint(journal, 3 * gib);
  expect_ok(rlo__journal_add(journal, 0, 1, 1));
  ck_assert(!rlo__journal_is_due(journal, 100 * gib));
  expect_ok(rlo__journal_checkpoint(journal, storage));
  rlo__journal_end_checkpoint(journal);
  ck_assert(!rlo__journal_is_due(journal, 7 * gib - 1));
  ck_assert(rlo__journal_is_due(journal, 7 * gib));
  rlo__journal_set_interval(0.0);
  ck_assert(rlo__journal_is_due(journal, 3 * gib));
  rlo__journal_set_interval(-1.0);
  ck_assert(!rlo__journal_is_due(journal, 3 * gib));
  rlo__journal_release(journal);
}

/* ------------------------------------------------------------ damaged files */

RLO_TEST(test_journal__torn_at_every_byte) {
  enum { COUNT = 5 };

  const size_t header = header_bytes();
  make_journal(COUNT);
  const file_content whole = read_file();
  ck_assert_uint_eq(whole.count, header + COUNT * RECORD_BYTES);
  for (size_t count = header; count <= whole.count; ++count) {
    file_content torn = whole;
    torn.count = count;
    write_file(&torn);
    const int boxes = (int)((count - header) / RECORD_BYTES);
    rlo__journal *journal = open_fitting();
    expect_boxes(journal, boxes);
    ck_assert_uint_eq(read_file().count, count);
    /* The next record takes the place of the one that is not complete. */
    expect_ok(rlo__journal_start(journal));
    expect_ok(rlo__journal_add(journal, 0, boxes, BOX_BYTES));
    make_checkpoint(journal);
    rlo__journal_release(journal);
    journal = open_fitting();
    expect_boxes(journal, boxes + 1);
    rlo__journal_release(journal);
  }
}

RLO_TEST(test_journal__every_byte_changed) {
  enum { COUNT = 3 };

  const size_t header = header_bytes();
  make_journal(COUNT);
  const file_content whole = read_file();
  for (size_t at = 0; at < whole.count; ++at) {
    file_content changed = whole;
    changed.bytes[at] = (char)(changed.bytes[at] ^ (1 << (at % 8)));
    write_file(&changed);
    rlo__journal *journal = NULL;
    rlo_status status = rlo__journal_open(path, &problem, &journal);
    if (at < header) {
      ck_assert_msg(
          status == RLO_DATA_LOSS || status == RLO_UNSUPPORTED, "byte %zu", at);
      ck_assert_ptr_null(journal);
      continue;
    }
    expect_ok(status);
    const rlo__journal_subject job = subject();
    expect_ok(rlo__journal_fit(journal, &job));
    expect_boxes(journal, (int)((at - header) / RECORD_BYTES));
    rlo__journal_release(journal);
  }
}

RLO_TEST(test_journal__records_that_come_twice) {
  make_journal(2);
  file_content twice = read_file();
  memcpy(twice.bytes + twice.count,
         twice.bytes + twice.count - RECORD_BYTES,
         RECORD_BYTES);
  twice.count += RECORD_BYTES;
  write_file(&twice);
  rlo__journal *journal = open_fitting();
  expect_boxes(journal, 2);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__records_of_another_journal) {
  make_journal(3);
  const file_content first = read_file();
  const size_t header = first.count - 3 * RECORD_BYTES;
  src.modified_nanos = 6;
  make_journal(0);
  file_content second = read_file();
  memcpy(second.bytes + header, first.bytes + header, 3 * RECORD_BYTES);
  second.count = first.count;
  write_file(&second);
  rlo__journal *journal = open_fitting();
  expect_boxes(journal, 0);
  rlo__journal_release(journal);
}

RLO_TEST(test_journal__a_box_that_is_not_of_the_job) {
  make_journal(0);
  rlo__journal_file file;
  rlo__journal_header header;
  bool exists;
  expect_ok(rlo__journal_file_open(path, &file, &header, &exists));
  const rlo__journal_record record = {.box = 2 * NUM_BOXES, .bytes = 1};
  expect_ok(rlo__journal_file_append(&file, &record, 1));
  rlo__journal_file_close(&file);
  rlo__journal *journal = NULL;
  expect_ok(rlo__journal_open(path, &problem, &journal));
  const rlo__journal_subject job = subject();
  ck_assert_int_eq(rlo__journal_fit(journal, &job), RLO_DATA_LOSS);
  ck_assert_ptr_nonnull(
      strstr(rlo_error_last()->message, "has box 140 of a job with 140"));
  rlo__journal_release(journal);
}

/* ----------------------------------------------------------------- refusals */

/* Opening is refused, and looking, with a message that has these words; the
 * file is untouched. */
static void expect_no_journal(rlo_status wanted, const char *words) {
  rlo__journal *journal = (rlo__journal *)&wanted;
  rlo__journal_settings settings;
  bool exists;
  for (int n = 0; n < 2; ++n) {
    rlo_status got =
        n == 0 ? rlo__journal_open(path, &problem, &journal)
               : rlo__journal_peek(path, &problem, &settings, &exists);
    const char *message = rlo_error_last()->message;
    ck_assert_msg(got == wanted && strstr(message, words) != NULL &&
                      strstr(message, path) != NULL,
                  "%s: %s",
                  rlo_status_name(got),
                  message);
  }
  ck_assert_ptr_null(journal);
}

RLO_TEST(test_journal__files_that_are_no_journals) {
  const file_content nothing = {.count = 0};
  write_file(&nothing);
  expect_no_journal(RLO_DATA_LOSS, "is not the journal of a job");
  make_journal(1);
  const file_content whole = read_file();
  const size_t header = whole.count - RECORD_BYTES;
  for (size_t count = 0; count < header; ++count) {
    file_content torn = whole;
    torn.count = count;
    write_file(&torn);
    expect_no_journal(
        RLO_DATA_LOSS,
        count < 16 ? "is not the journal of a job" : "its header has ");
    ck_assert_uint_eq(read_file().count, count);
  }
  file_content other = whole;
  other.bytes[0] = 'R';
  write_file(&other);
  expect_no_journal(RLO_DATA_LOSS, "is not the journal of a job");
  other = whole;
  other.bytes[8] = 9;
  write_file(&other);
  expect_no_journal(RLO_UNSUPPORTED,
                    "has version 9; this library knows version 1");
  other = whole;
  other.bytes[header - 1] ^= 1;
  write_file(&other);
  expect_no_journal(RLO_DATA_LOSS, "the header of the journal");
}

RLO_TEST(test_journal__what_is_no_file) {
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  expect_no_journal(RLO_INVALID_ARGUMENT, "is not a regular file");
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  expect_no_journal(RLO_IO, "cannot open the journal");
  ck_assert_int_eq(rmdir(path), 0);
  rlo__journal *journal = NULL;
  ck_assert_int_eq(
      rlo__journal_open("/no/such/folder/journal", &problem, &journal), RLO_OK);
  const rlo__journal_subject job = subject();
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
  ck_assert_int_eq(rlo__journal_open(path, &problem, &second),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(
      strstr(rlo_error_last()->message, "another job has the journal"));
  rlo__journal_settings settings;
  bool exists = false;
  expect_ok(rlo__journal_peek(path, &problem, &settings, &exists));
  ck_assert(exists);
  rlo__journal_release(first);
  second = open_fitting();
  rlo__journal_release(second);
}

typedef enum change {
  NOTHING,
  /** Another way to write the same. */
  PROBLEM_REWRITTEN,
  SRC_DEVICE,
  PROBLEM,
  SRC_INODE,
  SRC_OFFSET,
  SRC_BYTES,
  SRC_TIME,
  SRC_NUMBER,
  DST_INODE,
  DST_OFFSET,
  DST_BYTES,
  DST_SHORTER,
  COPIES,
  NUM_PASSES,
  BOX,
  PIECE,
  NUM_BOXES_OF_PASS,
  GATHERED
} change;

static void make_change(change c, rlo__journal_subject *job) {
  rlo__piece_plan *plan = &passes[1].plan;
  switch (c) {
    case NOTHING:
      break;
    case PROBLEM_REWRITTEN:
      problem.num_axes = 2;
      problem.extents[0] = 100;
      problem.extents[1] = 1000;
      problem.src.axis[0] = problem.dst.axis[0] = 1000;
      problem.src.axis[1] = problem.dst.axis[1] = 1;
      break;
    case PROBLEM:
      problem.src.axis[0] = -1;
      problem.src.base = 99999;
      break;
    case SRC_DEVICE:
      src.device = 7;
      break;
    case SRC_INODE:
      src.inode = 7;
      break;
    case SRC_OFFSET:
      src.offset = 64;
      break;
    case SRC_BYTES:
      ++src.bytes;
      break;
    case SRC_TIME:
      ++src.modified_nanos;
      break;
    case SRC_NUMBER:
      src.number = 1;
      break;
    case DST_INODE:
      dst.inode = 7;
      break;
    case DST_OFFSET:
      dst.offset = 1;
      break;
    case DST_BYTES:
      problem.dst_bytes = dst.bytes = 100001;
      break;
    case DST_SHORTER:
      dst.bytes = 99999;
      break;
    case COPIES:
      job->copies = true;
      break;
    case NUM_PASSES:
      job->num_passes = 1;
      break;
    case BOX:
      plan->box[0] = 1499;
      break;
    case PIECE:
      plan->piece[0] = 1;
      break;
    case NUM_BOXES_OF_PASS:
      ++plan->num_boxes;
      break;
    case GATHERED:
      plan->gathered = plan->gathered == RLO__SIDE_SOURCE
                           ? RLO__SIDE_DESTINATION
                           : RLO__SIDE_SOURCE;
      break;
  }
}

static const struct {
  change change;
  rlo_status status;
  const char *words;
} changes[] = {
    {NOTHING, RLO_OK, ""},
    {PROBLEM_REWRITTEN, RLO_OK, ""},
    {SRC_DEVICE, RLO_OK, ""},
    {PROBLEM, RLO_INVALID_ARGUMENT, "is of another problem"},
    {SRC_INODE, RLO_INVALID_ARGUMENT, "is of another source"},
    {SRC_OFFSET,
     RLO_INVALID_ARGUMENT,
     "is of another part of the source's file: its first byte differs (128, "
     "and 64 now)"},
    {SRC_BYTES,
     RLO_DATA_LOSS,
     "its file was changed since the job began, its length differs (100128, "
     "and 100129 now)"},
    {SRC_TIME, RLO_DATA_LOSS, "its file was changed since the job began"},
    {SRC_NUMBER, RLO_DATA_LOSS, "it was changed since the job began"},
    {DST_INODE, RLO_INVALID_ARGUMENT, "is of another destination"},
    {DST_OFFSET,
     RLO_INVALID_ARGUMENT,
     "is of another part of the destination's file: its first byte differs "
     "(0, and 1 now)"},
    {DST_BYTES,
     RLO_INVALID_ARGUMENT,
     "is of a destination of another length (100000, and 100001 now)"},
    {DST_SHORTER,
     RLO_DATA_LOSS,
     "the file has 99999 bytes, and 100000 were reserved"},
    {COPIES, RLO_INVALID_ARGUMENT, "is of a job on other devices"},
    {NUM_PASSES,
     RLO_INVALID_ARGUMENT,
     "is of a job with another number of passes (2, and 1 now)"},
    {BOX, RLO_INVALID_ARGUMENT, "is cut into other pieces"},
    {PIECE, RLO_INVALID_ARGUMENT, "is cut into other pieces"},
    {NUM_BOXES_OF_PASS, RLO_INVALID_ARGUMENT, "is cut into other pieces"},
    {GATHERED, RLO_INVALID_ARGUMENT, "is cut into other pieces"}};

RLO_TABLE_TEST(test_journal__other_jobs, changes) {
  make_journal(1);
  const file_content before = read_file();
  rlo__journal_subject job = subject();
  make_change(changes[_i].change, &job);
  rlo__journal *journal = NULL;
  /* Another problem is refused before anything is planned. */
  rlo_status got = rlo__journal_open(path, &problem, &journal);
  ck_assert((got != RLO_OK) == (changes[_i].change == PROBLEM));
  got = got != RLO_OK ? got : rlo__journal_fit(journal, &job);
  ck_assert_msg(got == changes[_i].status, "%s", rlo_error_last()->message);
  if (got != RLO_OK) {
    ck_assert_msg(strstr(rlo_error_last()->message, changes[_i].words) != NULL,
                  "%s",
                  rlo_error_last()->message);
  }
  rlo__journal_release(journal);
  const file_content after = read_file();
  ck_assert_uint_eq(after.count, before.count);
  ck_assert_int_eq(memcmp(after.bytes, before.bytes, before.count), 0);
}

RLO_TEST(test_journal__without_memory) {
  int num_done = 0;
  make_journal(40);
  for (int64_t nth = 1; num_done < 3; ++nth) {
    rlo__journal *journal = NULL;
    const rlo__journal_subject job = subject();
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo__journal_open(path, &problem, &journal);
    if (status == RLO_OK) {
      status = rlo__journal_fit(journal, &job);
    }
    if (status == RLO_OK) {
      status = rlo__journal_start(journal);
    }
    if (status == RLO_OK) {
      status = rlo__journal_add(journal, 1, 3, 1);
    }
    if (status == RLO_OK) {
      rlo__journal_begin_checkpoint(journal, 0);
      status = rlo__journal_checkpoint(journal, storage);
    }
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY,
                  "%s",
                  rlo_error_last()->message);
    num_done += status == RLO_OK;
    rlo__journal_release(journal);
    ck_assert_int_lt(nth, 100);
  }
}
