/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/disk_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/file_replace.h"
#include "base/status.h"
#include "base/str.h"

/** A temporary file older than this was left by a process that ended. */
#define TEMP_LIFE_NANOS (INT64_C(3600) * 1000000000)

struct rlo__disk_cache {
  /** NULL: off. */
  char *path;
  int64_t limit_bytes;
  uid_t owner;
  const rlo__log_sink *log;
  /** An unusable directory is logged once. */
  atomic_bool has_complained;
  atomic_int_fast64_t num_hits, num_misses, num_rejects, num_writes;
};

static void count(atomic_int_fast64_t *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---------------------------------------------------------------- lifecycle */

rlo_status rlo__disk_cache_default_path(char **out_path) {
  *out_path = NULL;
  const char *base = getenv("XDG_CACHE_HOME");
  const char *rest = "/relayout";
  /* A relative path would depend on the working directory. */
  if (base == NULL || base[0] != '/') {
    base = getenv("HOME");
    rest = "/.cache/relayout";
  }
  if (base == NULL || base[0] != '/') {
    return RLO_OK;
  }
  rlo__str path = rlo__str_growing();
  rlo__str_append(&path, base);
  rlo__str_append(&path, rest);
  return rlo__str_take(&path, out_path);
}

rlo_status rlo__disk_cache_create(const char *path,
                                  int64_t limit_bytes,
                                  uid_t owner,
                                  const rlo__log_sink *log,
                                  rlo__disk_cache **out_cache) {
  *out_cache = NULL;
  rlo__disk_cache *cache = rlo__alloc(sizeof *cache);
  if (cache == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  cache->limit_bytes = limit_bytes;
  cache->owner = owner;
  cache->log = log;
  atomic_init(&cache->has_complained, false);
  atomic_init(&cache->num_hits, 0);
  atomic_init(&cache->num_misses, 0);
  atomic_init(&cache->num_rejects, 0);
  atomic_init(&cache->num_writes, 0);
  rlo_status status = RLO_OK;
  if (path == NULL) {
    RLO_TRY_GOTO(rlo__disk_cache_default_path(&cache->path));
  } else if (path[0] != '\0') {
    cache->path = rlo__alloc_string(path);
    status = cache->path == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
    RLO_TRY_GOTO(status);
  }
  *out_cache = cache;
  return RLO_OK;
fail:
  rlo__disk_cache_destroy(cache);
  return status;
}

void rlo__disk_cache_destroy(rlo__disk_cache *cache) {
  if (cache != NULL) {
    rlo__free(cache->path);
    rlo__free(cache);
  }
}

bool rlo__disk_cache_is_on(const rlo__disk_cache *cache) {
  return cache->path != NULL;
}

void rlo__disk_cache_get_stats(const rlo__disk_cache *cache,
                               rlo__disk_cache_stats *out_stats) {
  *out_stats = (rlo__disk_cache_stats){
      .num_hits = atomic_load_explicit(&cache->num_hits, memory_order_relaxed),
      .num_misses =
          atomic_load_explicit(&cache->num_misses, memory_order_relaxed),
      .num_rejects =
          atomic_load_explicit(&cache->num_rejects, memory_order_relaxed),
      .num_writes =
          atomic_load_explicit(&cache->num_writes, memory_order_relaxed)};
}

/** Opens the directory. Failures are logged once; a directory that does not
 *  exist is no failure. */
static bool open_directory(rlo__disk_cache *cache,
                           rlo__directory_mode mode,
                           rlo__directory *out_directory) {
  if (cache->path == NULL) {
    return false;
  }
  rlo_status status =
      rlo__directory_open(cache->path, cache->owner, mode, out_directory);
  if (status == RLO_OK) {
    return true;
  }
  if ((status != RLO_NOT_FOUND || mode == RLO__DIRECTORY_CREATE) &&
      !atomic_exchange_explicit(
          &cache->has_complained, true, memory_order_relaxed)) {
    rlo__log(cache->log,
             RLO__LOG_WARNING,
             "compiled programs are not stored: %s",
             rlo_error_last()->message);
  }
  return false;
}

bool rlo__disk_cache_is_usable(rlo__disk_cache *cache) {
  rlo__directory directory;
  if (!open_directory(cache, RLO__DIRECTORY_CREATE, &directory)) {
    return false;
  }
  rlo__directory_close(&directory);
  return true;
}

/* ------------------------------------------------------------------ reading */

static void remove_entry(rlo__disk_cache *cache,
                         const rlo__directory *directory,
                         const rlo__cache_key *key,
                         const char *why) {
  count(&cache->num_rejects);
  rlo__log(cache->log,
           RLO__LOG_WARNING,
           "entry %s of the disk cache is not used: %s",
           key->name,
           why);
  if (rlo__directory_remove(directory, key->name) != RLO_OK) {
    rlo__log(cache->log, RLO__LOG_WARNING, "%s", rlo_error_last()->message);
  }
}

bool rlo__disk_cache_load(rlo__disk_cache *cache,
                          const rlo__cache_key *key,
                          rlo__disk_cache_found *out_found) {
  *out_found = (rlo__disk_cache_found){NULL, 0, NULL};
  rlo__directory directory;
  if (!open_directory(cache, RLO__DIRECTORY_OPEN, &directory)) {
    count(&cache->num_misses);
    return false;
  }
  uint8_t *data = NULL;
  size_t bytes = 0;
  rlo_status status = rlo__directory_read(
      &directory, key->name, RLO__DISK_CACHE_MAX_ENTRY_BYTES, &data, &bytes);
  if (status == RLO_OK) {
    status = rlo__cache_entry_decode(
        key, data, bytes, &out_found->payload, &out_found->payload_bytes);
    /* Not found is another key under this name: to be replaced as well. */
    status = status == RLO_NOT_FOUND ? RLO_DATA_LOSS : status;
  }
  switch (status) {
    case RLO_OK:
      out_found->data = data;
      rlo__directory_touch(&directory, key->name);
      count(&cache->num_hits);
      break;
    case RLO_NOT_FOUND:
    case RLO_OUT_OF_MEMORY:
    case RLO_IO:
      /* Not there, or not to be had just now: that is no fault of the entry. */
      count(&cache->num_misses);
      break;
    default:
      remove_entry(cache, &directory, key, rlo_error_last()->message);
      break;
  }
  if (status != RLO_OK) {
    rlo__free(data);
  }
  rlo__directory_close(&directory);
  return status == RLO_OK;
}

void rlo__disk_cache_found_deinit(rlo__disk_cache_found *found) {
  rlo__free(found->data);
  *found = (rlo__disk_cache_found){NULL, 0, NULL};
}

void rlo__disk_cache_reject(rlo__disk_cache *cache,
                            const rlo__cache_key *key,
                            const char *why) {
  rlo__directory directory;
  if (open_directory(cache, RLO__DIRECTORY_OPEN, &directory)) {
    remove_entry(cache, &directory, key, why);
    rlo__directory_close(&directory);
  }
}

/* ------------------------------------------------------------------ writing */

bool rlo__disk_cache_is_entry_name(const char *name) {
  size_t length = strlen(name);
  return length == 2 * (size_t)RLO__SHA256_BYTES &&
         strspn(name, "0123456789abcdef") == length;
}

bool rlo__disk_cache_is_temp_name(const char *name) {
  return strncmp(name,
                 RLO__FILE_TEMP_PREFIX,
                 sizeof RLO__FILE_TEMP_PREFIX - 1) == 0;
}

static int compare_times(const void *a, const void *b) {
  const rlo__directory_file *x = a;
  const rlo__directory_file *y = b;
  return (x->time_nanos > y->time_nanos) - (x->time_nanos < y->time_nanos);
}

/** Deletes old temporary files, and the entries unused for longest until there
 *  is room. */
static rlo_status make_room(rlo__disk_cache *cache,
                            const rlo__directory *directory,
                            int64_t needed_bytes) {
  rlo__directory_file *files = NULL;
  size_t num_files = 0;
  RLO_TRY(rlo__directory_list(directory, &files, &num_files));
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  int64_t temp_limit_nanos =
      (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - TEMP_LIFE_NANOS;
  int64_t total_bytes = 0;
  for (size_t i = 0; i < num_files; ++i) {
    total_bytes +=
        rlo__disk_cache_is_entry_name(files[i].name) ? files[i].bytes : 0;
  }
  rlo_status status = RLO_OK;
  qsort(files, num_files, sizeof *files, compare_times);
  for (size_t i = 0; i < num_files && status == RLO_OK; ++i) {
    const rlo__directory_file *file = &files[i];
    if (rlo__disk_cache_is_temp_name(file->name)) {
      if (file->time_nanos < temp_limit_nanos) {
        status = rlo__directory_remove(directory, file->name);
      }
    } else if (rlo__disk_cache_is_entry_name(file->name) &&
               total_bytes > cache->limit_bytes - needed_bytes) {
      total_bytes -= file->bytes;
      status = rlo__directory_remove(directory, file->name);
    }
  }
  rlo__free(files);
  return status;
}

static rlo_status store(rlo__disk_cache *cache,
                        const rlo__directory *directory,
                        const rlo__cache_key *key,
                        const void *payload,
                        size_t payload_bytes) {
  uint8_t *data = NULL;
  size_t bytes = 0;
  RLO_TRY(rlo__cache_entry_encode(key, payload, payload_bytes, &data, &bytes));
  rlo_status status = RLO_OK;
  int64_t most_bytes = cache->limit_bytes < RLO__DISK_CACHE_MAX_ENTRY_BYTES
                           ? cache->limit_bytes
                           : RLO__DISK_CACHE_MAX_ENTRY_BYTES;
  if (bytes > (uint64_t)most_bytes) {
    status = RLO_FAIL(RLO_OUT_OF_RANGE,
                      "it takes %zu bytes; %lld are the most",
                      bytes,
                      (long long)most_bytes);
    goto fail;
  }
  RLO_TRY_GOTO(make_room(cache, directory, (int64_t)bytes));
  RLO_TRY_GOTO(rlo__directory_write(directory, key->name, data, bytes));
  count(&cache->num_writes);
  rlo__log(cache->log,
           RLO__LOG_DEBUG,
           "entry %s of the disk cache: %zu bytes written",
           key->name,
           bytes);
fail:
  rlo__free(data);
  return status;
}

void rlo__disk_cache_store(rlo__disk_cache *cache,
                           const rlo__cache_key *key,
                           const void *payload,
                           size_t payload_bytes) {
  rlo__directory directory;
  if (!open_directory(cache, RLO__DIRECTORY_CREATE, &directory)) {
    return;
  }
  if (store(cache, &directory, key, payload, payload_bytes) != RLO_OK) {
    rlo__log(cache->log,
             RLO__LOG_WARNING,
             "entry %s of the disk cache is not written: %s",
             key->name,
             rlo_error_last()->message);
  }
  rlo__directory_close(&directory);
}
