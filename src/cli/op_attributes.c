/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/text.h"

#include "message.h"
#include "op_catalog.h"
#include "options.h"

/* JSON that becomes attributes. */
typedef struct reader {
  rlo__op_attributes *attributes;
  /* The file or the option, for messages. */
  const char *origin;
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
  return rlo__fail("%s: '%s' %s", r->origin, name, what);
}

static int fail_value(const rlo_attribute_spec *spec, const char *text) {
  return rlo__fail_usage("op",
                         "--attr %s: '%s' is not of its type: %s",
                         spec->name,
                         text,
                         rlo__attribute_type_name(spec->types));
}

static int fail_unknown(const rlo_kernel_config *kernel,
                        const char *name,
                        size_t length) {
  char known[512] = "";
  size_t at = 0;
  for (int32_t n = 0; n < kernel->num_attributes && at < sizeof(known); ++n) {
    at += (size_t)snprintf(known + at,
                           sizeof(known) - at,
                           "%s%s",
                           n == 0 ? "" : ", ",
                           kernel->attributes[n].name);
  }
  return rlo__fail_usage(
      "op",
      "%s has no attribute '%.*s'; %s%s",
      kernel->kernel_name,
      (int)length,
      name,
      known[0] == '\0' ? "it takes none" : "its attributes are ",
      known);
}

/* ------------------------------------------------------------------- memory */

/* A part of the memory of attributes. */
typedef struct rlo__op_block {
  struct rlo__op_block *next;
  max_align_t data[];
} rlo__op_block;

/* Zeroed memory for `count` elements, which lives as long as the attributes;
 * NULL after a message. */
static void *allocate(const reader *r, size_t count, size_t element_bytes) {
  rlo__op_block *block = NULL;
  if (count <= (SIZE_MAX - sizeof(*block)) / element_bytes) {
    block = calloc(1, sizeof(*block) + count * element_bytes);
  }
  if (block == NULL) {
    rlo__fail("cannot get memory for %zu values of an attribute", count);
    return NULL;
  }
  block->next = r->attributes->blocks;
  r->attributes->blocks = block;
  return block->data;
}

/* Keeps JSON, in which attributes have their names and texts; takes it over.
 * NULL is legal, and stays so. */
static json_t *keep(rlo__op_attributes *attributes, json_t *value) {
  if (attributes->kept == NULL) {
    attributes->kept = json_array();
  }
  return json_array_append_new(attributes->kept, value) == 0 ? value : NULL;
}

void rlo__op_attributes_deinit(rlo__op_attributes *attributes) {
  while (attributes->blocks != NULL) {
    rlo__op_block *block = attributes->blocks;
    attributes->blocks = block->next;
    free(block);
  }
  json_decref(attributes->kept);
  *attributes = (rlo__op_attributes){0};
}

static rlo_attribute *append(rlo__op_attributes *attributes) {
  if (attributes->count == RLO__MAX_OP_ATTRIBUTES) {
    rlo__fail_usage("op", "more than %d attributes", RLO__MAX_OP_ATTRIBUTES);
    return NULL;
  }
  return &attributes->items[attributes->count++];
}

static const rlo_attribute_spec *find_spec(const rlo_kernel_config *kernel,
                                           const char *name,
                                           size_t length) {
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const char *known = kernel->attributes[n].name;
    if (strlen(known) == length && memcmp(known, name, length) == 0) {
      return &kernel->attributes[n];
    }
  }
  return NULL;
}

/* ------------------------------------------------------------------- values */

/* The kind of a value that is no list; 0 if there is none. `types` is what the
 * kernel takes, 0 if that is not known. */
static uint32_t kind_of(const json_t *value, uint32_t types) {
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      return RLO_ATTRIBUTE_MAP;
    case JSON_STRING:
      return (types & (RLO_ATTRIBUTE_SHAPE | RLO_ATTRIBUTE_STRING)) ==
                     RLO_ATTRIBUTE_SHAPE
                 ? RLO_ATTRIBUTE_SHAPE
                 : RLO_ATTRIBUTE_STRING;
    case JSON_INTEGER:
      return (types & (RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64)) ==
                     RLO_ATTRIBUTE_F64
                 ? RLO_ATTRIBUTE_F64
                 : RLO_ATTRIBUTE_I64;
    case JSON_REAL:
      return RLO_ATTRIBUTE_F64;
    case JSON_TRUE:
    case JSON_FALSE:
      return RLO_ATTRIBUTE_I64;
    default:
      return 0;
  }
}

