/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ops/chain.h"
#include "ops/combine.h"

static rlo_status infer(const rlo_shape *src,
                        rlo_dtype dtype,
                        rlo_shape *out_shape) {
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  if (info == NULL) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "convert: %d is not an element type", (int)dtype);
  }
  if (dtype == src->dtype) {
    return rlo__ops_shape_like(src, src->dims, src->rank, out_shape);
  }
  if (info->format.is_unsigned) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "convert: no other type is converted to %s, which has no "
                    "zero",
                    info->name);
  }
  return rlo_shape_make(dtype, src->dims, src->rank, out_shape);
}

rlo_status rlo_chain_convert(rlo_chain *chain, rlo_dtype dtype) {
  RLO_REQUIRE(chain);
  rlo_shape result;
  RLO_TRY(infer(&chain->shape, dtype, &result));
  if (dtype == chain->shape.dtype) {
    return RLO_OK;
  }
  RLO_TRY(rlo__ops_check_exact("convert", chain));
  for (int32_t p = 0; p < chain->num_parts; ++p) {
    for (int32_t s = 0; s < chain->parts[p].num_steps; ++s) {
      uint8_t *fill = chain->parts[p].steps[s].fill;
      rlo__arithmetic_convert(chain->shape.dtype, dtype, fill, fill);
    }
  }
  chain->shape = result;
  return RLO_OK;
}
