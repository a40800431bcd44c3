/* SPDX-License-Identifier: Apache-2.0 */
#include "array_file.h"

#include <stdlib.h>
#include <string.h>

#include "file_format.h"
#include "files.h"
#include "message.h"

/* Names that end in no suffix of the table have the first format. */
static const rlo__file_format *const formats[] = {
    &rlo__format_npy,
    &rlo__format_raw,
};

#define NUM_FORMATS  (sizeof(formats) / sizeof(formats[0]))
#define MAX_SUFFIXES (sizeof(formats[0]->suffixes) / sizeof(char *))

static bool ends_in(const char *path, const char *suffix) {
  size_t length = strlen(path);
  size_t suffix_length = strlen(suffix);
  return length >= suffix_length &&
         strcmp(path + length - suffix_length, suffix) == 0;
}

static const rlo__file_format *find_format(const char *path) {
  for (size_t f = 0; f < NUM_FORMATS; ++f) {
    for (size_t s = 0; s < MAX_SUFFIXES; ++s) {
      const char *suffix = formats[f]->suffixes[s];
      if (suffix != NULL && ends_in(path, suffix)) {
        return formats[f];
      }
    }
  }
  return formats[0];
}

/* Prints "  .bin, .raw  <help>", the lines of the help below each other. */
static void print_format_help(const rlo__file_format *format, FILE *out) {
  const int indent = 14;
  int column = fprintf(out, "  %s", format->suffixes[0]);
  for (size_t s = 1; s < MAX_SUFFIXES && format->suffixes[s] != NULL; ++s) {
    column += fprintf(out, ", %s", format->suffixes[s]);
  }
  for (const char *line = format->help; *line != '\0';) {
    size_t length = strcspn(line, "\n") + 1;
    fprintf(out, "%*s", indent - column, "");
    fwrite(line, 1, length, out);
    line += length;
    column = 0;
  }
}

void rlo__array_file_print_help(FILE *out) {
  fputs("\nFiles. The suffix of a file's name selects its format:\n\n", out);
  for (size_t f = 0; f < NUM_FORMATS; ++f) {
    print_format_help(formats[f], out);
  }
  fprintf(out,
          "\nA file with any other name has the format of %s.\n",
          formats[0]->suffixes[0]);
}

static void swap_bytes(unsigned char *data, size_t bytes, size_t width) {
  for (size_t at = 0; at + width <= bytes; at += width) {
    for (size_t low = 0, high = width - 1; low < high; ++low, --high) {
      unsigned char byte = data[at + low];
      data[at + low] = data[at + high];
      data[at + high] = byte;
    }
  }
}

static int read_data(const rlo__input_file *file,
                     const rlo__file_contents *contents,
                     rlo__array *out_array) {
  rlo_shape_extent extent = {0};
  if (rlo_shape_measure(&contents->shape, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  size_t bytes = (size_t)extent.physical_bytes;
  *out_array =
      (rlo__array){contents->shape, malloc(bytes == 0 ? 1 : bytes), bytes};
  if (out_array->data == NULL) {
    return rlo__fail(
        "cannot get %zu bytes of memory for %s", bytes, file->path);
  }
  int code = rlo__input_file_read(
      file, contents->offset_bytes, out_array->data, bytes);
  if (code == RLO__EXIT_OK && contents->swapped_width_bytes != 0) {
    swap_bytes(out_array->data, bytes, contents->swapped_width_bytes);
  }
  return code;
}

int rlo__array_load(const char *path,
                    const rlo_shape *from,
                    rlo__array *out_array) {
  *out_array = (rlo__array){0};
  const rlo__file_format *format = find_format(path);
  if (!format->has_shape && from == NULL) {
    return rlo__fail("%s holds bare bytes: give their shape with --from", path);
  }
  rlo__input_file file;
  int code = rlo__input_file_open(path, &file);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo__file_contents contents;
  code = format->read_header(&file, from, &contents);
  if (code == RLO__EXIT_OK) {
    code = read_data(&file, &contents, out_array);
  }
  rlo__input_file_close(&file);
  return code;
}

void rlo__array_deinit(rlo__array *array) {
  free(array->data);
  array->data = NULL;
}

/* `header` has room for RLO__MAX_HEADER_BYTES. */
static int make_output(const rlo__array_target *target,
                       char *header,
                       rlo__output *out_output) {
  rlo_shape_extent extent = {0};
  *out_output = (rlo__output){target->path, header, 0, target->data, 0};
  if (rlo_shape_measure(target->shape, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  out_output->data_bytes = (size_t)extent.physical_bytes;
  return find_format(target->path)
      ->make_header(target->shape, header, &out_output->head_bytes);
}

static int write_outputs(const rlo__array_target *targets,
                         int32_t count,
                         char (*headers)[RLO__MAX_HEADER_BYTES],
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
  char(*headers)[RLO__MAX_HEADER_BYTES] =
      calloc((size_t)count, sizeof(*headers));
  rlo__output *outputs = calloc((size_t)count, sizeof(*outputs));
  int code = headers == NULL || outputs == NULL
                 ? rlo__fail("cannot get memory for %d files", count)
                 : write_outputs(targets, count, headers, outputs);
  free(outputs);
  free(headers);
  return code;
}
