/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "service/piece_grid.h"

rlo_status rlo__piece_plan_write(const rlo__piece_grid *grid, rlo__problem_side gathered,
                                 const rlo__tally boxes[2], const rlo__tally pieces[2],
                                 rlo__piece_plan *plan) {
  plan->gathered = gathered;
  memcpy(plan->box, grid->box, sizeof plan->box);
  memcpy(plan->piece, grid->piece, sizeof plan->piece);
  for (int side = RLO__SIDE_SOURCE; side <= RLO__SIDE_DESTINATION; ++side) {
    plan->box_bytes[side] = boxes[side].max_bytes;
    plan->piece_bytes[side] = pieces[side].max_bytes;
  }
  bool is_read_gathered = gathered == RLO__SIDE_SOURCE;
  const rlo__tally *read = is_read_gathered ? &boxes[0] : &pieces[0];
  const rlo__tally *written = is_read_gathered ? &pieces[1] : &boxes[1];
  plan->bytes_read = read->sum_bytes;
  plan->read_run_bytes = read->run_bytes;
  plan->bytes_written = written->sum_bytes;
  plan->write_run_bytes = written->run_bytes;
  const rlo__piece_grid of_boxes = {.problem = grid->problem, .box = grid->box, .piece = grid->box};
  RLO_TRY(rlo__grid_count(&of_boxes, &plan->num_boxes));
  return rlo__grid_count(grid, &plan->num_pieces);
}

rlo__staging rlo__piece_plan_staging(const rlo__piece_plan *plan, const rlo__piece_budget *budget) {
  rlo__problem_side gathered = plan->gathered;
  rlo__problem_side moved = rlo__other_side(gathered);
  rlo__staging staging = {.num_boxes = (int32_t)rlo__min(2, plan->num_boxes),
                          .num_slots = (int32_t)rlo__min(budget->num_slots, plan->num_pieces)};
  int64_t slot = budget->is_memory[moved] ? 0 : plan->piece_bytes[moved];
  if (budget->copies) {
    slot = rlo__max(slot, plan->piece_bytes[gathered]);
  }
  if (!rlo__round_up(slot, budget->alignment_bytes, &staging.slot_bytes) ||
      !rlo__round_up(budget->is_memory[gathered] ? 0 : plan->box_bytes[gathered],
                     budget->alignment_bytes, &staging.box_bytes)) {
    staging.slot_bytes = staging.box_bytes = INT64_MAX;
  }
  int64_t boxes = rlo__mul_capped(staging.num_boxes, staging.box_bytes);
  if (staging.slot_bytes > 0) {
    /* One piece at a time suffices. */
    int64_t room = rlo__max(0, budget->host_bytes - boxes);
    staging.num_slots =
        (int32_t)rlo__min(staging.num_slots, rlo__max(1, room / staging.slot_bytes));
  }
  staging.bytes = rlo__add_capped(boxes, rlo__mul_capped(staging.num_slots, staging.slot_bytes));
  return staging;
}

/* Narrows [begins, ends) to part number `number` of the parts of `part`, in the
 * order of a side's memory. Returns the number divided by how many there are. */
static int64_t select_part(const rlo_problem *problem, rlo__problem_side side, const int64_t *part,
                           int64_t number, int64_t *begins, int64_t *ends) {
  int32_t order[RLO_MAX_AXES];
  double steps[RLO_MAX_AXES];
  rlo__grid_rank_axes(problem, side, order, steps);
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    int32_t a = order[n];
    int64_t count = rlo__ceil_div(ends[a] - begins[a], part[a]);
    int64_t index = number % count;
    number /= count;
    begins[a] += (steps[a] < 0.0 ? count - 1 - index : index) * part[a];
    ends[a] = begins[a] + rlo__min(part[a], ends[a] - begins[a]);
  }
  return number;
}

static void select_box(const rlo__piece_plan *plan, int64_t box, int64_t *begins, int64_t *ends) {
  memset(begins, 0, sizeof plan->problem.extents);
  memcpy(ends, plan->problem.extents, sizeof plan->problem.extents);
  (void)select_part(&plan->problem, plan->gathered, plan->box, box, begins, ends);
}

/* Finds the values of a quotient in a box. Returns how many they are. */
static int64_t list_values(const rlo__piece_plan *plan, int32_t number, const int64_t *begins,
                           const int64_t *ends, int64_t *out_first) {
  const rlo__piece_quotient *quotient = &plan->quotients[number];
  const rlo_term *term = &plan->problem.terms[quotient->term];
  int64_t low = term->form.base;
  int64_t high = term->form.base;
  for (int32_t a = 0; a < plan->problem.num_axes; ++a) {
    int64_t step = term->form.axis[a];
    low += step * (step < 0 ? ends[a] - 1 : begins[a]);
    high += step * (step < 0 ? begins[a] : ends[a] - 1);
  }
  low = rlo__max(low, quotient->min);
  high = rlo__min(high, quotient->max);
  *out_first = rlo__floor_div(low, term->divisor);
  return low > high ? 0 : rlo__floor_div(high, term->divisor) - *out_first + 1;
}

rlo_status rlo__piece_plan_box(const rlo__piece_plan *plan, int64_t box, rlo_problem *out) {
  int64_t begins[RLO_MAX_AXES];
  int64_t ends[RLO_MAX_AXES];
  select_box(plan, box, begins, ends);
  return rlo__problem_restrict_box(&plan->problem, begins, ends, out);
}

