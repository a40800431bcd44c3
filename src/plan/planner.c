/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "base/threshold.h"
#include "plan/geometry.h"
#include "plan/planning.h"

/* How far below the best expectation a family is still worth timing. */
#define MIN_SHARE_OF_BEST 0.3

/* ------------------------------------------------------------------- choose */

/* Compiling a program for one problem takes longer than moving this much with
 * any family whose programs serve many problems. */
static bool is_worth_compiling(const rlo__family *family, int64_t box_bytes) {
  return (family->traits & RLO__FAMILY_SPECIALIZES) == 0 ||
         box_bytes >= rlo__thresholds.plan_compile_bytes;
}

/* Chooses the family of the best expectation, if any takes the problem, and
 * keeps the answer of each where the request explains. */
static void ask(const rlo__planning *p, bool is_explaining, rlo__choice *choice) {
  double best = 0.0;
  bool best_is_worth = false;
  choice->family = NULL;
  choice->num_candidates = 0;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != p->rows.device_class) {
      continue;
    }
    bool is_worth = is_worth_compiling(family, p->geometry.box_bytes);
    bool has_rival = choice->family != NULL && best_is_worth == is_worth;
    double fraction;
    if (is_explaining) {
      int32_t place = choice->num_candidates++;
      assert(place < RLO_MAX_FAMILIES);
      choice->asked[place] = family;
      fraction = rlo__planning_ask(p, family, &choice->candidates[place]);
    } else {
      fraction = rlo__planning_judge(p, family, has_rival ? best : 0.0, NULL);
    }
    bool is_better = has_rival ? fraction > best : choice->family == NULL || is_worth;
    if (fraction >= 0.0 && is_better) {
      choice->family = family;
      best = fraction;
      best_is_worth = is_worth;
    }
  }
}

/* Fails with the reason of the family that the options name. */
static rlo_status check_forced(const rlo__planning *p) {
  rlo_plan_candidate asked;
  return rlo__planning_ask(p, p->rows.family, &asked) >= 0.0
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED, "family %s refuses the problem: %s", p->rows.family->name,
                        asked.reason);
}

/* Writes the parameters of each applicable family into its candidate. */
static rlo_status describe_all(const rlo__planning *p, rlo__choice *choice, rlo__launch *scratch) {
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    rlo_plan_candidate *c = &choice->candidates[n];
    if (c->is_applicable) {
      rlo__launch_clear(scratch);
      RLO_TRY(rlo__planning_emit(p, choice->asked[n], scratch));
      (void)snprintf(c->reason, sizeof c->reason, "%s", scratch->parameters);
    }
  }
  return RLO_OK;
}

/* Chooses by wisdom, if there is some and its family takes the problem. */
static bool is_known(rlo__planning *p, const rlo__wisdom *wisdom, rlo__choice *choice) {
  if (wisdom == NULL || wisdom->entries.count == 0 || p->rows.family != NULL ||
      p->rows.schedule != NULL) {
    return false;
  }
  rlo__wisdom_key key = rlo__wisdom_key_of(&p->query, p->rows.device_class);
  const rlo__wisdom_entry *entry = rlo__wisdom_find(wisdom, &key);
  if (entry == NULL || entry->family->device_class != p->rows.device_class) {
    return false;
  }
  rlo__planning_set_schedule(p, entry->schedule);
  if (!rlo__planning_takes(p, entry->family)) {
    rlo__planning_set_schedule(p, &rlo__schedules[0]);
    return false;
  }
  choice->family = entry->family;
  choice->schedule = entry->schedule;
  choice->decision = RLO_PLAN_DECISION_WISDOM;
  choice->measured_fraction = entry->fraction;
  return true;
}

/* Fails with the reason of the family of last resort: the one that refuses
 * fewest problems with units of such bits. */
static rlo_status fail_of_all(const rlo__planning *p) {
  bool is_whole = rlo__planning_is_whole_unit(p->query.problem->unit_bits);
  const char *name = is_whole ? "gather" : "bits";
  rlo_plan_candidate asked;
  (void)rlo__planning_ask(p, rlo__family_find(p->rows.device_class, name), &asked);
  return RLO_FAIL(RLO_UNSUPPORTED, "every kernel family of class %s refuses the problem; %s: %s",
                  rlo__planning_class_name(p->rows.device_class), name, asked.reason);
}

