/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_grid.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/rewrite.h"

int64_t rlo__grid_num_parts(const rlo__piece_grid *grid, int32_t axis) {
  int64_t extent = grid->problem->extents[axis];
  int64_t box = grid->box[axis];
  int64_t piece = grid->piece[axis];
  return extent / box * rlo__ceil_div(box, piece) + rlo__ceil_div(extent % box, piece);
}

rlo_status rlo__grid_count(const rlo__piece_grid *grid, int64_t *out_count) {
  *out_count = 1;
  for (int32_t a = 0; a < grid->problem->num_axes; ++a) {
    if (!rlo__mul(*out_count, rlo__grid_num_parts(grid, a), out_count)) {
      return rlo__fail_overflow("the number of pieces");
    }
  }
  return RLO_OK;
}

rlo__range rlo__grid_part(const rlo__piece_grid *grid, int32_t axis, int64_t part) {
  int64_t box = grid->box[axis];
  int64_t piece = grid->piece[axis];
  int64_t per_box = rlo__ceil_div(box, piece);
  int64_t box_begin = part / per_box * box;
  int64_t begin = box_begin + part % per_box * piece;
  int64_t end = rlo__min(box_begin + box, grid->problem->extents[axis]);
  return (rlo__range){begin, rlo__min(begin + piece, end)};
}

/* How far one step along an axis moves a form, in the mean. */
static double step_along(const rlo_problem *problem, const rlo_form *form, int32_t axis) {
  double steps[RLO_MAX_TERMS];
  double step = (double)form->axis[axis];
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    steps[t] = (double)term->form.axis[axis];
    for (int32_t u = 0; u < t; ++u) {
      steps[t] += (double)term->form.term[u] * steps[u];
    }
    steps[t] /= (double)rlo__max(term->divisor, 1);
    step += (double)form->term[t] * steps[t];
  }
  return step;
}

int64_t rlo__grid_inner_step(const rlo_problem *problem, const rlo_form *form) {
  int64_t step = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    const int64_t along = form->axis[a] == 0 ? step : problem->src.axis[a] / form->axis[a];
    if (along * form->axis[a] != problem->src.axis[a] * (form->axis[a] != 0) ||
        (step != 0 && along != step)) {
      return 0;
    }
    step = along;
  }
  return step;
}

void rlo__grid_rank_axes(const rlo_problem *problem, rlo__problem_side side,
                         int32_t out_axes[RLO_MAX_AXES], double out_steps[RLO_MAX_AXES]) {
  double steps[RLO_MAX_AXES];
  /* The canonical order is by falling steps in the destination. */
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    int32_t axis = problem->num_axes - 1 - n;
    steps[axis] = step_along(problem, rlo__side_form(problem, side), axis);
    int32_t place = n;
    for (; place > 0 && fabs(steps[out_axes[place - 1]]) > fabs(steps[axis]); --place) {
      out_axes[place] = out_axes[place - 1];
    }
    out_axes[place] = axis;
  }
  if (out_steps != NULL) {
    memcpy(out_steps, steps, sizeof steps);
  }
}

int64_t rlo__grid_whole_bits(const rlo_problem *problem, rlo__problem_side side) {
  int64_t bits = rlo__side_unit_bits(problem, side);
  return bits / rlo__gcd(bits, 8) * 8;
}

int64_t rlo__grid_wide_granule(const rlo_problem *problem, rlo__problem_side side,
                               int64_t granule_bytes) {
  const int64_t whole = rlo__grid_whole_bits(problem, side);
  const int64_t granule = rlo__mul_capped(granule_bytes, 8);
  return rlo__mul_capped(whole / rlo__gcd(whole, granule), granule_bytes);
}

void rlo__grid_drop_guards(rlo_problem *problem, int64_t granule_bytes) {
  const int64_t granule_bits = rlo__mul_capped(granule_bytes, 8);
  const int64_t bits = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  for (int32_t g = problem->num_guards - 1; g >= 0; --g) {
    bool is_between = false;
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      const int64_t step = rlo__mul_capped(rlo__abs(problem->dst.axis[a]), bits);
      is_between = is_between || (problem->guards[g].form.axis[a] != 0 && step % granule_bits == 0);
    }
    if (is_between) {
      rlo__rewrite_remove_guard(problem, g);
    }
  }
}

rlo_status rlo__grid_fill(const rlo_problem *part, int64_t granule_bytes, int64_t storage_bytes,
                          rlo__lattice *lattice) {
  const rlo__lattice filled = rlo__lattice_fill(lattice, granule_bytes, storage_bytes);
  rlo_problem *packed = rlo__alloc_unset(sizeof *packed);
  RLO_TRY_MEMORY(packed);
  const rlo_status status = rlo__problem_rebase(part, RLO__SIDE_DESTINATION, &filled, packed);
  rlo__free(packed);
  *lattice = status == RLO_OK ? filled : *lattice;
  return status == RLO_OUT_OF_MEMORY ? status : RLO_OK;
}

/* The granules of what a part writes, and would write without guards. */
static rlo_status fill_granules(const rlo_problem *part, int64_t granule_bytes,
                                int64_t storage_bytes, rlo__lattice *out) {
  rlo_problem *bare = rlo__alloc(sizeof *bare);
  RLO_TRY_MEMORY(bare);
  *bare = *part;
  rlo__grid_drop_guards(bare, granule_bytes);
  bool is_hull;
  rlo_status status = rlo__problem_packing(bare, RLO__SIDE_DESTINATION, out, &is_hull);
  if (status == RLO_OK) {
    status = rlo__grid_fill(bare, granule_bytes, storage_bytes, out);
  }
  rlo__free(bare);
  return status;
}

