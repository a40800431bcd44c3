/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "ir/arithmetic.h"
#include "relayout/ops.h"

static const rlo_attribute_spec pad_specs[] = {
    {"paddings", RLO_ATTRIBUTE_I64S, true},
    {"interior", RLO_ATTRIBUTE_I64S, false},
    {"value", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false},
    {"value_bits", RLO_ATTRIBUTE_I64S, false},
};

/* The bits of a number in a floating or complex type, rounded as by Cast. */
static rlo_status bits_of_real(rlo_dtype dtype,
                               double number,
                               uint8_t out_bits[16]) {
  uint8_t zero[16];
  /* Refuses the types that have no conversion. */
  RLO_TRY(rlo_dtype_constant_bits(dtype, RLO_DTYPE_ZERO, zero));
  memcpy(out_bits, &number, sizeof number);
  rlo__arithmetic_convert(RLO_DTYPE_F64, dtype, out_bits, out_bits);
  return RLO_OK;
}

/* The bits of a number in a type. Integer types must hold it exactly. */
static rlo_status bits_of_number(rlo_dtype dtype,
                                 double number,
                                 uint8_t out_bits[16]) {
  memset(out_bits, 0, 16);
  if (!rlo_dtype_is_integral(dtype) && dtype != RLO_DTYPE_PRED) {
    return bits_of_real(dtype, number, out_bits);
  }
  int32_t bits = rlo_dtype_value_bits(dtype);
  /* Powers of two up to 2^64 are exact. */
  double span = (double)(UINT64_C(1) << (bits - 1)) * 2.0;
  bool is_signed = rlo_dtype_is_signed(dtype);
  double low = is_signed ? -span / 2 : 0.0;
  double end = is_signed ? span / 2 : span;
  if (!(number >= low && number < end)) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the value %g does not fit type %s",
                    number,
                    rlo_dtype_name(dtype));
  }
  uint64_t word = is_signed ? (uint64_t)(int64_t)number : (uint64_t)number;
  double back = is_signed ? (double)(int64_t)number : (double)word;
  if (back < number || back > number) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the value %g is no integer; the type is %s",
                    number,
                    rlo_dtype_name(dtype));
  }
  if (bits < 64) {
    word &= (UINT64_C(1) << bits) - 1;
  }
  memcpy(out_bits, &word, sizeof word);
  return RLO_OK;
}

static rlo_status bits_of_words(const rlo_attributes *attributes,
                                rlo_dtype dtype,
                                uint8_t out_bits[16]) {
  rlo_i64_list words;
  int32_t wanted = rlo_dtype_value_bits(dtype) > 64 ? 2 : 1;
  RLO_TRY(rlo_attributes_get_i64s(attributes, "value_bits", &words));
  if (words.count < wanted || words.count > 2) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'value_bits' has %d words of 64 bits; a value of type %s "
                    "takes %d",
                    words.count,
                    rlo_dtype_name(dtype),
                    wanted);
  }
  memset(out_bits, 0, 16);
  memcpy(out_bits, words.values, (size_t)words.count * sizeof(int64_t));
  return RLO_OK;
}

/* The value to pad with: all bits 0 if none is given. */
static rlo_status get_value(const rlo_attributes *attributes,
                            rlo_dtype dtype,
                            uint8_t out_bits[16]) {
  bool has_number = rlo_attributes_find(attributes, "value") != NULL;
  bool has_bits = rlo_attributes_find(attributes, "value_bits") != NULL;
  if (has_number && has_bits) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "both 'value' and 'value_bits' are given");
  }
  if (has_bits) {
    return bits_of_words(attributes, dtype, out_bits);
  }
  memset(out_bits, 0, 16);
  if (has_number) {
    double number = 0.0;
    RLO_TRY(rlo_attributes_get_f64(attributes, "value", &number));
    return bits_of_number(dtype, number, out_bits);
  }
  return RLO_OK;
}

static rlo_status append_pad(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims low;
  rlo__dims high;
  rlo__dims interior;
  uint8_t value[16];
  bool has_interior = rlo_attributes_find(step->attributes, "interior") != NULL;
  RLO_TRY(rlo__dims_get_pairs(
      step->attributes, "paddings", shape->rank, &low, &high));
  if (has_interior) {
    RLO_TRY(rlo__dims_get_exactly(
        step->attributes, "interior", shape->rank, &interior));
  }
  RLO_TRY(get_value(step->attributes, shape->dtype, value));
  return rlo_chain_pad(step->chain,
                       low.values,
                       high.values,
                       has_interior ? interior.values : NULL,
                       value);
}

const rlo__copy_op rlo__op_pad = {
    .name = "PadV2",
    RLO__COPY_INPUTS(1, 2, "x", "value"),
    RLO__COPY_SPECS(pad_specs),
    .flags = RLO__COPY_TAKES_VALUE,
    .append = append_pad,
};

static const rlo_attribute_spec mirror_specs[] = {
    {"paddings", RLO_ATTRIBUTE_I64S, true},
    {"mode", RLO_ATTRIBUTE_STRING, false},
};

static rlo_status append_mirror_pad(const rlo__copy_step *step) {
  static const char *const modes[] = {"reflect", "symmetric"};
  rlo__dims low;
  rlo__dims high;
  int32_t mode = 0;
  RLO_TRY(rlo__dims_get_pairs(step->attributes,
                              "paddings",
                              rlo_chain_shape(step->chain)->rank,
                              &low,
                              &high));
  RLO_TRY(rlo__word_get(step->attributes, "mode", modes, 2, &mode));
  return rlo_chain_mirror_pad(
      step->chain,
      low.values,
      high.values,
      mode == 0 ? RLO_MIRROR_REFLECT : RLO_MIRROR_SYMMETRIC);
}

const rlo__copy_op rlo__op_mirror_pad = {
    .name = "MirrorPad",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(mirror_specs),
    .flags = RLO__COPY_READS_IN_PARTS,
    .append = append_mirror_pad,
};
