/* SPDX-License-Identifier: Apache-2.0 */
/* O_TMPFILE is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
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
  WORD_BYTES = 8,
  HEADER_BYTES = RLO__JOURNAL_HEADER_WORDS * WORD_BYTES,
  RECORD_BYTES = RLO__JOURNAL_RECORD_WORDS * WORD_BYTES,
  /** Room for what is read or appended at once. */
  MAX_RECORDS = 256,
  /** Boxes of a page. */
  PAGE_BOXES = 64,
  /* A process that was killed may hold its files for some time yet. */
  LOCK_TRIES = 50,
  LOCK_PAUSE_NANOS = 10 * 1000 * 1000
};

static const char magic[WORD_BYTES] = {'r', 'l', 'o', '-', 'j', 'r', 'n', 'l'};

/** How much may have to be done again. */
static const double default_seconds = 5.0;

/** For tests; negative: the default. */
static _Atomic double set_seconds = -1.0;

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
  /** Where the next record goes. */
  int64_t end;
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

void rlo__journal_set_interval(double seconds) {
  atomic_store(&set_seconds, seconds);
}

void rlo__journal_set_calls(rlo__journal *journal,
                            const rlo__storage_calls *calls) {
  journal->calls = calls;
}

/* -------------------------------------------------------------------- words */

static uint64_t get_word(const unsigned char *bytes, int number) {
  uint64_t word = 0;
  for (int i = 0; i < WORD_BYTES; ++i) {
    word |= (uint64_t)bytes[number * WORD_BYTES + i] << (8 * i);
  }
  return word;
}

/* Writes words, and behind them their checksum, which is returned. */
static uint64_t put_words(unsigned char *bytes,
                          const uint64_t *words,
                          int count,
                          uint64_t seed) {
  rlo__hash hash = rlo__hash_init(seed);
  for (int n = 0; n < count; ++n) {
    rlo__hash_u64(&hash, words[n]);
  }
  uint64_t checksum = rlo__hash_finish_u64(&hash);
  for (int i = 0; i < (count + 1) * WORD_BYTES; ++i) {
    uint64_t word = i / WORD_BYTES < count ? words[i / WORD_BYTES] : checksum;
    bytes[i] = (unsigned char)(word >> (8 * (i % WORD_BYTES)));
  }
  return checksum;
}

/* Writes the header, and notes its checksum. */
static void encode_header(rlo__journal *journal, unsigned char *bytes) {
  const rlo__journal_settings *s = &journal->settings;
  unsigned char text[WORD_BYTES];
  memcpy(text, magic, sizeof magic);
  const uint64_t words[RLO__JOURNAL_HEADER_WORDS - 1] = {
      get_word(text, 0),
      RLO__JOURNAL_VERSION,
      (uint64_t)s->host_bytes,
      (uint64_t)s->piece_bytes,
      (uint64_t)s->box_bytes,
      (uint64_t)s->num_slots,
      (uint64_t)s->passes,
      (uint64_t)s->scratch_bytes,
      journal->hash.high,
      journal->hash.low};
  journal->checksum = put_words(bytes, words, RLO__JOURNAL_HEADER_WORDS - 1, 0);
}

static void decode_header(rlo__journal *journal, const unsigned char *bytes) {
  journal->settings =
      (rlo__journal_settings){.host_bytes = (int64_t)get_word(bytes, 2),
                              .piece_bytes = (int64_t)get_word(bytes, 3),
                              .box_bytes = (int64_t)get_word(bytes, 4),
                              .num_slots = (int64_t)get_word(bytes, 5),
                              .passes = (int64_t)get_word(bytes, 6),
                              .scratch_bytes = (int64_t)get_word(bytes, 7)};
  journal->hash =
      (rlo__hash128){.high = get_word(bytes, 8), .low = get_word(bytes, 9)};
}

