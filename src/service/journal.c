/* SPDX-License-Identifier: Apache-2.0 */
/* O_TMPFILE, htole64 and flock are no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"

enum {
  HEADER_WORDS = RLO__JOURNAL_HEADER_WORDS,
  RECORD_WORDS = RLO__JOURNAL_RECORD_WORDS,
  HEADER_BYTES = HEADER_WORDS * sizeof(uint64_t),
  RECORD_BYTES = RECORD_WORDS * sizeof(uint64_t),
  /** Where the settings begin in the header, and the hash. */
  SETTINGS_WORD = 2,
  HASH_WORD = 8,
  /** Room for what is read or appended at once. */
  MAX_RECORDS = 256,
  /** Boxes of a page. */
  PAGE_BOXES = 64,
  /* A process that was killed may hold its files for some time yet. */
  LOCK_TRIES = 50,
  LOCK_PAUSE_NANOS = 10 * 1000 * 1000
};

/** "rlo-jrnl". */
static const uint64_t magic = UINT64_C(0x6c6e726a2d6f6c72);

/** Which boxes of a page are done, and the bytes that were read and written for
 *  them. */
typedef struct page {
  uint64_t boxes;
  int64_t bytes;
} page;

struct rlo__journal {
  char *path;
  const rlo__storage_calls *calls;
  /** -1: closed. */
  int fd;
  /** The length of the file when it was opened, and where the next record goes.
   */
  int64_t bytes, end;
  rlo__journal_settings settings;
  rlo__hash128 hash;
  /** The header's. */
  uint64_t checksum;
  /** There is a job to be resumed. */
  bool exists;
  /** The boxes of all passes, and those before the second pass. */
  int64_t num_boxes, first_boxes[2];
  size_t num_pages;
  /** Pages of what is done, of what the checkpoint that is made records, and of
   *  what is durable. */
  page *done, *taken, *durable;
  int64_t bytes_resumed;
  /** There are done boxes that no checkpoint has taken. */
  bool has_news;
  bool is_in_checkpoint, is_wanted;
  /** Since the last checkpoint. */
  double begin_seconds;
  int64_t begin_bytes;
};

void rlo__journal_set_calls(rlo__journal *journal, const rlo__storage_calls *calls) {
  journal->calls = calls;
}

/* -------------------------------------------------------------------- words */

/* Words as they are in a file, from those of the machine, or back. */
static void swap_words(uint64_t *words, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    words[n] = htole64(words[n]);
  }
}

static uint64_t checksum_of(const uint64_t *words, int count, uint64_t seed) {
  rlo__hash hash = rlo__hash_init(seed);
  for (int n = 0; n < count; ++n) {
    rlo__hash_u64(&hash, words[n]);
  }
  return rlo__hash_finish_u64(&hash);
}

/* ------------------------------------------------------------------ reading */

/* Tells if a job can have begun with the settings. */
static bool is_possible(const rlo__journal_settings *s) {
  return s->host_bytes > 0 && s->piece_bytes > 0 && s->box_bytes > 0 && s->num_slots > 0 &&
         s->num_slots <= INT32_MAX && s->passes > 0 && s->passes <= 2 && s->scratch_bytes >= 0;
}

static rlo_status read_header(rlo__journal *journal) {
  uint64_t words[HEADER_WORDS] = {0};
  size_t bytes = (size_t)rlo__min(journal->bytes, HEADER_BYTES);
  RLO_TRY(rlo__file_pread(journal->fd, journal->path, words, bytes, 0));
  swap_words(words, HEADER_WORDS);
  RLO_FAIL_IF(bytes < SETTINGS_WORD * sizeof *words || words[0] != magic, RLO_DATA_LOSS,
              "\"%s\" is not the journal of a job", journal->path);
  RLO_FAIL_IF(words[1] != RLO__JOURNAL_VERSION, RLO_UNSUPPORTED,
              "the journal \"%s\" has version %" PRIu64 "; this library knows version %d",
              journal->path, words[1], RLO__JOURNAL_VERSION);
  memcpy(&journal->settings, words + SETTINGS_WORD, sizeof journal->settings);
  journal->hash = (rlo__hash128){words[HASH_WORD], words[HASH_WORD + 1]};
  journal->checksum = checksum_of(words, HEADER_WORDS - 1, 0);
  journal->end = HEADER_BYTES;
  RLO_FAIL_IF(bytes < HEADER_BYTES || words[HEADER_WORDS - 1] != journal->checksum ||
                  !is_possible(&journal->settings),
              RLO_DATA_LOSS, "the header of the journal \"%s\" is damaged", journal->path);
  return RLO_OK;
}

