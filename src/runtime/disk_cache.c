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
#include "base/checked.h"
#include "base/file.h"
#include "base/file_replace.h"
#include "base/options.h"
#include "base/status.h"

/** A temporary file older than this was left by a process that ended. */
#define TEMP_LIFE_NANOS (INT64_C(3600) * 1000000000)

/** The version of the format: an entry of another one has another name. */
enum { HASH_SEED = 3 };

/* --------------------------------------------------------------------- keys */

rlo__hash128 rlo__cache_entry_hash(const void *data, size_t bytes) {
  rlo__hash hash = rlo__hash_init(HASH_SEED);
  rlo__hash_bytes(&hash, data, bytes);
  return rlo__hash_finish(&hash);
}

void rlo__cache_key_print_hash(const void *data, size_t bytes,
                               char out_text[RLO__DISK_CACHE_NAME_CHARS + 1]) {
  const rlo__hash128 hash = rlo__cache_entry_hash(data, bytes);
  (void)snprintf(out_text, RLO__DISK_CACHE_NAME_CHARS + 1, "%016" PRIx64 "%016" PRIx64, hash.high,
                 hash.low);
}

rlo_status rlo__cache_key_init(const char *const *strings, size_t num_strings,
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

rlo_status rlo__cache_entry_encode(const rlo__cache_key *key, const void *payload,
                                   size_t payload_bytes, rlo__str *out_entry) {
  *out_entry = rlo__str_growing();
  rlo__str_append_bytes(out_entry, key->text, key->bytes);
  rlo__str_append_bytes(out_entry, payload, payload_bytes);
  RLO_TRY(rlo__str_status(out_entry));
  const rlo__hash128 hash = rlo__cache_entry_hash(rlo__str_text(out_entry), out_entry->length);
  rlo__str_append_bytes(out_entry, (const char *)&hash, sizeof hash);
  return rlo__str_status(out_entry);
}

rlo_status rlo__cache_entry_decode(const rlo__cache_key *key, const uint8_t *data, size_t bytes,
                                   const uint8_t **out_payload, size_t *out_payload_bytes) {
  rlo__hash128 hash;
  *out_payload = NULL;
  *out_payload_bytes = 0;
  RLO_FAIL_IF(bytes < sizeof hash, RLO_DATA_LOSS, "%zu bytes are too few", bytes);
  const size_t hash_at = bytes - sizeof hash;
  memcpy(&hash, data + hash_at, sizeof hash);
  RLO_FAIL_IF(!rlo__hash128_is_equal(hash, rlo__cache_entry_hash(data, hash_at)), RLO_DATA_LOSS,
              "its %zu bytes have another hash", bytes);
  /* No key begins with another one: all have as many strings. */
  RLO_FAIL_IF(hash_at < key->bytes || memcmp(data, key->text, key->bytes) != 0, RLO_DATA_LOSS,
              "it is of another program or device");
  *out_payload = data + key->bytes;
  *out_payload_bytes = hash_at - key->bytes;
  return RLO_OK;
}

/* ---------------------------------------------------------------- lifecycle */

struct rlo__disk_cache {
  /** NULL: off. */
  char *path;
  /** Each with its NUL; an empty one ends the list. */
  char *shared;
  int64_t limit_bytes;
  /** The caller's; NULL: none. */
  rlo_program_load_fn load_program;
  rlo_program_store_fn store_program;
  void *program_payload;
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

/** Copies a path, or the default one for NULL. NULL: there is none. */
static rlo_status choose_path(const char *path, char **out_path) {
  *out_path = NULL;
  if (path == NULL) {
    return rlo__disk_cache_default_path(out_path);
  }
  if (path[0] == '\0') {
    return RLO_OK;
  }
  *out_path = rlo__alloc_string(path);
  return *out_path == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
}

/** Makes the list of shared directories of one between colons, or the default one for
 *  NULL: none where the cache is off. */
static rlo_status choose_shared(const char *path, const char *shared, char **out_shared) {
  const char *data = getenv("XDG_DATA_DIRS");
  const bool is_off = path != NULL && path[0] == '\0';
  const char *at = shared != NULL                    ? shared
                   : is_off                          ? ""
                   : data == NULL || data[0] == '\0' ? "/usr/local/share:/usr/share"
                                                     : data;
  const char *below = shared != NULL ? "" : "/relayout/programs";
  rlo__str list = rlo__str_growing();
  while (*at != '\0') {
    const size_t length = strcspn(at, ":");
    if (*at == '/') {
      rlo__str_append_bytes(&list, at, length);
      rlo__str_append_bytes(&list, below, strlen(below) + 1);
    } else if (shared != NULL) {
      rlo__str_deinit(&list);
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "the shared cache directory \"%.256s\" is not an absolute path", at);
    }
    at += length + (at[length] == ':');
  }
  return rlo__str_take(&list, out_shared);
}

rlo_status rlo__disk_cache_create(const rlo_context_options *options, uid_t owner,
                                  const rlo__log_sink *log, rlo__disk_cache **out_cache) {
  *out_cache = NULL;
  rlo__disk_cache *cache = rlo__alloc(sizeof *cache);
  RLO_TRY_MEMORY(cache);
  *cache = (rlo__disk_cache){.limit_bytes = options->cache_limit_bytes,
                             .load_program = options->load_program,
                             .store_program = options->store_program,
                             .program_payload = options->program_payload,
                             .owner = owner,
                             .log = log};
  rlo_status status = choose_path(options->cache_dir, &cache->path);
  if (status == RLO_OK) {
    status = choose_shared(options->cache_dir, options->shared_cache_dirs, &cache->shared);
  }
  if (status != RLO_OK) {
    rlo__disk_cache_destroy(cache);
    return status;
  }
  *out_cache = cache;
  return RLO_OK;
}

void rlo__disk_cache_destroy(rlo__disk_cache *cache) {
  if (cache != NULL) {
    rlo__free(cache->path);
    rlo__free(cache->shared);
    rlo__free(cache);
  }
}

bool rlo__disk_cache_is_on(const rlo__disk_cache *cache) {
  return cache != NULL && (cache->path != NULL || cache->shared[0] != '\0' ||
                           cache->load_program != NULL || cache->store_program != NULL);
}

void rlo__disk_cache_get_stats(const rlo__disk_cache *cache, rlo_context_stats *stats) {
  stats->disk_hits = atomic_load(&cache->num_hits);
  stats->disk_misses = atomic_load(&cache->num_misses);
  stats->disk_rejects = atomic_load(&cache->num_rejects);
  stats->disk_writes = atomic_load(&cache->num_writes);
}

static void complain(rlo__disk_cache *cache) {
  if (!atomic_exchange_explicit(&cache->has_complained, true, memory_order_relaxed)) {
    rlo__log(cache->log, RLO__LOG_WARNING, "a folder of compiled programs is not used: %s",
             rlo_error_last()->message);
  }
}

/** Opens the directory. Failures are logged once; a directory that does not
 *  exist is no failure. */
static bool open_directory(rlo__disk_cache *cache, bool creates, rlo__directory *out_directory) {
  if (cache->path == NULL) {
    return false;
  }
  const rlo_status status = rlo__directory_open(cache->path, cache->owner, creates, out_directory);
  if (status != RLO_OK && (status != RLO_NOT_FOUND || creates)) {
    complain(cache);
  }
  return status == RLO_OK;
}

bool rlo__disk_cache_is_usable(rlo__disk_cache *cache) {
  rlo__directory directory;
  if (!rlo__disk_cache_is_on(cache)) {
    return false;
  }
  const bool has_directory = open_directory(cache, true, &directory);
  if (has_directory) {
    rlo__directory_close(&directory);
  }
  return has_directory || cache->store_program != NULL;
}

/* ------------------------------------------------------------------ reading */

static void refuse_entry(rlo__disk_cache *cache, const rlo__cache_key *key, const char *place,
                         const char *why) {
  count(&cache->num_rejects);
  rlo__log(cache->log, RLO__LOG_WARNING, "entry %s of %s is not used: %s", key->name, place, why);
}

static void remove_entry(rlo__disk_cache *cache, const rlo__directory *directory,
                         const rlo__cache_key *key, const char *why) {
  refuse_entry(cache, key, "the disk cache", why);
  if (rlo__directory_remove(directory, key->name) != RLO_OK) {
    rlo__log(cache->log, RLO__LOG_WARNING, "%s", rlo_error_last()->message);
  }
}

/** Keeps the data of an entry with its payload, or frees it. */
static rlo_status take_entry(const rlo__cache_key *key, char *data, size_t bytes,
                             rlo__disk_cache_found *out_found) {
  rlo_status status = rlo__cache_entry_decode(key, (const uint8_t *)data, bytes,
                                              &out_found->payload, &out_found->payload_bytes);
  if (status != RLO_OK) {
    rlo__free(data);
    return status;
  }
  out_found->data = (uint8_t *)data;
  return RLO_OK;
}

static rlo_status read_entry(const rlo__directory *directory, const rlo__cache_key *key,
                             rlo__disk_cache_found *out_found) {
  char *data = NULL;
  size_t bytes = 0;
  RLO_TRY(
      rlo__directory_read(directory, key->name, RLO__DISK_CACHE_MAX_ENTRY_BYTES, &data, &bytes));
  return take_entry(key, data, bytes, out_found);
}

/** Looks among those that the caller keeps. */
static bool load_kept(rlo__disk_cache *cache, const rlo__cache_key *key,
                      rlo__disk_cache_found *out_found) {
  void *payload = cache->program_payload;
  const size_t bytes =
      cache->load_program != NULL ? cache->load_program(payload, key->name, NULL, 0) : 0;
  char *data = bytes > 0 ? rlo__alloc(bytes) : NULL;
  if (data == NULL) {
    return false;
  }
  const size_t again = cache->load_program(payload, key->name, data, bytes);
  const rlo_status status = take_entry(key, data, rlo__min_size(bytes, again), out_found);
  if (status != RLO_OK) {
    refuse_entry(cache, key, "load_program", rlo_error_last()->message);
  }
  return status == RLO_OK;
}

static bool load_own(rlo__disk_cache *cache, const rlo__cache_key *key,
                     rlo__disk_cache_found *out_found) {
  rlo__directory directory;
  if (!open_directory(cache, false, &directory)) {
    return false;
  }
  const rlo_status status = read_entry(&directory, key, out_found);
  if (status == RLO_OK) {
    rlo__directory_touch(&directory, key->name);
  } else if (status != RLO_NOT_FOUND && status != RLO_OUT_OF_MEMORY && status != RLO_IO) {
    /* An entry that is missing or cannot be read just now is not at fault. */
    remove_entry(cache, &directory, key, rlo_error_last()->message);
  }
  rlo__directory_close(&directory);
  return status == RLO_OK;
}

/** Opens a shared directory, of root or of the owner. */
static bool open_shared(rlo__disk_cache *cache, const char *path, rlo__directory *out_directory) {
  rlo_status status = rlo__directory_open(path, 0, false, out_directory);
  if (status == RLO_UNSUPPORTED && cache->owner != 0) {
    status = rlo__directory_open(path, cache->owner, false, out_directory);
  }
  if (status != RLO_OK && status != RLO_NOT_FOUND) {
    complain(cache);
  }
  return status == RLO_OK;
}

static bool load_shared(rlo__disk_cache *cache, const rlo__cache_key *key,
                        rlo__disk_cache_found *out_found) {
  rlo_status status = RLO_NOT_FOUND;
  for (const char *path = cache->shared; *path != '\0' && status != RLO_OK;
       path += strlen(path) + 1) {
    rlo__directory directory;
    if (!open_shared(cache, path, &directory)) {
      continue;
    }
    status = read_entry(&directory, key, out_found);
    rlo__directory_close(&directory);
    if (status != RLO_OK && status != RLO_NOT_FOUND) {
      refuse_entry(cache, key, path, rlo_error_last()->message);
    }
  }
  return status == RLO_OK;
}

bool rlo__disk_cache_load(rlo__disk_cache *cache, const rlo__cache_key *key,
                          rlo__disk_cache_found *out_found) {
  *out_found = (rlo__disk_cache_found){NULL, 0, NULL};
  const int_fast64_t rejects = atomic_load(&cache->num_rejects);
  const bool is_found = load_kept(cache, key, out_found) || load_own(cache, key, out_found) ||
                        load_shared(cache, key, out_found);
  if (is_found) {
    count(&cache->num_hits);
  } else if (atomic_load(&cache->num_rejects) == rejects) {
    count(&cache->num_misses);
  }
  return is_found;
}

void rlo__disk_cache_reject(rlo__disk_cache *cache, const rlo__cache_key *key, const char *why) {
  rlo__directory directory;
  if (open_directory(cache, false, &directory)) {
    remove_entry(cache, &directory, key, why);
    rlo__directory_close(&directory);
  } else {
    refuse_entry(cache, key, "another cache", why);
  }
}

/* ------------------------------------------------------------------ writing */

/** Includes those of format 1, which have longer names. */
static bool is_entry_name(const char *name) {
  size_t length = strlen(name);
  return length >= RLO__DISK_CACHE_NAME_CHARS && strspn(name, "0123456789abcdef") == length;
}

static bool is_temp_name(const char *name) {
  return strncmp(name, RLO__FILE_TEMP_PREFIX, sizeof RLO__FILE_TEMP_PREFIX - 1) == 0;
}

static int compare_times(const void *a, const void *b) {
  const rlo__directory_file *x = a;
  const rlo__directory_file *y = b;
  return (x->time_nanos > y->time_nanos) - (x->time_nanos < y->time_nanos);
}

/** Deletes old temporary files, and the entries unused for longest until there
 *  is room. */
static rlo_status make_room(rlo__disk_cache *cache, const rlo__directory *directory,
                            int64_t needed_bytes) {
  rlo__directory_file *files = NULL;
  size_t num_files = 0;
  RLO_TRY(rlo__directory_list(directory, &files, &num_files));
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  int64_t temp_limit_nanos = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - TEMP_LIFE_NANOS;
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
    } else if (is_entry_name(file->name) && total_bytes > cache->limit_bytes - needed_bytes) {
      total_bytes -= file->bytes;
      status = rlo__directory_remove(directory, file->name);
    }
  }
  rlo__free(files);
  return status;
}

