/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry/registry.h"

#include <string.h>

#include "base/status.h"
#include "base/str.h"

rlo__input_text rlo__name_text(const char *name, int32_t n) {
  rlo__input_text text;
  rlo__str str = rlo__str_over(text.text, sizeof text.text);
  if (n == 0) {
    rlo__str_printf(&str, "'%s'", name);
  } else {
    rlo__str_printf(&str, "'%s[%d]'", name, n);
  }
  return text;
}

rlo__input_text rlo__input_text_of(const char *const *names, int32_t count, int32_t num_inputs,
                                   int32_t place) {
  const char *name = rlo__input_name(names, count, place);
  rlo__input_text text;
  rlo__str str = rlo__str_over(text.text, sizeof text.text);
  if (name == NULL) {
    rlo__str_printf(&str, "input %d", place);
  } else if (place >= count - 1 && num_inputs > count) {
    rlo__str_printf(&str, "input '%s[%d]'", name, place - (count - 1));
  } else {
    rlo__str_printf(&str, "input '%s'", name);
  }
  return text;
}

int32_t rlo__input_names_find(const char *const *names, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; ++i) {
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  return -1;
}

const char *rlo__input_name(const char *const *names, int32_t count, int32_t place) {
  return count == 0 ? NULL : names[place < count ? place : count - 1];
}

int32_t rlo__input_place(const char *const *names, int32_t count, int32_t num_inputs,
                         const char *name, int32_t n) {
  int32_t index = rlo__input_names_find(names, count, name);
  if (index < 0 || n < 0 || n >= num_inputs - index) {
    return -1;
  }
  return n == 0 || index == count - 1 ? index + n : -1;
}

/* A list of names for a message. */
typedef struct list_text {
  char text[256];
} list_text;

/* "'x', 'value' (may be left out)" */
static list_text list_names(const rlo_kernel_config *config) {
  list_text text = {""};
  rlo__str str = rlo__str_over(text.text, sizeof text.text);
  for (int32_t i = 0; i < config->num_input_names; ++i) {
    bool is_last = i == config->num_input_names - 1;
    rlo__str_printf(&str, "%s'%s'%s", i == 0 ? "" : ", ", config->input_names[i],
                    is_last && config->max_inputs < 0 ? " (any number)"
                    : i >= config->min_inputs         ? " (may be left out)"
                                                      : "");
  }
  return text;
}

/* ----------------------------------------------------------------- checking */

/* Checks that each of some names is one, and occurs once. */
static rlo_status check_names(const rlo_kernel_config *config, const char *const *names,
                              int32_t count, const char *of) {
  RLO_FAIL_IF(count < 0 || (count > 0 && names == NULL), RLO_INVALID_ARGUMENT,
              "kernel '%s': %d names of its %s without a list of them", config->kernel_name, count,
              of);
  for (int32_t i = 0; i < count; ++i) {
    RLO_FAIL_IF(names[i] == NULL || names[i][0] == '\0', RLO_INVALID_ARGUMENT,
                "kernel '%s': name %d of its %s is %s", config->kernel_name, i, of,
                names[i] == NULL ? "NULL" : "empty");
    RLO_FAIL_IF(rlo__input_names_find(names, i, names[i]) >= 0, RLO_INVALID_ARGUMENT,
                "kernel '%s': two of its %s are named '%s'", config->kernel_name, of, names[i]);
  }
  return RLO_OK;
}

rlo_status rlo__input_names_check(const rlo_kernel_config *config) {
  int32_t count = config->num_input_names;
  RLO_TRY(check_names(config, config->input_names, count, "inputs"));
  RLO_TRY(check_names(config, config->output_names, config->num_output_names, "results"));
  RLO_FAIL_IF(count > 0 && config->max_inputs >= 0 && count != config->max_inputs,
              RLO_INVALID_ARGUMENT,
              "kernel '%s' takes up to %d inputs and names %d of them; it names all or none",
              config->kernel_name, config->max_inputs, count);
  for (int32_t i = 0; i < config->num_output_names; ++i) {
    RLO_FAIL_IF(rlo__input_names_find(config->input_names, count, config->output_names[i]) >= 0,
                RLO_INVALID_ARGUMENT, "kernel '%s': an input and a result are named '%s'",
                config->kernel_name, config->output_names[i]);
  }
  return RLO_OK;
}

rlo_status rlo__input_count_fail(const rlo_kernel_config *config, int32_t num_inputs) {
  char words[64];
  rlo__str wanted = rlo__str_over(words, sizeof words);
  rlo__str_printf(&wanted, "%s%d", config->max_inputs < 0 ? "at least " : "", config->min_inputs);
  if (config->max_inputs > config->min_inputs) {
    rlo__str_printf(&wanted, " to %d", config->max_inputs);
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "kernel '%s' has %d input%s; it takes %s%s%s",
                  config->kernel_name, num_inputs, num_inputs == 1 ? "" : "s",
                  rlo__str_text(&wanted), config->num_input_names == 0 ? "" : ": ",
                  list_names(config).text);
}

/* ------------------------------------------------------------------ placing */

/* `problem` is "is missing". */
static rlo_status fail_input(const rlo_kernel_config *config, const char *name,
                             const char *problem) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "kernel '%s': input '%s' %s; it takes %s",
                  config->kernel_name, name, problem, list_names(config).text);
}

static rlo_status place_one(const rlo_kernel_config *config, const char *const *names, int32_t i,
                            int32_t *num_last, int32_t *out_place) {
  int32_t last = config->num_input_names - 1;
  RLO_FAIL_IF(names[i] == NULL, RLO_INVALID_ARGUMENT,
              "kernel '%s': the name of input %d of those given is NULL", config->kernel_name, i);
  int32_t index = rlo__input_names_find(config->input_names, config->num_input_names, names[i]);
  if (index < 0) {
    return fail_input(config, names[i], "is unknown");
  }
  if (index == last && config->max_inputs < 0) {
    *out_place = last + (*num_last)++;
    return RLO_OK;
  }
  if (rlo__input_names_find(names, i, names[i]) >= 0) {
    return fail_input(config, names[i], "is given twice");
  }
  *out_place = index;
  return RLO_OK;
}

rlo_status rlo__input_names_place(const rlo_kernel_config *config, const char *const *names,
                                  int32_t count, int32_t *out_places) {
  int32_t num_last = 0;
  int32_t end = config->min_inputs;
  RLO_FAIL_IF(config->num_input_names == 0, RLO_INVALID_ARGUMENT,
              "kernel '%s' for backend '%s' gives its inputs no names; pass them by place",
              config->kernel_name, config->backend_name);
  for (int32_t i = 0; i < count; ++i) {
    RLO_TRY(place_one(config, names, i, &num_last, &out_places[i]));
    end = out_places[i] >= end ? out_places[i] + 1 : end;
  }
  /* The inputs have distinct places: if they are as many as there are places before the
   * end, none is missing. */
  for (int32_t k = 0; count < end && k < config->num_input_names; ++k) {
    if (rlo__input_names_find(names, count, config->input_names[k]) < 0) {
      return fail_input(config, config->input_names[k], "is missing");
    }
  }
  return rlo__input_count_check(config, count);
}
