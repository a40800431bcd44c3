/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_problem.h"

#include <stdlib.h>
#include <string.h>

#include "desc/dtype.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random_indexed.h"
#include "support/random_shape.h"

/** Limits of the problems that are drawn, and of those that are kept. */
static const struct {
  int64_t elements, chain_extent, form_extent;
  int32_t least_rank;
  int64_t least_points, most_points, most_bytes;
} sizes[] = {[TEST_PROBLEM_SMALL] = {100, 6, 5, 0, 0, 400, 4096},
             [TEST_PROBLEM_LARGE] = {20000, 24, 16, 2, 1000, 30000, TEST_PROBLEM_LARGE_BYTES}};

/* ------------------------------------------------------------------ walking */

static int64_t value_with(const test_walk *walk, const rlo_form *form, int32_t num_terms) {
  int64_t value = form->base;
  for (int32_t a = 0; a < walk->of->problem.num_axes; ++a) {
    value += form->axis[a] * walk->axis[a];
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    value += form->term[t] * walk->term[t];
  }
  return value;
}

static int64_t load(const test_problem *of, int64_t position, int64_t limit) {
  int64_t count = of->problem.index_bytes * 8 / of->problem.index_bits;
  if (position < 0 || position >= count) {
    return -1;
  }
  int64_t value =
      of->problem.index_bits == 64 ? of->indices.wide[position] : of->indices.narrow[position];
  return value < 0 || value >= limit ? -1 : value;
}

static void find_terms(test_walk *walk) {
  const rlo_problem *problem = &walk->of->problem;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    int64_t value = value_with(walk, &term->form, t);
    if (term->kind == RLO_TERM_LOAD) {
      walk->term[t] = load(walk->of, value, term->limit);
    } else {
      int64_t rest = (value % term->divisor + term->divisor) % term->divisor;
      walk->term[t] = (value - rest) / term->divisor;
    }
  }
}

bool test_walk_next(test_walk *walk) {
  const rlo_problem *problem = &walk->of->problem;
  bool is_found = !walk->has_begun && !rlo_problem_is_empty(problem);
  for (int32_t a = problem->num_axes - 1; a >= 0 && walk->has_begun; --a) {
    if (++walk->axis[a] < problem->extents[a]) {
      is_found = true;
      break;
    }
    walk->axis[a] = 0;
  }
  walk->has_begun = true;
  if (is_found) {
    find_terms(walk);
  }
  return is_found;
}

int64_t test_walk_value(const test_walk *walk, const rlo_form *form) {
  return value_with(walk, form, walk->of->problem.num_terms);
}

