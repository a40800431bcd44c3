/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/permutation.h"

#include "base/checked.h"
#include "base/sentence.h"
#include "base/str.h"
#include "message.h"

/* Prints why the option that getopt has refused is none. */
static int fail_option(const rlo__command *command, char **argv, bool lacks_value) {
  const char *word = argv[optind - 1];
  RLO__USAGE_IF(lacks_value, argv[0], "%s needs a value", word);
  if (optopt == 0) {
    rlo__nearest nearest = rlo__nearest_begin(word, strcspn(word, "="));
    for (const rlo__option *o = command->options; o->name != NULL; ++o) {
      char name[64];
      snprintf(name, sizeof(name), "--%s", o->name);
      rlo__nearest_try(&nearest, name);
    }
    return rlo__fail_usage(argv[0], "%s is no option of this verb%s", word, nearest.hint);
  }
  return optopt > UINT8_MAX ? rlo__fail_usage(argv[0], "%s takes no value", word)
                            : rlo__fail_usage(argv[0], "-%c is no option of this verb", optopt);
}

/* A number, or a part of a name. */
static int parse_device_part(const char *verb, const char *text, size_t length,
                             rlo__device_ref *out_device) {
  *out_device = (rlo__device_ref){.index = -1};
  RLO__USAGE_IF(length == 0 || length >= sizeof(out_device->name), verb,
                "--device: '%.*s' has %zu characters: a name has 1 to %zu",
                length < 40 ? (int)length : 40, text, length, sizeof(out_device->name) - 1);
  memcpy(out_device->name, text, length);
  RLO__USAGE_IF(strcmp(out_device->name, "all") == 0 || strcmp(out_device->name, "default") == 0 ||
                    strcmp(out_device->name, "none") == 0,
                verb, "--device: '%s' cannot stand here", out_device->name);
  if (out_device->name[strspn(out_device->name, "-0123456789")] != '\0') {
    return RLO__EXIT_OK;
  }
  int64_t index;
  RLO__EXIT_TRY(rlo__number_parse(verb, "--device", out_device->name, 0, INT32_MAX, &index));
  *out_device = (rlo__device_ref){.index = (int32_t)index};
  return RLO__EXIT_OK;
}

static int parse_device(const char *verb, const char *text, rlo__device_ref *out_device) {
  *out_device = (rlo__device_ref){.index = -1};
  return strcmp(text, "default") == 0 ? RLO__EXIT_OK
                                      : parse_device_part(verb, text, strlen(text), out_device);
}

void rlo__command_print_help(const rlo__command *command) {
  fputs(command->help, stdout);
  if (command->print_more_help != NULL) {
    command->print_more_help(stdout);
  }
}

/* The value of a long option: its number in the verb's table and this. */
#define FIRST_OPTION 256

static int take(const rlo__command *command, const rlo__option *option, const char *verb,
                void *request, rlo__common_options *common) {
  char what[64];
  void *field = (char *)request + option->offset;
  rlo__text_list *list = field;
  snprintf(what, sizeof(what), "--%s", option->name);
  switch (option->kind) {
    case RLO__OPTION_HELP:
      rlo__command_print_help(command);
      return RLO__EXIT_HELP;
    case RLO__OPTION_JSON:
      common->is_json = true;
      break;
    case RLO__OPTION_DEVICE:
      common->is_device_given = true;
      return parse_device(verb, optarg, &common->device);
    case RLO__OPTION_NO_ISOLATE:
      common->is_isolated = false;
      break;
    case RLO__OPTION_FLAG:
      *(bool *)field = true;
      break;
    case RLO__OPTION_TEXT:
      *(const char **)field = optarg;
      break;
    case RLO__OPTION_TEXTS:
      list->texts[list->count++] = optarg;
      break;
    case RLO__OPTION_NUMBER:
      return rlo__number_parse(verb, what, optarg, option->min, option->max, field);
    case RLO__OPTION_SIZE:
      return rlo__size_parse(verb, what, optarg, option->min, field);
    case RLO__OPTION_FACTOR:
      return rlo__factor_parse(verb, what, optarg, field);
    case RLO__OPTION_INTS:
      return rlo__int_list_parse(verb, what, optarg, field);
    case RLO__OPTION_WORD:
      return rlo__word_parse(verb, what, optarg, option->words, field);
    case RLO__OPTION_CALL:
      return option->take(verb, optarg, field);
  }
  return RLO__EXIT_OK;
}

