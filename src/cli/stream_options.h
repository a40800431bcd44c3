/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_OPTIONS_H
#define RLO_CLI_STREAM_OPTIONS_H

#include "relayout/service.h"

#include "options.h"

/** The options of verbs that move large arrays in pieces. Functions return an
 *  exit code, after a message unless it is RLO__EXIT_OK. */

typedef struct rlo__stream_options {
  rlo__device_choice devices;
  /** --memory; 0: not given. */
  int64_t memory_bytes;
  /** --io direct. */
  bool is_direct;
  /** --passes; 0: not given. */
  int32_t passes;
  bool is_dry_run;
  /** Goes on with a job that was stopped. */
  bool is_resumed;
  bool is_quiet;
  bool is_progress_wanted;
  /** --family and --schedule of the kernels; NULL: not given. */
  const char *family;
  const char *schedule;
  /** Given; they only exclude others. */
  bool is_host;
  bool is_device;
} rlo__stream_options;

/** Rows of a verb's table, whose request has them in a field. */
#define RLO__STREAM_OPTIONS(request, field)                                   \
  RLO__OPTION_BY(                                                             \
      "device", CALL, request, field, rlo__stream_option_take_device),        \
      RLO__OPTION("host", FLAG, request, field.is_host),                      \
      RLO__OPTION_BY(                                                         \
          "io", CALL, request, field.is_direct, rlo__stream_option_take_io),  \
      RLO__OPTION_BYTES(                                                      \
          "memory", request, field.memory_bytes, RLO_SERVICE_MIN_HOST_BYTES), \
      RLO__OPTION_BY("passes",                                                \
                     CALL,                                                    \
                     request,                                                 \
                     field.passes,                                            \
                     rlo__stream_option_take_passes),                         \
      RLO__OPTION("dry-run", FLAG, request, field.is_dry_run),                \
      RLO__OPTION("resume", FLAG, request, field.is_resumed),                 \
      RLO__OPTION("progress", FLAG, request, field.is_progress_wanted),       \
      RLO__OPTION("quiet", FLAG, request, field.is_quiet)

/** The help of those that are for large arrays only. */
#define RLO__STREAM_HELP                                                       \
  "  --memory SIZE use so much of it (512MiB, 4GiB): in pieces even if the\n"  \
  "                array is small. A quarter of what is free without it\n"     \
  "  --io WAY      direct: past the system's page cache, in pieces even if "   \
  "the\n"                                                                      \
  "                array is small. buffered, or auto: through it\n"            \
  "  --passes N    read and write each byte once (1) or twice (2), in "        \
  "longer\n"                                                                   \
  "                runs and through OUT; the faster without it\n"              \
  "  --dry-run     only print what would be done: passes, pieces, bytes and\n" \
  "                the lengths of the runs that are read and written\n"        \
  "  --resume      go on where the same command was stopped or killed, or\n"   \
  "                failed; begin if it was not. Without it only outputs of\n"  \
  "                1 GiB and more can be gone on with\n"                       \
  "  --progress    a line each 10 seconds where standard error is no\n"        \
  "                terminal; on one it is drawn without\n"                     \
  "  --quiet       no progress\n"                                              \
  "\n"                                                                         \
  "With --json there are then several objects, one a line, with the key\n"     \
  "event: plan, progress each second, and end, which has status and the\n"     \
  "keys above.\n"

/** For rlo__option.take: of the options, or of their fields. */
int rlo__stream_option_take_device(const char *verb,
                                   const char *value,
                                   void *options);
int rlo__stream_option_take_io(const char *verb,
                               const char *value,
                               void *is_direct);
int rlo__stream_option_take_passes(const char *verb,
                                   const char *value,
                                   void *passes);

/** Checks them together, and makes --host a choice of no device. */
int rlo__stream_options_check(const char *verb, rlo__stream_options *options);

/** Returns whether one is given that has a meaning only in pieces. */
bool rlo__stream_is_asked_for(const rlo__stream_options *options);

#endif