bool test_walk_holds(const test_walk *walk, rlo_guard_kind kind) {
  const rlo_problem *problem = &walk->of->problem;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    int64_t value = test_walk_value(walk, &problem->guards[g].form);
    if (problem->guards[g].kind == kind && (value < 0 || value >= problem->guards[g].limit)) {
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------- problems of shapes */

/* Any type, half of the time one of each width. */
static rlo_dtype draw_type(test_random *random) {
  static const rlo_dtype types[] = {RLO_DTYPE_S4,  RLO_DTYPE_U2,  RLO_DTYPE_U8,
                                    RLO_DTYPE_F16, RLO_DTYPE_F32, RLO_DTYPE_C128};
  if (test_random_once_in(random, 2)) {
    return types[test_random_in(random, 0, 5)];
  }
  rlo_dtype type;
  do {
    type = (rlo_dtype)test_random_in(random, RLO_DTYPE_PRED, rlo__dtype_end - 1);
    /* These have no zero or no one, which layouts may be filled with. */
  } while (!rlo_dtype_is_valid(type) || type == RLO_DTYPE_F8E8M0FNU || type == RLO_DTYPE_S1);
  return type;
}

static void draw_relayout(test_random *random, bool is_conversion, test_problem_size size,
                          rlo_problem *out) {
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape src;
  rlo_shape dst;
  test_random_pair(random, draw_type(random),
                   sizes[size].least_rank + (int32_t)test_random_in(random, 0, 4),
                   sizes[size].elements, &src, &dst, permutation);
  if (!is_conversion) {
    expect_ok(rlo_relayout_lower(&src, &dst, permutation, out));
    return;
  }
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.beta = (double)test_random_in(random, 0, 1);
  dst = test_random_shape(random, draw_type(random), dst.dims, dst.rank, TEST_ALL);
  expect_ok(rlo_relayout_combine(&src, &dst, permutation, &options, out));
}

static rlo_status draw_link(test_random *random, rlo_chain *chain) {
  const rlo_shape *shape = rlo_chain_shape(chain);
  int64_t low[RLO_MAX_RANK];
  int64_t high[RLO_MAX_RANK];
  int64_t step[RLO_MAX_RANK];
  int32_t order[RLO_MAX_RANK];
  const uint8_t value[16] = {1};
  test_random_permutation(random, shape->rank, order);
  switch (test_random_in(random, 0, 4)) {
    case 0:
      return rlo_chain_transpose(chain, order);
    case 1:
      for (int32_t k = 0; k < shape->rank; ++k) {
        low[k] = test_random_in(random, 0, shape->dims[k] / 2);
        high[k] = test_random_in(random, low[k], shape->dims[k]);
        step[k] = test_random_in(random, 1, 2);
      }
      return rlo_chain_slice(chain, low, high, step);
    case 2:
      for (int32_t k = 0; k < shape->rank; ++k) {
        low[k] = test_random_in(random, -1, 2);
        high[k] = test_random_in(random, 0, 2);
        step[k] = test_random_in(random, 0, 3) / 3;
      }
      return rlo_chain_pad(chain, low, high, step, test_random_once_in(random, 2) ? value : NULL);
    case 3:
      return rlo_chain_reverse(chain, order, (int32_t)test_random_in(random, 0, shape->rank));
    default:
      low[0] = 1;
      for (int32_t k = 0; k < shape->rank; ++k) {
        low[0] *= shape->dims[k];
      }
      low[1] = test_random_in(random, 1, 6);
      low[0] /= low[1];
      return rlo_chain_reshape(chain, low, 2);
  }
}

/* Takes one of a list's problems. */
static void pick(test_random *random, const rlo_problem_list *list, rlo_problem *out) {
  int32_t count = rlo_problem_list_count(list);
  *out = *rlo_problem_list_get(list, (int32_t)test_random_in(random, 0, count - 1));
}

static bool draw_chain(test_random *random, test_problem_size size, rlo_problem *out) {
  int64_t dims[3];
  int32_t rank = (int32_t)test_random_in(random, 1, 3);
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_in(random, 1, sizes[size].chain_extent);
  }
  rlo_dtype type = draw_type(random);
  rlo_shape src = test_random_shape(random, type, dims, rank, TEST_ALL | TEST_BROADCAST);
  rlo_chain *chain;
  expect_ok(rlo_chain_create(&src, &chain));
  for (int64_t n = test_random_in(random, 1, 4); n > 0; --n) {
    rlo_status ignored = draw_link(random, chain);
    (void)ignored;
  }
  const rlo_shape *shape = rlo_chain_shape(chain);
  rlo_shape dst = test_random_shape(random, type, shape->dims, shape->rank, TEST_ALL);
  rlo_problem_list *list = NULL;
  bool is_lowered =
      rlo_chain_lower(chain, &dst, &list) == RLO_OK && rlo_problem_list_count(list) > 0;
  if (is_lowered) {
    pick(random, list, out);
  }
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  return is_lowered;
}

static bool draw_gather(test_random *random, test_problem *out) {
  test_indexed x;
  test_random_indexed(random, draw_type(random), 100, false, &x);
  rlo_chain *chain;
  expect_ok(rlo_chain_create(&x.array, &chain));
  expect_ok(rlo_chain_gather(chain, &x.indices, x.dim, x.batch_dims));
  rlo_problem_list *list;
  expect_ok(rlo_chain_lower(chain, &x.rows, &list));
  bool fits = x.index_bytes <= (int64_t)sizeof out->indices && rlo_problem_list_count(list) > 0;
  if (fits) {
    pick(random, list, &out->problem);
    memcpy(&out->indices, x.index_memory, (size_t)x.index_bytes);
  }
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  free(x.index_memory);
  return fits;
}

static void draw_segment_sum(test_random *random, test_problem *out) {
  test_plan_segment_sum("f32[20,6]", "s32[20]", "f32[3,6]{0,1}", &out->problem);
  for (int32_t n = 0; n < 60; ++n) {
    const int32_t index = (int32_t)test_random_in(random, 0, 19);
    if (out->problem.index_bits == 64) {
      out->indices.wide[n] = index;
    } else {
      out->indices.narrow[n] = index;
    }
  }
}

/* -------------------------------------------------------- problems of forms */

/* Distinct positions, with gaps now and then. */
static void draw_nested(test_random *random, const rlo_problem *problem, bool may_flip,
                        rlo_form *out) {
  int32_t order[RLO_MAX_AXES];
  test_random_permutation(random, problem->num_axes, order);
  int64_t stride = test_random_once_in(random, 4) ? 2 : 1;
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    int32_t a = order[n];
    out->axis[a] = may_flip && test_random_once_in(random, 4) ? -stride : stride;
    stride *= problem->extents[a];
    stride += test_random_once_in(random, 3) ? test_random_in(random, 1, 3) : 0;
  }
}

