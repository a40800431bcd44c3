/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_grid.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/update.h"

typedef struct tallier {
  const rlo__piece_grid *grid;
  rlo__problem_side side;
  /** Where transfers begin and end, in bytes: 1 where units are whole granules,
   * at which every footprint does. */
  int64_t granule_bytes;
  /** Pieces of equal extents lie whole granules apart. */
  bool is_stepped;
  /** Granules are written whole, with what no piece writes. */
  bool is_filled;
  int32_t num_regions;
  /** The region of the grid that is looked at. */
  rlo__range ranges[RLO_MAX_AXES];
  rlo__tally sums;
  /** The most bytes that pieces of one kind have together. */
  int64_t most_bytes;
  /** Pieces of equal extents are known to differ. */
  bool has_difference;
  /** The first of a kind of pieces, and the begin of the last. */
  int64_t begins[RLO_MAX_AXES];
  int64_t ends[RLO_MAX_AXES];
  int64_t last_begins[RLO_MAX_AXES];
  rlo_problem part;
} tallier;

static int64_t memory_bytes(const rlo_problem *problem, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? problem->src_bytes : problem->dst_bytes;
}

/* The widest that a form can be over the extents of a piece anywhere: what
 * rlo__form_range() gives at most, less 1. */
static int64_t most_span(const tallier *t, const rlo_form *form, const int64_t *term_spans,
                         int32_t num_terms) {
  int64_t span = 0;
  for (int32_t a = 0; a < t->grid->problem->num_axes; ++a) {
    span = rlo__add_capped(span,
                           rlo__mul_capped(rlo__abs(form->axis[a]), t->ends[a] - t->begins[a] - 1));
  }
  for (int32_t n = 0; n < num_terms; ++n) {
    span = rlo__add_capped(span, rlo__mul_capped(rlo__abs(form->term[n]), term_spans[n]));
  }
  return span;
}

/* No footprint of a piece of these extents has more bytes. */
static int64_t most_bytes(const tallier *t) {
  const rlo_problem *problem = t->grid->problem;
  int64_t spans[RLO_MAX_TERMS];
  for (int32_t n = 0; n < problem->num_terms; ++n) {
    const rlo_term *term = &problem->terms[n];
    spans[n] = term->kind == RLO_TERM_LOAD
                   ? term->limit
                   : rlo__ceil_div(most_span(t, &term->form, spans, n), term->divisor);
  }
  int64_t units =
      rlo__add_capped(most_span(t, rlo__side_form(problem, t->side), spans, problem->num_terms), 1);
  int64_t bits = rlo__side_unit_bits(problem, t->side);
  int64_t bytes = units > INT64_MAX / bits ? INT64_MAX : units * bits / 8;
  /* Rounded at both ends to what is whole in units and in bytes. */
  bytes = bits % 8 == 0 ? bytes : rlo__add_capped(bytes, 2 * bits + 1);
  return rlo__min(bytes, memory_bytes(problem, t->side));
}

/* Tells if the range of a form over parts may depend on where they lie along an
 * axis: not through a load, which may give any index. */
static bool varies(const rlo_problem *problem, const rlo_form *form, int32_t axis) {
  bool is_moved[RLO_MAX_TERMS];
  bool is_form_moved = form->axis[axis] != 0;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_form *of_term = &problem->terms[t].form;
    is_moved[t] = of_term->axis[axis] != 0;
    for (int32_t u = 0; u < t; ++u) {
      is_moved[t] = is_moved[t] || (is_moved[u] && of_term->term[u] != 0);
    }
    is_moved[t] = is_moved[t] && problem->terms[t].kind == RLO_TERM_QUOTIENT;
    is_form_moved = is_form_moved || (is_moved[t] && form->term[t] != 0);
  }
  return is_form_moved;
}

/* The axis of most parts along which a form changes; `best` if that has as
 * many. */
static int32_t longest_axis(const tallier *t, const rlo_form *form, int32_t best) {
  const rlo_problem *problem = t->grid->problem;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t parts = t->ranges[a].end - t->ranges[a].begin;
    int64_t most = best < 0 ? 1 : t->ranges[best].end - t->ranges[best].begin;
    if (parts > most && varies(problem, form, a)) {
      best = a;
    }
  }
  return best;
}

/* How far the other pieces of the kind lie from [begins, ends), at most, in
 * bytes. False beyond 64 bits. */
