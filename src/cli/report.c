/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

void rlo__report_begin(rlo__report *report, bool is_json, int label_width) {
  *report = (rlo__report){
      .is_json = is_json, .label_width = label_width, .file = stdout};
  rlo__report_open(report, NULL, '{');
}

void rlo__report_end(rlo__report *report) {
  while (report->depth > 0) {
    rlo__report_close(report);
  }
  if (report->is_json) {
    putc('\n', report->file);
  }
}

/* -------------------------------------------------------------------- JSON */

/* A copy in which each byte that is not part of a UTF-8 character is U+FFFD: a
 * path may hold any bytes, and a driver's name may be cut anywhere. NULL if
 * there is no memory. */
static json_t *replace_bytes(const char *text) {
  char *copy = malloc(3 * strlen(text) + 1);
  size_t count = 0;
  for (const char *at = text; copy != NULL && *at != '\0';) {
    json_t *character = NULL;
    size_t length = 0;
    while (character == NULL && length < 4 && at[length] != '\0') {
      character = json_stringn(at, ++length);
    }
    const bool is_text = character != NULL;
    json_decref(character);
    memcpy(copy + count, is_text ? at : "\xef\xbf\xbd", is_text ? length : 3);
    count += is_text ? length : 3;
    at += is_text ? length : 1;
  }
  json_t *string = copy == NULL ? NULL : json_stringn(copy, count);
  free(copy);
  return string;
}

static void write_string(FILE *file, const char *text) {
  json_t *string = text == NULL ? json_null() : json_string(text);
  if (string == NULL) {
    string = replace_bytes(text);
  }
  if (string == NULL ||
      json_dumpf(string, file, JSON_ENCODE_ANY | JSON_COMPACT) != 0) {
    fputs("null", file);
  }
  json_decref(string);
}

void rlo__report_key(rlo__report *report, const char *key) {
  if (!report->is_json) {
    return;
  }
  if (report->has_value) {
    putc(',', report->file);
  }
  report->has_value = true;
  if (key != NULL) {
    write_string(report->file, key);
    putc(':', report->file);
  }
}

void rlo__report_open(rlo__report *report, const char *key, char bracket) {
  if (!report->is_json) {
    return;
  }
  rlo__report_key(report, key);
  putc(bracket, report->file);
  assert((size_t)report->depth < sizeof(report->closing));
  report->closing[report->depth++] = bracket == '{' ? '}' : ']';
  report->has_value = false;
}

void rlo__report_close(rlo__report *report) {
  if (report->is_json) {
    putc(report->closing[--report->depth], report->file);
    report->has_value = true;
  }
}

static void write_ints(FILE *file, const rlo__row *row) {
  putc('[', file);
  for (int32_t n = 0; n < row->value.ints.count; ++n) {
    fprintf(file, "%s%" PRId64, n == 0 ? "" : ",", row->value.ints.values[n]);
  }
  putc(']', file);
}

static void write_micros(FILE *file, int64_t nanos) {
  const uint64_t size = nanos < 0 ? -(uint64_t)nanos : (uint64_t)nanos;
  fprintf(file,
          "%s%" PRIu64 ".%03" PRIu64,
          nanos < 0 ? "-" : "",
          size / 1000,
          size % 1000);
}

/* The value, which both forms write alike but for shares and strings. */
static void write_value(FILE *file, const rlo__row *row) {
  switch (row->kind) {
    case RLO__ROW_STRING:
      write_string(file, row->value.string);
      break;
    case RLO__ROW_INT:
      fprintf(file, "%" PRId64, row->value.integer);
      break;
    case RLO__ROW_REAL:
    case RLO__ROW_SHARE:
      if (isfinite(row->value.real)) {
        fprintf(file, "%.6g", row->value.real);
      } else {
        fputs("null", file);
      }
      break;
    case RLO__ROW_MICROS:
      write_micros(file, row->value.integer);
      break;
    case RLO__ROW_BOOL:
      fputs(row->value.boolean ? "true" : "false", file);
      break;
    case RLO__ROW_INTS:
      write_ints(file, row);
      break;
  }
}

/* -------------------------------------------------------------------- text */

static void write_label(const rlo__report *report, const char *label) {
  if (label[0] != '\0') {
    fprintf(report->file, "%-*s ", report->label_width, label);
  }
}

static void write_line(const rlo__report *report, const rlo__row *row) {
  write_label(report, row->label);
  if (row->kind == RLO__ROW_STRING) {
    fputs(row->value.string, report->file);
  } else if (row->kind == RLO__ROW_SHARE) {
    fprintf(report->file, "%.1f %%", 100 * row->value.real);
  } else {
    write_value(report->file, row);
  }
  fprintf(report->file, "%s\n", row->unit == NULL ? "" : row->unit);
}

void rlo__report_line(rlo__report *report,
                      const char *label,
                      const char *format,
                      ...) {
  if (report->is_json) {
    return;
  }
  va_list arguments;
  write_label(report, label);
  va_start(arguments, format);
  vfprintf(report->file, format, arguments);
  va_end(arguments);
  putc('\n', report->file);
}

/* -------------------------------------------------------------------- rows */

void rlo__report_add(rlo__report *report, const rlo__row *rows, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    if (!report->is_json) {
      if (rows[n].label != NULL) {
        write_line(report, &rows[n]);
      }
    } else if (rows[n].key != NULL ||
               report->closing[report->depth - 1] == ']') {
      rlo__report_key(report, rows[n].key);
      write_value(report->file, &rows[n]);
    }
  }
}

void rlo__report_add_object(rlo__report *report,
                            const char *key,
                            const rlo__row *rows,
                            size_t count) {
  rlo__report_open(report, key, '{');
  rlo__report_add(report, rows, count);
  rlo__report_close(report);
}
