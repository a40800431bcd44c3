/* SPDX-License-Identifier: Apache-2.0 */
/* O_TMPFILE is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/journal_file.h"

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
#include "base/hash.h"
#include "base/threshold.h"

enum {
  WORD_BYTES = 8,
  /** Magic and version. */
  HEAD_BYTES = 2 * WORD_BYTES,
  HEADER_WORDS = 3 + RLO__JOURNAL_NUM_SETTINGS + RLO__JOURNAL_NUM_KEYS,
  HEADER_BYTES = HEADER_WORDS * WORD_BYTES,
  RECORD_WORDS = 3,
  RECORD_BYTES = RECORD_WORDS * WORD_BYTES,
  /** Without the checksum. */
  RECORD_DATA_BYTES = 2 * WORD_BYTES,
  /** Room for what is read at once. */
  READ_RECORDS = 256,
  /* A process that was killed may hold its files for some time yet. */
  LOCK_TRIES = 50,
  LOCK_PAUSE_NANOS = 10 * 1000 * 1000
};

static const char magic[WORD_BYTES] = {'r', 'l', 'o', '-', 'j', 'r', 'n', 'l'};

/* -------------------------------------------------------------------- words */

static void put_word(unsigned char *bytes, uint64_t word) {
  for (int i = 0; i < WORD_BYTES; ++i) {
    bytes[i] = (unsigned char)(word >> (8 * i));
  }
}

static uint64_t get_word(const unsigned char *bytes) {
  uint64_t word = 0;
  for (int i = 0; i < WORD_BYTES; ++i) {
    word |= (uint64_t)bytes[i] << (8 * i);
  }
  return word;
}

static uint64_t checksum_of(uint64_t seed,
                            const unsigned char *bytes,
                            size_t count) {
  rlo__hash hash = rlo__hash_init(seed);
  rlo__hash_bytes(&hash, bytes, count);
  return rlo__hash_finish_u64(&hash);
}

/** Returns the checksum. */
static uint64_t encode_header(const rlo__journal_header *header,
                              unsigned char bytes[HEADER_BYTES]) {
  memcpy(bytes, magic, sizeof magic);
  put_word(bytes + WORD_BYTES, RLO__JOURNAL_VERSION);
  unsigned char *next = bytes + HEAD_BYTES;
  for (int n = 0; n < RLO__JOURNAL_NUM_SETTINGS; ++n, next += WORD_BYTES) {
    put_word(next, (uint64_t)header->settings[n]);
  }
  for (int n = 0; n < RLO__JOURNAL_NUM_KEYS; ++n, next += WORD_BYTES) {
    put_word(next, header->key[n]);
  }
  uint64_t checksum =
      checksum_of(RLO__JOURNAL_VERSION, bytes, HEADER_BYTES - WORD_BYTES);
  put_word(next, checksum);
  return checksum;
}

static void decode_header(const unsigned char bytes[HEADER_BYTES],
                          rlo__journal_header *out) {
  const unsigned char *next = bytes + HEAD_BYTES;
  for (int n = 0; n < RLO__JOURNAL_NUM_SETTINGS; ++n, next += WORD_BYTES) {
    out->settings[n] = (int64_t)get_word(next);
  }
  for (int n = 0; n < RLO__JOURNAL_NUM_KEYS; ++n, next += WORD_BYTES) {
    out->key[n] = get_word(next);
  }
}

static void encode_record(const rlo__journal_record *record,
                          uint64_t seed,
                          unsigned char bytes[RECORD_BYTES]) {
  put_word(bytes, (uint64_t)record->box);
  put_word(bytes + WORD_BYTES, (uint64_t)record->bytes);
  put_word(bytes + RECORD_DATA_BYTES,
           checksum_of(seed, bytes, RECORD_DATA_BYTES));
}

/** Whether it is valid. */
static bool decode_record(const unsigned char bytes[RECORD_BYTES],
                          uint64_t seed,
                          rlo__journal_record *out) {
  out->box = (int64_t)get_word(bytes);
  out->bytes = (int64_t)get_word(bytes + WORD_BYTES);
  return get_word(bytes + RECORD_DATA_BYTES) ==
         checksum_of(seed, bytes, RECORD_DATA_BYTES);
}

/* ------------------------------------------------------------------ reading */

