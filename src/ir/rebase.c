/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/piece.h"
#include "ir/update.h"
#include "ir/validate.h"

static rlo_status bits_overflow(void) {
  return rlo__fail_overflow("a position in packed memory, in bits,");
}

/** How a side moves into packed memory. Positions and steps are in bits. */
typedef struct packing {
  const rlo_problem *problem;
  rlo__problem_side side;
  const rlo__lattice *lattice;
  int64_t unit_bits;
  /** Memory for rlo__problem_narrow(). */
  rlo_problem *scratch;
  /** The position from the lattice's base of the point that is first in every
   *  dim, and in the run. */
  int64_t corner;
  /** The width of each dim and of the run that the problem touches, less 1. */
  int64_t widths[RLO_MAX_AXES + 1];
  /** If no point touches the side, positions do not matter. */
  rlo__side_reach reach;
  /** The packed form. */
  rlo_form form;
} packing;

static rlo_status not_linear(const packing *p) {
  return RLO_FAIL(
      RLO_UNSUPPORTED,
      "the %s is not linear in packed memory of a lattice of %d dims; in that of its hull it is",
      p->side == RLO__SIDE_SOURCE ? "source" : "destination", p->lattice->num_dims);
}

/* Adds one dim of the lattice, or the run: its digit of a position steps along
 * the axes by `digit`, and counts `stride` bits of the memory and `packed` bits
 * of packed memory. */
static rlo_status pack_digit(packing *p, int32_t dim, const rlo_form *digit, int64_t stride,
                             int64_t packed) {
  int64_t min = 0;
  int64_t max = 0;
  if (p->reach == RLO__SIDE_ALL) {
    if (!rlo__form_range(p->problem, digit, &min, &max)) {
      return bits_overflow();
    }
  } else if (!rlo__form_is_constant(digit)) {
    bool is_exact;
    RLO_TRY(rlo__problem_narrow(p->problem, p->side, digit, p->scratch, &is_exact));
    if (!rlo_problem_is_empty(p->scratch) &&
        !rlo__form_range(p->scratch, &p->scratch->dst, &min, &max)) {
      return bits_overflow();
    }
  }
  bool fits = rlo__mul_add(p->corner, stride, min, &p->corner) &&
              rlo__mul_add(p->form.base, -packed, min, &p->form.base) &&
              rlo__sub(max, min, &p->widths[dim]);
  return fits && rlo__form_add(&p->form, packed, digit) ? RLO_OK : bits_overflow();
}

/* Writes each step of the side's form as digits of the lattice's mixed radix,
 * and the steps in packed memory. */
static rlo_status pack_steps(packing *p) {
  const rlo_problem *problem = p->problem;
  const rlo_form *form = rlo__side_form(problem, p->side);
  int64_t rest[RLO_MAX_AXES] = {0};
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (problem->extents[a] > 1 && !rlo__mul(form->axis[a], p->unit_bits, &rest[a])) {
      return bits_overflow();
    }
  }
  int64_t packed = rlo__lattice_bytes(p->lattice) * 8;
  for (int32_t d = 0; d <= p->lattice->num_dims; ++d) {
    bool is_run = d == p->lattice->num_dims;
    int64_t stride = is_run ? 1 : p->lattice->strides[d] * 8;
    packed = is_run ? 1 : packed / p->lattice->extents[d];
    rlo_form digit = {0};
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      digit.axis[a] = rest[a] / stride;
      rest[a] %= stride;
    }
    RLO_TRY(pack_digit(p, d, &digit, stride, packed));
  }
  return RLO_OK;
}

/* Places the corner, and checks that no digit leaves its dim from there on: so
 * digits of a sum are sums of digits. */
static rlo_status pack_base(packing *p) {
  int64_t rest = p->corner;
  int64_t packed = rlo__lattice_bytes(p->lattice) * 8;
  if (rest < 0) {
    return not_linear(p);
  }
  for (int32_t d = 0; d < p->lattice->num_dims; ++d) {
    packed /= p->lattice->extents[d];
    int64_t digit = rest / (p->lattice->strides[d] * 8);
    rest %= p->lattice->strides[d] * 8;
    if (p->widths[d] >= p->lattice->extents[d] - digit) {
      return not_linear(p);
    }
    if (!rlo__mul_add(p->form.base, packed, digit, &p->form.base)) {
      return bits_overflow();
    }
  }
  if (p->widths[p->lattice->num_dims] > p->lattice->run_bytes * 8 - p->unit_bits - rest) {
    return not_linear(p);
  }
  return rlo__add(p->form.base, rest, &p->form.base) ? RLO_OK : bits_overflow();
}

static bool divide_into_units(packing *p) {
  bool is_whole = p->form.base % p->unit_bits == 0;
  p->form.base /= p->unit_bits;
  for (int32_t a = 0; a < p->problem->num_axes; ++a) {
    is_whole = is_whole && p->form.axis[a] % p->unit_bits == 0;
    p->form.axis[a] /= p->unit_bits;
  }
  return is_whole;
}

/* The source strides of reduction axes settle the order of a sum; those of a
 * single one cannot. */