static bool find_shifts(const tallier *t, int64_t *out_low, int64_t *out_high) {
  const rlo_problem *problem = t->grid->problem;
  const rlo_form *form = rlo__side_form(problem, t->side);
  int64_t bits = rlo__side_unit_bits(problem, t->side);
  int64_t low = 0;
  int64_t high = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t *sum = form->axis[a] < 0 ? &low : &high;
    if (!rlo__mul_add(*sum, form->axis[a], t->last_begins[a] - t->begins[a], sum)) {
      return false;
    }
  }
  if (!rlo__mul(low, bits, &low) || !rlo__mul(high, bits, &high)) {
    return false;
  }
  *out_low = rlo__floor_div(low, 8);
  *out_high = rlo__ceil_div(high, 8);
  return true;
}

/* Lattices reach beyond what is touched where guards skip points, and where
 * parts of bytes are rounded. */
static bool may_leave_memory(const tallier *t) {
  return rlo__side_unit_bits(&t->part, t->side) % 8 != 0 ||
         rlo__form_has_terms(&t->part, rlo__side_form(&t->part, t->side)) ||
         rlo__problem_reach(&t->part, t->side) == RLO__SIDE_SOME;
}

/* Finds the lattice of each piece of a kind. Beyond the memory a lattice is cut
 * off: then pieces differ. */
static rlo_status pack_kind(tallier *t, rlo__lattice *out, bool *out_is_hull) {
  const rlo_problem *problem = t->grid->problem;
  int64_t low;
  int64_t high;
  bool is_known = find_shifts(t, &low, &high);
  RLO_TRY(rlo__problem_restrict_box(problem, t->begins, t->ends, &t->part));
  if ((is_known && low == 0 && high == 0) || !may_leave_memory(t)) {
    return rlo__problem_packing(&t->part, t->side, out, out_is_hull);
  }
  RLO_TRY(rlo__problem_packing_unbounded(&t->part, t->side, out, out_is_hull));
  rlo__lattice hull = rlo__lattice_hull(out);
  bool is_in_memory = is_known && hull.base_byte + low >= 0 &&
                      hull.base_byte + hull.run_bytes + high <= memory_bytes(problem, t->side);
  t->has_difference = t->has_difference || !is_in_memory;
  return RLO_OK;
}

/* The most that is read for a lattice in whole granules: wherever it begins, unless all of
 * the kind begin with one. The end of the storage cuts the granules of one piece alone.
 * @param end_bytes  that end, or what no piece reaches. */
static rlo__lattice widest(const tallier *t, const rlo__lattice *lattice, int64_t end_bytes) {
  const int64_t wide = rlo__grid_wide_granule(t->grid->problem, t->side, t->granule_bytes);
  if (t->is_stepped && wide == t->granule_bytes && lattice->is_exact && lattice->base_byte >= 0 &&
      lattice->base_byte % wide == 0) {
    return rlo__lattice_widen(lattice, wide, end_bytes);
  }
  const int64_t most =
      rlo__add_capped(rlo__lattice_hull(lattice).run_bytes, rlo__mul_capped(2, wide - 1));
  return (rlo__lattice){.run_bytes = rlo__min(most, t->grid->storage_bytes[t->side])};
}

/* By how many bytes the granules of the last piece of the kind would reach beyond the storage.
 * False beyond 64 bits. */
static bool find_cut(const tallier *t, const rlo__lattice *lattice, int64_t *out_bytes) {
  const rlo__lattice hull = rlo__lattice_hull(lattice);
  int64_t low;
  int64_t high;
  const bool is_known = find_shifts(t, &low, &high);
  const int64_t end = is_known ? hull.base_byte + hull.run_bytes + high : 0;
  *out_bytes = rlo__max(end - t->grid->storage_bytes[t->side], 0);
  return is_known;
}

/* Adds `count` pieces with footprints like that of [begins, ends). */
static rlo_status add_kind(tallier *t, int64_t count, bool is_bound) {
  rlo__lattice lattice = {.run_bytes = 0};
  rlo__tally *tally = &t->sums;
  bool is_hull = is_bound;
  if (is_bound) {
    lattice.run_bytes = most_bytes(t);
  } else {
    RLO_TRY(pack_kind(t, &lattice, &is_hull));
  }
  const int64_t end_bytes = count == 1 ? t->grid->storage_bytes[t->side] : INT64_MAX;
  int64_t cut_bytes = 0;
  bool is_inside = true;
  if (t->is_filled) {
    RLO_TRY(rlo__grid_fill(&t->part, t->granule_bytes, end_bytes, &lattice));
    /* All but single runs are filled alike. */
    is_inside = find_cut(t, &lattice, &cut_bytes) && (cut_bytes == 0 || lattice.num_dims == 0);
  }
  const bool is_granular =
      t->granule_bytes == 1 || (!is_bound && t->is_stepped && is_inside &&
                                rlo__lattice_is_granular(&lattice, t->granule_bytes, end_bytes));
  if (!is_granular && t->side == RLO__SIDE_SOURCE) {
    lattice = widest(t, &lattice, end_bytes);
  }
  tally->is_granular = tally->is_granular && (is_granular || t->side == RLO__SIDE_SOURCE);
  tally->has_hulls = tally->has_hulls || is_hull;
  const int64_t bytes = rlo__lattice_bytes(&lattice);
  int64_t sum = rlo__mul_capped(bytes, count);
  /* A piece beyond the storage is one that guards skip. */
  sum -= cut_bytes < t->granule_bytes ? cut_bytes : 0;
  tally->max_bytes = rlo__max(tally->max_bytes, bytes);
  tally->sum_bytes = rlo__add_capped(tally->sum_bytes, sum);
  if (sum > t->most_bytes) {
    t->most_bytes = sum;
    tally->run_bytes = lattice.run_bytes;
  }
  return RLO_OK;
}

