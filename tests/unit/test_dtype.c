/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "desc/dtype.h"
#include "support/expect.h"
#include "support/suite.h"

/* Every element type with the number of XLA's PrimitiveType, and its names in
 * HLO and in NumPy or ml_dtypes. */
static const struct {
  int number;
  const char *name, *npy_name;
  int32_t value_bits;
  int32_t storage_bits;
  rlo_dtype_class class_of;
} types[] = {
    {1, "pred", "bool", 1, 8, RLO_DTYPE_CLASS_BOOL},
    {30, "s1", "int1", 1, 8, RLO_DTYPE_CLASS_SIGNED},
    {26, "s2", "int2", 2, 8, RLO_DTYPE_CLASS_SIGNED},
    {21, "s4", "int4", 4, 8, RLO_DTYPE_CLASS_SIGNED},
    {2, "s8", "int8", 8, 8, RLO_DTYPE_CLASS_SIGNED},
    {3, "s16", "int16", 16, 16, RLO_DTYPE_CLASS_SIGNED},
    {4, "s32", "int32", 32, 32, RLO_DTYPE_CLASS_SIGNED},
    {5, "s64", "int64", 64, 64, RLO_DTYPE_CLASS_SIGNED},
    {31, "u1", "uint1", 1, 8, RLO_DTYPE_CLASS_UNSIGNED},
    {27, "u2", "uint2", 2, 8, RLO_DTYPE_CLASS_UNSIGNED},
    {22, "u4", "uint4", 4, 8, RLO_DTYPE_CLASS_UNSIGNED},
    {6, "u8", "uint8", 8, 8, RLO_DTYPE_CLASS_UNSIGNED},
    {7, "u16", "uint16", 16, 16, RLO_DTYPE_CLASS_UNSIGNED},
    {8, "u32", "uint32", 32, 32, RLO_DTYPE_CLASS_UNSIGNED},
    {9, "u64", "uint64", 64, 64, RLO_DTYPE_CLASS_UNSIGNED},
    {10, "f16", "float16", 16, 16, RLO_DTYPE_CLASS_FLOAT},
    {11, "f32", "float32", 32, 32, RLO_DTYPE_CLASS_FLOAT},
    {12, "f64", "float64", 64, 64, RLO_DTYPE_CLASS_FLOAT},
    {16, "bf16", "bfloat16", 16, 16, RLO_DTYPE_CLASS_FLOAT},
    {19, "f8e5m2", "float8_e5m2", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {20, "f8e4m3fn", "float8_e4m3fn", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {23, "f8e4m3b11fnuz", "float8_e4m3b11fnuz", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {24, "f8e5m2fnuz", "float8_e5m2fnuz", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {25, "f8e4m3fnuz", "float8_e4m3fnuz", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {28, "f8e4m3", "float8_e4m3", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {29, "f8e3m4", "float8_e3m4", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {32, "f4e2m1fn", "float4_e2m1fn", 4, 8, RLO_DTYPE_CLASS_FLOAT},
    {33, "f8e8m0fnu", "float8_e8m0fnu", 8, 8, RLO_DTYPE_CLASS_FLOAT},
    {35, "f6e3m2fn", "float6_e3m2fn", 6, 8, RLO_DTYPE_CLASS_FLOAT},
    {36, "f6e2m3fn", "float6_e2m3fn", 6, 8, RLO_DTYPE_CLASS_FLOAT},
    {15, "c64", "complex64", 64, 64, RLO_DTYPE_CLASS_COMPLEX},
    {18, "c128", "complex128", 128, 128, RLO_DTYPE_CLASS_COMPLEX},
};

enum { NUM_TYPES = sizeof types / sizeof types[0] };

RLO_LOOP_TEST(test_dtype__knows_every_type, 0, NUM_TYPES) {
  rlo_dtype dtype = (rlo_dtype)types[_i].number;
  rlo_dtype found;

  ck_assert(rlo_dtype_is_valid(dtype));
  ck_assert_str_eq(rlo_dtype_name(dtype), types[_i].name);
  expect_ok(rlo_dtype_from_name(types[_i].name, &found));
  ck_assert_int_eq(found, dtype);
  expect_ok(rlo_dtype_from_name(types[_i].npy_name, &found));
  ck_assert_int_eq(found, dtype);
  ck_assert_int_eq(rlo_dtype_class_of(dtype), types[_i].class_of);
  ck_assert_int_eq(rlo_dtype_value_bits(dtype), types[_i].value_bits);
  ck_assert_int_eq(rlo_dtype_storage_bits(dtype), types[_i].storage_bits);
}

RLO_TEST(test_dtype__knows_no_other_number) {
  int valid = 0;
  for (int number = -10; number < 3000; ++number) {
    valid += rlo_dtype_is_valid((rlo_dtype)number);
  }
  ck_assert_int_eq(valid, NUM_TYPES);

  static const int strangers[] = {0, 13, 14, 17, 34, 37, 2000, -1};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; ++i) {
    rlo_dtype dtype = (rlo_dtype)strangers[i];
    uint8_t bits[16];
    ck_assert(!rlo_dtype_is_valid(dtype));
    ck_assert_str_eq(rlo_dtype_name(dtype), "invalid");
    ck_assert_int_eq(rlo_dtype_class_of(dtype), RLO_DTYPE_CLASS_NONE);
    ck_assert_int_eq(rlo_dtype_value_bits(dtype), 0);
    ck_assert_int_eq(rlo_dtype_storage_bits(dtype), 0);
    ck_assert_int_eq(rlo_dtype_constant_bits(dtype, RLO_DTYPE_ZERO, bits), RLO_INVALID_ARGUMENT);
  }
}

RLO_TEST(test_dtype__finds_no_other_name) {
  static const char *const names[] = {"",   "F32",     "f3",    "f322",   " f32", "float",
                                      "f4", "invalid", "tuple", "opaque", "token"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    rlo_dtype dtype = RLO_DTYPE_F32;
    ck_assert_int_eq(rlo_dtype_from_name(names[i], &dtype), RLO_NOT_FOUND);
    ck_assert_int_eq(dtype, RLO_DTYPE_INVALID);
    ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, names[i]));
  }
  rlo_dtype dtype = RLO_DTYPE_F32;
  ck_assert_int_eq(rlo_dtype_from_name(NULL, &dtype), RLO_INVALID_ARGUMENT);
}

static uint64_t constant_of(rlo_dtype dtype, rlo_dtype_constant constant) {
  uint8_t bytes[16];
  uint64_t bits = 0;

  memset(bytes, 0xaa, sizeof bytes);
  expect_ok(rlo_dtype_constant_bits(dtype, constant, bytes));
  for (int i = 7; i >= 0; --i) {
    bits = bits << 8 | bytes[i];
    ck_assert_uint_eq(bytes[8 + i], 0);
  }
  return bits;
}

/* The encoding of NaN that the name of a small float states. */
typedef enum nan_kind {
  /* The exponent all ones: mantissa 0 is an infinity, others are NaN. */
  NAN_IEEE,
  /* All bits but the sign are ones. */
  NAN_ONES,
  /* The sign bit alone. */
  NAN_MINUS_ZERO,
  NAN_ABSENT
} nan_kind;

static const struct {
  rlo_dtype dtype;
  int sign_bits, exponent_bits, mantissa_bits, bias;
  nan_kind nan;
  /* The greatest finite value, from the papers that define the formats. */
  double greatest;
} floats[] = {
    {RLO_DTYPE_F16, 1, 5, 10, 15, NAN_IEEE, 65504},
    {RLO_DTYPE_BF16, 1, 8, 7, 127, NAN_IEEE, 0x1.fep127},
    {RLO_DTYPE_F8E5M2, 1, 5, 2, 15, NAN_IEEE, 57344},
    {RLO_DTYPE_F8E4M3, 1, 4, 3, 7, NAN_IEEE, 240},
    {RLO_DTYPE_F8E3M4, 1, 3, 4, 3, NAN_IEEE, 15.5},
    {RLO_DTYPE_F8E4M3FN, 1, 4, 3, 7, NAN_ONES, 448},
    {RLO_DTYPE_F8E4M3B11FNUZ, 1, 4, 3, 11, NAN_MINUS_ZERO, 30},
    {RLO_DTYPE_F8E5M2FNUZ, 1, 5, 2, 16, NAN_MINUS_ZERO, 57344},
    {RLO_DTYPE_F8E4M3FNUZ, 1, 4, 3, 8, NAN_MINUS_ZERO, 240},
    {RLO_DTYPE_F8E8M0FNU, 0, 8, 0, 127, NAN_ONES, 0x1p127},
    {RLO_DTYPE_F6E3M2FN, 1, 3, 2, 3, NAN_ABSENT, 28},
    {RLO_DTYPE_F6E2M3FN, 1, 2, 3, 1, NAN_ABSENT, 7.5},
    {RLO_DTYPE_F4E2M1FN, 1, 2, 1, 1, NAN_ABSENT, 6},
};

enum { NUM_FLOATS = sizeof floats / sizeof floats[0] };

/* The number that a bit pattern stands for, by the definition of the format.
 * Rows without a sign have no subnormal numbers either. */
static double decode(int row, uint32_t bits) {
  int exponent_bits = floats[row].exponent_bits;
  int mantissa_bits = floats[row].mantissa_bits;
  uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  uint32_t magnitude = bits & ((1u << (exponent_bits + mantissa_bits)) - 1);
  bool is_negative = magnitude != bits;
  bool is_top = exponent == (1u << exponent_bits) - 1;
  double sign = is_negative ? -1.0 : 1.0;

  if (floats[row].nan == NAN_IEEE && is_top) {
    return mantissa == 0 ? sign * (double)INFINITY : (double)NAN;
  }
  if ((floats[row].nan == NAN_ONES && magnitude == (1u << (exponent_bits + mantissa_bits)) - 1) ||
      (floats[row].nan == NAN_MINUS_ZERO && is_negative && magnitude == 0)) {
    return (double)NAN;
  }
  if (exponent == 0 && floats[row].sign_bits == 1) {
    return sign * ldexp(mantissa, 1 - floats[row].bias - mantissa_bits);
  }
  return sign * ldexp((double)(mantissa + (1u << mantissa_bits)),
                      (int)exponent - floats[row].bias - mantissa_bits);
}

RLO_LOOP_TEST(test_dtype__small_float_constants_follow_from_the_format, 0, NUM_FLOATS) {
  rlo_dtype dtype = floats[_i].dtype;
  int bits = floats[_i].sign_bits + floats[_i].exponent_bits + floats[_i].mantissa_bits;
  uint32_t lowest = 0, highest = 0, one = 0, zero = 0;
  int ones = 0, zeros = 0;
  double low = (double)INFINITY, high = -(double)INFINITY, greatest = 0;

  ck_assert_int_eq(rlo_dtype_value_bits(dtype), bits);
  for (uint32_t pattern = 0; pattern < 1u << bits; ++pattern) {
    double value = decode(_i, pattern);
    if (isnan(value)) {
      continue;
    }
    if (value < low) {
      low = value;
      lowest = pattern;
    }
    if (value > high) {
      high = value;
      highest = pattern;
    }
    if (isfinite(value) && value > greatest) {
      greatest = value;
    }
    if (value >= 1.0 && value <= 1.0) {
      one = pattern;
      ++ones;
    }
    if (pattern == 0 && value >= 0.0 && value <= 0.0) {
      zero = pattern;
      ++zeros;
    }
  }

  ck_assert_double_eq(greatest, floats[_i].greatest);
  ck_assert_int_eq(ones, 1);
  ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_ONE), one);
  ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_LOWEST), lowest);
  ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_HIGHEST), highest);
  if (floats[_i].sign_bits == 1) {
    ck_assert_int_eq(zeros, 1);
    ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_ZERO), zero);
  } else {
    uint8_t out[16];
    memset(out, 0x5a, sizeof out);
    ck_assert_int_eq(zeros, 0);
    expect_refusal(rlo_dtype_constant_bits(dtype, RLO_DTYPE_ZERO, out), RLO_UNSUPPORTED,
                   "f8e8m0fnu has no zero");
    ck_assert_uint_eq(out[0], 0x5a);
  }
}