/* Takes over a record; RLO_NOT_FOUND if it is not valid. */
static rlo_status take_record(rlo__journal *journal, const uint64_t *words) {
  const uint64_t number = words[0];
  const page p = {words[1], (int64_t)words[2]};
  if (words[RECORD_WORDS - 1] != checksum_of(words, RECORD_WORDS - 1, journal->checksum)) {
    return RLO_NOT_FOUND;
  }
  const int64_t last = journal->num_boxes % PAGE_BOXES;
  const bool is_whole = number + 1 < journal->num_pages || last == 0;
  RLO_FAIL_IF(number >= journal->num_pages || p.bytes < 0 || (!is_whole && p.boxes >> last != 0),
              RLO_DATA_LOSS, "the journal \"%s\" has boxes that its job has not", journal->path);
  journal->durable[number] = p;
  journal->end += RECORD_BYTES;
  return RLO_OK;
}

static rlo_status read_records(rlo__journal *journal) {
  uint64_t words[MAX_RECORDS * RECORD_WORDS];
  int64_t left;
  while ((left = (journal->bytes - journal->end) / RECORD_BYTES) > 0) {
    left = rlo__min(left, rlo__thresholds.service_journal_records);
    RLO_TRY(rlo__file_pread(journal->fd, journal->path, words, (size_t)left * RECORD_BYTES,
                            journal->end));
    swap_words(words, (size_t)left * RECORD_WORDS);
    for (int64_t n = 0; n < left; ++n) {
      rlo_status status = take_record(journal, words + n * RECORD_WORDS);
      if (status != RLO_OK) {
        return status == RLO_NOT_FOUND ? RLO_OK : status;
      }
    }
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ opening */

/* 0; EWOULDBLOCK if another job holds it; where there are no locks, 0. */
static int lock_fd(int fd) {
  for (int attempt = 0;; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      return 0;
    }
    if (errno != EINTR && errno != EWOULDBLOCK) {
      return 0;
    }
    if (attempt == LOCK_TRIES) {
      return EWOULDBLOCK;
    }
    const struct timespec pause = {0, LOCK_PAUSE_NANOS};
    (void)nanosleep(&pause, NULL);
  }
}

/* Tells if what has the journal's name may be another user's: others, too, give
 * a file of this user's a second name. */
static bool is_of_others(const struct stat *st) {
  return st->st_uid != geteuid() || (S_ISREG(st->st_mode) && st->st_nlink > 1);
}

/* Locks the file that is open, and reads its header. */
static rlo_status take_file(rlo__journal *journal, bool is_locked, int64_t bytes) {
  RLO_FAIL_IF(is_locked && lock_fd(journal->fd) != 0, RLO_INVALID_ARGUMENT,
              "another job has the journal \"%s\"", journal->path);
  journal->exists = true;
  journal->bytes = bytes;
  return read_header(journal);
}

/* Opens the file, if there is one that is to be believed. */
static rlo_status open_existing(rlo__journal *journal, bool is_locked) {
  /* O_NONBLOCK: it could be a pipe. */
  journal->fd = rlo__open_at(AT_FDCWD, journal->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  const int error = errno;
  struct stat st;
  if ((journal->fd >= 0 ? fstat(journal->fd, &st) : lstat(journal->path, &st)) != 0) {
    return errno == ENOENT ? RLO_OK
                           : rlo__file_fail("cannot open the journal", journal->path, errno);
  }
  if (is_of_others(&st)) {
    rlo__file_close(journal->fd);
    journal->fd = -1;
    return RLO_OK;
  }
  RLO_FAIL_IF(!S_ISREG(st.st_mode), RLO_INVALID_ARGUMENT,
              "\"%s\", which should be a journal, is not a regular file", journal->path);
  if (journal->fd < 0) {
    return rlo__file_fail("cannot open the journal", journal->path, error);
  }
  RLO_FAIL_IF((st.st_mode & (S_IWGRP | S_IWOTH)) != 0, RLO_INVALID_ARGUMENT,
              "the journal \"%s\" is not believed: others than its owner can write to it (mode %o)",
              journal->path, (unsigned)(st.st_mode & 07777));
  return take_file(journal, is_locked, (int64_t)st.st_size);
}

rlo_status rlo__journal_open(const char *path, bool is_locked, rlo__journal **out_journal) {
  *out_journal = NULL;
  rlo__journal *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  made->fd = -1;
  made->calls = &rlo__storage_system_calls;
  made->path = rlo__alloc_string(path);
  rlo_status status = made->path == NULL ? RLO_OUT_OF_MEMORY : open_existing(made, is_locked);
  if (status != RLO_OK) {
    rlo__journal_release(made);
    return status;
  }
  *out_journal = made;
  return RLO_OK;
}

void rlo__journal_release(rlo__journal *journal) {
  if (journal == NULL) {
    return;
  }
  rlo__file_close(journal->fd);
  rlo__free(journal->done);
  rlo__free(journal->path);
  rlo__free(journal);
}

const rlo__journal_settings *rlo__journal_get_settings(const rlo__journal *journal) {
  return journal->exists ? &journal->settings : NULL;
}

rlo_status rlo__journal_fail_other(const char *path) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "the journal \"%s\" is of another job: of another problem, source or destination "
                  "(a copy is another one), or of devices with another kind of memory (the host's, "
                  "or their own), or the source has changed since",
                  path);
}

