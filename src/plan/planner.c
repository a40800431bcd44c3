/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "plan/arith.h"
#include "plan/geometry.h"

/* How far below the best expectation a family is still worth timing. */
#define MIN_SHARE_OF_BEST 0.3

/** A request once its options have been read. Not to be copied: the query
 *  points to the device. */
typedef struct planning {
  /** What the families see; its device is the one below. */
  rlo__family_query query;
  rlo_device_class device_class;
  /** The family and the schedule that the options name, or NULL. */
  const rlo__family *forced;
  const rlo__schedule *forced_schedule;
  /** The device of the request, and what the schedule leaves of it. */
  const rlo_device_info *whole_device;
  rlo_device_info device;
} planning;

/* ------------------------------------------------------------------- request
 */

/** Alignment beyond the widest unit is of no use. */
#define MAX_UNIT_BYTES (RLO_MAX_UNIT_BITS / 8)

/** One day. */
#define MAX_MEASURE_SECONDS 86400.0

static const char *class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "CPU" : "GPU";
}

/* Plans by this schedule from now on. Device features that it disables are
 * cleared. */
static void set_schedule(planning *p, const rlo__schedule *schedule) {
  p->device = *p->whole_device;
  p->device.has_nontemporal_store &= schedule->stores != RLO__STORES_PLAIN;
  p->device.has_builtin_prefetch &= !schedule->has_no_prefetch;
  p->query.device = &p->device;
  p->query.schedule = *schedule;
}

static rlo_status find_class(const rlo_device_info *device,
                             const rlo_plan_options *options,
                             rlo_device_class *out_class) {
  rlo_device_class requested =
      options == NULL ? RLO_DEVICE_CLASS_AUTO : options->device_class;
  *out_class =
      requested == RLO_DEVICE_CLASS_AUTO ? device->device_class : requested;
  if (*out_class != RLO_DEVICE_CLASS_CPU &&
      *out_class != RLO_DEVICE_CLASS_GPU) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "device class %d is neither %d (CPU) nor %d (GPU)",
                    (int)*out_class,
                    (int)RLO_DEVICE_CLASS_CPU,
                    (int)RLO_DEVICE_CLASS_GPU);
  }
  return RLO_OK;
}

static rlo_status find_forced(const char *name,
                              rlo_device_class device_class,
                              const rlo__family **out_family) {
  char names[256];
  rlo__str list = rlo__str_over(names, sizeof names);
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != device_class) {
      continue;
    }
    if (strcmp(family->name, name) == 0) {
      *out_family = family;
      return RLO_OK;
    }
    rlo__str_printf(&list, "%s%s", list.length == 0 ? "" : ", ", family->name);
  }
  return RLO_FAIL(RLO_NOT_FOUND,
                  "no kernel family of class %s is called \"%s\"; there are %s",
                  class_name(device_class),
                  name,
                  rlo__str_text(&list));
}

static rlo_status find_forced_schedule(const char *name,
                                       const rlo__schedule **out_schedule) {
  *out_schedule = rlo__schedule_find(name);
  if (*out_schedule != NULL) {
    return RLO_OK;
  }
  char names[400];
  rlo__str list = rlo__str_over(names, sizeof names);
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    rlo__str_printf(
        &list, "%s\"%s\"", n == 0 ? "" : ", ", rlo__schedules[n].name);
  }
  return RLO_FAIL(RLO_NOT_FOUND,
                  "no schedule is called \"%s\"; there are %s",
                  name,
                  rlo__str_text(&list));
}

static rlo_status check_effort(const rlo_plan_options *options) {
  if (options == NULL) {
    return RLO_OK;
  }
  if (options->effort != RLO_EFFORT_ESTIMATE &&
      options->effort != RLO_EFFORT_MEASURE) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "effort %d is neither %d (estimate) nor %d (measure)",
                    (int)options->effort,
                    (int)RLO_EFFORT_ESTIMATE,
                    (int)RLO_EFFORT_MEASURE);
  }
  /* Written so that NaN fails. */
  if (!(options->measure_seconds >= 0.0 &&
        options->measure_seconds <= MAX_MEASURE_SECONDS)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%g seconds to measure are not within 0 and %g",
                    options->measure_seconds,
                    MAX_MEASURE_SECONDS);
  }
  return RLO_OK;
}

