/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "ops/indexed.h"
#include "relayout/ops.h"

static rlo_status infer(const rlo_shape *src,
                        const rlo_shape *indices,
                        int32_t dim,
                        int32_t batch_dims,
                        rlo_shape *out_shape) {
  static const rlo__indexed_words words = {
      "gather", "the array", "the array of indices"};
  RLO_TRY(rlo__ops_check_gather(&words, src, indices, dim, batch_dims));
  int64_t dims[2 * RLO_MAX_RANK];
  int32_t rank = 0;
  for (int32_t k = 0; k < dim; ++k) {
    dims[rank++] = src->dims[k];
  }
  for (int32_t k = batch_dims; k < indices->rank; ++k) {
    dims[rank++] = indices->dims[k];
  }
  for (int32_t k = dim + 1; k < src->rank; ++k) {
    dims[rank++] = src->dims[k];
  }
  return rlo__ops_shape_like(src, dims, rank, out_shape);
}

/* Reserves room for one more operand; the chain is otherwise unchanged. */
static rlo_status reserve_operand(rlo_chain *chain) {
  rlo_shape *operands = rlo__alloc_resize(chain->operands,
                                          (size_t)chain->num_operands,
                                          (size_t)chain->num_operands + 1,
                                          sizeof *operands);
  if (operands == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  chain->operands = operands;
  return RLO_OK;
}

rlo_status rlo_chain_gather(rlo_chain *chain,
                            const rlo_shape *indices,
                            int32_t dim,
                            int32_t batch_dims) {
  RLO_REQUIRE(chain, indices);
  rlo_shape result;
  RLO_TRY(rlo__dim_find("gather", dim, chain->shape.rank, &dim));
  RLO_TRY(infer(&chain->shape, indices, dim, batch_dims, &result));
  /* The indices may be the shape of the chain itself, which the reservation
   * moves. */
  rlo_shape copy = *indices;
  RLO_TRY(reserve_operand(chain));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  step.is_gather = true;
  step.gather_operand = chain->num_operands;
  step.gather_dim = dim;
  step.batch_dims = batch_dims;
  step.out_of_bounds = RLO__OOB_FILL;
  step.rules[dim] = rlo__index_rule_keep(result.rank);
  step.rules[dim].is_bounded = true;
  step.rules[dim].count = step.dims[dim];
  for (int32_t k = dim + 1; k < step.rank; ++k) {
    step.rules[k].from = k - 1 + copy.rank - batch_dims;
  }
  RLO_TRY(rlo__chain_append(chain, &step, &result));
  chain->operands[chain->num_operands++] = copy;
  return RLO_OK;
}