/** Pieces of one extent along an axis: how many, the first and the last. */
typedef struct part_kind {
  int64_t count, first, last;
} part_kind;

/* Finds the extents that pieces have along an axis of the region: that of most,
 * that at the edges of boxes, and that of the last one. Returns how many. */
static int32_t list_kinds(const tallier *t, int32_t axis, part_kind kinds[3]) {
  const rlo__piece_grid *grid = t->grid;
  int64_t piece = grid->piece[axis];
  int64_t per_box = rlo__ceil_div(grid->box[axis], piece);
  int64_t last = rlo__grid_num_parts(grid, axis) - 1;
  rlo__range r = t->ranges[axis];
  rlo__range end = rlo__grid_part(grid, axis, last);
  int32_t count = 0;
  if (r.end > last && end.end - end.begin < piece) {
    kinds[count++] = (part_kind){1, last, last};
    r.end = last;
  }
  int64_t parts = r.end - r.begin;
  if (grid->box[axis] % piece == 0) {
    kinds[count] = (part_kind){parts, r.begin, r.end - 1};
    return count + (parts > 0);
  }
  int64_t edges = r.end / per_box - r.begin / per_box;
  if (edges > 0) {
    kinds[count++] = (part_kind){edges, rlo__ceil_div(r.begin + 1, per_box) * per_box - 1,
                                 r.end / per_box * per_box - 1};
  }
  if (parts > edges) {
    int64_t first = r.begin % per_box == per_box - 1 ? r.begin + 1 : r.begin;
    int64_t end_inner = r.end % per_box == 0 ? r.end - 1 : r.end;
    kinds[count++] = (part_kind){parts - edges, first, end_inner - 1};
  }
  return count;
}

/* Adds the pieces of the region, from this axis on. */
static rlo_status add_kinds(tallier *t, int32_t axis, int64_t count, bool is_bound) {
  if (axis == t->grid->problem->num_axes) {
    return add_kind(t, count, is_bound);
  }
  part_kind kinds[3];
  int32_t num_kinds = list_kinds(t, axis, kinds);
  for (int32_t k = 0; k < num_kinds; ++k) {
    rlo__range first = rlo__grid_part(t->grid, axis, kinds[k].first);
    t->last_begins[axis] = rlo__grid_part(t->grid, axis, kinds[k].last).begin;
    t->begins[axis] = first.begin;
    t->ends[axis] = first.end;
    RLO_TRY(add_kinds(t, axis + 1, rlo__mul_capped(count, kinds[k].count), is_bound));
  }
  return RLO_OK;
}

/** No axis, and no piece that touches the side. */
enum { NO_AXIS = -1, NO_PIECE = -2 };

/* Finds an axis along which the footprints of pieces of equal extents differ in
 * the region, or one of the above. */
static rlo_status find_difference(tallier *t, int32_t *out_axis) {
  const rlo_problem *problem = t->grid->problem;
  *out_axis = NO_AXIS;
  if (problem->num_guards == 0 && problem->num_terms == 0) {
    return RLO_OK;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    t->begins[a] = rlo__grid_part(t->grid, a, t->ranges[a].begin).begin;
    t->ends[a] = rlo__grid_part(t->grid, a, t->ranges[a].end - 1).end;
  }
  RLO_TRY(rlo__problem_restrict_box(problem, t->begins, t->ends, &t->part));
  rlo_form through_terms = *rlo__side_form(problem, t->side);
  memset(through_terms.axis, 0, sizeof through_terms.axis);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    int64_t min;
    int64_t max;
    if (!rlo__side_guarded_by(guard, t->side)) {
      continue;
    }
    if (!rlo__form_range(&t->part, &t->part.guards[g].form, &min, &max)) {
      return rlo__fail_overflow("a guard");
    }
    if (max < 0 || min >= guard->limit) {
      *out_axis = NO_PIECE;
      return RLO_OK;
    }
    if (min < 0 || max >= guard->limit) {
      *out_axis = longest_axis(t, &guard->form, *out_axis);
    }
  }
  *out_axis = longest_axis(t, &through_terms, *out_axis);
  return RLO_OK;
}

