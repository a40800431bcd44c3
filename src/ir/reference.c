/* SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/arithmetic.h"
#include "ir/problem.h"
#include "ir/update.h"

/* The odometer of the box, with the values of the terms at its point. */
typedef struct point {
  const rlo_problem *problem;
  const uint8_t *indices;
  int64_t axis[RLO_MAX_AXES];
  int64_t term[RLO_MAX_TERMS];
} point;

static int64_t value_at(const point *p, const rlo_form *form, int32_t terms) {
  int64_t value = form->base;
  for (int32_t a = 0; a < p->problem->num_axes; ++a) {
    value += form->axis[a] * p->axis[a];
  }
  for (int32_t t = 0; t < terms; ++t) {
    value += form->term[t] * p->term[t];
  }
  return value;
}

static int64_t load_index(const point *p, int64_t position, int64_t limit) {
  int64_t bytes = p->problem->index_bits / 8;
  if (p->indices == NULL || position < 0 || position >= p->problem->index_bytes / bytes) {
    return -1;
  }
  int64_t value = rlo__index_at(p->indices, position, p->problem->index_bits);
  return value >= 0 && value < limit ? value : -1;
}

static void compute_terms(point *p) {
  for (int32_t t = 0; t < p->problem->num_terms; ++t) {
    const rlo_term *term = &p->problem->terms[t];
    int64_t value = value_at(p, &term->form, t);
    p->term[t] = term->kind == RLO_TERM_LOAD ? load_index(p, value, term->limit)
                                             : rlo__floor_div(value, term->divisor);
  }
}

static bool holds(const point *p, rlo_guard_kind kind) {
  for (int32_t g = 0; g < p->problem->num_guards; ++g) {
    const rlo_guard *guard = &p->problem->guards[g];
    if (guard->kind == kind) {
      int64_t value = value_at(p, &guard->form, p->problem->num_terms);
      if (value < 0 || value >= guard->limit) {
        return false;
      }
    }
  }
  return true;
}

static bool advance(point *p) {
  for (int32_t a = p->problem->num_axes - 1; a >= 0; --a) {
    if (++p->axis[a] < p->problem->extents[a]) {
      return true;
    }
    p->axis[a] = 0;
  }
  return false;
}

/* Copies `bits` bits between bit positions; the other bits of dst stay. */
static void copy_bits(const uint8_t *src, int64_t src_bit, uint8_t *dst, int64_t dst_bit,
                      int64_t bits) {
  for (int64_t i = 0; i < bits; ++i) {
    int bit = src[(src_bit + i) / 8] >> ((src_bit + i) % 8) & 1;
    uint8_t *byte = &dst[(dst_bit + i) / 8];
    int shift = (int)((dst_bit + i) % 8);
    *byte = (uint8_t)((*byte & ~(1 << shift)) | bit << shift);
  }
}

static void copy_unit(const uint8_t *src, int64_t src_unit, uint8_t *dst, int64_t dst_unit,
                      int64_t bits) {
  if (bits % 8 == 0) {
    int64_t bytes = bits / 8;
    memcpy(dst + dst_unit * bytes, src + src_unit * bytes, (size_t)bytes);
  } else {
    copy_bits(src, src_unit * bits, dst, dst_unit * bits, bits);
  }
}

static rlo_status check_unit(const char *side, int64_t unit, int64_t bits, int64_t memory_bytes) {
  int64_t end;
  RLO_FAIL_IF(
      unit < 0 || !rlo__mul_add(bits, unit, bits, &end) || rlo__ceil_div(end, 8) > memory_bytes,
      RLO_OUT_OF_RANGE, "%s position %lld of %lld bits lies outside its %lld bytes", side,
      (long long)unit, (long long)bits, (long long)memory_bytes);
  return RLO_OK;
}

