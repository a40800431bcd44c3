/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "relayout/text.h"

#include "message.h"
#include "op_catalog.h"

/* JSON text that becomes attributes. */
typedef struct reader {
  rlo__op_attributes *attributes;
  /* Of the file, for messages. */
  const char *path;
} reader;

/* A value, and where it is: "options.sizes" of a map in a map. */
typedef struct place {
  const struct place *outer;
  const char *name;
  int32_t depth;
} place;

static int convert(const reader *r,
                   const place *at,
                   uint32_t types,
                   json_t *value,
                   rlo_attribute *out);

/* ---------------------------------------------------------------- messages */

static size_t print_place(const place *at, char *out, size_t capacity) {
  size_t length = 0;
  if (at->outer != NULL) {
    length = print_place(at->outer, out, capacity);
    length += (size_t)snprintf(
        out + length, capacity - length, "%s", length > 0 ? "." : "");
  }
  if (length < capacity) {
    length += (size_t)snprintf(out + length, capacity - length, "%s", at->name);
  }
  return length < capacity ? length : capacity - 1;
}

/* "FILE: 'options.sizes' <what>" */
static int fail_at(const reader *r, const place *at, const char *what) {
  char name[256] = "";
  print_place(at, name, sizeof(name));
  return rlo__fail("%s: '%s' %s", r->path, name, what);
}

/* ------------------------------------------------------------------- lists */

static bool is_integer_of_double(json_int_t integer) {
  double rounded = (double)integer;
  return rounded < 0x1p63 && (json_int_t)rounded == integer;
}

/* The type of a list by what is in it; 0 if that is no list of one type.
 * `types` is what the kernel takes, 0 if that is not known. */
static uint32_t list_type(const json_t *list, uint32_t types) {
  size_t count = json_array_size(list);
  size_t integers = 0;
  size_t reals = 0;
  size_t booleans = 0;
  size_t strings = 0;
  for (size_t i = 0; i < count; ++i) {
    const json_t *value = json_array_get(list, i);
    integers += json_is_integer(value);
    reals += json_is_real(value);
    booleans += json_is_boolean(value);
    strings += json_is_string(value);
  }
  bool is_shapes = (types & RLO_ATTRIBUTE_SHAPES) != 0 &&
                   (types & RLO_ATTRIBUTE_STRINGS) == 0;
  bool is_real =
      (types & RLO_ATTRIBUTE_F64S) != 0 && (types & RLO_ATTRIBUTE_I64S) == 0;
  if (count == 0) {
    const uint32_t lists = RLO_ATTRIBUTE_I64S | RLO_ATTRIBUTE_F64S |
                           RLO_ATTRIBUTE_BOOLS | RLO_ATTRIBUTE_STRINGS |
                           RLO_ATTRIBUTE_SHAPES;
    uint32_t wanted = types & lists;
    return wanted != 0 ? wanted & -wanted : RLO_ATTRIBUTE_I64S;
  }
  if (strings == count) {
    return is_shapes ? RLO_ATTRIBUTE_SHAPES : RLO_ATTRIBUTE_STRINGS;
  }
  if (booleans == count) {
    return RLO_ATTRIBUTE_BOOLS;
  }
  if (integers == count && !is_real) {
    return RLO_ATTRIBUTE_I64S;
  }
  return integers + reals == count ? RLO_ATTRIBUTE_F64S : 0;
}

static int convert_shape(const reader *r,
                         const place *at,
                         const json_t *text,
                         rlo_shape *out_shape) {
  if (rlo_shape_parse(json_string_value(text),
                      json_string_length(text),
                      out_shape) != RLO_OK) {
    char what[512];
    snprintf(what, sizeof(what), "is no shape: %s", rlo_error_last()->message);
    return fail_at(r, at, what);
  }
  return RLO__EXIT_OK;
}

static const char *copy_text(const reader *r, const json_t *text) {
  size_t bytes = json_string_length(text) + 1;
  char *copy = rlo__op_attributes_allocate(r->attributes, bytes, 1);
  if (copy != NULL) {
    memcpy(copy, json_string_value(text), bytes);
  }
  return copy;
}

