/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "relayout/opencl.h"

#include "command.h"
#include "display.h"
#include "json.h"
#include "message.h"
#include "options.h"
#include "session.h"

static void print_json(const rlo_cache_info *info) {
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "path", info->path[0] != '\0' ? info->path : NULL);
  rlo__json_bool(&json, "is_usable", info->is_usable);
  rlo__json_string(&json, "reason", info->is_usable ? NULL : info->reason);
  rlo__json_int(&json, "entries", info->num_entries);
  rlo__json_int(&json, "bytes", info->bytes);
  rlo__json_end_object(&json);
}

static int show(bool is_json) {
  rlo_cache_info info;
  if (rlo_cache_inspect(rlo__cache_dir(), &info) != RLO_OK) {
    return rlo__fail_last();
  }
  if (is_json) {
    print_json(&info);
    return RLO__EXIT_OK;
  }
  rlo__bytes_text bytes;
  if (info.is_usable) {
    printf("%s: %" PRId64 " programs, %s\n",
           info.path,
           info.num_entries,
           rlo__bytes_text_make(info.bytes, &bytes));
  } else {
    printf("compiled programs are not stored: %s\n", info.reason);
  }
  return RLO__EXIT_OK;
}

static int clear(bool is_json) {
  rlo_cache_info info;
  if (rlo_cache_clear(rlo__cache_dir(), &info) != RLO_OK) {
    return rlo__fail_last();
  }
  if (is_json) {
    print_json(&info);
    return RLO__EXIT_OK;
  }
  rlo__bytes_text bytes;
  printf("deleted %" PRId64 " programs, %s\n",
         info.num_entries,
         rlo__bytes_text_make(info.bytes, &bytes));
  return RLO__EXIT_OK;
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {0}};

static int run(int argc, char **argv) {
  static const char *const words[] = {"show", "clear"};
  rlo__common_options common;
  int code = rlo__options_take(&rlo__cmd_cache, argc, argv, NULL, &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(argc, argv, 1, "show or clear", &operands);
  int32_t word = 0;
  if (code == RLO__EXIT_OK) {
    code = rlo__word_parse(argv[0], NULL, operands[0], words, 2, &word);
  }
  if (code != RLO__EXIT_OK) {
    return code;
  }
  return word == 0 ? show(common.is_json) : clear(common.is_json);
}

const rlo__command rlo__cmd_cache = {
    .name = "cache",
    .summary = "show or empty the directory of compiled programs",
    .help =
        "Usage: relayout cache show|clear [--json]\n"
        "\n"
        "Programs that were compiled for a device are stored in\n"
        "$RELAYOUT_CACHE_DIR, else $XDG_CACHE_HOME/relayout, else\n"
        "$HOME/.cache/relayout, so that the next command need not compile "
        "them\n"
        "again. The directory holds 64 MiB at most; the least recently used\n"
        "programs are deleted first.\n"
        "It is not used if it belongs to another user, or if others can write "
        "to\n"
        "it. With an empty RELAYOUT_CACHE_DIR nothing is stored.\n"
        "\n"
        "  show    print where it is and how much it holds\n"
        "  clear   delete what it holds; other files in it stay\n"
        "  --json  print an object with the keys path, is_usable, reason,\n"
        "          entries, bytes\n"
        "\n"
        "PoCL, the driver for CPUs, stores files of its own in\n"
        "$POCL_CACHE_DIR, else $XDG_CACHE_HOME/pocl/kcache, else\n"
        "$HOME/.cache/pocl/kcache.\n",
    .options = options,
    .run = run,
};
