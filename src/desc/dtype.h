/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_DTYPE_H
#define RLO_DESC_DTYPE_H

#include "base/sentence.h"
#include "relayout/dtype.h"

/** The bit patterns of a float format that are no finite values. */
typedef enum rlo__float_specials {
  /** The type is no float. */
  RLO__FLOAT_NONE = 0,
  /** IEEE 754: exponent all ones is an infinity (mantissa 0) or a NaN. */
  RLO__FLOAT_IEEE,
  /** "fn": no infinity; NaN is all ones, with either sign. */
  RLO__FLOAT_FN,
  /** "fnuz": no infinity and no negative zero; NaN is the sign bit alone. */
  RLO__FLOAT_FNUZ,
  /** Every pattern is a finite value. */
  RLO__FLOAT_FINITE
} rlo__float_specials;

/** The properties of an element type. */
typedef struct rlo__dtype_info {
  const char *name;
  rlo_dtype_class class_of;
  int32_t value_bits;

  /** The format of a float, or of one part of a complex number. From the top
   *  bit down: sign (unless is_unsigned), exponent, mantissa. */
  struct {
    rlo__float_specials specials;
    int32_t exponent_bits;
    int32_t mantissa_bits;
    int32_t bias;
    /** No sign bit, and no zero: the exponent 0 is an ordinary one. */
    bool is_unsigned;
  } format;

  /** DLDataTypeCode and bits of one lane. */
  uint8_t dlpack_code;
  uint8_t dlpack_bits;
  /** NumPy's letter; NUL: it lacks the type. */
  char npy_kind;
  /** The name in NumPy and ml_dtypes. */
  const char *npy_name;
} rlo__dtype_info;

/** One more than the last number of an rlo_dtype. */
extern const int rlo__dtype_end;

/** Returns the properties of a type, static storage; NULL for an invalid type.
 */
const rlo__dtype_info *rlo__dtype_info_of(rlo_dtype dtype);

/** Compares a word with the names of all types. */
void rlo__dtype_try_names(rlo__nearest *nearest);

#endif