/* Converts element i of a list. `entries` has room for the list. */
static int convert_entry(const reader *r,
                         const place *at,
                         uint32_t type,
                         const json_t *value,
                         void *entries,
                         size_t i) {
  switch (type) {
    case RLO_ATTRIBUTE_I64S:
      ((int64_t *)entries)[i] = json_integer_value(value);
      return RLO__EXIT_OK;
    case RLO_ATTRIBUTE_F64S:
      ((double *)entries)[i] = json_number_value(value);
      return !json_is_integer(value) ||
                     is_integer_of_double(json_integer_value(value))
                 ? RLO__EXIT_OK
                 : fail_at(r, at, "has an integer that no double holds");
    case RLO_ATTRIBUTE_BOOLS:
      ((bool *)entries)[i] = json_is_true(value);
      return RLO__EXIT_OK;
    case RLO_ATTRIBUTE_SHAPES:
      return convert_shape(r, at, value, &((rlo_shape *)entries)[i]);
    default:
      ((const char **)entries)[i] = copy_text(r, value);
      return ((const char **)entries)[i] != NULL ? RLO__EXIT_OK
                                                 : RLO__EXIT_FAILURE;
  }
}

static size_t entry_bytes(uint32_t type) {
  switch (type) {
    case RLO_ATTRIBUTE_I64S:
      return sizeof(int64_t);
    case RLO_ATTRIBUTE_F64S:
      return sizeof(double);
    case RLO_ATTRIBUTE_BOOLS:
      return sizeof(bool);
    case RLO_ATTRIBUTE_SHAPES:
      return sizeof(rlo_shape);
    default:
      return sizeof(const char *);
  }
}

