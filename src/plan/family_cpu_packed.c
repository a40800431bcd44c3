/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "plan/packed.h"

/* Family packed, CPU class (cl/cpu_packed_cells.cl and cl/cpu_packed.cl):
 * small matrices, many small axes and short rows. */

enum {
  /** Shortest run of the source that family rows reads as one stream, and most
   *  places that it may write alternately. */
  MIN_STREAM_BYTES = 1024,
  MAX_PLACES = 256,
  /** Longer rows are cheap for family rows, wherever they are written. */
  MAX_SCATTERED_BYTES = 2 * RLO__CPU_LINE_BYTES,
  /** Shortest rows that are cheap for family rows. */
  MIN_LONG_ROW_BYTES = 3 * RLO__CPU_LINE_BYTES,
  /** Arguments after the shared ones; a vector counts as eight scalars. */
  NUM_VECTORS = 6,
  NUM_SCALARS = NUM_VECTORS * 8 + 7
};

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_axes > RLO__GRID_MAX_AXES ||
      (problem->num_axes > 8 && !g.fits_32_bits)) {
    rlo__str_printf(why, "it has %d axes", problem->num_axes);
    return false;
  }
  if (problem->num_guards > 0) {
    rlo__str_printf(why, "it has %d guards", problem->num_guards);
    return false;
  }
  if (g.dst_axis < 0 || (g.run_axis < 0 && g.src_axis < 0)) {
    rlo__str_append(why, "no axis has stride 1 on one of the sides");
    return false;
  }
  return rlo__packed_block_is_possible(query, &g, why) &&
         rlo__grid_is_within_limits(
             query, &g, problem->num_axes, NUM_SCALARS, why);
}

/* Tells if a problem has cells, which are preferred to blocks. */
static bool find_cells(const rlo__family_query *query,
                       const rlo__geometry *geometry,
                       rlo__packed_cells *out_cells) {
  rlo__str unused = rlo__str_over(NULL, 0);
  return geometry->run_axis < 0 &&
         rlo__packed_cells_find(query, geometry, out_cells, &unused);
}

/* Rows that family rows writes between two that are neighbours in the
 * destination: that many places are written alternately. */
static double rows_between(const rlo_problem *problem,
                           const rlo__packed_block *b) {
  if (b->dst_run.num_axes < 2) {
    return 1.0;
  }
  int32_t run = b->dst_run.axes[0];
  int32_t next = b->dst_run.axes[1];
  double rows = 1.0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run &&
        rlo__abs(problem->src.axis[a]) < rlo__abs(problem->src.axis[next])) {
      rows *= (double)problem->extents[a];
    }
  }
  return rows;
}

/* Tells if family rows reads consecutive runs and writes few places. */
static bool is_stream(const rlo_problem *problem, const rlo__packed_block *b) {
  if (b->src_run.num_axes < 2) {
    return false;
  }
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int32_t next = b->src_run.axes[1];
  return problem->extents[next] * b->num_columns * unit_bytes >=
             MIN_STREAM_BYTES &&
         rows_between(problem, b) <= (double)MAX_PLACES;
}

/* The best prediction for rows that are moved whole. */
#define MOST_OF_ROWS 0.82

/* Rows that are moved whole. Rows that share lines cost per row; rows of whole
 * lines are as fast with family rows, unless they are so short that it jumps
 * too often. */
static double predict_rows(const rlo_problem *problem,
                           const rlo__packed_block *b) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  if (b->cpu.geometry.box_bytes < rlo__thresholds.plan_cpu_past_caches_bytes) {
    return 0.3; /* caches forgive scattered stores */
  }
  int64_t row_bytes = b->num_columns * unit_bytes;
  if (b->is_direct) {
    bool is_as_good = row_bytes > MAX_SCATTERED_BYTES || is_stream(problem, b);
    return is_as_good ? 0.7 : MOST_OF_ROWS;
  }
  if (row_bytes >= MIN_LONG_ROW_BYTES) {
    return 0.5;
  }
  double bytes = (double)row_bytes;
  return 0.65 * bytes / (bytes + 5.0);
}

/* The best prediction for matrices, whatever their blocks are. Where rows are
 * far apart, tile is faster: 0.6 to 0.8 against 0.42 to 0.66 (cases 40 to 42 of
 * ttc57). */
