/* SPDX-License-Identifier: Apache-2.0 */
#include "array_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/npy.h"

#include "display.h"
#include "input_file.h"
#include "message.h"
#include "output_file.h"

/* Magic, version and the length of the longest header. */
#define NPY_PREFIX_BYTES (12 + RLO_NPY_MAX_HEADER_BYTES)

/* A header of ours is short: 32 dimensions of 19 digits at most. */
#define MAX_HEADER_BYTES 2048

static bool ends_in(const char *path, const char *suffix) {
  size_t length = strlen(path);
  size_t suffix_length = strlen(suffix);
  return length >= suffix_length &&
         strcmp(path + length - suffix_length, suffix) == 0;
}

bool rlo__path_is_raw(const char *path) {
  return ends_in(path, ".bin") || ends_in(path, ".raw");
}

/* The element type that holds a shape's elements in an .npy file, or
 * RLO_DTYPE_INVALID if they are no whole numbers of a width NumPy has. */
static rlo_dtype file_dtype(const rlo_shape *shape, int64_t element_bits) {
  if (element_bits == rlo_dtype_storage_bits(shape->dtype)) {
    return shape->dtype;
  }
  switch (element_bits) {
    case 8:
      return RLO_DTYPE_U8;
    case 16:
      return RLO_DTYPE_U16;
    case 32:
      return RLO_DTYPE_U32;
    case 64:
      return RLO_DTYPE_U64;
    default:
      return RLO_DTYPE_INVALID;
  }
}

/* The array that the .npy header announces for a shape. */
static rlo_status make_file_shape(const rlo_shape *shape,
                                  rlo_shape *out_file_shape) {
  rlo_shape_extent extent = {0};
  rlo_status status = rlo_shape_measure(shape, &extent);
  if (status != RLO_OK) {
    return status;
  }
  rlo_dtype dtype = file_dtype(shape, extent.element_bits);
  if (dtype == RLO_DTYPE_INVALID) {
    return rlo_shape_make(
        RLO_DTYPE_U8, &extent.physical_bytes, 1, out_file_shape);
  }
  if (rlo_layout_is_row_major(&shape->layout, shape->rank)) {
    return rlo_shape_make(dtype, shape->dims, shape->rank, out_file_shape);
  }
  if (rlo_layout_is_column_major(&shape->layout, shape->rank)) {
    rlo_layout layout = rlo_layout_column_major(shape->rank);
    return rlo_shape_make_with_layout(
        dtype, shape->dims, shape->rank, &layout, out_file_shape);
  }
  return rlo_shape_make(dtype, &extent.slots, 1, out_file_shape);
}

/* Whether an .npy array can hold the bytes of `from`. */
static bool can_hold(const rlo_shape *file_shape, const rlo_shape *from) {
  rlo_shape_extent file_extent = {0};
  rlo_shape_extent extent = {0};
  rlo_shape expected;
  if (rlo_shape_measure(file_shape, &file_extent) != RLO_OK ||
      rlo_shape_measure(from, &extent) != RLO_OK ||
      make_file_shape(from, &expected) != RLO_OK ||
      file_extent.physical_bytes != extent.physical_bytes) {
    return false;
  }
  if (file_shape->rank == 1) {
    return file_extent.element_bits == extent.element_bits ||
           file_shape->dtype == RLO_DTYPE_U8;
  }
  rlo_shape file_as_expected = *file_shape;
  file_as_expected.dtype = expected.dtype;
  return file_extent.element_bits == extent.element_bits &&
         rlo_shape_equal(&file_as_expected, &expected);
}

static void swap_bytes(unsigned char *data, size_t bytes, rlo_dtype dtype) {
  size_t width = (size_t)rlo_dtype_storage_bits(dtype) / 8;
  if (rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_COMPLEX) {
    width /= 2;
  }
  for (size_t at = 0; at + width <= bytes; at += width) {
    for (size_t low = 0, high = width - 1; low < high; ++low, --high) {
      unsigned char byte = data[at + low];
      data[at + low] = data[at + high];
      data[at + high] = byte;
    }
  }
}