static int convert_list(const reader *r,
                        const place *at,
                        uint32_t types,
                        const json_t *list,
                        rlo_attribute *out) {
  uint32_t type = list_type(list, types);
  size_t count = json_array_size(list);
  if (type == 0 || count > INT32_MAX) {
    return fail_at(
        r, at, "is no list of integers, of numbers, of flags or of texts");
  }
  void *entries =
      rlo__op_attributes_allocate(r->attributes, count, entry_bytes(type));
  if (entries == NULL) {
    return RLO__EXIT_FAILURE;
  }
  for (size_t i = 0; i < count; ++i) {
    int code = convert_entry(r, at, type, json_array_get(list, i), entries, i);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  switch (type) {
    case RLO_ATTRIBUTE_I64S:
      *out = rlo_attribute_i64s(at->name, entries, (int32_t)count);
      break;
    case RLO_ATTRIBUTE_F64S:
      *out = rlo_attribute_f64s(at->name, entries, (int32_t)count);
      break;
    case RLO_ATTRIBUTE_BOOLS:
      *out = rlo_attribute_bools(at->name, entries, (int32_t)count);
      break;
    case RLO_ATTRIBUTE_SHAPES:
      *out = rlo_attribute_shapes(at->name, entries, (int32_t)count);
      break;
    default:
      *out = rlo_attribute_strings(at->name, entries, (int32_t)count);
      break;
  }
  return RLO__EXIT_OK;
}

/* ------------------------------------------------------------------ values */

static int convert_integer(const reader *r,
                           const place *at,
                           uint32_t types,
                           json_int_t integer,
                           rlo_attribute *out) {
  *out = rlo_attribute_i64(at->name, integer);
  if ((types & RLO_ATTRIBUTE_F64) == 0 || (types & RLO_ATTRIBUTE_I64) != 0) {
    return RLO__EXIT_OK;
  }
  *out = rlo_attribute_f64(at->name, (double)integer);
  return is_integer_of_double(integer)
             ? RLO__EXIT_OK
             : fail_at(r, at, "is an integer that no double holds");
}

static int convert_text(const reader *r,
                        const place *at,
                        uint32_t types,
                        const json_t *text,
                        rlo_attribute *out) {
  if ((types & RLO_ATTRIBUTE_SHAPE) != 0 &&
      (types & RLO_ATTRIBUTE_STRING) == 0) {
    rlo_shape *shape =
        rlo__op_attributes_allocate(r->attributes, 1, sizeof(*shape));
    *out = rlo_attribute_shape(at->name, shape);
    return shape != NULL ? convert_shape(r, at, text, shape)
                         : RLO__EXIT_FAILURE;
  }
  *out = rlo_attribute_string(at->name, copy_text(r, text));
  return out->value.string != NULL ? RLO__EXIT_OK : RLO__EXIT_FAILURE;
}

/* Copies a name, which attributes point to. */
static int name_place(const reader *r,
                      const place *outer,
                      const char *key,
                      place *out) {
  size_t bytes = strlen(key) + 1;
  char *name = rlo__op_attributes_allocate(r->attributes, bytes, 1);
  if (name == NULL) {
    return RLO__EXIT_FAILURE;
  }
  memcpy(name, key, bytes);
  *out = (place){outer, name, outer != NULL ? outer->depth + 1 : 0};
  return RLO__EXIT_OK;
}

static int convert_map(const reader *r,
                       const place *at,
                       json_t *object,
                       rlo_attribute *out) {
  size_t count = json_object_size(object);
  rlo_attributes *map =
      rlo__op_attributes_allocate(r->attributes, 1, sizeof(*map));
  rlo_attribute *items =
      rlo__op_attributes_allocate(r->attributes, count, sizeof(*items));
  if (map == NULL || items == NULL) {
    return RLO__EXIT_FAILURE;
  }
  if (at->depth >= RLO_MAX_ATTRIBUTE_DEPTH || count > INT32_MAX) {
    return fail_at(r, at, "nests too deep, or has too many values");
  }
  *map = (rlo_attributes){items, (int32_t)count};
  *out = rlo_attribute_map(at->name, map);
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(object, key, value) {
    place inner;
    int code = name_place(r, at, key, &inner);
    if (code == RLO__EXIT_OK) {
      code = convert(r, &inner, 0, value, items++);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

static int convert(const reader *r,
                   const place *at,
                   uint32_t types,
                   json_t *value,
                   rlo_attribute *out) {
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      return convert_map(r, at, value, out);
    case JSON_ARRAY:
      return convert_list(r, at, types, value, out);
    case JSON_STRING:
      return convert_text(r, at, types, value, out);
    case JSON_INTEGER:
      return convert_integer(r, at, types, json_integer_value(value), out);
    case JSON_REAL:
      *out = rlo_attribute_f64(at->name, json_real_value(value));
      return RLO__EXIT_OK;
    case JSON_TRUE:
    case JSON_FALSE:
      *out = rlo_attribute_bool(at->name, json_is_true(value));
      return RLO__EXIT_OK;
    case JSON_NULL:
      break;
  }
  return fail_at(r, at, "is null; leave out what has no value");
}

static int convert_all(const reader *r,
                       const rlo_kernel_config *kernel,
                       json_t *object) {
  const char *key = NULL;
  json_t *value = NULL;
  if (!json_is_object(object)) {
    return rlo__fail("%s: attributes are an object: {\"NAME\": VALUE, ...}",
                     r->path);
  }
  json_object_foreach(object, key, value) {
    place at;
    rlo_attribute *item = rlo__op_attributes_append(r->attributes);
    if (item == NULL) {
      return RLO__EXIT_USAGE;
    }
    int code = name_place(r, NULL, key, &at);
    if (code == RLO__EXIT_OK) {
      code = convert(r, &at, rlo__op_attribute_types(kernel, key), value, item);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

/* -------------------------------------------------------------------- file */

/* Parses a file; NULL after a message. */
static json_t *load(FILE *file, const char *path) {
  json_error_t error;
  json_t *root =
      json_loadf(file, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (root == NULL) {
    if (ferror(file)) {
      rlo__fail("cannot read %s: %s", path, strerror(errno));
    } else {
      rlo__fail("%s:%d:%d: %s", path, error.line, error.column, error.text);
    }
  }
  return root;
}

int rlo__op_attributes_add_file(rlo__op_attributes *attributes,
                                const rlo_kernel_config *kernel,
                                const char *path) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const reader r = {attributes, is_stdin ? "standard input" : path};
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  if (file == NULL) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  json_t *root = load(file, r.path);
  int code = root != NULL ? convert_all(&r, kernel, root) : RLO__EXIT_FAILURE;
  json_decref(root);
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}
