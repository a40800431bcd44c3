/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "suite.h"

/** --size-factor small: a fraction of a MiB for most cases. */
#define SMALL_FACTOR (1.0 / 512)

/** --effort measure without --measure-seconds. */
#define DEFAULT_MEASURE_SECONDS 2.0

static const char default_budgets[] = "32MiB,256MiB";

enum { MIN_ROUNDS = 1, DEFAULT_ROUNDS = 7 };

static void print_help(void) {
  printf(
      "Usage: relayout-bench [OPTION...] [SUITE...]\n"
      "\n"
      "Times relayouts of an OpenCL device in turns with its copy kernel and\n"
      "the host's copy, of which the faster is the limit, and with what else\n"
      "can do the same. Every result is checked before it is timed; a wrong\n"
      "byte ends the run with exit code 1.\n"
      "\n"
      "  --list           print the cases instead of timing them\n"
      "  --pairs          print them as `relayout tune --suite` reads them\n"
      "  --effort E       estimate, or measure: time the candidates of each "
      "plan\n"
      "                   first, and show estimated plans beside measured "
      "ones\n"
      "  --measure-seconds S\n"
      "                   for each of these (2)\n"
      "  --case REGEX     only the cases whose name matches\n"
      "  --rounds N       turns, of which the medians count (%d)\n"
      "  --size-factor F  elements, against the full size: 0 < F <= 8, or\n"
      "                   \"small\" for 1/512; without it 1, on a GPU as much\n"
      "                   as its cache asks for\n"
      "  --peers LIST     none, all, or names apart by commas, beside the\n"
      "                   limit's; without it all but those that take long\n"
      "  --device N       a device of `relayout devices`\n"
      "  --folder F       of the suite files: where they are (TMPDIR, or "
      "/tmp)\n"
      "  --memory LIST    its budgets, for each a contestant (%s)\n"
      "  --command N:F:C  one more, called N: the shell's command C reads $1,\n"
      "                   which is F, and makes the file or folder $2\n"
      "  --json, --csv    print everything so, and the table to standard "
      "error\n"
      "\n"
      "Suites (all, if none is named):\n",
      (int)DEFAULT_ROUNDS, default_budgets);
  for (int32_t i = 0; i < bench_num_suites; ++i) {
    printf("  %-10s %s\n", bench_suites[i].name, bench_suites[i].summary);
  }
  const bench_peer *peers[BENCH_MAX_PEERS];
  int32_t count = bench_peers_get(peers);
  puts("\nPeers of this build:");
  for (int32_t p = BENCH_PEER_HOST_COPY; p < count; ++p) {
    printf("  %-12s %s%s\n", peers[p]->name, peers[p]->summary,
           peers[p]->is_opt_in ? " (only if named)" : "");
  }
}

static bool names(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; ++at) {
    bool is_begin = at == list || at[-1] == ',';
    if (is_begin && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

/** @param list  NULL: those that do not take long. */
static bool choose_peers(const char *list, bench_settings *settings) {
  const bench_peer *peers[BENCH_MAX_PEERS];
  int32_t count = bench_peers_get(peers);
  int32_t num_named = 0;
  settings->num_peers = 0;
  const bool is_all = list != NULL && strcmp(list, "all") == 0;
  const bool is_none = list != NULL && strcmp(list, "none") == 0;
  for (int32_t p = 0; p < count; ++p) {
    bool is_chosen = p <= BENCH_PEER_READ || is_all || (list == NULL && !peers[p]->is_opt_in) ||
                     (peers[p] == &bench_peer_estimate && settings->measure_seconds > 0);
    if (list != NULL && names(list, peers[p]->name)) {
      is_chosen = true;
      num_named += 1;
    }
    if (is_chosen) {
      settings->peers[settings->num_peers++] = peers[p];
    }
  }
  int32_t num_words = 1;
  for (const char *at = list; at != NULL && *at != '\0'; ++at) {
    num_words += *at == ',';
  }
  if (list != NULL && !is_all && !is_none && num_named != num_words) {
    return bench_fail("--peers %s: see --help for the peers of this build", list);
  }
  return true;
}

static bool parse_factor(const char *text, double *out_factor) {
  char *end = NULL;
  double factor = strtod(text, &end);
  if (strcmp(text, "small") == 0) {
    *out_factor = SMALL_FACTOR;
    return true;
  }
  if (end == text || *end != '\0' || !(factor > 0) || factor > (double)BENCH_MAX_SIZE_FACTOR) {
    return bench_fail("--size-factor %s: above 0 and at most %d, or \"small\"", text,
                      BENCH_MAX_SIZE_FACTOR);
  }
  *out_factor = factor;
  return true;
}

static bool parse_int(const char *option, const char *text, int32_t least, int32_t most,
                      int32_t *out_value) {
  char *end = NULL;
  long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most) {
    return bench_fail("%s %s: from %d to %d", option, text, (int)least, (int)most);
  }
  *out_value = (int32_t)value;
  return true;
}

static bool parse_effort(const char *text, double *out_measure_seconds) {
  if (strcmp(text, "measure") == 0) {
    if (*out_measure_seconds <= 0) {
      *out_measure_seconds = DEFAULT_MEASURE_SECONDS;
    }
    return true;
  }
  *out_measure_seconds = 0;
  return strcmp(text, "estimate") == 0 || bench_fail("--effort %s: estimate or measure", text);
}

static bool parse_seconds(const char *text, double *out_seconds) {
  char *end = NULL;
  double seconds = strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds > 0) || seconds > 3600) {
    return bench_fail("--measure-seconds %s: above 0 and at most 3600", text);
  }
  *out_seconds = seconds;
  return true;
}