static uint64_t f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t f64_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

RLO_TEST(test_dtype__wide_float_constants_are_the_hosts) {
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F32, RLO_DTYPE_ZERO), f32_bits(0.0f));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F32, RLO_DTYPE_ONE), f32_bits(1.0f));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F32, RLO_DTYPE_LOWEST), f32_bits(-INFINITY));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F32, RLO_DTYPE_HIGHEST), f32_bits(INFINITY));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F64, RLO_DTYPE_ZERO), f64_bits(0.0));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F64, RLO_DTYPE_ONE), f64_bits(1.0));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F64, RLO_DTYPE_LOWEST), f64_bits(-(double)INFINITY));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_F64, RLO_DTYPE_HIGHEST), f64_bits((double)INFINITY));
}

RLO_TEST(test_dtype__integer_constants_are_the_extremes) {
  static const struct {
    rlo_dtype dtype;
    uint64_t lowest, highest;
  } rows[] = {
      {RLO_DTYPE_PRED, 0, 1},
      {RLO_DTYPE_S2, 2, 1},
      {RLO_DTYPE_S4, 8, 7},
      {RLO_DTYPE_S8, (uint8_t)INT8_MIN, (uint8_t)INT8_MAX},
      {RLO_DTYPE_S16, (uint16_t)INT16_MIN, (uint16_t)INT16_MAX},
      {RLO_DTYPE_S32, (uint32_t)INT32_MIN, (uint32_t)INT32_MAX},
      {RLO_DTYPE_S64, (uint64_t)INT64_MIN, (uint64_t)INT64_MAX},
      {RLO_DTYPE_U1, 0, 1},
      {RLO_DTYPE_U2, 0, 3},
      {RLO_DTYPE_U4, 0, 15},
      {RLO_DTYPE_U8, 0, UINT8_MAX},
      {RLO_DTYPE_U16, 0, UINT16_MAX},
      {RLO_DTYPE_U32, 0, UINT32_MAX},
      {RLO_DTYPE_U64, 0, UINT64_MAX},
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    rlo_dtype dtype = rows[i].dtype;
    ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_ZERO), 0);
    ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_ONE), 1);
    ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_LOWEST), rows[i].lowest);
    ck_assert_uint_eq(constant_of(dtype, RLO_DTYPE_HIGHEST), rows[i].highest);
  }
}

