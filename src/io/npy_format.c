/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"
#include "desc/layout.h"
#include "io/npy_form.h"

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
  enum {
    /* NumPy aligns the data to this. */
    DATA_ALIGNMENT = 64,
    /* Version 1: the magic, the version, two bytes of length. */
    START = RLO__NPY_VERSION_END + 2,
    /* 32 dimensions of 19 digits and what stands around them. */
    MOST_BYTES = 1024
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
  char header[MOST_BYTES];
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
