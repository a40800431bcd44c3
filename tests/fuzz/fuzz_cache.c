/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "fuzz.h"
#include "runtime/disk_cache.h"

/* The parts of the key that the corpus is written for. */
static const char *const words[] = {"relayout", "device"};

/** An accepted entry must equal its own encoding, byte for byte. */
static void check(const rlo__cache_key *key, const uint8_t *data, size_t size) {
  const uint8_t *payload = NULL;
  size_t payload_bytes = 0;
  rlo_status status = rlo__cache_entry_decode(key, data, size, &payload, &payload_bytes);
  FUZZ_CHECK(status == RLO_OK || status == RLO_DATA_LOSS);
  FUZZ_CHECK((payload != NULL) == (status == RLO_OK));
  if (status != RLO_OK) {
    return;
  }
  rlo__str again;
  FUZZ_CHECK(payload >= data && payload + payload_bytes <= data + size);
  FUZZ_CHECK(rlo__cache_entry_encode(key, payload, payload_bytes, &again) == RLO_OK);
  FUZZ_CHECK(again.length == size && memcmp(rlo__str_text(&again), data, size) == 0);
  rlo__str_deinit(&again);
}

/* An entry of the disk cache, as it is, and with the hash that it should
 * have: nobody hits upon that one by chance. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rlo__cache_key key;
  if (rlo__cache_key_init(words, 2, &key) != RLO_OK) {
    return 0;
  }
  check(&key, data, size);
  if (size >= sizeof(rlo__hash128)) {
    uint8_t *mended = malloc(size);
    FUZZ_CHECK(mended != NULL);
    memcpy(mended, data, size);
    rlo__hash128 hash = rlo__cache_entry_hash(data, size - sizeof hash);
    memcpy(mended + size - sizeof hash, &hash, sizeof hash);
    check(&key, mended, size);
    free(mended);
  }
  rlo__cache_key_deinit(&key);
  return 0;
}
