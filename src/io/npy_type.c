/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_type.h"

#include <string.h>

#include "base/status.h"
#include "desc/dtype.h"

int rlo__npy_shown(size_t length) {
  return length < RLO__NPY_MAX_SHOWN ? (int)length : RLO__NPY_MAX_SHOWN;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The element type that NumPy calls by this letter and number of bytes, 'f' and
 * 4; RLO_DTYPE_INVALID if there is none. */
static rlo_dtype dtype_of(char kind, int64_t bytes) {
  /* The only float of a byte that ml_dtypes does not call V1. */
  if (kind == 'f' && bytes == 1) {
    return RLO_DTYPE_F8E5M2;
  }
  for (int number = 1; number < rlo__dtype_end; ++number) {
    const rlo__dtype_info *info = rlo__dtype_info_of((rlo_dtype)number);
    if (info != NULL && info->npy_kind == kind &&
        rlo_dtype_storage_bits((rlo_dtype)number) == 8 * bytes) {
      return (rlo_dtype)number;
    }
  }
  return RLO_DTYPE_INVALID;
}

/* The element type of a name, "float64", or of a letter by itself, "d";
 * RLO_DTYPE_INVALID if there is none. */
static rlo_dtype dtype_named(const char *name, size_t length) {
  static const char codes[] = "?bBhHiIlLqQpPefdFD";
  static const rlo_dtype coded[] = {
      RLO_DTYPE_PRED, RLO_DTYPE_S8,  RLO_DTYPE_U8,  RLO_DTYPE_S16, RLO_DTYPE_U16, RLO_DTYPE_S32,
      RLO_DTYPE_U32,  RLO_DTYPE_S64, RLO_DTYPE_U64, RLO_DTYPE_S64, RLO_DTYPE_U64, RLO_DTYPE_S64,
      RLO_DTYPE_U64,  RLO_DTYPE_F16, RLO_DTYPE_F32, RLO_DTYPE_F64, RLO_DTYPE_C64, RLO_DTYPE_C128};

  const char *code = length == 1 ? strchr(codes, name[0]) : NULL;
  if (code != NULL) {
    return coded[code - codes];
  }
  for (int number = 1; number < rlo__dtype_end; ++number) {
    const rlo__dtype_info *info = rlo__dtype_info_of((rlo_dtype)number);
    if (info != NULL && strlen(info->npy_name) == length &&
        memcmp(info->npy_name, name, length) == 0) {
      return (rlo_dtype)number;
    }
  }
  return RLO_DTYPE_INVALID;
}

/* The number behind the letter of a type, which ends there or, of a time, with
 * its unit, "M8[ns]"; -1 for what is no such text. */
static int64_t parse_width(const char *name, size_t length) {
  int64_t width = 0;
  size_t i = 1;
  for (; i < length && i < 10 && is_digit(name[i]); ++i) {
    width = width * 10 + (name[i] - '0');
  }
  const bool is_time = i < length && strchr("Mm", name[0]) != NULL && name[i] == '[';
  return i > 1 && (i == length || is_time) ? width : -1;
}

rlo__npy_type rlo__npy_type_unknown(char kind, int64_t bytes) {
  const bool is_integer = dtype_of('u', bytes) != RLO_DTYPE_INVALID;
  const int64_t unit = kind == 'U' ? 4 : is_integer ? bytes : 1;
  return (rlo__npy_type){dtype_of('u', unit), bytes / unit, true, false};
}

/* Reads a type of a letter and a width. */
static rlo__npy_type parse_code(const char *name, size_t length) {
  rlo__npy_type item = {RLO_DTYPE_INVALID, 1, false, false};
  const int64_t width = length > 0 ? parse_width(name, length) : -1;
  if (width > 0 && strchr("biufc", name[0]) != NULL) {
    item.dtype = dtype_of(name[0], width);
  }
  /* Text, times, records, and the long double: their bytes can be moved. */
  const bool is_movable = width > 0 && strchr("SaUMmVWfc", name[0]) != NULL;
  return item.dtype == RLO_DTYPE_INVALID && is_movable
             ? rlo__npy_type_unknown(name[0], name[0] == 'U' ? 4 * width : width)
             : item;
}

rlo_status rlo__npy_type_parse(const char *text, size_t length, rlo__npy_type *out_item) {
  const size_t skipped = length > 0 && strchr("<>=|", text[0]) != NULL ? 1 : 0;
  const char *name = text + skipped;
  const size_t name_length = length - skipped;
  rlo__npy_type item = {dtype_named(name, name_length), 1, false, false};
  if (item.dtype == RLO_DTYPE_INVALID) {
    item = parse_code(name, name_length);
  }
  /* The host is little-endian: base/version.c. */
  const bool is_big_endian = skipped == 1 && text[0] == '>';
  if (item.dtype == RLO_DTYPE_INVALID && (name_length == 0 || parse_width(name, name_length) < 0) &&
      (name_length != 1 || name[0] != 'O')) {
    return RLO_FAIL(RLO_PARSE, "expected a type like '<f4' or 'float32', found '%.*s'",
                    rlo__npy_shown(length), text);
  }
  /* Of some it is not known which bytes are a number. */
  if (item.dtype == RLO_DTYPE_INVALID ||
      (item.is_unknown && is_big_endian && strchr("UMm", name[0]) == NULL)) {
    return RLO_FAIL(RLO_UNSUPPORTED, "the type '%.*s' is not supported", rlo__npy_shown(length),
                    text);
  }
  item.is_byte_swapped = is_big_endian && rlo_dtype_storage_bits(item.dtype) > 8;
  *out_item = item;
  return RLO_OK;
}
