/* SPDX-License-Identifier: Apache-2.0 */
/* The operations: their names, inputs and attributes. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/gradient.h"
#include "relayout/text.h"

#include "base/alloc.h"
#include "message.h"
#include "op.h"
#include "report.h"

/* A word for the types of an attribute: "integers", "shape", ... */
static const char *type_name(uint32_t types) {
  static const struct {
    uint32_t kind;
    const char *one, *many;
  } names[] = {
      {RLO_ATTRIBUTE_F64, "number", "number"}, {RLO_ATTRIBUTE_I64, "integer", "integers"},
      {RLO_ATTRIBUTE_STRING, "word", "words"}, {RLO_ATTRIBUTE_SHAPE, "shape", "shapes"},
      {RLO_ATTRIBUTE_MAP, "map", "map"},
  };

  for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); ++n) {
    if ((types & names[n].kind) != 0) {
      return (types & RLO_ATTRIBUTE_LIST) != 0 ? names[n].many : names[n].one;
    }
  }
  return "value";
}

enum { MAX_KERNELS = 256 };

/* Lists the kernels of the host backend that the command can run. */
static int list_kernels(rlo_engine *engine, rlo_kernel_config out_kernels[MAX_KERNELS],
                        int32_t *out_count) {
  int32_t num_kernels = 0;
  RLO__EXIT_TRY(rlo__check(rlo_kernel_list(engine, RLO_BACKEND_NAME_HOST, out_kernels,
                                           sizeof(*out_kernels), MAX_KERNELS, &num_kernels)));
  /* MoveAdjoint takes the name and the attributes of another kernel, which
   * NAME=VALUE cannot express. */
  *out_count = 0;
  for (int32_t n = 0; n < num_kernels; ++n) {
    if (strcmp(out_kernels[n].kernel_name, RLO_KERNEL_NAME_MOVE_ADJOINT) != 0) {
      out_kernels[(*out_count)++] = out_kernels[n];
    }
  }
  return RLO__EXIT_OK;
}

/* Compares a word with the names of all operations. *out_kernel is set if it is one of them. */
static int find(rlo_engine *engine, rlo__nearest *nearest, rlo_kernel_config *out_kernel) {
  static rlo_kernel_config kernels[MAX_KERNELS];
  int32_t count = 0;
  RLO__EXIT_TRY(list_kernels(engine, kernels, &count));
  for (int32_t n = 0; n < count && nearest->distance > 0; ++n) {
    rlo__nearest_try(nearest, kernels[n].kernel_name);
    *out_kernel = kernels[n];
  }
  return RLO__EXIT_OK;
}

int rlo__op_catalog_find(rlo_engine *engine, const char *name, rlo_kernel_config *out_kernel) {
  rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
  RLO__EXIT_TRY(find(engine, &nearest, out_kernel));
  return nearest.distance == 0
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "there is no operation '%s': relayout op --list shows all%s",
                               name, nearest.hint);
}

int rlo__op_catalog_try(rlo__nearest *nearest) {
  rlo_engine *engine = NULL;
  rlo_kernel_config kernel;
  RLO__EXIT_TRY(rlo__check(rlo_engine_create(NULL, &engine)));
  const int code = find(engine, nearest, &kernel);
  rlo_engine_release(engine);
  return code;
}

void rlo__op_inputs_text(const rlo_kernel_config *kernel, rlo__str *out) {
  for (int32_t n = 0; n < kernel->num_input_names; ++n) {
    rlo__str_printf(out, "%s%s%s", n == 0 ? "" : ", ", kernel->input_names[n],
                    n == kernel->num_input_names - 1 && kernel->max_inputs < 0 ? " (any number)"
                    : n >= kernel->min_inputs ? " (may be left out)"
                                              : "");
  }
}

/* "2 inputs: x, value" */
static void format_inputs(const rlo_kernel_config *kernel, rlo__str *out) {
  if (kernel->max_inputs >= 0 && kernel->max_inputs != kernel->min_inputs) {
    rlo__str_printf(out, "%d to %d inputs: ", (int)kernel->min_inputs, (int)kernel->max_inputs);
  } else {
    rlo__str_printf(out, "%d%s input%s: ", (int)kernel->min_inputs,
                    kernel->max_inputs < 0 ? " or more" : "", kernel->max_inputs == 1 ? "" : "s");
  }
  rlo__op_inputs_text(kernel, out);
}