static rlo_status run_storing(point *p, const uint8_t *src, uint8_t *dst) {
  const rlo_problem *problem = p->problem;
  int64_t bits = problem->unit_bits;
  do {
    compute_terms(p);
    if (!holds(p, RLO_GUARD_SKIP)) {
      continue;
    }
    int64_t to = value_at(p, &problem->dst, problem->num_terms);
    RLO_TRY(check_unit("destination", to, bits, problem->dst_bytes));
    if (holds(p, RLO_GUARD_PAD)) {
      int64_t from = value_at(p, &problem->src, problem->num_terms);
      RLO_TRY(check_unit("source", from, bits, problem->src_bytes));
      copy_unit(src, from, dst, to, bits);
    } else {
      copy_unit(problem->fill, 0, dst, to, bits);
    }
  } while (advance(p));
  return RLO_OK;
}

/* ---------------------------------------------------------------- combining */

/** The state of the current cell. */
typedef enum cell_state { CELL_UNTOUCHED, CELL_PADDED, CELL_COMBINED } cell_state;

static rlo_status load_operand(const point *p, rlo__combiner *combiner) {
  const rlo_problem *problem = p->problem;
  int32_t number = rlo__problem_operand_term(problem);
  if (number < 0) {
    return RLO_OK;
  }
  int64_t place = p->term[number];
  int32_t num_lists = rlo__arithmetic_lists_before(&problem->arithmetic, INT32_MAX);
  int64_t bytes = problem->index_bits / 8;
  int64_t length = problem->index_bytes / bytes / num_lists;
  RLO_TRY(check_unit("operand", place, problem->index_bits, length * bytes));
  for (int32_t n = 0; n < num_lists; ++n) {
    int64_t operand = rlo__index_at(p->indices, n * length + place, problem->index_bits);
    rlo__combiner_set_operand(combiner, n, (uint64_t)operand);
  }
  return RLO_OK;
}

static rlo_status finish_cell(const point *p, cell_state state, rlo__combiner *combiner,
                              uint8_t *dst) {
  const rlo_problem *problem = p->problem;
  int64_t bits = rlo_problem_dst_unit_bits(problem);
  if (state == CELL_UNTOUCHED) {
    return RLO_OK;
  }
  int64_t to = value_at(p, &problem->dst, problem->num_terms);
  RLO_TRY(check_unit("destination", to, bits, problem->dst_bytes));
  if (state == CELL_PADDED) {
    copy_unit(problem->fill, 0, dst, to, bits);
    return RLO_OK;
  }
  RLO_TRY(load_operand(p, combiner));
  uint8_t cell[16] = {0};
  copy_unit(dst, to, cell, 0, bits);
  rlo__combiner_finish(combiner, cell);
  copy_unit(cell, 0, dst, to, bits);
  return RLO_OK;
}

static rlo_status add_point(const point *p, const uint8_t *src, int64_t place, cell_state *state,
                            rlo__combiner *combiner) {
  const rlo_problem *problem = p->problem;
  if (!holds(p, RLO_GUARD_SKIP)) {
    return RLO_OK;
  }
  if (!holds(p, RLO_GUARD_PAD)) {
    *state = CELL_PADDED;
    return RLO_OK;
  }
  int64_t from = value_at(p, &problem->src, problem->num_terms);
  RLO_TRY(check_unit("source", from, problem->unit_bits, problem->src_bytes));
  uint8_t unit[16] = {0};
  copy_unit(src, from, unit, 0, problem->unit_bits);
  rlo__combiner_add(combiner, unit, place);
  *state = CELL_COMBINED;
  return RLO_OK;
}

/* The guards that end the last axis: no point after them is visited. Adding
 * such points as +0 in whole blocks would change no bit. */
static int64_t end_of_axis(const point *p, const int32_t *guards, int32_t num_guards) {
  int32_t last = p->problem->num_axes - 1;
  int64_t end = p->problem->extents[last];
  for (int32_t g = 0; g < num_guards; ++g) {
    const rlo_guard *guard = &p->problem->guards[guards[g]];
    int64_t step = guard->form.axis[last];
    int64_t value = value_at(p, &guard->form, p->problem->num_terms) - step * p->axis[last];
    int64_t most =
        step > 0 ? rlo__floor_div(guard->limit - 1 - value, step) : rlo__floor_div(value, -step);
    end = most + 1 < end ? most + 1 : end;
  }
  return end < 1 ? 1 : end;
}

