/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/update.h"
#include "ir/validate.h"
#include "service/piece_grid.h"
#include "service/piece_growth.h"

#define SRC RLO__SIDE_SOURCE
#define DST RLO__SIDE_DESTINATION

/** The time of runs in memory, divided by that of long ones, with which cuts
 *  along one axis are taken. */
static const double GOOD_SLICE_COST = 1.1;

/** How finely the box may be cut. */
typedef enum freedom {
  /** To what is whole in bytes. */
  FREE_CUTS,
  /** Neither inside of what a SKIP guard counts as one axis, nor inside of
   *  bytes. */
  CAREFUL_CUTS,
  /** Along the axis of the longest steps in the destination. */
  BANDS,
  NO_CUT,
  NUM_FREEDOMS
} freedom;

typedef struct search {
  /** Canonical; and as it was given, where chunks can be told. */
  const rlo_problem *problem, *given;
  /** Axes that may be cut. */
  bool is_free[RLO_MAX_AXES];
  const rlo__piece_budget *budget;
  /** The last one that was looked at. */
  rlo__piece_grid grid;
  int64_t good_bytes[2];
  /** The destination bytes that the problem touches, or fewer; -1 if they are
   *  not known. */
  int64_t least_written;
  rlo__grower grower;
  rlo__growth boxes, pieces;
  /** The least budgets with which some cut is possible. */
  int64_t least_host_bytes, least_piece_bytes;
  /** The box can be cut; a plan is cut less than it should be because parts
   *  would have shared bytes. */
  bool can_cut, has_shrunk;
  /** A side is passed through from its first byte to its last one: boxes and pieces
   *  are parts of the axis of its longest steps. */
  bool is_forward[2];
  double best_cost;
  rlo__piece_plan trial, best;
} search;

static bool is_whole(const search *s, const int64_t *extents) {
  size_t bytes = sizeof *extents * (size_t)s->problem->num_axes;
  return memcmp(extents, s->problem->extents, bytes) == 0;
}

/* Tells if parts are written at granules, and no two write one byte. That all
 * together touch no more bytes than the problem does proves it. */
static bool is_safe(const search *s, const rlo__growth_goal *d, const int64_t *part,
                    const rlo__tally t[2]) {
  if (!t[DST].is_granular) {
    return false;
  }
  return !d->is_written || is_whole(s, part) || t[DST].sum_bytes == s->least_written ||
         rlo__grid_writes_apart(s->problem, part, t[DST].has_hulls);
}

static bool keeps(const rlo__growth_goal *d, const rlo__tally t[2]) {
  return t[SRC].max_bytes <= d->max_bytes[SRC] && t[DST].max_bytes <= d->max_bytes[DST] &&
         rlo__add_capped(t[SRC].max_bytes, t[DST].max_bytes) <= d->max_sum_bytes;
}

/* Granules are of what is transferred. */
static rlo_status tally(search *s, const rlo__growth_goal *goal, const int64_t *box,
                        const int64_t *piece, rlo__tally out[2]) {
  s->grid.box = box;
  s->grid.piece = piece;
  rlo__piece_grid grid = s->grid;
  for (int side = SRC; side <= DST; ++side) {
    grid.granule_bytes[side] = goal->is_moved[side] ? grid.granule_bytes[side] : 1;
  }
  return rlo__grid_tally_both(&grid, out);
}

/* Grows parts, and takes growth back until all of them, also at edges, are safe
 * and within the limits, which the smallest ones are. `box` is NULL for boxes
 * themselves. */
static rlo_status grow(search *s, const rlo__growth_goal *goal, const int64_t *box,
                       rlo__growth *growth, rlo__tally out[2]) {
  const int64_t *extents = growth->extents;
  bool is_good;
  RLO_TRY(rlo__grower_run(&s->grower, goal, growth));
  do {
    RLO_TRY(tally(s, goal, box != NULL ? box : extents, extents, out));
    bool is_shared = !is_safe(s, goal, extents, out);
    s->has_shrunk = s->has_shrunk || (is_shared && growth->num_steps > 0);
    is_good = !is_shared && keeps(goal, out);
  } while (!is_good && rlo__growth_pop(growth));
  return RLO_OK;
}

