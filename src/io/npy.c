/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dtype.h"
#include "desc/layout.h"
#include "desc/strides.h"
#include "io/npy_type.h"

enum {
  MAGIC_BYTES = 6,
  /* The magic and two bytes of version. */
  VERSION_END = 8,
  /* Characters of a number or a name in a message. */
  MAX_SHOWN = 24
};

static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static int shown(size_t length) {
  return length < MAX_SHOWN ? (int)length : MAX_SHOWN;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* -------------------------------------------------------------------- types */

rlo_status rlo_shape_from_numpy(const char *type, const int64_t *dims, const int64_t *strides_bytes,
                                int32_t rank, int64_t available_bytes, rlo_numpy_view *out_view) {
  RLO_REQUIRE(type, out_view);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  rlo_npy_header header = RLO_NPY_HEADER_INIT;
  RLO_TRY(rlo__npy_type_parse(type, &header, NULL));
  view.is_byte_swapped = header.is_byte_swapped;
  const rlo_dtype dtype = header.shape.dtype;
  int64_t element_bytes = rlo_dtype_storage_bits(dtype) / 8;
  int64_t lowest_elems = 0;
  rlo_layout layout;
  RLO_TRY(rlo__layout_from_byte_strides(dims, strides_bytes, rank, element_bytes, available_bytes,
                                        &layout, &lowest_elems));
  RLO_TRY(rlo_shape_make_with_layout(dtype, dims, rank, &layout, &view.shape));
  RLO_FAIL_IF(!rlo__mul(lowest_elems, element_bytes, &view.offset_bytes), RLO_OVERFLOW,
              "the position %lld of the lowest element does not fit 64 bits in bytes",
              (long long)lowest_elems);
  return rlo__report_write("NumPy view", "RLO_NUMPY_VIEW_INIT", &view, out_view, sizeof view);
}

/* ------------------------------------------------------------------ writing */

/* The dictionary, as NumPy prints it. A type that NumPy lacks is an unsigned
 * integer. */
static void print_dictionary(rlo__str *str, const rlo_shape *shape, bool is_fortran) {
  const int32_t bytes = rlo_dtype_storage_bits(shape->dtype) / 8;
  const char kind = rlo__dtype_info_of(shape->dtype)->npy_kind;
  rlo__str_printf(str, "{'descr': '%c%c%" PRId32 "', 'fortran_order': %s, 'shape': (",
                  bytes == 1 ? '|' : '<', kind != '\0' ? kind : 'u', bytes,
                  is_fortran ? "True" : "False");
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__str_printf(str, k > 0 ? ", %" PRId64 : "%" PRId64, shape->dims[k]);
  }
  rlo__str_append(str, shape->rank == 1 ? ",), }" : "), }");
}

rlo_status rlo_npy_format(const rlo_shape *shape, void *buffer, size_t capacity,
                          size_t *out_bytes) {
  RLO_REQUIRE(shape, out_bytes);
  RLO_REQUIRE_LIST(buffer, capacity);

  enum {
    /* NumPy aligns the data to this. */
    DATA_ALIGNMENT = 64,
    /* Version 1: the magic, the version, two bytes of length. */
    START = VERSION_END + 2,
    /* 32 dimensions of 19 digits and what stands around them. */
    MAX_BYTES = 1024
  };

  RLO_TRY(rlo_shape_validate(shape));
  const rlo_layout *layout = &shape->layout;
  bool is_row_major = rlo_layout_is_row_major(layout, shape->rank);
  RLO_FAIL_IF(!is_row_major && !rlo_layout_is_column_major(layout, shape->rank), RLO_UNSUPPORTED,
              "an .npy file holds row-major and column-major arrays without padding or tiles only");
  int64_t element_bits = rlo__layout_element_bits(layout, shape->dtype);
  RLO_FAIL_IF(element_bits != rlo_dtype_storage_bits(shape->dtype), RLO_UNSUPPORTED,
              "an .npy file holds %s in %d bits, not in %" PRId64, rlo_dtype_name(shape->dtype),
              rlo_dtype_storage_bits(shape->dtype), element_bits);
  char header[MAX_BYTES];
  memcpy(header, magic, MAGIC_BYTES);
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
  RLO_FAIL_IF(*out_bytes > capacity, RLO_OUT_OF_RANGE,
              "an .npy header of %zu bytes does not fit the room for %zu", *out_bytes, capacity);
  memcpy(buffer, header, *out_bytes);
  return RLO_OK;
}

/* ------------------------------------------------------------------ reading */

/* A Python dictionary in a file, character by character. */
typedef struct reader {
  const char *file;
  size_t at, end;
} reader;

/* The entries that have been read. */
typedef struct description {
  /* A bit for each of the keys. */
  unsigned seen;
  bool is_fortran;
  /* How many numbers of header.shape.dtype an element has. */
  int64_t count;
  rlo_npy_header header;
} description;

