/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_options.h"

#include "message.h"

int rlo__stream_option_take_device(const char *verb,
                                   const char *value,
                                   void *options) {
  rlo__stream_options *taken = options;
  taken->is_device = true;
  return rlo__device_choice_parse(verb, value, &taken->devices);
}

int rlo__stream_option_take_io(const char *verb,
                               const char *value,
                               void *is_direct) {
  /* auto is buffered, which is best everywhere up to now. */
  static const char *const words[] = {"auto", "buffered", "direct"};
  int32_t n = 0;
  int code = rlo__word_parse(verb, "--io", value, words, 3, &n);
  *(bool *)is_direct = n == 2;
  return code;
}

int rlo__stream_option_take_passes(const char *verb,
                                   const char *value,
                                   void *passes) {
  static const char *const words[] = {"1", "2"};
  int32_t number = 0;
  int code = rlo__word_parse(verb, "--passes", value, words, 2, &number);
  *(int32_t *)passes = number + 1;
  return code;
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