/* ----------------------------------------------------------- smallest parts */

/* Keeps whole what a SKIP guard counts as one axis, but for the axis of its
 * longest steps: cut elsewhere, a part would have the bytes of others between
 * its own. */
static void keep_guarded_whole(search *s) {
  const rlo_problem *problem = s->problem;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (guard->kind != RLO_GUARD_SKIP) {
      continue;
    }
    int32_t longest = -1;
    bool has_terms = rlo__form_has_terms(problem, &guard->form);
    for (int32_t a = 0; a < problem->num_axes && !has_terms; ++a) {
      int64_t step = rlo__abs(guard->form.axis[a]);
      if (step != 0 && (longest < 0 || step > rlo__abs(guard->form.axis[longest]))) {
        longest = a;
      }
    }
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      if (a != longest && rlo__problem_form_depends_on(problem, &guard->form, a)) {
        s->grower.atoms[a] = problem->extents[a];
      }
    }
  }
}

static void keep_bytes_whole(search *s) {
  const rlo_problem *problem = s->problem;
  int64_t bits = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  int64_t whole = rlo__grid_whole_bits(problem, RLO__SIDE_DESTINATION);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (problem->dst.axis[a] % whole * bits % whole != 0) {
      s->grower.atoms[a] = problem->extents[a];
    }
  }
}

static void make_atoms(search *s, freedom f) {
  const rlo_problem *problem = s->problem;
  memset(s->grower.atoms, 0, sizeof s->grower.atoms);
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    int32_t a = s->grower.order[DST][n];
    bool is_cut = f < BANDS || (f == BANDS && n == problem->num_axes - 1);
    for (int side = SRC; side <= DST; ++side) {
      is_cut &= !s->is_forward[side] || a == s->grower.order[side][problem->num_axes - 1];
    }
    s->grower.atoms[a] =
        is_cut && s->is_free[a] ? rlo__grid_atom(&s->grid, a) : problem->extents[a];
  }
  if (f == CAREFUL_CUTS) {
    keep_guarded_whole(s);
    keep_bytes_whole(s);
  }
}

/* ------------------------------------------------------------------- search */

/* Makes the trial of the grid that was looked at last. */
static rlo_status write_trial(search *s, rlo__problem_side gathered, const rlo__tally boxes[2],
                              const rlo__tally pieces[2]) {
  return rlo__piece_plan_write(&s->grid, gathered, boxes, pieces, &s->trial);
}

static void keep_trial(search *s) {
  double cost = rlo__piece_plan_cost(&s->trial, s->good_bytes);
  if (cost < s->best_cost) {
    s->best_cost = cost;
    s->best = s->trial;
  }
}

/* The goal of parts that are transferred on one side. */
static rlo__growth_goal goal_of(const search *s, rlo__problem_side side, int64_t max_bytes) {
  rlo__growth_goal goal = {.most = s->problem->extents,
                           .max_bytes = {INT64_MAX, INT64_MAX},
                           .max_sum_bytes = INT64_MAX,
                           .good_bytes = {s->good_bytes[SRC], s->good_bytes[DST]},
                           .max_run_bytes = {INT64_MAX, INT64_MAX},
                           .side = side,
                           .enough_bytes = INT64_MAX,
                           .is_written = side == DST};
  goal.max_bytes[side] = max_bytes;
  goal.is_moved[side] = true;
  return goal;
}

/* The most of `bytes` that a box or a slot can take. */
static int64_t floor_of(const search *s, int64_t bytes) {
  return bytes - bytes % s->budget->alignment_bytes;
}

/* Tries pieces that are boxes. Staging memory of some slots is needed where a
 * side is no memory. `least` is that of the smallest pieces. */
