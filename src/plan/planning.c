/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planning.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/sentence.h"
#include "base/status.h"
#include "ir/problem.h"
#include "ir/rewrite.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/geometry.h"

/** Alignment beyond the widest unit is of no use. */
#define MAX_UNIT_BYTES (RLO_MAX_UNIT_BITS / 8)

/** One day. */
#define MAX_MEASURE_SECONDS 86400.0

/* ---------------------------------------------------------------- the table */

const rlo__family *const rlo__families[] = {
#define ROW(NAME) &rlo__family_##NAME,
    RLO__FAMILIES(ROW)
#undef ROW
};

const int32_t rlo__num_families = (int32_t)(sizeof rlo__families / sizeof rlo__families[0]);

const rlo__family *rlo__family_find(rlo_device_class device_class, const char *name) {
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    if (rlo__families[n]->device_class == device_class &&
        strcmp(rlo__families[n]->name, name) == 0) {
      return rlo__families[n];
    }
  }
  return NULL;
}

/* ----------------------------------------------------------------- requests */

const char *rlo__planning_class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "CPU" : "GPU";
}

void rlo__planning_set_schedule(rlo__planning *p, const rlo__schedule *schedule) {
  p->device = *p->whole_device;
  p->device.has_nontemporal_store &= schedule->stores != RLO__STORES_PLAIN;
  p->device.has_builtin_prefetch &= !schedule->has_no_prefetch;
  if (schedule->max_lanes > 0) {
    p->device.max_work_group_items = rlo__min(p->device.max_work_group_items, schedule->max_lanes);
  }
  p->query.device = &p->device;
  p->query.schedule = *schedule;
}

static rlo_status find_class(const rlo_device_info *device, const rlo_plan_options *options,
                             rlo_device_class *out_class) {
  rlo_device_class requested = options == NULL ? RLO_DEVICE_CLASS_AUTO : options->device_class;
  *out_class = requested == RLO_DEVICE_CLASS_AUTO ? device->device_class : requested;
  RLO_FAIL_IF(*out_class != RLO_DEVICE_CLASS_CPU && *out_class != RLO_DEVICE_CLASS_GPU,
              RLO_INVALID_ARGUMENT, "device class %d is neither %d (CPU) nor %d (GPU)",
              (int)*out_class, (int)RLO_DEVICE_CLASS_CPU, (int)RLO_DEVICE_CLASS_GPU);
  RLO_FAIL_IF(*out_class == RLO_DEVICE_CLASS_GPU && device->is_cpu_class_only, RLO_UNSUPPORTED,
              "the device's compiler dies of kernels of the GPU class, or makes wrong ones; PoCL 6 "
              "with LLVM 18 takes them if POCL_WORK_GROUP_METHOD is cbs in the environment, PoCL 5 "
              "with an older one if it is not");
  return RLO_OK;
}

static rlo_status find_family(const char *name, rlo_device_class device_class,
                              const rlo__family **out_family) {
  *out_family = rlo__family_find(device_class, name);
  if (*out_family != NULL) {
    return RLO_OK;
  }
  char names[256];
  rlo__str list = rlo__str_over(names, sizeof names);
  rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    if (rlo__families[n]->device_class == device_class) {
      rlo__nearest_try(&nearest, rlo__families[n]->name);
      rlo__str_printf(&list, "%s%s", list.length == 0 ? "" : ", ", rlo__families[n]->name);
    }
  }
  return RLO_FAIL(RLO_NOT_FOUND, "no kernel family of class %s is called \"%s\"; there are %s%s",
                  rlo__planning_class_name(device_class), name, rlo__str_text(&list), nearest.hint);
}

