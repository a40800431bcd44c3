/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/problem.h"
#include "ir/rewrite.h"
#include "plan/grid.h"
#include "plan/specialized.h"

/*
 * Family bits, of both classes (cl/bits.cl): moves units that are not 1, 2, 4,
 * 8 or 16 bytes, byte after byte of the destination. The problem is compiled
 * into the program.
 */

/* Bytes that a work-item writes. On GPUs neighbouring work-items write
 * neighbouring words. */
enum { GPU_SEGMENT_BYTES = 4 };

/* A hull may be larger than its cells by this factor before it is cut into
 * rows; all of its bytes are visited. */
enum { MAX_HULL_FACTOR = 2 };

/* ------------------------------------------------------------------- levels */

/** Axes that continue each other in the destination, as one axis of `count`
 *  places: place p stands for the coordinates of first + p. */
typedef struct level {
  int64_t stride;
  int64_t count, first;
  /** The axes [first_axis, end_axis) of the problem. */
  int32_t first_axis, end_axis;
} level;

/** The destination's form, ready to be solved: levels of falling stride, each
 *  of which reaches beyond all later ones. */
typedef struct level_list {
  int32_t count;
  level items[RLO_MAX_AXES];
  /** The step of each axis within its level. */
  int64_t steps[RLO_MAX_AXES];
} level_list;

/* How a form counts groups of places of a level, `group` places in each:
 * factor * floor(place / group) + base, and if it is not exact something more
 * that is 0 or has the sign of the factor. */
typedef struct place_count {
  int64_t factor, group;
  bool is_exact;
} place_count;

/* Tells if a form counts the groups that the axes [first_axis, inner] of a
 * level count. */
static bool counts_groups(const rlo_problem *problem, const level_list *levels, const level *l,
                          int32_t inner, const rlo_form *form, place_count *out) {
  int64_t factor = form->axis[inner];
  int64_t group = levels->steps[inner];
  *out = (place_count){.factor = factor, .group = group, .is_exact = true};
  bool counts = factor != 0 && !rlo__form_has_terms(problem, form);
  for (int32_t a = 0; counts && a < problem->num_axes; ++a) {
    int64_t step = form->axis[a];
    int64_t expected;
    if (a >= l->first_axis && a <= inner) {
      counts = levels->steps[a] % group == 0 &&
               rlo__mul(factor, levels->steps[a] / group, &expected) && step == expected;
    } else {
      counts = step == 0 || (step > 0) == (factor > 0);
      out->is_exact = out->is_exact && step == 0;
    }
  }
  return counts;
}

static bool counts_places(const rlo_problem *problem, const level_list *levels, const level *l,
                          const rlo_form *form, place_count *out) {
  for (int32_t inner = l->end_axis - 1; inner >= l->first_axis; --inner) {
    if (counts_groups(problem, levels, l, inner, form, out)) {
      return true;
    }
  }
  return false;
}

/* Leaves out the places that SKIP guards exclude, such as the overhang of a
 * tile: without them levels do not overlap. Returns whether there were some. */
static bool cut_by_guards(const rlo_problem *problem, const level_list *levels, level *l) {
  int64_t first = 0;
  int64_t end = l->count;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    place_count places;
    if (guard->kind != RLO_GUARD_SKIP ||
        !counts_places(problem, levels, l, &guard->form, &places)) {
      continue;
    }
    int64_t step = places.factor;
    int64_t group = places.group;
    int64_t base = guard->form.base;
    int64_t last = guard->limit - 1;
    int64_t from = step > 0 ? -rlo__floor_div(base, step) : -rlo__floor_div(last - base, -step);
    int64_t to = step > 0 ? rlo__floor_div(last - base, step) : rlo__floor_div(base, -step);
    if (places.is_exact) {
      first = rlo__max(first, rlo__min(from, l->count) * group);
    }
    end = rlo__min(end, rlo__min(to + 1, l->count) * group);
  }
  if (first >= end || (first == 0 && end == l->count)) {
    return false;
  }
  l->first = first;
  l->count = end - first;
  return true;
}

/* Tells if the axis before those of a level continues them. */
static bool is_continued(const rlo_problem *problem, const level *l) {
  int64_t next;
  return l->first_axis > 0 && l->first == 0 && rlo__mul(l->stride, l->count, &next) &&
         problem->dst.axis[l->first_axis - 1] == next;
}

/* Finds the levels. False if some overlap, so that a place does not tell its
 * point. */
