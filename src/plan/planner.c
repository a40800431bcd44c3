/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <string.h>

#include "base/status.h"
#include "plan/geometry.h"

/** Widest alignment that a wider unit can make use of. */
#define MAX_UNIT_BYTES (RLO_MAX_UNIT_BITS / 8)

/* What is asked, once the options have been read. */
typedef struct query {
  rlo_request request;
  rlo_device_class device_class;
  /** The row that the caller forces, or NULL. */
  const rlo_family *forced;
} query;

static const char *class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "CPU" : "GPU";
}

static rlo_status find_class(const rlo_device_info *device,
                             const rlo_plan_options *options,
                             rlo_device_class *out_class) {
  rlo_device_class asked =
      options == NULL ? RLO_DEVICE_CLASS_AUTO : options->device_class;
  *out_class = asked == RLO_DEVICE_CLASS_AUTO ? device->device_class : asked;
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
                              const rlo_family **out_family) {
  char names[256];
  rlo__str list = rlo__str_over(names, sizeof names);
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo_family *family = rlo__families[n];
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

static rlo_status read_options(const rlo_device_info *device,
                               const rlo_plan_options *options,
                               query *out) {
  if (options != NULL && options->struct_size != sizeof *options) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "options->struct_size is %zu, not %zu; begin with "
                    "RLO_PLAN_OPTIONS_INIT",
                    options->struct_size,
                    sizeof *options);
  }
  RLO_TRY(find_class(device, options, &out->device_class));
  if (options == NULL || options->family == NULL) {
    return RLO_OK;
  }
  return find_forced(options->family, out->device_class, &out->forced);
}

/* An alignment to plan with: the caller's, or the device's own. */
static rlo_status find_alignment(const rlo_problem *problem,
                                 const rlo_device_info *device,
                                 const char *side,
                                 int64_t asked_bytes,
                                 int64_t *out_bytes) {
  int64_t unit_bytes = (problem->unit_bits + 7) / 8;
  int64_t bytes = asked_bytes;
  if (bytes == 0) {
    int64_t base = device->base_alignment_bytes;
    bytes = base <= 0 ? 1 : rlo__alignment_after(base, 0, INT64_C(1) << 62);
    bytes = bytes < unit_bytes ? unit_bytes : bytes;
  }
  if (bytes < 0 || (bytes & (bytes - 1)) != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s alignment of %lld bytes is no power of two",
                    side,
                    (long long)bytes);
  }
  /* Units of odd sizes come to their own refusal. */
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

static rlo_status make_canonical(rlo_problem *problem, const rlo_request *r) {
  int64_t bytes = r->src_alignment_bytes < r->dst_alignment_bytes
                      ? r->src_alignment_bytes
                      : r->dst_alignment_bytes;
  bytes = bytes < MAX_UNIT_BYTES ? bytes : MAX_UNIT_BYTES;
  return rlo_problem_canonicalize(problem, (int32_t)(8 * bytes), NULL, NULL);
}

static rlo_status check_unit(const rlo_problem *problem) {
  if (problem->update != RLO_UPDATE_STORE) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the problem computes; devices store; the host "
                    "reference runs it");
  }
  switch (problem->unit_bits) {
    case 8:
    case 16:
    case 32:
    case 64:
    case 128:
      break;
    default:
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "the problem moves units of %d bits; devices move 8, 16, "
                      "32, 64 and 128; the host reference runs it",
                      problem->unit_bits);
  }
  if (rlo__geometry_overflows(problem)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "a position of the problem, counted in bytes, leaves 64 "
                    "bits");
  }
  return RLO_OK;
}

/* What one row of the table says. */
static void ask(const rlo_family *family,
                const rlo_request *request,
                rlo_plan_candidate *out) {
  memset(out, 0, sizeof *out);
  out->family = family->name;
  rlo__str why = rlo__str_over(out->reason, sizeof out->reason);
  out->is_applicable = family->applicable(request, &why);
  if (out->is_applicable) {
    out->predicted_fraction = family->predict(request);
  }
}

/* Gather compiles a program for each problem, which takes longer than moving
 * this much by any family whose program may be there already. */
static bool is_worth_compiling(const rlo_family *family, int64_t box_bytes) {
  return strcmp(family->name, "gather") != 0 || box_bytes >= INT64_C(1) << 20;
}

