/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on numbers: values of RLO_SRC become values of RLO_DST through the
 * compute type, as rlo_arithmetic in problem.h defines, bit for bit as on the
 * host. Plain OpenCL C 1.2, without cl_khr_fp16: small floats are computed with
 * integers and f32.
 *
 * Everything works on RLO_LANES values at once, 1 or 16:
 *
 *   rlo_src_raw x = RLO_LOAD_SRC(__global, pointer);
 *   rlo_dst_raw y = rlo_convert(x);                     RLO_CONVERT
 *   rlo_t       t = rlo_from_src(x);                    else
 *   rlo_dst_raw y = rlo_combine(t, old, numbers);
 *   RLO_STORE_DST(__global, pointer, y);
 *
 * The numbers of step n are numbers[2 * n] and the next one, in the compute
 * type: an integer, or the bits of a float or a double.
 */
#ifndef RLO_ARITH_CL
#define RLO_ARITH_CL

/* No product and sum may become one rounding. */
#pragma OPENCL FP_CONTRACT OFF

#include "lanes.cl"

/* 1: convert, with one rounding, and nothing else. */
#ifndef RLO_CONVERT
#define RLO_CONVERT 0
#endif

/* The steps: an rlo_element_op each, 0 for none. */
#ifndef RLO_STEP_0
#define RLO_STEP_0 1
#define RLO_STEP_1 2
#define RLO_STEP_2 0
#define RLO_STEP_3 0
#endif

#define RLO_HAS_STEP(op)                                             \
  (RLO_STEP_0 == (op) || RLO_STEP_1 == (op) || RLO_STEP_2 == (op) || \
   RLO_STEP_3 == (op))

/* 1: a step reads what is there. */
#ifndef RLO_BETA
#define RLO_BETA 1
#endif

/* Bits; signed as all arguments. */
typedef long8 rlo_numbers;

/* Lists of operands, and those before that of each step that takes one. */
#define RLO_DIVIDE_LIST RLO_HAS_STEP(4)
#define RLO_ADD_LIST    (RLO_HAS_STEP(4) + RLO_HAS_STEP(11))
#define RLO_NUM_LISTS   (RLO_ADD_LIST + RLO_HAS_STEP(12))

/* ----------------------------------------------------- small floats and f32 */

#if RLO_COMPUTE != 0

/* 2^e, for a normal float. */
#define RLO_POWER(e) as_float((uint)(127 + (e)) << 23)

/* A float format's pattern in the low bits becomes a float, exactly. The
 * parameters are constants; everything folds. */
static inline rlo_floats rlo_float_of(rlo_bits bits,
                                      int exponent_bits,
                                      int mantissa_bits,
                                      int bias,
                                      int specials,
                                      int is_bare) {
  if (mantissa_bits == 23) {
    return RLO_MANY(as_float)(bits);
  }
  if (is_bare) {
    bits = bits & 255u;
    const rlo_bits power =
        RLO_CHOOSE(bits == 0u, (rlo_bits)(0x00400000u), bits << 23);
    return RLO_MANY(as_float)(
        RLO_CHOOSE(bits == 255u, (rlo_bits)(0x7fc00000u), power));
  }
  if (bias == 127) {
    return RLO_MANY(as_float)(bits << 16);
  }
  const int magnitude_bits = exponent_bits + mantissa_bits;
  const uint most = (1u << magnitude_bits) - 1u;
  const uint infinity = most >> mantissa_bits << mantissa_bits;
  const rlo_bits magnitude = bits & most;
  const rlo_bits sign = (bits >> (uint)magnitude_bits & 1u) << 31;
  const rlo_bits normal =
      (magnitude << (uint)(23 - mantissa_bits)) + ((uint)(127 - bias) << 23);
  const rlo_floats small =
      RLO_TO(float, magnitude) * RLO_POWER(1 - bias - mantissa_bits);
  rlo_bits value = RLO_CHOOSE(
      magnitude < (1u << mantissa_bits), RLO_MANY(as_uint)(small), normal);
  const rlo_bits nan = (rlo_bits)(0x7fc00000u);
  if (specials == 1) {
    value = RLO_CHOOSE(magnitude >= infinity, (rlo_bits)(0x7f800000u), value);
    value = RLO_CHOOSE(magnitude > infinity, nan, value);
  } else if (specials == 2) {
    value = RLO_CHOOSE(magnitude == most, nan, value);
  } else if (specials == 3) {
    value = RLO_CHOOSE((magnitude | (sign ^ 0x80000000u)) == 0u, nan, value);
  }
  return RLO_MANY(as_float)(value | sign);
}

