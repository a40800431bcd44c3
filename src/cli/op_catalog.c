/* SPDX-License-Identifier: Apache-2.0 */
#include "op_catalog.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/gradient.h"

#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"

/* Longer than any useful list of an attribute. */
#define MAX_LIST 4096

/* Returns a word for types of attributes: "integers", "shape", ... */
static const char *type_name(uint32_t types) {
  static const struct {
    uint32_t types;
    const char *name;
  } names[] = {
      {RLO_ATTRIBUTE_I64, "integer"},
      {RLO_ATTRIBUTE_I64S, "integers"},
      {RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_I64S, "integer or integers"},
      {RLO_ATTRIBUTE_F64, "number"},
      {RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, "number"},
      {RLO_ATTRIBUTE_F64S, "numbers"},
      {RLO_ATTRIBUTE_BOOL, "true or false"},
      {RLO_ATTRIBUTE_BOOLS, "list of true and false"},
      {RLO_ATTRIBUTE_STRING, "word"},
      {RLO_ATTRIBUTE_STRINGS, "words"},
      {RLO_ATTRIBUTE_SHAPE, "shape"},
      {RLO_ATTRIBUTE_SHAPES, "shapes"},
      {RLO_ATTRIBUTE_MAP, "map"},
  };

  for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); ++n) {
    /* An integer beyond INT64_MAX is one like any other here. */
    if (names[n].types == (types & ~(uint32_t)RLO_ATTRIBUTE_U64)) {
      return names[n].name;
    }
  }
  return "value";
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

static int fail_value(const rlo_attribute_spec *spec, const char *text) {
  return rlo__fail_usage("op",
                         "--attr %s: '%s' is not of its type: %s",
                         spec->name,
                         text,
                         type_name(spec->types));
}

/* Parses a number that ends at the end of the text or at a comma. */
static bool parse_integer(const char **text, int64_t *out_value) {
  return rlo__int64_read(text, out_value) && (**text == '\0' || **text == ',');
}

static int parse_list(rlo__op_attributes *attributes,
                      const rlo_attribute_spec *spec,
                      const char *text,
                      rlo_attribute *out) {
  int32_t count = 0;
  int64_t *values =
      rlo__op_attributes_allocate(attributes, MAX_LIST, sizeof(*values));
  if (values == NULL) {
    return RLO__EXIT_FAILURE;
  }
  *out = rlo_attribute_i64s(spec->name, values, 0);
  if (strcmp(text, "-") == 0) {
    return RLO__EXIT_OK;
  }
  for (const char *rest = text;; ++rest) {
    if (count == MAX_LIST) {
      return rlo__fail_usage(
          "op", "--attr %s: more than %d numbers", spec->name, MAX_LIST);
    }
    if (!parse_integer(&rest, &values[count])) {
      return fail_value(spec, text);
    }
    ++count;
    if (*rest == '\0') {
      break;
    }
  }
  *out = rlo_attribute_i64s(spec->name, values, count);
  return RLO__EXIT_OK;
}

/* Parses a text of digits, to the last of them. */
static int parse_whole(const rlo_attribute_spec *spec,
                       const char *text,
                       rlo_attribute *out) {
  const char *rest = text;
  int64_t integer = 0;
  if (rlo__int64_read(&rest, &integer)) {
    *out = rlo_attribute_i64(spec->name, integer);
    return RLO__EXIT_OK;
  }
  errno = 0;
  unsigned long long large = strtoull(text, NULL, 10);
  if (text[0] != '-' && errno == 0 && (spec->types & RLO_ATTRIBUTE_U64) != 0) {
    *out = rlo_attribute_u64(spec->name, large);
    return RLO__EXIT_OK;
  }
  return rlo__fail_usage("op",
                         "--attr %s: %s does not fit 64 bits%s",
                         spec->name,
                         text,
                         (spec->types & RLO_ATTRIBUTE_F64) != 0
                             ? "; write a float with a point or an exponent"
                             : "");
}

static int parse_number(const rlo_attribute_spec *spec,
                        const char *text,
                        rlo_attribute *out) {
  const char *digits = text[0] == '-' ? text + 1 : text;
  bool is_whole =
      digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
  if (is_whole && (spec->types & RLO_ATTRIBUTE_I64) != 0) {
    return parse_whole(spec, text, out);
  }
  char *end = NULL;
  double value = strtod(text, &end);
  if ((spec->types & RLO_ATTRIBUTE_F64) == 0 || end == text || *end != '\0') {
    return fail_value(spec, text);
  }
  if (!rlo__number_is_exact(text, value)) {
    return rlo__fail_usage("op",
                           "--attr %s: %s is not exact as a double; the "
                           "nearest one is %.0f",
                           spec->name,
                           text,
                           value);
  }
  *out = rlo_attribute_f64(spec->name, value);
  return RLO__EXIT_OK;
}

