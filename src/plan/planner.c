/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "plan/geometry.h"
#include "plan/query.h"

/* How far below the best expectation a family is still worth timing. */
#define MIN_SHARE_OF_BEST 0.3

/* Whether a family can run what is asked; if not, why. */
static bool takes(const rlo__family *family,
                  const rlo__family_query *query,
                  rlo__str *why) {
  if (rlo_problem_loads(query->problem) &&
      (family->traits & RLO__FAMILY_LOADS) == 0) {
    rlo__str_append(why, "it loads indices, which the kernel cannot");
    return false;
  }
  if (query->problem->update == RLO_UPDATE_COMBINE &&
      (family->traits & RLO__FAMILY_COMPUTES) == 0) {
    rlo__str_append(why, "it computes, and the kernel moves bits");
    return false;
  }
  return family->applicable(query, why);
}

/* What one row of the table says. */
static void ask(const rlo__family *family,
                const rlo__family_query *query,
                rlo_plan_candidate *out) {
  memset(out, 0, sizeof *out);
  out->family = family->name;
  rlo__str why = rlo__str_over(out->reason, sizeof out->reason);
  out->is_applicable = takes(family, query, &why);
  if (out->is_applicable) {
    out->predicted_fraction = family->predict(query);
  }
}

/* Compiling a program for one problem takes longer than moving this much by any
 * family whose program may be there already. */
static bool is_worth_compiling(const rlo__family *family, int64_t box_bytes) {
  return (family->traits & RLO__FAMILY_SPECIALIZES) == 0 ||
         box_bytes >= INT64_C(1) << 20;
}

static rlo_status ask_all(const rlo__query *q, rlo__choice *choice) {
  choice->num_candidates = 0;
  const rlo__family *best = NULL;
  bool best_is_worth = false;
  double best_fraction = 0.0;
  int64_t box_bytes = rlo__geometry_of(&q->query).box_bytes;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != q->device_class) {
      continue;
    }
    if (choice->num_candidates == RLO_MAX_FAMILIES) {
      return RLO_FAIL(RLO_INTERNAL,
                      "class %s has more than %d kernel families",
                      rlo__query_class_name(q->device_class),
                      RLO_MAX_FAMILIES);
    }
    rlo_plan_candidate *c = &choice->candidates[choice->num_candidates++];
    ask(family, &q->query, c);
    bool is_worth = is_worth_compiling(family, box_bytes);
    bool is_better = is_worth == best_is_worth
                         ? c->predicted_fraction > best_fraction
                         : is_worth;
    if (c->is_applicable && (best == NULL || is_better)) {
      best = family;
      best_is_worth = is_worth;
      best_fraction = c->predicted_fraction;
    }
  }
  choice->family = best;
  return RLO_OK;
}

static const char *reason_of(const rlo__choice *choice, const char *family) {
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    if (strcmp(choice->candidates[n].family, family) == 0) {
      return choice->candidates[n].reason;
    }
  }
  return "";
}

static bool is_applicable(const rlo__choice *choice,
                          const rlo__family *family) {
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    if (choice->candidates[n].family == family->name) {
      return choice->candidates[n].is_applicable;
    }
  }
  return false;
}

static rlo_status check_forced(const rlo__query *q, const rlo__choice *choice) {
  if (is_applicable(choice, q->forced)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "family %s refuses the problem: %s",
                  q->forced->name,
                  reason_of(choice, q->forced->name));
}

/* Empty a launch that only its parameters are wanted of. The bulk of it, the
 * numbers, may be whatever it is: they are written when they are counted. */
static void clear_scratch(rlo__launch *launch) {
  const size_t rest_at = offsetof(rlo__launch, src_base_bytes);
  memset(launch, 0, offsetof(rlo__launch, numbers));
  memset((char *)launch + rest_at, 0, sizeof *launch - rest_at);
}

/* Let each family that would do tell its parameters. */
static rlo_status describe_all(const rlo__query *q,
                               rlo__choice *choice,
                               rlo__launch *scratch) {
  rlo_plan_candidate *c = choice->candidates;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != q->device_class) {
      continue;
    }
    if (c->is_applicable) {
      clear_scratch(scratch);
      RLO_TRY(family->emit(&q->query, scratch));
      memcpy(c->reason, scratch->parameters, sizeof c->reason);
      c->reason[sizeof c->reason - 1] = '\0';
    }
    ++c;
  }
  return RLO_OK;
}