static void add_kernel(rlo__report *r, rlo_engine *engine, const rlo_kernel_config *kernel) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  const bool is_differentiable = rlo_gradient_find(engine, kernel->kernel_name, &config) == RLO_OK;
  char text[512];
  rlo__str inputs = rlo__str_over(text, sizeof(text));
  format_inputs(kernel, &inputs);
  rlo__report_line(r, "", "%s: %s%s", kernel->kernel_name, rlo__str_text(&inputs),
                   is_differentiable ? ", has a gradient" : "");
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r, RLO__STRING("name", NULL, kernel->kernel_name),
              RLO__INT("min_inputs", NULL, kernel->min_inputs),
              RLO__INT("max_inputs", NULL, kernel->max_inputs),
              RLO__BOOL("has_gradient", is_differentiable));
  rlo__report_open(r, "inputs", '[');
  for (int32_t n = 0; n < kernel->num_input_names; ++n) {
    RLO__REPORT(r, RLO__STRING(NULL, NULL, kernel->input_names[n]));
  }
  rlo__report_close(r);
  rlo__report_open(r, "attributes", '[');
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const rlo_attribute_spec *spec = &kernel->attributes[n];
    rlo__report_line(r, "", "  %s=%s%s", spec->name, type_name(spec->types),
                     spec->is_required ? "" : " (may be left out)");
    RLO__REPORT_OBJECT(r, NULL, RLO__STRING("name", NULL, spec->name),
                       RLO__STRING("type", NULL, type_name(spec->types)),
                       RLO__BOOL("is_required", spec->is_required));
  }
  rlo__report_close(r);
  rlo__report_close(r);
}

int rlo__op_catalog_print(bool is_json) {
  static rlo_kernel_config kernels[MAX_KERNELS];
  rlo_engine *engine = NULL;
  int32_t count = 0;
  RLO__EXIT_TRY(rlo__check(rlo_engine_create(NULL, &engine)));
  const int code = list_kernels(engine, kernels, &count);
  if (code == RLO__EXIT_OK) {
    rlo__report r;
    rlo__report_begin(&r, is_json, 0);
    rlo__report_open(&r, "operations", '[');
    for (int32_t n = 0; n < count; ++n) {
      add_kernel(&r, engine, &kernels[n]);
    }
    rlo__report_end(&r);
  }
  rlo_engine_release(engine);
  return code;
}

/* -------------------------------------------------------------- attributes */

/* Attributes of the command line and of a file are members of one JSON object,
 * which becomes attributes when it is complete. */

/* Moves the members of a file's object to `root`. */
static int add_file(const char *path, json_t *root) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *origin = is_stdin ? "standard input" : path;
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  RLO__EXIT_IF(file == NULL, "cannot open %s: %s", path, strerror(errno));
  json_error_t error;
  json_t *object = json_loadf(file, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  int code = RLO__EXIT_OK;
  if (object == NULL && ferror(file)) {
    code = rlo__fail("cannot read %s: %s", origin, strerror(errno));
  } else if (object == NULL) {
    code = rlo__fail("%s:%d:%d: %s", origin, error.line, error.column, error.text);
  } else if (json_object_update(root, object) != 0) {
    code = rlo__fail("%s: attributes are an object: {\"NAME\": VALUE, ...}", origin);
  }
  json_decref(object);
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}

/* Parses JSON, a list as Python writes it, without its brackets too ("-" is the
 * empty one), or else a text without its quotes. */