/* A float becomes a pattern of a format, to nearest even. */
static inline rlo_bits rlo_pattern_of(rlo_floats value,
                                      int exponent_bits,
                                      int mantissa_bits,
                                      int bias,
                                      int specials) {
  const rlo_bits bits = RLO_MANY(as_uint)(value);
  const rlo_bits size = bits & 0x7fffffffu;
  const uint largest = 0x7f800000u;
  if (mantissa_bits == 23) {
    return RLO_CHOOSE(size > largest, (rlo_bits)(0x7fc00000u), bits);
  }
  const int magnitude_bits = exponent_bits + mantissa_bits;
  const uint most = (1u << magnitude_bits) - 1u;
  const uint infinity = most >> mantissa_bits << mantissa_bits;
  const uint drop = (uint)(23 - mantissa_bits);
  rlo_bits sign = bits >> 31 << (uint)magnitude_bits;
  rlo_bits result =
      (size + ((1u << (drop - 1u)) - 1u) + (size >> drop & 1u)) >> drop;
  if (bias != 127) {
    /* Below the normal numbers, adding a power of two rounds to the place. */
    const float magic = RLO_POWER(24 - bias - mantissa_bits);
    const rlo_bits small =
        RLO_MANY(as_uint)(RLO_MANY(as_float)(size) + magic) - as_uint(magic);
    result = result - ((uint)(127 - bias) << mantissa_bits);
    result = RLO_CHOOSE(size < ((uint)(128 - bias) << 23), small, result);
  }
  uint nan = infinity | 1u << (mantissa_bits - 1);
  rlo_ints is_nan = size > largest;
  if (specials == 1) {
    result = RLO_CHOOSE(result < infinity, result, (rlo_bits)(infinity));
  } else if (specials == 2) {
    nan = most;
    is_nan = is_nan | (result >= most);
  } else if (specials == 3) {
    nan = most + 1u;
    is_nan = is_nan | (result > most);
    sign = RLO_CHOOSE(result == 0u, (rlo_bits)(0u), sign);
  } else {
    nan = 0u;
    result = RLO_CHOOSE(result < most, result, (rlo_bits)(most));
  }
  return RLO_CHOOSE(is_nan, (rlo_bits)(nan), result | sign);
}

/* Towards zero, held within `bits` <= 32 bits; NaN is 0. */
static inline rlo_bits rlo_to_int(rlo_floats value, int bits, int is_signed) {
  const float high = RLO_POWER(is_signed ? bits - 1 : bits);
  const float low = is_signed ? -high : -1.0f;
  const uint mask = bits == 32 ? 0xffffffffu : (1u << (bits & 31)) - 1u;
  const uint highest = is_signed ? mask >> 1 : mask;
  const uint lowest = is_signed ? highest + 1u : 0u;
  const rlo_ints is_high = value >= high;
  const rlo_ints is_low = value <= low;
  const rlo_ints is_held = is_high | is_low | (value != value);
  const rlo_floats held = RLO_CHOOSE(is_held, (rlo_floats)(0.0f), value);
  /* A uint of a negative number above -1 is 0, but not in every compiler. */
  const rlo_bits whole =
      is_signed
          ? RLO_MANY(as_uint)(RLO_TO(int, held))
          : RLO_TO(uint, RLO_CHOOSE(held > 0.0f, held, (rlo_floats)(0.0f)));
  rlo_bits result = whole & mask;
  result = RLO_CHOOSE(is_high, (rlo_bits)(highest), result);
  return RLO_CHOOSE(is_low, (rlo_bits)(lowest), result);
}

#endif

/* ------------------------------------------------------------- compute type */

/* rlo_t holds RLO_LANES values of the compute type, rlo_lane one. */

