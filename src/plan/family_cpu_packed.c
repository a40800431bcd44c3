/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "plan/cpu_launch.h"

/* Family packed of CPU devices: cl/cpu_packed.cl, many small axes, small
 * matrices and short rows. */

enum {
  /** Bytes of private memory that a block is put together in. */
  STAGE_BYTES = 16 * 1024,
  /** What the kernel's lists hold. */
  MAX_MOVES = 1024,
  MAX_RUNS = 512,
  /** Longest row that is one move. */
  MAX_ROW_BYTES = 1024,
  /** Axes of a cell. */
  MAX_CELL_AXES = 4,
  /** Bytes that one group moves, in blocks: the lists are made once. */
  GROUP_BYTES = 256 * 1024,
  /** Groups that a device wants, whatever they move. */
  LEAST_GROUPS = 32,
  /** Arguments of the kernel's own, each vector as so many scalars. */
  NUM_SCALARS = 7 * 8 + 7
};

typedef enum packed_move { MOVE_TILE, MOVE_ROW, MOVE_CELL } packed_move;

/* Axes that continue each other from stride 1 upwards. */
typedef struct chain {
  int32_t num_axes;
  int32_t axes[RLO_GRID_MAX_AXES];
} chain;

typedef struct packed_plan {
  rlo__cpu_plan cpu;
  packed_move move;
  chain src_chain;
  chain dst_chain;
  /** Points of each axis in one block, and in one move. */
  int64_t block[RLO_GRID_MAX_AXES];
  int64_t step[RLO_GRID_MAX_AXES];
  int64_t stage_stride[RLO_GRID_MAX_AXES];
  /** Axes of dst_chain, from the first on, that lie in the stage as in the
   *  destination. */
  int32_t num_run_axes;
  /** Tiles: side of the square, and its axes. */
  int64_t tile;
  int32_t a_axis;
  int32_t b_axis;
  /** Cells: the axes of dst_chain, from the first on, that make one; and its
   *  units. */
  int32_t num_cell_axes;
  int64_t cell_units;
  /** Blocks that one group moves. */
  int64_t blocks;
} packed_plan;

static chain find_chain(const rlo_problem *problem,
                        const rlo_form *form,
                        int32_t first) {
  chain c = {1, {first}};
  bool is_used[RLO_GRID_MAX_AXES] = {false};
  is_used[first] = true;
  int64_t stride = problem->extents[first];
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!is_used[a] && form->axis[a] == stride) {
      is_used[a] = true;
      c.axes[c.num_axes++] = a;
      stride *= problem->extents[a];
      a = -1;
    }
  }
  return c;
}

static bool chain_begins_with(const chain *c, int32_t count, int32_t axis) {
  for (int32_t k = 0; k < count && k < c->num_axes; ++k) {
    if (c->axes[k] == axis) {
      return true;
    }
  }
  return false;
}

/* The widest cell that shuffles of lines pay for; those of bytes take many
 * instructions. */
static int64_t max_cell_bytes(int64_t unit_bytes) {
  return RLO_CPU_LINE_BYTES * (unit_bytes == 1 ? 2 : 8);
}

