/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* Finds the size of the dimension given as -1. */
static rlo_status find_missing(const rlo_shape *src, int64_t *dims, int32_t rank, int32_t missing) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(src, &extent));
  int64_t others = 1;
  for (int32_t k = 0; k < rank; ++k) {
    RLO_FAIL_IF(k != missing && !rlo__mul(others, dims[k], &others), RLO_OVERFLOW,
                "reshape: the sizes exceed 64 bits");
  }
  RLO_FAIL_IF(others <= 0 || extent.elements % others != 0, RLO_INVALID_ARGUMENT,
              "reshape: no size of dimension %d makes %lld elements %lld times something", missing,
              (long long)extent.elements, (long long)others);
  dims[missing] = extent.elements / others;
  return RLO_OK;
}

rlo_status rlo_chain_reshape(rlo_chain *chain, const int64_t *dims, int32_t rank) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, rank);
  int32_t missing = -1;
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  step.is_reshape = true;
  RLO_TRY(rlo__step_set_dims(&step, dims, rank));
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] != -1) {
      continue;
    }
    RLO_FAIL_IF(missing >= 0, RLO_INVALID_ARGUMENT, "reshape: dimensions %d and %d are both -1",
                missing, k);
    missing = k;
  }
  if (missing >= 0) {
    RLO_TRY(find_missing(&chain->shape, step.result_dims, rank, missing));
  }
  rlo_shape result;
  rlo_shape_extent before;
  rlo_shape_extent after;
  RLO_TRY(rlo__ops_shape_like(&chain->shape, step.result_dims, rank, &result));
  RLO_TRY(rlo_shape_measure(&chain->shape, &before));
  RLO_TRY(rlo_shape_measure(&result, &after));
  RLO_FAIL_IF(before.elements != after.elements, RLO_INVALID_ARGUMENT,
              "reshape: %lld elements cannot become %lld", (long long)before.elements,
              (long long)after.elements);
  return rlo__chain_append(chain, &step);
}
