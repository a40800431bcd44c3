/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/disk_cache.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/file_replace.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "relayout/opencl.h"

/** A temporary file older than this was left by a process that ended. */
#define TEMP_LIFE_NANOS (INT64_C(3600) * 1000000000)

enum { HASH_SEED = 2, HEAD_BYTES = sizeof(rlo__cache_entry_head) };

static const rlo__cache_entry_head head_of_format = {
    .magic = {'r', 'l', 'o', 'c', 'a', 'c', 'h', 'e'}, .version = 2};

/* --------------------------------------------------------------------- keys */

rlo__hash128 rlo__cache_entry_hash(const void *data, size_t bytes) {
  rlo__hash hash = rlo__hash_init(HASH_SEED);
  rlo__hash_bytes(&hash, data, bytes);
  return rlo__hash_finish(&hash);
}

void rlo__cache_key_print_hash(const void *data,
                               size_t bytes,
                               char out_text[RLO__DISK_CACHE_NAME_CHARS + 1]) {
  const rlo__hash128 hash = rlo__cache_entry_hash(data, bytes);
  (void)snprintf(out_text,
                 RLO__DISK_CACHE_NAME_CHARS + 1,
                 "%016" PRIx64 "%016" PRIx64,
                 hash.high,
                 hash.low);
}

rlo_status rlo__cache_key_init(const char *const *strings,
                               size_t num_strings,
                               rlo__cache_key *out_key) {
  memset(out_key, 0, sizeof *out_key);
  rlo__str text = rlo__str_growing();
  for (size_t i = 0; i < num_strings; ++i) {
    rlo__str_append_bytes(&text, strings[i], strlen(strings[i]) + 1);
  }
  out_key->bytes = text.length;
  RLO_TRY(rlo__str_take(&text, &out_key->text));
  rlo__cache_key_print_hash(out_key->text, out_key->bytes, out_key->name);
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
  if (key->bytes > UINT32_MAX) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "a key of %zu bytes is too much for an entry",
                    key->bytes);
  }
  rlo__cache_entry_head head = head_of_format;
  head.key_bytes = (uint32_t)key->bytes;
  head.payload_bytes = payload_bytes;
  rlo__str entry = rlo__str_growing();
  rlo__str_append_bytes(&entry, (const char *)&head, HEAD_BYTES);
  rlo__str_append_bytes(&entry, key->text, key->bytes);
  rlo__str_append_bytes(&entry, payload, payload_bytes);
  if (rlo__str_status(&entry) == RLO_OK) {
    const rlo__hash128 hash =
        rlo__cache_entry_hash(rlo__str_text(&entry), entry.length);
    rlo__str_append_bytes(&entry, (const char *)&hash, sizeof hash);
  }
  const size_t bytes = entry.length;
  char *data = NULL;
  RLO_TRY(rlo__str_take(&entry, &data));
  *out_data = (uint8_t *)data;
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
  rlo__hash128 hash;
  rlo__cache_entry_head head;
  if (bytes < HEAD_BYTES + sizeof hash) {
    return RLO_FAIL(RLO_DATA_LOSS, "%zu bytes are too few", bytes);
  }
  /* First, so that the code below reads only bytes that were stored. */
  const size_t hash_at = bytes - sizeof hash;
  memcpy(&hash, data + hash_at, sizeof hash);
  if (!rlo__hash128_is_equal(hash, rlo__cache_entry_hash(data, hash_at))) {
    return RLO_FAIL(RLO_DATA_LOSS, "its %zu bytes have another hash", bytes);
  }
  memcpy(&head, data, HEAD_BYTES);
  if (memcmp(head.magic, head_of_format.magic, sizeof head.magic) != 0 ||
      head.version != head_of_format.version) {
    return RLO_FAIL(RLO_DATA_LOSS, "it has another format");
  }
  const size_t inner_bytes = hash_at - HEAD_BYTES;
  if (head.key_bytes > inner_bytes ||
      head.payload_bytes != inner_bytes - head.key_bytes) {
    return RLO_FAIL(RLO_DATA_LOSS, "its parts do not make up its size");
  }
  if (head.key_bytes != key->bytes ||
      memcmp(data + HEAD_BYTES, key->text, key->bytes) != 0) {
    return RLO_FAIL(RLO_DATA_LOSS, "it is of another program or device");
  }
  *out_payload = data + HEAD_BYTES + key->bytes;
  *out_payload_bytes = (size_t)head.payload_bytes;
  return RLO_OK;
}