static bool parse_pattern(const char *text, bench_request *out_request) {
  char reason[128];
  int code = regcomp(&out_request->pattern, text, REG_EXTENDED | REG_ICASE | REG_NOSUB);
  if (code != 0) {
    regerror(code, &out_request->pattern, reason, sizeof reason);
    return bench_fail("--case %s: %s", text, reason);
  }
  out_request->has_pattern = true;
  return true;
}

static bool add_command(const char *text, bench_files_request *files) {
  if (files->num_commands == BENCH_MAX_COMMANDS) {
    return bench_fail("--command: at most %d of them", (int)BENCH_MAX_COMMANDS);
  }
  files->commands[files->num_commands++] = text;
  return true;
}

int bench_request_parse(int argc, char **argv, bench_request *out_request) {
  *out_request = (bench_request){.settings = {.rounds = DEFAULT_ROUNDS},
                                 .size_factor = 1.0,
                                 .device_number = -1,
                                 .files = {.budgets = default_budgets}};
  const char *parent = getenv("TMPDIR");
  out_request->files.folder = parent == NULL || parent[0] == '\0' ? "/tmp" : parent;

  enum {
    HELP = 256,
    LIST,
    PAIRS,
    EFFORT,
    SECONDS,
    CASE,
    ROUNDS,
    FACTOR,
    PEERS,
    DEVICE,
    JSON,
    CSV,
    FOLDER,
    MEMORY,
    COMMAND,
    CHILD
  };
  static const struct option options[] = {{"help", no_argument, NULL, HELP},
                                          {"list", no_argument, NULL, LIST},
                                          {"pairs", no_argument, NULL, PAIRS},
                                          {"effort", required_argument, NULL, EFFORT},
                                          {"measure-seconds", required_argument, NULL, SECONDS},
                                          {"case", required_argument, NULL, CASE},
                                          {"rounds", required_argument, NULL, ROUNDS},
                                          {"size-factor", required_argument, NULL, FACTOR},
                                          {"peers", required_argument, NULL, PEERS},
                                          {"device", required_argument, NULL, DEVICE},
                                          {"json", no_argument, NULL, JSON},
                                          {"csv", no_argument, NULL, CSV},
                                          {"folder", required_argument, NULL, FOLDER},
                                          {"memory", required_argument, NULL, MEMORY},
                                          {"command", required_argument, NULL, COMMAND},
                                          {"compile-child", required_argument, NULL, CHILD},
                                          {0}};
  const char *peers = NULL;
  const char *effort = NULL;
  bool is_valid = true;
  for (int option; is_valid && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (option) {
      case HELP:
        print_help();
        return BENCH_EXIT_OK;
      case LIST:
        out_request->is_list = true;
        break;
      case PAIRS:
        out_request->is_list = true;
        out_request->is_pair_list = true;
        break;
      case EFFORT:
        effort = optarg;
        break;
      case SECONDS:
        is_valid = parse_seconds(optarg, &out_request->settings.measure_seconds);
        break;
      case CASE:
        is_valid = !out_request->has_pattern && parse_pattern(optarg, out_request);
        break;
      case ROUNDS:
        out_request->has_rounds = true;
        is_valid = parse_int("--rounds", optarg, MIN_ROUNDS, BENCH_MAX_ROUNDS,
                             &out_request->settings.rounds);
        break;
      case FACTOR:
        out_request->has_size_factor = true;
        is_valid = parse_factor(optarg, &out_request->size_factor);
        break;
      case PEERS:
        peers = optarg;
        break;
      case DEVICE:
        is_valid = parse_int("--device", optarg, 0, 1000000, &out_request->device_number);
        break;
      case JSON:
        out_request->format = BENCH_FORMAT_JSON;
        break;
      case CSV:
        out_request->format = BENCH_FORMAT_CSV;
        break;
      case FOLDER:
        out_request->files.folder = optarg;
        break;
      case MEMORY:
        out_request->files.budgets = optarg;
        break;
      case COMMAND:
        is_valid = add_command(optarg, &out_request->files);
        break;
      case CHILD:
        out_request->child = optarg;
        break;
      default:
        is_valid = false;
        break;
    }
  }
  if (is_valid) {
    is_valid =
        parse_effort(effort == NULL ? "estimate" : effort, &out_request->settings.measure_seconds);
  }
  if (!is_valid || !choose_peers(peers, &out_request->settings)) {
    return BENCH_EXIT_USAGE;
  }
  out_request->program = argv[0];
  out_request->suites = argv + optind;
  out_request->num_suites = argc - optind;
  for (int32_t i = 0; i < out_request->num_suites; ++i) {
    if (bench_suite_find(out_request->suites[i]) == NULL) {
      bench_fail("no suite %s; see --help", out_request->suites[i]);
      return BENCH_EXIT_USAGE;
    }
  }
  return -1;
}

void bench_request_deinit(bench_request *request) {
  if (request->has_pattern) {
    regfree(&request->pattern);
    request->has_pattern = false;
  }
}