/** Reads `bytes` bytes, or what there is of them. */
static rlo_status read_at(const rlo__journal_file *file,
                          int64_t offset,
                          void *data,
                          int64_t bytes,
                          int64_t *out_bytes) {
  for (*out_bytes = 0; *out_bytes < bytes;) {
    struct iovec part = {.iov_base = (char *)data + *out_bytes,
                         .iov_len = (size_t)(bytes - *out_bytes)};
    ssize_t count = file->calls->read(file->fd, &part, 1, offset + *out_bytes);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return rlo__file_fail("cannot read", file->path, errno);
    }
    if (count == 0) {
      break;
    }
    *out_bytes += count;
  }
  return RLO_OK;
}

static rlo_status read_header(rlo__journal_file *file,
                              rlo__journal_header *out_header) {
  unsigned char bytes[HEADER_BYTES];
  int64_t count;
  RLO_TRY(read_at(file, 0, bytes, sizeof bytes, &count));
  if (count < HEAD_BYTES || memcmp(bytes, magic, sizeof magic) != 0) {
    return RLO_FAIL(
        RLO_DATA_LOSS, "\"%s\" is not the journal of a job", file->path);
  }
  uint64_t version = get_word(bytes + WORD_BYTES);
  if (version != RLO__JOURNAL_VERSION) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the journal \"%s\" has version %" PRIu64
                    "; this library knows version %d",
                    file->path,
                    version,
                    RLO__JOURNAL_VERSION);
  }
  if (count < HEADER_BYTES) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the journal \"%s\" ends at byte %" PRId64
                    "; its header has %d",
                    file->path,
                    count,
                    HEADER_BYTES);
  }
  uint64_t checksum = get_word(bytes + HEADER_BYTES - WORD_BYTES);
  decode_header(bytes, out_header);
  file->checksum = encode_header(out_header, bytes);
  file->end = HEADER_BYTES;
  if (checksum != file->checksum) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the header of the journal \"%s\" is damaged",
                    file->path);
  }
  return RLO_OK;
}

rlo_status rlo__journal_file_read(rlo__journal_file *file,
                                  rlo__journal_record **out_records,
                                  size_t *out_count) {
  const int64_t most = rlo__thresholds.service_journal_records;
  unsigned char bytes[READ_RECORDS * RECORD_BYTES];
  rlo__journal_record *records = NULL;
  size_t capacity = 0;
  size_t count = 0;
  rlo_status status;
  bool is_valid = true;
  RLO_TRY_GOTO(rlo__array_reserve(&records, sizeof *records, 1, &capacity));
  while (is_valid) {
    int64_t num_bytes;
    RLO_TRY_GOTO(
        read_at(file, file->end, bytes, most * RECORD_BYTES, &num_bytes));
    int64_t num_whole = num_bytes / RECORD_BYTES;
    is_valid = num_whole == most;
    RLO_TRY_GOTO(rlo__array_reserve(
        &records, sizeof *records, count + (size_t)num_whole, &capacity));
    for (int64_t n = 0; n < num_whole; ++n) {
      if (!decode_record(
              bytes + n * RECORD_BYTES, file->checksum, &records[count])) {
        is_valid = false;
        break;
      }
      ++count;
      file->end += RECORD_BYTES;
    }
  }
  *out_records = records;
  *out_count = count;
  return RLO_OK;
fail:
  rlo__free(records);
  return status;
}

/* ------------------------------------------------------------------ opening */

/** 0; EWOULDBLOCK if another job holds it; where there are no locks, 0. */
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

static void init(rlo__journal_file *file, const char *path) {
  *file = (rlo__journal_file){
      .calls = &rlo__storage_system_calls, .path = path, .fd = -1};
}

/** Opens it, if there is one, which *out_exists says. */
static rlo_status open_existing(rlo__journal_file *file, bool *out_exists) {
  do {
    /* O_NONBLOCK: it could be a pipe. */
    file->fd = open(file->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  } while (file->fd < 0 && errno == EINTR);
  *out_exists = file->fd >= 0;
  if (file->fd < 0) {
    return errno == ENOENT
               ? RLO_OK
               : rlo__file_fail("cannot open the journal", file->path, errno);
  }
  struct stat st;
  if (fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "\"%s\", which should be a journal, is not a regular file",
                    file->path);
  }
  return RLO_OK;
}

rlo_status rlo__journal_file_peek(const char *path,
                                  rlo__journal_header *out_header,
                                  bool *out_exists) {
  rlo__journal_file file;
  init(&file, path);
  rlo_status status = open_existing(&file, out_exists);
  if (status == RLO_OK && *out_exists) {
    status = read_header(&file, out_header);
  }
  rlo__journal_file_close(&file);
  return status;
}