static rlo_status choose_by_expectation(const rlo__planning *p, bool is_explaining,
                                        rlo__choice *choice) {
  if (is_explaining || p->rows.family == NULL) {
    ask(p, is_explaining, choice);
  }
  if (p->rows.schedule != NULL) {
    choice->schedule = p->rows.schedule;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  if (p->rows.family != NULL) {
    RLO_TRY(check_forced(p));
    choice->family = p->rows.family;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  return choice->family != NULL ? RLO_OK : fail_of_all(p);
}

/* The launch of a problem that has points. */
static rlo_status choose(rlo__planning *p, const rlo__plan_request *request, rlo__choice *choice,
                         rlo__launch *launch) {
  RLO_TRY(rlo__planning_check_units(p));
  if (!is_known(p, request->wisdom, choice)) {
    RLO_TRY(choose_by_expectation(p, request->is_explaining, choice));
  } else if (request->is_explaining) {
    /* The candidates are by the families' own schedule. */
    const rlo__family *known = choice->family;
    rlo__planning_set_schedule(p, &rlo__schedules[0]);
    ask(p, true, choice);
    choice->family = known;
  }
  if (request->is_explaining) {
    RLO_TRY(describe_all(p, choice, launch));
    rlo__planning_set_schedule(p, choice->schedule);
  }
  rlo__launch_clear(launch);
  return rlo__planning_emit(p, choice->family, launch);
}

/* A choice of nothing. Its candidates are not counted and need no value. */
static void begin_choice(const rlo__planning *p, rlo__choice *out_choice) {
  out_choice->family = NULL;
  out_choice->schedule = &rlo__schedules[0];
  out_choice->decision = RLO_PLAN_DECISION_ESTIMATE;
  out_choice->measured_fraction = 0.0;
  out_choice->device_class = p->rows.device_class;
  out_choice->src_alignment_bytes = p->query.src_alignment_bytes;
  out_choice->dst_alignment_bytes = p->query.dst_alignment_bytes;
  out_choice->num_candidates = 0;
}

rlo_status rlo__planner_choose(const rlo__plan_request *request, rlo__choice *out_choice,
                               rlo__launch *out_launch) {
  rlo__planning p;
  RLO_TRY(rlo__planning_begin(request, &p));
  rlo__choice unread;
  rlo__choice *choice = out_choice != NULL ? out_choice : &unread;
  begin_choice(&p, choice);
  rlo_status status = RLO_OK;
  if (!rlo_problem_is_empty(p.query.problem)) {
    status = choose(&p, request, choice, out_launch);
  }
  rlo__planning_end(&p);
  return status;
}

/* --------------------------------------------------------------- candidates */

typedef struct candidate_list {
  rlo__planning *p;
  rlo__candidate *items;
  int32_t count;
} candidate_list;

/* Adds a launch, unless the list is full, the family refuses the problem, or an
 * equal launch is listed. */
static rlo_status add_candidate(candidate_list *list, const rlo__family *family,
                                const rlo__schedule *schedule) {
  if (list->count == RLO__MAX_PLAN_CANDIDATES) {
    return RLO_OK;
  }
  rlo__planning_set_schedule(list->p, schedule);
  if (!rlo__planning_takes(list->p, family)) {
    return RLO_OK;
  }
  rlo__candidate *added = &list->items[list->count];
  rlo__launch_clear(&added->launch);
  RLO_TRY(rlo__planning_emit(list->p, family, &added->launch));
  for (int32_t n = 0; n < list->count; ++n) {
    if (rlo__launch_equal(&list->items[n].launch, &added->launch)) {
      return RLO_OK;
    }
  }
  added->family = family;
  added->schedule = schedule;
  ++list->count;
  return RLO_OK;
}

/* The families worth timing: the chosen one, then the others by falling
 * expectation. @return their number. */
static int32_t rank_families(const rlo__planning *p, const rlo__choice *choice,
                             const rlo__family *out_ranked[RLO_MAX_FAMILIES]) {
  double fractions[RLO_MAX_FAMILIES];
  double best = 0.0;
  int32_t count = 0;
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    best = fmax(best, choice->candidates[n].predicted_fraction);
  }
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    const rlo_plan_candidate *c = &choice->candidates[n];
    bool is_chosen = choice->asked[n] == choice->family;
    bool is_free = p->rows.family == NULL && c->is_applicable &&
                   c->predicted_fraction >= MIN_SHARE_OF_BEST * best;
    if (is_chosen || is_free) {
      /* Above every expectation, so that it is first. */
      double fraction = is_chosen ? 2.0 : c->predicted_fraction;
      int32_t place = count++;
      for (; place > 0 && fractions[place - 1] < fraction; --place) {
        fractions[place] = fractions[place - 1];
        out_ranked[place] = out_ranked[place - 1];
      }
      fractions[place] = fraction;
      out_ranked[place] = choice->asked[n];
    }
  }
  return count;
}

static rlo_status list_candidates(candidate_list *list) {
  rlo__planning *p = list->p;
  rlo__choice choice;
  begin_choice(p, &choice);
  RLO_TRY(rlo__planning_check_units(p));
  RLO_TRY(choose_by_expectation(p, true, &choice));
  const rlo__family *ranked[RLO_MAX_FAMILIES];
  int32_t num_families = rank_families(p, &choice, ranked);
  for (int32_t f = 0; f < num_families; ++f) {
    RLO_TRY(add_candidate(list, ranked[f], choice.schedule));
  }
  for (int32_t f = 0; f < num_families && p->rows.schedule == NULL; ++f) {
    for (int32_t n = 1; n < rlo__num_schedules; ++n) {
      RLO_TRY(add_candidate(list, ranked[f], &rlo__schedules[n]));
    }
  }
  return RLO_OK;
}

rlo_status rlo__planner_list_candidates(const rlo__plan_request *request,
                                        rlo__candidate *out_candidates, int32_t *out_count) {
  rlo__planning p;
  candidate_list list = {.p = &p, .items = out_candidates};
  *out_count = 0;
  RLO_TRY(rlo__planning_begin(request, &p));
  rlo_status status = RLO_OK;
  if (!rlo_problem_is_empty(request->problem)) {
    status = list_candidates(&list);
  }
  *out_count = status == RLO_OK ? list.count : 0;
  rlo__planning_end(&p);
  return status;
}
