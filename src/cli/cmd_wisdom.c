/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayout/plan.h"

#include "command.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "subprocess.h"

/* Larger than any file that the command writes. */
#define MAX_FILE_BYTES ((int64_t)64 << 20)

/* Prints records as they are read. */
typedef struct printer {
  rlo__report report;
  int32_t num_records;
  /* Of the previous record. */
  char device[512];
  char driver[512];
  uint64_t table;
} printer;

static bool is_new_device(printer *p, const rlo_wisdom_record *record) {
  if (p->num_records > 0 && strcmp(p->device, record->device) == 0 &&
      strcmp(p->driver, record->driver) == 0 && p->table == record->table) {
    return false;
  }
  snprintf(p->device, sizeof(p->device), "%s", record->device);
  snprintf(p->driver, sizeof(p->driver), "%s", record->driver);
  p->table = record->table;
  return true;
}

static void print_record(void *payload, const rlo_wisdom_record *record) {
  printer *p = payload;
  rlo__report *r = &p->report;
  const bool is_current = record->table == rlo_wisdom_table();
  char problem[33];
  snprintf(problem,
           sizeof(problem),
           "%016" PRIx64 "%016" PRIx64,
           record->problem[0],
           record->problem[1]);
  if (is_new_device(p, record)) {
    rlo__report_line(
        r,
        "",
        "%s%s, driver %s%s",
        p->num_records == 0 ? "" : "\n",
        record->device,
        record->driver,
        is_current ? "" : " (of another table of kernels: not used)");
  }
  rlo__report_line(r,
                   "",
                   "  %5.3f  %-12s %-26s %s, aligned to %" PRId64 "%s",
                   record->fraction,
                   record->family,
                   record->schedule,
                   record->note,
                   record->alignment_bytes,
                   record->device_class == RLO_DEVICE_CLASS_CPU ? "" : ", gpu");
  RLO__REPORT_OBJECT(
      r,
      NULL,
      RLO__STRING("device", NULL, record->device),
      RLO__STRING("driver", NULL, record->driver),
      RLO__BOOL("is_current", is_current),
      RLO__STRING("problem", NULL, problem),
      RLO__INT("alignment_bytes", NULL, record->alignment_bytes),
      RLO__STRING("class", NULL, rlo__device_class_name(record->device_class)),
      RLO__STRING("family", NULL, record->family),
      RLO__STRING("schedule", NULL, record->schedule),
      RLO__REAL("fraction", record->fraction),
      RLO__STRING("note", NULL, record->note));
  ++p->num_records;
}

/* `text` is NULL if there is no file. */
static int print_all(const char *path,
                     const char *text,
                     size_t bytes,
                     bool is_json) {
  /* Checks the whole text before printing any of it. */
  if (text != NULL && rlo_wisdom_read(text, bytes, NULL, NULL) != RLO_OK) {
    return rlo__fail("%s: %s", path, rlo_error_last()->message);
  }
  printer *p = calloc(1, sizeof(*p));
  if (p == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*p));
  }
  rlo__report_begin(&p->report, is_json, 0);
  RLO__REPORT(&p->report, RLO__STRING("path", NULL, path));
  rlo__report_open(&p->report, "records", '[');
  int code = RLO__EXIT_OK;
  if (text != NULL && rlo_wisdom_read(text, bytes, print_record, p) != RLO_OK) {
    code = rlo__fail_last();
  }
  if (p->num_records == 0) {
    rlo__report_line(&p->report,
                     "",
                     "there is no wisdom in %s; relayout tune makes some",
                     path);
  }
  rlo__report_end(&p->report);
  free(p);
  return code;
}

static int show(const rlo__wisdom_path *path, bool is_json) {
  if (access(path->text, F_OK) != 0 && errno == ENOENT) {
    return print_all(path->text, NULL, 0, is_json);
  }
  rlo__input_file file;
  int code = rlo__input_file_open(path->text, &file);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char *text = NULL;
  if (file.size_bytes > MAX_FILE_BYTES) {
    code = rlo__fail("%s has %" PRId64 " bytes; wisdom has at most %" PRId64,
                     path->text,
                     file.size_bytes,
                     MAX_FILE_BYTES);
  } else {
    text = malloc((size_t)file.size_bytes + 1);
    code = text == NULL
               ? rlo__fail("cannot get %" PRId64 " bytes of memory",
                           file.size_bytes)
               : rlo__input_file_read(&file, 0, text, (size_t)file.size_bytes);
  }
  rlo__input_file_close(&file);
  if (code == RLO__EXIT_OK) {
    code = print_all(path->text, text, (size_t)file.size_bytes, is_json);
  }
  free(text);
  return code;
}

static int clear(const rlo__wisdom_path *path) {
  int code = rlo__rights_check("the wisdom is not cleared");
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (unlink(path->text) != 0 && errno != ENOENT) {
    return rlo__fail("cannot remove %s: %s", path->text, strerror(errno));
  }
  return RLO__EXIT_OK;
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {0}};

static int run(int argc, char **argv) {
  static const char *const words[] = {"show", "clear", "path"};
  rlo__common_options common;
  int code = rlo__options_take(&rlo__cmd_wisdom, argc, argv, NULL, &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(
      argc, argv, 1, "one of show, clear and path", &operands);
  int32_t word = 0;
  if (code == RLO__EXIT_OK) {
    code = rlo__word_parse(argv[0], NULL, operands[0], words, 3, &word);
  }
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (common.is_json && word != 0) {
    return rlo__fail_usage(argv[0], "--json applies to show only");
  }
  rlo__wisdom_path path;
  code = rlo__wisdom_path_find(&path);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (word == 0) {
    return show(&path, common.is_json);
  }
  if (word == 1) {
    return clear(&path);
  }
  puts(path.text);
  return RLO__EXIT_OK;
}

const rlo__command rlo__cmd_wisdom = {
    .name = "wisdom",
    .summary = "show or clear the results of tune",
    .help =
        "Usage: relayout wisdom [--json] show\n"
        "       relayout wisdom clear\n"
        "       relayout wisdom path\n"
        "\n"
        "relayout tune saves its results in the file relayout/wisdom in\n"
        "$XDG_DATA_HOME, or in ~/.local/share without it. Every verb that "
        "uses a\n"
        "device plans with it; results of another device, driver or table of\n"
        "kernels are ignored.\n"
        "\n"
        "  show   print it: the fraction of the device's copy limit, the "
        "family\n"
        "         and its schedule, the problem\n"
        "  clear  remove the file\n"
        "  path   print where it is\n"
        "  --json print one object with the keys path and records\n",
    .options = options,
    .run = run,
};