/* Halves the region until footprints depend on the pieces' extents alone. */
static rlo_status add_region(tallier *t) {
  int32_t axis;
  RLO_TRY(find_difference(t, &axis));
  if (axis == NO_PIECE) {
    return RLO_OK;
  }
  bool is_bound = ++t->num_regions > rlo__thresholds.service_tally_regions;
  if (axis == NO_AXIS) {
    const rlo__tally before = t->sums;
    const int64_t most_before = t->most_bytes;
    t->has_difference = false;
    RLO_TRY(add_kinds(t, 0, 1, false));
    if (!t->has_difference) {
      return RLO_OK;
    }
    t->sums = before;
    t->most_bytes = most_before;
    axis = longest_axis(t, rlo__side_form(t->grid->problem, t->side), NO_AXIS);
  }
  if (is_bound) {
    return add_kinds(t, 0, 1, true);
  }
  rlo__range whole = t->ranges[axis];
  int64_t middle = whole.begin + (whole.end - whole.begin) / 2;
  t->ranges[axis].end = middle;
  RLO_TRY(add_region(t));
  t->ranges[axis] = (rlo__range){middle, whole.end};
  RLO_TRY(add_region(t));
  t->ranges[axis] = whole;
  return RLO_OK;
}

/* Tells if the footprints of pieces of equal extents lie whole granules apart.
 */
static bool steps_in_granules(const tallier *t) {
  const rlo_problem *problem = t->grid->problem;
  const rlo_form *form = rlo__side_form(problem, t->side);
  int64_t granule_bits = rlo__mul_capped(t->granule_bytes, 8);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = rlo__mul_capped(rlo__abs(form->axis[a]), rlo__side_unit_bits(problem, t->side));
    const int64_t box = t->grid->box[a];
    const int64_t piece = t->grid->piece[a];
    if ((piece < box && rlo__mul_capped(step, piece) % granule_bits != 0) ||
        (box < problem->extents[a] && rlo__mul_capped(step, box) % granule_bits != 0)) {
      return false;
    }
  }
  return !rlo__form_has_terms(problem, form);
}

static rlo_status tally(tallier *t) {
  const rlo_problem *problem = t->grid->problem;
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  const int64_t granule_bytes = t->grid->granule_bytes[t->side];
  const int64_t granule_bits = rlo__mul_capped(granule_bytes, 8);
  const bool is_unit = rlo__side_unit_bits(problem, t->side) % granule_bits == 0 &&
                       memory_bytes(problem, t->side) % granule_bytes == 0;
  t->granule_bytes = is_unit ? 1 : granule_bytes;
  t->is_stepped = steps_in_granules(t);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    t->ranges[a] = (rlo__range){0, rlo__grid_num_parts(t->grid, a)};
  }
  return add_region(t);
}

/* Adds up what is written in whole granules: rlo__grid_moved() does the same. */
static rlo_status tally_unguarded(tallier *t) {
  rlo__piece_grid grid = *t->grid;
  rlo_problem *bare = rlo__alloc(sizeof *bare);
  RLO_TRY_MEMORY(bare);
  *bare = *grid.problem;
  rlo__grid_drop_guards(bare, t->granule_bytes);
  grid.problem = bare;
  t->grid = &grid;
  t->is_filled = true;
  t->sums = (rlo__tally){.is_granular = true};
  t->most_bytes = 0;
  t->num_regions = 0;
  rlo_status status = tally(t);
  rlo__free(bare);
  return status;
}

rlo_status rlo__grid_tally(const rlo__piece_grid *grid, rlo__problem_side side, rlo__tally *out) {
  tallier *t = rlo__alloc(sizeof *t);
  RLO_TRY_MEMORY(t);
  t->grid = grid;
  t->side = side;
  t->sums.is_granular = true;
  rlo_status status = tally(t);
  if (status == RLO_OK && !t->sums.is_granular && t->is_stepped) {
    status = tally_unguarded(t);
  }
  *out = t->sums;
  rlo__free(t);
  return status;
}

rlo_status rlo__grid_tally_both(const rlo__piece_grid *grid, rlo__tally out[2]) {
  RLO_TRY(rlo__grid_tally(grid, RLO__SIDE_SOURCE, &out[0]));
  return rlo__grid_tally(grid, RLO__SIDE_DESTINATION, &out[1]);
}
