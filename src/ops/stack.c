/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* Inserts a dimension of size 1 at `dim`. */
static rlo_status insert_dim(const rlo_shape *src,
                             int32_t dim,
                             rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK + 1];
  for (int32_t k = 0; k <= src->rank; ++k) {
    dims[k] = k == dim ? 1 : src->dims[k - (k > dim)];
  }
  return rlo__ops_shape_like(src, dims, src->rank + 1, out_shape);
}

static rlo_status check_alike(const rlo_shape *first,
                              const rlo_shape *next,
                              int32_t number,
                              const char *name) {
  if (!rlo_shape_compatible(first, next)) {
    rlo__array_text texts[2];
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "stack: %s has another type or other dimensions than %s",
                    rlo__ops_array_text(name, number, &texts[0]),
                    rlo__ops_array_text(name, 0, &texts[1]));
  }
  return RLO_OK;
}

/* Appends the new dimension: coordinate k was k before it, and k - 1 after it.
 */
static rlo_status append_insertion(rlo_chain *chain, int32_t dim) {
  rlo_shape result;
  RLO_TRY(insert_dim(&chain->shape, dim, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].from = k + (k >= dim);
  }
  return rlo__chain_append(chain, &step, &result);
}

static rlo_status stack(rlo_chain *chain,
                        const rlo_chain *const *others,
                        int32_t count,
                        int32_t dim,
                        const char *name,
                        rlo_chain **copies) {
  RLO_TRY(append_insertion(chain, dim));
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(rlo_chain_clone(others[n], &copies[n]));
    RLO_TRY(append_insertion(copies[n], dim));
  }
  return rlo__chain_concatenate(
      chain, (const rlo_chain *const *)copies, count, dim, name);
}

rlo_status rlo__chain_stack(rlo_chain *chain,
                            const rlo_chain *const *others,
                            int32_t count,
                            int32_t dim,
                            const char *name) {
  if (count < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "stack: %d other chains", count);
  }
  RLO_TRY(rlo__dim_find("stack", dim, chain->shape.rank + 1, &dim));
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(check_alike(&chain->shape, &others[n]->shape, n + 1, name));
  }
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_chain **copies = rlo__alloc_array((size_t)count + 1, sizeof(rlo_chain *));
  if (copies != NULL) {
    status = stack(trial, others, count, dim, name, copies);
    for (int32_t n = 0; n < count; ++n) {
      rlo_chain_release(copies[n]);
    }
    rlo__free(copies);
  }
  return rlo__chain_end_trial(chain, trial, status);
}

rlo_status rlo_chain_stack(rlo_chain *chain,
                           const rlo_chain *const *others,
                           int32_t count,
                           int32_t dim) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_EACH(others, count);
  return rlo__chain_stack(chain, others, count, dim, NULL);
}

static rlo_status infer_unstack(const rlo_shape *src,
                                int32_t dim,
                                int64_t index,
                                rlo_shape *out_shape) {
  if (index < 0 || index >= src->dims[dim]) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "unstack: index %lld in dimension %d of size %lld",
                    (long long)index,
                    dim,
                    (long long)src->dims[dim]);
  }
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k + 1 < src->rank; ++k) {
    dims[k] = src->dims[k + (k >= dim)];
  }
  return rlo__ops_shape_like(src, dims, src->rank - 1, out_shape);
}

rlo_status rlo_chain_unstack(rlo_chain *chain, int32_t dim, int64_t index) {
  RLO_REQUIRE(chain);
  rlo_shape result;
  RLO_TRY(rlo__dim_find("unstack", dim, chain->shape.rank, &dim));
  RLO_TRY(infer_unstack(&chain->shape, dim, index, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].from = k - (k > dim);
  }
  step.rules[dim].from = -1;
  step.rules[dim].base = index;
  return rlo__chain_append(chain, &step, &result);
}
