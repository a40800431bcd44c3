/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"
#include "ops/combine.h"

static rlo_status lower(const rlo_shape *const *srcs,
                        int32_t count,
                        const rlo_shape *dst,
                        rlo_problem *problem,
                        rlo_problem_list *list) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  for (int32_t n = 0; n < count; ++n) {
    options.beta = n > 0 ? 1.0 : 0.0;
    RLO_TRY(rlo_relayout_combine(srcs[n], dst, NULL, &options, problem));
    RLO_TRY(rlo__problem_list_add(list, n, -1, problem));
  }
  return RLO_OK;
}

rlo_status rlo_add_n_lower(const rlo_shape *const *srcs,
                           int32_t count,
                           const rlo_shape *dst,
                           rlo_problem_list **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE(srcs, dst);
  RLO_REQUIRE_EACH(srcs, count);
  if (count < 1) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "add_n: %d arrays; at least 1 is needed", count);
  }
  if (count > 1) {
    RLO_TRY(rlo__ops_check_addable("add_n", dst->dtype));
  }
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  rlo_problem_list *list = rlo__alloc(sizeof *list);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (problem != NULL && list != NULL) {
    status = lower(srcs, count, dst, problem, list);
  }
  rlo__free(problem);
  if (status != RLO_OK) {
    rlo_problem_list_release(list);
    return status;
  }
  *out_list = list;
  return RLO_OK;
}