/* The points of a cell are consecutive: reduction axes are the last ones. */
static rlo_status run_combining(point *p, const uint8_t *src, uint8_t *dst) {
  const rlo_problem *problem = p->problem;
  rlo__combiner combiner;
  rlo__combiner_init(&combiner, problem);
  int32_t first = problem->num_axes;
  while (first > 0 && rlo__problem_is_reduction_axis(problem, first - 1)) {
    --first;
  }
  int32_t last = problem->num_axes - 1;
  int64_t points = 1;
  for (int32_t a = first; a < problem->num_axes; ++a) {
    points *= problem->extents[a];
  }
  cell_state state = CELL_UNTOUCHED;
  int32_t guards[RLO_MAX_GUARDS];
  int32_t num_guards = rlo__problem_ending_guards(problem, guards);
  int64_t point_number = 0;
  int64_t end = 1;
  do {
    if (point_number == 0) {
      state = CELL_UNTOUCHED;
      rlo__combiner_begin(&combiner);
    }
    compute_terms(p);
    int64_t place = combiner.is_sum ? p->axis[last] : 0;
    if (combiner.is_sum && place == 0) {
      end = end_of_axis(p, guards, num_guards);
    }
    RLO_TRY(add_point(p, src, place, &state, &combiner));
    if (combiner.is_sum && ((place + 1) % RLO_SUM_BLOCK == 0 || place + 1 == end)) {
      rlo__combiner_end_block(&combiner);
    }
    if (combiner.is_sum && place + 1 == end) {
      point_number += problem->extents[last] - end;
      p->axis[last] = problem->extents[last] - 1;
    }
    if (++point_number == points) {
      point_number = 0;
      RLO_TRY(finish_cell(p, state, &combiner, dst));
    }
  } while (advance(p));
  return RLO_OK;
}

static rlo_status run_canonical(const rlo_problem *problem, const uint8_t *src,
                                const uint8_t *indices, uint8_t *dst) {
  rlo_problem *canonical = rlo__alloc(sizeof *canonical);
  RLO_TRY_MEMORY(canonical);
  *canonical = *problem;
  /* The caller may round otherwise, or flush denormals. */
  fenv_t mode;
  fegetenv(&mode);
  fesetenv(FE_DFL_ENV);
  rlo_status status = rlo_problem_canonicalize(canonical, 0, NULL, NULL);
  if (status == RLO_OK && !rlo_problem_is_empty(canonical)) {
    point p = {0};
    p.problem = canonical;
    p.indices = indices;
    status = run_combining(&p, src, dst);
  }
  fesetenv(&mode);
  rlo__free(canonical);
  return status;
}

rlo_status rlo_problem_run_host(const rlo_problem *problem, const void *src, void *dst) {
  RLO_FAIL_IF(rlo_problem_loads(problem) && rlo__problem_operand_term(problem) >= 0,
              RLO_INVALID_ARGUMENT,
              "a step of the problem takes an operand; rlo_problem_run_host_indexed takes it");
  RLO_FAIL_IF(rlo_problem_loads(problem), RLO_INVALID_ARGUMENT,
              "the problem loads indices; rlo_problem_run_host_indexed takes them");
  return rlo_problem_run_host_indexed(problem, src, NULL, dst);
}

static rlo_status check_indices(const rlo_problem *problem, const void *indices) {
  if (!rlo_problem_loads(problem)) {
    return RLO_OK;
  }
  RLO_FAIL_IF(problem->index_bits != 32 && problem->index_bits != 64, RLO_INVALID_ARGUMENT,
              "indices of %d bits; they have 32 or 64", problem->index_bits);
  RLO_REQUIRE_LIST(indices, problem->index_bytes);
  return RLO_OK;
}

rlo_status rlo_problem_run_host_indexed(const rlo_problem *problem, const void *src,
                                        const void *indices, void *dst) {
  RLO_REQUIRE(problem);
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  RLO_REQUIRE_LIST(src, problem->src_bytes);
  RLO_REQUIRE_LIST(dst, problem->dst_bytes);
  RLO_TRY(check_indices(problem, indices));
  if (problem->update == RLO_UPDATE_COMBINE) {
    return run_canonical(problem, src, indices, dst);
  }
  point p = {0};
  p.problem = problem;
  p.indices = indices;
  return run_storing(&p, src, dst);
}
