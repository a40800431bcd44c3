/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/layout_util.h"
#include "relayout/ops.h"

rlo_status rlo_transpose_infer(const rlo_shape *src,
                               const int32_t *permutation,
                               rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate(src));
  if (permutation == NULL && src->rank > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the permutation of a rank %d transpose is NULL",
                    src->rank);
  }
  RLO_TRY(rlo_permutation_validate(permutation, src->rank));
  int64_t dims[RLO_MAX_RANK];
  rlo_permutation_apply(permutation, src->rank, src->dims, dims);
  rlo_layout layout = rlo_layout_row_major(src->rank);
  layout.element_size_bits = src->layout.element_size_bits;
  rlo_shape shape;
  RLO_TRY(
      rlo_shape_make_with_layout(src->dtype, dims, src->rank, &layout, &shape));
  for (int32_t k = 0; k < src->rank; ++k) {
    shape.is_dynamic[k] = src->is_dynamic[permutation[k]];
  }
  *out_shape = shape;
  return RLO_OK;
}

rlo_status rlo_transpose_lower(const rlo_shape *src,
                               const int32_t *permutation,
                               rlo_shape *out_shape,
                               rlo_problem *out_problem) {
  rlo_shape dst;
  RLO_TRY(rlo_transpose_infer(src, permutation, &dst));
  RLO_TRY(rlo_relayout_lower(src, &dst, permutation, out_problem));
  if (out_shape != NULL) {
    *out_shape = dst;
  }
  return RLO_OK;
}

rlo_status rlo_chain_transpose(rlo_chain *chain, const int32_t *permutation) {
  rlo_shape result;
  RLO_TRY(rlo_transpose_infer(&chain->shape, permutation, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[permutation[k]].from = k;
  }
  return rlo__chain_append(chain, &step, &result);
}