#if RLO_COMPUTE == 0
#if RLO_DST_BITS > 32 || RLO_SRC_CLASS == 1 && RLO_DST_BITS > 32 || \
    RLO_DST_CLASS == 1 || RLO_HAS_STEP(3) || RLO_HAS_STEP(6) ||         \
    RLO_HAS_STEP(7) || RLO_HAS_STEP(8)
typedef RLO_MANY(ulong) rlo_t;
typedef ulong rlo_lane;
#define RLO_TO_T(x) RLO_TO(ulong, x)
#define RLO_T_BITS  64
#else
/* The low 32 bits are all that the result depends on, without a clamp. */
typedef rlo_bits rlo_t;
typedef uint rlo_lane;
#define RLO_TO_T(x) RLO_TO(uint, x)
#define RLO_T_BITS  32
#endif
#elif RLO_COMPUTE == 1
typedef rlo_floats rlo_t;
typedef float rlo_lane;
#else
typedef RLO_MANY(double) rlo_t;
typedef double rlo_lane;
#endif

#if RLO_COMPUTE == 0

static inline rlo_t rlo_integer(rlo_t bits, int class_of, int num_bits) {
  if (class_of == 1) {
    return RLO_CHOOSE(bits != 0, (rlo_t)(1), (rlo_t)(0));
  }
  if (num_bits >= RLO_T_BITS) {
    return bits;
  }
  const rlo_t one = (rlo_t)(1);
  const rlo_t value = bits & ((one << num_bits) - one);
  if (class_of == 2) {
    const rlo_t sign = one << (num_bits - 1);
    return (value ^ sign) - sign;
  }
  return value;
}