/* The kind of the entries of a list; 0 if they have none in common. */
static uint32_t kind_of_entries(const json_t *list, uint32_t types) {
  const uint32_t numbers = RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_F64;
  uint32_t kinds = 0;
  size_t i = 0;
  json_t *value = NULL;
  json_array_foreach(list, i, value) {
    uint32_t kind = kind_of(value, types);
    if (kind == 0 || kind == RLO_ATTRIBUTE_MAP) {
      return 0;
    }
    kinds |= kind;
  }
  if (i == 0) {
    types &= ~(uint32_t)(RLO_ATTRIBUTE_LIST | RLO_ATTRIBUTE_MAP);
    return types != 0 ? types & -types : RLO_ATTRIBUTE_I64;
  }
  return kinds == numbers             ? RLO_ATTRIBUTE_F64
         : (kinds & (kinds - 1)) == 0 ? kinds
                                      : 0;
}

/* Converts a value to an entry of its kind, which is no map. */
static int convert_entry(const reader *r,
                         const place *at,
                         uint32_t kind,
                         const json_t *value,
                         void *entry) {
  const double number = json_number_value(value);
  switch (kind) {
    case RLO_ATTRIBUTE_I64:
      *(int64_t *)entry = json_is_boolean(value) ? json_is_true(value)
                                                 : json_integer_value(value);
      return RLO__EXIT_OK;
    case RLO_ATTRIBUTE_F64:
      *(double *)entry = number;
      return !json_is_integer(value) ||
                     (number < 0x1p63 &&
                      (json_int_t)number == json_integer_value(value))
                 ? RLO__EXIT_OK
                 : fail_at(r, at, "has an integer that no double holds");
    case RLO_ATTRIBUTE_STRING:
      *(const char **)entry = json_string_value(value);
      return RLO__EXIT_OK;
    default:
      break;
  }
  if (rlo_shape_parse(json_string_value(value),
                      json_string_length(value),
                      entry) != RLO_OK) {
    char what[512];
    snprintf(what, sizeof(what), "is no shape: %s", rlo_error_last()->message);
    return fail_at(r, at, what);
  }
  return RLO__EXIT_OK;
}

static int convert_list(const reader *r,
                        const place *at,
                        uint32_t types,
                        const json_t *list,
                        rlo_attribute *out) {
  const uint32_t kind = kind_of_entries(list, types);
  const size_t count = json_array_size(list);
  size_t bytes = sizeof(int64_t);
  if (kind == RLO_ATTRIBUTE_SHAPE) {
    bytes = sizeof(rlo_shape);
  } else if (kind == RLO_ATTRIBUTE_STRING) {
    bytes = sizeof(const char *);
  }
  if (kind == 0 || count > INT32_MAX) {
    return fail_at(
        r, at, "is no list of integers, of numbers, of flags or of texts");
  }
  char *entries = allocate(r, count, bytes);
  int code = entries != NULL ? RLO__EXIT_OK : RLO__EXIT_FAILURE;
  for (size_t i = 0; i < count && code == RLO__EXIT_OK; ++i) {
    code = convert_entry(
        r, at, kind, json_array_get(list, i), entries + i * bytes);
  }
  out->type = kind | RLO_ATTRIBUTE_LIST;
  out->count = (int32_t)count;
  out->value.list = entries;
  return code;
}

