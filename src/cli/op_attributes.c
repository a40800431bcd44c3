/* SPDX-License-Identifier: Apache-2.0 */
#include "op_attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "message.h"
#include "options.h"

/* More numbers than any attribute has a use for. */
#define MAX_LIST 4096

const char *rlo__op_attribute_type_name(uint32_t types) {
  static const struct {
    uint32_t types;
    const char *name;
  } names[] = {
      {RLO_ATTRIBUTE_I64, "integer"},
      {RLO_ATTRIBUTE_I64S, "integers"},
      {RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_I64S, "integer or integers"},
      {RLO_ATTRIBUTE_F64, "number"},
      {RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, "number"},
      {RLO_ATTRIBUTE_BOOL, "true or false"},
      {RLO_ATTRIBUTE_STRING, "word"},
      {RLO_ATTRIBUTE_SHAPE, "shape"},
  };

  for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); ++n) {
    if (names[n].types == types) {
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
  return rlo__fail_usage("op",
                         "%s knows no attribute '%.*s'; %s%s",
                         kernel->kernel_name,
                         (int)length,
                         name,
                         known[0] == '\0' ? "it has none" : "its own are ",
                         known);
}

static int fail_value(const rlo_attribute_spec *spec, const char *text) {
  return rlo__fail_usage("op",
                         "--attr %s: '%s' is not what it takes: %s",
                         spec->name,
                         text,
                         rlo__op_attribute_type_name(spec->types));
}

/* A number that ends at the end of the text or at a comma. */
static bool parse_integer(const char **text, int64_t *out_value) {
  return rlo__int64_read(text, out_value) && (**text == '\0' || **text == ',');
}

static int parse_list(const rlo_attribute_spec *spec,
                      const char *text,
                      int64_t **out_values,
                      int32_t *out_count) {
  int32_t count = 0;
  int64_t *values = calloc(MAX_LIST, sizeof(*values));
  if (values == NULL) {
    return rlo__fail("cannot get memory for %d numbers", MAX_LIST);
  }
  *out_values = values;
  *out_count = 0;
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
  *out_count = count;
  return RLO__EXIT_OK;
}

static int parse_number(const rlo_attribute_spec *spec,
                        const char *text,
                        rlo_attribute *out) {
  const char *rest = text;
  if ((spec->types & RLO_ATTRIBUTE_I64) != 0 &&
      parse_integer(&rest, &out->value.i64) && *rest == '\0') {
    out->type = RLO_ATTRIBUTE_I64;
    return RLO__EXIT_OK;
  }
  char *end = NULL;
  double value = strtod(text, &end);
  if ((spec->types & RLO_ATTRIBUTE_F64) == 0 || end == text || *end != '\0') {
    return fail_value(spec, text);
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

/* Puts into `attributes` at `place` what has to be given back. */
static int parse_value(rlo__op_attributes *attributes,
                       int32_t place,
                       const rlo_attribute_spec *spec,
                       const char *text) {
  rlo_attribute *out = &attributes->items[place];
  *out = rlo_attribute_string(spec->name, text);
  if ((spec->types & RLO_ATTRIBUTE_STRING) != 0) {
    return RLO__EXIT_OK;
  }
  if ((spec->types & RLO_ATTRIBUTE_BOOL) != 0) {
    return parse_bool(spec, text, out);
  }
  if ((spec->types & RLO_ATTRIBUTE_SHAPE) != 0) {
    rlo_shape *shape = malloc(sizeof(*shape));
    if (shape == NULL) {
      return rlo__fail("cannot get %zu bytes of memory", sizeof(*shape));
    }
    attributes->shapes[place] = shape;
    *out = rlo_attribute_shape(spec->name, shape);
    return rlo__shape_operand_parse(text, shape);
  }
  const uint32_t either = RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_I64S;
  bool is_one = (spec->types & either) == either && strchr(text, ',') == NULL &&
                strcmp(text, "-") != 0;
  if ((spec->types & RLO_ATTRIBUTE_I64S) == 0 || is_one) {
    return parse_number(spec, text, out);
  }
  int32_t count = 0;
  int code = parse_list(spec, text, &attributes->lists[place], &count);
  *out = rlo_attribute_i64s(spec->name, attributes->lists[place], count);
  return code;
}

int rlo__op_attributes_add(rlo__op_attributes *attributes,
                           const rlo_kernel_config *kernel,
                           const char *text) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text) {
    return rlo__fail_usage("op", "--attr %s: write NAME=VALUE", text);
  }
  size_t length = (size_t)(equals - text);
  const rlo_attribute_spec *spec = NULL;
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const char *name = kernel->attributes[n].name;
    if (strlen(name) == length && memcmp(name, text, length) == 0) {
      spec = &kernel->attributes[n];
    }
  }
  if (spec == NULL) {
    return fail_unknown(kernel, text, length);
  }
  if (attributes->count == RLO__MAX_OP_ATTRIBUTES) {
    return rlo__fail_usage(
        "op", "more than %d attributes", RLO__MAX_OP_ATTRIBUTES);
  }
  return parse_value(attributes, attributes->count++, spec, equals + 1);
}

void rlo__op_attributes_deinit(rlo__op_attributes *attributes) {
  for (int32_t n = 0; n < attributes->count; ++n) {
    free(attributes->lists[n]);
    free(attributes->shapes[n]);
  }
  *attributes = (rlo__op_attributes){0};
}
