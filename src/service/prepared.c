/* SPDX-License-Identifier: Apache-2.0 */
#include "service/prepared.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "host/mover.h"

enum {
  /** Beyond it, what was not used for longest is released. */
  MAX_KEPT = 64
};

struct rlo__prepared {
  rlo__prepared *next;
  uint64_t hash;
  /** Guarded by the set's mutex. */
  int32_t num_uses;
  rlo_problem problem;
  /** NULL if lanes run the pieces. */
  rlo__host_mover *mover;
  int32_t num_plans;
  /** One of each lane; NULL until it needs it. */
  rlo_plan *plans[];
};

struct rlo__prepared_set {
  rlo__mutex mutex;
  int32_t num_lanes, num_kept;
  /* The options of plans; may be NULL. Borrowed. */
  const char *family, *schedule;
  /** The last taken first. */
  rlo__prepared *first;
};

rlo_status rlo__prepared_set_create(int32_t num_lanes,
                                    const char *family,
                                    const char *schedule,
                                    rlo__prepared_set **out_set) {
  *out_set = NULL;
  rlo__prepared_set *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->num_lanes = num_lanes;
  made->family = family;
  made->schedule = schedule;
  rlo_status status = rlo__mutex_init(&made->mutex);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  *out_set = made;
  return RLO_OK;
}

static void release(rlo__prepared *prepared) {
  if (prepared == NULL) {
    return;
  }
  for (int32_t n = 0; n < prepared->num_plans; ++n) {
    rlo_plan_release(prepared->plans[n]);
  }
  rlo__host_mover_release(prepared->mover);
  rlo__free(prepared);
}

void rlo__prepared_set_release(rlo__prepared_set *set) {
  if (set == NULL) {
    return;
  }
  while (set->first != NULL) {
    rlo__prepared *next = set->first->next;
    release(set->first);
    set->first = next;
  }
  rlo__mutex_deinit(&set->mutex);
  rlo__free(set);
}

static rlo_status create(const rlo__prepared_set *set,
                         const rlo_problem *problem,
                         uint64_t hash,
                         rlo__prepared **out_prepared) {
  size_t plans_bytes = (size_t)set->num_lanes * sizeof(rlo_plan *);
  rlo__prepared *made = rlo__alloc(sizeof *made + plans_bytes);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->hash = hash;
  made->problem = *problem;
  made->num_plans = set->num_lanes;
  if (set->num_lanes == 0) {
    rlo_status status = rlo__host_mover_create(problem, &made->mover);
    if (status != RLO_OK) {
      rlo__free(made);
      return status;
    }
  }
  *out_prepared = made;
  return RLO_OK;
}

/* Takes an equal one out of the list; NULL if there is none. */
static rlo__prepared *unlink_equal(rlo__prepared_set *set,
                                   const rlo_problem *problem,
                                   uint64_t hash) {
  for (rlo__prepared **link = &set->first; *link != NULL;
       link = &(*link)->next) {
    rlo__prepared *found = *link;
    if (found->hash == hash && rlo_problem_equal(&found->problem, problem) &&
        found->problem.src_bytes == problem->src_bytes &&
        found->problem.dst_bytes == problem->dst_bytes) {
      *link = found->next;
      return found;
    }
  }
  return NULL;
}

/* Takes the one out of the list that was not used for longest; NULL if all are
 * in use. */
static rlo__prepared *unlink_oldest(rlo__prepared_set *set) {
  rlo__prepared **oldest = NULL;
  for (rlo__prepared **link = &set->first; *link != NULL;
       link = &(*link)->next) {
    oldest = (*link)->num_uses == 0 ? link : oldest;
  }
  rlo__prepared *found = NULL;
  if (oldest != NULL) {
    found = *oldest;
    *oldest = found->next;
    --set->num_kept;
  }
  return found;
}

rlo_status rlo__prepared_take(rlo__prepared_set *set,
                              rlo_problem *problem,
                              rlo__prepared **out_prepared) {
  *out_prepared = NULL;
  RLO_TRY(rlo_problem_canonicalize(problem, 0, NULL, NULL));
  uint64_t hash = rlo_problem_hash(problem);
  rlo__prepared *too_old = NULL;
  rlo_status status = RLO_OK;
  rlo__mutex_lock(&set->mutex);
  rlo__prepared *taken = unlink_equal(set, problem, hash);
  if (taken == NULL) {
    /* Under the mutex, since others are about to need the same. */
    status = create(set, problem, hash, &taken);
    if (status == RLO_OK && ++set->num_kept > MAX_KEPT) {
      too_old = unlink_oldest(set);
    }
  }
  if (taken != NULL) {
    ++taken->num_uses;
    taken->next = set->first;
    set->first = taken;
  }
  rlo__mutex_unlock(&set->mutex);
  release(too_old);
  *out_prepared = taken;
  return status;
}

void rlo__prepared_give_back(rlo__prepared_set *set, rlo__prepared *prepared) {
  if (prepared != NULL) {
    rlo__mutex_lock(&set->mutex);
    --prepared->num_uses;
    rlo__mutex_unlock(&set->mutex);
  }
}

rlo_status rlo__prepared_run_on_host(const rlo__prepared *prepared,
                                     const void *src,
                                     void *dst,
                                     int32_t share,
                                     int32_t num_shares) {
  return rlo__host_mover_run_share(
      prepared->mover, src, NULL, dst, share, num_shares);
}

rlo_status rlo__prepared_get_plan(const rlo__prepared_set *set,
                                  rlo__prepared *prepared,
                                  int32_t lane,
                                  rlo_context *context,
                                  bool is_aligned,
                                  rlo_plan **out_plan) {
  if (prepared->plans[lane] == NULL) {
    rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
    options.is_aligned = is_aligned;
    options.family = set->family;
    options.schedule = set->schedule;
    RLO_TRY(rlo_plan_create(
        context, &prepared->problem, &options, &prepared->plans[lane]));
  }
  *out_plan = prepared->plans[lane];
  return RLO_OK;
}