RLO_TEST(test_dtype__one_bit_integers_have_no_one) {
  uint8_t out[16];

  ck_assert_uint_eq(constant_of(RLO_DTYPE_S1, RLO_DTYPE_ZERO), 0);
  ck_assert_uint_eq(constant_of(RLO_DTYPE_S1, RLO_DTYPE_LOWEST), 1);
  ck_assert_uint_eq(constant_of(RLO_DTYPE_S1, RLO_DTYPE_HIGHEST), 0);
  expect_refusal(rlo_dtype_constant_bits(RLO_DTYPE_S1, RLO_DTYPE_ONE, out), RLO_UNSUPPORTED,
                 "s1 has no one");
}

RLO_TEST(test_dtype__complex_one_is_real) {
  static const rlo_dtype_constant extremes[] = {RLO_DTYPE_LOWEST, RLO_DTYPE_HIGHEST};
  uint8_t out[16];

  ck_assert_uint_eq(constant_of(RLO_DTYPE_C64, RLO_DTYPE_ZERO), 0);
  ck_assert_uint_eq(constant_of(RLO_DTYPE_C64, RLO_DTYPE_ONE), f32_bits(1.0f));
  ck_assert_uint_eq(constant_of(RLO_DTYPE_C128, RLO_DTYPE_ZERO), 0);
  ck_assert_uint_eq(constant_of(RLO_DTYPE_C128, RLO_DTYPE_ONE), f64_bits(1.0));
  for (size_t i = 0; i < 2; ++i) {
    ck_assert_int_eq(rlo_dtype_constant_bits(RLO_DTYPE_C64, extremes[i], out), RLO_UNSUPPORTED);
    ck_assert_int_eq(rlo_dtype_constant_bits(RLO_DTYPE_C128, extremes[i], out), RLO_UNSUPPORTED);
  }
  ck_assert_str_eq(rlo_error_last()->message, "c128 has no highest value");
}