static rlo_status store(rlo__disk_cache *cache, const rlo__directory *directory,
                        const rlo__cache_key *key, const rlo__str *entry) {
  const int64_t most_bytes = rlo__min(cache->limit_bytes, RLO__DISK_CACHE_MAX_ENTRY_BYTES);
  RLO_FAIL_IF(entry->length > (uint64_t)most_bytes, RLO_OUT_OF_RANGE,
              "it takes %zu bytes; the limit is %lld", entry->length, (long long)most_bytes);
  RLO_TRY(make_room(cache, directory, (int64_t)entry->length));
  RLO_TRY(rlo__directory_write(directory, key->name, rlo__str_text(entry), entry->length));
  count(&cache->num_writes);
  rlo__log(cache->log, RLO__LOG_DEBUG, "entry %s of the disk cache: %zu bytes written", key->name,
           entry->length);
  return RLO_OK;
}

void rlo__disk_cache_store(rlo__disk_cache *cache, const rlo__cache_key *key, const void *payload,
                           size_t payload_bytes) {
  rlo__directory directory;
  rlo__str entry;
  rlo_status status = rlo__cache_entry_encode(key, payload, payload_bytes, &entry);
  if (status == RLO_OK && cache->store_program != NULL) {
    cache->store_program(cache->program_payload, key->name, rlo__str_text(&entry), entry.length);
    count(&cache->num_writes);
  }
  if (status == RLO_OK && open_directory(cache, true, &directory)) {
    status = store(cache, &directory, key, &entry);
    rlo__directory_close(&directory);
  }
  if (status != RLO_OK) {
    rlo__log(cache->log, RLO__LOG_WARNING, "entry %s of the disk cache is not written: %s",
             key->name, rlo_error_last()->message);
  }
  rlo__str_deinit(&entry);
}