static double most_of_matrices(const rlo__geometry *g) {
  static const double by_log2_bytes[] = {0.5, 0.55, 0.65, 0.7, 0.6};
  double most = by_log2_bytes[__builtin_ctzll((uint64_t)g->unit_bytes)];
  return g->box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes
             ? 0.85 * most
             : most;
}

/* Matrices: partial tiles and the ends of short runs cost extra. */
static double predict_matrices(const rlo__packed_block *b) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  double fraction = most_of_matrices(&b->cpu.geometry);
  fraction *= rlo__grid_fullness(b->num_columns, b->tile) *
              rlo__grid_fullness(b->num_rows, b->tile);
  double src_bytes = (double)(b->src_run_units * unit_bytes);
  double dst_bytes = (double)(b->dst_run_units * unit_bytes);
  double run = src_bytes < dst_bytes ? src_bytes : dst_bytes;
  /* The same where lines are staged: 0.56 against 0.26 (f32 95x75x97x77
   * reversed). */
  if (b->cpu.geometry.box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes &&
      !b->is_direct) {
    fraction *= 0.7 / 0.85;
  }
  return fraction * run / (run + (b->is_direct ? 16.0 : 64.0));
}

/* From measurements. A small box is not worth a program of its own. Choosing a
 * block takes as long as all the other families' predictions together, and is
 * left out where it cannot matter. */
static double predict(const rlo__family_query *query) {
  rlo__geometry g = rlo__geometry_of(query);
  rlo__packed_cells cells;
  rlo__packed_block block;
  if (g.box_bytes < rlo__thresholds.plan_cpu_packed_box_bytes) {
    return 0.02;
  }
  if (find_cells(query, &g, &cells)) {
    return rlo__packed_cells_predict(&cells);
  }
  double most = g.run_axis >= 0 ? MOST_OF_ROWS : most_of_matrices(&g);
  if (most <= query->to_beat) {
    return most;
  }
  if (rlo__packed_block_choose(query, &g, &block) != RLO_OK) {
    return 0.0;
  }
  return block.moves_rows ? predict_rows(query->problem, &block)
                          : predict_matrices(&block);
}

static rlo_status add_defines(const rlo__family_query *query,
                              const rlo__packed_block *b,
                              rlo__launch *launch) {
  RLO_TRY(rlo__launch_define(
      launch, "RLO_VECTOR_SHUFFLE", query->device->has_vector_shuffle));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_PACKED_ROW", b->moves_rows ? b->num_columns : 0));
  RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_DIRECT", b->is_direct));
  if (!b->moves_rows) {
    int64_t na = rlo__min(b->num_columns, b->tile);
    int64_t nb = rlo__min(b->num_rows, b->tile);
    RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_TILE", b->tile));
    RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_NA", na));
    RLO_TRY(rlo__launch_define(launch, "RLO_PACKED_NB", nb));
  }
  RLO_TRY(
      rlo__launch_define(launch, "RLO_PACKED_STAGE", RLO__PACKED_STAGE_BYTES));
  return rlo__launch_define(
      launch, "RLO_PACKED_PLACES", RLO__PACKED_MAX_PLACES);
}

/* Lines to prefetch with each tile or row, so that a block is in the caches
 * when the block before it has been moved; none along runs that hardware
 * prefetches. */
static int64_t fetch_lines(const rlo__packed_block *b) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int64_t tile_columns = b->moves_rows ? b->num_columns : b->tile;
  int64_t tile_rows = b->moves_rows  ? 1
                      : b->is_direct ? RLO__CPU_LINE_BYTES / unit_bytes
                                     : b->tile;
  int64_t run_bytes = b->src_run_units * unit_bytes;
  if (run_bytes >= rlo__thresholds.plan_cpu_followed_bytes) {
    return 0;
  }
  int64_t lines = b->units / b->src_run_units *
                  (rlo__ceil_div(run_bytes, RLO__CPU_LINE_BYTES) + 1);
  int64_t tiles = b->units / (b->num_columns * b->num_rows) *
                  rlo__ceil_div(b->num_columns, tile_columns) *
                  rlo__ceil_div(b->num_rows, tile_rows);
  return rlo__ceil_div(lines, tiles);
}

