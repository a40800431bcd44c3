/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayout/opencl.h"
#include "relayout/plan.h"
#include "relayout/shape.h"

#include "base/alloc.h"
#include "base/file.h"
#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "pair_suite.h"
#include "report.h"
#include "session.h"
#include "subprocess.h"

/* Larger than any file that the command writes. */
#define MAX_FILE_BYTES ((size_t)64 << 20)

typedef struct tune_request {
  rlo__pair_suite suite;
  const char *path;
  rlo__common_options common;
  /* NULL if not given. */
  const char *suite_path;
  const char *permutation;
  double seconds;
  bool is_again;
} tune_request;

static void print_result(rlo__pair_run *run, const rlo_plan_info *info) {
  const bool is_measured = info->decision == RLO_PLAN_DECISION_MEASURE;
  rlo__report *r = &run->report;
  if (info->decision == RLO_PLAN_DECISION_ESTIMATE) {
    rlo__report_line(r, "", "%s %s: nothing to measure", run->src, run->dst);
  } else {
    rlo__report_line(r, "", "%s %s: %s, %s, %.3f of the copy limit%s", run->src, run->dst,
                     info->family, info->schedule, info->measured_fraction,
                     is_measured ? "" : " (known)");
  }
  RLO__REPORT_OBJECT(
      r, NULL, RLO__STRING("src", NULL, run->src), RLO__STRING("dst", NULL, run->dst),
      RLO__STRING("family", NULL, info->family), RLO__STRING("schedule", NULL, info->schedule),
      RLO__REAL("fraction", info->measured_fraction), RLO__BOOL("is_measured", is_measured));
}

static void begin(void *payload, rlo__pair_run *run) {
  const tune_request *request = payload;
  if (request->is_again) {
    rlo_context_clear_wisdom(run->session->context);
  }
  RLO__REPORT(&run->report, RLO__STRING("path", NULL, request->path));
}

/* Creates the folders above a file. One that is there may be refused for
 * another reason: it need not be made. */