static bool find_levels(const rlo_problem *problem, level_list *out) {
  const int64_t *strides = problem->dst.axis;
  out->count = 0;
  int64_t reach = 0;
  for (int32_t end = problem->num_axes; end > 0;) {
    level l = {.end_axis = end, .first_axis = end - 1};
    l.stride = strides[l.first_axis];
    l.count = problem->extents[l.first_axis];
    out->steps[l.first_axis] = 1;
    while (is_continued(problem, &l) ||
           (cut_by_guards(problem, out, &l) && is_continued(problem, &l))) {
      --l.first_axis;
      out->steps[l.first_axis] = l.count;
      l.count *= problem->extents[l.first_axis];
    }
    if (l.stride <= reach) {
      return false;
    }
    reach += l.stride * (l.count - 1);
    out->items[out->count++] = l;
    end = l.first_axis;
  }
  for (int32_t k = 0; k < out->count / 2; ++k) {
    level swapped = out->items[k];
    out->items[k] = out->items[out->count - 1 - k];
    out->items[out->count - 1 - k] = swapped;
  }
  return true;
}

/* --------------------------------------------------------------------- rows */

/** The bytes of the destination as rows that share none. */
typedef struct row_cut {
  /** Leading levels that count rows, and how many rows there are. */
  int32_t levels;
  int64_t rows;
  /** Position of the first row; cells and bytes of a row. */
  int64_t first, cells, bytes;
} row_cut;

/* Cuts so that `levels` of the levels count rows. False if rows would not begin
 * at the same bit of a byte, or would share one. */
static bool cut_rows(const level_list *list, int64_t first, int32_t levels, int64_t byte_cells,
                     row_cut *out) {
  *out = (row_cut){.levels = levels, .rows = 1, .first = first, .cells = 1};
  for (int32_t k = levels; k < list->count; ++k) {
    out->cells += list->items[k].stride * (list->items[k].count - 1);
  }
  out->bytes = rlo__ceil_div(rlo__floor_mod(first, byte_cells) + out->cells, byte_cells);
  int64_t reach = 0;
  for (int32_t k = levels - 1; k >= 0; --k) {
    const level *l = &list->items[k];
    if (l->stride % byte_cells != 0 || l->stride - reach < out->bytes * byte_cells) {
      return false;
    }
    reach += l->stride * (l->count - 1);
    out->rows *= l->count; /* fits: each row has cells of its own */
  }
  return true;
}

/* Chooses the longest rows that are not mostly gaps. */
static row_cut choose_rows(const rlo_problem *problem, const level_list *list, int64_t byte_cells) {
  int64_t first = problem->dst.base;
  for (int32_t k = 0; k < list->count; ++k) {
    first += list->items[k].stride * list->items[k].first;
  }
  row_cut chosen;
  (void)cut_rows(list, first, 0, byte_cells, &chosen);
  for (int32_t levels = 0; levels <= list->count; ++levels) {
    row_cut cut;
    int64_t cells = 1;
    for (int32_t k = levels; k < list->count; ++k) {
      cells *= list->items[k].count;
    }
    if (cut_rows(list, first, levels, byte_cells, &cut)) {
      chosen = cut;
    }
    if (chosen.levels == levels && chosen.cells / MAX_HULL_FACTOR <= cells) {
      break;
    }
  }
  return chosen;
}

/* ------------------------------------------------------------------- launch */

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  int32_t bits = problem->unit_bits;
  if (bits % 8 == 0 && (bits & (bits - 1)) == 0) {
    return RLO__REFUSE(why, "units of %d bytes, which other kernels move", bits / 8);
  }
  level_list levels;
  if (!find_levels(problem, &levels)) {
    return RLO__REFUSE(why, "its axes overlap in the destination");
  }
  return true;
}

static rlo_status define_levels(const level_list *list, int32_t num_axes, rlo__launch *launch) {
  enum { LEVEL_NUMBERS = 5 };

  int64_t numbers[RLO_MAX_AXES * LEVEL_NUMBERS];
  int32_t count = 0;
  for (int32_t k = 0; k < list->count; ++k) {
    const level *l = &list->items[k];
    const int64_t of_level[LEVEL_NUMBERS] = {l->stride, l->count, l->first, l->first_axis,
                                             l->end_axis};
    memcpy(numbers + count, of_level, sizeof of_level);
    count += LEVEL_NUMBERS;
  }
  if (count == 0) {
    return RLO_OK;
  }
  RLO_TRY(rlo__launch_define_list(launch, "RLO_LEVEL_LIST", numbers, count));
  return rlo__launch_define_list(launch, "RLO_AXIS_STEPS", list->steps, num_axes);
}

/* Tells if neighbours along the last axis are neighbours in the destination,
 * and no term tells them apart. */
static bool has_runs(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  bool has = last >= 0 && problem->dst.axis[last] == 1;
  for (int32_t t = 0; has && t < problem->num_terms; ++t) {
    has = problem->terms[t].form.axis[last] == 0;
  }
  return has;
}

