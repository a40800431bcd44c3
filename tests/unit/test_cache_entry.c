/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/disk_cache.h"
#include "support/expect.h"
#include "support/suite.h"

typedef rlo_status decode_fn(const rlo__cache_key *key, const uint8_t *data, size_t bytes,
                             const uint8_t **out_payload, size_t *out_payload_bytes);

static const char *const words[] = {"relayout 0.1", "", "-DN=3", "a device"};
static const char payload[] = "what the driver made of it, code and all";

static rlo__cache_key key;
static rlo__str entry_text;
static const uint8_t *entry;
static size_t entry_bytes;

static void make_entry(void) {
  expect_ok(rlo__cache_key_init(words, 4, &key));
  expect_ok(rlo__cache_entry_encode(&key, payload, sizeof payload, &entry_text));
  entry = (const uint8_t *)rlo__str_text(&entry_text);
  entry_bytes = entry_text.length;
}

static void free_entry(void) {
  rlo__str_deinit(&entry_text);
  rlo__cache_key_deinit(&key);
}

RLO_FIXTURE(make_entry, free_entry);

/** True if a decoder takes these bytes. They lie at the end of their memory, so
 *  that a sanitizer sees who reads on. */
static bool is_taken(decode_fn *decode, const uint8_t *data, size_t bytes) {
  uint8_t *copy = malloc(bytes == 0 ? 1 : bytes);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, data, bytes);
  const uint8_t *found = NULL;
  size_t found_bytes = 0;
  rlo_status status = decode(&key, copy, bytes, &found, &found_bytes);
  ck_assert(status == RLO_OK || status == RLO_DATA_LOSS);
  ck_assert((found != NULL) == (status == RLO_OK));
  free(copy);
  return status == RLO_OK;
}

/** How many of the damages are not noticed: each length that is too short or by
 *  one too long, and each bit of each byte turned. */
static int32_t count_unnoticed(decode_fn *decode) {
  int32_t count = 0;
  for (size_t bytes = 0; bytes < entry_bytes; ++bytes) {
    count += is_taken(decode, entry, bytes);
  }
  uint8_t *copy = malloc(entry_bytes + 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, entry, entry_bytes);
  copy[entry_bytes] = 0;
  count += is_taken(decode, copy, entry_bytes + 1);
  for (size_t at = 0; at < entry_bytes; ++at) {
    for (int32_t bit = 0; bit < 8; ++bit) {
      copy[at] = (uint8_t)(entry[at] ^ (1U << bit));
      count += is_taken(decode, copy, entry_bytes);
    }
    copy[at] = entry[at];
  }
  free(copy);
  return count;
}

RLO_TEST(test_cache_entry__gives_back_what_was_written) {
  const uint8_t *found = NULL;
  size_t found_bytes = 0;
  expect_ok(rlo__cache_entry_decode(&key, entry, entry_bytes, &found, &found_bytes));
  ck_assert_uint_eq(found_bytes, sizeof payload);
  ck_assert_mem_eq(found, payload, sizeof payload);
  rlo__str empty;
  expect_ok(rlo__cache_entry_encode(&key, NULL, 0, &empty));
  expect_ok(rlo__cache_entry_decode(&key, (const uint8_t *)rlo__str_text(&empty), empty.length,
                                    &found, &found_bytes));
  ck_assert_uint_eq(found_bytes, 0);
  rlo__str_deinit(&empty);
}

RLO_TEST(test_cache_entry__notices_every_cut_and_every_bit) {
  ck_assert_int_eq(count_unnoticed(rlo__cache_entry_decode), 0);
}

/** A decoder with a fault: as one that skips the hash, it takes whatever hash
 *  there is for the right one. */
static rlo_status decode_without_hash(const rlo__cache_key *wanted, const uint8_t *data,
                                      size_t bytes, const uint8_t **out_payload,
                                      size_t *out_payload_bytes) {
  uint8_t *mended = malloc(bytes == 0 ? 1 : bytes);
  ck_assert_ptr_nonnull(mended);
  memcpy(mended, data, bytes);
  if (bytes >= sizeof(rlo__hash128)) {
    size_t hash_at = bytes - sizeof(rlo__hash128);
    rlo__hash128 hash = rlo__cache_entry_hash(mended, hash_at);
    memcpy(mended + hash_at, &hash, sizeof hash);
  }
  rlo_status status =
      rlo__cache_entry_decode(wanted, mended, bytes, out_payload, out_payload_bytes);
  free(mended);
  return status;
}

/* The sweep above is worth what it finds. With the hash out of the way only
 * the sizes and the key are compared, and a changed payload goes through. */
RLO_TEST(test_cache_entry__sweep_catches_a_decoder_without_a_hash) {
  ck_assert_int_ge(count_unnoticed(decode_without_hash), 8 * (int32_t)sizeof payload);
}

/* Whole, but not what was asked for. */
RLO_TEST(test_cache_entry__compares_the_whole_key) {
  static const char *const others[][4] = {
      {"relayout 0.2", "", "-DN=3", "a device"}, {"relayout 0.1", "", "-DN=4", "a device"},
      {"relayout 0.1", "", "-DN=3", "a devicE"}, {"relayout 0.1", "-DN=3", "", "a device"},
      {"relayout 0.1", "", "-DN=3a", " device"},
  };
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    rlo__cache_key other;
    const uint8_t *found = NULL;
    size_t found_bytes = 0;
    expect_ok(rlo__cache_key_init(others[i], 4, &other));
    ck_assert_str_ne(other.name, key.name);
    ck_assert_int_eq(rlo__cache_entry_decode(&other, entry, entry_bytes, &found, &found_bytes),
                     RLO_DATA_LOSS);
    ck_assert_ptr_null(found);
    rlo__cache_key_deinit(&other);
  }
  rlo__cache_key shorter;
  expect_ok(rlo__cache_key_init(words, 3, &shorter));
  ck_assert_str_ne(shorter.name, key.name);
  rlo__cache_key_deinit(&shorter);
}

RLO_TEST(test_cache_entry__survives_running_out_of_memory) {
  rlo__cache_key other;
  rlo__str text;
  rlo__alloc_set_fault(1, true);
  ck_assert_int_eq(rlo__cache_key_init(words, 4, &other), RLO_OUT_OF_MEMORY);
  ck_assert_int_eq(rlo__cache_entry_encode(&key, payload, sizeof payload, &text),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_ptr_null(other.text);
  rlo__str_deinit(&text);
}