static rlo_status read_options(const rlo_device_info *device,
                               const rlo_plan_options *options,
                               planning *out) {
  if (options != NULL) {
    RLO_TRY(rlo__options_check(
        "plan options", "RLO_PLAN_OPTIONS_INIT", options, sizeof *options));
  }
  RLO_TRY(find_class(device, options, &out->device_class));
  RLO_TRY(check_effort(options));
  if (options != NULL && options->schedule != NULL) {
    RLO_TRY(find_forced_schedule(options->schedule, &out->forced_schedule));
  }
  if (options == NULL || options->family == NULL) {
    return RLO_OK;
  }
  return find_forced(options->family, out->device_class, &out->forced);
}

/* The alignment to plan with: the requested one, or the device's own. */
static rlo_status find_alignment(int32_t unit_bits,
                                 const rlo_device_info *device,
                                 const char *side,
                                 int64_t asked_bytes,
                                 int64_t *out_bytes) {
  int64_t unit_bytes = (unit_bits + 7) / 8;
  int64_t bytes = asked_bytes;
  if (bytes == 0) {
    int64_t base = device->base_alignment_bytes;
    bytes = base <= 0 ? 1 : rlo__alignment_after(base, 0, INT64_C(1) << 62);
    bytes = rlo__max(bytes, unit_bytes);
  }
  if (bytes < 0 || (bytes & (bytes - 1)) != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s alignment of %lld bytes is no power of two",
                    side,
                    (long long)bytes);
  }
  /* Units whose size is no power of two are refused by check_unit. */
  if (bytes < unit_bytes && (unit_bytes & (unit_bytes - 1)) == 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s alignment of %lld bytes is below the unit of %lld",
                    side,
                    (long long)bytes,
                    (long long)unit_bytes);
  }
  *out_bytes = bytes;
  return RLO_OK;
}

static rlo_status make_canonical(rlo_problem *problem,
                                 const rlo__family_query *query) {
  int64_t bytes =
      rlo__min(rlo__min(query->src_alignment_bytes, query->dst_alignment_bytes),
               MAX_UNIT_BYTES);
  RLO_TRY(rlo_problem_canonicalize(problem, (int32_t)(8 * bytes), NULL, NULL));
  if (problem->update == RLO_UPDATE_STORE || rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__arith_check(problem, query->device));
  return rlo__arith_split_parts(problem);
}

static rlo_status check_unit(int32_t unit_bits) {
  switch (unit_bits) {
    case 8:
    case 16:
    case 32:
    case 64:
    case 128:
      return RLO_OK;
    default:
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "the problem moves units of %d bits; devices move 8, 16, "
                      "32, 64 and 128; the host reference runs it",
                      unit_bits);
  }
}

/* Whether devices move units of these sizes, and reach them. */
static rlo_status check_units(const planning *p) {
  const rlo_problem *problem = p->query.problem;
  RLO_TRY(check_unit(problem->unit_bits));
  RLO_TRY(check_unit(rlo_problem_dst_unit_bits(problem)));
  if (rlo__geometry_overflows(problem)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "a position of the problem, counted in bytes, leaves 64 "
                    "bits");
  }
  return RLO_OK;
}

/* Reads a request and makes its problem canonical. */
static rlo_status begin(const rlo__plan_request *request, planning *out) {
  rlo_problem *problem = request->problem;
  const rlo_device_info *device = request->device;
  *out = (planning){.query = {.problem = problem}, .whole_device = device};
  RLO_TRY(read_options(device, request->options, out));
  set_schedule(
      out,
      out->forced_schedule != NULL ? out->forced_schedule : &rlo__schedules[0]);
  RLO_TRY(find_alignment(problem->unit_bits,
                         device,
                         "source",
                         request->src_alignment_bytes,
                         &out->query.src_alignment_bytes));
  RLO_TRY(find_alignment(rlo_problem_dst_unit_bits(problem),
                         device,
                         "destination",
                         request->dst_alignment_bytes,
                         &out->query.dst_alignment_bytes));
  return make_canonical(problem, &out->query);
}

