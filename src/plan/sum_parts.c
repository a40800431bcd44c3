/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sum_parts.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/arithmetic.h"
#include "ir/problem.h"
#include "plan/arith.h"
#include "plan/grid.h"

enum {
  /** Cells side by side for which a group of a CPU reads fast: fewer are short
   *  pieces of rows. */
  CPU_NEAR_CELLS = 512
};

rlo__sum_limits rlo__sum_limits_of(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU
             ? (rlo__sum_limits){.enough_groups = 4,
                                 .wanted_groups = 32,
                                 .part_bytes = rlo__thresholds.plan_cpu_sum_part_bytes,
                                 .part_blocks = 4}
             : (rlo__sum_limits){.enough_groups = 2,
                                 .wanted_groups = 4,
                                 .part_bytes = rlo__thresholds.plan_gpu_sum_part_bytes,
                                 .part_blocks = 1};
}

int64_t rlo__sum_cut_parts(const rlo__sum_cut *cut) {
  return cut->num_whole + (cut->last_points > 0);
}

/* ----------------------------------------------------------------- choosing */

/* The facts that decide about a cut, which may only be moved by whole steps: a
 * block of the only reduction axis, or a point of the outermost of several. */
typedef struct sum_facts {
  int32_t first_sum_axis;
  int64_t cells;
  /** An estimate of the groups of the kernel that takes the sum whole. */
  int64_t groups;
  int64_t step_points, step_blocks, step_bytes;
  int64_t steps;
} sum_facts;

static bool is_power_of_two(int64_t count) {
  return count > 0 && (count & (count - 1)) == 0;
}

/* Cells side by side that are one group's, of those that a sum has at least. */
static int64_t near_cells(const rlo_problem *problem, rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU
             ? CPU_NEAR_CELLS
             : rlo__max(RLO__GPU_SECTOR_BYTES * 8 / problem->unit_bits, 1);
}

/* Along rows a group may have one cell; down columns it takes cells that are
 * contiguous in the source. */
static int64_t count_groups(const rlo_problem *problem, rlo_device_class device_class,
                            const sum_facts *facts) {
  int64_t row = 1;
  if (problem->src.axis[problem->num_axes - 1] != 1) {
    for (int32_t a = 0; a < facts->first_sum_axis; ++a) {
      if (problem->src.axis[a] == 1) {
        row = rlo__max(row, problem->extents[a]);
      }
    }
  }
  return facts->cells / row * rlo__ceil_div(row, near_cells(problem, device_class));
}

/* The order of the axes of a part is that of the sum: no other reduction axis
 * may become its equal or continue it, once it is shorter. */
static bool keeps_order(const rlo_problem *problem, int32_t axis) {
  const int64_t *strides = problem->src.axis;
  return axis + 1 == problem->num_axes || (strides[axis] > 0 && strides[axis] > strides[axis + 1]);
}

static bool find_facts(const rlo_problem *problem, rlo_device_class device_class, sum_facts *out,
                       rlo__str *why) {
  const int32_t last = problem->num_axes - 1;
  const int32_t first = problem->num_axes - rlo__arith_num_sum_axes(problem);
  const int64_t extent = problem->extents[first];
  sum_facts facts = {
      .first_sum_axis = first, .cells = 1, .step_points = 1, .step_blocks = 1, .steps = extent};
  /* In points, until it is known how many bytes these have. */
  facts.step_bytes = problem->unit_bits / 8;
  if (first == last) {
    facts.step_points = RLO_SUM_BLOCK;
    facts.steps = rlo__ceil_div(extent, RLO_SUM_BLOCK);
    facts.step_bytes *= RLO_SUM_BLOCK;
  } else {
    facts.step_blocks = rlo__ceil_div(problem->extents[last], RLO_SUM_BLOCK);
  }
  bool fits =
      rlo__geometry_count_points(problem, 0, first, &facts.cells) == RLO_OK &&
      rlo__geometry_count_points(problem, first + 1, last, &facts.step_blocks) == RLO_OK &&
      rlo__geometry_count_points(problem, first + 1, last + 1, &facts.step_bytes) == RLO_OK &&
      rlo__mul(facts.step_bytes, facts.cells, &facts.step_bytes) &&
      rlo__mul(extent, facts.step_bytes, &(int64_t){0});
  if (!fits) {
    return RLO__REFUSE(why, "its points, counted in bytes, exceed 64 bits");
  }
  facts.groups = count_groups(problem, device_class, &facts);
  *out = facts;
  return true;
}

