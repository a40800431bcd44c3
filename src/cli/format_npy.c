/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files. A file holds the slots of a shape: as an array of its
 * dimensions if the layout is plain row- or column-major, else as an array of
 * one dimension. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "relayout/npy.h"
#include "relayout/xla/shape_util.h"

#include "display.h"
#include "file_format.h"
#include "message.h"

/* Magic, version and the length of the longest header. */
#define PREFIX_BYTES (12 + RLO_NPY_MAX_HEADER_BYTES)

/* Returns the element type of an .npy file for a shape's elements;
 * RLO_DTYPE_INVALID if NumPy has no type of their width. */
static rlo_dtype file_dtype(const rlo_shape *shape, int64_t element_bits) {
  if (element_bits == rlo_dtype_storage_bits(shape->dtype)) {
    return shape->dtype;
  }
  return element_bits == 8    ? RLO_DTYPE_U8
         : element_bits == 16 ? RLO_DTYPE_U16
         : element_bits == 32 ? RLO_DTYPE_U32
         : element_bits == 64 ? RLO_DTYPE_U64
                              : RLO_DTYPE_INVALID;
}

/* Returns the shape in the .npy header for the slots of a shape. */
static rlo_status make_file_shape(const rlo_shape *shape, rlo_shape *out_file_shape) {
  rlo_shape_extent extent = {0};
  RLO_TRY(rlo_shape_measure(shape, &extent));
  rlo_dtype dtype = file_dtype(shape, extent.element_bits);
  if (dtype == RLO_DTYPE_INVALID) {
    return rlo_shape_make(RLO_DTYPE_U8, &extent.physical_bytes, 1, out_file_shape);
  }
  const bool is_column_major = rlo_layout_is_column_major(&shape->layout, shape->rank);
  const rlo_layout layout =
      is_column_major ? rlo_layout_column_major(shape->rank) : rlo_layout_row_major(shape->rank);
  return is_column_major || rlo_layout_is_row_major(&shape->layout, shape->rank)
             ? rlo_shape_make_with_layout(dtype, shape->dims, shape->rank, &layout, out_file_shape)
             : rlo_shape_make(dtype, &extent.slots, 1, out_file_shape);
}

/* How an array of an .npy file has the slots of a shape. */
typedef enum holding {
  /* Other slots. */
  HOLDS_OTHERS,
  /* The same number of the same width, but of another type. */
  HOLDS_BITS,
  HOLDS_ELEMENTS
} holding;

/* Returns whether elements of a type that NumPy lacks, or of a size of their
 * own, may be in a file as integers of that type. */
static bool stands_for(rlo_dtype in_file, rlo_dtype expected, rlo_dtype wanted) {
  const int32_t bits = rlo_dtype_value_bits(wanted);
  const bool is_numpys =
      wanted == RLO_DTYPE_PRED ||
      (bits >= (rlo_dtype_is_floating(wanted) ? 16 : 8) && wanted != RLO_DTYPE_BF16);
  return in_file == expected ||
         ((expected != wanted || !is_numpys) && rlo_dtype_is_integral(in_file));
}

static holding compare(const rlo_npy_header *header, const rlo_shape *from) {
  const rlo_shape *file_shape = &header->shape;
  rlo_shape_extent file_extent = {0};
  rlo_shape_extent extent = {0};
  rlo_shape expected;
  if (rlo_shape_measure(file_shape, &file_extent) != RLO_OK ||
      rlo_shape_measure(from, &extent) != RLO_OK || make_file_shape(from, &expected) != RLO_OK ||
      file_extent.physical_bytes != extent.physical_bytes) {
    return HOLDS_OTHERS;
  }
  if (file_extent.element_bits != extent.element_bits) {
    return file_shape->rank == 1 && file_shape->dtype == RLO_DTYPE_U8 ? HOLDS_ELEMENTS
                                                                      : HOLDS_OTHERS;
  }
  rlo_shape file_as_expected = *file_shape;
  file_as_expected.dtype = expected.dtype;
  if (file_shape->rank != 1 && !rlo_shape_equal(&file_as_expected, &expected)) {
    return HOLDS_OTHERS;
  }
  /* V, raw bytes, is no type. Text or a time is one, although none of ours. */
  const bool is_untyped = header->is_type_unknown && strchr(header->type_name, 'V') != NULL;
  return is_untyped || (!header->is_type_unknown &&
                        stands_for(file_shape->dtype, expected.dtype, from->dtype))
             ? HOLDS_ELEMENTS
             : HOLDS_BITS;
}