int64_t rlo__piece_plan_num_pieces(const rlo__piece_plan *plan, int64_t box) {
  int64_t begins[RLO_MAX_AXES];
  int64_t ends[RLO_MAX_AXES];
  int64_t count = 1;
  select_box(plan, box, begins, ends);
  for (int32_t a = 0; a < plan->problem.num_axes; ++a) {
    count *= rlo__ceil_div(ends[a] - begins[a], plan->piece[a]);
  }
  for (int32_t n = 0; n < plan->num_quotients; ++n) {
    int64_t first;
    count *= list_values(plan, n, begins, ends, &first);
  }
  return count;
}

/* Selects the extents of a piece of a box, which is [*out_corner, ...). Returns
 * the number of its values of quotients. */
static int64_t select_piece(const rlo__piece_plan *plan, int64_t box, int64_t piece,
                            int64_t *out_corner, int64_t *begins, int64_t *ends) {
  select_box(plan, box, begins, ends);
  memcpy(out_corner, begins, RLO_MAX_AXES * sizeof *begins);
  return select_part(&plan->problem, rlo__other_side(plan->gathered), plan->piece, piece, begins,
                     ends);
}

/* Restricts a piece to its values of quotients. */
static rlo_status fix_quotients(const rlo__piece_plan *plan, int64_t number, const int64_t *begins,
                                const int64_t *ends, rlo_problem *out) {
  for (int32_t n = 0; n < plan->num_quotients; ++n) {
    int64_t first;
    int64_t count = list_values(plan, n, begins, ends, &first);
    /* A box of which a quotient has no value has no piece. */
    RLO_FAIL_IF(count == 0, RLO_INTERNAL, "quotient %d has no value in a piece", (int)n);
    RLO_TRY(rlo__problem_fix_quotient(out, plan->quotients[n].term, first + number % count));
    number /= count;
  }
  return RLO_OK;
}

/* Replaces the source by the packed bytes of the destination. */
static rlo_status make_copy(rlo_problem *problem) {
  rlo__lattice lattice;
  RLO_TRY(rlo__problem_footprint(problem, RLO__SIDE_DESTINATION, &lattice));
  rlo_problem *packed = rlo__alloc(sizeof *packed);
  RLO_TRY_MEMORY(packed);
  rlo_status status = rlo__problem_rebase(problem, RLO__SIDE_DESTINATION, &lattice, packed);
  if (status == RLO_OK) {
    problem->unit_bits = rlo_problem_dst_unit_bits(problem);
    problem->update = RLO_UPDATE_STORE;
    problem->num_terms = problem->num_guards = 0;
    problem->src = packed->dst;
    problem->src_bytes = problem->read_bytes = packed->dst_bytes;
    problem->written_bytes = packed->dst_bytes;
  }
  rlo__free(packed);
  return status;
}

rlo_status rlo__piece_plan_cut(const rlo__piece_plan *plan, int64_t box, int64_t piece,
                               const rlo_problem *box_problem, rlo_problem *out) {
  int64_t corner[RLO_MAX_AXES];
  int64_t begins[RLO_MAX_AXES];
  int64_t ends[RLO_MAX_AXES];
  const int64_t values = select_piece(plan, box, piece, corner, begins, ends);
  int64_t at[2][RLO_MAX_AXES];
  for (int32_t a = 0; a < plan->problem.num_axes; ++a) {
    at[0][a] = begins[a] - corner[a];
    at[1][a] = ends[a] - corner[a];
  }
  RLO_TRY(rlo__problem_restrict_box(box_problem, at[0], at[1], out));
  RLO_TRY(fix_quotients(plan, values, begins, ends, out));
  return plan->is_tiled[RLO__SIDE_SOURCE] ? make_copy(out) : RLO_OK;
}

int64_t rlo__piece_plan_tile(const rlo__piece_plan *plan, int64_t box, int64_t piece) {
  const rlo_problem *problem = &plan->problem;
  int64_t corner[RLO_MAX_AXES];
  int64_t begins[RLO_MAX_AXES];
  int64_t ends[RLO_MAX_AXES];
  (void)select_piece(plan, box, piece, corner, begins, ends);
  /* The tiles of a band lie in the order of the source, in which the first pass
   * makes them: before this one lie, for each axis, the parts before it, which
   * have all of the band along the axes of shorter steps and this tile's part
   * along the axes of longer ones. */
  int32_t order[RLO_MAX_AXES];
  rlo__grid_rank_axes(problem, RLO__SIDE_SOURCE, order, NULL);
  int64_t before = 0;
  int64_t units = 1;
  int64_t band_units = 0;
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    int32_t a = order[n];
    int64_t band = begins[a] - begins[a] % plan->band[a];
    before = before * (ends[a] - begins[a]) + (begins[a] - band) * units;
    units *= rlo__min(plan->band[a], problem->extents[a] - band);
    band_units += problem->dst.axis[a] * band;
  }
  int64_t unit_bytes = rlo__side_unit_bits(problem, RLO__SIDE_DESTINATION) / 8;
  return plan->shift_bytes + (band_units + before) * unit_bytes;
}
