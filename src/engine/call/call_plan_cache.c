/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/engine.h"

/* --------------------------------------------------------------------- key
 */

void rlo__call_key_init(rlo__call_key *key) {
  key->many = NULL;
  key->count = 0;
  key->capacity = (int32_t)(sizeof key->few / sizeof key->few[0]);
}

void rlo__call_key_deinit(rlo__call_key *key) {
  rlo__free(key->many);
}

rlo_status rlo__call_key_push(rlo__call_key *key, uint64_t word) {
  if (key->count == key->capacity) {
    uint64_t *many = rlo__alloc_array((size_t)key->capacity * 2, sizeof *many);
    if (many == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    memcpy(many, rlo__call_key_data(key), (size_t)key->count * sizeof *many);
    rlo__free(key->many);
    key->many = many;
    key->capacity *= 2;
  }
  uint64_t *data = key->many != NULL ? key->many : key->few;
  data[key->count++] = word;
  return RLO_OK;
}

const uint64_t *rlo__call_key_data(const rlo__call_key *key) {
  return key->many != NULL ? key->many : key->few;
}

static rlo_status push_bytes(rlo__call_key *key, const char *text) {
  size_t length = strlen(text);
  RLO_TRY(rlo__call_key_push(key, length));
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    RLO_TRY(rlo__call_key_push(key, word));
  }
  return RLO_OK;
}

rlo_status rlo__call_key_push_attribute(rlo_engine *engine,
                                        rlo__call_key *key,
                                        const rlo_attribute *attribute) {
  RLO_TRY(push_bytes(key, attribute->name));
  RLO_TRY(rlo__call_key_push(key, (uint64_t)attribute->type));
  uint64_t word = 0;
  switch (attribute->type) {
    case RLO_ATTRIBUTE_I64:
      return rlo__call_key_push(key, (uint64_t)attribute->value.i64);
    case RLO_ATTRIBUTE_BOOL:
      return rlo__call_key_push(key, attribute->value.boolean);
    case RLO_ATTRIBUTE_F64:
      memcpy(&word, &attribute->value.f64, sizeof word);
      return rlo__call_key_push(key, word);
    case RLO_ATTRIBUTE_STRING:
      return push_bytes(key, attribute->value.string);
    case RLO_ATTRIBUTE_I64S:
      RLO_TRY(rlo__call_key_push(key, (uint64_t)attribute->value.i64s.count));
      for (int32_t i = 0; i < attribute->value.i64s.count; ++i) {
        RLO_TRY(
            rlo__call_key_push(key, (uint64_t)attribute->value.i64s.values[i]));
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
      /* Should the shape go, its id goes with it: the key then match
       * nothing. */
      rlo__shared_shape_release(&engine->shapes, shape);
      return rlo__call_key_push(key, word);
    }
  }
  return RLO_FAIL(RLO_INTERNAL, "an attribute that was not checked");
}

uint64_t rlo__call_key_hash(const uint64_t *key, int32_t count) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (int32_t i = 0; i < count; ++i) {
    hash = (hash ^ key[i]) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  }
  return hash;
}

/* --------------------------------------------------------------------- cache
 */

rlo_status rlo__call_plans_init(rlo__call_plans *cache, int32_t capacity) {
  *cache = (rlo__call_plans){.capacity = capacity, .next_id = 1};
  atomic_init(&cache->hits, 0);
  atomic_init(&cache->misses, 0);
  return rlo__mutex_init(&cache->mutex);
}

static void unlink_use(rlo__call_plans *cache, rlo__call_plan *plan) {
  *(plan->newer != NULL ? &plan->newer->older : &cache->newest) = plan->older;
  *(plan->older != NULL ? &plan->older->newer : &cache->oldest) = plan->newer;
  plan->newer = NULL;
  plan->older = NULL;
}

