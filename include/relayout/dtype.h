/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_DTYPE_H
#define RELAYOUT_DTYPE_H

#include <stdbool.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Element types of arrays, with the numbers of XLA's PrimitiveType enum.
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

/** What the bits of an element type mean. */
typedef enum rlo_dtype_class {
  RLO_DTYPE_CLASS_NONE = 0,
  RLO_DTYPE_CLASS_BOOL,
  RLO_DTYPE_CLASS_SIGNED,
  RLO_DTYPE_CLASS_UNSIGNED,
  RLO_DTYPE_CLASS_FLOAT,
  /** Interleaved real and imaginary parts. */
  RLO_DTYPE_CLASS_COMPLEX
} rlo_dtype_class;

/** True for the element types listed above, false for any other number. */
RLO_API bool rlo_dtype_is_valid(rlo_dtype dtype);

/** The name in HLO text, "f32", or "invalid". Static storage. */
RLO_API const char *rlo_dtype_name(rlo_dtype dtype);

/**
 * Find an element type by its HLO name; case matters.
 * @return RLO_OK, or RLO_NOT_FOUND (then *out_dtype is RLO_DTYPE_INVALID).
 */
RLO_API RLO_NODISCARD rlo_status rlo_dtype_from_name(const char *name,
                                                     rlo_dtype *out_dtype);

/** The class of a type; RLO_DTYPE_CLASS_NONE when invalid. */
RLO_API rlo_dtype_class rlo_dtype_class_of(rlo_dtype dtype);

/** Bits that carry the value: 1 for pred, 4 for s4, 32 for f32; 0 if invalid.
 */
RLO_API int32_t rlo_dtype_value_bits(rlo_dtype dtype);

/** Bits that one element takes in memory unless the layout says otherwise:
 *  the value's bits rounded up to whole bytes. 0 if invalid. */
RLO_API int32_t rlo_dtype_storage_bits(rlo_dtype dtype);

/** Signed and unsigned integers; pred is none. */
RLO_API bool rlo_dtype_is_integral(rlo_dtype dtype);

/** Floats; complex types are none. */
RLO_API bool rlo_dtype_is_floating(rlo_dtype dtype);

RLO_API bool rlo_dtype_is_complex(rlo_dtype dtype);

/** Can hold a value below zero: signed integers, complex types, and floats but
 *  for f8e8m0fnu. */
RLO_API bool rlo_dtype_is_signed(rlo_dtype dtype);

/** Integers and floats whose value takes less than a byte. */
RLO_API bool rlo_dtype_is_sub_byte(rlo_dtype dtype);

/** The type of the real and of the imaginary part of a complex type;
 *  RLO_DTYPE_INVALID for every other. */
RLO_API rlo_dtype rlo_dtype_complex_component(rlo_dtype dtype);

/** True if every value of `from`, infinities, NaN and negative zero included,
 *  has an equal value in `to`. A type can be upcast to itself; an invalid one
 *  to none. */
RLO_API bool rlo_dtype_can_upcast(rlo_dtype from, rlo_dtype to);

/**
 * The one of two types that keeps more of a value: the one whose floats reach
 * further; with the same reach, the one with the longer mantissa; then the one
 * with more bits; then the signed one. Parts stand for complex types.
 * RLO_DTYPE_INVALID if either is invalid.
 */
RLO_API rlo_dtype rlo_dtype_higher_precision(rlo_dtype a, rlo_dtype b);

/**
 * The values XLA pads with, as raw bits in the low rlo_dtype_value_bits of
 * 16 little-endian bytes.
 *
 * Lowest and highest are the infinities where the type has them, else its
 * finite extremes (XLA's MinValue and MaxValue); complex types have neither.
 * For floats without a zero or a one in their set (f8e8m0fnu has no zero) the
 * fill is refused.
 */
typedef enum rlo_dtype_constant {
  RLO_DTYPE_ZERO = 0,
  RLO_DTYPE_ONE,
  RLO_DTYPE_LOWEST,
  RLO_DTYPE_HIGHEST
} rlo_dtype_constant;

/**
 * Write a constant of a type into out_bits[0..16), zero-extended.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an invalid type; RLO_UNSUPPORTED
 *         where the type has no such value.
 */
RLO_API RLO_NODISCARD rlo_status rlo_dtype_constant_bits(
    rlo_dtype dtype, rlo_dtype_constant constant, uint8_t out_bits[16]);

RLO_END_DECLS

#endif
