/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "relayout/index.h"

#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"

static int print_slot(const rlo_shape *shape, const char *text, bool is_json) {
  rlo__int_list index;
  int code = rlo__int_list_parse("index", "index", text, &index);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (index.count != shape->rank) {
    return rlo__fail("the index has %d coordinates, the shape has rank %d",
                     index.count,
                     shape->rank);
  }
  int64_t slot = 0;
  if (rlo_index_to_linear(shape, index.values, &slot) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo__report r;
  rlo__report_begin(&r, is_json, 0);
  RLO__REPORT(&r, RLO__INT("slot", "", slot));
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

static int print_element(const rlo_shape *shape,
                         const char *text,
                         bool is_json) {
  int64_t slot = 0;
  int code =
      rlo__number_parse("index", "slot", text, INT64_MIN, INT64_MAX, &slot);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  int64_t index[RLO_MAX_RANK];
  bool is_element = false;
  if (rlo_index_from_linear(shape, slot, index, &is_element) != RLO_OK) {
    return rlo__fail_last();
  }
  char text_of_index[RLO_MAX_RANK * 21 + 1] = "-";
  size_t at = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    at += (size_t)snprintf(text_of_index + at,
                           sizeof(text_of_index) - at,
                           "%s%" PRId64,
                           k == 0 ? "" : ",",
                           index[k]);
  }
  rlo__report r;
  rlo__report_begin(&r, is_json, 0);
  rlo__report_line(&r, "", "%s", is_element ? text_of_index : "padding");
  RLO__REPORT(&r,
              RLO__BOOL("is_element", is_element),
              is_element
                  ? (rlo__row)RLO__INTS("index", NULL, index, shape->rank)
                  : (rlo__row)RLO__STRING("index", NULL, NULL));
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

typedef struct index_request {
  bool is_inverse;
} index_request;

static bool is_negative_number(const char *text) {
  return text[0] == '-' && isdigit((unsigned char)text[1]);
}

/* Excludes a negative number in the last place from the parsing of options, so
 * that the library reports it as an invalid coordinate. */
static int count_before_negative(int argc, char **argv) {
  return argc > 2 && is_negative_number(argv[argc - 1]) ? argc - 1 : argc;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("inverse", FLAG, index_request, is_inverse),
    {0}};

static int run(int argc, char **argv) {
  rlo__common_options common;
  index_request request = {false};
  int code = rlo__options_take(&rlo__cmd_index,
                               count_before_negative(argc, argv),
                               argv,
                               &request,
                               &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(
      argc,
      argv,
      2,
      request.is_inverse ? "a shape and a slot" : "a shape and an index",
      &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_shape shape;
  code = rlo__shape_operand_parse(operands[0], &shape);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  return request.is_inverse ? print_element(&shape, operands[1], common.is_json)
                            : print_slot(&shape, operands[1], common.is_json);
}

const rlo__command rlo__cmd_index = {
    .name = "index",
    .summary = "print the slot of an element, or the element of a slot",
    .help =
        "Usage: relayout index [--json] SHAPE I,J,...\n"
        "       relayout index [--json] --inverse SHAPE N\n"
        "\n"
        "Prints the slot (counted in elements from 0) where the element with\n"
        "this index lies in memory. With --inverse: the index of the element\n"
        "at slot N, or the word padding. The index of a scalar is written -.\n"
        "\n"
        "  --json   print {\"slot\":N}, or "
        "{\"is_element\":true,\"index\":[...]}"
        "\n"
        "\n"
        "Example: relayout index 'f32[2,3]{0,1:pad(3,5)}' 1,2\n",
    .options = options,
    .run = run,
};
