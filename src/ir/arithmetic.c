/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/arithmetic.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dtype.h"
#include "ir/element.h"
#include "ir/update.h"

/* ------------------------------------------------------------ exact numbers */

/** A value of any type: (-1)^is_negative * mantissa * 2^exponent. */
typedef struct exact {
  enum { FINITE, INFINITE, NOT_A_NUMBER } kind;

  bool is_negative;
  uint64_t mantissa;
  int32_t exponent;
} exact;

static uint64_t ones(int32_t count) {
  if (count <= 0) {
    return 0;
  }
  return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* The integer in the low bits, with its sign in all bits above. */
static uint64_t extend_sign(const rlo__dtype_info *info, uint64_t bits) {
  uint64_t value = bits & ones(info->value_bits);
  uint64_t sign = UINT64_C(1) << (info->value_bits - 1);
  return info->class_of == RLO_DTYPE_CLASS_SIGNED ? (value ^ sign) - sign : value;
}

static exact decode_float(const rlo__dtype_info *info, uint64_t bits) {
  int32_t mantissa_bits = info->format.mantissa_bits;
  int32_t magnitude_bits = info->format.exponent_bits + mantissa_bits;
  uint64_t magnitude = bits & ones(magnitude_bits);
  uint64_t infinity = ones(info->format.exponent_bits) << mantissa_bits;
  exact x = {FINITE, false, magnitude & ones(mantissa_bits), 0};
  x.is_negative = !info->format.is_unsigned && (bits >> magnitude_bits & 1) != 0;
  const rlo__float_specials specials = info->format.specials;
  if (specials == RLO__FLOAT_IEEE && magnitude >= infinity) {
    x.kind = magnitude == infinity ? INFINITE : NOT_A_NUMBER;
  } else if ((specials == RLO__FLOAT_FN && magnitude == ones(magnitude_bits)) ||
             (specials == RLO__FLOAT_FNUZ && magnitude == 0 && x.is_negative)) {
    x.kind = NOT_A_NUMBER;
  }
  int32_t exponent = (int32_t)(magnitude >> mantissa_bits);
  bool is_normal = exponent > 0 || info->format.is_unsigned;
  x.mantissa |= is_normal ? UINT64_C(1) << mantissa_bits : 0;
  x.exponent = (is_normal ? exponent : 1) - info->format.bias - mantissa_bits;
  return x;
}

static exact decode(rlo_dtype dtype, uint64_t bits) {
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  if (info->class_of == RLO_DTYPE_CLASS_FLOAT) {
    return decode_float(info, bits);
  }
  exact x = {FINITE, false, extend_sign(info, bits), 0};
  if (info->class_of == RLO_DTYPE_CLASS_BOOL) {
    x.mantissa = bits != 0;
  } else if (info->class_of == RLO_DTYPE_CLASS_SIGNED) {
    x.is_negative = x.mantissa >> 63 != 0;
    x.mantissa = x.is_negative ? 0 - x.mantissa : x.mantissa;
  }
  return x;
}

/* m / 2^shift to the nearest, ties to even; shift > 0. */
static uint64_t shift_and_round(uint64_t m, int32_t shift) {
  if (shift > 64) {
    return 0;
  }
  uint64_t quotient = shift == 64 ? 0 : m >> shift;
  uint64_t half = UINT64_C(1) << (shift - 1);
  uint64_t rest = m & ones(shift);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

/* The magnitude of a finite number other than 0, as a bit pattern of the
 * format. The exponent may exceed the largest one by one. */
static uint64_t round_to_format(const rlo__dtype_info *info, const exact *x) {
  int32_t mantissa_bits = info->format.mantissa_bits;
  uint64_t m = x->mantissa;
  int32_t exponent = x->exponent + 63;
  while (m >> 63 == 0) {
    m <<= 1;
    --exponent;
  }
  int32_t biased = exponent + info->format.bias;
  if (biased >= 1 << info->format.exponent_bits) {
    return (ones(info->format.exponent_bits) + 1) << mantissa_bits;
  }
  int32_t shift = 63 - mantissa_bits;
  if (biased < 1) {
    return shift_and_round(m, shift + 1 - biased);
  }
  uint64_t quotient = shift_and_round(m, shift) - (UINT64_C(1) << mantissa_bits);
  return ((uint64_t)biased << mantissa_bits) + quotient;
}

static uint64_t encode_float(const rlo__dtype_info *info, const exact *x) {
  int32_t magnitude_bits = info->format.exponent_bits + info->format.mantissa_bits;
  uint64_t most = ones(magnitude_bits);
  uint64_t sign = UINT64_C(1) << magnitude_bits;
  uint64_t infinity = ones(info->format.exponent_bits) << info->format.mantissa_bits;
  bool is_nan = x->kind == NOT_A_NUMBER;
  uint64_t magnitude = 0;
  if (x->kind == INFINITE) {
    magnitude = UINT64_MAX;
  } else if (!is_nan && x->mantissa != 0) {
    magnitude = round_to_format(info, x);
  }
  const rlo__float_specials specials = info->format.specials;
  if (is_nan && specials == RLO__FLOAT_IEEE) {
    return infinity | UINT64_C(1) << (info->format.mantissa_bits - 1);
  }
  if (specials == RLO__FLOAT_FN && (is_nan || magnitude >= most)) {
    return most;
  }
  if (specials == RLO__FLOAT_FNUZ && (is_nan || magnitude > most)) {
    return sign;
  }
  if (is_nan) {
    return 0;
  }
  most = specials == RLO__FLOAT_IEEE ? infinity : most;
  magnitude = magnitude > most ? most : magnitude;
  sign = specials == RLO__FLOAT_FNUZ && magnitude == 0 ? 0 : sign;
  return magnitude | (x->is_negative ? sign : 0);
}

/* Rounds towards zero and clamps to the limits of the type. */
static uint64_t encode_integer(const rlo__dtype_info *info, const exact *x) {
  bool is_signed = info->class_of == RLO_DTYPE_CLASS_SIGNED;
  uint64_t highest = ones(is_signed ? info->value_bits - 1 : info->value_bits);
  uint64_t limit = x->is_negative ? (is_signed ? highest + 1 : 0) : highest;
  uint64_t magnitude = 0;
  if (x->kind == INFINITE) {
    magnitude = limit;
  } else if (x->kind == FINITE && x->mantissa != 0) {
    if (x->exponent <= 0) {
      magnitude = x->exponent > -64 ? x->mantissa >> -x->exponent : 0;
    } else {
      bool fits = x->exponent < 64 && x->mantissa <= limit >> x->exponent;
      magnitude = fits ? x->mantissa << x->exponent : limit;
    }
    magnitude = magnitude > limit ? limit : magnitude;
  }
  return (x->is_negative ? 0 - magnitude : magnitude) & ones(info->value_bits);
}

static uint64_t encode(rlo_dtype dtype, const exact *x) {
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  switch (info->class_of) {
    case RLO_DTYPE_CLASS_BOOL:
      return x->kind != FINITE || x->mantissa != 0;
    case RLO_DTYPE_CLASS_FLOAT:
      return encode_float(info, x);
    default:
      return encode_integer(info, x);
  }
}

/* ------------------------------------------------------------- compute type */

rlo_dtype rlo__arithmetic_part(rlo_dtype dtype) {
  return rlo_dtype_is_complex(dtype) ? rlo_dtype_complex_component(dtype) : dtype;
}

static bool is_whole(rlo_dtype dtype) {
  return rlo_dtype_is_integral(dtype) || dtype == RLO_DTYPE_PRED;
}

bool rlo__arithmetic_is_addable(rlo_dtype dtype) {
  return dtype != RLO_DTYPE_PRED && !(rlo_dtype_is_integral(dtype) && rlo_dtype_is_sub_byte(dtype));
}

rlo__compute rlo__arithmetic_compute(const rlo_arithmetic *arithmetic) {
  rlo_dtype src = rlo__arithmetic_part(arithmetic->src_type);
  rlo_dtype dst = rlo__arithmetic_part(arithmetic->dst_type);
  if (is_whole(src) && is_whole(dst)) {
    return RLO__COMPUTE_INTEGER;
  }
  return src == RLO_DTYPE_F64 || dst == RLO_DTYPE_F64 || arithmetic->compute_type == RLO_DTYPE_F64
             ? RLO__COMPUTE_F64
             : RLO__COMPUTE_F32;
}

rlo_dtype rlo__arithmetic_sum_type(const rlo_arithmetic *arithmetic) {
  static const rlo_dtype types[] = {
      [RLO__COMPUTE_INTEGER] = RLO_DTYPE_S64,
      [RLO__COMPUTE_F32] = RLO_DTYPE_F32,
      [RLO__COMPUTE_F64] = RLO_DTYPE_F64,
  };
  return types[rlo__arithmetic_compute(arithmetic)];
}

rlo_dtype rlo__arithmetic_operand_type(const rlo_problem *problem) {
  const rlo_dtype type = rlo__arithmetic_sum_type(&problem->arithmetic);
  return type == RLO_DTYPE_S64 && problem->index_bits == 32 ? RLO_DTYPE_S32 : type;
}

static double real_of(rlo__compute compute, const exact *x) {
  if (compute == RLO__COMPUTE_F32) {
    uint32_t bits = (uint32_t)encode(RLO_DTYPE_F32, x);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
  }
  uint64_t bits = encode(RLO_DTYPE_F64, x);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static rlo__number load(rlo__compute compute, rlo_dtype dtype, uint64_t bits) {
  rlo__number number;
  if (compute == RLO__COMPUTE_INTEGER) {
    const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
    number.integer = dtype == RLO_DTYPE_PRED ? bits != 0 : extend_sign(info, bits);
    return number;
  }
  exact x = decode(dtype, bits);
  number.real = real_of(compute, &x);
  return number;
}

static uint64_t store(rlo__compute compute, rlo_dtype dtype, rlo__number number) {
  if (compute == RLO__COMPUTE_INTEGER) {
    return dtype == RLO_DTYPE_PRED ? number.integer != 0
                                   : number.integer & ones(rlo_dtype_value_bits(dtype));
  }
  uint64_t bits;
  memcpy(&bits, &number.real, sizeof bits);
  exact x = decode(RLO_DTYPE_F64, bits);
  return encode(dtype, &x);
}

/* Each result is rounded once: computing two floats in double and rounding to
 * float gives the float result. */
static double round_real(rlo__compute compute, double value) {
  return compute == RLO__COMPUTE_F32 ? (double)(float)value : value;
}

static rlo__number add(rlo__compute compute, rlo__number a, rlo__number b) {
  if (compute == RLO__COMPUTE_INTEGER) {
    a.integer += b.integer;
  } else {
    a.real = round_real(compute, a.real + b.real);
  }
  return a;
}

static rlo__number multiply(rlo__compute compute, rlo__number a, rlo__number b) {
  if (compute == RLO__COMPUTE_INTEGER) {
    a.integer *= b.integer;
  } else {
    a.real = round_real(compute, a.real * b.real);
  }
  return a;
}

static rlo__number divide(rlo__compute compute, rlo__number a, double divisor) {
  a.real = round_real(compute, a.real / round_real(compute, divisor));
  return a;
}

static rlo__number number_of(rlo__compute compute, double value) {
  rlo__number number;
  if (compute == RLO__COMPUTE_INTEGER) {
    number.integer = (uint64_t)rlo__element_integer(value);
  } else {
    number.real = round_real(compute, value);
  }
  return number;
}

static rlo__number scale(rlo__compute compute, double factor, rlo__number a) {
  return multiply(compute, number_of(compute, factor), a);
}

/* False for a NaN, as is is_equal. */
static bool is_below(rlo__compute compute, rlo__number a, rlo__number b) {
  return compute == RLO__COMPUTE_INTEGER ? (int64_t)a.integer < (int64_t)b.integer
                                         : a.real < b.real;
}

static bool is_equal(rlo__compute compute, rlo__number a, rlo__number b) {
  return compute == RLO__COMPUTE_INTEGER ? a.integer == b.integer
                                         : rlo__factor_equal(a.real, b.real);
}

static rlo__number compare(rlo__compute compute, const double results[2], rlo__number cell,
                           rlo__number a) {
  return number_of(compute, is_below(compute, cell, a)   ? results[0]
                            : is_equal(compute, cell, a) ? results[1]
                                                         : 0.0);
}

/* The sum makes +0 of -0. */
static rlo__number absolute(rlo__compute compute, rlo__number a) {
  const rlo__number zero = {0};
  return add(compute, zero, is_below(compute, a, zero) ? scale(compute, -1.0, a) : a);
}

static rlo__number clamp(rlo__compute compute, const double bounds[2], rlo__number a) {
  if (compute == RLO__COMPUTE_INTEGER) {
    int64_t low = rlo__element_integer(bounds[0]);
    int64_t high = rlo__element_integer(bounds[1]);
    int64_t value = (int64_t)a.integer;
    a.integer = (uint64_t)rlo__max(low, rlo__min(value, high));
    return a;
  }
  double low = round_real(compute, bounds[0]);
  double high = round_real(compute, bounds[1]);
  a.real = a.real < low ? low : a.real > high ? high : a.real;
  return a;
}

/* A step on a value; `cell` is what the cell holds. */
static rlo__number apply(rlo__compute compute, const rlo_element_step *step, rlo__number value,
                         rlo__number cell, rlo__number operand) {
  switch (step->op) {
    case RLO_ELEMENT_SCALE:
      return scale(compute, step->numbers[0], value);
    case RLO_ELEMENT_ACCUMULATE:
      return add(compute, value, scale(compute, step->numbers[0], cell));
    case RLO_ELEMENT_CLAMP:
      return clamp(compute, step->numbers, value);
    case RLO_ELEMENT_SCALE_BY:
      return multiply(compute, operand, value);
    case RLO_ELEMENT_MULTIPLY:
      return multiply(compute, cell, value);
    case RLO_ELEMENT_COMPARE:
      return compare(compute, step->numbers, cell, value);
    case RLO_ELEMENT_ABS:
      return absolute(compute, value);
    case RLO_ELEMENT_STEP:
      return !is_equal(compute, value, value)
                 ? value
                 : number_of(compute,
                             is_below(compute, (rlo__number){0}, value) ? 1.0 : step->numbers[0]);
    case RLO_ELEMENT_EXP:
      return number_of(compute, exp(value.real));
    case RLO_ELEMENT_TANH:
      return number_of(compute, tanh(value.real));
    case RLO_ELEMENT_DIVIDE_BY:
      return divide(compute, value, operand.real);
    case RLO_ELEMENT_ADD_BY:
      return add(compute, value, scale(compute, step->numbers[0], operand));
    case RLO_ELEMENT_DIVIDE:
      return divide(compute, value, step->numbers[0]);
    case RLO_ELEMENT_ADD:
      return add(compute, value, number_of(compute, step->numbers[0]));
    case RLO_ELEMENT_ROUND:
      return number_of(compute, rint(value.real));
  }
  return value;
}

/* ------------------------------------------------------------------- units */

/* Part 0 or 1 of a unit: the value, or half of a complex one. */
static uint64_t part_bits(const uint8_t unit[16], rlo_dtype dtype, int part) {
  int32_t bits = rlo_dtype_value_bits(rlo__arithmetic_part(dtype));
  uint64_t value = 0;
  for (int32_t b = 0; b < (bits + 7) / 8; ++b) {
    value |= (uint64_t)unit[part * (bits / 8) + b] << (8 * b);
  }
  return value & ones(bits);
}

static void set_part_bits(uint8_t unit[16], rlo_dtype dtype, int part, uint64_t value) {
  int32_t bits = rlo_dtype_value_bits(rlo__arithmetic_part(dtype));
  for (int32_t b = 0; b < (bits + 7) / 8; ++b) {
    unit[part * (bits / 8) + b] = (uint8_t)(value >> (8 * b) & 0xff);
  }
}

/* Like part_bits, but the imaginary part of a real number is 0. A pred takes
 * its whole byte, if it has one. */
static uint64_t value_bits(const uint8_t unit[16], rlo_dtype dtype, int part) {
  if (dtype == RLO_DTYPE_PRED) {
    return part == 0 && unit[0] != 0;
  }
  return part == 0 || rlo_dtype_is_complex(dtype) ? part_bits(unit, dtype, part) : 0;
}

/* The parts that are computed: those of the result. A pred says whether any
 * part of the number is other than 0, and so takes those of the source. */
static int32_t count_parts(rlo_dtype src, rlo_dtype dst) {
  return rlo_dtype_is_complex(dst == RLO_DTYPE_PRED ? src : dst) ? 2 : 1;
}

static void set_result(uint8_t unit[16], rlo_dtype dtype, int part, uint64_t value) {
  if (dtype == RLO_DTYPE_PRED) {
    value |= part_bits(unit, dtype, 0);
    part = 0;
  }
  set_part_bits(unit, dtype, part, value);
}

static uint64_t convert_part(rlo_dtype src, rlo_dtype dst, uint64_t bits) {
  if (is_whole(src) && is_whole(dst)) {
    rlo__number number = load(RLO__COMPUTE_INTEGER, src, bits);
    return store(RLO__COMPUTE_INTEGER, dst, number);
  }
  exact x = decode(src, bits);
  return encode(dst, &x);
}

/* Converts a value; a repacking takes the bits of the value alone. */
static void convert(rlo_dtype src_type, rlo_dtype dst_type, bool is_repacking, const uint8_t in[16],
                    uint8_t out[16]) {
  rlo_dtype src = rlo__arithmetic_part(src_type);
  rlo_dtype dst = rlo__arithmetic_part(dst_type);
  uint8_t result[16] = {0};
  for (int32_t p = 0; p < count_parts(src_type, dst_type); ++p) {
    uint64_t bits = value_bits(in, src_type, p);
    bits = is_repacking ? bits : convert_part(src, dst, bits);
    set_result(result, dst_type, p, bits);
  }
  memcpy(out, result, sizeof result);
}

void rlo__arithmetic_convert(rlo_dtype src_type, rlo_dtype dst_type, const uint8_t in[16],
                             uint8_t out[16]) {
  convert(src_type, dst_type, false, in, out);
}

float rlo__arithmetic_f32(double number) {
  uint8_t unit[16] = {0};
  float narrow;
  memcpy(unit, &number, sizeof number);
  rlo__arithmetic_convert(RLO_DTYPE_F64, RLO_DTYPE_F32, unit, unit);
  memcpy(&narrow, unit, sizeof narrow);
  return narrow;
}

/* ------------------------------------------------------------------- cells */

void rlo__combiner_init(rlo__combiner *c, const rlo_problem *problem) {
  memset(c, 0, sizeof *c);
  c->arithmetic = &problem->arithmetic;
  c->compute = rlo__arithmetic_compute(c->arithmetic);
  c->is_conversion = rlo__problem_is_conversion(problem);
  c->is_repacking = rlo__problem_is_repacking(problem);
  c->is_sum = rlo_problem_is_sum(problem);
  c->reads_cells = rlo_problem_reads_cells(problem);
  c->num_parts = count_parts(c->arithmetic->src_type, c->arithmetic->dst_type);
  c->operand_type = rlo__arithmetic_operand_type(problem);
}

void rlo__combiner_set_operand(rlo__combiner *c, int32_t list, uint64_t bits) {
  c->operands[list] = load(c->compute, c->operand_type, bits);
}

void rlo__combiner_begin(rlo__combiner *c) {
  if (c->is_sum) {
    c->num_blocks = 0;
    for (int32_t p = 0; p < c->num_parts; ++p) {
      memset(c->parts[p].lanes, 0, sizeof c->parts[p].lanes);
    }
  }
}

static rlo__number load_value(const rlo__combiner *c, const uint8_t unit[16], int32_t part) {
  rlo_dtype dtype = c->arithmetic->src_type;
  return load(c->compute, rlo__arithmetic_part(dtype), value_bits(unit, dtype, part));
}

void rlo__combiner_add(rlo__combiner *c, const uint8_t unit[16], int64_t place) {
  if (!c->is_sum) {
    memcpy(c->value, unit, sizeof c->value);
    return;
  }
  for (int32_t p = 0; p < c->num_parts; ++p) {
    rlo__number *lane = &c->parts[p].lanes[place % RLO_SUM_LANES];
    *lane = add(c->compute, *lane, load_value(c, unit, p));
  }
}

static void end_block_of(rlo__compute compute, uint64_t num_blocks, rlo__sum *sum) {
  for (int32_t half = RLO_SUM_LANES / 2; half > 0; half /= 2) {
    for (int32_t l = 0; l < half; ++l) {
      sum->lanes[l] = add(compute, sum->lanes[l], sum->lanes[l + half]);
    }
  }
  rlo__number total = sum->lanes[0];
  int32_t level = 0;
  for (; (num_blocks >> level & 1) != 0; ++level) {
    total = add(compute, sum->levels[level], total);
  }
  sum->levels[level] = total;
  memset(sum->lanes, 0, sizeof sum->lanes);
}

void rlo__combiner_end_block(rlo__combiner *c) {
  for (int32_t p = 0; p < c->num_parts; ++p) {
    end_block_of(c->compute, c->num_blocks, &c->parts[p]);
  }
  ++c->num_blocks;
}

static rlo__number total_of(const rlo__combiner *c, int32_t part) {
  rlo__number total = {0};
  bool is_first = true;
  for (int32_t level = 0; c->num_blocks >> level != 0; ++level) {
    if ((c->num_blocks >> level & 1) != 0) {
      rlo__number of_level = c->parts[part].levels[level];
      total = is_first ? of_level : add(c->compute, of_level, total);
      is_first = false;
    }
  }
  return total;
}

void rlo__combiner_finish(rlo__combiner *c, uint8_t cell[16]) {
  const rlo_arithmetic *a = c->arithmetic;
  if (c->is_conversion) {
    convert(a->src_type, a->dst_type, c->is_repacking, c->value, cell);
    return;
  }
  rlo_dtype dst = rlo__arithmetic_part(a->dst_type);
  uint8_t result[16] = {0};
  for (int32_t p = 0; p < c->num_parts; ++p) {
    rlo__number value = c->is_sum ? total_of(c, p) : load_value(c, c->value, p);
    rlo__number old = {0};
    if (c->reads_cells) {
      old = load(c->compute, dst, value_bits(cell, a->dst_type, p));
    }
    for (int32_t s = 0; s < a->num_steps; ++s) {
      const int32_t list = rlo__arithmetic_lists_before(a, (int32_t)a->steps[s].op);
      value = apply(c->compute, &a->steps[s], value, old, c->operands[list]);
    }
    set_result(result, a->dst_type, p, store(c->compute, dst, value));
  }
  memcpy(cell, result, sizeof result);
}
