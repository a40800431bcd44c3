/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_type.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "desc/dtype.h"

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
        rlo_dtype_storage_bits((rlo_dtype)number) / 8 == bytes) {
      return (rlo_dtype)number;
    }
  }
  return RLO_DTYPE_INVALID;
}

/* The element type of a letter by itself, "d", or of a name, "float64";
 * RLO_DTYPE_INVALID if there is none. */
static rlo_dtype dtype_named(const char *name) {
  static const char codes[] = "?bBhHiIlLqQpPefdFD";
  static const rlo_dtype coded[] = {
      RLO_DTYPE_PRED, RLO_DTYPE_S8,  RLO_DTYPE_U8,  RLO_DTYPE_S16, RLO_DTYPE_U16, RLO_DTYPE_S32,
      RLO_DTYPE_U32,  RLO_DTYPE_S64, RLO_DTYPE_U64, RLO_DTYPE_S64, RLO_DTYPE_U64, RLO_DTYPE_S64,
      RLO_DTYPE_U64,  RLO_DTYPE_F16, RLO_DTYPE_F32, RLO_DTYPE_F64, RLO_DTYPE_C64, RLO_DTYPE_C128};

  const char *code = strlen(name) == 1 ? strchr(codes, name[0]) : NULL;
  rlo_dtype dtype = code != NULL ? coded[code - codes] : RLO_DTYPE_INVALID;
  return code != NULL || rlo_dtype_from_name(name, &dtype) == RLO_OK ? dtype : RLO_DTYPE_INVALID;
}

/* The number behind the letter of a type, which ends there or, of a time, with
 * its unit, "M8[ns]"; -1 for what is no such text. */
static int64_t parse_width(const char *name) {
  const size_t digits = name[0] == '\0' ? 0 : strspn(name + 1, "0123456789");
  const bool is_time = name[0] == 'M' || name[0] == 'm';
  return digits > 0 && digits < 10 &&
                 (name[1 + digits] == '\0' || (is_time && name[1 + digits] == '['))
             ? strtoll(name + 1, NULL, 10)
             : -1;
}

void rlo__npy_type_set_unknown(char kind, int64_t bytes, rlo_npy_header *header,
                               int64_t *out_count) {
  const int64_t unit = kind == 'U' ? 4 : dtype_of('u', bytes) == RLO_DTYPE_INVALID ? 1 : bytes;
  header->shape.dtype = dtype_of('u', unit);
  header->is_type_unknown = true;
  *out_count = bytes / unit;
}

rlo_status rlo__npy_type_parse(const char *text, rlo_npy_header *header, int64_t *out_count) {
  const char *name = text + (text[0] != '\0' && strchr("<>=|", text[0]) != NULL ? 1 : 0);
  const bool is_big_endian = text[0] == '>';
  const int64_t width = parse_width(name);
  /* A letter and a width first: u8 has 8 bytes here. */
  header->shape.dtype = width < 0                          ? dtype_named(name)
                        : strchr("biufc", name[0]) != NULL ? dtype_of(name[0], width)
                                                           : RLO_DTYPE_INVALID;
  /* Text, times, records, and the long double can be moved. Only of the first
   * two it is known which bytes are a number. */
  if (header->shape.dtype == RLO_DTYPE_INVALID && width > 0 && out_count != NULL &&
      strchr(is_big_endian ? "UMm" : "SaUMmVWfc", name[0]) != NULL) {
    rlo__npy_type_set_unknown(name[0], name[0] == 'U' ? 4 * width : width, header, out_count);
  }
  /* The host is little-endian: base/version.c. */
  header->is_byte_swapped = is_big_endian && rlo_dtype_storage_bits(header->shape.dtype) > 8;
  if (header->shape.dtype != RLO_DTYPE_INVALID) {
    return RLO_OK;
  }
  return width < 0 && strcmp(name, "O") != 0
             ? RLO_FAIL(RLO_PARSE, "expected a type like '<f4' or 'float32', found '%.24s'", text)
             : RLO_FAIL(RLO_UNSUPPORTED, "the type '%.24s' is not supported", text);
}