static int make_directories(const char *path) {
  char parent[PATH_MAX];
  snprintf(parent, sizeof(parent), "%s", path);
  for (char *slash = strchr(parent + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    struct stat st;
    *slash = '\0';
    if (mkdir(parent, 0777) != 0) {
      const int why = errno;
      RLO__EXIT_IF(why != EEXIST && (stat(parent, &st) != 0 || !S_ISDIR(st.st_mode)),
                   "cannot make the directory %s: %s", parent, strerror(why));
    }
    *slash = '/';
  }
  return RLO__EXIT_OK;
}

/* Measures one pair and saves the wisdom. */
static int tune_pair(void *payload, rlo__pair_run *run) {
  const tune_request *request = payload;
  rlo_context *context = run->session->context;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.effort = RLO_EFFORT_MEASURE;
  options.measure_seconds = request->seconds;
  rlo_plan *plan = NULL;
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  RLO__EXIT_TRY(rlo__check(rlo_plan_create(context, &run->problem, &options, &plan)));
  const rlo_status status = rlo_plan_get_info(plan, &info);
  rlo_plan_release(plan);
  RLO__EXIT_TRY(rlo__check(status));
  print_result(run, &info);
  if (info.decision != RLO_PLAN_DECISION_MEASURE) {
    return RLO__EXIT_OK;
  }
  /* Saved after each pair, so that an interrupt loses nothing. */
  RLO__EXIT_TRY(make_directories(request->path));
  return rlo__check(rlo_context_save_wisdom(context, request->path));
}

/* --------------------------------------------------------- what is saved */

/* Prints records as they are read. */
typedef struct printer {
  rlo__report report;
  int32_t num_records;
  /* The device and driver of the records before. */
  char heading[1100];
} printer;

/* Prints the heading of a record in text, unless it is that of the one
 * before. */
static void print_heading(printer *p, const rlo_wisdom_record *record, bool is_current) {
  char heading[sizeof(p->heading)];
  snprintf(heading, sizeof(heading), "%s, driver %s%s", record->device, record->driver,
           is_current ? "" : " (of another table of kernels: not used)");
  if (strcmp(heading, p->heading) != 0) {
    rlo__report_line(&p->report, "", p->num_records == 0 ? "%s" : "\n%s", heading);
    memcpy(p->heading, heading, sizeof(heading));
  }
}

static void print_record(void *payload, const rlo_wisdom_record *record) {
  printer *p = payload;
  rlo__report *r = &p->report;
  const bool is_current = record->table == rlo_wisdom_table();
  char problem[33];
  snprintf(problem, sizeof(problem), "%016" PRIx64 "%016" PRIx64, record->problem[0],
           record->problem[1]);
  print_heading(p, record, is_current);
  rlo__report_line(r, "", "  %5.3f  %-12s %-26s %s, aligned to %" PRId64 "%s", record->fraction,
                   record->family, record->schedule, record->note, record->alignment_bytes,
                   record->device_class == RLO_DEVICE_CLASS_CPU ? "" : ", gpu");
  RLO__REPORT_OBJECT(
      r, NULL, RLO__STRING("device", NULL, record->device),
      RLO__STRING("driver", NULL, record->driver), RLO__BOOL("is_current", is_current),
      RLO__STRING("problem", NULL, problem),
      RLO__INT("alignment_bytes", NULL, record->alignment_bytes),
      RLO__STRING("class", NULL, rlo__device_class_names[record->device_class]),
      RLO__STRING("family", NULL, record->family), RLO__STRING("schedule", NULL, record->schedule),
      RLO__REAL("fraction", record->fraction), RLO__STRING("note", NULL, record->note));
  ++p->num_records;
}

/* `text` is NULL if there is no file. */
static int print_saved(const char *path, const char *text, size_t bytes, bool is_json) {
  static printer p;
  /* Checks the whole text before printing any of it. */
  RLO__EXIT_IF(text != NULL && rlo_wisdom_read(text, bytes, NULL, NULL) != RLO_OK, "%s: %s", path,
               rlo_error_last()->message);
  rlo__report_begin(&p.report, is_json, 0);
  RLO__REPORT(&p.report, RLO__STRING("path", NULL, path));
  rlo__report_open(&p.report, "records", '[');
  const rlo_status status = text == NULL ? RLO_OK : rlo_wisdom_read(text, bytes, print_record, &p);
  if (p.num_records == 0) {
    rlo__report_line(&p.report, "", "there is no wisdom in %s; relayout tune makes some", path);
  }
  rlo__report_end(&p.report);
  return rlo__check(status);
}

static int show_saved(const char *path, bool is_json) {
  char *text = NULL;
  size_t bytes = 0;
  const rlo_status status = rlo__file_read(path, MAX_FILE_BYTES, &text, &bytes);
  const int code = status == RLO_OK || status == RLO_NOT_FOUND
                       ? print_saved(path, text, bytes, is_json)
                       : rlo__fail_last();
  rlo__free(text);
  return code;
}

static int clear_saved(const char *path) {
  RLO__EXIT_TRY(rlo__rights_check("the wisdom is not cleared"));
  return unlink(path) == 0 || errno == ENOENT
             ? RLO__EXIT_OK
             : rlo__fail("cannot remove %s: %s", path, strerror(errno));
}

/* "show", "clear" or "path". */
static int run_word(const tune_request *request, const char *word) {
  static const char *const words[] = {"show", "clear", "path", NULL};

  enum { SHOW = 1, CLEAR, PATH };

  int32_t n = 0;
  RLO__EXIT_TRY(rlo__word_parse("tune", NULL, word, words, &n));
  RLO__USAGE_IF(request->common.is_json && n != SHOW, "tune", "--json applies to show only");
  RLO__USAGE_IF(request->permutation != NULL || request->is_again || request->seconds != 0 ||
                    request->common.is_device_given,
                "tune", "%s measures nothing: it has no option but --json", word);
  const char *path = request->path;
  if (n == PATH) {
    if (isatty(STDOUT_FILENO) != 0) {
      rlo__print_escaped(stdout, path);
    } else {
      fputs(path, stdout);
    }
    putchar('\n');
    return RLO__EXIT_OK;
  }
  return n == SHOW ? show_saved(path, request->common.is_json) : clear_saved(path);
}

/* ------------------------------------------------------------ command line */

static int take_seconds(const char *verb, const char *value, void *field) {
  char *end = NULL;
  double seconds = strtod(value, &end);
  RLO__USAGE_IF(end == value || *end != '\0' || !(seconds > 0.0 && seconds <= 3600.0), verb,
                "--seconds: '%s' is not a number above 0 and up to 3600", value);
  *(double *)field = seconds;
  return RLO__EXIT_OK;
}

/* Reads and checks all pairs before the first one is measured. */
static int read_pairs(tune_request *request, int argc, char **argv) {
  if (request->suite_path == NULL) {
    RLO__EXIT_TRY(rlo__operands_take(argc, argv, 2, "a source and a destination shape"));
    return rlo__pair_suite_add(&request->suite, argv[optind], argv[optind + 1],
                               request->permutation);
  }
  RLO__USAGE_IF(request->permutation != NULL, argv[0],
                "--perm applies to two shapes; a suite has its own");
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, 0, "no shapes beside --suite"));
  return rlo__pair_suite_read(&request->suite, request->suite_path);
}