/* Refuses a file that has not the slots of the shape of --from. */
static int check_slots(const rlo__input_file *file, const rlo__file_hints *hints,
                       const rlo_npy_header *header) {
  const rlo_shape *file_shape = &header->shape;
  rlo_shape expected;
  const holding found = compare(header, hints->from);
  if (found == HOLDS_ELEMENTS || (found == HOLDS_BITS && hints->is_bitcast)) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_IF(
      found == HOLDS_BITS,
      "%s holds %s, not elements of type %s; --bitcast takes the bits of one for the other",
      file->path, header->is_type_unknown ? header->type_name : rlo__shape_text(file_shape),
      rlo_dtype_name(hints->from->dtype));
  RLO__EXIT_TRY(rlo__check(make_file_shape(hints->from, &expected)));
  return rlo__fail("%s holds %s; a file for %s has %s", file->path, rlo__shape_text(file_shape),
                   rlo__shape_text(hints->from), rlo__shape_text(&expected));
}

/* Parses the header of array `n`, at a byte of the file, which may go on behind
 * the array if --array is given. */
static int parse_header(const rlo__input_file *file, int64_t n, int64_t at,
                        const rlo__file_hints *hints, rlo_npy_header *out_header) {
  static char prefix[PREFIX_BYTES];
  const int64_t left = file->size_bytes - at;
  int64_t array_bytes = 0;
  int64_t end = left;
  const size_t bytes = (size_t)rlo__min(left, PREFIX_BYTES);
  RLO__EXIT_TRY(rlo__input_file_read(file, at, prefix, bytes));
  if (rlo_npy_parse(prefix, bytes, -1, out_header) == RLO_OK &&
      rlo_shape_array_size(&out_header->shape, &array_bytes) == RLO_OK) {
    end = rlo__min(left, out_header->data_offset_bytes + array_bytes);
  }
  RLO__EXIT_IF(hints->array < 0 && end < left && file->pipe == 0,
               "%s has %" PRId64 " bytes after the %" PRId64
               " of its array; --array 0 takes the first of several",
               file->path, left - end, array_bytes);
  return rlo_npy_parse(prefix, (size_t)rlo__min((int64_t)bytes, end), end, out_header) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail("%s, array %" PRId64 ": %s", file->path, n, rlo_error_last()->message);
}

/* Finds the header of the array that is meant. */
static int find_header(const rlo__input_file *file, const rlo__file_hints *hints,
                       rlo_npy_header *out_header) {
  int64_t at = 0;
  int64_t array_bytes = 0;
  RLO__EXIT_TRY(parse_header(file, 0, 0, hints, out_header));
  for (int64_t n = 0; n < hints->array; ++n) {
    RLO__EXIT_TRY(rlo__check(rlo_shape_array_size(&out_header->shape, &array_bytes)));
    at += out_header->data_offset_bytes + array_bytes;
    RLO__EXIT_TRY(parse_header(file, n + 1, at, hints, out_header));
  }
  out_header->data_offset_bytes += at;
  return RLO__EXIT_OK;
}

/* Names what can be done with elements of none of our types. */
static int fail_unknown_type(const rlo__input_file *file, const rlo_npy_header *header) {
  rlo_shape likely = header->shape;
  const char *raw = strchr(header->type_name, 'V');
  const bool is_byte = raw != NULL && strcmp(raw, "V1") == 0;
  RLO__EXIT_IF(!is_byte && (raw == NULL || strcmp(raw, "V2") != 0),
               "%s holds elements of NumPy's type '%s', which only can be moved: --bitcast takes "
               "them for %s",
               file->path, header->type_name, rlo__shape_text(&header->shape));
  likely.dtype = is_byte ? RLO_DTYPE_F8E4M3FN : RLO_DTYPE_BF16;
  return rlo__fail(
      "%s holds elements of %s that NumPy has no type for: give the shape with its type, such as "
      "--from '%s'",
      file->path, is_byte ? "1 byte" : "2 bytes", rlo__shape_text(&likely));
}

