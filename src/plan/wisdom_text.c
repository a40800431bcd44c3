/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "plan/wisdom.h"

/* Wisdom as text. relayout/plan.h describes the format. */

#define TITLE "relayout-wisdom\t1"

enum {
  MAX_LINE_BYTES = 511,
  NUM_DEVICE_FIELDS = 4,
  NUM_RECORD_FIELDS = 7,
  /** Resolution of the fraction, and its maximum. */
  FRACTION_UNITS = 1000,
  MAX_FRACTION = 1000
};

/* ------------------------------------------------------------------ reading */

typedef struct reader {
  const char *next;
  const char *end;
  int64_t line_number;
  /** The line, its tabs replaced by NULs. */
  char line[MAX_LINE_BYTES + 1];
  /** The current line that names a device. */
  char device_line[MAX_LINE_BYTES + 1];
  bool has_device;
  rlo_wisdom_record record;
} reader;

static rlo_status fail(const reader *r, const char *what) {
  return RLO_FAIL(
      RLO_PARSE, "line %lld of the wisdom %s", (long long)r->line_number, what);
}

/* Copies the next line. A line without an end is an error, so that a truncated
 * text is noticed. */
static rlo_status read_line(reader *r) {
  ++r->line_number;
  size_t left = (size_t)(r->end - r->next);
  const char *newline = memchr(r->next, '\n', left);
  if (newline == NULL) {
    return fail(r, "has no end");
  }
  size_t length = (size_t)(newline - r->next);
  if (length > MAX_LINE_BYTES) {
    return fail(r, "is longer than 511 bytes");
  }
  for (size_t k = 0; k < length; ++k) {
    unsigned char c = (unsigned char)r->next[k];
    if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return fail(r, "holds a control character");
    }
  }
  memcpy(r->line, r->next, length);
  r->line[length] = '\0';
  r->next = newline + 1;
  return RLO_OK;
}

/* Splits a line at its tabs. @return the number of its fields, of which the
 * first `room` are stored. */
static int32_t split(char *line, int32_t room, const char **out_fields) {
  int32_t count = 0;
  for (char *at = line; at != NULL;) {
    if (count < room) {
      out_fields[count] = at;
    }
    ++count;
    at = strchr(at, '\t');
    if (at != NULL) {
      *at++ = '\0';
    }
  }
  return count;
}

/* Sixteen lower-case hexadecimal digits. */
static bool read_hex(const char *text, uint64_t *out_value) {
  uint64_t value = 0;
  for (int32_t k = 0; k < 16; ++k) {
    char c = text[k];
    if (c >= '0' && c <= '9') {
      value = value << 4 | (uint64_t)(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | (uint64_t)(c - 'a' + 10);
    } else {
      return false;
    }
  }
  *out_value = value;
  return true;
}

/* Reads at most nine digits. @return their number; 0: none, or too many. */
static int32_t read_digits(const char *text, int64_t *out_value) {
  int32_t count = 0;
  *out_value = 0;
  for (; text[count] >= '0' && text[count] <= '9'; ++count) {
    if (count == 9) {
      return 0;
    }
    *out_value = *out_value * 10 + (text[count] - '0');
  }
  return count;
}

/* "0.871". Not strtod, whose decimal point depends on the locale. */
static bool read_fraction(const char *text, double *out_fraction) {
  int64_t whole = 0;
  int64_t thousandths = 0;
  int32_t length = read_digits(text, &whole);
  if (length == 0 || whole > MAX_FRACTION || text[length] != '.' ||
      read_digits(text + length + 1, &thousandths) != 3 ||
      text[length + 4] != '\0') {
    return false;
  }
  *out_fraction = (double)whole + (double)thousandths / (double)FRACTION_UNITS;
  return true;
}

static const char *class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "cpu" : "gpu";
}

static bool read_class(const char *text, rlo_device_class *out_class) {
  *out_class =
      strcmp(text, "cpu") == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  return strcmp(text, class_name(*out_class)) == 0;
}

