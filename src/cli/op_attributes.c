/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/text.h"

#include "message.h"
#include "op.h"

/* Attributes of the command line and of a file are members of one JSON object,
 * which becomes attributes when it is complete. */

/* ----------------------------------------------------------------- reading */

/* Moves the members of a file's object to `root`. */
static int add_file(const char *path, json_t *root) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *origin = is_stdin ? "standard input" : path;
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  if (file == NULL) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  json_error_t error;
  json_t *object =
      json_loadf(file, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  int code = RLO__EXIT_OK;
  if (object == NULL && ferror(file)) {
    code = rlo__fail("cannot read %s: %s", origin, strerror(errno));
  } else if (object == NULL) {
    code =
        rlo__fail("%s:%d:%d: %s", origin, error.line, error.column, error.text);
  } else if (json_object_update(root, object) != 0) {
    code = rlo__fail("%s: attributes are an object: {\"NAME\": VALUE, ...}",
                     origin);
  }
  json_decref(object);
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}

/* Parses JSON, a list without its brackets ("-" is the empty one), or else a
 * text without its quotes. */
static json_t *parse_value(const char *text) {
  json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
  if (value == NULL && strcmp(text, "-") == 0) {
    value = json_array();
  } else if (value == NULL && strchr(text, ',') != NULL) {
    const size_t bytes = strlen(text) + 3;
    char *list = malloc(bytes);
    if (list != NULL) {
      snprintf(list, bytes, "[%s]", text);
      value = json_loads(list, 0, NULL);
    }
    free(list);
  }
  return value != NULL ? value : json_string(text);
}

/* Adds "NAME=VALUE". */
static int add_text(const char *text, json_t *root) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text) {
    return rlo__fail_usage("op", "--attr %s: write NAME=VALUE", text);
  }
  char *name = strndup(text, (size_t)(equals - text));
  if (name == NULL) {
    return rlo__fail("cannot get memory for --attr %s", text);
  }
  int code = RLO__EXIT_OK;
  if (json_object_get(root, name) != NULL) {
    code = rlo__fail("attribute '%s' is given twice", name);
  } else if (json_object_set_new(root, name, parse_value(equals + 1)) != 0) {
    code = rlo__fail("--attr %s: this is no text in UTF-8", text);
  }
  free(name);
  return code;
}

/* -------------------------------------------------------------- converting */

static uint32_t find_types(const rlo_kernel_config *kernel, const char *name) {
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    if (strcmp(kernel->attributes[n].name, name) == 0) {
      return kernel->attributes[n].types;
    }
  }
  return 0;
}

static int fail_memory(const char *name) {
  return rlo__fail("cannot get memory for the attribute '%s'", name);
}

/* Converts a number that JSON has not: an infinity, NaN, one with hexadecimal
 * digits; or above INT64_MAX, as a word and 0. */
static int convert_number(uint32_t types,
                          const char *text,
                          rlo_attribute *out,
                          void **owned) {
  const char *name = out->name;
  char *end = NULL;
  *out = rlo_attribute_f64(name, strtod(text, &end));
  if ((types & RLO_ATTRIBUTE_F64) == 0 || end == text || *end != '\0' ||
      isspace((unsigned char)text[0])) {
    return rlo__fail("attribute '%s': '%s' is not of its type: %s",
                     name,
                     text,
                     rlo__attribute_type_name(types));
  }
  if (text[strspn(text, "-0123456789")] != '\0') {
    return RLO__EXIT_OK;
  }
  errno = 0;
  const unsigned long long large = strtoull(text, NULL, 10);
  if (text[0] == '-' || errno != 0) {
    return rlo__fail(
        "attribute '%s': %s does not fit 64 bits; write a float "
        "with a point or an exponent",
        name,
        text);
  }
  int64_t *words = calloc(2, sizeof(*words));
  *owned = words;
  if (words == NULL) {
    return fail_memory(name);
  }
  words[0] = (int64_t)large;
  *out = rlo_attribute_i64s(name, words, 2);
  return RLO__EXIT_OK;
}