static rlo_status try_pieces(search *s, rlo__problem_side gathered, const rlo__staging *least) {
  const rlo__piece_budget *budget = s->budget;
  rlo__problem_side moved = rlo__other_side(gathered);
  int64_t room = INT64_MAX;
  int64_t most = rlo__thresholds.service_most_memory_piece_bytes;
  if (!budget->is_memory[moved]) {
    room = floor_of(s, budget->host_bytes / least->num_slots);
    most = rlo__thresholds.service_most_piece_bytes;
  }
  /* Four for each slot keep all of them busy to the end. */
  int64_t all = moved == SRC ? s->problem->src_bytes : s->problem->dst_bytes;
  int64_t wanted = rlo__max(all / 4 / budget->num_slots, rlo__thresholds.service_least_piece_bytes);
  rlo__growth_goal goal = goal_of(s, moved, rlo__min(room, rlo__min(wanted, most)));
  goal.max_sum_bytes = budget->piece_bytes;
  goal.is_written = true;
  rlo__tally parts[2];
  RLO_TRY(grow(s, &goal, NULL, &s->boxes, parts));
  return write_trial(s, gathered, parts, parts);
}

/* Tries parts along one axis where nothing is transferred. They are equal, so
 * that those who run them end at once, and few: a kernel is slower at edges. */
static rlo_status try_slices(search *s) {
  rlo__growth_goal goal = goal_of(s, DST, INT64_MAX);
  goal.max_sum_bytes = s->budget->piece_bytes;
  /* Where all points are skipped the destination may have no byte. */
  int64_t all = rlo__max(s->problem->dst_bytes, 1);
  int64_t slots = s->budget->num_slots;
  int64_t count =
      slots * rlo__ceil_div(all, rlo__thresholds.service_most_memory_piece_bytes * slots);
  count = rlo__min(count, rlo__max(all / rlo__thresholds.service_least_piece_bytes, 1));
  for (int32_t n = s->problem->num_axes - 1; n >= 0; --n) {
    int32_t a = s->grower.order[DST][n];
    int64_t extents[RLO_MAX_AXES];
    rlo__tally parts[2];
    memcpy(extents, s->problem->extents, sizeof extents);
    /* Their ends are aligned, where the last one is but a little smaller. */
    int64_t whole = extents[a];
    extents[a] = rlo__grower_round(&s->grower, a, rlo__ceil_div(whole, count), whole, 64);
    if (rlo__ceil_div(whole, extents[a]) == count) {
      RLO_TRY(tally(s, &goal, extents, extents, parts));
      if (is_safe(s, &goal, extents, parts) && keeps(&goal, parts)) {
        RLO_TRY(write_trial(s, DST, parts, parts));
        keep_trial(s);
      }
    }
  }
  return RLO_OK;
}

/* Tries boxes, as many of them and of pieces at a time as in `least`, which is
 * the staging memory of the smallest ones. */
static rlo_status try_boxes(search *s, rlo__problem_side gathered, const rlo__staging *least) {
  const rlo__piece_budget *budget = s->budget;
  rlo__problem_side moved = rlo__other_side(gathered);
  /* A quarter is for pieces, unless the smallest ones need more, or leave it.
   */
  int64_t host = budget->host_bytes;
  int64_t slots = least->num_slots;
  int64_t slot = rlo__min(host / 4 / slots, rlo__thresholds.service_most_piece_bytes);
  slot = rlo__min(rlo__max(slot, least->slot_bytes),
                  (host - least->num_boxes * least->box_bytes) / slots);
  slot = floor_of(s, slot);
  rlo__growth_goal goal =
      goal_of(s, gathered,
              rlo__min(floor_of(s, (host - slot * slots) / least->num_boxes),
                       rlo__max(budget->box_bytes, s->trial.box_bytes[gathered])));
  goal.max_run_bytes[moved] = rlo__min(slot, budget->piece_bytes / 2);
  goal.enough_bytes = (int64_t)budget->num_slots * rlo__thresholds.service_good_piece_bytes;
  rlo__tally boxes[2];
  RLO_TRY(grow(s, &goal, NULL, &s->boxes, boxes));

  int64_t wanted = rlo__max(boxes[moved].max_bytes / budget->num_slots,
                            rlo__thresholds.service_least_piece_bytes);
  wanted = rlo__min(wanted, rlo__thresholds.service_most_piece_bytes);
  goal = goal_of(s, moved, rlo__min(slot, wanted));
  goal.most = s->boxes.extents;
  goal.max_bytes[gathered] = budget->copies ? slot : INT64_MAX;
  goal.max_sum_bytes = budget->piece_bytes;
  goal.is_written = true;
  goal.good_bytes[gathered] = rlo__thresholds.service_memory_run_bytes;
  rlo__tally pieces[2];
  RLO_TRY(grow(s, &goal, s->boxes.extents, &s->pieces, pieces));
  return write_trial(s, gathered, boxes, pieces);
}

