/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <jansson.h>

#include "base/sentence.h"
#include "base/str.h"
#include "message.h"

void rlo__report_begin(rlo__report *report, bool is_json, int label_width) {
  *report = (rlo__report){.is_json = is_json, .label_width = label_width};
  rlo__report_open(report, NULL, '{');
}

void rlo__report_end(rlo__report *report) {
  while (report->depth > 0) {
    rlo__report_close(report);
  }
  fputs(report->is_json ? "\n" : "", stdout);
}

/* -------------------------------------------------------------------- JSON */

/* A path may hold any bytes, and a driver's name may be cut anywhere: what is no UTF-8 is escaped
 * as in text. */
static void write_string(const char *text) {
  static char escaped[4 * PATH_MAX];
  json_t *string = text == NULL ? json_null() : json_string(text);
  if (string == NULL) {
    (void)rlo__sentence_escape(escaped, sizeof(escaped), text);
    string = json_string(escaped);
  }
  if (string == NULL ||
      json_dumpf(string, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII) != 0) {
    fputs("null", stdout);
  }
  json_decref(string);
}

/* Writes the comma and the key before a value. */
static void write_key(rlo__report *report, const char *key) {
  if (report->has_value) {
    putchar(',');
  }
  report->has_value = true;
  if (key != NULL) {
    write_string(key);
    putchar(':');
  }
}

void rlo__report_open(rlo__report *report, const char *key, char bracket) {
  if (report->is_json) {
    write_key(report, key);
    putchar(bracket);
    assert((size_t)report->depth < sizeof(report->closing));
    report->closing[report->depth++] = bracket == '{' ? '}' : ']';
    report->has_value = false;
  }
}

void rlo__report_close(rlo__report *report) {
  if (report->is_json) {
    putchar(report->closing[--report->depth]);
    report->has_value = true;
  }
}

static void write_ints(const rlo__row *row) {
  putchar('[');
  for (int32_t n = 0; n < row->value.ints.count; ++n) {
    printf("%s%" PRId64, n == 0 ? "" : ",", row->value.ints.values[n]);
  }
  putchar(']');
}

/* The value, which both forms write alike but for shares and strings. */
static void write_value(const rlo__row *row) {
  switch (row->kind) {
    case RLO__ROW_STRING:
      write_string(row->value.string);
      break;
    case RLO__ROW_INT:
      printf("%" PRId64, row->value.integer);
      break;
    case RLO__ROW_REAL:
    case RLO__ROW_SHARE:
      if (isfinite(row->value.real)) {
        printf("%.6g", row->value.real);
      } else {
        fputs("null", stdout);
      }
      break;
    case RLO__ROW_BOOL:
      fputs(row->value.boolean ? "true" : "false", stdout);
      break;
    case RLO__ROW_INTS:
      write_ints(row);
      break;
  }
}

/* -------------------------------------------------------------------- text */

static void write_label(const rlo__report *report, const char *label) {
  if (label[0] != '\0') {
    printf("%-*s ", report->label_width, label);
  }
}

static void write_line(const rlo__report *report, const rlo__row *row) {
  write_label(report, row->label);
  if (row->kind == RLO__ROW_STRING) {
    rlo__print_escaped(stdout, row->value.string);
  } else if (row->kind == RLO__ROW_SHARE) {
    printf("%.1f %%", 100 * row->value.real);
  } else {
    write_value(row);
  }
  printf("%s\n", row->unit == NULL ? "" : row->unit);
}

void rlo__report_line(rlo__report *report, const char *label, const char *format, ...) {
  if (report->is_json) {
    return;
  }
  /* Kept for the next line. */
  static rlo__str line = {.is_growing = true};
  va_list arguments;
  if (format[0] == '\n') {
    putchar('\n');
    ++format;
  }
  rlo__str_truncate(&line, 0);
  va_start(arguments, format);
  rlo__str_vprintf(&line, format, arguments);
  va_end(arguments);
  write_label(report, label);
  rlo__print_escaped(stdout, rlo__str_text(&line));
  putchar('\n');
}

/* -------------------------------------------------------------------- rows */

void rlo__report_add(rlo__report *report, const rlo__row *rows, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    if (!report->is_json) {
      if (rows[n].label != NULL) {
        write_line(report, &rows[n]);
      }
    } else if (rows[n].key != NULL || report->closing[report->depth - 1] == ']') {
      write_key(report, rows[n].key);
      write_value(&rows[n]);
    }
  }
}

void rlo__report_add_object(rlo__report *report, const char *key, const rlo__row *rows,
                            size_t count) {
  rlo__report_open(report, key, '{');
  rlo__report_add(report, rows, count);
  rlo__report_close(report);
}
