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
  if (query->device->device_class == RLO_DEVICE_CLASS_GPU) {
    return RLO__REFUSE(why, "a work-item keeps lists of up to 120 KiB, which is for CPUs alone");
  }
  if (problem->num_axes > RLO__GRID_MAX_AXES || (problem->num_axes > 8 && !g.fits_32_bits)) {
    return RLO__REFUSE(why, "it has %d axes", problem->num_axes);
  }
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards", problem->num_guards);
  }
  if (g.dst_axis < 0 || (g.run_axis < 0 && g.src_axis < 0)) {
    return RLO__REFUSE(why, "no axis has stride 1 on one of the sides");
  }
  return rlo__packed_block_is_possible(query, &g, why) &&
         rlo__grid_is_within_limits(query, &g, problem->num_axes, NUM_SCALARS, why);
}

/* Tells if a problem has cells, which are preferred to blocks. */
static bool find_cells(const rlo__family_query *query, const rlo__geometry *geometry,
                       rlo__packed_cells *out_cells) {
  return geometry->run_axis < 0 && rlo__packed_cells_find(query, geometry, out_cells);
}

/* Rows that family rows writes between two that are neighbours in the
 * destination: that many places are written alternately. */
static double rows_between(const rlo_problem *problem, const rlo__packed_block *b) {
  if (b->dst_run.num_axes < 2) {
    return 1.0;
  }
  int32_t run = b->dst_run.axes[0];
  int32_t next = b->dst_run.axes[1];
  double rows = 1.0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && rlo__abs(problem->src.axis[a]) < rlo__abs(problem->src.axis[next])) {
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
  return problem->extents[next] * b->num_columns * unit_bytes >= MIN_STREAM_BYTES &&
         rows_between(problem, b) <= (double)MAX_PLACES;
}

/* The best prediction for rows that are moved whole. */
#define MOST_OF_ROWS 0.82

/* Rows that are moved whole. Rows that share lines cost per row; rows of whole
 * lines are as fast with family rows, unless they are so short that it jumps
 * too often. */
static double predict_rows(const rlo_problem *problem, const rlo__packed_block *b) {
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
  return g->box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes ? 0.85 * most : most;
}

/* Matrices: partial tiles and the ends of short runs cost extra. */
static double predict_matrices(const rlo__packed_block *b) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  double fraction = most_of_matrices(&b->cpu.geometry);
  fraction *=
      rlo__grid_fullness(b->num_columns, b->tile) * rlo__grid_fullness(b->num_rows, b->tile);
  double src_bytes = (double)(b->src_run_units * unit_bytes);
  double dst_bytes = (double)(b->dst_run_units * unit_bytes);
  double run = src_bytes < dst_bytes ? src_bytes : dst_bytes;
  /* The same where lines are staged: 0.56 against 0.26 (f32 95x75x97x77
   * reversed). */
  if (b->cpu.geometry.box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes && !b->is_direct) {
    fraction *= 0.7 / 0.85;
  }
  return fraction * run / (run + (b->is_direct ? 16.0 : 64.0));
}

/* From measurements. A small box is not worth a program of its own. Choosing a
 * block takes as long as all the other families' predictions together, and is
 * left out where it cannot matter. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  rlo__geometry g = rlo__geometry_of(query);
  rlo__packed_cells cells;
  rlo__packed_block block;
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
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
  rlo__packed_block_choose(query, &g, &block);
  return block.moves_rows ? predict_rows(query->problem, &block) : predict_matrices(&block);
}

/* Lines to prefetch with each tile or row, so that a block is in the caches
 * when the block before it has been moved; none along runs that hardware
 * prefetches. */
static int64_t fetch_lines(const rlo__packed_block *b) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int64_t tile_columns = b->moves_rows ? b->num_columns : b->tile;
  int64_t tile_rows = b->moves_rows ? 1 : b->is_direct ? RLO__CPU_LINE_BYTES / unit_bytes : b->tile;
  int64_t run_bytes = b->src_run_units * unit_bytes;
  if (run_bytes >= rlo__thresholds.plan_cpu_followed_bytes) {
    return 0;
  }
  int64_t lines = b->units / b->src_run_units * (rlo__ceil_div(run_bytes, RLO__CPU_LINE_BYTES) + 1);
  int64_t tiles = b->units / (b->num_columns * b->num_rows) *
                  rlo__ceil_div(b->num_columns, tile_columns) *
                  rlo__ceil_div(b->num_rows, tile_rows);
  return rlo__ceil_div(lines, tiles);
}

