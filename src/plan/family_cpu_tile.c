/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/plane.h"

/* Family tile of CPU devices: cl/cpu_tile.cl, the innermost axis moves. */

/* Lines of a tile: long along the destination's rows, which gathers enough of
 * them to get past the conflicts of strides that are powers of two and leaves
 * few ends of rows; a square where the plane is not long enough. */
enum { TILE_LINES = 4, LONG_TILE_LINES = 16 };

/* Rows shorter than this have too few whole lines for staging to pay. */
enum { LEAST_STAGED_ROW_BYTES = 4 * RLO_CPU_LINE_BYTES };

/* Strides of whole pages land in one set of the caches. */
enum { PAGE_BYTES = 4096 };

typedef struct tile_plan {
  rlo__cpu_plan cpu;
  rlo__plane plane;
  int64_t line_units;
  int64_t tile_a;
  int64_t tile_b;
  /** What divides every destination address; a line at most. */
  int64_t dst_alignment;
  bool has_page_stride;
} tile_plan;

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  rlo__geometry g = rlo__geometry_of(request);
  rlo__plane plane;
  return rlo__plane_find(request->problem, &g, &plane, why) &&
         rlo__cpu_is_within_limits(request,
                                   &g,
                                   request->problem->num_axes,
                                   RLO_PLANE_NUM_SCALARS,
                                   why);
}

/* Called only where is_applicable has said yes. */
static rlo_status choose(const rlo_request *request, tile_plan *plan) {
  const rlo_problem *problem = request->problem;
  *plan = (tile_plan){.cpu = {.geometry = rlo__geometry_of(request)}};
  rlo__cpu_plan *cpu = &plan->cpu;
  rlo__plane *plane = &plan->plane;
  int64_t unit_bytes = cpu->geometry.unit_bytes;
  plan->line_units = RLO_CPU_LINE_BYTES / unit_bytes;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!rlo__plane_find(problem, &cpu->geometry, plane, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "a problem without a plane came to tile");
  }
  plan->has_page_stride = plane->src_ld * unit_bytes % PAGE_BYTES == 0;
  plan->tile_a = TILE_LINES * plan->line_units;
  plan->tile_b = TILE_LINES * plan->line_units;
  int64_t long_tile = LONG_TILE_LINES * plan->line_units;
  if (plane->nb >= long_tile) {
    plan->tile_b = long_tile;
  }
  const rlo__way *way = &request->way;
  if (way->tile_a_lines > 0) {
    plan->tile_a = way->tile_a_lines * plan->line_units;
    plan->tile_b = way->tile_b_lines * plan->line_units;
  }
  cpu->order = way->order;
  RLO_TRY(rlo__plane_lay_grid(problem, plane, plan->tile_a, plan->tile_b, cpu));
  plan->dst_alignment =
      rlo__cpu_dst_alignment(request, &cpu->grid, plane->a_axis);
  bool has_lines = plan->dst_alignment == RLO_CPU_LINE_BYTES ||
                   plane->nb * unit_bytes >= LEAST_STAGED_ROW_BYTES;
  cpu->is_nontemporal =
      has_lines && rlo__cpu_wants_nontemporal(request, &cpu->geometry);
  /* Whole planes that follow each other are read in one sweep as it is. */
  bool is_sweep = plane->src_ld == plane->na && plane->na <= plan->tile_a &&
                  plane->nb <= plan->tile_b;
  cpu->is_prefetching = request->device->has_builtin_prefetch && !is_sweep;
  return RLO_OK;
}

/* The share of whole blocks in an extent. */
static double fullness(int64_t extent, int64_t block) {
  return (double)extent / (double)(rlo__ceil_div(extent, block) * block);
}

/* From measurements on large planes; blocks at the edges cost as whole ones,
 * and planes that no block fits into are moved unit by unit. */
static double predict(const rlo_request *request) {
  tile_plan plan;
  if (choose(request, &plan) != RLO_OK) {
    return 0.0;
  }
  static const double by_log2_bytes[] = {0.67, 0.64, 0.78, 0.85, 0.93};
  static const double with_page_stride[] = {0.36, 0.41, 0.63, 0.83, 0.90};
  int64_t unit_bytes = plan.cpu.geometry.unit_bytes;
  if (plan.plane.nb < plan.line_units) {
    return 0.01 * (double)unit_bytes; /* gather does better */
  }
  if (plan.plane.na < plan.line_units) {
    return unit_bytes <= 2 ? 0.06 : 0.03 * (double)unit_bytes;
  }
  int32_t log2_bytes = (int32_t)__builtin_ctzll((uint64_t)unit_bytes);
  double fraction = plan.has_page_stride ? with_page_stride[log2_bytes]
                                         : by_log2_bytes[log2_bytes];
  if (plan.dst_alignment < RLO_CPU_LINE_BYTES) {
    fraction *= 0.75;
  }
  return fraction * fullness(plan.plane.na, plan.line_units) *
         fullness(plan.plane.nb, plan.line_units);
}

static void describe(const tile_plan *plan, rlo_launch *launch) {
  const rlo__cpu_plan *cpu = &plan->cpu;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "tile %lldx%lld, units of %lld bytes, %s",
                  (long long)plan->tile_a,
                  (long long)plan->tile_b,
                  (long long)cpu->geometry.unit_bytes,
                  rlo__grid_order_name(cpu->order));
  if (cpu->is_nontemporal) {
    rlo__str_append(&words,
                    plan->dst_alignment == RLO_CPU_LINE_BYTES
                        ? ", non-temporal stores"
                        : ", staged non-temporal stores");
  }
  rlo__str_append(&words, cpu->is_prefetching ? ", prefetch" : "");
}

static rlo_status emit(const rlo_request *request, rlo_launch *launch) {
  tile_plan plan;
  RLO_TRY(choose(request, &plan));
  const rlo__cpu_plan *cpu = &plan.cpu;
  RLO_TRY(rlo__cpu_begin(request, cpu, "cpu_tile", launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_VECTOR_SHUFFLE", request->device->has_vector_shuffle));
  /* Only whether it is a line matters: fewer programs. */
  bool is_aligned =
      cpu->is_nontemporal && plan.dst_alignment == RLO_CPU_LINE_BYTES;
  RLO_TRY(rlo__launch_define(
      launch,
      "RLO_DST_ALIGN",
      is_aligned ? RLO_CPU_LINE_BYTES : cpu->geometry.unit_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_TILE_A", plan.tile_a));
  RLO_TRY(rlo__launch_define(launch, "RLO_TILE_B", plan.tile_b));
  RLO_TRY(rlo__plane_add_arguments(request, &plan.plane, cpu, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo_family rlo__family_cpu_tile = {
    "tile", RLO_DEVICE_CLASS_CPU, is_applicable, predict, emit, 0};
