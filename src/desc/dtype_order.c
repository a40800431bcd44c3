/* SPDX-License-Identifier: Apache-2.0 */

/* What the formats of two element types say about each other. */

#include "desc/dtype.h"

static bool has_class(rlo_dtype dtype, rlo_dtype_class wanted) {
  return rlo_dtype_class_of(dtype) == wanted;
}

bool rlo_dtype_is_integral(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_SIGNED) ||
         has_class(dtype, RLO_DTYPE_CLASS_UNSIGNED);
}

bool rlo_dtype_is_floating(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_FLOAT);
}

bool rlo_dtype_is_complex(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_COMPLEX);
}

bool rlo_dtype_is_signed(rlo_dtype dtype) {
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  switch (rlo_dtype_class_of(dtype)) {
    case RLO_DTYPE_CLASS_SIGNED:
    case RLO_DTYPE_CLASS_COMPLEX:
      return true;
    case RLO_DTYPE_CLASS_FLOAT:
      return info != NULL && !info->format.is_unsigned;
    case RLO_DTYPE_CLASS_NONE:
    case RLO_DTYPE_CLASS_BOOL:
    case RLO_DTYPE_CLASS_UNSIGNED:
      break;
  }
  return false;
}

bool rlo_dtype_is_sub_byte(rlo_dtype dtype) {
  int32_t bits = rlo_dtype_value_bits(dtype);
  return bits > 0 && bits < 8 && !has_class(dtype, RLO_DTYPE_CLASS_BOOL);
}

rlo_dtype rlo_dtype_complex_component(rlo_dtype dtype) {
  switch (dtype) {
    case RLO_DTYPE_C64:
      return RLO_DTYPE_F32;
    case RLO_DTYPE_C128:
      return RLO_DTYPE_F64;
    default:
      return RLO_DTYPE_INVALID;
  }
}

/* The finite numbers of a float format, as exponents of two. */
typedef struct reach {
  /** The greatest number is below 2^(top + 1). */
  int32_t top;
  /** The least positive number is 2^bottom. */
  int32_t bottom;
  /** The greatest number lacks some of the mantissa's patterns. */
  bool is_top_short;
} reach;

static reach reach_of(const rlo__dtype_info *info) {
  int32_t exponents = 1 << info->format.exponent_bits;
  int32_t mantissa = info->format.mantissa_bits;
  reach r;
  bool has_subnormals = !info->format.is_unsigned;
  r.bottom = (has_subnormals ? 1 : 0) - info->format.bias - mantissa;
  r.top = exponents - 1 - info->format.bias;
  r.is_top_short = false;
  switch (info->format.specials) {
    case RLO__FLOAT_IEEE:
      r.top -= 1;
      break;
    case RLO__FLOAT_FN:
      /* Its NaN takes the last pattern: of the mantissa, if there is one. */
      r.top -= mantissa == 0;
      r.is_top_short = mantissa > 0;
      break;
    case RLO__FLOAT_NONE:
    case RLO__FLOAT_FNUZ:
    case RLO__FLOAT_FINITE:
      break;
  }
  return r;
}

static bool has_infinity(const rlo__dtype_info *info) {
  return info->format.specials == RLO__FLOAT_IEEE;
}

static bool has_nan(const rlo__dtype_info *info) {
  return info->format.specials != RLO__FLOAT_FINITE;
}

static bool has_negative_zero(const rlo__dtype_info *info) {
  return !info->format.is_unsigned && info->format.specials != RLO__FLOAT_FNUZ;
}

static bool float_fits_float(const rlo__dtype_info *from,
                             const rlo__dtype_info *to) {
  reach have = reach_of(from);
  reach room = reach_of(to);
  if (have.bottom < room.bottom || have.top > room.top ||
      from->format.mantissa_bits > to->format.mantissa_bits) {
    return false;
  }
  if (have.top == room.top && room.is_top_short && !have.is_top_short &&
      from->format.mantissa_bits == to->format.mantissa_bits) {
    return false;
  }
  bool has_zero = !from->format.is_unsigned;
  return (!has_zero || !to->format.is_unsigned) &&
         (from->format.is_unsigned || !to->format.is_unsigned) &&
         (!has_infinity(from) || has_infinity(to)) &&
         (!has_nan(from) || has_nan(to)) &&
         (!has_negative_zero(from) || has_negative_zero(to));
}

