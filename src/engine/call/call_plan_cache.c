/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/engine.h"

/* --------------------------------------------------------------------- words
 */

void rlo__words_init(rlo__words *words) {
  words->many = NULL;
  words->count = 0;
  words->capacity = (int32_t)(sizeof words->few / sizeof words->few[0]);
}

void rlo__words_deinit(rlo__words *words) {
  rlo__free(words->many);
}

rlo_status rlo__words_push(rlo__words *words, uint64_t word) {
  if (words->count == words->capacity) {
    uint64_t *many =
        rlo__alloc_array((size_t)words->capacity * 2, sizeof *many);
    if (many == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    memcpy(many, rlo__words_data(words), (size_t)words->count * sizeof *many);
    rlo__free(words->many);
    words->many = many;
    words->capacity *= 2;
  }
  uint64_t *data = words->many != NULL ? words->many : words->few;
  data[words->count++] = word;
  return RLO_OK;
}

const uint64_t *rlo__words_data(const rlo__words *words) {
  return words->many != NULL ? words->many : words->few;
}

static rlo_status push_bytes(rlo__words *words, const char *text) {
  size_t length = strlen(text);
  RLO_TRY(rlo__words_push(words, length));
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    RLO_TRY(rlo__words_push(words, word));
  }
  return RLO_OK;
}

rlo_status rlo__words_push_attribute(rlo_engine *engine,
                                     rlo__words *words,
                                     const rlo_attribute *attribute) {
  RLO_TRY(push_bytes(words, attribute->name));
  RLO_TRY(rlo__words_push(words, (uint64_t)attribute->type));
  uint64_t word = 0;
  switch (attribute->type) {
    case RLO_ATTRIBUTE_I64:
      return rlo__words_push(words, (uint64_t)attribute->value.i64);
    case RLO_ATTRIBUTE_BOOL:
      return rlo__words_push(words, attribute->value.boolean);
    case RLO_ATTRIBUTE_F64:
      memcpy(&word, &attribute->value.f64, sizeof word);
      return rlo__words_push(words, word);
    case RLO_ATTRIBUTE_STRING:
      return push_bytes(words, attribute->value.string);
    case RLO_ATTRIBUTE_I64S:
      RLO_TRY(rlo__words_push(words, (uint64_t)attribute->value.i64s.count));
      for (int32_t i = 0; i < attribute->value.i64s.count; ++i) {
        RLO_TRY(
            rlo__words_push(words, (uint64_t)attribute->value.i64s.values[i]));
      }
      return RLO_OK;
    case RLO_ATTRIBUTE_SHAPE: {
      rlo__shared_shape *shape = NULL;
      rlo_status status =
          rlo__shape_table_get(&engine->shapes, attribute->value.shape, &shape);
      if (status != RLO_OK) {
        return rlo__status_prefix(status, "'%s': ", attribute->name);
      }
      word = shape->id;
      /* Should the shape go, its id goes with it: the words then match
       * nothing. */
      rlo__shared_shape_release(&engine->shapes, shape);
      return rlo__words_push(words, word);
    }
  }
  return RLO_FAIL(RLO_INTERNAL, "an attribute that was not checked");
}

uint64_t rlo__words_hash(const uint64_t *words, int32_t count) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (int32_t i = 0; i < count; ++i) {
    hash = (hash ^ words[i]) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  }
  return hash;
}

/* --------------------------------------------------------------------- cache
 */

rlo_status rlo__recipe_cache_init(rlo__recipe_cache *cache, int32_t capacity) {
  *cache = (rlo__recipe_cache){.capacity = capacity, .next_id = 1};
  atomic_init(&cache->hits, 0);
  atomic_init(&cache->misses, 0);
  return rlo__mutex_init(&cache->mutex);
}

static void unlink_use(rlo__recipe_cache *cache, rlo__recipe *recipe) {
  *(recipe->newer != NULL ? &recipe->newer->older : &cache->newest) =
      recipe->older;
  *(recipe->older != NULL ? &recipe->older->newer : &cache->oldest) =
      recipe->newer;
  recipe->newer = NULL;
  recipe->older = NULL;
}