/* Tells if the smallest parts, which are the trial, fit; notes what they need.
 */
static bool has_room(search *s) {
  const rlo__piece_plan *plan = &s->trial;
  const rlo__piece_budget *budget = s->budget;
  int64_t host = rlo__piece_plan_staging(plan, budget).bytes;
  int64_t piece = rlo__add_capped(plan->piece_bytes[SRC], plan->piece_bytes[DST]);
  if (piece > budget->piece_bytes) {
    s->least_piece_bytes = rlo__min(s->least_piece_bytes, piece);
    return false;
  }
  s->least_host_bytes = rlo__min(s->least_host_bytes, host);
  return host <= budget->host_bytes;
}

static rlo_status try_side(search *s, rlo__problem_side gathered, const rlo__tally atoms[2]) {
  s->grid.box = s->grid.piece = s->grower.atoms;
  RLO_TRY(write_trial(s, gathered, atoms, atoms));
  if (!has_room(s)) {
    return RLO_OK;
  }
  const rlo__staging least = rlo__piece_plan_staging(&s->trial, s->budget);
  if (s->budget->is_memory[SRC] && s->budget->is_memory[DST]) {
    RLO_TRY(try_slices(s));
    double bytes = (double)(s->best.bytes_read + s->best.bytes_written);
    if (s->best_cost <= GOOD_SLICE_COST * bytes) {
      return RLO_OK;
    }
  }
  if (s->budget->is_memory[gathered]) {
    RLO_TRY(try_pieces(s, gathered, &least));
  } else {
    RLO_TRY(try_boxes(s, gathered, &least));
  }
  keep_trial(s);
  return RLO_OK;
}

static rlo_status try_freedom(search *s, freedom f) {
  make_atoms(s, f);
  const int64_t *extents = s->grower.atoms;
  const rlo__growth_goal goal = {.is_moved = {true, true}, .is_written = true};
  rlo__tally atoms[2];
  RLO_TRY(tally(s, &goal, extents, extents, atoms));
  if (!is_safe(s, &goal, extents, atoms)) {
    return RLO_OK;
  }
  s->can_cut = s->can_cut || f == FREE_CUTS || !is_whole(s, extents);
  const bool *is_memory = s->budget->is_memory;
  /* A side in memory needs no boxes. */
  if (!s->is_forward[SRC] && (is_memory[DST] || !is_memory[SRC])) {
    RLO_TRY(try_side(s, RLO__SIDE_DESTINATION, atoms));
  }
  if (s->is_forward[SRC] || (!is_memory[DST] && (is_memory[SRC] || !s->is_forward[DST]))) {
    RLO_TRY(try_side(s, RLO__SIDE_SOURCE, atoms));
  }
  return RLO_OK;
}

/* Tries boxes of chunks where others read bytes again, or cannot be. They are taken if
 * they read less, where what is read again is decoded again; else if they take less time.
 * The trial has the problem. */
static rlo_status try_chunks(search *s) {
  int64_t least;
  bool is_found;
  rlo__piece_grid grid = s->grid;
  grid.problem = s->given;
  const bool is_decoded = s->given->unit_bits % rlo__mul_capped(grid.granule_bytes[SRC], 8) != 0;
  if (s->is_forward[SRC] || s->is_forward[DST] ||
      (s->best_cost < (double)INFINITY && s->best.bytes_read <= s->given->src_bytes)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__piece_plan_chunks(&grid, s->budget, &least, &is_found, &s->trial));
  s->least_host_bytes = rlo__min(s->least_host_bytes, least);
  s->can_cut = s->can_cut || least < INT64_MAX;
  if (is_found) {
    const bool reads_less = is_decoded && s->trial.bytes_read < s->best.bytes_read;
    s->best_cost = reads_less ? (double)INFINITY : s->best_cost;
    keep_trial(s);
  }
  return RLO_OK;
}