static rlo_status ask_all(const query *q, rlo_choice *choice) {
  choice->num_candidates = 0;
  const rlo_family *best = NULL;
  bool best_is_worth = false;
  double best_fraction = 0.0;
  int64_t box_bytes = rlo__geometry_of(&q->request).box_bytes;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo_family *family = rlo__families[n];
    if (family->device_class != q->device_class) {
      continue;
    }
    if (choice->num_candidates == RLO_MAX_FAMILIES) {
      return RLO_FAIL(RLO_INTERNAL,
                      "class %s has more than %d kernel families",
                      class_name(q->device_class),
                      RLO_MAX_FAMILIES);
    }
    rlo_plan_candidate *c = &choice->candidates[choice->num_candidates++];
    ask(family, &q->request, c);
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

static const char *reason_of(const rlo_choice *choice, const char *family) {
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    if (strcmp(choice->candidates[n].family, family) == 0) {
      return choice->candidates[n].reason;
    }
  }
  return "";
}

static bool is_applicable(const rlo_choice *choice, const rlo_family *family) {
  for (int32_t n = 0; n < choice->num_candidates; ++n) {
    if (choice->candidates[n].family == family->name) {
      return choice->candidates[n].is_applicable;
    }
  }
  return false;
}

static rlo_status check_forced(const query *q, const rlo_choice *choice) {
  if (is_applicable(choice, q->forced)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "family %s refuses the problem: %s",
                  q->forced->name,
                  reason_of(choice, q->forced->name));
}

static void clear_launch(rlo_launch *launch) {
  memset(launch, 0, sizeof *launch);
}

/* Let each family that would do tell its parameters. */
static rlo_status describe_all(const query *q,
                               rlo_choice *choice,
                               rlo_launch *scratch) {
  rlo_plan_candidate *c = choice->candidates;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo_family *family = rlo__families[n];
    if (family->device_class != q->device_class) {
      continue;
    }
    if (c->is_applicable) {
      clear_launch(scratch);
      RLO_TRY(family->emit(&q->request, scratch));
      memcpy(c->reason, scratch->parameters, sizeof c->reason);
      c->reason[sizeof c->reason - 1] = '\0';
    }
    ++c;
  }
  return RLO_OK;
}

/* The launch of a problem that has points. */
static rlo_status choose(const query *q,
                         bool is_telling,
                         rlo_choice *choice,
                         rlo_launch *launch) {
  RLO_TRY(check_unit(q->request.problem));
  RLO_TRY(ask_all(q, choice));
  if (q->forced != NULL) {
    RLO_TRY(check_forced(q, choice));
    choice->family = q->forced;
  }
  if (choice->family == NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "every kernel family of class %s refuses the problem; "
                    "gather: %s",
                    class_name(q->device_class),
                    reason_of(choice, "gather"));
  }
  if (is_telling) {
    RLO_TRY(describe_all(q, choice, launch));
  }
  clear_launch(launch);
  return choice->family->emit(&q->request, launch);
}

rlo_status rlo__planner_choose(rlo_problem *problem,
                               const rlo_device_info *device,
                               const rlo_plan_options *options,
                               int64_t src_alignment_bytes,
                               int64_t dst_alignment_bytes,
                               rlo_choice *out_choice,
                               rlo_launch *out_launch) {
  query q = {.request = {.problem = problem, .device = device}};
  RLO_TRY(read_options(device, options, &q));
  RLO_TRY(find_alignment(problem,
                         device,
                         "source",
                         src_alignment_bytes,
                         &q.request.src_alignment_bytes));
  RLO_TRY(find_alignment(problem,
                         device,
                         "destination",
                         dst_alignment_bytes,
                         &q.request.dst_alignment_bytes));
  RLO_TRY(make_canonical(problem, &q.request));
  rlo_choice choice = {
      .device_class = q.device_class,
      .src_alignment_bytes = q.request.src_alignment_bytes,
      .dst_alignment_bytes = q.request.dst_alignment_bytes,
  };
  if (!rlo_problem_is_empty(problem)) {
    RLO_TRY(choose(&q, out_choice != NULL, &choice, out_launch));
  }
  if (out_choice != NULL) {
    *out_choice = choice;
  }
  return RLO_OK;
}
