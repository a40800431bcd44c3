/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "command.h"
#include "message.h"
#include "op_list.h"
#include "operation.h"
#include "options.h"

typedef struct op_words {
  rlo__op_request request;
  bool is_listing;
} op_words;

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"list", no_argument, NULL, RLO__OPTION_LIST},
    {"attr", required_argument, NULL, RLO__OPTION_ATTR},
    {"from", required_argument, NULL, RLO__OPTION_FROM},
    {"to", required_argument, NULL, RLO__OPTION_TO},
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"host", no_argument, NULL, RLO__OPTION_HOST},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int take_option(void *payload, int option, const char *value) {
  op_words *words = payload;
  rlo__op_request *request = &words->request;
  switch (option) {
    case RLO__OPTION_LIST:
      words->is_listing = true;
      return RLO__EXIT_OK;
    case RLO__OPTION_ATTR:
      if (request->num_attributes == RLO__MAX_OP_ATTRIBUTES) {
        return rlo__fail_usage(
            "op", "--attr is given more than %d times", RLO__MAX_OP_ATTRIBUTES);
      }
      request->attributes[request->num_attributes++] = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_FROM:
      request->from[request->num_from++] = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_TO:
      request->to = value;
      return RLO__EXIT_OK;
    default:
      request->is_on_host = true;
      return RLO__EXIT_OK;
  }
}

static int take_words(int argc, char **argv, op_words *words) {
  rlo__op_request *request = &words->request;
  int code =
      rlo__options_take(&rlo__cmd_op, argc, argv, words, &request->common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (words->is_listing) {
    char **none;
    return rlo__operands_take(argc, argv, 0, "nothing", &none);
  }
  if (optind >= argc) {
    return rlo__fail_usage("op", "name an operation, or give --list");
  }
  if (request->is_on_host && request->common.device_number >= 0) {
    return rlo__fail_usage("op",
                           "--host uses no device: it goes without "
                           "--device");
  }
  request->name = argv[optind];
  request->paths = &argv[optind + 1];
  request->num_paths = argc - optind - 1;
  return RLO__EXIT_OK;
}

static int run(int argc, char **argv) {
  op_words words = {0};
  const char **from = calloc((size_t)argc, sizeof(*from));
  if (from == NULL) {
    return rlo__fail("cannot get memory for %d words", argc);
  }
  words.request.from = from;
  int code = take_words(argc, argv, &words);
  if (code == RLO__EXIT_OK) {
    code = words.is_listing ? rlo__op_list_print(words.request.common.is_json)
                            : rlo__operation_run(&words.request);
  }
  free((void *)from);
  return code;
}

const rlo__command rlo__cmd_op = {
    .name = "op",
    .summary = "run an operation on arrays in files",
    .help =
        "Usage: relayout op NAME [OPTION...] IN... OUT...\n"
        "       relayout op --list [--json]\n"
        "\n"
        "Reads arrays, runs one of the built-in operations on a device, and\n"
        "writes its results:\n"
        "\n"
        "  relayout op pad_v2 --attr paddings=0,1,2,2 in.npy out.npy\n"
        "  relayout op concat --attr axis=1 a.npy b.npy c.npy out.npy\n"
        "  relayout op split_v --attr num_or_size_splits=2 in.npy a.npy "
        "b.npy\n"
        "\n"
        "  --list           print the operations: their inputs and attributes\n"
        "  --attr KEY=VALUE an attribute: a number, numbers between commas "
        "(-\n"
        "                   for none), true or false, a word, or a shape\n"
        "  --to LAYOUT      the layout of the results, in braces; row-major\n"
        "                   without it\n"
        "  --from SHAPE     the shape whose slots an input holds; one for "
        "each\n"
        "                   input, in their order, - for what its file says\n"
        "  --device N       a device of `relayout devices`; the default "
        "device\n"
        "                   without it\n"
        "  --host           use the host backend, and no OpenCL\n"
        "  --json           print an object with the keys operation and "
        "results\n"
        "                   (each shape, file)\n"
        "  --no-isolate     use the OpenCL driver in this process\n"
        "\n"
        "NAME may be written in any case, with or without underscores. Files\n"
        "are as in `relayout convert`. What is printed is the shape of each\n"
        "result. No OUT changes before all results are complete on the disk.\n",
    .options = options,
    .take_option = take_option,
    .run = run,
};
