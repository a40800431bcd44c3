/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * ir/piece.c: a point of a piece is the point of the whole that it stands for:
 * all of its forms have the same values there, and the piece has as many points
 * as were cut out.
 *
 * For problems of two axes and one guard whose numbers have 8 bits in place of
 * 64, any of them, but cuts that begin at -2 to 7. What validates the problem and counts its bytes is left out.
 *
 * bound: relayout/problem.h: #define RLO_MAX_AXES 48 -> #define RLO_MAX_AXES 2
 * bound: relayout/problem.h: #define RLO_MAX_TERMS 16 -> #define RLO_MAX_TERMS 1
 * bound: relayout/problem.h: #define RLO_MAX_GUARDS 48 -> #define RLO_MAX_GUARDS 1
 * bound: ir/piece.c: static void count_bytes(rlo_problem *piece) { -> static void count_bytes(rlo_problem *piece) { return;
 * prove restrict_box: --unwind 5 --conversion-check --object-bits 12
 * fault restrict_box: ir/piece.c: ends[a] - begins[a]; -> ends[a] - begins[a] + 1;
 * fault restrict_box: ir/piece.c: form->axis[a], begins[a], &bases[n] -> form->axis[a], ends[a], &bases[n]
 * fault restrict_box: ir/piece.c: begins[a] < 0 || ends[a] < begins[a] -> ends[a] < begins[a]
 */
// clang-format on
#define PROOF_BITS 8
#include "narrow.h"

#include "ir/piece.c"

/* Those of ir/form.c and ir/footprint.c that it calls. */
rlo_form *rlo__problem_form(rlo_problem *problem, int32_t number) {
  return number == 0   ? &problem->src
         : number == 1 ? &problem->dst
                       : &problem->guards[number - 2].form;
}

const rlo_form *rlo__side_form(const rlo_problem *problem, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? &problem->src : &problem->dst;
}

rlo_status rlo__problem_validate(const rlo_problem *problem) {
  (void)problem;
  return RLO_OK;
}

static rlo_form any_form(void) {
  rlo_form form = {.base = any_i8(), .axis = {any_i8(), any_i8()}};
  return form;
}

/* The same coefficients, and the base of the first point: then both forms have
 * the same values at all points. */
static bool stands_for(const rlo_form *piece, const rlo_form *whole, const int64_t *begins) {
  return piece->axis[0] == whole->axis[0] && piece->axis[1] == whole->axis[1] &&
         piece->base == whole->base + whole->axis[0] * begins[0] + whole->axis[1] * begins[1];
}

void restrict_box(void) {
  const rlo_problem whole = {.num_axes = 2,
                             .num_guards = 1,
                             .extents = {any_i8(), any_i8()},
                             .src = any_form(),
                             .dst = any_form(),
                             .guards = {{.form = any_form()}}};
  PROOF_ASSUME(whole.extents[0] >= 0 && whole.extents[1] >= 0);
  const int64_t begins[2] = {any_of(-2, 7), any_of(-2, 7)};
  const int64_t ends[2] = {any_i8(), any_i8()};
  rlo_problem piece = {0};
  const rlo_status status = rlo__problem_restrict_box(&whole, begins, ends, &piece);
  bool is_inside = true;
  for (int a = 0; a < 2; ++a) {
    is_inside = is_inside && 0 <= begins[a] && begins[a] <= ends[a] && ends[a] <= whole.extents[a];
  }
  PROOF(is_inside || status != RLO_OK, "no other box");
  PROOF(!is_inside || status == RLO_OK || status == RLO_OVERFLOW,
        "a box that is one, unless a position does not fit");
  if (status == RLO_OK) {
    PROOF(piece.extents[0] == ends[0] - begins[0] && piece.extents[1] == ends[1] - begins[1],
          "as many points");
    if (piece.extents[0] > 0 && piece.extents[1] > 0) {
      PROOF(stands_for(&piece.src, &whole.src, begins), "the source");
      PROOF(stands_for(&piece.dst, &whole.dst, begins), "the destination");
      PROOF(stands_for(&piece.guards[0].form, &whole.guards[0].form, begins), "the guard");
    }
  }
}