static bool is_plain_sum(const rlo_problem *problem, rlo__str *why) {
  if (problem->update != RLO_UPDATE_COMBINE || !rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums nothing");
  }
  if (problem->num_guards > 0 || problem->num_terms > 0 || problem->arithmetic.is_sequential) {
    return RLO__REFUSE(why, "it has guards, terms or an order of its own");
  }
  if (rlo_dtype_is_complex(problem->arithmetic.src_type) ||
      rlo_dtype_is_complex(problem->arithmetic.dst_type)) {
    return RLO__REFUSE(why, "it sums complex numbers");
  }
  if (problem->num_axes == RLO_MAX_AXES) {
    return RLO__REFUSE(why, "its parts would be one axis too many");
  }
  return true;
}

/* The largest power of two that is at most `count`, from 1 on. */
static int64_t power_up_to(int64_t count) {
  int64_t power = 1;
  while (power <= count / 2) {
    power *= 2;
  }
  return power;
}

/* Steps of a part, a power of two: few enough for the wanted number of groups,
 * but enough to be worth a group and to fit the scratch memory. */
static int64_t choose_steps(const sum_facts *facts, const rlo__sum_limits *limits, int64_t units,
                            int64_t max_parts) {
  int64_t wanted_parts = rlo__ceil_div(limits->wanted_groups * units, facts->groups);
  int64_t steps = power_up_to(facts->steps / wanted_parts);
  while (steps < facts->steps && (steps * facts->step_bytes < limits->part_bytes ||
                                  rlo__ceil_div(facts->steps, steps) > max_parts)) {
    steps *= 2;
  }
  while (steps * facts->step_blocks < limits->part_blocks &&
         facts->steps / (2 * steps) >= limits->enough_groups * units) {
    steps *= 2;
  }
  return steps;
}

bool rlo__sum_parts_choose(const rlo_problem *problem, const rlo_device_info *device,
                           rlo_device_class device_class, const rlo__sum_limits *limits,
                           int64_t max_scratch_bytes, rlo__sum_cut *out_cut, rlo__str *why) {
  sum_facts facts;
  if (!is_plain_sum(problem, why) || !find_facts(problem, device_class, &facts, why)) {
    return false;
  }
  const int64_t units = rlo__max(device->compute_units, 1);
  if (facts.groups >= limits->enough_groups * units) {
    return RLO__REFUSE(why, "it has cells for enough groups");
  }
  if (!is_power_of_two(facts.step_blocks)) {
    return RLO__REFUSE(
        why, "its outermost summed axis goes by %lld blocks at a time, which is no power of two",
        (long long)facts.step_blocks);
  }
  const int32_t axis = facts.first_sum_axis;
  if (!keeps_order(problem, axis)) {
    return RLO__REFUSE(why, "a part might have another order");
  }
  const int64_t extent = problem->extents[axis];
  const rlo_dtype dtype = rlo__arithmetic_sum_type(&problem->arithmetic);
  const int64_t row_bytes = facts.cells * (rlo_dtype_value_bits(dtype) / 8);
  const int64_t points =
      facts.step_points * choose_steps(&facts, limits, units, max_scratch_bytes / row_bytes);
  const rlo__sum_cut cut = {.axis = axis,
                            .num_whole = extent / points,
                            .whole_points = points,
                            .last_points = extent % points,
                            .cells = facts.cells,
                            .dtype = dtype};
  if (cut.num_whole < 2) {
    return RLO__REFUSE(why, "it has too few points or too little scratch memory");
  }
  *out_cut = cut;
  out_cut->scratch_bytes = rlo__sum_cut_parts(&cut) * row_bytes;
  return true;
}

/* ----------------------------------------------------------------- planning */

bool rlo__sum_parts_are_allowed(const rlo_problem *problem, const rlo_plan_options *options) {
  return options != NULL && options->max_scratch_bytes > 0 && options->family == NULL &&
         options->schedule == NULL && problem->update == RLO_UPDATE_COMBINE &&
         /* Its counts are not validated yet. */
         problem->num_axes <= RLO_MAX_AXES && problem->num_terms <= RLO_MAX_TERMS &&
         rlo_problem_is_sum(problem);
}

rlo_status rlo__sum_parts_plan(const rlo__plan_request *request, const rlo__sum_limits *limits,
                               rlo__sum_parts *out_parts, bool *out_is_cut) {
  *out_is_cut = false;
  rlo__problem_copy(request->problem, &out_parts->problem);
  rlo__plan_request own = *request;
  own.problem = &out_parts->problem;
  rlo__planning p;
  RLO_TRY(rlo__planning_begin(&own, &p));
  rlo_status status = RLO_OK;
  if (!rlo_problem_is_empty(own.problem)) {
    status = rlo__planning_check_units(&p);
    if (status == RLO_OK) {
      const rlo__sum_limits usual = rlo__sum_limits_of(p.rows.device_class);
      *out_is_cut = rlo__sum_parts_choose(own.problem, own.device, p.rows.device_class,
                                          limits != NULL ? limits : &usual,
                                          own.options->max_scratch_bytes, &out_parts->cut, NULL);
    }
  }
  out_parts->device_class = p.rows.device_class;
  rlo__planning_end(&p);
  return status;
}