rlo_status rlo__grid_moved(const rlo_problem *part, rlo__problem_side side, int64_t granule_bytes,
                           int64_t storage_bytes, bool is_of_chunk, rlo__lattice *out) {
  bool is_hull;
  RLO_TRY(rlo__problem_packing(part, side, out, &is_hull));
  const bool is_granular = rlo__lattice_is_granular(out, granule_bytes, storage_bytes);
  if ((granule_bytes == 1 && !is_of_chunk) || (is_granular && part->num_guards == 0)) {
    return RLO_OK;
  }
  if (side == RLO__SIDE_DESTINATION) {
    return is_granular ? RLO_OK : fill_granules(part, granule_bytes, storage_bytes, out);
  }
  const int64_t wide = rlo__grid_wide_granule(part, side, granule_bytes);
  rlo__lattice span;
  RLO_TRY(rlo__problem_span(part, side, &span));
  span = rlo__lattice_widen(&span, wide, storage_bytes);
  *out = is_granular ? *out : rlo__lattice_widen(out, wide, storage_bytes);
  *out = span.run_bytes < rlo__lattice_bytes(out) ? span : *out;
  return RLO_OK;
}

int64_t rlo__grid_atom(const rlo__piece_grid *grid, int32_t axis) {
  const rlo_problem *problem = grid->problem;
  int64_t atom = 1;
  for (int n = RLO__SIDE_SOURCE; n <= RLO__SIDE_DESTINATION; ++n) {
    rlo__problem_side side = (rlo__problem_side)n;
    int64_t whole =
        rlo__mul_capped(rlo__grid_wide_granule(problem, side, grid->granule_bytes[n]), 8);
    int64_t step = rlo__mul_capped(rlo__abs(rlo__side_form(problem, side)->axis[axis]),
                                   rlo__side_unit_bits(problem, side));
    int64_t least = whole / rlo__gcd(whole, step);
    atom = rlo__mul_capped(atom / rlo__gcd(atom, least), least);
  }
  return rlo__min(atom, problem->extents[axis]);
}

/** Positions along an axis, in bits: `width` is from the first to the last.
 * They are those of a part, or where parts begin. */
typedef struct stretch {
  int64_t stride, width;
  bool is_between;
} stretch;

/* Adds a stretch in the order of rising strides. */
static void add_stretch(stretch *list, int32_t *count, stretch added) {
  int32_t place = (*count)++;
  for (; place > 0 && list[place - 1].stride > added.stride; --place) {
    list[place] = list[place - 1];
  }
  list[place] = added;
}

/* Splits an axis into the steps inside of a part and those of parts. Steps of a
 * fraction of a byte add to *fraction. False if a part would begin inside of a
 * byte, and beyond 64 bits. */
static bool split_axis(const rlo_problem *problem, int32_t axis, int64_t part, int64_t *fraction,
                       stretch *list, int32_t *count) {
  int64_t bits = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  int64_t whole = rlo__grid_whole_bits(problem, RLO__SIDE_DESTINATION);
  int64_t stride;
  int64_t step;
  int64_t all;
  if (!rlo__mul(problem->dst.axis[axis], bits, &stride) || !rlo__mul(stride, part, &step) ||
      !rlo__mul(stride, problem->extents[axis] - 1, &all)) {
    return false;
  }
  int64_t width = stride * (part - 1);
  if (stride % whole != 0) {
    *fraction = rlo__add_capped(*fraction, width);
  } else if (width > 0) {
    add_stretch(list, count, (stretch){stride, width, false});
  }
  if (part < problem->extents[axis]) {
    add_stretch(list, count, (stretch){step, all - width, true});
    return step % whole == 0;
  }
  return true;
}

/* Tells if each position is in the destination, also that of skipped points,
 * when rounded to whole bytes, and the first one is between bytes. */
static bool is_inside(const rlo_problem *problem) {
  int64_t bits = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  int64_t whole = rlo__grid_whole_bits(problem, RLO__SIDE_DESTINATION);
  int64_t min;
  int64_t max;
  int64_t end;
  return rlo__form_range(problem, &problem->dst, &min, &max) && min >= 0 &&
         rlo__mul_add(bits, max, bits, &end) && rlo__round_up(end, whole, &end) &&
         end <= rlo__mul_capped(problem->dst_bytes, 8) &&
         problem->dst.base % whole * bits % whole == 0;
}

bool rlo__grid_writes_apart(const rlo_problem *problem, const int64_t *part, bool has_hulls) {
  stretch list[2 * RLO_MAX_AXES];
  int32_t count = 0;
  int64_t span = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  if (!is_inside(problem)) {
    return false;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!split_axis(problem, a, part[a], &span, list, &count)) {
      return false;
    }
  }
  if (!rlo__round_up(span, rlo__grid_whole_bits(problem, RLO__SIDE_DESTINATION), &span)) {
    return false;
  }
  bool has_between = false;
  for (int32_t n = 0; n < count; ++n) {
    has_between = has_between || list[n].is_between;
    if (list[n].stride < span || (has_hulls && has_between && !list[n].is_between)) {
      return false;
    }
    span = rlo__add_capped(span, list[n].width);
  }
  return true;
}
