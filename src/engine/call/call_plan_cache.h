/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_CALL_PLAN_CACHE_H
#define RLO_ENGINE_CALL_PLAN_CACHE_H

#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "relayout/attributes.h"

typedef struct rlo__recipe rlo__recipe;

enum { RLO__RECIPE_BUCKETS = 512 };

/** The recipes of an engine, the one unused for longest going first. */
typedef struct rlo__recipe_cache {
  rlo__mutex mutex;
  int32_t capacity, count;
  uint64_t next_id;
  atomic_int_fast64_t hits, misses;
  rlo__recipe *buckets[RLO__RECIPE_BUCKETS];
  rlo__recipe *newest, *oldest;
} rlo__recipe_cache;

RLO_NODISCARD rlo_status rlo__recipe_cache_init(rlo__recipe_cache *cache,
                                                int32_t capacity);
void rlo__recipe_cache_deinit(rlo__recipe_cache *cache);

/** The calls that found their recipe, and that did not. */
void rlo__recipe_cache_count(const rlo__recipe_cache *cache,
                             int64_t *out_hits,
                             int64_t *out_misses);

/** Let go of every recipe of an instance. */
void rlo__recipe_cache_forget(rlo__recipe_cache *cache,
                              const rlo__instance *instance);

/** A list of words in the making: on the stack while it is short. */
typedef struct rlo__words {
  uint64_t few[96];
  uint64_t *many;
  int32_t count, capacity;
} rlo__words;

void rlo__words_init(rlo__words *words);
void rlo__words_deinit(rlo__words *words);
RLO_NODISCARD rlo_status rlo__words_push(rlo__words *words, uint64_t word);
const uint64_t *rlo__words_data(const rlo__words *words);

/** What an attribute that was checked says, name and type included. */
RLO_NODISCARD rlo_status rlo__words_push_attribute(
    rlo_engine *engine, rlo__words *words, const rlo_attribute *attribute);
uint64_t rlo__words_hash(const uint64_t *words, int32_t count);

/** A recipe that is there; NULL if there is none. Counts a hit or a miss. */
rlo__recipe *rlo__recipe_find(rlo_engine *engine, const rlo__words *words);

/** Keep a recipe; if another thread was first with one alike, that takes its
 *  place. */
rlo__recipe *rlo__recipe_keep(rlo__recipe *recipe);

#endif