static rlo_status read_device(reader *r) {
  const char *fields[NUM_DEVICE_FIELDS];
  memcpy(r->device_line, r->line, sizeof r->device_line);
  if (split(r->device_line, NUM_DEVICE_FIELDS, fields) != NUM_DEVICE_FIELDS) {
    return fail(r, "is no device with a name, a driver and a table");
  }
  if (strlen(fields[3]) != 16 || !read_hex(fields[3], &r->record.table)) {
    return fail(r, "has no table of 16 hexadecimal digits");
  }
  r->record.device = fields[1];
  r->record.driver = fields[2];
  r->has_device = true;
  return RLO_OK;
}

static rlo_status read_record(reader *r) {
  const char *fields[NUM_RECORD_FIELDS];
  rlo_wisdom_record *record = &r->record;
  if (!r->has_device) {
    return fail(r, "is a record before any device");
  }
  if (split(r->line, NUM_RECORD_FIELDS, fields) != NUM_RECORD_FIELDS) {
    return fail(r, "is no record of seven fields");
  }
  if (strlen(fields[0]) != 32 || !read_hex(fields[0], &record->problem[0]) ||
      !read_hex(fields[0] + 16, &record->problem[1])) {
    return fail(r, "has no problem of 32 hexadecimal digits");
  }
  int32_t length = read_digits(fields[1], &record->alignment_bytes);
  int64_t alignment = record->alignment_bytes;
  if (length == 0 || fields[1][length] != '\0' || alignment == 0 ||
      (alignment & (alignment - 1)) != 0) {
    return fail(r, "has an alignment that is no power of two");
  }
  if (!read_fraction(fields[2], &record->fraction)) {
    return fail(r, "has no fraction such as 0.871");
  }
  if (!read_class(fields[3], &record->device_class)) {
    return fail(r, "has a class that is neither cpu nor gpu");
  }
  if (fields[4][0] == '\0' || fields[5][0] == '\0') {
    return fail(r, "names no family or no schedule");
  }
  record->family = fields[4];
  record->schedule = fields[5];
  record->note = fields[6];
  return RLO_OK;
}