static rlo_status fail_without_plan(const search *s) {
  RLO_FAIL_IF(s->least_host_bytes == INT64_MAX && s->least_piece_bytes == INT64_MAX,
              RLO_UNSUPPORTED,
              "the problem cannot be cut at granules of %" PRId64
              " bytes of the source and %" PRId64 " bytes of the destination",
              s->grid.granule_bytes[SRC], s->grid.granule_bytes[DST]);
  bool is_host = s->least_host_bytes != INT64_MAX;
  int64_t least = is_host ? s->least_host_bytes : s->least_piece_bytes;
  int64_t budget = is_host ? s->budget->host_bytes : s->budget->piece_bytes;
  if (is_host) {
    least = rlo__add_capped(least, s->budget->index_bytes);
    /* Less than 0 where the indices take more than there is. */
    budget += s->budget->index_bytes;
  }
  const char *use = is_host ? "of staging memory" : "for a piece";
  RLO_FAIL_IF(
      !s->can_cut, RLO_UNSUPPORTED,
      "pieces of the problem would write to bytes of each other, and whole it takes %" PRId64
      " bytes %s; the budget is %" PRId64,
      least, use, budget);
  return RLO_FAIL(RLO_OUT_OF_RANGE,
                  "the budget is %" PRId64 " bytes %s; the least that suffices is %" PRId64, budget,
                  use, least);
}

static rlo_status find_plan(search *s) {
  s->best_cost = (double)INFINITY;
  s->least_host_bytes = s->least_piece_bytes = INT64_MAX;
  for (int f = FREE_CUTS; f < NUM_FREEDOMS; ++f) {
    RLO_TRY(try_freedom(s, (freedom)f));
    if (s->best_cost < (double)INFINITY && !s->has_shrunk) {
      break;
    }
    s->has_shrunk = false;
  }
  RLO_TRY(try_chunks(s));
  return s->best_cost < (double)INFINITY ? RLO_OK : fail_without_plan(s);
}

/* -------------------------------------------------------------- destination */

/* Finds out what the whole writes. */
static rlo_status measure_destination(search *s) {
  const rlo_problem *problem = s->problem;
  int64_t bits = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION);
  /* Memory for a moment. */
  rlo_problem *narrowed = &s->best.problem;
  bool is_exact;
  RLO_TRY(rlo__problem_narrow(problem, RLO__SIDE_DESTINATION, &problem->dst, narrowed, &is_exact));
  s->least_written = -1;
  if (is_exact) {
    int64_t touched = bits;
    for (int32_t a = 0; a < narrowed->num_axes; ++a) {
      if (narrowed->dst.axis[a] != 0) {
        touched = rlo__mul_capped(touched, narrowed->extents[a]);
      }
    }
    s->least_written = rlo__ceil_div(touched, 8);
  }
  return RLO_OK;
}

/* Checks that the smallest part along the axis of the longest steps ends, on the
 * side, where the next one begins or before, so that boxes, or pieces, are moved one
 * behind the other; and where boxes of the source are, that these come in the same order. */