/* The least number of axes, 2 or more, that lead both chains. */
static void find_cell(const rlo_problem *problem, packed_plan *plan) {
  const chain *d = &plan->dst_chain;
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  int64_t units = problem->extents[d->axes[0]];
  for (int32_t n = 2; n <= d->num_axes && n <= MAX_CELL_AXES; ++n) {
    int64_t extent = problem->extents[d->axes[n - 1]];
    if (extent > max_cell_bytes(unit_bytes) / unit_bytes / units) {
      return;
    }
    units *= extent;
    bool is_cell = true;
    for (int32_t k = 0; k < n; ++k) {
      is_cell = is_cell && chain_begins_with(&plan->src_chain, n, d->axes[k]);
    }
    if (is_cell) {
      plan->move = MOVE_CELL;
      plan->num_cell_axes = n;
      plan->cell_units = units;
      return;
    }
  }
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Whether, and as what, the innermost axes can be moved. */
static bool find_move(const rlo_request *request,
                      packed_plan *plan,
                      rlo__str *why) {
  const rlo_problem *problem = request->problem;
  const rlo__geometry *g = &plan->cpu.geometry;
  if (problem->num_axes > RLO_GRID_MAX_AXES ||
      (problem->num_axes > 8 && !g->fits_32_bits)) {
    rlo__str_printf(why, "it has %d axes", problem->num_axes);
    return false;
  }
  if (problem->num_guards > 0) {
    rlo__str_printf(why, "it has %d guards", problem->num_guards);
    return false;
  }
  if (g->dst_axis < 0 || (g->run_axis < 0 && g->src_axis < 0)) {
    rlo__str_append(why, "no axis has stride 1 on one of the sides");
    return false;
  }
  plan->dst_chain = find_chain(problem, &problem->dst, g->dst_axis);
  plan->src_chain = find_chain(
      problem, &problem->src, g->run_axis >= 0 ? g->run_axis : g->src_axis);
  if (g->run_axis >= 0) {
    plan->move = MOVE_ROW;
    int64_t units = problem->extents[g->run_axis];
    if (units > MAX_ROW_BYTES / g->unit_bytes) {
      rlo__str_printf(why,
                      "its rows have %lld units; a move takes %d bytes",
                      (long long)units,
                      MAX_ROW_BYTES);
      return false;
    }
    return true;
  }
  plan->move = MOVE_TILE;
  plan->a_axis = g->src_axis;
  plan->b_axis = g->dst_axis;
  find_cell(problem, plan);
  return true;
}

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  packed_plan plan = {.cpu = {.geometry = rlo__geometry_of(request)}};
  return find_move(request, &plan, why) &&
         rlo__cpu_is_within_limits(request,
                                   &plan.cpu.geometry,
                                   request->problem->num_axes,
                                   NUM_SCALARS,
                                   why);
}

/* What a move takes whole, before blocks grow. */
static void begin_block(const rlo_problem *problem, packed_plan *plan) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    plan->block[a] = 1;
    plan->step[a] = 1;
  }
  if (plan->move == MOVE_ROW) {
    int32_t run = plan->cpu.geometry.run_axis;
    plan->block[run] = problem->extents[run];
    plan->step[run] = problem->extents[run];
    return;
  }
  if (plan->move == MOVE_CELL) {
    for (int32_t k = 0; k < plan->num_cell_axes; ++k) {
      int32_t a = plan->dst_chain.axes[k];
      plan->block[a] = problem->extents[a];
      plan->step[a] = problem->extents[a];
    }
    return;
  }
  static const int64_t sides[] = {16, 8, 8, 4, 4};
  plan->tile =
      sides[__builtin_ctzll((uint64_t)plan->cpu.geometry.unit_bytes)];
  int64_t na = problem->extents[plan->a_axis];
  int64_t nb = problem->extents[plan->b_axis];
  while (plan->tile > 2 && na <= plan->tile / 2 && nb <= plan->tile / 2) {
    plan->tile /= 2;
  }
  plan->step[plan->a_axis] = least(na, plan->tile);
  plan->step[plan->b_axis] = least(nb, plan->tile);
  plan->block[plan->a_axis] = plan->step[plan->a_axis];
  plan->block[plan->b_axis] = plan->step[plan->b_axis];
}

/* Units of a run along a chain, as far as a block holds it. */
static int64_t run_units(const rlo_problem *problem,
                         const packed_plan *plan,
                         const chain *c,
                         int32_t *out_num_axes) {
  int64_t units = 1;
  int32_t n = 0;
  while (n < c->num_axes) {
    int32_t a = c->axes[n++];
    units *= plan->block[a];
    if (plan->block[a] < problem->extents[a]) {
      break;
    }
  }
  *out_num_axes = n;
  return units;
}

