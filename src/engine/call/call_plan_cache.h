/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_CALL_PLAN_CACHE_H
#define RLO_ENGINE_CALL_PLAN_CACHE_H

#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "relayout/attributes.h"

typedef struct rlo__call_plan rlo__call_plan;

enum { RLO__CALL_PLAN_BUCKETS = 512 };

/** The recipes of an engine, the one unused for longest going first. */
typedef struct rlo__call_plans {
  rlo__mutex mutex;
  int32_t capacity, count;
  uint64_t next_id;
  atomic_int_fast64_t hits, misses;
  rlo__call_plan *buckets[RLO__CALL_PLAN_BUCKETS];
  rlo__call_plan *newest, *oldest;
} rlo__call_plans;

RLO_NODISCARD rlo_status rlo__call_plans_init(rlo__call_plans *cache,
                                              int32_t capacity);
void rlo__call_plans_deinit(rlo__call_plans *cache);

/** The calls that found their recipe, and that did not. */
void rlo__call_plans_count(const rlo__call_plans *cache,
                           int64_t *out_hits,
                           int64_t *out_misses);

/** Let go of every recipe of an instance. */
void rlo__call_plans_forget(rlo__call_plans *cache,
                            const rlo__backend_instance *instance);

/** A list of key in the making: on the stack while it is short. */
typedef struct rlo__call_key {
  uint64_t few[96];
  uint64_t *many;
  int32_t count, capacity;
} rlo__call_key;

void rlo__call_key_init(rlo__call_key *key);
void rlo__call_key_deinit(rlo__call_key *key);
RLO_NODISCARD rlo_status rlo__call_key_push(rlo__call_key *key, uint64_t word);
const uint64_t *rlo__call_key_data(const rlo__call_key *key);

/** What an attribute that was checked says, name and type included. */
RLO_NODISCARD rlo_status rlo__call_key_push_attribute(
    rlo_engine *engine, rlo__call_key *key, const rlo_attribute *attribute);
uint64_t rlo__call_key_hash(const uint64_t *key, int32_t count);

/** A recipe that is there; NULL if there is none. Counts a hit or a miss. */
rlo__call_plan *rlo__call_plans_find(rlo_engine *engine,
                                     const rlo__call_key *key);

/** Keep a recipe; if another thread was first with one alike, that takes its
 *  place. */
rlo__call_plan *rlo__call_plans_insert(rlo__call_plan *plan);

#endif