int rlo__options_take(const rlo__command *command, int argc, char **argv, void *request,
                      rlo__common_options *out_common) {
  struct option table[RLO__MAX_OPTIONS + 1] = {{0}};
  *out_common = (rlo__common_options){
      .device = {.index = -1}, .is_isolated = true, .arguments = argv, .num_arguments = argc};
  for (int n = 0; command->options[n].name != NULL; ++n) {
    const rlo__option *o = &command->options[n];
    assert(n < RLO__MAX_OPTIONS);
    table[n] =
        (struct option){o->name, o->kind > RLO__OPTION_FLAG ? required_argument : no_argument, NULL,
                        FIRST_OPTION + n};
  }
  opterr = 0;
  for (;;) {
    const int found = getopt_long(argc, argv, ":h", table, NULL);
    if (found == -1) {
      return RLO__EXIT_OK;
    }
    if (found == ':' || found == '?') {
      return fail_option(command, argv, found == ':');
    }
    /* The first row is --help. */
    const int row = found == 'h' ? 0 : found - FIRST_OPTION;
    RLO__EXIT_TRY(take(command, &command->options[row], argv[0], request, out_common));
  }
}

int rlo__operands_take(int argc, char **argv, int expected, const char *what) {
  const int count = argc - optind;
  return count == expected ? RLO__EXIT_OK
                           : rlo__fail_usage(argv[0], "%s needs %s: %d given, %d expected", argv[0],
                                             what, count, expected);
}

/* Reads the decimal number at *text and advances *text past it. */
static int parse_int64(const char *verb, const char *what, const char **text, int64_t *out_value) {
  *out_value = 0;
  /* strtoll would accept leading blanks and a plus sign. */
  RLO__USAGE_IF(!isdigit((unsigned char)(*text)[**text == '-']), verb, "%s: '%s' is not a number",
                what, *text);
  char *end = NULL;
  errno = 0;
  *out_value = strtoll(*text, &end, 10);
  RLO__USAGE_IF(errno == ERANGE, verb, "%s: %s does not fit 64 bits with a sign", what, *text);
  *text = end;
  return RLO__EXIT_OK;
}

int rlo__number_parse(const char *verb, const char *what, const char *text, int64_t min,
                      int64_t max, int64_t *out_value) {
  const char *rest = text;
  RLO__EXIT_TRY(parse_int64(verb, what, &rest, out_value));
  RLO__USAGE_IF(*rest != '\0', verb, "%s: '%s' is not a number", what, text);
  return *out_value >= min && *out_value <= max
             ? RLO__EXIT_OK
             : rlo__fail_usage(verb, "%s: %" PRId64 " is not within %" PRId64 " .. %" PRId64, what,
                               *out_value, min, max);
}

int rlo__size_parse(const char *verb, const char *what, const char *text, int64_t min,
                    int64_t *out_bytes) {
  static const struct {
    const char *name;
    int64_t bytes;
  } units[] = {{"", 1},
               {"kB", 1000},
               {"MB", 1000000},
               {"GB", 1000000000},
               {"TB", INT64_C(1000000000000)},
               {"KiB", INT64_C(1) << 10},
               {"MiB", INT64_C(1) << 20},
               {"GiB", INT64_C(1) << 30},
               {"TiB", INT64_C(1) << 40}};

  const char *unit = text;
  int64_t number = 0;
  RLO__EXIT_TRY(parse_int64(verb, what, &unit, &number));
  for (size_t n = 0; n < sizeof(units) / sizeof(units[0]); ++n) {
    if (strcmp(unit, units[n].name) != 0) {
      continue;
    }
    RLO__USAGE_IF(!rlo__mul(number, units[n].bytes, out_bytes) || *out_bytes < min, verb,
                  "%s: %s is not within %" PRId64 " .. %" PRId64 " bytes", what, text, min,
                  INT64_MAX);
    return RLO__EXIT_OK;
  }
  return rlo__fail_usage(
      verb, "%s: '%s' is no size: a number of bytes, or of kB, MB, GB, TB, KiB, MiB, GiB or TiB",
      what, text);
}