static void link_newest(rlo__call_plans *cache, rlo__call_plan *plan) {
  plan->older = cache->newest;
  *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = plan;
  cache->newest = plan;
}

static void take_out(rlo__call_plans *cache, rlo__call_plan *plan) {
  rlo__call_plan **link = &cache->buckets[plan->hash % RLO__CALL_PLAN_BUCKETS];
  while (*link != plan) {
    link = &(*link)->next_in_bucket;
  }
  *link = plan->next_in_bucket;
  plan->next_in_bucket = NULL;
  unlink_use(cache, plan);
  --cache->count;
}

/* Under the mutex; retained. */
static rlo__call_plan *find_locked(rlo__call_plans *cache,
                                   const uint64_t *key,
                                   int32_t count,
                                   uint64_t hash) {
  rlo__call_plan *r = cache->buckets[hash % RLO__CALL_PLAN_BUCKETS];
  while (r != NULL && (r->hash != hash || r->key_length != count ||
                       memcmp(r->key, key, (size_t)count * sizeof *key) != 0)) {
    r = r->next_in_bucket;
  }
  if (r != NULL) {
    if (cache->newest != r) {
      unlink_use(cache, r);
      link_newest(cache, r);
    }
    rlo__call_plan_retain(r);
  }
  return r;
}

rlo__call_plan *rlo__call_plans_find(rlo_engine *engine,
                                     const rlo__call_key *key) {
  rlo__call_plans *cache = &engine->plans;
  const uint64_t *data = rlo__call_key_data(key);
  uint64_t hash = rlo__call_key_hash(data, key->count);
  rlo__mutex_lock(&cache->mutex);
  rlo__call_plan *found = find_locked(cache, data, key->count, hash);
  rlo__mutex_unlock(&cache->mutex);
  rlo__engine_count(found != NULL ? &cache->hits : &cache->misses, 1);
  return found;
}

rlo__call_plan *rlo__call_plans_insert(rlo__call_plan *plan) {
  rlo__call_plans *cache = &plan->engine->plans;
  rlo__call_plan *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  rlo__call_plan *first =
      find_locked(cache, plan->key, plan->key_length, plan->hash);
  if (first == NULL) {
    rlo__call_plan **bucket =
        &cache->buckets[plan->hash % RLO__CALL_PLAN_BUCKETS];
    plan->id = cache->next_id++;
    plan->next_in_bucket = *bucket;
    *bucket = rlo__call_plan_retain(plan);
    link_newest(cache, plan);
    if (++cache->count > cache->capacity) {
      gone = cache->oldest;
      take_out(cache, gone);
    }
  }
  rlo__mutex_unlock(&cache->mutex);
  rlo__call_plan_release(gone);
  if (first != NULL) {
    rlo__call_plan_release(plan);
    return first;
  }
  return plan;
}

void rlo__call_plans_count(const rlo__call_plans *cache,
                           int64_t *out_hits,
                           int64_t *out_misses) {
  *out_hits = (int64_t)atomic_load(&cache->hits);
  *out_misses = (int64_t)atomic_load(&cache->misses);
}

void rlo__call_plans_forget(rlo__call_plans *cache,
                            const rlo__backend_instance *instance) {
  rlo__call_plan *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  for (rlo__call_plan *r = cache->newest; r != NULL;) {
    rlo__call_plan *older = r->older;
    if (instance == NULL || r->instance == instance) {
      take_out(cache, r);
      r->next_in_bucket = gone;
      gone = r;
    }
    r = older;
  }
  rlo__mutex_unlock(&cache->mutex);
  while (gone != NULL) {
    rlo__call_plan *next = gone->next_in_bucket;
    gone->next_in_bucket = NULL;
    rlo__call_plan_release(gone);
    gone = next;
  }
}

void rlo__call_plans_deinit(rlo__call_plans *cache) {
  rlo__call_plans_forget(cache, NULL);
  rlo__mutex_deinit(&cache->mutex);
}
