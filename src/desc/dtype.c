/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/dtype.h"

#include <string.h>

#include "base/status.h"

/* DLPack's type codes. */
enum {
  DL_INT = 0,
  DL_UINT = 1,
  DL_FLOAT = 2,
  DL_BFLOAT = 4,
  DL_COMPLEX = 5,
  DL_BOOL = 6,
  DL_F8E3M4 = 7,
  DL_F8E4M3 = 8,
  DL_F8E4M3B11FNUZ = 9,
  DL_F8E4M3FN = 10,
  DL_F8E4M3FNUZ = 11,
  DL_F8E5M2 = 12,
  DL_F8E5M2FNUZ = 13,
  DL_F8E8M0FNU = 14,
  DL_F6E2M3FN = 15,
  DL_F6E3M2FN = 16,
  DL_F4E2M1FN = 17
};

/* Short names, so that a type fits on one line of the table. */
#define BOOLEAN  RLO_DTYPE_CLASS_BOOL
#define SIGNED   RLO_DTYPE_CLASS_SIGNED
#define UNSIGNED RLO_DTYPE_CLASS_UNSIGNED
#define FLOAT    RLO_DTYPE_CLASS_FLOAT
#define COMPLEX  RLO_DTYPE_CLASS_COMPLEX
#define IEEE     RLO__FLOAT_IEEE
#define FN       RLO__FLOAT_FN
#define FNUZ     RLO__FLOAT_FNUZ
#define FINITE   RLO__FLOAT_FINITE

/* Indexed by rlo_dtype; rows without a name are not element types. */
// clang-format off
static const rlo__dtype_info infos[] = {
    /*                          name            class  bits  specials exp mant  bias unsigned  DLPack         bits NumPy: letter, name */
    [RLO_DTYPE_PRED]         = {"pred",         BOOLEAN,   1, {0},                             DL_BOOL,          8, 'b', "bool"},
    [RLO_DTYPE_S1]           = {"s1",           SIGNED,    1, {0},                             DL_INT,           1, 0,   "int1"},
    [RLO_DTYPE_S2]           = {"s2",           SIGNED,    2, {0},                             DL_INT,           2, 0,   "int2"},
    [RLO_DTYPE_S4]           = {"s4",           SIGNED,    4, {0},                             DL_INT,           4, 0,   "int4"},
    [RLO_DTYPE_S8]           = {"s8",           SIGNED,    8, {0},                             DL_INT,           8, 'i', "int8"},
    [RLO_DTYPE_S16]          = {"s16",          SIGNED,   16, {0},                             DL_INT,          16, 'i', "int16"},
    [RLO_DTYPE_S32]          = {"s32",          SIGNED,   32, {0},                             DL_INT,          32, 'i', "int32"},
    [RLO_DTYPE_S64]          = {"s64",          SIGNED,   64, {0},                             DL_INT,          64, 'i', "int64"},
    [RLO_DTYPE_U1]           = {"u1",           UNSIGNED,  1, {0},                             DL_UINT,          1, 0,   "uint1"},
    [RLO_DTYPE_U2]           = {"u2",           UNSIGNED,  2, {0},                             DL_UINT,          2, 0,   "uint2"},
    [RLO_DTYPE_U4]           = {"u4",           UNSIGNED,  4, {0},                             DL_UINT,          4, 0,   "uint4"},
    [RLO_DTYPE_U8]           = {"u8",           UNSIGNED,  8, {0},                             DL_UINT,          8, 'u', "uint8"},
    [RLO_DTYPE_U16]          = {"u16",          UNSIGNED, 16, {0},                             DL_UINT,         16, 'u', "uint16"},
    [RLO_DTYPE_U32]          = {"u32",          UNSIGNED, 32, {0},                             DL_UINT,         32, 'u', "uint32"},
    [RLO_DTYPE_U64]          = {"u64",          UNSIGNED, 64, {0},                             DL_UINT,         64, 'u', "uint64"},
    [RLO_DTYPE_F16]          = {"f16",          FLOAT,    16, {IEEE,    5, 10,   15, false},   DL_FLOAT,        16, 'f', "float16"},
    [RLO_DTYPE_F32]          = {"f32",          FLOAT,    32, {IEEE,    8, 23,  127, false},   DL_FLOAT,        32, 'f', "float32"},
    [RLO_DTYPE_F64]          = {"f64",          FLOAT,    64, {IEEE,   11, 52, 1023, false},   DL_FLOAT,        64, 'f', "float64"},
    [RLO_DTYPE_BF16]         = {"bf16",         FLOAT,    16, {IEEE,    8,  7,  127, false},   DL_BFLOAT,       16, 0,   "bfloat16"},
    [RLO_DTYPE_F8E5M2]       = {"f8e5m2",       FLOAT,     8, {IEEE,    5,  2,   15, false},   DL_F8E5M2,        8, 0,   "float8_e5m2"},
    [RLO_DTYPE_F8E4M3]       = {"f8e4m3",       FLOAT,     8, {IEEE,    4,  3,    7, false},   DL_F8E4M3,        8, 0,   "float8_e4m3"},
    [RLO_DTYPE_F8E3M4]       = {"f8e3m4",       FLOAT,     8, {IEEE,    3,  4,    3, false},   DL_F8E3M4,        8, 0,   "float8_e3m4"},
    [RLO_DTYPE_F8E4M3FN]     = {"f8e4m3fn",     FLOAT,     8, {FN,      4,  3,    7, false},   DL_F8E4M3FN,      8, 0,   "float8_e4m3fn"},
    [RLO_DTYPE_F8E4M3B11FNUZ] = {"f8e4m3b11fnuz", FLOAT,   8, {FNUZ,    4,  3,   11, false},   DL_F8E4M3B11FNUZ, 8, 0,   "float8_e4m3b11fnuz"},
    [RLO_DTYPE_F8E5M2FNUZ]   = {"f8e5m2fnuz",   FLOAT,     8, {FNUZ,    5,  2,   16, false},   DL_F8E5M2FNUZ,    8, 0,   "float8_e5m2fnuz"},
    [RLO_DTYPE_F8E4M3FNUZ]   = {"f8e4m3fnuz",   FLOAT,     8, {FNUZ,    4,  3,    8, false},   DL_F8E4M3FNUZ,    8, 0,   "float8_e4m3fnuz"},
    [RLO_DTYPE_F8E8M0FNU]    = {"f8e8m0fnu",    FLOAT,     8, {FN,      8,  0,  127, true},    DL_F8E8M0FNU,     8, 0,   "float8_e8m0fnu"},
    [RLO_DTYPE_F6E3M2FN]     = {"f6e3m2fn",     FLOAT,     6, {FINITE,  3,  2,    3, false},   DL_F6E3M2FN,      6, 0,   "float6_e3m2fn"},
    [RLO_DTYPE_F6E2M3FN]     = {"f6e2m3fn",     FLOAT,     6, {FINITE,  2,  3,    1, false},   DL_F6E2M3FN,      6, 0,   "float6_e2m3fn"},
    [RLO_DTYPE_F4E2M1FN]     = {"f4e2m1fn",     FLOAT,     4, {FINITE,  2,  1,    1, false},   DL_F4E2M1FN,      4, 0,   "float4_e2m1fn"},
    [RLO_DTYPE_C64]          = {"c64",          COMPLEX,  64, {IEEE,    8, 23,  127, false},   DL_COMPLEX,      64, 'c', "complex64"},
    [RLO_DTYPE_C128]         = {"c128",         COMPLEX, 128, {IEEE,   11, 52, 1023, false},   DL_COMPLEX,     128, 'c', "complex128"},
};