static bool keeps_order(const packing *p) {
  if (p->problem->update != RLO_UPDATE_COMBINE) {
    return true;
  }
  if (p->problem->arithmetic.is_sequential) {
    return false;
  }
  bool is_kept = true;
  int32_t num_summed = 0;
  for (int32_t a = 0; a < p->problem->num_axes; ++a) {
    if (p->side == RLO__SIDE_SOURCE && rlo__problem_is_summed(p->problem, a)) {
      ++num_summed;
      is_kept = is_kept && p->form.axis[a] == p->problem->src.axis[a];
    }
  }
  return is_kept || num_summed == 1;
}

/* Canonical form shows if guards let no point through. */
static rlo_status look_for_points(packing *p) {
  bool is_exact;
  RLO_TRY(rlo__problem_narrow(p->problem, p->side, rlo__side_form(p->problem, p->side), p->scratch,
                              &is_exact));
  if (rlo_problem_is_empty(p->scratch)) {
    p->reach = RLO__SIDE_NONE;
  }
  return RLO_OK;
}

static rlo_status pack(packing *p) {
  const rlo_form *form = rlo__side_form(p->problem, p->side);
  int64_t shift;
  if (!rlo__mul(form->base, p->unit_bits, &p->corner) ||
      !rlo__mul(p->lattice->base_byte, 8, &shift) || !rlo__sub(p->corner, shift, &p->corner)) {
    return bits_overflow();
  }
  if (p->lattice->num_dims == 0) {
    p->form = *form;
    p->form.base = p->corner / p->unit_bits;
    return p->corner % p->unit_bits == 0 ? RLO_OK : not_linear(p);
  }
  if (rlo__form_has_terms(p->problem, form)) {
    return not_linear(p);
  }
  memset(&p->form, 0, sizeof p->form);
  RLO_TRY(pack_steps(p));
  rlo_status status = pack_base(p);
  if (status == RLO_UNSUPPORTED && p->reach == RLO__SIDE_SOME) {
    RLO_TRY(look_for_points(p));
  }
  if (p->reach == RLO__SIDE_NONE) {
    p->form = *form;
    return RLO_OK;
  }
  RLO_TRY(status);
  if (!divide_into_units(p)) {
    return not_linear(p);
  }
  return keeps_order(p) ? RLO_OK
                        : RLO_FAIL(RLO_UNSUPPORTED,
                                   "packed memory of a lattice of %d dims might change the order "
                                   "of a sum; that of its hull does not",
                                   p->lattice->num_dims);
}

/* Computes the packed form, in p->form. */
static rlo_status make_form(const rlo_problem *problem, rlo__problem_side side,
                            const rlo__lattice *lattice, packing *p) {
  *p = (packing){.problem = problem,
                 .side = side,
                 .lattice = lattice,
                 .unit_bits = rlo__side_unit_bits(problem, side),
                 .reach = rlo__problem_reach(problem, side),
                 .form = *rlo__side_form(problem, side)};
  if (lattice->run_bytes == 0) {
    return RLO_OK;
  }
  p->scratch = rlo__alloc(sizeof *p->scratch);
  RLO_TRY_MEMORY(p->scratch);
  rlo_status status = pack(p);
  rlo__free(p->scratch);
  return status;
}

rlo_status rlo__problem_rebase(const rlo_problem *problem, rlo__problem_side side,
                               const rlo__lattice *lattice, rlo_problem *out) {
  RLO_TRY(rlo__problem_validate(problem));
  packing p;
  RLO_TRY(make_form(problem, side, lattice, &p));
  int64_t bytes = rlo__lattice_bytes(lattice);
  if (out != problem) {
    *out = *problem;
  }
  if (side == RLO__SIDE_SOURCE) {
    out->src = p.form;
    out->src_bytes = bytes;
  } else {
    out->dst = p.form;
    out->dst_bytes = bytes;
  }
  return RLO_OK;
}

rlo_status rlo__problem_packing(const rlo_problem *problem, rlo__problem_side side,
                                rlo__lattice *out, bool *out_is_hull) {
  *out_is_hull = false;
  RLO_TRY(rlo__problem_footprint(problem, side, out));
  packing p;
  rlo_status status = out->num_dims > 0 ? make_form(problem, side, out, &p) : RLO_OK;
  if (status == RLO_UNSUPPORTED) {
    *out = rlo__lattice_hull(out);
    *out_is_hull = true;
    status = RLO_OK;
  }
  return status;
}

rlo_status rlo__problem_packing_unbounded(rlo_problem *problem, rlo__problem_side side,
                                          rlo__lattice *out, bool *out_is_hull) {
  bool is_src = side == RLO__SIDE_SOURCE;
  rlo_form *form = is_src ? &problem->src : &problem->dst;
  int64_t *memory = is_src ? &problem->src_bytes : &problem->dst_bytes;
  int64_t base = form->base;
  int64_t bytes = *memory;
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, form, &min, &max)) {
    return rlo__fail_overflow("a position");
  }
  /* 8 units are whole bytes. */
  int64_t shift = rlo__ceil_div(rlo__max(0, -min), 8);
  form->base += 8 * shift;
  *memory = INT64_MAX / 16;
  rlo_status status = rlo__problem_packing(problem, side, out, out_is_hull);
  if (status == RLO_OK && out->run_bytes > 0) {
    out->base_byte -= shift * rlo__side_unit_bits(problem, side);
  }
  form->base = base;
  *memory = bytes;
  return status;
}
