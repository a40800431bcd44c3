/* SPDX-License-Identifier: Apache-2.0 */
#include "service/journal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

enum {
  WORD_BYTES = 8,
  HEADER_BYTES = RLO__JOURNAL_HEADER_WORDS * WORD_BYTES,
  RECORD_BYTES = RLO__JOURNAL_RECORD_WORDS * WORD_BYTES,
  NUM_BOXES = 300
};

static uint64_t get_word(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int n = 0; n < WORD_BYTES; ++n) {
    word |= (uint64_t)bytes[n] << (8 * n);
  }
  return word;
}

static void put_word(uint8_t *bytes, uint64_t word) {
  for (int n = 0; n < WORD_BYTES; ++n) {
    bytes[n] = (uint8_t)(word >> (8 * n));
  }
}

static uint64_t checksum_of(uint64_t seed, const uint8_t *bytes, int count) {
  rlo__hash hash = rlo__hash_init(seed);
  for (int n = 0; n < count; ++n) {
    rlo__hash_u64(&hash, get_word(bytes + n * WORD_BYTES));
  }
  return rlo__hash_finish_u64(&hash);
}

static rlo__journal_subject subject_of(const uint8_t *data) {
  return (rlo__journal_subject){
      .hash = {.high = get_word(data + 8 * WORD_BYTES), .low = get_word(data + 9 * WORD_BYTES)},
      .settings = {1, 1, 1, 1, 1, 1},
      .num_boxes = {NUM_BOXES - 100, 100}};
}

static int count_durable(const rlo__journal *journal) {
  int count = 0;
  for (int box = 0; box < NUM_BOXES; ++box) {
    count += rlo__journal_is_durable(journal, 0, box);
  }
  return count;
}

/* Adds a box: what was read is then there, and the box besides. */
static void add_box(const char *path, const rlo__journal_subject *job, rlo__journal *journal) {
  rlo_storage *dst = NULL;
  char byte = 0;
  FUZZ_CHECK(rlo_storage_from_memory(&byte, 1, &dst) == RLO_OK);
  int wanted = count_durable(journal);
  wanted += !rlo__journal_is_durable(journal, 1, 99);
  FUZZ_CHECK(rlo__journal_start(journal) == RLO_OK);
  rlo__journal_add(journal, 1, 99, 7);
  rlo__journal_begin_checkpoint(journal, 0);
  FUZZ_CHECK(rlo__journal_checkpoint(journal, dst) == RLO_OK);
  rlo__journal_end_checkpoint(journal);
  FUZZ_CHECK(count_durable(journal) == wanted);
  rlo__journal_release(journal);
  FUZZ_CHECK(rlo__journal_open(path, true, &journal) == RLO_OK);
  FUZZ_CHECK(rlo__journal_fit(journal, job) == RLO_OK);
  FUZZ_CHECK(count_durable(journal) == wanted);
  rlo__journal_release(journal);
  rlo_storage_release(dst);
}

static char file_path[] = "/tmp/relayout-fuzz-journal-XXXXXX";

static void remove_file(void) {
  (void)unlink(file_path);
}

/* A journal is a file with a name, and one name only: memory has none. */
static void write_file(const uint8_t *data, size_t size) {
  static int fd = -1;
  if (fd < 0) {
    fd = mkstemp(file_path);
    (void)atexit(remove_file);
  }
  FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

static void check(const uint8_t *data, size_t size) {
  write_file(data, size);
  rlo__journal *journal = NULL;
  rlo__journal *seen = NULL;
  rlo_status status = rlo__journal_open(file_path, true, &journal);
  FUZZ_CHECK(rlo__journal_open(file_path, false, &seen) == status);
  rlo__journal_release(seen);
  FUZZ_CHECK(status == RLO_OK || status == RLO_DATA_LOSS || status == RLO_UNSUPPORTED);
  if (status == RLO_OK) {
    FUZZ_CHECK(rlo__journal_get_settings(journal) != NULL && size >= HEADER_BYTES);
    const rlo__journal_subject job = subject_of(data);
    status = rlo__journal_fit(journal, &job);
    FUZZ_CHECK(status == RLO_OK || status == RLO_DATA_LOSS);
    if (status == RLO_OK) {
      FUZZ_CHECK((size - HEADER_BYTES) / RECORD_BYTES * 64 >= (size_t)count_durable(journal));
      add_box(file_path, &job, journal);
    } else {
      rlo__journal_release(journal);
    }
  }
}

/* The journal of a job, as it is, and with the checksums and settings that it
 * should have, and mostly pages that it can have: nobody hits upon these by
 * chance. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check(data, size);
  if (size >= HEADER_BYTES && size < (1 << 20)) {
    uint8_t *mended = malloc(size);
    FUZZ_CHECK(mended != NULL);
    memcpy(mended, data, size);
    memcpy(mended, "rlo-jrnl", WORD_BYTES);
    put_word(mended + WORD_BYTES, RLO__JOURNAL_VERSION);
    for (int n = 2; n < 8; ++n) {
      put_word(mended + n * WORD_BYTES, mended[n * WORD_BYTES] % 2 + 1);
    }
    uint64_t seed = checksum_of(0, mended, RLO__JOURNAL_HEADER_WORDS - 1);
    put_word(mended + HEADER_BYTES - WORD_BYTES, seed);
    for (uint8_t *record = mended + HEADER_BYTES; (size_t)(mended + size - record) >= RECORD_BYTES;
         record += RECORD_BYTES) {
      if (record[1] % 8 != 0) {
        put_word(record, record[0] % 5);
        record[3 * WORD_BYTES - 1] &= 0x7f;
      }
      /* One in four stays as it is. */
      if (record[RECORD_BYTES - WORD_BYTES] % 4 != 0) {
        put_word(record + RECORD_BYTES - WORD_BYTES,
                 checksum_of(seed, record, RLO__JOURNAL_RECORD_WORDS - 1));
      }
    }
    check(mended, size);
    free(mended);
  }
  return 0;
}