/* The current character; NUL, which is never expected, at the end. */
static char peek(const reader *r) {
  return (char)(r->at < r->end ? r->file[r->at] : '\0');
}

static rlo_status refuse(const reader *r, const char *expected) {
  char found[24] = "the header's end";
  if (r->at < r->end) {
    const unsigned char c = (unsigned char)r->file[r->at];
    (void)snprintf(found, sizeof found, c >= 0x20 && c < 0x7f ? "'%c'" : "0x%02x", c);
  }
  return RLO_FAIL(RLO_PARSE, "byte %zu of the .npy file: expected %s, found %s", r->at, expected,
                  found);
}

static void skip_blanks(reader *r) {
  while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r') {
    ++r->at;
  }
}

/* Step over a character and the blanks behind it, if it is there. */
static bool accept(reader *r, char c) {
  if (peek(r) != c) {
    return false;
  }
  ++r->at;
  skip_blanks(r);
  return true;
}

/* A name that stands for itself: True, False. */
static bool accept_word(reader *r, const char *word) {
  size_t length = strlen(word);
  if (r->end - r->at < length || memcmp(r->file + r->at, word, length) != 0) {
    return false;
  }
  r->at += length;
  skip_blanks(r);
  return true;
}

/* A string without escapes, in either kind of quotes; borrowed. */
static rlo_status read_string(reader *r, const char **out_text, size_t *out_length) {
  char quote = peek(r);
  if (quote != '\'' && quote != '"') {
    return refuse(r, "a string");
  }
  size_t start = ++r->at;
  while (peek(r) != quote) {
    unsigned char c = (unsigned char)peek(r);
    if (c < 0x20 || c >= 0x7f || c == '\\') {
      return refuse(r, "a character of a plain string");
    }
    ++r->at;
  }
  *out_text = r->file + start;
  *out_length = r->at - start;
  ++r->at;
  skip_blanks(r);
  return RLO_OK;
}

static rlo_status read_dimension(reader *r, int64_t *out_value) {
  size_t start = r->at;
  if (!is_digit(peek(r))) {
    return refuse(r, "a dimension >= 0");
  }
  bool fits = true;
  bool has_leading_zero = peek(r) == '0';
  int64_t value = 0;
  for (; is_digit(peek(r)); ++r->at) {
    fits = fits && rlo__mul_add(peek(r) - '0', value, 10, &value);
  }
  size_t length = r->at - start;
  if (has_leading_zero && length > 1) {
    r->at = start;
    return refuse(r, "a dimension without leading zeros");
  }
  RLO_FAIL_IF(!fits, RLO_OVERFLOW,
              "byte %zu of the .npy file: the dimension %.*s%s does not fit 64 bits", start,
              shown(length), r->file + start, length > MAX_SHOWN ? "..." : "");
  /* Python 2 wrote its long integers as 3L. */
  if (peek(r) == 'L') {
    ++r->at;
  }
  skip_blanks(r);
  *out_value = value;
  return RLO_OK;
}

/* (), (3,), (3, 4) or (3, 4,): as in Python, (3) is no tuple. */
static rlo_status read_shape(reader *r, description *d) {
  rlo_shape *shape = &d->header.shape;
  if (!accept(r, '(')) {
    return refuse(r, "'(' of a shape");
  }
  while (!accept(r, ')')) {
    RLO_FAIL_IF(shape->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
                "byte %zu of the .npy file: a rank above the limit of %d", r->at, RLO_MAX_RANK);
    RLO_TRY(read_dimension(r, &shape->dims[shape->rank]));
    ++shape->rank;
    if (!accept(r, ',') && (shape->rank == 1 || peek(r) != ')')) {
      return refuse(r, shape->rank == 1 ? "','" : "',' or ')'");
    }
  }
  return RLO_OK;
}

/* The name of a type, of an array or of a field. */
static rlo_status read_type_name(reader *r, description *d) {
  const size_t position = r->at;
  const char *text = NULL;
  size_t length = 0;
  RLO_TRY(read_string(r, &text, &length));
  (void)snprintf(d->header.type_name, sizeof d->header.type_name, "%.*s", (int)length, text);
  return rlo__status_prefix(rlo__npy_type_parse(d->header.type_name, &d->header, &d->count),
                            "byte %zu of the .npy file: ", position);
}

static rlo_status read_fields(reader *r, int depth, int64_t *bytes);

/* 'x', '<f4' or 'x', '<f4', (2, 3): adds the bytes of a field, whose type may be
 * a list of fields. */
