/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "subprocess.h"

typedef struct copy_limit_request {
  rlo__common_options common;
  int64_t bytes;
  int64_t rounds;
} copy_limit_request;

static void print(const copy_limit_request *request,
                  const char *device_name,
                  double gb_per_s) {
  rlo__report r;
  rlo__bytes_text text;
  rlo__report_begin(&r, request->common.is_json, 0);
  rlo__report_line(
      &r,
      "",
      "%.2f GB/s  copying %s on %s (read + written, median of %" PRId64 ")",
      gb_per_s,
      rlo__bytes_text_make(request->bytes, &text),
      device_name,
      request->rounds);
  RLO__REPORT(&r,
              RLO__STRING("device", NULL, device_name),
              RLO__INT("bytes", NULL, request->bytes),
              RLO__INT("rounds", NULL, request->rounds),
              RLO__REAL("gb_per_s", gb_per_s));
  rlo__report_end(&r);
}

static int measure(void *payload) {
  const copy_limit_request *request = payload;
  rlo__session session;
  int code = rlo__session_init(&request->common.device, &session);
  if (code == RLO__EXIT_OK) {
    double gb_per_s = 0;
    if (rlo_copy_limit(session.context,
                       request->bytes,
                       (int32_t)request->rounds,
                       &gb_per_s) == RLO_OK) {
      print(request, session.device_name, gb_per_s);
    } else {
      code = rlo__fail_last();
    }
  }
  rlo__session_deinit(&session);
  return code;
}

static int take_option(void *payload, int option, const char *value) {
  copy_limit_request *request = payload;
  return option == RLO__OPTION_BYTES ? rlo__number_parse("copy-limit",
                                                         "--bytes",
                                                         value,
                                                         4096,
                                                         INT64_MAX,
                                                         &request->bytes)
                                     : rlo__number_parse("copy-limit",
                                                         "--rounds",
                                                         value,
                                                         1,
                                                         1000000,
                                                         &request->rounds);
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"bytes", required_argument, NULL, RLO__OPTION_BYTES},
    {"rounds", required_argument, NULL, RLO__OPTION_ROUNDS},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  copy_limit_request request = {.bytes = (int64_t)64 << 20, .rounds = 11};
  int code = rlo__options_take(
      &rlo__cmd_copy_limit, argc, argv, &request, &request.common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(argc, argv, 0, "no operands", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  return rlo__subprocess_run(request.common.is_isolated, measure, &request);
}

const rlo__command rlo__cmd_copy_limit = {
    .name = "copy-limit",
    .summary = "measure how fast a device copies",
    .help =
        "Usage: relayout copy-limit [OPTION...]\n"
        "\n"
        "Times the plain copy between two buffers of a device: no relayout\n"
        "can be faster. GB/s are decimal and count the bytes read and the\n"
        "bytes written.\n"
        "\n"
        "  --device D    a device of `relayout devices`, by its number or a "
        "part\n"
        "                of its name; the default device without it\n"
        "  --bytes N     size of each buffer (67108864)\n"
        "  --rounds N    copies timed, of which the median counts (11)\n"
        "  --json        print an object with the keys device, bytes, rounds\n"
        "                and gb_per_s\n"
        "  --no-isolate  use the OpenCL driver in this process\n",
    .options = options,
    .take_option = take_option,
    .run = run,
};