/* Integers up to 2^magnitude_bits, negative ones too if is_signed. */
static bool integer_fits_float(int32_t magnitude_bits,
                               bool is_signed,
                               const rlo__dtype_info *to) {
  if (to->format.is_unsigned) {
    return false; /* it has no zero */
  }
  reach room = reach_of(to);
  /* 2^n - 1 needs n - 1 bits of mantissa, -2^n needs the exponent n. */
  if (magnitude_bits - 1 > to->format.mantissa_bits) {
    return false;
  }
  if (is_signed && room.top < magnitude_bits) {
    return false;
  }
  if (room.top < magnitude_bits - 1) {
    return false;
  }
  bool is_all_ones = magnitude_bits - 1 == to->format.mantissa_bits &&
                     room.top == magnitude_bits - 1;
  return !(is_all_ones && room.is_top_short) && room.bottom <= 0;
}

static bool integer_fits_integer(int32_t magnitude_bits,
                                 bool is_signed,
                                 const rlo__dtype_info *to) {
  bool to_signed = to->class_of == RLO_DTYPE_CLASS_SIGNED;
  int32_t room = to->value_bits - (to_signed ? 1 : 0);
  return magnitude_bits <= room && (!is_signed || to_signed);
}

bool rlo_dtype_can_upcast(rlo_dtype from, rlo_dtype to) {
  if (rlo_dtype_is_complex(to)) {
    to = rlo_dtype_complex_component(to);
    if (rlo_dtype_is_complex(from)) {
      from = rlo_dtype_complex_component(from);
    }
  }
  const rlo__dtype_info *have = rlo__dtype_info_of(from);
  const rlo__dtype_info *room = rlo__dtype_info_of(to);
  if (have == NULL || room == NULL) {
    return false;
  }
  if (from == to) {
    return true;
  }
  bool is_signed = have->class_of == RLO_DTYPE_CLASS_SIGNED;
  int32_t magnitude_bits = have->value_bits - (is_signed ? 1 : 0);
  switch (have->class_of) {
    case RLO_DTYPE_CLASS_BOOL:
    case RLO_DTYPE_CLASS_SIGNED:
    case RLO_DTYPE_CLASS_UNSIGNED:
      if (room->class_of == RLO_DTYPE_CLASS_FLOAT) {
        return integer_fits_float(magnitude_bits, is_signed, room);
      }
      return room->class_of != RLO_DTYPE_CLASS_BOOL &&
             integer_fits_integer(magnitude_bits, is_signed, room);
    case RLO_DTYPE_CLASS_FLOAT:
      return room->class_of == RLO_DTYPE_CLASS_FLOAT &&
             float_fits_float(have, room);
    case RLO_DTYPE_CLASS_NONE:
    case RLO_DTYPE_CLASS_COMPLEX:
      break;
  }
  return false;
}

static int compare_int(int32_t a, int32_t b) {
  return (a > b) - (a < b);
}

static rlo_dtype part_of(rlo_dtype dtype) {
  return rlo_dtype_is_complex(dtype) ? rlo_dtype_complex_component(dtype)
                                     : dtype;
}

/* Integers reach less far than any float. */
static int32_t top_of(rlo_dtype dtype) {
  return rlo_dtype_is_floating(dtype) ? reach_of(rlo__dtype_info_of(dtype)).top
                                      : INT32_MIN;
}

static int32_t mantissa_of(rlo_dtype dtype) {
  return rlo_dtype_is_floating(dtype)
             ? rlo__dtype_info_of(dtype)->format.mantissa_bits
             : -1;
}

rlo_dtype rlo_dtype_higher_precision(rlo_dtype a, rlo_dtype b) {
  if (!rlo_dtype_is_valid(a) || !rlo_dtype_is_valid(b)) {
    return RLO_DTYPE_INVALID;
  }
  rlo_dtype x = part_of(a);
  rlo_dtype y = part_of(b);
  int order = compare_int(top_of(x), top_of(y));
  order = order != 0 ? order : compare_int(mantissa_of(x), mantissa_of(y));
  order = order != 0
              ? order
              : compare_int(rlo_dtype_value_bits(a), rlo_dtype_value_bits(b));
  order = order != 0
              ? order
              : compare_int(rlo_dtype_is_signed(x), rlo_dtype_is_signed(y));
  return order < 0 ? b : a;
}
