/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "io/npy_type.h"

enum {
  /* Characters of a number or a name in a message. */
  MAX_SHOWN = 24
};

/* A Python dictionary, character by character; positions count from the
 * beginning of the file. */
typedef struct reader {
  const char *text;
  size_t length;
  size_t at;
  size_t text_position;
} reader;

/* The entries of the dictionary. */
typedef struct description {
  bool has_descr, has_order, has_shape;
  rlo_dtype dtype;
  bool is_byte_swapped;
  bool is_type_unknown;
  bool is_fortran;
  int32_t rank;
  int64_t dims[RLO_MAX_RANK];
} description;

/* The current character; NUL, which is never expected, at the end. */
static char peek(const reader *r) {
  if (r->at < r->length) {
    return r->text[r->at];
  }
  return '\0';
}

static size_t position_of(const reader *r) {
  return r->text_position + r->at;
}

static rlo_status refuse(const reader *r, const char *expected) {
  if (r->at >= r->length) {
    return RLO_FAIL(
        RLO_PARSE,
        "byte %zu of the .npy file: expected %s, found the header's "
        "end",
        position_of(r),
        expected);
  }
  unsigned char found = (unsigned char)r->text[r->at];
  if (found >= 0x20 && found < 0x7f) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu of the .npy file: expected %s, found '%c'",
                    position_of(r),
                    expected,
                    found);
  }
  return RLO_FAIL(RLO_PARSE,
                  "byte %zu of the .npy file: expected %s, found 0x%02x",
                  position_of(r),
                  expected,
                  found);
}

static void skip_blanks(reader *r) {
  while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' ||
         peek(r) == '\r') {
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
  if (r->length - r->at < length ||
      memcmp(r->text + r->at, word, length) != 0) {
    return false;
  }
  r->at += length;
  skip_blanks(r);
  return true;
}

/* A string without escapes, in either kind of quotes; borrowed. */
static rlo_status read_string(reader *r,
                              const char **out_text,
                              size_t *out_length) {
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
  *out_text = r->text + start;
  *out_length = r->at - start;
  ++r->at;
  skip_blanks(r);
  return RLO_OK;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
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
  if (!fits) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "byte %zu of the .npy file: the dimension %.*s%s does "
                    "not fit 64 bits",
                    r->text_position + start,
                    length < MAX_SHOWN ? (int)length : (int)MAX_SHOWN,
                    r->text + start,
                    length > MAX_SHOWN ? "..." : "");
  }
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
  if (!accept(r, '(')) {
    return refuse(r, "'(' of a shape");
  }
  d->rank = 0;
  while (!accept(r, ')')) {
    if (d->rank == RLO_MAX_RANK) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "byte %zu of the .npy file: a rank above the limit of "
                      "%d",
                      position_of(r),
                      RLO_MAX_RANK);
    }
    RLO_TRY(read_dimension(r, &d->dims[d->rank]));
    ++d->rank;
    if (!accept(r, ',') && (d->rank == 1 || peek(r) != ')')) {
      return refuse(r, d->rank == 1 ? "','" : "',' or ')'");
    }
  }
  return RLO_OK;
}

/* A byte order, a letter and a number of bytes: "<f4". */
static rlo_status read_type(reader *r, description *d) {
  size_t position = position_of(r);
  if (peek(r) == '[' || peek(r) == '(') {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "byte %zu of the .npy file: structured types are not "
                    "supported",
                    position);
  }
  const char *text = NULL;
  size_t length = 0;
  RLO_TRY(read_string(r, &text, &length));
  d->dtype = rlo__npy_unknown_type(text, length);
  d->is_type_unknown = d->dtype != RLO_DTYPE_INVALID;
  if (d->is_type_unknown) {
    return RLO_OK;
  }
  rlo_status status =
      rlo__npy_type_parse(text, length, &d->dtype, &d->is_byte_swapped);
  return rlo__status_prefix(status, "byte %zu of the .npy file: ", position);
}

/* Note that a key was read; false if it was there before. */
static bool note_key(bool *has_key) {
  bool is_new = !*has_key;
  *has_key = true;
  return is_new;
}

static bool is_key(const char *text, size_t length, const char *key) {
  return length == strlen(key) && memcmp(text, key, length) == 0;
}

/* 'key': value */
static rlo_status read_entry(reader *r, description *d) {
  size_t position = position_of(r);
  const char *key = NULL;
  size_t length = 0;
  RLO_TRY(read_string(r, &key, &length));
  bool is_descr = is_key(key, length, "descr");
  bool is_order = is_key(key, length, "fortran_order");
  bool is_shape = is_key(key, length, "shape");
  bool is_fresh = (is_descr && note_key(&d->has_descr)) ||
                  (is_order && note_key(&d->has_order)) ||
                  (is_shape && note_key(&d->has_shape));
  if (!is_fresh) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu of the .npy file: expected the keys descr, "
                    "fortran_order and shape, each once, found '%.*s'",
                    position,
                    length < MAX_SHOWN ? (int)length : (int)MAX_SHOWN,
                    key);
  }
  if (!accept(r, ':')) {
    return refuse(r, "':'");
  }
  if (is_descr) {
    return read_type(r, d);
  }
  if (is_shape) {
    return read_shape(r, d);
  }
  d->is_fortran = accept_word(r, "True");
  if (!d->is_fortran && !accept_word(r, "False")) {
    return refuse(r, "True or False");
  }
  return RLO_OK;
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
  if (r->at < r->length) {
    return refuse(r, "nothing but blanks after '}'");
  }
  if (!d->has_descr || !d->has_order || !d->has_shape) {
    const char *missing = !d->has_descr   ? "descr"
                          : !d->has_order ? "fortran_order"
                                          : "shape";
    return RLO_FAIL(RLO_PARSE, "the .npy header does not say its %s", missing);
  }
  return RLO_OK;
}