static int parse_bool(const rlo_attribute_spec *spec,
                      const char *text,
                      rlo_attribute *out) {
  bool is_true = strcmp(text, "true") == 0;
  if (!is_true && strcmp(text, "false") != 0) {
    return fail_value(spec, text);
  }
  *out = rlo_attribute_bool(spec->name, is_true);
  return RLO__EXIT_OK;
}

static int parse_shape(rlo__op_attributes *attributes,
                       const rlo_attribute_spec *spec,
                       const char *text,
                       rlo_attribute *out) {
  rlo_shape *shape = rlo__op_attributes_allocate(attributes, 1, sizeof(*shape));
  if (shape == NULL) {
    return RLO__EXIT_FAILURE;
  }
  *out = rlo_attribute_shape(spec->name, shape);
  return rlo__shape_operand_parse(text, shape);
}

static int parse_value(rlo__op_attributes *attributes,
                       const rlo_attribute_spec *spec,
                       const char *text,
                       rlo_attribute *out) {
  if ((spec->types & RLO_ATTRIBUTE_STRING) != 0) {
    *out = rlo_attribute_string(spec->name, text);
    return RLO__EXIT_OK;
  }
  if ((spec->types & RLO_ATTRIBUTE_BOOL) != 0) {
    return parse_bool(spec, text, out);
  }
  if ((spec->types & RLO_ATTRIBUTE_SHAPE) != 0) {
    return parse_shape(attributes, spec, text, out);
  }
  const uint32_t either = RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_I64S;
  bool is_one = (spec->types & either) == either && strchr(text, ',') == NULL &&
                strcmp(text, "-") != 0;
  if ((spec->types & RLO_ATTRIBUTE_I64S) != 0 && !is_one) {
    return parse_list(attributes, spec, text, out);
  }
  if ((spec->types & (RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_F64)) != 0) {
    return parse_number(spec, text, out);
  }
  return rlo__fail_usage("op",
                         "--attr %s: its type, %s, is for a file: --attrs",
                         spec->name,
                         type_name(spec->types));
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

uint32_t rlo__op_attribute_types(const rlo_kernel_config *kernel,
                                 const char *name) {
  const rlo_attribute_spec *spec = find_spec(kernel, name, strlen(name));
  return spec != NULL ? spec->types : 0;
}

rlo_attribute *rlo__op_attributes_append(rlo__op_attributes *attributes) {
  if (attributes->count == RLO__MAX_OP_ATTRIBUTES) {
    rlo__fail_usage("op", "more than %d attributes", RLO__MAX_OP_ATTRIBUTES);
    return NULL;
  }
  return &attributes->items[attributes->count++];
}

int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text) {
    return rlo__fail_usage("op", "--attr %s: write NAME=VALUE", text);
  }
  size_t length = (size_t)(equals - text);
  const rlo_attribute_spec *spec = find_spec(kernel, text, length);
  if (spec == NULL) {
    return fail_unknown(kernel, text, length);
  }
  rlo_attribute *item = rlo__op_attributes_append(attributes);
  return item != NULL ? parse_value(attributes, spec, equals + 1, item)
                      : RLO__EXIT_USAGE;
}

/* A part of the memory of attributes. */
typedef struct rlo__op_block {
  struct rlo__op_block *next;
  max_align_t data[];
} rlo__op_block;

void *rlo__op_attributes_allocate(rlo__op_attributes *attributes,
                                  size_t count,
                                  size_t element_bytes) {
  rlo__op_block *block = NULL;
  if (count <= (SIZE_MAX - sizeof(*block)) / element_bytes) {
    block = calloc(1, sizeof(*block) + count * element_bytes);
  }
  if (block == NULL) {
    rlo__fail("cannot get memory for %zu values of an attribute", count);
    return NULL;
  }
  block->next = attributes->blocks;
  attributes->blocks = block;
  return block->data;
}

void rlo__op_attributes_deinit(rlo__op_attributes *attributes) {
  while (attributes->blocks != NULL) {
    rlo__op_block *block = attributes->blocks;
    attributes->blocks = block->next;
    free(block);
  }
  *attributes = (rlo__op_attributes){0};
}

enum { MAX_KERNELS = 256 };

/* Compares names: "pad_v2", "padv2" and "PadV2" are equal. */
static bool is_same_name(const char *a, const char *b) {
  for (;; ++a, ++b) {
    for (; *a == '_' || *a == '-'; ++a) {
    }
    for (; *b == '_' || *b == '-'; ++b) {
    }
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
      return false;
    }
    if (*a == '\0') {
      return true;
    }
  }
}

/* Lists the kernels of the host backend that the command can run; the caller
 * frees the list. */