static void draw_term(test_random *random, rlo_problem *problem) {
  rlo_term *term = &problem->terms[problem->num_terms];
  term->kind = test_random_once_in(random, 4) ? RLO_TERM_LOAD : RLO_TERM_QUOTIENT;
  term->divisor = test_random_in(random, 2, 5);
  term->limit = test_random_in(random, 0, 5);
  term->form.base = test_random_in(random, -4, 4);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    term->form.axis[a] = test_random_in(random, -3, 3);
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    term->form.term[t] = test_random_in(random, -1, 1);
  }
  problem->src.term[problem->num_terms++] = test_random_in(random, -4, 4);
}

static bool is_reduction(const rlo_problem *problem, int32_t axis) {
  return problem->update == RLO_UPDATE_COMBINE && problem->dst.axis[axis] == 0;
}

static void draw_guard(test_random *random, rlo_problem *problem) {
  rlo_guard *guard = &problem->guards[problem->num_guards++];
  guard->kind = test_random_once_in(random, 2) ? RLO_GUARD_PAD : RLO_GUARD_SKIP;
  guard->form.base = test_random_in(random, -2, 1);
  int32_t count = (int32_t)test_random_in(random, 0, 3);
  bool is_radix = test_random_once_in(random, 2);
  int64_t factor = is_radix ? 1 : test_random_in(random, -2, 2);
  int64_t most = 0;
  for (; count > 0 && problem->num_axes > 0; --count) {
    int32_t a = (int32_t)test_random_in(random, 0, problem->num_axes - 1);
    guard->form.axis[a] = factor;
    most += llabs(factor) * (problem->extents[a] - 1);
    factor = is_radix ? factor * problem->extents[a] : test_random_in(random, -2, 2);
    if (is_reduction(problem, a)) {
      guard->kind = RLO_GUARD_SKIP;
    }
  }
  if (problem->update == RLO_UPDATE_STORE && problem->num_terms > 0 &&
      test_random_once_in(random, 4)) {
    guard->form.term[0] = test_random_in(random, -1, 1);
  }
  guard->limit = test_random_in(random, most / 2, most + 2);
}

/* Moves a side to the begin of its memory, which ends with its last unit. */
static void fit_memory(test_random *random, test_problem *p, bool is_src, rlo_form *form,
                       int64_t unit_bits, int64_t *out_bytes) {
  test_walk walk = {.of = p};
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  while (test_walk_next(&walk)) {
    if (test_walk_holds(&walk, RLO_GUARD_SKIP) &&
        (!is_src || test_walk_holds(&walk, RLO_GUARD_PAD))) {
      int64_t value = test_walk_value(&walk, form);
      first = value < first ? value : first;
      last = value > last ? value : last;
    }
  }
  *out_bytes = 0;
  if (first <= last) {
    int64_t slack = test_random_once_in(random, 2) ? test_random_in(random, 0, 5) : 0;
    form->base += slack - first;
    *out_bytes = ((last - first + slack + 1) * unit_bits + 7) / 8;
  }
}

