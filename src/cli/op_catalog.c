/* SPDX-License-Identifier: Apache-2.0 */
#include "op.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/gradient.h"

#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"

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
  bool is_found = false;
  RLO__EXIT_TRY(list_kernels(engine, &kernels, &count));
  for (int32_t n = 0; n < count; ++n) {
    if (is_same_name(kernels[n].kernel_name, name)) {
      *out_kernel = kernels[n];
      is_found = true;
    }
  }
  free(kernels);
  return is_found ? RLO__EXIT_OK
                  : rlo__fail_usage("op",
                                    "there is no operation '%s'; relayout op "
                                    "--list shows all",
                                    name);
}

void rlo__op_inputs_text(const rlo_kernel_config *kernel, rlo__str *out) {
  for (int32_t n = 0; n < kernel->num_input_names; ++n) {
    const bool is_last = n == kernel->num_input_names - 1;
    rlo__str_printf(out,
                    "%s%s%s",
                    n == 0 ? "" : ", ",
                    kernel->input_names[n],
                    is_last && kernel->max_inputs < 0 ? " (any number)"
                    : n >= kernel->min_inputs         ? " (may be left out)"
                                                      : "");
  }
}

/* "2 inputs: x, value" */
static void format_inputs(const rlo_kernel_config *kernel, rlo__str *out) {
  const int min = kernel->min_inputs;
  const int max = kernel->max_inputs;
  if (max >= 0 && max != min) {
    rlo__str_printf(out, "%d to %d inputs: ", min, max);
  } else {
    rlo__str_printf(out,
                    "%d%s input%s: ",
                    min,
                    max < 0 ? " or more" : "",
                    max == 1 ? "" : "s");
  }
  rlo__op_inputs_text(kernel, out);
}

static bool has_gradient(rlo_engine *engine, const rlo_kernel_config *kernel) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  return rlo_gradient_find(engine, kernel->kernel_name, &config) == RLO_OK;
}

static void add_kernel(rlo__report *r,
                       rlo_engine *engine,
                       const rlo_kernel_config *kernel) {
  const bool is_differentiable = has_gradient(engine, kernel);
  char text[512];
  rlo__str inputs = rlo__str_over(text, sizeof(text));
  format_inputs(kernel, &inputs);
  rlo__report_line(r,
                   "",
                   "%s: %s%s",
                   kernel->kernel_name,
                   rlo__str_text(&inputs),
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
                     rlo__attribute_type_name(spec->types),
                     spec->is_required ? "" : " (may be left out)");
    RLO__REPORT_OBJECT(
        r,
        NULL,
        RLO__STRING("name", NULL, spec->name),
        RLO__STRING("type", NULL, rlo__attribute_type_name(spec->types)),
        RLO__BOOL("is_required", spec->is_required));
  }
  rlo__report_close(r);
  rlo__report_close(r);
}

int rlo__op_catalog_print(bool is_json) {
  rlo_engine *engine = NULL;
  RLO__EXIT_TRY(rlo__check(rlo_engine_create(NULL, &engine)));
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
