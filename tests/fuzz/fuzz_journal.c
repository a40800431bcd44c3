/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_create is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/journal_file.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "memory_file.h"

enum {
  WORD_BYTES = 8,
  HEADER_BYTES =
      (3 + RLO__JOURNAL_NUM_SETTINGS + RLO__JOURNAL_NUM_KEYS) * WORD_BYTES,
  RECORD_BYTES = 3 * WORD_BYTES
};

static void put_word(uint8_t *bytes, uint64_t word) {
  for (int n = 0; n < WORD_BYTES; ++n) {
    bytes[n] = (uint8_t)(word >> (8 * n));
  }
}

static uint64_t checksum_of(uint64_t seed, const uint8_t *bytes, size_t count) {
  rlo__hash hash = rlo__hash_init(seed);
  rlo__hash_bytes(&hash, bytes, count);
  return rlo__hash_finish_u64(&hash);
}

/* Reads a journal and appends a record: what was read is then there, and the
 * record behind it. */
static void check(const uint8_t *data, size_t size) {
  memory_file memory = memory_file_make(data, size);
  rlo__journal_file file;
  rlo__journal_header header;
  rlo__journal_header peeked;
  bool exists = false;
  rlo_status status =
      rlo__journal_file_open(memory.path, &file, &header, &exists);
  FUZZ_CHECK(exists);
  FUZZ_CHECK(rlo__journal_file_peek(memory.path, &peeked, &exists) == status);
  FUZZ_CHECK(status == RLO_OK || status == RLO_DATA_LOSS ||
             status == RLO_UNSUPPORTED);
  if (status == RLO_OK) {
    FUZZ_CHECK(memcmp(&header, &peeked, sizeof(header)) == 0);
    rlo__journal_record *records = NULL;
    rlo__journal_record *again = NULL;
    size_t count = 0;
    size_t count_again = 0;
    const rlo__journal_record added = {7, 9};
    FUZZ_CHECK(rlo__journal_file_read(&file, &records, &count) == RLO_OK);
    FUZZ_CHECK(HEADER_BYTES + count * RECORD_BYTES <= size);
    FUZZ_CHECK(rlo__journal_file_trim(&file) == RLO_OK);
    FUZZ_CHECK(rlo__journal_file_append(&file, &added, 1) == RLO_OK);
    rlo__journal_file_close(&file);
    FUZZ_CHECK(rlo__journal_file_open(memory.path, &file, &header, &exists) ==
               RLO_OK);
    FUZZ_CHECK(rlo__journal_file_read(&file, &again, &count_again) == RLO_OK);
    FUZZ_CHECK(count_again == count + 1);
    FUZZ_CHECK(memcmp(records, again, count * sizeof(*records)) == 0);
    FUZZ_CHECK(memcmp(&again[count], &added, sizeof(added)) == 0);
    rlo__free(records);
    rlo__free(again);
  }
  rlo__journal_file_close(&file);
  memory_file_close(&memory);
}

/* The journal of a job, as it is, and with the checksums that it should have:
 * nobody hits upon these by chance. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check(data, size);
  if (size >= HEADER_BYTES && size < (1 << 20)) {
    uint8_t *mended = malloc(size);
    FUZZ_CHECK(mended != NULL);
    memcpy(mended, data, size);
    memcpy(mended, "rlo-jrnl", WORD_BYTES);
    put_word(mended + WORD_BYTES, RLO__JOURNAL_VERSION);
    uint64_t seed =
        checksum_of(RLO__JOURNAL_VERSION, mended, HEADER_BYTES - WORD_BYTES);
    put_word(mended + HEADER_BYTES - WORD_BYTES, seed);
    for (uint8_t *record = mended + HEADER_BYTES;
         (size_t)(mended + size - record) >= RECORD_BYTES;
         record += RECORD_BYTES) {
      /* One in four stays as it is. */
      if (record[RECORD_BYTES - WORD_BYTES] % 4 != 0) {
        put_word(record + RECORD_BYTES - WORD_BYTES,
                 checksum_of(seed, record, RECORD_BYTES - WORD_BYTES));
      }
    }
    check(mended, size);
    free(mended);
  }
  return 0;
}
