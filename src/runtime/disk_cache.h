/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DISK_CACHE_H
#define RLO_RUNTIME_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/sentence.h"
#include "base/str.h"
#include "relayout/opencl.h"

/**
 * Compiled programs on disk, for later processes: a directory with one file per
 * entry, which belongs to the user and which only the user can write to. An
 * entry that differs from what was written is not used. Failures are logged and
 * cost only the time to build from source.
 *
 * Processes share a directory without locks: entries appear whole and never
 * change. The directory is opened for each use, and not before the first.
 */
typedef struct rlo__disk_cache rlo__disk_cache;

enum {
  /** Limit of one entry, whatever the limit of the directory is. */
  RLO__DISK_CACHE_MAX_ENTRY_BYTES = 256 * 1024 * 1024,
  /** Digits of a 128-bit hash. */
  RLO__DISK_CACHE_NAME_CHARS = 32
};

/* --------------------------------------------------------- keys and entries */

/** The source of a payload and its compiler: strings, each with its NUL, one
 *  after the other, as many in each key. */
typedef struct rlo__cache_key {
  char *text;
  size_t bytes;
  /** The hash of the text: the file name of the entry. */
  char name[RLO__DISK_CACHE_NAME_CHARS + 1];
} rlo__cache_key;

/** Prints a hash of bytes in hexadecimal digits. */
void rlo__cache_key_print_hash(const void *data, size_t bytes,
                               char out_text[RLO__DISK_CACHE_NAME_CHARS + 1]);

/** Initializes a key; the caller calls rlo__cache_key_deinit.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cache_key_init(const char *const *strings, size_t num_strings,
                                             rlo__cache_key *out_key);

/** Accepts a zeroed key. */
void rlo__cache_key_deinit(rlo__cache_key *key);

/* An entry is its key, the payload (the binary of a program) and the hash of
 * all bytes before. */

/** The hash of an entry's first `bytes` bytes, which stands behind them. */
rlo__hash128 rlo__cache_entry_hash(const void *data, size_t bytes);

/** Encodes an entry. *out_entry is to be released with rlo__str_deinit, on
 *  failure too. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cache_entry_encode(const rlo__cache_key *key, const void *payload,
                                                 size_t payload_bytes, rlo__str *out_entry);

/**
 * Finds the payload in an entry, exactly as it was stored.
 * @param out_payload  points into `data`.
 * @return RLO_OK; RLO_DATA_LOSS if the entry is damaged or has another key.
 */
RLO_NODISCARD rlo_status rlo__cache_entry_decode(const rlo__cache_key *key, const uint8_t *data,
                                                 size_t bytes, const uint8_t **out_payload,
                                                 size_t *out_payload_bytes);

/* ------------------------------------------------------------ the directory */

/**
 * Returns the default directory: $XDG_CACHE_HOME/relayout, else
 * $HOME/.cache/relayout. Reads the environment.
 * @param out_path  released with rlo__free; NULL if neither is an absolute
 * path.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__disk_cache_default_path(char **out_path);

/**
 * @param options  of a context: where programs are; paths are copied, and the limit
 *                 is > 0.
 * @param owner    required owner of the directory: geteuid() except in tests.
 * @param log      borrowed, must outlive the cache; may be NULL.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__disk_cache_create(const rlo_context_options *options, uid_t owner,
                                                const rlo__log_sink *log,
                                                rlo__disk_cache **out_cache);

/** NULL is legal. */
void rlo__disk_cache_destroy(rlo__disk_cache *cache);

/** Returns whether the cache has functions of the caller or a directory, its own or a
 *  shared one, which may still turn out to be unusable. False for NULL. */
bool rlo__disk_cache_is_on(const rlo__disk_cache *cache);

/** Returns whether the cache takes entries; creates its directory if necessary.
 *  Call this before producing an entry that is expensive. Threads: safe. */
bool rlo__disk_cache_is_usable(rlo__disk_cache *cache);

/** An entry found. Zeros are a legal value. */
typedef struct rlo__disk_cache_found {
  const uint8_t *payload;
  size_t payload_bytes;
  /** Holds the payload; released with rlo__free. */
  uint8_t *data;
} rlo__disk_cache_found;

/** Looks for an entry: by the caller's function, in the own directory, in shared ones.
 *  Returns true with *out_found; deletes a damaged entry of the own directory.
 *  Threads: safe, as for all functions below. */
bool rlo__disk_cache_load(rlo__disk_cache *cache, const rlo__cache_key *key,
                          rlo__disk_cache_found *out_found);

/** Deletes an entry of the own directory that the driver rejected. Logs `why`. */
void rlo__disk_cache_reject(rlo__disk_cache *cache, const rlo__cache_key *key, const char *why);

/** Writes an entry. Deletes the entries unused for longest until it fits. */
void rlo__disk_cache_store(rlo__disk_cache *cache, const rlo__cache_key *key, const void *payload,
                           size_t payload_bytes);

/** Sets the counters of the disk cache. */
void rlo__disk_cache_get_stats(const rlo__disk_cache *cache, rlo_context_stats *stats);

#endif