static json_t *parse_value(const char *text) {
  json_t *value = json_loads(strcmp(text, "-") == 0 ? "[]" : text, JSON_DECODE_ANY, NULL);
  if (value == NULL && (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)) {
    return json_boolean(text[0] == 'T');
  }
  if (value == NULL && strpbrk(text, ",([") != NULL) {
    rlo__str list = rlo__str_growing();
    rlo__str_append_char(&list, '[');
    for (const char *c = text; *c != '\0'; ++c) {
      /* Python's (1,) is [1]. */
      if (*c != ',' || strchr(")]", c[1 + strspn(c + 1, " ")]) == NULL) {
        rlo__str_append_char(&list, (char)(*c == '(' ? '[' : *c == ')' ? ']' : *c));
      }
    }
    rlo__str_append_char(&list, ']');
    value = json_loads(rlo__str_text(&list), 0, NULL);
    rlo__str_deinit(&list);
  }
  return value != NULL ? value : json_string(text);
}

/* Adds "NAME=VALUE". */
static int add_text(const char *text, json_t *root) {
  char name[64];
  const char *equals = strchr(text, '=');
  RLO__USAGE_IF(equals == NULL || equals == text || equals - text >= (ptrdiff_t)sizeof(name), "op",
                "--attr %s: write NAME=VALUE, such as perm=1,0", text);
  snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
  RLO__EXIT_IF(json_object_get(root, name) != NULL, "attribute '%s' is given twice", name);
  return json_object_set_new(root, name, parse_value(equals + 1)) == 0
             ? RLO__EXIT_OK
             : rlo__fail("--attr %s: this is no text in UTF-8", text);
}

/* -------------------------------------------------------------- converting */

/* Compares names but for their case and underscores. */
static bool is_same_name(const char *a, const char *b) {
  rlo__nearest nearest = rlo__nearest_begin(a, strlen(a));
  rlo__nearest_try(&nearest, b);
  return nearest.distance == 0;
}

/* The spec of an attribute, which may be named as elsewhere: without regard to
 * case and underscores, blockShape, or as NumPy, TensorFlow or TensorFlow.js
 * call it. NULL: there is none. */
static const rlo_attribute_spec *find_spec(const rlo_kernel_config *kernel, const char *name) {
  static const char *const others[][2] = {
      {"axes", "perm"},
      {"axes", "dims"},
      {"axis", "dims"},
      {"dim", "axis"},
      {"pad_width", "paddings"},
      {"constant_value", "value"},
      {"constant_values", "value"},
      {"shift", "shifts"},
      {"multiples", "reps"},
      {"newshape", "shape"},
  };

  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    if (is_same_name(kernel->attributes[n].name, name)) {
      return &kernel->attributes[n];
    }
  }
  for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); ++n) {
    if (is_same_name(others[n][0], name) && find_spec(kernel, others[n][1]) != NULL) {
      return find_spec(kernel, others[n][1]);
    }
  }
  return NULL;
}

/* Converts a number that JSON has not: an infinity, NaN, one with hexadecimal
 * digits; or above INT64_MAX, as a word and 0. */
static int convert_number(uint32_t types, const char *text, rlo_attribute *out) {
  const char *name = out->name;
  char *end = NULL;
  *out = rlo_attribute_f64(name, strtod(text, &end));
  RLO__EXIT_IF((types & RLO_ATTRIBUTE_F64) == 0 || end == text || *end != '\0' ||
                   isspace((unsigned char)text[0]),
               "attribute '%s': '%s' is not of its type: %s, such as %s=%s", name, text,
               type_name(types), name, (types & RLO_ATTRIBUTE_LIST) != 0 ? "1,0" : "1");
  if (text[strspn(text, "-0123456789")] != '\0') {
    return RLO__EXIT_OK;
  }
  errno = 0;
  const unsigned long long large = strtoull(text, NULL, 10);
  RLO__EXIT_IF(text[0] == '-' || errno != 0,
               "attribute '%s': %s does not fit 64 bits; write a float with a point or an exponent",
               name, text);
  int64_t *words = rlo__alloc_array(2, sizeof(*words));
  RLO__EXIT_TRY_MEMORY(words);
  words[0] = (int64_t)large;
  *out = rlo_attribute_i64s(name, words, 2);
  return RLO__EXIT_OK;
}