static rlo_status cut_segments(const rlo_problem *problem, const row_cut *rows,
                               const rlo__family_query *query, rlo__partition *out) {
  bool is_gpu = query->device_class == RLO_DEVICE_CLASS_GPU;
  rlo__partition cut = {.local = is_gpu ? rlo__gpu_local_items(query->device) : 1};
  cut.segment = rlo__min(rows->bytes,
                         is_gpu ? GPU_SEGMENT_BYTES : rlo__thresholds.plan_cpu_bits_segment_bytes);
  cut.row_segments = rlo__ceil_div(rows->bytes, cut.segment);
  RLO_FAIL_IF(!rlo__mul(cut.row_segments, rows->rows, &cut.segments), RLO_OVERFLOW,
              "the segments of all rows exceed 64 bits");
  int64_t byte_cells = 8 / problem->unit_bits;
  cut.fits_32_bits =
      cut.segments <= INT32_MAX - cut.local &&
      rows->bytes <= INT32_MAX / byte_cells - rlo__thresholds.plan_cpu_bits_segment_bytes;
  *out = cut;
  return RLO_OK;
}

/* Writes the launch of a query whose units are cut into `parts` of 1, 2, 4 or 8
 * bits, of which the fill has `fill_parts`. */
static rlo_status emit_parts(const rlo__family_query *query, const rlo_problem *parts,
                             int32_t fill_parts, rlo__launch *launch) {
  level_list levels;
  bool is_found = find_levels(parts, &levels);
  assert(is_found);
  (void)is_found;
  row_cut rows = choose_rows(parts, &levels, 8 / parts->unit_bits);
  rlo__partition cut;
  RLO_TRY(cut_segments(parts, &rows, query, &cut));
  const rlo__constant constants[] = {
      {"RLO_BITS", parts->unit_bits},
      {"RLO_FILL_PARTS", fill_parts},
      {"RLO_INDEX32", rlo__specialized_fits_32_bits(parts) && cut.fits_32_bits},
      {"RLO_LOCAL", cut.local},
      {"RLO_RUNS", has_runs(parts)},
      {"RLO_LEVELS", levels.count},
      {"RLO_ROW_LEVELS", rows.levels},
      {"RLO_FIRST", rows.first},
      {"RLO_ROW_CELLS", rows.cells},
      {0}};
  RLO_TRY(rlo__specialized_begin(query->problem, "bits", launch));
  RLO_TRY(rlo__launch_define_all(launch, constants));
  RLO_TRY(rlo__specialized_define(parts, launch));
  RLO_TRY(define_levels(&levels, parts->num_axes, launch));
  RLO_TRY(rlo__partition_emit(&cut, 1, launch));
  rlo__launch_describe(
      launch, "elements of %d bits, %lld rows of %lld bytes, segments of %lld, %d %s, %d guards",
      parts->unit_bits, (long long)rows.rows, (long long)rows.bytes, (long long)cut.segment,
      parts->num_terms, rlo_problem_loads(parts) ? "terms" : "quotients", parts->num_guards);
  return RLO_OK;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  int32_t bits = problem->unit_bits & -problem->unit_bits;
  bits = bits < 8 ? bits : 8;
  rlo_problem *parts = rlo__alloc(sizeof *parts);
  RLO_TRY_MEMORY(parts);
  *parts = *problem;
  bool is_fill_whole = !rlo__problem_uses_fill(problem) || rlo__fill_repeats(problem, bits);
  int32_t fill_parts = is_fill_whole ? 1 : problem->unit_bits / bits;
  rlo_status status = bits != problem->unit_bits ? rlo__narrow(parts, bits) : RLO_OK;
  if (status == RLO_OK) {
    status = emit_parts(query, parts, fill_parts, launch);
  }
  rlo__free(parts);
  return status;
}

/* Tells if runs of elements are copied, though at another bit of a byte. */
static bool is_streaming(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  return last < 0 || (has_runs(problem) && problem->src.axis[last] == 1);
}

/* On CPUs measured with elements of 4 bits: each that is found by itself takes
 * a line of the source. On GPUs a guess: a work-item writes four bytes, element
 * by element. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  bool is_gpu = query->device_class == RLO_DEVICE_CLASS_GPU;
  if (is_streaming(query->problem)) {
    return is_gpu ? 0.15 : 0.25;
  }
  return is_gpu ? 0.05 : 0.01;
}

const rlo__family rlo__family_cpu_bits = {
    "bits", RLO_DEVICE_CLASS_CPU, judge, emit,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_BITS};

const rlo__family rlo__family_gpu_bits = {
    "bits", RLO_DEVICE_CLASS_GPU, judge, emit,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_BITS};