#define RLO_FROM(raw, SIDE) \
  rlo_integer(RLO_TO_T(raw), RLO_##SIDE##_CLASS, RLO_##SIDE##_BITS)

static inline rlo_dst_raw rlo_to_dst(rlo_t value) {
#if RLO_DST_CLASS == 1
  const rlo_t bits = RLO_CHOOSE(value != 0, (rlo_t)(1), (rlo_t)(0));
#elif RLO_DST_BITS == RLO_T_BITS
  const rlo_t bits = value;
#else
  const rlo_t bits = value & (((rlo_t)(1) << RLO_DST_BITS) - (rlo_t)(1));
#endif
#if RLO_DST_BYTES == 8
  return RLO_TO(ulong, bits);
#else
  return RLO_TO(uint, bits);
#endif
}

#define RLO_NUMBER(bits) ((rlo_t)(bits))
#if RLO_T_BITS == 64
#define RLO_BELOW(a, b) (RLO_MANY(as_long)(a) < RLO_MANY(as_long)(b))
#else
#define RLO_BELOW(a, b) (RLO_MANY(as_int)(a) < RLO_MANY(as_int)(b))
#endif
#define RLO_ABS(x) RLO_CHOOSE(RLO_BELOW(x, (rlo_t)(0)), (rlo_t)(0) - (x), x)

#else

#define RLO_BELOW(a, b) ((a) < (b))

/* The pattern of one side as a float, or a double. */
#define RLO_SMALL(raw, SIDE, bare)    \
  rlo_float_of(raw,                   \
               RLO_##SIDE##_EXPONENT, \
               RLO_##SIDE##_MANTISSA, \
               RLO_##SIDE##_BIAS,     \
               RLO_##SIDE##_SPECIALS, \
               bare)

#if RLO_COMPUTE == 1
#define RLO_REAL(x)      RLO_TO(float, x)
#define RLO_NUMBER(bits) ((rlo_t)(as_float((uint)(bits))))
#define RLO_ABS(x)       RLO_MANY(as_float)(RLO_MANY(as_uint)(x) & 0x7fffffffu)
#else
#define RLO_REAL(x)      RLO_TO(double, x)
#define RLO_NUMBER(bits) ((rlo_t)(as_double(bits)))
#define RLO_ABS(x) \
  RLO_MANY(as_double)(RLO_MANY(as_ulong)(x) & 0x7fffffffffffffffUL)
#endif

/* An integer's low bits with its sign, as a signed number where it has one. */
#define RLO_SIGNED32(raw, bits) \
  (RLO_MANY(as_int)((raw) << (32 - (bits))) >> (32 - (bits)))
#define RLO_UNSIGNED32(raw, bits) ((raw) << (32 - (bits)) >> (32 - (bits)))

static inline rlo_t rlo_from_src(rlo_src_raw raw) {
#if RLO_SRC_CLASS == 1
  return RLO_REAL(RLO_CHOOSE(raw != 0u, (rlo_bits)(1u), (rlo_bits)(0u)));
#elif RLO_SRC_CLASS == 2
#if RLO_SRC_BITS == 64
  return RLO_REAL(RLO_MANY(as_long)(raw));
#else
  return RLO_REAL(RLO_SIGNED32(raw, RLO_SRC_BITS));
#endif
#elif RLO_SRC_CLASS == 3
#if RLO_SRC_BITS == 64
  return RLO_REAL(raw);
#else
  return RLO_REAL(RLO_UNSIGNED32(raw, RLO_SRC_BITS));
#endif
#elif RLO_SRC_BITS == 64
  return RLO_MANY(as_double)(raw);
#else
  return RLO_REAL(RLO_SMALL(raw, SRC, RLO_SRC_BARE));
#endif
}

#if RLO_BETA
static inline rlo_t rlo_from_dst(rlo_dst_raw raw) {
#if RLO_DST_CLASS == 1
  return RLO_REAL(RLO_CHOOSE(raw != 0u, (rlo_bits)(1u), (rlo_bits)(0u)));
#elif RLO_DST_CLASS == 2
#if RLO_DST_BITS == 64
  return RLO_REAL(RLO_MANY(as_long)(raw));
#else
  return RLO_REAL(RLO_SIGNED32(raw, RLO_DST_BITS));
#endif
#elif RLO_DST_CLASS == 3
#if RLO_DST_BITS == 64
  return RLO_REAL(raw);
#else
  return RLO_REAL(RLO_UNSIGNED32(raw, RLO_DST_BITS));
#endif
#elif RLO_DST_BITS == 64
  return RLO_MANY(as_double)(raw);
#else
  return RLO_REAL(RLO_SMALL(raw, DST, 0));
#endif
}
#endif

/* A float near a value that is not one: the one towards zero if its last bit is
 * set, else the one away. What is rounded once more, to fewer bits, then comes
 * out as if rounded once. `above`: the float's size is above the value's. */
static inline rlo_floats rlo_make_odd(rlo_floats near,
                                      rlo_ints is_above,
                                      rlo_ints is_below) {
  const rlo_bits bits = RLO_MANY(as_uint)(near);
  const rlo_bits odd = RLO_CHOOSE(is_above, bits - 1u, bits) | (rlo_bits)(1u);
  return RLO_MANY(as_float)(RLO_CHOOSE(is_above | is_below, odd, bits));
}

#if RLO_COMPUTE == 2
/* A double as a float that rounds on as the double would. */
static inline rlo_floats rlo_odd_of_double(rlo_t value) {
  const rlo_floats near = RLO_TO(float, value);
  const rlo_t size = RLO_CHOOSE(value < 0.0, -value, value);
  const rlo_t wide = RLO_TO(double, near);
  const rlo_t near_size = RLO_CHOOSE(wide < 0.0, -wide, wide);
#if RLO_LANES == 1
  return rlo_make_odd(near, near_size > size, near_size < size);
#else
  return rlo_make_odd(
      near, RLO_TO(int, near_size > size), RLO_TO(int, near_size < size));
#endif
}
#endif

static inline rlo_dst_raw rlo_to_dst(rlo_t value) {
#if RLO_DST_CLASS == 1
#if RLO_LANES == 1
  return value != 0 ? 1u : 0u;
#elif RLO_COMPUTE == 1
  return RLO_CHOOSE(value != 0.0f, (rlo_bits)(1u), (rlo_bits)(0u));
#else
  return as_uint16(RLO_TO(int, value != 0.0)) & 1u;
#endif
#elif RLO_DST_CLASS == 4
#if RLO_DST_BITS == 64
  return RLO_CHOOSE(value != value,
                    (rlo_dst_raw)(0x7ff8000000000000UL),
                    RLO_MANY(as_ulong)(value));
#elif RLO_COMPUTE == 2 && RLO_DST_MANTISSA < 23
  return rlo_pattern_of(rlo_odd_of_double(value),
                        RLO_DST_EXPONENT,
                        RLO_DST_MANTISSA,
                        RLO_DST_BIAS,
                        RLO_DST_SPECIALS);
#else
  return rlo_pattern_of(RLO_TO(float, value),
                        RLO_DST_EXPONENT,
                        RLO_DST_MANTISSA,
                        RLO_DST_BIAS,
                        RLO_DST_SPECIALS);
#endif
#elif RLO_COMPUTE == 1 && RLO_DST_BITS <= 32
  return rlo_to_int(value, RLO_DST_BITS, RLO_DST_CLASS == 2);
#else
  /* One value: integers of 64 bits, or of doubles. */
  const rlo_t high = RLO_REAL(RLO_POWER(RLO_DST_BITS - (RLO_DST_CLASS == 2)));
  const ulong mask = 0xffffffffffffffffUL >> (64 - RLO_DST_BITS);
  const ulong highest = RLO_DST_CLASS == 2 ? mask >> 1 : mask;
  ulong result = 0;
  if (value >= high) {
    result = highest;
  } else if (RLO_DST_CLASS == 2) {
    result = value <= -high   ? highest + 1
             : value == value ? (ulong)(long)value & mask
                              : 0;
  } else if (value > 0) {
    result = (ulong)value;
  }
  return (rlo_dst_raw)result;
#endif
}

#endif

#if RLO_COMPUTE == 0
#define rlo_from_src(raw) RLO_FROM(raw, SRC)
#define rlo_from_dst(raw) RLO_FROM(raw, DST)
#endif

/* ---------------------------------------------------------------- functions */

/* One conversion. */
static inline rlo_dst_raw rlo_convert(rlo_src_raw raw) {
#if RLO_COMPUTE == 1 && RLO_DST_CLASS == 4 && RLO_DST_MANTISSA < 23 && \
    (RLO_SRC_CLASS == 2 || RLO_SRC_CLASS == 3) && RLO_SRC_BITS > 24
  /* An integer that f32 does not hold would be rounded twice. */
#if RLO_SRC_CLASS == 2 && RLO_SRC_BITS == 64
  const RLO_MANY(ulong) size = abs(RLO_MANY(as_long)(raw));
#elif RLO_SRC_CLASS == 2
  const RLO_MANY(ulong) size =
      RLO_TO(ulong, abs(RLO_SIGNED32(raw, RLO_SRC_BITS)));
#else
  const RLO_MANY(ulong) size = RLO_TO(ulong, raw);
#endif
  const rlo_floats near = rlo_from_src(raw);
  /* At most 2^64, halved so that it fits into an integer. */
  const RLO_MANY(ulong) near_half =
      RLO_TO(ulong, RLO_CHOOSE(near < 0.0f, -near, near) * 0.5f);
  const RLO_MANY(ulong) near_size = near_half << 1;
  /* Floats from 2^24 on are even, so that halves are above if they are; smaller
   * integers are floats. */
#if RLO_LANES == 1
  const int is_large = size >= (1UL << 24);
  const int is_above = is_large && near_half > size >> 1;
  const int is_below = is_large && !is_above && near_size != size;
#else
  const long16 large = size >= (ulong16)(1UL << 24);
  const long16 above = large & (near_half > size >> 1);
  const int16 is_above = RLO_TO(int, above);
  const int16 is_below = RLO_TO(int, large & ~above & (near_size != size));
#endif
  return rlo_pattern_of(rlo_make_odd(near, is_above, is_below),
                        RLO_DST_EXPONENT,
                        RLO_DST_MANTISSA,
                        RLO_DST_BIAS,
                        RLO_DST_SPECIALS);
#else
  return rlo_to_dst(rlo_from_src(raw));
#endif
}

/* An operand of each list. */
typedef struct rlo_operands {
  rlo_t of[4];
} rlo_operands;

/* A GPU's quotient of floats may be 2.5 units of the last place off; one of
 * doubles is exact, and rounded to f32 it is that of floats. */
#ifndef RLO_WIDE_QUOTIENT
#define RLO_WIDE_QUOTIENT 0
#endif
#if RLO_WIDE_QUOTIENT
#define RLO_DIVIDE(a, b) RLO_TO(float, RLO_TO(double, a) / RLO_TO(double, b))
#else
#define RLO_DIVIDE(a, b) ((a) / (b))
#endif

/* One element-wise step, by its rlo_element_op. `op` is a constant. */
static inline rlo_t rlo_step(int op,
                             rlo_t value,
                             rlo_t cell,
                             __private const rlo_operands *operands,
                             ulong number0,
                             ulong number1) {
  switch (op) {
    case 1:
      return RLO_NUMBER(number0) * value;
    case 2: {
      const rlo_t kept = RLO_NUMBER(number0) * cell;
      return value + kept;
    }
    case 3: {
      const rlo_t low = RLO_NUMBER(number0);
      const rlo_t high = RLO_NUMBER(number1);
      value = RLO_CHOOSE(RLO_BELOW(value, low), low, value);
      return RLO_CHOOSE(RLO_BELOW(high, value), high, value);
    }
    case 4:
      return operands->of[0] * value;
    case 5:
      return cell * value;
    case 6: {
      const rlo_t equal = RLO_NUMBER(number1);
      const rlo_t below = RLO_NUMBER(number0);
      value = RLO_CHOOSE(
          RLO_BELOW(cell, value),
          below,
          RLO_CHOOSE(cell == value, equal, (rlo_t)(0)));
      return value;
    }
    case 7:
      return RLO_ABS(value);
    case 8: {
      const rlo_t other = RLO_NUMBER(number0);
      const rlo_t is_above =
          RLO_CHOOSE(RLO_BELOW((rlo_t)(0), value), (rlo_t)(1), other);
      return RLO_CHOOSE(value == value, is_above, value);
    }
#if RLO_HAS_STEP(9)
    case 9:
      return exp(value);
#endif
#if RLO_HAS_STEP(10)
    case 10:
      return tanh(value);
#endif
#if RLO_HAS_STEP(11) || RLO_HAS_STEP(13)
    case 11:
      return RLO_DIVIDE(value, operands->of[RLO_DIVIDE_LIST]);
    case 13:
      return RLO_DIVIDE(value, RLO_NUMBER(number0));
#endif
#if RLO_HAS_STEP(15)
    case 15:
      return rint(value);
#endif
    case 12: {
      const rlo_t added = RLO_NUMBER(number0) * operands->of[RLO_ADD_LIST];
      return value + added;
    }
    case 14:
      return value + RLO_NUMBER(number0);
    default:
      return value;
  }
}

/* The steps on a value, and the conversion. Operands without a step that takes
 * them are not used. */
static inline rlo_dst_raw rlo_combine_by(rlo_t value,
                                         rlo_dst_raw old,
                                         __private const rlo_operands *operands,
                                         rlo_numbers numbers) {
#if RLO_BETA
  const rlo_t cell = rlo_from_dst(old);
#else
  const rlo_t cell = (rlo_t)(0);
  (void)old;
#endif
  value =
      rlo_step(RLO_STEP_0, value, cell, operands, numbers.s0, numbers.s1);
  value =
      rlo_step(RLO_STEP_1, value, cell, operands, numbers.s2, numbers.s3);
  value =
      rlo_step(RLO_STEP_2, value, cell, operands, numbers.s4, numbers.s5);
  value =
      rlo_step(RLO_STEP_3, value, cell, operands, numbers.s6, numbers.s7);
  return rlo_to_dst(value);
}

static inline rlo_dst_raw rlo_combine(rlo_t value,
                                      rlo_dst_raw old,
                                      rlo_numbers numbers) {
  rlo_operands none;
  none.of[0] = (rlo_t)(0);
  none.of[1] = (rlo_t)(0);
  none.of[2] = (rlo_t)(0);
  return rlo_combine_by(value, old, &none, numbers);
}

/* The steps on the value of a unit, or one conversion. */
static inline rlo_dst_raw rlo_compute(rlo_src_raw x,
                                      rlo_dst_raw old,
                                      rlo_numbers numbers) {
#if RLO_CONVERT
  (void)old;
  (void)numbers;
  return rlo_convert(x);
#else
  return rlo_combine(rlo_from_src(x), old, numbers);
#endif
}

#endif