RLO_TEST(test_dtype__refuses_an_unknown_constant) {
  uint8_t out[16];
  ck_assert_int_eq(rlo_dtype_constant_bits(RLO_DTYPE_F32, (rlo_dtype_constant)4, out),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_dtype_constant_bits(RLO_DTYPE_F32, (rlo_dtype_constant)-1, out),
                   RLO_INVALID_ARGUMENT);
}

RLO_LOOP_TEST(test_dtype__rows_are_consistent, 0, NUM_TYPES) {
  const rlo__dtype_info *info = rlo__dtype_info_of((rlo_dtype)types[_i].number);
  int sign_bits = info->format.is_unsigned ? 0 : 1;
  int format_bits = sign_bits + info->format.exponent_bits + info->format.mantissa_bits;

  ck_assert_int_eq(info->dlpack_bits,
                   info->class_of == RLO_DTYPE_CLASS_BOOL ? 8 : info->value_bits);
  switch (info->class_of) {
    case RLO_DTYPE_CLASS_FLOAT:
      ck_assert_int_eq(info->value_bits, format_bits);
      ck_assert_int_ne(info->format.specials, RLO__FLOAT_NONE);
      break;
    case RLO_DTYPE_CLASS_COMPLEX:
      ck_assert_int_eq(info->value_bits, 2 * format_bits);
      ck_assert_int_eq(info->dlpack_code, 5);
      break;
    case RLO_DTYPE_CLASS_NONE:
    case RLO_DTYPE_CLASS_BOOL:
    case RLO_DTYPE_CLASS_SIGNED:
    case RLO_DTYPE_CLASS_UNSIGNED:
      ck_assert_int_eq(info->format.specials, RLO__FLOAT_NONE);
      break;
  }
  /* DLPack's codes and bits name a type as well as our number does. */
  for (int other = 0; other < NUM_TYPES; ++other) {
    const rlo__dtype_info *row = rlo__dtype_info_of((rlo_dtype)types[other].number);
    if (row != info) {
      ck_assert(row->dlpack_code != info->dlpack_code || row->dlpack_bits != info->dlpack_bits);
    }
  }
}