/* The file must end where the data end. */
static rlo_status check_file_size(const rlo_npy_header *header,
                                  int64_t file_bytes) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(&header->shape, &extent));
  int64_t needed_bytes;
  if (!rlo__add(
          header->data_offset_bytes, extent.physical_bytes, &needed_bytes)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "an .npy header of %" PRId64 " bytes and %" PRId64
                    " bytes of data do not fit 64 bits",
                    header->data_offset_bytes,
                    extent.physical_bytes);
  }
  if (file_bytes >= 0 && file_bytes < needed_bytes) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the .npy header promises %" PRId64
                    " bytes of data at byte %" PRId64
                    ", but the file has %" PRId64 " bytes",
                    extent.physical_bytes,
                    header->data_offset_bytes,
                    file_bytes);
  }
  if (file_bytes > needed_bytes) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the .npy file has %" PRId64 " bytes after the %" PRId64
                    " bytes of data at byte %" PRId64,
                    file_bytes - needed_bytes,
                    extent.physical_bytes,
                    header->data_offset_bytes);
  }
  return RLO_OK;
}

/* The magic, the version and the length: where the dictionary is. */
static rlo_status find_dictionary(const unsigned char *bytes,
                                  size_t size_bytes,
                                  reader *out_reader) {
  size_t present =
      size_bytes < RLO__NPY_MAGIC_BYTES ? size_bytes : RLO__NPY_MAGIC_BYTES;
  if (present > 0 && memcmp(bytes, rlo__npy_magic, present) != 0) {
    return RLO_FAIL(RLO_PARSE, "the file does not begin as an .npy file does");
  }
  if (size_bytes < RLO__NPY_VERSION_END) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the .npy file ends after %zu bytes, inside its first %d",
                    size_bytes,
                    RLO__NPY_VERSION_END);
  }
  unsigned major = bytes[6];
  unsigned minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) {
    return RLO_FAIL(RLO_PARSE,
                    "version %u.%u of .npy is unknown; 1.0, 2.0 and 3.0 are "
                    "read",
                    major,
                    minor);
  }
  size_t length_bytes = major == 1 ? 2 : 4;
  size_t start = RLO__NPY_VERSION_END + length_bytes;
  if (size_bytes < start) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the .npy file ends after %zu bytes, inside its first %zu",
                    size_bytes,
                    start);
  }
  uint32_t length = 0;
  for (size_t i = length_bytes; i > 0; --i) {
    length = length << 8 | bytes[RLO__NPY_VERSION_END + i - 1];
  }
  if (length > RLO_NPY_MAX_HEADER_BYTES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "an .npy header of %" PRIu32
                    " bytes is beyond the limit of %d",
                    length,
                    RLO_NPY_MAX_HEADER_BYTES);
  }
  if (size_bytes - start < length) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the .npy header takes %zu bytes, but there are %zu",
                    start + length,
                    size_bytes);
  }
  out_reader->text = (const char *)bytes + start;
  out_reader->length = length;
  out_reader->at = 0;
  out_reader->text_position = start;
  return RLO_OK;
}

rlo_status rlo_npy_parse(const void *bytes,
                         size_t size_bytes,
                         int64_t file_bytes,
                         rlo_npy_header *out_header) {
  RLO_REQUIRE(out_header);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  if (file_bytes < -1 ||
      (file_bytes >= 0 && (uint64_t)file_bytes < (uint64_t)size_bytes)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a file of %" PRId64 " bytes cannot begin with %zu bytes",
                    file_bytes,
                    size_bytes);
  }
  reader r;
  memset(&r, 0, sizeof r);
  RLO_TRY(find_dictionary(bytes, size_bytes, &r));
  description d;
  memset(&d, 0, sizeof d);
  RLO_TRY(read_dictionary(&r, &d));
  rlo_npy_header header = RLO_NPY_HEADER_INIT;
  rlo_layout layout = d.is_fortran ? rlo_layout_column_major(d.rank)
                                   : rlo_layout_row_major(d.rank);
  RLO_TRY(rlo_shape_make_with_layout(
      d.dtype, d.dims, d.rank, &layout, &header.shape));
  header.data_offset_bytes = (int64_t)(r.text_position + r.length);
  header.is_byte_swapped = d.is_byte_swapped;
  header.is_type_unknown = d.is_type_unknown;
  RLO_TRY(check_file_size(&header, file_bytes));
  return rlo__report_write(
      ".npy header", "RLO_NPY_HEADER_INIT", &header, out_header, sizeof header);
}
