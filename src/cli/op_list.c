/* SPDX-License-Identifier: Apache-2.0 */
#include "op_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "message.h"
#include "op_attributes.h"

enum { MAX_KERNELS = 256 };

/* "pad_v2", "padv2" and "PadV2" are one name to whoever types it. */
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

/* The kernels of the host backend that can be named here: the caller frees the
 * list. */
static int list_kernels(rlo_engine *engine,
                        rlo_kernel_config **out_kernels,
                        int32_t *out_count) {
  rlo_kernel_config *kernels = calloc(MAX_KERNELS, sizeof(*kernels));
  if (kernels == NULL) {
    return rlo__fail("cannot get memory for %d kernels", (int)MAX_KERNELS);
  }
  int32_t num_kernels = 0;
  if (rlo_kernel_list(engine, "host", kernels, MAX_KERNELS, &num_kernels) !=
      RLO_OK) {
    free(kernels);
    return rlo__fail_last();
  }
  /* That one takes the name and the attributes of another kernel, which no
   * NAME=VALUE can say. */
  *out_count = 0;
  for (int32_t n = 0; n < num_kernels; ++n) {
    if (strcmp(kernels[n].kernel_name, "MoveAdjoint") != 0) {
      kernels[(*out_count)++] = kernels[n];
    }
  }
  *out_kernels = kernels;
  return RLO__EXIT_OK;
}

int rlo__op_find(rlo_engine *engine,
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

static void print_inputs(const rlo_kernel_config *kernel) {
  if (kernel->max_inputs < 0) {
    printf("%d or more inputs", kernel->min_inputs);
  } else if (kernel->min_inputs == kernel->max_inputs) {
    printf(
        "%d input%s", kernel->min_inputs, kernel->min_inputs == 1 ? "" : "s");
  } else {
    printf("%d to %d inputs", kernel->min_inputs, kernel->max_inputs);
  }
}

static void print_kernel(const rlo_kernel_config *kernel) {
  printf("%s: ", kernel->kernel_name);
  print_inputs(kernel);
  putchar('\n');
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const rlo_attribute_spec *spec = &kernel->attributes[n];
    printf("  %s=%s%s\n",
           spec->name,
           rlo__op_attribute_type_name(spec->types),
           spec->is_required ? "" : " (may be left out)");
  }
}

static void print_kernel_json(rlo__json *json,
                              const rlo_kernel_config *kernel) {
  rlo__json_begin_object(json, NULL);
  rlo__json_string(json, "name", kernel->kernel_name);
  rlo__json_int(json, "min_inputs", kernel->min_inputs);
  rlo__json_int(json, "max_inputs", kernel->max_inputs);
  rlo__json_begin_array(json, "attributes");
  for (int32_t n = 0; n < kernel->num_attributes; ++n) {
    const rlo_attribute_spec *spec = &kernel->attributes[n];
    rlo__json_begin_object(json, NULL);
    rlo__json_string(json, "name", spec->name);
    rlo__json_string(json, "type", rlo__op_attribute_type_name(spec->types));
    rlo__json_bool(json, "is_required", spec->is_required);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  rlo__json_end_object(json);
}

int rlo__op_list_print(bool is_json) {
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
      print_kernel_json(&json, &kernels[n]);
    } else {
      print_kernel(&kernels[n]);
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