static int convert_text(uint32_t types,
                        const json_t *value,
                        rlo_attribute *out,
                        void **owned) {
  const char *name = out->name;
  const char *text = json_string_value(value);
  if ((types & RLO_ATTRIBUTE_SHAPE) != 0) {
    rlo_shape *shape = malloc(sizeof(*shape));
    *owned = shape;
    if (shape == NULL) {
      return fail_memory(name);
    }
    *out = rlo_attribute_shape(name, shape);
    return rlo_shape_parse(text, json_string_length(value), shape) == RLO_OK
               ? RLO__EXIT_OK
               : rlo__fail("attribute '%s' is no shape: %s",
                           name,
                           rlo_error_last()->message);
  }
  if (types == 0 || (types & RLO_ATTRIBUTE_STRING) != 0) {
    *out = rlo_attribute_string(name, text);
    return RLO__EXIT_OK;
  }
  return convert_number(types, text, out, owned);
}

static int convert_list(const json_t *list, rlo_attribute *out, void **owned) {
  const size_t count = json_array_size(list);
  int64_t *values = calloc(count + 1, sizeof(*values));
  *owned = values;
  if (values == NULL || count > INT32_MAX) {
    return fail_memory(out->name);
  }
  for (size_t n = 0; n < count; ++n) {
    const json_t *entry = json_array_get(list, n);
    if (!json_is_integer(entry)) {
      return rlo__fail("attribute '%s' is a list; its entry %zu is no integer",
                       out->name,
                       n);
    }
    values[n] = json_integer_value(entry);
  }
  *out = rlo_attribute_i64s(out->name, values, (int32_t)count);
  return RLO__EXIT_OK;
}

/* Converts a value to `out`, whose name is set. */
static int convert(uint32_t types,
                   const json_t *value,
                   rlo_attribute *out,
                   void **owned) {
  switch (json_typeof(value)) {
    case JSON_TRUE:
    case JSON_FALSE:
      *out = rlo_attribute_i64(out->name, json_is_true(value));
      return RLO__EXIT_OK;
    case JSON_INTEGER:
      *out = rlo_attribute_i64(out->name, json_integer_value(value));
      return RLO__EXIT_OK;
    case JSON_REAL:
      *out = rlo_attribute_f64(out->name, json_real_value(value));
      return RLO__EXIT_OK;
    case JSON_STRING:
      return convert_text(types, value, out, owned);
    case JSON_ARRAY:
      return convert_list(value, out, owned);
    default:
      return rlo__fail(
          "attribute '%s' is %s: a number, true or false, a text or a list of "
          "integers is expected",
          out->name,
          json_is_null(value) ? "null" : "an object");
  }
}

static int convert_all(const rlo_kernel_config *kernel,
                       rlo__op_attributes *attributes) {
  const size_t count = json_object_size(attributes->root);
  attributes->items = calloc(count + 1, sizeof(*attributes->items));
  attributes->owned = calloc(count + 1, sizeof(*attributes->owned));
  if (attributes->items == NULL || attributes->owned == NULL ||
      count >= INT32_MAX) {
    return rlo__fail("cannot get memory for %zu attributes", count);
  }
  const char *name = NULL;
  json_t *value = NULL;
  json_object_foreach(attributes->root, name, value) {
    const int32_t n = attributes->count++;
    attributes->items[n].name = name;
    RLO__EXIT_TRY(convert(find_types(kernel, name),
                          value,
                          &attributes->items[n],
                          &attributes->owned[n]));
  }
  return RLO__EXIT_OK;
}

int rlo__op_attributes_read(const rlo_kernel_config *kernel,
                            const char *path,
                            const char *const *texts,
                            int32_t count,
                            rlo__op_attributes *out_attributes) {
  *out_attributes = (rlo__op_attributes){.root = json_object()};
  int code = path == NULL ? RLO__EXIT_OK : add_file(path, out_attributes->root);
  for (int32_t n = 0; n < count && code == RLO__EXIT_OK; ++n) {
    code = add_text(texts[n], out_attributes->root);
  }
  return code == RLO__EXIT_OK ? convert_all(kernel, out_attributes) : code;
}

void rlo__op_attributes_deinit(rlo__op_attributes *attributes) {
  for (int32_t n = 0; n < attributes->count; ++n) {
    free(attributes->owned[n]);
  }
  free(attributes->owned);
  free(attributes->items);
  json_decref(attributes->root);
}