rlo_status rlo__journal_fit(rlo__journal *journal, const rlo__journal_subject *job) {
  if (journal->exists && !rlo__hash128_is_equal(journal->hash, job->hash)) {
    return rlo__journal_fail_other(journal->path);
  }
  if (!rlo__add(job->num_boxes[0], job->num_boxes[1], &journal->num_boxes)) {
    return rlo__fail_overflow("the number of a job's boxes");
  }
  journal->settings = job->settings;
  journal->hash = job->hash;
  journal->first_boxes[1] = job->num_boxes[0];
  journal->num_pages = (size_t)rlo__ceil_div(journal->num_boxes, PAGE_BOXES);
  journal->done = rlo__alloc_array(3 * journal->num_pages, sizeof(page));
  RLO_TRY_MEMORY(journal->done);
  journal->taken = journal->done + journal->num_pages;
  journal->durable = journal->taken + journal->num_pages;
  if (journal->exists) {
    RLO_TRY(read_records(journal));
  }
  for (size_t n = 0; n < journal->num_pages; ++n) {
    journal->done[n] = journal->durable[n];
    journal->bytes_resumed = rlo__add_capped(journal->bytes_resumed, journal->durable[n].bytes);
  }
  return RLO_OK;
}

int64_t rlo__journal_bytes_resumed(const rlo__journal *journal) {
  return journal->bytes_resumed;
}

/* ------------------------------------------------------------------ writing */

/* Makes a file of a header, and leaves it open. 0, or an errno: then nothing is
 * left. If `is_named`, the file has its name before its contents: where the
 * system has no files without a name. Else, where its name is another user's,
 * it stays without: nobody prevents the job, which cannot be resumed then. */
static int write_header(rlo__journal *journal, const uint64_t header[HEADER_WORDS], bool is_named) {
  const mode_t mode = 0600;
  char folder[PATH_MAX];
  char link[64];
  int fd;
  rlo__folder_of(journal->path, folder);
  do {
    fd = is_named ? open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
                  : open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    return errno;
  }
  struct stat st;
  int error = rlo__calls_write(journal->calls, fd, 0, header, HEADER_BYTES);
  error = error != 0 ? error : rlo__calls_sync(journal->calls, fd);
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (error == 0 && !is_named &&
      linkat(AT_FDCWD, link, AT_FDCWD, journal->path, AT_SYMLINK_FOLLOW) != 0) {
    error = errno;
    if (error == EEXIST && lstat(journal->path, &st) == 0 && is_of_others(&st)) {
      error = 0;
    }
  }
  if (error != 0 && is_named) {
    (void)unlink(journal->path);
  }
  if (error != 0) {
    rlo__file_close(fd);
    return error;
  }
  journal->fd = fd;
  return 0;
}

/* Creates the file and opens it. */
static rlo_status create(rlo__journal *journal) {
  uint64_t words[HEADER_WORDS] = {magic, RLO__JOURNAL_VERSION};
  memcpy(words + SETTINGS_WORD, &journal->settings, sizeof journal->settings);
  words[HASH_WORD] = journal->hash.high;
  words[HASH_WORD + 1] = journal->hash.low;
  words[HEADER_WORDS - 1] = checksum_of(words, HEADER_WORDS - 1, 0);
  swap_words(words, HEADER_WORDS);
  int error = write_header(journal, words, false);
  if (error != 0 && error != EEXIST) {
    error = write_header(journal, words, true);
  }
  RLO_FAIL_IF(error == EEXIST, RLO_ALREADY_EXISTS,
              "the journal \"%s\" appeared after the job was submitted", journal->path);
  if (error != 0) {
    return rlo__file_fail("cannot create the journal", journal->path, error);
  }
  /* With what was made beside it before. Where that cannot be, a job that is
   * resumed after a stop of the machine begins anew. */
  (void)rlo__folder_sync(AT_FDCWD, journal->path);
  return take_file(journal, true, HEADER_BYTES);
}

