/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "desc/strides.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/validate.h"

static void swap_int64(int64_t *a, int64_t *b) {
  int64_t saved = *a;
  *a = *b;
  *b = saved;
}

/* The adjoint of a list of steps, from the last to the first. */
static void repeat_steps(const rlo_arithmetic *forward, rlo_arithmetic *out) {
  for (int32_t s = forward->num_steps - 1; s >= 0; --s) {
    const rlo__element_info *info = rlo__element_info_of(forward->steps[s].op);
    if (info != NULL && info->adjoint == RLO__ADJOINT_REPEATS) {
      out->steps[out->num_steps++] = forward->steps[s];
    }
  }
}

/* In place. A point that takes the fill reads no source, so its adjoint adds
 * nothing. */
static void swap_maps(rlo_problem *problem, rlo_dtype sum_type) {
  rlo_form saved = problem->src;
  problem->src = problem->dst;
  problem->dst = saved;
  swap_int64(&problem->src_bytes, &problem->dst_bytes);
  swap_int64(&problem->read_bytes, &problem->written_bytes);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    problem->guards[g].kind = RLO_GUARD_SKIP;
  }
  memset(problem->fill, 0, sizeof problem->fill);
  rlo_arithmetic forward = problem->arithmetic;
  problem->arithmetic = (rlo_arithmetic){.src_type = sum_type,
                                         .dst_type = sum_type,
                                         .dst_unit_bits = problem->unit_bits,
                                         .is_sequential = true};
  if (problem->update == RLO_UPDATE_COMBINE) {
    problem->arithmetic.src_type = forward.dst_type;
    problem->arithmetic.dst_type = forward.src_type;
    problem->arithmetic.compute_type = forward.compute_type;
    problem->unit_bits = forward.dst_unit_bits;
    repeat_steps(&forward, &problem->arithmetic);
  }
  rlo__arithmetic_append(&problem->arithmetic, RLO_ELEMENT_ACCUMULATE, 1.0);
  problem->update = RLO_UPDATE_COMBINE;
}

/* Tells if no two points write one cell of a problem, except along reduction
 * axes if `is_summing`. */
static bool writes_once(const rlo_problem *problem, bool is_summing) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->dst.term[t] != 0) {
      return false;
    }
  }
  rlo__stride list[RLO_MAX_AXES];
  int32_t count = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t stride = problem->dst.axis[a];
    if (problem->extents[a] > 1 && !(is_summing && stride == 0)) {
      list[count++] = (rlo__stride){problem->extents[a], stride, a};
    }
  }
  return rlo__strides_are_distinct(list, count);
}

/* Sums even where the caller may not need it. */
static rlo_status make_adjoint(const rlo_problem *problem, rlo_dtype sum_type, rlo_problem *out) {
  RLO_TRY(rlo__problem_validate(problem));
  *out = *problem;
  /* A type that fits any unit: only the maps matter here. */
  swap_maps(out, sum_type == RLO_DTYPE_INVALID ? RLO_DTYPE_U1 : sum_type);
  RLO_TRY(rlo_problem_canonicalize(out, 0, NULL, NULL));
  if (rlo_problem_is_empty(out) || writes_once(out, true)) {
    out->arithmetic.is_sequential = false;
  }
  return RLO_OK;
}

rlo_status rlo_problem_reads_once(const rlo_problem *problem, bool *out_reads_once) {
  RLO_REQUIRE(problem, out_reads_once);
  rlo_problem *adjoint = rlo__alloc(sizeof *adjoint);
  RLO_TRY_MEMORY(adjoint);
  rlo_status status = make_adjoint(problem, RLO_DTYPE_INVALID, adjoint);
  if (status == RLO_OK) {
    *out_reads_once = rlo_problem_is_empty(adjoint) || writes_once(adjoint, false);
  }
  rlo__free(adjoint);
  return status;
}

static rlo_status make_storing(rlo_update forward, rlo_problem *adjoint) {
  if (rlo_problem_is_empty(adjoint)) {
    return RLO_OK;
  }
  RLO_FAIL_IF(!writes_once(adjoint, false), RLO_INVALID_ARGUMENT,
              "the problem may read a unit more than once; its adjoint has to accumulate");
  rlo__arithmetic_remove(&adjoint->arithmetic, RLO_ELEMENT_ACCUMULATE);
  if (forward == RLO_UPDATE_STORE) {
    adjoint->update = RLO_UPDATE_STORE;
  }
  return rlo_problem_canonicalize(adjoint, 0, NULL, NULL);
}

static rlo_status check_steps(const rlo_problem *problem) {
  if (problem->update == RLO_UPDATE_STORE) {
    return RLO_OK;
  }
  RLO_TRY(rlo__problem_validate(problem));
  for (int32_t s = 0; s < problem->arithmetic.num_steps; ++s) {
    const rlo__element_info *info = rlo__element_info_of(problem->arithmetic.steps[s].op);
    RLO_FAIL_IF(info != NULL && info->adjoint == RLO__ADJOINT_NONE, RLO_UNSUPPORTED,
                "values are %s, and the adjoint of that depends on them", info->name);
  }
  return RLO_OK;
}

static rlo_status check_sum_type(const rlo_problem *problem, rlo_dtype sum_type) {
  rlo_dtype dtype = problem->update == RLO_UPDATE_COMBINE ? problem->arithmetic.src_type : sum_type;
  RLO_FAIL_IF(!rlo__arithmetic_is_addable(dtype), RLO_UNSUPPORTED,
              "values of type %s are not added up", rlo_dtype_name(dtype));
  return RLO_OK;
}

rlo_status rlo_problem_adjoint(const rlo_problem *problem, rlo_dtype sum_type,
                               rlo_problem *out_problem) {
  RLO_REQUIRE(problem, out_problem);
  bool is_storing = sum_type == RLO_DTYPE_INVALID;
  RLO_TRY(check_steps(problem));
  if (!is_storing) {
    RLO_TRY(check_sum_type(problem, sum_type));
  }
  rlo_problem *adjoint = rlo__alloc(sizeof *adjoint);
  RLO_TRY_MEMORY(adjoint);
  rlo_status status = make_adjoint(problem, sum_type, adjoint);
  if (status == RLO_OK && is_storing) {
    status = make_storing(problem->update, adjoint);
  }
  if (status == RLO_OK) {
    *out_problem = *adjoint;
  }
  rlo__free(adjoint);
  return status;
}
