/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_OPTIONS_H
#define RLO_CLI_STREAM_OPTIONS_H

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

/** Entries of a verb's table. */
#define RLO__STREAM_OPTIONS                                    \
  {"device", required_argument, NULL, RLO__OPTION_DEVICES},    \
      {"host", no_argument, NULL, RLO__OPTION_HOST},           \
      {"io", required_argument, NULL, RLO__OPTION_IO},         \
      {"memory", required_argument, NULL, RLO__OPTION_MEMORY}, \
      {"passes", required_argument, NULL, RLO__OPTION_PASSES}, \
      {"dry-run", no_argument, NULL, RLO__OPTION_DRY_RUN},     \
      {"resume", no_argument, NULL, RLO__OPTION_RESUME},       \
      {"progress", no_argument, NULL, RLO__OPTION_PROGRESS}, { \
    "quiet", no_argument, NULL, RLO__OPTION_QUIET              \
  }

/** What the help says of those that are for large arrays only. */
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

/** Stores one of these options; every other one is ignored. */
int rlo__stream_option_take(const char *verb,
                            int option,
                            const char *value,
                            rlo__stream_options *options);

/** Checks them together, and makes --host a choice of no device. */
int rlo__stream_options_check(const char *verb, rlo__stream_options *options);

/** Returns whether one is given that has a meaning only in pieces. */
bool rlo__stream_is_asked_for(const rlo__stream_options *options);

#endif