static void link_newest(rlo__recipe_cache *cache, rlo__recipe *recipe) {
  recipe->older = cache->newest;
  *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = recipe;
  cache->newest = recipe;
}

static void take_out(rlo__recipe_cache *cache, rlo__recipe *recipe) {
  rlo__recipe **link = &cache->buckets[recipe->hash % RLO__RECIPE_BUCKETS];
  while (*link != recipe) {
    link = &(*link)->next_in_bucket;
  }
  *link = recipe->next_in_bucket;
  recipe->next_in_bucket = NULL;
  unlink_use(cache, recipe);
  --cache->count;
}

/* Under the mutex; retained. */
static rlo__recipe *find_locked(rlo__recipe_cache *cache,
                                const uint64_t *words,
                                int32_t count,
                                uint64_t hash) {
  rlo__recipe *r = cache->buckets[hash % RLO__RECIPE_BUCKETS];
  while (r != NULL &&
         (r->hash != hash || r->num_words != count ||
          memcmp(r->words, words, (size_t)count * sizeof *words) != 0)) {
    r = r->next_in_bucket;
  }
  if (r != NULL) {
    if (cache->newest != r) {
      unlink_use(cache, r);
      link_newest(cache, r);
    }
    rlo__recipe_retain(r);
  }
  return r;
}

rlo__recipe *rlo__recipe_find(rlo_engine *engine, const rlo__words *words) {
  rlo__recipe_cache *cache = &engine->recipes;
  const uint64_t *data = rlo__words_data(words);
  uint64_t hash = rlo__words_hash(data, words->count);
  rlo__mutex_lock(&cache->mutex);
  rlo__recipe *found = find_locked(cache, data, words->count, hash);
  rlo__mutex_unlock(&cache->mutex);
  rlo__engine_count(found != NULL ? &cache->hits : &cache->misses, 1);
  return found;
}

rlo__recipe *rlo__recipe_keep(rlo__recipe *recipe) {
  rlo__recipe_cache *cache = &recipe->engine->recipes;
  rlo__recipe *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  rlo__recipe *first =
      find_locked(cache, recipe->words, recipe->num_words, recipe->hash);
  if (first == NULL) {
    rlo__recipe **bucket = &cache->buckets[recipe->hash % RLO__RECIPE_BUCKETS];
    recipe->id = cache->next_id++;
    recipe->next_in_bucket = *bucket;
    *bucket = rlo__recipe_retain(recipe);
    link_newest(cache, recipe);
    if (++cache->count > cache->capacity) {
      gone = cache->oldest;
      take_out(cache, gone);
    }
  }
  rlo__mutex_unlock(&cache->mutex);
  rlo__recipe_release(gone);
  if (first != NULL) {
    rlo__recipe_release(recipe);
    return first;
  }
  return recipe;
}

void rlo__recipe_cache_count(const rlo__recipe_cache *cache,
                             int64_t *out_hits,
                             int64_t *out_misses) {
  *out_hits = (int64_t)atomic_load(&cache->hits);
  *out_misses = (int64_t)atomic_load(&cache->misses);
}

void rlo__recipe_cache_forget(rlo__recipe_cache *cache,
                              const rlo__instance *instance) {
  rlo__recipe *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  for (rlo__recipe *r = cache->newest; r != NULL;) {
    rlo__recipe *older = r->older;
    if (instance == NULL || r->instance == instance) {
      take_out(cache, r);
      r->next_in_bucket = gone;
      gone = r;
    }
    r = older;
  }
  rlo__mutex_unlock(&cache->mutex);
  while (gone != NULL) {
    rlo__recipe *next = gone->next_in_bucket;
    gone->next_in_bucket = NULL;
    rlo__recipe_release(gone);
    gone = next;
  }
}

void rlo__recipe_cache_deinit(rlo__recipe_cache *cache) {
  rlo__recipe_cache_forget(cache, NULL);
  rlo__mutex_deinit(&cache->mutex);
}