static int convert_text(uint32_t types, const json_t *value, rlo_attribute *out) {
  const char *name = out->name;
  const char *text = json_string_value(value);
  if (types == 0 || (types & RLO_ATTRIBUTE_STRING) != 0) {
    *out = rlo_attribute_string(name, text);
    return RLO__EXIT_OK;
  }
  if ((types & RLO_ATTRIBUTE_SHAPE) == 0) {
    return convert_number(types, text, out);
  }
  rlo_shape *shape = rlo__alloc(sizeof(*shape));
  RLO__EXIT_TRY_MEMORY(shape);
  *out = rlo_attribute_shape(name, shape);
  return rlo_shape_parse(text, json_string_length(value), shape) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail("attribute '%s' is no shape, such as f32[2,3]{0,1}: %s", name,
                         rlo_error_last()->message);
}

/* Adds the integers of a list, and of lists in it, one after the other. */
static int add_integers(const json_t *list, const char *name, int64_t **values, size_t *count,
                        size_t *capacity) {
  for (size_t n = 0; n < json_array_size(list); ++n) {
    const json_t *entry = json_array_get(list, n);
    if (json_is_array(entry)) {
      RLO__EXIT_TRY(add_integers(entry, name, values, count, capacity));
    } else if (!json_is_integer(entry) || *count == INT32_MAX) {
      return rlo__fail("attribute '%s' is a list; its entry %zu is no integer", name, *count);
    } else {
      RLO__EXIT_TRY(rlo__check(rlo__array_reserve(values, sizeof(**values), *count + 1, capacity)));
      (*values)[(*count)++] = json_integer_value(entry);
    }
  }
  return RLO__EXIT_OK;
}

static int convert_list(const json_t *list, rlo_attribute *out) {
  int64_t *values = NULL;
  size_t count = 0;
  size_t capacity = 0;
  const int code = add_integers(list, out->name, &values, &count, &capacity);
  *out = rlo_attribute_i64s(out->name, values, (int32_t)count);
  return code;
}

/* Converts a value to `out`, whose name is set. A shape and a list have memory
 * of their own. */
static int convert(uint32_t types, const json_t *value, rlo_attribute *out) {
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
      return convert_text(types, value, out);
    case JSON_ARRAY:
      return convert_list(value, out);
    default:
      return rlo__fail(
          "attribute '%s' is %s: a number, true or false, a text or a list of integers is expected",
          out->name, json_is_null(value) ? "null" : "an object");
  }
}

static int convert_all(const rlo_kernel_config *kernel, rlo__op_attributes *attributes) {
  /* A json_t takes more bytes than an attribute has in INT32_MAX. */
  const size_t count = json_object_size(attributes->root);
  attributes->items = rlo__alloc_array(count + 1, sizeof(*attributes->items));
  attributes->list.items = attributes->items;
  RLO__EXIT_TRY_MEMORY(attributes->items);
  const char *name = NULL;
  json_t *value = NULL;
  json_object_foreach(attributes->root, name, value) {
    rlo_attribute *item = &attributes->items[attributes->list.count++];
    const rlo_attribute_spec *spec = find_spec(kernel, name);
    item->name = spec != NULL ? spec->name : name;
    RLO__EXIT_TRY(convert(spec != NULL ? spec->types : 0, value, item));
  }
  return RLO__EXIT_OK;
}

int rlo__op_attributes_read(const rlo_kernel_config *kernel, const char *path,
                            const rlo__text_list *texts, rlo__op_attributes *out_attributes) {
  *out_attributes = (rlo__op_attributes){.root = json_object()};
  if (path != NULL) {
    RLO__EXIT_TRY(add_file(path, out_attributes->root));
  }
  for (int32_t n = 0; n < texts->count; ++n) {
    RLO__EXIT_TRY(add_text(texts->texts[n], out_attributes->root));
  }
  return convert_all(kernel, out_attributes);
}

void rlo__op_attributes_deinit(rlo__op_attributes *attributes) {
  for (int32_t n = 0; n < attributes->list.count; ++n) {
    const rlo_attribute *item = &attributes->items[n];
    if ((item->type & (RLO_ATTRIBUTE_SHAPE | RLO_ATTRIBUTE_LIST)) != 0) {
      rlo__free((void *)(uintptr_t)item->value.list);
    }
  }
  rlo__free(attributes->items);
  json_decref(attributes->root);
}
