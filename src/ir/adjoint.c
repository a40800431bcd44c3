/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "relayout/problem.h"

static void swap_int64(int64_t *a, int64_t *b) {
  int64_t kept = *a;
  *a = *b;
  *b = kept;
}

/* In place. A point that took the fill has no source to give anything to. */
static void swap_maps(rlo_problem *problem) {
  rlo_form kept = problem->src;
  problem->src = problem->dst;
  problem->dst = kept;
  swap_int64(&problem->src_bytes, &problem->dst_bytes);
  swap_int64(&problem->read_bytes, &problem->written_bytes);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    problem->guards[g].kind = RLO_GUARD_SKIP;
  }
  memset(problem->fill, 0, sizeof problem->fill);
  problem->update = RLO_UPDATE_ACCUMULATE;
}

/* Whether no two points write one cell of a canonical problem: in falling order
 * of its strides, each passes everything that those behind it can reach. */
static bool writes_once(const rlo_problem *problem) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->dst.term[t] != 0) {
      return false;
    }
  }
  int64_t reach = 0;
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (problem->extents[a] > 1 && problem->dst.axis[a] <= reach) {
      return false;
    }
    if (!rlo__mul_add(
            reach, problem->dst.axis[a], problem->extents[a] - 1, &reach)) {
      return false;
    }
  }
  return true;
}

static rlo_status make_adjoint(const rlo_problem *problem, rlo_problem *out) {
  *out = *problem;
  swap_maps(out);
  return rlo_problem_canonicalize(out, 0, NULL, NULL);
}

rlo_status rlo_problem_reads_once(const rlo_problem *problem,
                                  bool *out_reads_once) {
  rlo_problem *adjoint = rlo__alloc(sizeof *adjoint);
  if (adjoint == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = make_adjoint(problem, adjoint);
  if (status == RLO_OK) {
    *out_reads_once = rlo_problem_is_empty(adjoint) || writes_once(adjoint);
  }
  rlo__free(adjoint);
  return status;
}

static rlo_status make_storing(rlo_problem *adjoint) {
  if (rlo_problem_is_empty(adjoint)) {
    return RLO_OK;
  }
  if (!writes_once(adjoint)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the problem may read a unit more than once; its adjoint "
                    "has to accumulate");
  }
  adjoint->update = RLO_UPDATE_STORE;
  return rlo_problem_canonicalize(adjoint, 0, NULL, NULL);
}

rlo_status rlo_problem_adjoint(const rlo_problem *problem,
                               rlo_update update,
                               rlo_problem *out_problem) {
  if (update != RLO_UPDATE_STORE && update != RLO_UPDATE_ACCUMULATE) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "update %d is neither %d (store) nor %d (accumulate)",
                    (int)update,
                    (int)RLO_UPDATE_STORE,
                    (int)RLO_UPDATE_ACCUMULATE);
  }
  rlo_problem *adjoint = rlo__alloc(sizeof *adjoint);
  if (adjoint == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = make_adjoint(problem, adjoint);
  if (status == RLO_OK && update == RLO_UPDATE_STORE) {
    status = make_storing(adjoint);
  }
  if (status == RLO_OK) {
    *out_problem = *adjoint;
  }
  rlo__free(adjoint);
  return status;
}
