/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "suite.h"
#include "timer.h"

/** --size-factor small: a fraction of a MiB for most cases. */
#define SMALL_FACTOR (1.0 / 512)

/** --effort measure without --measure-seconds. */
#define DEFAULT_MEASURE_SECONDS 2.0

enum { MIN_ROUNDS = 1, DEFAULT_ROUNDS = 7, MAX_ROUNDS = 1001 };

typedef struct request {
  bench_settings settings;
  bench_format format;
  double size_factor;
  int32_t device_number;
  bool is_list;
  bool is_pair_list;
  bool has_pattern;
  regex_t pattern;
  /** Hidden: what `compile` runs this program for. */
  const char *child;
  const char *program;
  char **suites;
  int32_t num_suites;
} request;

static void print_help(void) {
  printf(
      "Usage: relayout-bench [OPTION...] [SUITE...]\n"
      "\n"
      "Times relayouts of an OpenCL device in turns with its copy kernel, the\n"
      "limit, and with what else can do the same. Every result is checked\n"
      "before it is timed; a wrong byte ends the run with exit code 1.\n"
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
      "  --size-factor F  elements, against the full size: 0 < F <= 1, or\n"
      "                   \"small\" for 1/512\n"
      "  --peers LIST     none, all, or names apart by commas; without it all\n"
      "                   but those that take long\n"
      "  --device N       a device of `relayout devices`\n"
      "  --json, --csv    print everything so, and the table to standard "
      "error\n"
      "\n"
      "Suites (all, if none is named):\n",
      (int)DEFAULT_ROUNDS);
  for (int32_t i = 0; i < bench_num_suites; ++i) {
    printf("  %-10s %s\n", bench_suites[i].name, bench_suites[i].summary);
  }
  const bench_peer *peers[BENCH_MAX_PEERS];
  int32_t count = bench_peers_get(peers);
  puts("\nPeers of this build:");
  for (int32_t p = BENCH_PEER_LIBRARY + 1; p < count; ++p) {
    printf("  %-12s %s%s\n",
           peers[p]->name,
           peers[p]->summary,
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
    bool is_chosen =
        p <= BENCH_PEER_LIBRARY || is_all ||
        (list == NULL && !peers[p]->is_opt_in) ||
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
    return bench_fail("--peers %s: see --help for the peers of this build",
                      list);
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
  if (end == text || *end != '\0' || !(factor > 0) || factor > 1) {
    return bench_fail("--size-factor %s: above 0 and at most 1, or \"small\"",
                      text);
  }
  *out_factor = factor;
  return true;
}

static bool parse_int(const char *option,
                      const char *text,
                      int32_t least,
                      int32_t most,
                      int32_t *out_value) {
  char *end = NULL;
  long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most) {
    return bench_fail(
        "%s %s: from %d to %d", option, text, (int)least, (int)most);
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
  return strcmp(text, "estimate") == 0 ||
         bench_fail("--effort %s: estimate or measure", text);
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

static bool parse_pattern(const char *text, request *out_request) {
  char reason[128];
  int code = regcomp(
      &out_request->pattern, text, REG_EXTENDED | REG_ICASE | REG_NOSUB);
  if (code != 0) {
    regerror(code, &out_request->pattern, reason, sizeof reason);
    return bench_fail("--case %s: %s", text, reason);
  }
  out_request->has_pattern = true;
  return true;
}

/** @return an exit code, or -1 to go on. */
static int parse_arguments(int argc, char **argv, request *out_request) {
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
    CHILD
  };
  static const struct option options[] = {
      {"help", no_argument, NULL, HELP},
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
      {"compile-child", required_argument, NULL, CHILD},
      {0}};
  const char *peers = NULL;
  const char *effort = NULL;
  bool is_valid = true;
  for (int option; is_valid && (option = getopt_long(
                                    argc, argv, "", options, NULL)) != -1;) {
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
        is_valid =
            parse_seconds(optarg, &out_request->settings.measure_seconds);
        break;
      case CASE:
        is_valid =
            !out_request->has_pattern && parse_pattern(optarg, out_request);
        break;
      case ROUNDS:
        is_valid = parse_int("--rounds",
                             optarg,
                             MIN_ROUNDS,
                             MAX_ROUNDS,
                             &out_request->settings.rounds);
        break;
      case FACTOR:
        is_valid = parse_factor(optarg, &out_request->size_factor);
        break;
      case PEERS:
        peers = optarg;
        break;
      case DEVICE:
        is_valid = parse_int(
            "--device", optarg, 0, 1000000, &out_request->device_number);
        break;
      case JSON:
        out_request->format = BENCH_FORMAT_JSON;
        break;
      case CSV:
        out_request->format = BENCH_FORMAT_CSV;
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
    is_valid = parse_effort(effort == NULL ? "estimate" : effort,
                            &out_request->settings.measure_seconds);
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

static bool is_wanted(const request *wish, const bench_suite *suite) {
  for (int32_t i = 0; i < wish->num_suites; ++i) {
    if (strcmp(wish->suites[i], suite->name) == 0) {
      return true;
    }
  }
  return wish->num_suites == 0;
}

/** The cases of a suite that the pattern leaves. */
static bool list_cases(const request *wish,
                       const bench_suite *suite,
                       bench_case_list *out_list) {
  *out_list = (bench_case_list){.size_factor = wish->size_factor};
  if (suite->add_cases == NULL) {
    return true;
  }
  if (!suite->add_cases(out_list)) {
    return false;
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < out_list->count; ++i) {
    if (!wish->has_pattern ||
        regexec(&wish->pattern, out_list->items[i].name, 0, NULL, 0) == 0) {
      out_list->items[kept++] = out_list->items[i];
    }
  }
  out_list->count = kept;
  return true;
}

static void print_pair(const bench_case *item,
                       const char *src,
                       const char *dst) {
  printf("%s %s", src, dst);
  for (int32_t k = 0; k < item->src.rank; ++k) {
    printf("%c%d", k == 0 ? ' ' : ',', (int)item->permutation[k]);
  }
  putchar('\n');
}

static bool print_list(const request *wish) {
  for (int32_t s = 0; s < bench_num_suites; ++s) {
    bench_case_list list;
    if (!is_wanted(wish, &bench_suites[s])) {
      continue;
    }
    bool is_listed = list_cases(wish, &bench_suites[s], &list);
    for (int32_t i = 0; is_listed && i < list.count; ++i) {
      char src[200];
      char dst[200];
      rlo_shape_format(&list.items[i].src, src, sizeof src);
      rlo_shape_format(&list.items[i].dst, dst, sizeof dst);
      if (wish->is_pair_list) {
        /* A sum, a conversion or a chain is no relayout of two shapes. */
        if (!list.items[i].is_computed && list.items[i].chain == NULL) {
          print_pair(&list.items[i], src, dst);
        }
        continue;
      }
      printf("%-8s %-30s %s -> %s\n",
             bench_suites[s].name,
             list.items[i].name,
             src,
             dst);
    }
    if (is_listed && list.count == 0 && !wish->has_pattern &&
        !wish->is_pair_list) {
      printf("%-8s %s\n", bench_suites[s].name, bench_suites[s].summary);
    }
    bench_case_list_deinit(&list);
    if (!is_listed) {
      return false;
    }
  }
  return true;
}

/** Buffers for the largest of the cases: all suites share their pages. */
static bool reserve(const bench_case_list *list, bench_arena *arena) {
  int64_t src_bytes = 1;
  int64_t dst_bytes = 1;
  for (int32_t i = 0; i < list->count; ++i) {
    int64_t src = 0;
    int64_t dst = 0;
    if (!bench_case_bytes(&list->items[i], &src, &dst)) {
      return false;
    }
    src_bytes = src > src_bytes ? src : src_bytes;
    dst_bytes = dst > dst_bytes ? dst : dst_bytes;
  }
  return bench_arena_reserve(arena, src_bytes, dst_bytes);
}

static bool run_cases(bench_run *run,
                      const bench_suite *suite,
                      const bench_case_list *list) {
  bench_report_suite(run->report, suite->name, suite->summary);
  if (!reserve(list, run->arena)) {
    return false;
  }
  for (int32_t i = 0; i < list->count; ++i) {
    bench_row row;
    if (!bench_measure_case(
            run->arena, run->report->settings, &list->items[i], &row)) {
      return false;
    }
    row.suite = suite->name;
    if (!bench_report_row(run->report, &row)) {
      return false;
    }
  }
  bench_report_suite_end(run->report, suite->name);
  return true;
}

static bool run_suites(const request *wish, bench_run *run) {
  for (int32_t s = 0; s < bench_num_suites; ++s) {
    const bench_suite *suite = &bench_suites[s];
    if (!is_wanted(wish, suite)) {
      continue;
    }
    if (suite->run != NULL) {
      bool is_skipped = wish->has_pattern;
      if (!is_skipped) {
        bench_report_suite(run->report, suite->name, suite->summary);
      }
      if (!is_skipped && !suite->run(run)) {
        return false;
      }
      continue;
    }
    bench_case_list list;
    bool is_done = list_cases(wish, suite, &list) &&
                   (list.count == 0 || run_cases(run, suite, &list));
    bench_case_list_deinit(&list);
    if (!is_done) {
      return false;
    }
  }
  return true;
}

/** What else the machine does: runnable tasks, by the kernel's count. */
static void show_load(FILE *table) {
  FILE *file = fopen("/proc/loadavg", "r");
  double load = 0;
  if (file == NULL) {
    return;
  }
  if (fscanf(file, "%lf", &load) == 1) {
    fprintf(table,
            "%.1f tasks running before this one%s\n",
            load,
            load > 0.5 ? ": the machine is not quiet, look at the best" : "");
  }
  fclose(file);
}

static bool run_all(const request *wish) {
  bench_arena arena;
  double start = bench_nanos_now();
  if (!bench_arena_init(wish->device_number, &arena)) {
    return false;
  }
  double open_ms = (bench_nanos_now() - start) / 1e6;
  bench_report report = {
      .format = wish->format,
      .arena = &arena,
      .settings = &wish->settings,
      .size_factor = wish->size_factor,
      .table = wish->format == BENCH_FORMAT_TEXT ? stdout : stderr};
  bench_run run = {.arena = &arena,
                   .report = &report,
                   .size_factor = wish->size_factor,
                   .device_number = wish->device_number,
                   .open_ms = open_ms,
                   .program = wish->program};
  bool is_done = false;
  if (wish->child != NULL) {
    is_done = bench_suite_compile_child(&run, strcmp(wish->child, "one") == 0);
  } else {
    fprintf(report.table,
            "%s, driver %s; %d threads on the host, %d rounds, size factor "
            "%g\nGB/s are bytes read and written; peers as fractions of the "
            "copy kernel\n",
            arena.device_name,
            arena.driver_version,
            (int)arena.threads,
            (int)wish->settings.rounds,
            wish->size_factor);
    show_load(report.table);
    is_done = run_suites(wish, &run);
    if (is_done) {
      bench_report_print(&report, stdout);
    }
  }
  bench_report_deinit(&report);
  bench_arena_deinit(&arena);
  return is_done;
}

int main(int argc, char **argv) {
  request wish = {.settings = {.rounds = DEFAULT_ROUNDS},
                  .size_factor = 1.0,
                  .device_number = -1};
  int code = parse_arguments(argc, argv, &wish);
  if (code < 0) {
    bool is_done = wish.is_list ? print_list(&wish) : run_all(&wish);
    code = is_done ? BENCH_EXIT_OK : BENCH_EXIT_FAILED;
  }
  if (wish.has_pattern) {
    regfree(&wish.pattern);
  }
  return code;
}