/* -------------------------------------------------------------------- choose
 */

/* Whether a family can run a problem. If not, `why` takes the reason. */
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

/* Asks one row of the table. */
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

/* Compiling a program for one problem takes longer than moving this much with
 * any family whose programs serve many problems. */
static bool is_worth_compiling(const rlo__family *family, int64_t box_bytes) {
  return (family->traits & RLO__FAMILY_SPECIALIZES) == 0 ||
         box_bytes >= INT64_C(1) << 20;
}

static rlo_status ask_all(const planning *p, rlo__choice *choice) {
  choice->num_candidates = 0;
  const rlo__family *best = NULL;
  bool best_is_worth = false;
  double best_fraction = 0.0;
  int64_t box_bytes = rlo__geometry_of(&p->query).box_bytes;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != p->device_class) {
      continue;
    }
    if (choice->num_candidates == RLO_MAX_FAMILIES) {
      return RLO_FAIL(RLO_INTERNAL,
                      "class %s has more than %d kernel families",
                      class_name(p->device_class),
                      RLO_MAX_FAMILIES);
    }
    rlo_plan_candidate *c = &choice->candidates[choice->num_candidates++];
    ask(family, &p->query, c);
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

static rlo_status check_forced(const planning *p, const rlo__choice *choice) {
  if (is_applicable(choice, p->forced)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "family %s refuses the problem: %s",
                  p->forced->name,
                  reason_of(choice, p->forced->name));
}

/* Clears a launch of which only the parameters are read. Its numbers, which are
 * most of its size, need no clearing: emit writes those that it counts. */
static void clear_scratch(rlo__launch *launch) {
  const size_t rest_at = offsetof(rlo__launch, src_base_bytes);
  memset(launch, 0, offsetof(rlo__launch, numbers));
  memset((char *)launch + rest_at, 0, sizeof *launch - rest_at);
}

/* Writes the parameters of each applicable family into its candidate. */
static rlo_status describe_all(const planning *p,
                               rlo__choice *choice,
                               rlo__launch *scratch) {
  rlo_plan_candidate *c = choice->candidates;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    if (family->device_class != p->device_class) {
      continue;
    }
    if (c->is_applicable) {
      clear_scratch(scratch);
      RLO_TRY(family->emit(&p->query, scratch));
      memcpy(c->reason, scratch->parameters, sizeof c->reason);
      c->reason[sizeof c->reason - 1] = '\0';
    }
    ++c;
  }
  return RLO_OK;
}

/* Chooses by wisdom, if there is some and its family takes the problem. */
static bool is_known(planning *p,
                     const rlo__wisdom *wisdom,
                     rlo__choice *choice) {
  if (wisdom == NULL || wisdom->num_entries == 0 || p->forced != NULL ||
      p->forced_schedule != NULL) {
    return false;
  }
  rlo__wisdom_key key = rlo__wisdom_key_of(&p->query, p->device_class);
  const rlo__wisdom_entry *entry = rlo__wisdom_find(wisdom, &key);
  if (entry == NULL || entry->family->device_class != p->device_class) {
    return false;
  }
  rlo__str unused = rlo__str_over(NULL, 0);
  set_schedule(p, entry->schedule);
  if (!takes(entry->family, &p->query, &unused)) {
    set_schedule(p, &rlo__schedules[0]);
    return false;
  }
  choice->family = entry->family;
  choice->schedule = entry->schedule;
  choice->decision = RLO_PLAN_DECISION_WISDOM;
  choice->measured_fraction = entry->fraction;
  return true;
}

static rlo_status choose_by_expectation(const planning *p,
                                        bool is_explaining,
                                        rlo__choice *choice) {
  if (p->forced != NULL && !is_explaining) {
    choice->num_candidates = 1;
    ask(p->forced, &p->query, &choice->candidates[0]);
  } else {
    RLO_TRY(ask_all(p, choice));
  }
  if (p->forced_schedule != NULL) {
    choice->schedule = p->forced_schedule;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  if (p->forced != NULL) {
    RLO_TRY(check_forced(p, choice));
    choice->family = p->forced;
    choice->decision = RLO_PLAN_DECISION_FORCED;
  }
  if (choice->family == NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "every kernel family of class %s refuses the problem; "
                    "gather: %s",
                    class_name(p->device_class),
                    reason_of(choice, "gather"));
  }
  return RLO_OK;
}

