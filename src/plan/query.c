/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/query.h"

#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "plan/arith.h"
#include "plan/geometry.h"

/** Widest alignment that a wider unit can make use of. */
#define MAX_UNIT_BYTES (RLO_MAX_UNIT_BITS / 8)

/** A day. */
#define MAX_MEASURE_SECONDS 86400.0

const char *rlo__query_class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "CPU" : "GPU";
}

void rlo__query_set_schedule(rlo__query *query, const rlo__schedule *schedule) {
  query->device = *query->whole_device;
  query->device.has_nontemporal_store &= schedule->stores != RLO__STORES_PLAIN;
  query->device.has_builtin_prefetch &= !schedule->has_no_prefetch;
  query->query.device = &query->device;
  query->query.schedule = *schedule;
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
                  rlo__query_class_name(device_class),
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
  /* So written that no number fails it. */
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
                               rlo__query *out) {
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

/* An alignment to plan with: the caller's, or the device's own. */
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

static rlo_status make_canonical(rlo_problem *problem,
                                 const rlo__family_query *r) {
  int64_t bytes = r->src_alignment_bytes < r->dst_alignment_bytes
                      ? r->src_alignment_bytes
                      : r->dst_alignment_bytes;
  bytes = bytes < MAX_UNIT_BYTES ? bytes : MAX_UNIT_BYTES;
  RLO_TRY(rlo_problem_canonicalize(problem, (int32_t)(8 * bytes), NULL, NULL));
  if (problem->update == RLO_UPDATE_STORE || rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__arith_check(problem, r->device));
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

rlo_status rlo__query_check_unit(const rlo__query *query) {
  const rlo_problem *problem = query->query.problem;
  RLO_TRY(check_unit(problem->unit_bits));
  RLO_TRY(check_unit(rlo_problem_dst_unit_bits(problem)));
  if (rlo__geometry_overflows(problem)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "a position of the problem, counted in bytes, leaves 64 "
                    "bits");
  }
  return RLO_OK;
}

rlo_status rlo__query_begin(rlo_problem *problem,
                            const rlo_device_info *device,
                            const rlo_plan_options *options,
                            int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes,
                            rlo__query *out_query) {
  *out_query =
      (rlo__query){.query = {.problem = problem}, .whole_device = device};
  RLO_TRY(read_options(device, options, out_query));
  rlo__query_set_schedule(out_query,
                          out_query->forced_schedule != NULL
                              ? out_query->forced_schedule
                              : &rlo__schedules[0]);
  RLO_TRY(find_alignment(problem->unit_bits,
                         device,
                         "source",
                         src_alignment_bytes,
                         &out_query->query.src_alignment_bytes));
  RLO_TRY(find_alignment(rlo_problem_dst_unit_bits(problem),
                         device,
                         "destination",
                         dst_alignment_bytes,
                         &out_query->query.dst_alignment_bytes));
  return make_canonical(problem, &out_query->query);
}