static rlo_status find_schedule(const char *name, const rlo__schedule **out_schedule) {
  *out_schedule = rlo__schedule_find(name);
  if (*out_schedule != NULL) {
    return RLO_OK;
  }
  char names[400];
  rlo__str list = rlo__str_over(names, sizeof names);
  rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    rlo__nearest_try(&nearest, rlo__schedules[n].name);
    rlo__str_printf(&list, "%s\"%s\"", n == 0 ? "" : ", ", rlo__schedules[n].name);
  }
  return RLO_FAIL(RLO_NOT_FOUND, "no schedule is called \"%s\"; there are %s%s", name,
                  rlo__str_text(&list), nearest.hint);
}

static rlo_status check_effort(const rlo_plan_options *options) {
  if (options == NULL) {
    return RLO_OK;
  }
  RLO_FAIL_IF(options->effort != RLO_EFFORT_ESTIMATE && options->effort != RLO_EFFORT_MEASURE,
              RLO_INVALID_ARGUMENT, "effort %d is neither %d (estimate) nor %d (measure)",
              (int)options->effort, (int)RLO_EFFORT_ESTIMATE, (int)RLO_EFFORT_MEASURE);
  /* Written so that NaN fails. */
  RLO_FAIL_IF(!(options->measure_seconds >= 0.0 && options->measure_seconds <= MAX_MEASURE_SECONDS),
              RLO_INVALID_ARGUMENT, "%g seconds to measure are not within 0 and %g",
              options->measure_seconds, MAX_MEASURE_SECONDS);
  return RLO_OK;
}

rlo_status rlo__plan_options_read(const rlo_plan_options **options, rlo_plan_options *out) {
  *out = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("plan options", "RLO_PLAN_OPTIONS_INIT", *options, out, sizeof *out));
  RLO_FAIL_IF(out->max_scratch_bytes < 0, RLO_INVALID_ARGUMENT,
              "max_scratch_bytes is %lld, below 0", (long long)out->max_scratch_bytes);
  if (*options != NULL) {
    out->struct_size = sizeof *out;
    *options = out;
  }
  return RLO_OK;
}

rlo_status rlo__plan_rows_find(const rlo_device_info *device, const rlo_plan_options *options,
                               rlo__plan_rows *out_rows) {
  *out_rows = (rlo__plan_rows){.family = NULL};
  RLO_TRY(find_class(device, options, &out_rows->device_class));
  RLO_TRY(check_effort(options));
  if (options != NULL && options->schedule != NULL) {
    RLO_TRY(find_schedule(options->schedule, &out_rows->schedule));
  }
  return options == NULL || options->family == NULL
             ? RLO_OK
             : find_family(options->family, out_rows->device_class, &out_rows->family);
}

bool rlo__planning_is_whole_unit(int32_t unit_bits) {
  return unit_bits % 8 == 0 && (unit_bits & (unit_bits - 1)) == 0;
}

/* The alignment to plan with: the requested one, or the device's own. */
static rlo_status find_alignment(int32_t unit_bits, const rlo_device_info *device, const char *side,
                                 int64_t asked_bytes, int64_t *out_bytes) {
  int64_t unit_bytes = rlo__planning_is_whole_unit(unit_bits) ? unit_bits / 8 : 1;
  int64_t bytes = asked_bytes;
  if (bytes == 0) {
    int64_t base = device->base_alignment_bytes;
    bytes = base <= 0 ? 1 : rlo__alignment_after(base, 0, INT64_C(1) << 62);
    bytes = rlo__max(bytes, unit_bytes);
  }
  RLO_FAIL_IF(bytes < 0 || (bytes & (bytes - 1)) != 0, RLO_INVALID_ARGUMENT,
              "the %s alignment of %lld bytes is no power of two", side, (long long)bytes);
  RLO_FAIL_IF(bytes < unit_bytes, RLO_INVALID_ARGUMENT,
              "the %s alignment of %lld bytes is below the unit of %lld", side, (long long)bytes,
              (long long)unit_bytes);
  *out_bytes = bytes;
  return RLO_OK;
}

/* Cuts units that are no power of two of bits, such as 24, into parts that are
 * and have at most `max_bits`, unless the fill differs from part to part. */
