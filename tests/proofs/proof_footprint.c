/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * ir/footprint.c: a lattice holds every byte of the memory that a problem touches
 * on a side, none outside of the memory, and if it is said to be exact, the
 * problem touches every bit of it. Its numbers are as footprint.h says.
 *
 * Numbers of 8 bits in place of 64: bases, coefficients and memories of all
 * values, in one axis of any extent, or in two axes of up to 3 points each. What
 * fits are positions of -128 to 127 bits and memories of up to 15 bytes. Units of
 * 1, 3, 8 and 12 bits along one axis, of 8 bits along two.
 *
 * `guarded` has one axis of up to 3 points and a guard, so that the canonical
 * problem is asked for: rlo_problem_canonicalize is any function that keeps the
 * positions of the destination, by whatever form, with a guard or without.
 *
 * bound: relayout/problem.h: #define RLO_MAX_AXES 48 -> #define RLO_MAX_AXES 2
 * bound: relayout/problem.h: #define RLO_MAX_TERMS 16 -> #define RLO_MAX_TERMS 1
 * bound: relayout/problem.h: #define RLO_MAX_GUARDS 48 -> #define RLO_MAX_GUARDS 1
 * take ir/problem.c: rlo_problem_is_empty
 * take ir/update.c: rlo_problem_dst_unit_bits
 * prove one_axis_1: --unwind 6 --conversion-check --object-bits 12
 * prove one_axis_3: --unwind 6 --conversion-check --object-bits 12
 * prove one_axis_8: --unwind 6 --conversion-check --object-bits 12
 * prove one_axis_12: --unwind 6 --conversion-check --object-bits 12
 * prove two_axes_hold: --unwind 6 --conversion-check --object-bits 12 --slice-formula
 * prove two_axes_exact: --unwind 6 --conversion-check --object-bits 12 --slice-formula
 * prove guarded: --unwind 6 --conversion-check --object-bits 12
 * fault one_axis_1: ir/footprint.c: s->is_exact = s->is_exact && s->run == run; -> s->is_exact = s->is_exact && s->run >= run;
 * fault one_axis_3: ir/footprint.c: if (!rlo__sub(first, head, &s->base)) { -> s->base = first - head; if (head < 0) {
 * fault one_axis_8: ir/footprint.c: s->base < 0 || end > memory -> s->base < 0 || end > memory + 8
 * fault one_axis_12: ir/footprint.c: is_exact && head == 0; -> is_exact;
 * fault two_axes_hold: ir/footprint.c: is_whole && stride >= span -> is_whole && stride >= s->run
 * fault two_axes_hold: ir/footprint.c: += stride / s->strides[last] * (extent - 1); -> += extent - 1;
 * fault two_axes_exact: ir/footprint.c: <= s->extents[last]) { -> <= s->extents[last] + 1) {
 * fault guarded: ir/footprint.c: guard->kind == RLO_GUARD_SKIP; -> guard->limit >= 0;
 * fault guarded: ir/footprint.c: *out_is_exact && out->num_guards == 0; -> *out_is_exact;
 * fault guarded: ir/footprint.c: (max < 0 || min >= guard->limit) -> (max <= 0 || min >= guard->limit)
 */
// clang-format on
#define PROOF_BITS 8
#include "narrow.h"

#include "ir/footprint.c"
#include "ir/form.c"

#include "taken_rlo_problem_is_empty.h"

#include "taken_rlo_problem_dst_unit_bits.h"

enum { MOST = INT8_MAX, FEW = 3 };

/* True if a byte is in a lattice. Its dims do not overlap, so that each index
 * is the largest that is not beyond the byte. */
static bool has_byte(const rlo__lattice *lattice, int byte) {
  int rest = byte - lattice->base_byte;
  if (rest < 0) {
    return false;
  }
  for (int d = 0; d < lattice->num_dims; ++d) {
    const int k = rest / lattice->strides[d];
    rest -= (k < lattice->extents[d] ? k : lattice->extents[d] - 1) * lattice->strides[d];
  }
  return rest < lattice->run_bytes;
}

/* Checks the numbers of a lattice against the rules of footprint.h. */
static void expect_lattice(const rlo__lattice *lattice, int memory_bytes) {
  int span = lattice->run_bytes;
  PROOF(span >= 0, "the run");
  PROOF(0 <= lattice->num_dims && lattice->num_dims <= RLO_MAX_AXES, "the number of dims");
  for (int d = lattice->num_dims - 1; d >= 0; --d) {
    PROOF(lattice->extents[d] > 1, "extents above 1");
    PROOF(lattice->strides[d] >= span, "strides as wide as what they step over");
    PROOF(lattice->strides[d] > lattice->run_bytes, "runs that do not touch");
    span += lattice->strides[d] * (lattice->extents[d] - 1);
  }
  PROOF(span == 0 || lattice->base_byte >= 0 && lattice->base_byte + span <= memory_bytes,
        "no byte outside of the memory");
}

static rlo_form any_form(int num_axes) {
  rlo_form form = {.base = any_number()};
  for (int a = 0; a < num_axes; ++a) {
    form.axis[a] = any_number();
  }
  return form;
}

static rlo_problem any_problem(int num_axes, int unit_bits, int most_points) {
  rlo_problem problem = {.num_axes = num_axes,
                         .unit_bits = unit_bits,
                         .src = any_form(num_axes),
                         .src_bytes = any_number()};
  PROOF_ASSUME(problem.src_bytes >= 0);
  for (int a = 0; a < num_axes; ++a) {
    problem.extents[a] = any_number();
    PROOF_ASSUME(0 <= problem.extents[a] && problem.extents[a] <= most_points);
  }
  return problem;
}

static int at(const rlo_form *form, int i, int j) {
  return form->base + form->axis[0] * i + form->axis[1] * j;
}

/* True if a point of up to FEW by FEW, where the guard that matters for a side
 * holds, has a position. */
static bool takes(const rlo_problem *problem, rlo__problem_side side, int position) {
  const int extent_1 = problem->num_axes > 1 ? problem->extents[1] : 1;
  const rlo_guard *guard = &problem->guards[0];
  const bool is_guarded =
      problem->num_guards > 0 && (side == RLO__SIDE_SOURCE || guard->kind == RLO_GUARD_SKIP);
  for (int i = 0; i < FEW; ++i) {
    for (int j = 0; j < (problem->num_axes > 1 ? FEW : 1); ++j) {
      const int value = at(&guard->form, i, j);
      if (i < problem->extents[0] && j < extent_1 &&
          (!is_guarded || (value >= 0 && value < guard->limit)) &&
          at(rlo__side_form(problem, side), i, j) == position) {
        return true;
      }
    }
  }
  return false;
}

/* For rlo__problem_narrow, of the guarded problem. */
void *rlo__alloc(size_t bytes) {
  static rlo_problem memory;
  (void)bytes;
  return any_bool() ? &memory : NULL;
}

void rlo__free(void *memory) {
  (void)memory;
}

rlo_status rlo__problem_validate(const rlo_problem *problem) {
  (void)problem;
  return RLO_OK;
}

rlo_status rlo_problem_canonicalize(rlo_problem *problem, int32_t max_unit_bits,
                                    rlo_problem_trace_fn trace, void *payload) {
  rlo_problem out = *problem;
  (void)max_unit_bits;
  (void)trace;
  (void)payload;
  out.dst = any_form(1);
  out.extents[0] = any_of(0, FEW);
  out.num_guards = any_of(0, 1);
  out.guards[0].form = any_form(1);
  out.guards[0].limit = any_number();
  for (int i = 0; i < FEW; ++i) {
    const rlo_problem *ends[2] = {problem, &out};
    for (int n = 0; n < 2; ++n) {
      const int position = at(&ends[n]->dst, i, 0);
      PROOF_ASSUME(takes(ends[n], RLO__SIDE_DESTINATION, position) ==
                   takes(ends[1 - n], RLO__SIDE_DESTINATION, position));
    }
  }
  *problem = out;
  return RLO_OK;
}

static void expect_one_axis(int unit_bits) {
  const rlo_problem problem = any_problem(1, unit_bits, MOST);
  rlo__lattice lattice;
  if (rlo__problem_footprint(&problem, RLO__SIDE_SOURCE, &lattice) != RLO_OK) {
    return;
  }
  expect_lattice(&lattice, problem.src_bytes);
  const int i = any_number();
  const int of_unit = any_of(0, unit_bits - 1);
  PROOF_ASSUME(0 <= i && i < problem.extents[0]);
  const int touched = (at(&problem.src, i, 0) * unit_bits + of_unit) >> 3;
  PROOF(touched < 0 || touched >= problem.src_bytes || has_byte(&lattice, touched),
        "each byte that is touched");
  const int byte = any_number();
  const int of_byte = any_of(0, 7);
  if (lattice.is_exact && byte >= 0 && has_byte(&lattice, byte)) {
    const int distance = (byte * 8 + of_byte) / unit_bits - problem.src.base;
    const int step = problem.src.axis[0];
    PROOF(step == 0 ? distance == 0
                    : distance % step == 0 && distance / step >= 0 &&
                          distance / step < problem.extents[0],
          "each bit, where it is said to be exact");
  }
}

void one_axis_1(void) {
  expect_one_axis(1);
}

void one_axis_3(void) {
  expect_one_axis(3);
}

void one_axis_8(void) {
  expect_one_axis(8);
}

void one_axis_12(void) {
  expect_one_axis(12);
}

/* A unit that some point touches. */
static void expect_held(const rlo_problem *problem, rlo__problem_side side, int memory_bytes,
                        const rlo__lattice *lattice) {
  const int unit = any_i16();
  PROOF_ASSUME(takes(problem, side, unit));
  const int byte = (unit * problem->unit_bits + any_of(0, (int8_t)(problem->unit_bits - 1))) >> 3;
  PROOF(byte < 0 || byte >= memory_bytes || has_byte(lattice, byte), "each byte that is touched");
}

static void expect_exact(const rlo_problem *problem, rlo__problem_side side,
                         const rlo__lattice *lattice) {
  const int byte = any_number();
  if (lattice->is_exact && byte >= 0 && has_byte(lattice, byte)) {
    PROOF(takes(problem, side, (byte * 8 + any_of(0, 7)) / problem->unit_bits),
          "each bit, where it is said to be exact");
  }
}

void two_axes_hold(void) {
  const rlo_problem problem = any_problem(2, 8, FEW);
  rlo__lattice lattice;
  if (rlo__problem_footprint(&problem, RLO__SIDE_SOURCE, &lattice) == RLO_OK) {
    expect_lattice(&lattice, problem.src_bytes);
    expect_held(&problem, RLO__SIDE_SOURCE, problem.src_bytes, &lattice);
  }
}

void two_axes_exact(void) {
  const rlo_problem problem = any_problem(2, 8, FEW);
  rlo__lattice lattice;
  if (rlo__problem_footprint(&problem, RLO__SIDE_SOURCE, &lattice) == RLO_OK) {
    expect_exact(&problem, RLO__SIDE_SOURCE, &lattice);
  }
}

void guarded(void) {
  const rlo__problem_side side = any_bool() ? RLO__SIDE_SOURCE : RLO__SIDE_DESTINATION;
  rlo_problem problem = any_problem(1, 8, FEW);
  problem.dst = any_form(1);
  problem.dst_bytes = any_number();
  PROOF_ASSUME(problem.dst_bytes >= 0);
  problem.num_guards = 1;
  problem.guards[0].kind = any_bool() ? RLO_GUARD_PAD : RLO_GUARD_SKIP;
  problem.guards[0].form = any_form(1);
  problem.guards[0].limit = any_number();
  const int memory_bytes = side == RLO__SIDE_SOURCE ? problem.src_bytes : problem.dst_bytes;
  rlo__lattice lattice;
  if (rlo__problem_footprint(&problem, side, &lattice) == RLO_OK) {
    expect_lattice(&lattice, memory_bytes);
    expect_held(&problem, side, memory_bytes, &lattice);
    expect_exact(&problem, side, &lattice);
  }
}
