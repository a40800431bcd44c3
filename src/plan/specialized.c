/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/specialized.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "plan/arith.h"
#include "plan/geometry.h"

enum { CPU_MAX_LOCAL = 64, GPU_LOCAL = 256 };

static int64_t index_count(const rlo_problem *problem) {
  return problem->index_bytes / (problem->index_bits / 8);
}

bool rlo__specialized_fits_32_bits(const rlo_problem *problem) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    bool is_long = term->kind == RLO_TERM_LOAD
                       ? term->limit >= INT32_MAX || index_count(problem) > INT32_MAX
                       : term->divisor > INT32_MAX;
    if (is_long || rlo__form_magnitude(problem, &term->form) > INT32_MAX) {
      return false;
    }
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (guard->limit > INT32_MAX || rlo__form_magnitude(problem, &guard->form) > INT32_MAX) {
      return false;
    }
  }
  const int64_t limit = rlo__thresholds.plan_index32_bytes;
  const int32_t dst_bits = rlo_problem_dst_unit_bits(problem);
  return rlo__form_magnitude(problem, &problem->src) <=
             limit / rlo__ceil_div(problem->unit_bits, 8) &&
         rlo__form_magnitude(problem, &problem->dst) <= limit / rlo__ceil_div(dst_bits, 8);
}

rlo_status rlo__partition_cells(const rlo__family_query *query, int32_t num_axes,
                                int64_t cell_points, rlo__partition *out_cut) {
  const rlo_problem *problem = query->problem;
  bool is_gpu = query->device_class == RLO_DEVICE_CLASS_GPU;
  rlo__partition cut = {.local = 1};
  int32_t last = num_axes > 0 ? num_axes - 1 : 0;
  int64_t inner = num_axes > 0 ? problem->extents[last] : 1;
  const int64_t segment_points = rlo__thresholds.plan_cpu_segment_points;
  const int64_t group_points = rlo__thresholds.plan_cpu_group_points;
  int64_t limit = is_gpu ? 1 : segment_points / rlo__min(cell_points, segment_points);
  cut.segment = rlo__min(inner, limit);
  cut.row_segments = rlo__ceil_div(inner, cut.segment);
  cut.segments = cut.row_segments;
  RLO_TRY(rlo__geometry_count_points(problem, 0, last, &cut.segments));
  int64_t points = cut.segment * rlo__min(cell_points, group_points);
  int64_t max = rlo__min(query->device->max_work_group_items, is_gpu ? GPU_LOCAL : CPU_MAX_LOCAL);
  while (cut.local * 2 <= max && (is_gpu || cut.local * points < group_points)) {
    cut.local *= 2;
  }
  cut.fits_32_bits =
      cut.segments <= INT32_MAX - segment_points && cut.row_segments * cut.segment <= INT32_MAX;
  *out_cut = cut;
  return RLO_OK;
}

rlo_status rlo__partition_emit(const rlo__partition *cut, int64_t pieces, rlo__launch *launch) {
  int64_t groups = rlo__min(rlo__ceil_div(cut->segments, cut->local * pieces),
                            rlo__thresholds.plan_work_items / cut->local);
  const rlo__constant constants[] = {{"RLO_SEGMENT", cut->segment},
                                     {"RLO_ROW_SEGMENTS", cut->row_segments},
                                     {"RLO_SEGMENTS", cut->segments},
                                     {"RLO_LOOP", groups * cut->local * pieces < cut->segments},
                                     {0}};
  rlo__launch_set_groups(launch, (size_t)groups, cut->local);
  return rlo__launch_define_all(launch, constants);
}

/* The forms of a problem, concatenated. */
typedef struct list {
  int32_t count;
  int64_t values[RLO__LAUNCH_MAX_NUMBERS];
} list;

static void put(list *to, int64_t value) {
  assert(to->count < RLO__LAUNCH_MAX_NUMBERS);
  to->values[to->count++] = value;
}

