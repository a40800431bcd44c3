/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_form.h"

#include <string.h>

#include "base/status.h"

const unsigned char rlo__npy_magic[RLO__NPY_MAGIC_BYTES] = {
    0x93, 'N', 'U', 'M', 'P', 'Y'};

/* One row for each type NumPy and we have in common. */
static const struct {
  char kind;
  int8_t bytes;
  rlo_dtype dtype;
} types[] = {
    {'b', 1, RLO_DTYPE_PRED},
    {'i', 1, RLO_DTYPE_S8},
    {'i', 2, RLO_DTYPE_S16},
    {'i', 4, RLO_DTYPE_S32},
    {'i', 8, RLO_DTYPE_S64},
    {'u', 1, RLO_DTYPE_U8},
    {'u', 2, RLO_DTYPE_U16},
    {'u', 4, RLO_DTYPE_U32},
    {'u', 8, RLO_DTYPE_U64},
    {'f', 2, RLO_DTYPE_F16},
    {'f', 4, RLO_DTYPE_F32},
    {'f', 8, RLO_DTYPE_F64},
    {'c', 8, RLO_DTYPE_C64},
    {'c', 16, RLO_DTYPE_C128},
};

enum { NUM_TYPES = sizeof types / sizeof types[0] };

rlo_dtype rlo__npy_dtype_of(char kind, int64_t bytes) {
  for (int row = 0; row < NUM_TYPES; ++row) {
    if (types[row].kind == kind && types[row].bytes == bytes) {
      return types[row].dtype;
    }
  }
  return RLO_DTYPE_INVALID;
}

char rlo__npy_kind_of(rlo_dtype dtype) {
  for (int row = 0; row < NUM_TYPES; ++row) {
    if (types[row].dtype == dtype) {
      return types[row].kind;
    }
  }
  return 'u';
}

static bool is_host_little_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* The number of bytes at the end of a type, -1 if it is none. */
static int64_t type_bytes(const char *digits, size_t count) {
  int64_t bytes = 0;
  if (count == 0 || count > 9) {
    return -1;
  }
  for (size_t i = 0; i < count; ++i) {
    if (digits[i] < '0' || digits[i] > '9') {
      return -1;
    }
    bytes = bytes * 10 + (digits[i] - '0');
  }
  return bytes;
}

rlo_status rlo__npy_type_parse(const char *text,
                               size_t length,
                               rlo_dtype *out_dtype,
                               bool *out_is_byte_swapped) {
  enum { MOST_SHOWN = 24 };

  int shown = length < MOST_SHOWN ? (int)length : MOST_SHOWN;
  char order = '\0';
  char kind = '\0';
  if (length > 1) {
    order = text[0];
    kind = text[1];
  }
  bool is_order = order == '<' || order == '>' || order == '=' || order == '|';
  if (is_order && kind != '\0' && strchr("OSUVMmat", kind) != NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the type '%.*s' (objects, text, times, records) is not "
                    "supported",
                    shown,
                    text);
  }
  int64_t bytes = length > 2 ? type_bytes(text + 2, length - 2) : -1;
  if (!is_order || kind == '\0' || strchr("biufc", kind) == NULL || bytes < 0) {
    return RLO_FAIL(RLO_PARSE,
                    "expected a byte order and a type like '<f4', found '%.*s'",
                    shown,
                    text);
  }
  rlo_dtype dtype = rlo__npy_dtype_of(kind, bytes);
  if (dtype == RLO_DTYPE_INVALID) {
    return RLO_FAIL(
        RLO_UNSUPPORTED, "the type '%.*s' is not supported", shown, text);
  }
  if (order == '|' && bytes > 1) {
    return RLO_FAIL(RLO_PARSE,
                    "the type '%.*s' has more than one byte and no byte order",
                    shown,
                    text);
  }
  bool is_foreign = is_host_little_endian() ? order == '>' : order == '<';
  *out_dtype = dtype;
  *out_is_byte_swapped = bytes > 1 && is_foreign;
  return RLO_OK;
}
