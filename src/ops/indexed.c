/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/indexed.h"

#include "base/status.h"
#include "ops/chain.h"

rlo_status rlo__ops_check_indices(const rlo__indexed_words *words,
                                  const rlo_shape *indices) {
  RLO_TRY(rlo_shape_validate(indices));
  if (indices->dtype != RLO_DTYPE_S32 && indices->dtype != RLO_DTYPE_S64) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: %s is %s; it must be s32 or s64",
                    words->operation,
                    words->indices,
                    rlo_dtype_name(indices->dtype));
  }
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(indices, &extent));
  int32_t bits = indices->dtype == RLO_DTYPE_S32 ? 32 : 64;
  if (extent.element_bits != bits) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: %s is %s of %lld bits; it must have %d",
                    words->operation,
                    words->indices,
                    rlo_dtype_name(indices->dtype),
                    (long long)extent.element_bits,
                    bits);
  }
  return RLO_OK;
}

rlo_status rlo__ops_check_batch(const rlo__indexed_words *words,
                                const rlo_shape *array,
                                const rlo_shape *indices,
                                int32_t dim,
                                int32_t batch_dims) {
  if (batch_dims < 0 || batch_dims > dim || batch_dims > indices->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%s: %d batch dimensions; there may be 0 to %d, for they "
                    "come before dimension %d and %s has rank %d",
                    words->operation,
                    batch_dims,
                    dim < indices->rank ? dim : indices->rank,
                    dim,
                    words->indices,
                    indices->rank);
  }
  for (int32_t k = 0; k < batch_dims; ++k) {
    if (array->dims[k] != indices->dims[k]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%s: batch dimension %d is %lld in %s and %lld in %s; "
                      "they must be equal",
                      words->operation,
                      k,
                      (long long)array->dims[k],
                      words->array,
                      (long long)indices->dims[k],
                      words->indices);
    }
  }
  return RLO_OK;
}

rlo_status rlo__ops_check_gather(const rlo__indexed_words *words,
                                 const rlo_shape *src,
                                 const rlo_shape *indices,
                                 int32_t dim,
                                 int32_t batch_dims) {
  RLO_TRY(rlo__ops_check_indices(words, indices));
  return rlo__ops_check_batch(words, src, indices, dim, batch_dims);
}
