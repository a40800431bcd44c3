/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/attributes.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "relayout/ops.h"

/* Returns whether an integer type holds a number, apart from its fraction. */
static bool fits_integer(rlo_dtype dtype, const rlo__attribute_number *number) {
  int32_t bits = rlo_dtype_value_bits(dtype);
  bool is_signed = rlo_dtype_is_signed(dtype);
  if (number->type == RLO_DTYPE_F64) {
    /* Powers of two up to 2^64 are exact. */
    double span = (double)(UINT64_C(1) << (bits - 1)) * 2.0;
    double low = is_signed ? -span / 2 : 0.0;
    double end = is_signed ? span / 2 : span;
    return number->value.f64 >= low && number->value.f64 < end;
  }
  uint64_t half = UINT64_C(1) << (bits - 1);
  uint64_t highest = is_signed ? half - 1 : half - 1 + half;
  if (number->type == RLO_DTYPE_S64 && number->value.i64 < 0) {
    /* -1 - i is not negative and fits as i does. */
    return is_signed && (uint64_t)(-1 - number->value.i64) <= highest;
  }
  return number->value.u64 <= highest;
}

/* A number in a message, integers with all their digits. */
typedef struct number_text {
  char text[32];
} number_text;

static number_text print_number(const rlo__attribute_number *number) {
  number_text text;
  rlo__str out = rlo__str_over(text.text, sizeof text.text);
  if (number->type == RLO_DTYPE_F64) {
    rlo__str_printf(&out, "%g", number->value.f64);
  } else if (number->type == RLO_DTYPE_S64) {
    rlo__str_printf(&out, "%lld", (long long)number->value.i64);
  } else {
    rlo__str_printf(&out, "%llu", (unsigned long long)number->value.u64);
  }
  return text;
}

/* The bits of a number in a type: rounded once, as by Cast, but integer types
 * must hold it exactly. */
static rlo_status bits_of_number(rlo_dtype dtype, const rlo__attribute_number *number,
                                 uint8_t out_bits[16]) {
  uint8_t unit[16] = {0};
  bool is_whole = rlo_dtype_is_integral(dtype) || dtype == RLO_DTYPE_PRED;
  RLO_FAIL_IF(is_whole && !fits_integer(dtype, number), RLO_OUT_OF_RANGE,
              "the value %s does not fit type %s", print_number(number).text,
              rlo_dtype_name(dtype));
  RLO_FAIL_IF(is_whole && number->type == RLO_DTYPE_F64 &&
                  !rlo__factor_equal(trunc(number->value.f64), number->value.f64),
              RLO_INVALID_ARGUMENT, "the value %g is no integer; the type is %s", number->value.f64,
              rlo_dtype_name(dtype));
  /* Refuses the types that have no conversion. */
  RLO_TRY(rlo_dtype_constant_bits(dtype, RLO_DTYPE_ZERO, out_bits));
  /* The members of a union begin where it does. */
  memcpy(unit, &number->value, sizeof number->value);
  rlo__arithmetic_convert(number->type, dtype, unit, out_bits);
  return RLO_OK;
}

static rlo_status bits_of_words(const rlo_attributes *attributes, rlo_dtype dtype,
                                uint8_t out_bits[16]) {
  rlo_i64_list words;
  int32_t bits = rlo_dtype_value_bits(dtype);
  int32_t wanted = bits > 64 ? 2 : 1;
  RLO_TRY(rlo_attributes_get_i64s(attributes, "value_bits", &words));
  RLO_FAIL_IF(words.count < wanted || words.count > 2, RLO_INVALID_ARGUMENT,
              "'value_bits' has %d words of 64 bits; a value of type %s takes %d", words.count,
              rlo_dtype_name(dtype), wanted);
  memset(out_bits, 0, 16);
  memcpy(out_bits, words.values, (size_t)words.count * sizeof(int64_t));
  for (int32_t b = bits; b < 128; ++b) {
    RLO_FAIL_IF((out_bits[b / 8] >> b % 8 & 1) != 0, RLO_OUT_OF_RANGE,
                "'value_bits' has bit %d; a value of type %s has the %d bits below", b,
                rlo_dtype_name(dtype), bits);
  }
  return RLO_OK;
}

/* The value to pad with: all bits 0 if none is given. */
static rlo_status get_value(const rlo_attributes *attributes, rlo_dtype dtype,
                            uint8_t out_bits[16]) {
  rlo__attribute_number number;
  bool has_number = rlo_attributes_find(attributes, "value") != NULL;
  bool has_bits = rlo_attributes_find(attributes, "value_bits") != NULL;
  RLO_FAIL_IF(has_number && has_bits, RLO_INVALID_ARGUMENT,
              "both 'value' and 'value_bits' are given");
  if (has_bits) {
    return bits_of_words(attributes, dtype, out_bits);
  }
  memset(out_bits, 0, 16);
  if (!has_number) {
    return RLO_OK;
  }
  RLO_TRY(rlo__attribute_number_get(attributes, "value", &number));
  return bits_of_number(dtype, &number, out_bits);
}

static rlo_status append_pad(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims low;
  rlo__dims high;
  rlo__dims interior;
  uint8_t value[16];
  RLO_TRY(rlo__dims_get_pairs(step->attributes, "paddings", shape->rank, &low, &high));
  RLO_TRY(rlo__dims_get_or(step->attributes, "interior", shape->rank, 0, &interior));
  RLO_TRY(get_value(step->attributes, shape->dtype, value));
  return rlo_chain_pad(step->chain, low.values, high.values, interior.values, value);
}

static rlo_status append_mirror_pad(const rlo__copy_step *step) {
  static const char *const modes[] = {"reflect", "symmetric", "edge"};
  rlo__dims low;
  rlo__dims high;
  int32_t mode = 0;
  RLO_TRY(rlo__dims_get_pairs(step->attributes, "paddings", rlo_chain_shape(step->chain)->rank,
                              &low, &high));
  RLO_TRY(rlo__word_get(step->attributes, "mode", modes, 3, &mode));
  return rlo_chain_mirror_pad(step->chain, low.values, high.values, (rlo_mirror)mode);
}

/* -------------------------------------------------------------------- table */

const rlo__copy_op rlo__pad_ops[] = {
    {
        .name = "PadV2",
        RLO__COPY_INPUTS(1, 2, "x", "value"),
        RLO__COPY_SPECS({"paddings", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"interior", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false},
                        {"value", RLO__ATTRIBUTE_NUMBER, false},
                        {"value_bits", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false}),
        .flags = RLO__COPY_TAKES_VALUE,
        .append = append_pad,
    },
    {
        .name = "MirrorPad",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"paddings", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"mode", RLO_ATTRIBUTE_STRING, false}),
        .flags = RLO__COPY_READS_IN_PARTS,
        .append = append_mirror_pad,
    },
    {.name = NULL},
};
