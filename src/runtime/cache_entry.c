/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cache_entry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

enum {
  FORMAT_VERSION = 1,
  VERSION_AT = 8,
  KEY_BYTES_AT = 12,
  PAYLOAD_BYTES_AT = 16,
  HEAD_BYTES = 24
};

static const uint8_t magic[VERSION_AT] = "rlocache";

static void store_number(uint64_t number, size_t bytes, uint8_t *out_data) {
  for (size_t i = 0; i < bytes; ++i) {
    out_data[i] = (uint8_t)(number >> (8 * i));
  }
}

static uint64_t load_number(const uint8_t *data, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) {
    number |= (uint64_t)data[i] << (8 * i);
  }
  return number;
}

static void digest_of(const void *data, size_t bytes, uint8_t *out_digest) {
  rlo__sha256 hash = rlo__sha256_init();
  rlo__sha256_update(&hash, data, bytes);
  rlo__sha256_finish(&hash, out_digest);
}

/* --------------------------------------------------------------------- keys */

rlo_status rlo__cache_key_init(const char *const *strings,
                               size_t num_strings,
                               rlo__cache_key *out_key) {
  memset(out_key, 0, sizeof *out_key);
  size_t bytes = 0;
  for (size_t i = 0; i < num_strings; ++i) {
    bytes += strlen(strings[i]) + 1;
  }
  char *text = rlo__alloc(bytes);
  if (text == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  char *next = text;
  for (size_t i = 0; i < num_strings; ++i) {
    size_t string_bytes = strlen(strings[i]) + 1;
    memcpy(next, strings[i], string_bytes);
    next += string_bytes;
  }
  uint8_t digest[RLO__SHA256_BYTES];
  digest_of(text, bytes, digest);
  rlo__sha256_print(digest, out_key->name);
  out_key->text = text;
  out_key->bytes = bytes;
  return RLO_OK;
}

void rlo__cache_key_deinit(rlo__cache_key *key) {
  rlo__free(key->text);
  memset(key, 0, sizeof *key);
}

/* ------------------------------------------------------------------ entries */

rlo_status rlo__cache_entry_encode(const rlo__cache_key *key,
                                   const void *payload,
                                   size_t payload_bytes,
                                   uint8_t **out_data,
                                   size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  const size_t around_bytes = HEAD_BYTES + RLO__SHA256_BYTES;
  if (key->bytes > UINT32_MAX ||
      payload_bytes > SIZE_MAX - around_bytes - key->bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "a key of %zu and a payload of %zu bytes are too much for "
                    "an entry",
                    key->bytes,
                    payload_bytes);
  }
  size_t bytes = around_bytes + key->bytes + payload_bytes;
  uint8_t *data = rlo__alloc(bytes);
  if (data == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(data, magic, sizeof magic);
  store_number(FORMAT_VERSION, 4, data + VERSION_AT);
  store_number(key->bytes, 4, data + KEY_BYTES_AT);
  store_number(payload_bytes, 8, data + PAYLOAD_BYTES_AT);
  memcpy(data + HEAD_BYTES, key->text, key->bytes);
  if (payload_bytes > 0) {
    memcpy(data + HEAD_BYTES + key->bytes, payload, payload_bytes);
  }
  size_t digest_at = bytes - RLO__SHA256_BYTES;
  digest_of(data, digest_at, data + digest_at);
  *out_data = data;
  *out_bytes = bytes;
  return RLO_OK;
}

rlo_status rlo__cache_entry_decode(const rlo__cache_key *key,
                                   const uint8_t *data,
                                   size_t bytes,
                                   const uint8_t **out_payload,
                                   size_t *out_payload_bytes) {
  *out_payload = NULL;
  *out_payload_bytes = 0;
  if (bytes < HEAD_BYTES + RLO__SHA256_BYTES) {
    return RLO_FAIL(RLO_DATA_LOSS, "%zu bytes are too few", bytes);
  }
  /* First, so that the code below reads only bytes that were stored. */
  size_t digest_at = bytes - RLO__SHA256_BYTES;
  uint8_t digest[RLO__SHA256_BYTES];
  digest_of(data, digest_at, digest);
  if (memcmp(digest, data + digest_at, sizeof digest) != 0) {
    return RLO_FAIL(RLO_DATA_LOSS, "its %zu bytes have another digest", bytes);
  }
  if (memcmp(data, magic, sizeof magic) != 0 ||
      load_number(data + VERSION_AT, 4) != FORMAT_VERSION) {
    return RLO_FAIL(RLO_NOT_FOUND, "it is of another format");
  }
  size_t inner_bytes = digest_at - HEAD_BYTES;
  uint64_t key_bytes = load_number(data + KEY_BYTES_AT, 4);
  uint64_t payload_bytes = load_number(data + PAYLOAD_BYTES_AT, 8);
  if (key_bytes > inner_bytes || payload_bytes != inner_bytes - key_bytes) {
    return RLO_FAIL(RLO_DATA_LOSS, "its parts do not make up its size");
  }
  if (key_bytes != key->bytes ||
      memcmp(data + HEAD_BYTES, key->text, key->bytes) != 0) {
    return RLO_FAIL(RLO_NOT_FOUND, "it is of another program or device");
  }
  *out_payload = data + HEAD_BYTES + key->bytes;
  *out_payload_bytes = (size_t)payload_bytes;
  return RLO_OK;
}
