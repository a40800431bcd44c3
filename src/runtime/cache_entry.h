/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_CACHE_ENTRY_H
#define RLO_RUNTIME_CACHE_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "relayout/status.h"

/*
 * An entry of the disk cache, as bytes. Pure: no file, no device.
 *
 *     offset  bytes
 *          0      8  "rlocache"
 *          8      4  version of this format, 1; numbers are little-endian
 *         12      4  K, bytes of the key
 *         16      8  P, bytes of the payload
 *         24      K  the key
 *     24 + K      P  the payload: the binary of a program
 * 24 + K + P     32  SHA-256 of all bytes before
 */

/** The source of a payload and its compiler: strings, each with its NUL, one
 *  after the other. Keys are equal if all their bytes are. */
typedef struct rlo__cache_key {
  char *text;
  size_t bytes;
  /** SHA-256 of the text in hexadecimal digits: the file name of the entry. */
  char name[2 * RLO__SHA256_BYTES + 1];
} rlo__cache_key;

/** Initializes a key; the caller calls rlo__cache_key_deinit.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cache_key_init(const char *const *strings,
                                             size_t num_strings,
                                             rlo__cache_key *out_key);

/** Accepts a zeroed key. */
void rlo__cache_key_deinit(rlo__cache_key *key);

/** Encodes an entry. *out_data is released with rlo__free.
 *  @return RLO_OK; RLO_OUT_OF_RANGE for a key of 4 GiB; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cache_entry_encode(const rlo__cache_key *key,
                                                 const void *payload,
                                                 size_t payload_bytes,
                                                 uint8_t **out_data,
                                                 size_t *out_bytes);

/**
 * Finds the payload in an entry, exactly as it was stored.
 * @param out_payload  points into `data`.
 * @return RLO_OK; RLO_DATA_LOSS if the entry is damaged;
 *         RLO_NOT_FOUND if it has another key or format.
 */
RLO_NODISCARD rlo_status rlo__cache_entry_decode(const rlo__cache_key *key,
                                                 const uint8_t *data,
                                                 size_t bytes,
                                                 const uint8_t **out_payload,
                                                 size_t *out_payload_bytes);

#endif
