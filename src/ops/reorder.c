/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"
#include "relayout/permutation.h"

/* Operations that give the elements of an array another order. */

rlo_status rlo_chain_transpose(rlo_chain *chain, const int32_t *permutation) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(permutation, chain->shape.rank);
  int32_t from[RLO_MAX_RANK];
  RLO_TRY(rlo_permutation_normalize(permutation, chain->shape.rank, from));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.result_dims[k] = step.dims[from[k]];
    step.rules[from[k]].from = k;
  }
  return rlo__chain_append(chain, &step);
}

rlo_status rlo_chain_reverse(rlo_chain *chain, const int32_t *dims, int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, count);
  rlo__dim_set reversed;
  RLO_TRY(rlo__dim_set_make(&reversed, "reverse", chain->shape.rank, dims, count));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    if (reversed.has[k]) {
      step.rules[k].base = step.dims[k] - 1;
      step.rules[k].coef = -1;
    }
  }
  return rlo__chain_append(chain, &step);
}

/* --------------------------------------------------------------------- roll */

/* The shifts of all dimensions, each in [0, size): those of one dimension add
 * up. */
static rlo_status add_shifts(const rlo_shape *shape, const int64_t *shifts, const int32_t *dims,
                             int32_t count, int64_t out_shifts[RLO_MAX_RANK]) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t dim = 0;
    RLO_TRY(rlo__dim_find("roll", dims[i], shape->rank, &dim));
    int64_t size = shape->dims[dim];
    if (size > 0) {
      int64_t shift = shifts[i] % size;
      shift += shift < 0 ? size : 0;
      /* Their sum modulo the size, without exceeding it on the way. */
      out_shifts[dim] += out_shifts[dim] < size - shift ? shift : shift - size;
    }
  }
  return RLO_OK;
}

/* Two boxes copy faster than one map with a remainder: the elements that stay
 * behind the shift, and those that wrap around. 0 < shift < size. */
static rlo_status roll_dim(rlo_chain *chain, int32_t dim, int64_t shift) {
  int64_t size = chain->shape.dims[dim];
  const rlo__index_rule stay = {.from = dim, .coef = 1, .base = -shift, .count = size - shift};
  const rlo__index_rule wrap = {
      .from = dim, .coef = 1, .base = size - shift, .first = size - shift, .count = shift};
  rlo_chain *before;
  RLO_TRY(rlo_chain_clone(chain, &before));
  rlo_status status = rlo__chain_append_box(chain, 0, size, stay);
  if (status == RLO_OK) {
    status = rlo__chain_add_box(chain, before, true, size, wrap);
  }
  rlo_chain_release(before);
  return status;
}

rlo_status rlo_chain_roll(rlo_chain *chain, const int64_t *shifts, const int32_t *dims,
                          int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(shifts, count);
  RLO_REQUIRE_LIST(dims, count);
  int64_t total[RLO_MAX_RANK] = {0};
  rlo_chain *trial;
  RLO_TRY(add_shifts(&chain->shape, shifts, dims, count, total));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = RLO_OK;
  for (int32_t k = 0; status == RLO_OK && k < trial->shape.rank; ++k) {
    if (total[k] > 0) {
      status = roll_dim(trial, k, total[k]);
    }
  }
  return rlo__chain_end_trial(chain, trial, status);
}
