/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/rewrite.h"

static bool is_even(int64_t value) {
  return value % 2 == 0;
}

/* Tells if every coefficient but that of `run` is even, and the base too if
 * `with_base`. */
static bool rest_is_even(const rlo_form *form, int32_t run, bool with_base) {
  bool is_whole = true;
  for (int32_t n = with_base ? 0 : 1; n < RLO__FORM_NUMBERS; ++n) {
    is_whole = is_whole && (n == run + 1 || is_even(rlo__form_read(form)[n]));
  }
  return is_whole;
}

/*
 * A guard treats the units 2x and 2x+1 alike if it does not see the run axis,
 * or if both of its bounds fall between pairs. With coefficient -1 the pair
 * counts downwards, so there the base must be odd.
 */
static bool guard_allows(const rlo_guard *guard, int32_t run) {
  int64_t step = guard->form.axis[run];
  if (step == 0) {
    return true;
  }
  return (step == 1 || step == -1) && rest_is_even(&guard->form, run, false) &&
         is_even(guard->limit) && is_even(guard->form.base) == (step == 1);
}

static bool run_allows(const rlo_problem *problem, int32_t run) {
  if (problem->src.axis[run] != 1 || problem->dst.axis[run] != 1 ||
      !is_even(problem->extents[run]) || !rest_is_even(&problem->src, run, true) ||
      !rest_is_even(&problem->dst, run, true)) {
    return false;
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->terms[t].form.axis[run] != 0) {
      return false;
    }
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (!guard_allows(&problem->guards[g], run)) {
      return false;
    }
  }
  return true;
}

static void halve(rlo_form *form, int32_t run) {
  int64_t step = form->axis[run];
  form->base -= step == -1;
  for (int32_t n = 0; n < RLO__FORM_NUMBERS; ++n) {
    rlo__form_numbers(form)[n] /= 2;
  }
  form->axis[run] = step;
}

/* Two copies of the fill in one unit. */
static void double_fill(rlo_problem *problem) {
  int32_t bits = problem->unit_bits;
  if (bits < 8) {
    problem->fill[0] = (uint8_t)(problem->fill[0] | problem->fill[0] << bits);
    return;
  }
  for (int32_t b = 0; b < bits / 8; ++b) {
    problem->fill[bits / 8 + b] = problem->fill[b];
  }
}

static bool is_power_of_two(int32_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

bool rlo__widen(rlo_problem *problem) {
  if (!is_power_of_two(problem->unit_bits)) {
    return false;
  }
  int32_t run = 0;
  while (run < problem->num_axes && !run_allows(problem, run)) {
    ++run;
  }
  if (run == problem->num_axes) {
    return false;
  }
  halve(&problem->src, run);
  halve(&problem->dst, run);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].form.axis[run] != 0) {
      halve(&problem->guards[g].form, run);
      problem->guards[g].limit /= 2;
    }
  }
  problem->extents[run] /= 2;
  double_fill(problem);
  problem->unit_bits *= 2;
  return true;
}

/* ---------------------------------------------------------------- narrowing */

static int fill_bit(const rlo_problem *problem, int32_t bit) {
  return problem->fill[bit / 8] >> (bit % 8) & 1;
}

bool rlo__fill_repeats(const rlo_problem *problem, int32_t bits) {
  for (int32_t bit = bits; bit < problem->unit_bits; ++bit) {
    if (fill_bit(problem, bit) != fill_bit(problem, bit - bits)) {
      return false;
    }
  }
  return true;
}

static void cut_fill(rlo_problem *problem, int32_t bits) {
  uint8_t part[sizeof problem->fill] = {0};
  for (int32_t bit = 0; bit < bits; ++bit) {
    part[bit / 8] = (uint8_t)(part[bit / 8] | fill_bit(problem, bit) << (bit % 8));
  }
  memcpy(problem->fill, part, sizeof part);
}

rlo_status rlo__narrow(rlo_problem *problem, int32_t bits) {
  int32_t part;
  int64_t parts = problem->unit_bits / bits;
  RLO_TRY(rlo__rewrite_add_axis(problem, "parts of units need", "axes", parts, &part));
  RLO_FAIL_IF(!rlo__form_scale(&problem->src, parts) || !rlo__form_scale(&problem->dst, parts),
              RLO_OVERFLOW, "a position, counted in parts of %d bits, exceeds 64 bits", bits);
  problem->src.axis[part] = problem->dst.axis[part] = 1;
  cut_fill(problem, bits);
  problem->unit_bits = bits;
  return RLO_OK;
}