static void describe(const rlo__packed_block *b, rlo__launch *launch) {
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  rlo__launch_describe(
      launch, "%s %lldx%lld of %lld, runs of %lld and %lld bytes, units of %lld bytes, %s%s%s",
      b->moves_rows ? "rows" : "matrices", (long long)b->num_columns, (long long)b->num_rows,
      (long long)b->units, (long long)b->src_run_units * unit_bytes,
      (long long)b->dst_run_units * unit_bytes, (long long)unit_bytes,
      rlo__grid_order_name(b->cpu.order), b->is_direct ? ", direct" : ", staged",
      b->cpu.is_nontemporal ? ", non-temporal stores" : "");
}

/** The axes of a block as arguments of the kernel: those of more than a
 *  point. */
typedef struct axis_lists {
  int32_t count;
  int64_t lanes[NUM_VECTORS][RLO__GRID_MAX_AXES];
  /** Bit n: axis n is one of these. */
  int64_t columns, rows, runs, fetches;
} axis_lists;

static void list_axes(const rlo_problem *problem, const rlo__packed_block *b, axis_lists *out) {
  *out = (axis_lists){0};
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (b->size[a] == 1) {
      continue;
    }
    int32_t n = out->count++;
    const int64_t numbers[NUM_VECTORS] = {
        problem->extents[a],  b->size[a],           rlo__grid_find(&b->cpu.grid, a),
        problem->src.axis[a], problem->dst.axis[a], b->stage_stride[a]};
    for (int32_t v = 0; v < NUM_VECTORS; ++v) {
      out->lanes[v][n] = numbers[v];
    }
    bool is_run = rlo__axis_run_leads(&b->dst_run, b->num_dst_run_axes, a);
    bool is_fetched = rlo__axis_run_leads(&b->src_run, b->num_src_run_axes, a);
    out->columns |= (int64_t)(b->columns >> a & 1) << n;
    out->rows |= (int64_t)(b->rows >> a & 1) << n;
    out->runs |= (int64_t)is_run << n;
    out->fetches |= (int64_t)is_fetched << n;
  }
}

static rlo_status emit_block(const rlo__family_query *query, rlo__packed_block *b,
                             rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  int64_t first;
  int64_t last;
  int64_t blocks;
  if (!rlo__form_range(problem, &problem->src, &first, &last)) {
    return rlo__fail_overflow("a position of the source");
  }
  RLO_TRY(rlo__grid_join_groups(
      query, b->units * b->cpu.geometry.unit_bytes,
      rlo__schedule_group_bytes(&query->schedule, rlo__thresholds.plan_cpu_group_bytes), &b->cpu,
      &blocks));
  const rlo__constant constants[] = {{"RLO_VECTOR_SHUFFLE", query->device->has_vector_shuffle},
                                     {"RLO_PACKED_ROW", b->moves_rows ? b->num_columns : 0},
                                     {"RLO_PACKED_DIRECT", b->is_direct},
                                     {"RLO_PACKED_STAGE", RLO__PACKED_STAGE_BYTES},
                                     {"RLO_PACKED_PLACES", RLO__PACKED_MAX_PLACES},
                                     {b->moves_rows ? NULL : "RLO_PACKED_TILE", b->tile},
                                     {"RLO_PACKED_NA", rlo__min(b->num_columns, b->tile)},
                                     {"RLO_PACKED_NB", rlo__min(b->num_rows, b->tile)},
                                     {0}};
  axis_lists axes;
  list_axes(problem, b, &axes);
  const rlo__arg args[] = {rlo__arg_int(axes.count),
                           rlo__arg_vector(axes.lanes[0], axes.count),
                           rlo__arg_vector(axes.lanes[1], axes.count),
                           rlo__arg_vector(axes.lanes[2], axes.count),
                           rlo__arg_vector(axes.lanes[3], axes.count),
                           rlo__arg_vector(axes.lanes[4], axes.count),
                           rlo__arg_vector(axes.lanes[5], axes.count),
                           rlo__arg_int(axes.columns),
                           rlo__arg_int(axes.rows),
                           rlo__arg_int(axes.runs),
                           rlo__arg_int(axes.fetches),
                           rlo__arg_index(blocks),
                           rlo__arg_int(fetch_lines(b)),
                           rlo__arg_index(last - problem->src.base + 1),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, &b->cpu, "cpu_packed", constants, args, launch));
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
  rlo__packed_block_choose(query, &g, &block);
  return emit_block(query, &block, launch);
}

const rlo__family rlo__family_cpu_packed = {"packed", RLO_DEVICE_CLASS_CPU, judge, emit, 0};
