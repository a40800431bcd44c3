/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DISK_CACHE_H
#define RLO_RUNTIME_DISK_CACHE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"
#include "runtime/cache_entry.h"

/**
 * Compiled programs on disk, for processes to come. A folder of files, one for
 * each entry, that belongs to the user and that nobody else can write to;
 * anything that is not exactly what was written there is not used. Whatever
 * goes wrong is told to the log, and costs only the time to build from source.
 *
 * Processes share a folder without locks: entries appear whole and are never
 * changed. The folder is opened for each use and not before the first.
 */
typedef struct rlo__disk_cache rlo__disk_cache;

typedef struct rlo__disk_cache_stats {
  /** Entries found and good; not found; found and not good, or of no use to the
   *  driver; written. */
  int64_t num_hits, num_misses, num_rejects, num_writes;
} rlo__disk_cache_stats;

enum {
  /** Of an entry, whatever the limit of the folder is. */
  RLO__DISK_CACHE_MAX_ENTRY_BYTES = 256 * 1024 * 1024
};

/**
 * Where the cache is unless somebody says otherwise: $XDG_CACHE_HOME/relayout,
 * else $HOME/.cache/relayout. Reads the environment.
 * @param out_path  goes to rlo__free; NULL if neither is an absolute path.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__disk_cache_default_path(char **out_path);

/**
 * @param path         NULL: the default path; "": no cache, and so where there
 *                     is no default path. Copied.
 * @param limit_bytes  the most that entries may take together; over 0.
 * @param owner        who has to own the folder: geteuid(), but in tests.
 * @param log          borrowed, must outlive the cache; may be NULL.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__disk_cache_create(const char *path,
                                                int64_t limit_bytes,
                                                uid_t owner,
                                                const rlo__log_sink *log,
                                                rlo__disk_cache **out_cache);

/** NULL is legal. */
void rlo__disk_cache_destroy(rlo__disk_cache *cache);

/** Whether it has a folder at all; a folder may still turn out to be of no
 *  use. */
bool rlo__disk_cache_is_on(const rlo__disk_cache *cache);

/** Whether it has a folder that can be used, made if it is not there. Worth
 *  asking before what is to be stored is made with effort. Threads: safe. */
bool rlo__disk_cache_is_usable(rlo__disk_cache *cache);

/** Whether a file of the folder is an entry by its name, or what is left of the
 *  writing of one. */
bool rlo__disk_cache_is_entry_name(const char *name);
bool rlo__disk_cache_is_temp_name(const char *name);

/** What was found. Begin with zeros. */
typedef struct rlo__disk_cache_found {
  const uint8_t *payload;
  size_t payload_bytes;
  /** Holds the payload. */
  uint8_t *data;
} rlo__disk_cache_found;

/** Look for an entry. True with *out_found, which rlo__disk_cache_found_deinit
 *  ends; an entry that is not good is deleted. Threads: safe, as all below. */
bool rlo__disk_cache_load(rlo__disk_cache *cache,
                          const rlo__cache_key *key,
                          rlo__disk_cache_found *out_found);

void rlo__disk_cache_found_deinit(rlo__disk_cache_found *found);

/** Delete an entry that was good for the cache, but not for the driver. `why`
 *  goes to the log. */
void rlo__disk_cache_reject(rlo__disk_cache *cache,
                            const rlo__cache_key *key,
                            const char *why);

/** Write an entry. Entries unused for longest go until it fits. */
void rlo__disk_cache_store(rlo__disk_cache *cache,
                           const rlo__cache_key *key,
                           const void *payload,
                           size_t payload_bytes);

void rlo__disk_cache_get_stats(const rlo__disk_cache *cache,
                               rlo__disk_cache_stats *out_stats);

#endif
