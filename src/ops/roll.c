/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* The shifts of all dimensions, each in [0, size): those of one dimension add
 * up. */
static rlo_status add_shifts(const rlo_shape *shape,
                             const int64_t *shifts,
                             const int32_t *dims,
                             int32_t count,
                             int64_t out_shifts[RLO_MAX_RANK]) {
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

/* Appends the box y(i) = x(i + base), first <= i + base < first + count, to the
 * parts from `first_part` on, which write nothing else. */
static rlo_status append_box(rlo_chain *chain,
                             int32_t first_part,
                             int32_t dim,
                             int64_t base,
                             int64_t first,
                             int64_t count) {
  rlo__index_rule rule = rlo__index_rule_keep(dim);
  rule.is_bounded = true;
  rule.base = base;
  rule.first = first;
  rule.count = count;
  const rlo_shape *shape = &chain->shape;
  return rlo__chain_append_box(
      chain, first_part, shape, dim, shape->dims[dim], &rule);
}

/* Two boxes copy faster than one map with a remainder: the elements that stay
 * behind the shift, and those that wrap around. 0 < shift < size. */
static rlo_status roll_dim(rlo_chain *chain, int32_t dim, int64_t shift) {
  int64_t size = chain->shape.dims[dim];
  int32_t num_parts = chain->num_parts;
  rlo_chain *before;
  RLO_TRY(rlo_chain_clone(chain, &before));
  rlo_status status = append_box(chain, 0, dim, -shift, 0, size - shift);
  if (status == RLO_OK) {
    status = rlo__chain_take_copies(chain, before);
  }
  if (status == RLO_OK) {
    status =
        append_box(chain, num_parts, dim, size - shift, size - shift, shift);
  }
  rlo_chain_release(before);
  return status;
}

rlo_status rlo_chain_roll(rlo_chain *chain,
                          const int64_t *shifts,
                          const int32_t *dims,
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