static rlo_status check_forward(search *s, rlo__problem_side side) {
  const rlo_problem *problem = s->problem;
  const int32_t axis = s->grower.order[side][problem->num_axes - 1];
  const rlo_form *form = rlo__side_form(problem, side);
  const bool is_of_boxes = side == SRC || !(s->is_forward[SRC] || s->budget->is_memory[SRC]);
  /* Memory for a moment. */
  rlo_problem *slab = &s->best.problem;
  int64_t min;
  int64_t max;
  int32_t order[RLO_MAX_AXES];
  double steps[RLO_MAX_AXES];
  rlo__lattice lattice;
  rlo__grid_rank_axes(problem, SRC, order, steps);
  *slab = s->grower.bare;
  slab->extents[axis] = rlo__grid_atom(&s->grid, axis);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (!rlo__problem_form_depends_on(problem, &problem->guards[g].form, axis)) {
      slab->guards[slab->num_guards++] = problem->guards[g];
    }
  }
  const int64_t bits = rlo__side_unit_bits(problem, side);
  const int64_t granule = rlo__grid_wide_granule(problem, side, s->grid.granule_bytes[side]);
  bool is_ascending =
      !(side == DST && rlo_problem_reads_cells(problem)) && !rlo__form_has_terms(problem, form) &&
      rlo__form_range(slab, form, &min, &max) && min % (rlo__mul_capped(granule, 8) / bits) == 0 &&
      (is_of_boxes || steps[axis] > 0.0);
  rlo_form *moved = side == SRC ? &slab->src : &slab->dst;
  moved->base -= is_ascending ? min : 0;
  RLO_TRY(is_ascending ? rlo__problem_footprint(slab, side, &lattice) : RLO_OK);
  const int64_t step = rlo__mul_capped(form->axis[axis], slab->extents[axis]);
  const int64_t step_bits = rlo__mul_capped(rlo__abs(step), bits);
  is_ascending = is_ascending && rlo__lattice_hull(&lattice).run_bytes <= step_bits / 8;
  return is_ascending
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED, "the %s can only be %s forward, and the problem goes back",
                        side == SRC ? "source" : "destination", side == SRC ? "read" : "written");
}

static rlo_status search_plan(search *s, const rlo_storage_traits *src,
                              const rlo_storage_traits *dst) {
  RLO_TRY(rlo__problem_validate(s->problem));
  /* Wider units would ask for an alignment that memory may not have. */
  RLO_TRY(rlo_problem_canonicalize(&s->trial.problem,
                                   (int32_t)rlo__max(8, s->trial.problem.unit_bits), NULL, NULL));
  if (rlo_problem_is_empty(s->problem)) {
    s->best.problem = *s->problem;
    s->best.gathered = RLO__SIDE_DESTINATION;
    return RLO_OK;
  }
  rlo__problem_find_free_axes(s->problem, s->is_free);
  const bool *is_memory = s->budget->is_memory;
  s->grid = (rlo__piece_grid){.problem = s->problem,
                              .granule_bytes = {is_memory[SRC] ? 1 : src->granule_bytes,
                                                is_memory[DST] ? 1 : dst->granule_bytes},
                              .storage_bytes = {src->bytes, dst->bytes}};
  s->good_bytes[SRC] =
      is_memory[SRC] ? rlo__thresholds.service_memory_run_bytes : src->good_read_bytes;
  s->good_bytes[DST] =
      is_memory[DST] ? rlo__thresholds.service_memory_run_bytes : dst->good_write_bytes;
  RLO_TRY(measure_destination(s));
  rlo__grower_init(&s->grower, s->problem);
  const bool are_forward[2] = {src->is_forward, dst->is_forward};
  for (int side = SRC; side <= DST; ++side) {
    s->is_forward[side] = are_forward[side] && !is_memory[side] && s->problem->num_axes > 0;
    RLO_TRY(s->is_forward[side] ? check_forward(s, (rlo__problem_side)side) : RLO_OK);
  }
  return find_plan(s);
}

rlo_status rlo__piece_plan_make(const rlo_problem *problem, const rlo_storage_traits *src,
                                const rlo_storage_traits *dst, const rlo__piece_budget *budget,
                                rlo__piece_plan *out) {
  search *s = rlo__alloc(sizeof *s);
  RLO_TRY_MEMORY(s);
  s->trial.problem = *problem;
  s->problem = &s->trial.problem;
  s->given = problem;
  s->budget = budget;
  rlo_status status = search_plan(s, src, dst);
  if (status == RLO_OK) {
    *out = s->best;
  }
  rlo__free(s);
  return status;
}