// clang-format on

const int rlo__dtype_end = sizeof infos / sizeof infos[0];

/* The row of an invalid type has zeros and no name. */
static const rlo__dtype_info *row_of(rlo_dtype dtype) {
  int number = (int)dtype;
  return &infos[number > 0 && number < rlo__dtype_end ? number : 0];
}

const rlo__dtype_info *rlo__dtype_info_of(rlo_dtype dtype) {
  return rlo_dtype_is_valid(dtype) ? row_of(dtype) : NULL;
}

bool rlo_dtype_is_valid(rlo_dtype dtype) {
  return row_of(dtype)->name != NULL;
}

const char *rlo_dtype_name(rlo_dtype dtype) {
  return rlo_dtype_is_valid(dtype) ? row_of(dtype)->name : "invalid";
}

const char *rlo_dtype_numpy_name(rlo_dtype dtype) {
  return rlo_dtype_is_valid(dtype) ? row_of(dtype)->npy_name : "invalid";
}

void rlo__dtype_try_names(rlo__nearest *nearest) {
  for (int number = 1; number < rlo__dtype_end; ++number) {
    if (infos[number].name != NULL) {
      rlo__nearest_try(nearest, infos[number].name);
      rlo__nearest_try(nearest, infos[number].npy_name);
    }
  }
}

rlo_status rlo_dtype_from_name(const char *name, rlo_dtype *out_dtype) {
  RLO_REQUIRE(name, out_dtype);
  *out_dtype = RLO_DTYPE_INVALID;
  for (int number = 0; number < rlo__dtype_end; ++number) {
    const rlo__dtype_info *info = &infos[number];
    if (info->name != NULL &&
        (strcmp(info->name, name) == 0 || strcmp(info->npy_name, name) == 0)) {
      *out_dtype = (rlo_dtype)number;
      return RLO_OK;
    }
  }
  rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
  rlo__dtype_try_names(&nearest);
  return RLO_FAIL(RLO_NOT_FOUND, "no element type is named '%s'%s", name, nearest.hint);
}