void rlo__sum_parts_describe(const rlo__sum_parts *parts, const char *parameters, rlo__str *words) {
  rlo__str_printf(words, "%lld parts in scratch memory: %s",
                  (long long)rlo__sum_cut_parts(&parts->cut), parameters);
}

/* --------------------------------------------------------------- the parts */

/* A part is summed in the type of the parts, without steps. */
static void set_partial(const rlo__sum_cut *cut, rlo_arithmetic *arithmetic) {
  arithmetic->dst_type = cut->dtype;
  arithmetic->dst_unit_bits = rlo_dtype_value_bits(cut->dtype);
  arithmetic->compute_type = RLO_DTYPE_INVALID;
  arithmetic->num_steps = 0;
}

static int64_t row_bytes(const rlo__sum_cut *cut) {
  return cut->cells * (rlo_dtype_value_bits(cut->dtype) / 8);
}

/* A row of scratch memory has the cells in the order of the kept axes. */
static void set_row(const rlo__sum_cut *cut, const int64_t *extents, rlo_form *form) {
  int64_t stride = 1;
  for (int32_t a = cut->axis - 1; a >= 0; --a) {
    form->axis[a] = stride;
    stride *= extents[a];
  }
}

void rlo__sum_parts_get(const rlo__sum_parts *parts, bool is_last, rlo_problem *out) {
  const rlo__sum_cut *cut = &parts->cut;
  const int32_t axis = cut->axis;
  const int64_t begin = cut->num_whole * cut->whole_points;
  rlo__problem_copy(&parts->problem, out);
  set_partial(cut, &out->arithmetic);
  set_row(cut, out->extents, &out->dst);
  out->extents[axis] = is_last ? cut->last_points : cut->whole_points;
  out->dst.base = is_last ? cut->num_whole * cut->cells : 0;
  if (is_last) {
    out->src.base += begin * out->src.axis[axis];
  } else {
    const int32_t added = out->num_axes++;
    out->extents[added] = cut->num_whole;
    out->src.axis[added] = cut->whole_points * out->src.axis[axis];
    out->dst.axis[added] = cut->cells;
  }
  out->dst_bytes = (cut->num_whole + is_last) * row_bytes(cut);
  out->read_bytes = is_last ? 0 : parts->problem.read_bytes;
  out->written_bytes = is_last ? row_bytes(cut) : out->dst_bytes;
}

/* The sum over the parts. */
static void get_total(const rlo__sum_parts *parts, rlo_problem *out) {
  const rlo__sum_cut *cut = &parts->cut;
  const int32_t axis = cut->axis;
  rlo__problem_copy(&parts->problem, out);
  out->unit_bits = rlo_dtype_value_bits(cut->dtype);
  out->arithmetic.src_type = cut->dtype;
  out->num_axes = axis + 1;
  set_row(cut, out->extents, &out->src);
  out->extents[axis] = rlo__sum_cut_parts(cut);
  out->src.base = 0;
  out->src.axis[axis] = cut->cells;
  out->src_bytes = cut->scratch_bytes;
}

static rlo_status emit_total(const rlo__sum_parts *parts, const rlo_device_info *device,
                             int64_t max_group_items, rlo_problem *total, rlo__launch *launch) {
  get_total(parts, total);
  const bool is_gpu = parts->device_class == RLO_DEVICE_CLASS_GPU;
  rlo_device_info small = *device;
  small.max_work_group_items = rlo__min(small.max_work_group_items, max_group_items);
  const rlo__family_query query = {.problem = total,
                                   .device = &small,
                                   .device_class = parts->device_class,
                                   .src_alignment_bytes = total->unit_bits / 8,
                                   .dst_alignment_bytes = rlo_problem_dst_unit_bits(total) / 8,
                                   .schedule = rlo__schedules[0],
                                   .block_points = 1};
  const rlo__family *family = is_gpu ? &rlo__family_gpu_compute_sum : &rlo__family_cpu_compute_sum;
  if (family->judge(&query, NULL) < 0.0) {
    family = is_gpu ? &rlo__family_gpu_compute : &rlo__family_cpu_compute;
  }
  RLO_TRY(family->emit(&query, launch));
  return rlo__launch_define_reach(total, device, launch);
}

rlo_status rlo__sum_parts_emit(const rlo__sum_parts *parts, const rlo_device_info *device,
                               int64_t max_group_items, rlo__launch *launch) {
  rlo_problem *total = rlo__alloc_unset(sizeof *total);
  RLO_TRY_MEMORY(total);
  rlo_status status = emit_total(parts, device, max_group_items, total, launch);
  rlo__free(total);
  return status;
}