static int find_path(tune_request *request) {
  request->path = rlo__wisdom_path();
  return request->path != NULL ? RLO__EXIT_OK
                               : rlo__fail(
                                     "there is no directory for wisdom: neither XDG_DATA_HOME nor "
                                     "HOME is an absolute path");
}

/* Tunes all pairs. */
static int tune(tune_request *request, int argc, char **argv) {
  int code = read_pairs(request, argc, argv);
  if (code == RLO__EXIT_OK) {
    code = find_path(request);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__pair_suite_run(&request->suite);
  }
  rlo__pair_suite_deinit(&request->suite);
  return code;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("perm", TEXT, tune_request, permutation),
    RLO__OPTION_COMMON("device", DEVICE),
    RLO__OPTION_BY("seconds", tune_request, seconds, take_seconds),
    RLO__OPTION("suite", TEXT, tune_request, suite_path),
    RLO__OPTION("again", FLAG, tune_request, is_again),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int run(int argc, char **argv) {
  tune_request request = {.suite = {.verb = argv[0],
                                    .common = &request.common,
                                    .begin = begin,
                                    .work = tune_pair,
                                    .payload = &request}};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_tune, argc, argv, &request, &request.common));
  if (request.suite_path != NULL || argc - optind != 1) {
    return tune(&request, argc, argv);
  }
  RLO__EXIT_TRY(find_path(&request));
  return run_word(&request, argv[optind]);
}

const rlo__command rlo__cmd_tune = {
    .name = "tune",
    .summary = "time the ways to do a relayout and save the best",
    .help =
        "Usage: relayout tune [OPTION...] SRC_SHAPE DST_SHAPE\n"
        "       relayout tune [OPTION...] --suite FILE\n"
        "       relayout tune show [--json]\n"
        "       relayout tune clear|path\n"
        "\n"
        "Times the families of kernels that suit a relayout, each in its several\n"
        "schedules, and saves the fastest for this device: every verb then\n"
        "plans with it. A saved result is not measured again. Tuning changes the\n"
        "speed of a plan only.\n"
        "\n"
        "Results are saved in the file relayout/wisdom in $XDG_DATA_HOME, or in\n"
        "~/.local/share without it. Those of another device, driver or table of\n"
        "kernels are ignored.\n"
        "\n"
        "  show          print them: the fraction of the device's copy limit, the\n"
        "                family and its schedule, the problem\n"
        "  clear         remove the file\n"
        "  path          print where it is\n"
        "\n"
        "  --perm P      destination dimension k is source dimension P[k]; -1\n"
        "                is the last one\n"
        "  --suite FILE  a pair of shapes to a line, and after them a permutation\n"
        "                if there is one; # begins a comment; - is standard input.\n"
        "                relayout-bench --pairs ttc57 prints such lines\n"
        "  --seconds S   begin no candidate after S seconds for each pair (2)\n"
        "  --again       measure again what is saved\n"
        "  --device D    a device of `relayout devices`, by its number or a part\n"
        "                of its name; the default device without it\n"
        "  --json        print one object with the keys device, path and pairs;\n"
        "                show: path and records\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Example: relayout tune 'f32[4096,4096]' 'f32[4096,4096]{0,1}'\n",
    .options = options,
    .run = run,
};
