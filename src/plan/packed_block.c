/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threshold.h"
#include "plan/packed.h"

#include "base/checked.h"
#include "base/status.h"

bool rlo__packed_block_is_possible(const rlo__family_query *query, const rlo__geometry *geometry,
                                   rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (geometry->run_axis < 0) {
    return true;
  }
  int64_t units = problem->extents[geometry->run_axis];
  if (units > RLO__PACKED_MAX_ROW_BYTES / geometry->unit_bytes) {
    return RLO__REFUSE(why, "its rows have %lld units; the longest that are packed have %d bytes",
                       (long long)units, RLO__PACKED_MAX_ROW_BYTES);
  }
  return true;
}

static void begin(const rlo_problem *problem, rlo__packed_block *b) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    b->size[a] = 1;
  }
  int32_t column = b->src_run.axes[0];
  int32_t row = b->dst_run.axes[0];
  if (b->moves_rows) {
    b->size[row] = problem->extents[row];
    return;
  }
  static const int64_t tiles[] = {16, 8, 8, 4, 4};
  b->tile = tiles[__builtin_ctzll((uint64_t)b->cpu.geometry.unit_bytes)];
  b->size[column] = rlo__min(problem->extents[column], b->tile);
  b->size[row] = rlo__min(problem->extents[row], b->tile);
}

/* Computes the fields that follow from the sizes. */
static void measure(const rlo_problem *problem, rlo__packed_block *b) {
  b->units = 1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    b->units *= b->size[a];
  }
  b->src_run_units = rlo__axis_run_units(&b->src_run, problem, b->size, &b->num_src_run_axes);
  b->dst_run_units = rlo__axis_run_units(&b->dst_run, problem, b->size, &b->num_dst_run_axes);
}

/* Distributes the axes of the runs to columns and rows, to the smaller number
 * first. An axis of both runs goes to one of them only. */
static void choose_matrix(rlo__packed_block *b) {
  b->columns = UINT32_C(1) << b->src_run.axes[0];
  b->num_columns = b->size[b->src_run.axes[0]];
  b->rows = 0;
  b->num_rows = 1;
  if (b->moves_rows) {
    return;
  }
  b->rows = UINT32_C(1) << b->dst_run.axes[0];
  b->num_rows = b->size[b->dst_run.axes[0]];
  int32_t column = 1;
  int32_t row = 1;
  bool has_more = true;
  while (has_more) {
    uint32_t column_bit = UINT32_C(1) << b->src_run.axes[column];
    uint32_t row_bit = UINT32_C(1) << b->dst_run.axes[row];
    bool can_column = (b->rows & column_bit) == 0 && column < b->num_src_run_axes &&
                      b->num_columns * b->size[b->src_run.axes[column]] <= RLO__PACKED_MAX_PLACES;
    bool can_row = (b->columns & row_bit) == 0 && row < b->num_dst_run_axes &&
                   b->num_rows * b->size[b->dst_run.axes[row]] <= RLO__PACKED_MAX_PLACES;
    has_more = can_column || can_row;
    if (can_column && (b->num_columns <= b->num_rows || !can_row)) {
      b->columns |= column_bit;
      b->num_columns *= b->size[b->src_run.axes[column++]];
    } else if (can_row) {
      b->rows |= row_bit;
      b->num_rows *= b->size[b->dst_run.axes[row++]];
    }
  }
}

/* Tells if a block fits into the kernel's stage and lists. */
static bool fits(const rlo_problem *problem, int64_t max_bytes, rlo__packed_block *b) {
  measure(problem, b);
  choose_matrix(b);
  const int64_t places[] = {b->num_columns, b->num_rows, b->units / b->num_columns / b->num_rows,
                            b->units / b->src_run_units, b->units / b->dst_run_units};
  bool is_listed = true;
  for (size_t n = 0; n < sizeof places / sizeof places[0]; ++n) {
    is_listed = is_listed && places[n] <= RLO__PACKED_MAX_PLACES;
  }
  return is_listed && b->units <= max_bytes / b->cpu.geometry.unit_bytes;
}

/* Lengthens a run: the block takes twice as many points of its next axis, or
 * as many as fit. False if none do. */
static bool grow(const rlo_problem *problem, int64_t max_bytes, const rlo__axis_run *run,
                 rlo__packed_block *b) {
  int32_t k = 0;
  while (k < run->num_axes && b->size[run->axes[k]] == problem->extents[run->axes[k]]) {
    ++k;
  }
  if (k == run->num_axes) {
    return false;
  }
  int32_t a = run->axes[k];
  int64_t before = b->size[a];
  for (int64_t quarters = 4; quarters >= 1; --quarters) {
    b->size[a] = rlo__min(problem->extents[a], before + rlo__ceil_div(before * quarters, 4));
    if (fits(problem, max_bytes, b)) {
      return true;
    }
  }
  b->size[a] = before;
  return false;
}

static void grow_all(const rlo_problem *problem, int64_t max_bytes, rlo__packed_block *b) {
  bool src_grows = true;
  bool dst_grows = true;
  while (src_grows || dst_grows) {
    measure(problem, b);
    if (src_grows && (b->src_run_units < b->dst_run_units || !dst_grows)) {
      src_grows = grow(problem, max_bytes, &b->src_run, b);
    } else {
      dst_grows = grow(problem, max_bytes, &b->dst_run, b);
    }
  }
}

/* The length of the blocks that an axis is cut into, at most `max`: if
 * possible a multiple of `multiple` that leaves at least `min_rest` points for
 * the last block. */
