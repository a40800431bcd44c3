/* SPDX-License-Identifier: Apache-2.0 */
#include "array_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayout/index.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "message.h"

/* Names that end in no suffix of the table have the first format. */
static const rlo__file_format *const formats[] = {
    &rlo__format_npy,
    &rlo__format_raw,
    &rlo__format_safetensors,
};

#define NUM_FORMATS  (sizeof(formats) / sizeof(formats[0]))
#define MAX_SUFFIXES (sizeof(formats[0]->suffixes) / sizeof(char *))

static bool ends_in(const char *path, const char *suffix) {
  size_t length = strlen(path);
  size_t suffix_length = strlen(suffix);
  return length >= suffix_length && strcmp(path + length - suffix_length, suffix) == 0;
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
  int column = fprintf(out, "  %s", format->suffixes[0]);
  for (size_t s = 1; s < MAX_SUFFIXES && format->suffixes[s] != NULL; ++s) {
    column += fprintf(out, ", %s", format->suffixes[s]);
  }
  for (const char *line = format->help; *line != '\0';) {
    size_t length = strcspn(line, "\n") + 1;
    fprintf(out, "%*s", 16 - column, "");
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
          "\nA file with any other name has the format of %s. - is standard input or\n"
          "output; what is printed goes to standard error then.\n",
          formats[0]->suffixes[0]);
}

/* ------------------------------------------------------------------ values */

bool rlo__values_may_be_cut(const rlo_shape *src, const rlo_shape *dst) {
  int64_t bits = rlo_shape_element_size_bits(src);
  return src->dtype == dst->dtype && src->dtype != RLO_DTYPE_PRED &&
         bits != rlo_shape_element_size_bits(dst) && bits > rlo_dtype_value_bits(src->dtype);
}

static bool bit_at(const unsigned char *bytes, int64_t bit) {
  return (bytes[bit / 8] >> (bit % 8) & 1) != 0;
}

/* The sizes of an element. */
typedef struct element {
  int64_t bits;
  int32_t value_bits;
  bool is_signed;
  bool has_sign;
} element;

/* Returns whether an element that begins at a bit, and is wider than its value,
 * is a value of its type. */
static bool is_value(const element *e, const unsigned char *bytes, int64_t first_bit) {
  const bool sign = e->is_signed && bit_at(bytes, first_bit + e->value_bits - 1);
  const bool top = bit_at(bytes, first_bit + e->value_bits);
  for (int64_t b = e->value_bits + 1; b < e->bits; ++b) {
    if (bit_at(bytes, first_bit + b) != top) {
      return false;
    }
  }
  return top ? sign : !sign || !e->has_sign;
}

/* A slot has bits above the value: an error if it holds an element. */
static rlo_status report(const rlo__array_source *source, const rlo_address_map *map,
                         const element *e, int64_t slot) {
  int64_t index[RLO_MAX_RANK] = {0};
  bool is_element = true;
  if (rlo_address_map_element(map, slot, index, &is_element) == RLO_OK && !is_element) {
    return RLO_OK;
  }
  return rlo_error_set(
      RLO_OUT_OF_RANGE, "slot %" PRId64 " of %s is no %s: it has bits above the lowest %d", slot,
      source->file.path, rlo_dtype_name(source->contents.shape.dtype), (int)e->value_bits);
}

/* Checks a part of an array, which begins at `offset_bytes`: in each element
 * the bits above the value are 0, or, of a negative integer, 1. Slots that hold
 * no element are passed over, and so are elements that lie in the part with
 * some of their bits only. The message has the slot of the first element that
 * is no value. */
