/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/indexed.h"

#include "base/status.h"

rlo_status rlo__ops_check_indices(const char *operation,
                                  const rlo_shape *indices) {
  RLO_TRY(rlo_shape_validate(indices));
  if (indices->dtype != RLO_DTYPE_S32 && indices->dtype != RLO_DTYPE_S64) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: the indices are %s; they must be s32 or s64",
                    operation,
                    rlo_dtype_name(indices->dtype));
  }
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(indices, &extent));
  int32_t bits = indices->dtype == RLO_DTYPE_S32 ? 32 : 64;
  if (extent.element_bits != bits) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: the indices are %s of %lld bits; they must have %d",
                    operation,
                    rlo_dtype_name(indices->dtype),
                    (long long)extent.element_bits,
                    bits);
  }
  return RLO_OK;
}

rlo_status rlo__ops_check_batch(const char *operation,
                                const rlo_shape *array,
                                const rlo_shape *indices,
                                int32_t dim,
                                int32_t batch_dims) {
  if (batch_dims < 0 || batch_dims > dim || batch_dims > indices->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%s: %d batch dimensions; there may be 0 to %d, for they "
                    "come before dimension %d and the indices have rank %d",
                    operation,
                    batch_dims,
                    dim < indices->rank ? dim : indices->rank,
                    dim,
                    indices->rank);
  }
  for (int32_t k = 0; k < batch_dims; ++k) {
    if (array->dims[k] != indices->dims[k]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%s: batch dimension %d is %lld in the array and %lld in "
                      "the indices; they must be equal",
                      operation,
                      k,
                      (long long)array->dims[k],
                      (long long)indices->dims[k]);
    }
  }
  return RLO_OK;
}