rlo_dtype_class rlo_dtype_class_of(rlo_dtype dtype) {
  return row_of(dtype)->class_of;
}

int32_t rlo_dtype_value_bits(rlo_dtype dtype) {
  return row_of(dtype)->value_bits;
}

int32_t rlo_dtype_storage_bits(rlo_dtype dtype) {
  return (rlo_dtype_value_bits(dtype) + 7) / 8 * 8;
}

static uint64_t ones(int32_t count) {
  return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* A constant as `value_bits` bits; of a complex number, its real part. False:
 * the type lacks it. */
static bool find_constant(const rlo__dtype_info *info, rlo_dtype_constant constant, uint64_t *out) {
  const bool is_complex = info->class_of == RLO_DTYPE_CLASS_COMPLEX;
  const bool is_float = info->class_of == RLO_DTYPE_CLASS_FLOAT || is_complex;
  const bool is_signed =
      is_float ? !info->format.is_unsigned : info->class_of == RLO_DTYPE_CLASS_SIGNED;
  const int32_t mantissa_bits = info->format.mantissa_bits;
  const int32_t magnitude_bits = is_float ? info->format.exponent_bits + mantissa_bits
                                          : info->value_bits - (is_signed ? 1 : 0);
  const uint64_t sign = is_signed ? UINT64_C(1) << magnitude_bits : 0;
  uint64_t highest = ones(magnitude_bits);
  if (info->format.specials == RLO__FLOAT_IEEE) {
    highest = ones(info->format.exponent_bits) << mantissa_bits;
  } else if (info->format.specials == RLO__FLOAT_FN) {
    highest -= 1;
  }
  const uint64_t values[] = {
      [RLO_DTYPE_ZERO] = 0,
      [RLO_DTYPE_ONE] = is_float ? (uint64_t)info->format.bias << mantissa_bits : 1,
      [RLO_DTYPE_LOWEST] = is_float && is_signed ? sign | highest : sign,
      [RLO_DTYPE_HIGHEST] = highest,
  };
  *out = values[constant];
  /* s1 holds 0 and -1 only. */
  return constant == RLO_DTYPE_ZERO  ? !info->format.is_unsigned
         : constant == RLO_DTYPE_ONE ? magnitude_bits > 0
                                     : !is_complex;
}

rlo_status rlo_dtype_constant_bits(rlo_dtype dtype, rlo_dtype_constant constant,
                                   uint8_t out_bits[16]) {
  RLO_REQUIRE(out_bits);
  static const char *const names[] = {
      [RLO_DTYPE_ZERO] = "zero",
      [RLO_DTYPE_ONE] = "one",
      [RLO_DTYPE_LOWEST] = "lowest value",
      [RLO_DTYPE_HIGHEST] = "highest value",
  };
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  RLO_FAIL_IF(info == NULL, RLO_INVALID_ARGUMENT, "%d is not an element type", (int)dtype);
  RLO_FAIL_IF((int)constant < RLO_DTYPE_ZERO || (int)constant > RLO_DTYPE_HIGHEST,
              RLO_INVALID_ARGUMENT, "%d is not a constant of an element type", (int)constant);
  uint64_t bits = 0;
  RLO_FAIL_IF(!find_constant(info, constant, &bits), RLO_UNSUPPORTED, "%s has no %s", info->name,
              names[constant]);
  memset(out_bits, 0, 16);
  /* The host is little-endian: base/version.c. */
  memcpy(out_bits, &bits, sizeof bits);
  return RLO_OK;
}

/* ---------------------------------------------- classes and conversions */

static bool has_class(rlo_dtype dtype, rlo_dtype_class wanted) {
  return rlo_dtype_class_of(dtype) == wanted;
}

bool rlo_dtype_is_integral(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_SIGNED) || has_class(dtype, RLO_DTYPE_CLASS_UNSIGNED);
}

bool rlo_dtype_is_floating(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_FLOAT);
}

bool rlo_dtype_is_complex(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_COMPLEX);
}

bool rlo_dtype_is_signed(rlo_dtype dtype) {
  return has_class(dtype, RLO_DTYPE_CLASS_SIGNED) || rlo_dtype_is_complex(dtype) ||
         (rlo_dtype_is_floating(dtype) && !row_of(dtype)->format.is_unsigned);
}