static void draw_forms(test_random *random, bool is_sum, test_problem_size size,
                       test_problem *out) {
  static const int32_t units[] = {1, 2, 3, 4, 8, 12, 16, 24, 32, 128};
  rlo_problem *problem = &out->problem;
  problem->unit_bits = is_sum ? 32 : units[test_random_in(random, 0, 9)];
  problem->num_axes = (int32_t)test_random_in(random, is_sum ? 2 : sizes[size].least_rank, 4);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    problem->extents[a] = test_random_in(random, 1, is_sum ? 7 : sizes[size].form_extent);
  }
  draw_nested(random, problem, true, &problem->dst);
  draw_nested(random, problem, !is_sum, &problem->src);
  if (is_sum) {
    problem->update = RLO_UPDATE_COMBINE;
    problem->arithmetic = (rlo_arithmetic){
        .src_type = RLO_DTYPE_F32,
        .dst_type = RLO_DTYPE_F32,
        .dst_unit_bits = 32,
        .num_steps = 1,
        .steps = {{RLO_ELEMENT_ACCUMULATE, {(double)test_random_in(random, 0, 1)}}}};
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (is_sum && test_random_once_in(random, 2)) {
      problem->dst.axis[a] = 0;
    }
    if (test_random_once_in(random, 6)) {
      problem->src.axis[a] = test_random_in(random, -5, 5);
    }
  }
  problem->index_bits = 32;
  problem->index_bytes = 40;
  for (int32_t n = 0; n < 10; ++n) {
    out->indices.narrow[n] = (int32_t)test_random_in(random, -1, 5);
  }
  if (test_random_once_in(random, 3)) {
    for (int64_t n = test_random_in(random, 1, 3); n > 0; --n) {
      draw_term(random, problem);
    }
  }
  for (int64_t n = test_random_in(random, 0, 3); n > 0; --n) {
    draw_guard(random, problem);
  }
  problem->fill[0] = 1;
  fit_memory(random, out, true, &problem->src, problem->unit_bits, &problem->src_bytes);
  fit_memory(random, out, false, &problem->dst, problem->unit_bits, &problem->dst_bytes);
  problem->read_bytes = problem->written_bytes = 1 << 20;
}

bool test_random_problem_of(test_random *random, test_problem_kind kind, test_problem_size size,
                            test_problem *out) {
  memset(out, 0, sizeof *out);
  bool is_drawn = true;
  switch (kind) {
    case TEST_PROBLEM_RELAYOUT:
    case TEST_PROBLEM_CONVERSION:
      draw_relayout(random, kind == TEST_PROBLEM_CONVERSION, size, &out->problem);
      break;
    case TEST_PROBLEM_CHAIN:
      is_drawn = draw_chain(random, size, &out->problem);
      break;
    case TEST_PROBLEM_GATHER:
      is_drawn = draw_gather(random, out);
      break;
    case TEST_PROBLEM_SEGMENT_SUM:
      draw_segment_sum(random, out);
      break;
    default:
      draw_forms(random, kind == TEST_PROBLEM_SUM, size, out);
      break;
  }
  if (!is_drawn || out->problem.src_bytes > sizes[size].most_bytes ||
      out->problem.dst_bytes > sizes[size].most_bytes) {
    return false;
  }
  int64_t points = 1;
  for (int32_t a = 0; a < out->problem.num_axes; ++a) {
    points *= out->problem.extents[a];
  }
  return points >= sizes[size].least_points && points <= sizes[size].most_points;
}

bool test_random_problem(test_random *random, test_problem_kind kind, test_problem *out) {
  return test_random_problem_of(random, kind, TEST_PROBLEM_SMALL, out);
}

bool test_problem_skips(const rlo_problem *problem) {
  bool skips = false;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    skips = skips || problem->guards[g].kind == RLO_GUARD_SKIP;
  }
  return skips;
}