static int read_header(const rlo__input_file *file, const rlo__file_hints *hints,
                       rlo__file_contents *out_contents) {
  const rlo_shape *from = hints->from;
  rlo_npy_header header = RLO_NPY_HEADER_INIT;
  RLO__EXIT_TRY(find_header(file, hints, &header));
  if (from == NULL && header.is_type_unknown && !hints->is_bitcast) {
    return fail_unknown_type(file, &header);
  }
  if (from != NULL) {
    RLO__EXIT_TRY(check_slots(file, hints, &header));
  }
  *out_contents = (rlo__file_contents){
      .shape = from == NULL ? header.shape : *from,
      .offset_bytes = header.data_offset_bytes,
      .swapped_type = header.is_byte_swapped ? header.shape.dtype : RLO_DTYPE_INVALID,
      .has_signs = rlo_dtype_class_of(header.shape.dtype) == RLO_DTYPE_CLASS_SIGNED,
  };
  return RLO__EXIT_OK;
}

/* Bytes of the magic, the version and the length of a header of version 1. */
#define PRELUDE_BYTES 10

/* Where the data of a large array begin: so they can be mapped, and written
 * past the page cache. The largest that NumPy's documentation expects. */
#define LARGE_DATA_OFFSET_BYTES 4096

/* Widens a header with spaces before its last newline, as NumPy's own are. */
static void widen_header(char *header, size_t *bytes) {
  if (header[6] != 1 || *bytes >= LARGE_DATA_OFFSET_BYTES) {
    return;
  }
  memset(header + *bytes - 1, ' ', LARGE_DATA_OFFSET_BYTES - *bytes);
  header[LARGE_DATA_OFFSET_BYTES - 1] = '\n';
  header[8] = (char)((LARGE_DATA_OFFSET_BYTES - PRELUDE_BYTES) & 0xff);
  header[9] = (char)((LARGE_DATA_OFFSET_BYTES - PRELUDE_BYTES) >> 8);
  *bytes = LARGE_DATA_OFFSET_BYTES;
}

static int make_header(const rlo_shape *shape, bool is_swapped, const rlo_digest *digest,
                       char *out_header, size_t *out_bytes) {
  (void)digest;
  rlo_shape file_shape;
  int64_t bytes = 0;
  RLO__EXIT_TRY(rlo__check(make_file_shape(shape, &file_shape)));
  /* Fits: 32 dimensions of 19 digits at most. */
  RLO__EXIT_TRY(
      rlo__check(rlo_npy_format(&file_shape, out_header, RLO__MAX_HEADER_BYTES, out_bytes)));
  RLO__EXIT_TRY(rlo__check(rlo_shape_array_size(&file_shape, &bytes)));
  /* A type of a byte has '|' there. */
  char *order = memchr(out_header, '<', *out_bytes);
  if (is_swapped && order != NULL) {
    *order = '>';
  }
  if (bytes > rlo__thresholds.move_large_bytes) {
    widen_header(out_header, out_bytes);
  }
  return RLO__EXIT_OK;
}

const rlo__file_format rlo__format_npy = {
    .suffixes = {".npy"},
    .help =
        "a NumPy array. A plain row- or column-major result has its\n"
        "logical shape; any other has one dimension with all slots,\n"
        "padding included. Types that NumPy lacks become unsigned\n"
        "integers of their width, packed types bytes, and are read from\n"
        "them with --from, which input of ml_dtypes needs. Big-endian\n"
        "input is byte-swapped. Data of more than 64 MiB begin at byte\n"
        "4096.\n",
    .read_header = read_header,
    .make_header = make_header,
};