/* The axes of a block, as arguments of the kernel. */
static rlo_status add_axes(const rlo_problem *problem,
                           const rlo__packed_block *b,
                           rlo__launch *launch) {
  int64_t lanes[NUM_VECTORS][RLO__GRID_MAX_AXES];
  int64_t columns = 0;
  int64_t rows = 0;
  int64_t runs = 0;
  int64_t fetches = 0;
  int32_t n = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (b->size[a] == 1) {
      continue;
    }
    lanes[0][n] = problem->extents[a];
    lanes[1][n] = b->size[a];
    lanes[2][n] = rlo__grid_find(&b->cpu.grid, a);
    lanes[3][n] = problem->src.axis[a];
    lanes[4][n] = problem->dst.axis[a];
    lanes[5][n] = b->stage_stride[a];
    int64_t bit = INT64_C(1) << n;
    columns |= (b->columns >> a & 1) != 0 ? bit : 0;
    rows |= (b->rows >> a & 1) != 0 ? bit : 0;
    runs |= rlo__axis_run_leads(&b->dst_run, b->num_dst_run_axes, a) ? bit : 0;
    fetches |=
        rlo__axis_run_leads(&b->src_run, b->num_src_run_axes, a) ? bit : 0;
    ++n;
  }
  RLO_TRY(rlo__grid_add_int(launch, n));
  for (int32_t v = 0; v < NUM_VECTORS; ++v) {
    RLO_TRY(rlo__grid_add_vector(&b->cpu, launch, lanes[v], n));
  }
  RLO_TRY(rlo__grid_add_int(launch, columns));
  RLO_TRY(rlo__grid_add_int(launch, rows));
  RLO_TRY(rlo__grid_add_int(launch, runs));
  return rlo__grid_add_int(launch, fetches);
}

static void describe(const rlo__packed_block *b, rlo__launch *launch) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int64_t src_run_bytes = b->src_run_units * unit_bytes;
  int64_t dst_run_bytes = b->dst_run_units * unit_bytes;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "%s %lldx%lld of %lld, runs of %lld and %lld bytes, units of "
                  "%lld bytes, %s",
                  b->moves_rows ? "rows" : "matrices",
                  (long long)b->num_columns,
                  (long long)b->num_rows,
                  (long long)b->units,
                  (long long)src_run_bytes,
                  (long long)dst_run_bytes,
                  (long long)unit_bytes,
                  rlo__grid_order_name(b->cpu.order));
  rlo__str_append(&words, b->is_direct ? ", direct" : ", staged");
  rlo__str_append(&words, b->cpu.is_nontemporal ? ", non-temporal stores" : "");
}

static rlo_status emit_block(const rlo__family_query *query,
                             const rlo__packed_block *b,
                             rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  const rlo__grid_plan *cpu = &b->cpu;
  int64_t first;
  int64_t last;
  if (!rlo__form_range(problem, &problem->src, &first, &last)) {
    return rlo__fail_overflow("a position of the source");
  }
  RLO_TRY(rlo__grid_begin(query, cpu, "cpu_packed", launch));
  int64_t blocks = rlo__grid_join_groups(
      query,
      b->units * cpu->geometry.unit_bytes,
      rlo__schedule_group_bytes(&query->schedule,
                                rlo__thresholds.plan_cpu_group_bytes),
      launch);
  RLO_TRY(add_defines(query, b, launch));
  RLO_TRY(add_axes(problem, b, launch));
  RLO_TRY(rlo__grid_add_index(cpu, launch, blocks));
  RLO_TRY(rlo__grid_add_int(launch, fetch_lines(b)));
  RLO_TRY(rlo__grid_add_index(cpu, launch, last - problem->src.base + 1));
  describe(b, launch);
  return RLO_OK;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  rlo__geometry g = rlo__geometry_of(query);
  rlo__packed_cells cells;
  if (find_cells(query, &g, &cells)) {
    return rlo__packed_cells_emit(query, &cells, launch);
  }
  rlo__packed_block block;
  RLO_TRY(rlo__packed_block_choose(query, &g, &block));
  return emit_block(query, &block, launch);
}

const rlo__family rlo__family_cpu_packed = {
    "packed", RLO_DEVICE_CLASS_CPU, is_applicable, predict, emit, 0};