static int convert_map(const reader *r,
                       const place *at,
                       json_t *object,
                       rlo_attribute *out) {
  const size_t count = json_object_size(object);
  rlo_attributes *map = allocate(r, 1, sizeof(*map));
  rlo_attribute *items = allocate(r, count, sizeof(*items));
  if (map == NULL || items == NULL) {
    return RLO__EXIT_FAILURE;
  }
  if (at->depth >= RLO_MAX_ATTRIBUTE_DEPTH || count > INT32_MAX) {
    return fail_at(r, at, "nests too deep, or has too many values");
  }
  *map = (rlo_attributes){items, (int32_t)count};
  out->type = RLO_ATTRIBUTE_MAP;
  out->value.map = map;
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(object, key, value) {
    const place inner = {at, key, at->depth + 1};
    int code = convert(r, &inner, 0, value, items++);
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
  *out = (rlo_attribute){.name = at->name, .count = 1};
  if (json_is_array(value)) {
    return convert_list(r, at, types, value, out);
  }
  if (json_is_object(value)) {
    return convert_map(r, at, value, out);
  }
  out->type = kind_of(value, types);
  if (out->type == 0) {
    return fail_at(r, at, "is null; leave out what has no value");
  }
  void *entry = &out->value;
  if (out->type == RLO_ATTRIBUTE_SHAPE) {
    entry = allocate(r, 1, sizeof(rlo_shape));
    out->value.shape = entry;
  }
  return entry != NULL ? convert_entry(r, at, out->type, value, entry)
                       : RLO__EXIT_FAILURE;
}

/* ------------------------------------------------------------- command line */

/* Numbers that JSON has not: infinities, NaN, hexadecimal ones, .5, 007, and
 * integers of 64 bits without a sign, as a word and 0. */
static int parse_number(const reader *r,
                        const rlo_attribute_spec *spec,
                        const char *text,
                        rlo_attribute *out) {
  char *end = NULL;
  const char *rest = text;
  const char *digits = text[0] == '-' ? text + 1 : text;
  const bool is_whole = digits[strspn(digits, "0123456789")] == '\0';
  int64_t integer = 0;
  if (is_whole && rlo__int64_read(&rest, &integer)) {
    *out = rlo_attribute_i64(spec->name, integer);
    return RLO__EXIT_OK;
  }
  *out = rlo_attribute_f64(spec->name, strtod(text, &end));
  if ((spec->types & RLO_ATTRIBUTE_F64) == 0 || end == text || *end != '\0' ||
      isspace((unsigned char)text[0])) {
    return fail_value(spec, text);
  }
  if (!is_whole) {
    return RLO__EXIT_OK;
  }
  errno = 0;
  const unsigned long long large = strtoull(text, NULL, 10);
  if (text[0] == '-' || errno != 0) {
    return rlo__fail_usage("op",
                           "--attr %s: %s does not fit 64 bits; write a float "
                           "with a point or an exponent",
                           spec->name,
                           text);
  }
  int64_t *words = allocate(r, 2, sizeof(*words));
  if (words == NULL) {
    return RLO__EXIT_FAILURE;
  }
  words[0] = (int64_t)large;
  *out = rlo_attribute_i64s(spec->name, words, 2);
  return RLO__EXIT_OK;
}

/* The JSON of a value on the command line, which may leave out the quotes of a
 * text and the brackets of a list, "-" for an empty one; NULL if it is none. */
static json_t *load_value(const rlo_attribute_spec *spec, const char *text) {
  const bool is_bare = strchr("[{\"", text[0]) == NULL || text[0] == '\0';
  if ((spec->types & (RLO_ATTRIBUTE_STRING | RLO_ATTRIBUTE_SHAPE)) != 0 &&
      (is_bare || (spec->types & RLO_ATTRIBUTE_SHAPE) != 0)) {
    return json_string(text);
  }
  if ((spec->types & RLO_ATTRIBUTE_LIST) == 0 || !is_bare ||
      (strchr(text, ',') == NULL && strcmp(text, "-") != 0)) {
    return json_loads(text, JSON_DECODE_ANY, NULL);
  }
  const size_t bytes = strlen(text) + 3;
  char *list = malloc(bytes);
  json_t *value = NULL;
  if (list != NULL) {
    snprintf(list, bytes, "[%s]", strcmp(text, "-") == 0 ? "" : text);
    value = json_loads(list, 0, NULL);
  }
  free(list);
  return value;
}

int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text) {
    return rlo__fail_usage("op", "--attr %s: write NAME=VALUE", text);
  }
  const size_t length = (size_t)(equals - text);
  const rlo_attribute_spec *spec = find_spec(kernel, text, length);
  if (spec == NULL) {
    return fail_unknown(kernel, text, length);
  }
  rlo_attribute *item = append(attributes);
  if (item == NULL) {
    return RLO__EXIT_USAGE;
  }
  const reader r = {attributes, "--attr"};
  const place at = {NULL, spec->name, 0};
  json_t *value = isspace((unsigned char)equals[1])
                      ? NULL
                      : keep(attributes, load_value(spec, equals + 1));
  if (value == NULL) {
    return parse_number(&r, spec, equals + 1, item);
  }
  const int code = convert(&r, &at, spec->types, value, item);
  return code == RLO__EXIT_OK && (item->type & ~spec->types) != 0
             ? fail_value(spec, equals + 1)
             : code;
}

/* -------------------------------------------------------------------- files */

static int convert_all(const reader *r,
                       const rlo_kernel_config *kernel,
                       json_t *object) {
  const char *key = NULL;
  json_t *value = NULL;
  if (!json_is_object(object)) {
    return rlo__fail("%s: attributes are an object: {\"NAME\": VALUE, ...}",
                     r->origin);
  }
  json_object_foreach(object, key, value) {
    const place at = {NULL, key, 0};
    const rlo_attribute_spec *spec = find_spec(kernel, key, strlen(key));
    rlo_attribute *item = append(r->attributes);
    int code =
        item == NULL
            ? RLO__EXIT_USAGE
            : convert(r, &at, spec != NULL ? spec->types : 0, value, item);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

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
  json_t *root = keep(attributes, load(file, r.origin));
  int code = root != NULL ? convert_all(&r, kernel, root) : RLO__EXIT_FAILURE;
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}