static int64_t block_units(const rlo_problem *problem,
                           const packed_plan *plan) {
  int64_t units = 1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    units *= plan->block[a];
  }
  return units;
}

static int64_t num_moves(const rlo_problem *problem, const packed_plan *plan) {
  int64_t moves = 1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    moves *= rlo__ceil_div(plan->block[a], plan->step[a]);
  }
  return moves;
}

static bool fits_kernel(const rlo_problem *problem, const packed_plan *plan) {
  int32_t num_run_axes;
  int64_t units = block_units(problem, plan);
  int64_t run = run_units(problem, plan, &plan->dst_chain, &num_run_axes);
  return units <= (getenv("PKS")?atoi(getenv("PKS")):STAGE_BYTES) / plan->cpu.geometry.unit_bytes &&
         num_moves(problem, plan) <= MAX_MOVES && units / run <= MAX_RUNS &&
         units / run_units(problem, plan, &plan->src_chain, &num_run_axes) <= MAX_RUNS;
}

/* Make the run along a chain longer: the next axis takes twice as many points,
 * or as many as still fit. False if it cannot. */
static bool grow(const rlo_problem *problem,
                 packed_plan *plan,
                 const chain *c) {
  for (int32_t k = 0; k < c->num_axes; ++k) {
    int32_t a = c->axes[k];
    int64_t before = plan->block[a];
    int64_t extent = problem->extents[a];
    if (before == extent) {
      continue;
    }
    for (int64_t times = 4; times >= 1; --times) {
      /* 2, 1.75, 1.5 and 1.25 times as many. */
      int64_t wanted = before + rlo__ceil_div(before * times, 4);
      wanted = rlo__ceil_div(wanted, plan->step[a]) * plan->step[a];
      plan->block[a] = least(extent, wanted);
      if (plan->block[a] > before && fits_kernel(problem, plan)) {
        return true;
      }
    }
    plan->block[a] = before;
    return false;
  }
  return false;
}

static void grow_block(const rlo_problem *problem, packed_plan *plan) {
  bool src_grows = true;
  bool dst_grows = true;
  while (src_grows || dst_grows) {
    int32_t unused;
    int64_t src = run_units(problem, plan, &plan->src_chain, &unused);
    int64_t dst = run_units(problem, plan, &plan->dst_chain, &unused);
    if (src_grows && (src < dst || !dst_grows)) {
      src_grows = grow(problem, plan, &plan->src_chain);
    } else {
      dst_grows = grow(problem, plan, &plan->dst_chain);
    }
  }
}

/* Cut an axis where the last block has a whole move left, and where runs of the
 * destination end with lines, if that can be had. */
static void cut_axis(const rlo_problem *problem,
                     packed_plan *plan,
                     int32_t axis,
                     int64_t multiple) {
  int64_t extent = problem->extents[axis];
  int64_t most = plan->block[axis];
  int64_t second = most;
  bool has_second = false;
  for (int64_t size = most; size >= plan->step[axis] && size > most / 2;
       --size) {
    int64_t rest = extent % size;
    if (rest != 0 && rest < plan->step[axis]) {
      continue;
    }
    if (size % multiple == 0) {
      plan->block[axis] = size;
      return;
    }
    if (!has_second) {
      has_second = true;
      second = size;
    }
  }
  plan->block[axis] = second;
}

static void cut_block(const rlo_problem *problem, packed_plan *plan) {
  int32_t num_run_axes;
  int64_t run = run_units(problem, plan, &plan->dst_chain, &num_run_axes);
  int32_t last = plan->dst_chain.axes[num_run_axes - 1];
  int64_t inner_bytes =
      run / plan->block[last] * plan->cpu.geometry.unit_bytes;
  int64_t lines =
      RLO_CPU_LINE_BYTES / rlo__gcd(RLO_CPU_LINE_BYTES, inner_bytes);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (plan->block[a] < problem->extents[a]) {
      cut_axis(problem, plan, a, a == last ? lines : 1);
    }
  }
}