/* ------------------------------------------- what a user sees and deletes */

/** Opens the directory at `path`, or the default one. @return also
 * RLO_NOT_FOUND if it does not exist. */
static rlo_status find_directory(const char *path, rlo_cache_info *info,
                                 rlo__directory *out_directory) {
  char *used_path = NULL;
  RLO_TRY(choose_path(path, &used_path));
  rlo_status status = RLO_OK;
  if (used_path == NULL) {
    status = RLO_FAIL(RLO_NOT_FOUND, "there is no cache directory%s",
                      path != NULL ? "" : ": neither XDG_CACHE_HOME nor HOME is an absolute path");
  } else if (used_path[0] != '/') {
    status = RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is not an absolute path", used_path);
  } else {
    status = rlo__directory_open(used_path, geteuid(), false, out_directory);
  }
  (void)snprintf(info->path, sizeof info->path, "%s", used_path != NULL ? used_path : "");
  rlo__free(used_path);
  return status;
}

/** Counts the entries, and deletes them if `is_clearing`. */
static rlo_status visit_entries(const rlo__directory *directory, bool is_clearing,
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
static rlo_status look(const char *path, bool is_clearing, rlo_cache_info *out_info) {
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  if (out_info != NULL) {
    RLO_TRY(rlo__options_check_size("cache info", "RLO_CACHE_INFO_INIT", out_info, sizeof info));
  }
  rlo__directory directory;
  rlo_status status = find_directory(path, &info, &directory);
  if (status == RLO_OUT_OF_MEMORY || (is_clearing && status != RLO_OK && status != RLO_NOT_FOUND)) {
    return status;
  }
  /* A directory that does not exist will be created. */
  info.is_usable = status == RLO_OK || (status == RLO_NOT_FOUND && info.path[0] != '\0');
  if (!info.is_usable) {
    (void)snprintf(info.reason, sizeof info.reason, "%s", rlo_error_last()->message);
  }
  if (status == RLO_OK) {
    status = visit_entries(&directory, is_clearing, &info);
    rlo__directory_close(&directory);
    RLO_TRY(status);
  }
  return out_info != NULL
             ? rlo__report_write("cache info", "RLO_CACHE_INFO_INIT", &info, out_info, sizeof info)
             : RLO_OK;
}

rlo_status rlo_cache_inspect(const char *path, rlo_cache_info *out_info) {
  RLO_REQUIRE(out_info);
  return look(path, false, out_info);
}

rlo_status rlo_cache_clear(const char *path, rlo_cache_info *out_info) {
  return look(path, true, out_info);
}