/* A problem without axes is run with one axis of extent 1. */
static void put_form(list *to, const rlo_problem *problem, const rlo_form *f) {
  put(to, f->base);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    put(to, f->axis[a]);
  }
  if (problem->num_axes == 0) {
    put(to, 0);
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    put(to, f->term[t]);
  }
}

static rlo_status define_list(rlo__launch *launch, const char *name, list *values) {
  rlo_status status = rlo__launch_define_list(launch, name, values->values, values->count);
  values->count = 0;
  return status;
}

static rlo_status define_terms(const rlo_problem *problem, list *values, rlo__launch *launch) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    put(values, term->kind == RLO_TERM_LOAD ? -1 - term->limit : term->divisor);
    put_form(values, problem, &term->form);
  }
  if (problem->num_terms > 0) {
    RLO_TRY(define_list(launch, "RLO_TERMS", values));
  }
  if (!rlo_problem_loads(problem)) {
    return RLO_OK;
  }
  const rlo__constant constants[] = {
      {"RLO_INDEX_BITS", problem->index_bits}, {"RLO_INDEX_COUNT", index_count(problem)}, {0}};
  return rlo__launch_define_all(launch, constants);
}

static rlo_status define_problem(const rlo_problem *problem, list *values, rlo__launch *launch) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    put(values, problem->extents[a]);
  }
  if (problem->num_axes == 0) {
    put(values, 1);
  }
  int32_t num_axes = values->count;
  RLO_TRY(define_list(launch, "RLO_EXTENTS", values));
  RLO_TRY(define_terms(problem, values, launch));
  put_form(values, problem, &problem->src);
  RLO_TRY(define_list(launch, "RLO_SRC", values));
  put_form(values, problem, &problem->dst);
  RLO_TRY(define_list(launch, "RLO_DST", values));
  const rlo_guard *guards[RLO_MAX_GUARDS];
  int32_t pad_guards = 0;
  rlo__geometry_list_guards(problem, guards);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    pad_guards += guards[g]->kind == RLO_GUARD_PAD;
    put(values, guards[g]->limit);
    put_form(values, problem, &guards[g]->form);
  }
  if (problem->num_guards > 0) {
    RLO_TRY(define_list(launch, "RLO_GUARD_FORMS", values));
  }
  const rlo__constant constants[] = {{"RLO_NUM_AXES", num_axes},
                                     {"RLO_NUM_TERMS", problem->num_terms},
                                     {"RLO_PAD_GUARDS", pad_guards},
                                     {"RLO_SKIP_GUARDS", problem->num_guards - pad_guards},
                                     {0}};
  return rlo__launch_define_all(launch, constants);
}

rlo_status rlo__specialized_define(const rlo_problem *problem, rlo__launch *launch) {
  /* Too large for small stacks. */
  list *values = rlo__alloc_unset(sizeof *values);
  RLO_TRY_MEMORY(values);
  values->count = 0;
  rlo_status status = define_problem(problem, values, launch);
  rlo__free(values);
  return status;
}

rlo_status rlo__specialized_begin(const rlo_problem *problem, const char *kernel_file,
                                  rlo__launch *launch) {
  RLO_TRY(rlo__launch_begin(problem, kernel_file, RLO__LAUNCH_FILL, launch));
  if (!rlo_problem_loads(problem)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_INDEX, NULL, 0));
  return rlo__launch_argument(launch, RLO__ARGUMENT_INDEX_OFFSET, NULL, 0);
}

rlo_status rlo__specialized_emit(const rlo__family_query *query, const char *kernel_file,
                                 const rlo__constant *constants, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  RLO_TRY(rlo__specialized_begin(problem, kernel_file, launch));
  RLO_TRY(rlo__specialized_define(problem, launch));
  RLO_TRY(rlo__launch_define_all(launch, constants));
  if (problem->update != RLO_UPDATE_COMBINE) {
    return RLO_OK;
  }
  RLO_TRY(rlo__arith_begin(query, launch));
  RLO_TRY(rlo__arith_define_ends(problem, launch));
  return rlo__arith_add_numbers(problem, launch);
}