/* Cells that fit into one line together are moved together. */
static void join_cells(const rlo_problem *problem, packed_plan *plan) {
  int32_t n = plan->num_cell_axes;
  if (plan->move != MOVE_CELL || n == MAX_CELL_AXES ||
      n == plan->dst_chain.num_axes || n >= plan->src_chain.num_axes ||
      plan->dst_chain.axes[n] != plan->src_chain.axes[n]) {
    return;
  }
  int32_t next = plan->dst_chain.axes[n];
  int64_t line_units = RLO_CPU_LINE_BYTES / plan->cpu.geometry.unit_bytes;
  plan->step[next] = least(line_units / plan->cell_units, plan->block[next]);
  if (plan->step[next] < 1) {
    plan->step[next] = 1;
  }
  (void)problem;
}

/* The stage holds runs as the destination does, one after another. */
static void lay_stage(const rlo_problem *problem, packed_plan *plan) {
  int64_t stride = 1;
  (void)run_units(problem, plan, &plan->dst_chain, &plan->num_run_axes);
  for (int32_t k = 0; k < plan->num_run_axes; ++k) {
    int32_t a = plan->dst_chain.axes[k];
    plan->stage_stride[a] = stride;
    stride *= plan->block[a];
  }
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (!chain_begins_with(&plan->dst_chain, plan->num_run_axes, a)) {
      plan->stage_stride[a] = stride;
      stride *= plan->block[a];
    }
  }
}

static bool stores_lines(const rlo_request *request, const packed_plan *plan) {
  int32_t num_run_axes;
  int64_t run_bytes = run_units(request->problem,
                                plan,
                                &plan->dst_chain,
                                &num_run_axes) *
                      plan->cpu.geometry.unit_bytes;
  int64_t align = rlo__cpu_dst_alignment(request, &plan->cpu.grid, -1);
  return run_bytes >= 4 * RLO_CPU_LINE_BYTES ||
         (run_bytes % RLO_CPU_LINE_BYTES == 0 && align == RLO_CPU_LINE_BYTES);
}

/* Called only where is_applicable has said yes. */
static rlo_status choose(const rlo_request *request, packed_plan *plan) {
  const rlo_problem *problem = request->problem;
  *plan = (packed_plan){.cpu = {.geometry = rlo__geometry_of(request)}};
  rlo__cpu_plan *cpu = &plan->cpu;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!find_move(request, plan, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "a problem without moves came to packed");
  }
  cpu->x_axis = -1;
  cpu->y_axis = -1;
  begin_block(problem, plan);
  grow_block(problem, plan);
  cut_block(problem, plan);
  join_cells(problem, plan);
  lay_stage(problem, plan);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    RLO_TRY(rlo__grid_add(&cpu->grid, problem, a, plan->block[a]));
  }
  rlo__grid_sort_by_src(&cpu->grid);
  cpu->is_nontemporal = rlo__cpu_wants_nontemporal(request, &cpu->geometry) &&
                        stores_lines(request, plan);
  cpu->is_prefetching = request->device->has_builtin_prefetch;
  size_t groups;
  RLO_TRY(rlo__grid_num_groups(&cpu->grid, &groups));
  int64_t block_bytes =
      block_units(problem, plan) * cpu->geometry.unit_bytes;
  plan->blocks = rlo__ceil_div(GROUP_BYTES, block_bytes);
  int64_t most = (int64_t)(groups / LEAST_GROUPS);
  plan->blocks = least(plan->blocks, most < 1 ? 1 : most);
  return RLO_OK;
}

/* Not measured yet. */
static double predict(const rlo_request *request) {
  packed_plan plan;
  if (choose(request, &plan) != RLO_OK) {
    return 0.0;
  }
  return plan.move == MOVE_CELL ? 0.9 : 0.02;
}