static rlo_status cut_units(rlo_problem *problem, int32_t max_bits, bool *out_is_cut) {
  int32_t part = (int32_t)rlo__min(problem->unit_bits & -problem->unit_bits, max_bits);
  *out_is_cut = part != problem->unit_bits && !rlo_problem_is_empty(problem) &&
                problem->num_axes < RLO_MAX_AXES && rlo__fill_repeats(problem, part);
  return *out_is_cut ? rlo__narrow(problem, part) : RLO_OK;
}

static rlo_status make_canonical(rlo_problem *problem, const rlo__family_query *query) {
  int64_t bytes =
      rlo__min(rlo__min(query->src_alignment_bytes, query->dst_alignment_bytes), MAX_UNIT_BYTES);
  int32_t bits = (int32_t)(8 * bytes);
  RLO_TRY(rlo__problem_canonicalize_in_place(problem, bits));
  if (problem->update == RLO_UPDATE_STORE) {
    bool is_cut = false;
    RLO_TRY(cut_units(problem, bits, &is_cut));
    return is_cut ? rlo__problem_canonicalize_in_place(problem, bits) : RLO_OK;
  }
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__arith_check(problem, query->device));
  return rlo__arith_split_parts(problem);
}

static rlo_status check_unit(int32_t unit_bits) {
  RLO_FAIL_IF(!rlo__planning_is_whole_unit(unit_bits), RLO_UNSUPPORTED,
              "the problem computes with units of %d bits; devices compute with 8, 16, 32, 64 and "
              "128; the host reference runs it",
              unit_bits);
  return RLO_OK;
}

rlo_status rlo__planning_check_units(const rlo__planning *p) {
  const rlo_problem *problem = p->query.problem;
  if (problem->update == RLO_UPDATE_COMBINE) {
    RLO_TRY(check_unit(problem->unit_bits));
    RLO_TRY(check_unit(rlo_problem_dst_unit_bits(problem)));
  }
  RLO_FAIL_IF(rlo__geometry_overflows(problem), RLO_OVERFLOW,
              "a position of the problem, counted in bytes, exceeds 64 bits");
  return RLO_OK;
}

/* Prepares what families see of packed elements that join rows. */
static rlo_status join_rows(rlo__planning *p) {
  const rlo_problem *problem = p->query.problem;
  if (problem->unit_bits >= 8 || problem->update != RLO_UPDATE_STORE) {
    return RLO_OK;
  }
  rlo_problem *bytes = rlo__alloc(sizeof *bytes);
  RLO_TRY_MEMORY(bytes);
  rlo__str why = rlo__str_over(p->joined_reason, sizeof p->joined_reason);
  bool takes_odd = p->rows.device_class == RLO_DEVICE_CLASS_CPU;
  if (rlo__join_rows(problem, takes_odd, bytes, &p->joined, &why)) {
    const rlo__family_query query = {.problem = bytes};
    p->joined_problem = bytes;
    p->joined_geometry = rlo__geometry_of(&query);
    if (p->joined.elements != NULL) { /* its grid counts elements */
      p->joined_geometry.fits_32_bits = p->geometry.fits_32_bits;
    }
  } else {
    rlo__free(bytes);
  }
  return RLO_OK;
}

void rlo__planning_end(rlo__planning *p) {
  rlo__free(p->joined_problem);
}