static void encode_record(const rlo__journal *journal,
                          uint64_t number,
                          const page *p,
                          unsigned char *bytes) {
  const uint64_t words[] = {number, p->boxes, (uint64_t)p->bytes};
  put_words(bytes, words, RLO__JOURNAL_RECORD_WORDS - 1, journal->checksum);
}

/* ------------------------------------------------------------------ reading */

/* Reads `bytes` bytes, or what there is of them. */
static rlo_status read_at(const rlo__journal *journal,
                          int64_t offset,
                          void *data,
                          int64_t bytes,
                          int64_t *out_bytes) {
  for (*out_bytes = 0; *out_bytes < bytes;) {
    struct iovec part = {.iov_base = (char *)data + *out_bytes,
                         .iov_len = (size_t)(bytes - *out_bytes)};
    ssize_t count =
        journal->calls->read(journal->fd, &part, 1, offset + *out_bytes);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return rlo__file_fail("cannot read", journal->path, errno);
    }
    if (count == 0) {
      break;
    }
    *out_bytes += count;
  }
  return RLO_OK;
}

/* Tells if a job can have begun with the settings. */
static bool is_possible(const rlo__journal_settings *s) {
  return s->host_bytes > 0 && s->piece_bytes > 0 && s->box_bytes > 0 &&
         s->num_slots > 0 && s->num_slots <= INT32_MAX && s->passes > 0 &&
         s->passes <= 2 && s->scratch_bytes >= 0;
}

static rlo_status read_header(rlo__journal *journal) {
  unsigned char bytes[HEADER_BYTES] = {0};
  unsigned char again[HEADER_BYTES];
  int64_t count;
  RLO_TRY(read_at(journal, 0, bytes, sizeof bytes, &count));
  if (count < (int64_t)2 * WORD_BYTES ||
      memcmp(bytes, magic, sizeof magic) != 0) {
    return RLO_FAIL(
        RLO_DATA_LOSS, "\"%s\" is not the journal of a job", journal->path);
  }
  uint64_t version = get_word(bytes, 1);
  if (version != RLO__JOURNAL_VERSION) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the journal \"%s\" has version %" PRIu64
                    "; this library knows version %d",
                    journal->path,
                    version,
                    RLO__JOURNAL_VERSION);
  }
  decode_header(journal, bytes);
  encode_header(journal, again);
  journal->end = HEADER_BYTES;
  if (count < HEADER_BYTES || memcmp(bytes, again, sizeof bytes) != 0 ||
      !is_possible(&journal->settings)) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the header of the journal \"%s\" is damaged",
                    journal->path);
  }
  return RLO_OK;
}

/* Takes over a record; RLO_NOT_FOUND if it is not valid. */
static rlo_status take_record(rlo__journal *journal,
                              const unsigned char *bytes) {
  const uint64_t number = get_word(bytes, 0);
  const page p = {get_word(bytes, 1), (int64_t)get_word(bytes, 2)};
  unsigned char again[RECORD_BYTES];
  encode_record(journal, number, &p, again);
  if (memcmp(bytes, again, sizeof again) != 0) {
    return RLO_NOT_FOUND;
  }
  const int64_t last = journal->num_boxes % PAGE_BOXES;
  const bool is_whole = number + 1 < journal->num_pages || last == 0;
  if (number >= journal->num_pages || p.bytes < 0 ||
      (!is_whole && p.boxes >> last != 0)) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the journal \"%s\" has boxes that its job has not",
                    journal->path);
  }
  journal->durable[number] = p;
  journal->end += RECORD_BYTES;
  return RLO_OK;
}