static rlo_status define_tile(const rlo_problem *problem,
                              const packed_plan *plan,
                              rlo_launch *launch) {
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_TILE", plan->tile));
  RLO_TRY(rlo__launch_define(
      launch,
      "RLO_PACKED_NA",
      least(problem->extents[plan->a_axis], plan->tile)));
  return rlo__launch_define(launch,
                            "RLO_PACKED_NB",
                            least(problem->extents[plan->b_axis], plan->tile));
}

static rlo_status define_cell(const rlo_problem *problem,
                              const packed_plan *plan,
                              rlo_launch *launch) {
  static const char *const extents[MAX_CELL_AXES] = {
      "RLO_PACKED_X0", "RLO_PACKED_X1", "RLO_PACKED_X2", "RLO_PACKED_X3"};
  static const char *const strides[MAX_CELL_AXES] = {
      "RLO_PACKED_S0", "RLO_PACKED_S1", "RLO_PACKED_S2", "RLO_PACKED_S3"};
  int64_t units = 1;
  for (int32_t k = 0; k < MAX_CELL_AXES; ++k) {
    int64_t extent = 1;
    int64_t stride = 0;
    if (k < plan->dst_chain.num_axes && k <= plan->num_cell_axes) {
      int32_t a = plan->dst_chain.axes[k];
      extent = plan->step[a];
      stride = problem->src.axis[a];
    }
    units *= extent;
    RLO_TRY(rlo__launch_define(launch, extents[k], extent));
    RLO_TRY(rlo__launch_define(launch, strides[k], stride));
  }
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_CELL", units));
  return rlo__launch_define(
      launch,
      "RLO_PACKED_LINES",
      rlo__ceil_div(units * plan->cpu.geometry.unit_bytes,
                    RLO_CPU_LINE_BYTES));
}

static rlo_status define_move(const rlo_request *request,
                              const packed_plan *plan,
                              rlo_launch *launch) {
  const rlo_problem *problem = request->problem;
  RLO_TRY(rlo__launch_define(
      launch, "RLO_VECTOR_SHUFFLE", request->device->has_vector_shuffle));
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_MOVE", (int)plan->move));
  switch (plan->move) {
    case MOVE_TILE:
      return define_tile(problem, plan, launch);
    case MOVE_ROW:
      return rlo__launch_define(
          launch,
          "RLO_PACKED_ROW",
          problem->extents[plan->cpu.geometry.run_axis]);
    default:
      return define_cell(problem, plan, launch);
  }
}

/* The axes of a block as the kernel takes them. */
static rlo_status add_axes(const rlo_problem *problem,
                           const packed_plan *plan,
                           rlo_launch *launch) {
  int32_t axes[RLO_GRID_MAX_AXES];
  int32_t n = 0;
  int32_t num_src_axes;
  (void)run_units(problem, plan, &plan->src_chain, &num_src_axes);
  /* Cells by falling place in the stage, else the source in order. */
  const int64_t *distance =
      plan->move == MOVE_CELL ? plan->stage_stride : problem->src.axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (plan->block[a] == 1) {
      continue;
    }
    int32_t place = n++;
    while (place > 0 && llabs(distance[axes[place - 1]]) < llabs(distance[a])) {
      axes[place] = axes[place - 1];
      --place;
    }
    axes[place] = a;
  }
  int64_t lanes[7][RLO_GRID_MAX_AXES];
  int64_t run_mask = 0;
  int64_t fetch_mask = 0;
  for (int32_t k = 0; k < n; ++k) {
    int32_t a = axes[k];
    lanes[0][k] = problem->extents[a];
    lanes[1][k] = plan->block[a];
    lanes[2][k] = plan->step[a];
    lanes[3][k] = rlo__grid_find(&plan->cpu.grid, a);
    lanes[4][k] = problem->src.axis[a];
    lanes[5][k] = problem->dst.axis[a];
    lanes[6][k] = plan->stage_stride[a];
    if (chain_begins_with(&plan->dst_chain, plan->num_run_axes, a)) {
      run_mask |= INT64_C(1) << k;
    }
    if (chain_begins_with(&plan->src_chain, num_src_axes, a)) {
      fetch_mask |= INT64_C(1) << k;
    }
  }
  RLO_TRY(rlo__cpu_add_int(launch, n));
  for (int32_t v = 0; v < 7; ++v) {
    RLO_TRY(rlo__cpu_add_vector(&plan->cpu, launch, lanes[v], n));
  }
  RLO_TRY(rlo__cpu_add_int(launch, run_mask));
  return rlo__cpu_add_int(launch, fetch_mask);
}