static int list_kernels(rlo_engine *engine,
                        rlo_kernel_config **out_kernels,
                        int32_t *out_count) {
  rlo_kernel_config *kernels = calloc(MAX_KERNELS, sizeof(*kernels));
  if (kernels == NULL) {
    return rlo__fail("cannot get memory for %d kernels", (int)MAX_KERNELS);
  }
  int32_t num_kernels = 0;
  if (rlo_kernel_list(engine,
                      RLO_BACKEND_NAME_HOST,
                      kernels,
                      sizeof(*kernels),
                      MAX_KERNELS,
                      &num_kernels) != RLO_OK) {
    free(kernels);
    return rlo__fail_last();
  }
  /* MoveAdjoint takes the name and the attributes of another kernel, which
   * NAME=VALUE cannot express. */
  *out_count = 0;
  for (int32_t n = 0; n < num_kernels; ++n) {
    if (strcmp(kernels[n].kernel_name, RLO_KERNEL_NAME_MOVE_ADJOINT) != 0) {
      kernels[(*out_count)++] = kernels[n];
    }
  }
  *out_kernels = kernels;
  return RLO__EXIT_OK;
}

int rlo__op_catalog_find(rlo_engine *engine,
                         const char *name,
                         rlo_kernel_config *out_kernel) {
  rlo_kernel_config *kernels = NULL;
  int32_t count = 0;
  int code = list_kernels(engine, &kernels, &count);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = RLO__EXIT_USAGE;
  for (int32_t n = 0; n < count; ++n) {
    if (is_same_name(kernels[n].kernel_name, name)) {
      *out_kernel = kernels[n];
      code = RLO__EXIT_OK;
    }
  }
  free(kernels);
  return code == RLO__EXIT_OK
             ? code
             : rlo__fail_usage("op",
                               "there is no operation '%s'; relayout op --list "
                               "shows all",
                               name);
}

void rlo__op_inputs_text(const rlo_kernel_config *kernel,
                         char *text,
                         size_t text_bytes) {
  size_t at = 0;
  text[0] = '\0';
  for (int32_t n = 0; n < kernel->num_input_names && at < text_bytes; ++n) {
    bool is_last = n == kernel->num_input_names - 1;
    at += (size_t)snprintf(text + at,
                           text_bytes - at,
                           "%s%s%s",
                           n == 0 ? "" : ", ",
                           kernel->input_names[n],
                           is_last && kernel->max_inputs < 0 ? " (any number)"
                           : n >= kernel->min_inputs ? " (may be left out)"
                                                     : "");
  }
}

/* "2 inputs: x, value" */
static void format_inputs(const rlo_kernel_config *kernel,
                          char *text,
                          size_t text_bytes) {
  const int min = kernel->min_inputs;
  const int max = kernel->max_inputs;
  int at =
      max < 0 ? snprintf(text, text_bytes, "%d or more inputs: ", min)
      : min == max
          ? snprintf(text, text_bytes, "%d input%s: ", min, min == 1 ? "" : "s")
          : snprintf(text, text_bytes, "%d to %d inputs: ", min, max);
  rlo__op_inputs_text(kernel, text + at, text_bytes - (size_t)at);
}

static bool has_gradient(rlo_engine *engine, const rlo_kernel_config *kernel) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  return rlo_gradient_find(engine, kernel->kernel_name, &config) == RLO_OK;
}

static void add_kernel(rlo__report *r,
                       rlo_engine *engine,
                       const rlo_kernel_config *kernel) {
  const bool is_differentiable = has_gradient(engine, kernel);
  char inputs[512];
  format_inputs(kernel, inputs, sizeof(inputs));
  rlo__report_line(r,
                   "",
                   "%s: %s%s",
                   kernel->kernel_name,
                   inputs,
                   is_differentiable ? ", has a gradient" : "");
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r,
              RLO__STRING("name", NULL, kernel->kernel_name),
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
    rlo__report_line(r,
                     "",
                     "  %s=%s%s",
                     spec->name,
                     type_name(spec->types),
                     spec->is_required ? "" : " (may be left out)");
    RLO__REPORT_OBJECT(r,
                       NULL,
                       RLO__STRING("name", NULL, spec->name),
                       RLO__STRING("type", NULL, type_name(spec->types)),
                       RLO__BOOL("is_required", spec->is_required));
  }
  rlo__report_close(r);
  rlo__report_close(r);
}

int rlo__op_catalog_print(bool is_json) {
  rlo_engine *engine = NULL;
  if (rlo_engine_create(NULL, &engine) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo_kernel_config *kernels = NULL;
  int32_t count = 0;
  int code = list_kernels(engine, &kernels, &count);
  if (code == RLO__EXIT_OK) {
    rlo__report r;
    rlo__report_begin(&r, is_json, 0);
    rlo__report_open(&r, "operations", '[');
    for (int32_t n = 0; n < count; ++n) {
      add_kernel(&r, engine, &kernels[n]);
    }
    rlo__report_end(&r);
  }
  free(kernels);
  rlo_engine_release(engine);
  return code;
}