bool rlo_dtype_is_sub_byte(rlo_dtype dtype) {
  int32_t bits = rlo_dtype_value_bits(dtype);
  return bits > 0 && bits < 8 && !has_class(dtype, RLO_DTYPE_CLASS_BOOL);
}

rlo_dtype rlo_dtype_complex_component(rlo_dtype dtype) {
  return dtype == RLO_DTYPE_C64    ? RLO_DTYPE_F32
         : dtype == RLO_DTYPE_C128 ? RLO_DTYPE_F64
                                   : RLO_DTYPE_INVALID;
}

/* The range of the finite values of a float format, as exponents of 2. The
 * largest exponent of an "fn" format lacks its last mantissa, the NaN: that
 * decides no pair of types. */
typedef struct reach {
  /** The largest value is below 2^(top + 1). */
  int32_t top;
  /** The smallest positive value is 2^bottom. */
  int32_t bottom;
} reach;

static reach reach_of(const rlo__dtype_info *info) {
  const int32_t mantissa = info->format.mantissa_bits;
  const bool has_subnormals = !info->format.is_unsigned;
  /* The NaN of "fn" is the last pattern of the mantissa, or of the exponent if
   * there is no mantissa. */
  const bool is_last_exponent_used = info->format.specials != RLO__FLOAT_IEEE &&
                                     !(info->format.specials == RLO__FLOAT_FN && mantissa == 0);
  const int32_t exponents = 1 << info->format.exponent_bits;
  return (reach){
      .top = exponents - (is_last_exponent_used ? 1 : 2) - info->format.bias,
      .bottom = (has_subnormals ? 1 : 0) - info->format.bias - mantissa,
  };
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

static bool float_fits_float(const rlo__dtype_info *from, const rlo__dtype_info *to) {
  const reach need = reach_of(from);
  const reach room = reach_of(to);
  const bool has_zero = !from->format.is_unsigned;
  return need.bottom >= room.bottom && need.top <= room.top &&
         from->format.mantissa_bits <= to->format.mantissa_bits &&
         (!has_zero || !to->format.is_unsigned) && (!has_infinity(from) || has_infinity(to)) &&
         (!has_nan(from) || has_nan(to)) && (!has_negative_zero(from) || has_negative_zero(to));
}

/* Integers below 2^magnitude_bits, down to -2^magnitude_bits if is_signed. */
static bool integer_fits_float(int32_t magnitude_bits, bool is_signed, const rlo__dtype_info *to) {
  const reach room = reach_of(to);
  /* 2^n - 1 needs n - 1 bits of mantissa, -2^n needs the exponent n. */
  const int32_t last = magnitude_bits - 1;
  const bool has_zero = !to->format.is_unsigned;
  return has_zero && last <= to->format.mantissa_bits &&
         room.top >= (is_signed ? magnitude_bits : last) && room.bottom <= 0;
}

static bool integer_fits_integer(int32_t magnitude_bits, bool is_signed,
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
  if (have == NULL || room == NULL || rlo_dtype_is_complex(from)) {
    return false;
  }
  const bool is_signed = have->class_of == RLO_DTYPE_CLASS_SIGNED;
  const int32_t magnitude_bits = have->value_bits - (is_signed ? 1 : 0);
  if (rlo_dtype_is_floating(from)) {
    return rlo_dtype_is_floating(to) && float_fits_float(have, room);
  }
  return from == to ||
         (rlo_dtype_is_floating(to)
              ? integer_fits_float(magnitude_bits, is_signed, room)
              : rlo_dtype_is_integral(to) && integer_fits_integer(magnitude_bits, is_signed, room));
}

/* Numbers that decide which type has the higher precision, in this order.
 * Integers rank below all floats. */
typedef struct precision {
  int32_t keys[4];
} precision;

static precision precision_of(rlo_dtype dtype) {
  const rlo_dtype part = rlo_dtype_is_complex(dtype) ? rlo_dtype_complex_component(dtype) : dtype;
  const rlo__dtype_info *info = row_of(part);
  const bool is_float = rlo_dtype_is_floating(part);
  return (precision){{is_float ? reach_of(info).top : INT32_MIN,
                      is_float ? info->format.mantissa_bits : -1, rlo_dtype_value_bits(dtype),
                      rlo_dtype_is_signed(part)}};
}

rlo_dtype rlo_dtype_higher_precision(rlo_dtype a, rlo_dtype b) {
  if (!rlo_dtype_is_valid(a) || !rlo_dtype_is_valid(b)) {
    return RLO_DTYPE_INVALID;
  }
  const precision x = precision_of(a);
  const precision y = precision_of(b);
  for (int n = 0; n < 4; ++n) {
    if (x.keys[n] != y.keys[n]) {
      return x.keys[n] < y.keys[n] ? b : a;
    }
  }
  return a;
}