static rlo_status read_records(rlo__journal *journal) {
  const int64_t most = rlo__thresholds.service_journal_records;
  unsigned char bytes[MAX_RECORDS * RECORD_BYTES];
  int64_t num_whole;
  do {
    int64_t num_bytes;
    RLO_TRY(
        read_at(journal, journal->end, bytes, most * RECORD_BYTES, &num_bytes));
    num_whole = num_bytes / RECORD_BYTES;
    for (int64_t n = 0; n < num_whole; ++n) {
      rlo_status status = take_record(journal, bytes + n * RECORD_BYTES);
      if (status != RLO_OK) {
        return status == RLO_NOT_FOUND ? RLO_OK : status;
      }
    }
  } while (num_whole == most);
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

/* Opens the file, if there is one, and reads its header. */
static rlo_status open_existing(rlo__journal *journal, bool is_locked) {
  do {
    /* O_NONBLOCK: it could be a pipe. */
    journal->fd = open(journal->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  } while (journal->fd < 0 && errno == EINTR);
  journal->exists = journal->fd >= 0;
  if (!journal->exists) {
    return errno == ENOENT
               ? RLO_OK
               : rlo__file_fail(
                     "cannot open the journal", journal->path, errno);
  }
  struct stat st;
  if (fstat(journal->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "\"%s\", which should be a journal, is not a regular file",
                    journal->path);
  }
  if (is_locked && lock_fd(journal->fd) != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "another job has the journal \"%s\"",
                    journal->path);
  }
  return read_header(journal);
}

static rlo_status open_path(const char *path,
                            bool is_locked,
                            rlo__journal **out_journal) {
  *out_journal = NULL;
  rlo__journal *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->fd = -1;
  made->calls = &rlo__storage_system_calls;
  made->path = rlo__alloc_string(path);
  rlo_status status =
      made->path == NULL ? RLO_OUT_OF_MEMORY : open_existing(made, is_locked);
  if (status != RLO_OK) {
    rlo__journal_release(made);
    return status;
  }
  *out_journal = made;
  return RLO_OK;
}

rlo_status rlo__journal_open(const char *path, rlo__journal **out_journal) {
  return open_path(path, true, out_journal);
}

rlo_status rlo__journal_peek(const char *path,
                             rlo__journal_settings *out_settings,
                             bool *out_exists) {
  rlo__journal *journal;
  RLO_TRY(open_path(path, false, &journal));
  *out_settings = journal->settings;
  *out_exists = journal->exists;
  rlo__journal_release(journal);
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

const rlo__journal_settings *rlo__journal_get_settings(
    const rlo__journal *journal) {
  return journal->exists ? &journal->settings : NULL;
}

rlo_status rlo__journal_fail_other(const char *path) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "the journal \"%s\" is of another job: of another problem, "
                  "source or destination, or the source has changed since",
                  path);
}

rlo_status rlo__journal_fit(rlo__journal *journal,
                            const rlo__journal_subject *job) {
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
  if (journal->done == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  journal->taken = journal->done + journal->num_pages;
  journal->durable = journal->taken + journal->num_pages;
  if (journal->exists) {
    RLO_TRY(read_records(journal));
  }
  for (size_t n = 0; n < journal->num_pages; ++n) {
    journal->done[n] = journal->durable[n];
    journal->bytes_resumed =
        rlo__add_capped(journal->bytes_resumed, journal->durable[n].bytes);
  }
  return RLO_OK;
}

int64_t rlo__journal_bytes_resumed(const rlo__journal *journal) {
  return journal->bytes_resumed;
}

/* ------------------------------------------------------------------ writing */

/* 0, or an errno. */
static int write_at(const rlo__journal *journal,
                    int64_t offset,
                    const unsigned char *data,
                    size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count = journal->calls->write(
        journal->fd, data + done, bytes - done, offset + (int64_t)done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count < 0 ? errno : EIO;
    }
    done += (size_t)count;
  }
  return 0;
}