static int read_data(const rlo__input_file *file,
                     int64_t offset_bytes,
                     rlo__array *array) {
  rlo_shape_extent extent = {0};
  if (rlo_shape_measure(&array->shape, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  array->bytes = (size_t)extent.physical_bytes;
  array->data = malloc(array->bytes == 0 ? 1 : array->bytes);
  if (array->data == NULL) {
    return rlo__fail(
        "cannot get %zu bytes of memory for %s", array->bytes, file->path);
  }
  return rlo__input_file_read(file, offset_bytes, array->data, array->bytes);
}

static int load_raw(const rlo__input_file *file,
                    const rlo_shape *from,
                    rlo__array *array) {
  rlo_shape_extent extent = {0};
  if (rlo_shape_measure(from, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  if (file->size_bytes != extent.physical_bytes) {
    return rlo__fail("%s has %" PRId64
                     " bytes; the shape of --from takes %" PRId64,
                     file->path,
                     file->size_bytes,
                     extent.physical_bytes);
  }
  array->shape = *from;
  return read_data(file, 0, array);
}

static int parse_npy_header(const rlo__input_file *file,
                            rlo_npy_header *out_header) {
  size_t bytes = file->size_bytes < NPY_PREFIX_BYTES ? (size_t)file->size_bytes
                                                     : NPY_PREFIX_BYTES;
  char *prefix = malloc(NPY_PREFIX_BYTES);
  if (prefix == NULL) {
    return rlo__fail("cannot get %d bytes of memory", NPY_PREFIX_BYTES);
  }
  int code = rlo__input_file_read(file, 0, prefix, bytes);
  if (code == RLO__EXIT_OK &&
      rlo_npy_parse(prefix, bytes, file->size_bytes, out_header) != RLO_OK) {
    code = rlo__fail("%s: %s", file->path, rlo_error_last()->message);
  }
  free(prefix);
  return code;
}

static int load_npy(const rlo__input_file *file,
                    const rlo_shape *from,
                    rlo__array *array) {
  rlo_npy_header header = {0};
  int code = parse_npy_header(file, &header);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (from != NULL && !can_hold(&header.shape, from)) {
    rlo__shape_text held;
    rlo__shape_text wanted;
    rlo_shape file_shape;
    if (make_file_shape(from, &file_shape) != RLO_OK) {
      return rlo__fail_last();
    }
    return rlo__fail("%s holds %s; the shape of --from needs %s",
                     file->path,
                     rlo__shape_text_make(&header.shape, &held),
                     rlo__shape_text_make(&file_shape, &wanted));
  }
  array->shape = from == NULL ? header.shape : *from;
  code = read_data(file, header.data_offset_bytes, array);
  if (code == RLO__EXIT_OK && header.is_byte_swapped) {
    swap_bytes(array->data, array->bytes, header.shape.dtype);
  }
  return code;
}

int rlo__array_load(const char *path,
                    const rlo_shape *from,
                    rlo__array *out_array) {
  *out_array = (rlo__array){0};
  bool is_raw = rlo__path_is_raw(path);
  if (is_raw && from == NULL) {
    return rlo__fail("%s holds bare bytes: say their shape with --from", path);
  }
  rlo__input_file file;
  int code = rlo__input_file_open(path, &file);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = is_raw ? load_raw(&file, from, out_array)
                : load_npy(&file, from, out_array);
  rlo__input_file_close(&file);
  return code;
}

void rlo__array_deinit(rlo__array *array) {
  free(array->data);
  array->data = NULL;
}

/* `header` has room for MAX_HEADER_BYTES. */
static int make_output(const rlo__array_target *target,
                       char *header,
                       rlo__output *out_output) {
  rlo_shape_extent extent = {0};
  rlo_shape file_shape;
  *out_output = (rlo__output){target->path, header, 0, target->data, 0};
  if (rlo_shape_measure(target->shape, &extent) != RLO_OK ||
      make_file_shape(target->shape, &file_shape) != RLO_OK) {
    return rlo__fail_last();
  }
  out_output->data_bytes = (size_t)extent.physical_bytes;
  if (!rlo__path_is_raw(target->path) &&
      rlo_npy_format(
          &file_shape, header, MAX_HEADER_BYTES, &out_output->head_bytes) !=
          RLO_OK) {
    return rlo__fail_last();
  }
  return RLO__EXIT_OK;
}

static int write_outputs(const rlo__array_target *targets,
                         int32_t count,
                         char (*headers)[MAX_HEADER_BYTES],
                         rlo__output *outputs) {
  for (int32_t n = 0; n < count; ++n) {
    int code = make_output(&targets[n], headers[n], &outputs[n]);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return rlo__outputs_write(outputs, count);
}

int rlo__arrays_save(const rlo__array_target *targets, int32_t count) {
  char(*headers)[MAX_HEADER_BYTES] = calloc((size_t)count, sizeof(*headers));
  rlo__output *outputs = calloc((size_t)count, sizeof(*outputs));
  int code = headers == NULL || outputs == NULL
                 ? rlo__fail("cannot get memory for %d files", count)
                 : write_outputs(targets, count, headers, outputs);
  free(outputs);
  free(headers);
  return code;
}
