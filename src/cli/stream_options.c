/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_options.h"

#include "relayout/service.h"

#include "message.h"

static int parse_io(const char *verb, const char *value, bool *out_is_direct) {
  /* What is best is the same everywhere, up to now. */
  static const char *const words[] = {"auto", "buffered", "direct"};
  int32_t n = 0;
  int code = rlo__word_parse(verb, "--io", value, words, 3, &n);
  *out_is_direct = n == 2;
  return code;
}

int rlo__stream_option_take(const char *verb,
                            int option,
                            const char *value,
                            rlo__stream_options *options) {
  switch (option) {
    case RLO__OPTION_DEVICES:
      options->is_device = true;
      return rlo__device_choice_parse(verb, value, &options->devices);
    case RLO__OPTION_HOST:
      options->is_host = true;
      break;
    case RLO__OPTION_MEMORY:
      return rlo__size_parse(verb,
                             "--memory",
                             value,
                             RLO_SERVICE_MIN_HOST_BYTES,
                             &options->memory_bytes);
    case RLO__OPTION_IO:
      return parse_io(verb, value, &options->is_direct);
    case RLO__OPTION_PASSES: {
      static const char *const words[] = {"1", "2"};
      int32_t number = 0;
      int code = rlo__word_parse(verb, "--passes", value, words, 2, &number);
      options->passes = number + 1;
      return code;
    }
    case RLO__OPTION_DRY_RUN:
      options->is_dry_run = true;
      break;
    case RLO__OPTION_RESUME:
      options->is_resumed = true;
      break;
    case RLO__OPTION_PROGRESS:
      options->is_progress_wanted = true;
      break;
    case RLO__OPTION_QUIET:
      options->is_quiet = true;
      break;
    default:
      break;
  }
  return RLO__EXIT_OK;
}

int rlo__stream_options_check(const char *verb, rlo__stream_options *options) {
  if (options->is_host && options->is_device) {
    return rlo__fail_usage(verb, "--host uses no device: it excludes --device");
  }
  options->devices.is_none |= options->is_host;
  return RLO__EXIT_OK;
}

bool rlo__stream_is_asked_for(const rlo__stream_options *options) {
  return options->memory_bytes != 0 || options->passes != 0 ||
         options->is_direct || options->is_dry_run;
}