static void describe(const rlo_problem *problem,
                     const packed_plan *plan,
                     rlo_launch *launch) {
  static const char *const names[] = {"tiles", "rows", "cells"};
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  int32_t unused;
  rlo__str_printf(
      &words,
      "%s, blocks of %lld, runs of %lld and %lld bytes, units of %lld bytes",
      names[plan->move],
      (long long)(block_units(problem, plan) * unit_bytes),
      (long long)(run_units(problem, plan, &plan->src_chain, &unused) *
                  unit_bytes),
      (long long)(run_units(problem, plan, &plan->dst_chain, &unused) *
                  unit_bytes),
      (long long)unit_bytes);
  rlo__str_append(&words,
                  plan->cpu.is_nontemporal ? ", non-temporal stores" : "");
  rlo__str_append(&words, plan->cpu.is_prefetching ? ", prefetch" : "");
}

static rlo_status emit(const rlo_request *request, rlo_launch *launch) {
  const rlo_problem *problem = request->problem;
  packed_plan plan;
  RLO_TRY(choose(request, &plan));
  const rlo__cpu_plan *cpu = &plan.cpu;
  int64_t first;
  int64_t last;
  if (!rlo__form_range(problem, &problem->src, &first, &last)) {
    return RLO_FAIL(RLO_OVERFLOW, "a position of the source leaves 64 bits");
  }
  RLO_TRY(rlo__cpu_begin(request, cpu, "cpu_packed", launch));
  launch->global_size[0] =
      (launch->global_size[0] + (size_t)plan.blocks - 1) / (size_t)plan.blocks;
  RLO_TRY(define_move(request, &plan, launch));
  int64_t move_bytes = cpu->geometry.unit_bytes *
                       block_units(problem, &plan) / num_moves(problem, &plan);
  RLO_TRY(rlo__launch_define(launch,
                             "RLO_PACKED_SEND_LINES",
                             rlo__ceil_div(move_bytes, RLO_CPU_LINE_BYTES)));
  RLO_TRY(rlo__launch_define(
      launch,
      "RLO_PACKED_SEND_EVERY",
      move_bytes < RLO_CPU_LINE_BYTES && move_bytes>0? RLO_CPU_LINE_BYTES / move_bytes : 1));
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_STAGE", STAGE_BYTES));
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_MOVES", MAX_MOVES));
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_RUNS", MAX_RUNS));
  RLO_TRY(add_axes(problem, &plan, launch));
  bool is_tile = plan.move == MOVE_TILE;
  RLO_TRY(rlo__cpu_add_index(cpu, launch, plan.blocks));
  RLO_TRY(rlo__cpu_add_index(
      cpu, launch, is_tile ? problem->src.axis[plan.b_axis] : 0));
  RLO_TRY(rlo__cpu_add_index(
      cpu, launch, is_tile ? plan.stage_stride[plan.a_axis] : 0));
  RLO_TRY(rlo__cpu_add_index(cpu, launch, last - problem->src.base + 1));
  describe(problem, &plan, launch);
  return RLO_OK;
}

const rlo_family rlo__family_cpu_packed = {
    "packed", RLO_DEVICE_CLASS_CPU, is_applicable, predict, emit};