rlo_status rlo__planning_begin(const rlo__plan_request *request, rlo__planning *out) {
  rlo_problem *problem = request->problem;
  const rlo_device_info *device = request->device;
  *out = (rlo__planning){.query = {.problem = problem}, .whole_device = device};
  rlo__plan_rows *rows = &out->rows;
  RLO_TRY(rlo__plan_rows_find(device, request->options, rows));
  out->query.device_class = rows->device_class;
  rlo__planning_set_schedule(out, rows->schedule != NULL ? rows->schedule : &rlo__schedules[0]);
  RLO_TRY(find_alignment(problem->unit_bits, device, "source", request->src_alignment_bytes,
                         &out->query.src_alignment_bytes));
  RLO_TRY(find_alignment(rlo_problem_dst_unit_bits(problem), device, "destination",
                         request->dst_alignment_bytes, &out->query.dst_alignment_bytes));
  RLO_TRY(make_canonical(problem, &out->query));
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  out->geometry = rlo__geometry_of(&out->query);
  out->query.geometry = &out->geometry;
  return join_rows(out);
}

/* The query of a family: the problem, or, for a family that joins rows, the
 * problem in bytes. */
static rlo__family_query query_for(const rlo__planning *p, const rlo__family *family) {
  rlo__family_query query = p->query;
  if (p->joined_problem != NULL && (family->traits & RLO__FAMILY_JOINS) != 0) {
    query.problem = p->joined_problem;
    query.geometry = &p->joined_geometry;
    query.joined = p->joined;
    /* Joined rows begin at multiples of this. */
    query.src_alignment_bytes = rlo__alignment_after(
        query.src_alignment_bytes, query.joined.step_bytes, query.src_alignment_bytes);
  }
  return query;
}

/* Tells if a family takes units of the problem's size. */
static bool takes_units(const rlo__planning *p, const rlo__family *family, rlo__str *why) {
  int32_t bits = p->query.problem->unit_bits;
  bool joins = (family->traits & RLO__FAMILY_JOINS) != 0;
  if (rlo__planning_is_whole_unit(bits) || (family->traits & RLO__FAMILY_BITS) != 0 ||
      (joins && p->joined_problem != NULL)) {
    return true;
  }
  return joins && bits < 8 ? RLO__REFUSE(why, "%s", p->joined_reason)
                           : RLO__REFUSE(why, "units of %d bits, which the kernel cannot", bits);
}

/* Tells if a family is one for such problems. */
static bool is_eligible(const rlo__planning *p, const rlo__family *family, rlo__str *why) {
  if (rlo_problem_loads(p->query.problem) && (family->traits & RLO__FAMILY_LOADS) == 0) {
    return RLO__REFUSE(why, "it reads %s, which the kernel cannot",
                       rlo__problem_operand_term(p->query.problem) >= 0 ? "an operand" : "indices");
  }
  if (p->query.problem->update == RLO_UPDATE_COMBINE &&
      (family->traits & RLO__FAMILY_COMPUTES) == 0) {
    return RLO__REFUSE(why, "it computes, and the kernel moves bits");
  }
  return takes_units(p, family, why);
}

rlo_status rlo__planning_emit(const rlo__planning *p, const rlo__family *family,
                              rlo__launch *launch) {
  rlo__family_query query = query_for(p, family);
  RLO_TRY(family->emit(&query, launch));
  return rlo__launch_define_reach(query.problem, p->whole_device, launch);
}

double rlo__planning_judge(const rlo__planning *p, const rlo__family *family, double to_beat,
                           rlo__str *why) {
  if (!is_eligible(p, family, why)) {
    return RLO__REFUSED;
  }
  rlo__family_query query = query_for(p, family);
  query.to_beat = to_beat;
  return family->judge(&query, why);
}

bool rlo__planning_takes(const rlo__planning *p, const rlo__family *family) {
  return rlo__planning_judge(p, family, 1.0, NULL) >= 0.0;
}

double rlo__planning_ask(const rlo__planning *p, const rlo__family *family,
                         rlo_plan_candidate *out) {
  *out = (rlo_plan_candidate){.family = family->name};
  rlo__str why = rlo__str_over(out->reason, sizeof out->reason);
  double fraction = rlo__planning_judge(p, family, 0.0, &why);
  out->is_applicable = fraction >= 0.0;
  out->predicted_fraction = out->is_applicable ? fraction : 0.0;
  return fraction;
}