int rlo__device_choice_parse(const char *verb, const char *text, rlo__device_choice *out_choice) {
  *out_choice = (rlo__device_choice){0};
  out_choice->is_none = strcmp(text, "none") == 0;
  out_choice->is_all = strcmp(text, "all") == 0;
  if (out_choice->is_none || out_choice->is_all || strcmp(text, "default") == 0) {
    return RLO__EXIT_OK;
  }
  for (const char *rest = text;; ++rest) {
    size_t length = strcspn(rest, ",");
    RLO__USAGE_IF(out_choice->count == RLO__MAX_DEVICES, verb,
                  "--device: '%s' has more than %d devices", text, RLO__MAX_DEVICES);
    rlo__device_ref *device = &out_choice->devices[out_choice->count];
    RLO__EXIT_TRY(parse_device_part(verb, rest, length, device));
    for (int32_t n = 0; n < out_choice->count; ++n) {
      const rlo__device_ref *other = &out_choice->devices[n];
      RLO__USAGE_IF(other->index == device->index && strcmp(other->name, device->name) == 0, verb,
                    "--device: '%s' names %.*s twice", text, (int)length, rest);
    }
    ++out_choice->count;
    rest += length;
    if (*rest == '\0') {
      return RLO__EXIT_OK;
    }
  }
}

/* Returns whether a number is exactly the integer that a text of digits alone
 * is; true for any other text. */
static bool is_exact(const char *text, double value) {
  char digits[DBL_MAX_10_EXP + 8];
  const char *first = text[0] == '-' ? text + 1 : text;
  if (first[strspn(first, "0123456789")] != '\0') {
    return true;
  }
  snprintf(digits, sizeof(digits), "%.0f", fabs(value));
  for (; first[0] == '0' && first[1] != '\0'; ++first) {
  }
  return strcmp(digits, first) == 0;
}

int rlo__factor_parse(const char *verb, const char *what, const char *text, double *out_value) {
  char *end;
  *out_value = strtod(text, &end);
  RLO__USAGE_IF(end == text || *end != '\0' || !isfinite(*out_value), verb,
                "%s: '%s' is not a finite number", what, text);
  RLO__USAGE_IF(!is_exact(text, *out_value), verb,
                "%s: %s is not exact as a factor, which is a double; the nearest one is %.0f", what,
                text, *out_value);
  return RLO__EXIT_OK;
}

int rlo__word_parse(const char *verb, const char *what, const char *text, const char *const *words,
                    int32_t *out_number) {
  char buffer[128];
  rlo__str choice = rlo__str_over(buffer, sizeof(buffer));
  rlo__nearest nearest = rlo__nearest_begin(text, strlen(text));
  for (int32_t n = 0; words[n] != NULL; ++n) {
    if (strcmp(text, words[n]) == 0) {
      *out_number = n + 1;
      return RLO__EXIT_OK;
    }
    rlo__nearest_try(&nearest, words[n]);
    rlo__str_printf(&choice, "%s%s", n == 0 ? "" : words[n + 1] != NULL ? ", " : " or ", words[n]);
  }
  return rlo__fail_usage(verb, "%s%s'%s' is not %s%s", what == NULL ? "" : what,
                         what == NULL ? "" : ": ", text, rlo__str_text(&choice), nearest.hint);
}

int rlo__int_list_parse(const char *verb, const char *what, const char *text,
                        rlo__int_list *out_list) {
  *out_list = (rlo__int_list){.is_given = true};
  if (strcmp(text, "-") == 0) {
    return RLO__EXIT_OK;
  }
  for (const char *rest = text;; ++rest) {
    RLO__USAGE_IF(out_list->count == RLO_MAX_RANK, verb, "%s: '%s' has more than %d numbers", what,
                  text, RLO_MAX_RANK);
    RLO__EXIT_TRY(parse_int64(verb, what, &rest, &out_list->values[out_list->count++]));
    if (*rest == '\0') {
      return RLO__EXIT_OK;
    }
    RLO__USAGE_IF(*rest != ',', verb, "%s: '%s' is not a list of numbers between commas", what,
                  text);
  }
}

int rlo__permutation_parse(const char *verb, const char *what, const char *text, int32_t rank,
                           int32_t *out_permutation) {
  int32_t numbers[RLO_MAX_RANK];
  rlo__int_list list = {.count = rank};
  if (text != NULL) {
    RLO__EXIT_TRY(rlo__int_list_parse(verb, what, text, &list));
  }
  RLO__EXIT_IF(list.count != rank, "the permutation has %d entries, the array has rank %d",
               list.count, rank);
  for (int32_t k = 0; k < rank; ++k) {
    /* Clamped: the ends of the range are invalid entries too. */
    numbers[k] =
        text == NULL ? k : (int32_t)rlo__max(INT32_MIN, rlo__min(list.values[k], INT32_MAX));
  }
  return rlo__check(rlo_permutation_normalize(numbers, rank, out_permutation));
}