rlo_status rlo_wisdom_read(const char *text,
                           size_t num_bytes,
                           rlo_wisdom_fn fn,
                           void *payload) {
  RLO_REQUIRE_LIST(text, num_bytes);
  reader r = {.next = text == NULL ? "" : text,
              .record = {.device = "", .driver = ""}};
  r.end = r.next + num_bytes;
  RLO_TRY(read_line(&r));
  if (strcmp(r.line, TITLE) != 0) {
    return fail(&r, "is not the title of version 1, which this library reads");
  }
  while (r.next < r.end) {
    RLO_TRY(read_line(&r));
    if (r.line[0] == '\0' || r.line[0] == '#') {
      continue;
    }
    if (strncmp(r.line, "device\t", 7) == 0) {
      RLO_TRY(read_device(&r));
      continue;
    }
    RLO_TRY(read_record(&r));
    if (fn != NULL) {
      fn(payload, &r.record);
    }
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- importing */

typedef struct import {
  rlo__wisdom *wisdom;
  rlo__wisdom_count count;
  rlo_status status;
} import;

static bool is_same_device(const rlo__wisdom *wisdom,
                           const rlo_wisdom_record *record) {
  return strcmp(record->device, wisdom->device) == 0 &&
         strcmp(record->driver, wisdom->driver) == 0;
}

static const rlo__family *find_family(const rlo_wisdom_record *record) {
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    if (rlo__families[n]->device_class == record->device_class &&
        strcmp(rlo__families[n]->name, record->family) == 0) {
      return rlo__families[n];
    }
  }
  return NULL;
}

static void import_record(void *payload, const rlo_wisdom_record *record) {
  import *into = payload;
  const rlo__family *family = find_family(record);
  const rlo__schedule *schedule = rlo__schedule_find(record->schedule);
  if (!is_same_device(into->wisdom, record) ||
      record->table != into->wisdom->table || family == NULL ||
      schedule == NULL) {
    ++into->count.num_ignored;
    return;
  }
  rlo__wisdom_entry entry = {
      .key = {.problem = {.high = record->problem[0],
                          .low = record->problem[1]},
              .alignment_bytes = record->alignment_bytes},
      .family = family,
      .schedule = schedule,
      .fraction = record->fraction};
  rlo__str note = rlo__str_over(entry.note, sizeof entry.note);
  rlo__str_append(&note, record->note);
  if (into->status == RLO_OK) {
    into->status = rlo__wisdom_put(into->wisdom, &entry);
  }
  into->count.num_taken += into->status == RLO_OK;
}

rlo_status rlo__wisdom_import(rlo__wisdom *wisdom,
                              const char *text,
                              size_t num_bytes,
                              rlo__wisdom_count *out_count) {
import into = {.wisdom = wisdom, .status = RLO_OK };
  *out_count = into.count;
  /* Reads the text twice: a text with an error changes nothing. */
  RLO_TRY(rlo_wisdom_read(text, num_bytes, NULL, NULL));
  RLO_TRY(rlo_wisdom_read(text, num_bytes, import_record, &into));
  *out_count = into.count;
  return into.status;
}

/* ---------------------------------------------------------------- exporting */

static void print_device(rlo__str *out,
                         const char *device,
                         const char *driver,
                         uint64_t table) {
  rlo__str_printf(
      out, "device\t%s\t%s\t%016" PRIx64 "\n", device, driver, table);
}

/* In thousandths, within the range that the reader accepts: a machine that
 * stalls during a measurement yields any fraction. */
static int64_t fraction_units(double fraction) {
  if (!(fraction > 0.0)) {
    return 0;
  }
  return fraction < (double)MAX_FRACTION
             ? (int64_t)(fraction * (double)FRACTION_UNITS + 0.5)
             : (int64_t)MAX_FRACTION * FRACTION_UNITS;
}

static void print_record(rlo__str *out, const rlo_wisdom_record *record) {
  int64_t units = fraction_units(record->fraction);
  rlo__str_printf(out,
                  "%016" PRIx64 "%016" PRIx64
                  "\t%lld\t%lld.%03lld\t%s\t%s\t%s"
                  "\t%s\n",
                  record->problem[0],
                  record->problem[1],
                  (long long)record->alignment_bytes,
                  (long long)(units / FRACTION_UNITS),
                  (long long)(units % FRACTION_UNITS),
                  class_name(record->device_class),
                  record->family,
                  record->schedule,
                  record->note);
}

typedef struct export {
  const rlo__wisdom *wisdom;
  rlo__str *out;
  /** The device of the previous record, whose line has been printed. */
  char device[MAX_LINE_BYTES + 1];
  char driver[MAX_LINE_BYTES + 1];
  uint64_t table;
  bool has_device;
}

export;

static void keep_record(void *payload, const rlo_wisdom_record *record) {
  export *to = payload;
  if (is_same_device(to->wisdom, record)) {
    return;
  }
  if (!to->has_device || to->table != record->table ||
      strcmp(to->device, record->device) != 0 ||
      strcmp(to->driver, record->driver) != 0) {
    print_device(to->out, record->device, record->driver, record->table);
    snprintf(to->device, sizeof to->device, "%s", record->device);
    snprintf(to->driver, sizeof to->driver, "%s", record->driver);
    to->table = record->table;
    to->has_device = true;
  }
  print_record(to->out, record);
}

void rlo__wisdom_export(const rlo__wisdom *wisdom,
                        const char *others,
                        size_t others_bytes,
                        rlo__str *out_text) {
  rlo__str_append(out_text, TITLE "\n");
  print_device(out_text, wisdom->device, wisdom->driver, wisdom->table);
  for (int32_t n = 0; n < wisdom->num_entries; ++n) {
    const rlo__wisdom_entry *entry = &wisdom->entries[n];
    const rlo_wisdom_record record = {
        .problem = {entry->key.problem.high, entry->key.problem.low},
        .alignment_bytes = entry->key.alignment_bytes,
        .fraction = entry->fraction,
        .device_class = entry->family->device_class,
        .family = entry->family->name,
        .schedule = entry->schedule->name,
        .note = entry->note};
    print_record(out_text, &record);
  }
  export to = {.wisdom = wisdom, .out = out_text};
  size_t begin = out_text->length;
  if (others != NULL &&
      rlo_wisdom_read(others, others_bytes, keep_record, &to) != RLO_OK) {
    rlo__str_truncate(out_text, begin);
  }
}
