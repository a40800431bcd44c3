/* SPDX-License-Identifier: Apache-2.0 */
#include "op_catalog.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/gradient.h"

#include "json.h"
#include "message.h"

const char *rlo__attribute_type_name(uint32_t types) {
  static const struct {
    uint32_t kind;
    const char *one, *many;
  } names[] = {
      {RLO_ATTRIBUTE_F64, "number", "number"},
      {RLO_ATTRIBUTE_I64, "integer", "integers"},
      {RLO_ATTRIBUTE_STRING, "word", "words"},
      {RLO_ATTRIBUTE_SHAPE, "shape", "shapes"},
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

static void print_inputs(const rlo_kernel_config *kernel) {
  if (kernel->max_inputs < 0) {
    printf("%d or more inputs", kernel->min_inputs);
  } else if (kernel->min_inputs == kernel->max_inputs) {
    printf(
        "%d input%s", kernel->min_inputs, kernel->min_inputs == 1 ? "" : "s");
  } else {
    printf("%d to %d inputs", kernel->min_inputs, kernel->max_inputs);
  }
  char names[512];
  rlo__op_inputs_text(kernel, names, sizeof(names));
  printf(": %s", names);
}

static bool has_gradient(rlo_engine *engine, const rlo_kernel_config *kernel) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  return rlo_gradient_find(engine, kernel->kernel_name, &config) == RLO_OK;
}

static void print_kernel(rlo_engine *engine, const rlo_kernel_config *kernel) {
  printf("%s: ", kernel->kernel_name);
  print_inputs(kernel);
  puts(has_gradient(engine, kernel) ? ", has a gradient" : "");
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const rlo_attribute_spec *spec = &kernel->attributes[n];
    printf("  %s=%s%s\n",
           spec->name,
           rlo__attribute_type_name(spec->types),
           spec->is_required ? "" : " (may be left out)");
  }
}

static void print_kernel_json(rlo__json *json,
                              rlo_engine *engine,
                              const rlo_kernel_config *kernel) {
  rlo__json_begin_object(json, NULL);
  rlo__json_string(json, "name", kernel->kernel_name);
  rlo__json_int(json, "min_inputs", kernel->min_inputs);
  rlo__json_int(json, "max_inputs", kernel->max_inputs);
  rlo__json_bool(json, "has_gradient", has_gradient(engine, kernel));
  rlo__json_begin_array(json, "inputs");
  for (int32_t n = 0; n < kernel->num_input_names; ++n) {
    rlo__json_string(json, NULL, kernel->input_names[n]);
  }
  rlo__json_end_array(json);
  rlo__json_begin_array(json, "attributes");
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const rlo_attribute_spec *spec = &kernel->attributes[n];
    rlo__json_begin_object(json, NULL);
    rlo__json_string(json, "name", spec->name);
    rlo__json_string(json, "type", rlo__attribute_type_name(spec->types));
    rlo__json_bool(json, "is_required", spec->is_required);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  rlo__json_end_object(json);
}

int rlo__op_catalog_print(bool is_json) {
  rlo_engine *engine = NULL;
  if (rlo_engine_create(NULL, &engine) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo_kernel_config *kernels = NULL;
  int32_t count = 0;
  int code = list_kernels(engine, &kernels, &count);
  rlo__json json = {0};
  if (code == RLO__EXIT_OK && is_json) {
    rlo__json_begin_object(&json, NULL);
    rlo__json_begin_array(&json, "operations");
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    if (is_json) {
      print_kernel_json(&json, engine, &kernels[n]);
    } else {
      print_kernel(engine, &kernels[n]);
    }
  }
  if (code == RLO__EXIT_OK && is_json) {
    rlo__json_end_array(&json);
    rlo__json_end_object(&json);
  }
  free(kernels);
  rlo_engine_release(engine);
  return code;
}
