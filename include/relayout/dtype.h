/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_DTYPE_H
#define RELAYOUT_DTYPE_H

#include <stdbool.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Element types of arrays, with the values of XLA's PrimitiveType enum.
 * (Tuple 13, opaque 14, token 17 and buffer 34 are not element types.)
 */
typedef enum rlo_dtype {
  RLO_DTYPE_INVALID = 0,
  RLO_DTYPE_PRED = 1,
  RLO_DTYPE_S8 = 2,
  RLO_DTYPE_S16 = 3,
  RLO_DTYPE_S32 = 4,
  RLO_DTYPE_S64 = 5,
  RLO_DTYPE_U8 = 6,
  RLO_DTYPE_U16 = 7,
  RLO_DTYPE_U32 = 8,
  RLO_DTYPE_U64 = 9,
  RLO_DTYPE_F16 = 10,
  RLO_DTYPE_F32 = 11,
  RLO_DTYPE_F64 = 12,
  RLO_DTYPE_C64 = 15,
  RLO_DTYPE_BF16 = 16,
  RLO_DTYPE_C128 = 18,
  RLO_DTYPE_F8E5M2 = 19,
  RLO_DTYPE_F8E4M3FN = 20,
  RLO_DTYPE_S4 = 21,
  RLO_DTYPE_U4 = 22,
  RLO_DTYPE_F8E4M3B11FNUZ = 23,
  RLO_DTYPE_F8E5M2FNUZ = 24,
  RLO_DTYPE_F8E4M3FNUZ = 25,
  RLO_DTYPE_S2 = 26,
  RLO_DTYPE_U2 = 27,
  RLO_DTYPE_F8E4M3 = 28,
  RLO_DTYPE_F8E3M4 = 29,
  RLO_DTYPE_S1 = 30,
  RLO_DTYPE_U1 = 31,
  RLO_DTYPE_F4E2M1FN = 32,
  RLO_DTYPE_F8E8M0FNU = 33,
  RLO_DTYPE_F6E3M2FN = 35,
  RLO_DTYPE_F6E2M3FN = 36
} rlo_dtype;

/** How the bits of an element are interpreted. */
typedef enum rlo_dtype_class {
  RLO_DTYPE_CLASS_NONE = 0,
  RLO_DTYPE_CLASS_BOOL,
  RLO_DTYPE_CLASS_SIGNED,
  RLO_DTYPE_CLASS_UNSIGNED,
  RLO_DTYPE_CLASS_FLOAT,
  /** Interleaved real and imaginary parts. */
  RLO_DTYPE_CLASS_COMPLEX
} rlo_dtype_class;

/** True for the element types above, false for any other value. */
RLO_API bool rlo_dtype_is_valid(rlo_dtype dtype);

/** Returns the name in HLO text, such as "f32", or "invalid"; static storage.
 */
RLO_API const char *rlo_dtype_name(rlo_dtype dtype);

/** Returns the name in NumPy or ml_dtypes, such as "float32", or "invalid";
 *  static storage. */
RLO_API const char *rlo_dtype_numpy_name(rlo_dtype dtype);

/**
 * Finds an element type by its name in HLO, "f32", or in NumPy and ml_dtypes,
 * "float32"; case-sensitive.
 * @return RLO_OK; RLO_NOT_FOUND, and *out_dtype is RLO_DTYPE_INVALID.
 */
RLO_API RLO_NODISCARD rlo_status rlo_dtype_from_name(const char *name, rlo_dtype *out_dtype);

/** Returns the class of a type; RLO_DTYPE_CLASS_NONE if invalid. */
RLO_API rlo_dtype_class rlo_dtype_class_of(rlo_dtype dtype);

/** Returns the bits of a value: 1 for pred, 4 for s4, 32 for f32; 0 if invalid.
 */
RLO_API int32_t rlo_dtype_value_bits(rlo_dtype dtype);

/** Returns the bits of an element in memory, unless the layout has another
 *  element size: the value's bits rounded up to whole bytes. 0 if invalid. */
RLO_API int32_t rlo_dtype_storage_bits(rlo_dtype dtype);

/** True for signed and unsigned integers, not for pred. */
RLO_API bool rlo_dtype_is_integral(rlo_dtype dtype);

/** True for floats, not for complex types. */
RLO_API bool rlo_dtype_is_floating(rlo_dtype dtype);

RLO_API bool rlo_dtype_is_complex(rlo_dtype dtype);

/** True for types with negative values: signed integers, complex types, and
 *  floats except f8e8m0fnu. */
RLO_API bool rlo_dtype_is_signed(rlo_dtype dtype);

/** True for integers and floats of less than 8 bits. */
RLO_API bool rlo_dtype_is_sub_byte(rlo_dtype dtype);

/** Returns the type of the parts of a complex type; RLO_DTYPE_INVALID for any
 *  other. */
RLO_API rlo_dtype rlo_dtype_complex_component(rlo_dtype dtype);

/** True if `to` can represent every value of `from`, infinities, NaN and
 *  negative zero included. A valid type can be upcast to itself, an invalid one
 *  to none. */
RLO_API bool rlo_dtype_can_upcast(rlo_dtype from, rlo_dtype to);

/**
 * Returns the type of higher precision: the float of larger range; then the one
 * with the longer mantissa; then the one with more bits; then the signed one;
 * then `a`. Complex types compare by their parts. RLO_DTYPE_INVALID if either
 * is invalid.
 */
RLO_API rlo_dtype rlo_dtype_higher_precision(rlo_dtype a, rlo_dtype b);

/**
 * The values that XLA pads with.
 *
 * Lowest and highest are the infinities where the type has them, else its
 * finite extremes (XLA's MinValue and MaxValue). Complex types have neither;
 * f8e8m0fnu has no zero.
 */
typedef enum rlo_dtype_constant {
  RLO_DTYPE_ZERO = 0,
  RLO_DTYPE_ONE,
  RLO_DTYPE_LOWEST,
  RLO_DTYPE_HIGHEST
} rlo_dtype_constant;

/**
 * Writes the raw bits of a constant to out_bits[0..16): little-endian, in the
 * low rlo_dtype_value_bits, zero-extended.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an invalid type; RLO_UNSUPPORTED
 *         where the type has no such value.
 */
RLO_API RLO_NODISCARD rlo_status rlo_dtype_constant_bits(rlo_dtype dtype,
                                                         rlo_dtype_constant constant,
                                                         uint8_t out_bits[16]);

RLO_END_DECLS

#endif
