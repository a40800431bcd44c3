/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "ops/indexed.h"
#include "relayout/ops.h"

rlo_status rlo__ops_check_indices(const rlo__indexed_words *words, const rlo_shape *indices) {
  RLO_TRY(rlo_shape_validate(indices));
  RLO_FAIL_IF(indices->dtype != RLO_DTYPE_S32 && indices->dtype != RLO_DTYPE_S64,
              RLO_INVALID_ARGUMENT, "%s: %s is %s; it must be s32 or s64", words->operation,
              words->indices, rlo_dtype_name(indices->dtype));
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(indices, &extent));
  int32_t bits = indices->dtype == RLO_DTYPE_S32 ? 32 : 64;
  RLO_FAIL_IF(extent.element_bits != bits, RLO_INVALID_ARGUMENT,
              "%s: %s is %s of %lld bits; it must have %d", words->operation, words->indices,
              rlo_dtype_name(indices->dtype), (long long)extent.element_bits, bits);
  return RLO_OK;
}

rlo_status rlo__ops_check_batch(const rlo__indexed_words *words, const rlo_shape *array,
                                const rlo_shape *indices, int32_t dim, int32_t batch_dims) {
  RLO_FAIL_IF(batch_dims < 0 || batch_dims > dim || batch_dims > indices->rank, RLO_OUT_OF_RANGE,
              "%s: %d batch dimensions; there may be 0 to %d, for they come before dimension %d "
              "and %s has rank %d",
              words->operation, batch_dims, dim < indices->rank ? dim : indices->rank, dim,
              words->indices, indices->rank);
  for (int32_t k = 0; k < batch_dims; ++k) {
    RLO_FAIL_IF(array->dims[k] != indices->dims[k], RLO_INVALID_ARGUMENT,
                "%s: batch dimension %d is %lld in %s and %lld in %s; they must be equal",
                words->operation, k, (long long)array->dims[k], words->array,
                (long long)indices->dims[k], words->indices);
  }
  return RLO_OK;
}

rlo_status rlo__ops_check_gather(const rlo__indexed_words *words, const rlo_shape *src,
                                 const rlo_shape *indices, int32_t dim, int32_t batch_dims) {
  RLO_TRY(rlo__ops_check_indices(words, indices));
  return rlo__ops_check_batch(words, src, indices, dim, batch_dims);
}

/* Reserves room for one more operand; the chain is otherwise unchanged. */
static rlo_status reserve_operand(rlo_chain *chain) {
  rlo_shape *operands = rlo__alloc_resize(chain->operands, (size_t)chain->num_operands,
                                          (size_t)chain->num_operands + 1, sizeof *operands);
  RLO_TRY_MEMORY(operands);
  chain->operands = operands;
  return RLO_OK;
}

static rlo_status set_dims(const rlo_shape *indices, int32_t dim, int32_t batch_dims,
                           rlo__index_step *step) {
  int64_t dims[2 * RLO_MAX_RANK];
  int32_t rank = 0;
  for (int32_t k = 0; k < dim; ++k) {
    dims[rank++] = step->dims[k];
  }
  for (int32_t k = batch_dims; k < indices->rank; ++k) {
    dims[rank++] = indices->dims[k];
  }
  for (int32_t k = dim + 1; k < step->rank; ++k) {
    step->rules[k].from = rank;
    dims[rank++] = step->dims[k];
  }
  return rlo__step_set_dims(step, dims, rank);
}

rlo_status rlo_chain_gather(rlo_chain *chain, const rlo_shape *indices, int32_t dim,
                            int32_t batch_dims) {
  static const rlo__indexed_words words = {"gather", "the array", "the array of indices"};
  RLO_REQUIRE(chain, indices);
  RLO_TRY(rlo__dim_find("gather", dim, chain->shape.rank, &dim));
  RLO_TRY(rlo__ops_check_gather(&words, &chain->shape, indices, dim, batch_dims));
  /* The indices may be the shape of an operand, which the reservation moves, or
   * that of the chain. */
  rlo_shape copy = *indices;
  RLO_TRY(reserve_operand(chain));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  RLO_TRY(set_dims(&copy, dim, batch_dims, &step));
  step.is_gather = true;
  step.gather_operand = chain->num_operands;
  step.gather_dim = dim;
  step.batch_dims = batch_dims;
  step.out_of_bounds = RLO__OOB_FILL;
  step.rules[dim].from = step.result_rank;
  step.rules[dim].is_bounded = true;
  step.rules[dim].count = step.dims[dim];
  RLO_TRY(rlo__chain_append(chain, &step));
  chain->operands[chain->num_operands++] = copy;
  return RLO_OK;
}