/* The launch of a problem that has points. */
static rlo_status choose(planning *p,
                         const rlo__plan_request *request,
                         rlo__choice *choice,
                         rlo__launch *launch) {
  RLO_TRY(check_units(p));
  if (!is_known(p, request->wisdom, choice)) {
    RLO_TRY(choose_by_expectation(p, request->is_explaining, choice));
  } else if (request->is_explaining) {
    /* The candidates are by the families' own schedule. */
    const rlo__family *known = choice->family;
    set_schedule(p, &rlo__schedules[0]);
    RLO_TRY(ask_all(p, choice));
    choice->family = known;
  }
  if (request->is_explaining) {
    RLO_TRY(describe_all(p, choice, launch));
    set_schedule(p, choice->schedule);
  }
  memset(launch, 0, sizeof *launch);
  return choice->family->emit(&p->query, launch);
}

rlo_status rlo__planner_choose(const rlo__plan_request *request,
                               rlo__choice *out_choice,
                               rlo__launch *out_launch) {
  planning p;
  RLO_TRY(begin(request, &p));
  rlo__choice choice = {
      .schedule = &rlo__schedules[0],
      .device_class = p.device_class,
      .src_alignment_bytes = p.query.src_alignment_bytes,
      .dst_alignment_bytes = p.query.dst_alignment_bytes,
  };
  if (!rlo_problem_is_empty(p.query.problem)) {
    RLO_TRY(choose(&p, request, &choice, out_launch));
  }
  if (out_choice != NULL) {
    *out_choice = choice;
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- candidates
 */

typedef struct candidate_list {
  planning *p;
  rlo__candidate *items;
  int32_t count;
} candidate_list;

/* Adds a launch, unless the list is full, the family refuses the problem, or an
 * equal launch is listed. */
static rlo_status add_candidate(candidate_list *list,
                                const rlo__family *family,
                                const rlo__schedule *schedule) {
  if (list->count == RLO__MAX_PLAN_CANDIDATES) {
    return RLO_OK;
  }
  rlo__str unused = rlo__str_over(NULL, 0);
  set_schedule(list->p, schedule);
  if (!takes(family, &list->p->query, &unused)) {
    return RLO_OK;
  }
  rlo__candidate *added = &list->items[list->count];
  memset(&added->launch, 0, sizeof added->launch);
  RLO_TRY(family->emit(&list->p->query, &added->launch));
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
static int32_t rank_families(const planning *p,
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
    if (family->device_class != p->device_class) {
      continue;
    }
    bool is_chosen = family == choice->family;
    bool is_free = p->forced == NULL && c->is_applicable &&
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
      out_ranked[place] = family;
    }
    ++c;
  }
  return count;
}

static rlo_status list_candidates(candidate_list *list) {
  planning *p = list->p;
  rlo__choice choice = {.schedule = &rlo__schedules[0]};
  RLO_TRY(check_units(p));
  RLO_TRY(choose_by_expectation(p, true, &choice));
  const rlo__family *ranked[RLO_MAX_FAMILIES];
  int32_t num_families = rank_families(p, &choice, ranked);
  for (int32_t f = 0; f < num_families; ++f) {
    RLO_TRY(add_candidate(list, ranked[f], choice.schedule));
  }
  for (int32_t f = 0; f < num_families && p->forced_schedule == NULL; ++f) {
    for (int32_t n = 1; n < rlo__num_schedules; ++n) {
      RLO_TRY(add_candidate(list, ranked[f], &rlo__schedules[n]));
    }
  }
  return RLO_OK;
}

rlo_status rlo__planner_list_candidates(const rlo__plan_request *request,
                                        rlo__candidate *out_candidates,
                                        int32_t *out_count) {
  planning p;
  candidate_list list = {.p = &p, .items = out_candidates};
  *out_count = 0;
  RLO_TRY(begin(request, &p));
  if (!rlo_problem_is_empty(request->problem)) {
    RLO_TRY(list_candidates(&list));
  }
  *out_count = list.count;
  return RLO_OK;
}