/* What wisdom says, if the family that it names takes the problem. */
static bool is_known(rlo__query *q,
                     const rlo__wisdom *wisdom,
                     rlo__choice *choice) {
  if (wisdom == NULL || wisdom->num_entries == 0 || q->forced != NULL ||
      q->forced_schedule != NULL) {
    return false;
  }
  rlo__wisdom_key key = rlo__wisdom_key_of(&q->query, q->device_class);
  const rlo__wisdom_entry *entry = rlo__wisdom_find(wisdom, &key);
  if (entry == NULL || entry->family->device_class != q->device_class) {
    return false;
  }
  rlo__str unused = rlo__str_over(NULL, 0);
  rlo__query_set_schedule(q, entry->schedule);
  if (!takes(entry->family, &q->query, &unused)) {
    rlo__query_set_schedule(q, &rlo__schedules[0]);
    return false;
  }
  choice->family = entry->family;
  choice->schedule = entry->schedule;
  choice->decision = RLO_PLAN_DECISION_WISDOM;
  choice->measured_fraction = entry->fraction;
  return true;
}

static rlo_status choose_by_expectation(const rlo__query *q,
                                        bool is_telling,
                                        rlo__choice *choice) {
  if (q->forced != NULL && !is_telling) {
    choice->num_candidates = 1;
    ask(q->forced, &q->query, &choice->candidates[0]);
  } else {
    RLO_TRY(ask_all(q, choice));
  }
  if (q->forced_schedule != NULL) {
    choice->schedule = q->forced_schedule;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  if (q->forced != NULL) {
    RLO_TRY(check_forced(q, choice));
    choice->family = q->forced;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  if (choice->family == NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "every kernel family of class %s refuses the problem; "
                    "gather: %s",
                    rlo__query_class_name(q->device_class),
                    reason_of(choice, "gather"));
  }
  return RLO_OK;
}

/* The launch of a problem that has points. */
static rlo_status choose(rlo__query *q,
                         const rlo__wisdom *wisdom,
                         bool is_telling,
                         rlo__choice *choice,
                         rlo__launch *launch) {
  RLO_TRY(rlo__query_check_unit(q));
  if (!is_known(q, wisdom, choice)) {
    RLO_TRY(choose_by_expectation(q, is_telling, choice));
  } else if (is_telling) {
    /* What the families would do by themselves. */
    const rlo__family *known = choice->family;
    rlo__query_set_schedule(q, &rlo__schedules[0]);
    RLO_TRY(ask_all(q, choice));
    choice->family = known;
  }
  if (is_telling) {
    RLO_TRY(describe_all(q, choice, launch));
    rlo__query_set_schedule(q, choice->schedule);
  }
  memset(launch, 0, sizeof *launch);
  return choice->family->emit(&q->query, launch);
}

/* `out_choice` may be NULL. */
static rlo_status choose_for(rlo__query *q,
                             const rlo__wisdom *wisdom,
                             bool is_telling,
                             rlo__choice *out_choice,
                             rlo__launch *out_launch) {
  rlo__choice choice = {
      .schedule = &rlo__schedules[0],
      .device_class = q->device_class,
      .src_alignment_bytes = q->query.src_alignment_bytes,
      .dst_alignment_bytes = q->query.dst_alignment_bytes,
  };
  if (!rlo_problem_is_empty(q->query.problem)) {
    RLO_TRY(choose(q, wisdom, is_telling, &choice, out_launch));
  }
  if (out_choice != NULL) {
    *out_choice = choice;
  }
  return RLO_OK;
}

rlo_status rlo__planner_choose_with(rlo_problem *problem,
                                    const rlo_device_info *device,
                                    const rlo_plan_options *options,
                                    int64_t src_alignment_bytes,
                                    int64_t dst_alignment_bytes,
                                    const rlo__wisdom *wisdom,
                                    rlo__choice *out_choice,
                                    rlo__launch *out_launch) {
  rlo__query q;
  RLO_TRY(rlo__query_begin(
      problem, device, options, src_alignment_bytes, dst_alignment_bytes, &q));
  return choose_for(&q, wisdom, false, out_choice, out_launch);
}

rlo_status rlo__planner_explain(rlo_problem *problem,
                                const rlo_device_info *device,
                                const rlo_plan_options *options,
                                int64_t src_alignment_bytes,
                                int64_t dst_alignment_bytes,
                                const rlo__wisdom *wisdom,
                                rlo__choice *out_choice,
                                rlo__launch *out_launch) {
  rlo__query q;
  RLO_TRY(rlo__query_begin(
      problem, device, options, src_alignment_bytes, dst_alignment_bytes, &q));
  return choose_for(&q, wisdom, true, out_choice, out_launch);
}

rlo_status rlo__planner_choose(rlo_problem *problem,
                               const rlo_device_info *device,
                               const rlo_plan_options *options,
                               int64_t src_alignment_bytes,
                               int64_t dst_alignment_bytes,
                               rlo__choice *out_choice,
                               rlo__launch *out_launch) {
  rlo__query q;
  RLO_TRY(rlo__query_begin(
      problem, device, options, src_alignment_bytes, dst_alignment_bytes, &q));
  return choose_for(&q, NULL, out_choice != NULL, out_choice, out_launch);
}

/* ---------------------------------------------------------------- candidates
 */

typedef struct candidate_list {
  rlo__query *q;
  rlo__candidate *items;
  int32_t count;
} candidate_list;

/* Add a launch, unless there is no room, the family refuses, or the same launch
 * is listed. */
static rlo_status add_candidate(candidate_list *list,
                                const rlo__family *family,
                                const rlo__schedule *schedule) {
  if (list->count == RLO__MAX_PLAN_CANDIDATES) {
    return RLO_OK;
  }
  rlo__str unused = rlo__str_over(NULL, 0);
  rlo__query_set_schedule(list->q, schedule);
  if (!takes(family, &list->q->query, &unused)) {
    return RLO_OK;
  }
  rlo__candidate *added = &list->items[list->count];
  memset(&added->launch, 0, sizeof added->launch);
  RLO_TRY(family->emit(&list->q->query, &added->launch));
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

/* The families worth timing, the chosen one first and the others by falling
 * expectation. @return how many. */
static int32_t rank_families(const rlo__query *q,
                             const rlo__choice *choice,
                             const rlo__family *out_ranked[RLO_MAX_FAMILIES]) {
  double fractions[RLO_MAX_FAMILIES];
  double best = 0.0;
  int32_t count = 0;
  const rlo_plan_candidate *c = choice->candidates;
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    best = c[n].predicted_fraction > best ? c[n].predicted_fraction : best;
  }
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != q->device_class) {
      continue;
    }
    bool is_chosen = family == choice->family;
    bool is_free = q->forced == NULL && c->is_applicable &&
                   c->predicted_fraction >= MIN_SHARE_OF_BEST * best;
    if (is_chosen || is_free) {
      /* Above every expectation, so that it comes first. */
      double fraction = is_chosen ? 2.0 : c->predicted_fraction;
      int32_t place = count++;
      for (; place > 0 && fractions[place - 1] < fraction; --place) {
        fractions[place] = fractions[place - 1];
        out_ranked[place] = out_ranked[place - 1];
      }
      fractions[place] = fraction;
      out_ranked[place] = family;
    }
    ++c;
  }
  return count;
}