static int64_t cut(int64_t extent, int64_t max, int64_t multiple, int64_t min_rest) {
  int64_t second = 0;
  for (int64_t size = max; size >= min_rest && size > max / 2; --size) {
    int64_t rest = extent % size;
    if (rest != 0 && rest < min_rest) {
      continue;
    }
    if (size % multiple == 0) {
      return size;
    }
    second = second == 0 ? size : second;
  }
  return second == 0 ? max : second;
}

static void cut_all(const rlo_problem *problem, int64_t max_bytes, rlo__packed_block *b) {
  measure(problem, b);
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int32_t src_last = b->src_run.axes[b->num_src_run_axes - 1];
  int32_t dst_last = b->dst_run.axes[b->num_dst_run_axes - 1];
  int64_t src_inner = b->src_run_units / b->size[src_last];
  int64_t dst_inner = b->dst_run_units / b->size[dst_last];
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (b->size[a] == problem->extents[a]) {
      continue;
    }
    int64_t multiple = 1;
    int64_t min_rest = 1;
    if (!b->moves_rows && a == src_last) {
      multiple = b->tile / rlo__gcd(b->tile, src_inner);
      min_rest = rlo__ceil_div(b->tile, src_inner);
    }
    if (a == dst_last) {
      int64_t bytes = dst_inner * unit_bytes;
      multiple = RLO__CPU_LINE_BYTES / rlo__gcd(RLO__CPU_LINE_BYTES, bytes);
      if (!b->moves_rows) {
        min_rest = rlo__ceil_div(b->tile, dst_inner);
      }
    }
    int64_t before = b->size[a];
    b->size[a] = cut(problem->extents[a], before, multiple, min_rest);
    if (!fits(problem, max_bytes, b)) {
      b->size[a] = before;
    }
  }
  measure(problem, b);
  choose_matrix(b);
}

/* The stage holds the runs of the destination one after another. */
static void lay_stage(const rlo_problem *problem, rlo__packed_block *b) {
  int64_t stride = 1;
  for (int32_t k = 0; k < b->num_dst_run_axes; ++k) {
    b->stage_stride[b->dst_run.axes[k]] = stride;
    stride *= b->size[b->dst_run.axes[k]];
  }
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (!rlo__axis_run_leads(&b->dst_run, b->num_dst_run_axes, a)) {
      b->stage_stride[a] = stride;
      stride *= b->size[a];
    }
  }
}

/* Tells if each line of rows, or each row that is moved whole, is whole and
 * aligned in every block. */
static bool can_go_direct(const rlo__family_query *query, const rlo__packed_block *b) {
  const rlo_problem *problem = query->problem;
  int64_t unit_bytes = b->cpu.geometry.unit_bytes;
  int64_t line_units = RLO__CPU_LINE_BYTES / unit_bytes;
  uint32_t rows = b->moves_rows ? b->columns : b->rows;
  int64_t inner = 1;
  for (int32_t k = 0; k < b->num_dst_run_axes; ++k) {
    int32_t a = b->dst_run.axes[k];
    if ((rows >> a & 1) != 0) {
      int64_t rest = problem->extents[a] % b->size[a];
      if (rest * inner % line_units != 0) {
        return false;
      }
      inner *= b->size[a];
    }
  }
  int64_t align = rlo__grid_dst_alignment(query, &b->cpu.grid, -1, RLO__CPU_LINE_BYTES);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (b->size[a] > 1 && (rows >> a & 1) == 0) {
      align = rlo__alignment_after(align, problem->dst.axis[a] * unit_bytes, RLO__CPU_LINE_BYTES);
    }
  }
  return inner % line_units == 0 && align == RLO__CPU_LINE_BYTES &&
         (b->moves_rows || (unit_bytes < 16 && query->device->has_vector_shuffle));
}

/* Tells if runs have whole lines: long runs, or runs that begin and end with a
 * line. */
static bool has_lines(const rlo__family_query *query, const rlo__packed_block *b) {
  int64_t run_bytes = b->dst_run_units * b->cpu.geometry.unit_bytes;
  return run_bytes >= RLO__CPU_MIN_LINED_BYTES ||
         (run_bytes % RLO__CPU_LINE_BYTES == 0 &&
          rlo__grid_dst_alignment(query, &b->cpu.grid, -1, RLO__CPU_LINE_BYTES) ==
              RLO__CPU_LINE_BYTES);
}

/* Chooses a block of at most `max_bytes`. */
static void choose(const rlo__family_query *query, const rlo__geometry *geometry, int64_t max_bytes,
                   rlo__packed_block *b) {
  const rlo_problem *problem = query->problem;
  *b = (rlo__packed_block){.cpu = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *cpu = &b->cpu;
  b->moves_rows = geometry->run_axis >= 0;
  b->dst_run = rlo__axis_run_find(problem, &problem->dst, geometry->dst_axis);
  b->src_run = rlo__axis_run_find(problem, &problem->src,
                                  b->moves_rows ? geometry->run_axis : geometry->src_axis);
  begin(problem, b);
  grow_all(problem, max_bytes, b);
  cut_all(problem, max_bytes, b);
  lay_stage(problem, b);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__grid_add_axis(&cpu->grid, problem, a, b->size[a]);
  }
  const int32_t plane_axes[2] = {b->src_run.axes[0], b->dst_run.axes[0]};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  b->is_direct = can_go_direct(query, b);
  cpu->is_nontemporal =
      rlo__cpu_wants_nontemporal(query, geometry) && (b->is_direct || has_lines(query, b));
}

void rlo__packed_block_choose(const rlo__family_query *query, const rlo__geometry *geometry,
                              rlo__packed_block *out_block) {
  if (geometry->run_axis < 0) {
    choose(query, geometry, rlo__thresholds.plan_cpu_direct_block_bytes, out_block);
    if (out_block->is_direct) {
      return;
    }
  }
  choose(query, geometry, rlo__thresholds.plan_cpu_staged_block_bytes, out_block);
}