static rlo_status check_values(const rlo__array_source *source, int64_t offset_bytes,
                               const unsigned char *bytes, size_t num_bytes) {
  const rlo_shape *shape = &source->contents.shape;
  const element e = {rlo_shape_element_size_bits(shape), rlo_dtype_value_bits(shape->dtype),
                     rlo_dtype_is_signed(shape->dtype) && rlo_dtype_is_integral(shape->dtype),
                     source->contents.has_signs};
  rlo_address_map map;
  RLO_TRY(rlo_address_map_make(shape, &map));
  /* Most elements of this kind are bytes. */
  bool is_byte_value[256];
  for (int b = 0; b < 256; ++b) {
    const unsigned char byte = (unsigned char)b;
    is_byte_value[b] = e.bits == 8 && is_value(&e, &byte, 0);
  }
  int64_t begin = offset_bytes * 8;
  int64_t end = begin + (int64_t)num_bytes * 8;
  int64_t slot = (begin + e.bits - 1) / e.bits;
  for (; slot < map.slots && (slot + 1) * e.bits <= end; ++slot) {
    int64_t bit = slot * e.bits - begin;
    if (is_byte_value[bytes[bit / 8]] || is_value(&e, bytes, bit)) {
      continue;
    }
    RLO_TRY(report(source, &map, &e, slot));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------------- reading */

/* Returns the width of the numbers of an element type: half of a complex
 * element. */
static size_t number_width_bytes(rlo_dtype dtype) {
  const int numbers = rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_COMPLEX ? 2 : 1;
  return (size_t)rlo_dtype_storage_bits(dtype) / 8 / (size_t)numbers;
}

static void swap_bytes(unsigned char *data, size_t bytes, size_t width) {
  for (size_t at = 0; width > 1 && at + width <= bytes; at += width) {
    for (size_t low = 0, high = width - 1; low < high; ++low, --high) {
      unsigned char byte = data[at + low];
      data[at + low] = data[at + high];
      data[at + high] = byte;
    }
  }
}

/* The format's reason against what is given or missing. */
static int check_hints(const char *path, const rlo__file_format *format,
                       const rlo__file_hints *hints) {
  if (format->make_header != NULL) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_IF(hints->array >= 0,
               "%s holds bare bytes: --offset says where an array begins there, and --array is for "
               ".npy files",
               path);
  return hints->from != NULL ? RLO__EXIT_OK
                             : rlo__fail("%s holds bare bytes%s: give their shape with --from",
                                         path, hints->offset_bytes >= 0 ? ", by --offset" : "");
}

int rlo__array_source_swap(rlo__array_source *source, const rlo_shape *dst, rlo_problem *problem) {
  const size_t width = number_width_bytes(dst->dtype);
  const bool is_swapped = source->swapped_width_bytes > 1;
  RLO__EXIT_IF(
      width > 1 && (problem->update != RLO_UPDATE_STORE ||
                    rlo_shape_element_size_bits(dst) != rlo_dtype_storage_bits(dst->dtype) ||
                    (is_swapped && source->swapped_width_bytes != width)),
      "--byte-order is for elements of their type's size; write %s with that of this machine",
      rlo_dtype_name(dst->dtype));
  source->swapped_width_bytes = is_swapped ? 1 : width;
  swap_bytes(problem->fill, (size_t)problem->unit_bits / 8, width);
  return RLO__EXIT_OK;
}

bool rlo__array_file_has_members(const char *path) {
  struct stat st;
  return find_format(path)->open_member != NULL || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Splits FOLDER::NAME and FILE::NAME, whose file has a format with members. Returns the
 * name; NULL, and the whole path, for any other one, and for a file with such a name. */
static const char *split_path(const char *path, char out_path[PATH_MAX]) {
  const char *mark = strstr(path, "::");
  (void)snprintf(out_path, PATH_MAX, "%.*s", mark == NULL ? 0 : (int)(mark - path), path);
  if (mark != NULL && access(path, F_OK) != 0 && rlo__array_file_has_members(out_path)) {
    return mark + 2;
  }
  (void)snprintf(out_path, PATH_MAX, "%s", path);
  return NULL;
}

static int open_contents(const char *path, const rlo__file_hints *hints, rlo__array_source *source,
                         const rlo__file_format **out_format) {
  char container[PATH_MAX];
  const char *member = hints->offset_bytes >= 0 ? NULL : split_path(path, container);
  const rlo__file_format *format = hints->offset_bytes >= 0 ? &rlo__format_raw
                                   : member != NULL         ? &rlo__format_safetensors
                                                            : find_format(path);
  *out_format = format;
  RLO__EXIT_TRY(check_hints(path, format, hints));
  if (format->open_member != NULL) {
    RLO__EXIT_TRY(format->open_member(container, member, hints, &source->file, &source->contents));
    source->file.path = path;
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__input_file_open(path, hints->memory_bytes, &source->file));
  int code = hints->array < 0 ? RLO__EXIT_OK : rlo__input_file_hold(&source->file);
  if (code == RLO__EXIT_OK) {
    code = format->read_header(&source->file, hints, &source->contents);
  }
  if (code != RLO__EXIT_OK) {
    rlo__input_file_close(&source->file);
  }
  return code;
}

static int measure_contents(rlo__array_source *source) {
  source->swapped_width_bytes = number_width_bytes(source->contents.swapped_type);
  return rlo__check(rlo_shape_array_size(&source->contents.shape, &source->bytes));
}

int rlo__array_source_open(const char *path, const rlo__file_hints *hints,
                           rlo__array_source *out_source) {
  *out_source = (rlo__array_source){0};
  const rlo__file_format *format;
  RLO__EXIT_TRY(open_contents(path, hints, out_source, &format));
  out_source->has_header = format->make_header != NULL;
  const int code = measure_contents(out_source);
  if (code != RLO__EXIT_OK) {
    rlo__array_source_close(out_source);
  }
  return code;
}

int rlo__array_source_hold(rlo__array_source *source) {
  const int64_t end = source->contents.offset_bytes + source->bytes;
  const int64_t *size = &source->file.size_bytes;
  const bool is_pipe = source->file.pipe != 0;
  RLO__EXIT_TRY(rlo__input_file_hold(&source->file));
  return !is_pipe || *size == end || (*size > end && source->contents.has_rest)
             ? RLO__EXIT_OK
             : rlo__fail("%s has %" PRId64 " bytes; its array ends at byte %" PRId64,
                         source->file.path, *size, end);
}

void rlo__array_source_close(const rlo__array_source *source) {
  rlo__input_file_close(&source->file);
  rlo__free(source->memory);
}

int64_t rlo__array_source_granule_bytes(const rlo__array_source *source) {
  const int64_t width = rlo__max(1, (int64_t)source->swapped_width_bytes);
  const int64_t bits =
      source->has_checked_values ? rlo_shape_element_size_bits(&source->contents.shape) : 8;
  int64_t bytes = 1;
  while (bytes * 8 % bits != 0 || bytes % width != 0) {
    ++bytes;
  }
  return bytes;
}

/* A file as a storage of values in this machine's byte order: the threads that
 * read it swap and check them. The payload is a source with a descriptor of its
 * own. */

/* Swaps and checks: the storage's granule is whole numbers. */
static rlo_status read_filtered(void *payload, int64_t offset, int64_t bytes, void *into) {
  rlo__array_source *source = payload;
  const int64_t at = source->contents.offset_bytes + offset;
  RLO_TRY(rlo__input_file_take(&source->file, at, into, bytes));
  RLO_FAIL_IF(source->file.pipe != 0 && offset + bytes == source->bytes &&
                  !source->contents.has_rest && rlo__input_file_goes_on(&source->file),
              RLO_DATA_LOSS, "%s goes on behind its array, which ends at byte %" PRId64,
              source->file.path, at + bytes);
  swap_bytes(into, (size_t)bytes, source->swapped_width_bytes);
  return source->has_checked_values ? check_values(source, offset, into, (size_t)bytes) : RLO_OK;
}

int rlo__array_source_read(rlo__array_source *source, void *out_bytes) {
  RLO__EXIT_TRY(rlo__array_source_hold(source));
  return rlo__check(read_filtered(source, 0, source->bytes, out_bytes));
}

/* A number that changes with the file and the part of it. */
static rlo_status identify_filtered(void *payload, uint64_t *out_number) {
  const rlo__array_source *source = payload;
  struct stat st;
  if (fstat(source->file.descriptor, &st) != 0) {
    return rlo__file_fail("cannot look at", source->file.path, errno);
  }
  const int64_t facts[] = {(int64_t)st.st_ino,
                           st.st_size,
                           st.st_mtim.tv_sec,
                           st.st_mtim.tv_nsec,
                           source->contents.offset_bytes,
                           (int64_t)source->swapped_width_bytes};
  rlo__hash hash = rlo__hash_init(0);
  rlo__hash_bytes(&hash, facts, sizeof(facts));
  *out_number = rlo__hash_finish_u64(&hash);
  return RLO_OK;
}

static void release_filtered(void *payload) {
  rlo__array_source *source = payload;
  rlo__array_source_close(source);
  rlo__free(source);
}

static rlo_status make_filtered_storage(const rlo__array_source *source,
                                        rlo_storage **out_storage) {
  rlo__array_source *copy = rlo__alloc(sizeof(*copy));
  RLO_TRY_MEMORY(copy);
  *copy = *source;
  copy->file.descriptor = fcntl(source->file.descriptor, F_DUPFD_CLOEXEC, 0);
  copy->file.pipe = source->file.pipe == 0 ? 0 : fcntl(source->file.pipe, F_DUPFD_CLOEXEC, 0);
  if (copy->file.descriptor < 0 || copy->file.pipe < 0) {
    rlo__free(copy);
    return rlo__file_fail("cannot open again", source->file.path, errno);
  }
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_filtered;
  ops.release = release_filtered;
  ops.identify = identify_filtered;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = source->bytes;
  traits.granule_bytes = rlo__array_source_granule_bytes(source);
  traits.is_read_only = true;
  traits.is_forward = source->file.pipe != 0;
  rlo_status status = rlo_storage_create(&ops, copy, &traits, out_storage);
  if (status != RLO_OK) {
    release_filtered(copy);
  }
  return status;
}

rlo_status rlo__array_source_storage(const rlo__array_source *source,
                                     const rlo_storage_traits *hints, rlo_storage **out_storage) {
  if (source->memory != NULL) {
    return rlo_storage_from_memory(source->memory, source->bytes, out_storage);
  }
  return source->swapped_width_bytes > 1 || source->has_checked_values || source->file.pipe != 0
             ? make_filtered_storage(source, out_storage)
             : rlo_storage_from_fd(source->file.descriptor, source->contents.offset_bytes,
                                   source->bytes, hints, out_storage);
}

/* ----------------------------------------------------------------- writing */

int rlo__array_make_header(const char *path, const rlo_shape *shape, bool is_swapped,
                           const rlo_digest *digest, char *out_header, size_t *out_bytes) {
  const rlo__file_format *format = find_format(path);
  *out_bytes = 0;
  return format->make_header == NULL
             ? RLO__EXIT_OK
             : format->make_header(shape, is_swapped, digest, out_header, out_bytes);
}

int rlo__array_save(const char *path, const rlo_shape *shape, bool is_swapped,
                    const rlo_digest *digest, const void *data, int64_t bytes) {
  char head[RLO__MAX_HEADER_BYTES];
  size_t head_bytes = 0;
  RLO__EXIT_TRY(rlo__array_make_header(path, shape, is_swapped, digest, head, &head_bytes));
  return rlo__output_write(path, head, head_bytes, data, (size_t)bytes);
}
