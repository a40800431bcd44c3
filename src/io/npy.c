/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_type.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/layout.h"
#include "desc/strides.h"

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

/* The number of bytes at the end of a type, of at least one character; -1 if it
 * is none. */
static int64_t type_bytes(const char *digits, size_t count) {
  int64_t bytes = 0;
  if (count > 9) {
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
  enum { MAX_SHOWN = 24 };

  int shown = length < MAX_SHOWN ? (int)length : MAX_SHOWN;
  char order = ' ';
  char kind = ' ';
  if (length > 1) {
    order = text[0];
    kind = text[1];
  }
  bool is_order = order == '<' || order == '>' || order == '=' || order == '|';
  if (is_order && strchr("OSUVMmat", kind) != NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the type '%.*s' (objects, text, times, records) is not "
                    "supported",
                    shown,
                    text);
  }
  int64_t bytes = length > 2 ? type_bytes(text + 2, length - 2) : -1;
  if (!is_order || strchr("biufc", kind) == NULL || bytes < 0) {
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

rlo_dtype rlo__npy_unknown_type(const char *text, size_t length) {
  bool is_unknown =
      length == 3 && strchr("<|=", text[0]) != NULL && text[1] == 'V';
  return is_unknown ? rlo__npy_dtype_of('u',
                                        text[2] == '1'   ? 1
                                        : text[2] == '2' ? 2
                                                         : 0)
                    : RLO_DTYPE_INVALID;
}

/* The type as NumPy spells it; an unsigned integer where it has none. */
static void print_type(rlo__str *str, rlo_dtype dtype) {
  int32_t bytes = rlo_dtype_storage_bits(dtype) / 8;
  char kind = rlo__npy_kind_of(dtype);
  rlo__str_printf(str, "%c%c%" PRId32, bytes == 1 ? '|' : '<', kind, bytes);
}

/* The dictionary, as NumPy prints it. */
static void print_dictionary(rlo__str *str,
                             const rlo_shape *shape,
                             bool is_fortran) {
  rlo__str_append(str, "{'descr': '");
  print_type(str, shape->dtype);
  rlo__str_printf(
      str, "', 'fortran_order': %s, 'shape': (", is_fortran ? "True" : "False");
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__str_printf(str, k > 0 ? ", %" PRId64 : "%" PRId64, shape->dims[k]);
  }
  rlo__str_append(str, shape->rank == 1 ? ",), }" : "), }");
}

rlo_status rlo_npy_format(const rlo_shape *shape,
                          void *buffer,
                          size_t capacity,
                          size_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);

  enum {
    /* NumPy aligns the data to this. */
    DATA_ALIGNMENT = 64,
    /* Version 1: the magic, the version, two bytes of length. */
    START = RLO__NPY_VERSION_END + 2,
    /* 32 dimensions of 19 digits and what stands around them. */
    MAX_BYTES = 1024
  };

  RLO_TRY(rlo_shape_validate(shape));
  const rlo_layout *layout = &shape->layout;
  bool is_row_major = rlo_layout_is_row_major(layout, shape->rank);
  if (!is_row_major && !rlo_layout_is_column_major(layout, shape->rank)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an .npy file holds row-major and column-major arrays "
                    "without padding or tiles only");
  }
  int64_t element_bits = rlo__layout_element_bits(layout, shape->dtype);
  if (element_bits != rlo_dtype_storage_bits(shape->dtype)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an .npy file holds %s in %d bits, not in %" PRId64,
                    rlo_dtype_name(shape->dtype),
                    rlo_dtype_storage_bits(shape->dtype),
                    element_bits);
  }
  char header[MAX_BYTES];
  memcpy(header, rlo__npy_magic, RLO__NPY_MAGIC_BYTES);
  header[6] = 1;
  header[7] = 0;
  rlo__str str = rlo__str_over(header + START, sizeof header - START);
  print_dictionary(&str, shape, !is_row_major);
  /* Spaces and a newline, up to where the data may begin. */
  while ((START + str.length + 1) % DATA_ALIGNMENT != 0) {
    rlo__str_append_char(&str, ' ');
  }
  rlo__str_append_char(&str, '\n');
  RLO_TRY(rlo__str_status(&str));
  header[8] = (char)(str.length & 0xff);
  header[9] = (char)(str.length >> 8);
  *out_bytes = START + str.length;
  if (*out_bytes > capacity) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "an .npy header of %zu bytes does not fit the room for "
                    "%zu",
                    *out_bytes,
                    capacity);
  }
  memcpy(buffer, header, *out_bytes);
  return RLO_OK;
}

rlo_status rlo_shape_from_numpy(const char *type,
                                const int64_t *dims,
                                const int64_t *strides_bytes,
                                int32_t rank,
                                int64_t available_bytes,
                                rlo_numpy_view *out_view) {
  RLO_REQUIRE(type, out_view);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(
      rlo__npy_type_parse(type, strlen(type), &dtype, &view.is_byte_swapped));
  int64_t element_bytes = rlo_dtype_storage_bits(dtype) / 8;
  int64_t strides_elems[RLO_MAX_RANK];
  if (strides_bytes != NULL) {
    RLO_TRY(rlo__strides_from_bytes(
        dims, strides_bytes, rank, element_bytes, strides_elems));
  }
  int64_t lowest_elems = 0;
  rlo_layout layout;
  RLO_TRY(rlo_layout_from_strides(
      dims,
      strides_bytes != NULL ? strides_elems : NULL,
      rank,
      rlo__available_elems(available_bytes, element_bytes),
      &layout,
      &lowest_elems));
  RLO_TRY(rlo_shape_make_with_layout(dtype, dims, rank, &layout, &view.shape));
  if (!rlo__mul(lowest_elems, element_bytes, &view.offset_bytes)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "the position %lld of the lowest element does not fit 64 "
                    "bits in bytes",
                    (long long)lowest_elems);
  }
  return rlo__report_write(
      "NumPy view", "RLO_NUMPY_VIEW_INIT", &view, out_view, sizeof view);
}