static int sync_file(const rlo__journal *journal) {
  while (journal->calls->sync(journal->fd) != 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

static void folder_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(out,
                 PATH_MAX,
                 "%.*s",
                 slash == NULL ? 1 : (int)(slash - path) + 1,
                 slash == NULL ? "." : path);
}

/* Creates the file and writes its header. 0, or an errno: then nothing is left.
 * If `is_named`, the file has its name before its contents: where the system
 * has no files without a name. */
static int create(rlo__journal *journal, bool is_named) {
  const mode_t mode = 0600;
  unsigned char header[HEADER_BYTES];
  char folder[PATH_MAX];
  char link[64];
  encode_header(journal, header);
  folder_of(journal->path, folder);
  do {
    journal->fd =
        is_named
            ? open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            : open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
  } while (journal->fd < 0 && errno == EINTR);
  if (journal->fd < 0) {
    return errno;
  }
  (void)lock_fd(journal->fd);
  int error = write_at(journal, 0, header, HEADER_BYTES);
  error = error != 0 ? error : sync_file(journal);
  if (error != 0 && is_named) {
    (void)unlink(journal->path);
  }
  if (error == 0 && !is_named) {
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", journal->fd);
    bool is_linked =
        linkat(AT_FDCWD, link, AT_FDCWD, journal->path, AT_SYMLINK_FOLLOW) == 0;
    error = is_linked ? 0 : errno;
  }
  if (error != 0) {
    rlo__file_close(journal->fd);
    journal->fd = -1;
  }
  return error;
}

/* Makes the journal, and what was made beside it before, survive a stop of the
 * machine. Where that cannot be, a resumed job begins anew. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  folder_of(path, folder);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    rlo__file_close(fd);
  }
}

static rlo_status create_file(rlo__journal *journal) {
  int error = create(journal, false);
  if (error != 0 && error != EEXIST) {
    error = create(journal, true);
  }
  if (error == EEXIST) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "the journal \"%s\" appeared after the job was submitted",
                    journal->path);
  }
  if (error != 0) {
    return rlo__file_fail("cannot create the journal", journal->path, error);
  }
  journal->end = HEADER_BYTES;
  sync_folder(journal->path);
  return RLO_OK;
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
  RLO_TRY(journal->exists ? trim(journal) : create_file(journal));
  journal->begin_seconds = rlo__clock_seconds();
  return RLO_OK;
}

/* Appends a record of each page that has changed since the last checkpoint.
 * After a failure no more can be appended. */
static rlo_status append_pages(rlo__journal *journal) {
  unsigned char bytes[MAX_RECORDS * RECORD_BYTES];
  int64_t end = journal->end;
  int error = 0;
  for (size_t n = 0; n < journal->num_pages && error == 0;) {
    size_t count = 0;
    for (; n < journal->num_pages && count < sizeof bytes; ++n) {
      if (journal->taken[n].boxes != journal->durable[n].boxes) {
        encode_record(journal, n, &journal->taken[n], bytes + count);
        count += RECORD_BYTES;
      }
    }
    error = write_at(journal, end, bytes, count);
    end += (int64_t)count;
  }
  error = error != 0 || end == journal->end ? error : sync_file(journal);
  if (error != 0) {
    return rlo__file_fail("cannot write the journal", journal->path, error);
  }
  journal->end = end;
  return RLO_OK;
}

/* -------------------------------------------------------------- checkpoints */

bool rlo__journal_is_durable(const rlo__journal *journal,
                             int32_t pass,
                             int64_t box) {
  int64_t n = journal->first_boxes[pass] + box;
  return (journal->durable[n / PAGE_BOXES].boxes >> (n % PAGE_BOXES) & 1) != 0;
}

void rlo__journal_add(rlo__journal *journal,
                      int32_t pass,
                      int64_t box,
                      int64_t bytes) {
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
  double seconds = atomic_load(&set_seconds);
  return journal->is_wanted ||
         bytes_written - journal->begin_bytes >=
             rlo__thresholds.service_checkpoint_bytes ||
         rlo__clock_seconds() - journal->begin_seconds >=
             (seconds < 0 ? default_seconds : seconds);
}

void rlo__journal_begin_checkpoint(rlo__journal *journal,
                                   int64_t bytes_written) {
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