/* ---------------------------------------------------------------- lifecycle */

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
                           bool creates,
                           rlo__directory *out_directory) {
  if (cache->path == NULL) {
    return false;
  }
  rlo_status status =
      rlo__directory_open(cache->path, cache->owner, creates, out_directory);
  if (status == RLO_OK) {
    return true;
  }
  if ((status != RLO_NOT_FOUND || creates) &&
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
  if (!open_directory(cache, true, &directory)) {
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
  if (!open_directory(cache, false, &directory)) {
    count(&cache->num_misses);
    return false;
  }
  char *data = NULL;
  size_t bytes = 0;
  rlo_status status = rlo__directory_read(
      &directory, key->name, RLO__DISK_CACHE_MAX_ENTRY_BYTES, &data, &bytes);
  if (status == RLO_OK) {
    status = rlo__cache_entry_decode(key,
                                     (const uint8_t *)data,
                                     bytes,
                                     &out_found->payload,
                                     &out_found->payload_bytes);
  }
  switch (status) {
    case RLO_OK:
      out_found->data = (uint8_t *)data;
      rlo__directory_touch(&directory, key->name);
      count(&cache->num_hits);
      break;
    case RLO_NOT_FOUND:
    case RLO_OUT_OF_MEMORY:
    case RLO_IO:
      /* The entry is missing or cannot be read just now: that is no fault of
       * the entry. */
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
  if (open_directory(cache, false, &directory)) {
    remove_entry(cache, &directory, key, why);
    rlo__directory_close(&directory);
  }
}

/* ------------------------------------------------------------------ writing */

/** Includes those of format 1, which have longer names. */
static bool is_entry_name(const char *name) {
  size_t length = strlen(name);
  return length >= RLO__DISK_CACHE_NAME_CHARS &&
         strspn(name, "0123456789abcdef") == length;
}

static bool is_temp_name(const char *name) {
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
    total_bytes += is_entry_name(files[i].name) ? files[i].bytes : 0;
  }
  rlo_status status = RLO_OK;
  qsort(files, num_files, sizeof *files, compare_times);
  for (size_t i = 0; i < num_files && status == RLO_OK; ++i) {
    const rlo__directory_file *file = &files[i];
    if (is_temp_name(file->name)) {
      if (file->time_nanos < temp_limit_nanos) {
        status = rlo__directory_remove(directory, file->name);
      }
    } else if (is_entry_name(file->name) &&
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
                      "it takes %zu bytes; the limit is %lld",
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
  if (!open_directory(cache, true, &directory)) {
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

/* ------------------------------------------- what a user sees and deletes */

/** Copies text, truncated to fit. */
static void copy_cut(char *out_text, size_t capacity, const char *text) {
  (void)snprintf(out_text, capacity, "%s", text);
}

/** Opens the directory at `path`, or the default one. @return also
 * RLO_NOT_FOUND if it does not exist. */
static rlo_status find_directory(const char *path,
                                 rlo_cache_info *info,
                                 rlo__directory *out_directory) {
  char *default_path = NULL;
  if (path == NULL) {
    RLO_TRY(rlo__disk_cache_default_path(&default_path));
  }
  const char *used_path = path != NULL ? path : default_path;
  rlo_status status = RLO_OK;
  if (used_path == NULL || used_path[0] == '\0') {
    status = RLO_FAIL(RLO_NOT_FOUND,
                      "there is no cache directory%s",
                      path != NULL ? ""
                                   : ": neither XDG_CACHE_HOME nor HOME is an "
                                     "absolute path");
  } else if (used_path[0] != '/') {
    status =
        RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is not an absolute path", used_path);
  } else {
    status = rlo__directory_open(used_path, geteuid(), false, out_directory);
  }
  copy_cut(info->path, sizeof info->path, used_path != NULL ? used_path : "");
  rlo__free(default_path);
  return status;
}

/** Counts the entries, and deletes them if `is_clearing`. */
static rlo_status visit_entries(const rlo__directory *directory,
                                bool is_clearing,
                                rlo_cache_info *info) {
  rlo__directory_file *files = NULL;
  size_t num_files = 0;
  rlo_status status = rlo__directory_list(directory, &files, &num_files);
  for (size_t i = 0; i < num_files && status == RLO_OK; ++i) {
    bool is_entry = is_entry_name(files[i].name);
    if (is_clearing && (is_entry || is_temp_name(files[i].name))) {
      status = rlo__directory_remove(directory, files[i].name);
    }
    if (is_entry && status == RLO_OK) {
      info->num_entries += 1;
      info->bytes += files[i].bytes;
    }
  }
  rlo__free(files);
  return rlo__status_prefix(status, "cache \"%s\": ", info->path);
}

/** Tells of the directory, and deletes its entries if `is_clearing`.
 *  @param out_info  may be NULL. */
static rlo_status look(const char *path,
                       bool is_clearing,
                       rlo_cache_info *out_info) {
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  if (out_info != NULL) {
    RLO_TRY(rlo__options_check_size(
        "cache info", "RLO_CACHE_INFO_INIT", out_info, sizeof info));
  }
  rlo__directory directory;
  rlo_status status = find_directory(path, &info, &directory);
  if (status == RLO_OUT_OF_MEMORY ||
      (is_clearing && status != RLO_OK && status != RLO_NOT_FOUND)) {
    return status;
  }
  /* A directory that does not exist will be created. */
  info.is_usable =
      status == RLO_OK || (status == RLO_NOT_FOUND && info.path[0] != '\0');
  if (!info.is_usable) {
    copy_cut(info.reason, sizeof info.reason, rlo_error_last()->message);
  }
  if (status == RLO_OK) {
    status = visit_entries(&directory, is_clearing, &info);
    rlo__directory_close(&directory);
    RLO_TRY(status);
  }
  return out_info != NULL ? rlo__report_write("cache info",
                                              "RLO_CACHE_INFO_INIT",
                                              &info,
                                              out_info,
                                              sizeof info)
                          : RLO_OK;
}

rlo_status rlo_cache_inspect(const char *path, rlo_cache_info *out_info) {
  RLO_REQUIRE(out_info);
  return look(path, false, out_info);
}

rlo_status rlo_cache_clear(const char *path, rlo_cache_info *out_info) {
  return look(path, true, out_info);
}