static rlo_status read_field(reader *r, int depth, int64_t *bytes) {
  const char *text = NULL;
  size_t length = 0;
  description field = {.count = 1, .header = RLO_NPY_HEADER_INIT};
  int64_t field_bytes = 0;
  RLO_TRY(read_string(r, &text, &length));
  if (!accept(r, ',')) {
    return refuse(r, "',' and a type");
  }
  if (accept(r, '[')) {
    RLO_TRY(read_fields(r, depth + 1, &field_bytes));
  } else {
    RLO_TRY(read_type_name(r, &field));
    field_bytes = field.count * (rlo_dtype_storage_bits(field.header.shape.dtype) / 8);
  }
  if (accept(r, ',')) {
    RLO_TRY(read_shape(r, &field));
  }
  bool fits = true;
  for (int32_t k = 0; fits && k < field.header.shape.rank; ++k) {
    fits = rlo__mul(field_bytes, field.header.shape.dims[k], &field_bytes);
  }
  return fits && rlo__add(*bytes, field_bytes, bytes)
             ? RLO_OK
             : RLO_FAIL(RLO_OVERFLOW, "byte %zu of the .npy file: a field beyond 64 bits", r->at);
}

/* ('x', '<f4'), ...]: adds the bytes of the fields of a structured type. */
static rlo_status read_fields(reader *r, int depth, int64_t *bytes) {
  enum { MAX_DEPTH = 16 };

  RLO_FAIL_IF(depth > MAX_DEPTH, RLO_UNSUPPORTED,
              "byte %zu of the .npy file: fields deeper than %d", r->at, MAX_DEPTH);
  while (!accept(r, ']')) {
    if (!accept(r, '(')) {
      return refuse(r, "'(' of a field");
    }
    RLO_TRY(read_field(r, depth, bytes));
    if (!accept(r, ')') || (!accept(r, ',') && peek(r) != ']')) {
      return refuse(r, "the end of a field");
    }
  }
  return RLO_OK;
}

/* A type's name, or the fields of a structured type. */
static rlo_status read_type(reader *r, description *d) {
  int64_t bytes = 0;
  if (!accept(r, '[')) {
    return read_type_name(r, d);
  }
  RLO_TRY(read_fields(r, 1, &bytes));
  RLO_FAIL_IF(bytes == 0, RLO_UNSUPPORTED, "a type of no bytes in the .npy file");
  (void)snprintf(d->header.type_name, sizeof d->header.type_name, "|V%" PRId64, bytes);
  rlo__npy_type_set_unknown('V', bytes, &d->header, &d->count);
  return RLO_OK;
}

static rlo_status read_order(reader *r, description *d) {
  d->is_fortran = accept_word(r, "True");
  return d->is_fortran || accept_word(r, "False") ? RLO_OK : refuse(r, "True or False");
}

static const struct {
  const char *name;
  rlo_status (*read)(reader *r, description *d);
} keys[] = {
    {"descr", read_type},
    {"fortran_order", read_order},
    {"shape", read_shape},
};

enum { NUM_KEYS = sizeof keys / sizeof keys[0] };

/* 'key': value */
static rlo_status read_entry(reader *r, description *d) {
  size_t position = r->at;
  const char *key = NULL;
  size_t length = 0;
  RLO_TRY(read_string(r, &key, &length));
  int k = 0;
  while (k < NUM_KEYS &&
         (strlen(keys[k].name) != length || memcmp(keys[k].name, key, length) != 0)) {
    ++k;
  }
  RLO_FAIL_IF(k == NUM_KEYS || (d->seen >> k & 1) != 0, RLO_PARSE,
              "byte %zu of the .npy file: expected the keys descr, fortran_order and shape, each "
              "once, found '%.*s'",
              position, shown(length), key);
  d->seen |= 1u << k;
  return accept(r, ':') ? keys[k].read(r, d) : refuse(r, "':'");
}

/* '{' entry {',' entry} [','] '}' and blanks to the end. */
static rlo_status read_dictionary(reader *r, description *d) {
  skip_blanks(r);
  if (!accept(r, '{')) {
    return refuse(r, "'{'");
  }
  while (!accept(r, '}')) {
    RLO_TRY(read_entry(r, d));
    if (!accept(r, ',') && peek(r) != '}') {
      return refuse(r, "',' or '}'");
    }
  }
  if (r->at < r->end) {
    return refuse(r, "nothing but blanks after '}'");
  }
  for (int k = 0; k < NUM_KEYS; ++k) {
    RLO_FAIL_IF((d->seen >> k & 1) == 0, RLO_PARSE, "the .npy header does not say its %s",
                keys[k].name);
  }
  return RLO_OK;
}