rlo_status rlo__journal_file_open(const char *path,
                                  rlo__journal_file *out_file,
                                  rlo__journal_header *out_header,
                                  bool *out_exists) {
  init(out_file, path);
  rlo_status status = open_existing(out_file, out_exists);
  if (status != RLO_OK || !*out_exists) {
    goto fail;
  }
  if (lock_fd(out_file->fd) != 0) {
    status = RLO_FAIL(
        RLO_INVALID_ARGUMENT, "another job has the journal \"%s\"", path);
    goto fail;
  }
  RLO_TRY_GOTO(read_header(out_file, out_header));
  return RLO_OK;
fail:
  rlo__journal_file_close(out_file);
  return status;
}

void rlo__journal_file_close(rlo__journal_file *file) {
  rlo__file_close(file->fd);
  file->fd = -1;
}

/* ------------------------------------------------------------------ writing */

/** 0, or an errno. */
static int write_at(const rlo__journal_file *file,
                    int64_t offset,
                    const unsigned char *data,
                    size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count = file->calls->write(
        file->fd, data + done, bytes - done, offset + (int64_t)done);
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

static int sync_file(const rlo__journal_file *file) {
  while (file->calls->sync(file->fd) != 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

rlo_status rlo__journal_file_trim(rlo__journal_file *file) {
  while (file->calls->resize(file->fd, file->end) != 0) {
    if (errno != EINTR) {
      return rlo__file_fail("cannot shorten", file->path, errno);
    }
  }
  return RLO_OK;
}

rlo_status rlo__journal_file_append(rlo__journal_file *file,
                                    const rlo__journal_record *records,
                                    size_t count) {
  unsigned char *bytes = rlo__alloc_array(count, RECORD_BYTES);
  if (bytes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t n = 0; n < count; ++n) {
    encode_record(&records[n], file->checksum, bytes + n * RECORD_BYTES);
  }
  int error = write_at(file, file->end, bytes, count * RECORD_BYTES);
  rlo__free(bytes);
  error = error != 0 ? error : sync_file(file);
  if (error != 0) {
    return rlo__file_fail("cannot write the journal", file->path, error);
  }
  file->end += (int64_t)(count * RECORD_BYTES);
  return RLO_OK;
}

/* ----------------------------------------------------------------- creation */

/** The folder of a path. */
static void folder_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(out,
                 PATH_MAX,
                 "%.*s",
                 slash == NULL ? 1 : (int)(slash - path) + 1,
                 slash == NULL ? "." : path);
}

/** Names a file that has none. 0, or an errno. */
static int name_file(int fd, const char *path) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0
                                                                        : errno;
}

/** Creates the file and writes its header. 0, or an errno: then nothing is
 *  left.
 *  @param is_named  the file has its name before its contents: where the system
 *                   has no files without a name. */
static int create(rlo__journal_file *file,
                  const unsigned char header[HEADER_BYTES],
                  bool is_named) {
  const mode_t mode = 0600;
  char folder[PATH_MAX];
  folder_of(file->path, folder);
  do {
    file->fd =
        is_named ? open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
                 : open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
  } while (file->fd < 0 && errno == EINTR);
  if (file->fd < 0) {
    return errno;
  }
  (void)lock_fd(file->fd);
  int error = write_at(file, 0, header, HEADER_BYTES);
  error = error != 0 ? error : sync_file(file);
  if (error != 0 && is_named) {
    (void)unlink(file->path);
  }
  if (error == 0 && !is_named) {
    error = name_file(file->fd, file->path);
  }
  if (error != 0) {
    rlo__journal_file_close(file);
  }
  return error;
}

/** So that the journal, and what was made beside it before, survives if the
 *  machine stops. Where that cannot be, a resumed job begins anew. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  folder_of(path, folder);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    rlo__file_close(fd);
  }
}

rlo_status rlo__journal_file_create(rlo__journal_file *file,
                                    const rlo__journal_header *header) {
  unsigned char bytes[HEADER_BYTES];
  file->checksum = encode_header(header, bytes);
  file->end = HEADER_BYTES;
  int error = create(file, bytes, false);
  if (error != 0 && error != EEXIST) {
    error = create(file, bytes, true);
  }
  if (error == EEXIST) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "the journal \"%s\" appeared after the job was submitted",
                    file->path);
  }
  if (error != 0) {
    return rlo__file_fail("cannot create the journal", file->path, error);
  }
  sync_folder(file->path);
  return RLO_OK;
}