static rlo_status list_candidates(candidate_list *list) {
  rlo__query *q = list->q;
  rlo__choice choice = {.schedule = &rlo__schedules[0]};
  RLO_TRY(rlo__query_check_unit(q));
  RLO_TRY(choose_by_expectation(q, true, &choice));
  const rlo__family *ranked[RLO_MAX_FAMILIES];
  int32_t num_families = rank_families(q, &choice, ranked);
  for (int32_t f = 0; f < num_families; ++f) {
    RLO_TRY(add_candidate(list, ranked[f], choice.schedule));
  }
  for (int32_t f = 0; f < num_families && q->forced_schedule == NULL; ++f) {
    for (int32_t n = 1; n < rlo__num_schedules; ++n) {
      RLO_TRY(add_candidate(list, ranked[f], &rlo__schedules[n]));
    }
  }
  return RLO_OK;
}

rlo_status rlo__planner_list_candidates(rlo_problem *problem,
                                        const rlo_device_info *device,
                                        const rlo_plan_options *options,
                                        int64_t src_alignment_bytes,
                                        int64_t dst_alignment_bytes,
                                        rlo__candidate *out_candidates,
                                        int32_t *out_count) {
  rlo__query q;
  candidate_list list = {.q = &q, .items = out_candidates};
  *out_count = 0;
  RLO_TRY(rlo__query_begin(
      problem, device, options, src_alignment_bytes, dst_alignment_bytes, &q));
  if (!rlo_problem_is_empty(problem)) {
    RLO_TRY(list_candidates(&list));
  }
  *out_count = list.count;
  return RLO_OK;
}
