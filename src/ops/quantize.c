/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/quantize.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/validate.h"

static double number_of(rlo_dtype dtype, uint64_t bits) {
  uint8_t unit[16] = {0};
  double number;
  memcpy(unit, &bits, sizeof bits);
  rlo__arithmetic_convert(dtype, RLO_DTYPE_F64, unit, unit);
  memcpy(&number, unit, sizeof number);
  return number;
}

/* The finite number of a type of floats that is furthest from 0. */
static double most_of(const rlo__dtype_info *info, rlo_dtype dtype) {
  const int32_t mantissa_bits = info->format.mantissa_bits;
  uint64_t bits = (UINT64_C(1) << (info->format.exponent_bits + mantissa_bits)) - 1;
  if (info->format.specials == RLO__FLOAT_IEEE) {
    bits = (bits >> mantissa_bits << mantissa_bits) - 1;
  } else if (info->format.specials == RLO__FLOAT_FN) {
    bits -= 1;
  }
  return number_of(dtype, bits);
}

static rlo_status check_zero_point(const rlo_quantization *q, rlo_dtype dtype) {
  double limits[2] = {0.0, 0.0};
  if (rlo_dtype_is_integral(dtype)) {
    const int32_t bits = rlo_dtype_value_bits(dtype) - (rlo_dtype_is_signed(dtype) ? 1 : 0);
    limits[1] = ldexp(1.0, bits) - 1.0;
    limits[0] = rlo_dtype_is_signed(dtype) ? -ldexp(1.0, bits) : 0.0;
  } else if (q->has_zero_points) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "values of type %s have no zero points",
                    rlo_dtype_name(dtype));
  }
  const double zero = q->zero_point;
  RLO_FAIL_IF(!(zero >= limits[0] && zero <= limits[1]) || zero != floor(zero),
              RLO_INVALID_ARGUMENT,
              "a zero point of %.17g for %s; it is an integer from %.17g to %.17g", zero,
              rlo_dtype_name(dtype), limits[0], limits[1]);
  return RLO_OK;
}

static rlo_status append(rlo_combine_options *options, rlo_element_op op, double first,
                         double second) {
  RLO_FAIL_IF(options->num_steps < 0 || options->num_steps >= RLO_MAX_ELEMENT_STEPS,
              RLO_INVALID_ARGUMENT,
              "the options have %d element-wise steps, and more are appended; the limit is %d",
              options->num_steps, RLO_MAX_ELEMENT_STEPS);
  options->steps[options->num_steps++] = (rlo_element_step){op, {first, second}};
  return RLO_OK;
}

/* Multiplies by the scale, or divides by it. */
static rlo_status append_scale(rlo_combine_options *options, const rlo_quantization *q,
                               bool divides) {
  if (q->scales != NULL) {
    options->operand = q->scales;
    return append(options, divides ? RLO_ELEMENT_DIVIDE_BY : RLO_ELEMENT_SCALE_BY, 0.0, 0.0);
  }
  RLO_TRY(rlo__factor_check("scale", q->scale));
  return append(options, divides ? RLO_ELEMENT_DIVIDE : RLO_ELEMENT_SCALE, q->scale, 0.0);
}

static rlo_status append_zero_point(rlo_combine_options *options, const rlo_quantization *q,
                                    double sign) {
  if (q->scales != NULL) {
    return q->has_zero_points ? append(options, RLO_ELEMENT_ADD_BY, sign, 0.0) : RLO_OK;
  }
  return rlo__factor_equal(q->zero_point, 0.0)
             ? RLO_OK
             : append(options, RLO_ELEMENT_ADD, sign * q->zero_point, 0.0);
}

rlo_status rlo_combine_options_quantize(rlo_combine_options *options, rlo_dtype dtype,
                                        const rlo_quantization *quantization) {
  RLO_REQUIRE(options, quantization);
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  RLO_FAIL_IF(!rlo_dtype_is_integral(dtype) &&
                  !(rlo_dtype_is_floating(dtype) && rlo_dtype_value_bits(dtype) <= 8 &&
                    !info->format.is_unsigned),
              RLO_UNSUPPORTED,
              "nothing is quantized to %s; it takes an integer, or a float of at most 8 bits that "
              "has a zero",
              rlo_dtype_name(dtype));
  RLO_TRY(check_zero_point(quantization, dtype));
  rlo_combine_options changed = *options;
  RLO_TRY(append_scale(&changed, quantization, true));
  if (rlo_dtype_is_integral(dtype)) {
    RLO_TRY(append(&changed, RLO_ELEMENT_ROUND, 0.0, 0.0));
    RLO_TRY(append_zero_point(&changed, quantization, 1.0));
  } else {
    const double most = most_of(info, dtype);
    RLO_TRY(append(&changed, RLO_ELEMENT_CLAMP, -most, most));
  }
  *options = changed;
  return RLO_OK;
}

rlo_status rlo_combine_options_dequantize(rlo_combine_options *options,
                                          const rlo_quantization *quantization) {
  RLO_REQUIRE(options, quantization);
  rlo_combine_options changed = *options;
  RLO_TRY(rlo__factor_check("zero point", quantization->zero_point));
  RLO_TRY(append_zero_point(&changed, quantization, -1.0));
  RLO_TRY(append_scale(&changed, quantization, false));
  *options = changed;
  return RLO_OK;
}
