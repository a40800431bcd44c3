/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/record.h"

#include <string.h>

#include "ir/problem.h"

enum {
  /** Numbers before the extents, and those of a computing problem at the end.
   */
  HEAD_NUMBERS = 13,
  ARITHMETIC_NUMBERS = 6,
  STEP_NUMBERS = 3,
  /** Numbers of a term and of a guard beside its form. */
  TERM_NUMBERS = 3,
  GUARD_NUMBERS = 2
};

_Static_assert(RLO_MAX_UNIT_BITS == 128, "a fill is two numbers");

static bool is_within(int32_t count, int32_t limit) {
  return count >= 0 && count <= limit;
}

size_t rlo__record_count(const rlo_problem *problem) {
  const bool computes = problem->update == RLO_UPDATE_COMBINE;
  if (!is_within(problem->num_axes, RLO_MAX_AXES) ||
      !is_within(problem->num_terms, RLO_MAX_TERMS) ||
      !is_within(problem->num_guards, RLO_MAX_GUARDS) ||
      (computes && !is_within(problem->arithmetic.num_steps, RLO_MAX_ELEMENT_STEPS))) {
    return 0;
  }
  const size_t axes = (size_t)problem->num_axes;
  const size_t terms = (size_t)problem->num_terms;
  const size_t guards = (size_t)problem->num_guards;
  const size_t form = 1 + axes + terms;
  return HEAD_NUMBERS + axes + 2 * form + terms * (TERM_NUMBERS + form) +
         guards * (GUARD_NUMBERS + form) +
         (computes ? ARITHMETIC_NUMBERS + (size_t)problem->arithmetic.num_steps * STEP_NUMBERS : 0);
}

/* ------------------------------------------------------------------ writing */

static int64_t *put_form(int64_t *at, const rlo_problem *problem, const rlo_form *form) {
  const size_t axes = (size_t)problem->num_axes;
  const size_t terms = (size_t)problem->num_terms;
  *at++ = form->base;
  memcpy(at, form->axis, axes * sizeof *at);
  memcpy(at + axes, form->term, terms * sizeof *at);
  return at + axes + terms;
}

static void put_arithmetic(int64_t *at, const rlo_arithmetic *a) {
  const int64_t numbers[ARITHMETIC_NUMBERS] = {a->src_type,      a->dst_type,      a->compute_type,
                                               a->dst_unit_bits, a->is_sequential, a->num_steps};
  memcpy(at, numbers, sizeof numbers);
  at += ARITHMETIC_NUMBERS;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    at[0] = a->steps[s].op;
    memcpy(at + 1, a->steps[s].numbers, sizeof a->steps[s].numbers);
    at += STEP_NUMBERS;
  }
}

/** The numbers before the extents, written in place: reading back at once what
 *  was stored in parts waits for the stores. */
typedef struct head {
  int64_t numbers[HEAD_NUMBERS];
} head;

void rlo__record_write(const rlo_problem *problem, int64_t *out_record) {
  int64_t *at = out_record + HEAD_NUMBERS;
  int64_t fill[2];
  memcpy(fill, problem->fill, sizeof fill);
  *(head *)out_record =
      (head){{problem->unit_bits, problem->num_axes, problem->num_terms, problem->num_guards,
              problem->update, problem->src_bytes, problem->dst_bytes, problem->read_bytes,
              problem->written_bytes, problem->index_bits, problem->index_bytes, fill[0], fill[1]}};
  memcpy(at, problem->extents, (size_t)problem->num_axes * sizeof *at);
  at += problem->num_axes;
  at = put_form(at, problem, &problem->src);
  at = put_form(at, problem, &problem->dst);
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    *at++ = term->kind;
    *at++ = term->divisor;
    *at++ = term->limit;
    at = put_form(at, problem, &term->form);
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    *at++ = problem->guards[g].kind;
    *at++ = problem->guards[g].limit;
    at = put_form(at, problem, &problem->guards[g].form);
  }
  if (problem->update == RLO_UPDATE_COMBINE) {
    put_arithmetic(at, &problem->arithmetic);
  }
}

/* ------------------------------------------------------------------ reading */

static const int64_t *get_form(const int64_t *at, const rlo_problem *problem, rlo_form *out_form) {
  const size_t axes = (size_t)problem->num_axes;
  const size_t terms = (size_t)problem->num_terms;
  memset(out_form, 0, sizeof *out_form);
  out_form->base = *at++;
  memcpy(out_form->axis, at, axes * sizeof *at);
  memcpy(out_form->term, at + axes, terms * sizeof *at);
  return at + axes + terms;
}

static rlo_arithmetic get_arithmetic(const int64_t *at) {
  rlo_arithmetic a = {.src_type = (rlo_dtype)at[0],
                      .dst_type = (rlo_dtype)at[1],
                      .compute_type = (rlo_dtype)at[2],
                      .dst_unit_bits = (int32_t)at[3],
                      .is_sequential = at[4] != 0,
                      .num_steps = (int32_t)at[5]};
  at += ARITHMETIC_NUMBERS;
  for (int32_t s = 0; s < a.num_steps; ++s) {
    a.steps[s].op = (rlo_element_op)at[0];
    memcpy(a.steps[s].numbers, at + 1, sizeof a.steps[s].numbers);
    at += STEP_NUMBERS;
  }
  return a;
}

void rlo__record_read(const int64_t *record, rlo_problem *out_problem) {
  rlo_problem *p = out_problem;
  const int64_t *at = record;
  rlo__problem_clear(p);
  p->unit_bits = (int32_t)at[0];
  p->num_axes = (int32_t)at[1];
  p->num_terms = (int32_t)at[2];
  p->num_guards = (int32_t)at[3];
  p->update = (rlo_update)at[4];
  p->src_bytes = at[5];
  p->dst_bytes = at[6];
  p->read_bytes = at[7];
  p->written_bytes = at[8];
  p->index_bits = (int32_t)at[9];
  p->index_bytes = at[10];
  memcpy(p->fill, &at[HEAD_NUMBERS - 2], sizeof p->fill);
  at += HEAD_NUMBERS;
  memcpy(p->extents, at, (size_t)p->num_axes * sizeof *at);
  at += p->num_axes;
  at = get_form(at, p, &p->src);
  at = get_form(at, p, &p->dst);
  for (int32_t t = 0; t < p->num_terms; ++t) {
    rlo_term *term = &p->terms[t];
    term->kind = (rlo_term_kind)*at++;
    term->divisor = *at++;
    term->limit = *at++;
    at = get_form(at, p, &term->form);
  }
  for (int32_t g = 0; g < p->num_guards; ++g) {
    p->guards[g].kind = (rlo_guard_kind)*at++;
    p->guards[g].limit = *at++;
    at = get_form(at, p, &p->guards[g].form);
  }
  if (p->update == RLO_UPDATE_COMBINE) {
    p->arithmetic = get_arithmetic(at);
  }
}