/* The file must end where the data end. */
static rlo_status check_file_size(const rlo_npy_header *header, int64_t file_bytes) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(&header->shape, &extent));
  int64_t needed_bytes;
  RLO_FAIL_IF(
      !rlo__add(header->data_offset_bytes, extent.physical_bytes, &needed_bytes), RLO_OVERFLOW,
      "an .npy header of %" PRId64 " bytes and %" PRId64 " bytes of data do not fit 64 bits",
      header->data_offset_bytes, extent.physical_bytes);
  RLO_FAIL_IF(file_bytes >= 0 && file_bytes < needed_bytes, RLO_DATA_LOSS,
              "the .npy header promises %" PRId64 " bytes of data at byte %" PRId64
              ", but the file has %" PRId64 " bytes",
              extent.physical_bytes, header->data_offset_bytes, file_bytes);
  RLO_FAIL_IF(file_bytes > needed_bytes, RLO_DATA_LOSS,
              "the .npy file has %" PRId64 " bytes after the %" PRId64
              " bytes of data at byte %" PRId64,
              file_bytes - needed_bytes, extent.physical_bytes, header->data_offset_bytes);
  return RLO_OK;
}

/* The magic, the version and the length: where the dictionary is. */
static rlo_status find_dictionary(const unsigned char *bytes, size_t size_bytes,
                                  reader *out_reader) {
  size_t present = size_bytes < MAGIC_BYTES ? size_bytes : MAGIC_BYTES;
  RLO_FAIL_IF(present > 0 && memcmp(bytes, magic, present) != 0, RLO_PARSE,
              "the file does not begin as an .npy file does");
  RLO_FAIL_IF(size_bytes < VERSION_END, RLO_DATA_LOSS,
              "the .npy file ends after %zu bytes, inside its first %d", size_bytes, VERSION_END);
  unsigned major = bytes[6];
  unsigned minor = bytes[7];
  RLO_FAIL_IF(major < 1 || major > 3 || minor != 0, RLO_PARSE,
              "version %u.%u of .npy is unknown; 1.0, 2.0 and 3.0 are read", major, minor);
  size_t length_bytes = major == 1 ? 2 : 4;
  size_t start = VERSION_END + length_bytes;
  RLO_FAIL_IF(size_bytes < start, RLO_DATA_LOSS,
              "the .npy file ends after %zu bytes, inside its first %zu", size_bytes, start);
  uint32_t length = 0;
  for (size_t i = length_bytes; i > 0; --i) {
    length = length << 8 | bytes[VERSION_END + i - 1];
  }
  RLO_FAIL_IF(length > RLO_NPY_MAX_HEADER_BYTES, RLO_UNSUPPORTED,
              "an .npy header of %" PRIu32 " bytes is beyond the limit of %d", length,
              RLO_NPY_MAX_HEADER_BYTES);
  RLO_FAIL_IF(size_bytes - start < length, RLO_DATA_LOSS,
              "the .npy header takes %zu bytes, but there are %zu", start + length, size_bytes);
  *out_reader = (reader){(const char *)bytes, start, start + length};
  return RLO_OK;
}

/* Makes the shape of the entries. Elements of several integers get one more
 * dimension, the fastest. */
static rlo_status make_shape(description *d) {
  rlo_shape *shape = &d->header.shape;
  rlo_layout layout =
      d->is_fortran ? rlo_layout_column_major(shape->rank) : rlo_layout_row_major(shape->rank);
  if (d->count > 1) {
    RLO_FAIL_IF(shape->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
                "the type '%s' takes one more dimension than the limit of %d", d->header.type_name,
                RLO_MAX_RANK);
    memmove(layout.minor_to_major + 1, layout.minor_to_major,
            (size_t)shape->rank * sizeof layout.minor_to_major[0]);
    layout.minor_to_major[0] = shape->rank;
    shape->dims[shape->rank++] = d->count;
  }
  return rlo_shape_make_with_layout(shape->dtype, shape->dims, shape->rank, &layout, shape);
}

rlo_status rlo_npy_parse(const void *bytes, size_t size_bytes, int64_t file_bytes,
                         rlo_npy_header *out_header) {
  RLO_REQUIRE(out_header);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  RLO_FAIL_IF(file_bytes < -1 || (file_bytes >= 0 && (uint64_t)file_bytes < (uint64_t)size_bytes),
              RLO_INVALID_ARGUMENT, "a file of %" PRId64 " bytes cannot begin with %zu bytes",
              file_bytes, size_bytes);
  reader r = {0};
  description d = {.count = 1, .header = RLO_NPY_HEADER_INIT};
  RLO_TRY(find_dictionary(bytes, size_bytes, &r));
  RLO_TRY(read_dictionary(&r, &d));
  RLO_TRY(make_shape(&d));
  d.header.data_offset_bytes = (int64_t)r.end;
  RLO_TRY(check_file_size(&d.header, file_bytes));
  return rlo__report_write(".npy header", "RLO_NPY_HEADER_INIT", &d.header, out_header,
                           sizeof d.header);
}
