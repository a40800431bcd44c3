/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/cpu_launch.h"

/* Family stream of CPU devices: cl/cpu_stream.cl, which computes along an axis
 * that is contiguous on both sides. */

enum {
  NUM_SCALARS = 10,
  /** What one group reads, in whole rows as far as they are short. */
  GROUP_BYTES = 32 * 1024,
  /** Longer rows are cut into chunks. */
  CHUNK_BYTES = 64 * 1024,
  LONGEST_ROW_BYTES = 2 * CHUNK_BYTES,
  /** Below this a row has too few whole lines for non-temporal stores. */
  LEAST_LINED_BYTES = 4 * RLO_CPU_LINE_BYTES
};

/* How the rows are handed out. */
typedef struct stream_plan {
  rlo__cpu_plan cpu;
  int64_t row_units, row_bytes;
  /** Equal to row_units if rows are whole. */
  int64_t chunk_units;
  /** Axis along which one group takes several rows, or -1. */
  int32_t batch_axis;
  int64_t batch_rows;
} stream_plan;

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  const rlo_problem *problem = request->problem;
  if (problem->update != RLO_UPDATE_COMBINE) {
    rlo__str_append(why, "it moves bits and computes nothing");
    return false;
  }
  if (rlo_problem_is_sum(problem)) {
    rlo__str_append(why, "it sums");
    return false;
  }
  rlo__geometry g = rlo__geometry_of(request);
  if (g.run_axis < 0 || g.is_fill) {
    rlo__str_append(why, "no axis has stride 1 on both sides");
    return false;
  }
  for (int32_t n = 0; n < problem->num_guards; ++n) {
    int64_t along = problem->guards[n].form.axis[g.run_axis];
    if (along < -1 || along > 1) {
      rlo__str_printf(why,
                      "guard %d has the coefficient %lld along the row; the "
                      "kernel takes -1, 0 and 1",
                      n,
                      (long long)along);
      return false;
    }
  }
  return rlo__cpu_is_within_limits(
      request, &g, problem->num_axes, NUM_SCALARS, why);
}

/* The axis whose steps stay nearest to each other in the source. */
static int32_t nearest_axis(const rlo_problem *problem, int32_t run) {
  int32_t best = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && (best < 0 || llabs(problem->src.axis[a]) <
                                     llabs(problem->src.axis[best]))) {
      best = a;
    }
  }
  return best;
}

static rlo_status choose(const rlo_request *request, stream_plan *plan) {
  const rlo_problem *problem = request->problem;
  *plan = (stream_plan){.cpu = {.geometry = rlo__geometry_of(request)},
                        .batch_axis = -1,
                        .batch_rows = 1};
  rlo__cpu_plan *cpu = &plan->cpu;
  int64_t unit_bytes = cpu->geometry.unit_bytes;
  int32_t run = cpu->geometry.run_axis;
  cpu->x_axis = run;
  plan->row_units = problem->extents[run];
  plan->row_bytes = plan->row_units <= INT64_MAX / unit_bytes
                        ? plan->row_units * unit_bytes
                        : INT64_MAX;
  plan->chunk_units = plan->row_bytes > LONGEST_ROW_BYTES
                          ? CHUNK_BYTES / unit_bytes
                          : plan->row_units;
  if (plan->row_bytes <= GROUP_BYTES / 2) {
    plan->batch_axis = nearest_axis(problem, run);
  }
  if (plan->batch_axis >= 0) {
    int64_t rows = problem->extents[plan->batch_axis];
    plan->batch_rows = GROUP_BYTES / plan->row_bytes;
    plan->batch_rows = plan->batch_rows < rows ? plan->batch_rows : rows;
  }
  cpu->y_axis = plan->batch_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == run                ? plan->chunk_units
                   : a == plan->batch_axis ? plan->batch_rows
                                           : 1;
    RLO_TRY(rlo__grid_add(&cpu->grid, problem, a, step));
  }
  rlo__grid_sort_by_src(&cpu->grid);
  /* What is read first is in the caches, where it had better be written. */
  cpu->is_nontemporal = !rlo__problem_reads_cells(problem) &&
                        plan->row_bytes >= LEAST_LINED_BYTES &&
                        rlo__cpu_wants_nontemporal(request, &cpu->geometry);
  return RLO_OK;
}

/* As rows: the ends of a row cost about as much as 180 bytes. One value at a
 * time, arithmetic costs more than memory. */
static double predict(const rlo_request *request) {
  stream_plan plan;
  if (choose(request, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.row_bytes;
  double most = rlo__arith_has_vectors(request->problem) ? 0.9 : 0.3;
  return most * bytes / (bytes + 180.0);
}

static void describe(const rlo_problem *problem,
                     const stream_plan *plan,
                     rlo_launch *launch) {
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", rows of %lld bytes, %lld to a group%s",
                  (long long)plan->row_bytes,
                  (long long)plan->batch_rows,
                  plan->cpu.is_nontemporal ? ", non-temporal stores" : "");
}

static rlo_status emit(const rlo_request *request, rlo_launch *launch) {
  const rlo_problem *problem = request->problem;
  stream_plan plan;
  RLO_TRY(choose(request, &plan));
  const rlo__cpu_plan *cpu = &plan.cpu;
  int32_t batch = plan.batch_axis;
  RLO_TRY(rlo__cpu_begin(request, cpu, "cpu_stream", launch));
  RLO_TRY(rlo__arith_define(problem, launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_LANES", rlo__arith_has_vectors(problem) ? 16 : 1));
  RLO_TRY(rlo__cpu_add_int(launch, rlo__grid_find(&cpu->grid, batch)));
  RLO_TRY(rlo__cpu_add_index(
      cpu, launch, batch >= 0 ? problem->extents[batch] : 1));
  RLO_TRY(rlo__cpu_add_index(cpu, launch, plan.batch_rows));
  RLO_TRY(rlo__cpu_add_index(
      cpu, launch, batch >= 0 ? problem->src.axis[batch] : 0));
  RLO_TRY(rlo__cpu_add_index(
      cpu, launch, batch >= 0 ? problem->dst.axis[batch] : 0));
  RLO_TRY(rlo__cpu_add_int(launch, rlo__grid_find(&cpu->grid, cpu->x_axis)));
  RLO_TRY(rlo__cpu_add_index(cpu, launch, plan.row_units));
  RLO_TRY(rlo__cpu_add_index(cpu, launch, plan.chunk_units));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  RLO_TRY(rlo__cpu_add_guards(request, cpu, launch));
  describe(problem, &plan, launch);
  return RLO_OK;
}

const rlo_family rlo__family_cpu_stream = {"stream",
                                           RLO_DEVICE_CLASS_CPU,
                                           is_applicable,
                                           predict,
                                           emit,
                                           RLO_FAMILY_COMPUTES};