/* Cuts off what follows the records that were read. */
static rlo_status trim(const rlo__journal *journal) {
  while (journal->calls->resize(journal->fd, journal->end) != 0) {
    if (errno != EINTR) {
      return rlo__file_fail("cannot shorten", journal->path, errno);
    }
  }
  return RLO_OK;
}

rlo_status rlo__journal_start(rlo__journal *journal) {
  RLO_TRY(journal->exists ? trim(journal) : create(journal));
  journal->begin_seconds = rlo__clock_seconds();
  return RLO_OK;
}

/* Appends a record of each page that has changed since the last checkpoint.
 * After a failure no more can be appended. */
static rlo_status append_pages(rlo__journal *journal) {
  uint64_t words[MAX_RECORDS * RECORD_WORDS];
  int64_t end = journal->end;
  int error = 0;
  for (size_t n = 0; n < journal->num_pages && error == 0;) {
    size_t count = 0;
    for (; n < journal->num_pages && count < MAX_RECORDS; ++n) {
      const page *p = &journal->taken[n];
      uint64_t *record = words + count * RECORD_WORDS;
      if (p->boxes != journal->durable[n].boxes) {
        record[0] = n;
        record[1] = p->boxes;
        record[2] = (uint64_t)p->bytes;
        record[3] = checksum_of(record, RECORD_WORDS - 1, journal->checksum);
        ++count;
      }
    }
    swap_words(words, count * RECORD_WORDS);
    int64_t bytes = (int64_t)count * RECORD_BYTES;
    error = rlo__calls_write(journal->calls, journal->fd, end, words, bytes);
    end += bytes;
  }
  if (error == 0 && end != journal->end) {
    error = rlo__calls_sync(journal->calls, journal->fd);
  }
  if (error != 0) {
    return rlo__file_fail("cannot write the journal", journal->path, error);
  }
  journal->end = end;
  return RLO_OK;
}

/* -------------------------------------------------------------- checkpoints */

bool rlo__journal_is_durable(const rlo__journal *journal, int32_t pass, int64_t box) {
  int64_t n = journal->first_boxes[pass] + box;
  return (journal->durable[n / PAGE_BOXES].boxes >> (n % PAGE_BOXES) & 1) != 0;
}

void rlo__journal_add(rlo__journal *journal, int32_t pass, int64_t box, int64_t bytes) {
  int64_t n = journal->first_boxes[pass] + box;
  page *p = &journal->done[n / PAGE_BOXES];
  p->boxes |= UINT64_C(1) << (n % PAGE_BOXES);
  p->bytes = rlo__add_capped(p->bytes, bytes);
  journal->has_news = true;
}

void rlo__journal_want_checkpoint(rlo__journal *journal) {
  journal->is_wanted = true;
}

bool rlo__journal_is_due(const rlo__journal *journal, int64_t bytes_written) {
  if (journal->is_in_checkpoint || !journal->has_news) {
    return false;
  }
  return journal->is_wanted ||
         bytes_written - journal->begin_bytes >= rlo__thresholds.service_checkpoint_bytes ||
         rlo__clock_seconds() - journal->begin_seconds >=
             (double)rlo__thresholds.service_checkpoint_seconds;
}

void rlo__journal_begin_checkpoint(rlo__journal *journal, int64_t bytes_written) {
  memcpy(journal->taken, journal->done, journal->num_pages * sizeof(page));
  journal->is_in_checkpoint = true;
  journal->has_news = journal->is_wanted = false;
  journal->begin_bytes = bytes_written;
}

rlo_status rlo__journal_checkpoint(rlo__journal *journal, rlo_storage *dst) {
  RLO_TRY(rlo__storage_flush(dst));
  return append_pages(journal);
}

void rlo__journal_end_checkpoint(rlo__journal *journal) {
  memcpy(journal->durable, journal->taken, journal->num_pages * sizeof(page));
  journal->is_in_checkpoint = false;
  journal->begin_seconds = rlo__clock_seconds();
}
